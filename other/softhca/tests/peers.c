/* peers.c - rules about attaching peers: it does not block, and costs little. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other/softhca/include/softhca.h"
#include "pair.h"
#include "rules.h"
#include "tests/descriptors.h"

static void write_and_send(struct side *s)
{
    enum { LEN = 5000 };
    if (!s->is_a) {
        CHECK_EQ(post_recv(s, 1, 0, LEN), 0);
        meet(s);
        expect(s->rcq, 1, IBV_WC_SUCCESS);
        CHECK(filled(s->buf, LEN, 1));
        CHECK(filled(s->buf + 10000, LEN, 1));
    } else {
        fill(s->buf, LEN, 1);
        meet(s);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, LEN, 10000)), 0);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 2, 0, LEN, 0)), 0);
        for (uint64_t i = 1; i <= 2; i++) expect(s->scq, i, IBV_WC_SUCCESS);
    }
    meet(s);
}

static char process_state(pid_t pid)
{
    char path[64], name[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    CHECK(f && fscanf(f, "%*d %63s %c", name, &state) == 2);
    fclose(f);
    return state;
}

static void *use_the_device(void *context)
{
    struct side t = {.o = {0}};
    open_device(&t);
    make_qp(&t);
    connect_qp(&t, &t.mine);
    t.its = t.mine;
    CHECK_EQ(post(&t, make_wr(&t, IBV_WR_RDMA_WRITE, 1, 0, 8, 4096)), 0);
    expect(t.scq, 1, IBV_WC_SUCCESS);
    tear_down(&t);
    return NULL;
}

/* Connecting to a stopped process succeeds, other threads proceed, and messages arrive when it
 * continues. */
static void stopped_peer_holds_up_nobody(struct side *s)
{
    if (!s->is_a) {
        meet(s); /* the peer is stopped here */
        connect_qp(s, &s->its);
        meet(s);
        CHECK(filled(s->buf, 100, 3));
        return;
    }
    CHECK_EQ(kill(s->other, SIGSTOP), 0);
    while (process_state(s->other) != 'T') sched_yield();
    connect_qp(s, &s->its);
    fill(s->buf, 100, 3);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, 100, 0)), 0);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, use_the_device, NULL), 0);
    pthread_join(thread, NULL);
    expect_nothing(s->scq);
    CHECK_EQ(kill(s->other, SIGCONT), 0);
    meet(s);
    expect(s->scq, 1, IBV_WC_SUCCESS);
    meet(s);
}

/* Counts descriptors: one for each direction, or one connection for both to another host. */
static void few_descriptors(struct side *s)
{
    int before = count_descriptors(), taken = sides_are_remote() ? 1 : 2;
    meet(s);
    connect_qp(s, &s->its);
    meet(s);
    write_and_send(s);
    while (count_descriptors() < before + taken)
        sched_yield(); /* the connection may not be accepted yet */
    CHECK_EQ(count_descriptors(), before + taken);
    struct side more[3];
    for (int i = 0; i < 3; i++) {
        more[i] = *s;
        make_qp(&more[i]);
        tell(s, &more[i].mine, sizeof s->mine);
        hear(s, &more[i].its, sizeof s->its);
        connect_qp(&more[i], &more[i].its);
        meet(s);
        write_and_send(&more[i]);
    }
    CHECK_EQ(count_descriptors(), before + taken); /* for any number of QPs */
    meet(s);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(ibv_destroy_qp(more[i].qp), 0);
        CHECK_EQ(ibv_destroy_cq(more[i].scq), 0);
        CHECK_EQ(ibv_destroy_cq(more[i].rcq), 0);
    }
}

