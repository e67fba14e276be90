/* datagram.c - rules about datagrams: the bytes before the payload, delivery, losses, address
 * handles from completions, and many senders at once, some of which die.
 */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crowd.h"
#include "rules.h"

enum { GRH = 40 };

static void succeeds(struct side *s, struct ibv_send_wr *wr)
{
    CHECK_EQ(post(s, wr), 0);
    expect(s->scq, wr->wr_id, IBV_WC_SUCCESS);
}

/* The next message from the other side is MESSAGE LEN; lost messages do not arrive later. */
static void expect_message(struct side *s, uint64_t id, uint32_t len)
{
    struct ibv_wc wc = await(s->rcq);
    CHECK_EQ(wc.status, IBV_WC_SUCCESS);
    CHECK_EQ(wc.wr_id, id);
    CHECK_EQ(wc.byte_len, GRH + len);
}

static void payload_follows_40_bytes(struct side *s)
{
    static const uint32_t sizes[] = {0, 1, 200, 216, 217, 4096};
    if (!s->is_a)
        for (int i = 0; i < 6; i++) CHECK_EQ(post_recv(s, i, (size_t)i * 8192, 8192), 0);
    meet(s);
    for (int i = 0; i < 6; i++) {
        if (s->is_a) {
            fill(s->buf, 4096, i);
            struct ibv_send_wr *wr =
                make_wr(s, i % 2 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, i, 0, sizes[i], 0);
            wr->imm_data = 100 + i;
            succeeds(s, wr);
            continue;
        }
        struct ibv_wc wc = await(s->rcq);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK_EQ(wc.opcode, IBV_WC_RECV);
        CHECK_EQ(wc.wr_id, i);
        CHECK_EQ(wc.byte_len, GRH + sizes[i]);
        CHECK_EQ(wc.wc_flags, i % 2 ? IBV_WC_WITH_IMM : 0);
        if (i % 2) CHECK_EQ(wc.imm_data, 100 + i);
        CHECK_EQ(wc.qp_num, s->qp->qp_num);
        CHECK_EQ(wc.src_qp, s->its.qpn);
        CHECK_EQ(wc.slid, s->its.lid);
        CHECK(filled(s->buf + (size_t)i * 8192 + GRH, sizes[i], i));
    }
    meet(s);
}

/* With a global address those bytes are a GRH, from which an address handle can be made. */
static void reply_reaches_the_sender(struct side *s)
{
    for (int global = 0; global < 2; global++) {
        union ibv_gid gid, its;
        CHECK_EQ(ibv_query_gid(s->ctx, 1, 0, &gid), 0);
        tell(s, &gid, sizeof gid);
        hear(s, &its, sizeof its);
        struct ibv_ah_attr a = {.dlid = s->its.lid, .port_num = 1, .sl = 3};
        if (global) {
            a.is_global = 1;
            a.grh = (struct ibv_global_route){
                .dgid = its, .flow_label = 0x12345, .hop_limit = 9, .traffic_class = 0x5a};
        }
        CHECK_EQ(post_recv(s, 5, 0, 100), 0);
        meet(s);
        if (s->is_a) {
            struct ibv_ah *ah = ibv_create_ah(s->pd, &a);
            CHECK(ah != NULL);
            struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, 1, 200, 10, 0);
            wr->wr.ud.ah = ah;
            succeeds(s, wr);
            expect_message(s, 5, 20);
            CHECK_EQ(ibv_dealloc_pd(s->pd), EBUSY);
            CHECK_EQ(ibv_destroy_ah(ah), 0);
        } else {
            struct ibv_wc wc = await(s->rcq);
            struct ibv_grh *h = (struct ibv_grh *)s->buf;
            CHECK_EQ(wc.wc_flags, global ? IBV_WC_GRH : 0);
            CHECK_EQ(wc.sl, 3);
            if (global) {
                CHECK_EQ(be32toh(h->version_tclass_flow), 0x65a12345);
                CHECK_EQ(be16toh(h->paylen), 12 + 8 + 12 + 4);
                CHECK_EQ(h->next_hdr, 0x1b);
                CHECK_EQ(h->hop_limit, 9);
                CHECK(!memcmp(&h->sgid, &its, sizeof its) && !memcmp(&h->dgid, &gid, sizeof gid));
            }
            struct ibv_ah *back = ibv_create_ah_from_wc(s->pd, &wc, h, 1);
            CHECK(back != NULL);
            struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, 2, 200, 20, 0);
            wr->wr.ud.ah = back;
            wr->wr.ud.remote_qpn = wc.src_qp;
            succeeds(s, wr);
            CHECK_EQ(ibv_destroy_ah(back), 0);
            CHECK_EQ(ibv_init_ah_from_wc(s->ctx, 9, &wc, h, &a), -1);
        }
        meet(s);
        if (!s->is_a) { /* the receive of B was not used */
            struct ibv_qp_attr e = {.qp_state = IBV_QPS_RTS};
            CHECK_EQ(state_of(s), IBV_QPS_RTS);
            CHECK_EQ(ibv_modify_qp(s->qp, &e, IBV_QP_STATE), 0);
        }
        meet(s);
    }
}

