/* plan_bruck.c - EXCHANGE by store and forward, for small blocks (Bruck).  Pure.
 *
 * Block i of TMP is for the rank i after this one.  In the round of distance d = 2^k all blocks
 * whose i has bit k are sent to the rank d after this one, in one message; after the last round
 * block i has come from the rank i before this one.  All ranks have as many images.
 *
 * TMP: the blocks, buffers to send from, and buffers to receive in.  One of the latter is in use,
 * one has a RECV, and one may have the RECV of the next round, posted early.
 */
#include "extended-ref/coll/plans/plan_parts.h"

enum { SENDING = 2, RECEIVING = 3 };

/* Bytes of the largest message.  */
static size_t bruck_half(const gasnete_coll_plan_t *plan)
{
    return plan_aligned(plan->size / 2 * plan_pair(plan));
}

static size_t bruck_blocks(const gasnete_coll_plan_t *plan)
{
    return plan_aligned(plan->size * plan_pair(plan));
}

static size_t bruck_scratch(const gasnete_coll_plan_t *plan)
{
    return bruck_blocks(plan) + (SENDING + RECEIVING) * bruck_half(plan);
}

static gasnete_coll_address_t bruck_sending(const gasnete_coll_plan_t *plan, uint32_t k)
{
    return address(GASNETE_COLL_TMP, bruck_blocks(plan) + k % SENDING * bruck_half(plan));
}

static gasnete_coll_address_t bruck_receiving(const gasnete_coll_plan_t *plan, uint32_t k)
{
    return address(GASNETE_COLL_TMP,
                   bruck_blocks(plan) + (SENDING + k % RECEIVING) * bruck_half(plan));
}

static uint32_t bruck_rounds(const gasnete_coll_plan_t *plan)
{
    return plan_log2(plan->size) + 1;
}

/* The numbers below `size` with bit k: the number of whole runs of 2^k, and the length of one more
 * run.  */
typedef struct runs {
    uint32_t whole, rest;
} runs_t;

static runs_t runs_of(const gasnete_coll_plan_t *plan, uint32_t k)
{
    const uint32_t run = (uint32_t)1 << k, period = plan->size & (2 * run - 1);
    return (runs_t){plan->size >> (k + 1), period > run ? period - run : 0};
}

/* Copies the blocks with bit k between TMP's blocks and a buffer.  */
static bool offer_packing(offer_t *o, const gasnete_coll_plan_t *plan, uint32_t k,
                          gasnete_coll_address_t buffer, bool pack)
{
    const runs_t runs = runs_of(plan, k);
    const size_t run = plan_pair(plan) << k;
    for (uint32_t part = 0; part < 2; part++) {
        const size_t past = part ? runs.whole * run : 0;
        const gasnete_coll_address_t scattered = address(GASNETE_COLL_TMP, 2 * past + run);
        const gasnete_coll_address_t together = address(buffer.buffer, buffer.offset + past);
        const gasnete_coll_action_t copy = {.verb = GASNETE_COLL_COPY,
                                            .to = pack ? together : scattered,
                                            .from = pack ? scattered : together,
                                            .to_stride = (ptrdiff_t)(pack ? run : 2 * run),
                                            .from_stride = (ptrdiff_t)(pack ? 2 * run : run),
                                            .nbytes = part ? runs.rest * plan_pair(plan) : run,
                                            .count = part ? 1 : runs.whole};
        if (copy.nbytes && copy.count && offer(o, &copy)) return true;
    }
    return false;
}

/* SRC to TMP: this rank's own block first.  */
static bool offer_start(offer_t *o, const gasnete_coll_plan_t *plan)
{
    const size_t before = plan->rank * plan_pair(plan),
                 rest = (plan->size - plan->rank) * plan_pair(plan);
    return offer_copy(o, address(GASNETE_COLL_TMP, 0), address(GASNETE_COLL_SRC, before), rest) ||
           offer_copy(o, address(GASNETE_COLL_TMP, rest), address(GASNETE_COLL_SRC, 0), before);
}

/* TMP to DST: from this rank's own block downwards.  */
static bool offer_end(offer_t *o, const gasnete_coll_plan_t *plan)
{
    const size_t b = plan_pair(plan);
    gasnete_coll_action_t copy = {.verb = GASNETE_COLL_COPY,
                                  .to = address(GASNETE_COLL_DST, plan->rank * b),
                                  .from = address(GASNETE_COLL_TMP, 0),
                                  .to_stride = -(ptrdiff_t)b,
                                  .from_stride = (ptrdiff_t)b,
                                  .nbytes = b,
                                  .count = plan->rank + 1};
    if (offer(o, &copy)) return true;
    copy.to.offset = (plan->size - 1) * b;
    copy.from.offset = copy.count * b;
    copy.count = plan->size - copy.count;
    return copy.count && offer(o, &copy);
}

static bool bruck_action(const gasnete_coll_plan_t *plan, uint32_t k, offer_t *o)
{
    const uint32_t last = plan_log2(plan->size);
    if (k == 0 && offer_start(o, plan)) return true;
    if (k > 0 && offer_packing(o, plan, k - 1, bruck_receiving(plan, k - 1), false)) return true;
    if (k == last) return offer_end(o, plan);
    const uint64_t distance = (uint64_t)1 << k;
    const runs_t runs = runs_of(plan, k);
    const size_t nbytes = ((runs.whole * distance) + runs.rest) * plan_pair(plan);
    if (offer_recv(o, plan_rank(plan, plan->rank + plan->size - distance), k,
                   bruck_receiving(plan, k), nbytes))
        return true;
    if (k >= SENDING && offer(o, &(gasnete_coll_action_t){.verb = GASNETE_COLL_DRAIN})) return true;
    return offer_packing(o, plan, k, bruck_sending(plan, k), true) ||
           offer_send(o, plan_rank(plan, plan->rank + distance), k, bruck_sending(plan, k), nbytes);
}

const gasnete_coll_method_t gasnete_coll_method_bruck = {
    .rounds = bruck_rounds, .ahead = 1, .scratch = bruck_scratch, .action = bruck_action};
