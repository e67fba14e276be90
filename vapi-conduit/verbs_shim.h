/* verbs_shim.h - VAPI under the names that core/ib uses: types and inline calls, nothing more.
 *
 * ibv-conduit has a file of the same name over the IB Verbs; core/ib is compiled against either.
 * No decisions here.  VAPI names a thing by its handle and the device's, and knows no descriptors:
 * what core/ib holds by a pointer is a small record of both, and handlers that libvapi calls from
 * threads of its own make descriptors readable.
 */
#ifndef VERBS_SHIM_H
#define VERBS_SHIM_H

#include <errno.h>
#include <evapi.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vapi.h>
#include <vapi_common.h>

#include "core/ib/verbs_types.h"

typedef struct hca_device {
    VAPI_hca_hndl_t hca;
    EVAPI_async_handler_hndl_t handler;
    int events[2]; /* of hca_event_t: where they are read, where written */
    bool waited;   /* once, for the thread that fills it */
} * hca_t;
typedef struct hca_channel {
    int fd;
} * hca_channel_t;
typedef struct hca_pd {
    VAPI_hca_hndl_t hca;
    VAPI_pd_hndl_t pd;
} * hca_pd_t;
typedef struct hca_cq {
    VAPI_hca_hndl_t hca;
    VAPI_cq_hndl_t cq;
    hca_channel_t channel;
} * hca_cq_t;
typedef struct hca_srq {
    VAPI_hca_hndl_t hca;
    VAPI_srq_hndl_t srq;
} * hca_srq_t;
typedef struct hca_qp {
    VAPI_hca_hndl_t hca;
    VAPI_qp_hndl_t qp;
    uint32_t qp_num;
} * hca_qp_t;
typedef struct hca_mr {
    VAPI_hca_hndl_t hca;
    VAPI_mr_hndl_t mr;
    uint32_t lkey, rkey;
} * hca_mr_t;
typedef struct hca_way {
    VAPI_hca_hndl_t hca;
    VAPI_ud_av_hndl_t av;
} * hca_way_t;
typedef VAPI_wc_desc_t hca_wc_t;

/* As core/ib and its messages have it: 0 or an errno. */
static inline int hca_error(VAPI_ret_t result)
{
    switch (result) {
    case VAPI_OK:
        return 0;
    case VAPI_EAGAIN:
    case VAPI_ENOMEM:
    case VAPI_E2BIG_WR_NUM:
        return ENOMEM;
    case VAPI_EINVAL_VA:
        return EFAULT;
    case VAPI_EPERM:
        return EPERM;
    case VAPI_EBUSY:
        return EBUSY;
    case VAPI_ENOSYS:
        return ENOSYS;
    case VAPI_EFATAL:
        return EIO;
    case VAPI_ESYSCALL:
        return errno ? errno : EIO;
    default:
        return EINVAL;
    }
}

/* The record of what was made, on the heap; NULL with errno if it was not. */
static inline void *hca_record(VAPI_ret_t result, const void *made, size_t size)
{
    errno = hca_error(result);
    void *record = errno ? NULL : malloc(size);
    return record ? memcpy(record, made, size) : NULL;
}

/* ---- devices --------------------------------------------------------------------------------- */

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
        [VAPI_PORT_ERROR] = HCA_EVENT_PORT};
    return (unsigned)type <= VAPI_PORT_ACTIVE ? kinds[type] : HCA_EVENT_UNKNOWN;
}

/* In a thread of libvapi's; what does not fit is lost, as with VAPI's own queue. */
static inline void hca_heard(VAPI_hca_hndl_t hca, VAPI_event_record_t *record, void *device)
{
    hca_event_t event = {.kind = hca_event_kind(record->type),
                         .text = VAPI_event_record_sym(record->type)};
    if (record->type == VAPI_PORT_ERROR || record->type == VAPI_PORT_ACTIVE)
        event.port = record->modifier.port_num;
    ssize_t written = write(((hca_t)device)->events[1], &event, sizeof event);
    (void)written, (void)hca;
}

