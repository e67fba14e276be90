/* modify.c - VAPI_modify_qp and VAPI_query_qp.
 *
 * Masks and access flags have other values than in verbs, so they are translated bit by bit.
 * Members that the mask does not select are ignored: programs leave them uninitialised.
 */
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "other/base/environment.h"
#include "qp_rules.h"

enum { PSN_BITS = 0xffffff, MOST_RETRIES = 7, MOST_TIMEOUT = 31 };

/* Selected attributes that are ignored: the number cannot be changed, and verbs has no scheduling
 * queues.  */
#define IGNORED_ATTRS ((VAPI_qp_attr_mask_t)(QP_ATTR_QP_NUM | QP_ATTR_SCHED_QUEUE))

static int translate_mask(VAPI_qp_attr_mask_t mask)
{
    static const struct {
        VAPI_qp_attr_mask_t vapi;
        int verbs;
    } bits[] = {
        {QP_ATTR_QP_STATE, IBV_QP_STATE},
        {QP_ATTR_EN_SQD_ASYN_NOTIF, IBV_QP_EN_SQD_ASYNC_NOTIFY},
        {QP_ATTR_REMOTE_ATOMIC_FLAGS, IBV_QP_ACCESS_FLAGS},
        {QP_ATTR_QKEY, IBV_QP_QKEY},
        {QP_ATTR_PATH_MTU, IBV_QP_PATH_MTU},
        {QP_ATTR_PATH_MIG_STATE, IBV_QP_PATH_MIG_STATE},
        {QP_ATTR_RQ_PSN, IBV_QP_RQ_PSN},
        {QP_ATTR_SQ_PSN, IBV_QP_SQ_PSN},
        {QP_ATTR_QP_OUS_RD_ATOM, IBV_QP_MAX_DEST_RD_ATOMIC}, /* "as target" */
        {QP_ATTR_OUS_DST_RD_ATOM, IBV_QP_MAX_QP_RD_ATOMIC},
        {QP_ATTR_MIN_RNR_TIMER, IBV_QP_MIN_RNR_TIMER},
        {QP_ATTR_DEST_QP_NUM, IBV_QP_DEST_QPN},
        {QP_ATTR_PKEY_IX, IBV_QP_PKEY_INDEX},
        {QP_ATTR_PORT, IBV_QP_PORT},
        {QP_ATTR_AV, IBV_QP_AV},
        {QP_ATTR_TIMEOUT, IBV_QP_TIMEOUT},
        {QP_ATTR_RETRY_COUNT, IBV_QP_RETRY_CNT},
        {QP_ATTR_RNR_RETRY, IBV_QP_RNR_RETRY},
        {QP_ATTR_ALT_PATH, IBV_QP_ALT_PATH},
    };
    int verbs = 0;
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if (mask & bits[i].vapi) verbs |= bits[i].verbs;
    return verbs;
}

