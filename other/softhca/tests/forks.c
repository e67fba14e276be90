/* forks.c - rules about fork(): the parent is not affected, inherited objects fail, and the child
 * may open the device anew and use all of it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other/softhca/include/softhca.h"
#include "pair.h"
#include "rules.h"

enum { LARGE = 100000 };

/* All kinds of operations from A to B; a second connection exchanges its addresses over the same
 * wire. */
static void exchange(struct side *s)
{
    if (!s->is_a) {
        CHECK_EQ(post_recv(s, 1, 0, 64), 0);
        CHECK_EQ(post_recv(s, 2, 1000, LARGE), 0);
        CHECK_EQ(post_recv(s, 3, 0, 0), 0);
        memset(s->buf + 300000, 0, 8);
        meet(s);
        for (uint64_t i = 1; i <= 3; i++) {
            struct ibv_wc wc = await_sleeping(s, s->rcq);
            CHECK_EQ(wc.status, IBV_WC_SUCCESS);
            CHECK_EQ(wc.wr_id, i);
        }
        CHECK(filled(s->buf, 64, 7));
        CHECK(filled(s->buf + 1000, LARGE, 7));
        CHECK(filled(s->buf + 400000, LARGE, 7));
        uint64_t word;
        memcpy(&word, s->buf + 300000, 8);
        CHECK_EQ(word, 5);
        meet(s);
        return;
    }
    fill(s->buf, LARGE, 7);
    meet(s);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, 0, 64, 0)), 0);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 2, 0, LARGE, 0)), 0);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 3, 0, LARGE, 400000)), 0);
    struct ibv_send_wr *wr = make_wr(s, IBV_WR_ATOMIC_FETCH_AND_ADD, 4, 200000, 8, 300000);
    wr->wr.atomic.compare_add = 5;
    CHECK_EQ(post(s, wr), 0);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, 5, 500000, LARGE, 400000)), 0);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE_WITH_IMM, 6, 0, 8, 600000)), 0);
    for (uint64_t i = 1; i <= 6; i++) expect(s->scq, i, IBV_WC_SUCCESS);
    CHECK(filled(s->buf + 500000, LARGE, 7));
    meet(s);
}

/* A new connection over the wire of S. */
static void second_pair(const struct side *s, struct side *t)
{
    *t = (struct side){.is_a = s->is_a, .wire = s->wire, .other = s->other, .o = s->o};
    open_device(t);
    make_qp(t);
    tell(t, &t->mine, sizeof t->mine);
    hear(t, &t->its, sizeof t->its);
    connect_qp(t, &t->its);
    meet(t);
}

static void use_second_pair(const struct side *s)
{
    struct side t;
    second_pair(s, &t);
    exchange(&t);
    tear_down(&t);
    meet(&t);
}

static void await_child(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0) CHECK_EQ(errno, EINTR);
    CHECK_EQ(status, 0);
}

/* The child of B communicates with A, then B again. */
static void child_opens_anew(struct side *s)
{
    exchange(s);
    for (int i = 0; i < 3; i++) {
        fflush(NULL);
        pid_t child = s->is_a ? -1 : fork();
        if (child == 0) {
            alarm(30);
            use_second_pair(s);
            exit(0);
        }
        if (s->is_a)
            use_second_pair(s);
        else
            await_child(child);
        exchange(s);
    }
}

/* Child and grandchild, each with a device of its own while the former processes live. */
static void generations(struct side *s)
{
    if (s->is_a) {
        struct side child, grandchild;
        second_pair(s, &child);
        second_pair(s, &grandchild);
        exchange(&grandchild);
        exchange(&child);
        exchange(s);
        return;
    }
    fflush(NULL);
    pid_t first = fork();
    if (first == 0) {
        alarm(30);
        struct side t;
        second_pair(s, &t);
        pid_t second = fork();
        if (second == 0) {
            alarm(30);
            struct side u;
            second_pair(s, &u);
            exchange(&u);
            exit(0);
        }
        await_child(second);
        exchange(&t);
        exit(0);
    }
    await_child(first);
    exchange(s);
}

