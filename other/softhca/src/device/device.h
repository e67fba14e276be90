/* device.h - devices, their ports, limits and addresses. */
#ifndef SOFTHCA_DEVICE_H
#define SOFTHCA_DEVICE_H

#include <errno.h>

#include "other/softhca/src/segment/peer.h"
#include "other/softhca/src/settings/inventory.h"

/* Vendor libraries compare fields of their own behind ibv_device: these read as zeros. */
struct shca_device {
    struct ibv_device base;
    char verbs_device_tail[512];
    uint32_t index;
    const struct shca_device_model *model;
    _Atomic uint32_t used[SHCA_KINDS];
    _Atomic bool gone;
};

static inline struct shca_device *shca_device(const struct ibv_context *c)
{
    return (struct shca_device *)c->device;
}

/* query.c */
uint32_t shca_max_sge_rd(const struct shca_device_model *m);
enum ibv_atomic_cap shca_atomic_cap(const struct shca_device_model *m);
int shca_query_device(struct ibv_context *c, struct ibv_device_attr *attr);
int shca_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *in,
                         struct ibv_device_attr_ex *attr, size_t size);
int shca_query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr, size_t size);
int shca_query_gid(struct ibv_context *c, uint32_t number, int index, union ibv_gid *gid);
const struct shca_gid_model *shca_query_gid_model(struct ibv_context *c, uint32_t number,
                                                  uint32_t index);
int shca_query_pkey(struct ibv_context *c, uint32_t number, int index, uint16_t *pkey);
int shca_pkey_index(struct ibv_context *c, uint32_t number, uint16_t pkey);

/* What the device does not have: sets errno, returns EOPNOTSUPP. */
static inline int shca_unsupported(void)
{
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
}

/* port.c: devices, their ports, their limits. PORT is a shm_port(), NUMBER counts 1, 2 ... */
extern struct shca_device shca_devices[SHCA_DEVICES];
const struct shca_inventory *shca_inventory(void);
const struct shca_port_model *shca_port_model(uint32_t port);
bool shca_port_exists(uint32_t number);
enum ibv_port_state shca_port_state(uint32_t port);
enum ibv_port_state shca_port_exchange(uint32_t port, enum ibv_port_state state); /* the old one */
int shca_take(struct ibv_context *c, enum shca_kind kind);
void shca_give(struct ibv_context *c, enum shca_kind kind);
void shca_ports_in_child(void);

/* address.c: assignment and resolution of LIDs and GIDs */
uint64_t shca_guid(uint32_t device); /* network order */
int shca_host_is_known(void);        /* 0; or an errno value, and said why */
uint16_t shca_lid(uint32_t port);
void shca_gid(uint32_t port, uint32_t index, union ibv_gid *gid);
int shca_address_error(uint32_t from_port, const struct ibv_ah_attr *ah); /* 0 or an errno */
struct shca_destination shca_destination_of(uint32_t from_port, const struct ibv_ah_attr *ah);
struct shm_route shca_route(uint32_t from_port, const struct ibv_ah_attr *ah);
bool shca_lids_suffice(void); /* reports it when not */

#endif
