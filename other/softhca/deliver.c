/* deliver.c - one WR on a connected QP, executed by the initiator on behalf of both ends.
 *
 * It plays the responder: claims the receive, checks keys, ranges and rights against the target's
 * tables, moves the data, appends the target's completion. It returns the completion status for
 * the initiator, or says that the WR has to wait. It never blocks on the target's progress.
 */
#include "object.h"

#include <string.h>

struct gather {
    struct iovec iov[SHCA_MAX_SGE];
    int n;
    uint64_t total;
};

/* The local side of a WR: lkeys are checked as the HCA would, just before use. */
static int gather(struct shca_qp *qp, const struct ibv_send_wr *wr, struct gather *g)
{
    g->total = 0;
    g->n = wr->num_sge;
    bool fetches = wr->opcode == IBV_WR_RDMA_READ || wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
                   wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    bool by_value = wr->send_flags & IBV_SEND_INLINE && !fetches;
    for (int i = 0; i < g->n; i++) {
        const struct ibv_sge *s = &wr->sg_list[i];
        uint64_t va = s->addr;
        if (!by_value && s->length > 0) {
            struct shm_mr *mr = shca_mr_find(shca.h, s->lkey, qp->s->pd, s->addr, s->length,
                                             fetches ? IBV_ACCESS_LOCAL_WRITE : 0);
            if (!mr) return IBV_WC_LOC_PROT_ERR;
            va = mr->va + (s->addr - mr->iova);
        }
        g->iov[i] = (struct iovec){(void *)(uintptr_t)va, s->length};
        g->total += s->length;
    }
    return g->total > 1ull << 30 ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
}

