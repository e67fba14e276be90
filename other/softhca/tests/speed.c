/* speed.c - the cost of the verbs against the limits of the machine, for `make bench`.
 *
 * Each figure is measured with its raw limit in the same run, in short alternating rounds. As
 * machines are shared, the least disturbed pairs of rounds count. The ratio is compared with a
 * target. Usage: softhca_speed [SECONDS for a figure]
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"
#include "rules.h"

enum { ROUNDS = 1000, BIG = 65536, SLOT = 4096, HERE = 0, THERE = 8192 };

/* Shared memory of both sides: flags on separate lines, and bytes. */
static struct shared {
    _Atomic uint64_t flag[2][64 / 8 * 8];
    char bytes[BIG];
} * shared;
static int event[2];

struct figure {
    const char *name, *limit;
    void (*verbs)(struct side *, int n), (*raw)(struct side *, int n);
    int count;     /* operations in a round */
    int legs;      /* operations per step of the function */
    double target; /* verbs over raw; for bandwidth raw over verbs */
    bool speed;
    bool both; /* side B takes part, too */
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* --- raw limits --- */

/* Spins; yields sometimes, as another process may have the core of the peer. */
static void pause_a_little(unsigned *spins)
{
    __builtin_ia32_pause();
    if (++*spins % 2048 == 0) sched_yield();
}

static void flag_ping_pong(struct side *s, int n)
{
    _Atomic uint64_t *mine = shared->flag[s->is_a], *its = shared->flag[!s->is_a];
    static uint64_t next; /* A and B count alike */
    unsigned spins = 0;
    for (int i = 0; i < n; i++) {
        next++;
        if (!s->is_a)
            while (atomic_load_explicit(mine, memory_order_acquire) != next) pause_a_little(&spins);
        atomic_store_explicit(its, next, memory_order_release);
        if (s->is_a)
            while (atomic_load_explicit(mine, memory_order_acquire) != next) pause_a_little(&spins);
    }
}

/* The word that the other side writes, and its value: both sides count alike. */
static uint64_t next_word;
static volatile uint64_t *watched(struct side *s)
{
    return (volatile uint64_t *)(s->buf + THERE);
}

static void kernel_ping_pong(struct side *s, int n)
{
    unsigned spins = 0;
    uint64_t *word = (uint64_t *)(s->buf + HERE);
    struct iovec here = {word, 8}, there = {(void *)(uintptr_t)(s->its.addr + THERE), 8};
    for (int i = 0; i < n; i++) {
        next_word++;
        if (!s->is_a)
            while (*watched(s) != next_word) pause_a_little(&spins);
        *word = next_word;
        CHECK_EQ(process_vm_writev(s->other, &here, 1, &there, 1, 0), 8);
        if (s->is_a)
            while (*watched(s) != next_word) pause_a_little(&spins);
    }
}

static void event_ping_pong(struct side *s, int n)
{
    uint64_t one = 1, got;
    for (int i = 0; i < n; i++) {
        if (!s->is_a) CHECK_EQ(read(event[0], &got, 8), 8);
        CHECK_EQ(write(event[s->is_a ? 0 : 1], &one, 8), 8);
        if (s->is_a) CHECK_EQ(read(event[1], &got, 8), 8);
    }
}

static void copies(struct side *s, int n)
{
    for (int i = 0; i < n; i++) {
        memcpy(s->buf, shared->bytes, BIG);
        __asm__ volatile("" ::: "memory");
    }
}

static void kernel_reads(struct side *s, int n)
{
    struct iovec here = {s->buf, BIG}, there = {(void *)(uintptr_t)s->its.addr, BIG};
    for (int i = 0; i < n; i++) CHECK_EQ(process_vm_readv(s->other, &here, 1, &there, 1, 0), BIG);
}

/* --- verbs --- */

/* WRs that a round posts again and again; every so many of them are signalled. */
static struct ready {
    struct ibv_send_wr wr;
    struct ibv_sge sge;
} ready;

static void make_ready(struct side *s, enum ibv_wr_opcode op)
{
    ready.wr = *make_wr(s, op, 0, HERE, 8, THERE);
    ready.sge = *ready.wr.sg_list;
    ready.wr.sg_list = &ready.sge;
}

static void post_ready(struct side *s, int i, int n)
{
    struct ibv_send_wr *bad;
    bool last = i % 64 == 63 || i == n - 1;
    ready.wr.send_flags = last ? IBV_SEND_SIGNALED : 0;
    if (ibv_post_send(s->qp, &ready.wr, &bad)) CHECK(!"posted");
    if (last) await(s->scq);
}

static void write_ping_pong(struct side *s, int n)
{
    unsigned spins = 0;
    make_ready(s, IBV_WR_RDMA_WRITE);
    for (int i = 0; i < n; i++) {
        next_word++;
        if (!s->is_a)
            while (*watched(s) != next_word) pause_a_little(&spins);
        *(uint64_t *)(s->buf + HERE) = next_word;
        post_ready(s, i, n);
        if (s->is_a)
            while (*watched(s) != next_word) pause_a_little(&spins);
    }
}

static void receive(struct side *s, bool sleeping, struct ibv_recv_wr *wr)
{
    struct ibv_recv_wr *bad;
    struct ibv_wc wc;
    if (sleeping)
        wc = await_sleeping(s, s->rcq);
    else
        while (!ibv_poll_cq(s->rcq, 1, &wc)) continue;
    if (wc.status || ibv_post_recv(s->qp, wr, &bad)) CHECK(!"received");
}

static void sends(struct side *s, int n, bool sleeping)
{
    struct ibv_sge sge = {(uintptr_t)s->buf + THERE, 64, s->mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
    make_ready(s, IBV_WR_SEND);
    for (int i = 0; i < n; i++) {
        if (!s->is_a) receive(s, sleeping, &wr);
        post_ready(s, i, n);
        if (s->is_a) receive(s, sleeping, &wr);
    }
}

static void send_ping_pong(struct side *s, int n)
{
    sends(s, n, false);
}
static void sleeping_ping_pong(struct side *s, int n)
{
    sends(s, n, true);
}

static void reads(struct side *s, int n)
{
    for (int i = 0; i < n; i++) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, i, 0, BIG, 0)), 0);
        await(s->scq);
    }
}

