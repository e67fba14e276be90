/* respond.h - the steps of the responder's half of a WR, inline: for respond.c, where every
 * instruction counts, and for respond_part.c, whose messages arrive in parts.
 */
#ifndef SOFTHCA_RESPOND_H
#define SOFTHCA_RESPOND_H

#include "other/softhca/src/datapath/datapath.h"
#include "other/softhca/src/datapath/hot.h"
#include "other/softhca/src/objects/ah.h"
#include "other/softhca/src/objects/mr.h"
#include "other/softhca/src/objects/mw.h"

HOT struct shca_piece respond_piece(struct shca_peer *p, const struct shm_mr *mr, uint64_t addr,
                                    size_t len)
{
    uint64_t in = addr - mr->iova;
    struct shca_piece x = {.va = mr->va + in, .len = len};
    if (p->self)
        x.direct = (void *)(uintptr_t)x.va;
    else if (mr->map != SHCA_NOT_MAPPED)
        x.direct = shca_peer_map(p, mr->map + in, len);
    return x;
}

/* Breaks the target's QP: its worker thread is woken to flush it and to raise the event. */
static inline int respond_break_target(struct shca_target *target, uint32_t what, int status)
{
    target->known.range = 0;
    atomic_store(&target->t->fault, what);
    shca_peer_ring(target->owner);
    return status;
}

/* A bad request breaks a reliable target; an unreliable one drops it. */
static inline int respond_fault(struct shca_target *target, uint32_t what, int status)
{
    return target->reliable ? respond_break_target(target, what, status) : status;
}

static inline int respond_move_status(int error)
{
    if (error == 0) return IBV_WC_SUCCESS;
    return error == EFAULT ? IBV_WC_REM_ACCESS_ERR : IBV_WC_RETRY_EXC_ERR;
}

static inline struct shm_srq *respond_srq_of(const struct shca_target *target,
                                             const struct shca_receive *x)
{
    return &target->peer->h->srq[(x->srq - 1) % SHCA_SRQS];
}

/* Claims the receive at the head of a shared queue, for which other processes compete. */
static inline bool respond_claim_receive(struct shca_target *target, struct shca_receive *x)
{
    struct shm_srq *q = respond_srq_of(target, x);
    struct shm_slot *slot = shca_srq_claim(target->peer, q, target->reliable, &x->index);
    if (!slot) return false;
    x->r = &slot->r;
    x->data = q->data;
    x->pd = q->pd;
    return true;
}

/* Takes the receive at the head of the target's own queue, of which this initiator is the only
 * consumer. */
static inline bool respond_next_receive(struct shca_target *target, struct shca_receive *x)
{
    struct shm_qp *t = target->t;
    x->srq = t->srq;
    if (x->srq) return respond_claim_receive(target, x);
    x->index = atomic_load_explicit(&t->rq_cons, memory_order_relaxed);
    if (target->prod == x->index)
        target->prod = atomic_load_explicit(&t->rq_prod, memory_order_acquire);
    if (target->prod == x->index) {
        if (!target->reliable) return false;
        atomic_exchange(&t->sender_waits, 1);
        target->prod = atomic_load(&t->rq_prod);
        if (target->prod == x->index) return false;
    }
    x->r = shca_peer_at(target->peer, t->rq_ring + (uint64_t)(x->index & t->rq_mask) * t->rq_stride,
                        t->rq_stride);
    x->data = t->rq_data;
    x->pd = t->pd;
    return x->r != NULL;
}

/* The message failed before it used the receive: an SRQ gets it back, an own queue has not
 * advanced. */
static inline int respond_return_receive(struct shca_target *target, struct shca_receive *x,
                                         int status)
{
    if (x->srq) shca_srq_return(target->peer, respond_srq_of(target, x), x->index);
    return status;
}

/* Appends the completion and consumes the receive. The release store of rq_cons comes after the
 * completion, for shca_recv_flush(). */
static inline int respond_finish_receive(struct shca_target *target, const struct shca_receive *x,
                                         struct shm_cqe *e)
{
    struct shm_qp *t = target->t;
    e->wr_id = x->r->wr_id;
    e->side = SHCA_SIDE_RECV;
    e->index = x->index;
    if (x->srq) {
        e->index += (x->srq - 1) * SHCA_MAX_WR;
        e->flags |= SHCA_CQE_SRQ;
    }
    e->qpn = target->to;
    e->src_qp = target->source;
    e->route = target->route;
    bool pushed = shca_cq_push(target->peer, t->recv_cq, e);
    if (!x->srq) atomic_store_explicit(&t->rq_cons, x->index + 1, memory_order_release);
    if (pushed) return IBV_WC_SUCCESS;
    return target->peer->unmappable ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_REM_OP_ERR;
}

