/* queue.c - rules about queues: limits, overflow, wake-ups, late receives, states. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"
#include "rules.h"

/* The send queue is full until a signalled completion is polled, even if all WRs were executed. */
static void send_queue_fills_up(struct side *s)
{
    if (s->is_a) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 0, 0, 8, 0);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 8; i++) {
                wr->send_flags = i == 5 ? IBV_SEND_SIGNALED : 0;
                wr->wr_id = i;
                CHECK_EQ(post(s, wr), 0);
            }
            CHECK_EQ(post(s, wr), ENOMEM);
            expect(s->scq, 5, IBV_WC_SUCCESS); /* frees six; two are still in the way */
            for (int i = 0; i < 6; i++) {
                wr->send_flags = i == 5 ? IBV_SEND_SIGNALED : 0;
                CHECK_EQ(post(s, wr), 0);
            }
            CHECK_EQ(post(s, wr), ENOMEM);
            await(s->scq);
        }
    }
    meet(s);
}

static void receive_queue_fills_up(struct side *s)
{
    if (!s->is_a) {
        for (int i = 0; i < 8; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
        CHECK_EQ(post_recv(s, 8, 0, 64), ENOMEM);
    }
    meet(s);
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, 0, 8, 0)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
    } else {
        expect(s->rcq, 0, IBV_WC_SUCCESS);
        CHECK_EQ(post_recv(s, 8, 0, 64), 0);
        CHECK_EQ(post_recv(s, 9, 0, 64), ENOMEM);
    }
    meet(s);
}

static void bad_wr_is_named(struct side *s)
{
    if (s->is_a) {
        struct ibv_sge sge = {(uintptr_t)s->buf, 8, s->mr->lkey};
        struct ibv_send_wr wr[3], *bad = NULL;
        for (int i = 0; i < 3; i++) {
            wr[i] = *make_wr(s, IBV_WR_RDMA_WRITE, i, 0, 8, 0);
            wr[i].sg_list = &sge;
            wr[i].next = i < 2 ? &wr[i + 1] : NULL;
        }
        wr[1].num_sge = 99;
        CHECK_EQ(ibv_post_send(s->qp, wr, &bad), EINVAL);
        CHECK(bad == &wr[1]);
        expect(s->scq, 0, IBV_WC_SUCCESS);
        expect_nothing(s->scq);
        struct ibv_send_wr *big = make_wr(s, IBV_WR_SEND, 0, 0, 129, 0);
        big->send_flags |= IBV_SEND_INLINE;
        CHECK_EQ(post(s, big), EINVAL);
    }
    meet(s);
}

static void full_cq_raises_an_event(struct side *s)
{
    if (s->is_a) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 0, 0, 8, 0);
        for (int i = 0; i <= s->scq->cqe; i++) CHECK_EQ(post(s, wr), 0);
        CHECK_EQ(await_event(s), IBV_EVENT_CQ_ERR);
        CHECK_EQ(await_event(s), IBV_EVENT_QP_FATAL);
    }
    meet(s);
}

static void full_cq_of_the_target_raises_an_event(struct side *s)
{
    if (!s->is_a)
        for (int i = 0; i < 32; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
    meet(s);
    if (s->is_a) {
        struct ibv_wc wc;
        do {
            CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 0, 0, 8, 0)), 0);
            wc = await(s->scq);
        } while (wc.status == IBV_WC_SUCCESS);
        CHECK_EQ(wc.status, IBV_WC_REM_OP_ERR);
    } else
        CHECK_EQ(await_event(s), IBV_EVENT_CQ_ERR);
    meet(s);
}

/* No receive is posted until A sleeps in poll(); no thread polls its queue meanwhile. */
static void late_receive_reaches_a_sleeper(struct side *s)
{
    for (int round = 0; round < 20; round++) {
        if (s->is_a) {
            fill(s->buf, 500, round);
            CHECK_EQ(ibv_req_notify_cq(s->scq, 0), 0);
            CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, round, 0, 500, 0)), 0);
            expect_nothing(s->scq);
            meet(s);
            struct pollfd f = {.fd = s->channel->fd, .events = POLLIN};
            CHECK(poll(&f, 1, -1) == 1);
            struct ibv_cq *cq;
            void *context;
            CHECK_EQ(ibv_get_cq_event(s->channel, &cq, &context), 0);
            CHECK(cq == s->scq);
            ibv_ack_cq_events(cq, 1);
            expect(s->scq, round, IBV_WC_SUCCESS);
        } else {
            meet(s);
            usleep(round % 4 * 3000); /* no test waits for it: any length is correct */
            CHECK_EQ(post_recv(s, round, 0, 500), 0);
            expect(s->rcq, round, IBV_WC_SUCCESS);
            CHECK(filled(s->buf, 500, round));
        }
        meet(s);
    }
}