/* Figures without a raw limit: the cost to one processor, for information. */
static void signalled_writes(struct side *s, int n)
{
    for (int i = 0; i < n; i++) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, i, HERE, 8, THERE)), 0);
        await(s->scq);
    }
}
static void empty_polls(struct side *s, int n)
{
    for (int i = 0; i < n; i++) expect_nothing(s->scq);
}
static void registrations(struct side *s, int n)
{
    for (int i = 0; i < n; i++) ibv_dereg_mr(ibv_reg_mr(s->pd, s->buf, BIG, 0));
}

static const struct figure mapped[] = {
    {"WRITE 8 B until a polling peer sees it", "a flag in shared memory", write_ping_pong,
     flag_ping_pong, 100, 2, 2.0, false, true},
    {"SEND 8 B until a polling peer has it", "a flag in shared memory", send_ping_pong,
     flag_ping_pong, 100, 2, 3.0, false, true},
    {"READ 64 KiB", "memcpy", reads, copies, 20, 1, 0.8, true, false},
    {"WRITE 8 B and its completion", NULL, signalled_writes, NULL, 500, 1, 0, false, false},
    {"empty poll", NULL, empty_polls, NULL, 500, 1, 0, false, false},
    {"register and deregister 64 KiB", NULL, registrations, NULL, 500, 1, 0, false, false},
    {NULL}};

static const struct figure ordinary[] = {
    {"WRITE 8 B until a polling peer sees it", "process_vm_writev", write_ping_pong,
     kernel_ping_pong, 50, 2, 1.3, false, true},
    {"SEND 8 B until a polling peer has it", "a flag in shared memory", send_ping_pong,
     flag_ping_pong, 100, 2, 3.0, false, true},
    {"READ 64 KiB", "process_vm_readv", reads, kernel_reads, 20, 1, 0.9, true, false},
    {"WRITE 8 B and its completion", NULL, signalled_writes, NULL, 500, 1, 0, false, false},
    {NULL}};

