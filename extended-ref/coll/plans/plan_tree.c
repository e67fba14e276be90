/* plan_tree.c - the shape of k-nomial trees, and BROADCAST along one.  Pure.
 *
 * A flat tree is one whose radix is the number of ranks.  A broadcast of more than `segment` bytes
 * forwards each segment while the next arrives, unless all ranks are the root's children.
 */
#include "extended-ref/coll/plans/plan_parts.h"

plan_tree_t gasnete_coll_tree(const gasnete_coll_plan_t *plan, uint32_t v, uint32_t span)
{
    uint32_t radix = plan->algorithm == GASNETE_COLL_FLAT ? plan->size : plan->radix;
    plan_tree_t tree = {.v = v, .span = span, .radix = radix < 2 ? 2 : radix, .weight = 1};
    while (tree.weight < span && v / tree.weight % tree.radix == 0) {
        uint64_t last = (span - 1 - v) / tree.weight;
        tree.children += last < tree.radix ? (uint32_t)last : tree.radix - 1;
        tree.weight *= tree.radix;
    }
    return tree;
}

uint32_t gasnete_coll_tree_child(const plan_tree_t *tree, uint32_t i)
{
    uint64_t weight = 1;
    for (uint32_t level = i / (tree->radix - 1); level; level--) weight *= tree->radix;
    return (uint32_t)(tree->v + (i % (tree->radix - 1) + 1) * weight);
}

uint32_t gasnete_coll_tree_below(const plan_tree_t *tree, uint32_t child)
{
    plan_tree_t below = *tree;
    below.v = child;
    below.weight = 1;
    while (child - tree->v >= below.weight * below.radix) below.weight *= below.radix;
    return plan_tree_nodes(&below);
}

uint32_t gasnete_coll_tree_towards(const plan_tree_t *tree, uint32_t number)
{
    uint32_t below = number - tree->v;
    uint64_t weight = 1;
    while (weight * tree->radix <= below) weight *= tree->radix;
    return (uint32_t)(tree->v + below / weight * weight);
}

static uint32_t broadcast_segments(const gasnete_coll_plan_t *plan)
{
    if (!plan->segment || plan->segment >= plan->nbytes) return 1;
    if (gasnete_coll_levels(plan, plan->root).children + 1 == plan->size) return 1;
    return (uint32_t)((plan->nbytes + plan->segment - 1) / plan->segment);
}

static plan_range_t broadcast_segment(const gasnete_coll_plan_t *plan, uint32_t s)
{
    size_t offset = s * plan->segment, rest = plan->nbytes - offset;
    return (plan_range_t){offset, broadcast_segments(plan) == s + 1 ? rest : plan->segment};
}

static uint32_t broadcast_rounds(const gasnete_coll_plan_t *plan)
{
    return broadcast_segments(plan) +
           (!plan_is_root(plan) && gasnete_coll_levels(plan, plan->rank).children > 0);
}

static bool broadcast_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const plan_levels_t levels = gasnete_coll_levels(plan, plan->rank);
    const bool root = plan_is_root(plan);
    if (!root && round < broadcast_segments(plan)) {
        const plan_range_t r = broadcast_segment(plan, round);
        const uint32_t parent = gasnete_coll_parent_rank(plan, &levels);
        if (offer_recv(o, parent, round, address(GASNETE_COLL_DST, r.offset), r.nbytes))
            return true;
    }
    if (root || round > 0) {
        const uint32_t s = root ? round : round - 1;
        const plan_range_t r = broadcast_segment(plan, s);
        if (o->left < levels.children) {
            const plan_child_t child = gasnete_coll_child(&levels, levels.children - 1 - o->left);
            o->left = 0;
            return offer_send(o, gasnete_coll_child_rank(&levels, child), s,
                              address(root ? GASNETE_COLL_SRC : GASNETE_COLL_DST, r.offset),
                              r.nbytes);
        }
        o->left -= levels.children;
    }
    return root && round + 1 == broadcast_segments(plan) &&
           offer_copy(o, address(GASNETE_COLL_DST, 0), address(GASNETE_COLL_SRC, 0), plan->nbytes);
}

const gasnete_coll_method_t gasnete_coll_method_broadcast_tree = {
    .rounds = broadcast_rounds, .ahead = 4, .action = broadcast_action};