static inline int respond_fail_receive(struct shca_target *target, const struct shca_receive *x,
                                       int theirs, int ours)
{
    struct shm_cqe e = {.opcode = IBV_WC_RECV, .status = theirs};
    respond_finish_receive(target, x, &e);
    return respond_break_target(target, SHCA_FAULT_QUIET, ours);
}

/* The receive's SGEs for TOTAL bytes: the number of pieces, or -status of the receiver. */
static inline int respond_spread(struct shca_target *target, const struct shca_receive *x,
                                 uint64_t total, struct shca_piece *out, bool *all_direct)
{
    int n = 0;
    uint64_t left = total;
    *all_direct = true;
    for (uint32_t i = 0; i < x->r->num_sge && left > 0; i++) {
        const struct ibv_sge *s = &x->r->sge[i];
        if (s->length == 0) continue;
        uint64_t len = s->length < left ? s->length : left;
        struct shm_mr *mr = shca_mr_find(target->peer->h, s->lkey, x->pd, s->addr, s->length,
                                         IBV_ACCESS_LOCAL_WRITE);
        if (!mr) return -IBV_WC_LOC_PROT_ERR;
        left -= len;
        if (total <= SHCA_INLINE_CQE) continue; /* the owner scatters these bytes when it polls */
        out[n] = respond_piece(target->peer, mr, s->addr, len);
        if (!out[n++].direct) *all_direct = false;
    }
    return left > 0 ? -IBV_WC_LOC_LEN_ERR : n;
}

static inline int respond_fail_spread(struct shca_target *target, struct shca_receive *x, int n)
{
    if (n != -IBV_WC_LOC_LEN_ERR) return respond_fail_receive(target, x, -n, IBV_WC_REM_OP_ERR);
    if (target->type == IBV_QPT_UC)
        return respond_return_receive(target, x, IBV_WC_REM_INV_REQ_ERR);
    return respond_fail_receive(target, x, -n, IBV_WC_REM_INV_REQ_ERR);
}

