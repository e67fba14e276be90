/* gasnet_mutex.h - the two kinds of mutex: of pthreads, and of programs without threads.
 *
 * Private part of gasnet.h, whose handler-safe locks contain a mutex, and of gasnet_tools.h.
 */
#if !defined(GASNETI_IN_GASNET_H) && !defined(GASNETI_IN_GASNET_TOOLS_H)
#error "gasnet_mutex.h is private: include gasnet.h or gasnet_tools.h"
#endif
#ifndef GASNETI_MUTEX_H
#define GASNETI_MUTEX_H

#include <pthread.h>

GASNETI_EXPORTS_BEGIN

/* The holder of a lock; debug builds only.  */
#if GASNET_DEBUG
typedef struct {
    int held; /* 1 while a thread holds the lock exclusively */
    int readers;
    pthread_t owner; /* that thread */
} gasneti_holder_t;
#define GASNETI_HOLDER_INITIALIZER                                                                 \
    ,                                                                                              \
    {                                                                                              \
        0, 0, 0                                                                                    \
    }

GASNETI_INLINE int gasneti_holder_is_me(gasneti_holder_t *h)
{
    return __atomic_load_n(&h->held, __ATOMIC_RELAXED) &&
           pthread_equal(__atomic_load_n(&h->owner, __ATOMIC_RELAXED), pthread_self());
}
GASNETI_INLINE void gasneti_holder_take(gasneti_holder_t *h)
{
    __atomic_store_n(&h->owner, pthread_self(), __ATOMIC_RELAXED);
    __atomic_store_n(&h->held, 1, __ATOMIC_RELAXED);
}
GASNETI_INLINE void gasneti_holder_drop(gasneti_holder_t *h)
{
    __atomic_store_n(&h->held, 0, __ATOMIC_RELAXED);
}
GASNETI_INLINE int gasneti_holder_readers(gasneti_holder_t *h)
{
    return __atomic_load_n(&h->readers, __ATOMIC_RELAXED);
}
#else
#define GASNETI_HOLDER_INITIALIZER
#endif

typedef struct {
    pthread_mutex_t lock;
#if GASNET_DEBUG
    gasneti_holder_t holder;
#endif
} gasneti_mutex_t;
#define GASNETI_MUTEX_INITIALIZER                                                                  \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER GASNETI_HOLDER_INITIALIZER                                       \
    }

/* The state of a lock in a program without threads.  */
typedef struct {
    int held; /* 0 free, 1 exclusively, -1 for reading; debug builds only */
} gasneti_seqlock_t;

GASNETI_EXPORTS_END
#endif
