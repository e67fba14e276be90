/* evd_wait.c - a thread waits on an event dispatcher: it sleeps on the completion channel itself,
 * and on a counter that producers and changes of the state write to.
 *
 * The waiter has the role while it looks, not while it sleeps. The order before a sleep: arm, poll
 * again, say that it sleeps, fence, look at the ring and at the state again.
 */
#include <errno.h>

#include "other/dapl/src/engine/engine.h"

/* One call. */
typedef struct waiting {
    evd_wait_t wait;
    int64_t deadline;
    uint64_t ring_seen; /* events that the ring had when the wait blocked, or was last looked at */
    bool expired, interrupted;
} waiting_t;

static uint64_t ring_tail(const dapl_evd_t *evd)
{
    if (!evd->ring) return 0;
    const ring_t *ring = atomic_load_explicit(&evd->producers, memory_order_acquire);
    return atomic_load(&ring->tail) & ~RING_SEALED;
}

/* All that can be known: the number of events queued. Events of the ring are all signalling. */
static uint64_t evd_wait_look(dapl_evd_t *evd, waiting_t *now)
{
    evd_drain(evd, evd->qlen);
    uint64_t tail = ring_tail(evd);
    uint64_t queued = evd_queued(evd);
    if (now->wait.blocked && tail != now->ring_seen) evd_wait_signal(&now->wait, queued);
    now->ring_seen = tail;
    return queued;
}

/* Requests an event per `threshold` completions, if the device can; a wait with the same threshold
 * as the last one is taken as a sign of more such waits. */
static void moderate(dapl_evd_t *evd, int threshold, bool again)
{
    enum { PERIOD = 50 }; /* microseconds: how late an event may be if fewer completions come */
    const dapl_cq_ops_t *ops = evd->object.interface->attr.cq;
    int wish = again ? threshold : 1;
    if (!ops->moderate || evd->moderation == wish) return;
    if (ops->moderate(evd->channel.cq, wish, wish > 1 ? PERIOD : 0) == 0) evd->moderation = wish;
}

static int sleep_fd(dapl_evd_t *evd)
{
    int fd = atomic_load_explicit(&evd->wake, memory_order_relaxed);
    if (fd >= 0) return fd;
    fd = dapl_os_wake_open();
    if (fd >= 0) atomic_store_explicit(&evd->wake, fd, memory_order_relaxed);
    return fd;
}

/* Leaves the role, sleeps, and enters it again. False: there is no descriptor to sleep on. */
static bool sleep_once(dapl_evd_t *evd, waiting_t *now, uint64_t queued)
{
    int wake = sleep_fd(evd);
    if (wake < 0) return false;
    uint64_t missing = queued < now->wait.threshold ? now->wait.threshold - queued : 1;
    atomic_store_explicit(&evd->wake_at, now->ring_seen + missing, memory_order_relaxed);
    uint32_t state = atomic_fetch_or(&evd->state, EVD_SLEEPING);
    dapl_os_fence(&evd->state);
    if (ring_tail(evd) >= now->ring_seen + missing || evd_must_leave(state) != DAT_SUCCESS) {
        atomic_fetch_and(&evd->state, ~(uint32_t)EVD_SLEEPING);
        return true;
    }
    evd_leave(evd);
    if (atomic_load(&evd->cno) && evd->fd >= 0) evd_watch(evd, false);
    int readable = dapl_os_sleep(evd->fd, wake, now->deadline);
    atomic_fetch_and(&evd->state, ~(uint32_t)EVD_SLEEPING);
    role_enter(&evd->role);
    if (readable == -EINTR) now->interrupted = true;
    if (!readable) now->expired = true;
    if (readable < 0) return true;
    if (readable & 2) dapl_os_clear(wake);
    if (readable & 1 && evd->channel.cq && dapl_channel_take(&evd->channel) && evd->solicited)
        evd_wait_signal(
            &now->wait,
            UINT64_MAX); /* asked for by the sender: the completion itself does not tell */
    return true;
}

static DAT_RETURN evd_wait_finish(dapl_evd_t *evd, uint64_t queued, DAT_EVENT *event,
                                  DAT_COUNT *nmore)
{
    if (!evd_take(evd, event)) { /* cannot happen while the waiter owns the EVD */
        *nmore = 0;
        return (DAT_RETURN)DAT_CLASS_ERROR | DAT_INTERNAL_ERROR;
    }
    *nmore = (DAT_COUNT)(queued - 1);
    return DAT_SUCCESS;
}