static struct shca_piece piece(struct shca_peer *p, const struct shm_mr *mr, uint64_t addr,
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

/* The target's QP breaks too; its owner is told, to flush it and to raise the event. */
static int fault(struct shca_qp *qp, uint32_t what, int status)
{
    atomic_store(&qp->t->fault, what);
    shca_peer_ring(qp->peer);
    return status;
}

static int move_status(int error)
{
    if (error == 0) return IBV_WC_SUCCESS;
    return error == EFAULT ? IBV_WC_REM_ACCESS_ERR : IBV_WC_RETRY_EXC_ERR;
}

/* The receive at the head of the target's queue, or NULL after asking to be rung. */
static struct shm_rwr *next_receive(struct shca_qp *qp, uint32_t *index)
{
    struct shm_qp *t = qp->t;
    *index = atomic_load_explicit(&t->rq_cons, memory_order_relaxed);
    if (qp->t_prod == *index) qp->t_prod = atomic_load_explicit(&t->rq_prod, memory_order_acquire);
    if (qp->t_prod == *index) {
        atomic_exchange(&t->sender_waits, 1);
        qp->t_prod = atomic_load(&t->rq_prod);
        if (qp->t_prod == *index) return NULL;
    }
    return shm_at(qp->peer->h, t->rq_ring + (uint64_t)(*index & t->rq_mask) * t->rq_stride);
}

/* Consume the receive with a completion on the target's CQ. */
static int finish_receive(struct shca_qp *qp, uint32_t index, struct shm_cqe *e)
{
    struct shm_qp *t = qp->t;
    e->side = SHCA_SIDE_RECV;
    e->index = index;
    e->qpn = qp->attr.dest_qp_num;
    e->src_qp = qp->base.qp_num;
    bool pushed = shca_cq_push(qp->peer, t->recv_cq, e);
    atomic_store_explicit(&t->rq_cons, index + 1, memory_order_release);
    return pushed ? IBV_WC_SUCCESS : IBV_WC_REM_OP_ERR;
}

static int fail_receive(struct shca_qp *qp, uint32_t index, struct shm_rwr *r, int theirs, int ours)
{
    struct shm_cqe e = {.wr_id = r->wr_id, .opcode = IBV_WC_RECV, .status = theirs};
    finish_receive(qp, index, &e);
    return fault(qp, SHCA_FAULT_QUIET, ours);
}

/* The receive's SGEs as far as TOTAL reaches: the number of pieces, or -status of the receiver. */
static int spread(struct shca_qp *qp, const struct shm_rwr *r, uint64_t total,
                  struct shca_piece *out, bool *all_direct)
{
    int n = 0;
    uint64_t left = total;
    *all_direct = true;
    for (uint32_t i = 0; i < r->num_sge && left > 0; i++) {
        const struct ibv_sge *s = &r->sge[i];
        if (s->length == 0) continue;
        uint64_t len = s->length < left ? s->length : left;
        struct shm_mr *mr = shca_mr_find(qp->peer->h, s->lkey, qp->t->pd, s->addr, s->length,
                                         IBV_ACCESS_LOCAL_WRITE);
        if (!mr) return -IBV_WC_LOC_PROT_ERR;
        out[n] = piece(qp->peer, mr, s->addr, len);
        if (!out[n++].direct) *all_direct = false;
        left -= len;
    }
    return left > 0 ? -IBV_WC_LOC_LEN_ERR : n;
}

static void copy_into_slot(struct shca_qp *qp, struct shm_rwr *r, const struct gather *g)
{
    char *to = (char *)r + qp->t->rq_data;
    for (int i = 0; i < g->n; i++) {
        memcpy(to, g->iov[i].iov_base, g->iov[i].iov_len);
        to += g->iov[i].iov_len;
    }
}

static int deliver_send(struct shca_qp *qp, const struct ibv_send_wr *wr, struct gather *g)
{
    uint32_t index;
    struct shm_rwr *r = next_receive(qp, &index);
    if (!r) return SHCA_NOT_READY;
    struct shm_cqe e = {.wr_id = r->wr_id, .opcode = IBV_WC_RECV, .byte_len = g->total};
    if (wr->opcode == IBV_WR_SEND_WITH_IMM) e.imm = wr->imm_data, e.flags = SHCA_CQE_IMM;
    if (wr->send_flags & IBV_SEND_SOLICITED) e.flags |= SHCA_CQE_SOLICITED;
    struct shca_piece there[SHCA_MAX_SGE];
    bool all_direct;
    int n = spread(qp, r, g->total, there, &all_direct);
    if (n < 0)
        return fail_receive(qp, index, r, -n,
                            n == -IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR);
    if (!all_direct && g->total <= SHCA_INLINE_RECV) {
        copy_into_slot(qp, r, g);
        e.flags |= SHCA_CQE_SCATTER;
    } else {
        int error = shca_move(qp->peer, true, g->iov, g->n, there, n);
        if (error == EFAULT)
            return fail_receive(qp, index, r, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
        if (error) return IBV_WC_RETRY_EXC_ERR;
    }
    return finish_receive(qp, index, &e);
}

/* READ and WRITE: the right of the QP, then of the MR, then the bytes. */
static int deliver_rdma(struct shca_qp *qp, const struct ibv_send_wr *wr, struct gather *g,
                        unsigned right)
{
    if (!(qp->t->access & right))
        return fault(qp, 1 + IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
    if (g->total == 0) return IBV_WC_SUCCESS;
    struct shm_mr *mr = shca_mr_find(qp->peer->h, wr->wr.rdma.rkey, qp->t->pd,
                                     wr->wr.rdma.remote_addr, g->total, right);
    if (!mr) return fault(qp, 1 + IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
    struct shca_piece there = piece(qp->peer, mr, wr->wr.rdma.remote_addr, g->total);
    int error = shca_move(qp->peer, right == IBV_ACCESS_REMOTE_WRITE, g->iov, g->n, &there, 1);
    if (error == EFAULT) return fault(qp, 1 + IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
    return move_status(error);
}

static int deliver_write_imm(struct shca_qp *qp, const struct ibv_send_wr *wr, struct gather *g)
{
    uint32_t index;
    struct shm_rwr *r = next_receive(qp, &index);
    if (!r) return SHCA_NOT_READY;
    int status = deliver_rdma(qp, wr, g, IBV_ACCESS_REMOTE_WRITE);
    if (status != IBV_WC_SUCCESS) return status;
    struct shm_cqe e = {.wr_id = r->wr_id,
                        .opcode = IBV_WC_RECV_RDMA_WITH_IMM,
                        .byte_len = g->total,
                        .imm = wr->imm_data,
                        .flags = SHCA_CQE_IMM};
    if (wr->send_flags & IBV_SEND_SOLICITED) e.flags |= SHCA_CQE_SOLICITED;
    return finish_receive(qp, index, &e);
}

/* On a word that is not mapped here only its owner can act atomically. */
static int atomic_on(struct shca_qp *qp, const struct ibv_send_wr *wr, const struct shca_piece *x,
                     uint64_t *old)
{
    bool swap = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    uint64_t a = wr->wr.atomic.compare_add, b = wr->wr.atomic.swap;
    if (!x->direct) return shca_ask_atomic(qp->peer, swap, x->va, a, b, old);
    if (swap) {
        *old = a;
        __atomic_compare_exchange_n((uint64_t *)x->direct, old, b, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    } else
        *old = __atomic_fetch_add((uint64_t *)x->direct, a, __ATOMIC_SEQ_CST);
    return 0;
}

static int deliver_atomic(struct shca_qp *qp, const struct ibv_send_wr *wr, struct gather *g)
{
    uint64_t addr = wr->wr.atomic.remote_addr, old;
    if (g->total != 8) return IBV_WC_LOC_LEN_ERR;
    if (!(qp->t->access & IBV_ACCESS_REMOTE_ATOMIC) || addr % 8)
        return fault(qp, 1 + IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
    struct shm_mr *mr =
        shca_mr_find(qp->peer->h, wr->wr.atomic.rkey, qp->t->pd, addr, 8, IBV_ACCESS_REMOTE_ATOMIC);
    if (!mr) return fault(qp, 1 + IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
    struct shca_piece x = piece(qp->peer, mr, addr, 8);
    int error = atomic_on(qp, wr, &x, &old);
    if (error) return move_status(error);
    struct shca_piece from = {.direct = &old, .len = 8};
    return move_status(shca_move(&shca.me, false, g->iov, g->n, &from, 1));
}

static int dispatch(struct shca_qp *qp, const struct ibv_send_wr *wr, struct gather *g)
{
    switch (wr->opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        return deliver_send(qp, wr, g);
    case IBV_WR_RDMA_WRITE:
        return deliver_rdma(qp, wr, g, IBV_ACCESS_REMOTE_WRITE);
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return deliver_write_imm(qp, wr, g);
    case IBV_WR_RDMA_READ:
        return deliver_rdma(qp, wr, g, IBV_ACCESS_REMOTE_READ);
    default:
        return deliver_atomic(qp, wr, g);
    }
}

static bool target_listens(const struct shca_qp *qp)
{
    uint32_t state = atomic_load_explicit(&qp->t->state, memory_order_acquire);
    return (state == IBV_QPS_RTS || state == IBV_QPS_RTR || state == IBV_QPS_SQD) &&
           qp->t->dest_qpn == qp->base.qp_num && !qp->t->fault;
}

/* A completion status, or SHCA_NOT_READY (no receive there) or SHCA_NOBODY (no such QP there). */
int shca_deliver(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    struct gather g;
    int status = gather(qp, wr, &g);
    if (status != IBV_WC_SUCCESS) return status;
    if (!qp->peer) return SHCA_NOBODY;
    if (shca_peer_dead(qp->peer)) return IBV_WC_RETRY_EXC_ERR;
    /* The exchange orders the flag before all that is read of the target: its owner, having
     * changed a table, waits for the flag to change and then knows that we saw the change. */
    if (atomic_exchange(&qp->t->active, qp->t_active + 1) != qp->t_active)
        qp->t_prod = qp->t->rq_cons; /* the target was reset: forget what was posted before */
    status = target_listens(qp) ? dispatch(qp, wr, &g) : SHCA_NOBODY;
    qp->t_active += 2;
    atomic_store_explicit(&qp->t->active, qp->t_active, memory_order_release);
    return status;
}
