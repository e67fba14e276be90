/* gasnet_extended.h - Extended API: puts, gets, memset, values, their synchronisation; barriers are
 * in gasnet_barrier.h.
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

GASNETI_EXPORTS_BEGIN

/* --- Blocking transfers: on return the data is visible to loads and later gets --- */

/* Reads nbytes at src of the node into dest.  */
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
/* Writes nbytes at src to dest of the node.  */
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
/* Writes nbytes copies of (unsigned char)val to dest of the node. */
GASNETI_INLINE void gasnet_memset(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
    gasnete_check_remote("gasnet_memset", node, dest, nbytes);
    gasnete_memset(node, dest, val, nbytes);
}

/* --- Non-blocking, explicit handle --- */

/* A call may return GASNET_INVALID_HANDLE if the operation is already complete, and may block,
 * polling, for resources.  A handle must be synchronised exactly once, by any thread.  The
 * destination of a get, and the effect of a put, are defined after the synchronisation. */

/* Begins a get.  */
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
/* Begins a put; src may be reused on return.  */
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
/* Begins a put; src must not change until the synchronisation.  */
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
/* Begins a memset.  */
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
/* Tests without polling, as all _nopoll forms do. */
GASNETI_INLINE int gasnet_try_syncnb_nopoll(gasnet_handle_t handle)
{
    return gasnete_try_syncnb_nopoll(handle);
}

/* Synchronises arrays of handles.  Completed handles are overwritten with GASNET_INVALID_HANDLE;
 * invalid ones are ignored; a list without valid handles counts as complete.  _some: at least one
 * handle completed in this call; _all: every handle is complete.  */
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

/* Begins a get.  */
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
/* Begins a put; src may be reused on return.  */
GASNETI_INLINE void gasnet_put_nbi(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    gasnete_check_remote("gasnet_put_nbi", node, dest, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_put(node, dest, src, nbytes),
                       gasnete_put_nbi_far(node, dest, src, nbytes),
                       gasnete_put_nbi(node, dest, src, nbytes));
}
/* Begins a put; src must not change until the synchronisation.  */
GASNETI_INLINE void gasnet_put_nbi_bulk(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    gasnete_check_remote("gasnet_put_nbi_bulk", node, dest, nbytes);
    GASNETI_UNLESS_SHM(gasneti_shm_put(node, dest, src, nbytes),
                       gasnete_put_nbi_bulk_far(node, dest, src, nbytes),
                       gasnete_put_nbi_bulk(node, dest, src, nbytes));
}
/* Begins a memset.  */
GASNETI_INLINE void gasnet_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
    gasnete_check_remote("gasnet_memset_nbi", node, dest, nbytes);
    gasnete_memset_nbi(node, dest, val, nbytes);
}

/* Synchronises the implicit operations that this thread started outside access regions; memset and
 * value puts count as puts.  The try forms poll once and return GASNET_OK or
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

/* Encloses implicit operations: the handle that end returns stands for all that this thread started
 * since begin.  Regions do not nest and must not contain an implicit synchronisation.  */
GASNETI_INLINE void gasnet_begin_nbi_accessregion(void)
{
    gasnete_begin_nbi_accessregion();
}
GASNETI_INLINE gasnet_handle_t gasnet_end_nbi_accessregion(void) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_handle_t gasnet_end_nbi_accessregion(void)
{
    return gasnete_end_nbi_accessregion();
}

/* --- Values --- */

/* A value is an integer of nbytes bytes in native byte order, 1 <= nbytes <=
 * SIZEOF_GASNET_REGISTER_VALUE_T.  Gets are zero-extended.  */

/* Writes a value.  */
GASNETI_INLINE void gasnet_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t value,
                                   size_t nbytes)
{
    gasneti_check_classic("gasnet_put_val");
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
    gasneti_check_classic("gasnet_put_nb_val");
    gasnete_check_value("gasnet_put_nb_val", nbytes);
    if (gasneti_shm_put(node, dest, gasneti_low_bytes(&value, nbytes), nbytes) == GASNETI_SHM_DONE)
        return GASNET_INVALID_HANDLE;
    return gasnete_put_nb_val(node, dest, value, nbytes);
}
GASNETI_INLINE void gasnet_put_nbi_val(gasnet_node_t node, void *dest,
                                       gasnet_register_value_t value, size_t nbytes)
{
    gasneti_check_classic("gasnet_put_nbi_val");
    gasnete_check_value("gasnet_put_nbi_val", nbytes);
    if (gasneti_shm_put(node, dest, gasneti_low_bytes(&value, nbytes), nbytes) != GASNETI_SHM_DONE)
        gasnete_put_nbi_val(node, dest, value, nbytes);
}
/* Reads a value.  */
GASNETI_INLINE gasnet_register_value_t gasnet_get_val(gasnet_node_t node, void *src, size_t nbytes)
{
    gasnet_register_value_t value = 0;
    gasneti_check_classic("gasnet_get_val");
    gasnete_check_value("gasnet_get_val", nbytes);
    if (gasneti_shm_get(gasneti_low_bytes(&value, nbytes), node, src, nbytes) == GASNETI_SHM_DONE)
        return value;
    return gasnete_get_val(node, src, nbytes);
}
/* Begins to read a value.  */
GASNETI_INLINE gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, void *src,
                                                        size_t nbytes) GASNETI_MUST_SYNC;
GASNETI_INLINE gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, void *src,
                                                        size_t nbytes)
{
    gasneti_check_classic("gasnet_get_nb_val");
    gasnete_check_value("gasnet_get_nb_val", nbytes);
    return gasnete_get_nb_val(node, src, nbytes);
}
/* Waits for the value of gasnet_get_nb_val and returns it.  Called once for each handle, in any
 * order, by the thread that created it.  */
GASNETI_INLINE gasnet_register_value_t gasnet_wait_syncnb_valget(gasnet_valget_handle_t handle)
{
    return gasnete_wait_syncnb_valget(handle);
}

GASNETI_EXPORTS_END
#endif
