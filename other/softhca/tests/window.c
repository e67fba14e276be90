/* window.c - rules about memory windows: binding, their rights, and how they end.
 *
 * B binds windows over its buffer and sends their keys to A; A uses them.
 */
#include <errno.h>
#include <string.h>

#include "crowd.h"
#include "rules.h"

enum {
    LOW = 4096, /* offset of the window in the buffer */
    SIZE = 8192,
    WRITES = IBV_ACCESS_REMOTE_WRITE,
    READS = IBV_ACCESS_REMOTE_READ,
    ATOMICS = IBV_ACCESS_REMOTE_ATOMIC,
    OVER = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND /* the region itself has no remote right */
};

static struct ibv_mw_bind_info over(struct side *s, int access)
{
    return (struct ibv_mw_bind_info){
        .mr = s->mr, .addr = (uintptr_t)s->buf + LOW, .length = SIZE, .mw_access_flags = access};
}

static int bind1(struct side *s, struct ibv_mw *mw, struct ibv_mw_bind_info info)
{
    struct ibv_mw_bind b = {.wr_id = 70, .send_flags = IBV_SEND_SIGNALED, .bind_info = info};
    return ibv_bind_mw(s->qp, mw, &b);
}

static struct ibv_wc_status_of {
    enum ibv_wc_status status;
    enum ibv_wc_opcode opcode;
} last(struct side *s)
{
    struct ibv_wc wc = await(s->scq);
    return (struct ibv_wc_status_of){wc.status, wc.opcode};
}

static struct ibv_mw *bound1(struct side *s, int access)
{
    struct ibv_mw *mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_1);
    CHECK(mw != NULL);
    CHECK_EQ(bind1(s, mw, over(s, access)), 0);
    struct ibv_wc wc = await(s->scq);
    CHECK_EQ(wc.status, IBV_WC_SUCCESS);
    CHECK_EQ(wc.opcode, IBV_WC_BIND_MW);
    return mw;
}

static enum ibv_wc_status bind2(struct side *s, struct ibv_mw *mw, uint32_t key,
                                struct ibv_mw_bind_info info)
{
    struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW,
                             .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
                             .bind_mw = {.mw = mw, .rkey = key, .bind_info = info}};
    CHECK_EQ(post(s, &wr), 0);
    enum ibv_wc_status status = last(s).status;
    if (status == IBV_WC_SUCCESS) mw->rkey = key;
    return status;
}

static struct ibv_mw *bound2(struct side *s, int access)
{
    struct ibv_mw *mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_2);
    CHECK(mw != NULL);
    CHECK_EQ(bind2(s, mw, ibv_inc_rkey(mw->rkey), over(s, access)), IBV_WC_SUCCESS);
    return mw;
}

static enum ibv_wc_status invalidate(struct side *s, uint32_t key)
{
    struct ibv_send_wr wr = {
        .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED, .invalidate_rkey = key};
    CHECK_EQ(post(s, &wr), 0);
    struct ibv_wc_status_of x = last(s);
    if (x.status == IBV_WC_SUCCESS) CHECK_EQ(x.opcode, IBV_WC_LOCAL_INV);
    return x.status;
}

/* Sends the key of B to A. */
static void share(struct side *s, const struct ibv_mw *mw)
{
    if (s->is_a)
        hear(s, &s->its.rkey, sizeof s->its.rkey);
    else
        tell(s, &mw->rkey, sizeof mw->rkey);
}

static enum ibv_wc_status use(struct side *s, enum ibv_wr_opcode op, size_t at, uint32_t length)
{
    CHECK_EQ(post(s, make_wr(s, op, 1, 0, length, at)), 0);
    return last(s).status;
}

