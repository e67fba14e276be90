/* rings.c - Active Messages that are written into their receiver's memory (IB-R9..R12), as rails.c,
 * amrdma_rings.c and network_ib.h of core/ib do it with the state machines of amrdma.h.
 *
 * A write arrives in two pieces, with time between them: the message must not be taken before the
 * second. A slot must not be written again before its message was released.
 */
#include "tests/sim/rings.h"

#include <string.h>

static struct owner {
    amrdma_choice_t choice;
    net_peer_t **givers; /* peers that have a ring here */
    uint32_t given;
} owners[SIM_NODES];

static bool in_use(void)
{
    return sim_the_job.ring_places > 0;
}

static char *slot_end(const sim_rings_t *rings, uint32_t number)
{
    size_t size = amrdma_slot_size(sim_the_job.ring_limit);
    return rings->memory + ((number & (sim_the_job.ring_slots - 1)) + 1) * size;
}

void sim_rings_begin(void)
{
    const uint32_t nodes = sim_the_job.nodes;
    for (uint32_t i = 0; i < nodes && in_use(); i++) {
        struct owner *o = &owners[i];
        *o = (struct owner){.choice = {.cycle = sim_the_job.ring_cycle,
                                       .max_rings = sim_the_job.ring_places,
                                       .peers = nodes},
                            .givers = sim_alloc(sim_the_job.ring_places * sizeof *o->givers)};
        o->choice.arrivals = memset(sim_alloc(nodes * sizeof *o->choice.arrivals), 0,
                                    nodes * sizeof *o->choice.arrivals);
    }
}

uint32_t sim_rings_given(uint32_t node)
{
    return in_use() ? owners[node].given : 0;
}

net_peer_t *sim_rings_giver(uint32_t node, uint32_t index)
{
    return owners[node].givers[index];
}

/* --- sending --- */

/* Whether any ring leads there or back. */
static bool known(const sim_rings_t *rings)
{
    return rings->given || rings->out.slots;
}

static void begin(sim_rings_t *rings)
{
    rings->out.slots = (uint16_t)sim_the_job.ring_slots;
}

/* The longest message; the device must capture its trailer, too. */
static size_t limit(bool inlined)
{
    size_t most = sim_the_job.inline_max & ~7u;
    most = most < AMRDMA_TRAILER ? 0 : most - AMRDMA_TRAILER;
    return inlined && most < sim_the_job.ring_limit ? most : sim_the_job.ring_limit;
}

sim_aim_t sim_rings_aim(net_peer_t *peer, char *data, bool inlined, size_t length)
{
    sim_rings_t *rings = &peer->rings;
    if (!known(rings)) return (sim_aim_t){.length = length};
    uint16_t freed = rings->given ? amrdma_freed(&rings->in, sim_the_job.ring_in_order) : 0;
    if (rings->offer || length > limit(inlined) || !amrdma_may_send(&rings->out)) {
        uint32_t word = (uint32_t)rings->offer << 16 | freed;
        rings->offer = false;
        return (sim_aim_t){.marked = true, .word = word, .length = length};
    }
    uint32_t number = amrdma_send(&rings->out), padded = amrdma_padded((uint32_t)length);
    uint64_t trailer = amrdma_trailer(number, freed, (uint32_t)length);
    memset(data + length, 0, padded - length);
    memcpy(data + padded, &trailer, sizeof trailer);
    sim_note(peer->owner, "writes message %u into node %u's ring", number, peer->rank);
    return (sim_aim_t){.write = true, .number = number, .length = padded + AMRDMA_TRAILER};
}

/* --- arriving --- */

void sim_rings_write(net_peer_t *peer, const sim_aim_t *aim, const char *src, size_t from,
                     size_t to)
{
    sim_rings_t *rings = &peer->rings;
    bool *busy = &rings->busy[aim->number & (sim_the_job.ring_slots - 1)];
    sim_concerns(peer->rank);
    sim_check(rings->given, peer->owner, "node %u writes into a ring that it has not", peer->rank);
    sim_check(!*busy || from, peer->owner,
              "node %u writes message %u over one that is not released", peer->rank, aim->number);
    *busy = true;
    memcpy(slot_end(rings, aim->number) - aim->length + from, src + from, to - from);
}

static void give(uint32_t node, net_peer_t *peer)
{
    struct owner *o = &owners[node];
    sim_rings_t *rings = &peer->rings;
    size_t size = sim_the_job.ring_slots * amrdma_slot_size(sim_the_job.ring_limit);
    sim_check(!rings->given && o->given < sim_the_job.ring_places, node,
              "gives node %u a ring, and has given %u of %u", peer->rank, o->given,
              sim_the_job.ring_places);
    sim_note(node, "gives node %u a ring", peer->rank);
    rings->memory = memset(sim_alloc(size), 0, size);
    amrdma_in_init(&rings->in, sim_the_job.ring_slots, &rings->released, false);
    rings->given = true;
    rings->offer = true;
    o->givers[o->given++] = peer;
}

static void count_heard(uint32_t node, int64_t from)
{
    struct owner *o = &owners[node];
    if (!amrdma_choosing(&o->choice) || !amrdma_count_arrival(&o->choice, from, 1)) return;
    for (int64_t next; (next = amrdma_choose(&o->choice)) >= 0;)
        give(node, &sim_job_peer(node, (uint32_t)next)->net);
}

void sim_rings_heard(net_peer_t *peer, const sim_aim_t *aim, size_t length)
{
    sim_rings_t *rings = &peer->rings;
    if (!in_use()) return;
    if (aim->marked) {
        if (known(rings)) amrdma_update_freed(&rings->out, (uint16_t)aim->word);
        if (aim->word >> 16) begin(rings);
    }
    if (length > sim_the_job.ring_limit) return;
    count_heard(peer->owner, rings->given ? AMRDMA_HAS_RING : (int64_t)peer->rank);
}

bool sim_rings_take(net_peer_t *peer, uint32_t *number, char **data, uint32_t *length)
{
    sim_rings_t *rings = &peer->rings;
    char *end = slot_end(rings, rings->in.expected);
    uint64_t trailer;
    memcpy(&trailer, end - sizeof trailer, sizeof trailer);
    if (!amrdma_is_next(&rings->in, trailer)) return false;
    *length = amrdma_trailer_length(trailer);
    sim_check(*length <= sim_the_job.ring_limit, peer->owner, "a message of %u bytes in a ring",
              *length);
    amrdma_update_freed(&rings->out, amrdma_trailer_freed(trailer));
    *number = amrdma_take(&rings->in);
    *data = end - AMRDMA_TRAILER - amrdma_padded(*length);
    count_heard(peer->owner, AMRDMA_HAS_RING);
    return true;
}

void sim_rings_release(net_peer_t *peer, uint32_t number)
{
    sim_rings_t *rings = &peer->rings;
    rings->busy[number & (sim_the_job.ring_slots - 1)] = false;
    amrdma_release(&rings->in, number, sim_the_job.ring_in_order);
}
