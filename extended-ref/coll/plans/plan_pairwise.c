/* plan_pairwise.c - EXCHANGE and GATHER_ALL by one message between each pair of ranks.  Pure.
 *
 * A rank sends to the ranks after it, the nearest first, and receives from the ranks before it: so
 * no rank receives from many at once.  A round has several such messages, so that some are always
 * in flight.
 */
#include "extended-ref/coll/plans/plan_parts.h"

enum { AT_ONCE = 8 };

static uint32_t pairwise_rounds(const gasnete_coll_plan_t *plan)
{
    return plan->size == 1 ? 1 : (plan->size - 1 + AT_ONCE - 1) / AT_ONCE;
}

/* The blocks that this rank sends to `rank`.  */
static plan_range_t for_rank(const gasnete_coll_plan_t *plan, uint32_t rank)
{
    if (plan->kind == GASNETE_COLL_GATHER_ALL)
        return (plan_range_t){0, plan_blocks(plan, plan->rank)};
    const size_t images = plan_images(plan, plan->rank);
    return (plan_range_t){images * plan_offset(plan, rank), images * plan_blocks(plan, rank)};
}

/* The blocks that this rank receives from `rank`.  */
static plan_range_t from_rank(const gasnete_coll_plan_t *plan, uint32_t rank)
{
    const size_t images = plan->kind == GASNETE_COLL_GATHER_ALL ? 1 : plan_images(plan, plan->rank);
    return (plan_range_t){images * plan_offset(plan, rank), images * plan_blocks(plan, rank)};
}

static bool pairwise_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const uint32_t nearest = 1 + round * AT_ONCE, others = plan->size - nearest;
    const uint32_t count = others < AT_ONCE ? others : AT_ONCE;
    if (o->left < count) {
        uint32_t peer = plan_rank(plan, (uint64_t)plan->rank + plan->size - nearest - o->left);
        const plan_range_t r = from_rank(plan, peer);
        o->left = 0;
        return offer_recv(o, peer, 0, address(GASNETE_COLL_DST, r.offset), r.nbytes);
    }
    o->left -= count;
    if (o->left < count) {
        uint32_t peer = plan_rank(plan, (uint64_t)plan->rank + nearest + o->left);
        const plan_range_t r = for_rank(plan, peer);
        o->left = 0;
        return offer_send(o, peer, 0, address(GASNETE_COLL_SRC, r.offset), r.nbytes);
    }
    o->left -= count;
    const plan_range_t own = for_rank(plan, plan->rank);
    return round == 0 &&
           offer_copy(o, address(GASNETE_COLL_DST, from_rank(plan, plan->rank).offset),
                      address(GASNETE_COLL_SRC, own.offset), own.nbytes);
}

const gasnete_coll_method_t gasnete_coll_method_pairwise = {
    .rounds = pairwise_rounds, .ahead = 1, .action = pairwise_action};
