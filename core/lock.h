/* lock.h - the library's own locks: a spin lock whose waiters yield, or nothing.
 *
 * Several threads are inside at once in PAR libraries, and with --enable-seq-rcv-thread in the
 * others (IB-C10: a client thread and the receive thread).  Without it the calls are empty there.
 * A lock is held for tens of instructions, and never while a handler runs or a call blocks.
 */
#ifndef GASNETC_LOCK_H
#define GASNETC_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "gasnet_config.h"

#if defined(GASNET_PAR) || GASNETI_SEQ_RCV_THREAD

enum { GASNETC_THREADED = 1 }; /* several threads may be inside at once */

typedef struct {
    atomic_bool held;
} gasneti_lock_t;

static inline bool gasneti_trylock(gasneti_lock_t *lock)
{
    return !atomic_load_explicit(&lock->held, memory_order_relaxed) &&
           !atomic_exchange_explicit(&lock->held, true, memory_order_acquire);
}

/* The same for a lock that is rarely held: exchanges without reading first. */
static inline bool gasneti_trylock_quiet(gasneti_lock_t *lock)
{
    return __builtin_expect(!atomic_exchange_explicit(&lock->held, true, memory_order_acquire), 1);
}

static __attribute__((noinline, cold, unused)) void gasneti_lock_wait(gasneti_lock_t *lock)
{
    while (!gasneti_trylock(lock)) sched_yield();
}

static inline void gasneti_lock(gasneti_lock_t *lock)
{
    if (!gasneti_trylock_quiet(lock)) gasneti_lock_wait(lock);
}

static inline void gasneti_unlock(gasneti_lock_t *lock)
{
    atomic_store_explicit(&lock->held, false, memory_order_release);
}

#else

enum { GASNETC_THREADED = 0 };

typedef struct {
    char unused;
} gasneti_lock_t;

static inline bool gasneti_trylock(gasneti_lock_t *lock)
{
    (void)lock;
    return true;
}

static inline bool gasneti_trylock_quiet(gasneti_lock_t *lock)
{
    (void)lock;
    return true;
}

static inline void gasneti_lock(gasneti_lock_t *lock)
{
    (void)lock;
}

static inline void gasneti_unlock(gasneti_lock_t *lock)
{
    (void)lock;
}

#endif
#endif
