/* vapi.h - the verbs of VAPI: every VAPI_ call.  evapi.h, which this includes, has Mellanox's own
 * additions, the EVAPI_ calls.
 *
 * Every call returns VAPI_OK (0) or a negative code of vapi_types.h; what it hands out through
 * pointers is valid only after VAPI_OK, unless its comment states otherwise.  Every call with an
 * HCA handle may return VAPI_EINVAL_HCA_HNDL, and every call that asks the device VAPI_EAGAIN (no
 * resources), VAPI_EPERM, VAPI_ENOSYS, VAPI_EFATAL (the device is gone) and VAPI_ESYSCALL, after
 * which errno has the cause; that is not repeated below.  A handle that is not valid gives the code
 * of its kind, such as VAPI_EINVAL_QP_HNDL.  Pointers may be NULL only where a comment states it;
 * where the original checked, NULL gives VAPI_EINVAL_PARAM.
 *
 * Calls may be made from any thread.  Not at the same time: to destroy an object and to use it.
 */
#ifndef H_VAPI_H
#define H_VAPI_H

#include "evapi.h"
#include "mtl_common.h"
#include "vapi_features.h"
#include "vapi_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- HCAs --- */

/* Names of HCAs are VAPI_hca_id_t; those given need not have its 32 bytes.
 *
 * For an existing HCA, VAPI_EBUSY: the system has opened it, and a process attaches with
 * EVAPI_get_hca_hndl.  VAPI_EINVAL_HCA_ID for any other name.  *hca is not set. */
VAPI_ret_t MT_API VAPI_open_hca(IN const char *id, OUT VAPI_hca_hndl_t *hca);

/* VAPI_EBUSY: an HCA is not closed by a program; EVAPI_release_hca_hndl detaches. */
VAPI_ret_t MT_API VAPI_close_hca(IN VAPI_hca_hndl_t hca);

/* The vendor of the HCA and its capabilities.  Either pointer may be NULL. */
VAPI_ret_t MT_API VAPI_query_hca_cap(IN VAPI_hca_hndl_t hca, OUT VAPI_hca_vendor_t *vendor,
                                     OUT VAPI_hca_cap_t *cap);

/* State and limits of a port, counted from 1; `prop` may be NULL.  VAPI_EINVAL_PORT. */
VAPI_ret_t MT_API VAPI_query_hca_port_prop(IN VAPI_hca_hndl_t hca, IN IB_port_t port,
                                           OUT VAPI_hca_port_t *prop);

/* The port's GIDs: up to `len_in` of them into `table`, their full number into *len_out.
 * VAPI_EAGAIN when there are more than `len_in`; (0, NULL) counts.  VAPI_EINVAL_PORT,
 * VAPI_EINVAL_PARAM. */
VAPI_ret_t MT_API VAPI_query_hca_gid_tbl(IN VAPI_hca_hndl_t hca, IN IB_port_t port,
                                         IN u_int16_t len_in, OUT u_int16_t *len_out,
                                         OUT IB_gid_t *table);

/* The port's P_Keys, in the host's order; otherwise as VAPI_query_hca_gid_tbl. */
VAPI_ret_t MT_API VAPI_query_hca_pkey_tbl(IN VAPI_hca_hndl_t hca, IN IB_port_t port,
                                          IN u_int16_t len_in, OUT u_int16_t *len_out,
                                          OUT VAPI_pkey_t *table);

/* VAPI_ENOSYS: for administrators, with other tools. */
VAPI_ret_t MT_API VAPI_modify_hca_attr(IN VAPI_hca_hndl_t hca, IN IB_port_t port,
                                       IN VAPI_hca_attr_t *attr, IN VAPI_hca_attr_mask_t *mask);

/* --- protection domains and address handles --- */

/* A domain that queue pairs and memory belong to. */
VAPI_ret_t MT_API VAPI_alloc_pd(IN VAPI_hca_hndl_t hca, OUT VAPI_pd_hndl_t *pd);

/* Frees a domain. VAPI_EBUSY while a queue pair or memory belongs to it. VAPI_EINVAL_PD_HNDL. */
VAPI_ret_t MT_API VAPI_dealloc_pd(IN VAPI_hca_hndl_t hca, IN VAPI_pd_hndl_t pd);

/* Creates an address handle, the path to a datagram queue pair's port. av->port is needed.
 * VAPI_EINVAL_PD_HNDL, VAPI_EINVAL_PORT, VAPI_EINVAL_PARAM. */
