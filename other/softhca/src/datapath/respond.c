/* respond.c - the responder's half of one WR.
 *
 * Executed by the initiator on behalf of the target: claims the receive, checks keys, ranges and
 * rights against the target's tables, moves the data, appends the target's completion. It never
 * waits for the target.
 */
#include "other/softhca/src/datapath/respond.h"
#include "other/softhca/src/segment/upward.h"

/* Writes into the target's memory; byte by byte when a fault asks for it. */
HOT int respond_move_in(struct shca_link *l, struct shca_gather *g, const struct shca_piece *there,
                        int n)
{
    if (g->n != 1 && l->tear) return shca_tear_write(l->tear, l->peer, g, there, n);
    return shca_move_fast(l->peer, true, g, there, n);
}

static int respond_send(struct shca_link *l, const struct ibv_send_wr *wr, struct shca_gather *g)
{
    struct shca_receive x;
    if (!respond_next_receive(l, &x)) return SHCA_NOT_READY;
    struct shm_cqe e;
    if (!respond_completion_for_send(l, wr, g->total, &e)) return respond_fail_imm(l, &x);
    if (l->grh) e.flags |= SHCA_CQE_GRH;
    struct shca_piece there[SHCA_MAX_SGE];
    bool all_direct;
    int n = respond_spread(l, &x, g->total, there, &all_direct);
    if (n < 0) return respond_fail_spread(l, &x, n);
    if (g->total <= SHCA_INLINE_CQE) {
        shca_copy_together(e.data, g);
        e.flags |= SHCA_CQE_DATA;
    } else if (!all_direct && g->total <= SHCA_INLINE_RECV) {
        shca_copy_together((char *)x.r + x.data, g);
        e.flags |= SHCA_CQE_SCATTER;
    } else {
        int error = respond_move_in(l, g, there, n);
        if (error) return respond_fail_move(l, &x, error);
    }
    return respond_finish_receive(l, &x, &e);
}

static int respond_rdma(struct shca_link *l, const struct ibv_send_wr *wr, struct shca_gather *g,
                        unsigned right)
{
    struct shm_mr *mr;
    int status = respond_check_rdma(l, wr, g->total, right, &mr);
    if (status != IBV_WC_SUCCESS || g->total == 0) return status;
    struct shca_piece there = respond_piece(l->peer, mr, wr->wr.rdma.remote_addr, g->total);
    return respond_end_rdma(l, right == IBV_ACCESS_REMOTE_WRITE
                                   ? respond_move_in(l, g, &there, 1)
                                   : shca_move_fast(l->peer, false, g, &there, 1));
}

static int respond_write_imm(struct shca_link *l, const struct ibv_send_wr *wr,
                             struct shca_gather *g)
{
    struct shca_receive x;
    if (!respond_next_receive(l, &x)) return SHCA_NOT_READY;
    int status = respond_rdma(l, wr, g, IBV_ACCESS_REMOTE_WRITE);
    if (status != IBV_WC_SUCCESS) return respond_return_receive(l, &x, status);
    struct shm_cqe e = respond_completion_for_write(wr, g->total);
    return respond_finish_receive(l, &x, &e);
}

