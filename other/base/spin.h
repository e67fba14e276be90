/* spin.h - a lock of one word, whose waiters spin and then yield: two instructions without
 * contention.
 *
 * For threads of one process, and for at most a copy of memory; where a holder may take longer, its
 * waiters should sleep (futex.h). Not recursive, and not released when its holder dies. A zeroed
 * lock is free.
 */
#ifndef GASNETI_SPIN_H
#define GASNETI_SPIN_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct gasneti_spin {
    atomic_uint held; /* 0 or GASNETI_SPIN_HELD */
} gasneti_spin_t;

/* The bit that is set while a lock is held.  GCC compiles the attempt to set one bit, but not bit
 * 0, to a single locked instruction on x86; Clang compiles an exchange better. */
enum { GASNETI_SPIN_HELD = 2 };
#ifdef __clang__
#define GASNETI_SPIN_SET atomic_exchange_explicit
#else
#define GASNETI_SPIN_SET atomic_fetch_or_explicit
#endif

/* Tries to acquire a lock that is rarely held: does not read it first. */
static inline bool gasneti_spin_try_quiet(gasneti_spin_t *lock)
{
    const unsigned before = GASNETI_SPIN_SET(&lock->held, GASNETI_SPIN_HELD, memory_order_acquire);
    return (before & GASNETI_SPIN_HELD) == 0;
}

static inline bool gasneti_spin_try(gasneti_spin_t *lock)
{
    return !atomic_load_explicit(&lock->held, memory_order_relaxed) && gasneti_spin_try_quiet(lock);
}

static __attribute__((cold, unused)) void gasneti_spin_wait(gasneti_spin_t *lock)
{
    for (unsigned spins = 0; !gasneti_spin_try(lock);)
        if (++spins > 64) sched_yield();
}

static inline void gasneti_spin_lock(gasneti_spin_t *lock)
{
    if (!gasneti_spin_try_quiet(lock)) gasneti_spin_wait(lock);
}

static inline void gasneti_spin_unlock(gasneti_spin_t *lock)
{
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif
