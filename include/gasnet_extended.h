/* gasnet_extended.h - Extended API: puts, gets, memset, values, their synchronisation, barriers,
 * and thread identification.
 *
 * Private part of gasnet.h.  All calls: P2, client code with no lock held; errors are fatal. `node`
 * is a rank.  The remote address is in that node's segment (anywhere in GASNET_SEGMENT_EVERYTHING);
 * the local one may be anywhere, a source also in read-only memory. nbytes may be any size; a
 * transfer of 0 bytes does nothing and ignores the addresses.  Source and destination may be
 * identical but must not partly overlap.  The specification requires aligned addresses of non-bulk
 * forms; this library accepts any alignment.  Operations are unordered except by synchronisation.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_extended.h is private: include gasnet.h"
#endif
#ifndef GASNETI_EXTENDED_H
#define GASNETI_EXTENDED_H

#define GASNETI_MUST_SYNC GASNETI_ATTRIBUTE((__warn_unused_result__))

GASNETI_EXPORTS_BEGIN

/* --- Entry points of the library; not for clients --- */

extern void gasnete_get(void *dest, gasnet_node_t node, void *src, size_t nbytes);
extern void gasnete_put(gasnet_node_t node, void *dest, void *src, size_t nbytes);
extern void gasnete_memset(gasnet_node_t node, void *dest, int val, size_t nbytes);

/* For nodes whose memory is not shared with this one (gasnet_pshm.h). */
extern void gasnete_get_far(void *dest, gasnet_node_t node, void *src, size_t nbytes);
extern void gasnete_put_far(gasnet_node_t node, void *dest, void *src, size_t nbytes);
extern gasnet_handle_t gasnete_get_nb_far(void *dest, gasnet_node_t node, void *src,
                                          size_t nbytes) GASNETI_MUST_SYNC;
extern gasnet_handle_t gasnete_put_nb_far(gasnet_node_t node, void *dest, void *src,
                                          size_t nbytes) GASNETI_MUST_SYNC;
extern gasnet_handle_t gasnete_put_nb_bulk_far(gasnet_node_t node, void *dest, void *src,
                                               size_t nbytes) GASNETI_MUST_SYNC;
extern void gasnete_get_nbi_far(void *dest, gasnet_node_t node, void *src, size_t nbytes);
extern void gasnete_put_nbi_far(gasnet_node_t node, void *dest, void *src, size_t nbytes);
extern void gasnete_put_nbi_bulk_far(gasnet_node_t node, void *dest, void *src, size_t nbytes);

extern gasnet_handle_t gasnete_get_nb(void *dest, gasnet_node_t node, void *src,
                                      size_t nbytes) GASNETI_MUST_SYNC;
extern gasnet_handle_t gasnete_put_nb(gasnet_node_t node, void *dest, void *src,
                                      size_t nbytes) GASNETI_MUST_SYNC;
extern gasnet_handle_t gasnete_put_nb_bulk(gasnet_node_t node, void *dest, void *src,
                                           size_t nbytes) GASNETI_MUST_SYNC;
extern gasnet_handle_t gasnete_memset_nb(gasnet_node_t node, void *dest, int val,
                                         size_t nbytes) GASNETI_MUST_SYNC;

extern void gasnete_get_nbi(void *dest, gasnet_node_t node, void *src, size_t nbytes);
extern void gasnete_put_nbi(gasnet_node_t node, void *dest, void *src, size_t nbytes);
extern void gasnete_put_nbi_bulk(gasnet_node_t node, void *dest, void *src, size_t nbytes);
extern void gasnete_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes);

extern void gasnete_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t value,
                            size_t nbytes);
extern gasnet_handle_t gasnete_put_nb_val(gasnet_node_t node, void *dest,
                                          gasnet_register_value_t value,
                                          size_t nbytes) GASNETI_MUST_SYNC;
extern void gasnete_put_nbi_val(gasnet_node_t node, void *dest, gasnet_register_value_t value,
                                size_t nbytes);
extern gasnet_register_value_t gasnete_get_val(gasnet_node_t node, void *src, size_t nbytes);
extern gasnet_valget_handle_t gasnete_get_nb_val(gasnet_node_t node, void *src,
                                                 size_t nbytes) GASNETI_MUST_SYNC;
extern gasnet_register_value_t gasnete_wait_syncnb_valget(gasnet_valget_handle_t handle);

extern void gasnete_wait_syncnb(gasnet_handle_t handle);
extern int gasnete_try_syncnb(gasnet_handle_t handle);
extern int gasnete_try_syncnb_nopoll(gasnet_handle_t handle);
extern void gasnete_wait_syncnb_some(gasnet_handle_t *handles, size_t numhandles);
extern int gasnete_try_syncnb_some(gasnet_handle_t *handles, size_t numhandles);
extern int gasnete_try_syncnb_some_nopoll(gasnet_handle_t *handles, size_t numhandles);
extern void gasnete_wait_syncnb_all(gasnet_handle_t *handles, size_t numhandles);
extern int gasnete_try_syncnb_all(gasnet_handle_t *handles, size_t numhandles);
extern int gasnete_try_syncnb_all_nopoll(gasnet_handle_t *handles, size_t numhandles);

extern void gasnete_wait_syncnbi_gets(void);
extern void gasnete_wait_syncnbi_puts(void);
extern void gasnete_wait_syncnbi_all(void);
extern int gasnete_try_syncnbi_gets(void);
extern int gasnete_try_syncnbi_puts(void);
extern int gasnete_try_syncnbi_all(void);
extern void gasnete_begin_nbi_accessregion(void);
extern gasnet_handle_t gasnete_end_nbi_accessregion(void) GASNETI_MUST_SYNC;

extern void gasnete_barrier_notify(int id, int flags);
extern int gasnete_barrier_wait(int id, int flags);
extern int gasnete_barrier_try(int id, int flags);
extern int gasnete_barrier(int id, int flags);
extern int gasnete_barrier_result(int *id);

extern gasnet_threadinfo_t gasnete_threadinfo(void);

#if GASNET_DEBUG
/* Fatal where transfers are illegal, for an invalid rank, or if the range is neither empty nor in
 * the node's segment.  */
extern void gasnete_check_remote(const char *call, gasnet_node_t node, const void *start,
                                 size_t nbytes);
/* Fatal where barriers are illegal, or for unknown flags. */
extern void gasnete_check_barrier(const char *call, int flags);
#else
GASNETI_INLINE void gasnete_check_remote(const char *call, gasnet_node_t node, const void *start,
                                         size_t nbytes)
{
    (void)call, (void)node, (void)start, (void)nbytes;
}
GASNETI_INLINE void gasnete_check_barrier(const char *call, int flags)
{
    (void)call, (void)flags;
}
#endif

/* Makes one of two calls, if gasnet_pshm.h has not done a transfer: `far` where the network alone
 * reaches the node, else `any`. */
#define GASNETI_UNLESS_SHM(outcome, far, any)                                                      \
    do {                                                                                           \
        const int gasneti_outcome = (outcome);                                                     \
        if (gasneti_outcome == GASNETI_SHM_FAR)                                                    \
            far;                                                                                   \
        else if (gasneti_outcome != GASNETI_SHM_DONE)                                              \
            any;                                                                                   \
    } while (0)

/* --- Blocking transfers: on return the data is visible to loads and later gets --- */

GASNETI_INLINE void gasnet_get(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    gasnete_check_remote("gasnet_get", node, src, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_get(dest, node, src, nbytes),
                       gasnete_get_far(dest, node, src, nbytes),
                       gasnete_get(dest, node, src, nbytes));
}
GASNETI_INLINE void gasnet_get_bulk(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    gasnete_check_remote("gasnet_get_bulk", node, src, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_get(dest, node, src, nbytes),
                       gasnete_get_far(dest, node, src, nbytes),
                       gasnete_get(dest, node, src, nbytes));
}
GASNETI_INLINE void gasnet_put(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    gasnete_check_remote("gasnet_put", node, dest, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_put(node, dest, src, nbytes),
                       gasnete_put_far(node, dest, src, nbytes),
                       gasnete_put(node, dest, src, nbytes));
}
GASNETI_INLINE void gasnet_put_bulk(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    gasnete_check_remote("gasnet_put_bulk", node, dest, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_put(node, dest, src, nbytes),
                       gasnete_put_far(node, dest, src, nbytes),
                       gasnete_put(node, dest, src, nbytes));
}
/* Writes nbytes copies of (unsigned char)val. */
GASNETI_INLINE void gasnet_memset(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
    gasnete_check_remote("gasnet_memset", node, dest, nbytes);
    gasnete_memset(node, dest, val, nbytes);
}

