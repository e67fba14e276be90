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

/* `count` ranks from `from` on; `low` follows `high` - 1. */
typedef struct ring {
    uint32_t from, count, low, high;
} ring_t;

enum { WITHIN, BETWEEN, LEVELS };

typedef struct member {
    plan_levels_t levels;
    plan_child_t wrapped[LEVELS]; /* at the root: children whose blocks wrap around the end */
} member_t;

static member_t member_of(const gasnete_coll_plan_t *plan)
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

/* The number of ranks in the subtree of a child. */
static uint32_t numbers(const plan_tree_t *tree, uint32_t child)
{
    plan_tree_t below = *tree;
    below.v = child;
    below.weight = 1;
    while (child - tree->v >= below.weight * below.radix) below.weight *= below.radix;
    return plan_tree_nodes(&below);
}

static ring_t ring_within(const plan_position_t *at, uint32_t number, uint32_t count)
{
    return (ring_t){at->first + (number + at->leader) % at->count, count, at->first,
                    at->first + at->count};
}

/* The ranks of `count` supernodes. */
static ring_t ring_between(const plan_position_t *at, uint32_t size, uint32_t number,
                           uint32_t count)
{
    if (!at->by) return (ring_t){0, size, 0, size};
    const uint32_t from = (number + at->root_supernode) % at->by->count;
    const uint32_t behind = at->by->count - from, *first = at->by->first;
    const uint32_t end = count <= behind ? first[from + count] : size + first[count - behind];
    return (ring_t){first[from], end - first[from], 0, size};
}

static ring_t child_ring(const gasnete_coll_plan_t *plan, const plan_levels_t *levels,
                         plan_child_t child)
{
    return child.between
               ? ring_between(&levels->at, plan->size, child.number,
                              numbers(&levels->between, child.number))
               : ring_within(&levels->at, child.number, numbers(&levels->within, child.number));
}

/* One part of a ring: 0, up to the end; 1, from the beginning on. */
static plan_range_t ring_part(const gasnete_coll_plan_t *plan, const ring_t *r, uint32_t part)
{
    const uint32_t behind = r->high - r->from;
    uint32_t begin = r->from, end = r->count < behind ? r->from + r->count : r->high;
    if (part) {
        begin = r->low;
        end = r->count > behind ? r->low + r->count - behind : r->low;
    }
    const size_t offset = plan_offset(plan, begin);
    return (plan_range_t){offset, plan_offset(plan, end) - offset};
}

static size_t ring_bytes(const gasnete_coll_plan_t *plan, ring_t r)
{
    return ring_part(plan, &r, 0).nbytes + ring_part(plan, &r, 1).nbytes;
}

static size_t child_bytes(const gasnete_coll_plan_t *plan, const member_t *m, plan_child_t child)
{
    return ring_bytes(plan, child_ring(plan, &m->levels, child));
}

static bool is_wrapped(const member_t *m, plan_child_t child)
{
    return child.number && m->wrapped[child.between].number == child.number;
}

/* The place of the blocks of a child that is wrapped. */
static gasnete_coll_place_t wrapped_place(const gasnete_coll_plan_t *plan, const member_t *m,
                                          plan_child_t child)
{
    const bool behind = child.between && m->wrapped[WITHIN].number;
    return place(GASNETE_COLL_TMP, behind ? child_bytes(plan, m, m->wrapped[WITHIN]) : 0);
}

/* The place of the blocks of a child's subtree. */
static gasnete_coll_place_t blocks_place(const gasnete_coll_plan_t *plan, const member_t *m,
                                         enum gasnete_coll_buffer whole, plan_child_t child)
{
    const plan_levels_t *levels = &m->levels;
    if (is_wrapped(m, child)) return wrapped_place(plan, m, child);
    const ring_t ring = child_ring(plan, levels, child);
    if (plan_is_root(plan)) return place(whole, plan_offset(plan, ring.from));
    const ring_t before = {plan->rank,
                           (ring.from + ring.high - ring.low - plan->rank) % (ring.high - ring.low),
                           ring.low, ring.high};
    return place(GASNETE_COLL_TMP, ring_bytes(plan, before));
}

static gasnete_coll_place_t own_place(const gasnete_coll_plan_t *plan,
                                      enum gasnete_coll_buffer whole)
{
    return plan_is_root(plan) ? place(whole, plan_offset(plan, plan->rank))
                              : place(GASNETE_COLL_TMP, 0);
}

static bool leaf(const gasnete_coll_plan_t *plan, const member_t *m)
{
    return !plan_is_root(plan) && m->levels.children == 0;
}

