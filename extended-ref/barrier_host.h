/* barrier_host.h - the job's barrier where all processes share memory: one word for each parity of
 * phases, which counts the nodes that have notified and joins their values (pure; barrier.c has the
 * words).
 *
 * The last node to notify a phase clears the word of the other parity first: all nodes have left
 * the phase before, since all have notified this one, and none enters the next before this one is
 * complete.
 */
#ifndef GASNETE_BARRIER_HOST_H
#define GASNETE_BARRIER_HOST_H

#include <stdatomic.h>

#include "extended-ref/barrier_state.h"

/* The id in the low half; above it 2 bits of its kind and 30 of the number of nodes. */
static inline uint32_t gasnete_barrier_host_count(uint64_t word)
{
    return (uint32_t)(word >> 34);
}

static inline gasnete_barrier_value_t gasnete_barrier_host_value(uint64_t word)
{
    return (gasnete_barrier_value_t){(enum gasnete_barrier_kind)(word >> 32 & 3),
                                     (int32_t)(uint32_t)word};
}

/* One more node, with its value.  Zero is the word of no node. */
static inline uint64_t gasnete_barrier_host_add(uint64_t word, gasnete_barrier_value_t mine)
{
    const gasnete_barrier_value_t all =
        gasnete_barrier_join(gasnete_barrier_host_value(word), mine);
    return (uint64_t)(gasnete_barrier_host_count(word) + 1) << 34 | (uint64_t)all.kind << 32 |
           (uint32_t)all.id;
}

/* A node of `size` notifies the phase of `parity`.  True for the last one. */
static inline bool gasnete_barrier_host_notify(_Atomic uint64_t words[2], uint8_t parity,
                                               gasnete_barrier_value_t mine, uint32_t size)
{
    uint64_t word = atomic_load_explicit(&words[parity], memory_order_relaxed), more;
    do {
        more = gasnete_barrier_host_add(word, mine);
        if (gasnete_barrier_host_count(more) == size)
            atomic_store_explicit(&words[!parity], 0, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&words[parity], &word, more,
                                                    memory_order_acq_rel, memory_order_relaxed));
    return gasnete_barrier_host_count(more) == size;
}

/* True when all nodes have notified the phase; then *all is their value. */
static inline bool gasnete_barrier_host_complete(const _Atomic uint64_t words[2], uint8_t parity,
                                                 uint32_t size, gasnete_barrier_value_t *all)
{
    const uint64_t word = atomic_load_explicit(&words[parity], memory_order_acquire);
    if (gasnete_barrier_host_count(word) != size) return false;
    *all = gasnete_barrier_host_value(word);
    return true;
}

#endif
