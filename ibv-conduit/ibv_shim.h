/* ibv_shim.h - IB Verbs under the names that core/ib uses.  core/ib/verbs_types.h documents them;
 * vapi-conduit/vapi_shim.h implements them over VAPI.
 *
 * Each function is one call of libibverbs with its arguments.
 */
#pragma once

#include <fcntl.h>
#include <infiniband/verbs.h>

#include "core/ib/verbs_types.h"
#include "other/base/completion-queues/channel_set.h"
#include "other/base/verbs_fork.h"
#include "other/connect/roce/table.h"

typedef struct ibv_context *hca_t;
typedef struct ibv_pd *hca_pd_t;
typedef struct ibv_mr *hca_mr_t;
typedef struct ibv_cq *hca_cq_t;
typedef struct ibv_srq *hca_srq_t;
typedef struct ibv_qp *hca_qp_t;
typedef struct ibv_ah *hca_ah_t;
typedef struct ibv_wc hca_wc_t;
#define HCA_UNLISTED  ""
#define HCA_UNMANAGED "this library was built without librdmacm"
#if NET_IB_RDMACM /* from configure */
extern const struct net_ib_manager net_ib_rdmacm;
#define HCA_MANAGER (&net_ib_rdmacm)
#else
#define HCA_MANAGER NULL
#endif

#define hca_close         ibv_close_device
#define hca_query_gids    roce_read_table
#define hca_query_pkeys   roce_read_pkeys
#define hca_pd_create     ibv_alloc_pd
#define hca_sleeper_close dapl_set_close
#define hca_arm           dapl_set_arm
#define hca_wake          dapl_set_wake
#define hca_poll          ibv_poll_cq

static inline hca_t hca_open(int i, char name[64])
{
    int count = 0;
    gasneti_verbs_fork_safe();
    struct ibv_device **list = ibv_get_device_list(&count);
    const bool there = list && i < count;
    snprintf(name, 64, "%s", there ? ibv_get_device_name(list[i]) : "");
    hca_t hca = there ? ibv_open_device(list[i]) : NULL;
    int error = errno;
    if (list) ibv_free_device_list(list);
    errno = error;
    if (hca) fcntl(hca->async_fd, F_SETFL, O_NONBLOCK); /* several threads read events */
    return hca;
}

/* Why this library cannot use the device, or NULL: queue pairs of other transports are connected by
 * a connection manager, or do no RDMA. */
static inline const char *hca_unusable(const struct ibv_device *device)
{
    const enum ibv_transport_type type = device->transport_type;
    if (type == IBV_TRANSPORT_IB || type == IBV_TRANSPORT_IWARP) return NULL;
    return "is neither InfiniBand nor RoCE nor iWARP";
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
                             .max_mr = attr.max_mr > 0 ? (uint32_t)attr.max_mr : 0,
                             .max_sge = (uint32_t)attr.max_sge,
                             .max_sge_rd = (uint32_t)attr.max_sge_rd,
                             .max_mr_size = attr.max_mr_size,
                             .atomics = (enum hca_atomics)attr.atomic_cap,
                             .vendor = attr.vendor_id,
                             .ports = attr.phys_port_cnt,
                             .iwarp = hca->device->transport_type == IBV_TRANSPORT_IWARP,
                             .unusable = hca_unusable(hca->device)};
    memcpy(limits->firmware, attr.fw_ver, sizeof limits->firmware);
    return true;
}

static inline bool hca_query_port(hca_t hca, uint8_t number, hca_port_t *port)
{
    struct ibv_port_attr attr;
    if (ibv_query_port(hca, number, &attr)) return false;
    *port = (hca_port_t){.active = attr.state == IBV_PORT_ACTIVE,
                         .ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET,
                         .lid = attr.lid,
                         .mtu = (uint8_t)attr.active_mtu,
                         .max_message = attr.max_msg_sz};
    return true;
}

static inline enum hca_event_kind hca_event_kind(enum ibv_event_type type)
{
    static const enum hca_event_kind kinds[IBV_EVENT_WQ_FATAL + 1] = {
        [IBV_EVENT_DEVICE_FATAL] = HCA_EVENT_DEVICE,     [IBV_EVENT_PORT_ERR] = HCA_EVENT_PORT,
        [IBV_EVENT_PORT_ACTIVE] = HCA_EVENT_PORT_ACTIVE, [IBV_EVENT_LID_CHANGE] = HCA_EVENT_ADDRESS,
        [IBV_EVENT_PKEY_CHANGE] = HCA_EVENT_ADDRESS,     [IBV_EVENT_GID_CHANGE] = HCA_EVENT_ADDRESS,
        [IBV_EVENT_PATH_MIG_ERR] = HCA_EVENT_ADDRESS,    [IBV_EVENT_CQ_ERR] = HCA_EVENT_OVERFLOW,
        [IBV_EVENT_QP_FATAL] = HCA_EVENT_QUEUE,          [IBV_EVENT_SRQ_ERR] = HCA_EVENT_QUEUE,
        [IBV_EVENT_WQ_FATAL] = HCA_EVENT_QUEUE,          [IBV_EVENT_QP_REQ_ERR] = HCA_EVENT_REFUSED,
        [IBV_EVENT_QP_ACCESS_ERR] = HCA_EVENT_REFUSED};
    return (unsigned)type <= IBV_EVENT_WQ_FATAL ? kinds[type] : HCA_EVENT_UNKNOWN;
}

