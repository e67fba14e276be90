/* amrdma.h - Active Messages by RDMA, or by stores of a shared-memory peer, as plain state machines
 * (IB-R9, IB-R10): the two ends of a ring of slots in the receiver's memory.
 *
 * A message lies at the end of its slot, followed by a trailer of one word at a fixed address,
 * which is written last.  No byte of a message ever lies where a trailer does, and an old trailer
 * has the number of an older message, so slots are never cleared.  The device must write the
 * trailer last.  The bytes of the trailer may appear one after another: the number is in its upper
 * half, so in ascending order the rest is there before the number, and the number differs from the
 * expected one until its last byte has arrived.
 *
 * Messages are numbered from 1.  The sender may reuse a slot when the receiver has released its
 * message and all before it; messages in the other direction report how many are released, or the
 * sender reads memory that sender and receiver share.  No I/O, no lock; the lock that each call
 * needs is given below, and fields used under two different locks are atomic.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { AMRDMA_SLOTS = 32, AMRDMA_TRAILER = 8, AMRDMA_LIMIT = 4096 - AMRDMA_TRAILER };

/* --- the form of a message: padded to 8 bytes, then the trailer --- */

static inline uint32_t amrdma_padded(uint32_t length)
{
    return (length + 7) & ~7u;
}

/* Bytes of a slot for messages of up to `limit` bytes; trailers do not share cache lines. */
static inline uint32_t amrdma_slot_size(uint32_t limit)
{
    return (amrdma_padded(limit) + AMRDMA_TRAILER + 63) & ~63u;
}

/* The trailer of a message.  `freed`: amrdma_freed of the ring in the other direction. */
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

/* --- the sender's end; under the peer's lock, except amrdma_update_freed --- */

typedef struct amrdma_out {
    uint64_t sent;          /* messages written; its lower half is the number of the last one */
    _Atomic uint16_t slots; /* 0: the peer has given no ring yet; set under the poll lock */
    _Atomic uint16_t freed; /* low bits of the number up to which slots are free again */
} amrdma_out_t;

static inline bool amrdma_may_send(const amrdma_out_t *out)
{
    uint16_t freed = atomic_load_explicit(&out->freed, memory_order_acquire);
    return (uint16_t)(out->sent - freed) < atomic_load_explicit(&out->slots, memory_order_acquire);
}

/* The number of the next message to write; its slot is number & (slots - 1). */
static inline uint32_t amrdma_next(const amrdma_out_t *out)
{
    return (uint32_t)out->sent + 1;
}

/* Counts the message as written; returns its number. */
static inline uint32_t amrdma_send(amrdma_out_t *out)
{
    return (uint32_t)++out->sent;
}

/* A message from the peer reported `freed`; under the poll lock.  Messages by a ring and by sends
 * are taken out of order, so `freed` may be older than the stored one, which then stays. */
static inline void amrdma_update_freed(amrdma_out_t *out, uint16_t freed)
{
    const uint16_t known = atomic_load_explicit(&out->freed, memory_order_relaxed);
    if ((int16_t)(uint16_t)(freed - known) > 0)
        atomic_store_explicit(&out->freed, freed, memory_order_release);
}

/* By slot: the number of the last message released; no lock. */
typedef struct amrdma_released {
    _Atomic uint32_t number[AMRDMA_SLOTS];
} amrdma_released_t;

/* Given that all messages up to `freed` are released, the last message up to which all are
 * released.  The acquire load pairs with the release store in amrdma_slot_release. */
static inline uint32_t amrdma_released_to(const amrdma_released_t *released, uint32_t mask,
                                          uint32_t freed)
{
    while (atomic_load_explicit(&released->number[(freed + 1) & mask], memory_order_acquire) ==
           freed + 1)
        freed++;
    return freed;
}

/* Updates `freed` of a ring that seems full from `released`, which is memory that the receiver
 * shares.  Such a ring has no amrdma_update_freed. */
static inline void amrdma_look(amrdma_out_t *out, const amrdma_released_t *released)
{
    const uint16_t slots = atomic_load_explicit(&out->slots, memory_order_relaxed);
    const uint16_t freed = atomic_load_explicit(&out->freed, memory_order_relaxed);
    const uint32_t known = (uint32_t)out->sent - (uint16_t)(out->sent - freed);
    if (slots == 0) return;
    atomic_store_explicit(&out->freed, (uint16_t)amrdma_released_to(released, slots - 1u, known),
                          memory_order_relaxed);
}

/* --- the receiver's end --- */

typedef struct amrdma_in {
    uint32_t mask;     /* slots - 1 */
    uint32_t expected; /* number of the next message; under the poll lock */
    uint32_t freed;    /* all messages up to this one are released; under the peer's lock */
    bool shared;       /* the sender reads `released` */
    amrdma_released_t *released;
} amrdma_in_t;

/* The number that the first message of slot `slot` has, minus the number of slots. */
static inline uint32_t amrdma_before_first(uint32_t slot, uint32_t slots)
{
    return slot ? slot - slots : 0;
}

/* Begins a ring.  `released` is the caller's memory; `shared`: the sender can read `released`. */
static inline void amrdma_in_init(amrdma_in_t *in, uint32_t slots, amrdma_released_t *released,
                                  bool shared)
{
    *in = (amrdma_in_t){.mask = slots - 1, .expected = 1, .shared = shared, .released = released};
    /* As if each slot had held a message, with numbers up to 0. */
    for (uint32_t i = 0; i < slots; i++)
        atomic_init(&released->number[i], amrdma_before_first(i, slots));
}

static inline bool amrdma_is_next(const amrdma_in_t *in, uint64_t trailer)
{
    return amrdma_trailer_number(trailer) == in->expected;
}

/* True if the last message of the slot, `number`, was released before the sender wrote the next
 * one; false if the sender broke the protocol.  The acquire load pairs with the release store in
 * amrdma_slot_release.  `released`: the word of the slot. */
static inline bool amrdma_slot_released(const _Atomic uint32_t *released, uint32_t number)
{
    return atomic_load_explicit(released, memory_order_acquire) == number;
}

static inline void amrdma_slot_release(_Atomic uint32_t *released, uint32_t number)
{
    atomic_store_explicit(released, number, memory_order_release);
}

/* Takes the next message.  Returns its number. */
static inline uint32_t amrdma_take(amrdma_in_t *in)
{
    return in->expected++;
}

/* Releases a message.  `in_order`: one thread releases all messages, in the order in which they
 * were taken; then `number` is not used. */
static inline void amrdma_release(amrdma_in_t *in, uint32_t number, bool in_order)
{
    if (in_order && !in->shared) {
        in->freed++;
        return;
    }
    if (in_order) number = ++in->freed;
    amrdma_slot_release(&in->released->number[number & in->mask], number);
}

/* The number to report to the sender: all messages up to it are released. */
static inline uint16_t amrdma_freed(amrdma_in_t *in, bool in_order)
{
    if (!in_order) in->freed = amrdma_released_to(in->released, in->mask, in->freed);
    return (uint16_t)in->freed;
}
