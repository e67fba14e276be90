/* evapi.h - Mellanox's additions to the verbs: every EVAPI_ call that a program may make. vapi.h
 * states the rules that hold for all calls.
 */
#ifndef H_EVAPI_H
#define H_EVAPI_H

#include "mtl_common.h"
#include "vapi_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- HCAs --- */

/* The names of the HCAs: up to `n_entries` of them into `ids`; *num_hcas gets how many there are.
 * VAPI_EAGAIN when there are more than `n_entries`, so also for the counting call (0, &n, NULL)
 * where there is any.  VAPI_EINVAL_PARAM when one alone of `n_entries` and `ids` is nothing. */
VAPI_ret_t MT_API EVAPI_list_hcas(IN u_int32_t n_entries, OUT u_int32_t *num_hcas,
                                  OUT VAPI_hca_id_t *ids);

/* Attaches the process to an HCA.  The same name gives the same handle, to be released as often.
 * Names are those of EVAPI_list_hcas; InfiniHost<k> is the k-th of them, counted from 0, when none
 * is called so.  VAPI_EINVAL_HCA_ID. */
VAPI_ret_t MT_API EVAPI_get_hca_hndl(IN const char *id, OUT VAPI_hca_hndl_t *hca);

/* Detaches.  The last release is VAPI_EBUSY while something made from the HCA is left; it ends the
 * library's threads for the HCA, except the one that it is called from. */
VAPI_ret_t MT_API EVAPI_release_hca_hndl(IN VAPI_hca_hndl_t hca);

/* VAPI_EBUSY: the system has opened it; VAPI_EINVAL_HCA_ID for an unknown name. */
VAPI_ret_t MT_API EVAPI_open_hca(IN const char *id, IN EVAPI_hca_profile_t *wanted,
                                 OUT EVAPI_hca_profile_t *actual);
VAPI_ret_t MT_API EVAPI_close_hca(IN const char *id);

/* An entry of a port's GID table; not of the original. */
typedef struct EVAPI_gid_entry {
    IB_gid_t gid;
    u_int32_t at;       /* index of the entry in the table: the sgid_index of an address */
    u_int32_t type;     /* 0 InfiniBand, 1 RoCE v1, 2 RoCE v2 */
    char interface[16]; /* the network interface; "" if not known */
} EVAPI_gid_entry_t;

/* The entries of the port's GID table that are not empty, with their types: up to `len_in` of them
 * into `entries`, which may be NULL if it is 0, and as many into *len_out.  VAPI_EINVAL_HCA_HNDL,
 * VAPI_EINVAL_PORT, VAPI_EINVAL_PARAM, VAPI_EAGAIN (out of memory).  Not of the original, which
 * knew no RoCE. */
VAPI_ret_t MT_API EVAPI_query_gid_types(IN VAPI_hca_hndl_t hca, IN IB_port_t port,
                                        IN u_int16_t len_in, OUT u_int16_t *len_out,
                                        OUT EVAPI_gid_entry_t *entries);

/* --- protection domains, contexts --- */

/* VAPI_alloc_pd; `max_avs` is how many address handles there will be, of which any number is given.
 * VAPI_EINVAL_PARAM for 0. */
VAPI_ret_t MT_API EVAPI_alloc_pd(IN VAPI_hca_hndl_t hca, IN u_int32_t max_avs,
                                 OUT VAPI_pd_hndl_t *pd);
VAPI_ret_t MT_API EVAPI_alloc_pd_sqp(IN VAPI_hca_hndl_t hca, IN u_int32_t max_avs,
                                     OUT VAPI_pd_hndl_t *pd);

/* A pointer of the program's that goes with the object; NULL until it is set. */
VAPI_ret_t MT_API EVAPI_set_priv_context4qp(IN VAPI_hca_hndl_t hca, IN VAPI_qp_hndl_t qp,
                                            IN void *priv);
VAPI_ret_t MT_API EVAPI_get_priv_context4qp(IN VAPI_hca_hndl_t hca, IN VAPI_qp_hndl_t qp,
                                            OUT void **priv);
VAPI_ret_t MT_API EVAPI_set_priv_context4cq(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq,
                                            IN void *priv);
VAPI_ret_t MT_API EVAPI_get_priv_context4cq(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq,
                                            OUT void **priv);

/* ---- fast memory regions
 *
 * Here a mapping is a registration and costs what that costs.
 */

