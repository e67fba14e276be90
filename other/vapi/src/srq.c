/* srq.c - shared receive queues.
 *
 * A bit of the wr_id marks every receive of a shared queue, since a failed completion does not
 * contain its queue.  A receive whose id uses that bit has a record instead.
 */
#include <stdlib.h>

#include "post.h"

static void free_records(struct vapi_srq *srq)
{
    while (srq->made) {
        struct vapi_record *record = srq->made;
        srq->made = record->next_made;
        free(record);
    }
}

static VAPI_ret_t srq_make(struct vapi_srq *srq, const VAPI_srq_attr_t *want)
{
    struct ibv_srq_init_attr init = {
        .srq_context = srq, .attr = {.max_wr = want->max_outs_wr, .max_sge = want->max_sentries}};
    srq->verbs = ibv_create_srq(srq->pd->verbs, &init);
    if (!srq->verbs) return vapi_error(errno, VAPI_EINVAL_PARAM);
    srq->handle = vapi_handle_new(KIND_SRQ, srq->pd->hca->handle, srq);
    if (!srq->handle) {
        ibv_destroy_srq(srq->verbs);
        return VAPI_EAGAIN;
    }
    srq->attr = (VAPI_srq_attr_t){.pd_hndl = srq->pd->handle,
                                  .max_outs_wr = init.attr.max_wr,
                                  .max_sentries = init.attr.max_sge};
    return VAPI_OK;
}

static VAPI_ret_t srq_check(const struct vapi_hca *hca, const VAPI_srq_attr_t *want)
{
    if (hca->attr.max_srq <= 0) return VAPI_ENOSYS;
    if (want->max_outs_wr == 0 || want->max_sentries == 0) return VAPI_EINVAL_PARAM;
    if (want->max_outs_wr > MOST_WRS || want->max_outs_wr > (uint32_t)hca->attr.max_srq_wr)
        return VAPI_E2BIG_WR_NUM;
    if (want->max_sentries > MOST_SGE || want->max_sentries > (uint32_t)hca->attr.max_srq_sge)
        return VAPI_E2BIG_SG_NUM;
    return VAPI_OK;
}

VAPI_ret_t VAPI_create_srq(VAPI_hca_hndl_t handle, VAPI_srq_attr_t *attr, VAPI_srq_hndl_t *srq,
                           VAPI_srq_attr_t *actual)
{
    struct vapi_hca *hca = vapi_hca(handle);
    if (!hca) return VAPI_EINVAL_HCA_HNDL;
    if (!attr || !srq) return VAPI_EINVAL_PARAM;
    struct vapi_pd *pd = vapi_object_of(hca, attr->pd_hndl, KIND_PD);
    if (!pd) return VAPI_EINVAL_PD_HNDL;
    VAPI_ret_t code = srq_check(hca, attr);
    if (code != VAPI_OK) return code;
    struct vapi_srq *made = calloc(1, sizeof *made);
    if (!made) return VAPI_ENOMEM;
    made->pd = pd;
    code = srq_make(made, attr);
    if (code != VAPI_OK) {
        free(made);
        return code;
    }
    pthread_mutex_init(&made->lock, NULL);
    vapi_pd_hold(pd);
    *srq = made->handle;
    if (actual) *actual = made->attr;
    return VAPI_OK;
}

VAPI_ret_t VAPI_query_srq(VAPI_hca_hndl_t hca, VAPI_srq_hndl_t handle, VAPI_srq_attr_t *attr)
{
    struct ibv_srq_attr verbs;
    VAPI_ret_t code;
    struct vapi_srq *srq = vapi_find(hca, handle, KIND_SRQ, &code);
    if (code == VAPI_OK && !attr) code = VAPI_EINVAL_PARAM;
    if (code != VAPI_OK) return code;
    int error = ibv_query_srq(srq->verbs, &verbs);
    if (error) return vapi_error(error, VAPI_ESRQ);
    *attr = srq->attr;
    attr->max_outs_wr = verbs.max_wr;
    attr->srq_limit = verbs.srq_limit;
    return VAPI_OK;
}

/* The original's user library returned VAPI_ENOSYS, although its headers document the call;
 * programs ignore the result.  Verbs supports the call.  */
