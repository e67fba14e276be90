/* gasnet_ratomic.h - GASNet-EX: remote atomics.
 *
 * A domain has a team, a data type and operations.  Operations through one domain on the same
 * location are atomic with respect to each other, and to nothing else: every other access of these
 * bytes (the processor's, a transfer, another domain) must be separated from them in time, by
 * synchronisation.
 *
 * An operation is executed by a processor: by the caller's if the location is in its own memory or
 * in that of a rank that shares memory with it, else by the target's when it polls.  Where the user
 * asks for it (GASNET_ADAPTER_ATOMICS) the adapter executes all operations of a domain, if it has
 * those operations; doc/gasnet-ex.md says which.
 *
 * The rules of gasnetex.h hold.  Errors are fatal; debug builds find most wrong arguments.
 */
#ifndef _INCLUDED_GASNET_RATOMIC_H
#define _INCLUDED_GASNET_RATOMIC_H

#include "gasnetex.h"

GASNETI_EXPORTS_BEGIN

typedef struct gex_AD_s *gex_AD_t;
#define GEX_AD_INVALID ((gex_AD_t)0)

/* --- Domains --- */

/* Its members are not for clients. */
struct gex_AD_s {
    void *cdata;
    gex_AD_t next;
    gex_TM_t tm;
    int by;    /* who executes the operations: enum gasnete_atomics_by of the library */
    int usual; /* non-zero: processors do, and the team is that of all ranks */
    gex_DT_t dt;
    gex_OP_t ops;
    gex_Flags_t flags;
};

/* Makes a domain.  Collective over the team, with equal arguments; not a barrier.
 *
 * tm: a team, no pair.  dt: one of GEX_DT_I32, _U32, _I64, _U64, _FLT, _DBL.  ops: GEX_OP_*, or'd,
 * at least one; AND, OR, XOR and their fetching forms of integers alone.  flags: at most one of
 * GEX_FLAG_AD_FAVOR_*, a hint for the choice of processors or adapter. */
extern void gex_AD_Create(gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops,
                          gex_Flags_t flags);
/* Ends a domain.  Collective over the team; not a barrier.  The operations of this rank are
 * complete. */
extern void gex_AD_Destroy(gex_AD_t ad);

/* What gex_AD_Create was given; also in handlers and with locks held. */
GASNETI_INLINE gex_Flags_t gex_AD_QueryFlags(gex_AD_t ad)
{
    return ad->flags;
}
GASNETI_INLINE gex_TM_t gex_AD_QueryTM(gex_AD_t ad)
{
    return ad->tm;
}
GASNETI_INLINE gex_DT_t gex_AD_QueryDT(gex_AD_t ad)
{
    return ad->dt;
}
GASNETI_INLINE gex_OP_t gex_AD_QueryOps(gex_AD_t ad)
{
    return ad->ops;
}
/* Sets and returns the client's own pointer of this rank, of a domain; NULL at first. */
GASNETI_CDATA(AD)

/* --- Operations --- */

/* The types that domains have: integers, and floating-point numbers. */
#define GASNETI_AD_TYPES(integer, floating)                                                        \
    integer(I32, int32_t) integer(U32, uint32_t) integer(I64, int64_t) integer(U64, uint64_t)      \
        floating(FLT, float) floating(DBL, double)

/* One operation on the element at `addr` of a rank.
 *
 *     gex_Event_t gex_AD_OpNB_T(gex_AD_t ad, ctype *result_p, gex_Rank_t rank, void *addr,
 *                               gex_OP_t op, ctype operand1, ctype operand2, gex_Flags_t flags)
 *     int gex_AD_OpNBI_T(...), with the same arguments
 *
 * T: I32, U32, I64, U64, FLT or DBL; ctype: the type of C that it stands for.  The operation has
 * been executed, and *result_p is stored, when it is synchronised; either call may return before
 * that.
 *
 *     ADD SUB MULT MIN MAX AND OR XOR   element = element op operand1
 *     INC DEC                           element = element + 1, element - 1
 *     SET                               element = operand1
 *     CAS                               if (element == operand1) element = operand2
 *     GET                               leaves the element as it is
 *     F forms, SWAP, FCAS, GET          also *result_p = element, as it was before
 *
 * SWAP is the F form of SET.  Integers wrap around.  CAS and FCAS fail only if the element
 * differs; of floating-point numbers they compare the bits.
 *
 * ad: a domain of type T.  result_p: aligned memory of this rank; ignored, and may be NULL, unless
 * the operation stores it.  rank: a member of the domain's team; with GEX_FLAG_RANK_IS_JOBRANK a
 * rank of the job that is one.  addr: aligned to the size of the type, in the bound segment of the
 * rank.  op: one of the domain's operations.  Operands that an operation does not name are ignored.
 *
 * flags, or'd: GEX_FLAG_AD_REL and GEX_FLAG_AD_ACQ, the operation is a release or acquire, as those
 * of C11; GEX_FLAG_AD_MY_RANK and GEX_FLAG_AD_MY_NBRHD, promises that the rank is this one or
 * shares memory with it, of which no use is made; GEX_FLAG_RANK_IS_JOBRANK; GEX_FLAG_IMMEDIATE,
 * which changes nothing: the operation is always started.
 *
 * OpNB returns an event, to be synchronised once, by any thread; GEX_EVENT_INVALID if the operation
 * is complete.  OpNBI returns 0; gex_NBI_Wait and gex_NBI_Test of the same thread synchronise it,
 * as a put (GEX_EC_PUT) if it is a SET, as a get (GEX_EC_GET) if it is a GET, else as GEX_EC_RMW.
 */
#define GASNETI_AD_CALLS(T, type)                                                                  \
    extern gex_Event_t gex_AD_OpNB_##T(gex_AD_t ad, type *result_p, gex_Rank_t rank, void *addr,   \
                                       gex_OP_t op, type operand1, type operand2,                  \
                                       gex_Flags_t flags) GASNETI_MUST_SYNC;                       \
    extern int gex_AD_OpNBI_##T(gex_AD_t ad, type *result_p, gex_Rank_t rank, void *addr,          \
                                gex_OP_t op, type operand1, type operand2, gex_Flags_t flags);
GASNETI_AD_TYPES(GASNETI_AD_CALLS, GASNETI_AD_CALLS)
#undef GASNETI_AD_CALLS

GASNETI_EXPORTS_END
#endif
