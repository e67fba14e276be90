/* plan_reduce_pairs.c - REDUCE and REDUCE_ALL of long vectors among few ranks: one message for each
 * pair of ranks.  Pure.
 *
 * Each rank combines one piece, of which it gets the parts of all others, in the order of ranks.
 * Then it sends the result to the root, or to all others.  TMP has the received parts, and two sums
 * so far.
 */
#include "extended-ref/coll/plans/plan_parts.h"

enum { SUMS = 2 };

static uint32_t pairs_rounds(const gasnete_coll_plan_t *plan)
{
    return plan->size == 1 ? 1 : 2 + (plan->in_place ? PLAN_FENCE : 0);
}

static size_t pairs_scratch(const gasnete_coll_plan_t *plan)
{
    return plan->size == 1 ? 0 : (plan->size + 1) * plan_aligned(plan_piece(plan));
}

static plan_range_t pairs_piece(const gasnete_coll_plan_t *plan, uint32_t rank)
{
    const size_t offset = plan_offset(plan, rank);
    return (plan_range_t){offset, plan_offset(plan, rank + 1) - offset};
}

/* A rank's part of the own piece. */
static gasnete_coll_address_t pairs_part(const gasnete_coll_plan_t *plan, uint32_t rank)
{
    if (rank == plan->rank) return address(GASNETE_COLL_SRC, plan_offset(plan, rank));
    return address(GASNETE_COLL_TMP, (rank - (rank > plan->rank)) * plan_aligned(plan_piece(plan)));
}

/* True if a rank gets the results. */
static bool pairs_keeps(const gasnete_coll_plan_t *plan, uint32_t rank)
{
    return plan->kind == GASNETE_COLL_REDUCE_ALL || rank == plan->root;
}

/* The sum of the parts of the ranks up to `rank`. */
static gasnete_coll_address_t pairs_sum(const gasnete_coll_plan_t *plan, uint32_t rank)
{
    if (rank == 0) return pairs_part(plan, 0);
    if (rank + 1 == plan->size && pairs_keeps(plan, plan->rank))
        return address(GASNETE_COLL_DST, plan_offset(plan, plan->rank));
    return address(GASNETE_COLL_TMP,
                   (plan->size - 1 + rank % SUMS) * plan_aligned(plan_piece(plan)));
}

static bool pairs_combine(offer_t *o, const gasnete_coll_plan_t *plan, size_t nbytes)
{
    for (uint32_t rank = 1; rank < plan->size; rank++)
        if (offer_combine(o, pairs_sum(plan, rank), pairs_sum(plan, rank - 1),
                          pairs_part(plan, rank), nbytes))
            return true;
    return false;
}

/* Messages with each other rank, beginning with the next one: first the parts, then the results. */
static bool pairs_messages(offer_t *o, const gasnete_coll_plan_t *plan, bool results)
{
    const plan_range_t own = pairs_piece(plan, plan->rank);
    const gasnete_coll_address_t sum = pairs_sum(plan, plan->size - 1);
    for (uint32_t i = 1; i < plan->size; i++) {
        const uint32_t to = plan_rank(plan, (uint64_t)plan->rank + i);
        const plan_range_t piece = results ? own : pairs_piece(plan, to);
        if (piece.nbytes && (!results || pairs_keeps(plan, to)) &&
            offer_send(o, to, results, results ? sum : address(GASNETE_COLL_SRC, piece.offset),
                       piece.nbytes))
            return true;
    }
    for (uint32_t i = 1; i < plan->size; i++) {
        const uint32_t from = plan_rank(plan, (uint64_t)plan->rank + plan->size - i);
        const plan_range_t piece = results ? pairs_piece(plan, from) : own;
        if (piece.nbytes && (!results || pairs_keeps(plan, plan->rank)) &&
            offer_recv(o, from, results,
                       results ? address(GASNETE_COLL_DST, piece.offset) : pairs_part(plan, from),
                       piece.nbytes))
            return true;
    }
    return false;
}

static bool pairs_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    if (plan->size == 1)
        return offer_copy(o, address(GASNETE_COLL_DST, 0), address(GASNETE_COLL_SRC, 0),
                          plan->nbytes);
    if (round == 0) return pairs_messages(o, plan, false) || (plan->in_place && offer_drain(o));
    if (round < pairs_rounds(plan) - 1) return false;
    return pairs_combine(o, plan, pairs_piece(plan, plan->rank).nbytes) ||
           pairs_messages(o, plan, true);
}

const gasnete_coll_method_t gasnete_coll_method_pairs = {
    .rounds = pairs_rounds, .ahead = PLAN_FENCE, .scratch = pairs_scratch, .action = pairs_action};
