/* gasnet_fwd.h - types and constants of GASNet-EX without any function.
 *
 * Can be included alone, in C and C++, before a threading mode is selected and in any order with
 * the other headers: for the public header of a library that uses GASNet-EX inside.  All flags are
 * constant expressions of an unsigned 32-bit type; those that one call accepts have different bits.
 */
#ifndef _GEX_GASNET_FWD_H
#define _GEX_GASNET_FWD_H

/* As in gasnet_basic.h, which may come after this header. */
#if defined(__STRICT_ANSI__) && !defined(_DEFAULT_SOURCE) && !defined(_GNU_SOURCE) &&              \
    !defined(_POSIX_C_SOURCE) && !defined(_POSIX_SOURCE) && !defined(_XOPEN_SOURCE)
#define _DEFAULT_SOURCE 1
#endif
#include <stdint.h>

/* --- Scalar types --- */

typedef uint32_t gex_Rank_t;     /* a member of a team, from 0; gasnet_node_t */
typedef uint16_t gex_EP_Index_t; /* an endpoint of a process; 0: the primordial one */
typedef uint32_t gex_Flags_t;    /* GEX_FLAG_*, or'd */
typedef uint32_t gex_DT_t;       /* one of GEX_DT_* */
typedef uint32_t gex_OP_t;       /* one of GEX_OP_*, or an or of several where a call says so */
typedef uint32_t gex_EP_Capabilities_t; /* GEX_EP_CAPABILITY_*, or'd */
typedef void *gex_Addr_t;
typedef struct gex_Event_s *gex_Event_t; /* an operation in flight; gasnet_handle_t */

typedef struct {
    gex_Rank_t gex_rank;
    gex_EP_Index_t gex_ep_index;
} gex_EP_Location_t;

#define GEX_RANK_INVALID (~(gex_Rank_t)0) /* greater than any rank */

/* --- Events --- */

#define GEX_EVENT_INVALID ((gex_Event_t)0)            /* of an operation that is complete */
#define GEX_EVENT_NO_OP   ((gex_Event_t)(uintptr_t)1) /* an immediate call that did nothing */

/* Local completion, where a call takes a gex_Event_t *: before the call returns; with the operation
 * itself; in the implicit operations of the thread. */
#define GEX_EVENT_NOW   ((gex_Event_t *)(uintptr_t)1)
#define GEX_EVENT_DEFER ((gex_Event_t *)(uintptr_t)2)
#define GEX_EVENT_GROUP ((gex_Event_t *)(uintptr_t)3)

/* --- Flags --- */

/* Messages, transfers and atomics: return without effect where the call would wait. */
#define GEX_FLAG_IMMEDIATE (1U << 0)

/* Atomics: the operation is a release, an acquire; the target is this rank, in its neighbourhood.
 */
#define GEX_FLAG_AD_REL          (1U << 1)
#define GEX_FLAG_AD_ACQ          (1U << 2)
#define GEX_FLAG_AD_MY_RANK      (1U << 11)
#define GEX_FLAG_AD_MY_NBRHD     (1U << 12)
#define GEX_FLAG_RANK_IS_JOBRANK (1U << 13) /* also gex_TM_Create */

/* Promises about local and remote addresses; accepted and unused. */
#define GEX_FLAG_SELF_SEG_UNKNOWN (1U << 3)
#define GEX_FLAG_SELF_SEG_SOME    (1U << 4)
#define GEX_FLAG_SELF_SEG_BOUND   (1U << 5)
#define GEX_FLAG_SELF_SEG_OFFSET  (1U << 6)
#define GEX_FLAG_PEER_SEG_UNKNOWN (1U << 7)
#define GEX_FLAG_PEER_SEG_SOME    (1U << 8)
#define GEX_FLAG_PEER_SEG_BOUND   (1U << 9)
#define GEX_FLAG_PEER_SEG_OFFSET  (1U << 10)

/* Limits of messages: what Prepare accepts as `least` with a client's buffer, without one. */
#define GEX_FLAG_AM_PREPARE_LEAST_CLIENT (1U << 11)
#define GEX_FLAG_AM_PREPARE_LEAST_ALLOC  (1U << 12)

#define GEX_FLAG_ENABLE_LEAF_LC    (1U << 11) /* vector, indexed and strided puts */
#define GEX_FLAG_GLOBALLY_QUIESCED (1U << 13) /* gex_TM_Destroy */
#define GEX_FLAG_PEER_NEVER_NBRHD  (1U << 14) /* transfers: a promise; unused */
#define GEX_FLAG_PEER_NEVER_SELF   (1U << 15) /* transfers: a promise; unused */

/* gex_AD_Create */
#define GEX_FLAG_AD_FAVOR_MY_RANK  (1U << 0)
#define GEX_FLAG_AD_FAVOR_MY_NBRHD (1U << 1)
#define GEX_FLAG_AD_FAVOR_REMOTE   (1U << 2)

