/* common.h - the memory that the processes of a supernode have in common, beside their segments: a
 * bell, by which those that wait sleep, and the words of the barrier.
 *
 * There is none where the supernode is one process.  Called by attach, the poll engine, the barrier
 * and whoever stores something that a neighbour may wait for.
 */
#ifndef GASNETC_COMMON_H
#define GASNETC_COMMON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "gasnet.h"

/* Less than a second. */
static inline void gasnetc_common_sleep_alone(uint32_t us)
{
    const struct timespec time = {.tv_nsec = us * 1000L};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

#if GASNET_PSHM

#include "other/hostmem/bell.h"

typedef struct gasnetc_common {
    _Atomic uint64_t barrier[4]; /* of the Extended API */
    hostmem_bell_t bell __attribute__((aligned(64)));
} __attribute__((aligned(64))) gasnetc_common_t;

#pragma GCC visibility push(hidden)
extern gasnetc_common_t *gasnetc_common;        /* NULL: there is none */
extern bool gasnetc_common_all_ring;            /* what arrives, with few exceptions, rings */
extern _Atomic uint32_t *gasnetc_common_asleep; /* its flag in the bell, or a word that is 0 */
#pragma GCC visibility pop

/* Init, as early as possible: a process of one thread is prepared faster. */
void gasnetc_common_prepare(void);

/* Its size for a supernode of so many processes. */
size_t gasnetc_common_size(uint32_t processes);

/* Attach: it is mapped at `memory`.  `whole`: all the host's processes are in the supernode;
 * `all_by_rings`: so are all of the job, and each has a ring for each other's Active Messages. */
void gasnetc_common_open(void *memory, bool whole, bool all_by_rings);

/* Before the last look at what the thread waits for; the result is for gasnetc_common_sleep, which
 * returns when something has arrived since that rings, or when the time is over.  `brief`: if it
 * arrived in the very moment of arming, it may be found only then. */
uint32_t gasnetc_common_arm(bool brief);
void gasnetc_common_sleep(uint32_t rings, uint32_t us);

/* Only if gasnetc_common_all_ring.  From the watch on, which comes before a poll,
 * gasnetc_common_quiet is false after something has arrived; it may miss what arrives while the
 * watch begins. */
void gasnetc_common_watch(void);

static inline bool gasnetc_common_quiet(void)
{
    return atomic_load_explicit(gasnetc_common_asleep, memory_order_acquire) != 0;
}

/* Wakes the process, which shares the memory, after something was stored for it alone. */
void gasnetc_common_wake(uint32_t rank);

/* Wakes threads of this process, after another one has found something. */
static inline void gasnetc_common_wake_own(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(gasnetc_common_asleep, memory_order_relaxed), 0))
        gasnetc_common_wake(gasneti_mynode);
}

/* Wakes all processes of the supernode, after something was stored for all. */
static inline void gasnetc_common_wake_all(void)
{
    hostmem_bell_ring_all(&gasnetc_common->bell);
}

#else

enum { gasnetc_common_all_ring = false };

static inline void gasnetc_common_prepare(void) {}

static inline uint32_t gasnetc_common_arm(bool brief)
{
    (void)brief;
    return 0;
}

static inline void gasnetc_common_sleep(uint32_t rings, uint32_t us)
{
    (void)rings;
    gasnetc_common_sleep_alone(us);
}

static inline void gasnetc_common_watch(void) {}

static inline bool gasnetc_common_quiet(void)
{
    return false;
}

static inline void gasnetc_common_wake(uint32_t rank)
{
    (void)rank;
}

static inline void gasnetc_common_wake_own(void) {}

static inline void gasnetc_common_wake_all(void) {}

#endif
#endif