static void qkeys_must_agree(struct side *s)
{
    if (!s->is_a)
        for (int i = 0; i < 3; i++) CHECK_EQ(post_recv(s, i, 0, 100), 0);
    meet(s);
    if (s->is_a) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, 1, 0, 10, 0);
        wr->wr.ud.remote_qkey = QKEY + 1;
        succeeds(s, wr);
        wr->wr.ud.remote_qkey = 0x80000001; /* high bit set: the Q_Key of the sending QP */
        wr->sg_list->length = 11;
        succeeds(s, wr);
        struct ibv_qp_attr a = {.qkey = QKEY + 2};
        CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_QKEY), 0);
        wr->sg_list->length = 12;
        succeeds(s, wr);
        wr->wr.ud.remote_qkey = QKEY;
        wr->sg_list->length = 13;
        succeeds(s, wr);
    } else {
        expect_message(s, 0, 11);
        expect_message(s, 1, 13);
    }
    meet(s);
    if (!s->is_a) expect_nothing(s->rcq);
    meet(s);
}

/* The message is lost, and the sender gets no error. */
static void addressed_to_nowhere(struct side *s)
{
    struct side rc = *s;
    rc.o.type = IBV_QPT_RC;
    add_qp(&rc);
    tell(s, &rc.mine, sizeof rc.mine);
    hear(s, &rc.its, sizeof rc.its);
    connect_qp(&rc, &rc.its);
    if (!s->is_a) {
        CHECK_EQ(post_recv(s, 1, 0, 100), 0);
        CHECK_EQ(post_recv(&rc, 2, 0, 100), 0);
    }
    meet(s);
    if (s->is_a) {
        struct ibv_ah_attr a = {.dlid = s->its.lid ^ 0x55, .port_num = 1};
        struct ibv_ah *nowhere = ibv_create_ah(s->pd, &a);
        CHECK(nowhere != NULL);
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, 1, 0, 10, 0);
        wr->wr.ud.ah = nowhere;
        succeeds(s, wr);
        wr->wr.ud.ah = s->ah;
        wr->wr.ud.remote_qpn = s->its.qpn ^ 0x800; /* no such QP */
        succeeds(s, wr);
        wr->wr.ud.remote_qpn = 0x001001; /* no such process */
        succeeds(s, wr);
        wr->wr.ud.remote_qpn = rc.its.qpn; /* of another type */
        succeeds(s, wr);
        wr->wr.ud.remote_qpn = s->its.qpn | 0xff000000; /* 24 bits count */
        wr->sg_list->length = 20;
        succeeds(s, wr);
        CHECK_EQ(ibv_destroy_ah(nowhere), 0);
        a.port_num = 2;
        CHECK(ibv_create_ah(s->pd, &a) == NULL && errno == EINVAL);
    } else
        expect_message(s, 1, 20);
    meet(s);
    expect_nothing(s->rcq);
    meet(s);
    CHECK_EQ(ibv_destroy_qp(rc.qp), 0);
}

static void no_receive_no_message(struct side *s)
{
    if (s->is_a)
        for (int i = 0; i < 10; i++) succeeds(s, make_wr(s, IBV_WR_SEND, i, 0, 10, 0));
    meet(s);
    if (!s->is_a) CHECK_EQ(post_recv(s, 1, 0, 100), 0);
    meet(s);
    if (s->is_a)
        for (int i = 0; i < 3; i++) succeeds(s, make_wr(s, IBV_WR_SEND, i, 0, 20 + i, 0));
    else
        expect_message(s, 1, 20);
    meet(s);
    if (!s->is_a) expect_nothing(s->rcq);
    meet(s);
}

