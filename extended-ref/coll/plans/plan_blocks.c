/* plan_blocks.c - SCATTER and GATHER along a k-nomial tree.  Pure.
 *
 * A subtree's blocks are sent in one message, and lie in TMP of inner ranks in the order of the
 * tree, the rank's own block first.  At the root blocks lie in the order of ranks: one child's
 * blocks may wrap around the end of the ranks, and one child's around the end of the root's
 * supernode; these are copied.  In a flat tree nothing is copied.
 *
 * Each supernode must be a range of ranks: then a subtree's blocks are a range too.
 */
#include "extended-ref/coll/plans/plan_parts.h"

enum { WITHIN, BETWEEN, LEVELS };

typedef struct member {
    plan_levels_t levels;
    plan_child_t wrapped[LEVELS]; /* at the root: children whose blocks wrap around the end */
} member_t;

static member_t blocks_member_of(const gasnete_coll_plan_t *plan)
{
    member_t m = {.levels = gasnete_coll_levels(plan, plan->rank)};
    const plan_tree_t *trees[LEVELS] = {&m.levels.within, &m.levels.between};
    const uint32_t last[LEVELS] = {m.levels.at.leader,
                                   m.levels.at.root_supernode}; /* the last numbers */
    for (int level = 0; plan_is_root(plan) && level < LEVELS; level++) {
        const uint32_t beyond = trees[level]->span - last[level];
        if (last[level] == 0) continue;
        const uint32_t child = gasnete_coll_tree_towards(trees[level], beyond);
        if (child != beyond) m.wrapped[level] = (plan_child_t){level == BETWEEN, child};
    }
    return m;
}

static plan_ring_t ring_within(const plan_position_t *at, uint32_t number, uint32_t count)
{
    return (plan_ring_t){at->first + (number + at->leader) % at->count, count, at->first,
                         at->first + at->count};
}

/* The ranks of `count` supernodes. */
static plan_ring_t ring_between(const plan_position_t *at, uint32_t size, uint32_t number,
                                uint32_t count)
{
    if (!at->by) return (plan_ring_t){0, size, 0, size};
    const uint32_t from = (number + at->root_supernode) % at->by->count;
    const uint32_t behind = at->by->count - from, *first = at->by->first;
    const uint32_t end = count <= behind ? first[from + count] : size + first[count - behind];
    return (plan_ring_t){first[from], end - first[from], 0, size};
}

static plan_ring_t child_ring(const gasnete_coll_plan_t *plan, const plan_levels_t *levels,
                              plan_child_t child)
{
    return child.between ? ring_between(&levels->at, plan->size, child.number,
                                        gasnete_coll_tree_below(&levels->between, child.number))
                         : ring_within(&levels->at, child.number,
                                       gasnete_coll_tree_below(&levels->within, child.number));
}

static size_t ring_bytes(const gasnete_coll_plan_t *plan, plan_ring_t r)
{
    return plan_ring_part(plan, r, 0).nbytes + plan_ring_part(plan, r, 1).nbytes;
}

static size_t child_bytes(const gasnete_coll_plan_t *plan, const member_t *m, plan_child_t child)
{
    return ring_bytes(plan, child_ring(plan, &m->levels, child));
}

static bool is_wrapped(const member_t *m, plan_child_t child)
{
    return child.number && m->wrapped[child.between].number == child.number;
}

/* The address of the blocks of a child that is wrapped. */
static gasnete_coll_address_t wrapped_address(const gasnete_coll_plan_t *plan, const member_t *m,
                                              plan_child_t child)
{
    const bool behind = child.between && m->wrapped[WITHIN].number;
    return address(GASNETE_COLL_TMP, behind ? child_bytes(plan, m, m->wrapped[WITHIN]) : 0);
}

/* The address of the blocks of a child's subtree. */
static gasnete_coll_address_t blocks_address(const gasnete_coll_plan_t *plan, const member_t *m,
                                             enum gasnete_coll_buffer whole, plan_child_t child)
{
    const plan_levels_t *levels = &m->levels;
    if (is_wrapped(m, child)) return wrapped_address(plan, m, child);
    const plan_ring_t ring = child_ring(plan, levels, child);
    if (plan_is_root(plan)) return address(whole, plan_offset(plan, ring.from));
    const plan_ring_t before = {
        plan->rank, (ring.from + ring.high - ring.low - plan->rank) % (ring.high - ring.low),
        ring.low, ring.high};
    return address(GASNETE_COLL_TMP, ring_bytes(plan, before));
}

static gasnete_coll_address_t own_address(const gasnete_coll_plan_t *plan,
                                          enum gasnete_coll_buffer whole)
{
    return plan_is_root(plan) ? address(whole, plan_offset(plan, plan->rank))
                              : address(GASNETE_COLL_TMP, 0);
}

static bool blocks_leaf(const gasnete_coll_plan_t *plan, const member_t *m)
{
    return !plan_is_root(plan) && m->levels.children == 0;
}

