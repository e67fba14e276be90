/* gasnet_tools_locks_seq.h - gasnett_ mutexes, conditions and reader/writer locks without threads.
 *
 * Private part of gasnet_tools.h.  In production builds they compile to no code; debug builds
 * record whether a lock is held, and abort the program on recursion, on release of a free lock, and
 * on a failed assertion.
 */
#ifndef GASNETI_IN_GASNET_TOOLS_H
#error "gasnet_tools_locks_seq.h is private: include gasnet_tools.h"
#endif
#ifndef GASNETI_TOOLS_LOCKS_H
#define GASNETI_TOOLS_LOCKS_H

#include "gasnet_mutex.h"

GASNETI_EXPORTS_BEGIN

typedef gasneti_seqlock_t gasnett_mutex_t;
typedef gasneti_seqlock_t gasnett_rwlock_t;
typedef struct {
    char nothing;
} gasnett_cond_t;
#define GASNETT_MUTEX_INITIALIZER                                                                  \
    {                                                                                              \
        0                                                                                          \
    }
#define GASNETT_RWLOCK_INITIALIZER                                                                 \
    {                                                                                              \
        0                                                                                          \
    }
#define GASNETT_COND_INITIALIZER                                                                   \
    {                                                                                              \
        0                                                                                          \
    }

/* Debug builds abort the program with the message `what` unless `truth`.  */
GASNETI_INLINE void gasneti_seqlock_require(int truth, const char *what)
{
#if GASNET_DEBUG
    if (!truth) gasnett_fatalerror("%s", what);
#else
    (void)truth;
    (void)what;
#endif
}
GASNETI_INLINE void gasneti_seqlock_set(gasneti_seqlock_t *l, int held)
{
#if GASNET_DEBUG
    l->held = held;
#else
    (void)l;
    (void)held;
#endif
}
/* The recorded state; in production builds the wanted one.  */
GASNETI_INLINE int gasneti_seqlock_held(gasneti_seqlock_t *l, int wanted)
{
#if GASNET_DEBUG
    (void)wanted;
    return l->held;
#else
    (void)l;
    return wanted;
#endif
}

/* --- Mutexes --- */

GASNETI_INLINE void gasnett_mutex_init(gasnett_mutex_t *m)
{
    gasneti_seqlock_set(m, 0);
}
GASNETI_INLINE int gasnett_mutex_destroy_ignoreerr(gasnett_mutex_t *m)
{
    return gasneti_seqlock_held(m, 0) ? EBUSY : 0;
}
GASNETI_INLINE void gasnett_mutex_destroy(gasnett_mutex_t *m)
{
    gasneti_seqlock_require(!gasneti_seqlock_held(m, 0),
                            "gasnett_mutex_destroy: the mutex is locked");
}
GASNETI_INLINE void gasnett_mutex_lock(gasnett_mutex_t *m)
{
    gasneti_seqlock_require(!gasneti_seqlock_held(m, 0),
                            "gasnett_mutex_lock: the mutex is locked already");
    gasneti_seqlock_set(m, 1);
}
GASNETI_INLINE int gasnett_mutex_trylock(gasnett_mutex_t *m)
{
    gasnett_mutex_lock(m);
    return 0;
}
GASNETI_INLINE void gasnett_mutex_unlock(gasnett_mutex_t *m)
{
    gasneti_seqlock_require(gasneti_seqlock_held(m, 1) == 1,
                            "gasnett_mutex_unlock: the mutex is not locked");
    gasneti_seqlock_set(m, 0);
}
GASNETI_INLINE void gasnett_mutex_assertlocked(gasnett_mutex_t *m)
{
    gasneti_seqlock_require(gasneti_seqlock_held(m, 1) == 1,
                            "gasnett_mutex_assertlocked: the mutex is not locked");
}
GASNETI_INLINE void gasnett_mutex_assertunlocked(gasnett_mutex_t *m)
{
    gasneti_seqlock_require(!gasneti_seqlock_held(m, 0),
                            "gasnett_mutex_assertunlocked: the mutex is locked");
}

/* --- Conditions: no other thread could signal, so a wait is an error --- */

GASNETI_INLINE void gasnett_cond_init(gasnett_cond_t *c)
{
    (void)c;
}
GASNETI_INLINE void gasnett_cond_destroy(gasnett_cond_t *c)
{
    (void)c;
}
GASNETI_INLINE void gasnett_cond_signal(gasnett_cond_t *c)
{
    (void)c;
}
GASNETI_INLINE void gasnett_cond_broadcast(gasnett_cond_t *c)
{
    (void)c;
}
GASNETI_INLINE void gasnett_cond_wait(gasnett_cond_t *c, gasnett_mutex_t *m)
{
    (void)c;
    (void)m;
    gasneti_seqlock_require(0, "gasnett_cond_wait without threads would wait for ever");
}

/* --- Reader/writer locks --- */

GASNETI_INLINE void gasnett_rwlock_init(gasnett_rwlock_t *l)
{
    gasneti_seqlock_set(l, 0);
}
GASNETI_INLINE void gasnett_rwlock_destroy(gasnett_rwlock_t *l)
{
    gasneti_seqlock_require(!gasneti_seqlock_held(l, 0),
                            "gasnett_rwlock_destroy: the lock is held");
}
GASNETI_INLINE void gasnett_rwlock_rdlock(gasnett_rwlock_t *l)
{
    gasneti_seqlock_require(!gasneti_seqlock_held(l, 0),
                            "gasnett_rwlock_rdlock: the lock is held already");
    gasneti_seqlock_set(l, -1);
}
GASNETI_INLINE void gasnett_rwlock_wrlock(gasnett_rwlock_t *l)
{
    gasneti_seqlock_require(!gasneti_seqlock_held(l, 0),
                            "gasnett_rwlock_wrlock: the lock is held already");
    gasneti_seqlock_set(l, 1);
}
GASNETI_INLINE int gasnett_rwlock_tryrdlock(gasnett_rwlock_t *l)
{
    gasnett_rwlock_rdlock(l);
    return 0;
}
GASNETI_INLINE int gasnett_rwlock_trywrlock(gasnett_rwlock_t *l)
{
    gasnett_rwlock_wrlock(l);
    return 0;
}
GASNETI_INLINE void gasnett_rwlock_unlock(gasnett_rwlock_t *l)
{
    gasneti_seqlock_require(gasneti_seqlock_held(l, 1),
                            "gasnett_rwlock_unlock: the lock is not held");
    gasneti_seqlock_set(l, 0);
}
GASNETI_INLINE void gasnett_rwlock_assertlocked(gasnett_rwlock_t *l)
{
    gasneti_seqlock_require(gasneti_seqlock_held(l, 1),
                            "gasnett_rwlock_assertlocked: the lock is not held");
}
GASNETI_INLINE void gasnett_rwlock_assertrdlocked(gasnett_rwlock_t *l)
{
    gasneti_seqlock_require(gasneti_seqlock_held(l, -1) < 0,
                            "gasnett_rwlock_assertrdlocked: the lock is not held for reading");
}
GASNETI_INLINE void gasnett_rwlock_assertwrlocked(gasnett_rwlock_t *l)
{
    gasneti_seqlock_require(gasneti_seqlock_held(l, 1) > 0,
                            "gasnett_rwlock_assertwrlocked: the lock is not held for writing");
}
GASNETI_INLINE void gasnett_rwlock_assertunlocked(gasnett_rwlock_t *l)
{
    gasneti_seqlock_require(!gasneti_seqlock_held(l, 0),
                            "gasnett_rwlock_assertunlocked: the lock is held");
}

GASNETI_EXPORTS_END
#endif