/* An error of the sender: SQE until the program recovers the QP. */
static void own_fault(struct side *s, struct ibv_send_wr *wr, enum ibv_wc_status status)
{
    CHECK_EQ(post(s, wr), 0);
    expect(s->scq, wr->wr_id, status);
    CHECK_EQ(state_of(s), IBV_QPS_SQE);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 2, 0, 8, 0)), 0);
    expect(s->scq, 2, IBV_WC_WR_FLUSH_ERR);
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS};
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
}

static void own_faults(struct side *s)
{
    if (!s->is_a) CHECK_EQ(post_recv(s, 1, 0, 100), 0);
    meet(s);
    if (s->is_a) {
        own_fault(s, make_wr(s, IBV_WR_SEND, 1, 0, 4097, 0), IBV_WC_LOC_LEN_ERR);
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, 1, 0, 8, 0);
        wr->sg_list->lkey ^= 0x100;
        own_fault(s, wr, IBV_WC_LOC_PROT_ERR);
        struct ibv_pd *pd = ibv_alloc_pd(s->ctx);
        struct ibv_ah_attr a = {.dlid = s->its.lid, .port_num = 1};
        struct ibv_ah *ah = ibv_create_ah(pd, &a);
        wr = make_wr(s, IBV_WR_SEND, 1, 0, 8, 0);
        wr->wr.ud.ah = ah;
        own_fault(s, wr, IBV_WC_LOC_QP_OP_ERR);
        CHECK_EQ(ibv_destroy_ah(ah), 0);
        CHECK_EQ(ibv_dealloc_pd(pd), 0);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0)), EINVAL);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, 1, 0, 8, 0)), EINVAL);
        succeeds(s, make_wr(s, IBV_WR_SEND, 1, 0, 30, 0));
    } else
        expect_message(s, 1, 30);
    meet(s);
}

/* A receive that is too small breaks the receiver without an error at the sender. All receives are
 * completed in order. */
static void small_receive_breaks_its_queue(struct side *s)
{
    if (!s->is_a) {
        CHECK_EQ(post_recv(s, 0, 0, GRH + 9), 0);
        for (int i = 1; i < 5; i++) CHECK_EQ(post_recv(s, i, 0, 100), 0);
    }
    meet(s);
    if (s->is_a)
        succeeds(s, make_wr(s, IBV_WR_SEND, 1, 0, 10, 0));
    else {
        expect(s->rcq, 0, IBV_WC_LOC_LEN_ERR);
        for (int i = 1; i < 5; i++) expect(s->rcq, i, IBV_WC_WR_FLUSH_ERR);
        CHECK_EQ(state_of(s), IBV_QPS_ERR);
        CHECK_EQ(post_recv(s, 5, 0, 100), 0);
        expect(s->rcq, 5, IBV_WC_WR_FLUSH_ERR);
    }
    meet(s);
    if (s->is_a) succeeds(s, make_wr(s, IBV_WR_SEND, 1, 0, 10, 0));
    meet(s);
}

static void states_and_queue_are_its_own(struct side *s)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR};
    for (int round = 0; round < 3; round++) {
        int n = 0;
        while (post_recv(s, n, 0, 100) == 0) n++;
        CHECK_EQ(n, 8);
        CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_PATH_MTU), EINVAL);
        CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
        struct ibv_qp_attr r = {.qp_state = IBV_QPS_RESET};
        CHECK_EQ(ibv_modify_qp(s->qp, &r, IBV_QP_STATE), 0);
        expect_nothing(s->rcq);
        CHECK_EQ(post_recv(s, 0, 0, 100), EINVAL);
        struct ibv_qp_attr i = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
        int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
        CHECK_EQ(ibv_modify_qp(s->qp, &i, mask | IBV_QP_ACCESS_FLAGS), EINVAL);
        CHECK_EQ(ibv_modify_qp(s->qp, &i, mask | IBV_QP_QKEY), 0);
    }
    meet(s);
}

