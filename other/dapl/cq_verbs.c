/* cq_verbs.c - the device's side over libibverbs: see dapl_verbs.h.  The only file that calls it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#include "other/dapl/dapl_verbs.h"

typedef struct verbs_cq {
    struct ibv_cq *cq;
    struct ibv_comp_channel *channel;
} verbs_cq_t;

/* Some calls return an errno value, others -1. */
static int failure(int result)
{
    return result == 0 ? 0 : -(result > 0 ? result : errno ? errno : EIO);
}

static int set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

static int verbs_destroy(void *cq)
{
    verbs_cq_t *self = cq;
    int error = self->cq ? failure(ibv_destroy_cq(self->cq)) : 0;
    if (error) return error;
    ibv_destroy_comp_channel(self->channel);
    free(self);
    return 0;
}

static int verbs_create(void *device, dapl_evd_t *evd, int vector, int *entries, void **cq)
{
    struct ibv_context *context = ((dapl_verbs_device_t *)device)->context;
    verbs_cq_t *self = calloc(1, sizeof *self);
    if (!self) return -ENOMEM;
    self->channel = ibv_create_comp_channel(context);
    if (!self->channel) {
        free(self);
        return -ENOMEM;
    }
    int error = set_nonblocking(self->channel->fd);
    if (!error && fcntl(self->channel->fd, F_SETFD, FD_CLOEXEC) < 0) error = -errno;
    if (!error) {
        if (vector >= context->num_comp_vectors) vector = 0;
        self->cq = ibv_create_cq(context, *entries, evd, self->channel, vector);
        if (!self->cq) error = -(errno ? errno : ENOMEM);
    }
    if (error) {
        verbs_destroy(self);
        return error;
    }
    *entries = self->cq->cqe;
    *cq = self;
    return 0;
}

static int verbs_poll(void *cq, int n, struct ibv_wc *wc)
{
    return ibv_poll_cq(((verbs_cq_t *)cq)->cq, n, wc);
}

static int verbs_arm(void *cq, bool solicited_only)
{
    return failure(ibv_req_notify_cq(((verbs_cq_t *)cq)->cq, solicited_only));
}

static int verbs_take_event(void *cq)
{
    struct ibv_cq *of;
    void *context;
    return ibv_get_cq_event(((verbs_cq_t *)cq)->channel, &of, &context) == 0;
}

static void verbs_acknowledge(void *cq, unsigned events)
{
    ibv_ack_cq_events(((verbs_cq_t *)cq)->cq, events);
}

static int verbs_fd(void *cq)
{
    return ((verbs_cq_t *)cq)->channel->fd;
}

static int verbs_resize(void *cq, int *entries)
{
    verbs_cq_t *self = cq;
    int error = failure(ibv_resize_cq(self->cq, *entries));
    if (!error) *entries = self->cq->cqe;
    return error;
}

static int verbs_moderate(void *cq, int count, int microseconds)
{
    struct ibv_modify_cq_attr attr = {
        .attr_mask = IBV_CQ_ATTR_MODERATE,
        .moderate = {.cq_count = (uint16_t)(count > UINT16_MAX ? UINT16_MAX : count),
                     .cq_period = (uint16_t)microseconds},
    };
    return failure(ibv_modify_cq(((verbs_cq_t *)cq)->cq, &attr));
}

const dapl_cq_ops_t dapl_verbs_cq = {
    .create = verbs_create,
    .destroy = verbs_destroy,
    .poll = verbs_poll,
    .arm = verbs_arm,
    .take_event = verbs_take_event,
    .acknowledge = verbs_acknowledge,
    .fd = verbs_fd,
    .resize = verbs_resize,
    .moderate = verbs_moderate,
};

struct ibv_cq *dapl_verbs_cq_of(dapl_evd_t *evd)
{
    verbs_cq_t *self = dapl_evd_cq(evd);
    return self ? self->cq : NULL;
}

/* ---- Asynchronous events ---- */

static DAT_HANDLE handle_of_qp(const dapl_verbs_device_t *device, struct ibv_qp *qp)
{
    return device->handle_of_qp ? device->handle_of_qp(qp) : qp->qp_context;
}

static DAT_HANDLE handle_of_srq(const dapl_verbs_device_t *device, struct ibv_srq *srq)
{
    return device->handle_of_srq ? device->handle_of_srq(srq) : srq->srq_context;
}

/* False: it is news, and no error that DAT knows. */
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

static int async_fd(void *device)
{
    const dapl_verbs_device_t *self = device;
    return set_nonblocking(self->context->async_fd) ? -1 : self->context->async_fd;
}

const dapl_async_ops_t dapl_verbs_async = {.take = async_take, .fd = async_fd};
