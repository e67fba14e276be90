/* cq.c - completion queues: create, query, resize, arm, destroy.  poll.c polls them, block.c waits
 * for completions, event.c calls handlers.
 *
 * Every CQ has a completion channel of its own, because verbs requires it when the CQ is created.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "objects.h"

static void cq_undo(struct vapi_cq *cq)
{
    if (cq->verbs) ibv_destroy_cq(cq->verbs);
    if (cq->channel) ibv_destroy_comp_channel(cq->channel);
    if (cq->unblock_fd >= 0) close(cq->unblock_fd);
    pthread_mutex_destroy(&cq->lock);
    pthread_mutex_destroy(&cq->arming);
    free(cq->staged);
    free(cq);
}

static VAPI_ret_t cq_make(struct vapi_cq *cq, VAPI_cqe_num_t entries)
{
    cq->channel = ibv_create_comp_channel(cq->hca->verbs);
    if (!cq->channel) return vapi_error(errno, VAPI_EAGAIN);
    int flags = fcntl(cq->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(cq->channel->fd, F_SETFL, flags | O_NONBLOCK)) return VAPI_ESYSCALL;
    cq->verbs = ibv_create_cq(cq->hca->verbs, (int)entries, cq, cq->channel, 0);
    if (!cq->verbs) return vapi_error(errno, VAPI_E2BIG_CQ_NUM);
    cq->handle = vapi_handle_new(KIND_CQ, cq->hca->handle, cq);
    if (!cq->handle) return VAPI_EAGAIN;
    struct vapi_slot *slot = vapi_slot_of(cq->handle);
    slot->verbs.cq = cq->verbs;
    slot->call.poll = cq->verbs->context->ops.poll_cq;
    __atomic_store_n(&slot->usual, VAPI_PAIR(cq->hca->handle, cq->handle), __ATOMIC_RELEASE);
    return VAPI_OK;
}

static VAPI_ret_t check_size(const struct vapi_hca *hca, VAPI_cqe_num_t entries)
{
    if (entries == 0) return VAPI_EINVAL_PARAM;
    return entries > MOST_CQE || entries > (uint32_t)hca->attr.max_cqe ? VAPI_E2BIG_CQ_NUM
                                                                       : VAPI_OK;
}

VAPI_ret_t VAPI_create_cq(VAPI_hca_hndl_t handle, VAPI_cqe_num_t entries, VAPI_cq_hndl_t *cq,
                          VAPI_cqe_num_t *actual)
{
    struct vapi_hca *hca = vapi_hca(handle);
    if (!hca) return VAPI_EINVAL_HCA_HNDL;
    if (!cq || !actual) return VAPI_EINVAL_PARAM;
    VAPI_ret_t code = check_size(hca, entries);
    if (code != VAPI_OK) return code;
    struct vapi_cq *made = calloc(1, sizeof *made);
    if (!made) return VAPI_ENOMEM;
    made->hca = hca;
    made->unblock_fd = -1;
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->arming, NULL);
    code = cq_make(made, entries);
    if (code != VAPI_OK) {
        cq_undo(made);
        return code;
    }
    vapi_hold(&hca->objects);
    vapi_watch_cq(made);
    *cq = made->handle;
    *actual = (VAPI_cqe_num_t)made->verbs->cqe;
    return VAPI_OK;
}

VAPI_ret_t VAPI_query_cq(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t handle, VAPI_cqe_num_t *entries)
{
    VAPI_ret_t code;
    struct vapi_cq *cq = vapi_find(hca, handle, KIND_CQ, &code);
    if (code == VAPI_OK && !entries) code = VAPI_EINVAL_PARAM;
    if (code == VAPI_OK) *entries = (VAPI_cqe_num_t)cq->verbs->cqe;
    return code;
}

static VAPI_ret_t cq_resize(struct vapi_cq *cq, VAPI_cqe_num_t entries)
{
    /* The waiting completions must fit; verbs checks only those that are not staged.  */
    if (vapi_cq_waiting(cq, entries + 1) > entries) return VAPI_E2BIG_CQ_NUM;
    return vapi_error(ibv_resize_cq(cq->verbs, (int)entries), VAPI_E2BIG_CQ_NUM);
}

