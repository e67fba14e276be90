/* short.c - rules about WRITEs that take the short way: the order of their completions among those
 * of other operations, several queue pairs and threads on one queue, and what changes between two
 * of them.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pair.h"
#include "rules.h"

enum { QUEUES = 12, MANY = 4000, DEPTH = 256, BESIDE = 4096 };

static struct ibv_send_wr *short_write(struct side *s, uint64_t id)
{
    return make_wr(s, IBV_WR_RDMA_WRITE, id, 0, 8, 0);
}

/* The first of them is listed in the CQ, the second is remembered. */
static int post_inlined(struct side *s, uint64_t id)
{
    struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, id, 0, 8, BESIDE);
    wr->send_flags |= IBV_SEND_INLINE;
    return post(s, wr);
}

/* Polls some completions, which are of one queue pair, and must be numbered from *NEXT. */
static void poll_in_order(struct side *s, int most, uint64_t *next)
{
    struct ibv_wc wc[16];
    int n = ibv_poll_cq(s->scq, most, wc);
    CHECK(n >= 0);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(wc[i].status, IBV_WC_SUCCESS);
        CHECK_EQ(wc[i].wr_id, (*next)++);
        CHECK_EQ(wc[i].qp_num, s->qp->qp_num);
    }
}

static void order_among_other_operations(struct side *s)
{
    static const enum ibv_wr_opcode op[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE,
                                            IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD};
    unsigned seed = (unsigned)time(NULL);
    uint64_t posted = 0, polled = 0;
    if (s->is_a) printf("# seed %u\n", seed);
    while (s->is_a && polled < MANY) {
        for (int burst = rand_r(&seed) % 6; burst > 0 && posted - polled < DEPTH; burst--) {
            struct ibv_send_wr *wr = make_wr(s, op[rand_r(&seed) % 5], posted++, 0, 8, 0);
            if (wr->opcode == IBV_WR_RDMA_WRITE && rand_r(&seed) % 2)
                wr->send_flags |= IBV_SEND_INLINE;
            CHECK_EQ(post(s, wr), 0);
        }
        poll_in_order(s, 1 + rand_r(&seed) % 16, &polled);
    }
    meet(s);
}

/* Unsignalled WRITEs, and completions that are polled late: the send queue is full at its depth. */
static void slots_are_freed(struct side *s)
{
    for (int round = 0; s->is_a && round < 20; round++) {
        for (int i = 0; i < 8; i++) {
            struct ibv_send_wr *wr = short_write(s, (uint64_t)i);
            if (i % 4 != 3) wr->send_flags = 0;
            CHECK_EQ(post(s, wr), 0);
        }
        CHECK_EQ(post(s, short_write(s, 8)), ENOMEM);
        expect(s->scq, 3, IBV_WC_SUCCESS);
        expect(s->scq, 7, IBV_WC_SUCCESS);
        expect_nothing(s->scq);
    }
    meet(s);
}

/* Inlined WRITEs of each length and alignment, near both ends of the region, write what they shall
 * and nothing else. */
static void every_length(struct side *s)
{
    enum { MOST = 80, ROOM = 128 };
    for (int end = 0; end < 2; end++)
        for (uint32_t length = 1; length <= MOST; length++)
            for (uint32_t shift = 0; shift < 9; shift++) {
                const size_t at = end ? BUFFER - length - shift : shift;
                const size_t from = end ? BUFFER - ROOM : 0;
                if (s->is_a) {
                    fill(s->buf + BESIDE, length, length + shift);
                    struct ibv_send_wr *wr =
                        make_wr(s, IBV_WR_RDMA_WRITE, length, BESIDE, length, at);
                    wr->send_flags |= IBV_SEND_INLINE;
                    CHECK_EQ(post(s, wr), 0);
                    expect(s->scq, length, IBV_WC_SUCCESS);
                    meet(s);
                } else {
                    meet(s);
                    CHECK(filled(s->buf + at, length, length + shift));
                    for (size_t i = from; i < from + ROOM; i++)
                        CHECK((i >= at && i < at + length) || s->buf[i] == 0);
                    memset(s->buf + from, 0, ROOM);
                }
                meet(s);
            }
    if (s->is_a) { /* over the end, by one */
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, BUFFER - 8);
        wr->send_flags |= IBV_SEND_INLINE;
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(post(s, wr), 0);
            expect(s->scq, 1, IBV_WC_SUCCESS);
        }
        wr->wr.rdma.remote_addr += 8;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 1, IBV_WC_REM_ACCESS_ERR);
    }
    meet(s);
}

