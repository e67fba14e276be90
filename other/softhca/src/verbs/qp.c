/* qp.c - creating, querying and destroying queue pairs.
 *
 * The receive ring is in the segment's heap, the send ring in private memory. A UD QP receives
 * through a private SRQ, because it has many senders.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "other/base/uncancelled.h"
#include "other/softhca/src/device/device.h"
#include "other/softhca/src/faults/inject.h"
#include "other/softhca/src/objects/ah.h"
#include "other/softhca/src/objects/done.h"
#include "other/softhca/src/objects/event.h"
#include "other/softhca/src/objects/memlock.h"
#include "other/softhca/src/objects/mr.h"
#include "other/softhca/src/objects/xrc.h"
#include "other/softhca/src/segment/segment.h"
#include "other/softhca/src/tcp/tcp.h"
#include "other/softhca/src/verbs/verbs.h"

/* The opcodes that a QP of this type may send, as bits; 0 for an unknown type. */
static uint32_t qp_send_opcodes(enum ibv_qp_type type)
{
    switch (type) {
    case IBV_QPT_RC:
        return SHCA_SENDS | SHCA_WRITES | SHCA_FETCHES | SHCA_WINDOWS;
    case IBV_QPT_XRC_SEND:
        return SHCA_SENDS | SHCA_WRITES | SHCA_FETCHES;
    case IBV_QPT_UC:
        return SHCA_SENDS | SHCA_WRITES | SHCA_WINDOWS;
    case IBV_QPT_UD:
        return SHCA_SENDS;
    default:
        return 0;
    }
}

/* iWARP: a READ arrives as a write of the responder, into one piece of memory. */
static void qp_set_rights(struct shca_qp *qp, const struct shca_device_model *m)
{
    const bool iwarp = m->transport == IBV_TRANSPORT_IWARP;
    qp->opcodes = qp_send_opcodes(qp->base.qp_type);
    if (iwarp) qp->opcodes &= SHCA_IWARP;
    if (shca_atomic_cap(m) == IBV_ATOMIC_NONE) qp->opcodes &= ~(uint32_t)SHCA_ATOMICS;
    qp->sink_access = IBV_ACCESS_LOCAL_WRITE | (iwarp ? IBV_ACCESS_REMOTE_WRITE : 0);
}

/* Checks the attributes: an XRC target has a domain instead of a PD, and each end of an XRC
 * connection lacks the queues of the other. */
static int qp_check_init(struct ibv_context *c, const struct ibv_pd *pd,
                         const struct ibv_xrcd *xrcd, const struct ibv_qp_init_attr *a)
{
    const struct shca_device_model *m = shca_device(c)->model;
    bool target = a->qp_type == IBV_QPT_XRC_RECV, xrc = target || a->qp_type == IBV_QPT_XRC_SEND;
    if (!target && !qp_send_opcodes(a->qp_type)) return EOPNOTSUPP;
    if (m->transport == IBV_TRANSPORT_IWARP && a->qp_type != IBV_QPT_RC) return EOPNOTSUPP;
    if (target) return xrcd && xrcd->context == c ? 0 : EINVAL;
    if (!pd || pd->context != c || !a->send_cq || a->send_cq->context != c) return EINVAL;
    if (!xrc && (!a->recv_cq || a->recv_cq->context != c)) return EINVAL;
    if (a->srq && (xrc || a->srq->context != c || shca_srq(a->srq)->type != IBV_SRQT_BASIC))
        return EINVAL;
    if (a->cap.max_send_wr > m->max_qp_wr || a->cap.max_recv_wr > m->max_qp_wr ||
        a->cap.max_send_sge > m->max_sge || a->cap.max_recv_sge > m->max_sge ||
        a->cap.max_inline_data > m->max_inline_data)
        return EINVAL;
    return 0;
}

