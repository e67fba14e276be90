/* cycles.c - thousands of creations and destructions of every object in one process: no memory,
 * address space, shared memory or descriptor is leaked.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "other/softhca/include/softhca.h"
#include "pair.h"
#include "rules.h"

/* Numbers are not reused at once: at first each cycle uses a new entry of a table. */
enum { WARM = 9000, CYCLES = 3000 };

static struct side s;

struct holdings {
    long rss, space, shared; /* KiB */
    int fds;
};

static long kilobytes(const char *what)
{
    char line[256];
    long value = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, what, strlen(what))) value = atol(line + strlen(what) + 1);
    if (f) fclose(f);
    return value;
}

/* Descriptors, and pages of the segment. */
static struct holdings holdings(void)
{
    struct holdings h = {.rss = kilobytes("VmRSS:"), .space = kilobytes("VmSize:")};
    DIR *d = opendir("/proc/self/fd");
    CHECK(d != NULL);
    for (struct dirent *e; (e = readdir(d)); h.fds++) {
        char path[300], link[64] = {0};
        struct stat st;
        snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
        if (readlink(path, link, sizeof link - 1) > 0 && !strncmp(link, "/memfd:softhca", 14) &&
            stat(path, &st) == 0)
            h.shared = st.st_blocks / 2;
    }
    closedir(d);
    return h;
}

/* --- a cycle of each object --- */

