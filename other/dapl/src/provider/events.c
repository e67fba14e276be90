/* events.c - the calls on event dispatchers and notification objects, for which other/dapl does the
 * work.
 *
 * The handle of an EVD or CNO is the object of other/dapl itself, which checks that it is one. What
 * the provider adds, its IA and the program's context, is found by the handle's address; calls that
 * transfer events do not look for it.
 */
#include <errno.h>
#include <stddef.h>

#include "provider.h"

enum { BUCKETS = 1024 }; /* a power of two */

struct event_object {
    struct udapl_object object;
    void *core;
    DAT_EVD_FLAGS flags;
    struct event_object *chain;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct event_object *buckets[BUCKETS];

static struct event_object **bucket_of(const void *core)
{
    uintptr_t address = (uintptr_t)core >> 4;
    return &buckets[(address ^ address >> 12) % BUCKETS];
}

static struct event_object *events_find(const void *core, enum udapl_kind kind)
{
    pthread_mutex_lock(&lock);
    struct event_object *found = *bucket_of(core);
    while (found && (found->core != core || found->object.kind != kind)) found = found->chain;
    pthread_mutex_unlock(&lock);
    return found;
}

struct udapl_object *udapl_event_object(DAT_HANDLE handle)
{
    struct event_object *found = events_find(handle, UDAPL_EVD);
    if (!found) found = events_find(handle, UDAPL_CNO);
    return found ? &found->object : NULL;
}

dapl_evd_t *udapl_evd_in(const struct udapl_ia *ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream)
{
    const struct event_object *found = handle ? events_find(handle, UDAPL_EVD) : NULL;
    return found && found->object.ia == ia && (found->flags & stream) ? handle : NULL;
}

/* Enters an object that other/dapl made.  */
static DAT_RETURN enter(struct udapl_ia *ia, enum udapl_kind kind, void *core, DAT_EVD_FLAGS flags)
{
    struct event_object *added = udapl_object_new(ia, kind, sizeof *added);
    if (!added) return udapl_no_resource(ENOMEM, DAT_RESOURCE_MEMORY);
    added->core = core;
    added->flags = flags;
    struct event_object **first = bucket_of(core);
    pthread_mutex_lock(&lock);
    added->chain = *first;
    *first = added;
    pthread_mutex_unlock(&lock);
    return DAT_SUCCESS;
}

static void events_leave(struct event_object *gone)
{
    pthread_mutex_lock(&lock);
    struct event_object **at = bucket_of(gone->core);
    while (*at != gone) at = &(*at)->chain;
    *at = gone->chain;
    pthread_mutex_unlock(&lock);
    udapl_object_remove(&gone->object);
    udapl_object_free(&gone->object);
}

#define NO_EVD UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST)
#define NO_CNO UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO)
#define ARG(n) UDAPL_CODE(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

/* ---- The interface: completion queues and asynchronous events of the device ---- */

/* An event that concerns no object reports the IA by the number that libdat2 gave it after the
 * interface was opened.  */
static int take_async(void *device, DAT_EVENT *event)
{
    struct udapl_ia *ia =
        (struct udapl_ia *)((char *)device - offsetof(struct udapl_ia, device_events));
    DAT_HANDLE *affected = &event->event_data.asynch_error_event_data.dat_handle;
    int taken = dapl_verbs_async.take(device, event);
    if (taken == 1 && !*affected) *affected = udapl_ia_name_of(&ia->object);
    return taken;
}

static int events_async_fd(void *device)
{
    return dapl_verbs_async.fd(device);
}

DAT_RETURN udapl_events_open(struct udapl_ia *ia, bool async)
{
    static const dapl_async_ops_t async_ops = {.take = take_async, .fd = events_async_fd};
    ia->device_events = (dapl_verbs_device_t){.context = ia->verbs};
    dapl_interface_attr_t attr = {.provider = (void *)(uintptr_t)ia->object.table,
                                  .ia_handle = ia,
                                  .device = &ia->device_events,
                                  .cq = &dapl_verbs_cq,
                                  .async = async ? &async_ops : NULL,
                                  .max_evd_qlen = ia->device.max_cqe,
                                  .vectors = ia->verbs->num_comp_vectors};
    return dapl_interface_open(&attr, &ia->events);
}

void udapl_events_shut(struct udapl_ia *ia)
{
    dapl_interface_shut(ia->events);
}

void udapl_events_close(struct udapl_ia *ia)
{
    for (struct udapl_object *object = ia->objects, *next; object; object = next) {
        next = object->next;
        if (object->kind == UDAPL_EVD || object->kind == UDAPL_CNO)
            events_leave((struct event_object *)object);
    }
    dapl_interface_close(ia->events);
}

/* ---- Event dispatchers ---- */

static DAT_RETURN create_evd(struct udapl_ia *ia, DAT_COUNT qlen, dapl_cno_t *cno,
                             DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *handle)
{
    dapl_evd_attr_t attr = {.min_qlen = qlen, .flags = flags, .cno = cno, .vector = -1};
    dapl_evd_t *evd;
    DAT_RETURN code = dapl_evd_create(ia->events, &attr, &evd);
    if (code != DAT_SUCCESS) return code;
    code = enter(ia, UDAPL_EVD, evd, flags);
    if (code != DAT_SUCCESS)
        dapl_evd_free(evd);
    else
        *handle = evd;
    return code;
}

/* Creates the EVD of asynchronous events of an IA. It cannot be freed before its IA is closed. */
DAT_RETURN udapl_evd_create_async(struct udapl_ia *ia, DAT_COUNT qlen)
{
    DAT_RETURN code = create_evd(ia, qlen, NULL, DAT_EVD_ASYNC_FLAG, &ia->async_evd);
    return code == DAT_SUCCESS ? dapl_evd_use(ia->async_evd, DAT_COMPLETION_DEFAULT_FLAG) : code;
}

DAT_RETURN udapl_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
                            DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *handle)
{
    struct udapl_ia *ia = udapl_object_of(ia_handle, UDAPL_IA);
    if (!ia) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    const struct event_object *found = cno ? events_find(cno, UDAPL_CNO) : NULL;
    if (cno && (!found || found->object.ia != ia)) return NO_CNO;
    if (!handle) return ARG(5);
    return create_evd(ia, qlen, cno, flags, handle);
}