/* --- Non-blocking, explicit handle --- */

/* A call may return GASNET_INVALID_HANDLE if the operation is already complete, and may block,
 * polling, for resources.  A handle must be synchronised exactly once, by any thread.  The
 * destination of a get, and the effect of a put, are defined after the synchronisation. */

GASNETI_INLINE gasnet_handle_t gasnet_get_nb(void *dest, gasnet_node_t node, void *src,
                                             size_t nbytes) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_get_nb(void *dest, gasnet_node_t node, void *src,
                                             size_t nbytes)
{
    gasnet_handle_t handle = GASNET_INVALID_HANDLE;
    gasnete_check_remote("gasnet_get_nb", node, src, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_get(dest, node, src, nbytes),
                       handle = gasnete_get_nb_far(dest, node, src, nbytes),
                       handle = gasnete_get_nb(dest, node, src, nbytes));
    return handle;
}
GASNETI_INLINE gasnet_handle_t gasnet_get_nb_bulk(void *dest, gasnet_node_t node, void *src,
                                                  size_t nbytes) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_get_nb_bulk(void *dest, gasnet_node_t node, void *src,
                                                  size_t nbytes)
{
    gasnet_handle_t handle = GASNET_INVALID_HANDLE;
    gasnete_check_remote("gasnet_get_nb_bulk", node, src, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_get(dest, node, src, nbytes),
                       handle = gasnete_get_nb_far(dest, node, src, nbytes),
                       handle = gasnete_get_nb(dest, node, src, nbytes));
    return handle;
}
/* src may be reused on return.  */
GASNETI_INLINE gasnet_handle_t gasnet_put_nb(gasnet_node_t node, void *dest, void *src,
                                             size_t nbytes) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_put_nb(gasnet_node_t node, void *dest, void *src,
                                             size_t nbytes)
{
    gasnet_handle_t handle = GASNET_INVALID_HANDLE;
    gasnete_check_remote("gasnet_put_nb", node, dest, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_put(node, dest, src, nbytes),
                       handle = gasnete_put_nb_far(node, dest, src, nbytes),
                       handle = gasnete_put_nb(node, dest, src, nbytes));
    return handle;
}
/* src must not change until the synchronisation.  */
GASNETI_INLINE gasnet_handle_t gasnet_put_nb_bulk(gasnet_node_t node, void *dest, void *src,
                                                  size_t nbytes) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_put_nb_bulk(gasnet_node_t node, void *dest, void *src,
                                                  size_t nbytes)
{
    gasnet_handle_t handle = GASNET_INVALID_HANDLE;
    gasnete_check_remote("gasnet_put_nb_bulk", node, dest, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_put(node, dest, src, nbytes),
                       handle = gasnete_put_nb_bulk_far(node, dest, src, nbytes),
                       handle = gasnete_put_nb_bulk(node, dest, src, nbytes));
    return handle;
}
GASNETI_INLINE gasnet_handle_t gasnet_memset_nb(gasnet_node_t node, void *dest, int val,
                                                size_t nbytes) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_memset_nb(gasnet_node_t node, void *dest, int val,
                                                size_t nbytes)
{
    gasnete_check_remote("gasnet_memset_nb", node, dest, nbytes);
    return gasnete_memset_nb(node, dest, val, nbytes);
}

/* Polls until the operation is complete; GASNET_INVALID_HANDLE counts as complete.  */
GASNETI_INLINE void gasnet_wait_syncnb(gasnet_handle_t handle)
{
    gasneti_check_client_code("gasnet_wait_syncnb");
    if_pt(handle != GASNET_INVALID_HANDLE) gasnete_wait_syncnb(handle);
}
/* Polls once, then tests: GASNET_OK, which invalidates the handle, or GASNET_ERR_NOT_READY.  */
GASNETI_INLINE int gasnet_try_syncnb(gasnet_handle_t handle)
{
    return gasnete_try_syncnb(handle);
}
/* The _nopoll forms test without polling. */
GASNETI_INLINE int gasnet_try_syncnb_nopoll(gasnet_handle_t handle)
{
    return gasnete_try_syncnb_nopoll(handle);
}