static const struct figure asleep[] = {{"SEND 8 B to a sleeping peer", "an eventfd",
                                        sleeping_ping_pong, event_ping_pong, 50, 2, 1.3, false,
                                        true},
                                       {NULL}};

static const struct stage {
    const char *name;
    const struct figure *figures;
    struct options o;
} stages[] = {
    {"MAPPED MEMORY", mapped, {.no_channel = true}},
    {"ORDINARY MEMORY", ordinary, {.no_channel = true, .ordinary = true}},
    {"WITH A COMPLETION CHANNEL", asleep, {0}},
};
static const struct figure *figures;
static double seconds = 2; /* for one figure, at most */

static double one_round(struct side *s, const struct figure *f, void (*run)(struct side *, int))
{
    if (!run || (!f->both && !s->is_a)) return 0;
    if (f->both) meet(s);
    double start = now_ns();
    run(s, f->count);
    return (now_ns() - start) / f->count / f->legs;
}

/* The limit and the verbs directly after each other, under the same load. */
static struct pair {
    double raw, verbs;
} pairs[ROUNDS];

static int by_sum(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    double d = x->raw + x->verbs - y->raw - y->verbs;
    return (d > 0) - (d < 0);
}

static int by_ratio(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    double d = x->verbs * y->raw - y->verbs * x->raw;
    return (d > 0) - (d < 0);
}

/* The median of the least disturbed tenth. */
static struct pair typical(int n)
{
    qsort(pairs, n, sizeof *pairs, by_sum);
    n = n / 10 + 1;
    qsort(pairs, n, sizeof *pairs, by_ratio);
    return pairs[n / 2];
}

static int missed; /* in side A, which is a process */

static void show(const struct figure *f, struct pair p)
{
    if (!f->raw) {
        printf("# %-40s %9.0f ns\n", f->name, p.verbs);
        return;
    }
    double ratio = f->speed ? p.raw / p.verbs : p.verbs / p.raw;
    bool good = f->speed ? ratio >= f->target : ratio <= f->target;
    missed += !good;
    printf("# %-40s %9.0f ns  %-24s %7.0f ns %6.2f %s %.1f  %s\n", f->name, p.verbs, f->limit,
           p.raw, ratio, f->speed ? ">=" : "<=", f->target, good ? "ok" : "MISSED");
}

/* A decides when to stop, and B follows. */
static bool go_on(struct side *s, int done, double start)
{
    char more = done < ROUNDS && now_ns() - start < seconds * 1e9;
    if (s->is_a)
        tell(s, &more, 1);
    else
        hear(s, &more, 1);
    return more;
}

/* Gives A and B a processor each, so that they do not wait for each other. */
static void settle(struct side *s)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) < 0 || CPU_COUNT(&all) < 2) return;
    int skip = s->is_a ? 0 : 1, cpu = 0;
    while (!CPU_ISSET(cpu, &all) || skip-- > 0) cpu++;
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void measure(struct side *s)
{
    settle(s);
    for (int i = 0; i < 128; i++) CHECK_EQ(post_recv(s, 0, THERE, 64), 0);
    memset(s->buf, 0, BUFFER);
    meet(s);
    for (const struct figure *f = figures; f->name; f++) {
        double start = now_ns();
        int n = 0;
        for (; go_on(s, n, start); n++)
            pairs[n] = (struct pair){one_round(s, f, f->raw), one_round(s, f, f->verbs)};
        if (s->is_a) show(f, typical(n));
        fflush(stdout);
    }
    if (missed) _exit(1); /* the table shows which */
}

int main(int argc, char **argv)
{
    if (argc > 1) seconds = atof(argv[1]);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    event[0] = eventfd(0, 0);
    event[1] = eventfd(0, 0);
    if (shared == MAP_FAILED || event[0] < 0 || event[1] < 0) return 1;
    memset(shared, 0, sizeof *shared);
    bool good = true;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        printf("# %-40s %12s  %-24s %10s %6s %7s\n", stages[i].name, "time", "raw limit", "time",
               "ratio", "target");
        figures = stages[i].figures;
        good = run_pair(measure, &stages[i].o) && good;
    }
    return !good;
}
