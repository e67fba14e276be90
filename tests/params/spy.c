/* spy.c - stands between the library and the verbs device; see spy.h.
 *
 * Linked into a test program, whose symbols come before those of libraries.  What is called through
 * the context's table is caught there.  One thread at a time is seen right: programs with several
 * ask for registrations alone.
 */
#define _GNU_SOURCE

#include "spy.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova2

struct spy spy;

enum { LOOKS = 3000, CONTEXTS = 8 };

static struct {
    struct ibv_context *context;
    struct ibv_context_ops ops; /* the original operations of the context */
} seen[CONTEXTS];

static void *next_of(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function) return function;
    fprintf(stderr, "spy: there is no %s\n", name);
    abort();
}

/* A function of the next library in the order of lookup. */
#define NEXT(name, result, ...)                                                                    \
    static result (*next)(__VA_ARGS__);                                                            \
    if (!next) *(void **)(void *)&next = next_of(#name)

static const struct ibv_context_ops *ops_of(const struct ibv_context *context)
{
    for (int i = 0; i < CONTEXTS; i++)
        if (seen[i].context == context) return &seen[i].ops;
    abort();
}

static struct spy_qp *find_qp(uint32_t number)
{
    for (int i = 0; i < spy.qps; i++)
        if (spy.qp[i].qp && spy.qp[i].qp->qp_num == number) return &spy.qp[i];
    return NULL;
}

/* Every request asks for a completion, so that counting them shows what is in flight. */
static int on_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct spy_qp *q = find_qp(qp->qp_num);
    int error = ops_of(qp->context)->post_send(qp, wr, bad);
    for (; !error && q && wr; wr = wr->next) {
        if (!(wr->send_flags & IBV_SEND_SIGNALED)) abort();
        if (spy.posts < SPY_POSTS)
            spy.post[spy.posts++] =
                (struct spy_post){.qp = (uint32_t)(q - spy.qp),
                                  .opcode = wr->opcode,
                                  .is_inline = wr->send_flags & IBV_SEND_INLINE,
                                  .local = wr->num_sge ? (uintptr_t)wr->sg_list[0].addr : 0,
                                  .remote = wr->wr.rdma.remote_addr,
                                  .length = wr->num_sge ? wr->sg_list[0].length : 0};
        if (++q->in_flight > q->most) q->most = q->in_flight;
        if (++spy.in_flight > spy.most) spy.most = spy.in_flight;
        spy.idle = 0;
    }
    return error;
}

static void note_receives(const struct ibv_recv_wr *wr)
{
    for (; wr; wr = wr->next) {
        spy.receives++;
        spy.last_receive = wr->num_sge ? (uintptr_t)wr->sg_list[0].addr : 0;
    }
}

static int on_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    note_receives(wr);
    return ops_of(qp->context)->post_recv(qp, wr, bad);
}

static int on_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    note_receives(wr);
    return ops_of(srq->context)->post_srq_recv(srq, wr, bad);
}

static bool is_send_cq(const struct ibv_cq *cq)
{
    for (int i = 0; i < spy.qps; i++)
        if (spy.qp[i].send_cq == cq) return true;
    return false;
}

static int on_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    bool sends = is_send_cq(cq);
    if (sends && spy.hold) {
        if (spy.idle++ < LOOKS) return 0;
        spy.hold = false;
        if (spy.on_stall) spy.on_stall();
    }
    if (sends && spy.on_stall && !spy.in_flight && spy.idle++ == LOOKS) spy.on_stall();
    int got = ops_of(cq->context)->poll_cq(cq, n, wc);
    for (int i = 0; sends && i < got; i++) {
        struct spy_qp *q = find_qp(wc[i].qp_num);
        if (!q) continue;
        q->in_flight--;
        spy.in_flight--;
    }
    return got;
}

static void watch(struct ibv_context *context)
{
    int i = 0;
    while (i < CONTEXTS && seen[i].context && seen[i].context != context) i++;
    if (i == CONTEXTS || seen[i].context == context) return;
    seen[i].context = context;
    seen[i].ops = context->ops;
    context->ops.post_send = on_post_send;
    context->ops.poll_cq = on_poll_cq;
    context->ops.post_recv = on_post_recv;
    context->ops.post_srq_recv = on_post_srq_recv;
}