/* Arrays of handles.  Completed handles are overwritten with GASNET_INVALID_HANDLE; invalid ones
 * are ignored; a list without valid handles counts as complete.  _some: at least one handle
 * completed in this call; _all: every handle is complete.  */
GASNETI_INLINE void gasnet_wait_syncnb_some(gasnet_handle_t *handles, size_t numhandles)
{
    gasnete_wait_syncnb_some(handles, numhandles);
}
GASNETI_INLINE int gasnet_try_syncnb_some(gasnet_handle_t *handles, size_t numhandles)
{
    return gasnete_try_syncnb_some(handles, numhandles);
}
GASNETI_INLINE int gasnet_try_syncnb_some_nopoll(gasnet_handle_t *handles, size_t numhandles)
{
    return gasnete_try_syncnb_some_nopoll(handles, numhandles);
}
GASNETI_INLINE void gasnet_wait_syncnb_all(gasnet_handle_t *handles, size_t numhandles)
{
    gasnete_wait_syncnb_all(handles, numhandles);
}
GASNETI_INLINE int gasnet_try_syncnb_all(gasnet_handle_t *handles, size_t numhandles)
{
    return gasnete_try_syncnb_all(handles, numhandles);
}
GASNETI_INLINE int gasnet_try_syncnb_all_nopoll(gasnet_handle_t *handles, size_t numhandles)
{
    return gasnete_try_syncnb_all_nopoll(handles, numhandles);
}

/* --- Non-blocking, implicit handle: one synchronisation for all operations of a thread --- */

GASNETI_INLINE void gasnet_get_nbi(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    gasnete_check_remote("gasnet_get_nbi", node, src, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_get(dest, node, src, nbytes),
                       gasnete_get_nbi_far(dest, node, src, nbytes),
                       gasnete_get_nbi(dest, node, src, nbytes));
}
GASNETI_INLINE void gasnet_get_nbi_bulk(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    gasnete_check_remote("gasnet_get_nbi_bulk", node, src, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_get(dest, node, src, nbytes),
                       gasnete_get_nbi_far(dest, node, src, nbytes),
                       gasnete_get_nbi(dest, node, src, nbytes));
}
/* src may be reused on return.  */
GASNETI_INLINE void gasnet_put_nbi(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    gasnete_check_remote("gasnet_put_nbi", node, dest, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_put(node, dest, src, nbytes),
                       gasnete_put_nbi_far(node, dest, src, nbytes),
                       gasnete_put_nbi(node, dest, src, nbytes));
}
/* src must not change until the synchronisation.  */
GASNETI_INLINE void gasnet_put_nbi_bulk(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    gasnete_check_remote("gasnet_put_nbi_bulk", node, dest, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_put(node, dest, src, nbytes),
                       gasnete_put_nbi_bulk_far(node, dest, src, nbytes),
                       gasnete_put_nbi_bulk(node, dest, src, nbytes));
}
GASNETI_INLINE void gasnet_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
    gasnete_check_remote("gasnet_memset_nbi", node, dest, nbytes);
    gasnete_memset_nbi(node, dest, val, nbytes);
}

/* The calls below apply to the operations that this thread started outside access regions; memset
 * and value puts count as puts.  The try forms poll once and return GASNET_OK or
 * GASNET_ERR_NOT_READY.  */
GASNETI_INLINE void gasnet_wait_syncnbi_gets(void)
{
    gasnete_wait_syncnbi_gets();
}
GASNETI_INLINE void gasnet_wait_syncnbi_puts(void)
{
    gasnete_wait_syncnbi_puts();
}
GASNETI_INLINE void gasnet_wait_syncnbi_all(void)
{
    gasnete_wait_syncnbi_all();
}
GASNETI_INLINE int gasnet_try_syncnbi_gets(void)
{
    return gasnete_try_syncnbi_gets();
}
GASNETI_INLINE int gasnet_try_syncnbi_puts(void)
{
    return gasnete_try_syncnbi_puts();
}
GASNETI_INLINE int gasnet_try_syncnbi_all(void)
{
    return gasnete_try_syncnbi_all();
}

/* The handle that end returns stands for all implicit operations that this thread started since
 * begin.  Regions do not nest and must not contain an implicit synchronisation.  */
