/* gasnet_tools_locks_par.h - gasnett_ mutexes, conditions and reader/writer locks with threads.
 *
 * Private part of gasnet_tools.h: pthread objects, locked inline.  Debug builds record the holder,
 * and abort the program on recursion, on release by another thread, and on a failed assertion.
 */
#ifndef GASNETI_IN_GASNET_TOOLS_H
#error "gasnet_tools_locks_par.h is private: include gasnet_tools.h"
#endif
#ifndef GASNETI_TOOLS_LOCKS_H
#define GASNETI_TOOLS_LOCKS_H

#include "gasnet_mutex.h"
#ifndef PTHREAD_RWLOCK_INITIALIZER
#error "threads are hidden by the language mode: include gasnet_tools.h first of all headers"
#endif

GASNETI_EXPORTS_BEGIN

typedef gasneti_mutex_t gasnett_mutex_t;
#define GASNETT_MUTEX_INITIALIZER GASNETI_MUTEX_INITIALIZER

typedef pthread_cond_t gasnett_cond_t;
#define GASNETT_COND_INITIALIZER PTHREAD_COND_INITIALIZER

typedef struct {
    pthread_rwlock_t lock;
#if GASNET_DEBUG
    gasneti_holder_t holder;
#endif
} gasnett_rwlock_t;
#define GASNETT_RWLOCK_INITIALIZER                                                                 \
    {                                                                                              \
        PTHREAD_RWLOCK_INITIALIZER GASNETI_HOLDER_INITIALIZER                                      \
    }

#if GASNET_DEBUG
GASNETI_INLINE void gasneti_holder_require(int truth, const char *what)
{
    if (!truth) gasnett_fatalerror("%s", what);
}
#endif

/* --- Mutexes: not recursive --- */

GASNETI_INLINE void gasnett_mutex_init(gasnett_mutex_t *m)
{
#if GASNET_DEBUG
    memset(&m->holder, 0, sizeof m->holder);
#endif
    (void)pthread_mutex_init(&m->lock, NULL);
}
/* Returns 0, or the error of pthread_mutex_destroy.  */
GASNETI_INLINE int gasnett_mutex_destroy_ignoreerr(gasnett_mutex_t *m)
{
    return pthread_mutex_destroy(&m->lock);
}
GASNETI_INLINE void gasnett_mutex_destroy(gasnett_mutex_t *m)
{
#if GASNET_DEBUG
    gasneti_holder_require(!m->holder.held, "gasnett_mutex_destroy: the mutex is locked");
#endif
    (void)gasnett_mutex_destroy_ignoreerr(m);
}
GASNETI_INLINE void gasnett_mutex_lock(gasnett_mutex_t *m)
{
#if GASNET_DEBUG
    gasneti_holder_require(!gasneti_holder_is_me(&m->holder),
                           "gasnett_mutex_lock: this thread holds the mutex already");
#endif
    (void)pthread_mutex_lock(&m->lock);
#if GASNET_DEBUG
    gasneti_holder_take(&m->holder);
#endif
}
/* Returns 0, or EBUSY if another thread holds the mutex.  */
GASNETI_INLINE int gasnett_mutex_trylock(gasnett_mutex_t *m)
{
    int busy;
#if GASNET_DEBUG
    gasneti_holder_require(!gasneti_holder_is_me(&m->holder),
                           "gasnett_mutex_trylock: this thread holds the mutex already");
#endif
    busy = pthread_mutex_trylock(&m->lock);
#if GASNET_DEBUG
    if (!busy) gasneti_holder_take(&m->holder);
#endif
    return busy;
}
GASNETI_INLINE void gasnett_mutex_unlock(gasnett_mutex_t *m)
{
#if GASNET_DEBUG
    gasneti_holder_require(gasneti_holder_is_me(&m->holder),
                           "gasnett_mutex_unlock: this thread does not hold the mutex");
    gasneti_holder_drop(&m->holder);
#endif
    (void)pthread_mutex_unlock(&m->lock);
}
/* Debug builds abort the program if this thread does not hold, or holds, the mutex.  */
GASNETI_INLINE void gasnett_mutex_assertlocked(gasnett_mutex_t *m)
{
#if GASNET_DEBUG
    gasneti_holder_require(gasneti_holder_is_me(&m->holder),
                           "gasnett_mutex_assertlocked: this thread does not hold the mutex");
#endif
    (void)m;
}
GASNETI_INLINE void gasnett_mutex_assertunlocked(gasnett_mutex_t *m)
{
#if GASNET_DEBUG
    gasneti_holder_require(!gasneti_holder_is_me(&m->holder),
                           "gasnett_mutex_assertunlocked: this thread holds the mutex");
#endif
    (void)m;
}

/* --- Conditions: signal and wait with the mutex held; a wait may return early, never polls --- */