static bool readable(int fd)
{
    struct pollfd f = {.fd = fd, .events = POLLIN};
    return poll(&f, 1, 0) == 1;
}

static void take_event(struct side *s)
{
    struct ibv_cq *cq;
    void *context;
    CHECK_EQ(ibv_get_cq_event(s->channel, &cq, &context), 0);
    CHECK(cq == s->scq && context == s);
    ibv_ack_cq_events(cq, 1);
}

static void one_event_for_one_arming(struct side *s)
{
    const char *events = getenv("SOFTHCA_EVENTS");
    const bool strict = events && strcmp(events, "strict") == 0;
    if (s->is_a) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 0, 0, 8, 0);
        int here = sides_are_remote() ? 0 : 1; /* a remote one needs a poll to know */
        CHECK_EQ(post(s, wr), 0);
        if (!here) await(s->scq);
        CHECK(!readable(s->channel->fd)); /* not armed */
        CHECK_EQ(ibv_req_notify_cq(s->scq, 0), 0);
        CHECK_EQ(readable(s->channel->fd), here && !strict); /* for one that was not polled */
        if (here && !strict) take_event(s);
        for (int i = 0; i < here; i++) await(s->scq);
        CHECK_EQ(ibv_req_notify_cq(s->scq, 0), 0);
        CHECK(!readable(s->channel->fd));
        for (int i = 0; i < 3; i++) CHECK_EQ(post(s, wr), 0);
        take_event(s);
        if (here) { /* the event reports all completions up to the next poll */
            CHECK_EQ(ibv_req_notify_cq(s->scq, 0), 0);
            CHECK(!readable(s->channel->fd));
            await(s->scq);
            CHECK_EQ(ibv_req_notify_cq(s->scq, 0), 0);
            CHECK_EQ(readable(s->channel->fd), !strict);
            if (!strict) take_event(s);
        }
        for (int i = here; i < 3; i++) await(s->scq);
        CHECK(!readable(s->channel->fd));
    }
    meet(s);
}

static void solicited_only(struct side *s)
{
    if (!s->is_a) {
        for (int i = 0; i < 2; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
        CHECK_EQ(ibv_req_notify_cq(s->rcq, 1), 0);
    }
    meet(s);
    for (int i = 0; i < 2; i++) {
        if (s->is_a) {
            struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, i, 0, 8, 0);
            if (i == 1) wr->send_flags |= IBV_SEND_SOLICITED;
            CHECK_EQ(post(s, wr), 0);
            expect(s->scq, i, IBV_WC_SUCCESS);
        }
        meet(s);
        if (!s->is_a) CHECK_EQ(readable(s->channel->fd), i == 1);
        meet(s);
    }
    if (!s->is_a) {
        struct ibv_cq *cq;
        void *context;
        CHECK_EQ(ibv_get_cq_event(s->channel, &cq, &context), 0);
        ibv_ack_cq_events(cq, 1);
    }
    meet(s);
}

/* A and B sleep between any two messages. */
static void sleepers_play_ping_pong(struct side *s)
{
    CHECK_EQ(post_recv(s, 0, 0, 64), 0);
    meet(s);
    for (int i = 0; i < 1000; i++) {
        if (s->is_a == (i % 2 == 0)) {
            CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, i, 128, 64, 0)), 0);
            struct ibv_wc wc = await_sleeping(s, s->scq);
            CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        } else {
            struct ibv_wc wc = await_sleeping(s, s->rcq);
            CHECK_EQ(wc.status, IBV_WC_SUCCESS);
            CHECK_EQ(post_recv(s, i, 0, 64), 0);
        }
    }
    meet(s);
}

enum { THREADS = 4, EACH = 3000 };
static struct side *shared;
static _Atomic uint32_t ended[THREADS]; /* completions polled of each thread's WRs */