/* Releases the objects of B, in any order that is allowed. */
static void end_region(struct side *s, struct ibv_mw *mw)
{
    CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

static void grants_its_range(struct side *s, bool type_2)
{
    struct ibv_mw *mw = NULL;
    if (!s->is_a)
        mw = type_2 ? bound2(s, WRITES | READS | ATOMICS) : bound1(s, WRITES | READS | ATOMICS);
    share(s, mw);
    if (s->is_a) {
        fill(s->buf, SIZE, 3);
        CHECK_EQ(use(s, IBV_WR_RDMA_WRITE, LOW, SIZE), IBV_WC_SUCCESS);
        memset(s->buf, 0, SIZE);
        CHECK_EQ(use(s, IBV_WR_RDMA_READ, LOW, SIZE), IBV_WC_SUCCESS);
        CHECK(filled(s->buf, SIZE, 3));
        CHECK_EQ(use(s, IBV_WR_ATOMIC_FETCH_AND_ADD, LOW + 8, 8), IBV_WC_SUCCESS);
        CHECK_EQ(use(s, IBV_WR_RDMA_WRITE, LOW + SIZE - 7, 8), IBV_WC_REM_ACCESS_ERR);
    }
    meet(s);
    if (!s->is_a) end_region(s, mw);
}

static void type_1_grants(struct side *s)
{
    grants_its_range(s, false);
}

static void type_2_grants(struct side *s)
{
    grants_its_range(s, true);
}

static void grants_its_rights_only(struct side *s)
{
    struct ibv_mw *mw = s->is_a ? NULL : bound1(s, READS);
    share(s, mw);
    if (s->is_a) {
        CHECK_EQ(use(s, IBV_WR_RDMA_READ, LOW, 8), IBV_WC_SUCCESS);
        CHECK_EQ(use(s, IBV_WR_RDMA_WRITE, LOW, 8), IBV_WC_REM_ACCESS_ERR);
    }
    meet(s);
    if (!s->is_a) end_region(s, mw);
}

static void may_count_from_zero(struct side *s)
{
    struct ibv_mw *mw = s->is_a ? NULL : bound1(s, WRITES | IBV_ACCESS_ZERO_BASED);
    share(s, mw);
    if (s->is_a) {
        strcpy(s->buf, "zero");
        s->its.addr = 0;
        CHECK_EQ(use(s, IBV_WR_RDMA_WRITE, 16, 5), IBV_WC_SUCCESS);
        CHECK_EQ(use(s, IBV_WR_RDMA_WRITE, SIZE, 1), IBV_WC_REM_ACCESS_ERR);
    }
    meet(s);
    if (s->is_a) return;
    CHECK(!strcmp(s->buf + LOW + 16, "zero"));
    end_region(s, mw);
}

/* Each way to invalidate the key that A has. */
enum way { REBOUND, UNBOUND, INVALIDATED, BY_SEND, DEALLOCATED };

static void end_by(struct side *s, struct ibv_mw *mw, enum way way)
{
    uint32_t key = mw->rkey;
    switch (way) {
    case REBOUND:
        CHECK_EQ(bind1(s, mw, over(s, WRITES)), 0);
        CHECK_EQ(last(s).status, IBV_WC_SUCCESS);
        CHECK(mw->rkey != key);
        break;
    case UNBOUND:
        CHECK_EQ(bind1(s, mw, (struct ibv_mw_bind_info){0}), 0);
        CHECK_EQ(last(s).status, IBV_WC_SUCCESS);
        break;
    case INVALIDATED:
        CHECK_EQ(invalidate(s, key), IBV_WC_SUCCESS);
        break;
    case DEALLOCATED:
        CHECK_EQ(ibv_dealloc_mw(mw), 0);
        break;
    default: /* by a SEND of A */
        break;
    }
}

static void ends(struct side *s, enum way way)
{
    bool type_1 = way == REBOUND || way == UNBOUND || way == DEALLOCATED;
    struct ibv_mw *mw = s->is_a ? NULL : type_1 ? bound1(s, WRITES) : bound2(s, WRITES);
    share(s, mw);
    if (s->is_a)
        CHECK_EQ(use(s, IBV_WR_RDMA_WRITE, LOW, 8), IBV_WC_SUCCESS);
    else {
        CHECK_EQ(ibv_dereg_mr(s->mr), EBUSY);
        CHECK_EQ(ibv_rereg_mr(s->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
                 IBV_REREG_MR_ERR_INPUT);
        CHECK_EQ(post_recv(s, 9, 0, 64), 0);
    }
    meet(s);
    if (!s->is_a) end_by(s, mw, way);
    if (way == BY_SEND && s->is_a) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND_WITH_INV, 5, 0, 16, 0);
        wr->invalidate_rkey = s->its.rkey;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 5, IBV_WC_SUCCESS);
    } else if (way == BY_SEND) {
        struct ibv_wc wc = await(s->rcq);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK_EQ(wc.opcode, IBV_WC_RECV);
        CHECK_EQ(wc.byte_len, 16);
        CHECK_EQ(wc.wc_flags, IBV_WC_WITH_INV);
        CHECK_EQ(wc.invalidated_rkey, mw->rkey);
    }
    meet(s);
    if (s->is_a) CHECK_EQ(use(s, IBV_WR_RDMA_WRITE, LOW, 8), IBV_WC_REM_ACCESS_ERR);
    meet(s);
    if (s->is_a) return;
    if (way == DEALLOCATED) return;
    CHECK_EQ(ibv_dealloc_pd(s->pd), EBUSY);
    end_region(s, mw);
}

