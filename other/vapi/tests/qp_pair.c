/* qp_pair.c - two connected queue pairs, and results in TAP.  See qp_pair.h. */
#include "qp_pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void is_code(VAPI_ret_t got, VAPI_ret_t wanted, const char *name)
{
    check(got == wanted, "%s", name);
    if (got != wanted) printf("# %s, not %s\n", VAPI_strerror_sym(got), VAPI_strerror_sym(wanted));
    fflush(stdout);
}

void is_number(long long got, long long wanted, const char *name)
{
    check(got == wanted, "%s", name);
    if (got != wanted) printf("# %lld (0x%llx), not %lld\n", got, got, wanted);
    fflush(stdout);
}

void is_true(bool got, const char *name)
{
    check(got, "%s", name);
}

void need(VAPI_ret_t got, const char *what)
{
    if (got == VAPI_OK) return;
    printf("Bail out! %s: %s\n", what, VAPI_strerror_sym(got));
    fflush(stdout);
    _exit(1);
}

void open_stage(struct stage *s)
{
    VAPI_hca_id_t id = "";
    u_int32_t n;
    memset(s, 0, sizeof *s);
    if (EVAPI_list_hcas(1, &n, &id) == VAPI_EAGAIN && n > 1)
        NEED(VAPI_OK); /* more than one: the first will do */
    NEED(EVAPI_get_hca_hndl(id, &s->hca));
    NEED(VAPI_query_hca_port_prop(s->hca, 1, &s->port));
    NEED(VAPI_alloc_pd(s->hca, &s->pd));
    s->memory = aligned_alloc(4096, BLOCK);
    memset(s->memory, 0, BLOCK);
    VAPI_mr_t want;
    memset(&want, 0xee, sizeof want);
    want.type = VAPI_MR;
    want.start = (MT_virt_addr_t)s->memory;
    want.size = BLOCK;
    want.pd_hndl = s->pd;
    want.acl = VAPI_EN_LOCAL_WRITE | VAPI_EN_REMOTE_WRITE | VAPI_EN_REMOTE_READ |
               VAPI_EN_REMOTE_ATOM | VAPI_EN_MEMREG_BIND;
    NEED(VAPI_register_mr(s->hca, &want, &s->mr, &s->keys));
}

void close_stage(struct stage *s)
{
    NEED(VAPI_deregister_mr(s->hca, s->mr));
    NEED(VAPI_dealloc_pd(s->hca, s->pd));
    NEED(EVAPI_release_hca_hndl(s->hca));
    free(s->memory);
}

static void make_end(struct stage *s, struct end *e, const struct wants *w)
{
    VAPI_cqe_num_t actual;
    VAPI_qp_init_attr_t init;
    VAPI_qp_init_attr_ext_t ext;
    NEED(VAPI_create_cq(s->hca, 4 * DEPTH, &e->scq, &actual));
    e->rcq = e->scq;
    if (!w->one_cq) NEED(VAPI_create_cq(s->hca, 4 * DEPTH, &e->rcq, &actual));
    memset(&init, 0xee, sizeof init);
    init.sq_cq_hndl = e->scq;
    init.rq_cq_hndl = e->rcq;
    init.cap.max_oust_wr_sq = init.cap.max_oust_wr_rq = DEPTH;
    init.cap.max_sg_size_sq = init.cap.max_sg_size_rq = 2;
    init.sq_sig_type = w->signals;
    init.rq_sig_type = w->rsignals;
    init.pd_hndl = s->pd;
    init.ts_type = w->type;
    VAPI_QP_INIT_ATTR_EXT_T_INIT(&ext);
    if (w->srq) ext.srq_hndl = w->srq;
    NEED(VAPI_create_qp_ext(s->hca, &init, &ext, &e->qp, &e->prop));
}

void make_ends(struct stage *s, const struct wants *w)
{
    make_end(s, &s->a, w);
    make_end(s, &s->b, w);
    if (w->raw) return;
    connect_to(s, s->a.qp, w->type, s->b.prop.qp_num, s->port.lid);
    connect_to(s, s->b.qp, w->type, s->a.prop.qp_num, s->port.lid);
}

static void drop_end(struct stage *s, struct end *e)
{
    NEED(VAPI_destroy_qp(s->hca, e->qp));
    NEED(VAPI_destroy_cq(s->hca, e->scq));
    if (e->rcq != e->scq) NEED(VAPI_destroy_cq(s->hca, e->rcq));
}

void drop_ends(struct stage *s)
{
    drop_end(s, &s->a);
    drop_end(s, &s->b);
}

VAPI_ret_t change_state(struct stage *s, VAPI_qp_hndl_t qp, VAPI_qp_state_t state)
{
    VAPI_qp_attr_t attr;
    VAPI_qp_attr_mask_t mask;
    VAPI_qp_cap_t cap;
    memset(&attr, 0xee, sizeof attr);
    QP_ATTR_MASK_CLR_ALL(mask);
    attr.qp_state = state;
    QP_ATTR_MASK_SET(mask, QP_ATTR_QP_STATE);
    return VAPI_modify_qp(s->hca, qp, &attr, &mask, &cap);
}

