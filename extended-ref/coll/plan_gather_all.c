/* plan_gather_all.c - BARRIER and GATHER_ALL by dissemination.  Pure.
 *
 * In the round of distance 2^k a rank sends the blocks that it has, its own and those of the ranks
 * after it, to the rank 2^k before it.  In DST such a range may go round the end and takes two
 * messages then.  Small blocks are therefore collected in TMP, own block first, and copied at the
 * end.
 */
#include "extended-ref/coll/plan_parts.h"

enum { PACKED_LIMIT = 32 << 10 }; /* bytes of all blocks */

static uint32_t before(const gasnete_coll_plan_t *plan, uint32_t k)
{
    return plan_rank(plan, (uint64_t)plan->rank + plan->size - ((uint32_t)1 << k));
}

static uint32_t after(const gasnete_coll_plan_t *plan, uint32_t k)
{
    return plan_rank(plan, (uint64_t)plan->rank + ((uint32_t)1 << k));
}

/* --- BARRIER --- */

static uint32_t barrier_rounds(const gasnete_coll_plan_t *plan)
{
    return plan_log2(plan->size);
}

static bool barrier_action(const gasnete_coll_plan_t *plan, uint32_t k, offer_t *o)
{
    const gasnete_coll_place_t nowhere = place(GASNETE_COLL_TMP, 0);
    return offer_send(o, before(plan, k), k, nowhere, 0) ||
           offer_recv(o, after(plan, k), k, nowhere, 0);
}

const gasnete_coll_method_t gasnete_coll_barrier = {
    .rounds = barrier_rounds, .ahead = barrier_rounds, .action = barrier_action};

/* --- GATHER_ALL --- */

/* With fewer ranks no range goes round the end.  */
static bool packed(const gasnete_coll_plan_t *plan)
{
    return plan->size > 3 && plan_blocks(plan, 0, plan->size) <= PACKED_LIMIT;
}

static uint32_t gather_all_rounds(const gasnete_coll_plan_t *plan)
{
    const uint32_t rounds = plan_log2(plan->size);
    return rounds + (packed(plan) || rounds == 0);
}

static size_t gather_all_scratch(const gasnete_coll_plan_t *plan)
{
    return packed(plan) ? plan_blocks(plan, 0, plan->size) : 0;
}

static bool packed_action(const gasnete_coll_plan_t *plan, uint32_t k, offer_t *o)
{
    const uint32_t moved = plan_moved(plan, k);
    const size_t have = plan_blocks(plan, plan->rank, (uint32_t)1 << k);
    return offer_recv(o, after(plan, k), k, place(GASNETE_COLL_TMP, have),
                      plan_blocks(plan, after(plan, k), moved)) ||
           offer_send(o, before(plan, k), k, place(GASNETE_COLL_TMP, 0),
                      plan_blocks(plan, plan->rank, moved));
}

static bool unpack_action(const gasnete_coll_plan_t *plan, offer_t *o)
{
    const plan_range_t own = plan_part(plan, plan->rank, plan->size, 0);
    const plan_range_t rest = plan_part(plan, plan->rank, plan->size, 1);
    return offer_copy(o, place(GASNETE_COLL_DST, own.offset), place(GASNETE_COLL_TMP, 0),
                      own.nbytes) ||
           offer_copy(o, place(GASNETE_COLL_DST, rest.offset), place(GASNETE_COLL_TMP, own.nbytes),
                      rest.nbytes);
}

static bool in_place_action(const gasnete_coll_plan_t *plan, uint32_t k, offer_t *o)
{
    const uint32_t moved = plan_moved(plan, k);
    for (uint32_t part = 0; part < 2; part++) {
        const plan_range_t r = plan_part(plan, after(plan, k), moved, part);
        if (r.nbytes && offer_recv(o, after(plan, k), 2 * k + part,
                                   place(GASNETE_COLL_DST, r.offset), r.nbytes))
            return true;
    }
    for (uint32_t part = 0; part < 2; part++) {
        const plan_range_t r = plan_part(plan, plan->rank, moved, part);
        if (r.nbytes && offer_send(o, before(plan, k), 2 * k + part,
                                   place(GASNETE_COLL_DST, r.offset), r.nbytes))
            return true;
    }
    return false;
}

static bool gather_all_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const bool pack = packed(plan);
    if (round == 0 && offer_copy(o,
                                 pack ? place(GASNETE_COLL_TMP, 0)
                                      : place(GASNETE_COLL_DST, plan_offset(plan, plan->rank)),
                                 place(GASNETE_COLL_SRC, 0), plan_blocks(plan, plan->rank, 1)))
        return true;
    if (round == plan_log2(plan->size)) return pack && unpack_action(plan, o);
    return pack ? packed_action(plan, round, o) : in_place_action(plan, round, o);
}

const gasnete_coll_method_t gasnete_coll_gather_all = {.rounds = gather_all_rounds,
                                                       .ahead = gather_all_rounds,
                                                       .scratch = gather_all_scratch,
                                                       .action = gather_all_action};
