/* life.c - rules about processes: death at any time, fork, no leaks, and systems that refuse
 * process_vm_*.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other/softhca/include/softhca.h"
#include "pair.h"
#include "rules.h"
#include "tests/descriptors.h"

static void dead_peer_ends_sends(struct side *s)
{
    if (!s->is_a) {
        for (;;) pause();
    }
    CHECK_EQ(post_recv(s, 50, 0, 64), 0);
    CHECK_EQ(kill(s->other, SIGKILL), 0);
    await_end_of(s->other);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0)), 0);
    expect(s->scq, 1, IBV_WC_RETRY_EXC_ERR);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 2, 0, 8, 0)), 0);
    expect(s->scq, 2, IBV_WC_WR_FLUSH_ERR);
    expect(s->rcq, 50, IBV_WC_WR_FLUSH_ERR);
}

/* The sender sleeps, waiting for a receive with infinite retries; the death of the target must wake
 * it. */
static void dead_peer_wakes_a_waiting_sender(struct side *s)
{
    if (!s->is_a) {
        for (;;) pause();
    }
    for (int i = 0; i < 3; i++) CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, i, 0, 8, 0)), 0);
    CHECK_EQ(kill(s->other, SIGKILL), 0);
    for (int i = 0; i < 3; i++) {
        struct ibv_wc wc = await_sleeping(s, s->scq);
        CHECK_EQ(wc.wr_id, i);
        CHECK_EQ(wc.status, i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR);
    }
}

/* B destroys one of two queue pairs and ends. A's retries take half a minute: the WRs for the other
 * one end at once, and those for the destroyed one wait. */
static void outlive_closed_target(struct side *s, bool posts_before)
{
    struct side kept = another_qp(s);
    if (!s->is_a) {
        meet(s);
        CHECK_EQ(ibv_destroy_qp(s->qp), 0);
        meet(s);
        for (;;) pause();
    }
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0)), 0);
    expect(s->scq, 1, IBV_WC_SUCCESS);
    meet(s);
    meet(s);
    if (posts_before) CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 2, 0, 8, 0)), 0);
    /* B tells of the end of the other one behind the answer to the first of these. */
    for (uint64_t id = 6; id <= 7; id++) {
        CHECK_EQ(post(&kept, make_wr(&kept, IBV_WR_RDMA_WRITE, id, 0, 8, 0)), 0);
        expect(s->scq, id, IBV_WC_SUCCESS);
    }
    CHECK_EQ(kill(s->other, SIGKILL), 0);
    await_end_of(s->other);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 4, 0, 8, 0)), 0);
    CHECK_EQ(post(&kept, make_wr(&kept, IBV_WR_RDMA_WRITE, 5, 0, 8, 0)), 0);
    expect(s->scq, 5, IBV_WC_RETRY_EXC_ERR);
    for (int i = 0; i < 1000; i++) expect_nothing(s->scq);
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
    if (posts_before) expect(s->scq, 2, IBV_WC_WR_FLUSH_ERR);
    expect(s->scq, 4, IBV_WC_WR_FLUSH_ERR);
    CHECK_EQ(ibv_destroy_qp(kept.qp), 0);
}

static void closed_target_is_tried_again(struct side *s)
{
    outlive_closed_target(s, true);
}

static void closed_target_is_tried(struct side *s)
{
    outlive_closed_target(s, false);
}

/* B floods A and is killed meanwhile; the queues of A must still work, and each receive completes
 * or is flushed exactly once. */
static void killed_during_transfers(struct side *s)
{
    enum { DEPTH = 200 };
    if (!s->is_a) {
        meet(s);
        for (uint64_t i = 0;; i++) {
            fill(s->buf, 400, i);
            CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, i, 0, 400, 0)), 0);
            await(s->scq);
        }
    }
    for (int i = 0; i < DEPTH; i++) CHECK_EQ(post_recv(s, i, (size_t)i * 512, 512), 0);
    meet(s);
    uint64_t next = 0, posted = DEPTH, stop = 500 + (uint64_t)getpid() % 1000;
    while (next < stop) {
        struct ibv_wc wc = await(s->rcq);
        CHECK_EQ(wc.wr_id, next);
        CHECK_EQ(wc.status, IBV_WC_SUCCESS);
        CHECK(filled(s->buf + next % DEPTH * 512, 400, next));
        CHECK_EQ(post_recv(s, posted, posted % DEPTH * 512, 512), 0);
        next++, posted++;
    }
    CHECK_EQ(kill(s->other, SIGKILL), 0);
    await_end_of(s->other);
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
    for (bool flushing = false; next < posted; next++) {
        struct ibv_wc wc = await(s->rcq);
        CHECK_EQ(wc.wr_id, next);
        CHECK(wc.status == IBV_WC_WR_FLUSH_ERR || (wc.status == IBV_WC_SUCCESS && !flushing));
        flushing = wc.status == IBV_WC_WR_FLUSH_ERR;
    }
    expect_nothing(s->rcq);
}