/* Takes the next event, if there is one; one that came at the same time as a failure may still be
 * on its way through libvapi's thread. */
static inline bool hca_next_event(hca_t hca, hca_event_t *found)
{
    struct pollfd ready = {.fd = hca->events[0], .events = POLLIN};
    int patience = hca->waited ? 0 : 100;
    hca->waited = true;
    return poll(&ready, 1, patience) > 0 && read(ready.fd, found, sizeof *found) == sizeof *found;
}

static inline void hca_close(hca_t hca)
{
    EVAPI_clear_async_event_handler(hca->hca, hca->handler);
    EVAPI_release_hca_hndl(hca->hca);
    close(hca->events[0]);
    close(hca->events[1]);
    free(hca);
}

/* Device number `i` and its name, "" behind the last; NULL with errno if it cannot be opened. */
static inline hca_t hca_open(int i, char name[64])
{
    struct hca_device made;
    VAPI_hca_id_t names[64] = {""};
    u_int32_t count = 0;
    memset(&made, 0, sizeof made);
    EVAPI_list_hcas(64, &count, names);
    snprintf(name, 64, "%.31s", i < 64 && (u_int32_t)i < count ? names[i] : "");
    hca_t hca =
        *name ? hca_record(EVAPI_get_hca_hndl(names[i], &made.hca), &made, sizeof made) : NULL;
    if (!hca) return NULL;
    VAPI_ret_t result = VAPI_ESYSCALL;
    if (!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, hca->events))
        result = EVAPI_set_async_event_handler(hca->hca, hca_heard, hca, &hca->handler);
    if (result == VAPI_OK) return hca;
    EVAPI_release_hca_hndl(hca->hca);
    free(hca);
    errno = hca_error(result);
    return NULL;
}

static inline bool hca_query(hca_t hca, hca_limits_t *limits)
{
    VAPI_hca_vendor_t maker;
    VAPI_hca_cap_t cap;
    if (VAPI_query_hca_cap(hca->hca, &maker, &cap) != VAPI_OK) return false;
    const bool infinihost =
        maker.vendor_id == MT_MELLANOX_IEEE_VENDOR_ID && maker.vendor_part_id == 0x5a44;
    *limits = (hca_limits_t){.max_cqe = cap.max_num_ent_cq,
                             .max_qp_wr = cap.max_qp_ous_wr,
                             .max_rd_atom = cap.max_qp_ous_rd_atom,
                             .max_init_rd_atom = cap.max_qp_init_rd_atom,
                             .max_srq_wr = cap.max_num_srq > 0 ? cap.max_wqe_per_srq : 0,
                             .max_mr_size = cap.max_mr_size,
                             .ports = cap.phys_port_num,
                             .polls_alone = infinihost && maker.fw_ver < 0x300000000,
                             .slow_inline = infinihost && maker.fw_ver < 0x300000000 &&
                                            maker.fw_ver >= 0x100120000};
    snprintf(limits->firmware, sizeof limits->firmware, "%u.%u.%u", (unsigned)(maker.fw_ver >> 32),
             (unsigned)(maker.fw_ver >> 16) & 0xffff, (unsigned)maker.fw_ver & 0xffff);
    return true;
}

/* A port without a LID is an Ethernet port, of which VAPI knows nothing. */
static inline bool hca_query_port(hca_t hca, uint8_t number, hca_port_t *port)
{
    VAPI_hca_port_t prop;
    if (VAPI_query_hca_port_prop(hca->hca, number, &prop) != VAPI_OK) return false;
    u_int16_t gids = 0;
    VAPI_query_hca_gid_tbl(hca->hca, number, 0, &gids, NULL);
    VAPI_gid_t *table = calloc(gids + 1u, sizeof *table);
    bool found =
        table && VAPI_query_hca_gid_tbl(hca->hca, number, gids, &gids, table) == VAPI_OK && gids;
    *port = (hca_port_t){.active = prop.state == PORT_ACTIVE,
                         .ethernet = prop.lid == 0,
                         .lid = prop.lid,
                         .mtu = (uint8_t)prop.max_mtu};
    if (found) memcpy(port->gid, table[0], sizeof port->gid);
    free(table);
    return found;
}

