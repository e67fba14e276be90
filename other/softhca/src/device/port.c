/* port.c - the devices of the inventory and the states of their ports.
 *
 * Each process has its own view of the state of a port; port_faults.c changes it.
 */
#include <stdio.h>

#include "other/softhca/src/device/device.h"
#include "other/softhca/src/segment/upward.h"
#include "other/softhca/src/settings/settings.h"

struct shca_device shca_devices[SHCA_DEVICES];

static struct {
    pthread_once_t once;
    struct shca_inventory inventory;
    _Atomic uint32_t state[SHCA_DEVICES * SHCA_PORTS];
} ports = {.once = PTHREAD_ONCE_INIT};

static void port_name_device(struct shca_device *d)
{
    struct ibv_device *b = &d->base;
    b->transport_type = (enum ibv_transport_type)d->model->transport;
    b->node_type = b->transport_type == IBV_TRANSPORT_IWARP ? IBV_NODE_RNIC : IBV_NODE_CA;
    snprintf(b->name, sizeof b->name, "softhca%u", d->index);
    snprintf(b->dev_name, sizeof b->dev_name, "%s", b->name);
    snprintf(b->dev_path, sizeof b->dev_path, "/sys/class/infiniband_verbs/%s", b->name);
    snprintf(b->ibdev_path, sizeof b->ibdev_path, "/sys/class/infiniband/%s", b->name);
}

static void port_init(void)
{
    char why[1]; /* the text was checked with the environment */
    if (!shca_inventory_parse(shca_settings()->devices, &ports.inventory, why, sizeof why))
        shca_inventory_parse(NULL, &ports.inventory, why, sizeof why);
    for (uint32_t i = 0; i < ports.inventory.devices; i++) {
        struct shca_device *d = &shca_devices[i];
        d->index = i;
        d->model = &ports.inventory.device[i];
        port_name_device(d);
        for (uint32_t n = 1; n <= ports.inventory.ports; n++)
            ports.state[shm_port(i, n)] = d->model->port[n - 1].state;
    }
}

const struct shca_inventory *shca_inventory(void)
{
    pthread_once(&ports.once, port_init);
    return &ports.inventory;
}

const struct shca_port_model *shca_port_model(uint32_t port)
{
    return &shca_inventory()->device[shm_port_device(port)].port[shm_port_number(port) - 1];
}

bool shca_port_exists(uint32_t number)
{
    return number >= 1 && number <= shca_inventory()->ports;
}

enum ibv_port_state shca_port_state(uint32_t port)
{
    return ports.state[port];
}

enum ibv_port_state shca_port_exchange(uint32_t port, enum ibv_port_state state)
{
    return atomic_exchange(&ports.state[port], state);
}

/* Counts one more object of the kind: 0, or ENOMEM at the limit of the device. */
int shca_take(struct ibv_context *c, enum shca_kind kind)
{
    struct shca_device *d = shca_device(c);
    const struct shca_device_model *m = d->model;
    const uint64_t most[SHCA_KINDS] = {[SHCA_PD] = m->max_pd,
                                       [SHCA_MR] = m->max_mr,
                                       [SHCA_CQ] = m->max_cq,
                                       [SHCA_QP] = m->max_qp,
                                       [SHCA_SRQ] = m->max_srq};
    int error = shca_inject_creation(kind);
    if (error) return error;
    if (atomic_fetch_add(&d->used[kind], 1) < most[kind]) return 0;
    atomic_fetch_sub(&d->used[kind], 1);
    return ENOMEM;
}

void shca_give(struct ibv_context *c, enum shca_kind kind)
{
    atomic_fetch_sub(&shca_device(c)->used[kind], 1);
}

/* A forked child has none of its parent's objects. */
void shca_ports_in_child(void)
{
    for (int i = 0; i < SHCA_DEVICES; i++)
        for (int k = 0; k < SHCA_KINDS; k++) shca_devices[i].used[k] = 0;
}
