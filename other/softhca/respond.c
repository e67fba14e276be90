/* respond.c - the responder's half of one WR, for any carrier.
 *
 * Done by the initiator on behalf of the target: claims the receive, checks keys, ranges and
 * rights against the target's tables, moves the data, appends the target's completion. It never
 * waits for the target's progress.
 */
#include "hot.h"

#include <string.h>

static SHCA_HOT struct shca_piece piece(struct shca_peer *p, const struct shm_mr *mr, uint64_t addr,
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

/* The target's QP breaks; its owner is told, to flush it and to raise the event. */
static int break_target(struct shca_link *l, uint32_t what, int status)
{
    atomic_store(&l->t->fault, what);
    shca_peer_ring(l->home);
    return status;
}

/* A bad request breaks the target's QP too; when it is unreliable the request is lost. */
static int fault(struct shca_link *l, uint32_t what, int status)
{
    return l->reliable ? break_target(l, what, status) : status;
}

static int move_status(int error)
{
    if (error == 0) return IBV_WC_SUCCESS;
    return error == EFAULT ? IBV_WC_REM_ACCESS_ERR : IBV_WC_RETRY_EXC_ERR;
}

/* The receive that a message uses up. */
struct receive {
    struct shm_rwr *r;
    uint32_t data; /* from r to its SHCA_INLINE_RECV bytes */
    uint32_t index, pd;
    uint32_t srq; /* 1 + index, 0 when it is the QP's own */
};

static struct shm_srq *srq_of(const struct shca_link *l, const struct receive *x)
{
    return &l->peer->h->srq[(x->srq - 1) % SHCA_SRQS];
}

/* That at the head of a shared queue. Many may claim there: it is ours or nobody else's. */
static bool claim_receive(struct shca_link *l, struct receive *x)
{
    struct shm_srq *q = srq_of(l, x);
    struct shm_slot *slot = shca_srq_claim(l->peer, q, l->reliable, &x->index);
    if (!slot) return false;
    x->r = &slot->r;
    x->data = q->data;
    x->pd = q->pd;
    return true;
}

/* That at the head of the target's own queue, where we are the only one. */
static bool next_receive(struct shca_link *l, struct receive *x)
{
    struct shm_qp *t = l->t;
    x->srq = t->srq;
    if (x->srq) return claim_receive(l, x);
    x->index = atomic_load_explicit(&t->rq_cons, memory_order_relaxed);
    if (l->prod == x->index) l->prod = atomic_load_explicit(&t->rq_prod, memory_order_acquire);
    if (l->prod == x->index) {
        if (!l->reliable) return false;
        atomic_exchange(&t->sender_waits, 1);
        l->prod = atomic_load(&t->rq_prod);
        if (l->prod == x->index) return false;
    }
    x->r = shm_at(l->peer->h, t->rq_ring + (uint64_t)(x->index & t->rq_mask) * t->rq_stride);
    x->data = t->rq_data;
    x->pd = t->pd;
    return true;
}

/* The message did not come about: the receive stays for another. */
static int leave_receive(struct shca_link *l, struct receive *x, int status)
{
    if (x->srq) shca_srq_return(l->peer, srq_of(l, x), x->index);
    return status;
}

/* Consume the receive with a completion on the target's CQ. */
static int finish_receive(struct shca_link *l, const struct receive *x, struct shm_cqe *e)
{
    struct shm_qp *t = l->t;
    e->wr_id = x->r->wr_id;
    e->side = SHCA_SIDE_RECV;
    e->index = x->index;
    if (x->srq) {
        e->index += (x->srq - 1) * SHCA_MAX_WR;
        e->flags |= SHCA_CQE_SRQ;
    }
    e->qpn = l->to;
    e->src_qp = l->from;
    e->route = l->route;
    bool pushed = shca_cq_push(l->peer, t->recv_cq, e);
    if (!x->srq) atomic_store_explicit(&t->rq_cons, x->index + 1, memory_order_release);
    return pushed ? IBV_WC_SUCCESS : IBV_WC_REM_OP_ERR;
}

static int fail_receive(struct shca_link *l, const struct receive *x, int theirs, int ours)
{
    struct shm_cqe e = {.opcode = IBV_WC_RECV, .status = theirs};
    finish_receive(l, x, &e);
    return break_target(l, SHCA_FAULT_QUIET, ours);
}

/* The receive's SGEs as far as TOTAL reaches: the number of pieces, or -status of the receiver. */
static int spread(struct shca_link *l, const struct receive *x, uint64_t total,
                  struct shca_piece *out, bool *all_direct)
{
    int n = 0;
    uint64_t left = total;
    *all_direct = true;
    for (uint32_t i = 0; i < x->r->num_sge && left > 0; i++) {
        const struct ibv_sge *s = &x->r->sge[i];
        if (s->length == 0) continue;
        uint64_t len = s->length < left ? s->length : left;
        struct shm_mr *mr =
            shca_mr_find(l->peer->h, s->lkey, x->pd, s->addr, s->length, IBV_ACCESS_LOCAL_WRITE);
        if (!mr) return -IBV_WC_LOC_PROT_ERR;
        left -= len;
        if (total <= SHCA_INLINE_CQE) continue; /* its owner will put it there */
        out[n] = piece(l->peer, mr, s->addr, len);
        if (!out[n++].direct) *all_direct = false;
    }
    return left > 0 ? -IBV_WC_LOC_LEN_ERR : n;
}

static void copy_together(char *to, const struct shca_gather *g)
{
    for (int i = 0; i < g->n; i++) {
        memcpy(to, g->iov[i].iov_base, g->iov[i].iov_len);
        to += g->iov[i].iov_len;
    }
}

/* The word that comes with a SEND: data, or the key of a window of the target that ends with it. */
static bool add_word(struct shca_link *l, const struct ibv_send_wr *wr, struct shm_cqe *e)
{
    e->imm = wr->imm_data;
    e->flags = wr->opcode == IBV_WR_SEND_WITH_INV ? SHCA_CQE_INV : SHCA_CQE_IMM;
    return wr->opcode == IBV_WR_SEND_WITH_IMM ||
           shca_mw_invalidate(l->peer->h, wr->invalidate_rkey, l->t->pd, l->to);
}

static int deliver_send(struct shca_link *l, const struct ibv_send_wr *wr, struct shca_gather *g)
{
    struct receive x;
    if (!next_receive(l, &x)) return SHCA_NOT_READY;
    struct shm_cqe e = {.opcode = IBV_WC_RECV, .byte_len = g->total};
    if (wr->opcode != IBV_WR_SEND && !add_word(l, wr, &e))
        return fail_receive(l, &x, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_OP_ERR);
    if (wr->send_flags & IBV_SEND_SOLICITED) e.flags |= SHCA_CQE_SOLICITED;
    if (l->grh) e.flags |= SHCA_CQE_GRH;
    struct shca_piece there[SHCA_MAX_SGE];
    bool all_direct;
    int n = spread(l, &x, g->total, there, &all_direct);
    if (n == -IBV_WC_LOC_LEN_ERR && l->type == IBV_QPT_UC)
        return leave_receive(l, &x, IBV_WC_REM_INV_REQ_ERR);
    if (n < 0)
        return fail_receive(l, &x, -n,
                            n == -IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR);
    if (g->total <= SHCA_INLINE_CQE) {
        copy_together(e.data, g);
        e.flags |= SHCA_CQE_DATA;
    } else if (!all_direct && g->total <= SHCA_INLINE_RECV) {
        copy_together((char *)x.r + x.data, g);
        e.flags |= SHCA_CQE_SCATTER;
    } else {
        int error = shca_move_fast(l->peer, true, g, there, n);
        if (error == EFAULT) return fail_receive(l, &x, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
        if (error) return leave_receive(l, &x, IBV_WC_RETRY_EXC_ERR);
    }
    return finish_receive(l, &x, &e);
}

/* READ and WRITE: the right of the QP, then of the MR, then the bytes. */
static int deliver_rdma(struct shca_link *l, const struct ibv_send_wr *wr, struct shca_gather *g,
                        unsigned right)
{
    if (!(l->t->access & right)) return fault(l, 1 + IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
    if (g->total == 0) return IBV_WC_SUCCESS;
    struct shm_mr *mr = shca_mr_find(l->peer->h, wr->wr.rdma.rkey, l->t->pd,
                                     wr->wr.rdma.remote_addr, g->total, right);
    if (!mr) mr = shca_mw_find(l, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, g->total, right);
    if (!mr) return fault(l, 1 + IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
    struct shca_piece there = piece(l->peer, mr, wr->wr.rdma.remote_addr, g->total);
    int error = shca_move_fast(l->peer, right == IBV_ACCESS_REMOTE_WRITE, g, &there, 1);
    if (error == EFAULT) return fault(l, 1 + IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
    return move_status(error);
}

static int deliver_write_imm(struct shca_link *l, const struct ibv_send_wr *wr,
                             struct shca_gather *g)
{
    struct receive x;
    if (!next_receive(l, &x)) return SHCA_NOT_READY;
    int status = deliver_rdma(l, wr, g, IBV_ACCESS_REMOTE_WRITE);
    if (status != IBV_WC_SUCCESS) return leave_receive(l, &x, status);
    struct shm_cqe e = {.opcode = IBV_WC_RECV_RDMA_WITH_IMM,
                        .byte_len = g->total,
                        .imm = wr->imm_data,
                        .flags = SHCA_CQE_IMM};
    if (wr->send_flags & IBV_SEND_SOLICITED) e.flags |= SHCA_CQE_SOLICITED;
    return finish_receive(l, &x, &e);
}

/* On a word that is not mapped here only its owner can act atomically. */
static int atomic_on(struct shca_link *l, const struct ibv_send_wr *wr, const struct shca_piece *x,
                     uint64_t *old)
{
    bool swap = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    uint64_t a = wr->wr.atomic.compare_add, b = wr->wr.atomic.swap;
    if (!x->direct) return shca_ask_atomic(l->peer, swap, x->va, a, b, old);
    if (swap) {
        *old = a;
        __atomic_compare_exchange_n((uint64_t *)x->direct, old, b, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    } else
        *old = __atomic_fetch_add((uint64_t *)x->direct, a, __ATOMIC_SEQ_CST);
    return 0;
}

static int deliver_atomic(struct shca_link *l, const struct ibv_send_wr *wr, struct shca_gather *g)
{
    uint64_t addr = wr->wr.atomic.remote_addr, old;
    if (g->total != 8) return IBV_WC_LOC_LEN_ERR;
    if (!(l->t->access & IBV_ACCESS_REMOTE_ATOMIC) || addr % 8)
        return fault(l, 1 + IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
    struct shm_mr *mr =
        shca_mr_find(l->peer->h, wr->wr.atomic.rkey, l->t->pd, addr, 8, IBV_ACCESS_REMOTE_ATOMIC);
    if (!mr) mr = shca_mw_find(l, wr->wr.atomic.rkey, addr, 8, IBV_ACCESS_REMOTE_ATOMIC);
    if (!mr) return fault(l, 1 + IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
    struct shca_piece x = piece(l->peer, mr, addr, 8);
    int error = atomic_on(l, wr, &x, &old);
    if (error) return move_status(error);
    struct shca_piece from = {.direct = &old, .len = 8};
    return move_status(shca_move_fast(&shca.me, false, g, &from, 1));
}

static int dispatch(struct shca_link *l, const struct ibv_send_wr *wr, struct shca_gather *g)
{
    switch (wr->opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_SEND_WITH_INV:
        return deliver_send(l, wr, g);
    case IBV_WR_RDMA_WRITE:
        return deliver_rdma(l, wr, g, IBV_ACCESS_REMOTE_WRITE);
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return deliver_write_imm(l, wr, g);
    case IBV_WR_RDMA_READ:
        return deliver_rdma(l, wr, g, IBV_ACCESS_REMOTE_READ);
    default:
        return deliver_atomic(l, wr, g);
    }
}

/* The owner learns of the first message that comes before it has made the connection its own. */
static __attribute__((cold, noinline)) bool listens_in(struct shca_link *l, uint32_t state)
{
    if (state == IBV_QPS_RTR && l->type != IBV_QPT_UD && l->t->listens == l->speaks &&
        !l->t->came && !atomic_exchange(&l->t->came, 1))
        shca_peer_ring(l->peer);
    return state == IBV_QPS_RTR || state == IBV_QPS_SQD || state == IBV_QPS_SQE;
}

static SHCA_HOT bool target_listens(struct shca_link *l)
{
    uint32_t state = atomic_load_explicit(&l->t->state, memory_order_acquire);
    return (state == IBV_QPS_RTS || listens_in(l, state)) && l->t->listens == l->speaks &&
           !l->t->fault;
}

/* Aim at QP TO at PLACE; *L holds the peer, if there is one, until shca_peer_put(). */
void shca_link(struct shca_link *l, struct shca_place place, enum ibv_qp_type from_type,
               uint32_t from, uint32_t to)
{
    *l = (struct shca_link){.type = from_type,
                            .reliable = from_type != IBV_QPT_UC,
                            .from = from,
                            .to = to,
                            .aim = place.port,
                            .speaks = shm_word(from_type, from, place.port)};
    l->peer = shca_peer_get(place.host, shm_qpn_slot(to));
    l->home = l->peer;
    if (!l->peer) return;
    l->t = &l->peer->h->qp[shm_qpn_index(to)];
    l->active = l->t->active & ~1u;
    l->prod = l->t->rq_cons;
}

/* An XRC target has no PD and no queues: the shared queue that a message names lends it its own.
 * The initiator is alone in the target, so it may set them. */
static bool borrow(struct shca_link *l, uint32_t srqn)
{
    struct shm_srq *q = &l->peer->h->srq[shm_qpn_index(srqn)];
    uint64_t domain = atomic_load_explicit(&q->xrcd, memory_order_acquire);
    if (!domain || domain != l->t->xrcd) return false;
    l->t->srq = shm_qpn_index(srqn) + 1;
    l->t->pd = q->pd;
    l->t->recv_cq = q->cq;
    return true;
}

/* That queue may be of another process, which the initiator enters as a guest. */
static int dispatch_xrc(struct shca_link *l, const struct ibv_send_wr *wr, struct shca_gather *g)
{
    uint32_t srqn = wr->qp_type.xrc.remote_srqn;
    bool guest = shm_qpn_slot(srqn) != l->home->slot;
    if (guest) l->peer = shca_peer_for(l, SHCA_HERE, srqn);
    int status = IBV_WC_REM_INV_REQ_ERR;
    if (guest && l->peer) shca_guest_enter(l->peer);
    if (l->peer && borrow(l, srqn))
        status = dispatch(l, wr, g);
    else
        fault(l, 1 + IBV_EVENT_QP_REQ_ERR, status);
    if (guest && l->peer) shca_guest_leave(l->peer);
    l->peer = l->home;
    return status;
}

/* On a connection: alone in the target's QP. */
static int respond_connected(struct shca_link *l, const struct ibv_send_wr *wr,
                             struct shca_gather *g)
{
    /* The exchange orders the flag before all that is read of the target: its owner, having
     * changed a table, waits for the flag to change and then knows that we saw the change. */
    if (atomic_exchange(&l->t->active, l->active + 1) != l->active)
        l->prod = l->t->rq_cons; /* the target was reset: forget what was posted before */
    int status = SHCA_NOBODY;
    if (target_listens(l))
        status = l->type == IBV_QPT_XRC_SEND ? dispatch_xrc(l, wr, g) : dispatch(l, wr, g);
    if (status == IBV_WC_SUCCESS) l->t->bytes += g->total;
    l->active += 2;
    atomic_store_explicit(&l->t->active, l->active, memory_order_release);
    return status;
}

/* A datagram: one of many, in a process that may not know of us. */
static int respond_to_guest(struct shca_link *l, const struct ibv_send_wr *wr,
                            struct shca_gather *g)
{
    shca_guest_enter(l->peer);
    bool heard = target_listens(l) && l->t->qkey == l->qkey;
    int status = heard ? deliver_send(l, wr, g) : SHCA_NOBODY;
    shca_guest_leave(l->peer);
    return status;
}

/* A completion status; or, when reliable, SHCA_NOT_READY (no receive there) or SHCA_NOBODY (no such
 * QP there). Of an unreliable message nobody hears what became of it. */
int shca_respond(struct shca_link *l, const struct ibv_send_wr *wr, struct shca_gather *g)
{
    int status = SHCA_NOBODY;
    if (l->peer && shca_peer_dead(l->peer))
        status = IBV_WC_RETRY_EXC_ERR;
    else if (l->peer)
        status = l->type == IBV_QPT_UD ? respond_to_guest(l, wr, g) : respond_connected(l, wr, g);
    return l->reliable ? status : IBV_WC_SUCCESS;
}
