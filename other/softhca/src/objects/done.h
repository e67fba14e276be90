/* done.h - completions of short WRITEs, in memory of this process alone.
 *
 * A WRITE that took the short way (short_write.c) has succeeded, so its completion consists of the
 * wr_id and the index in the send queue. The completion goes into a ring of its queue pair, which
 * the holder of the send lock fills and the holder of the CQ's lock empties; no locked instruction
 * is needed to append. The CQ lists the queue pairs whose rings may hold something. All other
 * completions go into the ring of the CQ, which other processes share.
 *
 * Order: an entry is appended to the QP's ring only when the CQ's ring has no completion of the
 * same send queue. Entries of the QP's ring are therefore older, and a poll delivers them first.
 * Overflow: entries are appended to QPs' rings only while the queues of the CQ cannot hold more WRs
 * than the CQ has entries. When they can, shca_done_reserve() stops the queue pairs that do not
 * check this for each WRITE.
 */
#ifndef SOFTHCA_DONE_H
#define SOFTHCA_DONE_H

#include "other/base/hot.h"
#include "other/softhca/src/objects/qp.h"

struct shca_done {
    uint64_t wr_id;
    uint32_t index; /* of the WR in its send queue */
};

/* done.c; with the CQ's lock held unless another is named */
void shca_done_reserve(struct shca_cq *cq, int32_t n);
void shca_done_promise(struct shca_qp *qp, int sign);
void shca_done_list(struct shca_qp *qp); /* send lock held */
void shca_done_notify(struct shca_cq *cq);
/* no lock held; after the CQ was armed: threads that append by the shortest way do not look for
 * that behind a fence */
void shca_done_await_posters(struct shca_cq *cq);
int shca_done_take(struct shca_cq *cq, int num, struct ibv_wc *wc);
int shca_done_take_of(struct shca_qp *qp, int num, struct ibv_wc *wc);
void shca_done_forget(struct shca_cq *cq, struct shca_qp *qp);
uint32_t shca_done_count(struct shca_cq *cq);
bool shca_done_move(struct shca_cq *cq, struct shm_cqe *e);

/* The queues of the CQ cannot overflow it. */
HOT bool shca_done_spare(const struct shca_qp *qp)
{
    return atomic_load_explicit(&qp->send_cq->spare, memory_order_relaxed) >= 0;
}

/* The QP is listed. The store of `fresh` comes after that of the tail: shca_done_take() clears it
 * before it looks at the tails. Send lock held. */
HOT void shca_done_append(struct shca_qp *qp, uint64_t wr_id, uint32_t index)
{
    const uint32_t tail = atomic_load_explicit(&qp->done_tail, memory_order_relaxed);
    qp->done[tail & qp->sq_mask] = (struct shca_done){.wr_id = wr_id, .index = index};
    atomic_store_explicit(&qp->done_tail, tail + 1, memory_order_release);
    atomic_store_explicit(&qp->send_cq->fresh, 1, memory_order_release);
}

static inline uint32_t shca_done_waiting(const struct shca_qp *qp)
{
    return atomic_load_explicit(&qp->done_tail, memory_order_acquire) - qp->done_head;
}

static inline bool shca_done_any(const struct shca_qp *qp)
{
    return shca_done_waiting(qp) > 0;
}

#endif
