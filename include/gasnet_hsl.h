/* gasnet_hsl.h - atomicity control: no-interrupt sections and handler-safe locks (HSL).
 *
 * Private part of gasnet.h.  Handler-safe locks are the only locks that a handler may acquire.  In
 * production builds a lock is a mutex, or nothing in SEQ builds where all handlers run on the
 * client's thread.  In debug builds every call is a function of the library that checks these
 * rules:
 *
 * gasnet_hold_interrupts and gasnet_resume_interrupts enclose code during which no handler runs in
 * this thread.  They are paired, not nested, and ignored in handlers and with a lock held.
 *
 * gasnet_hsl_lock, gasnet_hsl_unlock: a lock is not recursive, is released in reverse order of
 * acquisition, and is held briefly, not across a reply or the end of a handler.
 *
 * gasnet_hsl_trylock returns GASNET_OK, or GASNET_ERR_NOT_READY if another thread holds the lock;
 * it does not block.  gasnet_hsl_destroy: the lock must be free.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_hsl.h is private: include gasnet.h"
#endif
#ifndef GASNETI_HSL_H
#define GASNETI_HSL_H

GASNETI_EXPORTS_BEGIN

#include "gasnet_mutex.h"

/* A lock, initialised statically by GASNET_HSL_INITIALIZER or once by gasnet_hsl_init.  The thread
 * that holds it may wait by gasnett_cond_wait with `lock`, which is a gasnett_mutex_t.  */
#if GASNETI_HSL_LOCKS
typedef gasneti_mutex_t gasneti_hsl_mutex_t;
#define GASNETI_HSL_MUTEX_INITIALIZER GASNETI_MUTEX_INITIALIZER
#else
typedef gasneti_seqlock_t gasneti_hsl_mutex_t;
#define GASNETI_HSL_MUTEX_INITIALIZER                                                              \
    {                                                                                              \
        0                                                                                          \
    }
#endif
#if GASNET_DEBUG
#define GASNETI_HSL_LIVE   0x48534c21 /* state of a lock that gasnet_hsl_init has initialised */
#define GASNETI_HSL_STATIC 0x48534c53 /* state of a lock with GASNET_HSL_INITIALIZER */
typedef struct gasneti_hsl {
    gasneti_hsl_mutex_t lock;
    int live;                  /* GASNETI_HSL_LIVE or _STATIC from initialisation to destruction */
    struct gasneti_hsl *below; /* lock that the holder acquired before this one */
    uint64_t since;            /* time of acquisition, ns */
} gasnet_hsl_t;
#define GASNET_HSL_INITIALIZER                                                                     \
    {                                                                                              \
        GASNETI_HSL_MUTEX_INITIALIZER, GASNETI_HSL_STATIC, 0, 0                                    \
    }
#else
typedef struct gasneti_hsl {
    gasneti_hsl_mutex_t lock;
} gasnet_hsl_t;
#define GASNET_HSL_INITIALIZER                                                                     \
    {                                                                                              \
        GASNETI_HSL_MUTEX_INITIALIZER                                                              \
    }
#endif

#if GASNET_DEBUG

extern void gasnetc_hold_interrupts(void);
extern void gasnetc_resume_interrupts(void);
extern void gasnetc_hsl_init(gasnet_hsl_t *hsl);
extern void gasnetc_hsl_destroy(gasnet_hsl_t *hsl);
extern void gasnetc_hsl_lock(gasnet_hsl_t *hsl);
extern void gasnetc_hsl_unlock(gasnet_hsl_t *hsl);
extern int gasnetc_hsl_trylock(gasnet_hsl_t *hsl);

/* Begin and end code during which no handler runs in this thread.  */
GASNETI_INLINE void gasnet_hold_interrupts(void)
{
    gasnetc_hold_interrupts();
}
GASNETI_INLINE void gasnet_resume_interrupts(void)
{
    gasnetc_resume_interrupts();
}
/* Begin and end the life of a lock, which is free.  */
GASNETI_INLINE void gasnet_hsl_init(gasnet_hsl_t *hsl)
{
    gasnetc_hsl_init(hsl);
}
GASNETI_INLINE void gasnet_hsl_destroy(gasnet_hsl_t *hsl)
{
    gasnetc_hsl_destroy(hsl);
}
/* Acquire and release a lock.  */
GASNETI_INLINE void gasnet_hsl_lock(gasnet_hsl_t *hsl)
{
    gasnetc_hsl_lock(hsl);
}
GASNETI_INLINE void gasnet_hsl_unlock(gasnet_hsl_t *hsl)
{
    gasnetc_hsl_unlock(hsl);
}
/* Acquires a lock if it is free: GASNET_OK, else GASNET_ERR_NOT_READY.  */
GASNETI_INLINE int gasnet_hsl_trylock(gasnet_hsl_t *hsl)
{
    return gasnetc_hsl_trylock(hsl);
}

#else /* production */

/* Empty in production builds: handlers run only in calls that poll.  */
GASNETI_INLINE void gasnet_hold_interrupts(void) {}
GASNETI_INLINE void gasnet_resume_interrupts(void) {}

#if GASNETI_HSL_LOCKS

GASNETI_INLINE void gasnet_hsl_init(gasnet_hsl_t *hsl)
{
    (void)pthread_mutex_init(&hsl->lock.lock, NULL);
}
GASNETI_INLINE void gasnet_hsl_destroy(gasnet_hsl_t *hsl)
{
    (void)pthread_mutex_destroy(&hsl->lock.lock);
}
GASNETI_INLINE void gasnet_hsl_lock(gasnet_hsl_t *hsl)
{
    (void)pthread_mutex_lock(&hsl->lock.lock);
}
GASNETI_INLINE void gasnet_hsl_unlock(gasnet_hsl_t *hsl)
{
    (void)pthread_mutex_unlock(&hsl->lock.lock);
}
GASNETI_INLINE int gasnet_hsl_trylock(gasnet_hsl_t *hsl)
{
    return pthread_mutex_trylock(&hsl->lock.lock) ? GASNET_ERR_NOT_READY : GASNET_OK;
}

#else

GASNETI_INLINE void gasnet_hsl_init(gasnet_hsl_t *hsl)
{
    (void)hsl;
}
GASNETI_INLINE void gasnet_hsl_destroy(gasnet_hsl_t *hsl)
{
    (void)hsl;
}
GASNETI_INLINE void gasnet_hsl_lock(gasnet_hsl_t *hsl)
{
    (void)hsl;
}
GASNETI_INLINE void gasnet_hsl_unlock(gasnet_hsl_t *hsl)
{
    (void)hsl;
}
GASNETI_INLINE int gasnet_hsl_trylock(gasnet_hsl_t *hsl)
{
    (void)hsl;
    return GASNET_OK;
}

#endif
#endif

GASNETI_EXPORTS_END
#endif
