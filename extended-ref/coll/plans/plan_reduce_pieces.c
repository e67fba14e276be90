/* plan_reduce_pieces.c - REDUCE and REDUCE_ALL of large vectors by a commutative function: each
 * rank combines one piece, then the root gathers the pieces along a binomial tree, or all ranks
 * gather them by dissemination.  Pure.
 *
 * The first part is the dissemination of plan_steps.h run backwards, from the largest distance to
 * 1: a rank sends its sums of the pieces that it would receive in a dissemination, and adds the
 * received sums to the pieces that it would send.  The next round needs only the latter, and after
 * the last round the rank's own piece is left.  Ranks and pieces are counted from the root.
 *
 * TMP has the sums at the pieces' offsets in the whole; room for the messages of each round; room
 * for the parts that a round sends together (in at most one round the range wraps around the end);
 * and the pieces gathered from the subtree.  No memory is received into twice.
 */
#include "extended-ref/coll/plans/plan_steps.h"

typedef struct member {
    plan_tree_t tree;
    uint32_t steps;                      /* of the first part */
    size_t received, together, gathered; /* offsets in TMP */
} member_t;

static member_t pieces_member_of(const gasnete_coll_plan_t *plan)
{
    member_t m = {.tree = plan_binomial(plan),
                  .steps = plan_log2(plan->size),
                  .received = plan_aligned(plan->nbytes)};
    m.together = m.received + plan_aligned(plan->size * plan_piece(plan));
    m.gathered = m.together + plan_together(plan);
    return m;
}

static uint32_t pieces_rank(const gasnete_coll_plan_t *plan, uint64_t v)
{
    return plan_rank(plan, plan->root + v);
}

static bool pieces_inner(const gasnete_coll_plan_t *plan, const member_t *m)
{
    return !plan_is_root(plan) && m->tree.children > 0;
}

static plan_range_t pieces_subtree(const gasnete_coll_plan_t *plan, const member_t *m)
{
    return plan_part(plan, m->tree.v, plan_tree_nodes(&m->tree), 0);
}

static uint32_t pieces_rounds(const gasnete_coll_plan_t *plan)
{
    const member_t m = pieces_member_of(plan);
    return m.steps + 1 + pieces_inner(plan, &m);
}

static size_t pieces_scratch(const gasnete_coll_plan_t *plan)
{
    const member_t m = pieces_member_of(plan);
    return m.gathered + (pieces_inner(plan, &m) ? pieces_subtree(plan, &m).nbytes : 0);
}

/* The buffer for the message of round k, whose parts are contiguous in it.  */
static gasnete_coll_address_t pieces_received(const gasnete_coll_plan_t *plan, const member_t *m,
                                              uint32_t k)
{
    return address(GASNETE_COLL_TMP, m->received + (plan_piece(plan) << k));
}

/* The rank's own piece after the last combination: in DST at the root and in REDUCE_ALL, with the
 * children's pieces in inner ranks.  */
static gasnete_coll_address_t pieces_combined(const gasnete_coll_plan_t *plan, const member_t *m)
{
    if (plan->kind == GASNETE_COLL_REDUCE_ALL)
        return address(GASNETE_COLL_DST, plan_offset(plan, m->tree.v));
    if (plan_is_root(plan)) return address(GASNETE_COLL_DST, 0);
    if (pieces_inner(plan, m)) return address(GASNETE_COLL_TMP, m->gathered);
    return address(GASNETE_COLL_TMP, plan_offset(plan, m->tree.v));
}

/* Sends and receives of round k.  */
static bool offer_messages(offer_t *o, const gasnete_coll_plan_t *plan, const member_t *m,
                           uint32_t k)
{
    const plan_step_t step = plan_step(plan->size, m->tree.v, k);
    const plan_message_t in = plan_message_of(plan, step.give, step.count);
    const plan_message_t out = plan_message_of(plan, step.get, step.count);
    const uint32_t from = pieces_rank(plan, step.to), to = pieces_rank(plan, step.from);
    const gasnete_coll_address_t at = pieces_received(plan, m, k);
    if (in.together && offer_recv(o, from, 2 * k, at, plan_message_bytes(&in))) return true;
    for (uint32_t part = 0; !in.together && part < 2; part++)
        if (in.part[part].nbytes &&
            offer_recv(o, from, 2 * k + part, plan_behind(at, part ? in.part[0].nbytes : 0),
                       in.part[part].nbytes))
            return true;
    return offer_message(o, to, 2 * k, &out,
                         k + 1 == m->steps ? GASNETE_COLL_SRC : GASNETE_COLL_TMP,
                         address(GASNETE_COLL_TMP, m->together));
}

/* Combines the message of round k; after the first round, pieces that it did not combine and that
 * later rounds send are copied to the sums.  */