/* Objects created after the other side has mapped the segment, beyond the mapped part. */
static void rings_and_blocks_made_later(struct side *s)
{
    enum { MANY = 12, BLOCK = 40 << 20 };
    if (s->o.recv_wr == 1) CHECK_EQ(prctl(PR_SET_DUMPABLE, 0), 0); /* peers need the RPC */
    write_and_send(s);
    struct side last = *s;
    last.o.recv_wr = 16384;
    last.o.cqe = 1 << 16;
    struct ibv_qp *qp[MANY];
    struct ibv_cq *cq[2 * MANY];
    for (int i = 0; i < MANY; i++) {
        make_qp(&last);
        qp[i] = last.qp;
        cq[2 * i] = last.scq;
        cq[2 * i + 1] = last.rcq;
    }
    last.buf = s->o.ordinary ? calloc(1, BLOCK) : softhca_alloc(BLOCK);
    CHECK(last.buf != NULL);
    last.mr = ibv_reg_mr(s->pd, last.buf, BLOCK, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    CHECK(last.mr != NULL);
    last.buf += BLOCK - BUFFER;
    last.mine.addr = (uintptr_t)last.buf;
    last.mine.rkey = last.mr->rkey;
    tell(s, &last.mine, sizeof last.mine);
    hear(s, &last.its, sizeof last.its);
    connect_qp(&last, &last.its);
    meet(s);
    write_and_send(&last);
    for (int i = 0; i < MANY; i++) CHECK_EQ(ibv_destroy_qp(qp[i]), 0);
    for (int i = 0; i < 2 * MANY; i++) CHECK_EQ(ibv_destroy_cq(cq[i]), 0);
    CHECK_EQ(ibv_dereg_mr(last.mr), 0);
}

/* Mappings of memory that has no file. */
static int shared_mappings(void)
{
    char line[512];
    int n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f)) n += strstr(line, "/memfd:") != NULL;
    fclose(f);
    return n;
}

/* A block made after the other side has mapped the segment, by a process that answers nothing. */
static void block_of_a_stopped_peer(struct side *s)
{
    enum { BLOCK = 40 << 20, LEN = 100 };
    struct side last = *s;
    if (sides_are_remote()) return;
    write_and_send(s);
    last.buf = softhca_alloc(BLOCK);
    CHECK(last.buf != NULL);
    last.mr = ibv_reg_mr(s->pd, last.buf, BLOCK, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    CHECK(last.mr != NULL);
    last.mine.addr = (uintptr_t)last.buf + BLOCK - BUFFER;
    last.mine.rkey = last.mr->rkey;
    tell(s, &last.mine, sizeof last.mine);
    hear(s, &last.its, sizeof last.its);
    if (s->is_a) {
        CHECK_EQ(kill(s->other, SIGSTOP), 0);
        while (process_state(s->other) != 'T') sched_yield();
        int before = shared_mappings();
        CHECK_EQ(post(&last, make_wr(&last, IBV_WR_RDMA_WRITE, 1, 0, LEN, 0)), 0);
        expect(s->scq, 1, IBV_WC_SUCCESS);
        CHECK(shared_mappings() > before);
        CHECK_EQ(kill(s->other, SIGCONT), 0);
    }
    meet(s);
    CHECK_EQ(ibv_dereg_mr(last.mr), 0);
    softhca_free(last.buf);
}

/* The mappings of a peer go with the last queue pair that is connected to it. */
static void unmapped_at_the_end(struct side *s)
{
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    if (sides_are_remote()) return;
    const int before = shared_mappings();
    connect_qp(s, &s->its);
    meet(s);
    write_and_send(s);
    if (s->is_a) CHECK(shared_mappings() > before);
    CHECK_EQ(ibv_modify_qp(s->qp, &reset, IBV_QP_STATE), 0);
    CHECK_EQ(shared_mappings(), before);
}

static long address_space(void)
{
    char line[256];
    long value = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "VmSize:", 7)) value = atol(line + 7);
    if (f) fclose(f);
    return value * 1024;
}

/* Binds the name of a slot that no process has, as nobody; the slot goes to WIRE, then what the
 * process that connects has sent. */
