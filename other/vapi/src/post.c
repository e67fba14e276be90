/* post.c - posting; vapi_inline.h has the fast path of signalled writes, sends and reads on a
 * reliable connection, and of receives.
 *
 * Descriptors have the layout of verbs' work requests, so a list is chained and posted without a
 * copy. The arguments are checked only after verbs has refused a request, to find the error code.
 */
#include "post.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#define SAME(type, member, other_type, other)                                                      \
    _Static_assert(offsetof(type, member) == offsetof(struct other_type, other), #member)
SAME(VAPI_sg_lst_entry_t, addr, ibv_sge, addr);
SAME(VAPI_sg_lst_entry_t, len, ibv_sge, length);
SAME(VAPI_sg_lst_entry_t, lkey, ibv_sge, lkey);
_Static_assert(sizeof(VAPI_sg_lst_entry_t) == sizeof(struct ibv_sge), "lists are verbs' own");
SAME(VAPI_sr_desc_t, id, ibv_send_wr, wr_id);
SAME(VAPI_sr_desc_t, vapi_next, ibv_send_wr, next);
SAME(VAPI_sr_desc_t, sg_lst_p, ibv_send_wr, sg_list);
SAME(VAPI_sr_desc_t, sg_lst_len, ibv_send_wr, num_sge);
SAME(VAPI_sr_desc_t, opcode, ibv_send_wr, opcode);
SAME(VAPI_sr_desc_t, vapi_flags, ibv_send_wr, send_flags);
SAME(VAPI_sr_desc_t, vapi_imm_data, ibv_send_wr, imm_data);
SAME(VAPI_sr_desc_t, remote_addr, ibv_send_wr, wr.rdma.remote_addr);
SAME(VAPI_sr_desc_t, r_key, ibv_send_wr, wr.rdma.rkey);
_Static_assert(offsetof(VAPI_sr_desc_t, fence) == offsetof(VAPI_sr_desc_t, r_key) + 6 &&
                   offsetof(VAPI_sr_desc_t, set_se) == offsetof(VAPI_sr_desc_t, r_key) + 7,
               "vapi_usual_send reads comp_type, fence and set_se as one");
_Static_assert(offsetof(VAPI_rr_desc_t, vapi_qp) >= offsetof(struct ibv_recv_wr, num_sge) + 4,
               "verbs reads nothing of ours");
SAME(VAPI_rr_desc_t, id, ibv_recv_wr, wr_id);
SAME(VAPI_rr_desc_t, vapi_next, ibv_recv_wr, next);
SAME(VAPI_rr_desc_t, sg_lst_p, ibv_recv_wr, sg_list);
SAME(VAPI_rr_desc_t, sg_lst_len, ibv_recv_wr, num_sge);
_Static_assert(IBV_SEND_SIGNALED == 2 && IBV_SEND_INLINE == 8, "see vapi_usual_send");
_Static_assert((int)IBV_WR_RDMA_WRITE == VAPI_RDMA_WRITE &&
                   (int)IBV_WR_RDMA_WRITE_WITH_IMM == VAPI_RDMA_WRITE_WITH_IMM &&
                   (int)IBV_WR_SEND == VAPI_SEND &&
                   (int)IBV_WR_SEND_WITH_IMM == VAPI_SEND_WITH_IMM &&
                   (int)IBV_WR_RDMA_READ == VAPI_RDMA_READ &&
                   (int)IBV_WR_ATOMIC_CMP_AND_SWP == VAPI_ATOMIC_CMP_AND_SWP &&
                   (int)IBV_WR_ATOMIC_FETCH_AND_ADD == VAPI_ATOMIC_FETCH_AND_ADD,
               "operations");

/* --- checks --- */

static bool may_send(uint32_t state)
{
    return state == VAPI_RTS || state == VAPI_SQD || state == VAPI_SQE || state == VAPI_ERR;
}

void vapi_qp_refresh(struct vapi_qp *qp)
{
    struct vapi_slot *slot = vapi_slot_of(qp->handle);
    uint64_t usual = VAPI_PAIR(qp->hca->handle, qp->handle);
    bool send =
        qp->init.ts_type == VAPI_TS_RC && may_send(qp->state) && !qp->send.silent && !qp->send.all;
    /* If both queues complete in one CQ, receives are distinguished from sends by their ids.  */
    bool recv = qp->state != VAPI_RESET && !qp->srq && !qp->recv.silent && !qp->recv.all &&
                qp->send_cq != qp->recv_cq;
    __atomic_store_n(&slot->usual, send ? usual : 0, __ATOMIC_RELEASE);
    __atomic_store_n(&slot->usual_recv, recv ? usual : 0, __ATOMIC_RELEASE);
}

VAPI_ret_t vapi_check_list(const VAPI_sg_lst_entry_t *list, u_int32_t length, u_int32_t most)
{
    if (length > most) return VAPI_EINVAL_SG_NUM;
    return length > 0 && !list ? VAPI_EINVAL_SG_FMT : VAPI_OK;
}

static VAPI_ret_t check_inline(const struct vapi_qp *qp, const VAPI_sr_desc_t *d)
{
    uint64_t bytes = 0;
    if (d->opcode > VAPI_SEND_WITH_IMM) return VAPI_EINVAL_OP;
    for (u_int32_t i = 0; i < d->sg_lst_len; i++) bytes += d->sg_lst_p[i].len;
    return bytes > qp->cap.max_inline_data_sq ? VAPI_EINVAL_SG_NUM : VAPI_OK;
}

static bool is_atomic(const VAPI_sr_desc_t *d)
{
    return d->opcode == VAPI_ATOMIC_CMP_AND_SWP || d->opcode == VAPI_ATOMIC_FETCH_AND_ADD;
}

static bool is_legal(VAPI_ts_type_t type, u_int32_t opcode)
{
    switch (type) {
    case VAPI_TS_RC:
        return opcode <= VAPI_ATOMIC_FETCH_AND_ADD;
    case VAPI_TS_UC:
        return opcode <= VAPI_SEND_WITH_IMM;
    default:
        return opcode == VAPI_SEND || opcode == VAPI_SEND_WITH_IMM;
    }
}

VAPI_ret_t vapi_check_send(const struct vapi_qp *qp, const VAPI_sr_desc_t *d, bool inlined)
{
    if (!is_legal(qp->init.ts_type, d->opcode)) return VAPI_EINVAL_OP;
    if (!may_send(__atomic_load_n(&qp->state, __ATOMIC_ACQUIRE))) return VAPI_EINVAL_QP_STATE;
    /* With VAPI_SIGNAL_ALL_WR programs leave comp_type uninitialised.  */
    if (qp->init.sq_sig_type != VAPI_SIGNAL_ALL_WR && (u_int32_t)d->comp_type > VAPI_UNSIGNALED)
        return VAPI_EINVAL_NOTIF_TYPE;
    VAPI_ret_t code = vapi_check_list(d->sg_lst_p, d->sg_lst_len, qp->cap.max_sg_size_sq);
    if (code == VAPI_OK && inlined) code = check_inline(qp, d);
    if (code != VAPI_OK) return code;
    if (is_atomic(d) && (d->sg_lst_len != 1 || d->sg_lst_p->len != 8)) return VAPI_EINVAL_SG_FMT;
    if (qp->init.ts_type == VAPI_TS_UD && !vapi_object_of(qp->hca, d->remote_ah, KIND_AV))
        return VAPI_EINVAL_AV_HNDL;
    return VAPI_OK;
}

VAPI_ret_t vapi_check_recv(const struct vapi_qp *qp, const VAPI_rr_desc_t *d)
{
    if (qp->srq) return VAPI_EINVAL_SRQ_HNDL;
    if (d->opcode != VAPI_RECEIVE) return VAPI_EINVAL_OP;
    if (__atomic_load_n(&qp->state, __ATOMIC_ACQUIRE) == VAPI_RESET) return VAPI_EINVAL_QP_STATE;
    if (qp->init.rq_sig_type != VAPI_SIGNAL_ALL_WR && (u_int32_t)d->comp_type > VAPI_UNSIGNALED)
        return VAPI_EINVAL_NOTIF_TYPE;
    return vapi_check_list(d->sg_lst_p, d->sg_lst_len, qp->cap.max_sg_size_rq);
}

VAPI_ret_t vapi_refused(int error)
{
    if ((error < 0 ? errno : error) == ENOMEM) return VAPI_E2BIG_WR_NUM;
    return vapi_error(error, VAPI_EINVAL_SG_NUM);
}

VAPI_ret_t vapi_post_sr_refused(const void *desc, int inlined, int error)
{
    const VAPI_sr_desc_t *d = desc;
    struct vapi_qp *qp = vapi_object(d->vapi_qp, KIND_QP);
    if (!qp) return VAPI_EINVAL_QP_HNDL;
    VAPI_ret_t code = vapi_check_send(qp, d, inlined);
    return code != VAPI_OK ? code : vapi_refused(error);
}

VAPI_ret_t vapi_post_rr_refused(const void *desc, int error)
{
    const VAPI_rr_desc_t *d = desc;
    struct vapi_qp *qp = vapi_object(d->vapi_qp, KIND_QP);
    if (!qp) return VAPI_EINVAL_QP_HNDL;
    VAPI_ret_t code = vapi_check_recv(qp, d);
    return code != VAPI_OK ? code : vapi_refused(error);
}

/* --- single requests --- */

void vapi_translate_send(const struct vapi_qp *qp, const VAPI_sr_desc_t *d, bool inlined,
                         struct ibv_send_wr *wr)
{
    memset(wr, 0, sizeof *wr);
    wr->sg_list = (struct ibv_sge *)(void *)d->sg_lst_p;
    wr->num_sge = (int)d->sg_lst_len;
    wr->opcode = (enum ibv_wr_opcode)d->opcode;
    wr->send_flags = (vapi_is_silent(qp, d) ? 0u : IBV_SEND_SIGNALED) |
                     (d->fence ? IBV_SEND_FENCE : 0u) | (d->set_se ? IBV_SEND_SOLICITED : 0u) |
                     (inlined ? IBV_SEND_INLINE : 0u);
    if (d->opcode & 1) wr->imm_data = htonl(d->imm_data);
    if (qp->init.ts_type == VAPI_TS_UD) {
        wr->wr.ud.ah = ((struct vapi_av *)vapi_object(d->remote_ah, KIND_AV))->verbs;
        wr->wr.ud.remote_qpn = d->remote_qp;
        wr->wr.ud.remote_qkey = d->remote_qkey;
    } else if (is_atomic(d)) {
        wr->wr.atomic.remote_addr = d->remote_addr;
        wr->wr.atomic.rkey = d->r_key;
        wr->wr.atomic.compare_add = d->compare_add;
        wr->wr.atomic.swap = d->swap;
    } else {
        wr->wr.rdma.remote_addr = d->remote_addr;
        wr->wr.rdma.rkey = d->r_key;
    }
}

/* The order of records must be the order on the queue: hence the lock around both. */
VAPI_ret_t vapi_post_sr_rest(u_int64_t pair, VAPI_qp_hndl_t handle, VAPI_sr_desc_t *desc,
                             int inlined)
{
    struct ibv_send_wr wr, *bad;
    VAPI_ret_t code;
    struct vapi_qp *qp = vapi_find(VAPI_HCA_OF(pair, handle), handle, KIND_QP, &code);
    if (code == VAPI_OK) code = vapi_check_send(qp, desc, inlined);
    if (code != VAPI_OK) return code;
    vapi_translate_send(qp, desc, inlined, &wr);
    pthread_mutex_lock(&qp->send.lock);
    uint32_t silent = qp->send.silent;
    if (!vapi_lane_enter(&qp->send, desc->id, 0, vapi_is_silent(qp, desc), &wr.wr_id))
        code = VAPI_E2BIG_WR_NUM;
    else {
        int error = ibv_post_send(qp->verbs, &wr, &bad);
        if (error) {
            vapi_lane_undo(&qp->send, wr.wr_id, silent);
            code = vapi_refused(error);
        }
        if (silent != qp->send.silent) vapi_qp_refresh(qp);
    }
    pthread_mutex_unlock(&qp->send.lock);
    return code;
}

static bool is_silent_recv(const struct vapi_qp *qp, const VAPI_rr_desc_t *d)
{
    return qp->init.rq_sig_type == VAPI_SIGNAL_REQ_WR && d->comp_type == VAPI_UNSIGNALED;
}

bool vapi_enter_recv(struct vapi_qp *qp, const VAPI_rr_desc_t *d, uint64_t *wr_id)
{
    uint64_t tag = qp->send_cq == qp->recv_cq ? VAPI_ID_RECEIVE : 0;
    return vapi_lane_enter(&qp->recv, d->id, tag, is_silent_recv(qp, d), wr_id);
}

/* vapi_qp_refresh needs the send lane's lock, whichever lane changed.  */
void vapi_refresh_recv(struct vapi_qp *qp)
{
    pthread_mutex_lock(&qp->send.lock);
    vapi_qp_refresh(qp);
    pthread_mutex_unlock(&qp->send.lock);
}

VAPI_ret_t vapi_post_rr_rest(u_int64_t pair, VAPI_qp_hndl_t handle, VAPI_rr_desc_t *desc)
{
    struct ibv_recv_wr *bad;
    VAPI_ret_t code;
    struct vapi_qp *qp = vapi_find(VAPI_HCA_OF(pair, handle), handle, KIND_QP, &code);
    if (code == VAPI_OK) code = vapi_check_recv(qp, desc);
    if (code != VAPI_OK) return code;
    struct ibv_recv_wr wr = {.sg_list = (struct ibv_sge *)(void *)desc->sg_lst_p,
                             .num_sge = (int)desc->sg_lst_len};
    pthread_mutex_lock(&qp->recv.lock);
    uint32_t silent = qp->recv.silent;
    if (!vapi_enter_recv(qp, desc, &wr.wr_id))
        code = VAPI_E2BIG_WR_NUM;
    else {
        int error = ibv_post_recv(qp->verbs, &wr, &bad);
        if (error) {
            vapi_lane_undo(&qp->recv, wr.wr_id, silent);
            code = vapi_refused(error);
        }
        if (silent != qp->recv.silent) vapi_refresh_recv(qp);
    }
    pthread_mutex_unlock(&qp->recv.lock);
    return code;
}

VAPI_ret_t VAPI_post_sr(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t qp, VAPI_sr_desc_t *desc)
{
    return vapi_usual_send(hca, qp, desc, 0);
}

VAPI_ret_t EVAPI_post_inline_sr(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t qp, VAPI_sr_desc_t *desc)
{
    return vapi_usual_send(hca, qp, desc, 1);
}

VAPI_ret_t VAPI_post_rr(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t qp, VAPI_rr_desc_t *desc)
{
    return vapi_usual_receive(hca, qp, desc);
}

VAPI_ret_t EVAPI_post_gsi_sr(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t qp, VAPI_sr_desc_t *desc,
                             VAPI_pkey_ix_t pkey_index)
{
    VAPI_ret_t code;
    return vapi_find(hca, qp, KIND_QP, &code) ? VAPI_ENOSYS : code;
}
