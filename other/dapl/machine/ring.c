/* ring.c - a bounded queue of events of many producers: see ring.h. */
#include "other/dapl/machine/ring.h"

#include <stdlib.h>

ring_t *ring_create(uint64_t length, ring_t *older)
{
    uint64_t slots = ring_rounded(length);
    ring_t *ring = aligned_alloc(64, (sizeof *ring + slots * sizeof *ring->slots + 63) / 64 * 64);
    if (!ring) return NULL;
    ring->mask = slots - 1;
    ring->older = older;
    ring->head = 0;
    atomic_init(&ring->next, NULL);
    atomic_init(&ring->tail, 0);
    for (uint64_t i = 0; i < slots; i++) atomic_init(&ring->slots[i].sequence, i);
    return ring;
}

void ring_free(ring_t *ring)
{
    while (ring) {
        ring_t *older = ring->older;
        free(ring);
        ring = older;
    }
}

ring_put_t ring_put(ring_t *ring, const DAT_EVENT *event, uint64_t *position)
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

void ring_seal(ring_t *ring, ring_t *next)
{
    atomic_store_explicit(&ring->next, next, memory_order_release);
    atomic_fetch_or_explicit(&ring->tail, RING_SEALED, memory_order_acq_rel);
}
