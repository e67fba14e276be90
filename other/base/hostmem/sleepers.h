/* sleepers.h - a futex word in shared memory on which processes of one host sleep until they are
 * woken.
 *
 * Each process, or thread, has an index, and a flag with this index. It arms its index, looks once
 * more for what it waits for, and sleeps if it finds nothing. A process that has stored something
 * for it wakes its index, which costs one load while it is awake; a wake-up of all ends all sleeps.
 * All sleep on a single word, so one system call wakes all, and a sleeper has to wait for one word
 * alone.
 *
 * No wake-up is lost. A sleeper reads `wakes`, sets its flag, and looks after a barrier that all
 * processes of the host execute (membarrier). So a store that the look does not find belongs to a
 * process that then finds the flag set, or finds it cleared by another process that wakes. Either
 * changes `wakes` after the sleeper has read it, and ends the sleep or prevents it. A process that
 * is killed between clearing the flag and waking loses the wake-up: hence the limit of each sleep.
 *
 * The barrier interrupts all processors, so a brief sleep does without it: a wake-up of an index
 * that is sent while the index is armed may then be lost until the limit. One of all is not lost,
 * as it has a fence of its own.
 *
 * A process that only yields its processor may watch its index instead: the flag indicates whether
 * something was stored for it, which costs less than a look at all addresses where that could be.
 * As for a brief sleep, a wake-up that is sent while the watch begins may be lost.
 */
#ifndef OTHER_HOSTMEM_SLEEPERS_H
#define OTHER_HOSTMEM_SLEEPERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In shared memory; zeroed: no thread sleeps. */
typedef struct hostmem_sleepers {
    _Atomic uint32_t wakes;    /* changes with each wake-up; sleepers sleep on it */
    _Atomic uint32_t any;      /* an index was armed since all were woken last */
    _Atomic uint32_t asleep[]; /* by index: HOSTMEM_SLEEPERS_..., 0 after a wake-up */
} hostmem_sleepers_t;

enum { HOSTMEM_SLEEPERS_ASLEEP = 1, HOSTMEM_SLEEPERS_WATCHED = 2 };

/* Bytes for so many indices. */
static inline size_t hostmem_sleepers_size(uint32_t indices)
{
    return sizeof(hostmem_sleepers_t) + indices * sizeof(_Atomic uint32_t);
}

/* Registers this process for the barrier; to be called once in each process that arms or wakes,
 * before any does. False if the kernel has no such barrier: then no process may arm. It takes 30 us
 * in a process of one thread, otherwise some 20 ms. */
bool hostmem_sleepers_prepare(void);

/* Arms an index, before the last look; returns `wakes` as hostmem_sleepers_sleep takes it. `also`,
 * unless NULL, is a word in memory of another carrier, which is set to `value`: a thread that finds
 * it set clears it and wakes. */
uint32_t hostmem_sleepers_arm(hostmem_sleepers_t *sleepers, uint32_t index, _Atomic uint32_t *also,
                              uint32_t value, bool brief);

/* Watches an index from now on, unless another thread sleeps with it, whose flag serves both. To be
 * called before a look; `also` and `value` as of hostmem_sleepers_arm. */
static inline void hostmem_sleepers_watch(hostmem_sleepers_t *sleepers, uint32_t index,
                                          _Atomic uint32_t *also, uint32_t value)
{
    uint32_t awake = 0;
    atomic_compare_exchange_strong(&sleepers->asleep[index], &awake, HOSTMEM_SLEEPERS_WATCHED);
    if (also) atomic_store(also, value);
}

/* Sleeps until a wake-up that came after the arming, a signal, or the end of the time.  False if
 * the time is over. */
bool hostmem_sleepers_sleep(hostmem_sleepers_t *sleepers, uint32_t index, uint32_t wakes,
                            uint32_t us);

/* The parts of hostmem_wake and hostmem_wake_all that find a flag set. */
void hostmem_wake_asleep(hostmem_sleepers_t *sleepers, uint32_t index);
void hostmem_wake_all_asleep(hostmem_sleepers_t *sleepers);

/* Wakes the thread with index `index`, if it sleeps; to be called after a store for it. */
static inline void hostmem_wake(hostmem_sleepers_t *sleepers, uint32_t index)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&sleepers->asleep[index], memory_order_relaxed))
        hostmem_wake_asleep(sleepers, index);
}

/* Wakes all threads that sleep; to be called after a store for all. */
static inline void hostmem_wake_all(hostmem_sleepers_t *sleepers)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&sleepers->any, memory_order_relaxed))
        hostmem_wake_all_asleep(sleepers);
}

#endif
