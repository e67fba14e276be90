/* vapi_shim.h - VAPI under the names that core/ib uses.  core/ib/verbs_types.h documents them;
 * ibv-conduit/ibv_shim.h implements them over IB Verbs.
 *
 * VAPI identifies an object by its handle and the device's handle: the pointers of core/ib point to
 * a record of both.
 */
#pragma once

#include <evapi.h>
#include <sys/socket.h>
#include <vapi_common.h>

#include "core/ib/verbs_types.h"

typedef struct hca_made {
    VAPI_hca_hndl_t hca;
    MT_ulong_ptr_t it;
    uint32_t qp_num, lkey, rkey; /* of a queue pair; of memory */
    VAPI_ret_t (*destroy)(VAPI_hca_hndl_t, MT_ulong_ptr_t);
} * hca_pd_t, *hca_mr_t, *hca_srq_t, *hca_qp_t, *hca_ah_t;
typedef VAPI_wc_desc_t hca_wc_t;
#define HCA_UNLISTED  "; VAPI does not list iWARP devices"
#define NET_IB_RDMACM 0
#define HCA_MANAGER   NULL
#define HCA_UNMANAGED "VAPI has none"
_Static_assert((int)HCA_REMOTE ==
                       (VAPI_EN_LOCAL_WRITE | VAPI_EN_REMOTE_WRITE | VAPI_EN_REMOTE_READ) &&
                   (int)HCA_ATOMIC == (HCA_REMOTE | VAPI_EN_REMOTE_ATOM) &&
                   (int)HCA_LOCAL == VAPI_EN_LOCAL_WRITE,
               "the same numbers");
_Static_assert((int)HCA_ATOMICS_DEVICE == VAPI_ATOMIC_CAP_HCA &&
                   (int)HCA_ATOMICS_GLOBAL == VAPI_ATOMIC_CAP_GLOB &&
                   (int)HCA_COMPARE_SWAP == VAPI_ATOMIC_CMP_AND_SWP &&
                   (int)HCA_FETCH_ADD == VAPI_ATOMIC_FETCH_AND_ADD,
               "the same numbers");
_Static_assert((int)HCA_WRITE == VAPI_RDMA_WRITE && (int)HCA_SEND == VAPI_SEND &&
                   (int)HCA_SEND_IMM == VAPI_SEND_WITH_IMM && (int)HCA_READ == VAPI_RDMA_READ,
               "the same numbers");

typedef struct hca_cq {
    struct hca_made made;
    _Atomic bool taken; /* a waiting thread has reaped `wc` */
    hca_wc_t wc;        /* a completion that the next poll returns */
} * hca_cq_t;

typedef struct hca_device {
    VAPI_hca_hndl_t hca;
    EVAPI_async_handler_hndl_t handler;
    int events[2]; /* a socket pair of hca_event_t: read end, write end */
} * hca_t;

/* The errno for a result of VAPI; 0 for VAPI_OK. */
static inline int hca_error(VAPI_ret_t result)
{
    if (result == VAPI_OK) return 0;
    if (result == VAPI_EAGAIN || result == VAPI_ENOMEM || result == VAPI_E2BIG_WR_NUM)
        return ENOMEM;
    if (result == VAPI_ESYSCALL && errno) return errno; /* libvapi stores it */
    if (result == VAPI_EFATAL || result == VAPI_ESYSCALL) return EIO;
    if (result == VAPI_ETIMEOUT || result == VAPI_EINTR)
        return result == VAPI_EINTR ? EINTR : ETIMEDOUT;
    return result == VAPI_EINVAL_VA ? EFAULT : result == VAPI_EPERM ? EPERM : EINVAL;
}

/* A copy of the record on the heap, if VAPI made the object; else NULL with errno. */
static inline void *hca_keep(VAPI_ret_t result, const struct hca_made *made, size_t size)
{
    void *record = result == VAPI_OK ? malloc(size) : NULL;
    if (record) return memcpy(record, made, size);
    if (result == VAPI_OK) made->destroy(made->hca, made->it), result = VAPI_ENOMEM;
    errno = hca_error(result);
    return NULL;
}

static inline void hca_destroy(void *record)
{
    const struct hca_made *made = record;
    made->destroy(made->hca, made->it);
    free(record);
}

