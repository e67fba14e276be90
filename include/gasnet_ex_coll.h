/* gasnet_ex_coll.h - GASNet-EX: collective operations of teams.
 *
 * Private part of gasnetex.h.  All members make the same calls in the same order, with equal root,
 * sizes and operations.  Each call returns an event; any number may be outstanding, and polls of
 * any thread advance them.  From the call until its event is complete the source must not change
 * and the destination must not be used; nothing is said of other ranks.  Buffers may be anywhere,
 * with any alignment.  flags: 0.  Errors are fatal.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_ex_coll.h is private: include gasnetex.h"
#endif
#ifndef GASNETI_EX_COLL_H
#define GASNETI_EX_COLL_H

GASNETI_EXPORTS_BEGIN

/* Combines `count` elements: out[i] = left[i] op out[i].  May be called in any thread, in any call
 * of the library, with other counts than that of the operation; must not communicate. */
typedef void (*gex_Coll_ReduceFn_t)(const void *left, void *out, size_t count, const void *cdata);

/* A barrier: complete when all members have called; no relation to gasnet_barrier. */
extern gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t flags) GASNETI_MUST_SYNC;
extern void gex_Coll_BarrierBlocking(gex_TM_t tm, gex_Flags_t flags);

/* Copies nbytes of `src` at the root to `dst` of all members.  src: may be dst at the root, and is
 * ignored elsewhere. */
extern gex_Event_t gex_Coll_BroadcastNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                                        size_t nbytes, gex_Flags_t flags) GASNETI_MUST_SYNC;

/* Combines sources: dst[i] = their elements i, combined by `op`, for dt_cnt elements of dt_sz
 * bytes; at the root, or at all members, where all get the same bits.  dt: GEX_DT_*; op:
 * GEX_OP_ADD, MULT, MIN, MAX, for integers also AND, OR, XOR; or GEX_OP_USER, or GEX_OP_USER_NC for
 * a function that is not commutative, with `user_op` and `user_cdata`, which are the caller's own.
 * dst: may be src, of ReduceToAll on all members or on none. */
extern gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                                          gex_DT_t dt, size_t dt_sz, size_t dt_cnt, gex_OP_t op,
                                          gex_Coll_ReduceFn_t user_op, void *user_cdata,
                                          gex_Flags_t flags) GASNETI_MUST_SYNC;
extern gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt,
                                          size_t dt_sz, size_t dt_cnt, gex_OP_t op,
                                          gex_Coll_ReduceFn_t user_op, void *user_cdata,
                                          gex_Flags_t flags) GASNETI_MUST_SYNC;

GASNETI_EXPORTS_END
#endif