static void domain(int i)
{
    struct ibv_pd *pd = ibv_alloc_pd(s.ctx);
    CHECK(pd != NULL);
    CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

static void region(int i)
{
    struct ibv_mr *mr = ibv_reg_mr(s.pd, s.buf, 1 + i % BUFFER, IBV_ACCESS_LOCAL_WRITE);
    CHECK(mr != NULL);
    CHECK_EQ(ibv_dereg_mr(mr), 0);
}

static void block(int i)
{
    size_t size = 4096u * (1 + i % 7);
    char *p = softhca_alloc(size);
    CHECK(p != NULL);
    memset(p, 1, size);
    struct ibv_mr *mr = ibv_reg_mr(s.pd, p, size, IBV_ACCESS_LOCAL_WRITE);
    CHECK(mr != NULL);
    CHECK_EQ(ibv_dereg_mr(mr), 0);
    softhca_free(p);
}

static void completion_queue(int i)
{
    struct ibv_cq *cq = ibv_create_cq(s.ctx, 1 + i % 3000, NULL, NULL, 0);
    CHECK(cq != NULL);
    CHECK_EQ(ibv_destroy_cq(cq), 0);
}

static void channel(int i)
{
    struct ibv_comp_channel *ch = ibv_create_comp_channel(s.ctx);
    struct ibv_cq *cq = ch ? ibv_create_cq(s.ctx, 16, NULL, ch, 0) : NULL;
    CHECK(cq != NULL);
    CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
    CHECK_EQ(ibv_destroy_cq(cq), 0);
    CHECK_EQ(ibv_destroy_comp_channel(ch), 0);
}

static void shared_queue(int i)
{
    struct ibv_srq_init_attr a = {.attr = {.max_wr = 1 + i % 200, .max_sge = 1 + i % 4}};
    struct ibv_srq *srq = ibv_create_srq(s.pd, &a);
    CHECK(srq != NULL);
    struct ibv_recv_wr wr = {.wr_id = 1}, *bad;
    CHECK_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
    CHECK_EQ(ibv_destroy_srq(srq), 0);
}

static void queue_pair(enum ibv_qp_type type, int i)
{
    struct ibv_qp_init_attr a = {.send_cq = s.scq,
                                 .recv_cq = s.rcq,
                                 .qp_type = type,
                                 .cap = {.max_send_wr = 1 + i % 300,
                                         .max_recv_wr = 1 + i % 300,
                                         .max_send_sge = 1 + i % 4,
                                         .max_recv_sge = 1 + i % 4}};
    struct ibv_qp *qp = ibv_create_qp(s.pd, &a);
    CHECK(qp != NULL);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 5};
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
               (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    CHECK_EQ(ibv_modify_qp(qp, &attr, mask), 0);
    struct ibv_recv_wr wr = {.wr_id = 1}, *bad;
    CHECK_EQ(ibv_post_recv(qp, &wr, &bad), 0);
    CHECK_EQ(ibv_destroy_qp(qp), 0);
}
static void reliable(int i)
{
    queue_pair(IBV_QPT_RC, i);
}
static void unreliable(int i)
{
    queue_pair(IBV_QPT_UC, i);
}
static void datagrams(int i)
{
    queue_pair(IBV_QPT_UD, i);
}

/* Connected to itself, with a message and an error at the end. */
static void conversation(int i)
{
    add_qp(&s);
    s.its = s.mine;
    connect_qp(&s, &s.mine);
    CHECK_EQ(post_recv(&s, 1, 8192, 64), 0);
    CHECK_EQ(post(&s, make_wr(&s, IBV_WR_SEND, 2, 0, 64, 0)), 0);
    expect(s.scq, 2, IBV_WC_SUCCESS);
    expect(s.rcq, 1, IBV_WC_SUCCESS);
    if (i % 2) { /* left in the queue */
        CHECK_EQ(post(&s, make_wr(&s, IBV_WR_RDMA_WRITE, 3, 0, 64, 0)), 0);
        CHECK_EQ(post_recv(&s, 4, 8192, 64), 0);
    }
    CHECK_EQ(ibv_destroy_qp(s.qp), 0);
    expect_nothing(s.scq);
}

static void context(int i)
{
    struct ibv_context *c = open_named("softhca0");
    CHECK(c != NULL);
    CHECK_EQ(ibv_close_device(c), 0);
}

static void address(int i)
{
    struct ibv_ah_attr a = {.dlid = s.mine.lid, .port_num = 1};
    struct ibv_ah *ah = ibv_create_ah(s.pd, &a);
    CHECK(ah != NULL);
    CHECK_EQ(ibv_destroy_ah(ah), 0);
}

static void (*life)(int);

static long least(long a, long b)
{
    return a < b ? a : b;
}

/* A leak appears in every round; one-time allocations, such as those of a new thread, in at most
 * one: the smaller growth of two rounds counts. */
static void create_and_exit(void)
{
    long rss = LONG_MAX, space = LONG_MAX, shared = LONG_MAX, fds = LONG_MAX;
    open_device(&s);
    make_qp(&s);
    s.mine.addr = (uintptr_t)s.buf;
    for (int i = 0; i < WARM; i++) life(i);
    for (int round = 0; round < 2; round++) {
        struct holdings before = holdings();
        for (int i = 0; i < CYCLES; i++) life(i);
        struct holdings after = holdings();
        rss = least(rss, after.rss - before.rss);
        space = least(space, after.space - before.space);
        shared = least(shared, after.shared - before.shared);
        fds = least(fds, after.fds - before.fds);
    }
    printf("# KiB: memory %+ld, address space %+ld, shared %+ld; descriptors %+ld\n", rss, space,
           shared, fds);
    fflush(stdout);
    CHECK_EQ(fds, 0);
    CHECK(rss < 512);
    CHECK(shared < 64);
    CHECK(space < 1024);
}

int main(void)
{
    static const struct {
        const char *name;
        void (*life)(int);
    } lives[] = {{"protection domains", domain},       {"memory regions", region},
                 {"blocks that peers can map", block}, {"completion queues", completion_queue},
                 {"completion channels", channel},     {"shared receive queues", shared_queue},
                 {"reliable queue pairs", reliable},   {"unreliable queue pairs", unreliable},
                 {"datagram queue pairs", datagrams},  {"connections", conversation},
                 {"address handles", address},         {"contexts", context}};
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        life = lives[i].life;
        check(run_alone(create_and_exit), "%d %s leave nothing behind", CYCLES, lives[i].name);
    }
    return check_end();
}
