/* gasnet_linkcheck.h - makes a program whose objects and library disagree fail to link, by a name
 * that says how the object was built.
 *
 * Two nets: gasnet_init is a macro for a name composed of the settings, and every object that
 * includes gasnet.h refers to a variable named likewise.  The library defines both, once, in the
 * object of gasnet_init:
 *     const int GASNETI_LINKCHECK_NAME = 1;
 *     int gasnet_init(int *argc, char ***argv) { ... }
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_linkcheck.h is private: include gasnet.h"
#endif
#ifndef GASNETI_LINKCHECK_H
#define GASNETI_LINKCHECK_H

/* For example gasneti_init_PAR_FAST_NDEBUG_IBV_1_32_0_64bit_notrace_... */
/* clang-format off */
#define GASNETI_MANGLE_(what, thread, segment, debug, conduit, major, minor, patch, ptr, \
                        trace, stats, malloc, srclines, align, pshm) \
    gasneti_##what##_##thread##_##segment##_##debug##_##conduit##_##major##_##minor##_##patch##_## \
    ptr##_##trace##_##stats##_##malloc##_##srclines##_##align##_##pshm
#define GASNETI_MANGLE(what, thread, segment, debug, conduit, major, minor, patch, ptr, \
                       trace, stats, malloc, srclines, align, pshm) \
    GASNETI_MANGLE_(what, thread, segment, debug, conduit, major, minor, patch, ptr, \
                    trace, stats, malloc, srclines, align, pshm)
#define GASNETI_MANGLED(what) \
    GASNETI_MANGLE(what, GASNETI_THREAD_MODE, GASNETI_SEGMENT_MODE, GASNETI_DEBUG_WORD, \
                   GASNET_CONDUIT_NAME, GASNET_RELEASE_VERSION_MAJOR, \
                   GASNET_RELEASE_VERSION_MINOR, GASNET_RELEASE_VERSION_PATCH, \
                   GASNETI_PTR_CONFIG, GASNETI_TRACE_CONFIG, GASNETI_STATS_CONFIG, \
                   GASNETI_MALLOC_CONFIG, GASNETI_SRCLINES_CONFIG, GASNETI_ALIGN_CONFIG, \
                   GASNETI_PSHM_CONFIG)
/* clang-format on */

#define gasnet_init            GASNETI_MANGLED(init)
#define GASNETI_LINKCHECK_NAME GASNETI_MANGLED(linkcheck)

GASNETI_EXPORTS_BEGIN
extern const int GASNETI_LINKCHECK_NAME;
GASNETI_EXPORTS_END

/* The library's own objects are checked by their build, and may be shared between modes. */
#if !defined(GASNETI_NO_LINKCHECK)
static const int *const
    gasneti_linkcheck_ref GASNETI_ATTRIBUTE((__used__)) = &GASNETI_LINKCHECK_NAME;

/* What launchers look for in an executable, which need not contain the library.  Pointers to
 * literals, of which the linker keeps one copy. */
static const char *const gasneti_client_idents[] GASNETI_ATTRIBUTE((__used__)) = {
    "$GASNetConfig: (libgasnet.a) " GASNET_CONFIG_STRING " $",
    "$GASNetConduitName: " GASNET_CONDUIT_NAME_STR " $",
    "$GASNetThreadModel: GASNET_" _STRINGIFY(GASNETI_THREAD_MODE) " $",
#if GASNETI_SPAWNER_MPI
    "$GASNetMPISpawner: 1 $",
#endif
    "$GASNetSSHSpawner: 1 $"};
#endif

#endif
