/* post.c - the producers' side of an event dispatcher: events are put into its ring, and a waiting
 * thread is woken.
 *
 * Without a waiter and without a CNO a post is one compare-and-swap and one fence. The producer's
 * fence is between the store of the event and the load of the state. A consumer that is about to
 * sleep, or has ceased to wait, has a fence between the store of the state and the load from the
 * ring. So at least one of the two sees the store of the other.
 */
#include "other/dapl/src/engine/engine.h"

void evd_wake(dapl_evd_t *evd)
{
    if (atomic_fetch_and(&evd->state, ~(uint32_t)EVD_SLEEPING) & EVD_SLEEPING)
        dapl_os_wake(atomic_load(&evd->wake));
}

void evd_trigger(dapl_evd_t *evd)
{
    taken_t agent = {.cno = NULL};
    atomic_fetch_add(&evd->triggering, 1); /* dapl_evd_modify_cno waits for this to return to 0 */
    dapl_cno_t *cno = atomic_load(&evd->cno);
    if (cno) cno_set_triggered(cno, evd, &agent);
    atomic_fetch_sub_explicit(&evd->triggering, 1, memory_order_release);
    agent_call(&agent, evd);
}

void evd_notice(dapl_evd_t *evd)
{
    dapl_os_fence(&evd->state);
    uint32_t state = atomic_load(&evd->state);
    if (state & EVD_SLEEPING)
        evd_wake(evd);
    else if (evd_notifies(state) && atomic_load(&evd->cno))
        evd_trigger(evd);
}

/* The event that was put as number `position` of the ring is news for a sleeper, or for the CNO. */
static DAT_RETURN tell(dapl_evd_t *evd, uint32_t state, uint64_t position)
{
    if (!(state & EVD_SLEEPING))
        evd_trigger(evd);
    else if (position + 1 >= atomic_load_explicit(&evd->wake_at, memory_order_relaxed))
        evd_wake(evd);
    return DAT_SUCCESS;
}

static inline DAT_RETURN post_event(dapl_evd_t *evd, const DAT_EVENT *event)
{
    uint64_t position = 0;
    ring_t *ring = atomic_load_explicit(&evd->producers, memory_order_acquire);
    for (ring_put_t put; (put = ring_put(ring, event, &position)) != RING_PUT;) {
        if (put == RING_FULL) return (DAT_RETURN)DAT_CLASS_ERROR | DAT_QUEUE_FULL;
        ring = atomic_load_explicit(&ring->next, memory_order_acquire);
    }
    dapl_os_fence(&evd->state);
    uint32_t state = atomic_load_explicit(&evd->state, memory_order_acquire);
    if (state & EVD_SLEEPING ||
        (evd_notifies(state) && atomic_load_explicit(&evd->cno, memory_order_acquire)))
        return tell(evd, state, position);
    return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_post(dapl_evd_t *evd, const DAT_EVENT *event)
{
    if (!atomic_load_explicit(&evd->producers, memory_order_relaxed))
        return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
    return post_event(evd, event);
}

DAT_RETURN dapl_evd_post_se(dapl_evd_t *evd, const DAT_EVENT *event)
{
    if (!evd_valid(evd)) return DAPL_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
    if (!(evd->flags & DAT_EVD_SOFTWARE_FLAG))
        return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
    if (!event || event->event_number != DAT_SOFTWARE_EVENT)
        return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    return post_event(evd, event);
}
