/* qp.c - queue pairs and completion queues: made, changed, asked and destroyed. */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "qp_pair.h"

static VAPI_qp_init_attr_t plain(struct stage *s, VAPI_cq_hndl_t cq)
{
    VAPI_qp_init_attr_t init = {.sq_cq_hndl = cq,
                                .rq_cq_hndl = cq,
                                .cap = {1, 1, 2, 2, 0xeeeeeeee},
                                .pd_hndl = s->pd,
                                .ts_type = VAPI_TS_RC};
    return init;
}

static void made(struct stage *s)
{
    VAPI_cq_hndl_t cq;
    VAPI_cqe_num_t n;
    VAPI_qp_hndl_t qp;
    VAPI_qp_prop_t prop;
    VAPI_hca_cap_t cap;
    NEED(VAPI_query_hca_cap(s->hca, NULL, &cap));
    is_code(VAPI_create_cq(s->hca, 0, &cq, &n), VAPI_EINVAL_PARAM, "a CQ of nothing");
    is_code(VAPI_create_cq(s->hca, cap.max_num_ent_cq + 1, &cq, &n), VAPI_E2BIG_CQ_NUM,
            "more entries than there may be");
    is_code(VAPI_create_cq(s->hca, cap.max_num_ent_cq, &cq, &n), VAPI_OK,
            "as many as there may be");
    NEED(VAPI_destroy_cq(s->hca, cq));
    is_code(VAPI_create_cq(s->hca, 5, &cq, &n), VAPI_OK, "a CQ");
    is_true(n >= 5, "has room for as many or more");

#define REFUSED(change, code)                                                                      \
    do {                                                                                           \
        VAPI_qp_init_attr_t init = plain(s, cq);                                                   \
        init.change;                                                                               \
        is_code(VAPI_create_qp(s->hca, &init, &qp, &prop), code, "a QP with " #change);            \
    } while (0)
    REFUSED(sq_cq_hndl = 12345, VAPI_EINVAL_CQ_HNDL);
    REFUSED(rq_cq_hndl = s->pd, VAPI_EINVAL_CQ_HNDL);
    REFUSED(pd_hndl = cq, VAPI_EINVAL_PD_HNDL);
    REFUSED(ts_type = VAPI_TS_RD, VAPI_EINVAL_SERVICE_TYPE);
    REFUSED(ts_type = VAPI_TS_RAW, VAPI_EINVAL_SERVICE_TYPE);
    REFUSED(cap.max_oust_wr_sq = cap.max_qp_ous_wr + 1, VAPI_E2BIG_WR_NUM);
    REFUSED(cap.max_oust_wr_rq = cap.max_qp_ous_wr + 1, VAPI_E2BIG_WR_NUM);
    REFUSED(cap.max_sg_size_sq = cap.max_num_sg_ent + 1, VAPI_E2BIG_SG_NUM);
    REFUSED(cap.max_sg_size_rq = cap.max_num_sg_ent + 1, VAPI_E2BIG_SG_NUM);
    REFUSED(cap.max_oust_wr_sq = init.cap.max_oust_wr_rq = 0, VAPI_EINVAL_PARAM);
    VAPI_qp_init_attr_t init = plain(s, cq);
    VAPI_qp_init_attr_ext_t ext = {12345};
    is_code(VAPI_create_qp_ext(s->hca, &init, &ext, &qp, &prop), VAPI_EINVAL_SRQ_HNDL,
            "a shared queue that there is not");
    is_code(VAPI_create_qp(s->hca, &init, &qp, &prop), VAPI_OK, "a QP");
    is_true(prop.cap.max_oust_wr_sq >= 2 && prop.cap.max_oust_wr_rq >= 2 &&
                prop.cap.max_sg_size_sq >= 2 && prop.cap.max_inline_data_sq >= 72,
            "a depth of 1 becomes 2; room for inline data is told");
    is_code(VAPI_destroy_cq(s->hca, cq), VAPI_EBUSY, "its CQ stays");
    is_code(VAPI_resize_cq(s->hca, cq, 100, &n), VAPI_OK, "but may grow");
    is_true(n >= 100, "to what was asked for");
    VAPI_cqe_num_t asked;
    is_code(VAPI_query_cq(s->hca, cq, &asked), VAPI_OK, "and tells");
    is_number(asked, n, "how large it is");
    is_code(VAPI_resize_cq(s->hca, cq, cap.max_num_ent_cq + 1, &n), VAPI_E2BIG_CQ_NUM, "not more");
    int data;
    void *priv;
    is_code(EVAPI_get_priv_context4qp(s->hca, qp, &priv), VAPI_OK, "a QP's own pointer");
    is_true(priv == NULL, "is NULL");
    is_code(EVAPI_set_priv_context4qp(s->hca, qp, &data), VAPI_OK, "until it is set");
    NEED(EVAPI_get_priv_context4qp(s->hca, qp, &priv));
    is_true(priv == &data, "and then what it was set to");
    is_code(EVAPI_set_priv_context4cq(s->hca, cq, &data), VAPI_OK, "a CQ's");
    NEED(EVAPI_get_priv_context4cq(s->hca, cq, &priv));
    is_true(priv == &data, "too");
    VAPI_qp_hndl_t special;
    is_code(VAPI_get_special_qp(s->hca, 1, VAPI_GSI_QP, &init, &special, &prop.cap), VAPI_ENOSYS,
            "special QPs");
    is_code(VAPI_get_special_qp(s->hca, 1, VAPI_REGULAR_QP, &init, &special, &prop.cap),
            VAPI_EINVAL_PARAM, "of no special kind");
    is_code(VAPI_get_special_qp(s->hca, 1, 99, &init, &special, &prop.cap), VAPI_EINVAL_QP_TYPE,
            "of no kind");
    is_code(VAPI_get_special_qp(s->hca, 3, VAPI_GSI_QP, &init, &special, &prop.cap),
            VAPI_EINVAL_PORT, "at no port");
    NEED(VAPI_destroy_qp(s->hca, qp));
    is_code(VAPI_destroy_qp(s->hca, qp), VAPI_EINVAL_QP_HNDL, "a QP is destroyed once");
    NEED(VAPI_destroy_cq(s->hca, cq));
}

static VAPI_ret_t modify(struct stage *s, VAPI_qp_hndl_t qp, VAPI_qp_attr_t attr,
                         VAPI_qp_attr_mask_t mask)
{
    VAPI_qp_cap_t cap;
    return VAPI_modify_qp(s->hca, qp, &attr, &mask, &cap);
}

static void values(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR, .raw = true};
    make_ends(s, &w);
    VAPI_qp_hndl_t qp = s->a.qp;
    const VAPI_qp_attr_mask_t init =
        QP_ATTR_QP_STATE | QP_ATTR_PKEY_IX | QP_ATTR_PORT | QP_ATTR_REMOTE_ATOMIC_FLAGS;
    const VAPI_qp_attr_mask_t rtr = QP_ATTR_QP_STATE | QP_ATTR_AV | QP_ATTR_PATH_MTU |
                                    QP_ATTR_RQ_PSN | QP_ATTR_QP_OUS_RD_ATOM | QP_ATTR_DEST_QP_NUM |
                                    QP_ATTR_MIN_RNR_TIMER;
    VAPI_qp_attr_t a = {.qp_state = VAPI_INIT, .port = 1, .remote_atomic_flags = 7}, b;
#define WITH(change) (b = a, b.change, b)
    is_code(modify(s, qp, WITH(port = 0), init), VAPI_EINVAL_PORT, "port 0");
    is_code(modify(s, qp, WITH(port = 9), init), VAPI_EINVAL_PORT, "port 9");
    is_code(modify(s, qp, WITH(pkey_ix = 9999), init), VAPI_EINVAL_PKEY_IX, "P_Key 9999");
    is_code(modify(s, qp, WITH(qp_state = VAPI_RTR), rtr), VAPI_EINVAL_QP_STATE, "a leap");
    is_code(modify(s, qp, WITH(qp_state = 99), init), VAPI_EINVAL_QP_STATE, "to no state");
    is_code(modify(s, qp, a, init & ~(VAPI_qp_attr_mask_t)QP_ATTR_PORT), VAPI_EINVAL_ATTR,
            "without a port");
    is_code(modify(s, qp, a, init | QP_ATTR_QKEY), VAPI_ENOSYS_ATTR, "with a Q_Key");
    is_code(modify(s, qp, a, init | QP_ATTR_CAP), VAPI_ENOSYS, "other sizes");
    is_code(modify(s, qp, a, init | QP_ATTR_SCHED_QUEUE | QP_ATTR_QP_NUM), VAPI_OK, "to VAPI_INIT");
    is_code(modify(s, qp, a, QP_ATTR_REMOTE_ATOMIC_FLAGS), VAPI_OK, "a right, in place");
    a.qp_state = VAPI_RTR;
    a.path_mtu = s->port.max_mtu;
    a.av.dlid = s->port.lid;
    a.dest_qp_num = s->b.prop.qp_num;
    a.qp_ous_rd_atom = 3;
    is_code(modify(s, qp, WITH(path_mtu = 0), rtr), VAPI_EINVAL_MTU, "an MTU of nothing");
    is_code(modify(s, qp, WITH(path_mtu = s->port.max_mtu + 1), rtr), VAPI_EINVAL_MTU,
            "more than the port's");
    is_code(modify(s, qp, WITH(min_rnr_timer = 32), rtr), VAPI_EINVAL_RNR_NAK_TIMER,
            "a timer of 32");
    is_code(modify(s, qp, a, rtr), VAPI_OK, "to VAPI_RTR");
    is_code(modify(s, qp, a, QP_ATTR_REMOTE_ATOMIC_FLAGS), VAPI_EINVAL_ATTR,
            "there, nothing is changed in place");
    const VAPI_qp_attr_mask_t rts = QP_ATTR_QP_STATE | QP_ATTR_SQ_PSN | QP_ATTR_TIMEOUT |
                                    QP_ATTR_RETRY_COUNT | QP_ATTR_RNR_RETRY |
                                    QP_ATTR_OUS_DST_RD_ATOM;
    a.qp_state = VAPI_RTS;
    a.sq_psn = 0xcafef00d;
    a.ous_dst_rd_atom = 3;
    a.retry_count = 20;
    a.timeout = 0x20;
    is_code(modify(s, qp, WITH(path_mig_state = 9), rts | QP_ATTR_PATH_MIG_STATE),
            VAPI_EINVAL_MIG_STATE, "a strange migration state");
    is_code(modify(s, qp, a, rts), VAPI_OK, "to VAPI_RTS");

    VAPI_qp_attr_t got;
    VAPI_qp_attr_mask_t mask;
    VAPI_qp_init_attr_t how;
    VAPI_qp_init_attr_ext_t ext;
    is_code(VAPI_query_qp_ext(s->hca, qp, &got, &mask, &how, &ext), VAPI_OK, "asked");
    is_true(got.qp_state == VAPI_RTS && got.qp_num == s->a.prop.qp_num && got.sq_psn == 0xfef00d &&
                got.qp_ous_rd_atom == 4 && got.ous_dst_rd_atom == 2 && got.retry_count == 7 &&
                got.timeout == 31 && got.dest_qp_num == s->b.prop.qp_num && got.port == 1,
            "it tells what was set, as it was made to fit");
    is_true(mask == (init | rtr | rts | QP_ATTR_QP_NUM | QP_ATTR_CAP), "and what was");
    is_true(how.sq_cq_hndl == s->a.scq && how.pd_hndl == s->pd &&
                how.cap.max_inline_data_sq == s->a.prop.cap.max_inline_data_sq &&
                ext.srq_hndl == VAPI_INVAL_SRQ_HNDL,
            "and how it was made");
    is_code(VAPI_query_qp(s->hca, qp, &got, &mask, NULL), VAPI_EINVAL_PARAM,
            "without a place for it");
    a.qp_state = VAPI_SQD;
    is_code(modify(s, qp, a, QP_ATTR_QP_STATE | QP_ATTR_EN_SQD_ASYN_NOTIF), VAPI_OK, "to VAPI_SQD");
    is_code(change_state(s, qp, VAPI_RTS), VAPI_OK, "and back");
    is_code(change_state(s, qp, VAPI_INIT), VAPI_EINVAL_QP_STATE, "never to VAPI_INIT");
    is_code(change_state(s, qp, VAPI_ERR), VAPI_OK, "to VAPI_ERR");
    is_code(change_state(s, qp, VAPI_RESET), VAPI_OK, "to VAPI_RESET");
    NEED(VAPI_query_qp(s->hca, qp, &got, &mask, &how));
    is_true(got.qp_state == VAPI_RESET && mask == (QP_ATTR_QP_STATE | QP_ATTR_QP_NUM | QP_ATTR_CAP),
            "where all is forgotten");
    drop_ends(s);
}