VAPI_ret_t MT_API VAPI_create_addr_hndl(IN VAPI_hca_hndl_t hca, IN VAPI_pd_hndl_t pd,
                                        IN VAPI_ud_av_t *av, OUT VAPI_ud_av_hndl_t *ah);

/* Changes the path of an address handle; not while a post uses it. VAPI_EINVAL_AV_HNDL,
 * VAPI_EINVAL_PORT, VAPI_EINVAL_PARAM. */
VAPI_ret_t MT_API VAPI_modify_addr_hndl(IN VAPI_hca_hndl_t hca, IN VAPI_ud_av_hndl_t ah,
                                        IN VAPI_ud_av_t *av);

/* Returns the path of an address handle. VAPI_EINVAL_AV_HNDL. */
VAPI_ret_t MT_API VAPI_query_addr_hndl(IN VAPI_hca_hndl_t hca, IN VAPI_ud_av_hndl_t ah,
                                       OUT VAPI_ud_av_t *av);

/* Destroys an address handle. VAPI_EINVAL_AV_HNDL. */
VAPI_ret_t MT_API VAPI_destroy_addr_hndl(IN VAPI_hca_hndl_t hca, IN VAPI_ud_av_hndl_t ah);

/* --- completion queues --- */

/* Creates a queue with room for `entries` completions or more; *actual gets how many.
 * VAPI_E2BIG_CQ_NUM above the limit of the HCA, VAPI_EINVAL_PARAM for 0. */
VAPI_ret_t MT_API VAPI_create_cq(IN VAPI_hca_hndl_t hca, IN VAPI_cqe_num_t entries,
                                 OUT VAPI_cq_hndl_t *cq, OUT VAPI_cqe_num_t *actual);

/* The number of completions for which the queue has room. VAPI_EINVAL_CQ_HNDL. */
VAPI_ret_t MT_API VAPI_query_cq(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq,
                                OUT VAPI_cqe_num_t *entries);

/* Changes the room of a queue; no completion is lost. VAPI_EINVAL_CQ_HNDL, VAPI_E2BIG_CQ_NUM (above
 * the limit of the HCA, or too few for the completions in the queue), VAPI_EBUSY while another
 * resize runs, VAPI_ENOSYS where the device cannot. */
VAPI_ret_t MT_API VAPI_resize_cq(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq,
                                 IN VAPI_cqe_num_t entries, OUT VAPI_cqe_num_t *actual);

/* Destroys a completion queue. VAPI_EBUSY while a queue pair uses it or a handler is bound to it
 * (EVAPI_clear_comp_eventh comes first). VAPI_EINVAL_CQ_HNDL. */
VAPI_ret_t MT_API VAPI_destroy_cq(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq);

/* Takes one completion. VAPI_CQ_EMPTY when the queue is empty; VAPI_EINVAL_CQ_HNDL. The result of
 * the work request is in wc->status. */
VAPI_ret_t MT_API VAPI_poll_cq(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq,
                               OUT VAPI_wc_desc_t *wc);

/* Arms the queue for one event: the handler will be called once.  Completions that are there
 * already give none: arm, then poll again.  VAPI_NOTIF_NONE does nothing.  VAPI_EINVAL_CQ_HNDL,
 * VAPI_EINVAL_NOTIF_TYPE. */
VAPI_ret_t MT_API VAPI_req_comp_notif(IN VAPI_hca_hndl_t hca, IN VAPI_cq_hndl_t cq,
                                      IN VAPI_cq_notif_type_t type);

/* Sets the handler for all completion queues of the HCA that have none of their own (of releases
 * before EVAPI_set_comp_eventh). VAPI_EINVAL_PARAM for NULL, VAPI_EBUSY when a handler is set. */
VAPI_ret_t MT_API VAPI_set_comp_event_handler(IN VAPI_hca_hndl_t hca,
                                              IN VAPI_completion_event_handler_t handler,
                                              IN void *private_data);

/* Sets a handler that stays until the HCA is released (of releases before
 * EVAPI_set_async_event_handler). VAPI_EINVAL_PARAM for NULL. */
VAPI_ret_t MT_API VAPI_set_async_event_handler(IN VAPI_hca_hndl_t hca,
                                               IN VAPI_async_event_handler_t handler,
                                               IN void *private_data);

/* --- queue pairs --- */

