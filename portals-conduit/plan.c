/* plan.c - the table of credits, and the sizes computed from it: see plan.h. */
#include "plan.h"

#include <stdio.h>

/* Initial credits of each peer and of the bank, by the number of ranks.  The fewer credits a peer
 * begins with, the larger is the bank. */
static const struct row {
    uint32_t nodes, each, bank;
} table[] = {{2, 192, 192},   {8, 128, 512},    {32, 64, 1024},     {128, 32, 2048},
             {512, 20, 4096}, {2048, 14, 8192}, {10000, 10, 20000}, {65536, 8, 65536}};
enum { ROWS = sizeof table / sizeof *table, CHUNKS_LEAST = 17, BUFFERS_WANTED = 4 };

static uint32_t plan_interpolate(uint32_t nodes, const struct row *a, const struct row *b,
                                 uint32_t from, uint32_t to)
{
    int64_t by = ((int64_t)to - from) * (nodes - a->nodes) / (b->nodes - a->nodes);
    return (uint32_t)(from + by);
}

static struct row plan_table_row(uint32_t nodes)
{
    unsigned i = 1;
    if (nodes <= table[0].nodes) return table[0];
    if (nodes >= table[ROWS - 1].nodes) return table[ROWS - 1];
    while (table[i].nodes < nodes) i++;
    const struct row *a = &table[i - 1], *b = &table[i];
    return (struct row){nodes, plan_interpolate(nodes, a, b, a->each, b->each),
                        plan_interpolate(nodes, a, b, a->bank, b->bank)};
}

static uint64_t plan_clip(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* The credits for a number of buffers.  The last chunk of a buffer is not counted: a buffer with
 * less than a chunk left takes no more Requests. */
static uint64_t plan_credits(uint64_t buffers, uint64_t chunks)
{
    return buffers * (chunks - 1) * PLAN_COST_MOST;
}

/* Number and size of the receive buffers for `credits`. */
static void plan_buffers(uint64_t credits, uint32_t spare, plan_t *plan)
{
    uint64_t chunks = (credits / PLAN_COST_MOST + BUFFERS_WANTED - 1) / BUFFERS_WANTED + 1;
    plan->chunks = (uint32_t)plan_clip(chunks, CHUNKS_LEAST, PLAN_CHUNKS_MOST);
    uint64_t one = plan_credits(1, plan->chunks);
    plan->buffers = (uint32_t)((credits + one - 1) / one) + spare;
}

/* Number and size of the receive buffers in `space` bytes; false if that is too little. */
static bool plan_buffers_in(uint64_t space, uint32_t spare, plan_t *plan)
{
    uint64_t all = space / PLAN_CHUNK;
    plan->chunks = (uint32_t)plan_clip(all / (BUFFERS_WANTED + spare), 2, PLAN_CHUNKS_MOST);
    plan->buffers = (uint32_t)(all / plan->chunks);
    return plan->buffers > spare;
}

bool plan_make(const plan_input_t *in, plan_t *plan, char *why, size_t size)
{
    uint32_t peers = in->nodes - 1;
    struct row row = plan_table_row(in->nodes);
    if (in->each >= 0) row.each = (uint32_t)in->each;
    if (in->bank >= 0) row.bank = (uint32_t)in->bank;
    row.each = (uint32_t)plan_clip(row.each, PLAN_COST_MOST, PLAN_CEILING_MOST);
    *plan = (plan_t){.buffers = 0};
    if (in->space == 0) {
        plan_buffers((uint64_t)row.each * peers + row.bank, in->spare, plan);
    } else if (!plan_buffers_in((uint64_t)in->space, in->spare, plan) ||
               plan_credits(plan->buffers - in->spare, plan->chunks) <
                   (uint64_t)peers * PLAN_COST_MOST) {
        plan_t least = {.buffers = 0};
        plan_buffers((uint64_t)peers * PLAN_COST_MOST, in->spare, &least);
        snprintf(why, size,
                 "GASNET_PORTAL_AMRECV_SPACE=%lld is too little for %u nodes, whose peers have %d "
                 "credits of %d bytes each at least; %llu KB will do",
                 (long long)in->space, in->nodes, PLAN_COST_MOST, PLAN_CREDIT,
                 (unsigned long long)((uint64_t)least.buffers * least.chunks * PLAN_CHUNK / 1024));
        return false;
    }
    plan->credits = (uint32_t)plan_credits(plan->buffers - in->spare, plan->chunks);
    if (peers && (uint64_t)row.each * peers > plan->credits) {
        if (in->each >= 0) {
            snprintf(why, size,
                     "GASNET_PORTAL_CRED_PER_NODE=%u for %u peers takes more receive space than "
                     "GASNET_PORTAL_AMRECV_SPACE has: that is enough for %u",
                     row.each, peers, plan->credits / peers);
            return false;
        }
        row.each = plan->credits / peers;
    }
    plan->each = (uint16_t)plan_clip(row.each, PLAN_COST_MOST, PLAN_CEILING_MOST);
    /* Each Request, and each payload of a Long, costs a credit; each buffer logs one UNLINK. */
    plan->am_events = plan->credits + plan->buffers;
    /* The operation of a ticket logs at most two events; the chunk of a Request two for its Reply
     * and one for a put sent from it; a Reply one. */
    plan->safe_events = 2ull * in->tickets + 3ull * in->send_chunks + in->reply_chunks + 1;
    /* Events for each peer, in both directions: three messages of the core and their
     * acknowledgements, and one about credits; and one about rings from the peer. */
    plan->system_events = 9ull * in->nodes + 10;
    return true;
}
