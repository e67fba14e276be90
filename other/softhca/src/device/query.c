/* query.c - the attributes of a device and its ports, all from the inventory. */
#include <endian.h>
#include <string.h>

#include "other/softhca/src/device/device.h"

/* Pieces of memory of an RDMA read. */
uint32_t shca_max_sge_rd(const struct shca_device_model *m)
{
    if (m->transport == IBV_TRANSPORT_IWARP) return 1;
    return (uint32_t)(m->max_sge_rd < m->max_sge ? m->max_sge_rd : m->max_sge);
}

/* Whether and with respect to what atomics are atomic (enum ibv_atomic_cap). */
enum ibv_atomic_cap shca_atomic_cap(const struct shca_device_model *m)
{
    if (m->transport == IBV_TRANSPORT_IWARP) return IBV_ATOMIC_NONE;
    return (enum ibv_atomic_cap)m->atomic_cap;
}

int shca_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
    const struct shca_device *d = shca_device(c);
    const struct shca_device_model *m = d->model;
    if (d->gone) return EIO;
    *a = (struct ibv_device_attr){
        .node_guid = shca_guid(d->index),
        .sys_image_guid = shca_guid(d->index),
        .max_mr_size = m->max_mr_size,
        .page_size_cap = ~4095ull,
        .vendor_id = m->vendor_id,
        .vendor_part_id = m->vendor_part_id,
        .hw_ver = m->hw_ver,
        .max_qp = m->max_qp,
        .max_qp_wr = m->max_qp_wr,
        .device_cap_flags = IBV_DEVICE_XRC | IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
                            IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_MEM_WINDOW |
                            IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS,
        .max_sge = m->max_sge,
        .max_sge_rd = (int)shca_max_sge_rd(m),
        .max_cq = m->max_cq,
        .max_cqe = m->max_cqe,
        .max_mr = m->max_mr,
        .max_mw = m->max_mr,
        .max_pd = m->max_pd,
        .max_qp_rd_atom = m->max_qp_rd_atom,
        .max_res_rd_atom = m->max_qp_rd_atom * m->max_qp,
        .max_qp_init_rd_atom = m->max_qp_init_rd_atom,
        .atomic_cap = shca_atomic_cap(m),
        .max_ah = 1 << 20,
        .max_srq = m->max_srq,
        .max_srq_wr = m->max_srq_wr,
        .max_srq_sge = m->max_srq_sge,
        .max_pkeys = SHCA_PKEYS,
        .local_ca_ack_delay = 0,
        .phys_port_cnt = shca_inventory()->ports,
    };
    memcpy(a->fw_ver, m->fw_ver, sizeof a->fw_ver);
    return 0;
}

int shca_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *in,
                         struct ibv_device_attr_ex *a, size_t size)
{
    if (size < sizeof a->orig_attr) return EINVAL;
    memset(a, 0, size);
    if (size >= offsetof(struct ibv_device_attr_ex, phys_port_cnt_ex) + sizeof a->phys_port_cnt_ex)
        a->phys_port_cnt_ex = shca_inventory()->ports;
    return shca_query_device(c, &a->orig_attr);
}

int shca_query_port(struct ibv_context *c, uint8_t number, struct ibv_port_attr *attr, size_t size)
{
    enum { LINK_DISABLED = 3, LINK_UP = 5 };
    if (shca_device(c)->gone) return EIO;
    if (!shca_port_exists(number)) return EINVAL;
    uint32_t port = shm_port(shca_device(c)->index, number);
    const struct shca_port_model *m = shca_port_model(port);
    const bool ethernet = m->link == IBV_LINK_LAYER_ETHERNET;
    enum ibv_port_state state = shca_port_state(port);
    struct ibv_port_attr a = {
        .state = state,
        .max_mtu = IBV_MTU_4096,
        .active_mtu = m->active_mtu,
        .gid_tbl_len = m->gids,
        .max_msg_sz = m->max_msg_sz,
        .pkey_tbl_len = m->pkeys,
        .lid = shca_lid(port),
        .sm_lid = ethernet ? 0 : shca_lid(shm_port(0, 1)),
        .lmc = m->lmc,
        .max_vl_num = 1,
        .active_width = m->width,
        .active_speed = m->speed,
        .phys_state = state == IBV_PORT_DOWN ? LINK_DISABLED : LINK_UP,
        .link_layer = m->link,
    };
    memset(attr, 0, size);
    memcpy(attr, &a, size < sizeof a ? size : sizeof a);
    return 0;
}

/* An empty entry is a GID of zeros. */
int shca_query_gid(struct ibv_context *c, uint32_t number, int index, union ibv_gid *gid)
{
    if (!shca_port_exists(number)) return -1;
    uint32_t port = shm_port(shca_device(c)->index, number);
    if (index < 0 || (uint64_t)index >= shca_port_model(port)->gids) return -1;
    shca_gid(port, index, gid);
    return 0;
}

/* The entry INDEX of the GID table of port NUMBER; NULL when the port or the entry does not
 * exist. */
const struct shca_gid_model *shca_query_gid_model(struct ibv_context *c, uint32_t number,
                                                  uint32_t index)
{
    if (!shca_port_exists(number)) return NULL;
    const struct shca_port_model *m = shca_port_model(shm_port(shca_device(c)->index, number));
    return index < m->gids ? &m->gid[index] : NULL;
}

int shca_query_pkey(struct ibv_context *c, uint32_t number, int index, uint16_t *pkey)
{
    if (!shca_port_exists(number)) return -1;
    const struct shca_port_model *m = shca_port_model(shm_port(shca_device(c)->index, number));
    if (index < 0 || (uint32_t)index >= m->pkeys) return -1;
    *pkey = htobe16(m->pkey[index]);
    return 0;
}

/* The first index of exactly this key, membership bit included. */
int shca_pkey_index(struct ibv_context *c, uint32_t number, uint16_t pkey)
{
    uint16_t its;
    for (int i = 0; shca_query_pkey(c, number, i, &its) == 0; i++)
        if (its == pkey) return i;
    return -1;
}