static inline int hca_events(hca_t hca)
{
    return hca->async_fd;
}

static inline bool hca_next_event(hca_t hca, hca_event_t *found)
{
    struct ibv_async_event event;
    if (ibv_get_async_event(hca, &event)) return false;
    *found = (hca_event_t){.kind = hca_event_kind(event.event_type),
                           .text = ibv_event_type_str(event.event_type)};
    if (found->kind == HCA_EVENT_PORT || found->kind == HCA_EVENT_PORT_ACTIVE ||
        found->kind == HCA_EVENT_ADDRESS)
        found->port =
            event.event_type == IBV_EVENT_PATH_MIG_ERR ? 0u : (unsigned)event.element.port_num;
    ibv_ack_async_event(&event);
    return true;
}

static inline hca_mr_t hca_register(hca_pd_t pd, void *start, size_t size, enum hca_access access)
{
    return ibv_reg_mr(pd, start, size, (int)access);
}

typedef dapl_channel_set_t hca_sleeper_t;
enum { HCA_SLEEPER_SPANS = 1, HCA_SLEEP_POLLS = 0 };

static inline hca_cq_t hca_cq_create(hca_t hca, uint32_t depth, hca_sleeper_t *sleeper)
{
    if (!sleeper) return ibv_create_cq(hca, (int)depth, NULL, NULL, 0);
    int entries = (int)depth;
    void *cq = NULL;
    int error = dapl_verbs_cq.create(&hca, NULL, 0, &entries, &cq);
    if (!error) {
        error = dapl_set_add(sleeper, &dapl_verbs_cq, cq);
        if (error) dapl_verbs_cq.destroy(cq);
    }
    errno = -error;
    return error ? NULL : cq;
}

static inline int hca_cq_destroy(hca_cq_t cq)
{
    return cq->channel ? dapl_verbs_cq.destroy(cq) : ibv_destroy_cq(cq);
}

static inline void hca_sleep(hca_sleeper_t *sleeper, int ms)
{
    dapl_set_sleep(sleeper, ms * INT64_C(1000000));
}

static inline hca_srq_t hca_srq_create(hca_pd_t pd, uint32_t depth)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = depth, .max_sge = 1}};
    return ibv_create_srq(pd, &attr);
}

enum hca_service { HCA_CONNECTED = IBV_QPT_RC, HCA_DATAGRAMS = IBV_QPT_UD };

static inline hca_qp_t hca_qp_create(hca_pd_t pd, enum hca_service service, hca_cq_t send_cq,
                                     hca_cq_t recv_cq, hca_srq_t srq, uint32_t send_depth,
                                     uint32_t recv_depth, uint32_t list, uint32_t *inline_max)
{
    struct ibv_qp_init_attr attr = {.send_cq = send_cq,
                                    .recv_cq = recv_cq,
                                    .srq = srq,
                                    .qp_type = (enum ibv_qp_type)service,
                                    .cap = {.max_send_wr = send_depth,
                                            .max_recv_wr = recv_depth,
                                            .max_send_sge = list,
                                            .max_recv_sge = 1,
                                            .max_inline_data = *inline_max}};
    hca_qp_t qp = ibv_create_qp(pd, &attr);
    if (qp) *inline_max = attr.cap.max_inline_data;
    return qp;
}

/* Declared weak, because older releases of rdma-core lack the function and its declaration. */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
    __attribute__((weak));

static inline bool hca_in_order(hca_t hca, hca_qp_t qp)
{
    struct ibv_device_attr attr;
    if (&ibv_query_qp_data_in_order && ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0) == 1)
        return true;
    return !ibv_query_device(hca, &attr) &&
           hca_always_in_order(attr.vendor_id, attr.vendor_part_id);
}

static inline struct ibv_ah_attr hca_path(uint8_t port, const hca_route_t *route)
{
    struct ibv_ah_attr path = {.dlid = route->lid,
                               .port_num = port,
                               .is_global = route->global,
                               .grh = {.sgid_index = route->gid_index,
                                       .traffic_class = route->traffic_class,
                                       .hop_limit = 64}};
    memcpy(path.grh.dgid.raw, route->gid, sizeof path.grh.dgid.raw);
    return path;
}

static inline hca_ah_t hca_ah_create(hca_pd_t pd, uint8_t port, const hca_route_t *route)
{
    struct ibv_ah_attr path = hca_path(port, route);
    return ibv_create_ah(pd, &path);
}

