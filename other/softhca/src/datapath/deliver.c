/* deliver.c - the initiator's half of one WR: checks its own memory and rights, then calls the
 * responder's half.
 *
 * Returns the completion status for the initiator, or the reason why the WR has to wait. Never
 * blocks on the target.
 */
#include <endian.h>

#include "other/softhca/src/datapath/datapath.h"
#include "other/softhca/src/device/device.h"
#include "other/softhca/src/objects/ah.h"
#include "other/softhca/src/objects/mr.h"
#include "other/softhca/src/objects/mw.h"
#include "other/softhca/src/segment/upward.h"

/* The local SGEs of a WR. The lkeys are checked just before use, as an HCA does. */
static inline int deliver_gather(struct shca_qp *qp, const struct ibv_send_wr *wr,
                                 struct shca_gather *g, int first)
{
    g->total = 0;
    g->n = first + wr->num_sge;
    bool fetches = SHCA_FETCHES >> wr->opcode & 1;
    bool by_value = wr->send_flags & IBV_SEND_INLINE && !fetches;
    if (fetches && !qp->attr.max_rd_atomic) return IBV_WC_LOC_QP_OP_ERR;
    for (int i = 0; i < wr->num_sge; i++) {
        const struct ibv_sge *s = &wr->sg_list[i];
        uint64_t va = s->addr;
        if (!by_value && s->length > 0) {
            struct shm_mr *mr = shca_mr_find(shca.h, s->lkey, qp->s->pd, s->addr, s->length,
                                             fetches ? qp->sink_access : 0);
            if (!mr) return IBV_WC_LOC_PROT_ERR;
            va = mr->va + (s->addr - mr->iova);
        }
        g->iov[first + i] = (struct iovec){(void *)(uintptr_t)va, s->length};
        g->total += s->length;
    }
    return g->total > qp->max_message ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
}

static uint32_t deliver_mtu_of(uint32_t port)
{
    return 128u << shca_port_model(port)->active_mtu;
}

/* The 40 bytes before the payload in every receive of a datagram: the GRH, zeros when the address
 * is not global. */
static struct ibv_grh deliver_header(const struct shca_ah *ah, const struct ibv_send_wr *wr,
                                     uint32_t length)
{
    enum { BTH = 12, DETH = 8, IMMEDIATE = 4, ICRC = 4 };
    struct ibv_grh h = ah->grh;
    uint32_t imm = wr->opcode == IBV_WR_SEND_WITH_IMM ? IMMEDIATE : 0;
    if (ah->global) h.paylen = htobe16(BTH + DETH + imm + ((length + 3) & ~3u) + ICRC);
    return h;
}

static int deliver_datagram(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    const struct shca_ah *ah = shca_ah(wr->wr.ud.ah);
    struct shca_gather g;
    if (shca_pd(ah->base.pd)->id != qp->s->pd) return IBV_WC_LOC_QP_OP_ERR;
    int status = deliver_gather(qp, wr, &g, 1);
    if (status != IBV_WC_SUCCESS) return status;
    if (g.total > deliver_mtu_of(qp->port)) return IBV_WC_LOC_LEN_ERR;
    struct ibv_grh h = deliver_header(ah, wr, g.total);
    g.iov[0] = (struct iovec){&h, sizeof h};
    g.total += sizeof h;
    struct shca_target target;
    if (!shca_datagram_target(&target, qp, ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey))
        return IBV_WC_LOC_QP_OP_ERR;
    if (ah->destination.host > SHCA_HERE)
        return shca_tcp_send_datagram(&target, ah->destination, wr, &g);
    return shca_respond(&target, wr, &g);
}

/* A completion status, or SHCA_NOT_READY (no receive posted there) or SHCA_NO_TARGET (no such QP
 * there). */
int shca_deliver(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    struct shca_gather g;
    int status = 0;
    /* For a WR to another host the fault is decided when its first frame is sent. */
    if (qp->faults && !qp->target.remote) status = shca_inject_message(qp, wr, qp->sq_exec);
    if (status) return status == SHCA_DROPPED ? IBV_WC_SUCCESS : status;
    if (qp->base.qp_type == IBV_QPT_UD) return deliver_datagram(qp, wr);
    if (wr->opcode - IBV_WR_LOCAL_INV <= IBV_WR_BIND_MW - IBV_WR_LOCAL_INV)
        return qp->target.remote ? SHCA_REMOTE : shca_mw_run(qp, wr);
    status = deliver_gather(qp, wr, &g, 0);
    if (qp->faults) shca_inject_tear(qp, &g);
    return status == IBV_WC_SUCCESS ? shca_respond(&qp->target, wr, &g) : status;
}

int shca_gather(struct shca_qp *qp, const struct ibv_send_wr *wr, struct shca_gather *g)
{
    return deliver_gather(qp, wr, g, 0);
}