/* A queue pair in state VAPI_RESET.  `prop` gets its number and what it was given, which is what
 * was asked for or more; max_inline_data_sq is output only.  VAPI_EINVAL_CQ_HNDL,
 * VAPI_EINVAL_PD_HNDL, VAPI_E2BIG_WR_NUM, VAPI_E2BIG_SG_NUM, VAPI_EINVAL_SERVICE_TYPE,
 * VAPI_EINVAL_PARAM (both depths 0). */
VAPI_ret_t MT_API VAPI_create_qp(IN VAPI_hca_hndl_t hca, IN VAPI_qp_init_attr_t *init,
                                 OUT VAPI_qp_hndl_t *qp, OUT VAPI_qp_prop_t *prop);

/* VAPI_create_qp, with receives from a shared queue when ext->srq_hndl names one. Also
 * VAPI_EINVAL_SRQ_HNDL, and VAPI_EINVAL_PD_HNDL when the shared queue is of another domain. */
VAPI_ret_t MT_API VAPI_create_qp_ext(IN VAPI_hca_hndl_t hca, IN VAPI_qp_init_attr_t *init,
                                     IN VAPI_qp_init_attr_ext_t *ext, OUT VAPI_qp_hndl_t *qp,
                                     OUT VAPI_qp_prop_t *prop);

/* Sets the attributes that *mask selects; with QP_ATTR_QP_STATE, changes the state.  *cap (not
 * NULL) gets what the queue pair was given.  VAPI_EINVAL_QP_HNDL, VAPI_EINVAL_ATTR (one is
 * missing), VAPI_ENOSYS_ATTR (one does not belong there), VAPI_EINVAL_QP_STATE, VAPI_EINVAL_PORT,
 * VAPI_EINVAL_PKEY_IX, VAPI_EINVAL_MTU, VAPI_EINVAL_RNR_NAK_TIMER, VAPI_EINVAL_MIG_STATE,
 * VAPI_ENOSYS_ATOMIC, VAPI_ENOSYS (QP_ATTR_CAP), VAPI_EAGAIN (another thread is changing it).
 * To VAPI_RESET: its work requests are dropped, and its completions are taken off its queues. */
VAPI_ret_t MT_API VAPI_modify_qp(IN VAPI_hca_hndl_t hca, IN VAPI_qp_hndl_t qp,
                                 IN VAPI_qp_attr_t *attr, IN VAPI_qp_attr_mask_t *mask,
                                 OUT VAPI_qp_cap_t *cap);

/* The attributes that were set; *mask selects the valid ones: state, number and sizes always, the
 * others once they have been set.  VAPI_EINVAL_QP_HNDL, VAPI_EINVAL_PARAM (`init` is NULL). */
VAPI_ret_t MT_API VAPI_query_qp(IN VAPI_hca_hndl_t hca, IN VAPI_qp_hndl_t qp,
                                OUT VAPI_qp_attr_t *attr, OUT VAPI_qp_attr_mask_t *mask,
                                OUT VAPI_qp_init_attr_t *init);

/* VAPI_query_qp, with the shared receive queue (`ext` may be NULL). */
VAPI_ret_t MT_API VAPI_query_qp_ext(IN VAPI_hca_hndl_t hca, IN VAPI_qp_hndl_t qp,
                                    OUT VAPI_qp_attr_t *attr, OUT VAPI_qp_attr_mask_t *mask,
                                    OUT VAPI_qp_init_attr_t *init,
                                    OUT VAPI_qp_init_attr_ext_t *ext);

/* Destroys a queue pair. VAPI_EBUSY while it is attached to a multicast group.
 * VAPI_EINVAL_QP_HNDL. */
VAPI_ret_t MT_API VAPI_destroy_qp(IN VAPI_hca_hndl_t hca, IN VAPI_qp_hndl_t qp);

/* Special queue pairs are not supported: VAPI_ENOSYS for the management queue pairs and the raw
 * ones; VAPI_EINVAL_PARAM for VAPI_REGULAR_QP, VAPI_EINVAL_QP_TYPE for another value. */
VAPI_ret_t MT_API VAPI_get_special_qp(IN VAPI_hca_hndl_t hca, IN IB_port_t port,
                                      IN VAPI_special_qp_t type, IN VAPI_qp_init_attr_t *init,
                                      OUT VAPI_qp_hndl_t *qp, OUT VAPI_qp_cap_t *cap);

/* --- shared receive queues --- */

/* pd_hndl, max_outs_wr and max_sentries are requested; *actual gets the values granted.
 * VAPI_EINVAL_PD_HNDL, VAPI_E2BIG_WR_NUM, VAPI_E2BIG_SG_NUM, VAPI_EINVAL_PARAM. */