VAPI_ret_t VAPI_resize_cq(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t handle, VAPI_cqe_num_t entries,
                          VAPI_cqe_num_t *actual)
{
    VAPI_ret_t code;
    struct vapi_cq *cq = vapi_find(hca, handle, KIND_CQ, &code);
    if (code == VAPI_OK) code = check_size(cq->hca, entries);
    if (code != VAPI_OK) return code;
    if (__atomic_exchange_n(&cq->resizing, 1, __ATOMIC_ACQUIRE)) return VAPI_EBUSY;
    code = cq_resize(cq, entries);
    __atomic_store_n(&cq->resizing, 0, __ATOMIC_RELEASE);
    if (code == VAPI_OK && actual) *actual = (VAPI_cqe_num_t)cq->verbs->cqe;
    return code;
}

/* A bound handler counts as a user of the queue, which then cannot be destroyed, as in the
 * original.  */
VAPI_ret_t VAPI_destroy_cq(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t handle)
{
    VAPI_ret_t code;
    struct vapi_cq *cq = vapi_find(hca, handle, KIND_CQ, &code);
    if (code != VAPI_OK) return code;
    if (vapi_held(&cq->users) || !vapi_unwatch_cq(cq)) return VAPI_EBUSY;
    int error = ibv_destroy_cq(cq->verbs);
    if (error) {
        vapi_watch_cq(cq);
        return vapi_error(error, VAPI_EINVAL_CQ_HNDL);
    }
    cq->verbs = NULL;
    vapi_handle_free(cq->handle);
    vapi_drop(&cq->hca->objects);
    cq_undo(cq);
    return VAPI_OK;
}

static VAPI_ret_t cq_arm(struct vapi_cq *cq, bool solicited, bool each, VAPI_cqe_num_t wanted)
{
    pthread_mutex_lock(&cq->arming);
    int error = ibv_req_notify_cq(cq->verbs, solicited);
    if (!error) {
        cq->each = each;
        cq->wanted = wanted;
    }
    pthread_mutex_unlock(&cq->arming);
    return vapi_error(error, VAPI_EINVAL_PARAM);
}

/* For an invalid type the original header documents VAPI_EINVAL_NOTIF_TYPE, and its implementation
 * returned VAPI_EINVAL_PARAM; this returns the documented code.  */
VAPI_ret_t VAPI_req_comp_notif(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t handle,
                               VAPI_cq_notif_type_t type)
{
    VAPI_ret_t code;
    struct vapi_cq *cq = vapi_find(hca, handle, KIND_CQ, &code);
    if (code != VAPI_OK) return code;
    switch (type) {
    case VAPI_NOTIF_NONE:
        return VAPI_OK;
    case VAPI_SOLIC_COMP:
    case VAPI_NEXT_COMP:
        return cq_arm(cq, type == VAPI_SOLIC_COMP, true, 0);
    }
    return VAPI_EINVAL_NOTIF_TYPE;
}

VAPI_ret_t EVAPI_req_ncomp_notif(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t handle, VAPI_cqe_num_t n)
{
    VAPI_ret_t code;
    struct vapi_cq *cq = vapi_find(hca, handle, KIND_CQ, &code);
    if (code != VAPI_OK) return code;
    if (n == 0 || n > 0x7fff || n > (uint32_t)cq->verbs->cqe) return VAPI_E2BIG_CQ_NUM;
    code = cq_arm(cq, false, false, n);
    if (code == VAPI_OK) vapi_kick(cq); /* the completions may have arrived already */
    return code;
}

VAPI_ret_t EVAPI_set_priv_context4cq(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t handle, void *priv)
{
    VAPI_ret_t code;
    struct vapi_cq *cq = vapi_find(hca, handle, KIND_CQ, &code);
    if (code == VAPI_OK) cq->priv = priv;
    return code;
}

VAPI_ret_t EVAPI_get_priv_context4cq(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t handle, void **priv)
{
    VAPI_ret_t code;
    struct vapi_cq *cq = vapi_find(hca, handle, KIND_CQ, &code);
    if (code == VAPI_OK && !priv) code = VAPI_EINVAL_PARAM;
    if (code == VAPI_OK) *priv = cq->priv;
    return code;
}
