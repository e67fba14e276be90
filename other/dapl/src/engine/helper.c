/* helper.c - the thread of an interface that looks where no thread of the program does: for agents
 * of CNOs, and for flushes that did not end at once.  It exists once one of the two was needed.
 */
#include "other/base/clock.h"
#include "other/base/quiet_thread.h"
#include "other/dapl/src/engine/engine.h"

enum { LOOK_EVERY = 500000 }; /* nanoseconds, while a flush goes on */

/* Takes notifications of a CNO with an agent, until one triggers it. */
static dapl_evd_t *look_at_cno(dapl_cno_t *cno, taken_t *agent)
{
    uint64_t key;
    dapl_evd_t *evd = NULL;
    while (!evd && atomic_load(&cno->has_agent) && !atomic_load(&cno->triggered) &&
           dapl_os_set_sleep(cno->set, 0, &key, 1) == 1) {
        if (key) {
            evd = cno_collect(cno, key, true, agent);
        } else {
            dapl_os_clear(cno->wake); /* left over from a trigger that was consumed */
            if (atomic_load(&cno->triggered)) dapl_os_wake(cno->wake);
        }
    }
    return evd;
}

/* With the mutex of the interface, which it releases meanwhile. */
static void help_cno(dapl_interface_t *interface, uint64_t key)
{
    object_t *object = interface->cnos;
    while (object && (uintptr_t)object != key) object = object->next;
    dapl_cno_t *cno = (dapl_cno_t *)object;
    if (!cno || !cno->helped) return;
    if (!atomic_load(&cno->has_agent)) {
        dapl_os_set_remove(interface->helper_set, cno->set);
        cno->helped = false;
        return;
    }
    taken_t agent = {.cno = NULL};
    interface->helping = cno;
    pthread_mutex_unlock(&interface->mutex);
    dapl_evd_t *evd = look_at_cno(cno, &agent);
    pthread_mutex_lock(&interface->mutex);
    interface->helping = NULL;
    pthread_mutex_unlock(&interface->mutex);
    agent_call(&agent, evd);
    pthread_mutex_lock(&interface->mutex);
}

/* Each unfinished link once; with the mutex, which it releases meanwhile. */
static void help_links(dapl_interface_t *interface)
{
    dapl_link_t *link, *again = NULL;
    while ((link = interface->unfinished) && !interface->stopping) {
        interface->unfinished = link->next_unfinished;
        interface->watched = link;
        link->unfinished = false;
        pthread_mutex_unlock(&interface->mutex);
        bool done = link_progress(link);
        pthread_mutex_lock(&interface->mutex);
        interface->watched = NULL;
        if (done || link->unfinished) continue;
        link->unfinished = true;
        link->next_unfinished = again;
        again = link;
    }
    while ((link = again)) {
        again = link->next_unfinished;
        link->next_unfinished = interface->unfinished;
        interface->unfinished = link;
    }
}

static void *helper_run(void *arg)
{
    dapl_interface_t *interface = arg;
    pthread_mutex_lock(&interface->mutex);
    while (!interface->stopping) {
        uint64_t key = 0;
        int64_t deadline =
            interface->unfinished ? (int64_t)gasneti_clock_ns() + LOOK_EVERY : OS_NEVER;
        pthread_mutex_unlock(&interface->mutex);
        int readable = dapl_os_set_sleep(interface->helper_set, deadline, &key, 1);
        if (readable == 1 && !key) dapl_os_clear(interface->helper_wake);
        pthread_mutex_lock(&interface->mutex);
        if (readable == 1 && key) help_cno(interface, key);
        help_links(interface);
    }
    pthread_mutex_unlock(&interface->mutex);
    return NULL;
}

/* With the mutex of the interface. */
static DAT_RETURN helper_start(dapl_interface_t *interface)
{
    if (interface->helper) return DAT_SUCCESS;
    if (interface->helper_set < 0) interface->helper_set = dapl_os_set_open();
    if (interface->helper_wake < 0) {
        interface->helper_wake = dapl_os_wake_open();
        if (interface->helper_wake >= 0)
            dapl_os_set_add(interface->helper_set, interface->helper_wake, 0, true);
    }
    if (interface->helper_set >= 0 && interface->helper_wake >= 0 &&
        gasneti_quiet_thread(&interface->helper_thread, 0, helper_run, interface) == 0)
        interface->helper = true;
    return interface->helper ? DAT_SUCCESS
                             : DAPL_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

DAT_RETURN helper_watch_cno(dapl_cno_t *cno)
{
    dapl_interface_t *interface = cno->object.interface;
    pthread_mutex_lock(&interface->mutex);
    DAT_RETURN result = helper_start(interface);
    if (result == DAT_SUCCESS) {
        /* Added anew, so that what is readable already is reported again. */
        if (cno->helped) dapl_os_set_remove(interface->helper_set, cno->set);
        cno->helped = dapl_os_set_add_edge(interface->helper_set, cno->set, (uintptr_t)cno) == 0;
        if (!cno->helped) result = DAPL_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
    }
    pthread_mutex_unlock(&interface->mutex);
    return result;
}

void helper_forget_cno(dapl_cno_t *cno)
{
    dapl_interface_t *interface = cno->object.interface;
    pthread_mutex_lock(&interface->mutex);
    if (cno->helped) dapl_os_set_remove(interface->helper_set, cno->set);
    cno->helped = false;
    for (unsigned round = 0; interface->helping == cno; round++) {
        pthread_mutex_unlock(&interface->mutex);
        dapl_os_yield(round);
        pthread_mutex_lock(&interface->mutex);
    }
    pthread_mutex_unlock(&interface->mutex);
}

DAT_RETURN helper_watch_link(dapl_link_t *link)
{
    dapl_interface_t *interface = link_interface(link);
    pthread_mutex_lock(&interface->mutex);
    DAT_RETURN result = helper_start(interface);
    if (!link->unfinished) {
        link->unfinished = true;
        link->next_unfinished = interface->unfinished;
        interface->unfinished = link;
    }
    if (result == DAT_SUCCESS) dapl_os_wake(interface->helper_wake);
    pthread_mutex_unlock(&interface->mutex);
    return result;
}

void helper_forget_link(dapl_link_t *link)
{
    dapl_interface_t *interface = link_interface(link);
    pthread_mutex_lock(&interface->mutex);
    for (unsigned round = 0; interface->watched == link; round++) {
        pthread_mutex_unlock(&interface->mutex);
        dapl_os_yield(round);
        pthread_mutex_lock(&interface->mutex);
    }
    dapl_link_t **at = &interface->unfinished;
    while (*at && *at != link) at = &(*at)->next_unfinished;
    if (*at) *at = link->next_unfinished;
    link->unfinished = false;
    pthread_mutex_unlock(&interface->mutex);
}

void helper_stop(dapl_interface_t *interface)
{
    if (interface->helper) {
        pthread_mutex_lock(&interface->mutex);
        interface->stopping = true;
        dapl_os_wake(interface->helper_wake);
        pthread_mutex_unlock(&interface->mutex);
        pthread_join(interface->helper_thread, NULL);
    }
    dapl_os_close(interface->helper_set);
    dapl_os_close(interface->helper_wake);
}
