/* async_verbs.c - asynchronous events of a device that libibverbs opened: see dapl_verbs.h. Its
 * completion queues: ../base/completion-queues/cq_verbs.c.
 */
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>

#include "other/dapl/include/dapl_verbs.h"

_Static_assert(offsetof(dapl_verbs_device_t, context) == 0, "dapl_verbs_cq takes it as a device");

struct ibv_cq *dapl_verbs_cq_of(dapl_evd_t *evd)
{
    return dapl_evd_cq(evd);
}

static int set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static DAT_HANDLE handle_of_qp(const dapl_verbs_device_t *device, struct ibv_qp *qp)
{
    return device->handle_of_qp ? device->handle_of_qp(qp) : qp->qp_context;
}

static DAT_HANDLE handle_of_srq(const dapl_verbs_device_t *device, struct ibv_srq *srq)
{
    return device->handle_of_srq ? device->handle_of_srq(srq) : srq->srq_context;
}

/* Translates an asynchronous event of verbs.  False: DAT has no such event. */
static bool translate(const dapl_verbs_device_t *device, const struct ibv_async_event *from,
                      DAT_EVENT *to)
{
    DAT_ASYNCH_ERROR_EVENT_DATA *error = &to->event_data.asynch_error_event_data;
    error->dat_handle = DAT_HANDLE_NULL;
    switch (from->event_type) {
    case IBV_EVENT_CQ_ERR:
        to->event_number = DAT_ASYNC_ERROR_EVD_OVERFLOW;
        error->dat_handle = from->element.cq->cq_context;
        error->reason = DAT_EVD_OVERFLOW_ERROR;
        return true;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR:
        to->event_number = DAT_ASYNC_ERROR_EP_BROKEN;
        error->dat_handle = handle_of_qp(device, from->element.qp);
        error->reason =
            from->event_type == IBV_EVENT_QP_FATAL ? DAT_EP_TRANSFER_TO_ERROR : DAT_EP_OTHER_ERROR;
        return true;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        to->event_number = DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR;
        error->dat_handle = handle_of_srq(device, from->element.srq);
        error->reason = from->event_type == IBV_EVENT_SRQ_ERR ? DAT_SRQ_TRANSFER_TO_ERROR
                                                              : DAT_SRQ_LOW_WATERMARK_EVENT;
        return true;
    case IBV_EVENT_DEVICE_FATAL:
        to->event_number = DAT_ASYNC_ERROR_IA_CATASTROPHIC;
        error->reason = DAT_IA_CATASTROPHIC_ERROR;
        return true;
    case IBV_EVENT_PORT_ERR:
        to->event_number = DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR;
        error->reason = DAT_IA_OTHER_ERROR;
        return true;
    default:
        return false;
    }
}

static int async_take(void *device, DAT_EVENT *event)
{
    const dapl_verbs_device_t *self = device;
    struct ibv_async_event from;
    for (;;) {
        /* Softhca and some drivers wait in the call whatever the descriptor's mode. */
        struct pollfd fds = {.fd = self->context->async_fd, .events = POLLIN};
        if (poll(&fds, 1, 0) <= 0 || ibv_get_async_event(self->context, &from)) return 0;
        bool known = translate(self, &from, event);
        ibv_ack_async_event(&from);
        if (known) return 1;
    }
}

static int async_verbs_fd(void *device)
{
    const dapl_verbs_device_t *self = device;
    return set_nonblocking(self->context->async_fd) ? -1 : self->context->async_fd;
}

const dapl_async_ops_t dapl_verbs_async = {.take = async_take, .fd = async_verbs_fd};
