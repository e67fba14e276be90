/* plan_dissemination.c - BARRIER and GATHER_ALL by dissemination, and BROADCAST of large blocks:
 * one piece to each rank along a binomial tree, then each rank gathers all pieces by dissemination.
 * Pure.
 *
 * Blocks and pieces are received at their offset in DST.  "Nodes" are ranks, for BROADCAST counted
 * from the root.  Each rank of a BROADCAST transfers twice the bytes of the whole, for any number
 * of ranks.  An inner rank of the tree has received the pieces of its subtree with its own, so that
 * the gathering leaves these out.
 */
#include "extended-ref/coll/plans/plan_steps.h"

static uint32_t dissemination_rank(const gasnete_coll_plan_t *plan, uint32_t v)
{
    return plan->kind == GASNETE_COLL_BROADCAST ? plan_rank(plan, (uint64_t)plan->root + v) : v;
}

/* --- BARRIER --- */

static uint32_t barrier_rounds(const gasnete_coll_plan_t *plan)
{
    return plan_log2(plan->size);
}

static bool barrier_action(const gasnete_coll_plan_t *plan, uint32_t k, offer_t *o)
{
    const gasnete_coll_address_t nowhere = address(GASNETE_COLL_TMP, 0);
    const plan_step_t step = plan_step(plan->size, plan->rank, k);
    return offer_send(o, step.to, k, nowhere, 0) || offer_recv(o, step.from, k, nowhere, 0);
}

const gasnete_coll_method_t gasnete_coll_method_barrier = {
    .rounds = barrier_rounds, .ahead = UINT32_MAX, .action = barrier_action};

/* --- gathering: the part that GATHER_ALL, BROADCAST and REDUCE_ALL share --- */

size_t gasnete_coll_gathering_scratch(const gasnete_coll_plan_t *plan)
{
    return (plan_log2(plan->size) + 1) * plan_together(plan);
}

/* The buffer from which round k sends both parts of a range together.  */
static gasnete_coll_address_t gathering_sending(const gasnete_coll_plan_t *plan,
                                                const plan_gathering_t *g, uint32_t k)
{
    return address(GASNETE_COLL_TMP, g->scratch + k * plan_together(plan));
}

/* The buffer in which both parts are received together.  One buffer suffices: in at most one round
 * the range wraps around the end.  */
static gasnete_coll_address_t gathering_receiving(const gasnete_coll_plan_t *plan,
                                                  const plan_gathering_t *g)
{
    return gathering_sending(plan, g, plan_log2(plan->size));
}

/* The message that node v receives in round k, in which it does `step`.  */
static plan_message_t gathering_arrival(const gasnete_coll_plan_t *plan, uint32_t v, uint32_t k,
                                        const plan_step_t *step)
{
    plan_message_t m = plan_message_of(plan, step->get, step->count);
    const bool in_subtree = step->get > v && v % ((uint64_t)2 << k) == 0;
    if (plan->kind == GASNETE_COLL_BROADCAST && in_subtree)
        m = plan_message((plan_range_t){0, 0}, m.part[1]);
    return m;
}

/* After the last message the parts received together are copied.  */
uint32_t gasnete_coll_gathering_rounds(const gasnete_coll_plan_t *plan)
{
    return plan_log2(plan->size) + (plan_together(plan) > 0);
}

bool gasnete_coll_gathering(const gasnete_coll_plan_t *plan, const plan_gathering_t *g, uint32_t k,
                            offer_t *o)
{
    if (k > 0) {
        const plan_step_t last = plan_step(plan->size, g->v, k - 1);
        const plan_message_t m = gathering_arrival(plan, g->v, k - 1, &last);
        if (offer_unpacking(o, &m, GASNETE_COLL_DST, gathering_receiving(plan, g))) return true;
    }
    if (k == plan_log2(plan->size)) return false;
    const plan_step_t step = plan_step(plan->size, g->v, k);
    const plan_step_t theirs = plan_step(plan->size, step.to, k);
    const plan_message_t in = gathering_arrival(plan, g->v, k, &step);
    const plan_message_t out = gathering_arrival(plan, step.to, k, &theirs);
    const uint32_t tag = g->tag + 2 * k;
    return offer_arrival(o, dissemination_rank(plan, step.from), tag, &in, GASNETE_COLL_DST,
                         gathering_receiving(plan, g)) ||
           offer_message(o, dissemination_rank(plan, step.to), tag, &out, g->source,
                         gathering_sending(plan, g, k));
}

/* --- GATHER_ALL --- */

static uint32_t gather_all_rounds(const gasnete_coll_plan_t *plan)
{
    return plan->size == 1 ? 1 : gasnete_coll_gathering_rounds(plan);
}

static bool gather_all_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    if (round == 0 && offer_copy(o, address(GASNETE_COLL_DST, plan_offset(plan, plan->rank)),
                                 address(GASNETE_COLL_SRC, 0), plan_blocks(plan, plan->rank)))
        return true;
    const plan_gathering_t g = {.v = plan->rank, .source = GASNETE_COLL_DST, .tag = 1};
    return gasnete_coll_gathering(plan, &g, round, o);
}

const gasnete_coll_method_t gasnete_coll_method_gather_all = {.rounds = gather_all_rounds,
                                                              .ahead = UINT32_MAX,
                                                              .scratch =
                                                                  gasnete_coll_gathering_scratch,
                                                              .action = gather_all_action};

/* --- BROADCAST --- */

static bool pieces_offer_own(offer_t *o, const gasnete_coll_plan_t *plan, const plan_tree_t *tree)
{
    const plan_range_t r = plan_part(plan, tree->v, plan_tree_nodes(tree), 0);
    return r.nbytes && offer_recv(o, dissemination_rank(plan, plan_tree_parent(tree)), 0,
                                  address(GASNETE_COLL_DST, r.offset), r.nbytes);
}

static bool pieces_offer_children(offer_t *o, const gasnete_coll_plan_t *plan,
                                  const plan_tree_t *tree, enum gasnete_coll_buffer source)
{
    for (uint32_t i = tree->children; i--;) {
        const uint32_t child = gasnete_coll_tree_child(tree, i);
        const plan_range_t r = plan_part(plan, child, gasnete_coll_tree_below(tree, child), 0);
        if (r.nbytes &&
            offer_send(o, dissemination_rank(plan, child), 0, address(source, r.offset), r.nbytes))
            return true;
    }
    return false;
}

static uint32_t pieces_rounds(const gasnete_coll_plan_t *plan)
{
    return 1 + gasnete_coll_gathering_rounds(plan);
}

static bool pieces_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const bool root = plan_is_root(plan);
    const plan_tree_t tree = plan_binomial(plan);
    const enum gasnete_coll_buffer source = root ? GASNETE_COLL_SRC : GASNETE_COLL_DST;
    if (round == 0) return !root && pieces_offer_own(o, plan, &tree);
    if (round == 1 && pieces_offer_children(o, plan, &tree, source)) return true;
    const plan_gathering_t g = {.v = tree.v, .source = source, .tag = 1};
    if (gasnete_coll_gathering(plan, &g, round - 1, o)) return true;
    return root && round + 1 == pieces_rounds(plan) &&
           offer_copy(o, address(GASNETE_COLL_DST, 0), address(GASNETE_COLL_SRC, 0), plan->nbytes);
}

const gasnete_coll_method_t gasnete_coll_method_broadcast_pieces = {
    .rounds = pieces_rounds,
    .ahead = UINT32_MAX,
    .scratch = gasnete_coll_gathering_scratch,
    .action = pieces_action};
