/* verbs_shim.h - IB Verbs under the names that core/ib uses: types and inline calls, nothing more.
 *
 * vapi-conduit has a file of the same name over VAPI; core/ib is compiled against either.  No
 * decisions here: each call is one call of libibverbs with its arguments in place.
 */
#ifndef VERBS_SHIM_H
#define VERBS_SHIM_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/ib/verbs_types.h"

typedef struct ibv_context *hca_t;
typedef struct ibv_pd *hca_pd_t;
typedef struct ibv_cq *hca_cq_t;
typedef struct ibv_comp_channel *hca_channel_t;
typedef struct ibv_srq *hca_srq_t;
typedef struct ibv_qp *hca_qp_t;
typedef struct ibv_mr *hca_mr_t;
typedef struct ibv_wc hca_wc_t;

/* ---- devices --------------------------------------------------------------------------------- */

/* Device number `i` and its name, "" behind the last; NULL with errno if it cannot be opened. */
static inline hca_t hca_open(int i, char name[64])
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    const bool there = list && i < count;
    snprintf(name, 64, "%s", there ? ibv_get_device_name(list[i]) : "");
    hca_t hca = there ? ibv_open_device(list[i]) : NULL;
    if (list) ibv_free_device_list(list);
    return hca;
}

static inline void hca_close(hca_t hca)
{
    ibv_close_device(hca);
}

static inline bool hca_query(hca_t hca, hca_limits_t *limits)
{
    struct ibv_device_attr attr;
    if (ibv_query_device(hca, &attr)) return false;
    *limits = (hca_limits_t){.max_cqe = (uint32_t)attr.max_cqe,
                             .max_qp_wr = (uint32_t)attr.max_qp_wr,
                             .max_rd_atom = (uint32_t)attr.max_qp_rd_atom,
                             .max_init_rd_atom = (uint32_t)attr.max_qp_init_rd_atom,
                             .max_srq_wr = attr.max_srq > 0 ? (uint32_t)attr.max_srq_wr : 0,
                             .max_mr_size = attr.max_mr_size,
                             .ports = attr.phys_port_cnt};
    memcpy(limits->firmware, attr.fw_ver, sizeof limits->firmware);
    return true;
}

static inline bool hca_query_port(hca_t hca, uint8_t number, hca_port_t *port)
{
    struct ibv_port_attr attr;
    union ibv_gid gid;
    if (ibv_query_port(hca, number, &attr) || ibv_query_gid(hca, number, 0, &gid)) return false;
    *port = (hca_port_t){.active = attr.state == IBV_PORT_ACTIVE,
                         .ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET,
                         .lid = attr.lid,
                         .mtu = (uint8_t)attr.active_mtu};
    memcpy(port->gid, gid.raw, sizeof port->gid);
    return true;
}

/* ---- memory and queues ----------------------------------------------------------------------- */

static inline hca_pd_t hca_pd_create(hca_t hca)
{
    return ibv_alloc_pd(hca);
}

static inline void hca_pd_destroy(hca_pd_t pd)
{
    ibv_dealloc_pd(pd);
}

/* How much of the memory is asked for: what is only read from may be mapped read-only. */
enum hca_access {
    HCA_SOURCE = 0,
    HCA_LOCAL = IBV_ACCESS_LOCAL_WRITE,
    HCA_REMOTE = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ
};

static inline hca_mr_t hca_register(hca_pd_t pd, void *start, size_t size, enum hca_access access)
{
    return ibv_reg_mr(pd, start, size, (int)access);
}

static inline void hca_deregister(hca_mr_t mr)
{
    ibv_dereg_mr(mr);
}

/* `channel` may be NULL: nobody sleeps on this queue. */
static inline hca_cq_t hca_cq_create(hca_t hca, uint32_t depth, hca_channel_t channel)
{
    return ibv_create_cq(hca, (int)depth, NULL, channel, 0);
}

/* Its descriptor is readable when an armed queue has something new. */
static inline hca_channel_t hca_channel_create(hca_t hca)
{
    return ibv_create_comp_channel(hca);
}