/* With the role. */
static DAT_RETURN wait_for_events(dapl_evd_t *evd, waiting_t *now, DAT_EVENT *event,
                                  DAT_COUNT *nmore)
{
    now->ring_seen = ring_tail(evd);
    for (;;) {
        uint64_t queued = evd_wait_look(evd, now);
        DAT_RETURN leave = evd_must_leave(atomic_load(&evd->state));
        *nmore = (DAT_COUNT)queued;
        if (evd_wait_enough(&now->wait, queued) && queued)
            return evd_wait_finish(evd, queued, event, nmore);
        if (leave != DAT_SUCCESS) return leave;
        if (now->interrupted) return DAT_INTERRUPTED_CALL;
        if (now->expired || now->deadline == 0) return DAT_TIMEOUT_EXPIRED;
        if (evd->channel.cq && !evd->channel.armed) {
            evd_arm(evd);
            continue; /* a completion that came before the arming may cause no event of the
                         channel */
        }
        now->wait.blocked = true;
        evd->wait = &now->wait;
        if (!sleep_once(evd, now, queued))
            return DAPL_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
    }
}

static DAT_RETURN claim(dapl_evd_t *evd)
{
    uint32_t state = atomic_load(&evd->state);
    do {
        DAT_RETURN may = evd_may_wait(state);
        if (may != DAT_SUCCESS) return may;
    } while (!atomic_compare_exchange_weak(&evd->state, &state, state | EVD_WAITER));
    return DAT_SUCCESS;
}

/* Events that are left, or came since, are the CNO's from now on. */
static void evd_wait_release(dapl_evd_t *evd)
{
    evd_leave(evd);
    atomic_fetch_and(&evd->state, ~(uint32_t)EVD_WAITER);
    dapl_os_fence(&evd->state);
    if (!atomic_load(&evd->cno)) return;
    if (evd->fd >= 0) evd_watch(evd, true);
    evd_renew(evd);
}

static DAT_RETURN check_threshold(const dapl_evd_t *evd, DAT_COUNT threshold)
{
    unsigned config = evd_configured(&evd->config);
    if (threshold < 1 || threshold > evd->qlen)
        return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    if (threshold == 1 || config == DAT_EVD_STATE_CONFIG_THRESHOLD) return DAT_SUCCESS;
    return DAPL_ERROR(DAT_INVALID_STATE, config == DAT_EVD_STATE_CONFIG_SOLICITED
                                             ? DAT_INVALID_STATE_EVD_CONFIG_SOLICITED
                                             : DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
}

DAT_RETURN dapl_evd_wait_ns(dapl_evd_t *evd, int64_t nanoseconds, DAT_COUNT threshold,
                            DAT_EVENT *event, DAT_COUNT *nmore)
{
    if (!evd_valid(evd)) return DAPL_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
    if (!event) return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
    if (!nmore) return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
    atomic_fetch_add(&evd->waits, 1);
    DAT_RETURN result = check_threshold(evd, threshold);
    if (result == DAT_SUCCESS) result = claim(evd);
    if (result == DAT_SUCCESS) {
        /* No clock is read for a look without waiting. */
        waiting_t now = {.wait.threshold = (uint64_t)threshold,
                         .deadline = nanoseconds ? dapl_os_deadline(nanoseconds) : 0};
        role_enter(&evd->role);
        if (evd->channel.cq && nanoseconds) {
            moderate(evd, threshold, threshold == evd->last_threshold);
            evd->last_threshold = threshold;
        }
        result = wait_for_events(evd, &now, event, nmore);
        evd->wait = NULL;
        evd_choose_way(evd);
        evd_wait_release(evd);
    }
    atomic_fetch_sub_explicit(&evd->waits, 1, memory_order_release);
    return result;
}

DAT_RETURN dapl_evd_wait(dapl_evd_t *evd, DAT_TIMEOUT microseconds, DAT_COUNT threshold,
                         DAT_EVENT *event, DAT_COUNT *nmore)
{
    int64_t nanoseconds = microseconds == DAT_TIMEOUT_INFINITE ? -1 : (int64_t)microseconds * 1000;
    return dapl_evd_wait_ns(evd, nanoseconds, threshold, event, nmore);
}
