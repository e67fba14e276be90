/* gasnet_transfer.h - puts, gets and their synchronisation as the library exports them: the
 * functions to which the inline calls of both interfaces lead.
 *
 * Private part of gasnetex.h; nothing in it is for clients.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_transfer.h is private: include gasnet.h"
#endif
#ifndef GASNETI_TRANSFER_H
#define GASNETI_TRANSFER_H

GASNETI_EXPORTS_BEGIN

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

#if GASNET_DEBUG
/* Fatal where transfers are illegal, for an invalid rank, or if the range is neither empty nor in
 * the segment that the node has attached.  */
extern void gasnete_check_remote(const char *call, gasnet_node_t node, const void *start,
                                 size_t nbytes);
#else
GASNETI_INLINE void gasnete_check_remote(const char *call, gasnet_node_t node, const void *start,
                                         size_t nbytes)
{
    (void)call, (void)node, (void)start, (void)nbytes;
}
#endif

/* Fatal error for a value of 0 or more than SIZEOF_GASNET_REGISTER_VALUE_T bytes.  */
extern void gasnete_bad_value(const char *call, size_t nbytes) GASNETI_ATTRIBUTE((__noreturn__));
GASNETI_INLINE void gasnete_check_value(const char *call, size_t nbytes)
{
    if_pf(nbytes - 1 >= sizeof(gasnet_register_value_t)) gasnete_bad_value(call, nbytes);
}

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

GASNETI_EXPORTS_END
#endif
