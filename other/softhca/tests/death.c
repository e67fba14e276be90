/* death.c - one side dies at any instruction of an operation, with its queues, claims and access
 * words in any state; the queues of the other side stay consistent, nothing hangs, and a third
 * process is served.
 *
 * The victim is single-stepped to a point and killed there. Points are every STRIDE-th instruction,
 * from a random start. Usage: softhca_death [STRIDE [SEED]]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"
#include "rules.h"
#include "step.h"

enum { RECEIVES = 8, SIZE = 256, HERE = 0, THERE = 8192, WINDOW = 65536 };

/* The operation of side B, and the check at side A after its death. */
struct scene {
    const char *name;
    void (*act)(struct side *);
    struct options o;
};

/* Kept between tests: the point of death, and whether the operation ended before it. */
static struct plan {
    const struct scene *scene;
    long point;
    bool finished;
} * plan;

/* --- operations of B --- */

static void b_posts(struct side *s, enum ibv_wr_opcode op, uint32_t len)
{
    struct ibv_send_wr *wr = make_wr(s, op, 9, HERE, len, WINDOW);
    wr->imm_data = 7;
    CHECK_EQ(post(s, wr), 0);
}
static void send_small(struct side *s)
{
    b_posts(s, IBV_WR_SEND, 16);
}
static void send_medium(struct side *s)
{
    b_posts(s, IBV_WR_SEND, 200);
}
static void send_large(struct side *s)
{
    b_posts(s, IBV_WR_SEND_WITH_IMM, SIZE);
}
static void write_it(struct side *s)
{
    b_posts(s, IBV_WR_RDMA_WRITE, 64);
}
static void write_with_imm(struct side *s)
{
    b_posts(s, IBV_WR_RDMA_WRITE_WITH_IMM, 64);
}
static void read_it(struct side *s)
{
    b_posts(s, IBV_WR_RDMA_READ, 64);
}
static void add(struct side *s)
{
    b_posts(s, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
}
static void post_a_receive(struct side *s)
{
    CHECK_EQ(post_recv(s, 1, THERE, SIZE), 0);
}
static void poll_one(struct side *s)
{
    struct ibv_wc wc;
    ibv_poll_cq(s->rcq, 1, &wc);
}
static void bad_request(struct side *s)
{
    struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 9, HERE, 8, WINDOW);
    wr->wr.rdma.rkey ^= 0x5500;
    CHECK_EQ(post(s, wr), 0);
}
static void register_memory(struct side *s)
{
    ibv_dereg_mr(ibv_reg_mr(s->pd, s->buf, 4096, IBV_ACCESS_LOCAL_WRITE));
}
static void destroy(struct side *s)
{
    CHECK_EQ(ibv_destroy_qp(s->qp), 0);
}

static const struct scene scenes[] = {
    {"SEND of 16 bytes", send_small, {.no_channel = true}},
    {"SEND of 200 bytes to a slot", send_medium, {.no_channel = true, .ordinary = true}},
    {"SEND with immediate to a sleeper", send_large, {0}},
    {"SEND to a shared queue", send_small, {.no_channel = true, .srq_wr = 64}},
    {"SEND to a shared queue, a sleeper", send_medium, {.ordinary = true, .srq_wr = 64}},
    {"SEND on an unreliable connection", send_small, {.no_channel = true, .type = IBV_QPT_UC}},
    {"a datagram", send_small, {.no_channel = true, .type = IBV_QPT_UD}},
    {"a datagram to a slot", send_medium, {.ordinary = true, .type = IBV_QPT_UD}},
    {"WRITE", write_it, {.no_channel = true}},
    {"WRITE to ordinary memory", write_it, {.no_channel = true, .ordinary = true}},
    {"WRITE with immediate", write_with_imm, {.no_channel = true}},
    {"READ", read_it, {.no_channel = true}},
    {"atomic", add, {.no_channel = true}},
    {"a bad request", bad_request, {.no_channel = true}},
    {"posting a receive", post_a_receive, {.no_channel = true}},
    {"polling", poll_one, {.no_channel = true}},
    {"registering and deregistering", register_memory, {.no_channel = true}},
    {"destroying the queue pair", destroy, {.no_channel = true}},
};

/* --- the survivor --- */