/* --- several queue pairs on one queue --- */

static void many_queue_pairs(struct side *s)
{
    struct side x[QUEUES];
    for (int i = 0; i < QUEUES; i++) x[i] = another_qp(s);
    unsigned seed = (unsigned)time(NULL);
    uint64_t posted[QUEUES] = {0}, polled[QUEUES] = {0};
    int in_flight = 0;
    if (s->is_a) printf("# seed %u\n", seed);
    for (int round = 0; s->is_a && (round < MANY || in_flight > 0); round++) {
        int q = rand_r(&seed) % (round % 512 < 256 ? QUEUES : 2); /* most are idle at times */
        if (round < MANY && in_flight < 64) {
            CHECK_EQ(post(&x[q], short_write(s, (uint64_t)q << 32 | posted[q]++)), 0);
            in_flight++;
        }
        struct ibv_wc wc[4];
        int n = rand_r(&seed) % 2 ? ibv_poll_cq(s->scq, 4, wc) : 0;
        for (int i = 0; i < n; i++) {
            q = (int)(wc[i].wr_id >> 32);
            CHECK_EQ(wc[i].status, IBV_WC_SUCCESS);
            CHECK_EQ(wc[i].qp_num, x[q].qp->qp_num);
            CHECK_EQ((uint32_t)wc[i].wr_id, polled[q]++);
        }
        in_flight -= n;
    }
    meet(s);
    for (int i = 0; i < QUEUES; i++) CHECK_EQ(ibv_destroy_qp(x[i].qp), 0);
}

/* A queue pair takes its completions along when it ends, and leaves those of the others. */
static void one_of_them_ends(struct side *s)
{
    struct side x = another_qp(s), y = another_qp(s);
    if (s->is_a) {
        for (int i = 0; i < 5; i++) {
            CHECK_EQ(post(s, short_write(s, 100)), 0);
            CHECK_EQ(post(&x, short_write(s, 200)), 0);
            CHECK_EQ(post(&y, short_write(s, 300)), 0);
        }
        struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
        CHECK_EQ(ibv_destroy_qp(x.qp), 0);
        CHECK_EQ(ibv_modify_qp(y.qp, &reset, IBV_QP_STATE), 0);
        for (int i = 0; i < 5; i++) expect(s->scq, 100, IBV_WC_SUCCESS);
        expect_nothing(s->scq);
    }
    meet(s);
    if (!s->is_a) CHECK_EQ(ibv_destroy_qp(x.qp), 0);
    CHECK_EQ(ibv_destroy_qp(y.qp), 0);
}

/* A queue pair that is made later may overflow the queue; the completions that were there before it
 * come all the same, and in order. */
static void a_late_queue_pair(struct side *s)
{
    if (s->is_a)
        for (int i = 0; i < 10; i++) CHECK_EQ(post_inlined(s, (uint64_t)i), 0);
    struct side x = another_qp(s);
    if (s->is_a) {
        for (int i = 10; i < 20; i++) CHECK_EQ(post_inlined(s, (uint64_t)i), 0);
        for (int i = 0; i < 20; i++) expect(s->scq, (uint64_t)i, IBV_WC_SUCCESS);
        for (int i = 0; i < 64; i++) CHECK_EQ(post_inlined(i < 32 ? s : &x, 1), 0);
        CHECK_EQ(post_inlined(s, 1), 0); /* the first too many */
        CHECK_EQ(await_event(s), IBV_EVENT_CQ_ERR);
    }
    meet(s);
    CHECK_EQ(ibv_destroy_qp(x.qp), 0);
}