/* The child continues with its own device; to peers its dead parent is dead. */
static void child_outlives_its_parent(struct side *s)
{
    if (s->is_a) {
        struct side t;
        second_pair(s, &t);
        exchange(&t);
        CHECK_EQ(kill(s->other, SIGKILL), 0);
        await_end_of(s->other);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 8, 0)), 0);
        expect(s->scq, 1, IBV_WC_RETRY_EXC_ERR);
        exchange(&t);
        return;
    }
    fflush(NULL);
    if (fork() == 0) {
        alarm(30);
        struct side t;
        second_pair(s, &t);
        exchange(&t);
        exchange(&t);
        exit(0);
    }
    for (;;) pause();
}

static void inherited_verbs_fail(struct side *s)
{
    struct ibv_wc wc;
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
    struct ibv_cq *cq;
    struct ibv_async_event e;
    void *context;
    errno = 0;
    CHECK(ibv_poll_cq(s->scq, 1, &wc) < 0);
    CHECK_EQ(ibv_req_notify_cq(s->scq, 0), EIO);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, 0, 8, 0)), EIO);
    CHECK_EQ(post_recv(s, 1, 0, 8), EIO);
    CHECK_EQ(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), EIO);
    CHECK(!ibv_alloc_pd(s->ctx) && errno == EIO);
    errno = 0;
    CHECK(!ibv_reg_mr(s->pd, s->buf, 8, 0) && errno == EIO);
    errno = 0;
    CHECK(!ibv_create_comp_channel(s->ctx) && errno == EIO);
    errno = 0;
    CHECK(!ibv_create_cq(s->ctx, 1, NULL, NULL, 0) && errno == EIO);
    errno = 0;
    CHECK(ibv_get_cq_event(s->channel, &cq, &context) == -1 && errno == EIO);
    errno = 0;
    CHECK(ibv_get_async_event(s->ctx, &e) == -1 && errno == EIO);
    struct ibv_qp_init_attr_ex q = {
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .pd = s->pd};
    errno = 0;
    CHECK(!ibv_create_qp_ex(s->ctx, &q) && errno == EIO);
    struct ibv_cq_init_attr_ex c = {.cqe = 4};
    errno = 0;
    CHECK(!ibv_create_cq_ex(s->ctx, &c) && errno == EIO);
    CHECK_EQ(ibv_destroy_qp(s->qp), EIO);
    CHECK_EQ(ibv_destroy_cq(s->scq), EIO);
    CHECK_EQ(ibv_destroy_comp_channel(s->channel), EIO);
    CHECK_EQ(ibv_dereg_mr(s->mr), EIO);
    CHECK_EQ(ibv_dealloc_pd(s->pd), EIO);
    CHECK_EQ(ibv_close_device(s->ctx), EIO);
}

/* Tests inherited objects of ibv_wr_*() and extended CQs, whose calls are not interposed. */
static void inherited_extended_objects(struct side *s)
{
    struct ibv_cq_init_attr_ex ca = {.cqe = 16, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN};
    struct ibv_cq_ex *cq = ibv_create_cq_ex(s->ctx, &ca);
    CHECK(cq != NULL);
    struct ibv_qp_init_attr_ex qa = {
        .send_cq = ibv_cq_ex_to_cq(cq),
        .recv_cq = ibv_cq_ex_to_cq(cq),
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = s->pd,
        .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE};
    struct ibv_qp *base = ibv_create_qp_ex(s->ctx, &qa);
    CHECK(base != NULL);
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(base);
    ibv_wr_start(qp); /* the lock of a batch is held by one thread */
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        struct ibv_poll_cq_attr none = {0};
        ibv_wr_start(qp);
        ibv_wr_rdma_write(qp, s->its.rkey, s->its.addr);
        ibv_wr_set_sge(qp, s->mr->lkey, (uintptr_t)s->buf, 8);
        CHECK_EQ(ibv_wr_complete(qp), EIO);
        CHECK_EQ(ibv_start_poll(cq, &none), EIO);
        exit(0);
    }
    ibv_wr_abort(qp);
    await_child(child);
    CHECK_EQ(ibv_destroy_qp(base), 0);
    CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static void inherited_objects_are_dead(struct side *s)
{
    if (!s->is_a) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            alarm(30);
            inherited_verbs_fail(s);
            struct side t = {.wire = s->wire, .o = s->o};
            open_device(&t); /* inherited verbs fail also when the child has objects of its own */
            make_qp(&t);
            inherited_verbs_fail(s);
            tear_down(&t);
            exit(0);
        }
        await_child(child);
        inherited_extended_objects(s);
    }
    meet(s);
    exchange(s);
}

