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

/* Bytes that one rank has for another.  */
static size_t block(const gasnete_coll_plan_t *plan)
{
    const size_t images = plan_images(plan, 0);
    return images * images * plan->nbytes;
}

/* Bytes of the largest message.  */
static size_t half(const gasnete_coll_plan_t *plan)
{
    return plan_aligned(plan->size / 2 * block(plan));
}

static size_t blocks(const gasnete_coll_plan_t *plan)
{
    return plan_aligned(plan->size * block(plan));
}

static size_t scratch(const gasnete_coll_plan_t *plan)
{
    return blocks(plan) + (SENDING + RECEIVING) * half(plan);
}

static gasnete_coll_place_t sending(const gasnete_coll_plan_t *plan, uint32_t k)
{
    return place(GASNETE_COLL_TMP, blocks(plan) + k % SENDING * half(plan));
}

static gasnete_coll_place_t receiving(const gasnete_coll_plan_t *plan, uint32_t k)
{
    return place(GASNETE_COLL_TMP, blocks(plan) + (SENDING + k % RECEIVING) * half(plan));
}

static uint32_t rounds(const gasnete_coll_plan_t *plan)
{
    return plan_log2(plan->size) + 1;
}

static uint32_t ahead(const gasnete_coll_plan_t *plan)
{
    (void)plan;
    return 1;
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
                          gasnete_coll_place_t buffer, bool pack)
{
    const runs_t runs = runs_of(plan, k);
    const size_t run = block(plan) << k;
    for (uint32_t part = 0; part < 2; part++) {
        const size_t past = part ? runs.whole * run : 0;
        const gasnete_coll_place_t scattered = place(GASNETE_COLL_TMP, 2 * past + run);
        const gasnete_coll_place_t together = place(buffer.buffer, buffer.offset + past);
        const gasnete_coll_action_t copy = {.verb = GASNETE_COLL_COPY,
                                            .to = pack ? together : scattered,
                                            .from = pack ? scattered : together,
                                            .to_stride = (ptrdiff_t)(pack ? run : 2 * run),
                                            .from_stride = (ptrdiff_t)(pack ? 2 * run : run),
                                            .nbytes = part ? runs.rest * block(plan) : run,
                                            .count = part ? 1 : runs.whole};
        if (copy.nbytes && copy.count && offer(o, &copy)) return true;
    }
    return false;
}

/* SRC to TMP: this rank's own block first.  */
static bool offer_start(offer_t *o, const gasnete_coll_plan_t *plan)
{
    const size_t before = plan->rank * block(plan), rest = (plan->size - plan->rank) * block(plan);
    return offer_copy(o, place(GASNETE_COLL_TMP, 0), place(GASNETE_COLL_SRC, before), rest) ||
           offer_copy(o, place(GASNETE_COLL_TMP, rest), place(GASNETE_COLL_SRC, 0), before);
}

/* TMP to DST: from this rank's own block downwards.  */
static bool offer_end(offer_t *o, const gasnete_coll_plan_t *plan)
{
    const size_t b = block(plan);
    gasnete_coll_action_t copy = {.verb = GASNETE_COLL_COPY,
                                  .to = place(GASNETE_COLL_DST, plan->rank * b),
                                  .from = place(GASNETE_COLL_TMP, 0),
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

static bool action(const gasnete_coll_plan_t *plan, uint32_t k, offer_t *o)
{
    const uint32_t last = plan_log2(plan->size);
    if (k == 0 && offer_start(o, plan)) return true;
    if (k > 0 && offer_packing(o, plan, k - 1, receiving(plan, k - 1), false)) return true;
    if (k == last) return offer_end(o, plan);
    const uint64_t distance = (uint64_t)1 << k;
    const runs_t runs = runs_of(plan, k);
    const size_t nbytes = ((runs.whole * distance) + runs.rest) * block(plan);
    if (offer_recv(o, plan_rank(plan, plan->rank + plan->size - distance), k, receiving(plan, k),
                   nbytes))
        return true;
    if (k >= SENDING && offer(o, &(gasnete_coll_action_t){.verb = GASNETE_COLL_DRAIN})) return true;
    return offer_packing(o, plan, k, sending(plan, k), true) ||
           offer_send(o, plan_rank(plan, plan->rank + distance), k, sending(plan, k), nbytes);
}

const gasnete_coll_method_t gasnete_coll_method_bruck = {
    .rounds = rounds, .ahead = ahead, .scratch = scratch, .action = action};
