/* bell.h - a futex word in shared memory, the bell, on which processes of one host sleep until they
 * have something to do.
 *
 * Each process, or thread, has an index, and a flag with this index. It arms its index, looks once
 * more for what it waits for, and sleeps if it finds nothing. A process that has stored something
 * for it rings its index, which costs one load while it is awake; a ring for all wakes all. All
 * sleep on a single word, so one system call wakes all, and a sleeper has to wait for one word
 * alone.
 *
 * No wake-up is lost. A sleeper reads `rings`, sets its flag, and looks after a barrier that all
 * processes of the host execute (membarrier). So a store that the look does not find belongs to a
 * process that then finds the flag set, or finds it cleared by another process that rings. Either
 * ring changes `rings` after the sleeper has read it, and ends the sleep or prevents it. A process
 * that is killed between clearing the flag and ringing loses the wake-up: hence the limit of each
 * sleep.
 *
 * The barrier interrupts all processors, so a brief sleep does without it: a ring for an index that
 * is sent while the index is armed may then be lost until the limit. A ring for all is not lost, as
 * it has a fence of its own.
 *
 * A process that only yields its processor may watch its index instead: the flag indicates whether
 * something was stored for it, which costs less than a look at all addresses where that could be.
 * As for a brief sleep, a ring that is sent while the watch begins may be lost.
 */
#ifndef OTHER_HOSTMEM_BELL_H
#define OTHER_HOSTMEM_BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bell, in shared memory; zeroed: no thread sleeps. */
typedef struct hostmem_bell {
    _Atomic uint32_t rings;    /* changes with each ring; sleepers sleep on it */
    _Atomic uint32_t any;      /* an index was armed since the last ring for all */
    _Atomic uint32_t asleep[]; /* by index: HOSTMEM_BELL_..., 0 after a ring */
} hostmem_bell_t;

enum { HOSTMEM_BELL_ASLEEP = 1, HOSTMEM_BELL_WATCHED = 2 };

/* Bytes of a bell for `places` indices. */
static inline size_t hostmem_bell_size(uint32_t places)
{
    return sizeof(hostmem_bell_t) + places * sizeof(_Atomic uint32_t);
}

/* Registers this process for the barrier; to be called once in each process that arms or rings,
 * before any does. False if the kernel has no such barrier: then no process may arm. It takes 30 us
 * in a process of one thread, otherwise some 20 ms. */
bool hostmem_bell_prepare(void);

/* Arms an index, before the last look; returns `rings` as hostmem_bell_sleep takes it. `also`,
 * unless NULL, is a word in memory of another carrier, which is set to `value`: a thread that finds
 * it set clears it and rings. */
uint32_t hostmem_bell_arm(hostmem_bell_t *bell, uint32_t place, _Atomic uint32_t *also,
                          uint32_t value, bool brief);

/* Watches an index from now on, unless another thread sleeps with it, whose flag serves both. To be
 * called before a look; `also` and `value` as of hostmem_bell_arm. */
static inline void hostmem_bell_watch(hostmem_bell_t *bell, uint32_t place, _Atomic uint32_t *also,
                                      uint32_t value)
{
    uint32_t awake = 0;
    atomic_compare_exchange_strong(&bell->asleep[place], &awake, HOSTMEM_BELL_WATCHED);
    if (also) atomic_store(also, value);
}

/* Sleeps until a ring that came after the arming, a signal, or the end of the time.  False if the
 * time is over. */
bool hostmem_bell_sleep(hostmem_bell_t *bell, uint32_t place, uint32_t rings, uint32_t us);

/* The parts of hostmem_bell_ring and hostmem_bell_ring_all that find a flag set. */
void hostmem_bell_ring_asleep(hostmem_bell_t *bell, uint32_t place);
void hostmem_bell_ring_all_asleep(hostmem_bell_t *bell);

/* Wakes the thread with index `place`, if it sleeps; to be called after a store for it. */
static inline void hostmem_bell_ring(hostmem_bell_t *bell, uint32_t place)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&bell->asleep[place], memory_order_relaxed))
        hostmem_bell_ring_asleep(bell, place);
}

/* Wakes all threads that sleep; to be called after a store for all. */
static inline void hostmem_bell_ring_all(hostmem_bell_t *bell)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&bell->any, memory_order_relaxed)) hostmem_bell_ring_all_asleep(bell);
}

#endif
