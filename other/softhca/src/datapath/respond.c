/* respond.c - the responder's half of one WR.
 *
 * Executed by the initiator on behalf of the target: claims the receive, checks keys, ranges and
 * rights against the target's tables, moves the data, appends the target's completion. It never
 * waits for the target.
 */
#include "other/softhca/src/datapath/respond.h"

#include "other/softhca/src/segment/upward.h"

/* Writes into the target's memory; byte by byte when a fault asks for it. */
HOT int respond_move_in(struct shca_target *target, struct shca_gather *g,
                        const struct shca_piece *there, int n)
{
    if (g->n != 1 && target->tear) return shca_tear_write(target->tear, target->peer, g, there, n);
    return shca_move_fast(target->peer, true, g, there, n);
}

static int respond_send(struct shca_target *target, const struct ibv_send_wr *wr,
                        struct shca_gather *g)
{
    struct shca_receive x;
    if (!respond_next_receive(target, &x)) return SHCA_NOT_READY;
    struct shm_cqe e;
    if (!respond_completion_for_send(target, wr, g->total, &e)) return respond_fail_imm(target, &x);
    if (target->grh) e.flags |= SHCA_CQE_GRH;
    struct shca_piece there[SHCA_MAX_SGE];
    bool all_direct;
    int n = respond_spread(target, &x, g->total, there, &all_direct);
    if (n < 0) return respond_fail_spread(target, &x, n);
    if (g->total <= SHCA_INLINE_CQE) {
        shca_copy_together(e.data, g);
        e.flags |= SHCA_CQE_DATA;
    } else if (!all_direct && g->total <= SHCA_INLINE_RECV) {
        shca_copy_together((char *)x.r + x.data, g);
        e.flags |= SHCA_CQE_SCATTER;
    } else {
        int error = respond_move_in(target, g, there, n);
        if (error) return respond_fail_move(target, &x, error);
    }
    return respond_finish_receive(target, &x, &e);
}

static int respond_rdma(struct shca_target *target, const struct ibv_send_wr *wr,
                        struct shca_gather *g, unsigned right)
{
    struct shm_mr *mr;
    int status = respond_check_rdma(target, wr, g->total, right, &mr);
    if (status != IBV_WC_SUCCESS || g->total == 0) return status;
    struct shca_piece there = respond_piece(target->peer, mr, wr->wr.rdma.remote_addr, g->total);
    return respond_end_rdma(target, right == IBV_ACCESS_REMOTE_WRITE
                                        ? respond_move_in(target, g, &there, 1)
                                        : shca_move_fast(target->peer, false, g, &there, 1));
}

static int respond_write_imm(struct shca_target *target, const struct ibv_send_wr *wr,
                             struct shca_gather *g)
{
    struct shca_receive x;
    if (!respond_next_receive(target, &x)) return SHCA_NOT_READY;
    int status = respond_rdma(target, wr, g, IBV_ACCESS_REMOTE_WRITE);
    if (status != IBV_WC_SUCCESS) return respond_return_receive(target, &x, status);
    struct shm_cqe e = respond_completion_for_write(wr, g->total);
    return respond_finish_receive(target, &x, &e);
}

