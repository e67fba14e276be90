/* amrdma.h - Active Messages by RDMA, as plain state machines (IB-R9..R12): the two ends of a ring
 * of slots in the receiver's memory, and the choice of the peers that get one.
 *
 * A message lies at the end of its slot, followed by a trailer of one word, which is written last
 * and always at the same place: no byte of a message is ever where a trailer is, and what a trailer
 * left behind says names an older message, so nothing needs clearing.  That it is written last
 * rests on the device (amrdma_rings.c).  The trailer itself need not appear at once: its number is
 * in the upper half, so in ascending order the rest is there before it, and it differs from the
 * older one until the last byte by which the two differ has come.
 *
 * Messages are numbered from 1.  A slot is free for the sender when its message, and all before it,
 * have been released; how many these are rides on whatever goes back.  No I/O, no lock; who calls
 * what under which lock is said below, and only what is atomic is touched under two.
 */
#ifndef NETWORK_IB_AMRDMA_H
#define NETWORK_IB_AMRDMA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { AMRDMA_SLOTS = 32, AMRDMA_TRAILER = 8, AMRDMA_LIMIT = 4096 - AMRDMA_TRAILER };

/* --- what is written: the message, padded to 8 bytes, and the trailer --- */

static inline uint32_t amrdma_padded(uint32_t length)
{
    return (length + 7) & ~7u;
}

/* A slot for messages of up to `limit` bytes; trailers do not share cache lines. */
static inline uint32_t amrdma_slot_size(uint32_t limit)
{
    return (amrdma_padded(limit) + AMRDMA_TRAILER + 63) & ~63u;
}

/* `freed`: what amrdma_freed says of the ring that leads the other way. */
static inline uint64_t amrdma_trailer(uint32_t number, uint16_t freed, uint32_t length)
{
    return (uint64_t)number << 32 | (uint32_t)freed << 16 | length;
}

static inline uint32_t amrdma_trailer_number(uint64_t trailer)
{
    return (uint32_t)(trailer >> 32);
}

static inline uint16_t amrdma_trailer_freed(uint64_t trailer)
{
    return (uint16_t)(trailer >> 16);
}

static inline uint32_t amrdma_trailer_length(uint64_t trailer)
{
    return (uint16_t)trailer;
}

/* --- the sender's end; under the peer's lock, but for amrdma_told --- */

typedef struct amrdma_out {
    uint32_t sent;          /* number of the message written last */
    _Atomic uint16_t slots; /* 0: there is no ring yet; set under the poll lock */
    _Atomic uint16_t freed; /* low bits of the number of the last one whose slot is free again */
} amrdma_out_t;

static inline bool amrdma_may_send(const amrdma_out_t *out)
{
    uint16_t freed = atomic_load_explicit(&out->freed, memory_order_acquire);
    return (uint16_t)(out->sent - freed) < atomic_load_explicit(&out->slots, memory_order_acquire);
}

/* The number of the message to be written now; its slot is number & (slots - 1). */
static inline uint32_t amrdma_send(amrdma_out_t *out)
{
    return ++out->sent;
}

/* A message from the peer says so; under the poll lock.  What comes by a ring and what does not are
 * looked at out of order, so this may be older than what was known: it only understates. */
static inline void amrdma_told(amrdma_out_t *out, uint16_t freed)
{
    atomic_store_explicit(&out->freed, freed, memory_order_release);
}

/* --- the receiver's end --- */

typedef struct amrdma_in {
    uint32_t mask;     /* slots - 1 */
    uint32_t expected; /* number of the next message; under the poll lock */
    uint32_t freed;    /* all up to this one are released; under the peer's lock */
    _Atomic uint32_t released[AMRDMA_SLOTS]; /* by slot: the message released last; no lock */
} amrdma_in_t;

static inline void amrdma_in_init(amrdma_in_t *in, uint32_t slots)
{
    in->mask = slots - 1;
    in->expected = 1;
    in->freed = 0;
    /* As if each slot had had a message before: those numbered up to 0. */
    for (uint32_t i = 0; i < slots; i++) atomic_init(&in->released[i], i ? i - slots : 0);
}

/* Is this the trailer of the next message? */
static inline bool amrdma_is_next(const amrdma_in_t *in, uint64_t trailer)
{
    return amrdma_trailer_number(trailer) == in->expected;
}

/* The slot of the next message was released, as the sender was told, and whoever takes from it now
 * sees all that was done before that.  `in_order` as below. */
static inline bool amrdma_slot_released(amrdma_in_t *in, bool in_order)
{
    uint32_t slots = in->mask + 1;
    return in_order || atomic_load_explicit(&in->released[in->expected & in->mask],
                                            memory_order_acquire) == in->expected - slots;
}

/* The next message has been found.  Returns its number. */
static inline uint32_t amrdma_take(amrdma_in_t *in)
{
    return in->expected++;
}

/* Nobody looks at that message any more.  `in_order`: the caller says that messages are released in
 * the order in which they were taken, always, and by nobody else; then the number does not matter.
 */
static inline void amrdma_release(amrdma_in_t *in, uint32_t number, bool in_order)
{
    if (in_order)
        in->freed++;
    else
        atomic_store_explicit(&in->released[number & in->mask], number, memory_order_release);
}

/* What to tell the sender: all messages up to this one are released. */
static inline uint16_t amrdma_freed(amrdma_in_t *in, bool in_order)
{
    uint32_t next = in->freed + 1;
    if (in_order) return (uint16_t)in->freed;
    while (atomic_load_explicit(&in->released[next & in->mask], memory_order_acquire) == next)
        in->freed = next++;
    return (uint16_t)in->freed;
}

/* --- the choice; under the poll lock --- */

/* How many peers may get a ring.  A Reply that comes by one leaves behind the buffer that was
 * posted for it, for the peer's next Reply; where the buffers for Replies are too few for all
 * peers, as many as one peer's credits are left to those without a ring. */
static inline uint32_t amrdma_rx_channels(uint32_t wanted, uint32_t peers, uint32_t credits,
                                          uint32_t replies)
{
    uint32_t places = wanted < peers ? wanted : peers, most = replies / credits;
    if (replies >= (uint64_t)credits * peers) return places;
    if (most > 0) most--;
    return places < most ? places : most;
}

/* When `cycle` messages have been heard, those peers get a ring that were heard most: the first of
 * them, and who had at least one place's share of all messages.  Then counting begins anew. */
typedef struct amrdma_choice {
    uint32_t cycle;  /* 0: nobody is ever chosen */
    uint32_t places; /* rings in all */
    uint32_t given;
    uint32_t peers;
    uint32_t total;  /* messages of this cycle */
    uint32_t chosen; /* peers of this cycle */
    uint32_t *heard; /* [peers]: of this cycle, from those without a ring; supplied by the owner */
} amrdma_choice_t;

/* Is there still something to choose? */
static inline bool amrdma_choosing(const amrdma_choice_t *choice)
{
    return choice->cycle && choice->given < choice->places;
}

/* `count` messages came from `peer`, or from peers that have a ring (AMRDMA_HAS_RING).  True at the
 * end of the cycle: call amrdma_choose until it says that that was all. */
enum { AMRDMA_HAS_RING = -1 };
static inline bool amrdma_count_arrival(amrdma_choice_t *choice, int64_t peer, uint32_t count)
{
    if (peer != AMRDMA_HAS_RING) choice->heard[peer] += count;
    choice->total += count;
    return choice->total >= choice->cycle;
}

/* The next peer to get a ring; -1: that was all. */
int64_t amrdma_choose(amrdma_choice_t *choice);

#endif
