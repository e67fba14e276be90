/* ep_post.c - posting to endpoints. Receives are posted before a connection exists; all else needs
 * one.  */
#include <errno.h>
#include <stddef.h>

#include "provider.h"

/* A segment of DAT is one of verbs.  */
_Static_assert(sizeof(DAT_LMR_TRIPLET) == sizeof(struct ibv_sge) &&
                   offsetof(DAT_LMR_TRIPLET, virtual_address) == offsetof(struct ibv_sge, addr) &&
                   offsetof(DAT_LMR_TRIPLET, segment_length) == offsetof(struct ibv_sge, length) &&
                   offsetof(DAT_LMR_TRIPLET, lmr_context) == offsetof(struct ibv_sge, lkey),
               "segments");

/* Checks the local segments, which are the second and third argument of each call.  */
static DAT_RETURN check_iov(DAT_COUNT count, DAT_COUNT most, const DAT_LMR_TRIPLET *iov)
{
    if (count < 0 || count > most) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    if (count > 0 && !iov) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    return DAT_SUCCESS;
}

/* UNSIGNALLED only where the endpoint has it as its attribute.  */
static bool flags_allowed(DAT_COMPLETION_FLAGS flags, DAT_COMPLETION_FLAGS known,
                          DAT_COMPLETION_FLAGS attribute)
{
    return !(flags & ~known) && (!(flags & DAT_COMPLETION_UNSIGNALLED_FLAG) ||
                                 (attribute & DAT_COMPLETION_UNSIGNALLED_FLAG));
}

/* Empty segments may have any address and context: devices would take them for 2 GB, so they are
 * left out.  */
static DAT_COUNT without_empty(DAT_LMR_TRIPLET *iov, DAT_COUNT count, DAT_LMR_TRIPLET *kept)
{
    DAT_COUNT left = 0;
    for (DAT_COUNT at = 0; at < count; at++)
        if (iov[at].segment_length > 0) kept[left++] = iov[at];
    return left;
}

static DAT_RETURN post_recv(struct udapl_ep *ep, DAT_COUNT count, DAT_LMR_TRIPLET *iov,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    DAT_LMR_TRIPLET kept[UDAPL_MOST_SEGMENTS];
    dapl_work_t *work = dapl_work_take(ep->receives);
    if (!work) return UDAPL_CODE(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
    work->link = ep->link;
    work->event = (DAT_DTO_COMPLETION_EVENT_DATA){
        .ep_handle = ep, .user_cookie = cookie, .operation = DAT_DTO_RECEIVE};
    work->rmr = DAT_HANDLE_NULL;
    work->flags = DAPL_WORK_RECEIVE |
                  (flags & DAT_COMPLETION_UNSIGNALLED_FLAG ? (uint32_t)DAPL_WORK_UNSIGNALLED : 0);
    struct ibv_recv_wr *bad, wr = {.wr_id = (uintptr_t)work,
                                   .sg_list = (struct ibv_sge *)kept,
                                   .num_sge = without_empty(iov, count, kept)};
    int error = ibv_post_recv(ep->qp, &wr, &bad);
    if (!error) return DAT_SUCCESS;
    dapl_work_untake(ep->receives, work);
    return udapl_no_resource(error, DAT_RESOURCE_TEP);
}

DAT_RETURN udapl_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT count, DAT_LMR_TRIPLET *iov,
                              DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    struct udapl_ep *ep = udapl_object_of(handle, UDAPL_EP);
    if (!ep) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    DAT_RETURN code = check_iov(count, ep->param.ep_attr.max_recv_iov, iov);
    if (code != DAT_SUCCESS) return code;
    if (!flags_allowed(flags, DAT_COMPLETION_UNSIGNALLED_FLAG,
                       ep->param.ep_attr.recv_completion_flags))
        return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
    if (!ep->receives) return UDAPL_CODE(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_RECV);
    return post_recv(ep, count, iov, cookie, flags);
}

/* The checks of a request, and then the state that all endpoints are in.  */
static DAT_RETURN ep_post_request(DAT_EP_HANDLE handle, DAT_COUNT count,
                                  DAT_COUNT (*most)(const DAT_EP_ATTR *),
                                  const DAT_LMR_TRIPLET *iov, DAT_COMPLETION_FLAGS flags,
                                  DAT_RETURN_SUBTYPE flags_arg)
{
    const struct udapl_ep *ep = udapl_object_of(handle, UDAPL_EP);
    if (!ep) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    DAT_RETURN code = check_iov(count, most(&ep->param.ep_attr), iov);
    if (code != DAT_SUCCESS) return code;
    if (!flags_allowed(flags, UDAPL_REQUEST_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG,
                       ep->param.ep_attr.request_completion_flags))
        return UDAPL_CODE(DAT_INVALID_PARAMETER, flags_arg);
    return udapl_not_connected(handle);
}

static DAT_COUNT most_sent(const DAT_EP_ATTR *attr)
{
    return attr->max_request_iov;
}
static DAT_COUNT most_read(const DAT_EP_ATTR *attr)
{
    return attr->max_rdma_read_iov;
}
static DAT_COUNT most_written(const DAT_EP_ATTR *attr)
{
    return attr->max_rdma_write_iov;
}

DAT_RETURN udapl_ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT count, DAT_LMR_TRIPLET *iov,
                              DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    return ep_post_request(handle, count, most_sent, iov, flags, DAT_INVALID_ARG5);
}

static DAT_RETURN rdma(DAT_EP_HANDLE handle, DAT_COUNT count,
                       DAT_COUNT (*most)(const DAT_EP_ATTR *), const DAT_LMR_TRIPLET *iov,
                       const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
    if (udapl_object_of(handle, UDAPL_EP) && !remote)
        return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
    return ep_post_request(handle, count, most, iov, flags, DAT_INVALID_ARG6);
}

DAT_RETURN udapl_ep_post_rdma_read(DAT_EP_HANDLE handle, DAT_COUNT count, DAT_LMR_TRIPLET *iov,
                                   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                   DAT_COMPLETION_FLAGS flags)
{
    return rdma(handle, count, most_read, iov, remote, flags);
}

DAT_RETURN udapl_ep_post_rdma_write(DAT_EP_HANDLE handle, DAT_COUNT count, DAT_LMR_TRIPLET *iov,
                                    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                    DAT_COMPLETION_FLAGS flags)
{
    return rdma(handle, count, most_written, iov, remote, flags);
}
