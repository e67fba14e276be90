/* ep.c - endpoints: a queue pair, the ring of its posted receives, and the link that orders its
 * events.
 *
 * The queue pair is in INIT, where receives can be posted; nothing connects it yet. It leaves no
 * completion behind when it is destroyed, because only queue pairs that were connected complete
 * work.
 */
#include <errno.h>

#include "provider.h"

/* The parts that are replaced when an endpoint is made anew with other parameters. */
struct parts {
    struct ibv_qp *qp;
    dapl_work_queue_t *receives; /* NULL if none can be posted */
    dapl_link_t *link;           /* NULL if the endpoint has no EVD */
};

/* ---- Making and taking apart ---- */

/* The completion queue for a queue of the pair to which nothing is posted.  */
static struct ibv_cq *no_cq(struct udapl_ia *ia)
{
    pthread_mutex_lock(&ia->lock);
    if (!ia->no_cq) ia->no_cq = ibv_create_cq(ia->verbs, 1, NULL, NULL, 0);
    struct ibv_cq *cq = ia->no_cq;
    pthread_mutex_unlock(&ia->lock);
    return cq;
}

static struct ibv_cq *cq_of(struct udapl_ia *ia, dapl_evd_t *evd)
{
    return evd ? dapl_verbs_cq_of(evd) : no_cq(ia);
}

static int to_init(const struct udapl_ia *ia, struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = ia->port,
                               .qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE};
    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static struct ibv_qp *ep_make_qp(struct udapl_ia *ia, const DAT_EP_PARAM *param, DAT_EP_HANDLE ep)
{
    const DAT_EP_ATTR *attr = &param->ep_attr;
    struct ibv_qp_init_attr init = {
        .qp_context = ep,
        .send_cq = cq_of(ia, param->request_evd_handle),
        .recv_cq = cq_of(ia, param->recv_evd_handle),
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = (uint32_t)attr->max_request_dtos,
                .max_recv_wr = (uint32_t)attr->max_recv_dtos,
                .max_send_sge = (uint32_t)attr->max_request_iov,
                .max_recv_sge = (uint32_t)attr->max_recv_iov},
    };
    if (!init.send_cq || !init.recv_cq) return NULL;
    struct ibv_qp *qp = ibv_create_qp(((struct udapl_pz *)param->pz_handle)->verbs, &init);
    int error = qp ? to_init(ia, qp) : 0;
    if (error) {
        ibv_destroy_qp(qp);
        errno = error;
        return NULL;
    }
    return qp;
}

/* Fails if the completion flags do not agree with other streams of the EVD. Streams of DTOs only;
 * that of connection events is counted by the link alone.  */
static DAT_RETURN use_evds(const DAT_EP_PARAM *param)
{
    DAT_RETURN code = DAT_SUCCESS;
    if (param->recv_evd_handle)
        code = dapl_evd_use(param->recv_evd_handle, param->ep_attr.recv_completion_flags);
    if (code != DAT_SUCCESS || !param->request_evd_handle) return code;
    code = dapl_evd_use(param->request_evd_handle, param->ep_attr.request_completion_flags);
    if (code != DAT_SUCCESS && param->recv_evd_handle) dapl_evd_unuse(param->recv_evd_handle);
    return code;
}

static void unuse_evds(const DAT_EP_PARAM *param)
{
    if (param->recv_evd_handle) dapl_evd_unuse(param->recv_evd_handle);
    if (param->request_evd_handle) dapl_evd_unuse(param->request_evd_handle);
}

static void take_apart(struct parts *parts)
{
    if (parts->qp) ibv_destroy_qp(parts->qp);
    if (parts->link) dapl_link_free(parts->link);
    if (parts->receives) dapl_work_queue_free(parts->receives);
}

static DAT_RETURN make_parts(struct udapl_ia *ia, const DAT_EP_PARAM *param, DAT_EP_HANDLE ep,
                             struct parts *parts)
{
    dapl_link_attr_t link = {.ep_handle = ep,
                             .request = param->request_evd_handle,
                             .receive = param->recv_evd_handle,
                             .connection = param->connect_evd_handle,
                             .receives = param->ep_attr.max_recv_dtos};
    *parts = (struct parts){0};
    DAT_RETURN code = DAT_SUCCESS;
    if (link.request || link.receive || link.connection)
        code = dapl_link_create(&link, &parts->link);
    if (code == DAT_SUCCESS && param->ep_attr.max_recv_dtos > 0)
        code = dapl_work_queue_create(param->ep_attr.max_recv_dtos, &parts->receives);
    if (code == DAT_SUCCESS) {
        parts->qp = ep_make_qp(ia, param, ep);
        if (!parts->qp) code = udapl_no_resource(errno, DAT_RESOURCE_TEP);
    }
    if (code != DAT_SUCCESS) take_apart(parts);
    return code;
}

/* ---- Create and free ---- */

