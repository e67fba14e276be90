/* cost.c - counts what the data path executes: instructions, locked instructions, system calls and
 * allocations of each operation between two processes, against ceilings.
 *
 * Side B executes the operation; side A single-steps it. The counts do not depend on the load of
 * the machine. Work of the program, such as filling in a WR, is not counted.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pair.h"
#include "rules.h"
#include "step.h"

enum { TIMES = 4, HERE = 0, THERE = 4096 };

static struct ibv_send_wr *wr;
static struct ibv_recv_wr receive;
static struct ibv_wc wc;

/* --- counted operations --- */

static void post_send(struct side *s)
{
    struct ibv_send_wr *bad;
    CHECK_EQ(ibv_post_send(s->qp, wr, &bad), 0);
}
static void post_and_poll(struct side *s)
{
    post_send(s);
    CHECK_EQ(ibv_poll_cq(s->scq, 1, &wc), 1);
}
static void poll_receive(struct side *s)
{
    CHECK_EQ(ibv_poll_cq(s->rcq, 1, &wc), 1);
}
static void poll_nothing(struct side *s)
{
    CHECK_EQ(ibv_poll_cq(s->scq, 1, &wc), 0);
}
static void post_receive(struct side *s)
{
    struct ibv_recv_wr *bad;
    CHECK_EQ(ibv_post_recv(s->qp, &receive, &bad), 0);
}
static void nothing(struct side *s) {}

struct operation {
    const char *name;
    void (*run)(struct side *);
    enum ibv_wr_opcode opcode; /* of what B posts */
    uint32_t length;
    bool signalled;
    uint32_t a_sends; /* length of a message that arrived beforehand */
    bool inlined;
    int instructions, locked; /* ceilings of an optimised build; ordinary memory may need more */
};

static const struct operation operations[] = {
    {"nothing", nothing, .instructions = 10},
    {"WRITE of 8 bytes", post_send, IBV_WR_RDMA_WRITE, 8, .instructions = 250, .locked = 2},
    {"WRITE of 1024 bytes", post_send, IBV_WR_RDMA_WRITE, 1024, .instructions = 370, .locked = 2},
    {"WRITE of 8 bytes and its completion", post_and_poll, IBV_WR_RDMA_WRITE, 8, true,
     .instructions = 455, .locked = 4},
    {"inlined WRITE of 8 bytes and its completion", post_and_poll, IBV_WR_RDMA_WRITE, 8, true,
     .inlined = true, .instructions = 330, .locked = 4},
    {"READ of 8 bytes and its completion", post_and_poll, IBV_WR_RDMA_READ, 8, true,
     .instructions = 810, .locked = 4},
    {"atomic and its completion", post_and_poll, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, true,
     .instructions = 800, .locked = 5},
    {"SEND of 8 bytes", post_send, IBV_WR_SEND, 8, .instructions = 710, .locked = 3},
    {"SEND of 64 bytes", post_send, IBV_WR_SEND, 64, .instructions = 740, .locked = 3},
    {"SEND of 256 bytes", post_send, IBV_WR_SEND, 256, .instructions = 750, .locked = 3},
    {"receiving 8 bytes", poll_receive, .a_sends = 8, .instructions = 265, .locked = 1},
    {"receiving 64 bytes", poll_receive, .a_sends = 64, .instructions = 265, .locked = 1},
    {"posting a receive", post_receive, .instructions = 125, .locked = 1},
    {"poll that finds nothing", poll_nothing, .instructions = 75, .locked = 0},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* The results of one operation, found by side A in its own process. */
static struct verdict {
    struct steps best;
    bool done;
} * verdicts;

static bool needs_kernel(const struct side *s, const struct operation *o)
{
    bool sends = o->opcode == IBV_WR_SEND || o->opcode == IBV_WR_SEND_WITH_IMM;
    return s->o.ordinary && o->length > 0 && !sends;
}

static void operate(struct side *s, const struct operation *o)
{
    wr = make_wr(s, o->opcode, 1, HERE, o->length, THERE);
    if (!o->signalled) wr->send_flags = 0;
    if (o->inlined) wr->send_flags |= IBV_SEND_INLINE;
    struct ibv_sge sge = {(uintptr_t)s->buf + THERE, 256, s->mr->lkey};
    receive = (struct ibv_recv_wr){.wr_id = 1, .sg_list = &sge, .num_sge = 1};
    meet(s);
    step_mark();
    o->run(s);
    step_mark();
    if (o->run == poll_receive) CHECK_EQ(wc.status, IBV_WC_SUCCESS);
    if (o->run == post_send) { /* frees its slot in the queue */
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 2, 0, 0, 0)), 0);
        expect(s->scq, 2, IBV_WC_SUCCESS);
    }
}

static void step(struct side *s, const struct operation *o, struct verdict *v)
{
    if (o->a_sends) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, HERE, o->a_sends, 0)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
    }
    meet(s);
    struct steps now;
    step_to_mark(s->other);
    CHECK(step_on(s->other, 1000000, &now));
    step_release(s->other);
    /* The first call may resolve symbols. */
    if (!v->done || now.instructions < v->best.instructions) v->best = now;
    v->done = true;
    if (o->opcode == IBV_WR_SEND && o->length > 0) expect(s->rcq, 7, IBV_WC_SUCCESS);
}

static void count_all(struct side *s)
{
    for (int i = 0; i < 64; i++) CHECK_EQ(post_recv(s, 7, THERE, 256), 0);
    if (s->is_a) CHECK(step_attach(s->other));
    for (int i = 0; i < OPERATIONS; i++)
        for (int n = 0; n < TIMES; n++) {
            if (s->is_a)
                step(s, &operations[i], &verdicts[i]);
            else
                operate(s, &operations[i]);
            meet(s);
        }
}

