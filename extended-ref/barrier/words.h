/* words.h - participants of a barrier that count in memory which all of them share: ranks of a
 * supernode, or the images of a rank.  Pure.
 *
 * Each parity of phases has two words.  `notified` counts the participants that have notified the
 * phase, and joins their values.  When all have, one thread stores the value of the whole barrier
 * in `complete`, for which all participants wait.
 *
 * The last participant to notify a phase clears the words of the other parity first: all have left
 * the previous phase, since all have notified this one, and none enters the next phase before this
 * one is complete.
 */
#pragma once

#include <stdatomic.h>

#include "extended-ref/barrier/machine.h"

typedef struct gasnete_barrier_words {
    _Atomic uint64_t notified[2], complete[2]; /* by parity */
} gasnete_barrier_words_t;

/* The number of participants in a word.  A word has the id in the low half; above it 2 bits of the
 * kind, and 30 bits of the number. */
static inline uint32_t gasnete_barrier_words_count(uint64_t word)
{
    return (uint32_t)(word >> 34);
}

static inline gasnete_barrier_value_t gasnete_barrier_words_value(uint64_t word)
{
    return (gasnete_barrier_value_t){(enum gasnete_barrier_kind)(word >> 32 & 3),
                                     (int32_t)(uint32_t)word};
}

/* Adds a participant with its value to a word.  Zero is the word of no participants. */
static inline uint64_t gasnete_barrier_words_add(uint64_t word, gasnete_barrier_value_t mine)
{
    const gasnete_barrier_value_t all =
        gasnete_barrier_join(gasnete_barrier_words_value(word), mine);
    return (uint64_t)(gasnete_barrier_words_count(word) + 1) << 34 | (uint64_t)all.kind << 32 |
           (uint32_t)all.id;
}

/* Notifies the phase of `parity` for one participant of `size`.  True for the last one. */
static inline bool gasnete_barrier_words_notify(gasnete_barrier_words_t *words, uint8_t parity,
                                                gasnete_barrier_value_t mine, uint32_t size)
{
    uint64_t word = atomic_load_explicit(&words->notified[parity], memory_order_relaxed), more;
    do {
        more = gasnete_barrier_words_add(word, mine);
        if (gasnete_barrier_words_count(more) == size) {
            atomic_store_explicit(&words->notified[!parity], 0, memory_order_relaxed);
            atomic_store_explicit(&words->complete[!parity], 0, memory_order_relaxed);
        }
    } while (!atomic_compare_exchange_weak_explicit(&words->notified[parity], &word, more,
                                                    memory_order_acq_rel, memory_order_relaxed));
    return gasnete_barrier_words_count(more) == size;
}

/* The number of participants that have notified the phase. */
static inline uint32_t gasnete_barrier_words_arrived(const gasnete_barrier_words_t *words,
                                                     uint8_t parity)
{
    return gasnete_barrier_words_count(
        atomic_load_explicit(&words->notified[parity], memory_order_relaxed));
}

/* True when all participants have notified the phase; then *all is their value. */
static inline bool gasnete_barrier_words_joined(const gasnete_barrier_words_t *words,
                                                uint8_t parity, uint32_t size,
                                                gasnete_barrier_value_t *all)
{
    const uint64_t word = atomic_load_explicit(&words->notified[parity], memory_order_acquire);
    if (gasnete_barrier_words_count(word) != size) return false;
    *all = gasnete_barrier_words_value(word);
    return true;
}

/* Completes the phase with the value of the whole barrier; called by one thread, after
 * gasnete_barrier_words_joined was true for it. */
static inline void gasnete_barrier_words_end(gasnete_barrier_words_t *words, uint8_t parity,
                                             gasnete_barrier_value_t all)
{
    atomic_store_explicit(&words->complete[parity], gasnete_barrier_words_add(0, all),
                          memory_order_release);
}

/* True when the phase is complete; then *all is its value. */
static inline bool gasnete_barrier_words_complete(const gasnete_barrier_words_t *words,
                                                  uint8_t parity, gasnete_barrier_value_t *all)
{
    const uint64_t word = atomic_load_explicit(&words->complete[parity], memory_order_acquire);
    if (word == 0) return false;
    *all = gasnete_barrier_words_value(word);
    return true;
}

/* --- ranks of a supernode --- */

enum gasnete_barrier_wake { GASNETE_WAKE_NOBODY, GASNETE_WAKE_LEADER, GASNETE_WAKE_ALL };

/* Sends a message by the words, and returns which ranks are to be woken.  UP counts; the last of
 * `size` ranks to count completes the phase if the supernode is `whole`, which is if the job has no
 * other.  DOWN, of a leader, completes the phase. */
static inline enum gasnete_barrier_wake
gasnete_barrier_words_send(gasnete_barrier_words_t *words, const gasnete_barrier_message_t *message,
                           uint32_t size, bool whole)
{
    gasnete_barrier_value_t all = message->value;
    if (message->slot != GASNETE_BARRIER_DOWN) {
        if (!gasnete_barrier_words_notify(words, message->parity, all, size))
            return GASNETE_WAKE_NOBODY;
        if (!whole) return GASNETE_WAKE_LEADER;
        gasnete_barrier_words_joined(words, message->parity, size, &all);
    }
    gasnete_barrier_words_end(words, message->parity, all);
    return GASNETE_WAKE_ALL;
}
