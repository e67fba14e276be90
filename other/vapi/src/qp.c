/* qp.c - queue pairs: made and destroyed.  modify.c changes their state, post.c posts to them. */
#include <stdlib.h>
#include <string.h>

#include "objects.h"

/* Checks the requested capabilities against the limits of VAPI_query_hca_cap.  */
static VAPI_ret_t check_cap(const struct vapi_hca *hca, const VAPI_qp_cap_t *cap, bool own_recv)
{
    uint32_t wrs = hca->attr.max_qp_wr < MOST_WRS ? (uint32_t)hca->attr.max_qp_wr : MOST_WRS;
    uint32_t sges = hca->attr.max_sge < MOST_SGE ? (uint32_t)hca->attr.max_sge : MOST_SGE;
    if (own_recv && cap->max_oust_wr_sq == 0 && cap->max_oust_wr_rq == 0) return VAPI_EINVAL_PARAM;
    if (cap->max_oust_wr_sq > wrs || (own_recv && cap->max_oust_wr_rq > wrs))
        return VAPI_E2BIG_WR_NUM;
    if (cap->max_sg_size_sq > sges || (own_recv && cap->max_sg_size_rq > sges))
        return VAPI_E2BIG_SG_NUM;
    return VAPI_OK;
}

/* A depth of 1 becomes 2, as in the original.  */
static uint32_t depth_of(uint32_t wrs)
{
    return wrs == 1 ? 2 : wrs;
}

static enum ibv_qp_type type_of(VAPI_ts_type_t type)
{
    return type == VAPI_TS_RC ? IBV_QPT_RC : type == VAPI_TS_UC ? IBV_QPT_UC : IBV_QPT_UD;
}

/* A VAPI program does not request an inline size; the library reports one.  The original had 76
 * bytes with few gather entries, and GASNet uses 72.  This requests 128 bytes, then less until the
 * device accepts.  */
static struct ibv_qp *qp_make(struct vapi_qp *qp)
{
    const VAPI_qp_init_attr_t *want = &qp->init;
    struct ibv_qp *made = NULL;
    for (uint32_t room = 128; !made; room = room > 32 ? room / 2 : 0) {
        struct ibv_qp_init_attr attr = {
            .qp_context = qp,
            .send_cq = qp->send_cq->verbs,
            .recv_cq = qp->recv_cq->verbs,
            .srq = qp->srq ? qp->srq->verbs : NULL,
            .qp_type = type_of(want->ts_type),
            .sq_sig_all = want->sq_sig_type == VAPI_SIGNAL_ALL_WR,
            .cap = {.max_send_wr = depth_of(want->cap.max_oust_wr_sq),
                    .max_recv_wr = qp->srq ? 0 : depth_of(want->cap.max_oust_wr_rq),
                    .max_send_sge = want->cap.max_sg_size_sq ? want->cap.max_sg_size_sq : 1,
                    .max_recv_sge = qp->srq                    ? 0
                                    : want->cap.max_sg_size_rq ? want->cap.max_sg_size_rq
                                                               : 1,
                    .max_inline_data = room}};
        made = ibv_create_qp(qp->pd->verbs, &attr);
        if (made)
            qp->cap = (VAPI_qp_cap_t){.max_oust_wr_sq = attr.cap.max_send_wr,
                                      .max_oust_wr_rq = attr.cap.max_recv_wr,
                                      .max_sg_size_sq = attr.cap.max_send_sge,
                                      .max_sg_size_rq = attr.cap.max_recv_sge,
                                      .max_inline_data_sq = attr.cap.max_inline_data};
        else if (room == 0 || (errno != EINVAL && errno != ENOMEM))
            break;
    }
    return made;
}

static VAPI_ret_t bring_up(struct vapi_qp *qp)
{
    qp->verbs = qp_make(qp);
    if (!qp->verbs) return vapi_error(errno, VAPI_EINVAL_PARAM);
    qp->handle = vapi_handle_new(KIND_QP, qp->hca->handle, qp);
    if (!qp->handle) {
        ibv_destroy_qp(qp->verbs);
        return VAPI_EAGAIN;
    }
    struct vapi_slot *slot = vapi_slot_of(qp->handle);
    slot->verbs.qp = qp->verbs;
    slot->call.post_send = qp->verbs->context->ops.post_send;
    slot->post_recv = qp->verbs->context->ops.post_recv;
    vapi_lane_init(&qp->send, qp->cap.max_oust_wr_sq, false);
    vapi_lane_init(&qp->recv, qp->cap.max_oust_wr_rq, true);
    vapi_qp_enter(qp);
    vapi_pd_hold(qp->pd);
    vapi_hold(&qp->send_cq->users);
    vapi_hold(&qp->recv_cq->users);
    if (qp->srq) vapi_hold(&qp->srq->users);
    return VAPI_OK;
}

