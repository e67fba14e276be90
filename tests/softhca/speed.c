/* speed.c - what the verbs cost beside what the machine can do at all, for `make bench`.
 *
 * Each figure is measured with its raw limit in the same run, in short rounds that alternate; of
 * each the best round counts, because machines are shared. The ratio is judged against a target.
 * Usage: softhca_speed [SECONDS for a figure]
 */
#include "rules.h"
#include "pair.h"

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

enum { BIG = 65536, SLOT = 4096, HERE = 0, THERE = 8192 };

/* Made before the sides part, so that both have it: flags on lines of their own, and bytes. */
static struct shared {
    _Atomic uint64_t flag[2][64 / 8 * 8];
    char bytes[BIG];
} * shared;
static int event[2];

struct figure {
    const char *name, *limit;
    void (*verbs)(struct side *, int n), (*raw)(struct side *, int n);
    int count;     /* operations in a round */
    int legs;      /* how many of them make up one step of the function */
    double target; /* of verbs over raw; when it is a speed, of raw over verbs */
    bool speed;
    bool both; /* the other side takes part */
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* --- raw limits --- */

/* Somebody else may have the core that we wait for. */
static void pause_a_little(unsigned *spins)
{
    __builtin_ia32_pause();
    if (++*spins % 2048 == 0) sched_yield();
}

static void flag_ping_pong(struct side *s, int n)
{
    _Atomic uint64_t *mine = shared->flag[s->is_a], *its = shared->flag[!s->is_a];
    static uint64_t next; /* both sides count alike */
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

/* The word that the other side writes to, and what it writes: both sides count alike. */
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

static void post_counted(struct side *s, struct ibv_send_wr *wr, int i, int n)
{
    bool last = i % 64 == 63 || i == n - 1;
    wr->send_flags = last ? IBV_SEND_SIGNALED : 0;
    CHECK_EQ(post(s, wr), 0);
    if (last) await(s->scq);
}

static void write_ping_pong(struct side *s, int n)
{
    unsigned spins = 0;
    for (int i = 0; i < n; i++) {
        next_word++;
        if (!s->is_a)
            while (*watched(s) != next_word) pause_a_little(&spins);
        *(uint64_t *)(s->buf + HERE) = next_word;
        post_counted(s, make_wr(s, IBV_WR_RDMA_WRITE, i, HERE, 8, THERE), i, n);
        if (s->is_a)
            while (*watched(s) != next_word) pause_a_little(&spins);
    }
}

static void receive(struct side *s, bool sleeping)
{
    if (sleeping)
        await_sleeping(s, s->rcq);
    else
        await(s->rcq);
    CHECK_EQ(post_recv(s, 0, THERE, 64), 0);
}

static void sends(struct side *s, int n, bool sleeping)
{
    for (int i = 0; i < n; i++) {
        if (!s->is_a) receive(s, sleeping);
        post_counted(s, make_wr(s, IBV_WR_SEND, i, HERE, 8, 0), i, n);
        if (s->is_a) receive(s, sleeping);
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

/* What has no limit of another kind: the cost to one processor, for people. */
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
static int rounds = 1000;
static double seconds = 2; /* for one figure, at most */

static void one_round(struct side *s, const struct figure *f, void (*run)(struct side *, int),
                      double *best)
{
    if (!run || (!f->both && !s->is_a)) return;
    if (f->both) meet(s);
    double start = now_ns();
    run(s, f->count);
    double took = (now_ns() - start) / f->count / f->legs;
    if (took < *best) *best = took;
}

static int missed; /* in side A, which is a process */

static void show(const struct figure *f, double verbs, double raw)
{
    if (!f->raw) {
        printf("# %-40s %9.0f ns\n", f->name, verbs);
        return;
    }
    double ratio = f->speed ? raw / verbs : verbs / raw;
    bool good = f->speed ? ratio >= f->target : ratio <= f->target;
    missed += !good;
    printf("# %-40s %9.0f ns  %-24s %7.0f ns %6.2f %s %.1f  %s\n", f->name, verbs, f->limit, raw,
           ratio, f->speed ? ">=" : "<=", f->target, good ? "ok" : "MISSED");
}

/* A decides when it is enough, and B follows. */
static bool go_on(struct side *s, int done, double start)
{
    char more = done < rounds && now_ns() - start < seconds * 1e9;
    if (s->is_a)
        tell(s, &more, 1);
    else
        hear(s, &more, 1);
    return more;
}

/* A processor each, or the two would wait for each other's turn. */
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
        double verbs = 1e18, raw = 1e18, start = now_ns();
        for (int i = 0; go_on(s, i, start); i++) {
            one_round(s, f, f->raw, &raw);
            one_round(s, f, f->verbs, &verbs);
        }
        if (s->is_a) show(f, verbs, raw);
        fflush(stdout);
    }
    CHECK_EQ(missed, 0);
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