static void new_calls(struct side *s)
{
    struct ibv_qp_init_attr_ex init = {.send_cq = s->scq,
                                       .recv_cq = s->rcq,
                                       .qp_type = IBV_QPT_UD,
                                       .cap = {8, 8, 1, 1, 64},
                                       .comp_mask =
                                           IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                                       .pd = s->pd,
                                       .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE};
    CHECK(ibv_create_qp_ex(s->ctx, &init) == NULL && errno == EOPNOTSUPP);
    init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    struct ibv_qp *qp = ibv_create_qp_ex(s->ctx, &init);
    CHECK(qp != NULL);
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
    CHECK_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
             0);
    a.qp_state = IBV_QPS_RTR;
    CHECK_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE), 0);
    a.qp_state = IBV_QPS_RTS;
    CHECK_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
    if (!s->is_a)
        for (int i = 0; i < 2; i++) CHECK_EQ(post_recv(s, i, (size_t)i * 256, 256), 0);
    meet(s);
    if (s->is_a) {
        struct ibv_qp_ex *x = ibv_qp_to_qp_ex(qp);
        fill(s->buf, 100, 1);
        ibv_wr_start(x);
        x->wr_id = 1;
        x->wr_flags = 0;
        ibv_wr_send(x);
        ibv_wr_set_ud_addr(x, s->ah, s->its.qpn, QKEY);
        ibv_wr_set_sge(x, s->mr->lkey, (uintptr_t)s->buf, 100);
        x->wr_id = 2;
        x->wr_flags = IBV_SEND_SIGNALED;
        ibv_wr_send_imm(x, 5);
        ibv_wr_set_ud_addr(x, s->ah, s->its.qpn, QKEY);
        ibv_wr_set_inline_data(x, s->buf, 50);
        CHECK_EQ(ibv_wr_complete(x), 0);
        expect(s->scq, 2, IBV_WC_SUCCESS);
    } else {
        expect_message(s, 0, 100);
        expect_message(s, 1, 50);
        CHECK(filled(s->buf + GRH, 100, 1) && filled(s->buf + 256 + GRH, 50, 1));
    }
    meet(s);
    CHECK_EQ(ibv_destroy_qp(qp), 0);
}

enum { MESSAGES = 5000, SLOT = 1024, DEPTH = 64 };

static uint32_t length_of(int rank, uint32_t i)
{
    return 8 + (i * 37 + rank * 11) % 700;
}

/* Immediate data hold the rank and the number. */
static void flood(struct crowd *c, struct side *s, uint32_t messages)
{
    for (uint32_t i = 0; i < messages; i++) {
        fill(s->buf, length_of(c->rank, i), i);
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND_WITH_IMM, i, 0, length_of(c->rank, i), 0);
        wr->imm_data = c->rank << 24 | i;
        succeeds(s, wr);
    }
}

/* Checks that the message is complete; returns its number and sender. */
static uint32_t expect_whole(struct side *s, const struct ibv_wc *wc, int *rank)
{
    uint32_t i = wc->imm_data & 0xffffff;
    *rank = wc->imm_data >> 24;
    CHECK_EQ(wc->status, IBV_WC_SUCCESS);
    CHECK(*rank > 0 && *rank < CROWD);
    CHECK_EQ(wc->byte_len, GRH + length_of(*rank, i));
    CHECK(filled(s->buf + wc->wr_id * SLOT + GRH, length_of(*rank, i), i));
    return i;
}

static void offer(struct side *s, uint64_t id)
{
    CHECK_EQ(post_recv(s, id, id * SLOT, SLOT), 0);
}

static void offer_all(struct side *s)
{
    for (int i = 0; i < DEPTH; i++) offer(s, i);
}

/* All ranks send to one QP of the hub, that of rank 1. */
static void aim_at_one(struct crowd *c, struct side *s)
{
    make_star(c, s);
    for (int r = 1; c->rank == 0 && r < c->size; r++) to_rank(c, r, &s[1].mine.qpn, 4);
    if (c->rank) from_rank(c, 0, &s[1].its.qpn, 4);
}

static void tear_down_ud_star(struct crowd *c, struct side *s)
{
    for (int i = 2; c->rank == 0 && i < c->size; i++) CHECK_EQ(ibv_destroy_ah(s[i].ah), 0);
    tear_down_star(c, s);
}

