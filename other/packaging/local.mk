# other/packaging: make fragments, pkg-config and CMake files for clients, each kind from one template.
# The in-place .mak files are in build/packaging/, for clients of a tree that is not installed.
packaging = other/packaging
# Each conduit's part of conduits.mk adds to conduit_fragments and conduit_facts.
EXTRA_DIST += $(packaging)/hardening.m4 $(packaging)/static.m4 $(packaging)/static_verbs.m4 $(packaging)/sbom.m4 $(packaging)/archive.sh $(packaging)/libtool.sh $(packaging)/generate $(packaging)/conduit.mak.in $(packaging)/conduit.pc.in \
	$(packaging)/tools.mak.in $(packaging)/tools.pc.in $(packaging)/vapi.pc.in $(packaging)/libportals.pc.in \
	$(packaging)/cmake/GASNetConfig.cmake.in $(packaging)/cmake/GASNetConfigVersion.cmake.in \
	$(packaging)/spack/repo.yaml $(packaging)/spack/packages/gasnet/package.py $(packaging)/deb.sh $(packaging)/debian

phony += deb
deb: dist
	$(SHELL) $(top_srcdir)/$(packaging)/deb.sh $(distdir).tar.xz deb

if GASNET
toolsfragmentdir = $(includedir)
toolsfragment_DATA = $(packaging)/gasnet_tools-seq.mak $(packaging)/gasnet_tools-par.mak
pkgconfig_DATA += $(packaging)/gasnet_tools-seq.pc $(packaging)/gasnet_tools-par.pc
cmake_DATA += $(packaging)/GASNet-tools-seq.cmake $(packaging)/GASNet-tools-par.cmake \
	$(packaging)/GASNetConfig.cmake $(packaging)/GASNetConfigVersion.cmake
fragment_modes = seq parsync par

# What UPC++ takes for a source tree of GASNet-EX; it reads the text for versions, and that the headers are there.
upcxxdir = $(prefix)/share/gasnet/upcxx
upcxx_SCRIPTS = $(packaging)/upcxx/configure
upcxx_DATA = $(packaging)/upcxx/gasnet_config.h.in $(packaging)/upcxx/gasnetex.h $(packaging)/upcxx/gasnet.h
upcxxdocsdir = $(upcxxdir)/docs
upcxxdocs_DATA = $(packaging)/upcxx/GASNet-EX.txt
$(upcxx_DATA):
	$(AM_V_GEN)$(MKDIR_P) $(packaging)/upcxx && echo '/* The header of this name is in the include folder of the installation. */' >$@
$(upcxxdocs_DATA): include/gasnet_config.h
	$(AM_V_GEN)$(MKDIR_P) $(packaging)/upcxx && grep SPEC_VERSION include/gasnet_config.h >$@
EXTRA_DIST += $(upcxx_SCRIPTS)
CLEANFILES += $(upcxx_DATA) $(upcxxdocs_DATA)
endif
pkgconfig_DATA += $(packaging)/vapi.pc $(packaging)/libportals.pc

$(conduit_fragments) $(toolsfragment_DATA) $(pkgconfig_DATA) $(cmake_DATA): $(packaging)/stamp
$(packaging)/stamp: $(packaging)/generate $(packaging)/conduit.mak.in $(packaging)/conduit.pc.in \
    $(packaging)/tools.mak.in $(packaging)/tools.pc.in $(packaging)/vapi.pc.in $(packaging)/libportals.pc.in \
    $(packaging)/cmake/GASNetConfig.cmake.in $(packaging)/cmake/GASNetConfigVersion.cmake.in Makefile
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/$(packaging)/generate $(top_srcdir)/$(packaging) $(packaging) packaging \
	    prefix='$(prefix)' libdir='$(libdir)' includedir='$(includedir)' pkgconfigdir='$(pkgconfigdir)' cmakedir='$(cmakedir)' \
	    srcdir='$(abs_top_srcdir)' builddir='$(abs_top_builddir)' version=$(PACKAGE_VERSION) \
	    CC='$(CC)' CXX='$(CXX)' CFLAGS='$(CFLAGS)' CLIENT_STD='$(CLIENT_STD)' \
	    DEBUG_DEFINE='$(DEBUG_DEFINE)' spawner_mpi=$(SPAWNER_MPI) verbs_static_libs='$(VERBS_STATIC_LIBS)' conduits='$(CONDUITS)' modes='$(fragment_modes)' $(conduit_facts)
	@: >$@

CLEANFILES += $(packaging)/stamp $(conduit_fragments) $(toolsfragment_DATA) $(pkgconfig_DATA) $(cmake_DATA) \
	$(packaging)/*-uninstalled.pc packaging/*.mak