VAPI_ret_t VAPI_modify_srq(VAPI_hca_hndl_t hca, VAPI_srq_hndl_t handle, VAPI_srq_attr_t *attr,
                           VAPI_srq_attr_mask_t mask, u_int32_t *max_outs_wr)
{
    VAPI_ret_t code;
    struct vapi_srq *srq = vapi_find(hca, handle, KIND_SRQ, &code);
    if (code != VAPI_OK) return code;
    if (!attr || mask == 0 || mask & ~(VAPI_SRQ_ATTR_LIMIT | VAPI_SRQ_ATTR_MAX_OUTS_WR))
        return VAPI_EINVAL_PARAM;
    bool resize = mask & VAPI_SRQ_ATTR_MAX_OUTS_WR, limit = mask & VAPI_SRQ_ATTR_LIMIT;
    if (resize && !(srq->pd->hca->attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE))
        return VAPI_ENOSYS;
    if (resize && attr->max_outs_wr > MOST_WRS) return VAPI_E2BIG_WR_NUM;
    struct ibv_srq_attr verbs = {.max_wr = resize ? attr->max_outs_wr : 0,
                                 .srq_limit = limit ? attr->srq_limit : 0};
    int error = ibv_modify_srq(srq->verbs, &verbs,
                               (resize ? IBV_SRQ_MAX_WR : 0) | (limit ? IBV_SRQ_LIMIT : 0));
    if (error) return vapi_error(error, VAPI_EINVAL_PARAM);
    if (resize && ibv_query_srq(srq->verbs, &verbs) == 0) srq->attr.max_outs_wr = verbs.max_wr;
    if (max_outs_wr) *max_outs_wr = srq->attr.max_outs_wr;
    return VAPI_OK;
}

VAPI_ret_t VAPI_destroy_srq(VAPI_hca_hndl_t hca, VAPI_srq_hndl_t handle)
{
    VAPI_ret_t code;
    struct vapi_srq *srq = vapi_find(hca, handle, KIND_SRQ, &code);
    if (code != VAPI_OK) return code;
    if (vapi_held(&srq->users)) return VAPI_EBUSY;
    int error = ibv_destroy_srq(srq->verbs);
    if (error) return vapi_error(error, VAPI_EINVAL_SRQ_HNDL);
    vapi_handle_free(srq->handle);
    vapi_pd_drop(srq->pd);
    pthread_mutex_destroy(&srq->lock);
    free_records(srq);
    free(srq);
    return VAPI_OK;
}

/* --- posting --- */

static struct vapi_record *take_record(struct vapi_srq *srq, uint64_t id)
{
    pthread_mutex_lock(&srq->lock);
    struct vapi_record *record = srq->free;
    if (record)
        srq->free = record->next_free;
    else {
        record = calloc(1, sizeof *record);
        if (record) {
            record->srq = srq;
            record->next_made = srq->made;
            srq->made = record;
        }
    }
    pthread_mutex_unlock(&srq->lock);
    if (record) record->id = id;
    return record;
}

static VAPI_ret_t srq_post_one(struct vapi_srq *srq, const VAPI_rr_desc_t *d)
{
    struct ibv_recv_wr *bad;
    struct ibv_recv_wr wr = {.wr_id = d->id | VAPI_ID_RECEIVE,
                             .sg_list = (struct ibv_sge *)(void *)d->sg_lst_p,
                             .num_sge = (int)d->sg_lst_len};
    if (d->opcode != VAPI_RECEIVE) return VAPI_EINVAL_OP;
    VAPI_ret_t code = vapi_check_list(d->sg_lst_p, d->sg_lst_len, srq->attr.max_sentries);
    if (code != VAPI_OK) return code;
    struct vapi_record *record = NULL;
    if (d->id >> 62 != 0) {
        record = take_record(srq, d->id);
        if (!record) return VAPI_E2BIG_WR_NUM;
        wr.wr_id = VAPI_ID_TRACKED | (uintptr_t)record;
    }
    int error = ibv_post_srq_recv(srq->verbs, &wr, &bad);
    if (!error) return VAPI_OK;
    uint64_t id;
    uint32_t freed;
    if (record) vapi_record_done(record, false, &id, &freed);
    return vapi_refused(error);
}

VAPI_ret_t VAPI_post_srq(VAPI_hca_hndl_t hca, VAPI_srq_hndl_t handle, u_int32_t n,
                         VAPI_rr_desc_t *array, u_int32_t *posted)
{
    u_int32_t done = 0;
    VAPI_ret_t code;
    struct vapi_srq *srq = vapi_find(hca, handle, KIND_SRQ, &code);
    if (code == VAPI_OK && (n == 0 || !array)) code = VAPI_EINVAL_PARAM;
    while (code == VAPI_OK && done < n) {
        code = srq_post_one(srq, &array[done]);
        if (code == VAPI_OK) done++;
    }
    if (posted) *posted = done;
    return code;
}
