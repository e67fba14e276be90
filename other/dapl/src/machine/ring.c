/* ring.c - a bounded queue of events of many producers: see ring.h. */
#include "other/dapl/src/machine/ring.h"

#include <stdlib.h>

ring_t *ring_create(uint64_t length, ring_t *older)
{
    uint64_t slots = ring_rounded(length);
    ring_t *ring = aligned_alloc(64, sizeof *ring + slots * sizeof *ring->slots);
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

void ring_seal(ring_t *ring, ring_t *next)
{
    atomic_store_explicit(&ring->next, next, memory_order_release);
    atomic_fetch_or_explicit(&ring->tail, RING_SEALED, memory_order_acq_rel);
}