static int qp_make_send_ring(struct shca_qp *qp)
{
    qp->sq_size = qp->cap.max_send_wr;
    qp->max_send_sge = qp->cap.max_send_sge;
    qp->max_inline = qp->cap.max_inline_data;
    uint32_t n = shca_power_of_two(qp->sq_size);
    uint32_t sges = qp->max_send_sge ? qp->max_send_sge : 1;
    qp->max_send_sge = sges;
    const uint32_t reads = shca_max_sge_rd(shca_device(qp->base.context)->model);
    qp->max_read_sge = reads < sges ? reads : sges;
    qp->sq_mask = n - 1;
    qp->sq_stride =
        (sizeof(struct shca_wqe) + sges * sizeof(struct ibv_sge) + qp->max_inline + 15) & ~15u;
    /* Pages are touched only by WRs that wait; calloc() might clear all of them. */
    const size_t wrs = (size_t)n * qp->sq_stride;
    qp->sq_bytes = wrs + n * sizeof *qp->done;
    void *ring = mmap(NULL, qp->sq_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ring == MAP_FAILED) return ENOMEM;
    qp->sq_ring = ring;
    qp->done = (struct shca_done *)(qp->sq_ring + wrs);
    return 0;
}

static void qp_free_send_ring(struct shca_qp *qp)
{
    if (qp->sq_ring) munmap(qp->sq_ring, qp->sq_bytes);
}

/* Creates the receive ring, unless the QP uses an SRQ. */
static int qp_make_recv_ring(struct shca_qp *qp, struct shm_qp *s)
{
    if (!qp->recv_cq) {
        qp->cap.max_recv_wr = qp->cap.max_recv_sge = 0;
        return 0;
    }
    if (qp->base.qp_type == IBV_QPT_UD && !qp->srq) {
        uint32_t size = qp->cap.max_recv_wr, sges = qp->cap.max_recv_sge;
        qp->srq = shca_srq_new(qp->base.pd, size ? size : 1, sges ? sges : 1, true);
        if (!qp->srq) return errno;
        qp->private_srq = true;
    }
    if (qp->srq) s->srq = qp->srq->index + 1;
    if (qp->private_srq) return 0;
    if (qp->srq) {
        qp->cap.max_recv_wr = qp->cap.max_recv_sge = 0;
        return 0;
    }
    qp->rq_size = qp->cap.max_recv_wr;
    qp->max_recv_sge = qp->cap.max_recv_sge;
    s->rq_mask = shca_power_of_two(qp->rq_size) - 1;
    s->rq_data = sizeof(struct shm_rwr) + qp->max_recv_sge * sizeof(struct ibv_sge);
    s->rq_stride = (s->rq_data + SHCA_INLINE_RECV + 63) & ~63u;
    s->rq_ring = shca_heap_alloc((size_t)s->rq_stride * (s->rq_mask + 1));
    return s->rq_ring ? 0 : shca_no_room(qp->rq_size);
}

/* Charges for both rings, which have the room that a device's entries need for this. */
static int qp_pin(struct shca_qp *qp)
{
    const struct ibv_qp_cap *cap = &qp->cap;
    enum { HEAD = 32, PIECE = 16, INLINE_HEAD = 4 }; /* of a device's send entry */
    const size_t list = (size_t)qp->max_send_sge * PIECE, inlined = INLINE_HEAD + qp->max_inline;
    const size_t send = (HEAD + (list > inlined ? list : inlined) + 63) & ~(size_t)63;
    return shca_memlock_queue(
        &qp->pinned, shca_memlock_entries(cap->max_send_wr, send) +
                         shca_memlock_entries(cap->max_recv_wr, cap->max_recv_sge * PIECE));
}

/* Assigns a number and the entry in the table. */
static int qp_enter(struct shca_qp *qp, const struct shm_qp *s)
{
    static uint32_t next; /* a number just freed is not reused at once */
    pthread_mutex_lock(&shca.lock);
    uint32_t tries = 0;
    while (tries < SHCA_QPS && shca.qp[(next + tries) % SHCA_QPS]) tries++;
    uint32_t index = (next + tries) % SHCA_QPS;
    if (tries < SHCA_QPS) {
        next = index + 1;
        qp->index = index;
        qp->s = &shca.h->qp[index];
        qp->s->pd = s->pd;
        qp->s->type = qp->base.qp_type;
        qp->s->recv_cq = s->recv_cq;
        qp->s->srq = s->srq;
        qp->s->xrcd = s->xrcd;
        qp->s->rq_ring = s->rq_ring;
        qp->s->rq_stride = s->rq_stride;
        qp->s->rq_data = s->rq_data;
        qp->s->rq_mask = s->rq_mask;
        qp->base.qp_num = shca.slot << 12 | index;
        qp->base.handle = index;
        shca_qp_reset(qp);
        shca.qp[index] = qp;
        qp->next = shca.qps;
        shca.qps = qp;
    }
    pthread_mutex_unlock(&shca.lock);
    return tries < SHCA_QPS ? 0 : ENOMEM;
}

