/* gasnet_linkcheck.h - makes the link of a program fail if its objects and library were built with
 * different settings.
 *
 * Three checks: gasnet_init is a macro for a name composed of the settings; every object that
 * includes gasnet.h refers to a variable whose name is composed likewise; and objects that disagree
 * with each other do not link with any library (GASNETI_ONE_KIND).  The library defines the first
 * two names, once, in the object of gasnet_init:
 *
 *     const int GASNETI_LINKCHECK_NAME = 1;
 *     int gasnet_init(int *argc, char ***argv) { ... }
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_linkcheck.h is private: include gasnet.h"
#endif
#ifndef GASNETI_LINKCHECK_H
#define GASNETI_LINKCHECK_H

/* For example gasneti_init_PAR_FAST_NDEBUG_IBV_1_32_0_rank32_64bit_notrace_... */
/* clang-format off */
#define GASNETI_MANGLED(what) \
    GASNETI_WITH(GASNETI_WORD_PSHM, \
    GASNETI_WITH(GASNETI_WORD_ALIGN, \
    GASNETI_WITH(GASNETI_WORD_SRCLINES, \
    GASNETI_WITH(GASNETI_WORD_MALLOC, \
    GASNETI_WITH(GASNETI_WORD_STATS, \
    GASNETI_WITH(GASNETI_WORD_TRACE, \
    GASNETI_WITH(GASNETI_WORD_PTR, \
    GASNETI_WITH(GASNETI_WORD_RANK, \
    GASNETI_WITH(GASNETI_WORD_RELEASE, \
    GASNETI_WITH(GASNETI_WORD_CONDUIT, \
    GASNETI_WITH(GASNETI_WORD_DEBUG, \
    GASNETI_WITH(GASNETI_WORD_SEGMENT, \
    GASNETI_WITH(GASNETI_WORD_THREAD, gasneti_##what)))))))))))))
/* clang-format on */

#define gasnet_init            GASNETI_MANGLED(init)
#define GASNETI_LINKCHECK_NAME GASNETI_MANGLED(linkcheck)

GASNETI_EXPORTS_BEGIN
extern const int GASNETI_LINKCHECK_NAME;

/* One group for each pair of thread modes, so that the symbol names both modes.  */
#if GASNET_SEQ
GASNETI_ONE_KIND(gasneti_SEQ_or_PARSYNC, gasneti_GASNET_SEQ_object_among_GASNET_PARSYNC_objects);
GASNETI_ONE_KIND(gasneti_SEQ_or_PAR, gasneti_GASNET_SEQ_object_among_GASNET_PAR_objects);
#elif GASNET_PARSYNC
GASNETI_ONE_KIND(gasneti_SEQ_or_PARSYNC, gasneti_GASNET_PARSYNC_object_among_GASNET_SEQ_objects);
GASNETI_ONE_KIND(gasneti_PARSYNC_or_PAR, gasneti_GASNET_PARSYNC_object_among_GASNET_PAR_objects);
#else
GASNETI_ONE_KIND(gasneti_SEQ_or_PAR, gasneti_GASNET_PAR_object_among_GASNET_SEQ_objects);
GASNETI_ONE_KIND(gasneti_PARSYNC_or_PAR, gasneti_GASNET_PAR_object_among_GASNET_PARSYNC_objects);
#endif
GASNETI_ONE_KIND(gasneti_one_conduit,
                 GASNETI_WITH(GASNETI_WORD_CONDUIT, gasneti_object_among_those_of_another_conduit));
GASNETI_EXPORTS_END

/* Left out of the library's own objects, of which some are shared between modes.  */
#if !defined(GASNETI_NO_LINKCHECK)
static const int *const gasneti_linkcheck_ref GASNETI_KEPT = &GASNETI_LINKCHECK_NAME;

#if GASNETI_TSAN && !defined(GASNETI_SANITIZED_LIBRARY)
/* Tells the thread sanitizer to ignore the calls of this library.  Of a library that is compiled
 * without the sanitizer it sees only the calls of the C library, and none of the atomic operations
 * that order them.  A program's own definition replaces this one.  */
GASNETI_EXPORTS_BEGIN
extern const char *__tsan_default_suppressions(void);
__attribute__((weak)) const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:libgasnet-\ncalled_from_lib:libsofthca.so\n"
           "called_from_lib:libportals.so\ncalled_from_lib:libvapi.so\n";
}
GASNETI_EXPORTS_END
#endif

/* The texts that launchers look for in an executable.  They are pointers to literals, of which the
 * linker keeps one copy.  */
static const char *const gasneti_client_idents[] GASNETI_KEPT = {
    "$GASNetConfig: (libgasnet.a) " GASNET_CONFIG_STRING " $",
    "$GASNetConduitName: " GASNET_CONDUIT_NAME_STR " $",
    "$GASNetThreadModel: GASNET_" GASNETI_THREAD_TEXT " $",
#if GASNETI_SPAWNER_MPI
    "$GASNetMPISpawner: 1 $",
#endif
    "$GASNetSSHSpawner: 1 $"};
#endif

#endif