/* Messages of one sender arrive in order; some may be lost. */
static void receive_floods(struct crowd *c, struct side *s)
{
    uint32_t next[CROWD] = {0}, heard = 0;
    struct ibv_wc wc;
    for (int done = 1; done < c->size;) {
        if (ibv_poll_cq(s->rcq, 1, &wc) == 1) {
            int rank;
            uint32_t i = expect_whole(s, &wc, &rank);
            CHECK(i >= next[rank]);
            next[rank] = i + 1;
            heard++;
            offer(s, wc.wr_id);
        } else if (has_told(c, done)) {
            char m;
            from_rank(c, done++, &m, 1);
        }
    }
    for (; ibv_poll_cq(s->rcq, 1, &wc) == 1; heard++) offer(s, wc.wr_id);
    CHECK(heard >= DEPTH);                      /* at least those with a receive from the start */
    CHECK_EQ(post_recv(s, 0, 0, SLOT), ENOMEM); /* no receive is lost */
}

static void many_flood_one(struct crowd *c)
{
    struct side s[CROWD];
    char m = 'd';
    aim_at_one(c, s);
    if (c->rank == 0) offer_all(&s[1]);
    all_meet(c);
    if (c->rank) {
        flood(c, &s[1], MESSAGES);
        to_rank(c, 0, &m, 1);
    } else
        receive_floods(c, &s[1]);
    all_meet(c);
    tear_down_ud_star(c, s);
}

/* Flooding senders are killed meanwhile. Receives they had claimed are posted again: each receive
 * is used once. */
static void kill_and_count(struct crowd *c, struct side *s)
{
    struct ibv_wc wc;
    int rank;
    for (int i = 0, stop = 500 + getpid() % 500; i < stop; i++) {
        wc = await(s->rcq);
        expect_whole(s, &wc, &rank);
        offer(s, wc.wr_id);
    }
    for (int r = 2; r < c->size; r++) CHECK_EQ(kill(c->pid[r], SIGKILL), 0);
    for (int r = 2; r < c->size; r++) await_end_of(c->pid[r]);
    bool used[DEPTH] = {false};
    for (int i = 0; i < DEPTH; i++) {
        wc = await(s->rcq);
        expect_whole(s, &wc, &rank);
        CHECK(!used[wc.wr_id]);
        used[wc.wr_id] = true;
    }
    expect_nothing(s->rcq);
    offer_all(s);
    CHECK_EQ(post_recv(s, 0, 0, SLOT), ENOMEM);
}

static void killed_flooders_lose_no_receive(struct crowd *c)
{
    struct side s[CROWD];
    char m = 's';
    aim_at_one(c, s);
    if (c->rank == 0) offer_all(&s[1]);
    all_meet(c);
    while (c->rank > 1 || (c->rank == 1 && !has_told(c, 0))) flood(c, &s[1], 100);
    if (c->rank == 0) {
        kill_and_count(c, &s[1]);
        to_rank(c, 1, &m, 1);
    }
    tear_down_ud_star(c, s);
}

