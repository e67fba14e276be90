/* short_write.c - ibv_post_send(), and the short way of a plain WRITE.
 *
 * A WRITE of one piece on a reliable connection, to memory that is mapped here, needs no other
 * steps than these: nothing can wait, and what is not as usual is left to send.c before anything
 * has been done.
 */
#include "other/softhca/datapath/datapath.h"
#include "other/softhca/datapath/hot.h"
#include "other/softhca/datapath/respond.h"
#include "other/softhca/objects/done.h"
#include "other/softhca/objects/verbs.h"
#include "other/softhca/segment/segment.h"

/* True for a WRITE of one piece on a reliable connection on which nothing waits, and into which no
 * faults are injected; unless its target is known not to be mapped here. */
HOT bool short_is_plain(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    if (wr->opcode != IBV_WR_RDMA_WRITE || wr->num_sge != 1 ||
        qp->link.unmapped == wr->wr.rdma.rkey)
        return false;
    const uint32_t length = wr->sg_list->length;
    const bool by_value = wr->send_flags & IBV_SEND_INLINE;
    return qp->base.qp_type == IBV_QPT_RC && length > 0 && length <= qp->max_message &&
           !(by_value && length > qp->max_inline) && !qp->faults && qp->sq_exec == qp->sq_head &&
           shca_state(qp) == IBV_QPS_RTS && !shca_send_queue_full(qp) && qp->link.t &&
           !shca_peer_dead(qp->link.peer);
}

/* The address in this process that the WR writes to; NULL if it is not mapped here, or the target
 * does not allow the WRITE. */
HOT void *short_target(struct shca_link *l, const struct ibv_send_wr *wr, uint32_t length)
{
    const uint64_t addr = wr->wr.rdma.remote_addr;
    const uint32_t rkey = wr->wr.rdma.rkey;
    if (!(l->t->access & IBV_ACCESS_REMOTE_WRITE)) return NULL;
    const struct shm_mr *mr =
        shca_mr_find(l->peer->h, rkey, l->t->pd, addr, length, IBV_ACCESS_REMOTE_WRITE);
    if (!mr) return NULL;
    void *to = respond_piece(l->peer, mr, addr, length).direct;
    if (!to) l->unmapped = rkey;
    return to;
}

HOT void short_complete(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    if (__builtin_expect(!shca_done_may_append(qp), 0)) {
        shca_send_completion(qp, wr, qp->sq_head, IBV_WC_SUCCESS);
        return;
    }
    shca_done_append(qp, wr->wr_id, qp->sq_head);
    if (__builtin_expect(qp->send_cq->base.channel != NULL, 0)) shca_done_notify(qp->send_cq);
    shca_wake_sleeper(&shca.me); /* this may be another thread than the poster's */
}

/* Does what send_run_or_wait() does, for a plain WRITE to memory that is mapped here; false if it
 * is another WR, or one that fails: nothing is done then. */
HOT bool short_write(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    if (!short_is_plain(qp, wr)) return false;
    const struct ibv_sge *s = wr->sg_list;
    const char *from = (const char *)(uintptr_t)s->addr;
    if (!(wr->send_flags & IBV_SEND_INLINE)) {
        const struct shm_mr *mr = shca_mr_find(shca.h, s->lkey, qp->s->pd, s->addr, s->length, 0);
        if (!mr) return false;
        from = (const char *)(uintptr_t)(mr->va + (s->addr - mr->iova));
    }
    struct shca_link *l = &qp->link;
    respond_enter_target(l);
    void *to = respond_target_ready(l) ? short_target(l, wr, s->length) : NULL;
    if (to) {
        shca_copy_in_order(to, from, s->length);
        l->t->bytes += s->length;
    }
    respond_leave_target(l);
    if (!to) return false;
    if (shca_is_signalled(qp, wr)) short_complete(qp, wr);
    qp->sq_exec = ++qp->sq_head;
    return true;
}

int shca_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct shca_qp *qp = shca_qp(base);
    shca_lock(&qp->sq);
    while (wr && short_write(qp, wr)) {
        wr = wr->next;
        if (wr) continue;
        shca_unlock(&qp->sq);
        return 0;
    }
    return shca_send_rest(qp, wr, bad);
}