/* softhca_alloc() blocks are private copies in the child, which may free and register them. */
static void memory_of_the_parent(struct side *s)
{
    if (s->is_a) {
        struct side t;
        second_pair(s, &t);
        fill(t.buf, 4096, 3);
        CHECK_EQ(post(&t, make_wr(&t, IBV_WR_RDMA_WRITE, 1, 0, 4096, 0)), 0);
        expect(t.scq, 1, IBV_WC_SUCCESS);
        meet(&t);
        meet(s);
        return;
    }
    char *second = softhca_alloc(8192);
    CHECK(second != NULL);
    strcpy(second, "before");
    fill(s->buf, 4096, 1);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        CHECK(!strcmp(second, "before"));
        softhca_free(second);
        struct side t = {.wire = s->wire, .other = s->other, .o = s->o};
        open_device(&t);
        t.buf = s->buf;
        t.mr = ibv_reg_mr(t.pd, t.buf, BUFFER, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
        CHECK(t.mr != NULL);
        make_qp(&t);
        tell(&t, &t.mine, sizeof t.mine);
        hear(&t, &t.its, sizeof t.its);
        connect_qp(&t, &t.its);
        meet(&t);
        meet(&t);
        CHECK(filled(t.buf, 4096, 3));
        char *anew = softhca_alloc(8192);
        CHECK(anew && anew[0] == 0);
        softhca_free(anew);
        softhca_free(t.buf);
        exit(0);
    }
    await_child(child);
    CHECK(filled(s->buf, 4096, 1));
    CHECK(!strcmp(second, "before"));
    softhca_free(second);
    meet(s);
}

/* A thread that sends messages to itself, taking all locks, until stopped. */
static _Atomic bool stop;
static _Atomic int opened, rounds;
static void *stream(void *arg)
{
    struct side s = {.o = *(struct options *)arg};
    open_device(&s);
    make_qp(&s);
    connect_qp(&s, &s.mine);
    s.its = s.mine;
    opened++;
    for (uint64_t i = 0; !stop; i++) {
        fill(s.buf, 300, i);
        CHECK_EQ(post_recv(&s, i, 4096, 300), 0);
        struct ibv_sge sge = {.addr = (uintptr_t)s.buf, .length = 300, .lkey = s.mr->lkey};
        struct ibv_send_wr wr = {.wr_id = i,
                                 .opcode = IBV_WR_SEND,
                                 .send_flags = IBV_SEND_SIGNALED,
                                 .sg_list = &sge,
                                 .num_sge = 1},
                           *bad;
        CHECK_EQ(ibv_post_send(s.qp, &wr, &bad), 0);
        expect(s.scq, i, IBV_WC_SUCCESS);
        expect(s.rcq, i, IBV_WC_SUCCESS);
        CHECK(filled(s.buf + 4096, 300, i));
        struct ibv_mr *mr = ibv_reg_mr(s.pd, s.buf, 4096, 0);
        struct ibv_comp_channel *ch = ibv_create_comp_channel(s.ctx);
        struct ibv_cq *cq = ibv_create_cq(s.ctx, 16, NULL, ch, 0);
        void *block = softhca_alloc(10000);
        CHECK(mr && ch && cq && block);
        softhca_free(block);
        CHECK_EQ(ibv_destroy_cq(cq), 0);
        CHECK_EQ(ibv_destroy_comp_channel(ch), 0);
        CHECK_EQ(ibv_dereg_mr(mr), 0);
        rounds++;
    }
    tear_down(&s);
    return NULL;
}

