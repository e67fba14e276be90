/* barrier_host.h - the job's barrier among ranks that share memory (pure; barrier.c has the words).
 *
 * Each parity of phases has two words.  `notified` counts the ranks that have notified the phase,
 * and joins their values.  When all have, one rank stores the value of the whole job in `complete`:
 * at once if the supernode is the job, or after messages with other supernodes.  All ranks wait for
 * `complete`.
 *
 * The last rank to notify a phase clears the words of the other parity first: all ranks have left
 * the previous phase, since all have notified this one, and no rank enters the next phase before
 * this one is complete.
 */
#ifndef GASNETE_BARRIER_HOST_H
#define GASNETE_BARRIER_HOST_H

#include <stdatomic.h>

#include "extended-ref/barrier_state.h"

/* The number of ranks in a word.  A word has the id in the low half; above it 2 bits of the kind,
 * and 30 bits of the number of ranks. */
static inline uint32_t gasnete_barrier_host_count(uint64_t word)
{
    return (uint32_t)(word >> 34);
}

static inline gasnete_barrier_value_t gasnete_barrier_host_value(uint64_t word)
{
    return (gasnete_barrier_value_t){(enum gasnete_barrier_kind)(word >> 32 & 3),
                                     (int32_t)(uint32_t)word};
}

/* Adds a rank with its value to a word.  Zero is the word of no ranks. */
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

/* Notifies the phase of `parity` for one rank of `size`.  True for the last rank. */
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

/* The number of ranks that have notified the phase. */
static inline uint32_t gasnete_barrier_host_arrived(const gasnete_barrier_host_t *host,
                                                    uint8_t parity)
{
    return gasnete_barrier_host_count(
        atomic_load_explicit(&host->notified[parity], memory_order_relaxed));
}

/* True when all ranks have notified the phase; then *all is their value. */
static inline bool gasnete_barrier_host_joined(const gasnete_barrier_host_t *host, uint8_t parity,
                                               uint32_t size, gasnete_barrier_value_t *all)
{
    const uint64_t word = atomic_load_explicit(&host->notified[parity], memory_order_acquire);
    if (gasnete_barrier_host_count(word) != size) return false;
    *all = gasnete_barrier_host_value(word);
    return true;
}

/* Completes the phase with the value of the whole job; called by one rank, after
 * gasnete_barrier_host_joined was true for it. */
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
