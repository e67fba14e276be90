/* ring.h - a bounded queue of events: any thread puts, one thread at a time takes.  Pure: no lock,
 * no system call.
 *
 * A slot's sequence says which side may use it: the producer at its position, the consumer at one
 * more. A put is one compare-and-swap, a take has no locked instruction. A ring that is replaced by
 * another size is sealed; producers go on in the next one, and the consumer follows when the old
 * one is empty. Old rings live as long as the first: a late producer may still look at them.
 */
#ifndef DAPL_RING_H
#define DAPL_RING_H

#include <dat2/udat.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ring_slot {
    _Alignas(64) _Atomic uint64_t sequence; /* a cache line for each producer */
    DAT_EVENT_NUMBER number;
    DAT_EVENT_DATA data;
} ring_slot_t;

#define RING_SEALED (UINT64_C(1) << 63)

typedef struct ring {
    uint64_t mask; /* slots - 1 */
    struct ring *older;
    _Atomic(struct ring *) next; /* set before the seal */
    uint64_t head;               /* of the consumer */
    _Alignas(64) _Atomic uint64_t tail;
    ring_slot_t slots[];
} ring_t;

/* Of at least `length` slots, behind `older` (NULL: the first); NULL without memory. */
ring_t *ring_create(uint64_t length, ring_t *older);
/* With all older ones. */
void ring_free(ring_t *ring);

/* The length of a ring for `length` events. With a single slot, the turns of producer and consumer
 * look alike. */
static inline uint64_t ring_rounded(uint64_t length)
{
    uint64_t slots = 2;
    while (slots < length) slots *= 2;
    return slots;
}

static inline uint64_t ring_length(const ring_t *ring)
{
    return ring->mask + 1;
}

/* Puts an event; *position is the number of events put before it. RING_FULL: not put. RING_MOVED:
 * the ring is sealed, see `next`. */
typedef enum ring_put { RING_PUT, RING_FULL, RING_MOVED } ring_put_t;
static inline ring_put_t ring_put(ring_t *ring, const DAT_EVENT *event, uint64_t *position)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    for (;;) {
        if (tail & RING_SEALED) return RING_MOVED;
        ring_slot_t *slot = &ring->slots[tail & ring->mask];
        uint64_t sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
        if (sequence == tail) {
            if (!atomic_compare_exchange_weak_explicit(&ring->tail, &tail, tail + 1,
                                                       memory_order_acq_rel, memory_order_relaxed))
                continue;
            slot->number = event->event_number;
            slot->data = event->event_data;
            atomic_store_explicit(&slot->sequence, tail + 1, memory_order_release);
            *position = tail;
            return RING_PUT;
        }
        uint64_t now = atomic_load_explicit(&ring->tail, memory_order_relaxed);
        /* The slot is a lap behind, and no other producer has gone on: the ring is full. */
        if (now == tail && sequence < tail + 1) return RING_FULL;
        tail = now;
    }
}

/* Every event that is put from now on goes to `next`. */
void ring_seal(ring_t *ring, ring_t *next);

/* Events put and not taken, of this ring alone; one may be still incomplete. */
static inline uint64_t ring_queued(const ring_t *ring)
{
    return (atomic_load_explicit(&ring->tail, memory_order_acquire) & ~RING_SEALED) - ring->head;
}

/* Nothing was put that was not taken, and the ring is not sealed. */
static inline bool ring_empty(const ring_t *ring)
{
    return atomic_load_explicit(&ring->tail, memory_order_acquire) == ring->head;
}

/* Sealed and empty. */
static inline bool ring_over(const ring_t *ring)
{
    return atomic_load_explicit(&ring->tail, memory_order_acquire) == (ring->head | RING_SEALED);
}

/* The first slot if its event is complete, otherwise NULL; ring_queued distinguishes an incomplete
 * event from an empty ring. */
static inline ring_slot_t *ring_first(ring_t *ring)
{
    ring_slot_t *slot = &ring->slots[ring->head & ring->mask];
    return atomic_load_explicit(&slot->sequence, memory_order_acquire) == ring->head + 1 ? slot
                                                                                         : NULL;
}

/* The first slot has been read, and may be used again. */
static inline void ring_release(ring_t *ring, ring_slot_t *slot)
{
    atomic_store_explicit(&slot->sequence, ring->head + ring->mask + 1, memory_order_release);
    ring->head++;
}

#endif