static void child_of_fork_is_harmless(struct side *s)
{
    meet(s);
    if (!s->is_a) {
        strcpy(s->buf, "before");
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            /* The child sees the memory as it was, and may write, call and exit. */
            if (strcmp(s->buf, "before")) _exit(2);
            memset(s->buf, 'x', 4096);
            ibv_dereg_mr(s->mr);
            ibv_destroy_qp(s->qp);
            ibv_close_device(s->ctx);
            exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK_EQ(status, 0);
        CHECK(!strcmp(s->buf, "before"));
        CHECK_EQ(post_recv(s, 1, 100, 64), 0);
    }
    meet(s);
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 4096)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 2, 0, 8, 0)), 0);
        expect(s->scq, 2, IBV_WC_SUCCESS);
    } else
        expect(s->rcq, 1, IBV_WC_SUCCESS);
    meet(s);
}

/* A child that continues must not keep its dead parent alive for the peers. */
static void child_does_not_replace_its_parent(struct side *s)
{
    if (!s->is_a) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            for (;;) pause();
        }
        tell(s, &child, sizeof child);
        for (;;) pause();
    }
    pid_t orphan;
    hear(s, &orphan, sizeof orphan);
    CHECK_EQ(kill(s->other, SIGKILL), 0);
    await_end_of(s->other);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, 0, 8, 0)), 0);
    expect(s->scq, 1, IBV_WC_RETRY_EXC_ERR);
    CHECK_EQ(kill(orphan, SIGKILL), 0);
}

static long kilobytes(const char *what)
{
    char line[256];
    long value = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, what, strlen(what))) value = atol(line + strlen(what) + 1);
    fclose(f);
    return value;
}

static void one_life(struct side *s)
{
    open_device(s);
    make_qp(s);
    tell(s, &s->mine, sizeof s->mine);
    hear(s, &s->its, sizeof s->its);
    connect_qp(s, &s->its);
    CHECK_EQ(post_recv(s, 1, 0, 1000), 0);
    meet(s);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, 2000, 1000, 0)), 0);
    CHECK_EQ(await_sleeping(s, s->scq).status, IBV_WC_SUCCESS);
    CHECK_EQ(await_sleeping(s, s->rcq).status, IBV_WC_SUCCESS);
    meet(s);
    tear_down(s);
    meet(s);
}

static void cycles_do_not_grow(struct side *s)
{
    struct side t = {.is_a = s->is_a, .wire = s->wire, .other = s->other, .o = s->o};
    for (int i = 0; i < 20; i++) one_life(&t);
    int fds = count_descriptors();
    long rss = kilobytes("VmRSS:"), size = kilobytes("VmSize:");
    for (int i = 0; i < 300; i++) one_life(&t);
    /* The RPC thread closes the last ones; one of the channel of a peer may stay cached. */
    while (count_descriptors() > fds + 2) sched_yield();
    CHECK(kilobytes("VmRSS:") < rss + 2048);
    CHECK(kilobytes("VmSize:") < size + 65536);
    meet(s);
}

/* As a seccomp filter of a container: process_vm_readv/writev return EPERM. */
static void refuse_process_vm(void)
{
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog p = {sizeof f / sizeof *f, f};
    CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p), 0);
}

static void without_process_vm(struct side *s)
{
    enum { LEN = 200000 };
    refuse_process_vm();
    if (!s->is_a) CHECK_EQ(post_recv(s, 1, 300000, LEN), 0);
    meet(s);
    if (s->is_a) {
        fill(s->buf, LEN, 1);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, LEN, 0)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, 2, 500000, LEN, 0)), 0);
        expect(s->scq, 2, IBV_WC_SUCCESS);
        CHECK(filled(s->buf + 500000, LEN, 1));
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 3, 0, LEN, 0)), 0);
        expect(s->scq, 3, IBV_WC_SUCCESS);
    } else {
        expect(s->rcq, 1, IBV_WC_SUCCESS);
        CHECK(filled(s->buf, LEN, 1));
        CHECK(filled(s->buf + 300000, LEN, 1));
    }
    meet(s);
}

/* Memory unmapped after registration: an error at the initiator, no crash. */
static void memory_gone(struct side *s)
{
    if (s->o.send_wr) refuse_process_vm();
    if (!s->is_a) munmap(s->buf, BUFFER);
    meet(s);
    if (s->is_a) {
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 1000, 0)), 0);
        expect(s->scq, 1, IBV_WC_REM_ACCESS_ERR);
    } else
        CHECK_EQ(await_event(s), IBV_EVENT_QP_ACCESS_ERR);
    meet(s);
}

