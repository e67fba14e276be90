/* lock.h - the lock for private memory: a spin lock, held for at most one data transfer. */
#ifndef SOFTHCA_LOCK_H
#define SOFTHCA_LOCK_H

#include <stdbool.h>

#include "other/base/spin.h"

struct shca_lock {
    gasneti_spin_t spin;
};

static inline bool shca_trylock(struct shca_lock *l)
{
    return gasneti_spin_try_quiet(&l->spin);
}

static inline void shca_lock(struct shca_lock *l)
{
    gasneti_spin_lock(&l->spin);
}

/* Waits until the lock was free once. */
static inline void shca_lock_await(struct shca_lock *l)
{
    while (atomic_load(&l->spin.held)) sched_yield();
}

static inline void shca_unlock(struct shca_lock *l)
{
    gasneti_spin_unlock(&l->spin);
}

#endif
