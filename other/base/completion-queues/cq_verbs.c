/* cq_verbs.c - completion queues of libibverbs: see dapl_cq.h.  */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdint.h>

#include "other/base/completion-queues/dapl_cq.h"

/* Some calls return an errno value, others -1. */
static int failure(int result)
{
    return result == 0 ? 0 : -(result > 0 ? result : errno ? errno : EIO);
}

static bool prepare(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

static int verbs_create(void *device, struct dapl_evd *evd, int vector, int *entries, void **cq)
{
    struct ibv_context *context = *(struct ibv_context **)device;
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    struct ibv_cq *made = NULL;
    if (channel && prepare(channel->fd))
        made = ibv_create_cq(context, *entries, evd, channel,
                             vector < context->num_comp_vectors ? vector : 0);
    if (!made) {
        int error = -(errno ? errno : ENOMEM);
        if (channel) ibv_destroy_comp_channel(channel);
        return error;
    }
    *entries = made->cqe;
    *cq = made;
    return 0;
}

static int verbs_destroy(void *cq)
{
    struct ibv_comp_channel *channel = ((struct ibv_cq *)cq)->channel;
    int error = failure(ibv_destroy_cq(cq));
    if (!error) ibv_destroy_comp_channel(channel);
    return error;
}

static int verbs_poll(void *cq, int n, struct ibv_wc *wc)
{
    return ibv_poll_cq(cq, n, wc);
}

static int verbs_arm(void *cq, bool solicited_only)
{
    return failure(ibv_req_notify_cq(cq, solicited_only));
}

static int verbs_take_event(void *cq)
{
    struct ibv_cq *of;
    void *context;
    return ibv_get_cq_event(((struct ibv_cq *)cq)->channel, &of, &context) == 0;
}

static void verbs_acknowledge(void *cq, unsigned events)
{
    ibv_ack_cq_events(cq, events);
}

static int verbs_fd(void *cq)
{
    return ((struct ibv_cq *)cq)->channel->fd;
}

static int verbs_resize(void *cq, int *entries)
{
    int error = failure(ibv_resize_cq(cq, *entries));
    if (!error) *entries = ((struct ibv_cq *)cq)->cqe;
    return error;
}

static int verbs_moderate(void *cq, int count, int microseconds)
{
    struct ibv_modify_cq_attr attr = {
        .attr_mask = IBV_CQ_ATTR_MODERATE,
        .moderate = {.cq_count = (uint16_t)(count > UINT16_MAX ? UINT16_MAX : count),
                     .cq_period = (uint16_t)microseconds},
    };
    return failure(ibv_modify_cq(cq, &attr));
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