static void ends_by_rebinding(struct side *s)
{
    ends(s, REBOUND);
}
static void ends_by_unbinding(struct side *s)
{
    ends(s, UNBOUND);
}
static void ends_by_invalidation(struct side *s)
{
    ends(s, INVALIDATED);
}
static void ends_by_send(struct side *s)
{
    ends(s, BY_SEND);
}
static void ends_by_deallocation(struct side *s)
{
    ends(s, DEALLOCATED);
}

static void wrong_invalidation_by_send(struct side *s)
{
    if (!s->is_a) CHECK_EQ(post_recv(s, 9, 0, 64), 0);
    meet(s);
    if (s->is_a) { /* the key of a region, which cannot be invalidated */
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND_WITH_INV, 5, 0, 16, 0);
        wr->invalidate_rkey = s->its.rkey;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 5, IBV_WC_REM_OP_ERR);
    } else
        expect(s->rcq, 9, IBV_WC_REM_INV_REQ_ERR);
    meet(s);
}

/* Type 2 repeatedly: invalidated and bound again, with the next key each time. */
static void bound_again(struct side *s)
{
    struct ibv_mw *mw = s->is_a ? NULL : bound2(s, WRITES);
    for (int i = 0; i < 600; i++) { /* more often than one window has keys */
        share(s, mw);
        if (s->is_a) CHECK_EQ(use(s, IBV_WR_RDMA_WRITE, LOW, 8), IBV_WC_SUCCESS);
        meet(s);
        if (s->is_a) continue;
        CHECK_EQ(invalidate(s, mw->rkey), IBV_WC_SUCCESS);
        CHECK_EQ(bind2(s, mw, ibv_inc_rkey(mw->rkey), over(s, WRITES)), IBV_WC_SUCCESS);
    }
    if (!s->is_a) end_region(s, mw);
    meet(s);
}

/* Refused binds; each breaks the QP, so each uses a new side. */
enum refusal { NO_RIGHT_TO_BIND, OUT_OF_RANGE, ALREADY_BOUND, FOREIGN_KEY, NOT_BOUND };

