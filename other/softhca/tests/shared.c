/* shared.c - rules about shared receive queues: limits, the limit event, which completion uses
 * which receive, and that no receive is lost when a process dies or an object is destroyed.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crowd.h"
#include "rules.h"

static void sends(struct side *s, uint64_t from, uint64_t to, uint32_t len)
{
    for (uint64_t i = from; i < to; i++) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, i, 0, len, 0)), 0);
        expect(s->scq, i, IBV_WC_SUCCESS);
    }
}

/* Connects a QP of this process to another QP of it that receives from the shared queue, to use up
 * what is posted. *RECEIVER is the other one. */
static struct side loop_back(struct side *s, struct side *receiver)
{
    struct side sender = *s;
    *receiver = *s;
    sender.srq = NULL;
    add_qp(&sender);
    add_qp(receiver);
    sender.its = receiver->mine;
    receiver->its = sender.mine;
    connect_qp(&sender, &sender.its);
    connect_qp(receiver, &receiver->its);
    return sender;
}

/* Exactly N receives are in the queue. */
static void expect_receives(struct side *s, int n)
{
    struct side receiver, sender = loop_back(s, &receiver);
    struct ibv_wc wc;
    for (int i = 0; i < n; i++) {
        CHECK_EQ(post(&sender, make_wr(&sender, IBV_WR_SEND, i, 0, 8, 0)), 0);
        expect(s->scq, i, IBV_WC_SUCCESS);
        wc = await(s->rcq);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK_EQ(wc.qp_num, receiver.qp->qp_num);
    }
    CHECK_EQ(post(&sender, make_wr(&sender, IBV_WR_SEND, n, 0, 8, 0)), 0);
    expect_nothing(s->scq);
    CHECK_EQ(ibv_destroy_qp(sender.qp), 0);
    CHECK_EQ(ibv_destroy_qp(receiver.qp), 0);
}

static void arguments_are_checked(struct side *s)
{
    struct ibv_srq_init_attr a = {.attr = {.max_wr = 0, .max_sge = 1}};
    struct ibv_srq_attr q;
    CHECK(ibv_create_srq(s->pd, &a) == NULL && errno == EINVAL);
    a.attr.max_wr = 1 << 30;
    CHECK(ibv_create_srq(s->pd, &a) == NULL && errno == EINVAL);
    CHECK_EQ(ibv_query_srq(s->srq, &q), 0);
    CHECK(q.max_wr == 8 && q.max_sge == 4 && q.srq_limit == 0);
    q.srq_limit = 9;
    CHECK_EQ(ibv_modify_srq(s->srq, &q, IBV_SRQ_LIMIT), EINVAL);
    CHECK_EQ(ibv_modify_srq(s->srq, &q, IBV_SRQ_MAX_WR), EOPNOTSUPP);
    CHECK_EQ(ibv_destroy_srq(s->srq), EBUSY);
    struct ibv_sge sge[5] = {{0}};
    struct ibv_recv_wr wr = {.sg_list = sge, .num_sge = 5}, two = {.next = &wr}, *bad;
    CHECK_EQ(ibv_post_srq_recv(s->srq, &two, &bad), EINVAL);
    CHECK(bad == &wr);
    CHECK_EQ(ibv_post_recv(s->qp, &two, &bad), EINVAL);
    struct ibv_qp_attr qa;
    struct ibv_qp_init_attr init;
    CHECK_EQ(ibv_query_qp(s->qp, &qa, 0, &init), 0);
    CHECK(init.srq == s->srq && init.cap.max_recv_wr == 0);
    meet(s);
}