/* On a word that is not mapped here only the owner can be atomic against its own threads. */
static int respond_atomic_on(struct shca_target *target, const struct ibv_send_wr *wr,
                             const struct shca_piece *x, uint64_t *old)
{
    bool swap = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    uint64_t a = wr->wr.atomic.compare_add, b = wr->wr.atomic.swap;
    if (!x->direct) return shca_rpc_atomic(target->peer, swap, x->va, a, b, old);
    if (swap) {
        *old = a;
        __atomic_compare_exchange_n((uint64_t *)x->direct, old, b, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    } else
        *old = __atomic_fetch_add((uint64_t *)x->direct, a, __ATOMIC_SEQ_CST);
    return 0;
}

static int respond_atomic(struct shca_target *target, const struct ibv_send_wr *wr,
                          struct shca_gather *g)
{
    uint64_t addr = wr->wr.atomic.remote_addr, old;
    if (g->total != 8) return IBV_WC_LOC_LEN_ERR;
    if (!(target->t->access & IBV_ACCESS_REMOTE_ATOMIC) || addr % 8)
        return respond_fault(target, 1 + IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
    struct shm_mr *mr = shca_mr_find(target->peer->h, wr->wr.atomic.rkey, target->t->pd, addr, 8,
                                     IBV_ACCESS_REMOTE_ATOMIC);
    if (!mr) mr = shca_mw_find(target, wr->wr.atomic.rkey, addr, 8, IBV_ACCESS_REMOTE_ATOMIC);
    if (!mr) return respond_fault(target, 1 + IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
    struct shca_piece x = respond_piece(target->peer, mr, addr, 8);
    int error = respond_atomic_on(target, wr, &x, &old);
    if (error) return respond_move_status(error);
    struct shca_piece from = {.direct = &old, .len = 8};
    return respond_move_status(shca_move_fast(&shca.me, false, g, &from, 1));
}

static int respond_dispatch(struct shca_target *target, const struct ibv_send_wr *wr,
                            struct shca_gather *g)
{
    switch (wr->opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_SEND_WITH_INV:
        return respond_send(target, wr, g);
    case IBV_WR_RDMA_WRITE:
        return respond_rdma(target, wr, g, IBV_ACCESS_REMOTE_WRITE);
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return respond_write_imm(target, wr, g);
    case IBV_WR_RDMA_READ:
        return respond_rdma(target, wr, g, IBV_ACCESS_REMOTE_READ);
    default:
        return respond_atomic(target, wr, g);
    }
}

enum { TIMEOUT_MS = 100 }; /* in ibv_post_send(); after that the WR waits in the send queue */

/* Completes the target once the peer's segment is attached. */
bool shca_target_attach(struct shca_target *target)
{
    if (!target->peer || !shca_peer_attach_within(target->peer, TIMEOUT_MS)) return false;
    target->t = &target->peer->h->qp[shm_qpn_index(target->to)];
    target->active = target->t->active & ~1u;
    target->prod = target->t->rq_cons;
    return true;
}

/* Sets *TARGET up for QP TO at DESTINATION. If that is this host, *TARGET keeps a reference to the
 * process of TO until shca_peer_put(). */
void shca_target_set(struct shca_target *target, struct shca_destination destination,
                     enum ibv_qp_type from_type, uint32_t from, uint32_t to)
{
    *target = (struct shca_target){.type = from_type,
                                   .reliable = from_type != IBV_QPT_UC,
                                   .from = from,
                                   .to = to,
                                   .dest_port = destination.port,
                                   .sender_id = shm_sender_id(from_type, from, destination.port)};
    target->peer = shca_peer_get(destination.host, shm_qpn_slot(to));
    target->owner = target->peer;
}

static int respond_dispatch_xrc(struct shca_target *target, const struct ibv_send_wr *wr,
                                struct shca_gather *g)
{
    int status = respond_begin_xrc(target, wr->qp_type.xrc.remote_srqn);
    if (status == IBV_WC_SUCCESS) status = respond_dispatch(target, wr, g);
    respond_end_xrc(target);
    return status;
}

/* A connected QP: this initiator is the only one inside the target QP. */
static int respond_connected(struct shca_target *target, const struct ibv_send_wr *wr,
                             struct shca_gather *g)
{
    respond_enter_target(target);
    int status = SHCA_NO_TARGET;
    if (respond_target_ready(target))
        status = target->type == IBV_QPT_XRC_SEND ? respond_dispatch_xrc(target, wr, g)
                                                  : respond_dispatch(target, wr, g);
    if (status == IBV_WC_SUCCESS) target->t->bytes += g->total;
    respond_leave_target(target);
    return status;
}

/* A datagram: other initiators may be inside the same QP. */
static int respond_datagram(struct shca_target *target, const struct ibv_send_wr *wr,
                            struct shca_gather *g)
{
    shca_ud_access_enter(target->peer);
    bool ready = respond_target_ready(target) && target->t->qkey == target->qkey;
    int status = ready ? respond_send(target, wr, g) : SHCA_NO_TARGET;
    shca_ud_access_leave(target->peer);
    return status;
}

/* A completion status, or when reliable SHCA_NOT_READY (no receive there) or SHCA_NO_TARGET (no
 * such QP there). The result of an unreliable message is not reported, but a message on a
 * connection waits until the peer is attached (SHCA_NOT_ATTACHED): a network would not lose it for
 * that. SHCA_REMOTE: the QP is on another host. */
int shca_respond(struct shca_target *target, const struct ibv_send_wr *wr, struct shca_gather *g)
{
    int status = SHCA_NO_TARGET;
    if (!target->t && target->peer && !target->peer->lost && !shca_target_attach(target))
        return SHCA_NOT_ATTACHED;
    if (target->t && shca_peer_dead(target->peer))
        status = atomic_load(&target->t->state) ? IBV_WC_RETRY_EXC_ERR : SHCA_NO_TARGET;
    else if (target->t)
        status = target->type == IBV_QPT_UD ? respond_datagram(target, wr, g)
                                            : respond_connected(target, wr, g);
    else if (target->remote)
        return SHCA_REMOTE;
    if (target->reliable) return status;
    return target->peer && target->peer->unmappable ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_SUCCESS;
}
