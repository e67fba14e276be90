/* send.c - the send queue: posting, waiting, completing, flushing.
 *
 * A WR normally runs inside ibv_post_send(), and a plain WRITE in short_write.c. When the target
 * has no receive or does not accept this QP, the WR is copied to the ring. The WR and all that
 * follow it run later, from ibv_poll_cq() or the worker thread. A slot counts as used until a
 * signalled completion at or after it is polled, as on real devices, so a program that never
 * signals runs into ENOMEM.
 */
#include <string.h>

#include "other/base/clock.h"
#include "other/softhca/src/datapath/hot.h"
#include "other/softhca/src/datapath/rnr.h"
#include "other/softhca/src/segment/upward.h"
#include "other/softhca/src/settings/say.h"

static struct shca_wqe *send_wqe_at(struct shca_qp *qp, uint32_t index)
{
    return (struct shca_wqe *)(qp->sq_ring + (size_t)(index & qp->sq_mask) * qp->sq_stride);
}

static inline int send_wc_opcode(enum ibv_wr_opcode o)
{
    switch (o) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
        return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return IBV_WC_FETCH_ADD;
    case IBV_WR_BIND_MW:
        return IBV_WC_BIND_MW;
    case IBV_WR_LOCAL_INV:
        return IBV_WC_LOCAL_INV;
    default:
        return IBV_WC_SEND;
    }
}

static uint32_t send_total_length(const struct ibv_send_wr *wr)
{
    uint32_t total = 0;
    for (int i = 0; i < wr->num_sge; i++) total += wr->sg_list[i].length;
    return total;
}

void shca_send_completion(struct shca_qp *qp, const struct ibv_send_wr *wr, uint32_t index,
                          int status)
{
    struct shm_cqe e = {.wr_id = wr->wr_id,
                        .qpn = qp->base.qp_num,
                        .index = index,
                        .opcode = send_wc_opcode(wr->opcode),
                        .status = status,
                        .side = SHCA_SIDE_SEND};
    if (status == IBV_WC_SUCCESS && (e.opcode == IBV_WC_RDMA_READ || e.opcode >= IBV_WC_COMP_SWAP))
        e.byte_len = send_total_length(wr);
    shca_forget_region(qp);
    atomic_store_explicit(&qp->in_cq_ring, index + 1, memory_order_relaxed);
    shca_cq_push(&shca.me, qp->send_cq->index, &e);
    shca_wake_sleeper(&shca.me); /* wakes the poster too, which may be another thread */
}

static void send_complete(struct shca_qp *qp, const struct ibv_send_wr *wr, uint32_t index,
                          int status)
{
    if (status != IBV_WC_SUCCESS || shca_is_signalled(qp, wr))
        shca_send_completion(qp, wr, index, status);
}

/* The time between two attempts, ns. */
uint64_t shca_retry_ns(struct shca_qp *qp, int reason)
{
    if (reason == SHCA_NO_TARGET) return 4096ull << qp->attr.timeout;
    /* The RNR timer of a target on another host is not known here. */
    return shca_rnr_ns(qp->target.t ? qp->target.t->min_rnr_timer : qp->attr.min_rnr_timer);
}

/* A peer that is not attached may only lack processor time. An HCA would answer at once, so the
 * timeout is at least this long. */
static const uint64_t ATTACH_TIME = 10000000000ull;

/* When to give up a WR that waits for REASON: ns, 0 for never. */
static uint64_t send_deadline(struct shca_qp *qp, int reason)
{
    if (reason == SHCA_NOT_READY) {
        if (qp->attr.rnr_retry == 7) return 0;
        return gasneti_clock_ns() + qp->attr.rnr_retry * shca_retry_ns(qp, reason);
    }
    uint64_t timeout = shca_retry_ns(qp, SHCA_NO_TARGET) * (qp->attr.retry_cnt + 1u);
    if (reason == SHCA_NOT_ATTACHED && timeout < ATTACH_TIME) timeout = ATTACH_TIME;
    bool endless = qp->attr.timeout == 0 && (reason == SHCA_NO_TARGET || qp->target.reliable);
    return endless ? 0 : gasneti_clock_ns() + timeout;
}

/* The target of the WR at sq_exec does not exist. A WR of an unreliable QP is executed all the
 * same, and lost. */
static int send_no_target(struct shca_qp *qp)
{
    if (qp->target.reliable || !qp->target.peer) return IBV_WC_RETRY_EXC_ERR;
    qp->target.peer->lost = true;
    return 0;
}

/* The peer destroyed the target before its process ended: the sender's retries run out, as they do
 * with an HCA, which answers for neither. A process that dies with its queue pair is reported at
 * once, so that the end of a job need not wait for the retries. */
static bool send_target_closed(struct shca_qp *qp)
{
    return qp->deadline && qp->target.t && atomic_load(&qp->target.t->state) == IBV_QPS_RESET;
}