static inline int respond_fail_move(struct shca_target *target, struct shca_receive *x, int error)
{
    if (error == EFAULT)
        return respond_fail_receive(target, x, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
    return respond_return_receive(target, x, IBV_WC_RETRY_EXC_ERR);
}

/* The 32-bit value that comes with a SEND: immediate data, or the rkey of a window that the SEND
 * invalidates. */
static inline bool respond_add_imm(struct shca_target *target, const struct ibv_send_wr *wr,
                                   struct shm_cqe *e)
{
    e->imm = wr->imm_data;
    e->flags = wr->opcode == IBV_WR_SEND_WITH_INV ? SHCA_CQE_INV : SHCA_CQE_IMM;
    return wr->opcode == IBV_WR_SEND_WITH_IMM ||
           shca_mw_invalidate(target->peer->h, wr->invalidate_rkey, target->t->pd, target->to);
}

/* The completion of the receiver for a SEND of TOTAL bytes. False: the SEND may not invalidate that
 * rkey. */
static inline bool respond_completion_for_send(struct shca_target *target,
                                               const struct ibv_send_wr *wr, uint64_t total,
                                               struct shm_cqe *e)
{
    *e = (struct shm_cqe){.opcode = IBV_WC_RECV, .byte_len = total};
    if (wr->opcode != IBV_WR_SEND && !respond_add_imm(target, wr, e)) return false;
    if (wr->send_flags & IBV_SEND_SOLICITED) e->flags |= SHCA_CQE_SOLICITED;
    return true;
}

static inline int respond_fail_imm(struct shca_target *target, struct shca_receive *x)
{
    return respond_fail_receive(target, x, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_OP_ERR);
}

static inline struct shm_cqe respond_completion_for_write(const struct ibv_send_wr *wr,
                                                          uint64_t total)
{
    struct shm_cqe e = {.opcode = IBV_WC_RECV_RDMA_WITH_IMM,
                        .byte_len = total,
                        .imm = wr->imm_data,
                        .flags = SHCA_CQE_IMM};
    if (wr->send_flags & IBV_SEND_SOLICITED) e.flags |= SHCA_CQE_SOLICITED;
    return e;
}

/* READ and WRITE: checks the right of the QP, then the rkey. */
static inline int respond_check_rdma(struct shca_target *target, const struct ibv_send_wr *wr,
                                     uint64_t total, unsigned right, struct shm_mr **mr)
{
    if (!(target->t->access & right))
        return respond_fault(target, 1 + IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
    if (total == 0) return IBV_WC_SUCCESS;
    *mr = shca_mr_find(target->peer->h, wr->wr.rdma.rkey, target->t->pd, wr->wr.rdma.remote_addr,
                       total, right);
    if (!*mr) *mr = shca_mw_find(target, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, total, right);
    if (!*mr) return respond_fault(target, 1 + IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
    return IBV_WC_SUCCESS;
}

/* The status of READ and WRITE after the bytes were moved. */
static inline int respond_end_rdma(struct shca_target *target, int error)
{
    if (error == EFAULT)
        return respond_fault(target, 1 + IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
    return respond_move_status(error);
}

/* An XRC target has no PD and no queues: it uses those of the SRQ that the message names. Only the
 * initiator inside the target sets these fields. */
static inline bool respond_use_srq(struct shca_target *target, uint32_t srqn)
{
    struct shm_srq *q = &target->peer->h->srq[shm_qpn_index(srqn)];
    uint64_t domain = atomic_load_explicit(&q->xrcd, memory_order_acquire);
    if (!domain || domain != target->t->xrcd) return false;
    target->t->srq = shm_qpn_index(srqn) + 1;
    target->t->pd = q->pd;
    target->t->recv_cq = q->cq;
    return true;
}

/* The SRQ may belong to another process; the initiator then enters that process under the UD access
 * guard. Returns a completion status or SHCA_...; respond_end_xrc() must follow in every case. */
static inline int respond_begin_xrc(struct shca_target *target, uint32_t srqn)
{
    if (shm_qpn_slot(srqn) != target->owner->slot)
        target->peer = shca_peer_for(target, SHCA_HERE, srqn);
    if (target->peer && target->peer != target->owner && !target->peer->registered) {
        bool lost = target->peer->lost;
        target->peer = target->owner;
        return lost ? SHCA_NO_TARGET : SHCA_NOT_ATTACHED;
    }
    if (target->peer && target->peer != target->owner) shca_ud_access_enter(target->peer);
    if (target->peer && respond_use_srq(target, srqn)) return IBV_WC_SUCCESS;
    return respond_fault(target, 1 + IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
}

static inline void respond_end_xrc(struct shca_target *target)
{
    if (target->peer && target->peer != target->owner) shca_ud_access_leave(target->peer);
    target->peer = target->owner;
}

/* Ends of which one is a limited member of the partition are rare. */
static __attribute__((cold)) bool respond_accepts_limited(const struct shca_target *target)
{
    return shm_accepts_limited(target->t->accepts, target->sender_id);
}

HOT bool respond_accepted(const struct shca_target *target)
{
    return target->t->accepts == target->sender_id || respond_accepts_limited(target);
}

/* A message in RTR raises IBV_EVENT_COMM_EST at the owner, once. */
static __attribute__((cold)) bool respond_ready_in(struct shca_target *target, uint32_t state)
{
    if (state == IBV_QPS_RTR && target->type != IBV_QPT_UD && respond_accepted(target) &&
        !target->t->comm_est && !atomic_exchange(&target->t->comm_est, 1))
        shca_peer_ring(target->peer);
    return state == IBV_QPS_RTR || state == IBV_QPS_SQD || state == IBV_QPS_SQE;
}

HOT bool respond_target_ready(struct shca_target *target)
{
    uint32_t state = atomic_load_explicit(&target->t->state, memory_order_acquire);
    return (state == IBV_QPS_RTS || respond_ready_in(target, state)) && respond_accepted(target) &&
           !target->t->fault;
}

/* Makes active odd. The exchange is a full fence: all reads of the target's tables come after it.
 * An owner that has changed a table waits for active to change (shca_qp_quiesce), and so knows that
 * no initiator still uses the old value. */
static inline void respond_enter_target(struct shca_target *target)
{
    if (atomic_exchange(&target->t->active, target->active + 1) != target->active)
        target->prod = target->t->rq_cons; /* the target was reset: its receives were dropped */
}

static inline void respond_leave_target(struct shca_target *target)
{
    target->active += 2;
    atomic_store_explicit(&target->t->active, target->active, memory_order_release);
    shca_wake_sleeper(target->owner);
}

#endif