/* pd_hndl, acl, max_pages, log2_page_sz and max_outstanding_maps are fixed from here on.
 * VAPI_EINVAL_PD_HNDL, VAPI_EINVAL_ACL (VAPI_EN_MEMREG_BIND too), VAPI_EINVAL_PARAM. */
VAPI_ret_t MT_API EVAPI_alloc_fmr(IN VAPI_hca_hndl_t hca, IN EVAPI_fmr_t *properties,
                                  OUT EVAPI_fmr_hndl_t *fmr);

/* Makes keys for a range; earlier ones stay until an unmap.  VAPI_EINVAL_MR_HNDL, VAPI_EINVAL_LEN
 * (0, or more pages than max_pages), VAPI_EINVAL_VA, VAPI_EAGAIN (max_outstanding_maps are there:
 * unmap), VAPI_ENOSYS (map->page_array_len is not 0). */
VAPI_ret_t MT_API EVAPI_map_fmr(IN VAPI_hca_hndl_t hca, IN EVAPI_fmr_hndl_t fmr,
                                IN EVAPI_fmr_map_t *map, OUT VAPI_lkey_t *lkey,
                                OUT VAPI_rkey_t *rkey);

/* Ends all mappings of up to 2000 regions.  VAPI_EINVAL_MR_HNDL (none has been unmapped then),
 * VAPI_EINVAL_PARAM. */
VAPI_ret_t MT_API EVAPI_unmap_fmr(IN VAPI_hca_hndl_t hca, IN MT_size_t n,
                                  IN EVAPI_fmr_hndl_t *array);

/* Unmaps and frees.  VAPI_EINVAL_MR_HNDL. */
VAPI_ret_t MT_API EVAPI_free_fmr(IN VAPI_hca_hndl_t hca, IN EVAPI_fmr_hndl_t fmr);

/* Memory of the HCA is not supported: all return VAPI_ENOSYS. */
VAPI_ret_t MT_API EVAPI_alloc_map_devmem(IN VAPI_hca_hndl_t hca, IN EVAPI_devmem_type_t type,
                                         IN VAPI_size_t bytes, IN u_int8_t align_shift,
                                         OUT VAPI_phy_addr_t *physical, OUT void **virt,
                                         OUT VAPI_devmem_hndl_t *devmem);
VAPI_ret_t MT_API EVAPI_query_devmem(IN VAPI_hca_hndl_t hca, IN EVAPI_devmem_type_t type,
                                     IN u_int8_t align_shift, OUT EVAPI_devmem_info_t *info);
VAPI_ret_t MT_API EVAPI_free_unmap_devmem(IN VAPI_hca_hndl_t hca, IN VAPI_devmem_hndl_t devmem);

/* --- posting --- */

/* Sends or writes data that are taken during the call: the list's lkeys are ignored, and the
 * memory may be reused when this returns.  VAPI_EINVAL_SG_NUM for more bytes than
 * max_inline_data_sq; else what VAPI_post_sr returns. */
VAPI_ret_t MT_API EVAPI_post_inline_sr(IN VAPI_hca_hndl_t hca, IN VAPI_qp_hndl_t qp,
                                       IN VAPI_sr_desc_t *desc);

/* Posts all `n` or none.  VAPI_E2BIG_WR_NUM without room for all, VAPI_EINVAL_PARAM for 0 or NULL;
 * else what VAPI_post_sr and VAPI_post_rr return. */
VAPI_ret_t MT_API EVAPI_post_sr_list(IN VAPI_hca_hndl_t hca, IN VAPI_qp_hndl_t qp, IN u_int32_t n,
                                     IN VAPI_sr_desc_t *array);
VAPI_ret_t MT_API EVAPI_post_rr_list(IN VAPI_hca_hndl_t hca, IN VAPI_qp_hndl_t qp, IN u_int32_t n,
                                     IN VAPI_rr_desc_t *array);

/* VAPI_ENOSYS: there is no general services queue pair. */
VAPI_ret_t MT_API EVAPI_post_gsi_sr(IN VAPI_hca_hndl_t hca, IN VAPI_qp_hndl_t qp,
                                    IN VAPI_sr_desc_t *desc, IN VAPI_pkey_ix_t pkey_index);

/* --- completions --- */

/* Takes one completion, and waits up to `timeout_usec` microseconds (0: for ever) when the queue is
 * empty. Only on a queue that has EVAPI_POLL_CQ_UNBLOCK_HANDLER. VAPI_CQ_EMPTY when
 * EVAPI_poll_cq_unblock woke it, when another thread took the completion, or for an earlier event:
 * call again. VAPI_ETIMEOUT, VAPI_EINTR (a signal), VAPI_EINVAL_CQ_HNDL, VAPI_EINVAL_PARAM (the
 * queue does not have that handler). The thread may be cancelled while it waits. */