static VAPI_qp_attr_mask_t to_rtr(VAPI_ts_type_t type)
{
    VAPI_qp_attr_mask_t path = QP_ATTR_AV | QP_ATTR_PATH_MTU | QP_ATTR_RQ_PSN | QP_ATTR_DEST_QP_NUM;
    if (type == VAPI_TS_UD) return 0;
    return type == VAPI_TS_UC ? path : path | QP_ATTR_QP_OUS_RD_ATOM | QP_ATTR_MIN_RNR_TIMER;
}

static VAPI_qp_attr_mask_t to_rts(VAPI_ts_type_t type)
{
    if (type != VAPI_TS_RC) return QP_ATTR_SQ_PSN;
    return QP_ATTR_SQ_PSN | QP_ATTR_TIMEOUT | QP_ATTR_RETRY_COUNT | QP_ATTR_RNR_RETRY |
           QP_ATTR_OUS_DST_RD_ATOM;
}

/* With the values of old programs: PSNs of 32 bits, 20 retries, a timeout beyond 31. */
void connect_to(struct stage *s, VAPI_qp_hndl_t qp, VAPI_ts_type_t type, VAPI_qp_num_t far,
                IB_lid_t lid)
{
    VAPI_qp_attr_t attr;
    VAPI_qp_attr_mask_t mask;
    VAPI_qp_cap_t cap;
    memset(&attr, 0xee, sizeof attr);
    attr.qp_state = VAPI_INIT;
    attr.pkey_ix = 0;
    attr.port = 1;
    attr.qkey = TEST_QKEY;
    attr.remote_atomic_flags = VAPI_EN_REM_WRITE | VAPI_EN_REM_READ | VAPI_EN_REM_ATOMIC_OP;
    mask = QP_ATTR_QP_STATE | QP_ATTR_PKEY_IX | QP_ATTR_PORT |
           (type == VAPI_TS_UD ? QP_ATTR_QKEY : QP_ATTR_REMOTE_ATOMIC_FLAGS);
    NEED(VAPI_modify_qp(s->hca, qp, &attr, &mask, &cap));
    attr.qp_state = VAPI_RTR;
    attr.av.grh_flag = 0;
    attr.av.sl = attr.av.src_path_bits = 0;
    attr.av.dlid = lid;
    attr.path_mtu = s->port.max_mtu;
    attr.rq_psn = attr.sq_psn = 0xcafef00d;
    attr.dest_qp_num = far;
    attr.qp_ous_rd_atom = attr.ous_dst_rd_atom = 4;
    attr.min_rnr_timer = IB_RNR_NAK_TIMER_0_08;
    mask = QP_ATTR_QP_STATE | to_rtr(type);
    NEED(VAPI_modify_qp(s->hca, qp, &attr, &mask, &cap));
    attr.qp_state = VAPI_RTS;
    attr.timeout = 0x20;
    attr.retry_count = attr.rnr_retry = 20;
    mask = QP_ATTR_QP_STATE | to_rts(type);
    NEED(VAPI_modify_qp(s->hca, qp, &attr, &mask, &cap));
}

/* A piece of the stage's memory. */
static VAPI_sg_lst_entry_t piece(const struct stage *s, size_t offset, uint32_t length)
{
    return (VAPI_sg_lst_entry_t){(MT_virt_addr_t)(s->memory + offset), length, s->keys.l_key};
}

VAPI_sr_desc_t *request(struct stage *s, VAPI_wr_opcode_t opcode, uint64_t id, size_t offset,
                        uint32_t length)
{
    static VAPI_sr_desc_t d;
    static VAPI_sg_lst_entry_t sg;
    memset(&d, 0xee, sizeof d);
    sg = piece(s, offset, length);
    d.id = id;
    d.opcode = opcode;
    d.comp_type = VAPI_SIGNALED;
    d.sg_lst_p = &sg;
    d.sg_lst_len = 1;
    d.fence = d.set_se = FALSE;
    d.remote_addr = (MT_virt_addr_t)(s->memory + BLOCK / 2 + offset);
    d.r_key = s->keys.r_key;
    return &d;
}

VAPI_rr_desc_t *receive(struct stage *s, uint64_t id, size_t offset, uint32_t length)
{
    static VAPI_rr_desc_t d;
    static VAPI_sg_lst_entry_t sg;
    memset(&d, 0xee, sizeof d);
    sg = piece(s, offset, length);
    d.id = id;
    d.opcode = VAPI_RECEIVE;
    d.comp_type = VAPI_SIGNALED;
    d.sg_lst_p = &sg;
    d.sg_lst_len = 1;
    return &d;
}

VAPI_wc_desc_t await_wc(struct stage *s, VAPI_cq_hndl_t cq)
{
    VAPI_wc_desc_t wc;
    VAPI_ret_t code;
    do {
        memset(&wc, 0xee, sizeof wc);
        code = VAPI_poll_cq(s->hca, cq, &wc);
    } while (code == VAPI_CQ_EMPTY);
    need(code, "VAPI_poll_cq");
    return wc;
}
