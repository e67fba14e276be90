/* qp_ex.c - the ibv_wr_*() functions: they build a list of ordinary WRs.
 *
 * The calls between ibv_wr_start() and ibv_wr_complete() build the list in a batch of the QP, which
 * stays locked meanwhile. ibv_wr_complete() posts the list, ibv_wr_abort() drops it. Errors are
 * those of ibv_post_send().
 */
#include <stdlib.h>
#include <string.h>

#include "other/softhca/src/verbs/verbs.h"

struct shca_batch {
    struct shca_lock lock;
    uint32_t n, room, sges, stride;
    struct ibv_send_wr *wr;
    struct ibv_sge *sge;
    char *bytes; /* ROOM slots of STRIDE bytes, for inline data */
    int error;
    int dead; /* EIO in a forked child */
};

static struct shca_batch *qp_ex_batch_of(struct ibv_qp_ex *q)
{
    return shca_qp(&q->qp_base)->batch;
}

static void qp_ex_wr_start(struct ibv_qp_ex *q)
{
    struct shca_batch *b = qp_ex_batch_of(q);
    shca_lock(&b->lock);
    b->n = 0;
    b->error = b->dead;
}

static struct ibv_send_wr *qp_ex_add(struct ibv_qp_ex *q, enum ibv_wr_opcode opcode)
{
    struct shca_batch *b = qp_ex_batch_of(q);
    if (b->n == b->room) {
        b->error = ENOMEM;
        return &b->wr[b->n - 1];
    }
    struct ibv_send_wr *wr = &b->wr[b->n];
    *wr = (struct ibv_send_wr){.wr_id = q->wr_id,
                               .opcode = opcode,
                               .send_flags = q->wr_flags,
                               .sg_list = &b->sge[b->n * b->sges]};
    b->n++;
    return wr;
}

static struct ibv_send_wr *qp_ex_last(struct ibv_qp_ex *q)
{
    struct shca_batch *b = qp_ex_batch_of(q);
    return &b->wr[b->n ? b->n - 1 : 0];
}

static void qp_ex_rdma(struct ibv_qp_ex *q, enum ibv_wr_opcode o, uint32_t rkey, uint64_t addr)
{
    struct ibv_send_wr *wr = qp_ex_add(q, o);
    wr->wr.rdma.rkey = rkey;
    wr->wr.rdma.remote_addr = addr;
}

static void qp_ex_wr_send(struct ibv_qp_ex *q)
{
    qp_ex_add(q, IBV_WR_SEND);
}

static void qp_ex_wr_send_imm(struct ibv_qp_ex *q, __be32 imm)
{
    qp_ex_add(q, IBV_WR_SEND_WITH_IMM)->imm_data = imm;
}

static void qp_ex_wr_send_inv(struct ibv_qp_ex *q, uint32_t rkey)
{
    qp_ex_add(q, IBV_WR_SEND_WITH_INV)->invalidate_rkey = rkey;
}

static void qp_ex_wr_local_inv(struct ibv_qp_ex *q, uint32_t rkey)
{
    qp_ex_add(q, IBV_WR_LOCAL_INV)->invalidate_rkey = rkey;
}

static void qp_ex_wr_bind_mw(struct ibv_qp_ex *q, struct ibv_mw *mw, uint32_t rkey,
                             const struct ibv_mw_bind_info *info)
{
    struct ibv_send_wr *wr = qp_ex_add(q, IBV_WR_BIND_MW);
    wr->bind_mw.mw = mw;
    wr->bind_mw.rkey = rkey;
    wr->bind_mw.bind_info = *info;
}

static void qp_ex_wr_rdma_write(struct ibv_qp_ex *q, uint32_t rkey, uint64_t addr)
{
    qp_ex_rdma(q, IBV_WR_RDMA_WRITE, rkey, addr);
}

static void qp_ex_wr_rdma_write_imm(struct ibv_qp_ex *q, uint32_t rkey, uint64_t addr, __be32 imm)
{
    qp_ex_rdma(q, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr);
    qp_ex_last(q)->imm_data = imm;
}

static void qp_ex_wr_rdma_read(struct ibv_qp_ex *q, uint32_t rkey, uint64_t addr)
{
    qp_ex_rdma(q, IBV_WR_RDMA_READ, rkey, addr);
}

static void qp_ex_wr_atomic_cmp_swp(struct ibv_qp_ex *q, uint32_t rkey, uint64_t addr,
                                    uint64_t compare, uint64_t swap)
{
    struct ibv_send_wr *wr = qp_ex_add(q, IBV_WR_ATOMIC_CMP_AND_SWP);
    wr->wr.atomic.rkey = rkey;
    wr->wr.atomic.remote_addr = addr;
    wr->wr.atomic.compare_add = compare;
    wr->wr.atomic.swap = swap;
}

static void qp_ex_wr_atomic_fetch_add(struct ibv_qp_ex *q, uint32_t rkey, uint64_t addr, uint64_t n)
{
    struct ibv_send_wr *wr = qp_ex_add(q, IBV_WR_ATOMIC_FETCH_AND_ADD);
    wr->wr.atomic.rkey = rkey;
    wr->wr.atomic.remote_addr = addr;
    wr->wr.atomic.compare_add = n;
}

