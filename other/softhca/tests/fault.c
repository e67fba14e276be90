/* fault.c - rules about errors: the status at the initiator, the states of both QPs, the
 * completions and events at the target, the flush.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "rules.h"

/* After WR 1 failed: later WRs are flushed, and the QP is in ERR. */
static void expect_broken(struct side *s, enum ibv_wc_status status)
{
    expect(s->scq, 1, status);
    CHECK_EQ(state_of(s), IBV_QPS_ERR);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 2, 0, 8, 0)), 0);
    expect(s->scq, 2, IBV_WC_WR_FLUSH_ERR);
    expect(s->rcq, 50, IBV_WC_WR_FLUSH_ERR);
    CHECK_EQ(post_recv(s, 51, 0, 64), 0);
    expect(s->rcq, 51, IBV_WC_WR_FLUSH_ERR);
}

static void a_flushes(struct side *s, struct ibv_send_wr *wr, enum ibv_wc_status status)
{
    CHECK_EQ(post_recv(s, 50, 0, 64), 0);
    CHECK_EQ(post(s, wr), 0);
    expect_broken(s, status);
}

/* The target of a bad request: its QP goes to ERR too, with an event. */
static void b_breaks(struct side *s, enum ibv_event_type event)
{
    CHECK_EQ(post_recv(s, 60, 0, 64), 0);
    meet(s);
    CHECK_EQ(await_event(s), event);
    CHECK_EQ(state_of(s), IBV_QPS_ERR);
    expect(s->rcq, 60, IBV_WC_WR_FLUSH_ERR);
}

static void remote_fault(struct side *s, struct ibv_send_wr *wr, enum ibv_wc_status status,
                         enum ibv_event_type event)
{
    if (s->is_a) {
        meet(s);
        a_flushes(s, wr, status);
    } else
        b_breaks(s, event);
    meet(s);
}

static void bad_rkey(struct side *s)
{
    struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0);
    wr->wr.rdma.rkey ^= 0x5500;
    remote_fault(s, wr, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

static void bad_rkey_read(struct side *s)
{
    struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_READ, 1, 0, 8, 0);
    wr->wr.rdma.rkey ^= 0x01;
    remote_fault(s, wr, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

static void bad_range(struct side *s)
{
    remote_fault(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 16, BUFFER - 8), IBV_WC_REM_ACCESS_ERR,
                 IBV_EVENT_QP_ACCESS_ERR);
}

static void bad_range_below(struct side *s)
{
    remote_fault(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 16, (size_t)-8), IBV_WC_REM_ACCESS_ERR,
                 IBV_EVENT_QP_ACCESS_ERR);
}

static void mr_forbids_write(struct side *s)
{
    remote_fault(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 16, 0), IBV_WC_REM_ACCESS_ERR,
                 IBV_EVENT_QP_ACCESS_ERR);
}

static void mr_forbids_atomic(struct side *s)
{
    remote_fault(s, make_wr(s, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8, 0), IBV_WC_REM_ACCESS_ERR,
                 IBV_EVENT_QP_ACCESS_ERR);
}

static void qp_forbids_write(struct side *s)
{
    remote_fault(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 16, 0), IBV_WC_REM_INV_REQ_ERR,
                 IBV_EVENT_QP_REQ_ERR);
}

static void misaligned_atomic(struct side *s)
{
    remote_fault(s, make_wr(s, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8, 4), IBV_WC_REM_INV_REQ_ERR,
                 IBV_EVENT_QP_REQ_ERR);
}

