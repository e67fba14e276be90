/* ep_attr.c - the attributes of an endpoint: defaults, and what the device and the EVDs allow.  */
#include "provider.h"

/* Of endpoints that are created without attributes.  */
enum { DEFAULT_DTOS = 64, DEFAULT_IOV = 4, DEFAULT_READS = 4 };

static DAT_COUNT ep_attr_least(DAT_COUNT a, DAT_COUNT b)
{
    return a < b ? a : b;
}

DAT_EP_ATTR udapl_ep_default_attr(const struct udapl_ia *ia, const DAT_EP_PARAM *evds)
{
    DAT_IA_ATTR most;
    udapl_ia_attributes(ia, &most);
    DAT_COUNT dtos = ep_attr_least(DEFAULT_DTOS, most.max_dto_per_ep);
    DAT_COUNT iov = ep_attr_least(DEFAULT_IOV, most.max_iov_segments_per_dto);
    return (DAT_EP_ATTR){
        .service_type = DAT_SERVICE_TYPE_RC,
        .max_message_size = most.max_message_size,
        .max_rdma_size = most.max_rdma_size,
        .qos = DAT_QOS_BEST_EFFORT,
        .max_recv_dtos = evds->recv_evd_handle ? dtos : 0,
        .max_request_dtos = evds->request_evd_handle ? dtos : 0,
        .max_recv_iov = iov,
        .max_request_iov = iov,
        .max_rdma_read_in = ep_attr_least(DEFAULT_READS, most.max_rdma_read_per_ep_in),
        .max_rdma_read_out = ep_attr_least(DEFAULT_READS, most.max_rdma_read_per_ep_out),
        .srq_soft_hw = DAT_HW_DEFAULT,
        .max_rdma_read_iov = ep_attr_least(iov, most.max_iov_segments_per_rdma_read),
        .max_rdma_write_iov = ep_attr_least(iov, most.max_iov_segments_per_rdma_write),
    };
}

static bool within(DAT_COUNT value, DAT_COUNT most)
{
    return value >= 0 && value <= most;
}

/* Without an EVD for its completions nothing can be posted to a queue.  */
static bool queue_valid(DAT_EVD_HANDLE evd, DAT_COUNT dtos, DAT_COUNT iov, const DAT_IA_ATTR *most)
{
    return within(dtos, most->max_dto_per_ep) && within(iov, most->max_iov_segments_per_dto) &&
           (evd ? dtos > 0 : dtos == 0);
}

static bool flags_valid(const DAT_EP_ATTR *attr)
{
    DAT_COMPLETION_FLAGS recv = attr->recv_completion_flags;
    bool both =
        (recv & DAT_COMPLETION_EVD_THRESHOLD_FLAG) && (recv & DAT_COMPLETION_UNSIGNALLED_FLAG);
    return !(recv & ~UDAPL_RECV_FLAGS) && !both &&
           !(attr->request_completion_flags & ~UDAPL_REQUEST_FLAGS);
}

/* Attributes of a program that was compiled for other extensions can name no service that is
 * offered here.  */
DAT_RETURN udapl_ep_check_attr(const struct udapl_ia *ia, const DAT_EP_PARAM *param)
{
    const DAT_EP_ATTR *attr = &param->ep_attr;
    DAT_IA_ATTR most;
    udapl_ia_attributes(ia, &most);
    bool valid =
        attr->service_type == DAT_SERVICE_TYPE_RC &&
        attr->max_message_size <= most.max_message_size &&
        attr->max_rdma_size <= most.max_rdma_size && flags_valid(attr) &&
        queue_valid(param->recv_evd_handle, attr->max_recv_dtos, attr->max_recv_iov, &most) &&
        queue_valid(param->request_evd_handle, attr->max_request_dtos, attr->max_request_iov,
                    &most) &&
        within(attr->max_rdma_read_in, most.max_rdma_read_per_ep_in) &&
        within(attr->max_rdma_read_out, most.max_rdma_read_per_ep_out) &&
        within(attr->max_rdma_read_iov, most.max_iov_segments_per_rdma_read) &&
        within(attr->max_rdma_write_iov, most.max_iov_segments_per_rdma_write);
    if (!valid) return UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
    return attr->qos == DAT_QOS_BEST_EFFORT ? DAT_SUCCESS
                                            : UDAPL_CODE(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}
