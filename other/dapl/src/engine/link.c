/* link.c - carries out the order of one endpoint's events (machine/order.h) on its event
 * dispatchers.
 *
 * Completions that wait for the connection event are kept by the link, under the role of the
 * receive EVD. The disconnection event goes behind the completions of the same EVD, or to the ring
 * of another one.
 */
#include <stdlib.h>

#include "other/dapl/src/engine/engine.h"
#include "other/dapl/src/machine/work_queue.h"

enum { FLUSH_ROUNDS = 32 }; /* looks at the queues before the helper takes over */

dapl_interface_t *link_interface(const dapl_link_t *link)
{
    const dapl_link_attr_t *attr = &link->attr;
    const dapl_evd_t *evd = attr->connection ? attr->connection
                            : attr->receive  ? attr->receive
                                             : attr->request;
    return evd->object.interface;
}

static void connection_event(const dapl_link_t *link, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
    event->event_number = number;
    event->event_data.connect_event_data.ep_handle = link->attr.ep_handle;
    event->event_data.connect_event_data.private_data_size = 0;
    event->event_data.connect_event_data.private_data = NULL;
}

/* ---- Completions ---- */

/* The endpoint of a receive from a shared receive queue; NULL: unknown. */
static dapl_link_t *link_shared(const dapl_evd_t *evd, uint32_t qp_num)
{
    dapl_link_t *link = evd->links;
    while (link && link->attr.qp_num != qp_num) link = link->next_shared;
    return link;
}

static bool link_hold(dapl_link_t *link, const struct ibv_wc *wc)
{
    if (link->nheld == link->held_room) {
        int room = link->held_room * 2 + 1;
        struct ibv_wc *held = realloc(link->held, (size_t)room * sizeof *held);
        if (!held) return false;
        link->held = held;
        link->held_room = room;
    }
    link->held[link->nheld++] = *wc;
    return true;
}

bool link_admit(dapl_evd_t *evd, struct ibv_wc *wc, dapl_work_t *work)
{
    bool success = wc->status == IBV_WC_SUCCESS;
    dapl_link_t *link = work->link;
    if (!link && work->flags & DAPL_WORK_RECEIVE) {
        link = link_shared(evd, wc->qp_num);
        work->event.ep_handle = link ? link->attr.ep_handle : DAT_HANDLE_NULL;
    }
    if (work->flags & DAPL_WORK_SENTINEL) {
        if (work->queue) work_silent(work->queue, work);
        if (!order_seen(&link->order)) return false;
        if (link->attr.connection == evd) {
            DAT_EVENT event;
            connection_event(link, link->number, &event);
            evd_connection_entry(wc, &event);
            return true;
        }
        link->next_due = evd->due;
        evd->due = link;
        return false;
    }
    if (work->flags & DAPL_WORK_SUPPRESS && success) {
        if (work->queue) work_silent(work->queue, work);
        return false;
    }
    if (work->flags & DAPL_WORK_RECEIVE && link && order_holds(&link->order, success, link->nheld))
        return !link_hold(link, wc);
    return true;
}

/* ---- Connection ---- */

/* Lets what is held pass; false without memory, which leaves it held. With the role of the receive
 * EVD. */
static bool splice(dapl_link_t *link)
{
    if (!link->nheld) return true;
    if (!evd_stage(link->attr.receive, link->held, link->nheld)) return false;
    for (int i = 0; i < link->nheld; i++) {
        dapl_work_t *work = (dapl_work_t *)(uintptr_t)link->held[i].wr_id;
        if (work->queue) work_staged(work->queue);
    }
    link->nheld = 0;
    return true;
}

/* True: nothing is held any more. */
static bool link_splice(dapl_link_t *link)
{
    dapl_evd_t *evd = link->attr.receive;
    if (!evd) {
        order_open(&link->order);
        return true;
    }
    uintptr_t before = role_borrow(&evd->role);
    order_open(&link->order);
    bool news = link->nheld > 0;
    bool done = splice(link);
    evd_return(evd, before);
    if (news && done) evd_notice(evd);
    return done;
}

void dapl_link_open(dapl_link_t *link)
{
    if (!link_splice(link)) helper_watch_link(link);
}

/* Behind the disconnection of the connection before, if that is still among completions: those of
 * the ring come first. */
static DAT_RETURN post_established(dapl_link_t *link, const DAT_EVENT *event)
{
    dapl_evd_t *evd = link->attr.connection;
    struct ibv_wc wc;
    bool behind, done = false;
    if (evd != link->attr.request && evd != link->attr.receive) return dapl_evd_post(evd, event);
    uintptr_t before = role_borrow(&evd->role);
    behind = evd_has_staged(evd, link->attr.ep_handle);
    if (behind) {
        evd_connection_entry(&wc, event);
        done = evd_stage(evd, &wc, 1);
    }
    evd_return(evd, before);
    if (!behind) return dapl_evd_post(evd, event);
    if (done) evd_notice(evd);
    return done ? DAT_SUCCESS : (DAT_RETURN)DAT_CLASS_ERROR | DAT_QUEUE_FULL;
}