static inline enum hca_event_kind hca_event_kind(VAPI_event_record_type_t type)
{
    static const enum hca_event_kind kinds[VAPI_PORT_ACTIVE + 1] = {
        [VAPI_SRQ_CATASTROPHIC_ERROR] = HCA_EVENT_QUEUE,
        [VAPI_CQ_ERROR] = HCA_EVENT_OVERFLOW,
        [VAPI_LOCAL_WQ_INV_REQUEST_ERROR] = HCA_EVENT_REFUSED,
        [VAPI_LOCAL_WQ_ACCESS_VIOL_ERROR] = HCA_EVENT_REFUSED,
        [VAPI_LOCAL_WQ_CATASTROPHIC_ERROR] = HCA_EVENT_QUEUE,
        [VAPI_PATH_MIG_REQ_ERROR] = HCA_EVENT_ADDRESS,
        [VAPI_LOCAL_EEC_CATASTROPHIC_ERROR] = HCA_EVENT_QUEUE,
        [VAPI_LOCAL_CATASTROPHIC_ERROR] = HCA_EVENT_DEVICE,
        [VAPI_PORT_ERROR] = HCA_EVENT_PORT,
        [VAPI_PORT_ACTIVE] = HCA_EVENT_PORT_ACTIVE};
    return (unsigned)type <= VAPI_PORT_ACTIVE ? kinds[type] : HCA_EVENT_UNKNOWN;
}

/* Runs in a thread of libvapi.  An event that does not fit is lost, as in VAPI's own queue. */
static inline void hca_async_event(VAPI_hca_hndl_t hca, VAPI_event_record_t *record, void *device)
{
    const enum hca_event_kind kind = hca_event_kind(record->type);
    const bool of_port = kind == HCA_EVENT_PORT || kind == HCA_EVENT_PORT_ACTIVE;
    hca_event_t event = {kind, of_port ? record->modifier.port_num : 0u,
                         VAPI_event_record_sym(record->type)};
    if (write(((hca_t)device)->events[1], &event, sizeof event) < 0) return; /* full */
}

static inline int hca_events(hca_t hca)
{
    return hca->events[0];
}

static inline bool hca_next_event(hca_t hca, hca_event_t *found)
{
    return read(hca->events[0], found, sizeof *found) == sizeof *found;
}

static inline void hca_close(hca_t hca)
{
    EVAPI_clear_async_event_handler(hca->hca, hca->handler);
    EVAPI_release_hca_hndl(hca->hca);
    close(hca->events[0]);
    close(hca->events[1]);
    free(hca);
}

static inline hca_t hca_open(int i, char name[64])
{
    VAPI_hca_id_t names[64] = {""};
    u_int32_t count = 0;
    EVAPI_list_hcas(64, &count, names);
    snprintf(name, 64, "%.63s", i < 64 && (u_int32_t)i < count ? names[i] : "");
    hca_t hca = *name ? calloc(1, sizeof *hca) : NULL;
    if (!hca || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, hca->events))
        return free(hca), NULL;
    errno = hca_error(EVAPI_get_hca_hndl(name, &hca->hca));
    if (errno) return close(hca->events[0]), close(hca->events[1]), free(hca), NULL;
    EVAPI_set_async_event_handler(hca->hca, hca_async_event, hca, &hca->handler);
    return hca;
}

static inline bool hca_query(hca_t hca, hca_limits_t *limits)
{
    VAPI_hca_vendor_t maker;
    VAPI_hca_cap_t cap;
    if (VAPI_query_hca_cap(hca->hca, &maker, &cap) != VAPI_OK) return false;
    const bool old = maker.vendor_id == MT_MELLANOX_IEEE_VENDOR_ID &&
                     maker.vendor_part_id == 0x5a44 && maker.fw_ver < 0x300000000;
    *limits = (hca_limits_t){.max_cqe = cap.max_num_ent_cq,
                             .max_qp_wr = cap.max_qp_ous_wr,
                             .max_rd_atom = cap.max_qp_ous_rd_atom,
                             .max_init_rd_atom = cap.max_qp_init_rd_atom,
                             .max_srq_wr = cap.max_num_srq > 0 ? cap.max_wqe_per_srq : 0,
                             .max_mr = cap.max_num_mr,
                             .max_sge = cap.max_num_sg_ent,
                             .max_sge_rd = cap.max_num_sg_ent_rd,
                             .max_mr_size = cap.max_mr_size,
                             .atomics = (enum hca_atomics)cap.atomic_cap,
                             .vendor = maker.vendor_id,
                             .ports = cap.phys_port_num,
                             .polls_alone = old,
                             .slow_inline = old && maker.fw_ver >= 0x100120000};
    snprintf(limits->firmware, sizeof limits->firmware, "%u.%u.%u", (unsigned)(maker.fw_ver >> 32),
             (unsigned)(maker.fw_ver >> 16) & 0xffff, (unsigned)maker.fw_ver & 0xffff);
    return true;
}

