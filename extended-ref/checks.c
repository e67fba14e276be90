/* checks.c - checks of the arguments of every transfer, barrier and atomic operation, in debug
 * builds.
 *
 * Called by the inline functions of gasnet_extended.h, which are empty in production builds, and by
 * ex/atomics.c.
 */
#include "extended-ref/handles.h"

#ifdef GASNET_DEBUG

#include "core/rdma/segment.h"
#include "core/report.h"
#include "extended-ref/ex/atomics.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/shm_transfer.h"

static void check_remote(const char *call, gasnet_node_t node, const void *start, size_t nbytes)
{
    gasnete_check_transfer(call, node);
    if (nbytes) gasnete_check_attached(node, start, nbytes, call);
}

void gasnete_check_remote(const char *call, gasnet_node_t node, const void *start, size_t nbytes)
{
    gasneti_check_classic(call);
    check_remote(call, node, start, nbytes);
}

void gasnete_check_bound(const char *call, gex_TM_t tm, gex_Rank_t rank, const void *start,
                         size_t nbytes)
{
    const gex_Rank_t node = gasneti_jobrank(tm, rank);
    void *base;
    uintptr_t size;
    if (!tm->index) {
        check_remote(call, node, start, nbytes);
        return;
    }
    gasnete_check_transfer(call, node);
    if (!nbytes) return;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, rank, &base, NULL, &size, 0));
    if (!size)
        gasneti_fatal("%s names endpoint %d of %s, of which this rank knows no segment: bind one, "
                      "and call gex_EP_PublishBoundSegment on both ranks",
                      call, tm->index, gasneti_rank_name(node));
    if (!gasnetc_within((uintptr_t)base, size, (uintptr_t)start, nbytes))
        gasneti_fatal("%s of %zu bytes at %p is outside the segment of endpoint %d of %s, which is "
                      "%zu bytes at %p",
                      call, nbytes, start, tm->index, gasneti_rank_name(node), (size_t)size, base);
}

void gasnete_check_atomic(const char *call, gex_AD_t ad, gex_DT_t dt, const void *result,
                          gex_Rank_t rank, const void *addr, gex_OP_t op, gex_Flags_t flags)
{
    const size_t nbytes = gasnete_atomic_types[GASNETE_BIT(dt)].size;
    gasnetc_check_may_communicate(call);
    if (!gasnete_is_domain(ad))
        gasneti_fatal("%s is given the domain %p, which " GASNETE_NO_DOMAIN, call, (void *)ad);
    if (ad->dt != dt)
        gasneti_fatal("%s is given a domain of another type, 0x%x (GEX_DT_)", call, ad->dt);
    if (!op || op & (op - 1) || !(op & ad->ops))
        gasneti_fatal("%s is called with operation 0x%x: exactly one of the domain's operations, "
                      "0x%x, is needed",
                      call, op, ad->ops);
    if (gasnete_op_fetches(op) && !result)
        gasneti_fatal("%s is called with operation 0x%x, which stores a result, and with NULL for "
                      "it",
                      call, op);
    if (flags & GEX_FLAG_RANK_IS_JOBRANK &&
        gex_TM_TranslateJobrankToRank(ad->tm, rank) == GEX_RANK_INVALID)
        gasneti_fatal("%s names rank %u of the job, which is not in the domain's team", call, rank);
    const gex_Rank_t node = flags & GEX_FLAG_RANK_IS_JOBRANK ? rank : gasneti_jobrank(ad->tm, rank);
    const bool mine = node == gasnetc_job.rank;
    if ((flags & GEX_FLAG_AD_MY_RANK && !mine) ||
        (flags & GEX_FLAG_AD_MY_NBRHD && !mine && !gasnete_shm_peer(node)))
        gasneti_fatal("%s is called with the promise that rank %u of the job is this rank, or "
                      "shares memory with it, and it does not: flags 0x%x",
                      call, node, flags);
    if ((uintptr_t)addr & (nbytes - 1))
        gasneti_fatal("%s is called with address %p, which is not aligned to %zu bytes", call, addr,
                      nbytes);
    gasnete_check_attached(node, addr, nbytes, call);
}

/* The private bit of GASNET_BARRIERFLAG_UNNAMED alone is not a valid flag.  */
void gasnete_check_barrier(const char *call, int flags)
{
    const int bits[] = {GASNET_BARRIERFLAG_UNNAMED, GASNET_BARRIERFLAG_ANONYMOUS,
                        GASNET_BARRIERFLAG_MISMATCH, GASNET_BARRIERFLAG_IMAGES};
    int unknown = flags;
    gasnetc_check_may_communicate(call);
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if ((unknown & bits[i]) == bits[i]) unknown &= ~bits[i];
    if (unknown)
        gasneti_fatal(
            "%s is given the flags 0x%x, of which 0x%x is unknown: they are 0 or a sum of "
            "GASNET_BARRIERFLAG_ values",
            call, (unsigned)flags, (unsigned)unknown);
}

#endif
