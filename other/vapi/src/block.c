/* block.c - threads that wait for completions in EVAPI_poll_cq_block.
 *
 * They wait on the CQ's channel and on an eventfd by which other threads wake them.  No lock is
 * held meanwhile, and the wait is the only cancellation point.
 */
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "objects.h"
#include "other/base/uncancelled.h"

/* The CQ if threads may wait for its completions.  */
static struct vapi_cq *block_find(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t handle, VAPI_ret_t *code)
{
    struct vapi_cq *cq = vapi_find(hca, handle, KIND_CQ, code);
    if (cq && __atomic_load_n(&cq->waiting, __ATOMIC_ACQUIRE) != WAIT_BLOCK)
        *code = VAPI_EINVAL_PARAM;
    return cq;
}

/* Cancellation as the caller has set it during the wait alone. */
static VAPI_ret_t wait_for_event(struct vapi_cq *cq, MT_size_t timeout_usec, int cancel_state)
{
    struct pollfd fd[2] = {{.fd = cq->channel->fd, .events = POLLIN},
                           {.fd = cq->unblock_fd, .events = POLLIN}};
    struct timespec limit = {.tv_sec = (time_t)(timeout_usec / 1000000),
                             .tv_nsec = (long)(timeout_usec % 1000000) * 1000};
    pthread_setcancelstate(cancel_state, NULL);
    int ready = ppoll(fd, 2, timeout_usec ? &limit : NULL, NULL);
    int error = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    if (ready > 0 && fd[0].revents && !(fd[0].revents & POLLIN))
        return VAPI_EFATAL; /* the device is lost */
    if (ready > 0) return VAPI_OK;
    return ready == 0 ? VAPI_ETIMEOUT : vapi_error(error, VAPI_ESYSCALL);
}

/* Reads the events.  All waiting threads see the channel or the eventfd readable until the first
 * has read it: at least one continues, and a thread that finds no event waits again or returns
 * VAPI_CQ_EMPTY.  More is not guaranteed: the original had one such object for each CQ, too.  */
static void block_take_events(struct vapi_cq *cq)
{
    struct ibv_cq *which;
    void *context;
    uint64_t count;
    unsigned events = 0;
    while (ibv_get_cq_event(cq->channel, &which, &context) == 0) events++;
    if (events) ibv_ack_cq_events(cq->verbs, events);
    /* When the handler is cleared all threads are to wake, so the eventfd is not read.  */
    if (__atomic_load_n(&cq->waiting, __ATOMIC_ACQUIRE) != WAIT_BLOCK) return;
    if (read(cq->unblock_fd, &count, sizeof count) < 0) return; /* no wake-up was requested */
}

static VAPI_ret_t block_wait(struct vapi_cq *cq, MT_size_t timeout_usec, VAPI_wc_desc_t *wc,
                             int cancel_state)
{
    VAPI_hca_hndl_t hca = cq->hca->handle;
    VAPI_ret_t code = VAPI_poll_cq(hca, cq->handle, wc);
    if (code != VAPI_CQ_EMPTY) return code;
    int error = ibv_req_notify_cq(cq->verbs, 0);
    if (error) return vapi_error(error, VAPI_EINVAL_PARAM);
    code = VAPI_poll_cq(hca, cq->handle, wc);
    if (code != VAPI_CQ_EMPTY) return code;
    code = wait_for_event(cq, timeout_usec, cancel_state);
    if (code != VAPI_OK) return code;
    block_take_events(cq);
    return VAPI_poll_cq(hca, cq->handle, wc);
}

VAPI_ret_t EVAPI_poll_cq_block(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t handle, MT_size_t timeout_usec,
                               VAPI_wc_desc_t *wc)
{
    int state;
    VAPI_ret_t code;
    struct vapi_cq *cq = block_find(hca, handle, &code);
    if (code != VAPI_OK) return code;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    code = block_wait(cq, timeout_usec, wc, state);
    pthread_setcancelstate(state, NULL);
    return code;
}

VAPI_ret_t EVAPI_poll_cq_unblock(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t handle)
{
    GASNETI_UNCANCELLED;
    const uint64_t one = 1;
    VAPI_ret_t code;
    struct vapi_cq *cq = block_find(hca, handle, &code);
    if (code == VAPI_OK && write(cq->unblock_fd, &one, sizeof one) != sizeof one)
        code = errno == EAGAIN ? VAPI_OK : VAPI_ESYSCALL; /* full: the thread wakes in any case */
    return code;
}
