/* gasnet_tools.h - the portability tools (specification 1.20), names gasnett_ and GASNETT_.
 *
 * Included after gasnet.h, in programs that link with a conduit's library; or alone, in programs
 * without a network that link with libgasnet_tools-seq or -par.  Thread-safe if GASNETT_THREAD_SAFE
 * is defined, or if a macro such as _REENTRANT shows that the program has threads.
 * GASNETT_LITE_MODE offers timers and fences only.
 */
#if !defined(_INCLUDED_GASNETEX_H) &&                                                              \
    (defined(GASNET_SEQ) || defined(GASNET_PARSYNC) || defined(GASNET_PAR))
#error "gasnet_tools.h was included before gasnet.h: include gasnet.h first"
#endif
#ifndef _INCLUDED_GASNET_TOOLS_H
#define _INCLUDED_GASNET_TOOLS_H
#define GASNETI_IN_GASNET_TOOLS_H 1

/* --- Thread mode --- */
#if defined(GASNETT_LITE_MODE)
#if defined(_INCLUDED_GASNETEX_H)
#error "GASNETT_LITE_MODE is for programs without gasnet.h"
#endif
#undef GASNETT_THREAD_SAFE
#define GASNETT_THREAD_MODEL            LITE
#define GASNETI_TOOLS_THREAD_TEXT       "LITE"
#define GASNETI_WORD_TOOLS_THREAD(name) name##_LITE
#elif defined(GASNETT_THREAD_SAFE) || defined(GASNET_PAR) || defined(GASNET_PARSYNC) ||            \
    (!defined(_INCLUDED_GASNETEX_H) &&                                                             \
     (defined(_REENTRANT) || defined(_THREAD_SAFE) || defined(PTHREAD_MUTEX_INITIALIZER)))
#undef GASNETT_THREAD_SAFE
#define GASNETT_THREAD_SAFE             1
#define GASNETT_THREAD_MODEL            PAR
#define GASNETI_TOOLS_THREAD_TEXT       "PAR"
#define GASNETI_WORD_TOOLS_THREAD(name) name##_PAR
#else
#define GASNETT_THREAD_MODEL            SEQ
#define GASNETI_TOOLS_THREAD_TEXT       "SEQ"
#define GASNETI_WORD_TOOLS_THREAD(name) name##_SEQ
#endif

#include "gasnet_basic.h"

/* --- Versions and configuration --- */
#define GASNETT_SPEC_VERSION_MAJOR    1
#define GASNETT_SPEC_VERSION_MINOR    20
#define GASNETT_RELEASE_VERSION_MAJOR GASNET_RELEASE_VERSION_MAJOR
#define GASNETT_RELEASE_VERSION_MINOR GASNET_RELEASE_VERSION_MINOR
#define GASNETT_RELEASE_VERSION_PATCH GASNET_RELEASE_VERSION_PATCH

#define GASNETT_PTR_CONFIG    GASNETI_PTR_CONFIG
#define GASNETT_DEBUG_CONFIG  GASNETI_DEBUG_CONFIG
#define GASNETT_TIMER_CONFIG  GASNETI_TIMER_CONFIG
#define GASNETT_MEMBAR_CONFIG GASNETI_MEMBAR_CONFIG
#ifndef GASNETT_LITE_MODE
#define GASNETT_ATOMIC_CONFIG      GASNETI_ATOMIC_CONFIG
#define GASNETT_ATOMIC32_CONFIG    GASNETI_ATOMIC32_CONFIG
#define GASNETT_ATOMIC64_CONFIG    GASNETI_ATOMIC64_CONFIG
#define GASNETI_TOOLS_ATOMICS_TEXT "," GASNETI_ATOMICS_TEXT
#else
#define GASNETI_TOOLS_ATOMICS_TEXT ""
#endif

/* clang-format off */
#define GASNETT_CONFIG_STRING \
    "RELEASE=" GASNETI_RELEASE_TEXT \
    ",SPEC=" GASNETI_TEXT_OF(GASNETT_SPEC_VERSION_MAJOR) "." GASNETI_TEXT_OF(GASNETT_SPEC_VERSION_MINOR) \
    ",PTR=" GASNETI_PTR_TEXT \
    "," GASNETI_DEBUG_TEXT \
    "," GASNETI_TOOLS_THREAD_TEXT \
    "," GASNETI_TIMING_TEXT \
    GASNETI_TOOLS_ATOMICS_TEXT
/* clang-format on */

/* --- Link check: as in gasnet_linkcheck.h, for the tools' own settings --- */
/* clang-format off */
#define GASNETT_LINKCHECK_NAME \
    GASNETI_WITH(GASNETI_WORD_PTR, \
    GASNETI_WITH(GASNETI_WORD_RELEASE, \
    GASNETI_WITH(GASNETI_WORD_DEBUG, \
    GASNETI_WITH(GASNETI_WORD_TOOLS_THREAD, gasnett_linkcheck))))
/* clang-format on */
GASNETI_EXPORTS_BEGIN
extern const int GASNETT_LINKCHECK_NAME;
#if defined(GASNETT_LITE_MODE) /* links with either library */
#elif GASNETT_THREAD_SAFE
GASNETI_ONE_KIND(gasnett_SEQ_or_PAR, gasnett_thread_safe_object_among_SEQ_objects);
#else
GASNETI_ONE_KIND(gasnett_SEQ_or_PAR, gasnett_SEQ_object_among_thread_safe_objects);
#endif
GASNETI_EXPORTS_END
#if !defined(GASNETI_NO_LINKCHECK)
static const int *const gasnett_linkcheck_ref GASNETI_KEPT = &GASNETT_LINKCHECK_NAME;
#endif

#include "gasnet_membar.h"
#include "gasnet_tools_syntax.h"
#include "gasnet_tools_timer.h"
#ifndef GASNETT_LITE_MODE
#include "gasnet_tools_util.h"
#include "gasnet_tools_atomic.h"
#if GASNETT_THREAD_SAFE || GASNETT_USE_TRUE_MUTEXES
#include "gasnet_tools_locks_par.h"
#else
#include "gasnet_tools_locks_seq.h"
#endif
#include "gasnet_tools_client.h"
#if defined(_INCLUDED_GASNETEX_H)
#include "gasnet_tools_lib.h"
#endif
#endif

#undef GASNETI_IN_GASNET_TOOLS_H
#endif