static void qp_count_users(struct shca_qp *qp, int n)
{
    shca_done_promise(qp, n);
    if (qp->send_cq) qp->send_cq->users += n;
    if (qp->recv_cq) qp->recv_cq->users += n;
    if (qp->xrcd) shca_xrcd_use(qp->xrcd, n);
    if (qp->base.srq) qp->srq->users += n;
    if (qp->base.pd) shca_pd(qp->base.pd)->users += n;
}

static void qp_fill_base(struct shca_qp *qp, struct ibv_pd *pd, struct ibv_xrcd *xrcd,
                         const struct ibv_qp_init_attr *a)
{
    bool target = a->qp_type == IBV_QPT_XRC_RECV, xrc = target || a->qp_type == IBV_QPT_XRC_SEND;
    qp->base.qp_context = a->qp_context;
    qp->base.pd = pd;
    qp->xrcd = target ? xrcd : NULL;
    qp->base.send_cq = target ? NULL : a->send_cq;
    qp->base.recv_cq = xrc ? NULL : a->recv_cq;
    qp->base.srq = a->srq;
    qp->base.qp_type = a->qp_type;
    qp->send_cq = shca_cq(qp->base.send_cq);
    qp->recv_cq = shca_cq(qp->base.recv_cq);
    qp->srq = shca_srq(a->srq);
    if (!target) qp->cap = a->cap;
    qp->sig_all = a->sq_sig_all;
    qp->done_head = qp->done_tail = SHCA_FIRST_WR;
    qp_set_rights(qp, shca_device(qp->base.context)->model);
    pthread_mutex_init(&qp->base.mutex, NULL);
    pthread_cond_init(&qp->base.cond, NULL);
}

static struct ibv_qp *qp_create(struct ibv_context *c, struct ibv_pd *pd, struct ibv_xrcd *xrcd,
                                struct ibv_qp_init_attr *a)
{
    int error = qp_check_init(c, pd, xrcd, a);
    if (!error) error = shca_take(c, SHCA_QP);
    struct shca_qp *qp = error ? NULL : calloc(1, sizeof *qp);
    if (!qp) {
        if (!error) shca_give(c, SHCA_QP);
        errno = error ? error : ENOMEM;
        return NULL;
    }
    qp->base.context = c;
    qp_fill_base(qp, a->qp_type == IBV_QPT_XRC_RECV ? NULL : pd, xrcd, a);
    struct shm_qp s = {.pd = qp->base.pd ? shca_pd(pd)->id : 0,
                       .recv_cq = qp->recv_cq ? qp->recv_cq->index : 0,
                       .xrcd = qp->xrcd ? shca_xrcd_use(xrcd, 0) : 0};
    error = shca_inject_qp(qp);
    qp->plain = a->qp_type == IBV_QPT_RC && !qp->faults;
    if (!error) error = qp_make_send_ring(qp);
    if (!error) error = qp_make_recv_ring(qp, &s);
    if (!error) error = qp_pin(qp);
    if (!error) error = qp_enter(qp, &s);
    if (error) {
        if (s.rq_ring) shca_heap_free(s.rq_ring);
        if (qp->private_srq) shca_srq_delete(qp->srq);
        shca_give(c, SHCA_QP);
        shca_memlock_give(NULL, qp->pinned);
        qp_free_send_ring(qp);
        free(qp->faults);
        free(qp);
        errno = error;
        return NULL;
    }
    qp_count_users(qp, 1);
    qp->cap.max_send_sge = qp->max_send_sge;
    a->cap = qp->cap;
    return &qp->base;
}

struct ibv_qp *shca_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
    return qp_create(pd->context, pd, NULL, a);
}

struct ibv_qp *shca_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *a)
{
    uint32_t from = a->qp_type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD;
    uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    bool ex = a->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    if (a->comp_mask & ~known || !(a->comp_mask & from) ||
        (ex && a->send_ops_flags & ~(uint64_t)qp_send_opcodes(a->qp_type))) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    struct ibv_qp *qp = qp_create(c, a->comp_mask & IBV_QP_INIT_ATTR_PD ? a->pd : NULL,
                                  a->comp_mask & IBV_QP_INIT_ATTR_XRCD ? a->xrcd : NULL,
                                  (struct ibv_qp_init_attr *)a);
    if (qp && ex && shca_qp_ex_ops(shca_qp(qp)) != 0) {
        shca_destroy_qp(qp);
        errno = ENOMEM;
        return NULL;
    }
    return qp;
}