/* The queue is full until completions are polled, of any QP. */
static void queue_fills_up(struct side *s)
{
    if (!s->is_a) {
        for (int i = 0; i < 8; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
        CHECK_EQ(post_recv(s, 8, 0, 64), ENOMEM);
    }
    meet(s);
    if (s->is_a) sends(s, 0, 1, 8);
    meet(s);
    if (!s->is_a) {
        CHECK_EQ(post_recv(s, 8, 0, 64), ENOMEM);
        expect(s->rcq, 0, IBV_WC_SUCCESS);
        CHECK_EQ(post_recv(s, 8, 0, 64), 0);
        CHECK_EQ(post_recv(s, 9, 0, 64), ENOMEM);
    }
    meet(s);
    if (s->is_a) sends(s, 0, 8, 8);
    for (int i = 1; !s->is_a && i < 9; i++) expect(s->rcq, i, IBV_WC_SUCCESS);
    meet(s);
}

static void set_limit(struct side *s, uint32_t limit)
{
    struct ibv_srq_attr a = {.srq_limit = limit};
    CHECK_EQ(ibv_modify_srq(s->srq, &a, IBV_SRQ_LIMIT), 0);
}

static uint32_t limit_of(struct side *s)
{
    struct ibv_srq_attr a;
    CHECK_EQ(ibv_query_srq(s->srq, &a), 0);
    return a.srq_limit;
}

/* The event comes once, when fewer than the limit are left, and disarms the limit. */
static void limit_at_every_edge(struct side *s)
{
    enum { N = 6 };
    for (int limit = 1; limit <= N; limit++) {
        if (!s->is_a) {
            for (int i = 0; i < N; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
            set_limit(s, limit);
        }
        for (int left = N; left > 0; left--) {
            meet(s);
            if (s->is_a) sends(s, 0, 1, 8);
            meet(s);
            if (s->is_a) continue;
            await(s->rcq);
            if (left == limit) {
                CHECK_EQ(await_event(s), IBV_EVENT_SRQ_LIMIT_REACHED);
                CHECK_EQ(limit_of(s), 0);
            } else {
                CHECK_EQ(limit_of(s), left > limit ? limit : 0);
                CHECK(!event_waits(s));
            }
        }
    }
    if (!s->is_a) { /* armed below the limit: at once */
        CHECK_EQ(post_recv(s, 0, 0, 64), 0);
        set_limit(s, 1);
        CHECK_EQ(limit_of(s), 1);
        CHECK(!event_waits(s));
        set_limit(s, 2);
        CHECK_EQ(await_event(s), IBV_EVENT_SRQ_LIMIT_REACHED);
        set_limit(s, 0);
        CHECK(!event_waits(s));
    }
    meet(s);
}

static void unfetched_limit_event_is_dropped(struct side *s)
{
    struct ibv_srq_init_attr a = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct side t = *s;
    t.srq = ibv_create_srq(s->pd, &a);
    set_limit(&t, 2);
    CHECK(event_waits(s));
    CHECK_EQ(ibv_destroy_srq(t.srq), 0);
    CHECK(!event_waits(s));
    meet(s);
}

static void to_error(struct side *s)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
}

/* A QP in ERR uses no more receives: last-WQE event, the rest stay in the queue. */
static void last_receive_is_reported(struct side *s)
{
    if (!s->is_a)
        for (int i = 0; i < 8; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
    meet(s);
    if (s->is_a) sends(s, 0, 3, 8);
    meet(s);
    if (!s->is_a) {
        to_error(s);
        CHECK_EQ(await_event(s), IBV_EVENT_QP_LAST_WQE_REACHED);
        for (int i = 0; i < 3; i++) expect(s->rcq, i, IBV_WC_SUCCESS);
        expect_nothing(s->rcq);
        CHECK(!event_waits(s));
        expect_receives(s, 5);
    }
    meet(s);
}

static void long_message_uses_one_receive(struct side *s)
{
    if (!s->is_a)
        for (int i = 0; i < 4; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
    meet(s);
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, 0, 65, 0)), 0);
        expect(s->scq, 1, IBV_WC_REM_INV_REQ_ERR);
    } else {
        expect(s->rcq, 0, IBV_WC_LOC_LEN_ERR);
        CHECK_EQ(await_event(s), IBV_EVENT_QP_LAST_WQE_REACHED);
        expect_receives(s, 3);
    }
    meet(s);
}

/* A refused WRITE with immediate uses no receive. */
static void refused_write_uses_none(struct side *s)
{
    if (!s->is_a)
        for (int i = 0; i < 4; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
    meet(s);
    if (s->is_a) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE_WITH_IMM, 1, 0, 65, 0);
        wr->wr.rdma.rkey ^= 0x5500;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 1, IBV_WC_REM_ACCESS_ERR);
    } else {
        CHECK_EQ(await_event(s), IBV_EVENT_QP_ACCESS_ERR);
        CHECK_EQ(await_event(s), IBV_EVENT_QP_LAST_WQE_REACHED);
        expect_receives(s, 4);
    }
    meet(s);
}

