/* gasnet_barrier.h - the barrier of the job, and thread identification; of both interfaces.
 *
 * Private part of gasnetex.h.  Barriers: after gasnet_attach or gex_Client_Init, client code with
 * no lock held; errors are fatal.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_barrier.h is private: include gasnet.h"
#endif
#ifndef GASNETI_BARRIER_H
#define GASNETI_BARRIER_H

GASNETI_EXPORTS_BEGIN

/* --- Entry points of the library; not for clients --- */

extern void gasnete_barrier_notify(int id, int flags);
extern int gasnete_barrier_wait(int id, int flags);
extern int gasnete_barrier_try(int id, int flags);
extern int gasnete_barrier(int id, int flags);
extern int gasnete_barrier_result(int *id);

extern gasnet_threadinfo_t gasnete_threadinfo(void);

#if GASNET_DEBUG
/* Fatal where barriers are illegal, or for unknown flags. */
extern void gasnete_check_barrier(const char *call, int flags);
#else
GASNETI_INLINE void gasnete_check_barrier(const char *call, int flags)
{
    (void)call, (void)flags;
}
#endif

/* --- Barrier: one notify, then one wait or successful try, by one thread at a time --- */

/* Begins a barrier and returns without waiting for other nodes.  flags: 0 for the given id, or
 * GASNET_BARRIERFLAG_ values; the wait or try must pass the same id and flags.  */
GASNETI_INLINE void gasnet_barrier_notify(int id, int flags)
{
    gasnete_check_barrier("gasnet_barrier_notify", flags);
    gasnete_barrier_notify(id, flags);
}
/* Polls until all nodes have notified.  Returns GASNET_OK or GASNET_ERR_BARRIER_MISMATCH.  */
GASNETI_INLINE int gasnet_barrier_wait(int id, int flags)
{
    gasnete_check_barrier("gasnet_barrier_wait", flags);
    return gasnete_barrier_wait(id, flags);
}
/* Polls once, and tests.  Returns as gasnet_barrier_wait, or GASNET_ERR_NOT_READY: the barrier is
 * not complete.  */
GASNETI_INLINE int gasnet_barrier_try(int id, int flags)
{
    gasnete_check_barrier("gasnet_barrier_try", flags);
    return gasnete_barrier_try(id, flags);
}
/* gasnet_barrier_notify and gasnet_barrier_wait.  */
GASNETI_INLINE int gasnet_barrier(int id, int flags)
{
    gasnete_check_barrier("gasnet_barrier", flags);
    return gasnete_barrier(id, flags);
}
/* Returns 0 and stores the id of the last completed barrier of this node; non-zero if no node named
 * an id, or on a mismatch.  */
GASNETI_INLINE int gasnet_barrier_result(int *id)
{
    gasneti_check_client_code("gasnet_barrier_result");
    return gasnete_barrier_result(id);
}

/* --- Thread identification; its use is optional --- */

/* Macros, because two of them expand to a declaration.  The value is constant in a thread and
 * differs between live threads; without threads it is any constant.  */

/* What identifies the calling thread.  */
#if GASNETI_THREADS
#define GASNET_GET_THREADINFO() gasnete_threadinfo()
#else
#define GASNET_GET_THREADINFO() ((gasnet_threadinfo_t)0)
#endif
/* Empty.  Clients write it behind the last argument of a call, for a further argument and its
 * comma, which this library's calls do not have.  */
#define GASNETE_THREAD_GET

/* Set by GASNET_POST_THREADINFO, under a name that some clients read; NULL in functions that do not
 * post.  */
extern gasnet_threadinfo_t gasnete_threadinfo_cache;
extern int gasneti_takes_the_semicolon; /* never defined; see below */
#if defined(__GNUC__)
#define GASNETI_SHADOWING_BEGIN                                                                    \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define GASNETI_SHADOWING_END _Pragma("GCC diagnostic pop")
#else
#define GASNETI_SHADOWING_BEGIN
#define GASNETI_SHADOWING_END
#endif
/* Declares what identifies the calling thread, for the calls in the same block.  */
#define GASNET_POST_THREADINFO(info)                                                               \
    GASNETI_SHADOWING_BEGIN                                                                        \
    gasnet_threadinfo_t gasneti_posted_threadinfo = (info);                                        \
    gasnet_threadinfo_t gasnete_threadinfo_cache GASNETI_ATTRIBUTE((__unused__)) =                 \
        gasneti_posted_threadinfo;                                                                 \
    GASNETI_SHADOWING_END                                                                          \
    extern int gasneti_takes_the_semicolon GASNETI_ATTRIBUTE((__unused__))
/* GASNET_POST_THREADINFO of 0: the library does not use the posted value.  */
#define GASNET_BEGIN_FUNCTION() GASNET_POST_THREADINFO((gasnet_threadinfo_t)0)

GASNETI_EXPORTS_END
#endif
