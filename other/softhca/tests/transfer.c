/* transfer.c - rules about moving data: order, content, immediate data, SGE lists, inline data,
 * unsignalled WRs, idle targets. Each runs with mapped and with ordinary memory.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"
#include "rules.h"

static void sends_arrive_in_order(struct side *s)
{
    enum { COUNT = 2000, DEPTH = 64, SIZE = 300 };
    if (s->is_a) {
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t len = i % SIZE + 1;
            fill(s->buf, len, i);
            CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, i, 0, len, 0)), 0);
            expect(s->scq, i, IBV_WC_SUCCESS);
        }
    } else {
        for (int i = 0; i < DEPTH; i++) CHECK_EQ(post_recv(s, i, (size_t)i * 512, 512), 0);
        for (uint32_t i = 0; i < COUNT; i++) {
            struct ibv_wc wc = await(s->rcq);
            CHECK_EQ(wc.status, IBV_WC_SUCCESS);
            CHECK_EQ(wc.opcode, IBV_WC_RECV);
            CHECK_EQ(wc.wr_id, i);
            CHECK_EQ(wc.qp_num, s->qp->qp_num);
            CHECK_EQ(wc.src_qp, 0); /* src_qp is of datagrams only */
            CHECK_EQ(wc.byte_len, i % SIZE + 1);
            size_t at = (size_t)(i % DEPTH) * 512;
            CHECK(filled(s->buf + at, wc.byte_len, i));
            CHECK_EQ(post_recv(s, i + DEPTH, at, 512), 0);
        }
    }
    meet(s);
}

static void write_is_there_before_the_send(struct side *s)
{
    enum { LEN = 65536 };
    for (uint32_t i = 0; i < 50; i++) {
        if (s->is_a) {
            fill(s->buf, LEN, i);
            struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, LEN, LEN);
            wr->send_flags = 0;
            CHECK_EQ(post(s, wr), 0);
            CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 2, 0, 0, 0)), 0);
            expect(s->scq, 2, IBV_WC_SUCCESS);
        } else {
            CHECK_EQ(post_recv(s, i, 0, 0), 0);
            expect(s->rcq, i, IBV_WC_SUCCESS);
            CHECK(filled(s->buf + LEN, LEN, i));
        }
        meet(s);
    }
}

static void write_with_immediate(struct side *s)
{
    if (s->is_a) {
        fill(s->buf, 1000, 7);
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE_WITH_IMM, 5, 0, 1000, 4000);
        wr->imm_data = 0x12345678;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 5, IBV_WC_SUCCESS);
    } else {
        CHECK_EQ(post_recv(s, 77, 0, 16), 0);
        struct ibv_wc wc = await(s->rcq);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK_EQ(wc.wr_id, 77);
        CHECK_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
        CHECK_EQ(wc.byte_len, 1000);
        CHECK(wc.wc_flags & IBV_WC_WITH_IMM);
        CHECK_EQ(wc.imm_data, 0x12345678);
        CHECK(filled(s->buf + 4000, 1000, 7));
    }
    meet(s);
}

static void read_brings_the_data(struct side *s)
{
    if (!s->is_a) fill(s->buf, 200000, 3);
    meet(s);
    static const uint32_t sizes[] = {1, 8, 64, 4096, 200000};
    for (int i = 0; s->is_a && i < 5; i++) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, i, 500000, sizes[i], 0)), 0);
        struct ibv_wc wc = await(s->scq);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK_EQ(wc.opcode, IBV_WC_RDMA_READ);
        CHECK_EQ(wc.byte_len, sizes[i]);
        CHECK(filled(s->buf + 500000, sizes[i], 3));
    }
    meet(s);
}