static inline void hca_channel_destroy(hca_channel_t channel)
{
    ibv_destroy_comp_channel(channel);
}

static inline void hca_cq_arm(hca_cq_t cq)
{
    ibv_req_notify_cq(cq, 0);
}

/* Takes one event off a readable channel. */
static inline void hca_channel_take(hca_channel_t channel)
{
    struct ibv_cq *cq;
    void *context;
    if (ibv_get_cq_event(channel, &cq, &context) == 0) ibv_ack_cq_events(cq, 1);
}

static inline void hca_cq_destroy(hca_cq_t cq)
{
    ibv_destroy_cq(cq);
}

/* A receive queue for any number of queue pairs. */
static inline hca_srq_t hca_srq_create(hca_pd_t pd, uint32_t depth)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = depth, .max_sge = 1}};
    return ibv_create_srq(pd, &attr);
}

static inline void hca_srq_destroy(hca_srq_t srq)
{
    ibv_destroy_srq(srq);
}

enum hca_service { HCA_CONNECTED = IBV_QPT_RC, HCA_DATAGRAMS = IBV_QPT_UD };

/* *inline_max: wanted on entry, granted on return.  `srq` may be NULL: it has a receive queue of
 * its own. */
static inline hca_qp_t hca_qp_create(hca_pd_t pd, enum hca_service service, hca_cq_t send_cq,
                                     hca_cq_t recv_cq, hca_srq_t srq, uint32_t send_depth,
                                     uint32_t recv_depth, uint32_t *inline_max)
{
    struct ibv_qp_init_attr attr = {.send_cq = send_cq,
                                    .recv_cq = recv_cq,
                                    .srq = srq,
                                    .qp_type = (enum ibv_qp_type)service,
                                    .cap = {.max_send_wr = send_depth,
                                            .max_recv_wr = recv_depth,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1,
                                            .max_inline_data = *inline_max}};
    hca_qp_t qp = ibv_create_qp(pd, &attr);
    if (qp) *inline_max = attr.cap.max_inline_data;
    return qp;
}

static inline void hca_qp_destroy(hca_qp_t qp)
{
    ibv_destroy_qp(qp);
}

static inline int hca_qp_to_init(hca_qp_t qp, uint8_t port)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .pkey_index = 0,
                               .port_num = port,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static inline int hca_qp_to_rtr(hca_qp_t qp, uint8_t port, const hca_port_t *near,
                                const hca_far_t *far, uint8_t mtu, uint8_t rd_atom)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = (enum ibv_mtu)mtu,
                               .dest_qp_num = far->qp_number,
                               .rq_psn = far->psn,
                               .max_dest_rd_atomic = rd_atom,
                               .min_rnr_timer = 12,
                               .ah_attr = {.dlid = far->lid, .port_num = port}};
    if (hca_needs_gid(near, far->lid)) {
        attr.ah_attr.is_global = 1;
        attr.ah_attr.grh.hop_limit = 64;
        memcpy(attr.ah_attr.grh.dgid.raw, far->gid, sizeof far->gid);
    }
    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

/* `psn`: of the first packet sent. */
static inline int hca_qp_to_rts(hca_qp_t qp, uint32_t psn, uint8_t timeout, uint8_t retries,
                                uint8_t rd_atom)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
                               .sq_psn = psn,
                               .timeout = timeout,
                               .retry_cnt = retries,
                               .rnr_retry = 7,
                               .max_rd_atomic = rd_atom};
    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* ---- posting: a work request filled once, and refilled for each post --------------------------
 */

typedef struct hca_send {
    struct ibv_send_wr wr;
    struct ibv_sge sge;
    struct ibv_send_wr *bad; /* always `wr` */
} hca_send_t;

static inline void hca_send_init(hca_send_t *send, uint64_t id)
{
    memset(send, 0, sizeof *send);
    send->wr.wr_id = id;
    send->wr.sg_list = &send->sge;
    send->wr.num_sge = 1;
}