static DAT_RETURN check_handles(const struct udapl_ia *ia, const DAT_EP_PARAM *param)
{
    const struct {
        DAT_EVD_HANDLE handle;
        DAT_EVD_FLAGS stream;
        DAT_RETURN_SUBTYPE subtype;
    } evds[] = {
        {param->recv_evd_handle, DAT_EVD_DTO_FLAG, DAT_INVALID_HANDLE_EVD_RECV},
        {param->request_evd_handle, DAT_EVD_DTO_FLAG, DAT_INVALID_HANDLE_EVD_REQUEST},
        {param->connect_evd_handle, DAT_EVD_CONNECTION_FLAG, DAT_INVALID_HANDLE_EVD_CONN},
    };
    if (!udapl_object_in(ia, param->pz_handle, UDAPL_PZ))
        return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    for (size_t at = 0; at < sizeof evds / sizeof *evds; at++)
        if (evds[at].handle && !udapl_evd_in(ia, evds[at].handle, evds[at].stream))
            return UDAPL_CODE(DAT_INVALID_HANDLE, evds[at].subtype);
    return DAT_SUCCESS;
}

static DAT_RETURN ep_create(struct udapl_ia *ia, const DAT_EP_PARAM *param, struct udapl_ep *ep)
{
    struct parts parts;
    if (use_evds(param) != DAT_SUCCESS) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
    DAT_RETURN code = make_parts(ia, param, ep, &parts);
    if (code != DAT_SUCCESS) {
        unuse_evds(param);
        return code;
    }
    ep->param = *param;
    ep->qp = parts.qp;
    ep->receives = parts.receives;
    ep->link = parts.link;
    udapl_hold(param->pz_handle);
    return DAT_SUCCESS;
}

DAT_RETURN udapl_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                           DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                           const DAT_EP_ATTR *attr, DAT_EP_HANDLE *handle)
{
    struct udapl_ia *ia = udapl_object_of(ia_handle, UDAPL_IA);
    if (!ia) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    DAT_EP_PARAM param = {.ep_state = DAT_EP_STATE_UNCONNECTED,
                          .local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->address,
                          .pz_handle = pz,
                          .recv_evd_handle = recv_evd,
                          .request_evd_handle = request_evd,
                          .connect_evd_handle = connect_evd};
    DAT_RETURN code = check_handles(ia, &param);
    if (code != DAT_SUCCESS) return code;
    param.ep_attr = attr ? *attr : udapl_ep_default_attr(ia, &param);
    code = udapl_ep_check_attr(ia, &param);
    if (code != DAT_SUCCESS) return code;
    if (!handle) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
    struct udapl_ep *ep = udapl_object_new(ia, UDAPL_EP, sizeof *ep);
    if (!ep) return udapl_no_resource(ENOMEM, DAT_RESOURCE_MEMORY);
    code = ep_create(ia, &param, ep);
    if (code == DAT_SUCCESS) {
        *handle = ep;
        return DAT_SUCCESS;
    }
    udapl_object_remove(&ep->object);
    udapl_object_free(&ep->object);
    return code;
}

/* A reserved endpoint belongs to its service point. Posted receives are dropped.  */
DAT_RETURN udapl_ep_free(DAT_EP_HANDLE handle)
{
    struct udapl_ep *ep = udapl_object_of(handle, UDAPL_EP);
    if (!ep) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    if (ep->param.ep_state == DAT_EP_STATE_RESERVED)
        return UDAPL_CODE(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED);
    udapl_object_remove(&ep->object);
    take_apart(&(struct parts){.qp = ep->qp, .receives = ep->receives, .link = ep->link});
    unuse_evds(&ep->param);
    udapl_drop(ep->param.pz_handle);
    udapl_object_free(&ep->object);
    return DAT_SUCCESS;
}

/* ---- Queries and state ---- */

DAT_RETURN udapl_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
    const struct udapl_ep *ep = udapl_object_of(handle, UDAPL_EP);
    if (!ep) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    if (mask & ~DAT_EP_FIELD_ALL) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    if (!param) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    *param = ep->param;
    param->ia_handle = udapl_ia_name_of(&ep->object);
    return DAT_SUCCESS;
}

DAT_RETURN udapl_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
                               DAT_BOOLEAN *request_idle)
{
    const struct udapl_ep *ep = udapl_object_of(handle, UDAPL_EP);
    if (!ep) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    if (state) *state = ep->param.ep_state;
    if (recv_idle) *recv_idle = ep->receives && dapl_work_used(ep->receives) ? DAT_FALSE : DAT_TRUE;
    if (request_idle) *request_idle = DAT_TRUE;
    return DAT_SUCCESS;
}

/* The endpoint is in the state already to which a reset brings it.  */
DAT_RETURN udapl_ep_reset(DAT_EP_HANDLE handle)
{
    const struct udapl_ep *ep = udapl_object_of(handle, UDAPL_EP);
    if (!ep) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    return ep->param.ep_state == DAT_EP_STATE_RESERVED
               ? UDAPL_CODE(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED)
               : DAT_SUCCESS;
}

DAT_RETURN udapl_not_connected(DAT_EP_HANDLE handle)
{
    const struct udapl_ep *ep = handle;
    return UDAPL_CODE(DAT_INVALID_STATE, ep->param.ep_state == DAT_EP_STATE_RESERVED
                                             ? DAT_INVALID_STATE_EP_RESERVED
                                             : DAT_INVALID_STATE_EP_UNCONNECTED);
}

DAT_RETURN udapl_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
    if (!udapl_object_of(handle, UDAPL_EP))
        return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
        return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    return udapl_not_connected(handle);
}
