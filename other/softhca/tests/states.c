/* states.c - rules about the states of a queue pair: draining, the first message, and queries. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "pair.h"
#include "rules.h"

static int go(struct side *s, enum ibv_qp_state to, int more, struct ibv_qp_attr a)
{
    a.qp_state = to;
    return ibv_modify_qp(s->qp, &a, IBV_QP_STATE | more);
}

static struct ibv_qp_attr query(struct side *s)
{
    struct ibv_qp_attr a;
    struct ibv_qp_init_attr init;
    CHECK_EQ(ibv_query_qp(s->qp, &a, 0, &init), 0);
    CHECK(init.send_cq == s->scq && init.recv_cq == s->rcq && init.qp_context == NULL);
    CHECK_EQ(init.qp_type, IBV_QPT_RC);
    CHECK_EQ(init.sq_sig_all, 0);
    CHECK_EQ(a.cap.max_send_wr, 256);
    CHECK_EQ(a.cur_qp_state, a.qp_state);
    CHECK_EQ(a.sq_draining, 0);
    CHECK_EQ(a.path_mig_state, IBV_MIG_MIGRATED);
    return a;
}

static void drained(struct side *s)
{
    if (s->is_a) {
        CHECK_EQ(go(s, IBV_QPS_SQD, 0, (struct ibv_qp_attr){0}), 0);
        CHECK(!event_waits(s));
        CHECK_EQ(query(s).qp_state, IBV_QPS_SQD);
        CHECK_EQ(go(s, IBV_QPS_RTS, 0, (struct ibv_qp_attr){0}), 0);
        CHECK_EQ(go(s, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY,
                    (struct ibv_qp_attr){.en_sqd_async_notify = 1}),
                 0);
        CHECK_EQ(await_event(s), IBV_EVENT_SQ_DRAINED);
        CHECK_EQ(query(s).en_sqd_async_notify, 1);
        /* WRs posted now wait; attributes of a stopped queue may change. */
        for (int i = 0; i < 3; i++) CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, i, 0, 8, 0)), 0);
        expect_nothing(s->scq);
        CHECK_EQ(go(s, IBV_QPS_SQD, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT,
                    (struct ibv_qp_attr){.timeout = 9, .retry_cnt = 3}),
                 0);
        struct ibv_qp_attr a = query(s);
        CHECK(a.timeout == 9 && a.retry_cnt == 3);
        CHECK_EQ(
            go(s, IBV_QPS_RTS, IBV_QP_CUR_STATE, (struct ibv_qp_attr){.cur_qp_state = IBV_QPS_RTS}),
            EINVAL);
        CHECK_EQ(
            go(s, IBV_QPS_RTS, IBV_QP_CUR_STATE, (struct ibv_qp_attr){.cur_qp_state = IBV_QPS_SQD}),
            0);
        for (int i = 0; i < 3; i++) expect(s->scq, i, IBV_WC_SUCCESS);
    }
    meet(s);
}

/* The queue drains until SQ_DRAINED, which no completion follows; messages that had not begun
 * continue in RTS. */
static void drained_after_completions(struct side *s)
{
    enum { MESSAGES = 16 };
    int ended = 0;
    struct ibv_wc wc;
    struct ibv_qp_attr a;
    struct ibv_qp_init_attr init;
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, MESSAGES, 0, 8, 0)), 0);
        expect(s->scq, MESSAGES, IBV_WC_SUCCESS); /* hosts are connected from now on */
        for (int i = 0; i < MESSAGES; i++)
            CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, i, 0, BUFFER, 0)), 0);
        CHECK_EQ(go(s, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY,
                    (struct ibv_qp_attr){.en_sqd_async_notify = 1}),
                 0);
        do CHECK_EQ(ibv_query_qp(s->qp, &a, 0, &init), 0);
        while (a.sq_draining);
        CHECK(event_waits(s));
        CHECK_EQ(await_event(s), IBV_EVENT_SQ_DRAINED);
        for (; ibv_poll_cq(s->scq, 1, &wc) == 1; ended++) {
            CHECK_EQ(wc.wr_id, ended);
            CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        }
        usleep(20000); /* for a completion that comes all the same; any length is correct */
        expect_nothing(s->scq);
        CHECK_EQ(go(s, IBV_QPS_RTS, 0, (struct ibv_qp_attr){0}), 0);
        for (; ended < MESSAGES; ended++) expect(s->scq, ended, IBV_WC_SUCCESS);
        CHECK(!event_waits(s));
    }
    meet(s);
}

/* A gets SQ_DRAINED while a WR waits for a receive; the WR continues afterwards. */
static void stopped_while_waiting(struct side *s)
{
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, 0, 8, 0)), 0);
        CHECK_EQ(go(s, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY,
                    (struct ibv_qp_attr){.en_sqd_async_notify = 1}),
                 0);
        CHECK_EQ(await_event(s), IBV_EVENT_SQ_DRAINED);
    }
    meet(s);
    if (!s->is_a) {
        CHECK_EQ(post_recv(s, 1, 0, 64), 0);
        usleep(20000); /* for a message that comes all the same; any length is correct */
        expect_nothing(s->rcq);
    }
    meet(s);
    if (s->is_a) {
        CHECK_EQ(go(s, IBV_QPS_RTS, 0, (struct ibv_qp_attr){0}), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
    } else
        expect(s->rcq, 1, IBV_WC_SUCCESS);
    meet(s);
}