static bool offer_sums(offer_t *o, const gasnete_coll_plan_t *plan, const member_t *m, uint32_t k)
{
    const plan_step_t step = plan_step(plan->size, m->tree.v, k);
    const plan_message_t in = plan_message_of(plan, step.give, step.count);
    const uint32_t kept = ((uint32_t)1 << k) - step.count;
    const bool first = k + 1 == m->steps;
    for (uint32_t part = 0; part < 2; part++) {
        const plan_range_t r = in.part[part];
        const gasnete_coll_address_t sum = address(GASNETE_COLL_TMP, r.offset);
        if (offer_combine(o, k ? sum : pieces_combined(plan, m),
                          first ? address(GASNETE_COLL_SRC, r.offset) : sum,
                          plan_behind(pieces_received(plan, m, k), part ? in.part[0].nbytes : 0),
                          r.nbytes))
            return true;
    }
    for (uint32_t part = 0; first && kept && part < 2; part++) {
        const plan_range_t r = plan_part(plan, (uint64_t)step.give + step.count, kept, part);
        if (offer_copy(o, address(GASNETE_COLL_TMP, r.offset), address(GASNETE_COLL_SRC, r.offset),
                       r.nbytes))
            return true;
    }
    return false;
}

static bool pieces_offer_children(offer_t *o, const gasnete_coll_plan_t *plan, const member_t *m)
{
    const size_t own = plan_offset(plan, m->tree.v);
    for (uint32_t i = 0; i < m->tree.children; i++) {
        const uint32_t child = gasnete_coll_tree_child(&m->tree, i);
        const plan_range_t r = plan_part(plan, child, gasnete_coll_tree_below(&m->tree, child), 0);
        const gasnete_coll_address_t to =
            plan_is_root(plan) ? address(GASNETE_COLL_DST, r.offset)
                               : address(GASNETE_COLL_TMP, m->gathered + r.offset - own);
        if (r.nbytes && offer_recv(o, pieces_rank(plan, child), 2 * m->steps, to, r.nbytes))
            return true;
    }
    return false;
}

static bool pieces_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const member_t m = pieces_member_of(plan);
    if (round > 0 && round <= m.steps && offer_sums(o, plan, &m, m.steps - round)) return true;
    if (round < m.steps) return offer_messages(o, plan, &m, m.steps - 1 - round);
    if (round == m.steps && pieces_offer_children(o, plan, &m)) return true;
    if (plan_is_root(plan) || (round == m.steps && pieces_inner(plan, &m))) return false;
    const plan_range_t r = pieces_subtree(plan, &m);
    return r.nbytes && offer_send(o, pieces_rank(plan, plan_tree_parent(&m.tree)), 2 * m.steps,
                                  pieces_combined(plan, &m), r.nbytes);
}

const gasnete_coll_method_t gasnete_coll_method_reduce_pieces = {.rounds = pieces_rounds,
                                                                 .ahead = UINT32_MAX,
                                                                 .scratch = pieces_scratch,
                                                                 .action = pieces_action};

/* --- REDUCE_ALL --- */

/* The round in which the results are gathered first: the own one is combined in the round after the
 * last step.  */
static uint32_t all_gathers(const gasnete_coll_plan_t *plan, const member_t *m)
{
    return m->steps + (plan->in_place ? 1 + PLAN_FENCE : 0);
}

static plan_gathering_t all_gathering(const member_t *m)
{
    return (plan_gathering_t){
        .v = m->tree.v, .source = GASNETE_COLL_DST, .scratch = m->gathered, .tag = 2 * m->steps};
}

static uint32_t all_rounds(const gasnete_coll_plan_t *plan)
{
    const member_t m = pieces_member_of(plan);
    return all_gathers(plan, &m) + gasnete_coll_gathering_rounds(plan);
}

static size_t all_scratch(const gasnete_coll_plan_t *plan)
{
    return pieces_member_of(plan).gathered + gasnete_coll_gathering_scratch(plan);
}

static bool all_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const member_t m = pieces_member_of(plan);
    const plan_gathering_t gathering = all_gathering(&m);
    if (round > 0 && round <= m.steps && offer_sums(o, plan, &m, m.steps - round)) return true;
    if (round < m.steps) return offer_messages(o, plan, &m, m.steps - 1 - round);
    if (round >= all_gathers(plan, &m))
        return gasnete_coll_gathering(plan, &gathering, round - all_gathers(plan, &m), o);
    return round == m.steps && offer_drain(o);
}

const gasnete_coll_method_t gasnete_coll_method_reduce_all_pieces = {
    .rounds = all_rounds, .ahead = PLAN_FENCE, .scratch = all_scratch, .action = all_action};