static void take_a_name(int wire)
{
    enum { NOBODY = 65534, LAST = 4095 };
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const unsigned user = getuid();
    const int s = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    uint32_t slot = LAST + 1, word = 0;
    int error = -1;
    CHECK(!setgid(NOBODY) && !setuid(NOBODY));
    while (error && --slot > 0) {
        const int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "softhca.%u.%u", user, slot);
        error = bind(s, (struct sockaddr *)&a, offsetof(struct sockaddr_un, sun_path) + 1 + n);
    }
    CHECK(!error && !listen(s, 4));
    CHECK_EQ(write(wire, &slot, sizeof slot), (long long)sizeof slot);
    const int peer = accept(s, NULL, NULL);
    const ssize_t got = recv(peer, &word, sizeof word, 0);
    CHECK_EQ(write(wire, &got, sizeof got), (long long)sizeof got);
    _exit(0);
}

/* Tests that another user which has the name of a slot is no peer, and learns nothing. */
static void names_of_other_users(void)
{
    struct side s = {.o = {.retry_cnt = 1, .timeout = 8}};
    int wire[2];
    uint32_t slot;
    ssize_t got;
    if (geteuid()) return; /* only root can become another */
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, wire), 0);
    const pid_t other = fork();
    if (!other) take_a_name(wire[1]);
    CHECK_EQ(read(wire[0], &slot, sizeof slot), (long long)sizeof slot);
    open_device(&s);
    make_qp(&s);
    struct address to = s.mine;
    to.qpn = slot << 12 | 2;
    connect_qp(&s, &to);
    s.its = s.mine;
    CHECK_EQ(post(&s, make_wr(&s, IBV_WR_RDMA_WRITE, 1, 0, 8, 4096)), 0);
    expect(s.scq, 1, IBV_WC_RETRY_EXC_ERR);
    CHECK_EQ(read(wire[0], &got, sizeof got), (long long)sizeof got);
    CHECK(got <= 0);
    waitpid(other, NULL, 0);
}

static void limit_address_space(long more)
{
    struct rlimit r = {address_space() + more, RLIM_INFINITY};
    CHECK_EQ(setrlimit(RLIMIT_AS, &r), 0);
}

static void little_address_space(void)
{
    limit_address_space(64 << 20);
    use_the_device(NULL);
}

static void too_little_address_space(void)
{
    char text[512];
    int wire[2];
    CHECK_EQ(pipe(wire), 0);
    struct ibv_device **list = ibv_get_device_list(NULL);
    CHECK(list && list[0]);
    limit_address_space(4 << 20);
    CHECK(dup2(wire[1], STDERR_FILENO) >= 0);
    CHECK(!ibv_open_device(list[0]));
    CHECK_EQ(errno, ENOMEM);
    ssize_t n = read(wire[0], text, sizeof text - 1);
    CHECK(n > 0);
    text[n] = 0;
    CHECK(!strncmp(text, "softhca: ", 9) && strstr(text, "ulimit -v"));
}

void peer_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        struct options o;
    } tests[] = {
        {"a stopped peer delays no other",
         stopped_peer_holds_up_nobody,
         {.no_connect = true, .timeout = 18}},
        {"one descriptor to a process and one from it", few_descriptors, {.no_connect = true}},
        {"rings and blocks made after meeting", rings_and_blocks_made_later, {0}},
        {"the same, ordinary memory", rings_and_blocks_made_later, {.ordinary = true}},
        {"the same, not dumpable", rings_and_blocks_made_later, {.recv_wr = 1}},
        {"the same, not dumpable, ordinary memory",
         rings_and_blocks_made_later,
         {.recv_wr = 1, .ordinary = true}},
        {"a peer without queue pairs is unmapped", unmapped_at_the_end, {.no_connect = true}},
        {"a block of a stopped process is mapped without its help", block_of_a_stopped_peer, {0}},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        check(run_pair(tests[i].run, &tests[i].o), "%s", tests[i].name);
    check(run_alone(names_of_other_users), "a name that another user has taken is no peer");
    check(run_alone(little_address_space), "64 MiB of address space are enough");
    check(run_alone(too_little_address_space), "too little address space is reported as such");
}