static void qp_ex_wr_set_ud_addr(struct ibv_qp_ex *q, struct ibv_ah *ah, uint32_t qpn,
                                 uint32_t qkey)
{
    struct ibv_send_wr *wr = qp_ex_last(q);
    wr->wr.ud.ah = ah;
    wr->wr.ud.remote_qpn = qpn;
    wr->wr.ud.remote_qkey = qkey;
}

static void qp_ex_wr_set_xrc_srqn(struct ibv_qp_ex *q, uint32_t srqn)
{
    qp_ex_last(q)->qp_type.xrc.remote_srqn = srqn;
}

static void qp_ex_wr_set_sge_list(struct ibv_qp_ex *q, size_t n, const struct ibv_sge *sge)
{
    struct shca_batch *b = qp_ex_batch_of(q);
    struct ibv_send_wr *wr = qp_ex_last(q);
    if (n > b->sges) {
        b->error = EINVAL;
        return;
    }
    memcpy(wr->sg_list, sge, n * sizeof *sge);
    wr->num_sge = n;
}

static void qp_ex_wr_set_sge(struct ibv_qp_ex *q, uint32_t lkey, uint64_t addr, uint32_t length)
{
    struct ibv_sge s = {.addr = addr, .length = length, .lkey = lkey};
    qp_ex_wr_set_sge_list(q, 1, &s);
}

static void qp_ex_wr_set_inline_data_list(struct ibv_qp_ex *q, size_t n,
                                          const struct ibv_data_buf *buf)
{
    struct shca_batch *b = qp_ex_batch_of(q);
    struct ibv_send_wr *wr = qp_ex_last(q);
    char *to = b->bytes + (size_t)(wr - b->wr) * b->stride;
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        if (buf[i].length > b->stride - total) {
            b->error = EINVAL;
            return;
        }
        memcpy(to + total, buf[i].addr, buf[i].length);
        total += buf[i].length;
    }
    wr->sg_list[0] = (struct ibv_sge){.addr = (uintptr_t)to, .length = total};
    wr->num_sge = 1;
    wr->send_flags |= IBV_SEND_INLINE;
}

static void qp_ex_wr_set_inline_data(struct ibv_qp_ex *q, void *addr, size_t length)
{
    struct ibv_data_buf buf = {addr, length};
    qp_ex_wr_set_inline_data_list(q, 1, &buf);
}

static int qp_ex_wr_complete(struct ibv_qp_ex *q)
{
    struct shca_batch *b = qp_ex_batch_of(q);
    struct ibv_send_wr *bad;
    int error = b->error;
    for (uint32_t i = 0; i + 1 < b->n; i++) b->wr[i].next = &b->wr[i + 1];
    if (!error && b->n > 0) error = q->qp_base.context->ops.post_send(&q->qp_base, b->wr, &bad);
    shca_unlock(&b->lock);
    return error;
}

static void qp_ex_wr_abort(struct ibv_qp_ex *q)
{
    shca_unlock(&qp_ex_batch_of(q)->lock);
}

void shca_qp_ex_in_child(struct shca_qp *qp)
{
    if (!qp->batch) return;
    shca_unlock(&qp->batch->lock);
    qp->batch->dead = EIO;
}

int shca_qp_ex_ops(struct shca_qp *qp)
{
    uint32_t room = qp->sq_size ? qp->sq_size : 1;
    size_t wrs = room * sizeof(struct ibv_send_wr);
    size_t sges = (size_t)room * qp->max_send_sge * sizeof(struct ibv_sge);
    struct shca_batch *b = calloc(1, sizeof *b + wrs + sges + (size_t)room * qp->max_inline);
    if (!b) return ENOMEM;
    b->room = room;
    b->sges = qp->max_send_sge;
    b->stride = qp->max_inline;
    b->wr = (struct ibv_send_wr *)(b + 1);
    b->sge = (struct ibv_sge *)((char *)b->wr + wrs);
    b->bytes = (char *)b->sge + sges;
    qp->batch = b;
    qp->comp_mask |= 1; /* libibverbs' VERBS_QP_EX */
    struct ibv_qp_ex *q = &qp->ex;
    q->wr_start = qp_ex_wr_start;
    q->wr_complete = qp_ex_wr_complete;
    q->wr_abort = qp_ex_wr_abort;
    q->wr_send = qp_ex_wr_send;
    q->wr_send_imm = qp_ex_wr_send_imm;
    q->wr_send_inv = qp_ex_wr_send_inv;
    q->wr_local_inv = qp_ex_wr_local_inv;
    q->wr_bind_mw = qp_ex_wr_bind_mw;
    q->wr_rdma_write = qp_ex_wr_rdma_write;
    q->wr_rdma_write_imm = qp_ex_wr_rdma_write_imm;
    q->wr_rdma_read = qp_ex_wr_rdma_read;
    q->wr_atomic_cmp_swp = qp_ex_wr_atomic_cmp_swp;
    q->wr_atomic_fetch_add = qp_ex_wr_atomic_fetch_add;
    q->wr_set_ud_addr = qp_ex_wr_set_ud_addr;
    q->wr_set_xrc_srqn = qp_ex_wr_set_xrc_srqn;
    q->wr_set_sge = qp_ex_wr_set_sge;
    q->wr_set_sge_list = qp_ex_wr_set_sge_list;
    q->wr_set_inline_data = qp_ex_wr_set_inline_data;
    q->wr_set_inline_data_list = qp_ex_wr_set_inline_data_list;
    return 0;
}