/* A message may have a word beside it (hca_wc_marked, hca_wc_word). */
enum hca_kind {
    HCA_MESSAGE = IBV_WR_SEND,
    HCA_MESSAGE_MARKED = IBV_WR_SEND_WITH_IMM,
    HCA_WRITE = IBV_WR_RDMA_WRITE,
    HCA_READ = IBV_WR_RDMA_READ
};

/* Where to write to or read from; the word of a marked message. */
static inline void hca_send_target(hca_send_t *send, uint64_t address, uint32_t rkey)
{
    send->wr.wr.rdma.remote_addr = address;
    send->wr.wr.rdma.rkey = rkey;
}

static inline void hca_send_word(hca_send_t *send, uint32_t word)
{
    send->wr.imm_data = word;
}

static inline int hca_post(hca_qp_t qp, hca_send_t *send, enum hca_kind kind, hca_local_t local)
{
    send->sge.addr = (uintptr_t)local.data;
    send->sge.length = local.length;
    if (!local.captured) send->sge.lkey = local.lkey;
    send->wr.opcode = (enum ibv_wr_opcode)kind;
    send->wr.send_flags = IBV_SEND_SIGNALED | (local.captured ? IBV_SEND_INLINE : 0u);
    return ibv_post_send(qp, &send->wr, &send->bad);
}

/* ---- datagrams: a queue pair that reaches every other, and the ways to them; not hot ----------
 */

typedef struct ibv_ah *hca_way_t;

/* From new to ready. */
static inline int hca_datagrams_start(hca_qp_t qp, uint8_t port, uint32_t key)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .pkey_index = 0, .port_num = port, .qkey = key};
    int error =
        ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    if (error) return error;
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR};
    error = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
    if (error) return error;
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS};
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static inline hca_way_t hca_way_create(hca_pd_t pd, uint8_t port, const hca_port_t *near,
                                       const hca_mail_t *far)
{
    struct ibv_ah_attr attr = {.dlid = far->lid, .port_num = port};
    if (hca_needs_gid(near, far->lid)) {
        attr.is_global = 1;
        attr.grh.hop_limit = 64;
        memcpy(attr.grh.dgid.raw, far->gid, sizeof far->gid);
    }
    return ibv_create_ah(pd, &attr);
}

static inline void hca_way_destroy(hca_way_t way)
{
    ibv_destroy_ah(way);
}

static inline int hca_datagram(hca_qp_t qp, hca_send_t *send, hca_local_t local, hca_way_t way,
                               const hca_mail_t *far)
{
    send->wr.wr.ud.ah = way;
    send->wr.wr.ud.remote_qpn = far->qp_number;
    send->wr.wr.ud.remote_qkey = far->key;
    return hca_post(qp, send, HCA_MESSAGE, local);
}

/* A receive request, filled once for its buffer. */
typedef struct hca_recv {
    struct ibv_recv_wr wr;
    struct ibv_sge sge;
} hca_recv_t;

static inline void hca_recv_init(hca_recv_t *recv, uint64_t id, void *data, uint32_t length,
                                 uint32_t lkey)
{
    recv->sge = (struct ibv_sge){.addr = (uintptr_t)data, .length = length, .lkey = lkey};
    recv->wr = (struct ibv_recv_wr){.wr_id = id, .sg_list = &recv->sge, .num_sge = 1};
}

static inline void hca_recv_lkey(hca_recv_t *recv, uint32_t lkey)
{
    recv->sge.lkey = lkey;
}

static inline int hca_post_recv(hca_qp_t qp, hca_recv_t *recv)
{
    struct ibv_recv_wr *bad;
    return ibv_post_recv(qp, &recv->wr, &bad);
}

static inline int hca_post_srq_recv(hca_srq_t srq, hca_recv_t *recv)
{
    struct ibv_recv_wr *bad;
    return ibv_post_srq_recv(srq, &recv->wr, &bad);
}

/* ---- completions ------------------------------------------------------------------------------
 */

static inline int hca_poll(hca_cq_t cq, int budget, hca_wc_t *wc)
{
    return ibv_poll_cq(cq, budget, wc);
}

static inline bool hca_wc_ok(const hca_wc_t *wc)
{
    return wc->status == IBV_WC_SUCCESS;
}