/* Sides A and B add to the same word of B. */
static void atomics_are_atomic(struct side *s)
{
    enum { TIMES = 500 };
    meet(s);
    if (s->is_a) {
        uint64_t before = 0;
        for (int i = 0; i < TIMES; i++) {
            struct ibv_send_wr *wr = make_wr(s, IBV_WR_ATOMIC_FETCH_AND_ADD, i, 64, 8, 0);
            wr->wr.atomic.compare_add = 3;
            CHECK_EQ(post(s, wr), 0);
            expect(s->scq, i, IBV_WC_SUCCESS);
            uint64_t old = *(uint64_t *)(s->buf + 64);
            CHECK(old >= before);
            before = old + 3;
        }
    } else
        for (int i = 0; i < TIMES; i++) __atomic_fetch_add((uint64_t *)s->buf, 5, __ATOMIC_SEQ_CST);
    meet(s);
    if (!s->is_a) CHECK_EQ(__atomic_load_n((uint64_t *)s->buf, __ATOMIC_RELAXED), 8 * TIMES);
    meet(s);
    if (s->is_a) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 64, 8, 0);
        wr->wr.atomic.compare_add = 8 * TIMES;
        wr->wr.atomic.swap = 42;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        CHECK_EQ(*(uint64_t *)(s->buf + 64), 8 * TIMES);
    }
    meet(s);
    if (!s->is_a) CHECK_EQ(__atomic_load_n((uint64_t *)s->buf, __ATOMIC_RELAXED), 42);
    meet(s);
}

static void sge_lists_gather_and_scatter(struct side *s)
{
    static const uint32_t sizes[] = {40, 100, 3000};
    for (int round = 0; round < 3; round++) {
        uint32_t n = sizes[round];
        if (s->is_a) {
            fill(s->buf, 3 * n, round);
            struct ibv_sge sge[3];
            for (int i = 0; i < 3; i++) { /* pieces that are not adjacent */
                memcpy(s->buf + 100000 + i * 10000, s->buf + i * n, n);
                sge[i] = (struct ibv_sge){(uintptr_t)s->buf + 100000 + i * 10000, n, s->mr->lkey};
            }
            struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, 1, 0, n, 0);
            wr->sg_list = sge;
            wr->num_sge = 3;
            CHECK_EQ(post(s, wr), 0);
            expect(s->scq, 1, IBV_WC_SUCCESS);
        } else {
            struct ibv_sge sge[2] = {{(uintptr_t)s->buf, n / 2, s->mr->lkey},
                                     {(uintptr_t)s->buf + 20000, 3 * n, s->mr->lkey}};
            struct ibv_recv_wr wr = {.wr_id = 9, .sg_list = sge, .num_sge = 2};
            CHECK_EQ(post_recv_wr(s, &wr), 0);
            expect(s->rcq, 9, IBV_WC_SUCCESS);
            memmove(s->buf + n / 2, s->buf + 20000, 3 * n - n / 2);
            CHECK(filled(s->buf, 3 * n, round));
        }
        meet(s);
    }
}

/* Inline data may be overwritten after ibv_post_send(), even if the WR waits. */
static void inline_data_is_taken_at_once(struct side *s)
{
    if (s->is_a) {
        for (uint32_t i = 0; i < 20; i++) {
            char local[100]; /* not registered either */
            fill(local, sizeof local, i);
            struct ibv_send_wr *wr = make_wr(s, IBV_WR_SEND, i, 0, sizeof local, 0);
            wr->sg_list->addr = (uintptr_t)local;
            wr->sg_list->lkey = 0;
            wr->send_flags |= IBV_SEND_INLINE;
            CHECK_EQ(post(s, wr), 0);
            memset(local, 0xff, sizeof local);
        }
    }
    meet(s);
    if (!s->is_a)
        for (int i = 0; i < 20; i++) CHECK_EQ(post_recv(s, i, (size_t)i * 128, 128), 0);
    for (uint32_t i = 0; i < 20; i++) {
        expect(s->is_a ? s->scq : s->rcq, i, IBV_WC_SUCCESS);
        if (!s->is_a) CHECK(filled(s->buf + (size_t)i * 128, 100, i));
    }
    meet(s);
}

static void unsignalled_leave_no_completion(struct side *s)
{
    for (int i = 0; s->is_a && i < 1000; i++) {
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, i, 0, 8, 0);
        if (i % 100 != 99) wr->send_flags = 0;
        CHECK_EQ(post(s, wr), 0);
        if (i % 100 == 99) expect(s->scq, i, IBV_WC_SUCCESS);
    }
    expect_nothing(s->scq);
    meet(s);
}

/* The process of the target is stopped: operations that do not need its program must proceed.
 * Ordinary memory needs the kernel, not the target. */