static bool judged(void)
{
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    return true;
#else
    return false; /* other builds: instructions are not compared */
#endif
}

static void report_cost(const char *memory, bool ordinary)
{
    struct side s = {.o.ordinary = ordinary};
    long base = verdicts[0].best.instructions;
    for (int i = 0; i < OPERATIONS; i++) {
        const struct operation *o = &operations[i];
        const struct steps *best = &verdicts[i].best;
        bool kernel = needs_kernel(&s, o);
        printf("# %-36s %4ld instructions, %ld locked, %ld system calls, %ld allocations\n",
               o->name, best->instructions - base, best->locked, best->system_calls,
               best->allocations);
        check(verdicts[i].done && best->allocations == 0 && (kernel || best->system_calls == 0),
              "%s, %s memory: no allocation%s", o->name, memory, kernel ? "" : ", no system call");
        if (judged() && !ordinary)
            check(best->instructions - base <= o->instructions && best->locked <= o->locked,
                  "%s: at most %d instructions, %d of them locked", o->name, o->instructions,
                  o->locked);
    }
}

/* Tests the stepper itself: what it does not count would pass unnoticed. */
static void seen(struct side *s)
{
    static char *volatile block;
    struct steps now;
    if (s->is_a) CHECK(step_attach(s->other));
    meet(s);
    if (!s->is_a) {
        static int word;
        step_mark();
        block = malloc(10);
        __atomic_exchange_n(&word, 1, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
        getppid();
        step_mark();
        free(block);
        meet(s);
        return;
    }
    step_to_mark(s->other);
    CHECK(step_on(s->other, 1000000, &now));
    step_release(s->other);
    meet(s);
    CHECK_EQ(now.allocations, 1);
    CHECK(now.locked >= 2);
    CHECK_EQ(now.system_calls, 1);
}

/* --- polling for a long time: other system calls end the process --- */

/* Allows only the system calls of a poll that finds nothing for long, and exit. */
static void forbid_system_calls(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

enum { MANY = 20000, COUNTED = 65536, AHEAD = 100, LAST = 12345 };

/* Avoids waiting, which is not tested here: B writes to the memory of A how many receives it has
 * posted. */
static void receive_all(struct side *s)
{
    uint64_t *posted = (uint64_t *)(s->buf + COUNTED);
    for (bool last = false; !last;) {
        struct ibv_wc wc = await(s->rcq);
        last = wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == LAST;
        CHECK_EQ(post_recv(s, 7, THERE, 256), 0);
        *posted += last ? MANY : 1;
        if (!last && *posted % (AHEAD / 2)) continue;
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 3, COUNTED, 8, COUNTED)), 0);
        expect(s->scq, 3, IBV_WC_SUCCESS);
    }
}

static void many_operations(struct side *s)
{
    static const enum ibv_wr_opcode op[] = {IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ,
                                            IBV_WR_SEND_WITH_IMM, IBV_WR_ATOMIC_FETCH_AND_ADD};
    volatile uint64_t *posted = (uint64_t *)(s->buf + COUNTED);
    unsigned seed = (unsigned)s->other;
    uint64_t sent = 0;
    for (int i = 0; i < MANY; i++) {
        enum ibv_wr_opcode o = s->o.ordinary ? IBV_WR_SEND : op[rand_r(&seed) % 5];
        bool sends = o == IBV_WR_SEND || o == IBV_WR_SEND_WITH_IMM;
        uint32_t len = o == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : rand_r(&seed) % (sends ? 256 : 4096);
        struct ibv_send_wr *w = make_wr(s, o, 1, HERE, len, 8192);
        w->imm_data = i == MANY - 1 ? LAST : 0;
        if (i == MANY - 1) w->opcode = IBV_WR_SEND_WITH_IMM, w->num_sge = 0;
        while (sends && sent >= *posted + AHEAD) sched_yield();
        CHECK_EQ(post(s, w), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        sent += sends;
    }
}

static void no_system_call_for_long(struct side *s)
{
    memset(s->buf + COUNTED, 0, 8);
    for (int i = 0; i < 2 * AHEAD; i++) CHECK_EQ(post_recv(s, 7, THERE, 256), 0);
    meet(s);
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, 2, HERE, 8, 0)),
                 0); /* maps the memory of the peer */
        expect(s->scq, 2, IBV_WC_SUCCESS);
        forbid_system_calls();
        many_operations(s);
        while (*(volatile uint64_t *)(s->buf + COUNTED) < MANY) sched_yield();
    } else
        receive_all(s);
    _exit(0);
}

int main(void)
{
    verdicts = mmap(NULL, OPERATIONS * sizeof *verdicts, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!step_permitted()) {
        printf("ok 1 - the data path, counted # SKIP ptrace is not permitted here\n1..1\n");
        return 0;
    }
    check(run_pair(seen, NULL), "allocations, locked instructions and system calls are seen");
    for (int ordinary = 0; ordinary < 2; ordinary++) {
        struct options o = {.ordinary = ordinary, .no_channel = true};
        memset(verdicts, 0, OPERATIONS * sizeof *verdicts);
        check(run_pair(count_all, &o), "counted, %s memory", ordinary ? "ordinary" : "mapped");
        report_cost(ordinary ? "ordinary" : "mapped", ordinary);
        check(run_pair(no_system_call_for_long, &o),
              "%d operations without a system call, %s memory", MANY,
              ordinary ? "small SENDs to ordinary" : "mapped");
    }
    return check_end();
}
