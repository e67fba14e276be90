/* local_rings.h - the rings of this process, into which peers write Active Messages: their records,
 * and the calls of core/network.h that take and release the messages.
 *
 * Included by the headers of networks that have rings.  amrdma.h has the rules of a ring.  The
 * network gives its peers rings (net_rings_add) and defines net_ring_taken.  The calls
 * after net_rings_bytes are made with the poll lock held, but for net_ring_after and
 * net_release_at_hand.
 */
#ifndef RINGS_LOCAL_RINGS_H
#define RINGS_LOCAL_RINGS_H

#include "core/rings/amrdma.h"

/* True if only one thread is in the library at a time: messages are then released in the order in
 * which they were taken. */
enum { NET_RINGS_IN_ORDER = !GASNETC_THREADED };

/* The record of a message that arrives by a ring: one for each slot. */
typedef struct net_ring_message {
    net_message_t message; /* first */
    amrdma_in_t *in;
    /* The number of the slot's last message, and the word that shows its release; unused if
     * NET_RINGS_IN_ORDER. */
    uint32_t number;
    _Atomic uint32_t *released;
    const _Atomic uint64_t *trailer;
    struct net_ring_message *next; /* of the next slot */
} net_ring_message_t;

/* A ring in local memory; the rings in use form a circle. */
struct net_ring {
    net_ring_message_t *message; /* the record of the next message */
    amrdma_in_t in;
    amrdma_out_t *out; /* by RDMA: the ring to the peer, whose `freed` the trailers report */
    amrdma_released_t released; /* unused if shared memory holds it */
    struct net_ring *next;
    net_ring_message_t slot[AMRDMA_SLOTS];
};

struct net_rings {
    net_ring_t *first; /* of the circle of rings in use; NULL: no ring is in use */
    /* Equal for all rings, local and remote. */
    uint32_t slot, mask; /* bytes of a slot, slots - 1 */
    uint32_t limit;      /* longest message */
};
#pragma GCC visibility push(hidden)
extern struct net_rings net_rings;

/* Sets the form of all rings: `slots` is a power of two, at most AMRDMA_SLOTS. */
void net_rings_form(uint32_t slots, uint32_t limit);
/* From now on each poll examines this ring: its slots are at `slots`, its messages from `peer`, and
 * each has `mark`.  `released`: memory that the peer can read, or NULL.  `out`: the ring to the
 * peer, whose `freed` the trailers report; no message may have been sent by it yet. */
void net_rings_add(net_ring_t *ring, char *slots, net_peer_t *peer, uint8_t mark,
                   amrdma_released_t *released, amrdma_out_t *out);
/* Fatal: the peer broke the rules of the ring. */
void net_rings_malformed(const net_ring_message_t *slot, uint32_t length, const char *field)
    __attribute__((noreturn, cold));
#pragma GCC visibility pop

/* Bytes of the slots of a ring. */
static inline size_t net_rings_bytes(void)
{
    return (size_t)(net_rings.mask + 1) * net_rings.slot;
}

static inline uint64_t net_rings_trailer(const _Atomic uint64_t *end)
{
    return atomic_load_explicit(end, memory_order_acquire);
}

HOT bool net_ring_more(const net_ring_t *ring)
{
    return amrdma_is_next(&ring->in, net_rings_trailer(ring->message->trailer));
}

HOT net_ring_t *net_at_hand(void)
{
    net_ring_t *const first = net_rings.first, *ring = first;
    while (ring && !net_ring_more(ring)) {
        ring = ring->next;
        if (ring == first) return NULL;
    }
    return ring;
}

/* Takes the next message of the ring, which is in this slot; returns its trailer. */
HOT uint64_t net_rings_take(net_ring_t *ring, net_ring_message_t *slot)
{
    const _Atomic uint64_t *const end = slot->trailer;
    const uint64_t trailer = net_rings_trailer(end);
    const uint32_t length = amrdma_trailer_length(trailer);
    if (length > net_rings.limit)
        net_rings_malformed(slot, length, "length (longer than its slot)");
    if (!NET_RINGS_IN_ORDER && !amrdma_slot_released(slot->released, slot->number))
        net_rings_malformed(slot, length, "slot (it is still in use)");
    const uint32_t number = amrdma_take(&ring->in);
    if (!NET_RINGS_IN_ORDER) slot->number = number;
    slot->message.length = length;
    slot->message.data = (char *)(uintptr_t)end - amrdma_padded(length);
    return trailer;
}

HOT net_message_t *net_ring_take(net_ring_t *ring)
{
    net_ring_message_t *const slot = ring->message;
    amrdma_update_freed(ring->out, amrdma_trailer_freed(net_rings_take(ring, slot)));
    ring->message = slot->next;
    return &slot->message;
}

static inline unsigned net_ring_take_more(net_ring_t *ring, unsigned most)
{
    net_ring_message_t *slot = ring->message;
    uint64_t trailer;
    unsigned n = 0;
    do {
        trailer = net_rings_take(ring, slot);
        slot = slot->next;
    } while (++n < most && amrdma_is_next(&ring->in, net_rings_trailer(slot->trailer)));
    amrdma_update_freed(ring->out, amrdma_trailer_freed(trailer));
    ring->message = slot;
    return n;
}

HOT void net_ring_end(net_ring_t *ring)
{
    net_rings.first = ring->next; /* a busy ring must not starve the others */
}

static inline net_message_t *net_ring_after(const net_message_t *message)
{
    return &((const net_ring_message_t *)message)->next->message;
}

static inline void net_release_at_hand(net_message_t *message)
{
    const net_ring_message_t *record = (const net_ring_message_t *)message;
    if (NET_RINGS_IN_ORDER)
        amrdma_release(record->in, 0, true);
    else
        amrdma_slot_release(record->released, record->number);
}

#endif