DAT_RETURN dapl_link_established(dapl_link_t *link, DAT_COUNT private_data_size,
                                 DAT_PVOID private_data)
{
    if (link->attr.connection) {
        DAT_EVENT event;
        connection_event(link, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
        event.event_data.connect_event_data.private_data_size = private_data_size;
        event.event_data.connect_event_data.private_data = private_data;
        DAT_RETURN result = post_established(link, &event);
        if (result != DAT_SUCCESS) return result;
    }
    dapl_link_open(link);
    return DAT_SUCCESS;
}

/* ---- Disconnection ---- */

bool link_finish(dapl_link_t *link)
{
    dapl_evd_t *evd = link->attr.connection;
    bool done = true;
    if (!evd) return true;
    DAT_EVENT event;
    connection_event(link, link->number, &event);
    if (evd == link->attr.request || evd == link->attr.receive) {
        struct ibv_wc wc;
        evd_connection_entry(&wc, &event);
        uintptr_t before = role_borrow(&evd->role);
        done = evd_stage(evd, &wc, 1);
        evd_return(evd, before);
        if (done) evd_notice(evd);
    } else {
        done = dapl_evd_post(evd, &event) == DAT_SUCCESS;
    }
    if (!done) atomic_store(&link->late, true);
    return done;
}

/* Polls for the EVD's consumer, which must not do so now: the role is borrowed. */
static void link_drain(dapl_evd_t *evd)
{
    if (!evd || !evd->channel.cq) return;
    uintptr_t before = role_borrow(&evd->role);
    evd_drain(evd, INT32_MAX);
    evd_return(evd, before);
}

bool link_progress(dapl_link_t *link)
{
    if (atomic_exchange(&link->late, false)) return link_finish(link);
    if (!link_splice(link)) return false;
    if (!order_is(&link->order, ORDER_FLUSHING)) return true;
    link_drain(link->attr.request);
    if (link->attr.receive != link->attr.request) link_drain(link->attr.receive);
    return !order_is(&link->order, ORDER_FLUSHING) && !atomic_load(&link->late);
}

DAT_RETURN dapl_link_disconnected(dapl_link_t *link, DAT_EVENT_NUMBER number)
{
    const dapl_link_attr_t *attr = &link->attr;
    bool elsewhere = (attr->request && attr->request != attr->connection) ||
                     (attr->receive && attr->receive != attr->connection);
    dapl_link_open(link);
    link->number = number;
    if (!order_flush(&link->order)) return (DAT_RETURN)DAT_CLASS_ERROR | DAT_INVALID_STATE;
    int sentinels = attr->flush ? attr->flush(attr->arg) : 0;
    /* Of a shared receive queue there is no sentinel: its last completion is in the queue already.
     */
    if (attr->shared_receive) link_drain(attr->receive);
    if (order_expected(&link->order, sentinels < 0 ? 0 : sentinels)) {
        return link_finish(link) ? DAT_SUCCESS : helper_watch_link(link);
    }
    /* Where the sentinels come to the EVD of the event, its consumer finds them; on another EVD
     * perhaps no thread polls. */
    if (!elsewhere) return DAT_SUCCESS;
    for (unsigned round = 0; round < FLUSH_ROUNDS; round++) {
        if (link_progress(link)) return DAT_SUCCESS;
        dapl_os_yield(0);
    }
    return helper_watch_link(link);
}

void dapl_link_reset(dapl_link_t *link)
{
    helper_forget_link(link);
    order_reset(&link->order);
}

/* ---- Life ---- */

DAT_RETURN dapl_link_create(const dapl_link_attr_t *attr, dapl_link_t **link)
{
    if (!attr->request && !attr->receive && !attr->connection)
        return DAPL_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
    dapl_link_t *made = calloc(1, sizeof *made);
    if (made && attr->receives > 0)
        made->held = malloc((size_t)attr->receives * sizeof *made->held);
    if (!made || (attr->receives > 0 && !made->held)) {
        free(made);
        return DAPL_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
    }
    made->attr = *attr;
    made->held_room = attr->receives > 0 ? attr->receives : 0;
    if (attr->receive && attr->shared_receive) {
        uintptr_t before = role_borrow(&attr->receive->role);
        made->next_shared = attr->receive->links;
        attr->receive->links = made;
        evd_return(attr->receive, before);
    }
    dapl_interface_t *interface = link_interface(made);
    pthread_mutex_lock(&interface->mutex);
    made->next_of_interface = interface->all_links;
    interface->all_links = made;
    pthread_mutex_unlock(&interface->mutex);
    dapl_evd_t *const evds[] = {attr->request, attr->receive, attr->connection};
    for (int i = 0; i < 3; i++)
        if (evds[i]) atomic_fetch_add(&evds[i]->in_links, 1);
    *link = made;
    return DAT_SUCCESS;
}

void dapl_link_free(dapl_link_t *link)
{
    const dapl_link_attr_t *attr = &link->attr;
    helper_forget_link(link);
    if (attr->receive && attr->shared_receive) {
        uintptr_t before = role_borrow(&attr->receive->role);
        dapl_link_t **at = &attr->receive->links;
        while (*at != link) at = &(*at)->next_shared;
        *at = link->next_shared;
        evd_return(attr->receive, before);
    }
    dapl_interface_t *interface = link_interface(link);
    pthread_mutex_lock(&interface->mutex);
    dapl_link_t **at = &interface->all_links;
    while (*at != link) at = &(*at)->next_of_interface;
    *at = link->next_of_interface;
    pthread_mutex_unlock(&interface->mutex);
    dapl_evd_t *const evds[] = {attr->request, attr->receive, attr->connection};
    for (int i = 0; i < 3; i++)
        if (evds[i]) atomic_fetch_sub(&evds[i]->in_links, 1);
    free(link->held);
    free(link);
}