/* Lists the devices, as all threads do at once; then posts WRITEs and polls any completion. */
static void *share(void *arg)
{
    uintptr_t me = (uintptr_t)arg;
    for (int i = 0; i < 1000; i++) ibv_free_device_list(ibv_get_device_list(NULL));
    struct ibv_sge sge = {(uintptr_t)shared->buf + 64 * me, 8, shared->mr->lkey};
    struct ibv_send_wr *bad, wr = {.wr_id = me,
                                   .sg_list = &sge,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_RDMA_WRITE,
                                   .send_flags = IBV_SEND_SIGNALED};
    wr.wr.rdma.rkey = shared->its.rkey;
    wr.wr.rdma.remote_addr = shared->its.addr + 64 * me;
    for (uint32_t posted = 0; ended[me] < EACH;) {
        if (posted < EACH) {
            int error = ibv_post_send(shared->qp, &wr, &bad);
            CHECK(error == 0 || error == ENOMEM);
            posted += error == 0;
        }
        struct ibv_wc wc[3];
        int n = ibv_poll_cq(shared->scq, 3, wc);
        CHECK(n >= 0);
        for (int i = 0; i < n; i++) {
            CHECK_EQ(wc[i].status, IBV_WC_SUCCESS);
            ended[wc[i].wr_id]++;
        }
    }
    return NULL;
}

static void threads_share_a_qp(struct side *s)
{
    pthread_t thread[THREADS];
    shared = s;
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&thread[i], NULL, share, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(ended[i], EACH);
    expect_nothing(s->scq);
    meet(s);
}

static void states_are_enforced(struct side *s)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS};
    struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, 1, 0, 8, 0);
    CHECK_EQ(post(s, wr), EINVAL); /* still in INIT */
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), EINVAL);
    a.qp_state = IBV_QPS_RTR;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), EINVAL); /* attributes are missing */
    CHECK_EQ(post_recv(s, 1, 0, 8), 0);
    a.qp_state = IBV_QPS_RESET;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
    CHECK_EQ(post_recv(s, 1, 0, 8), EINVAL);
    CHECK_EQ(ibv_dealloc_pd(s->pd), EBUSY);
    CHECK_EQ(ibv_destroy_cq(s->scq), EBUSY);
    struct ibv_qp_init_attr raw = {
        .send_cq = s->scq, .recv_cq = s->rcq, .qp_type = IBV_QPT_RAW_PACKET};
    CHECK(ibv_create_qp(s->pd, &raw) == NULL && errno == EOPNOTSUPP);
    CHECK(ibv_reg_mr(s->pd, (void *)4096, 4096, 0) == NULL && errno == EFAULT);
    CHECK(ibv_reg_mr(s->pd, s->buf, 4096, IBV_ACCESS_REMOTE_WRITE) == NULL && errno == EINVAL);
    CHECK(ibv_reg_mr(s->pd, s->buf, 0, IBV_ACCESS_LOCAL_WRITE) == NULL && errno == EINVAL);
    CHECK(ibv_reg_mr(s->pd, NULL, 0, IBV_ACCESS_LOCAL_WRITE) == NULL && errno == EINVAL);
    CHECK(ibv_reg_mr_iova2(s->pd, s->buf, 0, 0, 0) == NULL && errno == EINVAL);
    meet(s);
}

static void *await_in_thread(void *cq)
{
    expect(cq, 7, IBV_WC_SUCCESS);
    return NULL;
}

/* A QP with a shared queue and a receive. No lock of this process orders the two threads: the
 * message comes from another process. */
