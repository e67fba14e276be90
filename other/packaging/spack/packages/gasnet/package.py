# The recipe of this library for Spack.  Its name is that of Spack's own recipe for another implementation of GASNet; a repository that was
# added later comes first.  In the source tree: spack dev-build gasnet@2026.11.0
from spack.package import *


class Gasnet(AutotoolsPackage):
    """Communication library with a partitioned global address space: GASNet-1 and GASNet-EX over InfiniBand Verbs, VAPI,
    Portals 3.3 and shared memory."""

    license("BSD-3-Clause")

    version("2026.11.0")

    variant("conduits", values=any_combination_of("ibv", "vapi", "portals", "smp").with_default("ibv,vapi,portals,smp"),
            description="Networks to build a library for")
    variant("segment", default="fast", values=("fast", "large", "everything"), multi=False, description="Segment mode")
    variant("pshm", default=True, description="Processes of a host map each other's segments")
    variant("rcv_thread", default=True, description="Receive threads may be started by GASNET_RCV_THREAD")
    variant("rdmacm", default=True, description="Connections by the RDMA connection manager")
    variant("debug", default=False, description="Assertions, and checks of the phase and context of calls")
    variant("mpi", default=False, description="Jobs may be started by MPI")
    variant("pmix", default=False, description="Jobs may be started by PMIx")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("autoconf@2.71:", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("rdma-core")
    depends_on("openssl")
    depends_on("mpi", when="+mpi")
    depends_on("pmix", when="+pmix")

    conflicts("conduits=portals", when="segment=large")
    conflicts("conduits=portals", when="segment=everything")
    conflicts("+pshm", when="segment=large")
    conflicts("+pshm", when="segment=everything")
    conflicts("conduits=none")

    # The client files name the compilers.
    filter_compiler_wrappers("*.mak", relative_root="include", recursive=True)
    filter_compiler_wrappers("*.pc", "*.cmake", relative_root="lib", recursive=True)

    def autoreconf(self, spec, prefix):
        which("sh")("./Bootstrap")

    def configure_args(self):
        spec = self.spec
        args = [f"--enable-segment-{spec.variants['segment'].value}"]
        args += self.enable_or_disable("pshm")
        args += self.enable_or_disable("debug")
        args += self.with_or_without("rdmacm")
        for conduit in ("ibv", "vapi", "portals", "smp"):
            if spec.satisfies(f"conduits={conduit}"):
                args.append(f"--{'enable' if '+rcv_thread' in spec else 'disable'}-{conduit}-rcv-thread")
            else:
                args.append(f"--disable-{conduit}")
        args.append(f"--with-mpi-cc={spec['mpi'].mpicc}" if "+mpi" in spec else "--without-mpi-cc")
        args.append(f"--with-pmix={spec['pmix'].prefix}" if "+pmix" in spec else "--without-pmix")
        return args