VAPI_ret_t MT_API EVAPI_poll_cq_block(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq,
                                      IN MT_size_t timeout_usec, OUT VAPI_wc_desc_t *wc);

/* Wakes a thread in EVAPI_poll_cq_block, or the next one that calls it.  VAPI_EINVAL_CQ_HNDL,
 * VAPI_EINVAL_PARAM. */
VAPI_ret_t MT_API EVAPI_poll_cq_unblock(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq);

/* VAPI_OK when at least `n` completions wait, VAPI_CQ_EMPTY when not; none is taken.
 * VAPI_E2BIG_CQ_NUM for 0 or more than the queue holds, VAPI_EINVAL_CQ_HNDL. */
VAPI_ret_t MT_API EVAPI_peek_cq(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq, IN VAPI_cqe_num_t n);

/* VAPI_poll_cq for up to `most` completions at once: VAPI_OK and in *count how many, which may be
 * fewer than there are; VAPI_CQ_EMPTY; VAPI_EINVAL_HCA_HNDL, VAPI_EINVAL_CQ_HNDL, VAPI_EINVAL_PARAM
 * (`most` is 0).  Not of the original. */
VAPI_ret_t MT_API EVAPI_poll_cq_list(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq,
                                     IN u_int32_t most, OUT VAPI_wc_desc_t *wc,
                                     OUT u_int32_t *count);

/* Arms the queue for one event, when at least `n` completions wait there.  VAPI_E2BIG_CQ_NUM for 0
 * or more than the queue holds or 0x7FFF, VAPI_EINVAL_CQ_HNDL. */
VAPI_ret_t MT_API EVAPI_req_ncomp_notif(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq,
                                        IN VAPI_cqe_num_t n);

/* Binds a handler to a completion queue; *handle equals the queue's.  A thread of the library's
 * calls it with `private_data`, once for each time the queue was armed and had a completion; it may
 * make any call.  EVAPI_POLL_CQ_UNBLOCK_HANDLER: no handler, but EVAPI_poll_cq_block.
 * VAPI_EINVAL_CQ_HNDL, VAPI_EINVAL_PARAM (NULL), VAPI_EBUSY (it has one). */
VAPI_ret_t MT_API EVAPI_set_comp_eventh(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq,
                                        IN VAPI_completion_event_handler_t handler,
                                        IN void *private_data,
                                        OUT EVAPI_compl_handler_hndl_t *handle);

/* The handler is not called any more once this returns, unless it is the handler that calls this.
 * VAPI_OK also when there was none.  VAPI_EINVAL_CQ_HNDL. */
VAPI_ret_t MT_API EVAPI_clear_comp_eventh(IN VAPI_hca_hndl_t hca,
                                          IN EVAPI_compl_handler_hndl_t handle);

/* Adds a handler for what happens besides completions; the newest is called first, by a thread of
 * the library's.  VAPI_EINVAL_PARAM for NULL. */
VAPI_ret_t MT_API EVAPI_set_async_event_handler(IN VAPI_hca_hndl_t hca,
                                                IN VAPI_async_event_handler_t handler,
                                                IN void *private_data,
                                                OUT EVAPI_async_handler_hndl_t *handle);

/* As EVAPI_clear_comp_eventh; VAPI_EINVAL_PARAM when there is no such handler. */
VAPI_ret_t MT_API EVAPI_clear_async_event_handler(IN VAPI_hca_hndl_t hca,
                                                  IN EVAPI_async_handler_hndl_t handle);

/* --- rare --- */

/* VAPI_ENOSYS: management datagrams are not supported. */
VAPI_ret_t MT_API EVAPI_process_local_mad(IN VAPI_hca_hndl_t hca, IN IB_port_t port,
                                          IN IB_lid_t slid, IN EVAPI_proc_mad_opt_t options,
                                          IN const void *mad_in, OUT void *mad_out);

/* VAPI_ENOSYS. */
VAPI_ret_t MT_API EVAPI_suspend_qp(IN VAPI_hca_hndl_t hca, IN VAPI_qp_hndl_t qp,
                                   IN MT_bool suspend);
VAPI_ret_t MT_API EVAPI_suspend_cq(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq,
                                   IN MT_bool suspend);

#ifdef __cplusplus
}
#endif

/* A program that includes only this header gets all of VAPI. */
#include "vapi.h"

#endif
