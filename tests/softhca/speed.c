/* speed.c - what the verbs cost, for people; nothing is judged by it.
 *
 * Side A measures against side B, and between A and itself nothing. Figures are the best of
 * several rounds, because machines are shared.
 */
#include "rules.h"
#include "pair.h"

#include <stdio.h>
#include <time.h>

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

enum { ROUNDS = 20, COUNT = 2000 };

static void unsignalled_writes(struct side *s)
{
    for (int i = 0; i < COUNT; i++) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, i, 0, 8, 64);
        if (i % 128 != 127) wr->send_flags = 0;
        CHECK_EQ(post(s, wr), 0);
        if (i % 128 == 127) await(s->scq);
    }
    struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 0, 0, 8, 64);
    CHECK_EQ(post(s, wr), 0);
    await(s->scq);
}

static void signalled(struct side *s, enum ibv_wr_opcode op, uint32_t len)
{
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ(post(s, make_wr(s, op, i, 0, len, 4096)), 0);
        await(s->scq);
    }
}

static void writes_8(struct side *s)
{
    signalled(s, IBV_WR_RDMA_WRITE, 8);
}
static void writes_4096(struct side *s)
{
    signalled(s, IBV_WR_RDMA_WRITE, 4096);
}
static void reads_8(struct side *s)
{
    signalled(s, IBV_WR_RDMA_READ, 8);
}

static void empty_polls(struct side *s)
{
    for (int i = 0; i < COUNT; i++) expect_nothing(s->scq);
}

static void registrations(struct side *s)
{
    for (int i = 0; i < COUNT; i++) ibv_dereg_mr(ibv_reg_mr(s->pd, s->buf, 65536, 0));
}

static void measure(struct side *s, const char *what, void (*f)(struct side *))
{
    double best = 1e18;
    for (int i = 0; i < ROUNDS; i++) {
        double start = now_ns();
        f(s);
        double took = (now_ns() - start) / COUNT;
        if (took < best) best = took;
    }
    printf("# %-34s %8.1f ns\n", what, best);
}

static void one_sided(struct side *s)
{
    if (s->is_a) {
        measure(s, "WRITE 8 B, unsignalled", unsignalled_writes);
        measure(s, "WRITE 8 B, with its completion", writes_8);
        measure(s, "WRITE 4096 B, with its completion", writes_4096);
        measure(s, "READ 8 B, with its completion", reads_8);
        measure(s, "empty poll", empty_polls);
        measure(s, "register and deregister", registrations);
        fflush(stdout);
    }
    meet(s);
}

static void ping_pong(struct side *s)
{
    for (int i = 0; i < 64; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
    meet(s);
    double best = 1e18;
    for (int r = 0; r < ROUNDS; r++) {
        double start = now_ns();
        for (int i = 0; i < COUNT; i++) {
            if (!s->is_a) {
                await(s->rcq);
                CHECK_EQ(post_recv(s, i, 0, 64), 0);
            }
            struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, i, 128, 64, 0);
            CHECK_EQ(post(s, wr), 0);
            if (s->is_a) {
                await(s->rcq);
                CHECK_EQ(post_recv(s, i, 0, 64), 0);
            }
            await(s->scq);
        }
        double took = (now_ns() - start) / COUNT / 2;
        if (took < best) best = took;
    }
    if (s->is_a) printf("# %-34s %8.1f ns\n", "SEND 64 B, one way", best);
    fflush(stdout);
    meet(s);
}

int main(void)
{
    bool ok = true;
    for (int ordinary = 0; ordinary < 2; ordinary++) {
        struct options o = {.ordinary = ordinary};
        printf("# %s memory\n", ordinary ? "ordinary" : "mapped");
        ok = run_pair(one_sided, &o) && run_pair(ping_pong, &o) && ok;
    }
    return !ok;
}
