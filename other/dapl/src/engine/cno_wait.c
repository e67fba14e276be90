/* cno_wait.c - threads wait on a notification object: they sleep in its set of completion channels,
 * and the thread that is woken takes the channel's event itself.
 *
 * An EVD whose notification was consumed is not armed again at once, for its events are to be
 * dequeued first: it is "dirty". The dequeue that finds it empty arms it, or otherwise the next
 * wait, which also finds completions that came meanwhile.
 */
#include <errno.h>

#include "other/dapl/src/engine/engine.h"

/* True if the EVD has signalling completions that have not been reported to the CNO's consumer.
 * With the role. */
static bool has_news(dapl_evd_t *evd)
{
    bool news = evd->signals > evd->notified && evd_queued(evd) > 0;
    if (news) evd->notified = evd->signals;
    return news;
}

static dapl_evd_t *pin(dapl_cno_t *cno, uint64_t key)
{
    uint32_t slot = (uint32_t)key - 1;
    dapl_evd_t *evd = NULL;
    pthread_mutex_lock(&cno->mutex);
    if (slot < cno->room && cno->members[slot].generation == (uint32_t)(key >> 32))
        evd = cno->members[slot].evd;
    if (evd) evd->pins++;
    pthread_mutex_unlock(&cno->mutex);
    return evd;
}

static dapl_evd_t *pin_dirty(dapl_cno_t *cno)
{
    dapl_evd_t *evd = NULL;
    pthread_mutex_lock(&cno->mutex);
    for (uint32_t i = 0; i < cno->room && !evd; i++)
        if (cno->members[i].evd && cno->members[i].evd->dirty) evd = cno->members[i].evd;
    if (evd) {
        evd->pins++;
        evd->dirty = false;
        atomic_fetch_sub(&cno->ndirty, 1);
    }
    pthread_mutex_unlock(&cno->mutex);
    return evd;
}

/* Ends the use of an EVD by a thread of the CNO. `told`: the EVD has news, and the CNO is triggered
 * by it, or consumed at once by the caller. */
static void unpin(dapl_cno_t *cno, dapl_evd_t *evd, bool told, bool lent, bool dirty,
                  taken_t *agent)
{
    if (told && lent)
        cno_set_triggered(cno, evd, agent);
    else if (told && !atomic_load(&cno->triggered))
        cno_take_agent(cno, agent);
    pthread_mutex_lock(&cno->mutex);
    if (dirty && !evd->dirty && cno->members[evd->member - 1].evd == evd) {
        evd->dirty = true;
        atomic_fetch_add(&cno->ndirty, 1);
    }
    evd->pins--;
    pthread_mutex_unlock(&cno->mutex);
}

/* Takes the notification and looks for news. With the role. */
static bool take_news(dapl_evd_t *evd, bool arm_at_once, bool *dirty)
{
    uint32_t state = atomic_load(&evd->state);
    if (state & EVD_WAITER) return false; /* the EVD's own waiter takes its events */
    if (evd->async) {
        evd_drain(evd, 0);
        return !(state & EVD_DISABLED) && evd_queued(evd) > 0;
    }
    if (!dapl_channel_take(&evd->channel) || state & EVD_DISABLED) return false;
    evd_drain(evd, STAGED_AT_FIRST);
    /* A completion since the arming has triggered the CNO, even if it is dequeued by now. */
    bool news = evd->signals > evd->notified || evd->solicited;
    evd->notified = evd->signals;
    if (!news || arm_at_once) {
        evd_arm(evd);
        evd_drain(evd, STAGED_AT_FIRST);
        if (has_news(evd)) news = true;
    } else {
        *dirty = true;
    }
    return news;
}

dapl_evd_t *cno_collect(dapl_cno_t *cno, uint64_t key, bool lent, taken_t *agent)
{
    dapl_evd_t *evd = pin(cno, key);
    bool dirty = false, news;
    if (!evd) return NULL;
    if (lent) {
        uintptr_t before = role_borrow(&evd->role);
        news = take_news(evd, cno->fd_form, &dirty);
        evd_return(evd, before);
    } else {
        role_enter(&evd->role);
        news = take_news(evd, cno->fd_form, &dirty);
        evd_leave(evd);
    }
    unpin(cno, evd, news, lent, dirty, agent);
    return news ? evd : NULL;
}