static void stopped_target_is_served(struct side *s)
{
    if (!s->is_a) {
        for (int i = 0; i < 10; i++) CHECK_EQ(post_recv(s, i, 0, 64), 0);
        fill(s->buf + 1000, 1000, 1);
    }
    if (s->is_a) { /* once before, for one-time allocations */
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 0, 0, 8, 50000)), 0);
        expect(s->scq, 0, IBV_WC_SUCCESS);
    }
    meet(s);
    if (s->is_a) {
        CHECK_EQ(kill(s->other, SIGSTOP), 0);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, 1, 5000, 1000, 1000)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        CHECK(filled(s->buf + 5000, 1000, 1));
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 2, 5000, 1000, 9000)), 0);
        expect(s->scq, 2, IBV_WC_SUCCESS);
        for (int i = 0; i < 10; i++) {
            CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, i, 5000, 64, 0)), 0);
            expect(s->scq, i, IBV_WC_SUCCESS);
        }
        CHECK_EQ(kill(s->other, SIGCONT), 0);
    } else
        for (int i = 0; i < 10; i++) expect(s->rcq, i, IBV_WC_SUCCESS);
    meet(s);
    if (!s->is_a) CHECK(filled(s->buf + 9000, 1000, 1));
    meet(s);
}

static void memory_is_addressed_by_iova(struct side *s)
{
    struct ibv_mr *mr =
        ibv_reg_mr_iova(s->pd, s->buf + 4096, 4096, 0x1000,
                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    CHECK(mr != NULL);
    uint32_t rkey;
    tell(s, &mr->rkey, sizeof mr->rkey);
    hear(s, &rkey, sizeof rkey);
    if (s->is_a) {
        fill(s->buf, 100, 4);
        struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 100, 0);
        wr->wr.rdma.rkey = rkey;
        wr->wr.rdma.remote_addr = 0x1000 + 50;
        CHECK_EQ(post(s, wr), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
    }
    meet(s);
    if (!s->is_a) CHECK(filled(s->buf + 4096 + 50, 100, 4));
    CHECK_EQ(ibv_dereg_mr(mr), 0);
    meet(s);
}

/* A message has arrived; before it is polled its buffer is deregistered and unmapped. */
static void receive_memory_goes_away(struct side *s)
{
    if (!s->is_a) {
        char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(p != MAP_FAILED);
        struct ibv_mr *mr = ibv_reg_mr(s->pd, p, 4096, IBV_ACCESS_LOCAL_WRITE);
        CHECK(mr != NULL);
        struct ibv_sge sge = {(uintptr_t)p, 4096, mr->lkey};
        struct ibv_recv_wr wr = {.wr_id = 5, .sg_list = &sge, .num_sge = 1}, *bad;
        for (int i = 0; i < 2; i++)
            CHECK_EQ(
                s->srq ? ibv_post_srq_recv(s->srq, &wr, &bad) : ibv_post_recv(s->qp, &wr, &bad), 0);
        meet(s);
        meet(s);
        CHECK_EQ(ibv_dereg_mr(mr), 0);
        munmap(p, 4096);
        for (int i = 0; i < 2; i++) expect(s->rcq, 5, IBV_WC_SUCCESS);
        return;
    }
    meet(s);
    for (int len = 8; len <= 200; len += 192) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, len, 0, len, 0)), 0);
        expect(s->scq, len, IBV_WC_SUCCESS);
    }
    meet(s);
}

void transfer_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
    } tests[] = {
        {"sends arrive whole and in order", sends_arrive_in_order},
        {"a WRITE is there before the SEND after it", write_is_there_before_the_send},
        {"WRITE with immediate consumes a receive", write_with_immediate},
        {"READ brings the data", read_brings_the_data},
        {"atomics are atomic against the owner's own", atomics_are_atomic},
        {"SGE lists gather and scatter", sge_lists_gather_and_scatter},
        {"inline data is taken at once", inline_data_is_taken_at_once},
        {"unsignalled WRs leave no completion", unsignalled_leave_no_completion},
        {"a stopped target is served", stopped_target_is_served},
        {"an MR is addressed by its iova", memory_is_addressed_by_iova},
        {"memory may go before its completion is polled", receive_memory_goes_away},
    };
    for (int way = 0; way < 4; way++)
        for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
            /* Between hosts the threads of the target must run. */
            if (sides_are_remote() && tests[i].run == stopped_target_is_served) continue;
            struct options o = {.ordinary = way & 1, .srq_wr = way & 2 ? 64 : 0};
            check(run_pair(tests[i].run, &o), "%s (%s memory%s)", tests[i].name,
                  o.ordinary ? "ordinary" : "mapped", o.srq_wr ? ", shared queue" : "");
        }
}
