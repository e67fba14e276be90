/* evd.c - event dispatchers: creation, query, states, the CNO, resize and free. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "other/dapl/src/engine/engine.h"

static const DAT_RETURN no_memory = DAPL_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
static const DAT_RETURN bad_evd = DAPL_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);

/* ---- Creation ---- */

/* Events that do not come from a completion queue. */
static bool needs_ring(DAT_EVD_FLAGS flags)
{
    return ((unsigned)flags & ~(unsigned)EVD_CQ_FLAGS) != 0;
}

static int next_vector(dapl_interface_t *interface, int wish)
{
    if (wish >= 0) return wish % interface->attr.vectors;
    pthread_mutex_lock(&interface->mutex);
    uint32_t next = interface->next_vector++;
    pthread_mutex_unlock(&interface->mutex);
    return (int)(next % (uint32_t)interface->attr.vectors);
}

static DAT_RETURN evd_make_queues(dapl_evd_t *evd, const dapl_evd_attr_t *attr)
{
    const dapl_interface_attr_t *device = &evd->object.interface->attr;
    evd->qlen = attr->min_qlen;
    if ((unsigned)attr->flags & EVD_CQ_FLAGS) {
        evd->room = STAGED_AT_FIRST;
        evd->staged = evd->next = malloc((size_t)evd->room * sizeof *evd->staged);
        if (!evd->staged) return no_memory;
        int entries = attr->min_qlen;
        if (device->cq->create(device->device, evd,
                               next_vector(evd->object.interface, attr->vector), &entries,
                               &evd->channel.cq)) {
            evd->channel.cq = NULL;
            return no_memory;
        }
        evd->qlen = entries > attr->min_qlen ? entries : attr->min_qlen;
        evd->channel.ops = device->cq;
        evd->fd = device->cq->fd(evd->channel.cq);
        evd->poll = device->cq->poll;
    }
    if (needs_ring(attr->flags)) {
        evd->ring = ring_create((uint64_t)attr->min_qlen, NULL);
        if (!evd->ring) return no_memory;
        evd->long_way = true;
        if (!evd->channel.cq) evd->qlen = (DAT_COUNT)ring_length(evd->ring);
        atomic_store(&evd->producers, evd->ring);
    }
    if (attr->flags & DAT_EVD_ASYNC_FLAG && device->async &&
        device->async->fd(device->device) >= 0) {
        evd->async = device->async;
        evd->fd = device->async->fd(device->device);
    }
    return DAT_SUCCESS;
}

static void evd_destroy(dapl_evd_t *evd)
{
    if (evd->channel.cq) {
        dapl_channel_settle(&evd->channel);
        evd->channel.ops->destroy(evd->channel.cq);
    }
    evd->object.magic = 0;
    dapl_os_close(atomic_load(&evd->wake));
    ring_free(atomic_load(&evd->producers));
    free(evd->staged);
    pthread_mutex_destroy(&evd->admin);
    free(evd);
}

static bool may_join(const dapl_interface_t *interface, const dapl_cno_t *cno)
{
    if (!cno_valid(cno)) return false;
    return cno->object.interface == interface ||
           (interface->attr.span && cno->object.interface->attr.span);
}