/* Unpolled completions are dropped with their QP; their receives can be posted again. */
static void destroyed_qp_gives_its_receives_back(struct side *s)
{
    for (int round = 0; round < 3; round++) {
        if (!s->is_a)
            for (int i = 0; i < 8; i++) CHECK_EQ(post_recv(s, i, 0, 300), 0);
        meet(s);
        if (s->is_a) sends(s, 0, 6, round * 100 + 50);
        meet(s);
        if (!s->is_a) {
            CHECK_EQ(post_recv(s, 9, 0, 64), ENOMEM);
            expect(s->rcq, 0, IBV_WC_SUCCESS);
        }
        CHECK_EQ(ibv_destroy_qp(s->qp), 0);
        if (!s->is_a) {
            expect_nothing(s->rcq);
            expect_receives(s, 2);
        }
        add_qp(s);
        tell(s, &s->mine, sizeof s->mine);
        hear(s, &s->its, sizeof s->its);
        connect_qp(s, &s->its);
        meet(s);
    }
}

/* Polling in another order than posting: a slot is reused while others are in use. */
static void slots_are_used_in_any_order(struct side *s)
{
    struct side other = *s;
    if (!s->is_a) other.rcq = ibv_create_cq(s->ctx, 64, s, NULL, 0);
    add_qp(&other);
    tell(s, &other.mine, sizeof other.mine);
    hear(s, &other.its, sizeof other.its);
    connect_qp(&other, &other.its);
    if (!s->is_a)
        for (int i = 0; i < 8; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
    meet(s);
    if (s->is_a) sends(&other, 0, 1, 8); /* never polled until the end */
    for (int i = 1; i < 100; i++) {
        meet(s);
        if (s->is_a) sends(s, i, i + 1, 8);
        meet(s);
        if (s->is_a) continue;
        expect(s->rcq, i, IBV_WC_SUCCESS);
        CHECK_EQ(post_recv(s, i + 7, 0, 64), 0);
    }
    if (!s->is_a) expect(other.rcq, 0, IBV_WC_SUCCESS);
    meet(s);
    CHECK_EQ(ibv_destroy_qp(other.qp), 0);
    if (!s->is_a) CHECK_EQ(ibv_destroy_cq(other.rcq), 0);
}

/* B sends messages that take long to copy and dies, most likely after claiming a receive. */
static void claim_of_a_killed_sender_comes_back(struct side *s)
{
    enum { LEN = 400000, N = 16 };
    if (!s->is_a) {
        meet(s);
        for (uint64_t i = 0;; i++) {
            CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, i, 0, LEN, 0)), 0);
            await(s->scq);
        }
    }
    for (int i = 0; i < N; i++) CHECK_EQ(post_recv(s, i, 0, LEN), 0);
    meet(s);
    for (int i = 0, stop = getpid() % 50 + 5; i < stop; i++) {
        CHECK_EQ(await(s->rcq).status, IBV_WC_SUCCESS);
        CHECK_EQ(post_recv(s, i, 0, LEN), 0);
    }
    set_limit(s, N / 2); /* half of them are unpolled */
    CHECK_EQ(await_event(s), IBV_EVENT_SRQ_LIMIT_REACHED);
    CHECK_EQ(kill(s->other, SIGKILL), 0);
    await_end_of(s->other);
    to_error(s);
    CHECK_EQ(await_event(s), IBV_EVENT_QP_LAST_WQE_REACHED);
    /* Each receive is used once: completed ones are B's, another sender gets the rest. */
    struct side receiver, sender = loop_back(s, &receiver);
    for (int i = 0; i < N; i++)
        CHECK_EQ(post(&sender, make_wr(&sender, IBV_WR_SEND, i, 0, 300, 0)), 0);
    int of_b = 0;
    for (int i = 0; i < N; i++) {
        struct ibv_wc wc = await(s->rcq);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        of_b += wc.qp_num == s->qp->qp_num;
    }
    expect_nothing(s->rcq);
    CHECK(of_b >= N / 2);
    for (int i = of_b; i < N; i++) expect(s->scq, i - of_b, IBV_WC_SUCCESS);
    CHECK_EQ(ibv_destroy_qp(sender.qp), 0);
    CHECK_EQ(ibv_destroy_qp(receiver.qp), 0);
    for (int i = 0; i < N; i++) CHECK_EQ(post_recv(s, i, 0, LEN), 0);
    CHECK_EQ(post_recv(s, N, 0, LEN), ENOMEM);
}

enum { MESSAGES = 2000, SLOT = 1024 };

static uint32_t length_of(int rank, uint32_t i)
{
    return 8 + (i * 37 + rank * 11) % 700;
}