VAPI_ret_t MT_API VAPI_create_srq(IN VAPI_hca_hndl_t hca, IN VAPI_srq_attr_t *attr,
                                  OUT VAPI_srq_hndl_t *srq, OUT VAPI_srq_attr_t *actual);

/* VAPI_EINVAL_SRQ_HNDL, VAPI_ESRQ. */
VAPI_ret_t MT_API VAPI_query_srq(IN VAPI_hca_hndl_t hca, IN VAPI_srq_hndl_t srq,
                                 OUT VAPI_srq_attr_t *attr);

/* VAPI_SRQ_ATTR_LIMIT arms VAPI_SRQ_LIMIT_REACHED; VAPI_SRQ_ATTR_MAX_OUTS_WR resizes, where the
 * device can.  *max_outs_wr gets the size.  VAPI_EINVAL_SRQ_HNDL, VAPI_E2BIG_WR_NUM,
 * VAPI_EINVAL_PARAM, VAPI_ENOSYS, VAPI_ESRQ. */
VAPI_ret_t MT_API VAPI_modify_srq(IN VAPI_hca_hndl_t hca, IN VAPI_srq_hndl_t srq,
                                  IN VAPI_srq_attr_t *attr, IN VAPI_srq_attr_mask_t mask,
                                  OUT u_int32_t *max_outs_wr);

/* VAPI_EBUSY while a queue pair receives from it.  VAPI_EINVAL_SRQ_HNDL. */
VAPI_ret_t MT_API VAPI_destroy_srq(IN VAPI_hca_hndl_t hca, IN VAPI_srq_hndl_t srq);

/* Posts as many of `n` as it can; how many, into *posted (may be NULL).  The code is of the element
 * after those.  VAPI_EINVAL_SRQ_HNDL, and what VAPI_post_rr returns. */
VAPI_ret_t MT_API VAPI_post_srq(IN VAPI_hca_hndl_t hca, IN VAPI_srq_hndl_t srq, IN u_int32_t n,
                                IN VAPI_rr_desc_t *array, OUT u_int32_t *posted);

/* --- memory --- */

/* Registers memory: type (VAPI_MR; VAPI_MPR, physical memory, is VAPI_ENOSYS), start, size in
 * bytes, pd_hndl and acl are read.  *reply gets them and the keys.  VAPI_EINVAL_PD_HNDL,
 * VAPI_EINVAL_VA, VAPI_EINVAL_LEN (0, or beyond the end of the address space), VAPI_EINVAL_ACL
 * (remote write or atomics without local write), VAPI_EINVAL_PARAM (another type); VAPI_EAGAIN also
 * when no more memory may be pinned. */
VAPI_ret_t MT_API VAPI_register_mr(IN VAPI_hca_hndl_t hca, IN VAPI_mr_t *request,
                                   OUT VAPI_mr_hndl_t *mr, OUT VAPI_mr_t *reply);

/* A second region over the pages of `orig`: start, pd_hndl and acl of the request are read.
 * VAPI_EINVAL_MR_HNDL and what VAPI_register_mr returns; VAPI_EINVAL_VA when `start` is another
 * address and the device cannot give that. */
VAPI_ret_t MT_API VAPI_register_smr(IN VAPI_hca_hndl_t hca, IN VAPI_mr_hndl_t orig,
                                    IN VAPI_mr_t *request, OUT VAPI_mr_hndl_t *mr,
                                    OUT VAPI_mr_t *reply);

/* The parameters of a region, and the range that peers may access: remote_start and remote_size may
 * be NULL. VAPI_EINVAL_MR_HNDL. */
VAPI_ret_t MT_API VAPI_query_mr(IN VAPI_hca_hndl_t hca, IN VAPI_mr_hndl_t mr, OUT VAPI_mr_t *reply,
                                OUT VAPI_virt_addr_t *remote_start,
                                OUT VAPI_virt_addr_t *remote_size);

/* Changes what `change` selects (an OR of VAPI_MR_CHANGE_...).  The new handle and keys, which may
 * equal the old, are the valid ones.  VAPI_EINVAL_MR_HNDL, VAPI_EBUSY (a window is bound to it),
 * VAPI_EINVAL_PD_HNDL and VAPI_EINVAL_VA leave the region as it was; after VAPI_EAGAIN,
 * VAPI_ENOMEM, VAPI_EINVAL_ACL, VAPI_EINVAL_LEN and VAPI_EINVAL_PARAM it is gone, and its handle
 * with it. */
