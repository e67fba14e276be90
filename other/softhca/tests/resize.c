/* resize.c - rules about ibv_resize_cq(), idle and under load. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "crowd.h"
#include "rules.h"

static void writes(struct side *s, int from, int n)
{
    for (int i = from; i < from + n; i++)
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, i, 0, 8, 0)), 0);
}

static void expect_writes(struct side *s, int from, int n)
{
    for (int i = from; i < from + n; i++) expect(s->scq, i, IBV_WC_SUCCESS);
}

/* Starts at 16 entries. */
static void keeps_what_is_in_it(struct side *s)
{
    if (s->is_a) {
        writes(s, 0, 10);
        expect_writes(s, 0, 7);
        writes(s, 10, 10); /* past the end of the ring */
        CHECK_EQ(ibv_resize_cq(s->scq, 40), 0);
        CHECK_EQ(s->scq->cqe, 64);
        expect_writes(s, 7, 2);
        writes(s, 20, 64 - 11);
        expect_writes(s, 9, 64);
        expect_nothing(s->scq);
        writes(s, 73, 20);
        if (!sides_are_remote()) /* between hosts they may arrive later */
            CHECK_EQ(ibv_resize_cq(s->scq, 16), EINVAL);
        CHECK_EQ(s->scq->cqe, 64);
        expect_writes(s, 73, 4);
        CHECK_EQ(ibv_resize_cq(s->scq, 16), 0);
        CHECK_EQ(s->scq->cqe, 16);
        expect_writes(s, 77, 16);
        expect_nothing(s->scq);
        CHECK_EQ(ibv_resize_cq(s->scq, 16), 0);
        CHECK_EQ(ibv_resize_cq(s->scq, 0), EINVAL);
        CHECK_EQ(ibv_resize_cq(s->scq, 1 << 30), EINVAL);
        writes(s, 93, 16);
        expect_writes(s, 93, 16);
    }
    meet(s);
}

static void overflows_at_its_new_size(struct side *s)
{
    if (s->is_a) {
        writes(s, 0, 3);
        CHECK_EQ(ibv_resize_cq(s->scq, 8), 0);
        writes(s, 3, 5);
        struct ibv_wc wc;
        writes(s, 8, 1);
        CHECK_EQ(await_event(s), IBV_EVENT_CQ_ERR);
        CHECK_EQ(await_event(s), IBV_EVENT_QP_FATAL);
        CHECK_EQ(ibv_resize_cq(s->scq, 64), EINVAL);
        for (int i = 0; i < 8; i++) CHECK_EQ(ibv_poll_cq(s->scq, 1, &wc), 1);
        CHECK(ibv_poll_cq(s->scq, 1, &wc) < 0);
    }
    meet(s);
}

static void arming_outlives_it(struct side *s)
{
    if (s->is_a) {
        CHECK_EQ(ibv_req_notify_cq(s->scq, 0), 0);
        CHECK_EQ(ibv_resize_cq(s->scq, 128), 0);
        writes(s, 0, 1);
        struct ibv_cq *cq;
        void *context;
        CHECK_EQ(ibv_get_cq_event(s->channel, &cq, &context), 0);
        CHECK(cq == s->scq);
        ibv_ack_cq_events(cq, 1);
        expect(s->scq, 0, IBV_WC_SUCCESS);
    }
    meet(s);
}

static void does_not_grow(struct side *s)
{
    if (s->is_a) {
        long before = 0;
        for (int i = 0; i < 5000; i++) {
            if (i == 500) before = resident();
            writes(s, 0, 3);
            CHECK_EQ(ibv_resize_cq(s->scq, i % 2 ? 16 : 4096), 0);
            expect_writes(s, 0, 3);
        }
        CHECK(resident() < before + 1024);
    }
    meet(s);
}

enum { MESSAGES = 20000, DEPTH = 60, SLOT = 512 };

/* The sender and number of a message are in its immediate data and its bytes. */
static void flood(struct crowd *c, struct side *s)
{
    for (uint32_t i = 0; i < MESSAGES; i++) {
        uint32_t length = 4 + (i * 37 + c->rank) % 400;
        fill(s->buf, length, i);
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND_WITH_IMM, i, 0, length, 0);
        wr->imm_data = c->rank << 24 | i;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, i, IBV_WC_SUCCESS);
    }
}

static struct ibv_cq *resized;
static _Atomic bool over;
static _Atomic int times;

/* All receives of all QPs fit in the smallest of these sizes: none may overflow. */
static void *keep_resizing(void *arg)
{
    unsigned seed = *(unsigned *)arg;
    while (!over) {
        int size = (1 << (8 + rand_r(&seed) % 6)) - rand_r(&seed) % 100;
        int error = ibv_resize_cq(resized, size);
        CHECK(error == 0);
        CHECK(resized->cqe >= size);
        times++;
        nanosleep(&(struct timespec){.tv_nsec = rand_r(&seed) % 50000}, NULL);
    }
    return NULL;
}