static int translate_access(VAPI_rdma_atom_acl_t acl)
{
    return (acl & VAPI_EN_REM_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
           (acl & VAPI_EN_REM_READ ? IBV_ACCESS_REMOTE_READ : 0) |
           (acl & VAPI_EN_REM_ATOMIC_OP ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

/* --- values: limited as by the original, or refused --- */

static uint8_t modify_clamp(uint32_t value, int most)
{
    int bound = most < 255 ? most : 255;
    return (uint8_t)(value > (uint32_t)bound ? (uint32_t)bound : value);
}

static uint8_t power_up(uint8_t value)
{
    unsigned power = 1;
    while (power < value) power *= 2;
    return value == 0 ? 0 : (uint8_t)(power > 128 ? 128 : power);
}

static uint8_t power_down(uint8_t value)
{
    unsigned power = 1;
    while (2 * power <= value) power *= 2;
    return value == 0 ? 0 : (uint8_t)power;
}

/* Reduces values out of range: programs pass PSNs of 32 bits, 20 retries, and a timeout of 0x20,
 * which late releases refused and earlier ones accepted.  */
static void modify_limit(const struct vapi_hca *hca, VAPI_qp_attr_t *a)
{
    a->rq_psn &= PSN_BITS;
    a->sq_psn &= PSN_BITS;
    a->dest_qp_num &= PSN_BITS;
    a->retry_count = modify_clamp(a->retry_count, MOST_RETRIES);
    a->rnr_retry = modify_clamp(a->rnr_retry, MOST_RETRIES);
    a->timeout = modify_clamp(a->timeout, MOST_TIMEOUT);
    a->alt_timeout = modify_clamp(a->alt_timeout, MOST_TIMEOUT);
    a->qp_ous_rd_atom = modify_clamp(power_up(a->qp_ous_rd_atom), hca->attr.max_qp_rd_atom);
    a->ous_dst_rd_atom =
        modify_clamp(power_down(a->ous_dst_rd_atom), hca->attr.max_qp_init_rd_atom);
}

static VAPI_ret_t check_port(const struct vapi_qp *qp, const VAPI_qp_attr_t *a,
                             VAPI_qp_attr_mask_t mask)
{
    struct ibv_port_attr port;
    uint8_t number = mask & QP_ATTR_PORT ? a->port : qp->attr.port;
    if (number < 1 || number > qp->hca->attr.phys_port_cnt) return VAPI_EINVAL_PORT;
    int error = ibv_query_port(qp->hca->verbs, number, &port);
    if (error) return vapi_error(error, VAPI_EINVAL_PORT);
    if (mask & QP_ATTR_PKEY_IX && a->pkey_ix >= port.pkey_tbl_len) return VAPI_EINVAL_PKEY_IX;
    if (mask & QP_ATTR_PATH_MTU && (a->path_mtu < MTU256 || a->path_mtu > port.active_mtu))
        return VAPI_EINVAL_MTU;
    return VAPI_OK;
}

static VAPI_ret_t check_values(const struct vapi_qp *qp, const VAPI_qp_attr_t *a,
                               VAPI_qp_attr_mask_t mask)
{
    if (mask & (QP_ATTR_PORT | QP_ATTR_PKEY_IX | QP_ATTR_PATH_MTU)) {
        VAPI_ret_t code = check_port(qp, a, mask);
        if (code != VAPI_OK) return code;
    }
    if (mask & QP_ATTR_MIN_RNR_TIMER && a->min_rnr_timer > IB_RNR_NAK_TIMER_491_52)
        return VAPI_EINVAL_RNR_NAK_TIMER;
    if (mask & QP_ATTR_PATH_MIG_STATE && (u_int32_t)a->path_mig_state > VAPI_ARMED)
        return VAPI_EINVAL_MIG_STATE;
    if (mask & QP_ATTR_REMOTE_ATOMIC_FLAGS && a->remote_atomic_flags & VAPI_EN_REM_ATOMIC_OP &&
        qp->hca->attr.atomic_cap == IBV_ATOMIC_NONE)
        return VAPI_ENOSYS_ATOMIC;
    return VAPI_OK;
}

static void modify_translate(const VAPI_qp_attr_t *a, uint8_t port, struct ibv_qp_attr *v)
{
    memset(v, 0, sizeof *v);
    v->qp_state = (enum ibv_qp_state)a->qp_state; /* VAPI and verbs number the states equally */
    v->en_sqd_async_notify = !!a->en_sqd_asyn_notif;
    v->qp_access_flags = (unsigned)translate_access(a->remote_atomic_flags);
    v->qkey = a->qkey;
    v->path_mtu = (enum ibv_mtu)a->path_mtu;
    v->path_mig_state = (enum ibv_mig_state)a->path_mig_state;
    v->rq_psn = a->rq_psn;
    v->sq_psn = a->sq_psn;
    v->max_dest_rd_atomic = a->qp_ous_rd_atom;
    v->max_rd_atomic = a->ous_dst_rd_atom;
    v->min_rnr_timer = (uint8_t)a->min_rnr_timer;
    v->dest_qp_num = a->dest_qp_num;
    v->pkey_index = (uint16_t)a->pkey_ix;
    v->port_num = a->port;
    v->timeout = a->timeout;
    v->retry_cnt = a->retry_count;
    v->rnr_retry = a->rnr_retry;
    v->alt_pkey_index = (uint16_t)a->alt_pkey_ix;
    v->alt_port_num = a->alt_port;
    v->alt_timeout = a->alt_timeout;
    /* The vector's port is not set for a connection, which uses the port of the queue pair.  */
    vapi_to_ah_attr(&a->av, port, &v->ah_attr);
    vapi_to_ah_attr(&a->alt_av, a->alt_port, &v->alt_ah_attr);
}

/* --- the change --- */

/* True if the queue pair has left the state that the program set, because of an error.  */
static bool state_moved(struct vapi_qp *qp)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    if (ibv_query_qp(qp->verbs, &attr, IBV_QP_STATE, &init)) return false;
    bool moved = attr.qp_state != qp->state;
    __atomic_store_n(&qp->state, attr.qp_state, __ATOMIC_RELEASE);
    return moved;
}

static void modify_remember(struct vapi_qp *qp, const VAPI_qp_attr_t *a, VAPI_qp_attr_mask_t mask)
{
    VAPI_qp_attr_t *own = &qp->attr;
    qp->set |= mask;
#define KEEP(bit, member)                                                                          \
    if (mask & QP_ATTR_##bit) own->member = a->member
    KEEP(EN_SQD_ASYN_NOTIF, en_sqd_asyn_notif);
    KEEP(REMOTE_ATOMIC_FLAGS, remote_atomic_flags);
    KEEP(QKEY, qkey);
    KEEP(PATH_MTU, path_mtu);
    KEEP(PATH_MIG_STATE, path_mig_state);
    KEEP(RQ_PSN, rq_psn);
    KEEP(SQ_PSN, sq_psn);
    KEEP(QP_OUS_RD_ATOM, qp_ous_rd_atom);
    KEEP(OUS_DST_RD_ATOM, ous_dst_rd_atom);
    KEEP(MIN_RNR_TIMER, min_rnr_timer);
    KEEP(DEST_QP_NUM, dest_qp_num);
    KEEP(PKEY_IX, pkey_ix);
    KEEP(PORT, port);
    KEEP(AV, av);
    KEEP(TIMEOUT, timeout);
    KEEP(RETRY_COUNT, retry_count);
    KEEP(RNR_RETRY, rnr_retry);
    KEEP(ALT_PATH, alt_pkey_ix);
    KEEP(ALT_PATH, alt_port);
    KEEP(ALT_PATH, alt_av);
    KEEP(ALT_PATH, alt_timeout);
#undef KEEP
}

static void modify_forget(struct vapi_qp *qp)
{
    uint32_t number = qp->verbs->qp_num;
    qp->set = 0;
    memset(&qp->attr, 0, sizeof qp->attr);
    vapi_cq_purge(qp->send_cq, number);
    if (qp->recv_cq != qp->send_cq) vapi_cq_purge(qp->recv_cq, number);
    vapi_lane_reset(&qp->send);
    vapi_lane_reset(&qp->recv);
}

static void enter_state(struct vapi_qp *qp, VAPI_qp_state_t state)
{
    pthread_mutex_lock(&qp->send.lock);
    __atomic_store_n(&qp->state, state, __ATOMIC_RELEASE);
    vapi_qp_refresh(qp);
    pthread_mutex_unlock(&qp->send.lock);
}

/* With VAPI_LENIENT a datagram queue pair without port, P_Key or PSN gets port 1, P_Key 0, PSN 0,
 * as LA-MPI of 2003 needs it.  */
static void modify_fill_lenient(const struct vapi_qp *qp, VAPI_qp_state_t to, VAPI_qp_attr_t *a,
                                VAPI_qp_attr_mask_t *mask)
{
    if (qp->init.ts_type != VAPI_TS_UD || !gasneti_variable("VAPI_LENIENT")) return;
    if (qp->state == VAPI_RESET && to == VAPI_INIT) {
        if (!(*mask & QP_ATTR_PORT)) a->port = 1;
        if (!(*mask & QP_ATTR_PKEY_IX)) a->pkey_ix = 0;
        *mask |= QP_ATTR_PORT | QP_ATTR_PKEY_IX;
    } else if (qp->state == VAPI_RTR && to == VAPI_RTS) {
        if (!(*mask & QP_ATTR_SQ_PSN)) a->sq_psn = 0;
        *mask |= QP_ATTR_SQ_PSN;
    }
}

static VAPI_ret_t modify_change(struct vapi_qp *qp, const VAPI_qp_attr_t *wanted,
                                VAPI_qp_attr_mask_t mask)
{
    VAPI_qp_attr_t a = *wanted;
    struct ibv_qp_attr verbs;
    bool named = mask & QP_ATTR_QP_STATE;
    VAPI_qp_state_t to = named ? a.qp_state : qp->state;
    mask &= ~IGNORED_ATTRS;
    if (to > VAPI_ERR) return VAPI_EINVAL_QP_STATE;
    if (mask & QP_ATTR_CAP) return VAPI_ENOSYS;
    if (!named && qp->state != VAPI_RESET && qp->state != VAPI_INIT && qp->state != VAPI_RTS)
        return VAPI_EINVAL_ATTR;
    modify_fill_lenient(qp, to, &a, &mask);
    VAPI_ret_t code = vapi_qp_rule(qp->init.ts_type, qp->state, to, mask);
    if (code == VAPI_OK) code = check_values(qp, &a, mask);
    if (code != VAPI_OK) return code;
    a.qp_state = to;
    modify_limit(qp->hca, &a);
    modify_translate(&a, mask & QP_ATTR_PORT ? a.port : qp->attr.port, &verbs);
    int error = ibv_modify_qp(qp->verbs, &verbs, translate_mask(mask | QP_ATTR_QP_STATE));
    if (error) return state_moved(qp) ? VAPI_EINVAL_QP_STATE : vapi_error(error, VAPI_EINVAL_ATTR);
    if (to == VAPI_RESET)
        modify_forget(qp);
    else
        modify_remember(qp, &a, mask);
    enter_state(qp, to);
    return VAPI_OK;
}

VAPI_ret_t VAPI_modify_qp(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t handle, VAPI_qp_attr_t *attr,
                          VAPI_qp_attr_mask_t *mask, VAPI_qp_cap_t *cap)
{
    VAPI_ret_t code;
    struct vapi_qp *qp = vapi_find(hca, handle, KIND_QP, &code);
    if (code != VAPI_OK) return code;
    if (!attr || !mask || !cap) return VAPI_EINVAL_PARAM;
    if (__atomic_exchange_n(&qp->modifying, 1, __ATOMIC_ACQUIRE)) return VAPI_EAGAIN;
    code = modify_change(qp, attr, *mask);
    __atomic_store_n(&qp->modifying, 0, __ATOMIC_RELEASE);
    if (code == VAPI_OK) *cap = qp->cap;
    return code;
}

/* --- query --- */

VAPI_ret_t VAPI_query_qp_ext(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t handle, VAPI_qp_attr_t *attr,
                             VAPI_qp_attr_mask_t *mask, VAPI_qp_init_attr_t *init,
                             VAPI_qp_init_attr_ext_t *ext)
{
    struct ibv_qp_attr verbs;
    struct ibv_qp_init_attr verbs_init;
    VAPI_ret_t code;
    struct vapi_qp *qp = vapi_find(hca, handle, KIND_QP, &code);
    if (code != VAPI_OK) return code;
    if (!attr || !mask || !init) return VAPI_EINVAL_PARAM;
    int error = ibv_query_qp(qp->verbs, &verbs, IBV_QP_STATE, &verbs_init);
    if (error) return vapi_error(error, VAPI_EINVAL_QP_HNDL);
    *attr = qp->attr;
    attr->qp_state = (VAPI_qp_state_t)verbs.qp_state;
    attr->sq_draining = verbs.qp_state == IBV_QPS_SQD && verbs.sq_draining;
    attr->qp_num = qp->verbs->qp_num;
    attr->cap = qp->cap;
    *mask = qp->set | QP_ATTR_QP_STATE | QP_ATTR_QP_NUM | QP_ATTR_CAP;
    *init = qp->init;
    /* Inline room is in both results: the header of the original calls it valid here and not when a
     * queue pair is made, but GASNet reads it when a queue pair is made. */
    init->cap = qp->cap;
    if (ext) ext->srq_hndl = qp->srq ? qp->srq->handle : VAPI_INVAL_SRQ_HNDL;
    return VAPI_OK;
}

VAPI_ret_t VAPI_query_qp(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t qp, VAPI_qp_attr_t *attr,
                         VAPI_qp_attr_mask_t *mask, VAPI_qp_init_attr_t *init)
{
    return VAPI_query_qp_ext(hca, qp, attr, mask, init, NULL);
}
