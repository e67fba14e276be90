/* unreliable.c - rules about unreliable connections: a message that cannot be delivered is lost
 * without an error at the sender, and an error of the sender stops its send queue only.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"
#include "rules.h"

/* The send succeeds in any case. */
static void succeeds(struct side *s, struct ibv_send_wr *wr)
{
    CHECK_EQ(post(s, wr), 0);
    expect(s->scq, wr->wr_id, IBV_WC_SUCCESS);
}

static void messages_arrive(struct side *s)
{
    if (!s->is_a)
        for (int i = 0; i < 3; i++) CHECK_EQ(post_recv(s, i, (size_t)i * 100000, 100000), 0);
    meet(s);
    if (s->is_a) {
        fill(s->buf, 100000, 1);
        succeeds(s, make_wr(s, IBV_WR_SEND, 1, 0, 100, 0));
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND_WITH_IMM, 2, 0, 100000, 0);
        wr->imm_data = 77;
        succeeds(s, wr);
        succeeds(s, make_wr(s, IBV_WR_RDMA_WRITE, 3, 0, 5000, 400000));
        wr = make_wr(s, IBV_WR_RDMA_WRITE_WITH_IMM, 4, 0, 6000, 500000);
        wr->imm_data = 78;
        succeeds(s, wr);
    } else {
        static const uint32_t sizes[] = {100, 100000, 6000};
        for (int i = 0; i < 3; i++) {
            struct ibv_wc wc = await(s->rcq);
            CHECK_EQ(wc.wr_id, i);
            CHECK_EQ(wc.status, IBV_WC_SUCCESS);
            CHECK_EQ(wc.byte_len, sizes[i]);
            CHECK_EQ(wc.src_qp, 0); /* src_qp is of datagrams only */
            CHECK_EQ(wc.opcode, i == 2 ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
            CHECK_EQ(wc.wc_flags, i ? IBV_WC_WITH_IMM : 0);
            if (i) CHECK_EQ(wc.imm_data, 76 + i);
            if (i < 2) CHECK(filled(s->buf + (size_t)i * 100000, sizes[i], 1));
        }
        CHECK(filled(s->buf + 400000, 5000, 1));
        CHECK(filled(s->buf + 500000, 6000, 1));
    }
    meet(s);
}

static void fetches_are_refused(struct side *s)
{
    static const enum ibv_wr_opcode fetches[] = {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
                                                 IBV_WR_ATOMIC_FETCH_AND_ADD};
    for (int i = 0; i < 3; i++) CHECK_EQ(post(s, make_wr(s, fetches[i], 1, 0, 8, 0)), EINVAL);
    expect_nothing(s->scq);
    meet(s);
}

/* The messages of A have passed the queue pair of B and have their effect: on another host that
 * takes a while. */
static void all_passed(struct side *s, char mark)
{
    if (s->is_a) {
        s->buf[BUFFER / 2] = mark;
        succeeds(s, make_wr(s, IBV_WR_RDMA_WRITE, mark, BUFFER / 2, 1, BUFFER / 2));
    } else
        while (__atomic_load_n(&s->buf[BUFFER / 2], __ATOMIC_ACQUIRE) != mark) continue;
    meet(s);
}

/* Lost: a message without a receive, one longer than its receive, a WRITE without the right. */
static void lost_without_error(struct side *s)
{
    if (s->is_a) {
        fill(s->buf, 300, 1);
        for (int i = 0; i < 5; i++) succeeds(s, make_wr(s, IBV_WR_SEND, i, 0, 8, 0));
        succeeds(s, make_wr(s, IBV_WR_RDMA_WRITE_WITH_IMM, 5, 0, 8, 0));
    }
    all_passed(s, 'a');
    /* A shared queue gets receives of lost messages back a little later. */
    for (int i = 0; !s->is_a && i < (s->srq ? 3 : 1); i++) CHECK_EQ(post_recv(s, 1, 0, 64), 0);
    meet(s);
    if (s->is_a) {
        succeeds(s, make_wr(s, IBV_WR_SEND, 6, 0, 65, 0));
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 7, 0, 8, 1000);
        wr->wr.rdma.rkey ^= 0x100;
        succeeds(s, wr);
        wr = make_wr(s, IBV_WR_RDMA_WRITE_WITH_IMM, 8, 0, 16, BUFFER - 8);
        succeeds(s, wr);
        succeeds(s, make_wr(s, IBV_WR_SEND, 9, 0, 64, 0));
    } else {
        struct ibv_wc wc = await(s->rcq);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK_EQ(wc.byte_len, 64);
        CHECK(filled(s->buf, 64, 1));
        expect_nothing(s->rcq);
        CHECK_EQ(state_of(s), IBV_QPS_RTS);
        CHECK(!event_waits(s));
        CHECK_EQ(s->buf[1000], 0);
    }
    meet(s);
}