GASNETI_INLINE void gasnett_cond_init(gasnett_cond_t *c)
{
    (void)pthread_cond_init(c, NULL);
}
GASNETI_INLINE void gasnett_cond_destroy(gasnett_cond_t *c)
{
    (void)pthread_cond_destroy(c);
}
GASNETI_INLINE void gasnett_cond_signal(gasnett_cond_t *c)
{
    (void)pthread_cond_signal(c);
}
GASNETI_INLINE void gasnett_cond_broadcast(gasnett_cond_t *c)
{
    (void)pthread_cond_broadcast(c);
}
GASNETI_INLINE void gasnett_cond_wait(gasnett_cond_t *c, gasnett_mutex_t *m)
{
#if GASNET_DEBUG
    gasnett_mutex_assertlocked(m);
    gasneti_holder_drop(&m->holder);
#endif
    (void)pthread_cond_wait(c, &m->lock);
#if GASNET_DEBUG
    gasneti_holder_take(&m->holder);
#endif
}

/* --- Reader/writer locks: not recursive --- */

GASNETI_INLINE void gasnett_rwlock_init(gasnett_rwlock_t *l)
{
#if GASNET_DEBUG
    memset(&l->holder, 0, sizeof l->holder);
#endif
    (void)pthread_rwlock_init(&l->lock, NULL);
}
GASNETI_INLINE void gasnett_rwlock_destroy(gasnett_rwlock_t *l)
{
#if GASNET_DEBUG
    gasneti_holder_require(!l->holder.held && !gasneti_holder_readers(&l->holder),
                           "gasnett_rwlock_destroy: the lock is held");
#endif
    (void)pthread_rwlock_destroy(&l->lock);
}
GASNETI_INLINE void gasnett_rwlock_rdlock(gasnett_rwlock_t *l)
{
    int failed;
#if GASNET_DEBUG
    gasneti_holder_require(!gasneti_holder_is_me(&l->holder),
                           "gasnett_rwlock_rdlock: this thread holds the lock for writing");
#endif
    /* EAGAIN: too many readers at the moment. */
    do failed = pthread_rwlock_rdlock(&l->lock);
    while (failed == EAGAIN);
#if GASNET_DEBUG
    (void)__atomic_fetch_add(&l->holder.readers, 1, __ATOMIC_RELAXED);
#endif
}
GASNETI_INLINE void gasnett_rwlock_wrlock(gasnett_rwlock_t *l)
{
#if GASNET_DEBUG
    gasneti_holder_require(!gasneti_holder_is_me(&l->holder),
                           "gasnett_rwlock_wrlock: this thread holds the lock already");
#endif
    (void)pthread_rwlock_wrlock(&l->lock);
#if GASNET_DEBUG
    gasneti_holder_take(&l->holder);
#endif
}
/* Returns 0, EBUSY, or EAGAIN for too many readers.  */
GASNETI_INLINE int gasnett_rwlock_tryrdlock(gasnett_rwlock_t *l)
{
    int busy = pthread_rwlock_tryrdlock(&l->lock);
#if GASNET_DEBUG
    if (!busy) (void)__atomic_fetch_add(&l->holder.readers, 1, __ATOMIC_RELAXED);
#endif
    return busy;
}
GASNETI_INLINE int gasnett_rwlock_trywrlock(gasnett_rwlock_t *l)
{
    int busy = pthread_rwlock_trywrlock(&l->lock);
#if GASNET_DEBUG
    if (!busy) gasneti_holder_take(&l->holder);
#endif
    return busy;
}
GASNETI_INLINE void gasnett_rwlock_unlock(gasnett_rwlock_t *l)
{
#if GASNET_DEBUG
    if (gasneti_holder_is_me(&l->holder)) {
        gasneti_holder_drop(&l->holder);
    } else {
        gasneti_holder_require(gasneti_holder_readers(&l->holder) > 0,
                               "gasnett_rwlock_unlock: this thread does not hold the lock");
        (void)__atomic_fetch_sub(&l->holder.readers, 1, __ATOMIC_RELAXED);
    }
#endif
    (void)pthread_rwlock_unlock(&l->lock);
}
/* Debug builds abort the program if the assertion is false.  Readers are counted, not identified,
 * so assertions about readers only test whether any exist.  */
GASNETI_INLINE void gasnett_rwlock_assertlocked(gasnett_rwlock_t *l)
{
#if GASNET_DEBUG
    gasneti_holder_require(gasneti_holder_is_me(&l->holder) || gasneti_holder_readers(&l->holder),
                           "gasnett_rwlock_assertlocked: the lock is not held");
#endif
    (void)l;
}
GASNETI_INLINE void gasnett_rwlock_assertrdlocked(gasnett_rwlock_t *l)
{
#if GASNET_DEBUG
    gasneti_holder_require(gasneti_holder_readers(&l->holder),
                           "gasnett_rwlock_assertrdlocked: the lock is not held for reading");
#endif
    (void)l;
}
GASNETI_INLINE void gasnett_rwlock_assertwrlocked(gasnett_rwlock_t *l)
{
#if GASNET_DEBUG
    gasneti_holder_require(gasneti_holder_is_me(&l->holder),
                           "gasnett_rwlock_assertwrlocked: this thread is not the writer");
#endif
    (void)l;
}
GASNETI_INLINE void gasnett_rwlock_assertunlocked(gasnett_rwlock_t *l)
{
#if GASNET_DEBUG
    gasneti_holder_require(!gasneti_holder_is_me(&l->holder),
                           "gasnett_rwlock_assertunlocked: this thread is the writer");
#endif
    (void)l;
}

GASNETI_EXPORTS_END
#endif
