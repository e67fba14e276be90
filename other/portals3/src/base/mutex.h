/* mutex.h - a lock of one word; without contention a few inlined instructions.
 *
 * A thread that finds the lock held sleeps in the kernel (futex): unlike that of other/base/spin.h,
 * this lock is held while match lists and queues of any length are walked, in system calls and in
 * the program's handlers. Not recursive, and not released when its holder dies.
 */
#ifndef PTLI_MUTEX_H
#define PTLI_MUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "other/base/futex.h"

struct ptli_mutex {
    _Atomic uint32_t word; /* 0: free, 1: held, 2: held, and threads may sleep */
};

static inline bool ptli_mutex_try(struct ptli_mutex *mutex)
{
    uint32_t free = 0;
    return atomic_compare_exchange_strong_explicit(&mutex->word, &free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

__attribute__((cold, unused)) static void ptli_mutex_lock_slowly(struct ptli_mutex *mutex)
{
    while (atomic_exchange_explicit(&mutex->word, 2, memory_order_acquire) != 0)
        gasneti_futex_sleep(&mutex->word, GASNETI_FUTEX_PRIVATE, 2, NULL);
}

static inline void ptli_mutex_lock(struct ptli_mutex *mutex)
{
    if (!ptli_mutex_try(mutex)) ptli_mutex_lock_slowly(mutex);
}

__attribute__((cold, unused)) static void ptli_mutex_unlock_slowly(struct ptli_mutex *mutex)
{
    gasneti_futex_wake(&mutex->word, GASNETI_FUTEX_PRIVATE, 1);
}

static inline void ptli_mutex_unlock(struct ptli_mutex *mutex)
{
    if (atomic_exchange_explicit(&mutex->word, 0, memory_order_release) == 2)
        ptli_mutex_unlock_slowly(mutex);
}

#endif