/* Immediate data hold the rank of the sender and the number. */
static void flood(struct crowd *c, struct side *s)
{
    for (uint32_t i = 0; i < MESSAGES; i++) {
        fill(s->buf, length_of(c->rank, i), i);
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND_WITH_IMM, i, 0, length_of(c->rank, i), 0);
        wr->imm_data = c->rank << 24 | i;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, i, IBV_WC_SUCCESS);
    }
}

static void receive_flood(struct crowd *c, struct side *s)
{
    uint32_t next[CROWD] = {0}, total = (c->size - 1) * MESSAGES;
    for (int i = 0; i < s->o.srq_wr; i++) CHECK_EQ(post_recv(s, i, (size_t)i * SLOT, SLOT), 0);
    while (total-- > 0) {
        struct ibv_wc wc = await(s->rcq);
        int rank = wc.imm_data >> 24;
        uint32_t i = wc.imm_data & 0xffffff;
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK(rank > 0 && rank < c->size);
        CHECK_EQ(wc.qp_num, s[rank - 1].qp->qp_num);
        CHECK_EQ(wc.src_qp, 0);
        CHECK_EQ(i, next[rank]++);
        CHECK_EQ(wc.byte_len, length_of(rank, i));
        CHECK(filled(s->buf + wc.wr_id * SLOT, wc.byte_len, i));
        CHECK_EQ(post_recv(s, wc.wr_id, wc.wr_id * SLOT, SLOT), 0);
    }
}

static void crowd_shares_a_queue(struct crowd *c)
{
    struct side s[CROWD];
    make_star(c, s);
    if (c->rank)
        flood(c, &s[1]);
    else
        receive_flood(c, &s[1]);
    all_meet(c);
    tear_down_star(c, s);
}

/* Several senders sleep; each late receive must wake one of them, or all so that one succeeds. */
static void late_receives_wake_sleepers(struct crowd *c)
{
    enum { ROUNDS = 20 };
    struct side s[CROWD];
    make_star(c, s);
    if (c->rank)
        for (int i = 0; i < ROUNDS; i++) {
            CHECK_EQ(post(&s[1], make_wr(&s[1], IBV_WR_SEND, i, 0, 500, 0)), 0);
            CHECK_EQ(await_sleeping(&s[1], s[1].scq).status, IBV_WC_SUCCESS);
        }
    else
        for (int i = 0; i < ROUNDS * (c->size - 1); i++) {
            if (i % 7 == 0) usleep(2000); /* no test waits for it: any length is correct */
            CHECK_EQ(post_recv(&s[1], i, 0, 500), 0);
            CHECK_EQ(await_sleeping(&s[1], s[1].rcq).status, IBV_WC_SUCCESS);
        }
    all_meet(c);
    tear_down_star(c, s);
}

/* Some senders are killed meanwhile; the others are not affected, and nothing is lost. */
static void survivors_are_served(struct crowd *c)
{
    struct side s[CROWD];
    make_star(c, s);
    if (c->rank > 0 && c->rank < 3)
        for (;;) sends(&s[1], 0, 1, 100000);
    if (c->rank) {
        sends(&s[1], 0, 500, 600);
        all_meet(c);
        tear_down_star(c, s);
        return;
    }
    int n = c->o.srq_wr, done = 0, others = 0;
    for (int i = 0; i < n; i++) CHECK_EQ(post_recv(&s[1], i, 0, 100000), 0);
    while (done < 500 * (c->size - 3)) {
        struct ibv_wc wc = await(s[1].rcq);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        if (wc.byte_len == 600)
            done++;
        else if (++others == 20 || others == 30)
            CHECK_EQ(kill(c->pid[others / 10 - 1], SIGKILL), 0);
        CHECK_EQ(post_recv(&s[1], 0, 0, 100000), 0);
    }
    while (others < 30) { /* the victims may have been slower */
        struct ibv_wc wc = await(s[1].rcq);
        if (++others == 20 || others == 30) CHECK_EQ(kill(c->pid[others / 10 - 1], SIGKILL), 0);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK_EQ(post_recv(&s[1], 0, 0, 100000), 0);
    }
    for (int r = 1; r < 3; r++) await_end_of(c->pid[r]);
    struct ibv_wc wc;
    while (ibv_poll_cq(s[1].rcq, 1, &wc) == 1) n--;
    expect_receives(&s[1], n);
    for (int r = 3; r < c->size; r++) {
        char m;
        from_rank(c, r, &m, 1);
        to_rank(c, r, &m, 1);
    }
    tear_down_star(c, s);
}

enum { THREADS = 4, EACH = 3000 };

