dnl sbom.m4 - gasnet.spdx, a bill of materials (SPDX 2.3, tag-value): this release, and the packages of others that this build uses, with
dnl the versions that configure has found.  Included once by configure.ac, when it is known which are used.

# GASNET_USES(NAME, VERSION, KIND): one more package; KIND: needed, optional.
AC_DEFUN([GASNET_USES], [gasnet_uses="$gasnet_uses $1=$2=$3"])
gasnet_uses=
# gasnet_version PACKAGE: what pkg-config knows.  gasnet_macros HEADER EXPRESSION COMPILER...: what its macros say.
gasnet_version () { pkg-config --modversion "$[1]" 2>/dev/null || echo NOASSERTION; }
gasnet_macros () {
  AS_ECHO(["@%:@include <$[1]>"]) >conftest.c
  AS_ECHO(["THIS=$[2]"]) >>conftest.c
  shift; shift
  gasnet_found=$("$[@]" -E -P conftest.c 2>/dev/null | tr -d ' "\n' | sed -n 's/.*THIS=//p')
  rm -f conftest.c
  AS_CASE([$gasnet_found], [[[0-9]*]], [AS_ECHO(["$gasnet_found"])], [echo NOASSERTION])
}
GASNET_USES([libc], [$(gasnet_macros features.h __GLIBC__.__GLIBC_MINOR__ $CC)], [needed])
GASNET_USES([libibverbs], [$(gasnet_version libibverbs)], [needed])
AS_IF([test $have_rdmacm = yes], [GASNET_USES([librdmacm], [$(gasnet_version librdmacm)], [optional])])
AS_IF([test $enable_gasnet = yes], [GASNET_USES([libcrypto], [$(gasnet_version libcrypto)], [needed])])
AS_IF([test $have_dat = yes], [GASNET_USES([libdat2], [$(gasnet_macros dat2/udat.h DAT_VERSION_MAJOR.DAT_VERSION_MINOR $CC)], [optional])])
for mpi_kind in $SPAWNER_MPIS; do
  eval "mpi_cc=\$MPI_CC_$mpi_kind"
  AS_CASE([$mpi_kind],
    [openmpi], [mpi_version=OMPI_MAJOR_VERSION.OMPI_MINOR_VERSION.OMPI_RELEASE_VERSION],
    [mpich], [mpi_version=MPICH_VERSION],
    [mpi_version=NOASSERTION])
  GASNET_USES([$mpi_kind], [$(gasnet_macros mpi.h $mpi_version $mpi_cc)], [optional])
done
AS_IF([test $have_pmix = yes], [GASNET_USES([pmix], [$(gasnet_version pmix)], [optional])])

AC_CONFIG_COMMANDS([gasnet.spdx], [
{
  cat <<_EOF
SPDXVersion: SPDX-2.3
DataLicense: CC0-1.0
SPDXID: SPDXRef-DOCUMENT
DocumentName: gasnet-$gasnet_release
DocumentNamespace: https://spdx.org/spdxdocs/gasnet-$gasnet_release-$gasnet_created
Creator: Tool: configure
Created: $gasnet_created

PackageName: gasnet
SPDXID: SPDXRef-gasnet
PackageVersion: $gasnet_release
PackageDownloadLocation: NOASSERTION
FilesAnalyzed: false
PackageLicenseDeclared: BSD-3-Clause
Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-gasnet
_EOF
  for gasnet_use in $gasnet_uses; do
    IFS== read gasnet_name gasnet_version gasnet_kind <<_EOF
$gasnet_use
_EOF
    AS_ECHO([])
    AS_ECHO(["PackageName: $gasnet_name"])
    AS_ECHO(["SPDXID: SPDXRef-$gasnet_name"])
    test "$gasnet_version" = NOASSERTION || AS_ECHO(["PackageVersion: $gasnet_version"])
    AS_ECHO(["PackageDownloadLocation: NOASSERTION"])
    AS_ECHO(["FilesAnalyzed: false"])
    AS_CASE([$gasnet_kind],
      [needed], [AS_ECHO(["Relationship: SPDXRef-gasnet DEPENDS_ON SPDXRef-$gasnet_name"])],
      [AS_ECHO(["Relationship: SPDXRef-$gasnet_name OPTIONAL_DEPENDENCY_OF SPDXRef-gasnet"])])
  done
} >gasnet.spdx],
  [gasnet_uses='$gasnet_uses' gasnet_release=$PACKAGE_VERSION
   gasnet_created=$(date -u ${SOURCE_DATE_EPOCH:+-d "@$SOURCE_DATE_EPOCH"} +%Y-%m-%dT%H:%M:%SZ)])
