/* verbs_events.c - reports failures of the device and of connecting a peer.
 *
 * To the handler that the program has set (PtlTroubleHandler), else as a line on stderr.  The
 * thread that makes progress reads the device's asynchronous events every quarter of a second, and
 * when one wakes it.  Driving is held.
 */
#include <fcntl.h>
#include <portals3_ext.h>
#include <stdarg.h>
#include <stdio.h>

#include "other/base/clock.h"
#include "other/portals3/src/transport/verbs.h"

static const double PORT_GRACE = 1; /* seconds in which the port may become active again */

static _Atomic(ptl_trouble_handler_t) handler;

void PtlTroubleHandler(ptl_trouble_handler_t new_handler)
{
    atomic_store(&handler, new_handler);
}

bool ptli_verbs_has_handler(void)
{
    return atomic_load(&handler) != NULL;
}

bool ptli_verbs_trouble(struct ptli_verbs *v, const struct ptli_node *node, const char *format, ...)
{
    static const ptl_process_id_t no_peer = {PTL_NID_ANY, PTL_PID_ANY};
    const ptl_trouble_handler_t call = atomic_load(&handler);
    char text[800];
    if (!call || v->closing) return false;
    if (node) ptli_verbs_events(v, gasneti_clock()); /* the device may be the cause */
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    call(node ? node->face.id : no_peer, text);
    return true;
}

static void lost(struct ptli_verbs *v, const char *what, const char *event)
{
    const char *device = ibv_get_device_name(v->context->device);
    char port[24] = "";
    if (v->down_since > 0) snprintf(port, sizeof port, " port %u", v->port);
    if (!ptli_verbs_trouble(v, NULL, "%s%s: %s%s", device, port, event, what))
        ptli_verbs_say(v, "%s%s: %s%s", device, port, event, what);
}

static void events_take(struct ptli_verbs *v, const struct ibv_async_event *event, double now)
{
    const char *text = ibv_event_type_str(event->event_type);
    switch (event->event_type) {
    case IBV_EVENT_PORT_ERR:
        if (event->element.port_num == v->port) v->down_since = now;
        break;
    case IBV_EVENT_PORT_ACTIVE:
        if (event->element.port_num == v->port) v->down_since = 0;
        break;
    case IBV_EVENT_DEVICE_FATAL:
        v->down_since = 0;
        lost(v, "; the device was removed or reset: look at the system log of its host", text);
        break;
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_SRQ_ERR:
        lost(v, "; a queue of the device broke: look at the system log and at ibv_devinfo", text);
        break;
    default:
        break;
    }
}

static bool is_active(const struct ptli_verbs *v)
{
    struct ibv_port_attr attr;
    return !ibv_query_port(v->context, v->port, &attr) && attr.state == IBV_PORT_ACTIVE;
}

void ptli_verbs_events(struct ptli_verbs *v, double now)
{
    struct ibv_async_event event;
    while (!ibv_get_async_event(v->context, &event)) {
        events_take(v, &event, now);
        ibv_ack_async_event(&event);
    }
    if (v->down_since <= 0 || now - v->down_since < PORT_GRACE) return;
    if (!is_active(v))
        lost(v, ", and was not active again within 1 s; check its cable and switch (ibv_devinfo)",
             "port error");
    v->down_since = 0;
}

void ptli_verbs_find_cause(struct ptli_verbs *v)
{
    const uintptr_t self = (uintptr_t)pthread_self();
    const bool driving = atomic_load(&v->driver) == self; /* in a handler of an event queue */
    if (!driving) {
        ptli_mutex_lock(&v->driving);
        atomic_store(&v->driver, self);
    }
    ptli_verbs_events(v, gasneti_clock());
    if (!driving) {
        atomic_store(&v->driver, 0);
        ptli_mutex_unlock(&v->driving);
    }
}

void ptli_verbs_gave_up(struct ptli_verbs *v)
{
    if (v->down_since <= 0) return;
    if (!is_active(v)) lost(v, "; check its cable and switch (ibv_devinfo)", "port error");
    v->down_since = 0;
}

void ptli_verbs_events_open(struct ptli_verbs *v)
{
    fcntl(v->context->async_fd, F_SETFL, fcntl(v->context->async_fd, F_GETFL) | O_NONBLOCK);
}