static void small_memlock(struct side *s)
{
    struct rlimit r = {65536, 65536};
    CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &r), 0);
    struct ibv_mr *mr = ibv_reg_mr(s->pd, s->buf, BUFFER, IBV_ACCESS_LOCAL_WRITE);
    CHECK(mr != NULL);
    CHECK_EQ(ibv_dereg_mr(mr), 0);
    meet(s);
}

static int count_names(void)
{
    char line[512];
    int n = 0;
    FILE *f = fopen("/proc/net/unix", "r");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "@softhca.")) n++;
    if (f) fclose(f);
    DIR *d = opendir("/dev/shm");
    for (struct dirent *e; d && (e = readdir(d));)
        if (strstr(e->d_name, "softhca")) n += 1000;
    if (d) closedir(d);
    return n;
}

static void both_are_killed(struct side *s)
{
    meet(s);
    if (s->is_a) {
        kill(s->other, SIGKILL);
        _exit(0);
    }
    for (;;) pause();
}

/* Socket names belong to a network namespace: in a new one only those of this test are counted. */
static void nothing_is_left(void)
{
    bool alone = unshare(CLONE_NEWNET) == 0;
    if (!alone)
        fprintf(stderr, "# no network namespace (%s): slots not counted\n", strerror(errno));
    CHECK(run_pair(both_are_killed, NULL));
    if (alone) CHECK_EQ(count_names(), 0);
}

static void alloc_is_zero_and_reused(void)
{
    for (int i = 0; i < 200; i++) {
        size_t n = 4096 + (size_t)i * 7919;
        char *p = softhca_alloc(n);
        CHECK(p && (uintptr_t)p % 4096 == 0);
        for (size_t k = 0; k < n; k++) CHECK(p[k] == 0);
        memset(p, 1, n);
        softhca_free(p);
    }
    softhca_free(NULL);
    char *huge = softhca_alloc((size_t)1 << 36); /* only touched pages count */
    CHECK(huge != NULL);
    huge[(size_t)1 << 35] = 1;
    softhca_free(huge);
    CHECK(kilobytes("VmRSS:") < 100000);
    CHECK_EQ(softhca_active(), 1);
    CHECK(strstr(softhca_describe(), "softhca0") != NULL);
}

void life_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        struct options o;
    } tests[] = {
        {"a dead peer ends sends with RETRY_EXC_ERR", dead_peer_ends_sends, {0}},
        {"one that destroyed its queue pair first is tried again",
         closed_target_is_tried_again,
         {.timeout = 20}},
        {"the same, nothing was posted before its end", closed_target_is_tried, {.timeout = 20}},
        {"the same, ordinary memory", dead_peer_ends_sends, {.ordinary = true}},
        {"a dead peer wakes a sender that waits for a receive",
         dead_peer_wakes_a_waiting_sender,
         {0}},
        {"the child of a fork is harmless", child_of_fork_is_harmless, {0}},
        {"a child that outlives its parent does not replace it",
         child_does_not_replace_its_parent,
         {0}},
        {"create and destroy without growth", cycles_do_not_grow, {0}},
        {"create and destroy without growth, ordinary memory",
         cycles_do_not_grow,
         {.ordinary = true}},
        {"mapped memory without process_vm_*", without_process_vm, {0}},
        {"ordinary memory without process_vm_*", without_process_vm, {.ordinary = true}},
        {"unmapped memory is an access error", memory_gone, {.ordinary = true}},
        {"the same without process_vm_*", memory_gone, {.ordinary = true, .send_wr = 64}},
        {"a memlock limit of 64 KiB is enough", small_memlock, {.ordinary = true}},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        check(run_pair(tests[i].run, &tests[i].o), "%s", tests[i].name);
    }
    const char *times = getenv("TEST_SOFTHCA_KILLS"); /* repeated: the time of death varies */
    for (int ordinary = 0; ordinary < 2; ordinary++) {
        struct options o = {.ordinary = ordinary};
        bool ok = true;
        for (int i = times ? atoi(times) : 10; i > 0 && ok; i--)
            ok = run_pair(killed_during_transfers, &o);
        check(ok, "a peer killed in the midst leaves whole queues (%s memory)",
              ordinary ? "ordinary" : "mapped");
    }
    check(run_alone(alloc_is_zero_and_reused), "softhca_alloc is zero, page-aligned, reused");
    check(run_alone(nothing_is_left), "nothing is left after kill -9 of both");
}
