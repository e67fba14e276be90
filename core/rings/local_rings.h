/* local_rings.h - the rings of this process, into which peers write Active Messages: their records,
 * how a poll finds, takes and releases the messages.
 *
 * amrdma.h has the rules of a ring.  Shared-memory peers get rings from core/shm, other peers from
 * a network that can write into them (gasnetc_rings_add).  The calls after gasnetc_ring_bytes are
 * made with the poll lock held, but for gasnetc_ring_after and gasnetc_ring_release, with no lock.
 *
 * Messages from rings have kept_buffer, and are not from net_sys.  core/network.h, whose types
 * these are, is included first.
 */
#pragma once

#include "core/rings/amrdma.h"

/* True if only one thread is in the library at a time: messages are then released in the order in
 * which they were taken. */
enum { GASNETC_RINGS_IN_ORDER = !GASNETC_THREADED };

typedef struct gasnetc_ring gasnetc_ring_t;

/* The record of a message that arrives by a ring: one for each slot. */
typedef struct gasnetc_ring_message {
    net_message_t message; /* first */
    amrdma_in_t *in;
    /* The number of the slot's last message, and the word that shows its release; unused if
     * GASNETC_RINGS_IN_ORDER. */
    uint32_t number;
    _Atomic uint32_t *released;
    const _Atomic uint64_t *trailer;
    struct gasnetc_ring_message *next; /* of the next slot */
} gasnetc_ring_message_t;

/* A ring in local memory; the rings in use form a cyclic list. */
struct gasnetc_ring {
    gasnetc_ring_message_t *message; /* the record of the next message */
    amrdma_in_t in;
    uint32_t limit;    /* longest message */
    amrdma_out_t *out; /* by RDMA: the ring to the peer, whose `freed` the trailers report */
    amrdma_released_t released; /* unused if shared memory holds it */
    struct gasnetc_ring *next;
    gasnetc_ring_message_t slot[AMRDMA_SLOTS];
};

/* The measures of a ring, equal at both ends: bytes of a slot, number of slots - 1, and the longest
 * message. */
typedef struct gasnetc_ring_form {
    uint32_t slot, mask, limit;
} gasnetc_ring_form_t;

/* `slots` is a power of two, at most AMRDMA_SLOTS. */
static inline gasnetc_ring_form_t gasnetc_ring_form(uint32_t slots, uint32_t limit)
{
    return (gasnetc_ring_form_t){
        .slot = amrdma_slot_size(limit), .mask = slots - 1, .limit = limit};
}

static inline size_t gasnetc_ring_bytes(const gasnetc_ring_form_t *form)
{
    return (size_t)(form->mask + 1) * form->slot;
}

#pragma GCC visibility push(hidden)
extern gasnetc_ring_t *gasnetc_rings; /* one of the cyclic list of rings in use; NULL: none is */

/* From now on each poll examines this ring: its slots are at `slots`, its messages from `peer`, and
 * each has `mark`.  `released`: memory that the peer can read, or NULL.  `out`: the ring to the
 * peer, whose `freed` the trailers report; no message may have been sent by it yet. */
void gasnetc_rings_add(gasnetc_ring_t *ring, const gasnetc_ring_form_t *form, char *slots,
                       net_peer_t *peer, uint8_t mark, amrdma_released_t *released,
                       amrdma_out_t *out);
/* From now on each poll examines this word as the trailer of a message with number 1, which is
 * never taken; gasnetc_ring_ready returns `ring` while it has that number. */
void gasnetc_rings_add_door(gasnetc_ring_t *ring, const _Atomic uint64_t *word);
/* Fatal: the peer broke the rules of the ring. */
void gasnetc_rings_malformed(const gasnetc_ring_message_t *slot, uint32_t length, const char *field)
    __attribute__((noreturn, cold));
#pragma GCC visibility pop

static inline uint64_t gasnetc_rings_trailer(const _Atomic uint64_t *end)
{
    return atomic_load_explicit(end, memory_order_acquire);
}

HOT bool gasnetc_ring_more(const gasnetc_ring_t *ring)
{
    return amrdma_is_next(&ring->in, gasnetc_rings_trailer(ring->message->trailer));
}

/* A ring in which a message is ready; NULL if no ring has one. */
HOT gasnetc_ring_t *gasnetc_ring_ready(void)
{
    gasnetc_ring_t *const first = gasnetc_rings, *ring = first;
    while (ring && !gasnetc_ring_more(ring)) {
        ring = ring->next;
        if (ring == first) return NULL;
    }
    return ring;
}

/* Takes the next message of the ring, which is in this slot; returns its trailer. */
HOT uint64_t gasnetc_rings_take(gasnetc_ring_t *ring, gasnetc_ring_message_t *slot)
{
    const _Atomic uint64_t *const end = slot->trailer;
    const uint64_t trailer = gasnetc_rings_trailer(end);
    const uint32_t length = amrdma_trailer_length(trailer);
    if (length > ring->limit)
        gasnetc_rings_malformed(slot, length, "length (longer than its slot)");
    if (!GASNETC_RINGS_IN_ORDER && !amrdma_slot_released(slot->released, slot->number))
        gasnetc_rings_malformed(slot, length, "slot (it is still in use)");
    const uint32_t number = amrdma_take(&ring->in);
    if (!GASNETC_RINGS_IN_ORDER) slot->number = number;
    slot->message.length = length;
    slot->message.data = (char *)(uintptr_t)end - amrdma_padded(length);
    return trailer;
}

/* gasnetc_ring_take: takes the message that is ready in the ring.  If gasnetc_ring_more is true
 * then, gasnetc_ring_take_more takes the following messages, at most `most`, and returns their
 * number.  gasnetc_ring_end comes last. */
HOT net_message_t *gasnetc_ring_take(gasnetc_ring_t *ring)
{
    gasnetc_ring_message_t *const slot = ring->message;
    amrdma_update_freed(ring->out, amrdma_trailer_freed(gasnetc_rings_take(ring, slot)));
    ring->message = slot->next;
    return &slot->message;
}

static inline unsigned gasnetc_ring_take_more(gasnetc_ring_t *ring, unsigned most)
{
    gasnetc_ring_message_t *slot = ring->message;
    uint64_t trailer;
    unsigned n = 0;
    do {
        trailer = gasnetc_rings_take(ring, slot);
        slot = slot->next;
    } while (++n < most && amrdma_is_next(&ring->in, gasnetc_rings_trailer(slot->trailer)));
    amrdma_update_freed(ring->out, amrdma_trailer_freed(trailer));
    ring->message = slot;
    return n;
}

HOT void gasnetc_ring_end(gasnetc_ring_t *ring)
{
    gasnetc_rings = ring->next; /* a busy ring must not starve the others */
}

/* The message that was taken from the ring after `message`, which may have been released. */
static inline net_message_t *gasnetc_ring_after(const net_message_t *message)
{
    return &((const gasnetc_ring_message_t *)message)->next->message;
}

/* Releases a message: its slot may be written again. */
static inline void gasnetc_ring_release(net_message_t *message)
{
    const gasnetc_ring_message_t *record = (const gasnetc_ring_message_t *)message;
    if (GASNETC_RINGS_IN_ORDER)
        amrdma_release(record->in, 0, true);
    else
        amrdma_slot_release(record->released, record->number);
}