#pragma GCC visibility push(default) /* for the libraries to find */

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    NEXT(ibv_open_device, struct ibv_context *, struct ibv_device *);
    struct ibv_context *context = next(device);
    if (context && spy.opens < SPY_OPENS)
        snprintf(spy.open[spy.opens++], sizeof *spy.open, "%s", context->device->name);
    return context;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
    NEXT(ibv_create_cq, struct ibv_cq *, struct ibv_context *, int, void *,
         struct ibv_comp_channel *, int);
    struct ibv_cq *cq = next(context, cqe, cq_context, channel, vector);
    watch(context);
    if (cq && spy.cqs < SPY_CQS) {
        spy.cq[spy.cqs].cq = cq;
        spy.cq[spy.cqs++].depth = cqe;
    }
    return cq;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    NEXT(ibv_create_srq, struct ibv_srq *, struct ibv_pd *, struct ibv_srq_init_attr *);
    if (spy.srqs < SPY_CQS) spy.srq_depth[spy.srqs++] = attr->attr.max_wr;
    return next(pd, attr);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    NEXT(ibv_create_qp, struct ibv_qp *, struct ibv_pd *, struct ibv_qp_init_attr *);
    uint32_t send_depth = attr->cap.max_send_wr, recv_depth = attr->cap.max_recv_wr;
    struct ibv_qp *qp = next(pd, attr);
    if (qp && spy.qps < SPY_QPS)
        spy.qp[spy.qps++] = (struct spy_qp){.qp = qp,
                                            .send_cq = attr->send_cq,
                                            .send_depth = send_depth,
                                            .recv_depth = recv_depth,
                                            .inline_max = attr->cap.max_inline_data,
                                            .shares = attr->srq};
    return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    NEXT(ibv_destroy_qp, int, struct ibv_qp *);
    struct spy_qp *q = find_qp(qp->qp_num);
    if (q) q->qp = NULL;
    return next(qp);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    NEXT(ibv_modify_qp, int, struct ibv_qp *, struct ibv_qp_attr *, int);
    struct spy_qp *q = find_qp(qp->qp_num);
    if (q && mask & IBV_QP_PORT) q->port = attr->port_num;
    if (q && mask & IBV_QP_PKEY_INDEX) q->pkey_index = attr->pkey_index;
    if (q && mask & IBV_QP_TIMEOUT) q->timeout = attr->timeout;
    if (q && mask & IBV_QP_AV) {
        const struct ibv_ah_attr *path = &attr->ah_attr;
        q->gid_index = path->is_global ? path->grh.sgid_index : -1;
        q->traffic_class = path->is_global ? path->grh.traffic_class : -1;
    }
    if (q && mask & IBV_QP_RETRY_CNT) q->retries = attr->retry_cnt;
    if (q && mask & IBV_QP_MAX_DEST_RD_ATOMIC) q->reads_served = attr->max_dest_rd_atomic;
    if (q && mask & IBV_QP_MAX_QP_RD_ATOMIC) q->reads_begun = attr->max_rd_atomic;
    return next(qp, attr, mask);
}

static struct ibv_mr *note_region(struct ibv_mr *mr, void *start, size_t length, unsigned access)
{
    if (mr && spy.regions < SPY_REGIONS)
        spy.region[spy.regions++] =
            (struct spy_region){(uintptr_t)start, length, access & IBV_ACCESS_REMOTE_WRITE};
    return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *start, size_t length, int access)
{
    NEXT(ibv_reg_mr, struct ibv_mr *, struct ibv_pd *, void *, size_t, int);
    return note_region(next(pd, start, length, access), start, length, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *start, size_t length, uint64_t iova,
                                unsigned access)
{
    NEXT(ibv_reg_mr_iova2, struct ibv_mr *, struct ibv_pd *, void *, size_t, uint64_t, unsigned);
    return note_region(next(pd, start, length, iova, access), start, length, access);
}

#pragma GCC visibility pop

void spy_reset(void)
{
    spy.posts = spy.receives = 0;
    spy.most = spy.in_flight;
    spy.idle = 0;
    spy.hold = false;
    spy.on_stall = NULL;
    for (int i = 0; i < spy.qps; i++) spy.qp[i].most = spy.qp[i].in_flight;
}