/* gex_AM_Entry_t: the messages that a handler is for; a category and a direction at least */
#define GEX_FLAG_AM_SHORT   (1U << 0)
#define GEX_FLAG_AM_MEDIUM  (1U << 1)
#define GEX_FLAG_AM_LONG    (1U << 2)
#define GEX_FLAG_AM_MEDLONG (GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_LONG)
#define GEX_FLAG_AM_REQUEST (1U << 3)
#define GEX_FLAG_AM_REPLY   (1U << 4)
#define GEX_FLAG_AM_REQREP  (GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_REPLY)

/* gex_Client_Init */
#define GEX_FLAG_USES_GASNET1  (1U << 0)
#define GEX_FLAG_DEFER_THREADS (1U << 1)

/* gex_TM_Split, gex_TM_Create, gex_TM_Destroy */
#define GEX_FLAG_TM_SCRATCH_SIZE_MIN         (1U << 0)
#define GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED (1U << 1)
#define GEX_FLAG_TM_GLOBAL_SCRATCH           (1U << 2)
#define GEX_FLAG_TM_LOCAL_SCRATCH            (1U << 3)
#define GEX_FLAG_TM_SYMMETRIC_SCRATCH        (1U << 4)
#define GEX_FLAG_TM_NO_SCRATCH               (1U << 5)
#define GEX_FLAG_SCRATCH_SEG_OFFSET          (1U << 6)

/* gex_EP_Create */
#define GEX_FLAG_HINT_ACCEL_AD   (1U << 0)
#define GEX_FLAG_HINT_ACCEL_COLL (1U << 1)
#define GEX_FLAG_HINT_ACCEL_ALL  (GEX_FLAG_HINT_ACCEL_AD | GEX_FLAG_HINT_ACCEL_COLL)

#define GEX_EP_CAPABILITY_RMA  (1U << 0)
#define GEX_EP_CAPABILITY_AM   (1U << 1)
#define GEX_EP_CAPABILITY_VIS  (1U << 2)
#define GEX_EP_CAPABILITY_COLL (1U << 3)
#define GEX_EP_CAPABILITY_AD   (1U << 4)
#define GEX_EP_CAPABILITY_ALL                                                                      \
    (GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_AM | GEX_EP_CAPABILITY_VIS |                        \
     GEX_EP_CAPABILITY_COLL | GEX_EP_CAPABILITY_AD)

/* --- Data types and operations of reductions and atomics --- */

#define GEX_DT_I32  (1U << 0)
#define GEX_DT_U32  (1U << 1)
#define GEX_DT_I64  (1U << 2)
#define GEX_DT_U64  (1U << 3)
#define GEX_DT_FLT  (1U << 4)
#define GEX_DT_DBL  (1U << 5)
#define GEX_DT_USER (1U << 6) /* bytes whose meaning the client alone knows */

#define GEX_OP_AND  (1U << 0)
#define GEX_OP_OR   (1U << 1)
#define GEX_OP_XOR  (1U << 2)
#define GEX_OP_ADD  (1U << 3)
#define GEX_OP_SUB  (1U << 4)
#define GEX_OP_MULT (1U << 5)
#define GEX_OP_MIN  (1U << 6)
#define GEX_OP_MAX  (1U << 7)
#define GEX_OP_INC  (1U << 8)
#define GEX_OP_DEC  (1U << 9)
#define GEX_OP_SET  (1U << 10)
#define GEX_OP_CAS  (1U << 11)

/* The forms that return the earlier value have the bits of the others, shifted. */
#define GEX_OP_TO_FETCHING(op)    ((gex_OP_t)(op) << 15)
#define GEX_OP_TO_NONFETCHING(op) ((gex_OP_t)(op) >> 15)
#define GEX_OP_FAND               (1U << 15)
#define GEX_OP_FOR                (1U << 16)
#define GEX_OP_FXOR               (1U << 17)
#define GEX_OP_FADD               (1U << 18)
#define GEX_OP_FSUB               (1U << 19)
#define GEX_OP_FMULT              (1U << 20)
#define GEX_OP_FMIN               (1U << 21)
#define GEX_OP_FMAX               (1U << 22)
#define GEX_OP_FINC               (1U << 23)
#define GEX_OP_FDEC               (1U << 24)
#define GEX_OP_SWAP               (1U << 25)
#define GEX_OP_FCAS               (1U << 26)
#define GEX_OP_CSWAP              GEX_OP_FCAS /* older name */
#define GEX_OP_GET                (1U << 27)
#define GEX_OP_USER               (1U << 30) /* commutative */
#define GEX_OP_USER_NC            (1U << 31) /* not commutative */

#endif
