/* recv.c - the owner's side of a QP's receive queue: posting and flushing.
 *
 * The ring is in the segment; the connected initiator consumes it. A slot counts as used until its
 * completion is polled, because a small message waits in the slot until then.
 */
#include <string.h>

#include "other/softhca/src/datapath/datapath.h"
#include "other/softhca/src/segment/upward.h"

static struct shm_rwr *recv_wr_at(struct shca_qp *qp, uint32_t index)
{
    return shm_at(shca.h, qp->s->rq_ring + (uint64_t)(index & qp->s->rq_mask) * qp->s->rq_stride);
}

/* Receive lock held. */
static int recv_post_one(struct shca_qp *qp, const struct ibv_recv_wr *wr)
{
    uint32_t prod = atomic_load_explicit(&qp->s->rq_prod, memory_order_relaxed);
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->max_recv_sge) return EINVAL;
    if (prod - atomic_load_explicit(&qp->rq_done, memory_order_acquire) >= qp->rq_size)
        return ENOMEM;
    struct shm_rwr *r = recv_wr_at(qp, prod);
    r->wr_id = wr->wr_id;
    r->num_sge = wr->num_sge;
    for (int i = 0; i < wr->num_sge; i++) r->sge[i] = wr->sg_list[i];
    atomic_store_explicit(&qp->s->rq_prod, prod + 1, memory_order_release);
    return 0;
}

/* Only a UD QP has a private SRQ; other QPs with an SRQ have no receive queue of their own. */
static int recv_post_to_qp_srq(struct shca_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    int error = EINVAL;
    if (qp->private_srq && shca_state(qp) != IBV_QPS_RESET)
        error = shca_srq_post(qp->srq, wr, bad);
    else if (bad)
        *bad = wr;
    if (shca_state(qp) == IBV_QPS_ERR) shca_worker_wake(); /* to flush what was posted */
    return error;
}

int shca_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct shca_qp *qp = shca_qp(base);
    if (qp->srq) return recv_post_to_qp_srq(qp, wr, bad);
    int error = shca_state(qp) == IBV_QPS_RESET ? EINVAL : 0;
    shca_lock(&qp->rq);
    for (; wr && !error; wr = wr->next) {
        error = recv_post_one(qp, wr);
        if (error) break;
    }
    shca_unlock(&qp->rq);
    if (error && bad) *bad = wr;
    if (shca_state(qp) == IBV_QPS_ERR) shca_worker_wake(); /* to flush what was posted */
    /* A sender that finds no receive sets the flag and checks rq_prod once more. This relaxed load
     * may still miss the flag; then the sender finds the receive at its next timed retry. */
    if (atomic_load_explicit(&qp->s->sender_waits, memory_order_relaxed) &&
        (qp->target.peer || qp->target.remote) && atomic_exchange(&qp->s->sender_waits, 0)) {
        if (qp->target.peer)
            shca_peer_ring(qp->target.peer);
        else
            shca_tcp_send_receive(qp);
    }
    return error;
}

static void recv_flush_qp_srq(struct shca_qp *qp)
{
    struct shm_slot *slot;
    uint32_t index;
    while ((slot = shca_srq_claim(&shca.me, qp->srq->s, false, &index))) {
        struct shm_cqe e = {.wr_id = slot->r.wr_id,
                            .qpn = qp->base.qp_num,
                            .index = qp->srq->index * SHCA_MAX_WR + index,
                            .opcode = IBV_WC_RECV,
                            .status = IBV_WC_WR_FLUSH_ERR,
                            .flags = SHCA_CQE_SRQ,
                            .side = SHCA_SIDE_RECV};
        shca_cq_push(&shca.me, qp->recv_cq->index, &e);
    }
}

static bool recv_is_flushed(const struct shca_qp *qp)
{
    if (qp->private_srq) return qp->srq->s->head == qp->srq->s->prod;
    if (qp->srq || !qp->rq_size) return true;
    return qp->flushing && qp->rq_flushed == qp->s->rq_prod;
}

/* The QP is in ERR: every receive without a completion is flushed. The initiator may have died
 * after it appended a completion and before it advanced rq_cons, so the completions decide. */
void shca_recv_flush(struct shca_qp *qp)
{
    if (recv_is_flushed(qp)) return;
    shca_qp_quiesce(qp);
    if (qp->private_srq) {
        recv_flush_qp_srq(qp);
        return;
    }
    shca_lock(&qp->rq);
    uint32_t i = shca_cq_received(qp->recv_cq, qp->base.qp_num, &qp->rq_done);
    if (qp->flushing && (int32_t)(qp->rq_flushed - i) > 0) i = qp->rq_flushed;
    for (; i != qp->s->rq_prod; i++) {
        struct shm_cqe e = {.wr_id = recv_wr_at(qp, i)->wr_id,
                            .qpn = qp->base.qp_num,
                            .index = i,
                            .opcode = IBV_WC_RECV,
                            .status = IBV_WC_WR_FLUSH_ERR,
                            .side = SHCA_SIDE_RECV};
        shca_cq_push(&shca.me, qp->recv_cq->index, &e);
    }
    qp->rq_flushed = i;
    qp->flushing = true;
    shca_unlock(&qp->rq);
}