/* VAPI does not report Ethernet: a port without a LID is taken for an Ethernet port. */
static inline bool hca_query_port(hca_t hca, uint8_t number, hca_port_t *port)
{
    VAPI_hca_port_t prop;
    if (VAPI_query_hca_port_prop(hca->hca, number, &prop) != VAPI_OK) return false;
    *port = (hca_port_t){.active = prop.state == PORT_ACTIVE,
                         .ethernet = prop.lid == 0,
                         .lid = prop.lid,
                         .mtu = (uint8_t)prop.max_mtu,
                         .max_message = prop.max_msg_sz};
    return true;
}

static inline size_t hca_query_gids(hca_t hca, uint8_t number, roce_entry_t *table, size_t most)
{
    EVAPI_gid_entry_t all[256];
    u_int16_t count = 0;
    if (EVAPI_query_gid_types(hca->hca, number, 256, &count, all) != VAPI_OK) return 0;
    if (count > most) count = (u_int16_t)most;
    for (u_int16_t i = 0; i < count; i++) {
        table[i] = (roce_entry_t){.at = all[i].at, .type = all[i].type};
        memcpy(table[i].gid, all[i].gid, sizeof table[i].gid);
        memcpy(table[i].interface, all[i].interface, sizeof table[i].interface);
    }
    return count;
}

static inline size_t hca_query_pkeys(hca_t hca, uint8_t number, uint16_t *table, size_t most)
{
    u_int16_t count = 0;
    const u_int16_t room = most < UINT16_MAX ? (u_int16_t)most : UINT16_MAX;
    const VAPI_ret_t code = VAPI_query_hca_pkey_tbl(hca->hca, number, room, &count, table);
    if (code != VAPI_OK && code != VAPI_EAGAIN) return 0; /* VAPI_EAGAIN: the table is longer */
    return count < room ? count : room;
}

static inline hca_pd_t hca_pd_create(hca_t hca)
{
    struct hca_made pd = {.hca = hca->hca, .destroy = VAPI_dealloc_pd};
    return hca_keep(VAPI_alloc_pd(pd.hca, &pd.it), &pd, sizeof pd);
}

static inline VAPI_ret_t hca_deregister(VAPI_hca_hndl_t hca, MT_ulong_ptr_t it)
{
    return VAPI_deregister_mr(hca, (VAPI_mr_hndl_t)it);
}

static inline hca_mr_t hca_register(hca_pd_t pd, void *start, size_t size, enum hca_access access)
{
    VAPI_mr_hndl_t it;
    VAPI_mr_t got, wanted = {.type = VAPI_MR,
                             .start = (uintptr_t)start,
                             .size = size,
                             .pd_hndl = pd->it,
                             .acl = access};
    VAPI_ret_t result = VAPI_register_mr(pd->hca, &wanted, &it, &got);
    struct hca_made mr = {.hca = pd->hca, .destroy = hca_deregister};
    if (result == VAPI_OK) mr.it = it, mr.lkey = got.l_key, mr.rkey = got.r_key;
    return hca_keep(result, &mr, sizeof mr);
}

static inline VAPI_ret_t hca_cq_destroy(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t it)
{
    EVAPI_clear_comp_eventh(hca, it);
    return VAPI_destroy_cq(hca, it);
}

typedef struct hca_sleeper {
    hca_cq_t cq;
} hca_sleeper_t;
/* EVAPI_poll_cq_block waits for one queue. */
enum { HCA_SLEEPER_SPANS = 0, HCA_SLEEP_POLLS = 1 };

static inline hca_cq_t hca_cq_create(hca_t hca, uint32_t depth, hca_sleeper_t *sleeper)
{
    struct hca_cq cq = {.made = {.hca = hca->hca, .destroy = hca_cq_destroy}};
    VAPI_cqe_num_t actual;
    VAPI_ret_t result = VAPI_create_cq(cq.made.hca, depth, &cq.made.it, &actual);
    if (result != VAPI_OK || !sleeper) return hca_keep(result, &cq.made, sizeof cq);
    result =
        EVAPI_set_comp_eventh(cq.made.hca, cq.made.it, EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, NULL);
    if (result != VAPI_OK) VAPI_destroy_cq(cq.made.hca, cq.made.it);
    return sleeper->cq = hca_keep(result, &cq.made, sizeof cq);
}

