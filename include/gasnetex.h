/* gasnetex.h - GASNet-EX (specification 0.19), and what both interfaces have in common: threading
 * mode, configuration, limits, the end of the job, polling, barriers, handler-safe locks.
 *
 * A client includes this header, or gasnet.h, which adds GASNet-1, before all others of this
 * library, gasnet_tools.h included, with exactly one of GASNET_SEQ, GASNET_PARSYNC and GASNET_PAR
 * defined (by the build fragment).  It includes no network header; the include path selects the
 * conduit by its gasnet_conduit.h.
 *
 * Unless its comment says otherwise, a call is legal after gex_Client_Init, in client code (not in
 * handlers, not with a lock held, not between Prepare and Commit), in any thread, and affects this
 * process only.  Pointers must not be NULL unless the comment says so.
 */
#if defined(_INCLUDED_GASNET_TOOLS_H) && !defined(_INCLUDED_GASNETEX_H)
#error "gasnet_tools.h was included before gasnet.h: include gasnet.h first (or gasnetex.h)"
#endif

#ifndef _INCLUDED_GASNETEX_H
#define _INCLUDED_GASNETEX_H
#define GASNETI_IN_GASNET_H 1

/* --- Threading mode --- */
#if (defined(GASNET_SEQ) + defined(GASNET_PARSYNC) + defined(GASNET_PAR)) != 1
#error "define exactly one of GASNET_SEQ, GASNET_PARSYNC, GASNET_PAR, for example by -DGASNET_SEQ"
#endif
#if defined(GASNET_SEQ)
#undef GASNET_SEQ
#define GASNET_SEQ                1
#define GASNETI_THREAD_TEXT       "SEQ"
#define GASNETI_WORD_THREAD(name) name##_SEQ
#elif defined(GASNET_PARSYNC)
#undef GASNET_PARSYNC
#define GASNET_PARSYNC            1
#define GASNETI_THREAD_TEXT       "PARSYNC"
#define GASNETI_WORD_THREAD(name) name##_PARSYNC
#else
#undef GASNET_PAR
#define GASNET_PAR                1
#define GASNETI_THREAD_TEXT       "PAR"
#define GASNETI_WORD_THREAD(name) name##_PAR
#endif
#if !defined(GASNET_SEQ)
#define GASNETI_THREADS 1 /* client threads may exist */
#endif

#include "gasnet_basic.h"
#include <pthread.h>

/* Handler-safe locks exclude handlers on other threads: of the client, or the receive thread.  The
 * size of a lock depends on GASNETI_HSL_LOCKS, so SEQ objects that are compiled without it do not
 * link.  */
#if GASNETI_THREADS || GASNETI_SEQ_RCV_THREAD
#define GASNETI_HSL_LOCKS 1
#if defined(GASNET_SEQ)
#undef GASNETI_WORD_THREAD
#define GASNETI_WORD_THREAD(name) name##_SEQ_rcvthread
#endif
#endif
#include "gasnet_conduit.h"

/* Handlers may run in a thread of the library, if GASNET_RCV_THREAD is set in the environment.  */
#if GASNETI_HSL_LOCKS
#define GASNET_HIDDEN_AM_CONCURRENCY_LEVEL 1
#undef GASNET_RCV_THREAD
#define GASNET_RCV_THREAD 1
#else
#define GASNET_HIDDEN_AM_CONCURRENCY_LEVEL 0
#endif

/* --- Versions, segment mode, limits --- */
#define GASNET_SPEC_VERSION_MAJOR 1
#define GASNET_SPEC_VERSION_MINOR 8
#define GASNET_VERSION            GASNET_SPEC_VERSION_MAJOR /* older name */

#if (defined(GASNET_SEGMENT_FAST) + defined(GASNET_SEGMENT_LARGE) +                                \
     defined(GASNET_SEGMENT_EVERYTHING)) != 1
#error "more than one of GASNET_SEGMENT_FAST, _LARGE, _EVERYTHING is defined; define none"
#endif
#if defined(GASNET_SEGMENT_FAST)
#undef GASNET_SEGMENT_FAST
#define GASNET_SEGMENT_FAST        1
#define GASNETI_SEGMENT_TEXT       "FAST"
#define GASNETI_WORD_SEGMENT(name) name##_FAST
#elif defined(GASNET_SEGMENT_LARGE)
#undef GASNET_SEGMENT_LARGE
#define GASNET_SEGMENT_LARGE       1
#define GASNETI_SEGMENT_TEXT       "LARGE"
#define GASNETI_WORD_SEGMENT(name) name##_LARGE
#else
#undef GASNET_SEGMENT_EVERYTHING
#define GASNET_SEGMENT_EVERYTHING  1
#define GASNETI_SEGMENT_TEXT       "EVERYTHING"
#define GASNETI_WORD_SEGMENT(name) name##_EVERYTHING
#endif

#ifndef GASNET_MAXNODES
#define GASNET_MAXNODES 0x7FFFFFFF
#endif
#define GASNET_PAGESIZE GASNETI_PAGESIZE

#if GASNET_PSHM
#define GASNETI_PSHM_TEXT       "pshm"
#define GASNETI_WORD_PSHM(name) name##_pshm
#else
#define GASNETI_PSHM_TEXT       "nopshm"
#define GASNETI_WORD_PSHM(name) name##_nopshm
#endif
#if GASNET_ALIGNED_SEGMENTS
#define GASNETI_ALIGN_TEXT       "align"
#define GASNETI_WORD_ALIGN(name) name##_align
#else
#define GASNETI_ALIGN_TEXT       "noalign"
#define GASNETI_WORD_ALIGN(name) name##_noalign
#endif

/* A literal without white space; clients search it for ",debug", "CONDUIT=" and the like.  */
/* clang-format off */
#define GASNET_CONFIG_STRING \
    "RELEASE=" GASNETI_RELEASE_TEXT \
    ",SPEC=" GASNETI_TEXT_OF(GASNET_SPEC_VERSION_MAJOR) "." GASNETI_TEXT_OF(GASNET_SPEC_VERSION_MINOR) \
    ",CONDUIT=" GASNET_CONDUIT_NAME_STR \
    "(" GASNET_CORE_NAME_STR "-" GASNET_CORE_VERSION_STR \
    "/" GASNET_EXTENDED_NAME_STR "-" GASNET_EXTENDED_VERSION_STR ")" \
    ",THREADMODEL=" GASNETI_THREAD_TEXT \
    ",SEGMENT=" GASNETI_SEGMENT_TEXT \
    ",PTR=" GASNETI_PTR_TEXT \
    "," GASNETI_ALIGN_TEXT \
    "," GASNETI_PSHM_TEXT \
    "," GASNETI_DEBUG_TEXT \
    "," GASNETI_TRACE_TEXT \
    "," GASNETI_STATS_TEXT \
    "," GASNETI_MALLOC_TEXT \
    "," GASNETI_SRCLINES_TEXT \
    "," GASNETI_TIMING_TEXT \
    "," GASNETI_ATOMICS_TEXT
/* clang-format on */

#include "gasnet_membar.h"
#include "gasnet_linkcheck.h"
#include "gasnet_fwd.h"
#include "gasnet_types.h"
#include "gasnet_pshm.h"
#include "gasnet_core.h"
#include "gasnet_hsl.h"
#include "gasnet_barrier.h"
#include "gasnet_transfer.h"
#include "gasnet_ex_objects.h"
#include "gasnet_am_calls.h"
#include "gasnet_ex_am.h"
#include "gasnet_ex_rma.h"
#include "gasnet_ex_coll.h"

#undef GASNETI_IN_GASNET_H
#endif