VAPI_ret_t MT_API VAPI_reregister_mr(IN VAPI_hca_hndl_t hca, IN VAPI_mr_hndl_t mr,
                                     IN VAPI_mr_change_t change, IN VAPI_mr_t *request,
                                     OUT VAPI_mr_hndl_t *new_mr, OUT VAPI_mr_t *reply);

/* VAPI_EINVAL_MR_HNDL, VAPI_EBUSY while a window is bound to it. */
VAPI_ret_t MT_API VAPI_deregister_mr(IN VAPI_hca_hndl_t hca, IN VAPI_mr_hndl_t mr);

/* A window, not bound yet.  VAPI_EINVAL_PD_HNDL. */
VAPI_ret_t MT_API VAPI_alloc_mw(IN VAPI_hca_hndl_t hca, IN VAPI_pd_hndl_t pd,
                                OUT VAPI_mw_hndl_t *mw, OUT VAPI_rkey_t *rkey);

/* VAPI_EINVAL_MW_HNDL. */
VAPI_ret_t MT_API VAPI_query_mw(IN VAPI_hca_hndl_t hca, IN VAPI_mw_hndl_t mw, OUT VAPI_rkey_t *rkey,
                                OUT VAPI_pd_hndl_t *pd);

/* Posts to the send queue of `qp`, which the window is then good for; completes as
 * VAPI_CQE_SQ_BIND_MRW with `id`.  *rkey is the key from then on.  VAPI_EINVAL_MW_HNDL,
 * VAPI_EINVAL_QP_HNDL, VAPI_EINVAL_MR_HNDL (no region has that lkey), VAPI_EINVAL_ACL,
 * VAPI_EINVAL_QP_STATE, VAPI_EINVAL_SERVICE_TYPE, VAPI_E2BIG_WR_NUM. */
VAPI_ret_t MT_API VAPI_bind_mw(IN VAPI_hca_hndl_t hca, IN VAPI_mw_hndl_t mw,
                               IN const VAPI_mw_bind_t *bind, IN VAPI_qp_hndl_t qp,
                               IN VAPI_wr_id_t id, IN VAPI_comp_type_t comp_type,
                               OUT VAPI_rkey_t *rkey);

/* VAPI_EINVAL_MW_HNDL. */
VAPI_ret_t MT_API VAPI_dealloc_mw(IN VAPI_hca_hndl_t hca, IN VAPI_mw_hndl_t mw);

/* --- multicast --- */

/* Datagrams to the group come to `qp` too.  The LID is ignored.  VAPI_EINVAL_QP_HNDL,
 * VAPI_EINVAL_SERVICE_TYPE (not VAPI_TS_UD), VAPI_EINVAL_MCG_GID, VAPI_E2BIG_MCG_SIZE. */
VAPI_ret_t MT_API VAPI_attach_to_multicast(IN VAPI_hca_hndl_t hca, IN const IB_gid_t mgid,
                                           IN VAPI_qp_hndl_t qp, IN IB_lid_t ignored);

/* The reverse; also VAPI_EINVAL_MCG_GID when it is not attached. */
VAPI_ret_t MT_API VAPI_detach_from_multicast(IN VAPI_hca_hndl_t hca, IN const IB_gid_t mgid,
                                             IN VAPI_qp_hndl_t qp, IN IB_lid_t ignored);

/* --- posting --- */

/* Sends, writes, reads or does an atomic.  The descriptor and its list are read during the call;
 * the data must stay until the completion.  VAPI_EINVAL_QP_HNDL, VAPI_E2BIG_WR_NUM (the queue is
 * full), VAPI_EINVAL_OP (not one of this transport's), VAPI_EINVAL_QP_STATE, VAPI_EINVAL_SG_NUM,
 * VAPI_EINVAL_SG_FMT, VAPI_EINVAL_NOTIF_TYPE, VAPI_EINVAL_AV_HNDL. */
VAPI_ret_t MT_API VAPI_post_sr(IN VAPI_hca_hndl_t hca, IN VAPI_qp_hndl_t qp,
                               IN VAPI_sr_desc_t *desc);

/* Offers memory for one message.  The same codes, and VAPI_EINVAL_SRQ_HNDL when the queue pair
 * receives from a shared queue. */
VAPI_ret_t MT_API VAPI_post_rr(IN VAPI_hca_hndl_t hca, IN VAPI_qp_hndl_t qp,
                               IN VAPI_rr_desc_t *desc);

#ifdef __cplusplus
}
#endif

#include "vapi_inline.h"

#endif