DAT_RETURN udapl_evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
    struct event_object *found = events_find(handle, UDAPL_EVD);
    if (!found) return NO_EVD;
    if (mask & ~DAT_EVD_FIELD_ALL) return ARG(2);
    if (!param) return ARG(3);
    DAT_RETURN code = dapl_evd_query(handle, mask, param);
    if (code == DAT_SUCCESS && (mask & DAT_EVD_FIELD_IA_HANDLE))
        param->ia_handle = udapl_ia_name_of(&found->object);
    return code;
}

DAT_RETURN udapl_evd_modify_cno(DAT_EVD_HANDLE handle, DAT_CNO_HANDLE cno)
{
    const struct event_object *evd = events_find(handle, UDAPL_EVD);
    if (!evd) return NO_EVD;
    const struct event_object *found = cno ? events_find(cno, UDAPL_CNO) : NULL;
    if (cno && (!found || found->object.ia != evd->object.ia)) return NO_CNO;
    return dapl_evd_modify_cno(handle, cno);
}

DAT_RETURN udapl_evd_enable(DAT_EVD_HANDLE evd)
{
    return dapl_evd_enable(evd);
}
DAT_RETURN udapl_evd_disable(DAT_EVD_HANDLE evd)
{
    return dapl_evd_disable(evd);
}

DAT_RETURN udapl_evd_set_unwaitable(DAT_EVD_HANDLE evd)
{
    return dapl_evd_set_unwaitable(evd);
}