static void refused(struct side *s, enum refusal why)
{
    if (!s->is_a) {
        meet(s);
        return;
    }
    struct ibv_mw *mw =
        why == ALREADY_BOUND ? bound2(s, WRITES) : ibv_alloc_mw(s->pd, IBV_MW_TYPE_2);
    struct ibv_mw_bind_info info = over(s, WRITES);
    struct ibv_mr *plain = ibv_reg_mr(s->pd, s->buf, BUFFER, IBV_ACCESS_LOCAL_WRITE);
    uint32_t key = ibv_inc_rkey(mw->rkey);
    if (why == NO_RIGHT_TO_BIND) info.mr = plain;
    if (why == OUT_OF_RANGE) info.length = BUFFER;
    if (why == FOREIGN_KEY) key += 256;
    CHECK_EQ(why == NOT_BOUND ? invalidate(s, mw->rkey) : bind2(s, mw, key, info),
             IBV_WC_MW_BIND_ERR);
    CHECK_EQ(bind2(s, mw, key, over(s, WRITES)), IBV_WC_WR_FLUSH_ERR);
    end_region(s, mw);
    CHECK_EQ(ibv_dereg_mr(plain), 0);
    meet(s);
}

static void refused_without_right(struct side *s)
{
    refused(s, NO_RIGHT_TO_BIND);
}
static void refused_out_of_range(struct side *s)
{
    refused(s, OUT_OF_RANGE);
}
static void refused_when_bound(struct side *s)
{
    refused(s, ALREADY_BOUND);
}
static void refused_key(struct side *s)
{
    refused(s, FOREIGN_KEY);
}
static void refused_invalidation(struct side *s)
{
    refused(s, NOT_BOUND);
}

static void not_for_local_use(struct side *s)
{
    if (s->is_a) {
        struct ibv_mw *mw = bound1(s, WRITES | READS);
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, 1, LOW, 8, 0);
        wr->sg_list->lkey = mw->rkey;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 1, IBV_WC_LOC_PROT_ERR);
        end_region(s, mw);
    }
    meet(s);
}

/* The hub binds a window of type 2 on its QP to rank 1: rank 2 may not use it. */
static void for_one_qp(struct crowd *c)
{
    struct side s[CROWD];
    make_star(c, s);
    s[1].is_a = true;
    struct ibv_mw *mw = c->rank ? NULL : bound2(&s[1], WRITES);
    for (int r = 1; r < c->size; r++)
        if (c->rank == 0)
            to_rank(c, r, &mw->rkey, sizeof mw->rkey);
        else if (c->rank == r)
            from_rank(c, 0, &s[1].its.rkey, sizeof s[1].its.rkey);
    if (c->rank)
        CHECK_EQ(use(&s[1], IBV_WR_RDMA_WRITE, LOW, 8),
                 c->rank == 1 ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
    all_meet(c);
    if (mw) end_region(&s[1], mw);
    tear_down_star(c, s);
}

/* All by ibv_wr_*(), on a QP connected to itself. */
static void by_extended_calls(struct side *s)
{
    uint64_t ops = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV |
                   IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE;
    struct ibv_qp_init_attr_ex init = {.send_cq = s->scq,
                                       .recv_cq = s->rcq,
                                       .qp_type = IBV_QPT_RC,
                                       .cap = {16, 16, 1, 1, 64},
                                       .comp_mask =
                                           IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                                       .pd = s->pd,
                                       .send_ops_flags = ops};
    CHECK_EQ(ibv_destroy_qp(s->qp), 0);
    CHECK((s->qp = ibv_create_qp_ex(s->ctx, &init)) != NULL);
    struct ibv_qp_attr a = {
        .qp_state = IBV_QPS_INIT, .port_num = s->port, .qp_access_flags = WRITES};
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, mask), 0);
    s->mine.qpn = s->qp->qp_num;
    connect_qp(s, &s->mine);
    struct ibv_qp_ex *q = ibv_qp_to_qp_ex(s->qp);
    struct ibv_mw *mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_2);
    struct ibv_mw_bind_info info = over(s, WRITES);
    uint32_t key = ibv_inc_rkey(mw->rkey), next = ibv_inc_rkey(key);
    CHECK_EQ(post_recv(s, 4, 0, 64), 0);
    ibv_wr_start(q);
    q->wr_flags = IBV_SEND_SIGNALED;
    q->wr_id = 1;
    ibv_wr_bind_mw(q, mw, key, &info);
    q->wr_id = 2;
    ibv_wr_rdma_write(q, key, (uintptr_t)s->buf + LOW);
    ibv_wr_set_sge(q, s->mr->lkey, (uintptr_t)s->buf, 8);
    q->wr_id = 3;
    ibv_wr_local_inv(q, key);
    q->wr_id = 4;
    ibv_wr_bind_mw(q, mw, next, &info);
    q->wr_id = 5;
    ibv_wr_send_inv(q, next);
    ibv_wr_set_sge(q, s->mr->lkey, (uintptr_t)s->buf, 8);
    q->wr_id = 6;
    ibv_wr_rdma_write(q, next, (uintptr_t)s->buf + LOW);
    ibv_wr_set_sge(q, s->mr->lkey, (uintptr_t)s->buf, 8);
    CHECK_EQ(ibv_wr_complete(q), 0);
    for (int i = 1; i <= 5; i++) expect(s->scq, i, IBV_WC_SUCCESS);
    expect(s->scq, 6, IBV_WC_REM_ACCESS_ERR);
    struct ibv_wc wc = await(s->rcq);
    CHECK_EQ(wc.wc_flags, IBV_WC_WITH_INV);
    CHECK_EQ(wc.invalidated_rkey, next);
    end_region(s, mw);
    meet(s);
}