/* The WR at sq_exec cannot run because of REASON: 0 to wait on, or its completion status. */
static int send_wait_status(struct shca_qp *qp, int reason)
{
    bool rnr = reason == SHCA_NOT_READY;
    if (reason == SHCA_STALLED || reason == SHCA_REMOTE) return 0;
    if (qp->target.peer && qp->target.peer->unmappable) return IBV_WC_LOC_QP_OP_ERR;
    if (qp->deadline == SHCA_NO_DEADLINE || qp->waits_for != reason) {
        qp->waits_for = reason;
        qp->deadline = send_deadline(qp, reason);
        qp->check_at = 0;
        qp->s->waiting = rnr ? SHCA_WAITS_RECEIVE : SHCA_WAITS_PEER;
        atomic_fetch_add(rnr ? &shca.h->counts.rnr : &shca.h->counts.no_target, 1);
    }
    uint64_t now = gasneti_clock_ns();
    if (qp->target.peer && now >= qp->check_at) { /* a system call: not in every poll */
        if (shca_peer_dead_slow(qp->target.peer) && !send_target_closed(qp))
            return send_no_target(qp);
        qp->check_at = now + 1000000;
    }
    if (qp->deadline == 0 || now < qp->deadline) return 0;
    if (reason == SHCA_NOT_ATTACHED)
        shca_say("the process in slot %u does not answer (is it stopped?)", qp->target.peer->slot);
    return rnr ? IBV_WC_RNR_RETRY_EXC_ERR : send_no_target(qp);
}

/* Completes all waiting WRs with WR_FLUSH_ERR; send lock held. */
void shca_send_flush(struct shca_qp *qp)
{
    for (; qp->sq_exec != qp->sq_head; qp->sq_exec++)
        shca_send_completion(qp, &send_wqe_at(qp, qp->sq_exec)->wr, qp->sq_exec,
                             IBV_WC_WR_FLUSH_ERR);
}

/* A send failed: SQE on an unreliable QP, ERR on others. */
static void send_fail(struct shca_qp *qp)
{
    atomic_fetch_add(&shca.h->counts.errors, 1);
    if (qp->base.qp_type == IBV_QPT_UC || qp->base.qp_type == IBV_QPT_UD)
        shca_qp_to_send_error(qp);
    else
        shca_qp_to_error(qp);
}

struct ibv_send_wr *shca_send_wr(struct shca_qp *qp, uint32_t index)
{
    return &send_wqe_at(qp, index)->wr;
}

void shca_send_end(struct shca_qp *qp, int status)
{
    struct ibv_send_wr *wr = shca_send_wr(qp, qp->sq_exec);
    send_complete(qp, wr, qp->sq_exec++, status);
    if (status != IBV_WC_SUCCESS) send_fail(qp);
}

/* Runs waiting WRs; send lock held. */
void shca_send_resume(struct shca_qp *qp)
{
    while (qp->sq_exec != qp->sq_head && shca_state(qp) == IBV_QPS_RTS) {
        int status = shca_deliver(qp, shca_send_wr(qp, qp->sq_exec));
        if (status < 0 && !(status = send_wait_status(qp, status))) return;
        qp->deadline = SHCA_NO_DEADLINE; /* the next WR that waits has a deadline of its own */
        qp->s->waiting = SHCA_WAITS_NOT;
        shca_send_end(qp, status);
    }
}

static void send_enqueue(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    struct shca_wqe *w = send_wqe_at(qp, qp->sq_head++);
    shca_forget_region(qp);
    w->wr = *wr;
    w->wr.next = NULL;
    w->wr.sg_list = w->sge;
    if (!(wr->send_flags & IBV_SEND_INLINE) || wr->opcode == IBV_WR_RDMA_READ) {
        memcpy(w->sge, wr->sg_list, wr->num_sge * sizeof *w->sge);
        return;
    }
    char *bytes = (char *)(w->sge + qp->max_send_sge), *to = bytes;
    for (int i = 0; i < wr->num_sge; i++) {
        memcpy(to, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
        to += wr->sg_list[i].length;
    }
    w->sge[0] = (struct ibv_sge){.addr = (uintptr_t)bytes, .length = to - bytes};
    w->wr.num_sge = 1;
}

static void send_run_or_wait(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    if (shca_state(qp) >= IBV_QPS_SQE) {
        shca_send_completion(qp, wr, qp->sq_head++, IBV_WC_WR_FLUSH_ERR);
        qp->sq_exec = qp->sq_head;
        return;
    }
    if (qp->sq_exec != qp->sq_head || shca_state(qp) == IBV_QPS_SQD) {
        send_enqueue(qp, wr);
        return;
    }
    int status = shca_deliver(qp, wr);
    if (status < 0 && !(status = send_wait_status(qp, status))) {
        send_enqueue(qp, wr);
        if (!qp->target.remote) shca_worker_wait_for(qp);
        return;
    }
    send_complete(qp, wr, qp->sq_head++, status);
    qp->sq_exec = qp->sq_head;
    if (status != IBV_WC_SUCCESS) send_fail(qp);
}

/* 0 or an errno value: why the WR is not accepted. */
static int send_check(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    if (wr->opcode >= 32 || !(qp->opcodes >> wr->opcode & 1)) return EINVAL;
    if (wr->send_flags & IBV_SEND_INLINE && !(SHCA_FETCHES >> wr->opcode & 1) &&
        send_total_length(wr) > qp->max_inline)
        return EINVAL;
    const uint32_t pieces = (uint32_t)wr->num_sge; /* below 0: too many */
    if (pieces > qp->max_read_sge && (pieces > qp->max_send_sge || SHCA_FETCHES >> wr->opcode & 1))
        return EINVAL;
    return shca_send_queue_full(qp) ? ENOMEM : 0;
}

/* Posts WR and those that follow it, after others of their list have taken the short way. Releases
 * the send lock, which the caller holds. */
int shca_send_rest(struct shca_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    int error = 0;
    if (shca_state(qp) < IBV_QPS_RTS) error = shca_qp_first_send(qp);
    for (; wr && !error; wr = wr->next) {
        error = send_check(qp, wr);
        if (error) break;
        send_run_or_wait(qp, wr);
    }
    if (qp->target.remote) shca_tcp_send_push(qp);
    shca_unlock(&qp->sq);
    if (error && bad) *bad = wr;
    return error;
}
