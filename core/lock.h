/* lock.h - the library's own locks: spin locks whose waiters yield, or empty structures.
 *
 * Several threads are in the library at once in PAR libraries, and with --enable-seq-rcv-thread in
 * SEQ and PARSYNC libraries (IB-C10: a client thread and the receive thread).  In other libraries
 * the calls are empty.  A lock is held for tens of instructions, and never while a handler runs or
 * a call blocks.
 */
#ifndef GASNETC_LOCK_H
#define GASNETC_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "gasnet_config.h"

#if defined(GASNET_PAR) || GASNETI_SEQ_RCV_THREAD

enum { GASNETC_THREADED = 1 }; /* several threads may be in the library at once */

typedef struct {
    atomic_uint held; /* 0 or GASNETI_LOCKED */
} gasneti_lock_t;

/* The bit that is set while a lock is held.  GCC compiles the attempt to set one bit, but not bit
 * 0, to a single locked instruction on x86; Clang compiles an exchange better. */
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

/* Tries to acquire a lock that is rarely held: does not read it first. */
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
