/* port_faults.c - a port changes its state, or a device is removed, as this process sees it.
 *
 * A change of state changes the sender id and the accepted sender of the port's QPs, so that the
 * data path needs no check. It also raises the event on every open context of the device.
 */
#include "other/softhca/src/faults/inject.h"
#include "other/softhca/src/objects/context.h"

void shca_port_set(uint32_t port, enum ibv_port_state state)
{
    struct ibv_async_event e = {.element.port_num = (int)shm_port_number(port),
                                .event_type = state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE
                                                                       : IBV_EVENT_PORT_ERR};
    bool was_active = shca_port_exchange(port, state) == IBV_PORT_ACTIVE;
    if (was_active == (state == IBV_PORT_ACTIVE)) return;
    shca_port_retune();
    shca_raise_on_device(&shca_devices[shm_port_device(port)], &e);
}

/* Lets the device behave as if it had been unplugged: its objects fail, but its events are still
 * delivered. */
void shca_device_remove(struct shca_device *d)
{
    struct ibv_async_event e = {.event_type = IBV_EVENT_DEVICE_FATAL};
    if (atomic_exchange(&d->gone, true)) return;
    shca_contexts_remove(d);
    shca_port_retune();
    shca_raise_on_device(d, &e);
}
