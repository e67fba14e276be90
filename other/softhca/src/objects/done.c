/* done.c - completions of short WRITEs: the consumer's side; see done.h.
 *
 * A queue pair appends itself to the list `arrived` of its CQ with its first completion. A poll
 * moves it to `busy`, where it stays while there are few, so that a queue pair in use is not listed
 * again and again.
 */
#include "other/softhca/src/objects/done.h"

enum { DONE_KEPT = 4 }; /* queue pairs that stay in the list without a completion */

/* Takes N of the entries that the CQ has to spare. If they are too few, its queue pairs forget
 * their regions: the shortest way of a WRITE does not look. shca.lock held. */
void shca_done_reserve(struct shca_cq *cq, int32_t n)
{
    if (atomic_fetch_sub(&cq->spare, n) >= n) return;
    for (struct shca_qp *qp = shca.qps; qp; qp = qp->next) {
        shca_lock(&qp->sq); /* a thread that has read the old value leaves */
        if (qp->send_cq == cq) shca_forget_region(qp);
        shca_unlock(&qp->sq);
    }
}

/* The most completions that the queues of the QP may have in its CQs; a shared receive queue counts
 * for each of its queue pairs. */
void shca_done_promise(struct shca_qp *qp, int sign)
{
    /* A private shared queue ends before its queue pair. */
    if (sign > 0) qp->receives = qp->srq ? qp->srq->size : qp->rq_size;
    pthread_mutex_lock(&shca.lock);
    if (qp->send_cq) shca_done_reserve(qp->send_cq, sign * (int32_t)qp->sq_size);
    if (qp->recv_cq) shca_done_reserve(qp->recv_cq, sign * (int32_t)qp->receives);
    pthread_mutex_unlock(&shca.lock);
}

void shca_done_list(struct shca_qp *qp)
{
    struct shca_cq *cq = qp->send_cq;
    qp->done_listed = true;
    qp->done_next = atomic_load_explicit(&cq->arrived, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&cq->arrived, &qp->done_next, qp)) continue;
}

/* A completion was appended to a CQ with a channel. The exchange is a full fence, which pairs with
 * shca_req_notify(): armed is read after the entry is visible. */
void shca_done_notify(struct shca_cq *cq)
{
    atomic_exchange(&cq->fresh, 1);
    shca_cq_notify(&shca.me, cq->s, false);
}

/* The CQ was armed by a locked instruction, a full fence on this processor, as is the one by which
 * a poster takes the send lock.  So a poster that takes the lock from now on finds the CQ armed,
 * and when the others have released it, their completions are found by the program's next poll.  */
void shca_done_await_posters(struct shca_cq *cq)
{
    pthread_mutex_lock(&shca.lock);
    for (struct shca_qp *qp = shca.qps; qp; qp = qp->next)
        if (qp->send_cq == cq) shca_lock_await(&qp->sq);
    pthread_mutex_unlock(&shca.lock);
}

static void done_append_busy(struct shca_cq *cq, struct shca_qp *qp)
{
    qp->done_next = NULL;
    *(cq->busy ? &cq->busy_last->done_next : &cq->busy) = qp;
    cq->busy_last = qp;
}

static void done_welcome(struct shca_cq *cq)
{
    if (!atomic_load_explicit(&cq->arrived, memory_order_relaxed)) return;
    for (struct shca_qp *qp = atomic_exchange(&cq->arrived, NULL), *next; qp; qp = next) {
        next = qp->done_next;
        done_append_busy(cq, qp);
        cq->n_busy++;
    }
}

/* The poster lists the QP again with its next completion. The send lock is only tried, because a
 * thread that holds it may wait for the CQ's lock. */
static bool done_unlist(struct shca_qp *qp)
{
    if (!shca_trylock(&qp->sq)) return false;
    const bool empty = !shca_done_any(qp);
    if (empty) {
        shca_forget_region(qp);
        qp->done_listed = false;
    }
    shca_unlock(&qp->sq);
    return empty;
}

/* In three stores: the compiler would make six, which leave the processor's store buffer one by
 * one, and take longer than all else that a completion costs. */
static inline void done_fill_wc(struct ibv_wc *wc, uint64_t wr_id, uint32_t qp_num)
{
    typedef uint64_t words __attribute__((vector_size(16), aligned(8), may_alias));
    _Static_assert(sizeof *wc == 3 * sizeof(words) && offsetof(struct ibv_wc, wr_id) == 0 &&
                       offsetof(struct ibv_wc, opcode) == 12 && IBV_WC_SUCCESS == 0 &&
                       offsetof(struct ibv_wc, qp_num) == 28,
                   "the layout of libibverbs");
    words *to = (words *)wc;
    to[0] = (words){wr_id, (uint64_t)IBV_WC_RDMA_WRITE << 32};
    to[1] = (words){0, (uint64_t)qp_num << 32};
    to[2] = (words){0};
}

