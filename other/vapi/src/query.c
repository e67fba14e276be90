/* query.c - properties of an HCA and its ports, from verbs' queries.  */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "firmware.h"
#include "objects.h"
#include "other/connect/roce/table.h"

static uint32_t at_most(int value, uint32_t most)
{
    return value < 0 ? 0 : (uint32_t)value < most ? (uint32_t)value : most;
}

static uint32_t query_any(int value)
{
    return at_most(value, UINT32_MAX);
}

static uint8_t query_byte(int value)
{
    return (uint8_t)at_most(value, 255);
}

/* Verbs has a mask of page sizes, VAPI the largest. */
static uint32_t largest_page(uint64_t mask)
{
    for (int bit = 31; bit >= 0; bit--)
        if (mask >> bit & 1) return 1u << bit;
    return 4096;
}

static void fill_counts(VAPI_hca_cap_t *cap, const struct ibv_device_attr *a)
{
    cap->max_num_qp = query_any(a->max_qp);
    cap->max_qp_ous_wr = at_most(a->max_qp_wr, MOST_WRS);
    cap->max_num_sg_ent = at_most(a->max_sge, MOST_SGE);
    cap->max_num_sg_ent_rd = at_most(a->max_sge_rd, MOST_SGE);
    cap->max_num_cq = query_any(a->max_cq);
    cap->max_num_ent_cq = at_most(a->max_cqe, MOST_CQE);
    cap->max_num_mr = query_any(a->max_mr);
    cap->max_mr_size = a->max_mr_size;
    cap->max_pd_num = query_any(a->max_pd);
    cap->max_ee_num = query_any(a->max_ee);
    cap->max_rdd_num = query_any(a->max_rdd);
    cap->max_mw_num = query_any(a->max_mw);
    cap->max_raw_ipv6_qp = query_any(a->max_raw_ipv6_qp);
    cap->max_raw_ethy_qp = query_any(a->max_raw_ethy_qp);
    cap->max_mcast_grp_num = query_any(a->max_mcast_grp);
    cap->max_mcast_qp_attach_num = query_any(a->max_mcast_qp_attach);
    cap->max_total_mcast_qp_attach_num = query_any(a->max_total_mcast_qp_attach);
    cap->max_ah_num = query_any(a->max_ah);
    /* Fast regions are made of ordinary ones; programs that find the calls expect some. */
    cap->max_num_fmr = query_any(a->max_mr);
    cap->max_num_map_per_fmr = MOST_MAPS;
    cap->max_num_srq = query_any(a->max_srq);
    cap->max_wqe_per_srq = at_most(a->max_srq_wr, MOST_WRS);
    cap->max_srq_sentries = at_most(a->max_srq_sge, MOST_SGE);
}