/* ---- memory and queues ----------------------------------------------------------------------- */

static inline hca_pd_t hca_pd_create(hca_t hca)
{
    struct hca_pd made = {.hca = hca->hca};
    return hca_record(VAPI_alloc_pd(made.hca, &made.pd), &made, sizeof made);
}

static inline void hca_pd_destroy(hca_pd_t pd)
{
    VAPI_dealloc_pd(pd->hca, pd->pd);
    free(pd);
}

/* How much of the memory is asked for: what is only read from may be mapped read-only. */
enum hca_access {
    HCA_SOURCE = 0,
    HCA_LOCAL = VAPI_EN_LOCAL_WRITE,
    HCA_REMOTE = VAPI_EN_LOCAL_WRITE | VAPI_EN_REMOTE_WRITE | VAPI_EN_REMOTE_READ
};

static inline hca_mr_t hca_register(hca_pd_t pd, void *start, size_t size, enum hca_access access)
{
    struct hca_mr made = {.hca = pd->hca};
    VAPI_mr_t got, wanted = {.type = VAPI_MR,
                             .start = (VAPI_virt_addr_t)(uintptr_t)start,
                             .size = size,
                             .pd_hndl = pd->pd,
                             .acl = access};
    VAPI_ret_t result = VAPI_register_mr(pd->hca, &wanted, &made.mr, &got);
    if (result == VAPI_OK) made.lkey = got.l_key, made.rkey = got.r_key;
    return hca_record(result, &made, sizeof made);
}

static inline void hca_deregister(hca_mr_t mr)
{
    VAPI_deregister_mr(mr->hca, mr->mr);
    free(mr);
}