/* The completions of one queue pair. The release store of sq_done lets the poster use the entries
 * and the slots of the send queue again. */
int shca_done_take_of(struct shca_qp *qp, int num, struct ibv_wc *wc)
{
    const uint32_t tail = atomic_load_explicit(&qp->done_tail, memory_order_acquire);
    const uint32_t head = qp->done_head, there = tail - head, mask = qp->sq_mask;
    const int n = there < (uint32_t)num ? (int)there : num;
    if (n == 0) return 0;
    int i = 0;
    do done_fill_wc(&wc[i], qp->done[(head + (uint32_t)i) & mask].wr_id, qp->base.qp_num);
    while (++i < n);
    const uint32_t end = head + (uint32_t)n;
    qp->done_head = end;
    atomic_store_explicit(&qp->sq_done, qp->done[(end - 1) & mask].index + 1, memory_order_release);
    return n;
}

/* Up to NUM completions of the queue pair whose turn it is, if it has as many; else 0. */
static int done_take_first(struct shca_cq *cq, int num, struct ibv_wc *wc)
{
    struct shca_qp *qp = cq->busy;
    if (!qp || shca_done_waiting(qp) < (uint32_t)num) return 0;
    if (qp->done_next) {
        cq->busy = qp->done_next;
        done_append_busy(cq, qp);
    }
    return shca_done_take_of(qp, num, wc);
}

/* Up to NUM completions, of the queue pairs in turn. `fresh` stays set if the first has as many;
 * else it is cleared by an exchange, a full fence: a poster whose store of it is overwritten has
 * moved its tail before, and the loads below find that. */
int shca_done_take(struct shca_cq *cq, int num, struct ibv_wc *wc)
{
    done_welcome(cq);
    int n = done_take_first(cq, num, wc);
    if (n > 0) return n;
    atomic_exchange(&cq->fresh, 0);
    done_welcome(cq);
    for (uint32_t left = cq->n_busy; left > 0 && n < num; left--) {
        struct shca_qp *qp = cq->busy;
        const int got = shca_done_take_of(qp, num - n, wc + n);
        n += got;
        cq->busy = qp->done_next;
        if (got == 0 && cq->n_busy > DONE_KEPT && done_unlist(qp))
            cq->n_busy--;
        else
            done_append_busy(cq, qp);
    }
    if (n == num) atomic_store_explicit(&cq->fresh, 1, memory_order_release);
    return n;
}

/* The QP is being reset: its completions are dropped. Nothing is posted to it meanwhile. */
void shca_done_forget(struct shca_cq *cq, struct shca_qp *qp)
{
    if (!qp->done_listed) return;
    shca_lock(&cq->lock);
    done_welcome(cq);
    struct shca_qp *all = cq->busy;
    cq->busy = NULL;
    for (struct shca_qp *next; all; all = next) {
        next = all->done_next;
        if (all != qp) done_append_busy(cq, all);
    }
    cq->n_busy--;
    qp->done_listed = false;
    qp->done_head = qp->done_tail;
    shca_unlock(&cq->lock);
}

/* How many completions wait here. */
uint32_t shca_done_count(struct shca_cq *cq)
{
    uint32_t n = 0;
    done_welcome(cq);
    for (struct shca_qp *qp = cq->busy; qp; qp = qp->done_next) n += shca_done_waiting(qp);
    return n;
}

/* Moves one completion to *E, for the ring of a CQ that is resized; false: no completion is
 * left. */
bool shca_done_move(struct shca_cq *cq, struct shm_cqe *e)
{
    struct shca_qp *qp = cq->busy;
    while (qp && !shca_done_any(qp)) qp = qp->done_next;
    if (!qp) return false;
    const struct shca_done *d = &qp->done[qp->done_head++ & qp->sq_mask];
    e->wr_id = d->wr_id;
    e->qpn = qp->base.qp_num;
    e->index = d->index;
    e->opcode = IBV_WC_RDMA_WRITE;
    e->side = SHCA_SIDE_SEND;
    /* A poster only advances the word, also at the same time. */
    uint32_t last = atomic_load(&qp->in_cq_ring);
    while ((int32_t)(d->index + 1 - last) > 0 &&
           !atomic_compare_exchange_weak(&qp->in_cq_ring, &last, d->index + 1))
        continue;
    return true;
}
