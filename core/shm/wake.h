/* wake.h - the memory that the processes of a supernode share beside their segments: the words by
 * which they sleep and are woken (other/base/hostmem/sleepers.h), and those of the barrier.
 *
 * A supernode of one process has no such memory.  Called by attach, the poll engine, the barrier
 * and all code that stores what a shared-memory peer may wait for.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gasnet.h"
#include "other/base/hostmem/sleepers.h"

typedef struct gasnetc_wakeup {
    _Atomic uint64_t barrier[4]; /* words of the Extended API */
    hostmem_sleepers_t sleepers __attribute__((aligned(64)));
} __attribute__((aligned(64))) gasnetc_wakeup_t;

#pragma GCC visibility push(hidden)
extern gasnetc_wakeup_t *gasnetc_wakeup; /* NULL: the supernode is one process */
extern bool gasnetc_wakeup_always;       /* arrivals, with few exceptions, wake this process */
extern _Atomic uint32_t *gasnetc_wakeup_asleep; /* own flag in `sleepers`, or a word that is 0 */
#pragma GCC visibility pop

/* Prepares the process for wake-ups, in gasnet_init as early as possible: this is faster with one
 * thread. */
void gasnetc_wakeup_prepare(void);

/* The size of the memory for a supernode of so many processes. */
size_t gasnetc_wakeup_size(uint32_t processes);

/* The memory is mapped at `memory`.  `whole`: all the host's processes are in the
 * supernode; `all`: all processes of the job are. */
void gasnetc_wakeup_open(void *memory, bool whole, bool all);

/* Arms, before the thread's last look at what it waits for.  The result is for
 * gasnetc_wakeup_sleep, which returns when the process was woken after arming, or when the time is
 * over, less than a second.  `brief`: arming is cheaper, but may miss a wake-up that comes while it
 * runs. */
uint32_t gasnetc_wakeup_arm(bool brief);
void gasnetc_wakeup_sleep(uint32_t wakes, uint32_t us);

/* Begins a watch, before a poll; only if gasnetc_wakeup_always.  Until the next watch
 * gasnetc_wakeup_quiet is false once a message has arrived, except one that arrives while the watch
 * begins. */
void gasnetc_wakeup_watch(void);

static inline bool gasnetc_wakeup_quiet(void)
{
    return atomic_load_explicit(gasnetc_wakeup_asleep, memory_order_acquire) != 0;
}

/* Wakes the process of `rank`, which shares the memory, after data was stored for it alone. */
void gasnetc_wakeup_rank(uint32_t rank);

/* Wakes threads of this process, after another thread has found an event. */
static inline void gasnetc_wakeup_own(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(gasnetc_wakeup_asleep, memory_order_relaxed))
        gasnetc_wakeup_rank(gasneti_mynode);
}

/* Wakes all processes of the supernode, after data was stored for all of them. */
void gasnetc_wakeup_all(void);