/* Its descriptor is readable when an armed queue has something new. */
static inline hca_channel_t hca_channel_create(hca_t hca)
{
    struct hca_channel made = {.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    (void)hca;
    return hca_record(made.fd < 0 ? VAPI_ESYSCALL : VAPI_OK, &made, sizeof made);
}

static inline void hca_channel_destroy(hca_channel_t channel)
{
    close(channel->fd);
    free(channel);
}

/* Takes what there is off a readable channel. */
static inline void hca_channel_take(hca_channel_t channel)
{
    uint64_t events;
    ssize_t taken = read(channel->fd, &events, sizeof events);
    (void)taken;
}

/* In a thread of libvapi's. */
static inline void hca_completed(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, void *channel)
{
    const uint64_t one = 1;
    ssize_t written = write(((hca_channel_t)channel)->fd, &one, sizeof one);
    (void)written, (void)hca, (void)cq;
}

/* `channel` may be NULL: nobody sleeps on this queue. */
static inline hca_cq_t hca_cq_create(hca_t hca, uint32_t depth, hca_channel_t channel)
{
    struct hca_cq made = {.hca = hca->hca, .channel = channel};
    VAPI_cqe_num_t actual;
    EVAPI_compl_handler_hndl_t handler;
    VAPI_ret_t result = VAPI_create_cq(made.hca, depth, &made.cq, &actual);
    if (result == VAPI_OK && channel)
        result = EVAPI_set_comp_eventh(made.hca, made.cq, hca_completed, channel, &handler);
    return hca_record(result, &made, sizeof made);
}

static inline void hca_cq_arm(hca_cq_t cq)
{
    VAPI_req_comp_notif(cq->hca, cq->cq, VAPI_NEXT_COMP);
}

static inline void hca_cq_destroy(hca_cq_t cq)
{
    if (cq->channel) EVAPI_clear_comp_eventh(cq->hca, cq->cq);
    VAPI_destroy_cq(cq->hca, cq->cq);
    free(cq);
}

/* A receive queue for any number of queue pairs. */
static inline hca_srq_t hca_srq_create(hca_pd_t pd, uint32_t depth)
{
    struct hca_srq made = {.hca = pd->hca};
    VAPI_srq_attr_t got, wanted = {.pd_hndl = pd->pd, .max_outs_wr = depth, .max_sentries = 1};
    return hca_record(VAPI_create_srq(pd->hca, &wanted, &made.srq, &got), &made, sizeof made);
}

static inline void hca_srq_destroy(hca_srq_t srq)
{
    VAPI_destroy_srq(srq->hca, srq->srq);
    free(srq);
}

enum hca_service { HCA_CONNECTED = VAPI_TS_RC, HCA_DATAGRAMS = VAPI_TS_UD };

/* *inline_max: granted on return; VAPI does not ask what is wanted.  `srq` may be NULL: it has a
 * receive queue of its own. */
static inline hca_qp_t hca_qp_create(hca_pd_t pd, enum hca_service service, hca_cq_t send_cq,
                                     hca_cq_t recv_cq, hca_srq_t srq, uint32_t send_depth,
                                     uint32_t recv_depth, uint32_t *inline_max)
{
    struct hca_qp made = {.hca = pd->hca};
    VAPI_qp_prop_t got;
    VAPI_qp_init_attr_ext_t more = {.srq_hndl = srq ? srq->srq : VAPI_INVAL_SRQ_HNDL};
    VAPI_qp_init_attr_t wanted = {.sq_cq_hndl = send_cq->cq,
                                  .rq_cq_hndl = recv_cq->cq,
                                  .cap = {.max_oust_wr_sq = send_depth,
                                          .max_oust_wr_rq = recv_depth,
                                          .max_sg_size_sq = 1,
                                          .max_sg_size_rq = 1},
                                  .sq_sig_type = VAPI_SIGNAL_REQ_WR,
                                  .rq_sig_type = VAPI_SIGNAL_REQ_WR,
                                  .pd_hndl = pd->pd,
                                  .ts_type = service};
    VAPI_ret_t result = VAPI_create_qp_ext(pd->hca, &wanted, &more, &made.qp, &got);
    if (result == VAPI_OK) made.qp_num = got.qp_num, *inline_max = got.cap.max_inline_data_sq;
    return hca_record(result, &made, sizeof made);
}

static inline void hca_qp_destroy(hca_qp_t qp)
{
    VAPI_destroy_qp(qp->hca, qp->qp);
    free(qp);
}

static inline int hca_qp_modify(hca_qp_t qp, VAPI_qp_attr_t attr, VAPI_qp_attr_mask_t mask)
{
    VAPI_qp_cap_t cap;
    mask |= QP_ATTR_QP_STATE;
    return hca_error(VAPI_modify_qp(qp->hca, qp->qp, &attr, &mask, &cap));
}

static inline int hca_qp_to_init(hca_qp_t qp, uint8_t port)
{
    return hca_qp_modify(
        qp,
        (VAPI_qp_attr_t){.qp_state = VAPI_INIT,
                         .port = port,
                         .remote_atomic_flags = VAPI_EN_REM_WRITE | VAPI_EN_REM_READ},
        QP_ATTR_PKEY_IX | QP_ATTR_PORT | QP_ATTR_REMOTE_ATOMIC_FLAGS);
}

static inline VAPI_ud_av_t hca_path(uint8_t port, const hca_port_t *near, uint16_t lid,
                                    const uint8_t *gid)
{
    VAPI_ud_av_t av = {.dlid = lid, .port = port};
    if (!hca_needs_gid(near, lid)) return av;
    av.grh_flag = 1;
    av.hop_limit = 64;
    memcpy(av.dgid, gid, sizeof av.dgid);
    return av;
}

static inline int hca_qp_to_rtr(hca_qp_t qp, uint8_t port, const hca_port_t *near,
                                const hca_far_t *far, uint8_t mtu, uint8_t rd_atom)
{
    return hca_qp_modify(qp,
                         (VAPI_qp_attr_t){.qp_state = VAPI_RTR,
                                          .av = hca_path(port, near, far->lid, far->gid),
                                          .path_mtu = mtu,
                                          .dest_qp_num = far->qp_number,
                                          .rq_psn = far->psn,
                                          .qp_ous_rd_atom = rd_atom,
                                          .min_rnr_timer = IB_RNR_NAK_TIMER_0_64},
                         QP_ATTR_AV | QP_ATTR_PATH_MTU | QP_ATTR_DEST_QP_NUM | QP_ATTR_RQ_PSN |
                             QP_ATTR_QP_OUS_RD_ATOM | QP_ATTR_MIN_RNR_TIMER);
}

/* `psn`: of the first packet sent. */
static inline int hca_qp_to_rts(hca_qp_t qp, uint32_t psn, uint8_t timeout, uint8_t retries,
                                uint8_t rd_atom)
{
    return hca_qp_modify(qp,
                         (VAPI_qp_attr_t){.qp_state = VAPI_RTS,
                                          .sq_psn = psn,
                                          .timeout = timeout,
                                          .retry_count = retries,
                                          .rnr_retry = 7,
                                          .ous_dst_rd_atom = rd_atom},
                         QP_ATTR_SQ_PSN | QP_ATTR_TIMEOUT | QP_ATTR_RETRY_COUNT |
                             QP_ATTR_RNR_RETRY | QP_ATTR_OUS_DST_RD_ATOM);
}

/* From new to ready. */
static inline int hca_datagrams_start(hca_qp_t qp, uint8_t port, uint32_t key)
{
    int error =
        hca_qp_modify(qp, (VAPI_qp_attr_t){.qp_state = VAPI_INIT, .port = port, .qkey = key},
                      QP_ATTR_PKEY_IX | QP_ATTR_PORT | QP_ATTR_QKEY);
    if (!error) error = hca_qp_modify(qp, (VAPI_qp_attr_t){.qp_state = VAPI_RTR}, 0);
    if (error) return error;
    return hca_qp_modify(qp, (VAPI_qp_attr_t){.qp_state = VAPI_RTS}, QP_ATTR_SQ_PSN);
}

static inline hca_way_t hca_way_create(hca_pd_t pd, uint8_t port, const hca_port_t *near,
                                       const hca_mail_t *far)
{
    struct hca_way made = {.hca = pd->hca};
    VAPI_ud_av_t av = hca_path(port, near, far->lid, far->gid);
    return hca_record(VAPI_create_addr_hndl(pd->hca, pd->pd, &av, &made.av), &made, sizeof made);
}

static inline void hca_way_destroy(hca_way_t way)
{
    VAPI_destroy_addr_hndl(way->hca, way->av);
    free(way);
}

/* ---- posting: a work request filled once, and refilled for each post --------------------------
 */

typedef struct hca_send {
    VAPI_sr_desc_t sr;
    VAPI_sg_lst_entry_t sg;
} hca_send_t;

static inline void hca_send_init(hca_send_t *send, uint64_t id)
{
    memset(send, 0, sizeof *send);
    send->sr.id = id;
    send->sr.comp_type = VAPI_SIGNALED;
    send->sr.sg_lst_p = &send->sg;
    send->sr.sg_lst_len = 1;
}

/* A message may have a word beside it (hca_wc_marked, hca_wc_word). */
enum hca_kind {
    HCA_MESSAGE = VAPI_SEND,
    HCA_MESSAGE_MARKED = VAPI_SEND_WITH_IMM,
    HCA_WRITE = VAPI_RDMA_WRITE,
    HCA_READ = VAPI_RDMA_READ
};

/* Where to write to or read from; the word of a marked message. */
static inline void hca_send_target(hca_send_t *send, uint64_t address, uint32_t rkey)
{
    send->sr.remote_addr = address;
    send->sr.r_key = rkey;
}

static inline void hca_send_word(hca_send_t *send, uint32_t word)
{
    send->sr.imm_data = word;
}

static inline int hca_post(hca_qp_t qp, hca_send_t *send, enum hca_kind kind, hca_local_t local)
{
    send->sg.addr = (uintptr_t)local.data;
    send->sg.len = local.length;
    send->sr.opcode = (VAPI_wr_opcode_t)kind;
    if (local.captured) return hca_error(EVAPI_post_inline_sr(qp->hca, qp->qp, &send->sr));
    send->sg.lkey = local.lkey;
    return hca_error(VAPI_post_sr(qp->hca, qp->qp, &send->sr));
}

static inline int hca_datagram(hca_qp_t qp, hca_send_t *send, hca_local_t local, hca_way_t way,
                               const hca_mail_t *far)
{
    send->sr.remote_ah = way->av;
    send->sr.remote_qp = far->qp_number;
    send->sr.remote_qkey = far->key;
    return hca_post(qp, send, HCA_MESSAGE, local);
}

/* A receive request, filled once for its buffer. */
typedef struct hca_recv {
    VAPI_rr_desc_t rr;
    VAPI_sg_lst_entry_t sg;
} hca_recv_t;

static inline void hca_recv_init(hca_recv_t *recv, uint64_t id, void *data, uint32_t length,
                                 uint32_t lkey)
{
    recv->sg = (VAPI_sg_lst_entry_t){.addr = (uintptr_t)data, .len = length, .lkey = lkey};
    recv->rr = (VAPI_rr_desc_t){.id = id,
                                .opcode = VAPI_RECEIVE,
                                .comp_type = VAPI_SIGNALED,
                                .sg_lst_p = &recv->sg,
                                .sg_lst_len = 1};
}

static inline void hca_recv_lkey(hca_recv_t *recv, uint32_t lkey)
{
    recv->sg.lkey = lkey;
}

static inline int hca_post_recv(hca_qp_t qp, hca_recv_t *recv)
{
    return hca_error(VAPI_post_rr(qp->hca, qp->qp, &recv->rr));
}

static inline int hca_post_srq_recv(hca_srq_t srq, hca_recv_t *recv)
{
    u_int32_t posted;
    return hca_error(VAPI_post_srq(srq->hca, srq->srq, 1, &recv->rr, &posted));
}

/* ---- completions ----------------------------------------------------------------------------- */

static inline int hca_poll(hca_cq_t cq, int budget, hca_wc_t *wc)
{
    int n = 0;
    while (n < budget && VAPI_poll_cq(cq->hca, cq->cq, &wc[n]) == VAPI_OK) n++;
    return n;
}

static inline bool hca_wc_ok(const hca_wc_t *wc)
{
    return wc->status == VAPI_SUCCESS;
}

static inline uint64_t hca_wc_id(const hca_wc_t *wc)
{
    return wc->id;
}

/* The queue pair at this end. */
static inline uint32_t hca_wc_qp_number(const hca_wc_t *wc)
{
    return wc->local_qp_num;
}

static inline uint32_t hca_wc_length(const hca_wc_t *wc)
{
    return wc->byte_len;
}

static inline bool hca_wc_marked(const hca_wc_t *wc)
{
    return wc->imm_data_valid;
}

/* Of one that is marked. */
static inline uint32_t hca_wc_word(const hca_wc_t *wc)
{
    return wc->imm_data;
}

static inline hca_failure_t hca_wc_failure(const hca_wc_t *wc)
{
    hca_failure_t failure = {.cause = hca_status_cause(wc->status),
                             .text = VAPI_wc_status_sym(wc->status),
                             .vendor = wc->vendor_err_syndrome};
    if (wc->status == VAPI_COMP_FATAL_ERR || wc->status == VAPI_COMP_GENERAL_ERR)
        failure.cause = HCA_CAUSE_LOCAL_DEVICE;
    return failure;
}

#endif