GASNETI_INLINE void gasnet_begin_nbi_accessregion(void)
{
    gasnete_begin_nbi_accessregion();
}
GASNETI_INLINE gasnet_handle_t gasnet_end_nbi_accessregion(void) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_end_nbi_accessregion(void)
{
    return gasnete_end_nbi_accessregion();
}

/* Fatal error for a value of 0 or more than SIZEOF_GASNET_REGISTER_VALUE_T bytes.  */
extern void gasnete_bad_value(const char *call, size_t nbytes) GASNETI_ATTRIBUTE((__noreturn__));
GASNETI_INLINE void gasnete_check_value(const char *call, size_t nbytes)
{
    if_pf(nbytes - 1 >= sizeof(gasnet_register_value_t)) gasnete_bad_value(call, nbytes);
}

/* --- Values --- */

/* A value is an integer of nbytes bytes in native byte order, 1 <= nbytes <=
 * SIZEOF_GASNET_REGISTER_VALUE_T.  Gets are zero-extended.  */

GASNETI_INLINE void gasnet_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t value,
                                   size_t nbytes)
{
    gasnete_check_value("gasnet_put_val", nbytes);
    if (gasneti_shm_put(node, dest, gasneti_low_bytes(&value, nbytes), nbytes) != GASNETI_SHM_DONE)
        gasnete_put_val(node, dest, value, nbytes);
}
GASNETI_INLINE gasnet_handle_t gasnet_put_nb_val(gasnet_node_t node, void *dest,
                                                 gasnet_register_value_t value,
                                                 size_t nbytes) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_put_nb_val(gasnet_node_t node, void *dest,
                                                 gasnet_register_value_t value, size_t nbytes)
{
    gasnete_check_value("gasnet_put_nb_val", nbytes);
    if (gasneti_shm_put(node, dest, gasneti_low_bytes(&value, nbytes), nbytes) == GASNETI_SHM_DONE)
        return GASNET_INVALID_HANDLE;
    return gasnete_put_nb_val(node, dest, value, nbytes);
}
GASNETI_INLINE void gasnet_put_nbi_val(gasnet_node_t node, void *dest,
                                       gasnet_register_value_t value, size_t nbytes)
{
    gasnete_check_value("gasnet_put_nbi_val", nbytes);
    if (gasneti_shm_put(node, dest, gasneti_low_bytes(&value, nbytes), nbytes) != GASNETI_SHM_DONE)
        gasnete_put_nbi_val(node, dest, value, nbytes);
}
GASNETI_INLINE gasnet_register_value_t gasnet_get_val(gasnet_node_t node, void *src, size_t nbytes)
{
    gasnet_register_value_t value = 0;
    gasnete_check_value("gasnet_get_val", nbytes);
    if (gasneti_shm_get(gasneti_low_bytes(&value, nbytes), node, src, nbytes) == GASNETI_SHM_DONE)
        return value;
    return gasnete_get_val(node, src, nbytes);
}
GASNETI_INLINE gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, void *src,
                                                        size_t nbytes) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, void *src,
                                                        size_t nbytes)
{
    gasnete_check_value("gasnet_get_nb_val", nbytes);
    return gasnete_get_nb_val(node, src, nbytes);
}
/* Waits for the value and returns it.  Called once for each handle, in any order, by the thread
 * that created it.  */
GASNETI_INLINE gasnet_register_value_t gasnet_wait_syncnb_valget(gasnet_valget_handle_t handle)
{
    return gasnete_wait_syncnb_valget(handle);
}

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
/* Polls once.  Returns as gasnet_barrier_wait, or GASNET_ERR_NOT_READY: the barrier is not
 * complete.  */
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
#define GASNET_POST_THREADINFO(info)                                                               \
    GASNETI_SHADOWING_BEGIN                                                                        \
    gasnet_threadinfo_t gasneti_posted_threadinfo = (info);                                        \
    gasnet_threadinfo_t gasnete_threadinfo_cache GASNETI_ATTRIBUTE((__unused__)) =                 \
        gasneti_posted_threadinfo;                                                                 \
    GASNETI_SHADOWING_END                                                                          \
    extern int gasneti_takes_the_semicolon GASNETI_ATTRIBUTE((__unused__))
/* Posts 0: the library does not use the posted value.  */
#define GASNET_BEGIN_FUNCTION() GASNET_POST_THREADINFO((gasnet_threadinfo_t)0)

GASNETI_EXPORTS_END
#endif
