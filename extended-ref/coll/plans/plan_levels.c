/* plan_levels.c - parents and children in trees of two levels: supernodes, and the ranks of each.
 * Pure.
 *
 * The leaders of supernodes form a k-nomial tree, so each supernode but the root's receives or
 * sends one message across the network for each of its children and its parent.  The other ranks of
 * a supernode are below the leader.  Without supernodes all ranks count as one supernode, and the
 * tree has one level.
 */
#include "extended-ref/coll/plans/plan_parts.h"

plan_position_t gasnete_coll_position(const gasnete_coll_plan_t *plan, uint32_t rank,
                                      const gasnete_topology_t *by)
{
    plan_position_t at = {.by = by, .count = plan->size, .number = rank, .leader = plan->root};
    if (!by) return at;
    at.own = by->of[rank];
    at.root_supernode = by->of[plan->root];
    at.first = by->first[at.own];
    at.count = gasnete_topology_members(by, at.own);
    at.number = by->index[rank] - at.first;
    at.leader = at.own == at.root_supernode ? by->index[plan->root] - at.first : 0;
    return at;
}

static uint32_t rank_within(const plan_position_t *at, uint32_t number)
{
    const uint32_t index = at->first + (number + at->leader) % at->count;
    return at->by ? at->by->ranks[index] : index;
}

/* The leader of a supernode other than the root's. */
static uint32_t rank_between(const plan_position_t *at, uint32_t number)
{
    return gasnete_topology_leader(at->by, (number + at->root_supernode) % at->by->count);
}

plan_levels_t gasnete_coll_levels(const gasnete_coll_plan_t *plan, uint32_t rank)
{
    const gasnete_topology_t *by = plan->algorithm == GASNETE_COLL_FLAT ? NULL : plan->topology;
    const uint32_t count = by ? by->count : 1;
    plan_levels_t levels = {.at = gasnete_coll_position(plan, rank, by)};
    const plan_position_t *at = &levels.at;
    levels.within =
        gasnete_coll_tree(plan, (at->number + at->count - at->leader) % at->count, at->count);
    levels.between = gasnete_coll_tree(plan, (at->own + count - at->root_supernode) % count, count);
    if (levels.within.v) levels.between.children = 0;
    levels.children = levels.within.children + levels.between.children;
    return levels;
}

plan_child_t gasnete_coll_child(const plan_levels_t *levels, uint32_t i)
{
    if (i < levels->within.children)
        return (plan_child_t){.number = gasnete_coll_tree_child(&levels->within, i)};
    return (plan_child_t){
        .between = true,
        .number = gasnete_coll_tree_child(&levels->between, i - levels->within.children)};
}

uint32_t gasnete_coll_child_rank(const plan_levels_t *levels, plan_child_t child)
{
    return child.between ? rank_between(&levels->at, child.number)
                         : rank_within(&levels->at, child.number);
}

uint32_t gasnete_coll_parent_rank(const gasnete_coll_plan_t *plan, const plan_levels_t *levels)
{
    if (levels->within.v) return rank_within(&levels->at, plan_tree_parent(&levels->within));
    const uint32_t parent = plan_tree_parent(&levels->between);
    return parent ? rank_between(&levels->at, parent) : plan->root;
}
