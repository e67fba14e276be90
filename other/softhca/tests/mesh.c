/* mesh.c - N processes connect all to all and write to each other: the cost of attaching.
 *
 * Usage: softhca_mesh [N]. Prints, for the slowest process, the time to connect and the time of the
 * first and the second message to all others, and what one process holds at the end. Exit status 0
 * when every message arrived.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "other/softhca/include/softhca.h"
#include "pair.h"
#include "tests/descriptors.h"

enum { MOST = 512 };

static struct board {
    pthread_barrier_t barrier;
    int n;
    struct address to[MOST][MOST]; /* [of][for] */
    double connect[MOST], first[MOST], second[MOST], cpu[MOST];
} * board;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double cpu_time(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e3 +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e3;
}

static void message(struct side *s, int me, int peer, int which)
{
    uint64_t *out = (uint64_t *)s->buf + MOST, *in = (uint64_t *)s->buf;
    *out = (uint64_t)which << 32 | (uint32_t)me;
    s->its = board->to[peer][me];
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, (char *)out - s->buf, 8, (size_t)me * 8)), 0);
    expect(s->scq, 1, IBV_WC_SUCCESS);
    CHECK(in != out);
}

static double message_to_all(struct side *s, struct ibv_qp **qp, int me, int which)
{
    pthread_barrier_wait(&board->barrier);
    double start = now();
    for (int k = 1; k < board->n; k++) {
        int peer = (me + k) % board->n;
        s->qp = qp[peer];
        message(s, me, peer, which);
    }
    double spent = now() - start;
    pthread_barrier_wait(&board->barrier);
    for (int peer = 0; peer < board->n; peer++)
        if (peer != me)
            CHECK(((uint64_t *)s->buf)[peer] == ((uint64_t)which << 32 | (uint32_t)peer));
    return spent;
}

static void show_holdings(void)
{
    char line[256];
    printf("one process in the end: %d descriptors", count_descriptors());
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "VmSize", 6) || !strncmp(line, "VmRSS", 5) || !strncmp(line, "VmPTE", 5))
            printf(", %.6s %ld kB", line, atol(line + 7));
    if (f) fclose(f);
    printf("\n");
}

static void one(int me)
{
    struct side s = {.o = {.send_wr = 4, .recv_wr = 4, .cqe = 16}};
    struct ibv_qp *qp[MOST] = {NULL};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(300);
    open_device(&s);
    make_qp(&s);
    for (int i = 0; i < board->n; i++) {
        struct ibv_qp_init_attr init = {
            .send_cq = s.scq,
            .recv_cq = s.rcq,
            .qp_type = IBV_QPT_RC,
            .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
        struct ibv_qp_attr a = {
            .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
        qp[i] = ibv_create_qp(s.pd, &init);
        CHECK(qp[i] != NULL);
        CHECK_EQ(
            ibv_modify_qp(qp[i], &a,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
            0);
        board->to[me][i] = s.mine;
        board->to[me][i].qpn = qp[i]->qp_num;
    }
    pthread_barrier_wait(&board->barrier);
    double start = now(), cpu = cpu_time();
    for (int k = 1; k < board->n; k++) {
        int peer = (me + k) % board->n;
        s.qp = qp[peer];
        connect_qp(&s, &board->to[peer][me]);
    }
    board->connect[me] = now() - start;
    board->first[me] = message_to_all(&s, qp, me, 1);
    board->cpu[me] = cpu_time() - cpu;
    board->second[me] = message_to_all(&s, qp, me, 2);
    if (me == 0) show_holdings();
    pthread_barrier_wait(&board->barrier);
    exit(0);
}

static double most(const double *value)
{
    double m = 0;
    for (int i = 0; i < board->n; i++)
        if (value[i] > m) m = value[i];
    return m;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 16, bad = 0;
    if (n < 2 || n > MOST) return 2;
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(board != MAP_FAILED);
    board->n = n;
    pthread_barrierattr_t attr;
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&board->barrier, &attr, (unsigned)n);
    fflush(NULL);
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) one(i);
    }
    for (int i = 0, status; i < n; i++) {
        CHECK(wait(&status) > 0);
        bad += status != 0;
    }
    double cpu = 0;
    for (int i = 0; i < n; i++) cpu += board->cpu[i];
    double pairs = (double)n * (n - 1);
    printf("%d processes: connect %.1f ms, first messages %.1f ms, second ones %.1f ms; "
           "per attachment %.1f us of processor time\n",
           n, most(board->connect), most(board->first), most(board->second), cpu * 1e3 / pairs);
    return bad != 0;
}