/* On a word that is not mapped here only the owner can be atomic against its own threads. */
static int respond_atomic_on(struct shca_link *l, const struct ibv_send_wr *wr,
                             const struct shca_piece *x, uint64_t *old)
{
    bool swap = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    uint64_t a = wr->wr.atomic.compare_add, b = wr->wr.atomic.swap;
    if (!x->direct) return shca_rpc_atomic(l->peer, swap, x->va, a, b, old);
    if (swap) {
        *old = a;
        __atomic_compare_exchange_n((uint64_t *)x->direct, old, b, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    } else
        *old = __atomic_fetch_add((uint64_t *)x->direct, a, __ATOMIC_SEQ_CST);
    return 0;
}

static int respond_atomic(struct shca_link *l, const struct ibv_send_wr *wr, struct shca_gather *g)
{
    uint64_t addr = wr->wr.atomic.remote_addr, old;
    if (g->total != 8) return IBV_WC_LOC_LEN_ERR;
    if (!(l->t->access & IBV_ACCESS_REMOTE_ATOMIC) || addr % 8)
        return respond_fault(l, 1 + IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
    struct shm_mr *mr =
        shca_mr_find(l->peer->h, wr->wr.atomic.rkey, l->t->pd, addr, 8, IBV_ACCESS_REMOTE_ATOMIC);
    if (!mr) mr = shca_mw_find(l, wr->wr.atomic.rkey, addr, 8, IBV_ACCESS_REMOTE_ATOMIC);
    if (!mr) return respond_fault(l, 1 + IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
    struct shca_piece x = respond_piece(l->peer, mr, addr, 8);
    int error = respond_atomic_on(l, wr, &x, &old);
    if (error) return respond_move_status(error);
    struct shca_piece from = {.direct = &old, .len = 8};
    return respond_move_status(shca_move_fast(&shca.me, false, g, &from, 1));
}

static int respond_dispatch(struct shca_link *l, const struct ibv_send_wr *wr,
                            struct shca_gather *g)
{
    switch (wr->opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_SEND_WITH_INV:
        return respond_send(l, wr, g);
    case IBV_WR_RDMA_WRITE:
        return respond_rdma(l, wr, g, IBV_ACCESS_REMOTE_WRITE);
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return respond_write_imm(l, wr, g);
    case IBV_WR_RDMA_READ:
        return respond_rdma(l, wr, g, IBV_ACCESS_REMOTE_READ);
    default:
        return respond_atomic(l, wr, g);
    }
}

enum { TIMEOUT_MS = 100 }; /* in ibv_post_send(); after that the WR waits in the send queue */

/* Completes the link once the peer's segment is attached. */
bool shca_link_up(struct shca_link *l)
{
    if (!l->peer || !shca_peer_attach_within(l->peer, TIMEOUT_MS)) return false;
    l->t = &l->peer->h->qp[shm_qpn_index(l->to)];
    l->active = l->t->active & ~1u;
    l->prod = l->t->rq_cons;
    return true;
}

/* Sets *L up for QP TO at PLACE. If PLACE is on this host, *L keeps a reference to the process of
 * TO until shca_peer_put(). */
void shca_link(struct shca_link *l, struct shca_place place, enum ibv_qp_type from_type,
               uint32_t from, uint32_t to)
{
    *l = (struct shca_link){.type = from_type,
                            .reliable = from_type != IBV_QPT_UC,
                            .from = from,
                            .to = to,
                            .dest_port = place.port,
                            .sender_id = shm_sender_id(from_type, from, place.port)};
    l->peer = shca_peer_get(place.host, shm_qpn_slot(to));
    l->owner = l->peer;
}

static int respond_dispatch_xrc(struct shca_link *l, const struct ibv_send_wr *wr,
                                struct shca_gather *g)
{
    int status = respond_begin_xrc(l, wr->qp_type.xrc.remote_srqn);
    if (status == IBV_WC_SUCCESS) status = respond_dispatch(l, wr, g);
    respond_end_xrc(l);
    return status;
}

/* A connected QP: this initiator is the only one inside the target QP. */
static int respond_connected(struct shca_link *l, const struct ibv_send_wr *wr,
                             struct shca_gather *g)
{
    respond_enter_target(l);
    int status = SHCA_NO_TARGET;
    if (respond_target_ready(l))
        status = l->type == IBV_QPT_XRC_SEND ? respond_dispatch_xrc(l, wr, g)
                                             : respond_dispatch(l, wr, g);
    if (status == IBV_WC_SUCCESS) l->t->bytes += g->total;
    respond_leave_target(l);
    return status;
}

/* A datagram: other initiators may be inside the same QP. */
static int respond_datagram(struct shca_link *l, const struct ibv_send_wr *wr,
                            struct shca_gather *g)
{
    shca_ud_access_enter(l->peer);
    bool ready = respond_target_ready(l) && l->t->qkey == l->qkey;
    int status = ready ? respond_send(l, wr, g) : SHCA_NO_TARGET;
    shca_ud_access_leave(l->peer);
    return status;
}

/* A completion status, or when reliable SHCA_NOT_READY (no receive there) or SHCA_NO_TARGET (no
 * such QP there). The result of an unreliable message is not reported, but a message on a
 * connection waits until the peer is attached (SHCA_NOT_ATTACHED): a network would not lose it for
 * that. SHCA_REMOTE: the QP is on another host. */
int shca_respond(struct shca_link *l, const struct ibv_send_wr *wr, struct shca_gather *g)
{
    int status = SHCA_NO_TARGET;
    if (!l->t && l->peer && !l->peer->lost && !shca_link_up(l)) return SHCA_NOT_ATTACHED;
    if (l->t && shca_peer_dead(l->peer))
        status = atomic_load(&l->t->state) ? IBV_WC_RETRY_EXC_ERR : SHCA_NO_TARGET;
    else if (l->t)
        status = l->type == IBV_QPT_UD ? respond_datagram(l, wr, g) : respond_connected(l, wr, g);
    else if (l->remote)
        return SHCA_REMOTE;
    if (l->reliable) return status;
    return l->peer && l->peer->unmappable ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_SUCCESS;
}
