/* interface.c - the event side of one interface adapter: the list of its objects, and their common
 * end. */
#include <stdlib.h>

#include "other/dapl/src/engine/engine.h"

DAT_RETURN dapl_interface_open(const dapl_interface_attr_t *attr, dapl_interface_t **interface)
{
    dapl_interface_t *made = calloc(1, sizeof *made);
    if (!made) return DAPL_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
    made->attr = *attr;
    if (made->attr.vectors < 1) made->attr.vectors = 1;
    pthread_mutex_init(&made->mutex, NULL);
    made->helper_set = made->helper_wake = -1;
    *interface = made;
    return DAT_SUCCESS;
}

void interface_add(dapl_interface_t *interface, object_t **list, object_t *object)
{
    pthread_mutex_lock(&interface->mutex);
    object->next = *list;
    *list = object;
    pthread_mutex_unlock(&interface->mutex);
}

void interface_remove(dapl_interface_t *interface, object_t **list, object_t *object)
{
    pthread_mutex_lock(&interface->mutex);
    while (*list != object) list = &(*list)->next;
    *list = object->next;
    pthread_mutex_unlock(&interface->mutex);
}

void dapl_interface_shut(dapl_interface_t *interface)
{
    atomic_store(&interface->shut, true);
    /* The lists change only by calls that may not be made beside this one; waiters need no list. */
    for (object_t *object = interface->evds; object; object = object->next)
        evd_tell((dapl_evd_t *)object, EVD_DEAD);
    for (object_t *object = interface->evds; object; object = object->next)
        evd_await_leave((dapl_evd_t *)object);
    for (object_t *object = interface->cnos; object; object = object->next) {
        atomic_store(&((dapl_cno_t *)object)->shut, true);
        cno_release((dapl_cno_t *)object);
    }
}

void dapl_interface_close(dapl_interface_t *interface)
{
    dapl_interface_shut(interface);
    while (interface->all_links) dapl_link_free(interface->all_links);
    while (interface->evds) {
        dapl_evd_t *evd = (dapl_evd_t *)interface->evds;
        evd->config.streams = 0;
        dapl_evd_free(evd);
    }
    while (interface->cnos) dapl_cno_free((dapl_cno_t *)interface->cnos);
    helper_stop(interface);
    pthread_mutex_destroy(&interface->mutex);
    free(interface);
}
