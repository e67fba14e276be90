/* neighbours.h - rings in memory that shared-memory peers map ("neighbours"): where the rings lie,
 * how they are given, messages that are written by stores, and the receive thread that sleeps until
 * a message is written.
 *
 * The rings are those of amrdma.h.  They differ from rings that are written by RDMA: a message is
 * complete when the call returns; the sender reads which slots are released, and the trailer does
 * not report it.  A slot counts as written only by its trailer, which is stored last: a sender that
 * dies before that has written nothing.
 *
 * Used by the networks, which choose the neighbours that get a ring.
 */
#ifndef RINGS_NEIGHBOURS_H
#define RINGS_NEIGHBOURS_H

#include <string.h>

#include "core/rings/local_rings.h"

/* A ring in shared memory, as its sender and its receiver map it; the slots follow. */
typedef struct net_near_ring {
    _Alignas(64) amrdma_released_t released;
    _Atomic uint32_t unanswered; /* used by the network */
} net_near_ring_t;

/* A sender's end.  Under the peer's lock; `ring` is stored last, with release. */
typedef struct net_near_out {
    amrdma_out_t out;
    _Atomic(net_near_ring_t *) ring;
    _Atomic uint32_t *asleep; /* word of the peer's receive thread; NULL: the peer has none */
} net_near_out_t;

#pragma GCC visibility push(hidden)
/* The size of the shared memory of a process, with so many rings of the form in net_rings. */
size_t net_neighbours_size(uint32_t rings);
/* Enters the shared memory of a peer; for net_near_peer. */
void net_neighbours_enter(const net_peer_t *peer, void *theirs);
void net_neighbours_close(void);
bool net_near_shares(const net_peer_t *peer);

/* Ring `index` of this process.  A ring is given to one neighbour, after net_rings_add. */
net_near_ring_t *net_near_ring_mine(uint32_t index);
/* Tells a neighbour that it may write into ring `first` of this process, and into those that follow
 * it where the network gives several. */
void net_near_give(const net_peer_t *peer, uint32_t first);
/* The first of the rings that a neighbour has given, or one that follows it; NULL: the neighbour
 * has given none yet. */
net_near_ring_t *net_near_given(const net_peer_t *peer, uint32_t which);
/* From now on this process writes into `ring` of the peer. */
void net_near_begin(net_near_out_t *near, const net_peer_t *peer, net_near_ring_t *ring);
/* Wakes the receive thread that sleeps on this word, if it sleeps; called after a message is
 * written. */
void net_near_rouse(_Atomic uint32_t *asleep);
/* `wake` of net_near_open. */
extern void (*net_near_wake)(uint32_t rank);

/* The receive thread that neighbours wake: whether this process has one; net_arm and net_block for
 * it. */
bool net_near_sleeps(void);
void net_near_arm(void);
void net_near_block(void);
#pragma GCC visibility pop

static inline net_near_ring_t *net_near_ring(const net_near_out_t *near)
{
    return atomic_load_explicit(&near->ring, memory_order_acquire);
}

/* --- sending: near->ring is not NULL, and the peer's lock is held --- */

static inline bool net_near_may_send(amrdma_out_t *out, const net_near_ring_t *ring)
{
    if (amrdma_may_send(out)) return true;
    amrdma_look(out, &ring->released);
    return amrdma_may_send(out);
}

/* The trailer of the message with that number. */
static inline char *net_near_trailer(net_near_ring_t *ring, uint32_t number)
{
    return (char *)(ring + 1) + ((number & net_rings.mask) + 1) * (size_t)net_rings.slot -
           AMRDMA_TRAILER;
}

/* The address for the next message, aligned to 8 bytes; NULL: the ring has no free slot, or the
 * message is too long. */
HOT char *net_near_place(net_near_out_t *near, size_t length)
{
    net_near_ring_t *ring = atomic_load_explicit(&near->ring, memory_order_relaxed);
    if (length > net_rings.limit || !net_near_may_send(&near->out, ring)) return NULL;
    return net_near_trailer(ring, amrdma_next(&near->out)) - amrdma_padded((uint32_t)length);
}

/* Copies the message to its slot, with padding.  Most messages are a few words. */
HOT void net_near_copy(char *place, const void *data, uint32_t length)
{
    enum { FEW = 64 };
    uint64_t *to = (uint64_t *)(void *)place;
    const uint64_t *from = data;
    uint32_t bytes = amrdma_padded(length);
    if (bytes > FEW) {
        memcpy(to, from, bytes);
        return;
    }
    for (; bytes; bytes -= 8) *to++ = *from++;
}

/* Publishes the message in the slot, and wakes the receiving rank if it sleeps. */
HOT void net_near_sent(net_near_out_t *near, uint32_t rank, uint32_t length)
{
    net_near_ring_t *ring = atomic_load_explicit(&near->ring, memory_order_relaxed);
    const uint32_t number = amrdma_send(&near->out);
    atomic_store_explicit((_Atomic uint64_t *)(void *)net_near_trailer(ring, number),
                          amrdma_trailer(number, 0, length), memory_order_release);
    if (near->asleep != NULL) net_near_rouse(near->asleep);
    net_near_wake(rank);
}

#endif