static void receive_flood(struct crowd *c, struct side *s, bool sleeping)
{
    uint32_t next[CROWD] = {0};
    for (int r = 1; r < c->size; r++)
        for (int i = 0; i < DEPTH; i++) {
            int slot = r * DEPTH + i;
            CHECK_EQ(post_recv(&s[r], slot, (size_t)slot * SLOT, SLOT), 0);
        }
    for (int left = (c->size - 1) * MESSAGES; left > 0; left--) {
        struct ibv_wc wc = sleeping ? await_sleeping(&s[1], s[1].rcq) : await(s[1].rcq);
        int rank = wc.imm_data >> 24;
        uint32_t i = wc.imm_data & 0xffffff;
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK(rank > 0 && rank < c->size);
        CHECK_EQ(i, next[rank]++);
        CHECK_EQ(wc.qp_num, s[rank].qp->qp_num);
        CHECK_EQ(wc.byte_len, 4 + (i * 37 + rank) % 400);
        CHECK(filled(s[1].buf + wc.wr_id * SLOT, wc.byte_len, i));
        CHECK_EQ(post_recv(&s[rank], wc.wr_id, wc.wr_id * SLOT, SLOT), 0);
    }
    expect_nothing(s[1].rcq);
}

static unsigned seed;

static void under_load(struct crowd *c, bool sleeping)
{
    struct side s[CROWD];
    pthread_t thread;
    make_star(c, s);
    if (c->rank)
        flood(c, &s[1]);
    else {
        resized = s[1].rcq;
        CHECK_EQ(pthread_create(&thread, NULL, keep_resizing, &seed), 0);
        while (times < 3) sched_yield();
        receive_flood(c, s, sleeping);
        over = true;
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    all_meet(c);
    tear_down_star(c, s);
}

static void polled_under_load(struct crowd *c)
{
    under_load(c, false);
}

static void slept_on_under_load(struct crowd *c)
{
    under_load(c, true);
}

/* Kills a producer during the resize: all completions of the other arrive. */
static void a_producer_dies(struct crowd *c)
{
    struct side s[CROWD];
    pthread_t thread;
    make_star(c, s);
    if (c->rank) {
        for (;;) {
            flood(c, &s[1]);
            if (c->rank == 1) break;
        }
        all_meet(c);
        tear_down_star(c, s);
        return;
    }
    resized = s[1].rcq;
    CHECK_EQ(pthread_create(&thread, NULL, keep_resizing, &seed), 0);
    for (int r = 1; r < 3; r++)
        for (int i = 0; i < DEPTH; i++) CHECK_EQ(post_recv(&s[r], r, (size_t)r * SLOT, SLOT), 0);
    int kill_at = 100 + seed % 1000, of[3] = {0};
    while (of[1] < MESSAGES || of[2] < kill_at) {
        struct ibv_wc wc = await(s[1].rcq);
        int r = wc.qp_num == s[1].qp->qp_num ? 1 : 2;
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        of[r]++;
        if (r == 2 && of[r] == kill_at) CHECK_EQ(kill(c->pid[2], SIGKILL), 0);
        CHECK_EQ(post_recv(&s[r], r, (size_t)r * SLOT, SLOT), 0);
    }
    over = true;
    CHECK_EQ(pthread_join(thread, NULL), 0);
    c->size = 2; /* processes that still synchronise */
    all_meet(c);
    c->size = 3;
    tear_down_star(c, s);
}

void resize_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        struct options o;
    } tests[] = {
        {"a resized CQ keeps its completions, in order", keeps_what_is_in_it, {.cqe = 16}},
        {"it overflows at its new size", overflows_at_its_new_size, {.cqe = 16}},
        {"arming outlives a change of size", arming_outlives_it, {.cqe = 16}},
        {"five thousand changes of size without growth", does_not_grow, {.cqe = 16}},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        check(run_pair(tests[i].run, &tests[i].o), "%s", tests[i].name);
    const char *given = getenv("TEST_SOFTHCA_SEED");
    seed = given ? strtoul(given, NULL, 0) : (unsigned)time(NULL);
    printf("# TEST_SOFTHCA_SEED=%u\n", seed);
    for (int ordinary = 0; ordinary < 2; ordinary++) {
        const char *memory = ordinary ? "ordinary" : "mapped";
        struct options o = {.ordinary = ordinary};
        check(run_crowd(polled_under_load, 3, &o),
              "resized while two processes append, %s memory: nothing is lost", memory);
        check(run_crowd(slept_on_under_load, 3, &o),
              "the same with a consumer that sleeps, %s memory", memory);
        check(run_crowd(a_producer_dies, 3, &o),
              "a producer dies while the CQ is resized, %s memory", memory);
    }
}