static void loopback(const struct options *o)
{
    struct side s = {.o = *o};
    open_device(&s);
    make_qp(&s);
    connect_qp(&s, &s.mine);
    s.its = s.mine;
    CHECK_EQ(post(&s, make_wr(&s, IBV_WR_RDMA_WRITE, 1, 0, 1000, 5000)), 0);
    expect(s.scq, 1, IBV_WC_SUCCESS);
    tear_down(&s);
}

static void with_streams(void (*test)(const struct options *), const struct options *o)
{
    pthread_t t[2];
    struct options copy = *o;
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_create(&t[i], NULL, stream, &copy), 0);
    /* not during ibv_get_device_list(): libibverbs holds its own lock there */
    while (opened < 2 || rounds < 5) sched_yield();
    test(o);
    int before = rounds;
    while (rounds < before + 5) sched_yield();
    stop = true;
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
}

static void fork_often(const struct options *o)
{
    for (int i = 0; i < 40; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            alarm(30);
            loopback(o);
            _exit(0);
        }
        await_child(child);
    }
}

static void forks_amid_verbs(struct side *s)
{
    with_streams(fork_often, &s->o);
    meet(s);
    exchange(s);
}

static void run_true(const struct options *o)
{
    char *argv[] = {"true", NULL};
    extern char **environ;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            execv("/bin/true", argv);
            _exit(1);
        }
        await_child(child);
        child = vfork();
        if (child == 0) {
            execv("/bin/true", argv);
            _exit(1);
        }
        await_child(child);
        CHECK_EQ(posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ), 0);
        await_child(child);
        CHECK_EQ(system("true"), 0);
    }
}

static void descriptors_close_on_exec(int wire)
{
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; (e = readdir(d));) {
        int fd = atoi(e->d_name);
        if (e->d_name[0] == '.' || fd <= 2 || fd == wire || fd == dirfd(d)) continue;
        if (fcntl(fd, F_GETFD) & FD_CLOEXEC) continue;
        char path[64], to[256];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, to, sizeof to - 1);
        to[n < 0 ? 0 : n] = 0;
        /* the environment of the test may have left some open */
        CHECK(!strstr(to, "softhca") && !strstr(to, "eventfd") && !strstr(to, "eventpoll"));
    }
    closedir(d);
}

static void other_programs(struct side *s)
{
    exchange(s);
    with_streams(run_true, &s->o);
    descriptors_close_on_exec(s->wire);
    meet(s);
    exchange(s);
}

/* Tests that ibv_fork_init() does nothing: its madvise() is for memory that a device has pinned. */
static void fork_init_changes_nothing(struct side *s)
{
    CHECK_EQ(ibv_fork_init(), 0);
    CHECK(ibv_is_fork_initialized() != IBV_FORK_DISABLED);
    if (!s->is_a) {
        strcpy(s->buf, "before");
        pid_t child = fork();
        if (child == 0) _exit(strcmp(s->buf, "before") != 0);
        await_child(child);
    }
    meet(s);
    child_opens_anew(s);
}

void fork_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        struct options o;
    } tests[] = {
        {"a child opens the device anew, its parent is undisturbed", child_opens_anew, {0}},
        {"the same, ordinary memory", child_opens_anew, {.ordinary = true}},
        {"so does a grandchild", generations, {0}},
        {"a child outlives its parent", child_outlives_its_parent, {0}},
        {"what a child inherits is dead", inherited_objects_are_dead, {0}},
        {"memory of the parent is a private copy", memory_of_the_parent, {0}},
        {"forks while threads are amid verbs", forks_amid_verbs, {0}},
        {"the same, ordinary memory", forks_amid_verbs, {.ordinary = true}},
        {"fork and exec, vfork, posix_spawn, system", other_programs, {0}},
        {"ibv_fork_init changes nothing", fork_init_changes_nothing, {0}},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        check(run_pair(tests[i].run, &tests[i].o), "%s", tests[i].name);
}