static inline int hca_qp_step(hca_qp_t qp, enum hca_service service, enum hca_step step,
                              const hca_setup_t *how)
{
    static const int connected[] = {
        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
            IBV_QP_MAX_QP_RD_ATOMIC};
    static const int datagrams[] = {IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
                                    IBV_QP_STATE, IBV_QP_STATE | IBV_QP_SQ_PSN};
    struct ibv_qp_attr attr = {.qp_state = (enum ibv_qp_state)(IBV_QPS_INIT + step),
                               .port_num = how->port,
                               .pkey_index = how->pkey_index,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                                  (how->atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0u),
                               .qkey = how->key,
                               .path_mtu = (enum ibv_mtu)how->mtu,
                               .ah_attr = hca_path(how->port, &how->route),
                               .dest_qp_num = how->qp_number,
                               .rq_psn = how->remote_psn,
                               .max_dest_rd_atomic = how->dest_rd_atomic,
                               .min_rnr_timer = 12, /* 0.64 ms */
                               .sq_psn = how->psn,
                               .timeout = how->timeout,
                               .retry_cnt = how->retries,
                               .rnr_retry = 7, /* for ever */
                               .max_rd_atomic = how->rd_atomic};
    return ibv_modify_qp(qp, &attr, service == HCA_CONNECTED ? connected[step] : datagrams[step]);
}

#define hca_destroy(made)                                                                          \
    _Generic((made), hca_pd_t                                                                      \
             : ibv_dealloc_pd, hca_mr_t                                                            \
             : ibv_dereg_mr, hca_cq_t                                                              \
             : hca_cq_destroy, hca_srq_t                                                           \
             : ibv_destroy_srq, hca_qp_t                                                           \
             : ibv_destroy_qp, hca_ah_t                                                            \
             : ibv_destroy_ah)(made)

typedef struct hca_send {
    struct ibv_send_wr wr;
    struct ibv_sge sge;
    struct ibv_send_wr *bad; /* always `wr` */
} hca_send_t;

static inline void hca_send_init(hca_send_t *send, uint64_t id)
{
    *send = (hca_send_t){.wr = {.wr_id = id,
                                .sg_list = &send->sge,
                                .num_sge = 1,
                                .opcode = IBV_WR_RDMA_WRITE,
                                .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE}};
}

static inline void hca_send_target(hca_send_t *send, uint64_t address, uint32_t rkey)
{
    send->wr.wr.rdma.remote_addr = address;
    send->wr.wr.rdma.rkey = rkey;
}

static inline void hca_send_atomic(hca_send_t *send, uint64_t address, uint32_t rkey,
                                   uint64_t operand, uint64_t swap)
{
    send->wr.wr.atomic.remote_addr = address;
    send->wr.wr.atomic.compare_add = operand;
    send->wr.wr.atomic.swap = swap;
    send->wr.wr.atomic.rkey = rkey;
}

static inline int hca_post_inlined(hca_qp_t qp, hca_send_t *send, uint64_t address,
                                   const void *data, uint32_t length)
{
    send->wr.wr.rdma.remote_addr = address;
    send->sge.addr = (uintptr_t)data;
    send->sge.length = length;
    return ibv_post_send(qp, &send->wr, &send->bad);
}

static inline void hca_send_ah(hca_send_t *send, hca_ah_t ah, const hca_ud_addr_t *remote)
{
    send->wr.wr.ud.ah = ah;
    send->wr.wr.ud.remote_qpn = remote->qp_number;
    send->wr.wr.ud.remote_qkey = remote->key;
}

static inline int hca_post(hca_qp_t qp, hca_send_t *send, enum hca_kind kind, hca_local_t local)
{
    send->sge.addr = (uintptr_t)local.data;
    send->sge.length = local.length;
    if (!local.inlined) send->sge.lkey = local.lkey;
    send->wr.opcode = (enum ibv_wr_opcode)kind;
    send->wr.send_flags = IBV_SEND_SIGNALED | (local.inlined ? IBV_SEND_INLINE : 0u);
    return ibv_post_send(qp, &send->wr, &send->bad);
}

typedef struct ibv_sge hca_sge_t;

static inline hca_sge_t hca_sge(const void *at, uint32_t length, uint32_t lkey)
{
    return (hca_sge_t){.addr = (uintptr_t)at, .length = length, .lkey = lkey};
}

static inline int hca_post_list(hca_qp_t qp, hca_send_t *send, enum hca_kind kind, hca_sge_t *list,
                                uint32_t count)
{
    send->wr.sg_list = list;
    send->wr.num_sge = (int)count;
    send->wr.opcode = (enum ibv_wr_opcode)kind;
    send->wr.send_flags = IBV_SEND_SIGNALED;
    int error = ibv_post_send(qp, &send->wr, &send->bad);
    send->wr.sg_list = &send->sge;
    send->wr.num_sge = 1;
    return error;
}

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

static inline hca_done_t hca_done(const hca_wc_t *wc)
{
    return (hca_done_t){wc->wr_id,    wc->status == IBV_WC_SUCCESS,   wc->qp_num,
                        wc->byte_len, wc->wc_flags & IBV_WC_WITH_IMM, wc->imm_data};
}

static inline hca_failure_t hca_wc_failure(const hca_wc_t *wc)
{
    return (hca_failure_t){hca_status_cause(wc->status), ibv_wc_status_str(wc->status),
                           wc->vendor_err};
}