static void to_init_and_rtr(struct side *s)
{
    CHECK_EQ(
        go(s, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
           (struct ibv_qp_attr){.port_num = s->port, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE}),
        0);
    struct ibv_qp_attr a = {.path_mtu = IBV_MTU_512,
                            .dest_qp_num = s->its.qpn,
                            .rq_psn = 0x123,
                            .max_dest_rd_atomic = 4,
                            .min_rnr_timer = 5,
                            .ah_attr = {.dlid = s->its.lid, .port_num = s->port, .sl = 3}};
    CHECK_EQ(go(s, IBV_QPS_RTR,
                IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                a),
             0);
}

/* B stays in RTR: one COMM_EST event, and no message is lost. */
static void first_message(struct side *s)
{
    if (!s->is_a) {
        CHECK_EQ(go(s, IBV_QPS_RESET, 0, (struct ibv_qp_attr){0}), 0);
        to_init_and_rtr(s);
        for (int i = 0; i < 3; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
        CHECK(!event_waits(s));
    }
    meet(s);
    if (s->is_a)
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, i, 0, 8, 0)), 0);
            expect(s->scq, i, IBV_WC_SUCCESS);
        }
    else {
        CHECK_EQ(await_event(s), IBV_EVENT_COMM_EST);
        for (int i = 0; i < 3; i++) expect(s->rcq, i, IBV_WC_SUCCESS);
    }
    meet(s);
    if (!s->is_a) CHECK(!event_waits(s));
}

static void no_event_when_sending(struct side *s)
{
    CHECK_EQ(post_recv(s, 1, 0, 64), 0);
    meet(s);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, 0, 8, 0)), 0);
    expect(s->scq, 1, IBV_WC_SUCCESS);
    expect(s->rcq, 1, IBV_WC_SUCCESS);
    meet(s);
    CHECK(!event_waits(s));
}

static void query_returns_what_was_set(struct side *s)
{
    CHECK_EQ(query(s).qp_state, IBV_QPS_RTS);
    CHECK_EQ(go(s, IBV_QPS_RESET, 0, (struct ibv_qp_attr){0}), 0);
    struct ibv_qp_attr a = query(s);
    CHECK(a.qp_state == IBV_QPS_RESET && a.dest_qp_num == 0 && a.port_num == 0 && a.timeout == 0);
    to_init_and_rtr(s);
    a = query(s);
    CHECK(a.qp_state == IBV_QPS_RTR && a.port_num == s->port && a.path_mtu == IBV_MTU_512);
    CHECK(a.dest_qp_num == s->its.qpn && a.rq_psn == 0x123 && a.max_dest_rd_atomic == 4);
    CHECK(a.min_rnr_timer == 5 && a.ah_attr.dlid == s->its.lid && a.ah_attr.sl == 3);
    CHECK_EQ(a.qp_access_flags, IBV_ACCESS_REMOTE_WRITE);
    struct ibv_qp_attr rts = {
        .timeout = 11, .retry_cnt = 2, .rnr_retry = 1, .sq_psn = 0x456, .max_rd_atomic = 3};
    int mask = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
               IBV_QP_MAX_QP_RD_ATOMIC;
    rts.path_mig_state = IBV_MIG_ARMED; /* no alternate path */
    CHECK_EQ(go(s, IBV_QPS_RTS, mask | IBV_QP_PATH_MIG_STATE, rts), EINVAL);
    CHECK_EQ(go(s, IBV_QPS_RTS, mask | IBV_QP_ALT_PATH, rts), EINVAL);
    rts.path_mig_state = IBV_MIG_MIGRATED;
    CHECK_EQ(go(s, IBV_QPS_RTS, mask | IBV_QP_PATH_MIG_STATE, rts), 0);
    a = query(s);
    CHECK(a.timeout == 11 && a.retry_cnt == 2 && a.rnr_retry == 1 && a.sq_psn == 0x456);
    CHECK_EQ(a.max_rd_atomic, 3);
    CHECK_EQ(go(s, IBV_QPS_ERR, 0, (struct ibv_qp_attr){0}), 0);
    CHECK_EQ(query(s).qp_state, IBV_QPS_ERR);
    meet(s);
}

void state_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
    } tests[] = {
        {"a drained send queue is reported, and goes on", drained},
        {"a drained send queue is reported after its completions", drained_after_completions},
        {"a send queue that waits is stopped, and goes on", stopped_while_waiting},
        {"the first message before RTS is reported, once", first_message},
        {"a message after RTS is not", no_event_when_sending},
        {"a query returns what was set", query_returns_what_was_set},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        check(run_pair(tests[i].run, NULL), "%s", tests[i].name);
}