static void mr_of_another_pd(struct side *s)
{
    struct ibv_pd *pd = ibv_alloc_pd(s->ctx);
    struct ibv_mr *mr =
        ibv_reg_mr(pd, s->buf, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    CHECK(pd && mr);
    uint32_t rkey;
    tell(s, &mr->rkey, sizeof mr->rkey);
    hear(s, &rkey, sizeof rkey);
    struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0);
    wr->wr.rdma.rkey = rkey;
    remote_fault(s, wr, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
    CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
    CHECK_EQ(ibv_dereg_mr(mr), 0);
    CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

static void deregistered_mr(struct side *s)
{
    struct ibv_mr *mr =
        ibv_reg_mr(s->pd, s->buf, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    uint32_t rkey;
    CHECK(mr != NULL);
    tell(s, &mr->rkey, sizeof mr->rkey);
    hear(s, &rkey, sizeof rkey);
    struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0);
    wr->wr.rdma.rkey = rkey;
    if (s->is_a) {
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
    }
    meet(s);
    CHECK_EQ(ibv_dereg_mr(mr), 0);
    remote_fault(s, wr, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

/* An error of the initiator: the target is not affected. */
static void local_fault(struct side *s, struct ibv_send_wr *wr)
{
    if (s->is_a) a_flushes(s, wr, IBV_WC_LOC_PROT_ERR);
    meet(s);
    if (!s->is_a) CHECK_EQ(state_of(s), IBV_QPS_RTS);
    meet(s);
}

static void bad_lkey(struct side *s)
{
    struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0);
    wr->sg_list->lkey ^= 0x100;
    local_fault(s, wr);
}

static void bad_local_range(struct side *s)
{
    local_fault(s, make_wr(s, IBV_WR_SEND, 1, BUFFER - 4, 8, 0));
}

static void read_into_read_only_mr(struct side *s)
{
    struct ibv_mr *mr = ibv_reg_mr(s->pd, s->buf, 4096, 0);
    CHECK(mr != NULL);
    struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_READ, 1, 0, 8, 0);
    wr->sg_list->lkey = mr->lkey;
    local_fault(s, wr);
    CHECK_EQ(ibv_dereg_mr(mr), 0);
}

static void message_too_long(struct side *s)
{
    if (s->is_a) {
        meet(s);
        a_flushes(s, make_wr(s, IBV_WR_SEND, 1, 0, 100, 0), IBV_WC_REM_INV_REQ_ERR);
    } else {
        CHECK_EQ(post_recv(s, 60, 0, 64), 0);
        CHECK_EQ(post_recv(s, 61, 0, 64), 0);
        meet(s);
        expect(s->rcq, 60, IBV_WC_LOC_LEN_ERR);
        expect(s->rcq, 61, IBV_WC_WR_FLUSH_ERR);
        CHECK_EQ(state_of(s), IBV_QPS_ERR);
    }
    meet(s);
}

static void receive_with_bad_lkey(struct side *s)
{
    if (s->is_a) {
        meet(s);
        a_flushes(s, make_wr(s, IBV_WR_SEND, 1, 0, 32, 0), IBV_WC_REM_OP_ERR);
    } else {
        struct ibv_sge sge = {(uintptr_t)s->buf, 64, s->mr->lkey ^ 0x100};
        struct ibv_recv_wr wr = {.wr_id = 60, .sg_list = &sge, .num_sge = 1}, *bad;
        CHECK_EQ(ibv_post_recv(s->qp, &wr, &bad), 0);
        meet(s);
        expect(s->rcq, 60, IBV_WC_LOC_PROT_ERR);
    }
    meet(s);
}

static void rnr_retries_run_out(struct side *s)
{
    if (s->is_a) {
        CHECK_EQ(post_recv(s, 50, 0, 64), 0);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, 0, 8, 0)), 0);
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, 3, 0, 8, 0);
        wr->send_flags = 0;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
        expect(s->scq, 3, IBV_WC_WR_FLUSH_ERR);
        expect(s->rcq, 50, IBV_WC_WR_FLUSH_ERR);
    }
    meet(s);
}

static void no_qp_receives(struct side *s)
{
    if (s->is_a) {
        struct address nobody = s->its;
        nobody.qpn ^= 0x800; /* no such QP in that process */
        connect_qp(s, &nobody);
        CHECK_EQ(post_recv(s, 50, 0, 64), 0);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0)), 0);
        expect_broken(s, IBV_WC_RETRY_EXC_ERR);
    }
    meet(s);
}