static void receive_with_bad_lkey(struct side *s)
{
    if (!s->is_a) {
        struct ibv_sge sge = {(uintptr_t)s->buf, 64, s->mr->lkey ^ 0x100};
        struct ibv_recv_wr wr = {.wr_id = 60, .sg_list = &sge, .num_sge = 1};
        CHECK_EQ(post_recv_wr(s, &wr), 0);
        CHECK_EQ(post_recv(s, 61, 0, 64), 0);
    }
    meet(s);
    if (s->is_a)
        succeeds(s, make_wr(s, IBV_WR_SEND, 1, 0, 32, 0));
    else {
        expect(s->rcq, 60, IBV_WC_LOC_PROT_ERR);
        expect(s->rcq, 61, IBV_WC_WR_FLUSH_ERR);
        CHECK_EQ(state_of(s), IBV_QPS_ERR);
    }
    meet(s);
    if (s->is_a) succeeds(s, make_wr(s, IBV_WR_SEND, 2, 0, 32, 0));
    meet(s);
}

/* SQE: no sends, but receives, until the program recovers the QP. */
static void own_fault_stops_sending(struct side *s)
{
    CHECK_EQ(post_recv(s, 10, 0, 64), 0);
    CHECK_EQ(post_recv(s, 11, 64, 64), 0);
    meet(s);
    if (s->is_a) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, 1, 0, 8, 0);
        wr->sg_list->lkey ^= 0x100;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 1, IBV_WC_LOC_PROT_ERR);
        CHECK_EQ(state_of(s), IBV_QPS_SQE);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 2, 0, 8, 0)), 0);
        expect(s->scq, 2, IBV_WC_WR_FLUSH_ERR);
    }
    meet(s);
    if (!s->is_a) succeeds(s, make_wr(s, IBV_WR_SEND, 3, 0, 8, 0));
    meet(s);
    if (s->is_a) {
        expect(s->rcq, 10, IBV_WC_SUCCESS);
        struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE};
        CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
        succeeds(s, make_wr(s, IBV_WR_SEND, 4, 0, 8, 0));
    }
    meet(s);
    if (!s->is_a) expect(s->rcq, 10, IBV_WC_SUCCESS);
    meet(s);
}

static void attributes_are_those_of_the_type(struct side *s)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
                            .path_mtu = IBV_MTU_1024,
                            .dest_qp_num = s->its.qpn,
                            .ah_attr = {.dlid = s->its.lid, .port_num = 1}};
    int path = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, path | IBV_QP_MIN_RNR_TIMER), EINVAL);
    CHECK_EQ(ibv_modify_qp(s->qp, &a, path & ~IBV_QP_AV), EINVAL);
    CHECK_EQ(ibv_modify_qp(s->qp, &a, path | IBV_QP_QKEY), EINVAL);
    CHECK_EQ(ibv_modify_qp(s->qp, &a, path), 0);
    a.qp_state = IBV_QPS_RTS;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT), EINVAL);
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
    meet(s);
}

/* A reliable and an unreliable end do not communicate. */
static void types_do_not_mix(struct side *s)
{
    if (!s->is_a) {
        CHECK_EQ(ibv_destroy_qp(s->qp), 0);
        s->o.type = IBV_QPT_RC;
        add_qp(s);
        tell(s, &s->mine, sizeof s->mine);
        connect_qp(s, &s->its);
        CHECK_EQ(post_recv(s, 1, 0, 64), 0);
    } else {
        hear(s, &s->its, sizeof s->its);
        connect_qp(s, &s->its);
    }
    meet(s);
    if (s->is_a) succeeds(s, make_wr(s, IBV_WR_SEND, 1, 0, 8, 0));
    meet(s);
    if (!s->is_a) expect_nothing(s->rcq);
    meet(s);
}

static void ended_peer_causes_no_error(struct side *s)
{
    if (!s->is_a) {
        for (;;) pause();
    }
    CHECK_EQ(kill(s->other, SIGKILL), 0);
    for (int i = 0; i < 1000; i++) succeeds(s, make_wr(s, IBV_WR_SEND, i, 0, 8, 0));
    CHECK_EQ(state_of(s), IBV_QPS_RTS);
}

void unreliable_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        struct options o;
    } tests[] = {
        {"messages arrive", messages_arrive, {0}},
        {"messages arrive, ordinary memory", messages_arrive, {.ordinary = true}},
        {"messages arrive, shared queue", messages_arrive, {.srq_wr = 8}},
        {"READ and atomics are refused", fetches_are_refused, {0}},
        {"lost without an error", lost_without_error, {0}},
        {"lost without an error, shared queue", lost_without_error, {.srq_wr = 8}},
        {"a receive with a bad lkey breaks its queue", receive_with_bad_lkey, {0}},
        {"a fault of one's own stops sending, not receiving", own_fault_stops_sending, {0}},
        {"attributes are those of the type",
         attributes_are_those_of_the_type,
         {.no_connect = true}},
        {"types do not mix", types_do_not_mix, {.no_connect = true}},
        {"an ended peer causes no error", ended_peer_causes_no_error, {0}},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        struct options o = tests[i].o;
        o.type = IBV_QPT_UC;
        check(run_pair(tests[i].run, &o), "UC: %s", tests[i].name);
    }
}
