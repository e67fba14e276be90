/* mw.c - memory windows, of verbs' type 1. */
#include <stdlib.h>

#include "post.h"

VAPI_ret_t VAPI_alloc_mw(VAPI_hca_hndl_t hca, VAPI_pd_hndl_t pd_handle, VAPI_mw_hndl_t *mw,
                         VAPI_rkey_t *rkey)
{
    VAPI_ret_t code;
    struct vapi_pd *pd = vapi_find(hca, pd_handle, KIND_PD, &code);
    if (code != VAPI_OK) return code;
    if (!mw || !rkey) return VAPI_EINVAL_PARAM;
    struct vapi_mw *made = calloc(1, sizeof *made);
    if (!made) return VAPI_ENOMEM;
    made->pd = pd;
    made->verbs = ibv_alloc_mw(pd->verbs, IBV_MW_TYPE_1);
    code = made->verbs ? VAPI_OK : vapi_error(errno, VAPI_EAGAIN);
    if (code == VAPI_OK && !(made->handle = vapi_handle_new(KIND_MW, hca, made))) {
        ibv_dealloc_mw(made->verbs);
        code = VAPI_EAGAIN;
    }
    if (code != VAPI_OK) {
        free(made);
        return code;
    }
    vapi_pd_hold(pd);
    *mw = made->handle;
    *rkey = made->verbs->rkey;
    return VAPI_OK;
}

VAPI_ret_t VAPI_query_mw(VAPI_hca_hndl_t hca, VAPI_mw_hndl_t handle, VAPI_rkey_t *rkey,
                         VAPI_pd_hndl_t *pd)
{
    VAPI_ret_t code;
    struct vapi_mw *mw = vapi_find(hca, handle, KIND_MW, &code);
    if (code != VAPI_OK) return code;
    if (rkey) *rkey = mw->verbs->rkey;
    if (pd) *pd = mw->pd->handle;
    return VAPI_OK;
}

/* The region of a window is that of the last binding that was posted.  */
static void set_bound(struct vapi_mw *mw, struct vapi_mr *mr)
{
    if (mw->bound) vapi_drop(&mw->bound->windows);
    if (mr) vapi_hold(&mr->windows);
    mw->bound = mr;
}

static struct vapi_mr *by_lkey(struct vapi_hca *hca, VAPI_lkey_t lkey)
{
    pthread_mutex_lock(&hca->lock);
    struct vapi_mr *mr = hca->mrs;
    while (mr && mr->mr.l_key != lkey) mr = mr->next;
    pthread_mutex_unlock(&hca->lock);
    return mr;
}

static VAPI_ret_t mw_check(const struct vapi_qp *qp, const struct vapi_mr *mr,
                           const VAPI_mw_bind_t *bind)
{
    const VAPI_mrw_acl_t remote = VAPI_EN_REMOTE_WRITE | VAPI_EN_REMOTE_READ | VAPI_EN_REMOTE_ATOM;
    VAPI_sr_desc_t like = {.opcode = VAPI_SEND};
    if (qp->init.ts_type == VAPI_TS_UD) return VAPI_EINVAL_SERVICE_TYPE;
    VAPI_ret_t state = vapi_check_send(qp, &like, false);
    if (state != VAPI_OK) return state;
    if (bind->size == 0) return VAPI_OK;
    if (!mr) return VAPI_EINVAL_MR_HNDL;
    if (bind->acl & ~remote || !(mr->mr.acl & VAPI_EN_MEMREG_BIND)) return VAPI_EINVAL_ACL;
    if (bind->acl & ~VAPI_EN_REMOTE_READ && !(mr->mr.acl & VAPI_EN_LOCAL_WRITE))
        return VAPI_EINVAL_ACL;
    bool inside = bind->start >= mr->mr.start && bind->size <= mr->mr.size &&
                  bind->start - mr->mr.start <= mr->mr.size - bind->size;
    return inside ? VAPI_OK : VAPI_EINVAL_VA;
}

static VAPI_ret_t mw_post(struct vapi_qp *qp, struct vapi_mw *mw, struct ibv_mw_bind *verbs,
                          VAPI_wr_id_t id, bool silent_one)
{
    VAPI_ret_t code = VAPI_OK;
    pthread_mutex_lock(&qp->send.lock);
    uint32_t silent = qp->send.silent;
    if (!vapi_lane_enter(&qp->send, id, 0, silent_one, &verbs->wr_id))
        code = VAPI_E2BIG_WR_NUM;
    else {
        int error = ibv_bind_mw(qp->verbs, mw->verbs, verbs);
        if (error) {
            vapi_lane_undo(&qp->send, verbs->wr_id, silent);
            code = (error < 0 ? errno : error) == ENOMEM ? VAPI_E2BIG_WR_NUM
                                                         : vapi_error(error, VAPI_EINVAL_PARAM);
        }
        if (silent != qp->send.silent) vapi_qp_refresh(qp);
    }
    pthread_mutex_unlock(&qp->send.lock);
    return code;
}

VAPI_ret_t VAPI_bind_mw(VAPI_hca_hndl_t hca, VAPI_mw_hndl_t handle, const VAPI_mw_bind_t *bind,
                        VAPI_qp_hndl_t qp_handle, VAPI_wr_id_t id, VAPI_comp_type_t comp_type,
                        VAPI_rkey_t *rkey)
{
    VAPI_ret_t code;
    struct vapi_mw *mw = vapi_find(hca, handle, KIND_MW, &code);
    if (code != VAPI_OK) return code;
    struct vapi_qp *qp = vapi_object_of(mw->pd->hca, qp_handle, KIND_QP);
    if (!qp) return VAPI_EINVAL_QP_HNDL;
    if (!bind || !rkey) return VAPI_EINVAL_PARAM;
    struct vapi_mr *mr = bind->size ? by_lkey(mw->pd->hca, bind->mr_lkey) : NULL;
    code = mw_check(qp, mr, bind);
    if (code != VAPI_OK) return code;
    bool silent = qp->init.sq_sig_type == VAPI_SIGNAL_REQ_WR && comp_type == VAPI_UNSIGNALED;
    struct ibv_mw_bind verbs = {.send_flags = silent ? 0 : IBV_SEND_SIGNALED,
                                .bind_info = {.mr = mr ? mr->verbs : NULL,
                                              .addr = mr ? bind->start : 0, /* verbs requires it */
                                              .length = bind->size,
                                              .mw_access_flags = bind->acl}};
    code = mw_post(qp, mw, &verbs, id, silent);
    if (code != VAPI_OK) return code;
    set_bound(mw, mr);
    *rkey = mw->verbs->rkey;
    return VAPI_OK;
}

VAPI_ret_t VAPI_dealloc_mw(VAPI_hca_hndl_t hca, VAPI_mw_hndl_t handle)
{
    VAPI_ret_t code;
    struct vapi_mw *mw = vapi_find(hca, handle, KIND_MW, &code);
    if (code != VAPI_OK) return code;
    int error = ibv_dealloc_mw(mw->verbs);
    if (error) return vapi_error(error, VAPI_EINVAL_MW_HNDL);
    set_bound(mw, NULL);
    vapi_handle_free(mw->handle);
    vapi_pd_drop(mw->pd);
    free(mw);
    return VAPI_OK;
}
