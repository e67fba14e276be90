/* plan_levels.c - parents and children in trees of two levels: supernodes, and the ranks of each.
 * Pure.
 *
 * The leaders of supernodes form a k-nomial tree, so each supernode but the root's receives or
 * sends one message across the network for each of its children and its parent.  The other ranks of
 * a supernode are below the leader.  Without supernodes all ranks count as one supernode, and the
 * tree has one level.
 */
#include "extended-ref/coll/plans/plan_parts.h"

static uint32_t count_of(const plan_levels_t *levels)
{
    return levels->by ? levels->by->count : 1;
}

static uint32_t rank_at(const plan_levels_t *levels, uint32_t index)
{
    return levels->by ? levels->by->ranks[index] : index;
}

static uint32_t rank_near(const plan_levels_t *levels, uint32_t number)
{
    return rank_at(levels, levels->first + (number + levels->leader) % levels->count);
}

/* The leader of a supernode other than the root's. */
static uint32_t rank_far(const plan_levels_t *levels, uint32_t number)
{
    return rank_at(levels, levels->by->first[(number + levels->home) % levels->by->count]);
}

/* The supernodes of a tree of two levels; NULL: the tree has one level. */
static const gasnete_coll_supernodes_t *supernodes_of(const gasnete_coll_plan_t *plan)
{
    return plan->algorithm == GASNETE_COLL_FLAT ? NULL : plan->supernodes;
}

plan_levels_t gasnete_coll_levels(const gasnete_coll_plan_t *plan, uint32_t rank)
{
    const gasnete_coll_supernodes_t *by = supernodes_of(plan);
    const uint32_t own = by ? by->of[rank] : 0, root = by ? by->index[plan->root] : plan->root;
    plan_levels_t levels = {.by = by, .home = by ? by->of[plan->root] : 0, .count = plan->size};
    if (by) {
        levels.first = by->first[own];
        levels.count = by->first[own + 1] - levels.first;
    }
    if (own == levels.home) levels.leader = root - levels.first;
    const uint32_t index = (by ? by->index[rank] : rank) - levels.first;
    const uint32_t count = count_of(&levels);
    levels.near = gasnete_coll_tree(plan, (index + levels.count - levels.leader) % levels.count,
                                    levels.count);
    levels.far = gasnete_coll_tree(plan, (own + count - levels.home) % count, count);
    if (levels.near.v) levels.far.children = 0;
    levels.children = levels.near.children + levels.far.children;
    return levels;
}

plan_child_t gasnete_coll_child(const plan_levels_t *levels, uint32_t i)
{
    if (i < levels->near.children)
        return (plan_child_t){.number = gasnete_coll_tree_child(&levels->near, i)};
    return (plan_child_t){
        .far = true, .number = gasnete_coll_tree_child(&levels->far, i - levels->near.children)};
}

uint32_t gasnete_coll_child_rank(const plan_levels_t *levels, plan_child_t child)
{
    return child.far ? rank_far(levels, child.number) : rank_near(levels, child.number);
}

uint32_t gasnete_coll_parent_rank(const gasnete_coll_plan_t *plan, const plan_levels_t *levels)
{
    if (levels->near.v) return rank_near(levels, plan_tree_parent(&levels->near));
    const uint32_t parent = plan_tree_parent(&levels->far);
    return parent ? rank_far(levels, parent) : plan->root;
}
