/* deliver.c - the initiator's half of one WR: its own memory and rights, then the responder's half.
 *
 * The lkeys are checked as an HCA would check them, just before use. It returns the completion
 * status for the initiator, or says that the WR has to wait. It never blocks on the target.
 */
#include "hot.h"
#include "inject.h"

/* The local side of a WR: lkeys are checked as the HCA would, just before use. */
static int gather(struct shca_qp *qp, const struct ibv_send_wr *wr, struct shca_gather *g)
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

/* A completion status, or SHCA_NOT_READY (no receive there) or SHCA_NOBODY (no such QP there). */
int shca_deliver(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    struct shca_gather g;
    int status = qp->faults ? shca_inject_message(qp, wr) : 0;
    if (status) return status;
    status = gather(qp, wr, &g);
    return status == IBV_WC_SUCCESS ? shca_respond(&qp->link, wr, &g) : status;
}
