/* mw.c - memory windows: rights on a part of a memory region, granted and revoked by work requests.
 *
 * A window is an entry in the table of regions with a key of its own, which only remote access
 * finds. Windows of type 1 are bound by a verb and serve every QP of their domain. Those of type 2
 * serve the QP they were bound on, and end by a local or a remote invalidation. Binding runs in the
 * order of the send queue, with the send lock held, so it may not wait for shca.lock.
 */
#include "other/softhca/src/objects/mw.h"

#include <stdlib.h>

#include "other/softhca/src/objects/mr.h"
#include "other/softhca/src/objects/qp.h"
#include "other/softhca/src/segment/segment.h"

/* Protects the lists of windows over each region. A window whose key a peer has invalidated stays
 * linked until it is found. */
static pthread_mutex_t mw_lists_lock = PTHREAD_MUTEX_INITIALIZER;

static bool mw_is_bound(const struct shca_mw *mw)
{
    return mw->s->key >> 8;
}

/* With mw_lists_lock. */
static void mw_unlink_window(struct shca_mw *mw)
{
    if (!mw->over) return;
    struct shca_mw **at = &mw->over->windows;
    while (*at != mw) at = &(*at)->next;
    *at = mw->next;
    mw->over = NULL;
}

bool shca_mr_has_windows(struct shca_mr *mr)
{
    bool busy = false;
    pthread_mutex_lock(&mw_lists_lock);
    for (struct shca_mw *w = mr->windows; w; w = w->next) busy = busy || mw_is_bound(w);
    while (!busy && mr->windows) mw_unlink_window(mr->windows);
    pthread_mutex_unlock(&mw_lists_lock);
    return busy;
}

struct ibv_mw *shca_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    uint32_t index;
    bool known = type == IBV_MW_TYPE_1 || type == IBV_MW_TYPE_2;
    struct shca_mw *mw = known ? calloc(1, sizeof *mw) : NULL;
    int error = !known ? EINVAL : !mw ? ENOMEM : shca_mr_take(pd->context, &index);
    if (error) {
        free(mw);
        errno = error;
        return NULL;
    }
    mw->s = &shca.h->mr[index];
    mw->s->pd = ~0u; /* no PD has this number */
    mw->s->window_pd = shca_pd(pd)->id;
    mw->base = (struct ibv_mw){.context = pd->context,
                               .pd = pd,
                               .rkey = (index + 1) << 8 | (mw->s->key & 255),
                               .handle = index,
                               .type = type};
    shca_pd(pd)->users++;
    return &mw->base;
}

int shca_dealloc_mw(struct ibv_mw *base)
{
    struct shca_mw *mw = (struct shca_mw *)base;
    pthread_mutex_lock(&mw_lists_lock);
    mw_unlink_window(mw);
    pthread_mutex_unlock(&mw_lists_lock);
    atomic_store(&mw->s->key, mw->s->key & 255);
    pthread_mutex_lock(&shca.lock);
    shca_quiesce();
    pthread_mutex_unlock(&shca.lock);
    mw->s->window_pd = 0;
    shca_mr_give(base->context, base->handle);
    shca_pd(base->pd)->users--;
    free(mw);
    return 0;
}

/* Waits until no initiator uses a revoked key, without shca.lock: QPs may be created and destroyed
 * meanwhile, so only their entries in the segment are read. */
static void mw_quiesce(void)
{
    for (uint32_t i = 0; i < SHCA_QPS; i++) {
        struct shm_qp *s = &shca.h->qp[i];
        if (!shca.qp[i]) continue;
        uint32_t active = atomic_fetch_add(&s->active, 0); /* a full fence and a load */
        for (int spins = 0; active & 1 && atomic_load(&s->active) == active; spins++) {
            if (spins > 64) sched_yield();
            uint32_t slot = shm_qpn_slot(s->accepts);
            if (spins % 256 == 255 && slot != shca.slot && !shca_slot_attached(slot)) break;
        }
    }
}

