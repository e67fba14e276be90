/* plan_blocks.c - SCATTER and GATHER along a k-nomial tree.  Pure.
 *
 * A subtree's blocks travel in one message, and lie in TMP of the ranks between in the order of
 * the tree, which begins with the rank's own.  At the root, where they lie in the order of ranks,
 * one child's may go round the end: these are copied.  In a flat tree nothing is copied.
 */
#include "extended-ref/coll/plans/plan_parts.h"

typedef struct member {
    plan_tree_t tree;
    uint32_t wrapped; /* at the root: the child whose blocks go round the end, or 0 */
} member_t;

static member_t member_of(const gasnete_coll_plan_t *plan)
{
    member_t m = {.tree = gasnete_coll_tree(plan, plan_virtual(plan), plan->size)};
    if (plan_is_root(plan) && plan->root) {
        uint32_t rank0 = plan->size - plan->root;
        uint32_t child = gasnete_coll_tree_towards(&m.tree, rank0);
        if (child != rank0) m.wrapped = child;
    }
    return m;
}

static uint32_t rank_of(const gasnete_coll_plan_t *plan, uint32_t v)
{
    return plan_rank(plan, (uint64_t)plan->root + v);
}

static uint32_t nodes(const member_t *m, uint32_t child)
{
    plan_tree_t below = m->tree;
    below.v = child;
    below.weight = 1;
    while (child - m->tree.v >= below.weight * below.radix) below.weight *= below.radix;
    return plan_tree_nodes(&below);
}

/* Where the blocks of the node's subtree, or of child `v`'s, are.  */
static gasnete_coll_place_t blocks_place(const gasnete_coll_plan_t *plan, const member_t *m,
                                         enum gasnete_coll_buffer whole, uint32_t v)
{
    if (!plan_is_root(plan))
        return place(GASNETE_COLL_TMP, plan_blocks(plan, plan->rank, v - m->tree.v));
    if (v && v == m->wrapped) return place(GASNETE_COLL_TMP, 0);
    return place(whole, plan_offset(plan, rank_of(plan, v)));
}

static bool leaf(const gasnete_coll_plan_t *plan, const member_t *m)
{
    return !plan_is_root(plan) && m->tree.children == 0;
}

static uint32_t parent_of(const gasnete_coll_plan_t *plan, const member_t *m)
{
    return rank_of(plan, plan_tree_parent(&m->tree));
}

static size_t subtree(const gasnete_coll_plan_t *plan, const member_t *m)
{
    return plan_blocks(plan, plan->rank, plan_tree_nodes(&m->tree));
}

/* Copies one part of the blocks that go round the end.  */
static bool offer_wrapped(offer_t *o, const gasnete_coll_plan_t *plan, const member_t *m,
                          uint32_t part)
{
    if (!m->wrapped) return false;
    const uint32_t from = rank_of(plan, m->wrapped), count = nodes(m, m->wrapped);
    const plan_range_t r = plan_part(plan, from, count, part);
    const size_t offset = part ? plan_part(plan, from, count, 0).nbytes : 0;
    const gasnete_coll_place_t tmp = place(GASNETE_COLL_TMP, offset);
    return plan->kind == GASNETE_COLL_SCATTER
               ? offer_copy(o, tmp, place(GASNETE_COLL_SRC, r.offset), r.nbytes)
               : offer_copy(o, place(GASNETE_COLL_DST, r.offset), tmp, r.nbytes);
}

static size_t scratch(const gasnete_coll_plan_t *plan)
{
    const member_t m = member_of(plan);
    if (!plan_is_root(plan)) return leaf(plan, &m) ? 0 : subtree(plan, &m);
    return m.wrapped ? plan_blocks(plan, rank_of(plan, m.wrapped), nodes(&m, m.wrapped)) : 0;
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
        return offer_recv(o, parent_of(plan, &m), 0,
                          place(leaf(plan, &m) ? GASNETE_COLL_DST : GASNETE_COLL_TMP, 0),
                          subtree(plan, &m));
    if (offer_wrapped(o, plan, &m, 0) || offer_wrapped(o, plan, &m, 1)) return true;
    if (o->left < m.tree.children) {
        uint32_t child = gasnete_coll_tree_child(&m.tree, m.tree.children - 1 - o->left);
        o->left = 0;
        return offer_send(o, rank_of(plan, child), 0,
                          blocks_place(plan, &m, GASNETE_COLL_SRC, child),
                          plan_blocks(plan, rank_of(plan, child), nodes(&m, child)));
    }
    o->left -= m.tree.children;
    return offer_copy(o, place(GASNETE_COLL_DST, 0),
                      blocks_place(plan, &m, GASNETE_COLL_SRC, m.tree.v),
                      plan_blocks(plan, plan->rank, 1));
}

const gasnete_coll_method_t gasnete_coll_method_scatter_tree = {
    .rounds = scatter_rounds, .ahead = ahead, .scratch = scratch, .action = scatter_action};

/* --- GATHER --- */

static uint32_t gather_rounds(const gasnete_coll_plan_t *plan)
{
    const member_t m = member_of(plan);
    if (plan_is_root(plan)) return m.wrapped ? 2 : 1;
    return leaf(plan, &m) ? 1 : 2;
}

static bool gather_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const member_t m = member_of(plan);
    if (leaf(plan, &m))
        return offer_send(o, parent_of(plan, &m), 0, place(GASNETE_COLL_SRC, 0), subtree(plan, &m));
    if (round == 0) {
        if (o->left < m.tree.children) {
            uint32_t child = gasnete_coll_tree_child(&m.tree, o->left);
            o->left = 0;
            return offer_recv(o, rank_of(plan, child), 0,
                              blocks_place(plan, &m, GASNETE_COLL_DST, child),
                              plan_blocks(plan, rank_of(plan, child), nodes(&m, child)));
        }
        o->left -= m.tree.children;
        return offer_copy(o, blocks_place(plan, &m, GASNETE_COLL_DST, m.tree.v),
                          place(GASNETE_COLL_SRC, 0), plan_blocks(plan, plan->rank, 1));
    }
    if (plan_is_root(plan)) return offer_wrapped(o, plan, &m, 0) || offer_wrapped(o, plan, &m, 1);
    return offer_send(o, parent_of(plan, &m), 0, place(GASNETE_COLL_TMP, 0), subtree(plan, &m));
}

const gasnete_coll_method_t gasnete_coll_method_gather_tree = {
    .rounds = gather_rounds, .ahead = ahead, .scratch = scratch, .action = gather_action};