/* Completions of a queue pair that is reset are taken off its CQ, those of others stay. */
static void reset_purges(struct stage *s, bool ahead)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    VAPI_wc_desc_t wc;
    make_ends(s, &w);
    for (uint64_t i = 0; i < 4; i++)
        NEED(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_RDMA_WRITE, i, 0, 8)));
    while (EVAPI_peek_cq(s->hca, s->a.scq, 4) == VAPI_CQ_EMPTY) continue;
    if (!ahead) NEED(VAPI_poll_cq(s->hca, s->a.scq, &wc));
    NEED(change_state(s, s->a.qp, VAPI_RESET));
    is_code(VAPI_poll_cq(s->hca, s->a.scq, &wc), VAPI_CQ_EMPTY,
            "completions of a QP that is reset");
    drop_ends(s);
}

/* A retry that fails breaks a queue pair behind the program's back: what it may be set to changes.
 */
static void broken(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    make_ends(s, &w);
    VAPI_sr_desc_t *d = request(s, VAPI_RDMA_WRITE, 9, 0, 8);
    d->r_key ^= 0x5555;
    NEED(VAPI_post_sr(s->hca, s->a.qp, d));
    VAPI_wc_desc_t wc = await_wc(s, s->a.scq);
    is_true(wc.status == VAPI_REM_ACCESS_ERR && wc.id == 9 && wc.opcode == VAPI_CQE_SQ_SEND_DATA,
            "a wrong key");
    is_code(change_state(s, s->a.qp, VAPI_SQD), VAPI_EINVAL_QP_STATE, "the QP is broken");
    is_code(change_state(s, s->a.qp, VAPI_RESET), VAPI_OK, "and can be reset");
    drop_ends(s);
}