/* Memory is not accessed after its deregistration while messages still arrive. */
static void deregistered_memory_is_left_alone(struct crowd *c)
{
    struct side s[CROWD];
    enum { LEN = 4000, ROUNDS = 200 };
    aim_at_one(c, s);
    for (int i = 0; c->rank; i++) {
        memset(s[1].buf, i % 64, LEN);
        succeeds(&s[1], make_wr(&s[1], IBV_WR_SEND, i, 0, LEN, 0));
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < DEPTH; i++) CHECK_EQ(post_recv(&s[1], i, 0, 8192), 0);
        for (int i = 0; i < 10; i++) await(s[1].rcq);
        CHECK_EQ(ibv_dereg_mr(s[1].mr), 0);
        memset(s[1].buf, 0x5e, 8192); /* a late write would change it */
        for (int i = 0; i < 10; i++) sched_yield();
        for (int i = 0; i < 8192; i++) CHECK_EQ(s[1].buf[i], 0x5e);
        struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
        CHECK_EQ(ibv_modify_qp(s[1].qp, &a, IBV_QP_STATE), 0);
        expect_nothing(s[1].rcq);
        s[1].mr = ibv_reg_mr(s[1].pd, s[1].buf, BUFFER, IBV_ACCESS_LOCAL_WRITE);
        a = (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
        CHECK_EQ(ibv_modify_qp(s[1].qp, &a,
                               IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
                 0);
        a.qp_state = IBV_QPS_RTR;
        CHECK_EQ(ibv_modify_qp(s[1].qp, &a, IBV_QP_STATE), 0);
    }
    for (int r = 1; r < c->size; r++) CHECK_EQ(kill(c->pid[r], SIGKILL), 0);
    tear_down_ud_star(c, s);
}

enum { THREADS = 4, EACH = 2000 };
static _Atomic int finished;

static void *send_to_self(void *arg)
{
    struct side *s = arg;
    struct ibv_sge sge = {(uintptr_t)s->buf, 64, s->mr->lkey};
    struct ibv_send_wr *bad,
        wr = {
            .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    wr.wr.ud.ah = s->ah;
    wr.wr.ud.remote_qkey = QKEY;
    wr.wr.ud.remote_qpn = s->its.qpn;
    for (int i = 0; i < EACH; i++) {
        CHECK_EQ(ibv_post_send(s->qp, &wr, &bad), 0);
        CHECK_EQ(await(s->scq).status, IBV_WC_SUCCESS);
    }
    finished++;
    return NULL;
}

/* Threads send to one QP of their process while another thread registers and deregisters memory. */
static void threads_send_to_one(struct side *s)
{
    pthread_t thread[THREADS];
    struct side t[THREADS];
    for (int i = 0; i < DEPTH; i++) CHECK_EQ(post_recv(s, i, 4096 + (size_t)i * 128, 128), 0);
    for (int i = 0; i < THREADS; i++) {
        t[i] = *s;
        t[i].scq = ibv_create_cq(s->ctx, 64, NULL, NULL, 0);
        add_qp(&t[i]);
        t[i].its = s->mine;
        connect_qp(&t[i], &s->mine);
        CHECK_EQ(pthread_create(&thread[i], NULL, send_to_self, &t[i]), 0);
    }
    int heard = 0;
    for (uint32_t i = 0; heard < DEPTH || finished < THREADS; i++) {
        struct ibv_wc wc;
        if (i % 64 == 0) CHECK_EQ(ibv_dereg_mr(ibv_reg_mr(s->pd, s->buf, 64, 0)), 0);
        if (ibv_poll_cq(s->rcq, 1, &wc) != 1) continue;
        heard++;
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK_EQ(post_recv(s, wc.wr_id, 4096 + wc.wr_id * 128, 128), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(thread[i], NULL), 0);
        CHECK_EQ(ibv_destroy_qp(t[i].qp), 0);
        CHECK_EQ(ibv_destroy_ah(t[i].ah), 0);
        CHECK_EQ(ibv_destroy_cq(t[i].scq), 0);
    }
    meet(s);
}

void datagram_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        struct options o;
    } tests[] = {
        {"the payload follows 40 bytes", payload_follows_40_bytes, {0}},
        {"the same, ordinary memory", payload_follows_40_bytes, {.ordinary = true}},
        {"the same, shared queue", payload_follows_40_bytes, {.srq_wr = 8}},
        {"a reply reaches the sender", reply_reaches_the_sender, {0}},
        {"Q_Keys must agree", qkeys_must_agree, {0}},
        {"addressed to nowhere", addressed_to_nowhere, {0}},
        {"without a receive a message is lost", no_receive_no_message, {0}},
        {"faults of one's own stop sending", own_faults, {0}},
        {"too small a receive breaks its queue", small_receive_breaks_its_queue, {0}},
        {"states, and a receive queue of its own",
         states_and_queue_are_its_own,
         {.no_connect = true, .recv_wr = 8}},
        {"the new posting calls", new_calls, {0}},
        {"threads send to one", threads_send_to_one, {0}},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        struct options o = tests[i].o;
        /* From another host it may arrive later, when a receive is posted. */
        if (sides_are_remote() && tests[i].run == no_receive_no_message) continue;
        o.type = IBV_QPT_UD;
        check(run_pair(tests[i].run, &o), "UD: %s", tests[i].name);
    }
    for (int ordinary = 0; ordinary < 2; ordinary++) {
        const char *memory = ordinary ? "ordinary" : "mapped";
        struct options o = {.type = IBV_QPT_UD, .ordinary = ordinary, .recv_wr = DEPTH};
        check(run_crowd(many_flood_one, 5, &o), "UD: four processes flood one, %s memory", memory);
        const char *times = getenv("TEST_SOFTHCA_KILLS");
        bool ok = true;
        for (int i = times ? atoi(times) : 5; i > 0 && ok; i--)
            ok = run_crowd(killed_flooders_lose_no_receive, 5, &o);
        check(ok, "UD: killed flooders take nothing along, %s memory", memory);
        check(run_crowd(deregistered_memory_is_left_alone, 4, &o),
              "UD: deregistered memory is left alone, %s memory", memory);
    }
}
