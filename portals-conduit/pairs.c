/* pairs.c - the rings by which neighbours send each other Active Messages (pair_flow.h).
 *
 * A process that sends a neighbour its first Request reserves a pair of rings for it, and asks it
 * for one, by a system message.  A process that is asked gives a pair and asks in return, or
 * refuses, if it has no more to give; then neither has one for the other.
 */
#include <stdlib.h>

#include "core/params/params.h"
#include "portals.h"

static net_pair_t *all;           /* records of shared-memory peers */
static _Atomic uint32_t reserved; /* pairs of rings that are reserved */
static uint32_t given;            /* pairs that are given; under the poll lock */

static uint32_t pairs_most(void)
{
    const int64_t most = gasnetc_params.amrdma_max_peers;
    return most < net_portals_rest.peers ? (uint32_t)most : net_portals_rest.peers;
}

size_t net_near_size(uint32_t *neighbours)
{
    *neighbours = pairs_most();
    net_rings_form((uint32_t)gasnetc_params.amrdma_depth, PLAN_CHUNK);
    return net_neighbours_size(PAIR_RINGS * *neighbours);
}

void net_near_peer(net_peer_t *peer, void *theirs)
{
    net_neighbours_enter(peer, theirs);
    peer->pair = calloc(1, sizeof *peer->pair);
    if (!peer->pair) gasneti_fatal("out of memory for the record of a neighbour");
    peer->pair->next = all;
    all = peer->pair;
}

void net_portals_near_close(void)
{
    while (all) {
        net_pair_t *pair = all;
        all = pair->next;
        free(pair->in);
        free(pair);
    }
    net_rings.first = NULL;
    given = reserved = 0;
    net_neighbours_close();
}

/* --- meeting --- */

static bool reserve(void)
{
    uint32_t before = atomic_load(&reserved);
    do {
        if (before == pairs_most()) return false;
    } while (!atomic_compare_exchange_weak(&reserved, &before, before + 1));
    return true;
}

/* Changes the state; false if the state was not `from`. */
static bool change(net_pair_t *pair, enum pair_state from, enum pair_state to)
{
    int state = from;
    return atomic_compare_exchange_strong(&pair->state, &state, to);
}

/* Asks the peer, unless another thread has done so or no pair is left. */
static void ask(net_peer_t *peer)
{
    if (!reserve()) return;
    if (change(peer->pair, PAIR_NONE, PAIR_ASKED))
        net_portals_system(peer, BITS_PAIR, PAIR_WANTED, 0);
    else
        atomic_fetch_sub(&reserved, 1);
}

/* Adds a ring of this process; returns its part in shared memory. */
static net_near_ring_t *add(net_peer_t *peer, net_ring_t *ring, enum pair_ring which)
{
    static amrdma_out_t no_ring; /* trailers report no ring */
    net_near_ring_t *near = net_near_ring_mine(given * PAIR_RINGS + which);
    net_rings_add(&ring[which], (char *)(near + 1), peer, 0, &near->released, &no_ring);
    return near;
}

/* Gives the peer a pair; poll lock held.  A thread that finds the pair open may write a Request at
 * once.  The release store of its trailer covers the offer too, which the peer needs for the Reply.
 */
static void give(net_peer_t *peer)
{
    net_pair_t *pair = peer->pair;
    pair->in = calloc(PAIR_RINGS, sizeof *pair->in);
    if (!pair->in) gasneti_fatal("out of memory for the records of rings");
    pair->unanswered_here = &add(peer, pair->in, PAIR_REQUESTS)->unanswered;
    add(peer, pair->in, PAIR_REPLIES);
    net_near_give(peer, given++ * PAIR_RINGS);
    atomic_store_explicit(&pair->state, PAIR_OPEN, memory_order_release);
}

static void asked(net_peer_t *peer)
{
    net_pair_t *pair = peer->pair;
    ask(peer);
    if (change(pair, PAIR_NONE, PAIR_REFUSED))
        net_portals_system(peer, BITS_PAIR, PAIR_NOT_GIVEN, 0);
    else if (atomic_load(&pair->state) == PAIR_ASKED)
        give(peer);
    else
        gasneti_malformed(peer->rank, 0, "request for rings");
}

static void refused(net_peer_t *peer)
{
    if (!change(peer->pair, PAIR_ASKED, PAIR_REFUSED))
        gasneti_malformed(peer->rank, 0, "refusal of rings");
    atomic_fetch_sub(&reserved, 1);
}

