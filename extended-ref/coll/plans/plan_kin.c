/* plan_kin.c - parents and children in trees of two levels: supernodes, and the ranks of each.
 * Pure.
 *
 * The leaders of supernodes form a k-nomial tree, so each supernode but the root's receives or
 * sends one message across the network for each of its children and its parent.  The other ranks of
 * a supernode are below the leader.  Without supernodes all ranks count as one supernode, and the
 * tree has one level.
 */
#include "extended-ref/coll/plans/plan_parts.h"

static uint32_t count_of(const plan_kin_t *kin)
{
    return kin->by ? kin->by->count : 1;
}

static uint32_t rank_at(const plan_kin_t *kin, uint32_t place)
{
    return kin->by ? kin->by->ranks[place] : place;
}

static uint32_t rank_near(const plan_kin_t *kin, uint32_t number)
{
    return rank_at(kin, kin->first + (number + kin->leader) % kin->count);
}

/* The leader of a supernode other than the root's. */
static uint32_t rank_far(const plan_kin_t *kin, uint32_t number)
{
    return rank_at(kin, kin->by->first[(number + kin->home) % kin->by->count]);
}

/* The supernodes of a tree of two levels; NULL: the tree has one level. */
static const gasnete_coll_supernodes_t *supernodes_of(const gasnete_coll_plan_t *plan)
{
    return plan->algorithm == GASNETE_COLL_FLAT ? NULL : plan->supernodes;
}

plan_kin_t gasnete_coll_kin(const gasnete_coll_plan_t *plan, uint32_t rank)
{
    const gasnete_coll_supernodes_t *by = supernodes_of(plan);
    const uint32_t own = by ? by->of[rank] : 0, root = by ? by->place[plan->root] : plan->root;
    plan_kin_t kin = {.by = by, .home = by ? by->of[plan->root] : 0, .count = plan->size};
    if (by) {
        kin.first = by->first[own];
        kin.count = by->first[own + 1] - kin.first;
    }
    if (own == kin.home) kin.leader = root - kin.first;
    const uint32_t place = (by ? by->place[rank] : rank) - kin.first;
    const uint32_t count = count_of(&kin);
    kin.near = gasnete_coll_tree(plan, (place + kin.count - kin.leader) % kin.count, kin.count);
    kin.far = gasnete_coll_tree(plan, (own + count - kin.home) % count, count);
    if (kin.near.v) kin.far.children = 0;
    kin.children = kin.near.children + kin.far.children;
    return kin;
}

plan_child_t gasnete_coll_child(const plan_kin_t *kin, uint32_t i)
{
    if (i < kin->near.children)
        return (plan_child_t){.number = gasnete_coll_tree_child(&kin->near, i)};
    return (plan_child_t){.far = true,
                          .number = gasnete_coll_tree_child(&kin->far, i - kin->near.children)};
}

uint32_t gasnete_coll_child_rank(const plan_kin_t *kin, plan_child_t child)
{
    return child.far ? rank_far(kin, child.number) : rank_near(kin, child.number);
}

uint32_t gasnete_coll_parent_rank(const gasnete_coll_plan_t *plan, const plan_kin_t *kin)
{
    if (kin->near.v) return rank_near(kin, plan_tree_parent(&kin->near));
    const uint32_t parent = plan_tree_parent(&kin->far);
    return parent ? rank_far(kin, parent) : plan->root;
}
