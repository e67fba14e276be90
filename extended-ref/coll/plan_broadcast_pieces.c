/* plan_broadcast_pieces.c - BROADCAST of large blocks: one piece to each rank along a binomial
 * tree, then each rank gathers all pieces by dissemination.  Pure.
 *
 * Twice the bytes of the whole pass each rank, however many ranks there are.  All is received at
 * its place in DST.  Ranks and pieces are counted from the root.  A rank within the tree has
 * received the pieces of its subtree with its own, so that the gathering does not send these again.
 */
#include "extended-ref/coll/plan_parts.h"

typedef struct member {
    plan_tree_t tree;
    enum gasnete_coll_buffer source;
} member_t;

static member_t member_of(const gasnete_coll_plan_t *plan)
{
    gasnete_coll_plan_t binomial = *plan;
    binomial.radix = 2;
    return (member_t){gasnete_coll_tree(&binomial, plan_virtual(plan), plan->size),
                      plan_is_root(plan) ? GASNETE_COLL_SRC : GASNETE_COLL_DST};
}

static uint32_t rank_of(const gasnete_coll_plan_t *plan, uint64_t v)
{
    return plan_rank(plan, plan->root + v);
}

static uint32_t rounds(const gasnete_coll_plan_t *plan)
{
    return 1 + plan_log2(plan->size);
}

/* Sends child i, or receives, the pieces of a subtree.  */
static bool offer_subtree(offer_t *o, const gasnete_coll_plan_t *plan, const member_t *m)
{
    const plan_range_t own = plan_part(plan, m->tree.v, plan_tree_nodes(&m->tree), 0);
    return own.nbytes && offer_recv(o, rank_of(plan, plan_tree_parent(&m->tree)), 0,
                                    place(GASNETE_COLL_DST, own.offset), own.nbytes);
}

static bool offer_children(offer_t *o, const gasnete_coll_plan_t *plan, const member_t *m)
{
    for (uint32_t i = m->tree.children; i--;) {
        const uint32_t child = gasnete_coll_tree_child(&m->tree, i), behind = plan->size - child;
        const uint32_t width = (uint32_t)1 << i;
        const plan_range_t r = plan_part(plan, child, width < behind ? width : behind, 0);
        if (r.nbytes &&
            offer_send(o, rank_of(plan, child), 0, place(m->source, r.offset), r.nbytes))
            return true;
    }
    return false;
}

/* What number `v` receives in the round of distance 2^k.  */
static plan_range_t gathered(const gasnete_coll_plan_t *plan, uint32_t v, uint32_t k, uint32_t part)
{
    const uint64_t distance = (uint64_t)1 << k;
    const bool in_subtree = part == 0 && v + distance < plan->size && v % (2 * distance) == 0;
    if (in_subtree) return (plan_range_t){0, 0};
    return plan_part(plan, v + distance, plan_moved(plan, k), part);
}

static bool offer_gathering(offer_t *o, const gasnete_coll_plan_t *plan, const member_t *m,
                            uint32_t k)
{
    const uint64_t distance = (uint64_t)1 << k;
    const uint32_t before = plan_rank(plan, m->tree.v + plan->size - distance);
    for (uint32_t part = 0; part < 2; part++) {
        const plan_range_t r = gathered(plan, m->tree.v, k, part);
        if (r.nbytes && offer_recv(o, rank_of(plan, m->tree.v + distance), 1 + 2 * k + part,
                                   place(GASNETE_COLL_DST, r.offset), r.nbytes))
            return true;
    }
    for (uint32_t part = 0; part < 2; part++) {
        const plan_range_t r = gathered(plan, before, k, part);
        if (r.nbytes && offer_send(o, rank_of(plan, before), 1 + 2 * k + part,
                                   place(m->source, r.offset), r.nbytes))
            return true;
    }
    return false;
}

static bool action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const member_t m = member_of(plan);
    const bool root = plan_is_root(plan);
    if (round == 0 && !root) return offer_subtree(o, plan, &m);
    if (round == (root ? 0 : 1) && offer_children(o, plan, &m)) return true;
    if (round > 0 && offer_gathering(o, plan, &m, round - 1)) return true;
    return root && round + 1 == rounds(plan) &&
           offer_copy(o, place(GASNETE_COLL_DST, 0), place(GASNETE_COLL_SRC, 0), plan->nbytes);
}

const gasnete_coll_method_t gasnete_coll_broadcast_pieces = {
    .rounds = rounds, .ahead = rounds, .action = action};