static void does_not_grow(struct side *s)
{
    struct ibv_device_attr d;
    CHECK_EQ(ibv_query_device(s->ctx, &d), 0);
    CHECK(d.max_mw > 0 && d.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
    CHECK(d.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
    CHECK(ibv_alloc_mw(s->pd, 7) == NULL && errno == EINVAL);
    long before = 0;
    for (int i = 0; i < 5000; i++) {
        if (i == 500) before = resident();
        struct ibv_mw *one = bound1(s, WRITES), *two = bound2(s, READS);
        if (i % 2) CHECK_EQ(invalidate(s, two->rkey), IBV_WC_SUCCESS);
        CHECK_EQ(ibv_dealloc_mw(i % 3 ? one : two), 0);
        CHECK_EQ(ibv_dealloc_mw(i % 3 ? two : one), 0);
    }
    CHECK(resident() < before + 1024);
    meet(s);
}

void window_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
    } tests[] = {
        {"a window of type 1 grants its range", type_1_grants},
        {"a window of type 2 grants its range", type_2_grants},
        {"a window grants its rights only", grants_its_rights_only},
        {"a window may count from zero", may_count_from_zero},
        {"its key ends by rebinding", ends_by_rebinding},
        {"its key ends by unbinding", ends_by_unbinding},
        {"its key ends by local invalidation", ends_by_invalidation},
        {"its key ends by a SEND that invalidates", ends_by_send},
        {"its key ends when the window is deallocated", ends_by_deallocation},
        {"a SEND that invalidates what is no window", wrong_invalidation_by_send},
        {"a window is invalidated and bound again, with all keys", bound_again},
        {"a bind without the right of the region", refused_without_right},
        {"a bind beyond the region", refused_out_of_range},
        {"a bind of type 2 over a bind", refused_when_bound},
        {"a bind with another window's key", refused_key},
        {"an invalidation of what is not bound", refused_invalidation},
        {"a window is not for local use", not_for_local_use},
        {"windows by ibv_wr_...()", by_extended_calls},
        {"five thousand windows without growth", does_not_grow},
    };
    for (int ordinary = 0; ordinary < 2; ordinary++) {
        const char *memory = ordinary ? "ordinary" : "mapped";
        struct options o = {.ordinary = ordinary, .mr_access = OVER};
        for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
            check(run_pair(tests[i].run, &o), "%s, %s memory", tests[i].name, memory);
        check(run_crowd(for_one_qp, 3, &o), "a window of type 2 is for one QP, %s memory", memory);
    }
}