static int a_receives(struct side *s, uint64_t id)
{
    struct ibv_sge sge = {(uintptr_t)s->buf + THERE, SIZE, s->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;
    return s->srq ? ibv_post_srq_recv(s->srq, &wr, &bad) : ibv_post_recv(s->qp, &wr, &bad);
}

static bool reliable(const struct side *s)
{
    return s->o.type != IBV_QPT_UC && s->o.type != IBV_QPT_UD;
}

/* Sends complete in order, reliable ones with an error, and no completion comes twice. */
static void sends_end(struct side *s)
{
    enum ibv_wr_opcode op = s->o.type == IBV_QPT_UD ? IBV_WR_SEND : IBV_WR_RDMA_WRITE;
    for (uint64_t i = 0; i < 3; i++) CHECK_EQ(post(s, make_wr(s, op, i, HERE, 8, WINDOW)), 0);
    for (uint64_t i = 0; i < 3; i++) {
        struct ibv_wc wc = await(s->scq);
        CHECK_EQ(wc.wr_id, i);
        CHECK(reliable(s) ? wc.status == IBV_WC_RETRY_EXC_ERR || wc.status == IBV_WC_WR_FLUSH_ERR
                          : wc.status == IBV_WC_SUCCESS);
    }
    expect_nothing(s->scq);
}

/* Every receive completes once: first received messages, then flushed ones. In order, except in a
 * shared queue, where a receive claimed by the dead process is posted again. */
static void receives_end(struct side *s)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
    bool ended[RECEIVES] = {false}, any_order = s->o.type == IBV_QPT_UD;
    int came = 0;
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
    for (uint64_t i = 0; i < RECEIVES && !s->srq; i++) {
        struct ibv_wc wc = await(s->rcq);
        CHECK(wc.wr_id < RECEIVES && !ended[wc.wr_id] && (any_order || wc.wr_id == i));
        ended[wc.wr_id] = true;
        CHECK(wc.status == IBV_WC_WR_FLUSH_ERR ||
              (wc.status == IBV_WC_SUCCESS && came++ == (int)i));
    }
    CHECK(came <= (any_order ? 2 : 1)); /* the first datagram may have used a receive */
    if (!s->srq) expect_nothing(s->rcq);
}

/* The queues of A still work: a new QP on the same CQs, connected to itself. */
static void others_go_on(struct side *s)
{
    struct ibv_wc wc;
    CHECK_EQ(ibv_destroy_qp(s->qp), 0);
    while (ibv_poll_cq(s->rcq, 1, &wc) > 0) CHECK(s->srq != NULL);
    struct ibv_qp_init_attr init = {
        .send_cq = s->scq,
        .recv_cq = s->rcq,
        .srq = s->srq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1}};
    s->qp = ibv_create_qp(s->pd, &init);
    CHECK(s->qp != NULL);
    struct ibv_qp_attr a = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    CHECK_EQ(ibv_modify_qp(s->qp, &a,
                           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
             0);
    s->o.type = 0; /* a reliable QP in every case */
    struct address self = s->mine;
    self.qpn = s->qp->qp_num;
    connect_qp(s, &self);
    /* All slots of a shared queue are usable: none was lost with the dead process. */
    int rounds = s->srq ? 70 : 3;
    for (int i = 0; i < rounds; i++) {
        while (a_receives(s, 77) && s->srq) break;
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 5, HERE, 8, 0)), 0);
        wc = await(s->scq);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK_EQ(await(s->rcq).status, IBV_WC_SUCCESS);
    }
}

static void exit_during_operation(struct side *s)
{
    if (!s->is_a) {
        memset(s->buf + HERE, 'x', SIZE);
        if (s->o.type == IBV_QPT_UD) { /* the first message attaches the peer, which takes long */
            plan->scene->act(s);
            await(s->scq);
        }
        meet(s); /* A has posted its receives and single-steps */
        step_mark();
        plan->scene->act(s);
        step_mark();
        for (;;) pause();
    }
    struct steps count;
    CHECK(step_attach(s->other));
    for (uint64_t i = 0; i < RECEIVES; i++) CHECK_EQ(a_receives(s, i), 0);
    meet(s);
    step_to_mark(s->other);
    plan->finished = step_on(s->other, plan->point, &count);
    step_kill(s->other);
    await_end_of(s->other);
    sends_end(s);
    receives_end(s);
    others_go_on(s);
}

/* True when the operation ended before the point. */
static bool one_point(const struct scene *scene, long point, bool *ok)
{
    plan->scene = scene;
    plan->point = point;
    plan->finished = false;
    *ok = run_pair(exit_during_operation, &scene->o);
    if (!*ok) fprintf(stderr, "# %s: killed after %ld instructions\n", scene->name, point);
    return plan->finished;
}

int main(int argc, char **argv)
{
    long stride = argc > 1 ? atol(argv[1]) : 25;
    unsigned seed =
        argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : (unsigned)time(NULL) ^ (unsigned)getpid();
    printf("# seed %u, every %ld. instruction\n", seed, stride);
    plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (plan == MAP_FAILED) return 1;
    if (!step_permitted()) {
        printf("ok 1 - death at any point # SKIP ptrace is not permitted here\n1..1\n");
        return 0;
    }
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        long point = rand_r(&seed) % stride, points = 0;
        bool ok = true;
        for (; ok; point += stride, points++)
            if (one_point(&scenes[i], point, &ok)) break;
        check(ok, "%s: killed at each of %ld points", scenes[i].name, points);
    }
    return check_end();
}