/* Bytes of the blocks of a rank that is not the root, and of those below it. */
static size_t subtree(const gasnete_coll_plan_t *plan, const member_t *m)
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
    const ring_t ring = child_ring(plan, &m->levels, m->wrapped[level]);
    const plan_range_t r = ring_part(plan, &ring, part);
    gasnete_coll_place_t tmp = wrapped_place(plan, m, m->wrapped[level]);
    if (part) tmp.offset += ring_part(plan, &ring, 0).nbytes;
    return plan->kind == GASNETE_COLL_SCATTER
               ? offer_copy(o, tmp, place(GASNETE_COLL_SRC, r.offset), r.nbytes)
               : offer_copy(o, place(GASNETE_COLL_DST, r.offset), tmp, r.nbytes);
}

static bool offer_wrapped(offer_t *o, const gasnete_coll_plan_t *plan, const member_t *m)
{
    return offer_part(o, plan, m, WITHIN, 0) || offer_part(o, plan, m, WITHIN, 1) ||
           offer_part(o, plan, m, BETWEEN, 0) || offer_part(o, plan, m, BETWEEN, 1);
}

static size_t scratch(const gasnete_coll_plan_t *plan)
{
    const member_t m = member_of(plan);
    if (!plan_is_root(plan)) return leaf(plan, &m) ? 0 : subtree(plan, &m);
    size_t bytes = 0;
    for (int level = 0; level < LEVELS; level++)
        if (m.wrapped[level].number) bytes += child_bytes(plan, &m, m.wrapped[level]);
    return bytes;
}

static uint32_t ahead(const gasnete_coll_plan_t *plan)
{
    (void)plan;
    return 1;
}

/* --- SCATTER --- */

static uint32_t scatter_rounds(const gasnete_coll_plan_t *plan)
{
    const member_t m = member_of(plan);
    return plan_is_root(plan) || leaf(plan, &m) ? 1 : 2;
}

static bool scatter_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const member_t m = member_of(plan);
    if (!plan_is_root(plan) && round == 0)
        return offer_recv(o, gasnete_coll_parent_rank(plan, &m.levels), 0,
                          place(leaf(plan, &m) ? GASNETE_COLL_DST : GASNETE_COLL_TMP, 0),
                          subtree(plan, &m));
    if (offer_wrapped(o, plan, &m)) return true;
    if (o->left < m.levels.children) {
        const plan_child_t child = gasnete_coll_child(&m.levels, m.levels.children - 1 - o->left);
        o->left = 0;
        return offer_send(o, gasnete_coll_child_rank(&m.levels, child), 0,
                          blocks_place(plan, &m, GASNETE_COLL_SRC, child),
                          child_bytes(plan, &m, child));
    }
    o->left -= m.levels.children;
    return offer_copy(o, place(GASNETE_COLL_DST, 0), own_place(plan, GASNETE_COLL_SRC),
                      plan_blocks(plan, plan->rank, 1));
}

const gasnete_coll_method_t gasnete_coll_method_scatter_tree = {
    .rounds = scatter_rounds, .ahead = ahead, .scratch = scratch, .action = scatter_action};

/* --- GATHER --- */

static uint32_t gather_rounds(const gasnete_coll_plan_t *plan)
{
    const member_t m = member_of(plan);
    if (plan_is_root(plan)) return m.wrapped[WITHIN].number || m.wrapped[BETWEEN].number ? 2 : 1;
    return leaf(plan, &m) ? 1 : 2;
}

static bool gather_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const member_t m = member_of(plan);
    if (leaf(plan, &m))
        return offer_send(o, gasnete_coll_parent_rank(plan, &m.levels), 0,
                          place(GASNETE_COLL_SRC, 0), subtree(plan, &m));
    if (round == 0) {
        if (o->left < m.levels.children) {
            const plan_child_t child = gasnete_coll_child(&m.levels, o->left);
            o->left = 0;
            return offer_recv(o, gasnete_coll_child_rank(&m.levels, child), 0,
                              blocks_place(plan, &m, GASNETE_COLL_DST, child),
                              child_bytes(plan, &m, child));
        }
        o->left -= m.levels.children;
        return offer_copy(o, own_place(plan, GASNETE_COLL_DST), place(GASNETE_COLL_SRC, 0),
                          plan_blocks(plan, plan->rank, 1));
    }
    if (plan_is_root(plan)) return offer_wrapped(o, plan, &m);
    return offer_send(o, gasnete_coll_parent_rank(plan, &m.levels), 0, place(GASNETE_COLL_TMP, 0),
                      subtree(plan, &m));
}

const gasnete_coll_method_t gasnete_coll_method_gather_tree = {
    .rounds = gather_rounds, .ahead = ahead, .scratch = scratch, .action = gather_action};