static void a_thread_polls_what_another_made(struct side *s)
{
    pthread_t poller;
    if (!s->is_a) CHECK_EQ(pthread_create(&poller, NULL, await_in_thread, s->rcq), 0);
    struct side with = *s;
    struct ibv_srq_init_attr a = {.attr = {.max_wr = 4, .max_sge = 1}};
    if (s->srq) CHECK((with.srq = ibv_create_srq(s->pd, &a)) != NULL);
    struct side late = another_qp(&with);
    if (!s->is_a) CHECK_EQ(post_recv(&late, 7, 0, 64), 0);
    meet(s);
    if (s->is_a) {
        CHECK_EQ(post(&late, make_wr(&late, IBV_WR_SEND, 1, 0, 8, 0)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
    } else {
        CHECK_EQ(pthread_join(poller, NULL), 0);
    }
    meet(s);
    CHECK_EQ(ibv_destroy_qp(late.qp), 0);
    if (s->srq) CHECK_EQ(ibv_destroy_srq(with.srq), 0);
}

/* Domains and advice without effect are checked and counted. */
static void hints_are_accepted(struct side *s)
{
    struct ibv_td_init_attr none = {0};
    struct ibv_td *td = ibv_alloc_td(s->ctx, &none);
    struct ibv_parent_domain_init_attr a = {.pd = s->pd, .td = td};
    struct ibv_pd *parent = ibv_alloc_parent_domain(s->ctx, &a);
    CHECK(td && parent);
    CHECK_EQ(ibv_dealloc_td(td), EBUSY);
    struct side in = *s;
    in.pd = parent;
    in.mr = ibv_reg_mr(parent, s->buf, BUFFER, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    CHECK(in.mr != NULL);
    add_qp(&in);
    tell(s, &in.mine, sizeof in.mine);
    hear(s, &in.its, sizeof in.its);
    connect_qp(&in, &in.its);
    meet(s);
    /* Objects of a parent domain are in the protection domain: the other MR is usable. */
    struct ibv_send_wr *wr = make_wr(&in, IBV_WR_RDMA_WRITE, 1, 0, 8, 0);
    wr->sg_list->lkey = s->mr->lkey;
    CHECK_EQ(post(&in, wr), 0);
    expect(s->scq, 1, IBV_WC_SUCCESS);
    meet(s);
    struct ibv_sge sge = {(uintptr_t)s->buf, 4096, in.mr->lkey};
    int advice = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
    CHECK_EQ(ibv_advise_mr(s->pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1), 0);
    sge.length = BUFFER + 1;
    CHECK_EQ(ibv_advise_mr(s->pd, advice, 0, &sge, 1), ENOENT);
    CHECK_EQ(ibv_advise_mr(s->pd, advice, 0, &sge, 0), EINVAL);
    CHECK_EQ(ibv_advise_mr(s->pd, 99, 0, &sge, 1), EOPNOTSUPP);
    struct ibv_modify_cq_attr m = {.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {8, 100}};
    CHECK_EQ(ibv_modify_cq(s->scq, &m), 0);
    m.attr_mask = 1 << 20;
    CHECK_EQ(ibv_modify_cq(s->scq, &m), EINVAL);
    CHECK_EQ(ibv_dealloc_pd(parent), EBUSY);
    CHECK_EQ(ibv_destroy_qp(in.qp), 0);
    CHECK_EQ(ibv_dereg_mr(in.mr), 0);
    CHECK_EQ(ibv_dealloc_pd(s->pd), EBUSY);
    CHECK_EQ(ibv_dealloc_pd(parent), 0);
    CHECK_EQ(ibv_dealloc_td(td), 0);
    CHECK(ibv_alloc_null_mr(s->pd) == NULL && errno == EOPNOTSUPP);
}

void queue_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        struct options o;
    } tests[] = {
        {"the send queue is full until completions are polled",
         send_queue_fills_up,
         {.send_wr = 8}},
        {"the receive queue is full until completions are polled",
         receive_queue_fills_up,
         {.recv_wr = 8}},
        {"a refused WR is named, those before it run", bad_wr_is_named, {0}},
        {"an overflowing CQ raises an event", full_cq_raises_an_event, {.cqe = 16}},
        {"and so does one of the target", full_cq_of_the_target_raises_an_event, {.cqe = 16}},
        {"a late receive wakes a sender that sleeps in poll()",
         late_receive_reaches_a_sleeper,
         {0}},
        {"the same, ordinary memory", late_receive_reaches_a_sleeper, {.ordinary = true}},
        {"the same, shared queue", late_receive_reaches_a_sleeper, {.srq_wr = 4}},
        {"one event for one arming", one_event_for_one_arming, {0}},
        {"solicited only", solicited_only, {0}},
        {"two sleepers play ping-pong", sleepers_play_ping_pong, {0}},
        {"the same, shared queue", sleepers_play_ping_pong, {.srq_wr = 4}},
        {"threads share a QP and a CQ", threads_share_a_qp, {.send_wr = 16}},
        {"a thread polls what came to a QP that another made meanwhile",
         a_thread_polls_what_another_made,
         {0}},
        {"the same, shared queue", a_thread_polls_what_another_made, {.srq_wr = 4}},
        {"hints are accepted", hints_are_accepted, {0}},
        {"states and arguments are enforced", states_are_enforced, {.no_connect = true}},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        check(run_pair(tests[i].run, &tests[i].o), "%s", tests[i].name);
}
