/* respond_part.c - the responder's half of a message that arrives in parts.
 *
 * As respond.c, for a part of a SEND, WRITE or READ: the checks are made anew for each part, and
 * the completion is appended with the last byte. The caller's MOVE transfers the bytes.
 */
#include "other/softhca/src/datapath/respond.h"

/* Lets MOVE transfer up to N bytes of the whole message, which lies in PIECES. */
static int respond_part_move(struct shca_part *p, size_t n, const struct shca_piece *piece,
                             int pieces)
{
    struct shca_piece slice[SHCA_MAX_SGE];
    size_t skip = p->at, left = n;
    int k = 0;
    for (int i = 0; i < pieces && left > 0; i++) {
        size_t from = skip < piece[i].len ? skip : piece[i].len, len = piece[i].len - from;
        skip -= from;
        if (len > left) len = left;
        if (len == 0) continue;
        slice[k] = (struct shca_piece){.va = piece[i].va + from, .len = len};
        if (piece[i].direct) slice[k].direct = (char *)piece[i].direct + from;
        k++;
        left -= len;
    }
    return p->move(p, slice, k);
}

/* The receive is claimed with the first part and kept for the others. */
static bool respond_part_claimed(struct shca_target *target, struct shca_part *p)
{
    if (!p->receive->r && !respond_next_receive(target, p->receive)) p->receive->r = NULL;
    return p->receive->r;
}

/* The receive was consumed or returned: forget it. */
static int respond_part_used_up(struct shca_part *p, int status)
{
    p->receive->r = NULL;
    return status;
}

static int respond_part_send(struct shca_target *target, const struct ibv_send_wr *wr,
                             struct shca_part *p, size_t n)
{
    struct shca_piece there[SHCA_MAX_SGE];
    bool all_direct;
    if (!respond_part_claimed(target, p)) return SHCA_NOT_READY;
    int pieces = respond_spread(target, p->receive, p->total, there, &all_direct);
    if (pieces < 0) return respond_part_used_up(p, respond_fail_spread(target, p->receive, pieces));
    int error = respond_part_move(p, n, there, pieces);
    if (error) return respond_part_used_up(p, respond_fail_move(target, p->receive, error));
    if (p->at < p->total) return IBV_WC_SUCCESS;
    struct shm_cqe e;
    if (!respond_completion_for_send(target, wr, p->total, &e))
        return respond_part_used_up(p, respond_fail_imm(target, p->receive));
    return respond_part_used_up(p, respond_finish_receive(target, p->receive, &e));
}

static int respond_part_rdma(struct shca_target *target, const struct ibv_send_wr *wr,
                             struct shca_part *p, size_t n, unsigned right)
{
    struct shm_mr *mr;
    int status = respond_check_rdma(target, wr, p->total, right, &mr);
    if (status != IBV_WC_SUCCESS || p->total == 0) return status;
    struct shca_piece there = respond_piece(target->peer, mr, wr->wr.rdma.remote_addr, p->total);
    return respond_end_rdma(target, respond_part_move(p, n, &there, 1));
}

static int respond_part_write_imm(struct shca_target *target, const struct ibv_send_wr *wr,
                                  struct shca_part *p, size_t n)
{
    if (!respond_part_claimed(target, p)) return SHCA_NOT_READY;
    int status = respond_part_rdma(target, wr, p, n, IBV_ACCESS_REMOTE_WRITE);
    if (status != IBV_WC_SUCCESS)
        return respond_part_used_up(p, respond_return_receive(target, p->receive, status));
    if (p->at < p->total) return status;
    struct shm_cqe e = respond_completion_for_write(wr, p->total);
    return respond_part_used_up(p, respond_finish_receive(target, p->receive, &e));
}

static int respond_part_dispatch(struct shca_target *target, const struct ibv_send_wr *wr,
                                 struct shca_part *p, size_t n)
{
    switch (wr->opcode) {
    case IBV_WR_RDMA_READ:
        return respond_part_rdma(target, wr, p, n, IBV_ACCESS_REMOTE_READ);
    case IBV_WR_RDMA_WRITE:
        return respond_part_rdma(target, wr, p, n, IBV_ACCESS_REMOTE_WRITE);
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return respond_part_write_imm(target, wr, p, n);
    default:
        return respond_part_send(target, wr, p, n);
    }
}

static int respond_part_enter_and_dispatch(struct shca_target *target, const struct ibv_send_wr *wr,
                                           struct shca_part *p, size_t n)
{
    /* A READ that was accepted is answered even if the QP breaks meanwhile. */
    if (wr->opcode != IBV_WR_RDMA_READ && !respond_target_ready(target)) return SHCA_NO_TARGET;
    if (target->type != IBV_QPT_XRC_SEND) return respond_part_dispatch(target, wr, p, n);
    int status = respond_begin_xrc(target, wr->qp_type.xrc.remote_srqn);
    if (status == IBV_WC_SUCCESS) status = respond_part_dispatch(target, wr, p, n);
    respond_end_xrc(target);
    return status;
}

/* Executes up to N bytes at P->at of a SEND, WRITE or READ of P->total bytes. */
int shca_respond_part(struct shca_target *target, const struct ibv_send_wr *wr, struct shca_part *p,
                      size_t n)
{
    respond_enter_target(target);
    int status = respond_part_enter_and_dispatch(target, wr, p, n);
    bool reads = wr->opcode == IBV_WR_RDMA_READ; /* counted when it was accepted */
    if (status == IBV_WC_SUCCESS && p->at == p->total && !reads) target->t->bytes += p->total;
    respond_leave_target(target);
    return status;
}

/* The rest of the message will not arrive: return the receive. */
void shca_respond_drop(struct shca_target *target, struct shca_receive *x)
{
    if (x->r) respond_return_receive(target, x, 0);
    x->r = NULL;
}
