/* crowd.c - a test run by several processes; see crowd.h. */
#include "crowd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE = 60 };

void to_rank(struct crowd *c, int rank, const void *data, size_t n)
{
    CHECK(write(c->wire[rank], data, n) == (ssize_t)n);
}

void from_rank(struct crowd *c, int rank, void *data, size_t n)
{
    ssize_t got;
    do got = recv(c->wire[rank], data, n, MSG_WAITALL);
    while (got < 0 && errno == EINTR);
    CHECK(got == (ssize_t)n);
}

bool has_told(struct crowd *c, int rank)
{
    struct pollfd f = {.fd = c->wire[rank], .events = POLLIN};
    return poll(&f, 1, 0) == 1;
}

void all_meet(struct crowd *c)
{
    char m = 'm';
    if (c->rank > 0) {
        to_rank(c, 0, &m, 1);
        from_rank(c, 0, &m, 1);
        return;
    }
    for (int r = 1; r < c->size; r++) from_rank(c, r, &m, 1);
    for (int r = 1; r < c->size; r++) to_rank(c, r, &m, 1);
}

static void run_test(crowd_function *test, struct crowd *c)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(PATIENCE);
    go_to_host(c->o.neighbours ? c->rank >= 2 : c->rank % 2);
    if (c->rank == 0)
        for (int r = 1; r < c->size; r++) from_rank(c, r, &c->pid[r], sizeof *c->pid);
    else {
        pid_t me = getpid();
        to_rank(c, 0, &me, sizeof me);
    }
    test(c);
    exit(0);
}

/* Process 0, to which all others are connected, decides the result: when it fails, the others are
 * killed. */
static bool await_all(const struct crowd *c)
{
    bool ok = true;
    for (int r = 0; r < c->size; r++) {
        int status;
        if (!ok) kill(c->pid[r], SIGKILL);
        while (waitpid(c->pid[r], &status, 0) < 0 && errno == EINTR) continue;
        bool killed = r > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        if (!ok || killed || status == 0) continue;
        fprintf(stderr, "# rank %d: wait status %#x\n", r, status);
        ok = false;
    }
    return ok;
}

bool run_crowd(crowd_function *test, int size, const struct options *o)
{
    static const struct options none;
    int pair[CROWD][2];
    struct crowd all = {.size = size};
    CHECK(size <= CROWD);
    for (int r = 1; r < size; r++)
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair[r]) == 0);
    fflush(NULL);
    for (int r = 0; r < size; r++) {
        all.pid[r] = fork();
        CHECK(all.pid[r] >= 0);
        if (all.pid[r] > 0) continue;
        struct crowd c = {.rank = r, .size = size, .o = o ? *o : none};
        for (int i = 1; i < size; i++) {
            c.wire[i] = pair[i][0];
            if (r == 0 || r != i) close(pair[i][1]);
            if (r > 0) close(pair[i][0]);
        }
        if (r > 0) c.wire[0] = pair[r][1];
        run_test(test, &c);
    }
    for (int r = 1; r < size; r++) {
        close(pair[r][0]);
        close(pair[r][1]);
    }
    return await_all(&all);
}

void make_star(struct crowd *c, struct side *s)
{
    int last = c->rank ? 1 : c->size - 1;
    for (int i = 1; i <= last; i++) {
        int r = c->rank ? 0 : i;
        if (i == 1) {
            s[1] = (struct side){.o = c->o};
            if (c->rank) s[1].o.srq_wr = 0;
            open_device(&s[1]);
            make_qp(&s[1]);
        } else {
            s[i] = s[1];
            add_qp(&s[i]);
        }
        to_rank(c, r, &s[i].mine, sizeof s[i].mine);
        from_rank(c, r, &s[i].its, sizeof s[i].its);
        if (!c->o.no_connect) connect_qp(&s[i], &s[i].its);
    }
    all_meet(c);
}

void tear_down_star(struct crowd *c, struct side *s)
{
    for (int i = 2; c->rank == 0 && i < c->size; i++) CHECK_EQ(ibv_destroy_qp(s[i].qp), 0);
    tear_down(&s[1]);
}
