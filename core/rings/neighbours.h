/* neighbours.h - rings in memory that neighbours share: where they lie, how they are given, the
 * message that is written by stores, and the receive thread that sleeps until one is written.
 *
 * They are the rings of amrdma.h.  What differs from rings that are written by RDMA: the message is
 * complete when the call returns; the sender sees for itself which slots are released, and the
 * trailer does not say it.  A slot counts as written only by its trailer, which is stored last: a
 * sender that dies before has written nothing.
 *
 * For the networks, which choose the neighbours that get a ring.
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
    _Atomic uint32_t *asleep; /* of the peer's receive thread; NULL: it has none */
} net_near_out_t;

#pragma GCC visibility push(hidden)
/* The shared memory of a process, with so many rings of the form in net_rings. */
size_t net_neighbours_size(uint32_t rings);
/* For net_near_peer. */
void net_neighbours_enter(const net_peer_t *peer, void *theirs);
void net_neighbours_close(void);
bool net_near_shares(const net_peer_t *peer);

/* A ring of this process; it is given to one neighbour, after net_rings_add. */
net_near_ring_t *net_near_ring_mine(uint32_t index);
/* Tells a neighbour that it may write into ring `first` of this process, and into those that follow
 * it where the network gives several. */
void net_near_give(const net_peer_t *peer, uint32_t first);
/* The first of the rings that a neighbour has given, or one that follows it; NULL: it has given
 * none up to now. */
net_near_ring_t *net_near_given(const net_peer_t *peer, uint32_t which);
/* This process writes into `ring` of the peer from now on. */
void net_near_begin(net_near_out_t *near, const net_peer_t *peer, net_near_ring_t *ring);
/* After a message: wakes the thread that sleeps on this word, if it does. */
void net_near_rouse(_Atomic uint32_t *asleep);
/* The `wake` of net_near_open. */
extern void (*net_near_wake)(uint32_t rank);

/* For the receive thread that neighbours wake: whether there is one; as net_arm and net_block. */
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
    if (__builtin_expect(amrdma_may_send(out), 1)) return true;
    amrdma_look(out, &ring->released);
    return amrdma_may_send(out);
}

/* The trailer of the message with that number. */
static inline char *net_near_trailer(net_near_ring_t *ring, uint32_t number)
{
    return (char *)(ring + 1) + ((number & net_rings.mask) + 1) * (size_t)net_rings.slot -
           AMRDMA_TRAILER;
}

/* Where the next message is to be written, aligned to 8 bytes; NULL: there is no room. */
HOT char *net_near_place(net_near_out_t *near, size_t length)
{
    net_near_ring_t *ring = atomic_load_explicit(&near->ring, memory_order_relaxed);
    if (__builtin_expect(length > net_rings.limit, 0) ||
        __builtin_expect(!net_near_may_send(&near->out, ring), 0))
        return NULL;
    return net_near_trailer(ring, amrdma_next(&near->out)) - amrdma_padded((uint32_t)length);
}

/* Copies the message there, with its padding.  Most messages are a few words. */
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

/* It is written.  Wakes what waits for it in the process of that rank. */
HOT void net_near_sent(net_near_out_t *near, uint32_t rank, uint32_t length)
{
    net_near_ring_t *ring = atomic_load_explicit(&near->ring, memory_order_relaxed);
    const uint32_t number = amrdma_send(&near->out);
    atomic_store_explicit((_Atomic uint64_t *)(void *)net_near_trailer(ring, number),
                          amrdma_trailer(number, 0, length), memory_order_release);
    if (__builtin_expect(near->asleep != NULL, 0)) net_near_rouse(near->asleep);
    net_near_wake(rank);
}

#endif
