/* gasnet_idents.h - texts embedded in a library that describe its build: "$Key: value $".
 *
 * Included once, after gasnet.h, by the library's source that defines gasnet_init, which every
 * program links.  Defines data; no client includes it.  Launchers and strings(1) read the texts.
 * Those that launchers need are also in clients' objects (gasnet_linkcheck.h), since a program
 * linked with a shared library does not contain the library.
 */
#ifndef GASNETI_IDENTS_H
#define GASNETI_IDENTS_H
#ifndef _INCLUDED_GASNETEX_H
#error "include gasnet.h before gasnet_idents.h"
#endif
#include "gasnet_tools.h"

GASNETT_IDENT(gasneti_ident_api, "$GASNetAPIVersion: " _STRINGIFY(GASNET_VERSION) " $");
GASNETT_IDENT(gasneti_ident_threads, "$GASNetThreadModel: GASNET_" GASNETI_THREAD_TEXT " $");
GASNETT_IDENT(gasneti_ident_segment, "$GASNetSegment: GASNET_SEGMENT_" GASNETI_SEGMENT_TEXT " $");
GASNETT_IDENT(gasneti_ident_config, "$GASNetConfig: (libgasnet.a) " GASNET_CONFIG_STRING " $");
GASNETT_IDENT(gasneti_ident_conduit, "$GASNetConduitName: " GASNET_CONDUIT_NAME_STR " $");
GASNETT_IDENT(gasneti_ident_core, "$GASNetCoreLibraryName: " GASNET_CORE_NAME_STR " $");
GASNETT_IDENT(gasneti_ident_core_version,
              "$GASNetCoreLibraryVersion: " GASNET_CORE_VERSION_STR " $");
GASNETT_IDENT(gasneti_ident_extended, "$GASNetExtendedLibraryName: " GASNET_EXTENDED_NAME_STR " $");
GASNETT_IDENT(gasneti_ident_extended_version,
              "$GASNetExtendedLibraryVersion: " GASNET_EXTENDED_VERSION_STR " $");
#if GASNETI_THREADS
GASNETT_IDENT(gasneti_ident_threadinfo, "$GASNetThreadInfoOpt: 0 $");
#endif
GASNETT_IDENT(gasneti_ident_max_segsize,
              "$GASNetDefaultMaxSegsize: " GASNETI_MAX_SEGSIZE_TEXT " $");
GASNETT_IDENT(gasneti_ident_auxseg_coll, "$GASNetAuxSeg_coll: 0 $");
GASNETT_IDENT(gasneti_ident_auxseg_barr, "$GASNetAuxSeg_barr: 0 $");
#if GASNET_TRACE
GASNETT_IDENT(gasneti_ident_trace, "$GASNetTracingEnabled: 1 $");
#endif
#if GASNET_STATS
GASNETT_IDENT(gasneti_ident_stats, "$GASNetStatisticsEnabled: 1 $");
#endif
GASNETT_IDENT(gasneti_ident_tools_threads,
              "$GASNetToolsThreadModel: GASNETT_" GASNETI_TOOLS_THREAD_TEXT " $");
GASNETT_IDENT(gasneti_ident_tools_config,
              "$GASNetToolsConfig: (libgasnet.a) " GASNETT_CONFIG_STRING " $");
/* __DATE__ follows SOURCE_DATE_EPOCH, for reproducible builds.  */
GASNETT_IDENT(gasneti_ident_time, "$GASNetBuildTimestamp: " __DATE__ " " __TIME__ " $");
GASNETT_IDENT(gasneti_ident_build,
              "$GASNetBuildId: " GASNETI_SYSTEM_NAME " " GASNETI_RELEASE_TEXT " $");
GASNETT_IDENT(gasneti_ident_configure, "$GASNetConfigureArgs: " GASNETI_CONFIGURE_ARGS " $");
GASNETT_IDENT(gasneti_ident_tuple, "$GASNetSystemTuple: " GASNETI_SYSTEM_TUPLE " $");
GASNETT_IDENT(gasneti_ident_system, "$GASNetSystemName: " GASNETI_SYSTEM_NAME " $");
GASNETT_IDENT(gasneti_ident_compiler, "$GASNetCompilerID: " PLATFORM_COMPILER_IDSTR " $");
GASNETT_IDENT(gasneti_ident_ssh, "$GASNetSSHSpawner: 1 $");
#if GASNETI_SPAWNER_MPI
GASNETT_IDENT(gasneti_ident_mpi, "$GASNetMPISpawner: 1 $");
#endif

/* The symbol that objects with gasnet_tools.h in this mode refer to.  */
GASNETI_EXPORTS_BEGIN
const int GASNETT_LINKCHECK_NAME = 1;
GASNETI_EXPORTS_END

#endif