/* --- the attributes that verbs gets --- */

static bool capturing;
static int captured_mask;
static struct ibv_qp_attr captured;

__attribute__((visibility("default"))) int ibv_modify_qp(struct ibv_qp *qp,
                                                         struct ibv_qp_attr *attr, int mask)
{
    int (*next)(struct ibv_qp *, struct ibv_qp_attr *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "ibv_modify_qp");
    if (!capturing) return next(qp, attr, mask);
    captured = *attr;
    captured_mask = mask;
    return 0;
}

/* Every attribute, alone where it may come alone, becomes the one of verbs that it is and no other.
 */
static void translated(struct stage *s)
{
    static const struct {
        VAPI_qp_state_t to;
        VAPI_qp_attr_mask_t vapi;
        int verbs;
    } known[] = {
        {VAPI_INIT, QP_ATTR_PKEY_IX | QP_ATTR_PORT | QP_ATTR_REMOTE_ATOMIC_FLAGS,
         IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
        {VAPI_INIT, QP_ATTR_PKEY_IX, IBV_QP_PKEY_INDEX},
        {VAPI_INIT, QP_ATTR_PORT, IBV_QP_PORT},
        {VAPI_RTR,
         QP_ATTR_AV | QP_ATTR_PATH_MTU | QP_ATTR_RQ_PSN | QP_ATTR_QP_OUS_RD_ATOM |
             QP_ATTR_DEST_QP_NUM | QP_ATTR_MIN_RNR_TIMER,
         IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_DEST_QPN |
             IBV_QP_MIN_RNR_TIMER},
        {VAPI_RTS,
         QP_ATTR_SQ_PSN | QP_ATTR_TIMEOUT | QP_ATTR_RETRY_COUNT | QP_ATTR_RNR_RETRY |
             QP_ATTR_OUS_DST_RD_ATOM,
         IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
             IBV_QP_MAX_QP_RD_ATOMIC},
        {VAPI_RTS, QP_ATTR_ALT_PATH, IBV_QP_ALT_PATH},
        {VAPI_RTS, QP_ATTR_PATH_MIG_STATE, IBV_QP_PATH_MIG_STATE},
        {VAPI_SQD, QP_ATTR_EN_SQD_ASYN_NOTIF, IBV_QP_EN_SQD_ASYNC_NOTIFY},
        {VAPI_SQD, QP_ATTR_AV, IBV_QP_AV},
        {VAPI_SQD, QP_ATTR_QP_OUS_RD_ATOM, IBV_QP_MAX_DEST_RD_ATOMIC},
        {VAPI_SQD, QP_ATTR_OUS_DST_RD_ATOM, IBV_QP_MAX_QP_RD_ATOMIC},
        {VAPI_SQD, QP_ATTR_TIMEOUT, IBV_QP_TIMEOUT},
        {VAPI_SQD, QP_ATTR_RETRY_COUNT, IBV_QP_RETRY_CNT},
        {VAPI_SQD, QP_ATTR_RNR_RETRY, IBV_QP_RNR_RETRY},
        {VAPI_SQD, QP_ATTR_MIN_RNR_TIMER, IBV_QP_MIN_RNR_TIMER},
        {VAPI_SQD, QP_ATTR_REMOTE_ATOMIC_FLAGS, IBV_QP_ACCESS_FLAGS},
        {VAPI_ERR, 0, 0},
        {VAPI_RESET, 0, 0},
    };
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR, .raw = true};
    VAPI_qp_attr_t a;
    int good = 0, count = (int)(sizeof known / sizeof *known);
    make_ends(s, &w);
    memset(&a, 0, sizeof a);
    a.port = 1;
    a.remote_atomic_flags = VAPI_EN_REM_WRITE | VAPI_EN_REM_ATOMIC_OP;
    a.path_mtu = MTU512;
    a.path_mig_state = VAPI_REARM;
    a.rq_psn = 0xff000011;
    a.sq_psn = 0xff000022;
    a.dest_qp_num = 0xff000033;
    a.qp_ous_rd_atom = 3;
    a.ous_dst_rd_atom = 3;
    a.min_rnr_timer = 9;
    a.timeout = 32;
    a.retry_count = 20;
    a.rnr_retry = 5;
    a.en_sqd_asyn_notif = 0x80;
    a.alt_port = 1;
    a.alt_timeout = 12;
    a.av = (VAPI_ud_av_t){.sl = 2,
                          .dlid = 0x1234,
                          .src_path_bits = 3,
                          .static_rate = 7,
                          .grh_flag = 0x40,
                          .traffic_class = 4,
                          .hop_limit = 5,
                          .flow_label = 6,
                          .sgid_index = 0,
                          .port = 99};
    a.alt_av.dlid = 0x4321;
    capturing = true;
    for (int i = 0; i < count; i++) {
        a.qp_state = known[i].to;
        VAPI_ret_t code = modify(s, s->a.qp, a, known[i].vapi | QP_ATTR_QP_STATE);
        bool right = code == VAPI_OK && captured_mask == (known[i].verbs | IBV_QP_STATE) &&
                     (int)captured.qp_state == (int)known[i].to;
        good += right;
        if (known[i].to != VAPI_RTS || known[i].vapi != QP_ATTR_ALT_PATH) continue;
        const struct ibv_qp_attr *v = &captured;
        is_true(v->qp_access_flags == (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
                    v->path_mtu == IBV_MTU_512 && v->path_mig_state == IBV_MIG_REARM &&
                    v->rq_psn == 0x11 && v->sq_psn == 0x22 && v->dest_qp_num == 0x33,
                "rights, PSNs of 24 bits, and the far number");
        is_true(v->max_dest_rd_atomic == 4 && v->max_rd_atomic == 2 && v->min_rnr_timer == 9 &&
                    v->timeout == 31 && v->retry_cnt == 7 && v->rnr_retry == 5 &&
                    v->en_sqd_async_notify == 1,
                "depths go where they belong, rounded up and down; counts that fit");
        is_true(v->ah_attr.dlid == 0x1234 && v->ah_attr.sl == 2 && v->ah_attr.src_path_bits == 3 &&
                    v->ah_attr.static_rate == 0 && v->ah_attr.is_global == 1 &&
                    v->ah_attr.grh.traffic_class == 4 && v->ah_attr.grh.hop_limit == 5 &&
                    v->ah_attr.grh.flow_label == 6 && v->ah_attr.port_num == 1 &&
                    v->alt_ah_attr.dlid == 0x4321 && v->alt_ah_attr.is_global == 0 &&
                    v->alt_port_num == 1 && v->alt_timeout == 12,
                "ways, by the queue pair's port");
    }
    capturing = false;
    is_number(good, count, "every attribute is the one of verbs that it is");
    drop_ends(s);
}

void qp_rules(struct stage *s)
{
    made(s);
    values(s);
    reset_purges(s, true);
    reset_purges(s, false);
    broken(s);
    translated(s);
}
