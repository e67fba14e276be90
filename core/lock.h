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
    atomic_uint held; /* 0 or GASNETI_LOCKED */
} gasneti_lock_t;

/* One bit of a word of 4 bytes: for x86, GCC makes a locked instruction and a jump of the attempt
 * to set it, where an exchange takes four instructions.  Not bit 0, for which GCC 12 makes a loop,
 * as Clang does for any bit. */
enum { GASNETI_LOCKED = 2 };
#ifdef __clang__
#define GASNETI_LOCK_SET atomic_exchange_explicit
#else
#define GASNETI_LOCK_SET atomic_fetch_or_explicit
#endif

/* The initial value of a lock that is held from the start. */
#define GASNETI_LOCK_HELD                                                                          \
    {                                                                                              \
        GASNETI_LOCKED                                                                             \
    }

/* For a lock that is rarely held: does not read first. */
static inline bool gasneti_trylock_quiet(gasneti_lock_t *lock)
{
    const unsigned before = GASNETI_LOCK_SET(&lock->held, GASNETI_LOCKED, memory_order_acquire);
    return __builtin_expect((before & GASNETI_LOCKED) == 0, 1);
}

static inline bool gasneti_trylock(gasneti_lock_t *lock)
{
    return !atomic_load_explicit(&lock->held, memory_order_relaxed) && gasneti_trylock_quiet(lock);
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
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#else

enum { GASNETC_THREADED = 0 };

typedef struct {
    char unused;
} gasneti_lock_t;

#define GASNETI_LOCK_HELD                                                                          \
    {                                                                                              \
        0                                                                                          \
    }

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
