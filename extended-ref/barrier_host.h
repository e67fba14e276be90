/* barrier_host.h - the job's barrier among nodes that share memory (pure; barrier.c has the
 * words).
 *
 * Two words for each parity of phases.  One counts the nodes that have notified the phase, and
 * joins their values.  When all have, one of them stores the value of the whole job in the other:
 * at once if they are the job, or after its messages with the nodes of other hosts.  All wait for
 * that one.
 *
 * The last node to notify a phase clears the words of the other parity first: all nodes have left
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

typedef struct gasnete_barrier_host {
    _Atomic uint64_t notified[2], complete[2]; /* by parity */
} gasnete_barrier_host_t;

/* A node of `size` notifies the phase of `parity`.  True for the last one. */
static inline bool gasnete_barrier_host_notify(gasnete_barrier_host_t *host, uint8_t parity,
                                               gasnete_barrier_value_t mine, uint32_t size)
{
    uint64_t word = atomic_load_explicit(&host->notified[parity], memory_order_relaxed), more;
    do {
        more = gasnete_barrier_host_add(word, mine);
        if (gasnete_barrier_host_count(more) == size) {
            atomic_store_explicit(&host->notified[!parity], 0, memory_order_relaxed);
            atomic_store_explicit(&host->complete[!parity], 0, memory_order_relaxed);
        }
    } while (!atomic_compare_exchange_weak_explicit(&host->notified[parity], &word, more,
                                                    memory_order_acq_rel, memory_order_relaxed));
    return gasnete_barrier_host_count(more) == size;
}

/* Nodes that have notified the phase. */
static inline uint32_t gasnete_barrier_host_arrived(const gasnete_barrier_host_t *host,
                                                    uint8_t parity)
{
    return gasnete_barrier_host_count(
        atomic_load_explicit(&host->notified[parity], memory_order_relaxed));
}

/* True when all nodes have notified the phase; then *all is their value. */
static inline bool gasnete_barrier_host_joined(const gasnete_barrier_host_t *host, uint8_t parity,
                                               uint32_t size, gasnete_barrier_value_t *all)
{
    const uint64_t word = atomic_load_explicit(&host->notified[parity], memory_order_acquire);
    if (gasnete_barrier_host_count(word) != size) return false;
    *all = gasnete_barrier_host_value(word);
    return true;
}

/* After it was true in this node: the phase is complete, with the value of the whole job. */
static inline void gasnete_barrier_host_end(gasnete_barrier_host_t *host, uint8_t parity,
                                            gasnete_barrier_value_t all)
{
    atomic_store_explicit(&host->complete[parity], gasnete_barrier_host_add(0, all),
                          memory_order_release);
}

/* True when the phase is complete; then *all is its value. */
static inline bool gasnete_barrier_host_complete(const gasnete_barrier_host_t *host, uint8_t parity,
                                                 gasnete_barrier_value_t *all)
{
    const uint64_t word = atomic_load_explicit(&host->complete[parity], memory_order_acquire);
    if (word == 0) return false;
    *all = gasnete_barrier_host_value(word);
    return true;
}

#endif