DAT_RETURN udapl_evd_clear_unwaitable(DAT_EVD_HANDLE evd)
{
    return dapl_evd_clear_unwaitable(evd);
}

DAT_RETURN udapl_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                          DAT_EVENT *event, DAT_COUNT *more)
{
    return dapl_evd_wait(evd, timeout, threshold, event, more);
}

DAT_RETURN udapl_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
    return dapl_evd_dequeue(evd, event);
}

DAT_RETURN udapl_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event)
{
    return dapl_evd_post_se(evd, event);
}

DAT_RETURN udapl_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen)
{
    return dapl_evd_resize(evd, qlen);
}

DAT_RETURN udapl_evd_free(DAT_EVD_HANDLE handle)
{
    struct event_object *found = events_find(handle, UDAPL_EVD);
    if (!found) return NO_EVD;
    DAT_RETURN code = dapl_evd_free(handle);
    if (code == DAT_SUCCESS) events_leave(found);
    return code;
}

/* ---- Notification objects ---- */

static DAT_RETURN enter_cno(struct udapl_ia *ia, dapl_cno_t *cno, DAT_CNO_HANDLE *handle)
{
    DAT_RETURN code = enter(ia, UDAPL_CNO, cno, 0);
    if (code != DAT_SUCCESS)
        dapl_cno_free(cno);
    else
        *handle = cno;
    return code;
}

DAT_RETURN udapl_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
                            DAT_CNO_HANDLE *handle)
{
    struct udapl_ia *ia = udapl_object_of(ia_handle, UDAPL_IA);
    if (!ia) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (!handle) return ARG(3);
    dapl_cno_t *cno;
    DAT_RETURN code = dapl_cno_create(ia->events, agent, &cno);
    return code == DAT_SUCCESS ? enter_cno(ia, cno, handle) : code;
}

DAT_RETURN udapl_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *fd, DAT_CNO_HANDLE *handle)
{
    struct udapl_ia *ia = udapl_object_of(ia_handle, UDAPL_IA);
    if (!ia) return UDAPL_CODE(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (!fd) return ARG(2);
    if (!handle) return ARG(3);
    dapl_cno_t *cno;
    DAT_RETURN code = dapl_cno_fd_create(ia->events, fd, &cno);
    return code == DAT_SUCCESS ? enter_cno(ia, cno, handle) : code;
}

DAT_RETURN udapl_cno_modify_agent(DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
    return dapl_cno_modify_agent(cno, agent);
}

DAT_RETURN udapl_cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
    /* The header numbers its fields 1 to 4, so that each combination below 8 is legal.  */
    struct event_object *found = events_find(handle, UDAPL_CNO);
    if (!found) return NO_CNO;
    if ((unsigned)mask > 7) return ARG(2);
    if (!param) return ARG(3);
    DAT_RETURN code = dapl_cno_query(handle, mask, param);
    if (code == DAT_SUCCESS) param->ia_handle = udapl_ia_name_of(&found->object);
    return code;
}

DAT_RETURN udapl_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd)
{
    if (!evd) return ARG(3);
    dapl_evd_t *from = NULL;
    DAT_RETURN code = dapl_cno_wait(cno, timeout, &from);
    *evd = from;
    return code;
}

DAT_RETURN udapl_cno_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd)
{
    if (!evd) return ARG(2);
    dapl_evd_t *from = NULL;
    DAT_RETURN code = dapl_cno_trigger(cno, &from);
    *evd = from;
    return code;
}

DAT_RETURN udapl_cno_free(DAT_CNO_HANDLE handle)
{
    struct event_object *found = events_find(handle, UDAPL_CNO);
    if (!found) return NO_CNO;
    DAT_RETURN code = dapl_cno_free(handle);
    if (code == DAT_SUCCESS) events_leave(found);
    return code;
}