void net_portals_pair_message(net_peer_t *peer, uint32_t word)
{
    if (!peer->pair || word > PAIR_NOT_GIVEN)
        gasneti_malformed(peer->rank, 0, "system message about rings");
    if (word == PAIR_WANTED)
        asked(peer);
    else
        refused(peer);
}

/* Called while the pair is not in use yet: asks for it, or begins its use when the peer has given
 * it. */
static bool meet(net_peer_t *peer)
{
    net_pair_t *pair = peer->pair;
    if (atomic_load(&pair->state) == PAIR_NONE) ask(peer);
    if (!net_portals_pair_open(pair)) return false;
    net_near_ring_t *ring = net_near_given(peer, PAIR_REQUESTS);
    if (ring) net_near_begin(&pair->out[PAIR_REQUESTS], peer, ring);
    return ring;
}

/* --- messages --- */

static bool look(const net_peer_t *peer, net_pair_t *pair)
{
    const net_near_out_t *out = &pair->out[PAIR_REQUESTS];
    amrdma_in_t *replies = &pair->in[PAIR_REPLIES].in;
    const uint32_t sent = (uint32_t)out->out.sent, slots = net_rings.mask + 1;
    pair_look(&pair->flow, replies, NET_RINGS_IN_ORDER, &net_near_ring(out)->unanswered);
    if (!pair_is_sound(&pair->flow, sent, slots))
        gasneti_malformed(peer->rank, 0, "Reply (to no Request)");
    return pair_may_request(&pair->flow, sent, slots);
}

/* The address for a Request; NULL: the ring has no room, or is not in use yet. */
static inline char *request_place(net_peer_t *peer, size_t length)
{
    net_pair_t *pair = peer->pair;
    net_near_out_t *out = &pair->out[PAIR_REQUESTS];
    if (!net_near_ring(out) && !meet(peer)) return NULL;
    const uint32_t sent = (uint32_t)out->out.sent;
    if (!pair_may_request(&pair->flow, sent, net_rings.mask + 1) && !look(peer, pair)) return NULL;
    return net_near_place(out, length);
}

static __attribute__((cold)) void begin_replies(net_peer_t *peer)
{
    net_near_ring_t *ring = net_near_given(peer, PAIR_REPLIES);
    if (!ring) gasneti_malformed(peer->rank, 0, "Request (its sender has no ring for Replies)");
    net_near_begin(&peer->pair->out[PAIR_REPLIES], peer, ring);
}

static inline char *reply_place(net_peer_t *peer, size_t length)
{
    net_near_out_t *out = &peer->pair->out[PAIR_REPLIES];
    if (!net_near_ring(out)) begin_replies(peer);
    char *place = net_near_place(out, length);
    if (!place)
        gasneti_malformed(peer->rank, (uint32_t)length,
                          "Request (its sender has no room for the Reply)");
    return place;
}

enum net_result net_portals_near_request(net_peer_t *peer, void *data, size_t length)
{
    char *to = request_place(peer, length);
    if (!to) return net_portals_request(peer, data, length);
    net_near_copy(to, data, (uint32_t)length);
    net_near_sent(&peer->pair->out[PAIR_REQUESTS], peer->rank, (uint32_t)length);
    return NET_COPIED;
}

enum net_result net_portals_near_reply(net_peer_t *peer, const void *data, size_t length)
{
    net_near_copy(reply_place(peer, length), data, (uint32_t)length);
    net_near_sent(&peer->pair->out[PAIR_REPLIES], peer->rank, (uint32_t)length);
    return NET_COPIED;
}

void *net_portals_near_room(net_peer_t *peer, size_t length, bool reply)
{
    return reply ? reply_place(peer, length) : request_place(peer, length);
}

void net_portals_near_written(net_peer_t *peer, size_t length, bool reply)
{
    net_near_sent(&peer->pair->out[reply ? PAIR_REPLIES : PAIR_REQUESTS], peer->rank,
                  (uint32_t)length);
}

/* --- counters --- */

__attribute__((no_sanitize("thread"))) uint64_t net_portals_near_messages(const net_peer_t *peer)
{
    const net_pair_t *pair = peer->pair;
    return pair ? pair->out[PAIR_REQUESTS].out.sent + pair->out[PAIR_REPLIES].out.sent : 0;
}

uint64_t net_portals_near_rings(const net_peer_t *peer)
{
    return peer->pair && net_portals_pair_open(peer->pair) ? PAIR_RINGS : 0;
}
