/* lock.h - a small lock for private memory: one atomic exchange when uncontended.
 *
 * Held for at most one data transfer. Waiters spin, then yield, because a machine may have fewer
 * cores than threads.
 */
#ifndef SOFTHCA_LOCK_H
#define SOFTHCA_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

struct shca_lock {
    _Atomic int taken;
};

static inline bool shca_trylock(struct shca_lock *l)
{
    return !atomic_exchange_explicit(&l->taken, 1, memory_order_acquire);
}

static inline void shca_lock(struct shca_lock *l)
{
    for (int spins = 0; !shca_trylock(l);) {
        while (atomic_load_explicit(&l->taken, memory_order_relaxed))
            if (++spins > 64) sched_yield();
    }
}

static inline void shca_unlock(struct shca_lock *l)
{
    atomic_store_explicit(&l->taken, 0, memory_order_release);
}

#endif