/* Completions of WRITEs do not keep those of receives, on the same queue, from being polled. */
static void receives_are_not_starved(struct side *s)
{
    struct side x = *s;
    x.rcq = s->scq;
    x = another_qp(&x);
    if (s->is_a) CHECK_EQ(post_recv(&x, 7, BESIDE, 64), 0);
    meet(s);
    if (!s->is_a) {
        CHECK_EQ(post(&x, make_wr(s, IBV_WR_SEND, 1, 0, 64, 0)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
    }
    meet(s);
    if (s->is_a) {
        struct ibv_wc wc = {0};
        for (int i = 0; i < 32; i++) CHECK_EQ(post(s, short_write(s, 1)), 0);
        for (int i = 0; wc.wr_id != 7; i++) { /* posts a WRITE for each that was polled */
            CHECK(i < 1000);
            CHECK_EQ(post(s, short_write(s, 1)), 0);
            wc = await(s->scq);
            CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        }
    }
    meet(s);
    CHECK_EQ(ibv_destroy_qp(x.qp), 0);
}

/* --- threads --- */

struct poster {
    struct side side;
    _Atomic uint64_t *polled; /* of all posters */
    int number;
};

static void *post_many(void *arg)
{
    struct poster *p = arg;
    for (uint64_t i = 0; i < MANY; i++) {
        struct ibv_sge sge = {(uintptr_t)p->side.buf + 64 * p->number, 8, p->side.mr->lkey};
        struct ibv_send_wr *bad,
            wr = {.wr_id = (uint64_t)p->number << 32 | i,
                  .sg_list = &sge,
                  .num_sge = 1,
                  .opcode = i % 50 == 49 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                  .send_flags = IBV_SEND_SIGNALED};
        wr.wr.rdma.remote_addr = p->side.its.addr + 64 * p->number;
        wr.wr.rdma.rkey = p->side.its.rkey;
        while (i - p->polled[p->number] >= 32) sched_yield();
        CHECK_EQ(ibv_post_send(p->side.qp, &wr, &bad), 0);
    }
    return NULL;
}

/* Two threads post to queue pairs of their own, which share a queue that two other ones poll. */
enum { POSTERS = 2, POLLERS = 2 };
static struct ibv_cq *polled_queue;
static _Atomic uint64_t polled[POSTERS], in_all;

static void *poll_many(void *unused)
{
    (void)unused;
    while (in_all < POSTERS * MANY) {
        struct ibv_wc wc[8];
        int n = ibv_poll_cq(polled_queue, 8, wc);
        CHECK(n >= 0);
        for (int i = 0; i < n; i++) {
            CHECK_EQ(wc[i].status, IBV_WC_SUCCESS);
            polled[wc[i].wr_id >> 32]++; /* one poller may pass the other */
        }
        in_all += (uint64_t)n;
        if (n == 0) sched_yield();
    }
    return NULL;
}

static void threads_share_a_queue(struct side *s)
{
    struct side x = another_qp(s);
    if (s->is_a) {
        struct poster p[POSTERS] = {{*s, polled, 0}, {x, polled, 1}};
        pthread_t posting[POSTERS], polling[POLLERS];
        polled_queue = s->scq;
        for (int i = 0; i < POLLERS; i++)
            CHECK_EQ(pthread_create(&polling[i], NULL, poll_many, NULL), 0);
        for (int i = 0; i < POSTERS; i++)
            CHECK_EQ(pthread_create(&posting[i], NULL, post_many, &p[i]), 0);
        for (int i = 0; i < POSTERS; i++) CHECK_EQ(pthread_join(posting[i], NULL), 0);
        for (int i = 0; i < POLLERS; i++) CHECK_EQ(pthread_join(polling[i], NULL), 0);
        for (int i = 0; i < POSTERS; i++) CHECK_EQ(polled[i], MANY);
        expect_nothing(s->scq);
    }
    meet(s);
    CHECK_EQ(ibv_destroy_qp(x.qp), 0);
}

/* --- changes between two WRITEs --- */

static void writes_until_it_fails(struct side *s, enum ibv_wc_status status)
{
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(post_inlined(s, 1), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
    }
    meet(s);
    meet(s); /* the target has changed */
    CHECK_EQ(post_inlined(s, 2), 0);
    expect(s->scq, 2, status);
    CHECK_EQ(post_inlined(s, 3), 0);
    expect(s->scq, 3, IBV_WC_WR_FLUSH_ERR);
}

/* The region is registered again, at once, so that its entry may be the same. */
static void the_target_deregisters(struct side *s)
{
    if (s->is_a) {
        fill(s->buf, 8, 1);
        writes_until_it_fails(s, IBV_WC_REM_ACCESS_ERR);
    } else {
        meet(s);
        CHECK(filled(s->buf + BESIDE, 8, 1));
        CHECK_EQ(ibv_dereg_mr(s->mr), 0);
        memset(s->buf + BESIDE, 0, 8);
        s->mr = ibv_reg_mr(s->pd, s->buf, BUFFER, IBV_ACCESS_LOCAL_WRITE);
        CHECK(s->mr != NULL);
        meet(s);
    }
    meet(s);
    if (!s->is_a)
        for (int i = 0; i < 8; i++) CHECK_EQ(s->buf[BESIDE + i], 0);
}

/* Keys are used again, after long: the same key for another region does not open the old one. */
static void the_key_comes_again(struct side *s)
{
    if (s->is_a)
        writes_until_it_fails(s, IBV_WC_REM_ACCESS_ERR);
    else {
        const uint32_t rkey = s->mr->rkey;
        meet(s);
        CHECK_EQ(ibv_dereg_mr(s->mr), 0);
        for (int i = 0;; i++) {
            s->mr = ibv_reg_mr(s->pd, s->buf + 2 * BESIDE, 64,
                               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
            CHECK(s->mr != NULL);
            if (s->mr->rkey == rkey || i == 1000000) break; /* a real device may never do it */
            CHECK_EQ(ibv_dereg_mr(s->mr), 0);
        }
        meet(s);
    }
    meet(s);
}

static void the_target_takes_the_right_away(struct side *s)
{
    if (s->is_a)
        writes_until_it_fails(s, IBV_WC_REM_INV_REQ_ERR);
    else {
        struct ibv_qp_attr a = {.qp_access_flags = IBV_ACCESS_REMOTE_READ};
        meet(s);
        CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_ACCESS_FLAGS), 0);
        meet(s);
    }
    meet(s);
}

static void the_target_breaks(struct side *s)
{
    if (s->is_a)
        writes_until_it_fails(s, IBV_WC_RETRY_EXC_ERR);
    else {
        struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
        meet(s);
        CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
        meet(s);
    }
    meet(s);
}

/* The queue pair of the initiator itself: what was posted before has completed. */
static void the_initiator_breaks(struct side *s)
{
    if (s->is_a) {
        for (int i = 0; i < 3; i++) CHECK_EQ(post_inlined(s, (uint64_t)i), 0);
        struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
        CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
        for (int i = 3; i < 6; i++) CHECK_EQ(post_inlined(s, (uint64_t)i), 0);
        for (int i = 0; i < 6; i++)
            expect(s->scq, (uint64_t)i,
                   i < 3 && !sides_are_remote() ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
        expect_nothing(s->scq);
    }
    meet(s);
}

/* B deregisters and registers while WRITEs come: none lands after ibv_dereg_mr(). */
static void deregistered_meanwhile(struct side *s)
{
    enum { ROUNDS = 200 };
    for (int round = 0; round < ROUNDS; round++) {
        struct side x = another_qp(s);
        struct ibv_wc wc;
        if (s->is_a) {
            uint32_t rkey;
            hear(s, &rkey, sizeof rkey);
            uint64_t *word = (uint64_t *)s->buf;
            do {
                ++*word;
                struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, BESIDE);
                wr->wr.rdma.rkey = rkey;
                wr->send_flags |= IBV_SEND_INLINE;
                CHECK_EQ(post(&x, wr), 0);
                wc = await(s->scq);
            } while (wc.status == IBV_WC_SUCCESS);
            CHECK_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
        } else {
            volatile uint64_t *word = (uint64_t *)(s->buf + BESIDE);
            *word = 0;
            struct ibv_mr *mr = ibv_reg_mr(s->pd, s->buf + BESIDE, 64,
                                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
            CHECK(mr != NULL);
            tell(s, &mr->rkey, sizeof mr->rkey);
            while (*word < 6) sched_yield();
            CHECK_EQ(ibv_dereg_mr(mr), 0);
            uint64_t last = *word;
            meet(s); /* A has failed by now */
            CHECK_EQ(*word, last);
        }
        if (s->is_a) meet(s);
        CHECK_EQ(ibv_destroy_qp(x.qp), 0);
        meet(s);
    }
}

/* --- a thread that sleeps until an event --- */

static _Atomic uint64_t told;

static void *post_to_sleeper(void *arg)
{
    struct side *s = arg;
    for (uint64_t i = 0; i < MANY; i++) {
        while (i - told > i % 5) sched_yield(); /* often all before have been polled */
        CHECK_EQ(post_inlined(s, i), 0);
    }
    return NULL;
}

/* A poll after the arming, or the event, reports each completion. */
static void a_thread_sleeps_for_them(struct side *s)
{
    if (s->is_a && !s->o.no_channel) {
        pthread_t poster;
        CHECK_EQ(pthread_create(&poster, NULL, post_to_sleeper, s), 0);
        for (uint64_t next = 0; next < MANY; told = next) {
            const uint64_t before = next;
            struct ibv_cq *cq;
            void *context;
            CHECK_EQ(ibv_req_notify_cq(s->scq, 0), 0);
            poll_in_order(s, 16, &next);
            if (next != before) continue;
            CHECK_EQ(ibv_get_cq_event(s->channel, &cq, &context), 0);
            ibv_ack_cq_events(cq, 1);
            poll_in_order(s, 16, &next);
        }
        CHECK_EQ(pthread_join(poster, NULL), 0);
        expect_nothing(s->scq);
    }
    meet(s);
}

void short_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        struct options o;
    } tests[] = {
        {"completions keep the order of their send queue", order_among_other_operations, {0}},
        {"completions free the slots of the send queue", slots_are_freed, {.send_wr = 8}},
        {"every length and alignment", every_length, {0}},
        {"many queue pairs share a completion queue", many_queue_pairs, {.cqe = 8192}},
        {"one of them ends", one_of_them_ends, {0}},
        {"one is made later", a_late_queue_pair, {.send_wr = 64, .cqe = 64}},
        {"receives on the same queue are not starved", receives_are_not_starved, {.cqe = 2048}},
        {"threads post to two queue pairs, and two poll", threads_share_a_queue, {0}},
        {"a thread sleeps for their completions", a_thread_sleeps_for_them, {0}},
        {"the target deregisters its memory", the_target_deregisters, {0}},
        {"the key comes again for another region", the_key_comes_again, {0}},
        {"the target takes the right away", the_target_takes_the_right_away, {0}},
        {"the target goes to ERR", the_target_breaks, {.timeout = 8, .retry_cnt = 1}},
        {"the initiator goes to ERR", the_initiator_breaks, {0}},
        {"nothing lands after a deregistration", deregistered_meanwhile, {0}},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        for (int channel = 1; channel >= 0; channel--) {
            struct options o = tests[i].o;
            o.no_channel = !channel;
            check(run_pair(tests[i].run, &o), "%s%s", tests[i].name,
                  channel ? "" : ", without a channel");
        }
}