static void no_such_process(struct side *s)
{
    if (s->is_a) {
        struct address nobody = {.qpn = 0x001001, .lid = s->its.lid};
        connect_qp(s, &nobody);
        CHECK_EQ(post_recv(s, 50, 0, 64), 0);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, 0, 8, 0)), 0);
        expect_broken(s, IBV_WC_RETRY_EXC_ERR);
    }
    meet(s);
}

static void error_state_flushes_both_queues(struct side *s)
{
    if (s->is_a) {
        for (int i = 0; i < 5; i++) CHECK_EQ(post_recv(s, 100 + i, 0, 8), 0);
        for (int i = 0; i < 5; i++) CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, i, 0, 8, 0)), 0);
        struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
        CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
        for (int i = 0; i < 5; i++) expect(s->scq, i, IBV_WC_WR_FLUSH_ERR);
        for (int i = 0; i < 5; i++) expect(s->rcq, 100 + i, IBV_WC_WR_FLUSH_ERR);
        expect_nothing(s->scq);
        expect_nothing(s->rcq);
    }
    meet(s);
}

static void reset_and_connect_again(struct side *s)
{
    for (int round = 0; round < 20; round++) {
        CHECK_EQ(post_recv(s, 10, 0, 64), 0);
        CHECK_EQ(post_recv(s, 11, 0, 64), 0);
        meet(s);
        if (s->is_a) {
            CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, 0, 64, 0)), 0);
            expect(s->scq, 1, IBV_WC_SUCCESS);
        } else
            expect(s->rcq, 10, IBV_WC_SUCCESS);
        meet(s);
        struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
        CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
        expect_nothing(s->rcq);
        a = (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1};
        CHECK_EQ(
            ibv_modify_qp(s->qp, &a,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
            0);
        meet(s);
        connect_qp(s, &s->its);
        meet(s);
    }
}

void fault_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        struct options o;
    } tests[] = {
        {"bad rkey: REM_ACCESS_ERR, both QPs break, all is flushed", bad_rkey, {0}},
        {"bad rkey of a READ", bad_rkey_read, {0}},
        {"bad rkey, ordinary memory", bad_rkey, {.ordinary = true}},
        {"range beyond the MR", bad_range, {0}},
        {"range before the MR", bad_range_below, {0}},
        {"MR without remote write", mr_forbids_write, {.mr_access = IBV_ACCESS_LOCAL_WRITE}},
        {"MR without remote atomic",
         mr_forbids_atomic,
         {.mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}},
        {"QP without remote write: REM_INV_REQ_ERR",
         qp_forbids_write,
         {.qp_access = IBV_ACCESS_REMOTE_READ}},
        {"misaligned atomic: REM_INV_REQ_ERR", misaligned_atomic, {0}},
        {"MR of another PD", mr_of_another_pd, {0}},
        {"deregistered MR", deregistered_mr, {0}},
        {"bad lkey: LOC_PROT_ERR, the target unharmed", bad_lkey, {0}},
        {"local range beyond the MR", bad_local_range, {0}},
        {"READ into an MR without local write", read_into_read_only_mr, {0}},
        {"message longer than the receive", message_too_long, {0}},
        {"receive with a bad lkey", receive_with_bad_lkey, {0}},
        {"RNR retries run out", rnr_retries_run_out, {.rnr_retry = 2, .min_rnr_timer = 5}},
        {"no such QP: RETRY_EXC_ERR in time",
         no_qp_receives,
         {.no_connect = true, .timeout = 10, .retry_cnt = 1}},
        {"no such process: RETRY_EXC_ERR in time",
         no_such_process,
         {.no_connect = true, .timeout = 10, .retry_cnt = 1}},
        {"going to ERR flushes both queues", error_state_flushes_both_queues, {0}},
        {"a QP can be reset and connected again", reset_and_connect_again, {0}},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        check(run_pair(tests[i].run, &tests[i].o), "%s", tests[i].name);
}