static DAT_RETURN check_attr(const dapl_interface_t *interface, const dapl_evd_attr_t *attr)
{
    const dapl_interface_attr_t *device = &interface->attr;
    if (attr->min_qlen < 1) return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    if (attr->cno && !may_join(interface, attr->cno))
        return DAPL_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
    if (!evd_flags_legal((unsigned)attr->flags))
        return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
    if ((unsigned)attr->flags & EVD_CQ_FLAGS && !device->cq)
        return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
    if (device->max_evd_qlen && attr->min_qlen > device->max_evd_qlen)
        return DAPL_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
    return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_create(dapl_interface_t *interface, const dapl_evd_attr_t *attr,
                           dapl_evd_t **evd)
{
    DAT_RETURN result = check_attr(interface, attr);
    if (result != DAT_SUCCESS) return result;
    dapl_evd_t *made = aligned_alloc(_Alignof(dapl_evd_t), sizeof *made);
    if (!made) return no_memory;
    memset(made, 0, sizeof *made);
    made->object = (object_t){
        .provider = interface->attr.provider, .magic = EVD_MAGIC, .interface = interface};
    made->flags = attr->flags;
    made->fd = -1;
    made->moderation = 1;
    atomic_init(&made->wake, -1);
    pthread_mutex_init(&made->admin, NULL);
    role_init(&made->role, attr->shared);
    result = evd_make_queues(made, attr);
    if (result == DAT_SUCCESS && attr->cno) result = dapl_evd_modify_cno(made, attr->cno);
    if (result != DAT_SUCCESS) {
        evd_destroy(made);
        return result;
    }
    interface_add(interface, &interface->evds, &made->object);
    *evd = made;
    return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_free(dapl_evd_t *evd)
{
    if (!evd_valid(evd)) return bad_evd;
    if (evd->config.streams || atomic_load(&evd->in_links))
        return DAPL_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
    evd_tell(evd, EVD_DEAD);
    evd_await_leave(evd);
    dapl_cno_t *cno = atomic_exchange(&evd->cno, NULL);
    if (cno) cno_detach(cno, evd, true);
    if (cno) agent_await_calls(cno);
    interface_remove(evd->object.interface, &evd->object.interface->evds, &evd->object);
    evd_destroy(evd);
    return DAT_SUCCESS;
}

/* ---- States ---- */

void evd_tell(dapl_evd_t *evd, uint32_t bits)
{
    atomic_fetch_or(&evd->state, bits);
    evd_wake(evd);
}

void evd_await_leave(dapl_evd_t *evd)
{
    for (unsigned round = 0; atomic_load_explicit(&evd->waits, memory_order_acquire); round++)
        dapl_os_yield(round);
}

void evd_watch(dapl_evd_t *evd, bool watch)
{
    pthread_mutex_lock(&evd->admin);
    dapl_cno_t *cno = atomic_load(&evd->cno);
    /* Asynchronous events stay in the device until they are wanted, and would be reported again and
     * again. */
    if (watch && evd->async && atomic_load(&evd->state) & EVD_DISABLED) watch = false;
    if (cno && watch == evd->unwatched) {
        cno_watch(cno, evd, watch);
        evd->unwatched = !watch;
    }
    pthread_mutex_unlock(&evd->admin);
}

void evd_renew(dapl_evd_t *evd)
{
    if (!atomic_load(&evd->cno) || !evd_notifies(atomic_load(&evd->state))) return;
    uintptr_t before = role_borrow(&evd->role);
    if (evd->channel.cq && !evd->channel.armed) evd_arm(evd);
    evd_drain(evd, STAGED_AT_FIRST);
    bool news = evd_queued(evd) > 0;
    evd->notified = evd->signals;
    evd_return(evd, before);
    if (news && evd_notifies(atomic_load(&evd->state))) evd_trigger(evd);
}

DAT_RETURN dapl_evd_enable(dapl_evd_t *evd)
{
    if (!evd_valid(evd)) return bad_evd;
    if (!(atomic_fetch_and(&evd->state, ~(uint32_t)EVD_DISABLED) & EVD_DISABLED))
        return DAT_SUCCESS;
    if (evd->async) evd_watch(evd, true);
    evd_renew(evd);
    return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_disable(dapl_evd_t *evd)
{
    if (!evd_valid(evd)) return bad_evd;
    atomic_fetch_or(&evd->state, EVD_DISABLED);
    if (evd->async) evd_watch(evd, false);
    return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_set_unwaitable(dapl_evd_t *evd)
{
    if (!evd_valid(evd)) return bad_evd;
    evd_tell(evd, EVD_UNWAITABLE);
    return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_clear_unwaitable(dapl_evd_t *evd)
{
    if (!evd_valid(evd)) return bad_evd;
    atomic_fetch_and(&evd->state, ~(uint32_t)EVD_UNWAITABLE);
    return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_query(dapl_evd_t *evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
    if (!evd_valid(evd)) return bad_evd;
    if (!param) return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    if ((unsigned)mask & ~(unsigned)DAT_EVD_FIELD_ALL)
        return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    param->ia_handle = evd->object.interface->attr.ia_handle;
    param->evd_qlen = evd->qlen;
    param->evd_state =
        (DAT_EVD_STATE)(evd_reported(atomic_load(&evd->state)) | evd_configured(&evd->config));
    param->cno_handle = (DAT_CNO_HANDLE)atomic_load(&evd->cno);
    param->evd_flags = evd->flags;
    return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_use(dapl_evd_t *evd, DAT_COMPLETION_FLAGS flags)
{
    if (!evd_valid(evd)) return bad_evd;
    pthread_mutex_lock(&evd->admin);
    bool fits = evd_config_add(&evd->config, (unsigned)evd->flags, (unsigned)flags);
    bool solicited = evd->config.config == DAT_EVD_STATE_CONFIG_SOLICITED;
    pthread_mutex_unlock(&evd->admin);
    if (!fits) return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    uintptr_t before = role_borrow(&evd->role);
    evd->solicited = solicited;
    evd_return(evd, before);
    return DAT_SUCCESS;
}

void dapl_evd_unuse(dapl_evd_t *evd)
{
    pthread_mutex_lock(&evd->admin);
    evd_config_remove(&evd->config);
    pthread_mutex_unlock(&evd->admin);
}

void *dapl_evd_cq(dapl_evd_t *evd)
{
    return evd->channel.cq;
}
uint64_t dapl_evd_arms(dapl_evd_t *evd)
{
    return evd->channel.arms;
}

/* ---- The CNO ---- */

DAT_RETURN dapl_evd_modify_cno(dapl_evd_t *evd, dapl_cno_t *cno)
{
    if (!evd_valid(evd)) return bad_evd;
    if (cno && !may_join(evd->object.interface, cno))
        return DAPL_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
    pthread_mutex_lock(&evd->admin);
    dapl_cno_t *old = atomic_load(&evd->cno);
    if (cno != old) {
        if (old) {
            /* Producers that saw the old one have triggered it when this loop ends. */
            atomic_store(&evd->cno, NULL);
            for (unsigned round = 0; atomic_load(&evd->triggering); round++) dapl_os_yield(round);
            cno_detach(old, evd, false);
        }
        evd->unwatched = atomic_load(&evd->state) & EVD_WAITER ||
                         (evd->async && atomic_load(&evd->state) & EVD_DISABLED);
        if (cno && !cno_attach(cno, evd, !evd->unwatched)) {
            pthread_mutex_unlock(&evd->admin);
            return no_memory;
        }
        atomic_store(&evd->cno, cno);
        uintptr_t before = role_borrow(&evd->role);
        evd->has_cno = cno != NULL;
        evd_return(evd, before);
        /* A waiter that has left meanwhile did not see the CNO, and will not restore this. */
        dapl_os_fence(&evd->state);
        if (cno && evd->unwatched && !(atomic_load(&evd->state) & (EVD_WAITER | EVD_DISABLED))) {
            cno_watch(cno, evd, true);
            evd->unwatched = false;
        }
    }
    pthread_mutex_unlock(&evd->admin);
    if (cno && cno != old) evd_renew(evd);
    return DAT_SUCCESS;
}

/* ---- Resize ---- */

static DAT_RETURN resize_cq(dapl_evd_t *evd, DAT_COUNT min_qlen, int *entries)
{
    const dapl_cq_ops_t *ops = evd->object.interface->attr.cq;
    *entries = min_qlen;
    int error = ops->resize ? ops->resize(evd->channel.cq, entries) : -ENOSYS;
    switch (error) {
    case 0:
        return DAT_SUCCESS;
    case -ENOSYS:
    case -EOPNOTSUPP:
        return (DAT_RETURN)DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED;
    /* Completions that were not polled are more than the new length. */
    case -EBUSY:
        return (DAT_RETURN)DAT_CLASS_ERROR | DAT_INVALID_STATE;
    default:
        return no_memory;
    }
}

/* A retired ring of the right length, behind the current one in the chain of the older ones, may
 * not be used again: a late producer may still hold it. */
static DAT_RETURN resize(dapl_evd_t *evd, DAT_COUNT min_qlen)
{
    if (atomic_load(&evd->state) & EVD_WAITER)
        return DAPL_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
    if (evd_queued(evd) > (uint64_t)min_qlen)
        return (DAT_RETURN)DAT_CLASS_ERROR | DAT_INVALID_STATE;
    ring_t *old = atomic_load(&evd->producers), *next = NULL;
    if (old && ring_length(old) != ring_rounded((uint64_t)min_qlen)) {
        next = ring_create((uint64_t)min_qlen, old);
        if (!next) return no_memory;
    }
    int entries = min_qlen;
    DAT_RETURN result = evd->channel.cq ? resize_cq(evd, min_qlen, &entries) : DAT_SUCCESS;
    if (result != DAT_SUCCESS) {
        if (next) next->older = NULL;
        ring_free(next);
        return result;
    }
    if (next) {
        ring_seal(old, next);
        atomic_store_explicit(&evd->producers, next, memory_order_release);
    }
    if (evd->channel.cq)
        evd->qlen = entries > min_qlen ? entries : min_qlen;
    else
        evd->qlen = (DAT_COUNT)ring_length(atomic_load(&evd->producers));
    return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_resize(dapl_evd_t *evd, DAT_COUNT min_qlen)
{
    if (!evd_valid(evd)) return bad_evd;
    int limit = evd->object.interface->attr.max_evd_qlen;
    if (min_qlen < 1) return DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    if (limit && min_qlen > limit) return DAPL_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
    uintptr_t before = role_borrow(&evd->role);
    DAT_RETURN result = resize(evd, min_qlen);
    evd_return(evd, before);
    return result;
}