/* Bytes of the blocks of a rank that is not the root, and of those below it. */
static size_t blocks_subtree(const gasnete_coll_plan_t *plan, const member_t *m)
{
    const plan_levels_t *levels = &m->levels;
    if (levels->within.v)
        return ring_bytes(
            plan, ring_within(&levels->at, levels->within.v, plan_tree_nodes(&levels->within)));
    return ring_bytes(plan, ring_between(&levels->at, plan->size, levels->between.v,
                                         plan_tree_nodes(&levels->between)));
}

/* Copies one part of the blocks that wrap around an end.  */
static bool offer_part(offer_t *o, const gasnete_coll_plan_t *plan, const member_t *m, int level,
                       uint32_t part)
{
    if (!m->wrapped[level].number) return false;
    const plan_ring_t ring = child_ring(plan, &m->levels, m->wrapped[level]);
    const plan_range_t r = plan_ring_part(plan, ring, part);
    gasnete_coll_address_t tmp = wrapped_address(plan, m, m->wrapped[level]);
    if (part) tmp.offset += plan_ring_part(plan, ring, 0).nbytes;
    return plan->kind == GASNETE_COLL_SCATTER
               ? offer_copy(o, tmp, address(GASNETE_COLL_SRC, r.offset), r.nbytes)
               : offer_copy(o, address(GASNETE_COLL_DST, r.offset), tmp, r.nbytes);
}

static bool offer_wrapped(offer_t *o, const gasnete_coll_plan_t *plan, const member_t *m)
{
    return offer_part(o, plan, m, WITHIN, 0) || offer_part(o, plan, m, WITHIN, 1) ||
           offer_part(o, plan, m, BETWEEN, 0) || offer_part(o, plan, m, BETWEEN, 1);
}

static size_t blocks_scratch(const gasnete_coll_plan_t *plan)
{
    const member_t m = blocks_member_of(plan);
    if (!plan_is_root(plan)) return blocks_leaf(plan, &m) ? 0 : blocks_subtree(plan, &m);
    size_t bytes = 0;
    for (int level = 0; level < LEVELS; level++)
        if (m.wrapped[level].number) bytes += child_bytes(plan, &m, m.wrapped[level]);
    return bytes;
}

/* --- SCATTER --- */

static uint32_t scatter_rounds(const gasnete_coll_plan_t *plan)
{
    const member_t m = blocks_member_of(plan);
    return plan_is_root(plan) || blocks_leaf(plan, &m) ? 1 : 2;
}

static bool scatter_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const member_t m = blocks_member_of(plan);
    if (!plan_is_root(plan) && round == 0)
        return offer_recv(o, gasnete_coll_parent_rank(plan, &m.levels), 0,
                          address(blocks_leaf(plan, &m) ? GASNETE_COLL_DST : GASNETE_COLL_TMP, 0),
                          blocks_subtree(plan, &m));
    if (offer_wrapped(o, plan, &m)) return true;
    if (o->left < m.levels.children) {
        const plan_child_t child = gasnete_coll_child(&m.levels, m.levels.children - 1 - o->left);
        o->left = 0;
        return offer_send(o, gasnete_coll_child_rank(&m.levels, child), 0,
                          blocks_address(plan, &m, GASNETE_COLL_SRC, child),
                          child_bytes(plan, &m, child));
    }
    o->left -= m.levels.children;
    return offer_copy(o, address(GASNETE_COLL_DST, 0), own_address(plan, GASNETE_COLL_SRC),
                      plan_blocks(plan, plan->rank));
}

const gasnete_coll_method_t gasnete_coll_method_scatter_tree = {
    .rounds = scatter_rounds, .ahead = 1, .scratch = blocks_scratch, .action = scatter_action};

/* --- GATHER --- */

static uint32_t gather_rounds(const gasnete_coll_plan_t *plan)
{
    const member_t m = blocks_member_of(plan);
    if (plan_is_root(plan)) return m.wrapped[WITHIN].number || m.wrapped[BETWEEN].number ? 2 : 1;
    return blocks_leaf(plan, &m) ? 1 : 2;
}

static bool gather_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const member_t m = blocks_member_of(plan);
    if (blocks_leaf(plan, &m))
        return offer_send(o, gasnete_coll_parent_rank(plan, &m.levels), 0,
                          address(GASNETE_COLL_SRC, 0), blocks_subtree(plan, &m));
    if (round == 0) {
        if (o->left < m.levels.children) {
            const plan_child_t child = gasnete_coll_child(&m.levels, o->left);
            o->left = 0;
            return offer_recv(o, gasnete_coll_child_rank(&m.levels, child), 0,
                              blocks_address(plan, &m, GASNETE_COLL_DST, child),
                              child_bytes(plan, &m, child));
        }
        o->left -= m.levels.children;
        return offer_copy(o, own_address(plan, GASNETE_COLL_DST), address(GASNETE_COLL_SRC, 0),
                          plan_blocks(plan, plan->rank));
    }
    if (plan_is_root(plan)) return offer_wrapped(o, plan, &m);
    return offer_send(o, gasnete_coll_parent_rank(plan, &m.levels), 0, address(GASNETE_COLL_TMP, 0),
                      blocks_subtree(plan, &m));
}

const gasnete_coll_method_t gasnete_coll_method_gather_tree = {
    .rounds = gather_rounds, .ahead = 1, .scratch = blocks_scratch, .action = gather_action};