static inline void hca_sleeper_close(hca_sleeper_t *sleeper) {}

/* hca_sleep arms the queue itself. */
static inline void hca_arm(hca_sleeper_t *sleeper) {}

static inline void hca_sleep(hca_sleeper_t *sleeper, int ms)
{
    const hca_cq_t cq = sleeper->cq;
    const MT_size_t usec = ms < 0 ? 0 : ms > 0 ? 1000 * (MT_size_t)ms : 1;
    if (EVAPI_poll_cq_block(cq->made.hca, cq->made.it, usec, &cq->wc) == VAPI_OK)
        atomic_store_explicit(&cq->taken, true, memory_order_release);
}

static inline void hca_wake(hca_sleeper_t *sleeper)
{
    EVAPI_poll_cq_unblock(sleeper->cq->made.hca, sleeper->cq->made.it);
}

static inline hca_srq_t hca_srq_create(hca_pd_t pd, uint32_t depth)
{
    struct hca_made srq = {.hca = pd->hca, .destroy = VAPI_destroy_srq};
    VAPI_srq_attr_t got, wanted = {.pd_hndl = pd->it, .max_outs_wr = depth, .max_sentries = 1};
    return hca_keep(VAPI_create_srq(pd->hca, &wanted, &srq.it, &got), &srq, sizeof srq);
}

enum hca_service { HCA_CONNECTED = VAPI_TS_RC, HCA_DATAGRAMS = VAPI_TS_UD };

/* VAPI has no parameter for the inline limit; it reports what it grants. */
static inline hca_qp_t hca_qp_create(hca_pd_t pd, enum hca_service service, hca_cq_t send_cq,
                                     hca_cq_t recv_cq, hca_srq_t srq, uint32_t send_depth,
                                     uint32_t recv_depth, uint32_t list, uint32_t *inline_max)
{
    struct hca_made qp = {.hca = pd->hca, .destroy = VAPI_destroy_qp};
    VAPI_qp_prop_t got;
    VAPI_qp_init_attr_ext_t more = {.srq_hndl = srq ? srq->it : VAPI_INVAL_SRQ_HNDL};
    VAPI_qp_init_attr_t wanted = {.sq_cq_hndl = send_cq->made.it,
                                  .rq_cq_hndl = recv_cq->made.it,
                                  .cap = {.max_oust_wr_sq = send_depth,
                                          .max_oust_wr_rq = recv_depth,
                                          .max_sg_size_sq = list,
                                          .max_sg_size_rq = 1},
                                  .sq_sig_type = VAPI_SIGNAL_REQ_WR,
                                  .rq_sig_type = VAPI_SIGNAL_REQ_WR,
                                  .pd_hndl = pd->it,
                                  .ts_type = service};
    VAPI_ret_t result = VAPI_create_qp_ext(pd->hca, &wanted, &more, &qp.it, &got);
    if (result == VAPI_OK) qp.qp_num = got.qp_num, *inline_max = got.cap.max_inline_data_sq;
    return hca_keep(result, &qp, sizeof qp);
}

/* VAPI cannot report the order of bytes; the model of the device decides. */
static inline bool hca_in_order(hca_t hca, hca_qp_t qp)
{
    VAPI_hca_vendor_t maker;
    VAPI_hca_cap_t cap;
    (void)qp;
    return VAPI_query_hca_cap(hca->hca, &maker, &cap) == VAPI_OK &&
           hca_always_in_order(maker.vendor_id, maker.vendor_part_id);
}

static inline VAPI_ud_av_t hca_path(uint8_t port, const hca_route_t *route)
{
    VAPI_ud_av_t path = {.dlid = route->lid,
                         .port = port,
                         .grh_flag = route->global,
                         .sgid_index = route->gid_index,
                         .traffic_class = route->traffic_class,
                         .hop_limit = 64};
    memcpy(path.dgid, route->gid, sizeof path.dgid);
    return path;
}