/* Stores the objects of the handles in `init` and `ext` in `qp`.  */
static VAPI_ret_t qp_find_objects(struct vapi_qp *qp, const VAPI_qp_init_attr_t *init,
                                  VAPI_srq_hndl_t srq)
{
    qp->init = *init;
    qp->pd = vapi_object_of(qp->hca, init->pd_hndl, KIND_PD);
    qp->send_cq = vapi_object_of(qp->hca, init->sq_cq_hndl, KIND_CQ);
    qp->recv_cq = vapi_object_of(qp->hca, init->rq_cq_hndl, KIND_CQ);
    if (init->ts_type != VAPI_TS_RC && init->ts_type != VAPI_TS_UC && init->ts_type != VAPI_TS_UD)
        return VAPI_EINVAL_SERVICE_TYPE;
    if (!qp->pd) return VAPI_EINVAL_PD_HNDL;
    if (!qp->send_cq || !qp->recv_cq) return VAPI_EINVAL_CQ_HNDL;
    if (srq == VAPI_INVAL_SRQ_HNDL) return VAPI_OK;
    qp->srq = vapi_object_of(qp->hca, srq, KIND_SRQ);
    if (!qp->srq) return VAPI_EINVAL_SRQ_HNDL;
    return qp->srq->pd == qp->pd ? VAPI_OK : VAPI_EINVAL_PD_HNDL;
}

static VAPI_ret_t qp_create(VAPI_hca_hndl_t handle, const VAPI_qp_init_attr_t *init,
                            VAPI_srq_hndl_t srq, VAPI_qp_hndl_t *made, VAPI_qp_prop_t *prop)
{
    struct vapi_hca *hca = vapi_hca(handle);
    if (!hca) return VAPI_EINVAL_HCA_HNDL;
    if (!init || !made) return VAPI_EINVAL_PARAM;
    struct vapi_qp *qp = calloc(1, sizeof *qp);
    if (!qp) return VAPI_ENOMEM;
    qp->hca = hca;
    VAPI_ret_t code = qp_find_objects(qp, init, srq);
    if (code == VAPI_OK) code = check_cap(hca, &init->cap, !qp->srq);
    if (code == VAPI_OK) code = bring_up(qp);
    if (code != VAPI_OK) {
        free(qp);
        return code;
    }
    *made = qp->handle;
    if (prop) *prop = (VAPI_qp_prop_t){.qp_num = qp->verbs->qp_num, .cap = qp->cap};
    return VAPI_OK;
}

VAPI_ret_t VAPI_create_qp(VAPI_hca_hndl_t hca, VAPI_qp_init_attr_t *init, VAPI_qp_hndl_t *qp,
                          VAPI_qp_prop_t *prop)
{
    return qp_create(hca, init, VAPI_INVAL_SRQ_HNDL, qp, prop);
}

VAPI_ret_t VAPI_create_qp_ext(VAPI_hca_hndl_t hca, VAPI_qp_init_attr_t *init,
                              VAPI_qp_init_attr_ext_t *ext, VAPI_qp_hndl_t *qp,
                              VAPI_qp_prop_t *prop)
{
    return qp_create(hca, init, ext ? ext->srq_hndl : VAPI_INVAL_SRQ_HNDL, qp, prop);
}

VAPI_ret_t VAPI_destroy_qp(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t handle)
{
    VAPI_ret_t code;
    struct vapi_qp *qp = vapi_find(hca, handle, KIND_QP, &code);
    if (code != VAPI_OK) return code;
    if (vapi_held(&qp->groups)) return VAPI_EBUSY;
    uint32_t number = qp->verbs->qp_num;
    vapi_qp_leave(qp);
    int error = ibv_destroy_qp(qp->verbs);
    if (error) {
        vapi_qp_enter(qp);
        return vapi_error(error, VAPI_EINVAL_QP_HNDL);
    }
    vapi_handle_free(qp->handle);
    vapi_cq_purge(qp->send_cq, number);
    if (qp->recv_cq != qp->send_cq) vapi_cq_purge(qp->recv_cq, number);
    vapi_lane_destroy(&qp->send);
    vapi_lane_destroy(&qp->recv);
    vapi_drop(&qp->send_cq->users);
    vapi_drop(&qp->recv_cq->users);
    if (qp->srq) vapi_drop(&qp->srq->users);
    vapi_pd_drop(qp->pd);
    free(qp);
    return VAPI_OK;
}

VAPI_ret_t VAPI_get_special_qp(VAPI_hca_hndl_t hca, IB_port_t port, VAPI_special_qp_t type,
                               VAPI_qp_init_attr_t *init, VAPI_qp_hndl_t *qp, VAPI_qp_cap_t *cap)
{
    struct vapi_hca *found = vapi_hca(hca);
    if (!found) return VAPI_EINVAL_HCA_HNDL;
    if (port < 1 || port > found->attr.phys_port_cnt) return VAPI_EINVAL_PORT;
    if (type == VAPI_REGULAR_QP) return VAPI_EINVAL_PARAM;
    return type > VAPI_RAW_ETY_QP ? VAPI_EINVAL_QP_TYPE : VAPI_ENOSYS;
}

VAPI_ret_t EVAPI_set_priv_context4qp(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t handle, void *priv)
{
    VAPI_ret_t code;
    struct vapi_qp *qp = vapi_find(hca, handle, KIND_QP, &code);
    if (code == VAPI_OK) qp->priv = priv;
    return code;
}

VAPI_ret_t EVAPI_get_priv_context4qp(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t handle, void **priv)
{
    VAPI_ret_t code;
    struct vapi_qp *qp = vapi_find(hca, handle, KIND_QP, &code);
    if (code == VAPI_OK && !priv) code = VAPI_EINVAL_PARAM;
    if (code == VAPI_OK) *priv = qp->priv;
    return code;
}