int shca_query_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask,
                  struct ibv_qp_init_attr *init)
{
    struct shca_qp *qp = shca_qp(base);
    if (qp->foreign) return shca_unsupported();
    if (attr) {
        *attr = qp->attr;
        attr->qp_state = attr->cur_qp_state = shca_state(qp);
        attr->cap = qp->cap;
        shca_lock(&qp->sq);
        attr->sq_draining = qp->target.remote && shca_tcp_send_draining(qp);
        shca_unlock(&qp->sq);
    }
    if (init)
        *init = (struct ibv_qp_init_attr){.qp_context = base->qp_context,
                                          .send_cq = base->send_cq,
                                          .recv_cq = base->recv_cq,
                                          .srq = base->srq,
                                          .cap = qp->cap,
                                          .qp_type = base->qp_type,
                                          .sq_sig_all = qp->sig_all};
    return 0;
}

/* Resets the state, the queues and the connection. */
void shca_qp_reset(struct shca_qp *qp)
{
    qp->base.state = IBV_QPS_RESET;
    atomic_store(&qp->s->state, IBV_QPS_RESET);
    shca_qp_changed(qp);
    shca_qp_quiesce(qp);
    if (qp->send_cq) {
        shca_done_forget(qp->send_cq, qp);
        shca_cq_forget(qp->send_cq, qp->base.qp_num, NULL);
    }
    if (qp->recv_cq && qp->recv_cq != qp->send_cq)
        shca_cq_forget(qp->recv_cq, qp->base.qp_num, NULL);
    if (qp->private_srq) shca_srq_clear(qp->srq);
    shca_peers_put(&qp->target);
    qp->s->accepts = SHCA_ACCEPTS_NONE;
    qp->s->rq_prod = qp->s->rq_cons = SHCA_FIRST_WR;
    qp->s->active = qp->s->sender_waits = qp->s->fault = qp->s->comm_est = 0;
    qp->s->bytes = 0;
    qp->s->waiting = SHCA_WAITS_NOT;
    qp->sq_head = qp->sq_exec = SHCA_FIRST_WR;
    qp->sq_done = qp->rq_done = qp->in_cq_ring = SHCA_FIRST_WR;
    qp->flushing = false;
    qp->last_wqe_raised = qp->drain_wanted = false;
    qp->deadline = SHCA_NO_DEADLINE;
    if (qp->faults) qp->faults->decided = false;
    qp->target.t = NULL;
}

int shca_destroy_qp(struct ibv_qp *base)
{
    GASNETI_UNCANCELLED;
    struct shca_qp *qp = shca_qp(base);
    if (shca_close_qp(qp)) return 0;
    pthread_mutex_lock(&shca.lock);
    struct shca_qp **at = &shca.qps;
    while (*at && *at != qp) at = &(*at)->next;
    if (*at) *at = qp->next;
    pthread_mutex_unlock(&shca.lock);
    shca_worker_drop(qp);
    shca_tcp_send_drop(qp);
    shca_qp_reset(qp);
    uint64_t ring = qp->s->rq_ring;
    qp->s->type = 0;
    shca_peer_put(qp->target.peer);
    pthread_mutex_lock(&shca.lock);
    shca.qp[qp->index] = NULL;
    pthread_mutex_unlock(&shca.lock);
    if (ring) shca_heap_free(ring);
    if (qp->private_srq) shca_srq_delete(qp->srq);
    shca_forget_events(base->context, qp);
    pthread_mutex_lock(&base->mutex);
    while (base->events_completed != qp->async_given) pthread_cond_wait(&base->cond, &base->mutex);
    pthread_mutex_unlock(&base->mutex);
    qp_count_users(qp, -1);
    shca_give(base->context, SHCA_QP);
    shca_memlock_give(NULL, qp->pinned);
    free(qp->batch);
    free(qp->faults);
    qp_free_send_ring(qp);
    free(qp);
    return 0;
}