static inline hca_ah_t hca_ah_create(hca_pd_t pd, uint8_t port, const hca_route_t *route)
{
    struct hca_made ah = {.hca = pd->hca, .destroy = VAPI_destroy_addr_hndl};
    VAPI_ud_av_t path = hca_path(port, route);
    return hca_keep(VAPI_create_addr_hndl(pd->hca, pd->it, &path, &ah.it), &ah, sizeof ah);
}

static inline int hca_qp_step(hca_qp_t qp, enum hca_service service, enum hca_step step,
                              const hca_setup_t *how)
{
    static const VAPI_qp_attr_mask_t connected[] = {
        QP_ATTR_PKEY_IX | QP_ATTR_PORT | QP_ATTR_REMOTE_ATOMIC_FLAGS,
        QP_ATTR_AV | QP_ATTR_PATH_MTU | QP_ATTR_DEST_QP_NUM | QP_ATTR_RQ_PSN |
            QP_ATTR_QP_OUS_RD_ATOM | QP_ATTR_MIN_RNR_TIMER,
        QP_ATTR_SQ_PSN | QP_ATTR_TIMEOUT | QP_ATTR_RETRY_COUNT | QP_ATTR_RNR_RETRY |
            QP_ATTR_OUS_DST_RD_ATOM};
    static const VAPI_qp_attr_mask_t datagrams[] = {QP_ATTR_PKEY_IX | QP_ATTR_PORT | QP_ATTR_QKEY,
                                                    0, QP_ATTR_SQ_PSN};
    VAPI_qp_attr_mask_t mask =
        QP_ATTR_QP_STATE | (service == HCA_CONNECTED ? connected[step] : datagrams[step]);
    VAPI_qp_cap_t cap;
    VAPI_qp_attr_t attr = {.qp_state = VAPI_INIT + (VAPI_qp_state_t)step,
                           .port = how->port,
                           .pkey_ix = how->pkey_index,
                           .remote_atomic_flags = VAPI_EN_REM_WRITE | VAPI_EN_REM_READ |
                                                  (how->atomics ? VAPI_EN_REM_ATOMIC_OP : 0),
                           .qkey = how->key,
                           .path_mtu = how->mtu,
                           .av = hca_path(how->port, &how->route),
                           .dest_qp_num = how->qp_number,
                           .rq_psn = how->remote_psn,
                           .qp_ous_rd_atom = how->dest_rd_atomic,
                           .min_rnr_timer = IB_RNR_NAK_TIMER_0_64,
                           .sq_psn = how->psn,
                           .timeout = how->timeout,
                           .retry_count = how->retries,
                           .rnr_retry = 7, /* for ever */
                           .ous_dst_rd_atom = how->rd_atomic};
    return hca_error(VAPI_modify_qp(qp->hca, qp->it, &attr, &mask, &cap));
}

typedef struct hca_send {
    VAPI_sr_desc_t wr;
    VAPI_sg_lst_entry_t sge;
} hca_send_t;

static inline void hca_send_init(hca_send_t *send, uint64_t id)
{
    *send = (hca_send_t){
        .wr = {.id = id, .sg_lst_p = &send->sge, .sg_lst_len = 1, .opcode = VAPI_RDMA_WRITE}};
}

static inline void hca_send_target(hca_send_t *send, uint64_t address, uint32_t rkey)
{
    send->wr.remote_addr = address;
    send->wr.r_key = rkey;
}

static inline void hca_send_atomic(hca_send_t *send, uint64_t address, uint32_t rkey,
                                   uint64_t operand, uint64_t swap)
{
    hca_send_target(send, address, rkey);
    send->wr.compare_add = operand;
    send->wr.swap = swap;
}

static inline int hca_post_inlined(hca_qp_t qp, hca_send_t *send, uint64_t address,
                                   const void *data, uint32_t length)
{
    if (send->wr.id >> 62) __builtin_unreachable(); /* as in hca_post */
    send->wr.remote_addr = address;
    send->sge.addr = (uintptr_t)data;
    send->sge.len = length;
    return hca_error(EVAPI_post_inline_sr(qp->hca, qp->it, &send->wr));
}

static inline void hca_send_ah(hca_send_t *send, hca_ah_t ah, const hca_ud_addr_t *remote)
{
    send->wr.remote_ah = ah->it;
    send->wr.remote_qp = remote->qp_number;
    send->wr.remote_qkey = remote->key;
}

