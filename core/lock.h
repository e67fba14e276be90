/* lock.h - the library's own locks: spin locks (other/base/spin.h) where threads need them.
 *
 * Several threads are in the library at once in PAR libraries, and with --enable-seq-rcv-thread in
 * SEQ and PARSYNC libraries (IB-C10: a client thread and the receive thread).  In other libraries
 * the calls do nothing.  A lock is held for tens of instructions, and never while a handler runs or
 * a call blocks.
 */
#pragma once

#include <stdbool.h>

#include "gasnet_config.h"
#include "other/base/spin.h"

/* GASNETC_THREADED: several threads may be in the library at once. */
#if defined(GASNET_PAR) || GASNETI_SEQ_RCV_THREAD
enum { GASNETC_THREADED = 1 };
#else
enum { GASNETC_THREADED = 0 };
#endif

typedef gasneti_spin_t gasneti_lock_t;

/* The initial value of a lock that is held from the start. */
#define GASNETI_LOCK_HELD                                                                          \
    {                                                                                              \
        GASNETI_SPIN_HELD                                                                          \
    }

/* Tries to acquire a lock that is rarely held: does not read it first. */
static inline bool gasneti_trylock_quiet(gasneti_lock_t *lock)
{
    return !GASNETC_THREADED || gasneti_spin_try_quiet(lock);
}

static inline bool gasneti_trylock(gasneti_lock_t *lock)
{
    return !GASNETC_THREADED || gasneti_spin_try(lock);
}

static inline void gasneti_lock(gasneti_lock_t *lock)
{
    if (GASNETC_THREADED) gasneti_spin_lock(lock);
}

static inline void gasneti_unlock(gasneti_lock_t *lock)
{
    if (GASNETC_THREADED) gasneti_spin_unlock(lock);
}
