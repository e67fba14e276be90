/* table.c - the calls that libdat2 finds by the first word of each handle.
 *
 * A null slot would crash the program that calls it: a call that this provider does not have yet
 * returns DAT_NOT_IMPLEMENTED.
 */
#include "provider.h"

#define STUB(name, ...)                                                                            \
    static DAT_RETURN name(__VA_ARGS__)                                                            \
    {                                                                                              \
        return UDAPL_CODE(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);                                    \
    }

/* Connections. */
STUB(ep_connect, DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qualifier,
     DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
     DAT_CONNECT_FLAGS flags)
STUB(ep_dup_connect, DAT_EP_HANDLE ep, DAT_EP_HANDLE other, DAT_TIMEOUT timeout, DAT_COUNT size,
     const DAT_PVOID data, DAT_QOS qos)
STUB(ep_common_connect, DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address, DAT_TIMEOUT timeout,
     DAT_COUNT size, const DAT_PVOID data)
STUB(cr_query, DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
STUB(cr_accept, DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size, const DAT_PVOID data)
STUB(cr_reject, DAT_CR_HANDLE cr, DAT_COUNT size, const DAT_PVOID data)
STUB(cr_handoff, DAT_CR_HANDLE cr, DAT_CONN_QUAL qualifier)
STUB(psp_create_any, DAT_IA_HANDLE ia, DAT_CONN_QUAL *qualifier, DAT_EVD_HANDLE evd,
     DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
STUB(csp_create, DAT_IA_HANDLE ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd,
     DAT_CSP_HANDLE *csp)
STUB(csp_query, DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param)
STUB(csp_free, DAT_CSP_HANDLE csp)

/* Endpoints. */
STUB(ep_modify, DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
STUB(ep_recv_query, DAT_EP_HANDLE ep, DAT_COUNT *buffers, DAT_COUNT *span)
STUB(ep_set_watermark, DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard)
STUB(ep_post_send_with_invalidate, DAT_EP_HANDLE ep, DAT_COUNT count, DAT_LMR_TRIPLET *iov,
     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_BOOLEAN invalidate,
     DAT_RMR_CONTEXT context)
STUB(ep_post_rdma_read_to_rmr, DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
     DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
STUB(rmr_create_for_ep, DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)

/* Shared receive queues. */
STUB(ep_create_with_srq, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
     DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect, DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr,
     DAT_EP_HANDLE *ep)
STUB(srq_create, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *srq)
STUB(srq_free, DAT_SRQ_HANDLE srq)
STUB(srq_post_recv, DAT_SRQ_HANDLE srq, DAT_COUNT count, DAT_LMR_TRIPLET *iov,
     DAT_DTO_COOKIE cookie)
STUB(srq_query, DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
STUB(srq_resize, DAT_SRQ_HANDLE srq, DAT_COUNT size)
STUB(srq_set_lw, DAT_SRQ_HANDLE srq, DAT_COUNT watermark)

/* High availability, and extensions. */
STUB(ia_ha_related, DAT_IA_HANDLE ia, const DAT_NAME_PTR other, DAT_BOOLEAN *answer)
STUB(extended_op, DAT_HANDLE handle, DAT_EXTENDED_OP operation, va_list arguments)

const DAT_PROVIDER udapl_calls = {
    .ia_open_func = udapl_ia_open,
    .ia_query_func = udapl_ia_query,
    .ia_close_func = udapl_ia_close,
    .set_consumer_context_func = udapl_set_context,
    .get_consumer_context_func = udapl_get_context,
    .get_handle_type_func = udapl_get_type,
    .cno_create_func = udapl_cno_create,
    .cno_modify_agent_func = udapl_cno_modify_agent,
    .cno_query_func = udapl_cno_query,
    .cno_free_func = udapl_cno_free,
    .cno_wait_func = udapl_cno_wait,
    .cr_query_func = cr_query,
    .cr_accept_func = cr_accept,
    .cr_reject_func = cr_reject,
    .cr_handoff_func = cr_handoff,
    .evd_create_func = udapl_evd_create,
    .evd_query_func = udapl_evd_query,
    .evd_modify_cno_func = udapl_evd_modify_cno,
    .evd_enable_func = udapl_evd_enable,
    .evd_disable_func = udapl_evd_disable,
    .evd_wait_func = udapl_evd_wait,
    .evd_resize_func = udapl_evd_resize,
    .evd_post_se_func = udapl_evd_post_se,
    .evd_dequeue_func = udapl_evd_dequeue,
    .evd_free_func = udapl_evd_free,
    .ep_create_func = udapl_ep_create,
    .ep_query_func = udapl_ep_query,
    .ep_modify_func = ep_modify,
    .ep_connect_func = ep_connect,
    .ep_dup_connect_func = ep_dup_connect,
    .ep_disconnect_func = udapl_ep_disconnect,
    .ep_post_send_func = udapl_ep_post_send,
    .ep_post_recv_func = udapl_ep_post_recv,
    .ep_post_rdma_read_func = udapl_ep_post_rdma_read,
    .ep_post_rdma_write_func = udapl_ep_post_rdma_write,
    .ep_get_status_func = udapl_ep_get_status,
    .ep_free_func = udapl_ep_free,
    .lmr_create_func = udapl_lmr_create,
    .lmr_query_func = udapl_lmr_query,
    .lmr_free_func = udapl_lmr_free,
    .rmr_create_func = udapl_rmr_create,
    .rmr_query_func = udapl_rmr_query,
    .rmr_bind_func = udapl_rmr_bind,
    .rmr_free_func = udapl_rmr_free,
    .psp_create_func = udapl_psp_create,
    .psp_query_func = udapl_psp_query,
    .psp_free_func = udapl_psp_free,
    .rsp_create_func = udapl_rsp_create,
    .rsp_query_func = udapl_rsp_query,
    .rsp_free_func = udapl_rsp_free,
    .pz_create_func = udapl_pz_create,
    .pz_query_func = udapl_pz_query,
    .pz_free_func = udapl_pz_free,
    .psp_create_any_func = psp_create_any,
    .ep_reset_func = udapl_ep_reset,
    .evd_set_unwaitable_func = udapl_evd_set_unwaitable,
    .evd_clear_unwaitable_func = udapl_evd_clear_unwaitable,
    .lmr_sync_rdma_read_func = udapl_lmr_sync,
    .lmr_sync_rdma_write_func = udapl_lmr_sync,
    .ep_create_with_srq_func = ep_create_with_srq,
    .ep_recv_query_func = ep_recv_query,
    .ep_set_watermark_func = ep_set_watermark,
    .srq_create_func = srq_create,
    .srq_free_func = srq_free,
    .srq_post_recv_func = srq_post_recv,
    .srq_query_func = srq_query,
    .srq_resize_func = srq_resize,
    .srq_set_lw_func = srq_set_lw,
    .csp_create_func = csp_create,
    .csp_query_func = csp_query,
    .csp_free_func = csp_free,
    .ep_common_connect_func = ep_common_connect,
    .rmr_create_for_ep_func = rmr_create_for_ep,
    .ep_post_send_with_invalidate_func = ep_post_send_with_invalidate,
    .ep_post_rdma_read_to_rmr_func = ep_post_rdma_read_to_rmr,
    .cno_fd_create_func = udapl_cno_fd_create,
    .cno_trigger_func = udapl_cno_trigger,
    .ia_ha_related_func = ia_ha_related,
    .handle_extendedop_func = extended_op,
};