dapl_evd_t *cno_rearm(dapl_cno_t *cno, bool lent, taken_t *agent)
{
    dapl_evd_t *evd;
    while (atomic_load(&cno->ndirty) && (evd = pin_dirty(cno))) {
        bool news = false;
        uintptr_t before = role_borrow(&evd->role);
        if (evd_notifies(atomic_load(&evd->state))) {
            uint64_t queued = evd_queued(evd);
            if (!evd->channel.armed) evd_arm(evd);
            evd_drain(evd, STAGED_AT_FIRST);
            /* Whether what came before the arming was solicited is not known. */
            news = has_news(evd) || (evd->solicited && evd_queued(evd) > queued);
        }
        evd_return(evd, before);
        unpin(cno, evd, news, lent, false, agent);
        if (news) return evd;
    }
    return NULL;
}

static dapl_evd_t *consume(dapl_cno_t *cno)
{
    if (!atomic_load(&cno->triggered)) return NULL;
    dapl_os_clear(cno->wake);
    return atomic_exchange(&cno->triggered, NULL);
}

/* Waits for a trigger; the thread began to wait in `epoch`. */
static DAT_RETURN wait_for_trigger(dapl_cno_t *cno, uint32_t epoch, int64_t deadline,
                                   dapl_evd_t **evd, taken_t *agent)
{
    for (bool expired = false;;) {
        uint64_t key = 0;
        *evd = NULL;
        if (atomic_load(&cno->shut) || atomic_load(&cno->epoch) != epoch) return DAT_SUCCESS;
        if ((*evd = consume(cno))) return DAT_SUCCESS;
        if ((*evd = cno_rearm(cno, false, agent))) return DAT_SUCCESS;
        if (expired) return DAT_QUEUE_EMPTY;
        int readable = dapl_os_set_sleep(cno->set, deadline, &key, 1);
        if (readable == -EINTR) return DAT_INTERRUPTED_CALL;
        if (readable <= 0)
            expired = true; /* a trigger that comes at this moment is still taken */
        else if (key && (*evd = cno_collect(cno, key, false, agent)))
            return DAT_SUCCESS;
        else if (!key && !atomic_load(&cno->triggered) && atomic_load(&cno->epoch) == epoch) {
            dapl_os_clear(cno->wake);
            if (atomic_load(&cno->triggered)) dapl_os_wake(cno->wake);
        }
    }
}

DAT_RETURN dapl_cno_wait_ns(dapl_cno_t *cno, int64_t nanoseconds, dapl_evd_t **evd)
{
    taken_t agent = {.cno = NULL};
    if (!cno_valid(cno)) return DAPL_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
    if (!evd) return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    uint32_t epoch;
    for (;;) { /* counted in the epoch that is current after the counting */
        epoch = atomic_load(&cno->epoch);
        atomic_fetch_add(&cno->waiters[epoch & 1], 1);
        if (atomic_load(&cno->epoch) == epoch) break;
        atomic_fetch_sub(&cno->waiters[epoch & 1], 1);
    }
    DAT_RETURN result =
        wait_for_trigger(cno, epoch, nanoseconds ? dapl_os_deadline(nanoseconds) : 0, evd, &agent);
    atomic_fetch_sub(&cno->waiters[epoch & 1], 1);
    agent_call(&agent, *evd); /* the agent may free what it likes: nothing is used after it */
    return result;
}

DAT_RETURN dapl_cno_wait(dapl_cno_t *cno, DAT_TIMEOUT microseconds, dapl_evd_t **evd)
{
    return dapl_cno_wait_ns(
        cno, microseconds == DAT_TIMEOUT_INFINITE ? -1 : (int64_t)microseconds * 1000, evd);
}

DAT_RETURN dapl_cno_trigger(dapl_cno_t *cno, dapl_evd_t **evd)
{
    return dapl_cno_wait_ns(cno, 0, evd);
}