static inline int hca_post(hca_qp_t qp, hca_send_t *send, enum hca_kind kind, hca_local_t local)
{
    /* Removes a test from the inline calls of libvapi: an id is an address, whose upper bits are 0
     * (row "non-blocking implicit put, injection" of `make bench`, vapi, SEQ). */
    if (send->wr.id >> 62) __builtin_unreachable();
    send->sge.addr = (uintptr_t)local.data;
    send->sge.len = local.length;
    send->wr.opcode = (VAPI_wr_opcode_t)kind;
    if (local.inlined) return hca_error(EVAPI_post_inline_sr(qp->hca, qp->it, &send->wr));
    send->sge.lkey = local.lkey;
    return hca_error(VAPI_post_sr(qp->hca, qp->it, &send->wr));
}

typedef VAPI_sg_lst_entry_t hca_sge_t;

static inline hca_sge_t hca_sge(const void *at, uint32_t length, uint32_t lkey)
{
    return (hca_sge_t){.addr = (uintptr_t)at, .len = length, .lkey = lkey};
}

static inline int hca_post_list(hca_qp_t qp, hca_send_t *send, enum hca_kind kind, hca_sge_t *list,
                                uint32_t count)
{
    send->wr.sg_lst_p = list;
    send->wr.sg_lst_len = count;
    send->wr.opcode = (VAPI_wr_opcode_t)kind;
    int error = hca_error(VAPI_post_sr(qp->hca, qp->it, &send->wr));
    send->wr.sg_lst_p = &send->sge;
    send->wr.sg_lst_len = 1;
    return error;
}

typedef struct hca_recv {
    VAPI_rr_desc_t wr;
    VAPI_sg_lst_entry_t sge;
} hca_recv_t;

static inline void hca_recv_init(hca_recv_t *recv, uint64_t id, void *data, uint32_t length,
                                 uint32_t lkey)
{
    recv->sge = (VAPI_sg_lst_entry_t){.addr = (uintptr_t)data, .len = length, .lkey = lkey};
    recv->wr =
        (VAPI_rr_desc_t){.id = id, .opcode = VAPI_RECEIVE, .sg_lst_p = &recv->sge, .sg_lst_len = 1};
}

static inline int hca_post_recv(hca_qp_t qp, hca_recv_t *recv)
{
    /* Removes two tests from the inline call of libvapi: the upper bits of the id are 0, and
     * hca_recv_init has set the opcode. */
    if (recv->wr.id >> 62 || recv->wr.opcode != VAPI_RECEIVE) __builtin_unreachable();
    return hca_error(VAPI_post_rr(qp->hca, qp->it, &recv->wr));
}

static inline int hca_post_srq_recv(hca_srq_t srq, hca_recv_t *recv)
{
    return hca_error(VAPI_post_srq(srq->hca, srq->it, 1, &recv->wr, NULL));
}

/* Polls for further completions after the first; not inline, since most polls find no completion.
 * Where there is a second one there may be many (64 implicit puts in tests/bench/testlat). */
static __attribute__((unused)) int hca_poll_on(hca_cq_t cq, int budget, hca_wc_t *wc)
{
    u_int32_t more = 0;
    if (budget < 2 || VAPI_poll_cq(cq->made.hca, cq->made.it, &wc[1]) != VAPI_OK) return 1;
    EVAPI_poll_cq_list(cq->made.hca, cq->made.it, (u_int32_t)budget - 2, &wc[2], &more);
    return 2 + (int)more;
}

static inline int hca_poll(hca_cq_t cq, int budget, hca_wc_t *wc)
{
    if (atomic_load_explicit(&cq->taken, memory_order_acquire)) {
        wc[0] = cq->wc;
        atomic_store_explicit(&cq->taken, false, memory_order_release);
    } else if (VAPI_poll_cq(cq->made.hca, cq->made.it, &wc[0]) != VAPI_OK)
        return 0;
    return hca_poll_on(cq, budget, wc);
}

static inline hca_done_t hca_done(const hca_wc_t *wc)
{
    return (hca_done_t){wc->id,       wc->status == VAPI_SUCCESS, wc->local_qp_num,
                        wc->byte_len, wc->imm_data_valid,         wc->imm_data};
}

static inline hca_failure_t hca_wc_failure(const hca_wc_t *wc)
{
    const bool shared = wc->status <= VAPI_INV_EEC_STATE_ERR;
    return (hca_failure_t){hca_status_cause(shared ? wc->status : HCA_STATUS_GENERAL),
                           VAPI_wc_status_sym(wc->status), wc->vendor_err_syndrome};
}
