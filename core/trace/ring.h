/* ring.h - the events of one thread that are not in the file yet (pure).
 *
 * The thread adds, one other thread takes.  An event that finds the ring full is counted and lost:
 * the traced program never waits for the file.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/trace/events.h"

enum { GASNETI_TRACE_RING = 8192 }; /* events; a power of two */

typedef struct gasneti_trace_ring {
    /* Of the thread that adds. */
    _Atomic uint32_t added;
    uint32_t taken_seen; /* `taken` as the thread has read it last */
    _Atomic uint64_t dropped;
    /* Of the thread that takes, on a cache line of its own. */
    _Alignas(64) _Atomic uint32_t taken;
    _Alignas(64) gasneti_trace_event_t events[GASNETI_TRACE_RING];
} gasneti_trace_ring_t;

/* The place of the next event, which gasneti_trace_ring_add makes visible; NULL, and counted, if
 * the ring is full. */
static inline gasneti_trace_event_t *gasneti_trace_ring_next(gasneti_trace_ring_t *ring)
{
    const uint32_t added = atomic_load_explicit(&ring->added, memory_order_relaxed);
    if (added - ring->taken_seen == GASNETI_TRACE_RING) {
        ring->taken_seen = atomic_load_explicit(&ring->taken, memory_order_acquire);
        if (added - ring->taken_seen == GASNETI_TRACE_RING) {
            const uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
            atomic_store_explicit(&ring->dropped, dropped + 1, memory_order_relaxed);
            return NULL;
        }
    }
    return &ring->events[added % GASNETI_TRACE_RING];
}

static inline void gasneti_trace_ring_add(gasneti_trace_ring_t *ring)
{
    const uint32_t added = atomic_load_explicit(&ring->added, memory_order_relaxed);
    atomic_store_explicit(&ring->added, added + 1, memory_order_release);
}

/* The number of events in the ring, for the thread that takes. */
static inline uint32_t gasneti_trace_ring_count(gasneti_trace_ring_t *ring)
{
    return atomic_load_explicit(&ring->added, memory_order_acquire) -
           atomic_load_explicit(&ring->taken, memory_order_relaxed);
}

/* The oldest event, which gasneti_trace_ring_take removes; NULL: the ring is empty. */
static inline const gasneti_trace_event_t *gasneti_trace_ring_first(gasneti_trace_ring_t *ring)
{
    const uint32_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    if (taken == atomic_load_explicit(&ring->added, memory_order_acquire)) return NULL;
    return &ring->events[taken % GASNETI_TRACE_RING];
}

static inline void gasneti_trace_ring_take(gasneti_trace_ring_t *ring)
{
    const uint32_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    atomic_store_explicit(&ring->taken, taken + 1, memory_order_release);
}
