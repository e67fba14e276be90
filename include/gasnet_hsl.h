/* gasnet_hsl.h - atomicity control: no-interrupt sections and handler-safe locks (HSL).
 *
 * Private part of gasnet.h.  A handler may take no other lock than these.  Without client threads
 * in a production build the calls vanish; with them a lock is a mutex, locked inline; in debug
 * builds every call is a checking function of the library.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_hsl.h is private: include gasnet.h"
#endif
#ifndef GASNETI_HSL_H
#define GASNETI_HSL_H

GASNETI_EXPORTS_BEGIN

/* The lock.  Initialise statically with GASNET_HSL_INITIALIZER or once with gasnet_hsl_init.
 * Not recursive; released in reverse order of taking; held briefly; never across a reply or the end
 * of a handler. */
#if GASNET_DEBUG
#define GASNETI_HSL_LIVE   0x48534c21 /* state of a lock that gasnet_hsl_init has initialised */
#define GASNETI_HSL_STATIC 0x48534c53 /* the same of GASNET_HSL_INITIALIZER */
typedef struct gasneti_hsl {
#if GASNETI_THREADS
    pthread_mutex_t mutex;
#endif
    int live;                  /* GASNETI_HSL_LIVE or _STATIC from initialisation to destruction */
    void *owner;               /* library's mark of the holding thread, NULL when free */
    struct gasneti_hsl *below; /* lock the holder took before this one */
    uint64_t since;            /* when it was taken, ns */
} gasnet_hsl_t;
#if GASNETI_THREADS
#define GASNET_HSL_INITIALIZER                                                                     \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, GASNETI_HSL_STATIC, 0, 0, 0                                     \
    }
#else
#define GASNET_HSL_INITIALIZER                                                                     \
    {                                                                                              \
        GASNETI_HSL_STATIC, 0, 0, 0                                                                \
    }
#endif
#elif GASNETI_THREADS
typedef struct gasneti_hsl {
    pthread_mutex_t mutex;
} gasnet_hsl_t;
#define GASNET_HSL_INITIALIZER                                                                     \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER                                                                  \
    }
#else
typedef struct gasneti_hsl {
    char nothing; /* an empty structure is not standard C */
} gasnet_hsl_t;
#define GASNET_HSL_INITIALIZER                                                                     \
    {                                                                                              \
        0                                                                                          \
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

GASNETI_INLINE void gasnet_hold_interrupts(void)
{
    gasnetc_hold_interrupts();
}
GASNETI_INLINE void gasnet_resume_interrupts(void)
{
    gasnetc_resume_interrupts();
}
GASNETI_INLINE void gasnet_hsl_init(gasnet_hsl_t *hsl)
{
    gasnetc_hsl_init(hsl);
}
GASNETI_INLINE void gasnet_hsl_destroy(gasnet_hsl_t *hsl)
{
    gasnetc_hsl_destroy(hsl);
}
GASNETI_INLINE void gasnet_hsl_lock(gasnet_hsl_t *hsl)
{
    gasnetc_hsl_lock(hsl);
}
GASNETI_INLINE void gasnet_hsl_unlock(gasnet_hsl_t *hsl)
{
    gasnetc_hsl_unlock(hsl);
}
GASNETI_INLINE int gasnet_hsl_trylock(gasnet_hsl_t *hsl)
{
    return gasnetc_hsl_trylock(hsl);
}

#else /* production */

/* Bracket code during which no handler may interrupt this thread; paired, not nested; ignored in
 * handlers and under a lock.  Handlers run only from polling calls, so there is nothing to do. */
GASNETI_INLINE void gasnet_hold_interrupts(void) {}
GASNETI_INLINE void gasnet_resume_interrupts(void) {}

#if GASNETI_THREADS

GASNETI_INLINE void gasnet_hsl_init(gasnet_hsl_t *hsl)
{
    (void)pthread_mutex_init(&hsl->mutex, NULL);
}
GASNETI_INLINE void gasnet_hsl_destroy(gasnet_hsl_t *hsl)
{
    (void)pthread_mutex_destroy(&hsl->mutex);
}
GASNETI_INLINE void gasnet_hsl_lock(gasnet_hsl_t *hsl)
{
    (void)pthread_mutex_lock(&hsl->mutex);
}
GASNETI_INLINE void gasnet_hsl_unlock(gasnet_hsl_t *hsl)
{
    (void)pthread_mutex_unlock(&hsl->mutex);
}
/* GASNET_OK when taken, GASNET_ERR_NOT_READY when another holds it; never blocks. */
GASNETI_INLINE int gasnet_hsl_trylock(gasnet_hsl_t *hsl)
{
    return pthread_mutex_trylock(&hsl->mutex) ? GASNET_ERR_NOT_READY : GASNET_OK;
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