static bool mw_may_bind(const struct shca_qp *qp, const struct shca_mw *mw, uint32_t rkey,
                        const struct ibv_mw_bind_info *b)
{
    unsigned changes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    unsigned known = changes | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED;
    if (mw->s->window_pd != qp->s->pd || rkey >> 8 != mw->base.handle + 1) return false;
    if (mw->base.type == IBV_MW_TYPE_2 && mw_is_bound(mw)) return false;
    if (b->length == 0) return mw->base.type == IBV_MW_TYPE_1;
    const struct shm_mr *mr = b->mr ? shca_mr(b->mr)->s : NULL;
    if (!mr || mr->pd != qp->s->pd || !(mr->access & IBV_ACCESS_MW_BIND)) return false;
    if (b->mw_access_flags & ~known) return false;
    if (b->mw_access_flags & changes && !(mr->access & IBV_ACCESS_LOCAL_WRITE)) return false;
    uint64_t in = b->addr - mr->iova;
    return in <= mr->length && b->length <= mr->length - in;
}

static int mw_bind(struct shca_qp *qp, struct shca_mw *mw, uint32_t rkey,
                   const struct ibv_mw_bind_info *b)
{
    struct shm_mr *s = mw->s;
    if (!mw_may_bind(qp, mw, rkey, b)) return IBV_WC_MW_BIND_ERR;
    if (mw_is_bound(mw)) {
        atomic_store(&s->key, s->key & 255);
        mw_quiesce();
    }
    pthread_mutex_lock(&mw_lists_lock);
    mw_unlink_window(mw);
    if (b->length > 0) {
        mw->over = shca_mr(b->mr);
        mw->next = mw->over->windows;
        mw->over->windows = mw;
        const struct shm_mr *mr = mw->over->s;
        uint64_t in = b->addr - mr->iova;
        s->access = b->mw_access_flags;
        s->iova = b->mw_access_flags & IBV_ACCESS_ZERO_BASED ? 0 : b->addr;
        s->length = b->length;
        s->va = mr->va + in;
        s->map = mr->map == SHCA_NOT_MAPPED ? SHCA_NOT_MAPPED : mr->map + in;
        s->window_qpn = mw->base.type == IBV_MW_TYPE_2 ? qp->base.qp_num : 0;
        atomic_store_explicit(&s->key, rkey, memory_order_release);
    } else
        atomic_store(&s->key, rkey & 255);
    pthread_mutex_unlock(&mw_lists_lock);
    return IBV_WC_SUCCESS;
}

/* Invalidates a window of type 2 that is bound on QP QPN. Also called by the initiator of a SEND
 * with invalidate. */
bool shca_mw_invalidate(struct shm_header *h, uint32_t rkey, uint32_t pd, uint32_t qpn)
{
    uint32_t index = (rkey >> 8) - 1, key = rkey;
    if (index >= SHCA_MRS) return false;
    struct shm_mr *s = &h->mr[index];
    return s->window_pd == pd && s->window_qpn == qpn &&
           atomic_compare_exchange_strong(&s->key, &key, rkey & 255);
}

/* Executes a bind or a local invalidate. Send lock held; a completion status. */
int shca_mw_run(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    if (wr->opcode == IBV_WR_BIND_MW)
        return mw_bind(qp, (struct shca_mw *)wr->bind_mw.mw, wr->bind_mw.rkey,
                       &wr->bind_mw.bind_info);
    if (!shca_mw_invalidate(shca.h, wr->invalidate_rkey, qp->s->pd, qp->base.qp_num))
        return IBV_WC_MW_BIND_ERR;
    shca_qp_quiesce(qp);
    return IBV_WC_SUCCESS;
}

int shca_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *b)
{
    struct ibv_send_wr *bad,
        wr = {.wr_id = b->wr_id,
              .opcode = IBV_WR_BIND_MW,
              .send_flags = b->send_flags,
              .bind_mw = {.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = b->bind_info}};
    int error = qp->context->ops.post_send(qp, &wr, &bad);
    if (!error) mw->rkey = wr.bind_mw.rkey;
    return error;
}

/* The window with this key if it grants NEED, when no region has the key. */
struct shm_mr *shca_mw_find(const struct shca_target *target, uint32_t key, uint64_t addr,
                            uint64_t len, unsigned need)
{
    uint32_t index = (key >> 8) - 1;
    if (index >= SHCA_MRS) return NULL;
    struct shm_mr *s = &target->peer->h->mr[index];
    if (atomic_load_explicit(&s->key, memory_order_acquire) != key) return NULL;
    if (s->window_pd != target->t->pd || (s->window_qpn && s->window_qpn != target->to))
        return NULL;
    uint64_t in = addr - s->iova;
    if (in > s->length || len > s->length - in) return NULL;
    return (s->access & need) == need ? s : NULL;
}

void shca_mw_in_child(void)
{
    pthread_mutex_init(&mw_lists_lock, NULL);
}
