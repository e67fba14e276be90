/* receive_space.c - the table of credits, and the sizes computed from it: see receive_space.h. */
#include "receive_space.h"

#include <stdio.h>

/* Initial credits of each peer and of the bank, by the number of ranks.  The fewer credits a peer
 * begins with, the larger is the bank. */
static const struct row {
    uint32_t nodes, each, bank;
} table[] = {{2, 192, 192},   {8, 128, 512},    {32, 64, 1024},     {128, 32, 2048},
             {512, 20, 4096}, {2048, 14, 8192}, {10000, 10, 20000}, {65536, 8, 65536}};
enum { ROWS = sizeof table / sizeof *table, CHUNKS_LEAST = 17, BUFFERS_WANTED = 4 };

static uint32_t space_interpolate(uint32_t nodes, const struct row *a, const struct row *b,
                                  uint32_t from, uint32_t to)
{
    int64_t by = ((int64_t)to - from) * (nodes - a->nodes) / (b->nodes - a->nodes);
    return (uint32_t)(from + by);
}

static struct row space_table_row(uint32_t nodes)
{
    unsigned i = 1;
    if (nodes <= table[0].nodes) return table[0];
    if (nodes >= table[ROWS - 1].nodes) return table[ROWS - 1];
    while (table[i].nodes < nodes) i++;
    const struct row *a = &table[i - 1], *b = &table[i];
    return (struct row){nodes, space_interpolate(nodes, a, b, a->each, b->each),
                        space_interpolate(nodes, a, b, a->bank, b->bank)};
}

static uint64_t space_clip(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* The credits for a number of buffers.  The last chunk of a buffer is not counted: a buffer with
 * less than a chunk left takes no more Requests. */
static uint64_t space_credits(uint64_t buffers, uint64_t chunks)
{
    return buffers * (chunks - 1) * RECEIVE_COST_MOST;
}

/* Number and size of the receive buffers for `credits`. */
static void space_buffers(uint64_t credits, uint32_t spare, receive_space_t *space)
{
    uint64_t chunks = (credits / RECEIVE_COST_MOST + BUFFERS_WANTED - 1) / BUFFERS_WANTED + 1;
    space->chunks = (uint32_t)space_clip(chunks, CHUNKS_LEAST, RECEIVE_CHUNKS_MOST);
    uint64_t one = space_credits(1, space->chunks);
    space->buffers = (uint32_t)((credits + one - 1) / one) + spare;
}

/* Number and size of the receive buffers in `bytes` bytes; false if that is too little. */
static bool space_buffers_in(uint64_t bytes, uint32_t spare, receive_space_t *space)
{
    uint64_t all = bytes / RECEIVE_CHUNK;
    space->chunks = (uint32_t)space_clip(all / (BUFFERS_WANTED + spare), 2, RECEIVE_CHUNKS_MOST);
    space->buffers = (uint32_t)(all / space->chunks);
    return space->buffers > spare;
}

bool receive_space_compute(const receive_space_input_t *in, receive_space_t *space, char *why,
                           size_t size)
{
    uint32_t peers = in->nodes - 1;
    struct row row = space_table_row(in->nodes);
    if (in->each >= 0) row.each = (uint32_t)in->each;
    if (in->bank >= 0) row.bank = (uint32_t)in->bank;
    row.each = (uint32_t)space_clip(row.each, RECEIVE_COST_MOST, RECEIVE_CEILING_MOST);
    *space = (receive_space_t){.buffers = 0};
    if (in->space == 0) {
        space_buffers((uint64_t)row.each * peers + row.bank, in->spare, space);
    } else if (!space_buffers_in((uint64_t)in->space, in->spare, space) ||
               space_credits(space->buffers - in->spare, space->chunks) <
                   (uint64_t)peers * RECEIVE_COST_MOST) {
        receive_space_t least = {.buffers = 0};
        space_buffers((uint64_t)peers * RECEIVE_COST_MOST, in->spare, &least);
        snprintf(
            why, size,
            "GASNET_PORTAL_AMRECV_SPACE=%lld is too little for %u ranks, whose peers have %d "
            "credits of %d bytes each at least; %llu KB will do",
            (long long)in->space, in->nodes, RECEIVE_COST_MOST, RECEIVE_CREDIT,
            (unsigned long long)((uint64_t)least.buffers * least.chunks * RECEIVE_CHUNK / 1024));
        return false;
    }
    space->credits = (uint32_t)space_credits(space->buffers - in->spare, space->chunks);
    if (peers && (uint64_t)row.each * peers > space->credits) {
        if (in->each >= 0) {
            snprintf(why, size,
                     "GASNET_PORTAL_CRED_PER_NODE=%u for %u peers takes more receive space than "
                     "GASNET_PORTAL_AMRECV_SPACE has: that is enough for %u",
                     row.each, peers, space->credits / peers);
            return false;
        }
        row.each = space->credits / peers;
    }
    space->each = (uint16_t)space_clip(row.each, RECEIVE_COST_MOST, RECEIVE_CEILING_MOST);
    /* Each Request, and each payload of a Long, costs a credit; each buffer logs one UNLINK. */
    space->am_events = space->credits + space->buffers;
    /* The operation of a ticket logs at most two events; the chunk of a Request two for its Reply
     * and one for a put sent from it; a Reply one. */
    space->safe_events = 2ull * in->tickets + 3ull * in->send_chunks + in->reply_chunks + 1;
    /* Events for each peer, in both directions: three messages of the core and their
     * acknowledgements, and one about credits; and one about rings from the peer. */
    space->system_events = 9ull * in->nodes + 10;
    return true;
}