static inline uint64_t hca_wc_id(const hca_wc_t *wc)
{
    return wc->wr_id;
}

/* The queue pair at this end. */
static inline uint32_t hca_wc_qp_number(const hca_wc_t *wc)
{
    return wc->qp_num;
}

static inline uint32_t hca_wc_length(const hca_wc_t *wc)
{
    return wc->byte_len;
}

static inline bool hca_wc_marked(const hca_wc_t *wc)
{
    return wc->wc_flags & IBV_WC_WITH_IMM;
}

/* Of one that is marked. */
static inline uint32_t hca_wc_word(const hca_wc_t *wc)
{
    return wc->imm_data;
}

static inline hca_failure_t hca_wc_failure(const hca_wc_t *wc)
{
    hca_failure_t failure = {.cause = hca_status_cause(wc->status),
                             .text = ibv_wc_status_str(wc->status),
                             .vendor = wc->vendor_err};
    if (wc->status == IBV_WC_RESP_TIMEOUT_ERR) failure.cause = HCA_CAUSE_PEER_GONE;
    if (wc->status == IBV_WC_FATAL_ERR || wc->status == IBV_WC_GENERAL_ERR)
        failure.cause = HCA_CAUSE_LOCAL_DEVICE;
    if (wc->status == IBV_WC_TM_ERR || wc->status == IBV_WC_TM_RNDV_INCOMPLETE)
        failure.cause = HCA_CAUSE_NOT_OURS;
    return failure;
}

/* ---- asynchronous events: what a device has to say besides completions ------------------------
 */

static inline enum hca_event_kind hca_event_kind(enum ibv_event_type type)
{
    static const enum hca_event_kind kinds[IBV_EVENT_WQ_FATAL + 1] = {
        [IBV_EVENT_DEVICE_FATAL] = HCA_EVENT_DEVICE, [IBV_EVENT_PORT_ERR] = HCA_EVENT_PORT,
        [IBV_EVENT_LID_CHANGE] = HCA_EVENT_ADDRESS,  [IBV_EVENT_PKEY_CHANGE] = HCA_EVENT_ADDRESS,
        [IBV_EVENT_GID_CHANGE] = HCA_EVENT_ADDRESS,  [IBV_EVENT_PATH_MIG_ERR] = HCA_EVENT_ADDRESS,
        [IBV_EVENT_CQ_ERR] = HCA_EVENT_OVERFLOW,     [IBV_EVENT_QP_FATAL] = HCA_EVENT_QUEUE,
        [IBV_EVENT_SRQ_ERR] = HCA_EVENT_QUEUE,       [IBV_EVENT_WQ_FATAL] = HCA_EVENT_QUEUE,
        [IBV_EVENT_QP_REQ_ERR] = HCA_EVENT_REFUSED,  [IBV_EVENT_QP_ACCESS_ERR] = HCA_EVENT_REFUSED};
    return (unsigned)type <= IBV_EVENT_WQ_FATAL ? kinds[type] : HCA_EVENT_UNKNOWN;
}

static inline bool hca_event_of_port(enum ibv_event_type type)
{
    return type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_PORT_ACTIVE ||
           type == IBV_EVENT_LID_CHANGE || type == IBV_EVENT_PKEY_CHANGE ||
           type == IBV_EVENT_GID_CHANGE || type == IBV_EVENT_SM_CHANGE ||
           type == IBV_EVENT_CLIENT_REREGISTER;
}

/* Takes the next event, if there is one. */
static inline bool hca_next_event(hca_t hca, hca_event_t *found)
{
    struct ibv_async_event event;
    struct pollfd ready = {.fd = hca->async_fd, .events = POLLIN};
    if (poll(&ready, 1, 0) <= 0 || ibv_get_async_event(hca, &event)) return false;
    *found = (hca_event_t){.kind = hca_event_kind(event.event_type),
                           .text = ibv_event_type_str(event.event_type)};
    if (hca_event_of_port(event.event_type)) found->port = (unsigned)event.element.port_num;
    ibv_ack_async_event(&event);
    return true;
}

#endif