/* Sends to a QP of this process as fast as possible. */
static void *loop(void *arg)
{
    struct side *s = arg;
    struct ibv_sge sge = {(uintptr_t)s->buf, 64, s->mr->lkey};
    struct ibv_send_wr *bad,
        wr = {
            .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    for (int i = 0; i < EACH; i++) {
        CHECK_EQ(ibv_post_send(s->qp, &wr, &bad), 0);
        CHECK_EQ(await(s->scq).status, IBV_WC_SUCCESS);
    }
    return NULL;
}

static _Atomic int received;

static void *take(void *arg)
{
    struct side *s = arg;
    struct ibv_wc wc;
    while (received < THREADS * EACH) {
        int n = ibv_poll_cq(s->rcq, 1, &wc);
        CHECK(n >= 0);
        if (n == 0) continue;
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        received++;
        CHECK_EQ(post_recv(s, wc.wr_id, 4096 + wc.wr_id * 64, 64), 0);
    }
    return NULL;
}

/* Threads of one process send through it, and threads receive. */
static void threads_share_a_queue(struct side *s)
{
    pthread_t sending[THREADS], taking[2];
    struct side receiver[THREADS], sender[THREADS];
    for (int i = 0; i < 16; i++) CHECK_EQ(post_recv(s, i, 4096 + i * 64, 64), 0);
    for (int i = 0; i < THREADS; i++) {
        struct side t = *s;
        t.scq = ibv_create_cq(s->ctx, 16, NULL, NULL, 0);
        sender[i] = loop_back(&t, &receiver[i]);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&sending[i], NULL, loop, &sender[i]), 0);
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_create(&taking[i], NULL, take, s), 0);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(sending[i], NULL), 0);
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_join(taking[i], NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(ibv_destroy_qp(sender[i].qp), 0);
        CHECK_EQ(ibv_destroy_qp(receiver[i].qp), 0);
        CHECK_EQ(ibv_destroy_cq(sender[i].scq), 0);
    }
    meet(s);
}

void shared_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        struct options o;
    } tests[] = {
        {"arguments are checked", arguments_are_checked, {.srq_wr = 8}},
        {"full until completions are polled", queue_fills_up, {.srq_wr = 8}},
        {"the limit at every edge", limit_at_every_edge, {.srq_wr = 6}},
        {"an event that was not fetched is dropped with its queue",
         unfetched_limit_event_is_dropped,
         {0}},
        {"the last receive of a QP that breaks is reported",
         last_receive_is_reported,
         {.srq_wr = 8}},
        {"too long a message uses one receive", long_message_uses_one_receive, {.srq_wr = 8}},
        {"a refused WRITE with immediate uses none", refused_write_uses_none, {.srq_wr = 8}},
        {"a destroyed QP gives its receives back",
         destroyed_qp_gives_its_receives_back,
         {.srq_wr = 8}},
        {"the same, ordinary memory",
         destroyed_qp_gives_its_receives_back,
         {.srq_wr = 8, .ordinary = true}},
        {"slots are used in any order", slots_are_used_in_any_order, {.srq_wr = 8}},
        {"threads share a queue", threads_share_a_queue, {.srq_wr = 16}},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        check(run_pair(tests[i].run, &tests[i].o), "shared queue: %s", tests[i].name);
    const char *times = getenv("TEST_SOFTHCA_KILLS"); /* repeated: the time of death varies */
    for (int ordinary = 0; ordinary < 2; ordinary++) {
        const char *memory = ordinary ? "ordinary" : "mapped";
        struct options o = {.ordinary = ordinary, .srq_wr = 16}, few = o;
        bool ok = true;
        int kills = times ? atoi(times) : 10;
        if (sides_are_remote()) kills = 0; /* between hosts the owner itself claims */
        for (int i = kills; i > 0 && ok; i--)
            ok = run_pair(claim_of_a_killed_sender_comes_back, &o);
        check(ok, "shared queue: the claim of a killed sender comes back (%s memory)", memory);
        few.srq_wr = 3;
        check(run_crowd(crowd_shares_a_queue, 8, &o), "shared queue: 8 processes, %s memory",
              memory);
        check(run_crowd(crowd_shares_a_queue, 8, &few),
              "shared queue: 8 processes and 3 receives, %s memory", memory);
        check(run_crowd(late_receives_wake_sleepers, 4, &o),
              "shared queue: late receives wake several sleepers, %s memory", memory);
        check(run_crowd(survivors_are_served, 5, &o),
              "shared queue: survivors of killed senders are served, %s memory", memory);
    }
}