static void fill_cap(VAPI_hca_cap_t *cap, const struct ibv_device_attr *a)
{
    memset(cap, 0, sizeof *cap);
    fill_counts(cap, a);
    cap->flags = a->device_cap_flags & 0x1fff; /* VAPI and verbs use the same bits */
    cap->page_size_cap = largest_page(a->page_size_cap);
    cap->phys_port_num = a->phys_port_cnt;
    cap->max_pkeys = a->max_pkeys;
    memcpy(cap->node_guid, &a->node_guid, sizeof cap->node_guid);
    cap->local_ca_ack_delay = a->local_ca_ack_delay;
    cap->max_qp_ous_rd_atom = query_byte(a->max_qp_rd_atom);
    cap->max_ee_ous_rd_atom = query_byte(a->max_ee_rd_atom);
    cap->max_res_rd_atom = query_byte(a->max_res_rd_atom);
    cap->max_qp_init_rd_atom = query_byte(a->max_qp_init_rd_atom);
    cap->max_ee_init_rd_atom = query_byte(a->max_ee_init_rd_atom);
    cap->atomic_cap = (VAPI_atomic_cap_t)a->atomic_cap;
    cap->srq_resize_supported = !!(a->device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
}

VAPI_ret_t VAPI_query_hca_cap(VAPI_hca_hndl_t handle, VAPI_hca_vendor_t *vendor,
                              VAPI_hca_cap_t *cap)
{
    struct vapi_hca *hca = vapi_hca(handle);
    struct ibv_device_attr attr;
    if (!hca) return VAPI_EINVAL_HCA_HNDL;
    int error = ibv_query_device(hca->verbs, &attr);
    if (error) return vapi_error(error, VAPI_ESYSCALL);
    if (vendor) {
        memset(vendor, 0, sizeof *vendor);
        vendor->vendor_id = attr.vendor_id;
        vendor->vendor_part_id = attr.vendor_part_id;
        vendor->hw_ver = attr.hw_ver;
        vendor->fw_ver = vapi_firmware(attr.fw_ver);
    }
    if (cap) fill_cap(cap, &attr);
    return VAPI_OK;
}

/* --- ports --- */

static VAPI_ret_t query_port_attr(struct vapi_hca *hca, IB_port_t port, struct ibv_port_attr *attr)
{
    if (!hca) return VAPI_EINVAL_HCA_HNDL;
    if (port < 1 || port > hca->attr.phys_port_cnt) return VAPI_EINVAL_PORT;
    return vapi_error(ibv_query_port(hca->verbs, port, attr), VAPI_EINVAL_PORT);
}

VAPI_ret_t VAPI_query_hca_port_prop(VAPI_hca_hndl_t handle, IB_port_t port, VAPI_hca_port_t *prop)
{
    struct ibv_port_attr attr;
    VAPI_ret_t code = query_port_attr(vapi_hca(handle), port, &attr);
    if (code != VAPI_OK || !prop) return code;
    memset(prop, 0, sizeof *prop);
    prop->max_mtu = attr.active_mtu; /* programs use it as the MTU of paths */
    prop->max_msg_sz = attr.max_msg_sz;
    prop->lid = attr.lid;
    prop->lmc = attr.lmc;
    /* Verbs has one more state, IBV_PORT_ACTIVE_DEFER.  */
    prop->state = attr.state <= IBV_PORT_ACTIVE ? (IB_port_state_t)attr.state : PORT_ARMED;
    prop->capability_mask = attr.port_cap_flags;
    prop->max_vl_num = attr.max_vl_num;
    prop->bad_pkey_counter = attr.bad_pkey_cntr;
    prop->qkey_viol_counter = attr.qkey_viol_cntr;
    prop->sm_lid = attr.sm_lid;
    prop->sm_sl = attr.sm_sl;
    prop->pkey_tbl_len = attr.pkey_tbl_len;
    prop->gid_tbl_len = (u_int16_t)at_most(attr.gid_tbl_len, UINT16_MAX);
    prop->subnet_timeout = attr.subnet_timeout;
    prop->initTypeReply = attr.init_type_reply;
    return VAPI_OK;
}

/* The common checks of both tables; *len_out and the number of entries to copy.  */
static VAPI_ret_t begin_table(u_int16_t len_in, const void *table, u_int16_t *len_out, int length,
                              int *copied)
{
    if (!len_out || (len_in > 0 && !table)) return VAPI_EINVAL_PARAM;
    *len_out = (u_int16_t)at_most(length, UINT16_MAX);
    *copied = *len_out < len_in ? *len_out : len_in;
    return VAPI_OK;
}

VAPI_ret_t VAPI_query_hca_gid_tbl(VAPI_hca_hndl_t handle, IB_port_t port, u_int16_t len_in,
                                  u_int16_t *len_out, IB_gid_t *table)
{
    struct vapi_hca *hca = vapi_hca(handle);
    struct ibv_port_attr attr;
    int copied;
    VAPI_ret_t code = query_port_attr(hca, port, &attr);
    if (code == VAPI_OK) code = begin_table(len_in, table, len_out, attr.gid_tbl_len, &copied);
    if (code != VAPI_OK) return code;
    for (int i = 0; i < copied; i++) {
        union ibv_gid gid;
        if (ibv_query_gid(hca->verbs, port, i, &gid)) memset(&gid, 0, sizeof gid);
        memcpy(table[i], gid.raw, sizeof table[i]);
    }
    return *len_out > len_in ? VAPI_EAGAIN : VAPI_OK;
}

VAPI_ret_t EVAPI_query_gid_types(VAPI_hca_hndl_t handle, IB_port_t port, u_int16_t len_in,
                                 u_int16_t *len_out, EVAPI_gid_entry_t *entries)
{
    struct vapi_hca *hca = vapi_hca(handle);
    struct ibv_port_attr attr;
    VAPI_ret_t code = query_port_attr(hca, port, &attr);
    if (code != VAPI_OK) return code;
    if (!len_out || (len_in > 0 && !entries)) return VAPI_EINVAL_PARAM;
    roce_entry_t *table = calloc(len_in ? len_in : 1, sizeof *table);
    if (!table) return VAPI_EAGAIN;
    *len_out = (u_int16_t)roce_read_table(hca->verbs, port, table, len_in);
    for (u_int16_t i = 0; i < *len_out; i++) {
        entries[i] = (EVAPI_gid_entry_t){.at = table[i].at, .type = table[i].type};
        memcpy(entries[i].gid, table[i].gid, sizeof entries[i].gid);
        memcpy(entries[i].interface, table[i].interface, sizeof entries[i].interface);
    }
    free(table);
    return VAPI_OK;
}

/* Verbs has P_Keys in network order.  The documents of VAPI do not state the order of the table's;
 * all other plain 16-bit numbers of VAPI are in the host's. */
VAPI_ret_t VAPI_query_hca_pkey_tbl(VAPI_hca_hndl_t handle, IB_port_t port, u_int16_t len_in,
                                   u_int16_t *len_out, VAPI_pkey_t *table)
{
    struct vapi_hca *hca = vapi_hca(handle);
    struct ibv_port_attr attr;
    int copied;
    VAPI_ret_t code = query_port_attr(hca, port, &attr);
    if (code == VAPI_OK) code = begin_table(len_in, table, len_out, attr.pkey_tbl_len, &copied);
    if (code != VAPI_OK) return code;
    for (int i = 0; i < copied; i++) {
        __be16 pkey;
        if (ibv_query_pkey(hca->verbs, port, i, &pkey)) pkey = 0;
        table[i] = ntohs(pkey);
    }
    return *len_out > len_in ? VAPI_EAGAIN : VAPI_OK;
}

VAPI_ret_t VAPI_modify_hca_attr(VAPI_hca_hndl_t hca, IB_port_t port, VAPI_hca_attr_t *attr,
                                VAPI_hca_attr_mask_t *mask)
{
    return vapi_hca(hca) ? VAPI_ENOSYS : VAPI_EINVAL_HCA_HNDL;
}
