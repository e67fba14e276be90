/* wakes.c - two threads that wake a peer at once: its completion channels, whose descriptors the
 * peer sends over one socket.
 *
 * The first thread is kept inside its request (tests/gate.h).  The second waits for the lock of
 * that socket, which it shows by giving up its processor; it must not send a request of its own.
 */
#include "pair.h"
#include "rules.h"
#include "tests/gate.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/socket.h>

enum { IN_REQUEST = 1, LENGTH = 8 };

/* What a thread of side A is in this test. */
static _Thread_local enum { OTHER, FIRST, SECOND } role;
static bool yields, sends; /* the second thread; with gate_lock */

static void note(bool *what)
{
    pthread_mutex_lock(&gate_lock);
    *what = true;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate_lock);
}

GATE_INTERPOSED ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    ssize_t (*next)(int, struct msghdr *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "recvmsg");
    if (role == FIRST) gate_pass(IN_REQUEST);
    return next(fd, message, flags);
}

GATE_INTERPOSED ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t (*next)(int, const struct msghdr *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "sendmsg");
    if (role == SECOND) note(&sends);
    return next(fd, message, flags);
}

GATE_INTERPOSED int sched_yield(void)
{
    int (*next)(void);
    *(void **)&next = dlsym(RTLD_NEXT, "sched_yield");
    if (role == SECOND) note(&yields);
    return next();
}

/* A request of its own: make_wr() has one, for one thread. */
static int send_as(struct side *s, uint64_t id)
{
    struct ibv_sge piece = {.addr = s->mine.addr, .length = LENGTH, .lkey = s->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = id,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED,
                             .sg_list = &piece,
                             .num_sge = 1};
    return post(s, &wr);
}

static int send_first(void *side)
{
    role = FIRST;
    return send_as(side, 1);
}

static int send_second(void *side)
{
    role = SECOND;
    return send_as(side, 2);
}

static void wake_both(struct side *s, struct side *x)
{
    struct gate_worker first, second;
    gate_shut(IN_REQUEST);
    gate_begin(&first, s, send_first);
    gate_await_inside();
    gate_begin(&second, x, send_second);
    pthread_mutex_lock(&gate_lock);
    while (!yields && !sends) pthread_cond_wait(&gate_changed, &gate_lock);
    bool waited = !sends;
    pthread_mutex_unlock(&gate_lock);
    gate_open();
    CHECK_EQ(gate_end(&first), 0);
    CHECK_EQ(gate_end(&second), 0);
    CHECK(waited);
    expect(s->scq, 1, IBV_WC_SUCCESS);
    expect(x->scq, 2, IBV_WC_SUCCESS);
}

static void sleep_for(struct side *s)
{
    struct ibv_cq *cq;
    void *context;
    CHECK_EQ(ibv_get_cq_event(s->channel, &cq, &context), 0);
    CHECK(cq == s->rcq);
    ibv_ack_cq_events(cq, 1);
    expect(cq, 0, IBV_WC_SUCCESS);
}

/* Side B sleeps on two channels, side A has two threads.  Each queue pair has queues of its own. */
static void two_channels(struct side *s)
{
    struct side more = *s;
    more.channel = ibv_create_comp_channel(s->ctx);
    CHECK(more.channel != NULL);
    more.scq = ibv_create_cq(s->ctx, 16, s, more.channel, 0);
    more.rcq = ibv_create_cq(s->ctx, 16, s, more.channel, 0);
    CHECK(more.scq && more.rcq);
    struct side x = another_qp(&more);
    if (!s->is_a) {
        CHECK_EQ(post_recv(s, 0, 0, LENGTH), 0);
        CHECK_EQ(post_recv(&x, 0, LENGTH, LENGTH), 0);
        CHECK_EQ(ibv_req_notify_cq(s->rcq, 0), 0);
        CHECK_EQ(ibv_req_notify_cq(x.rcq, 0), 0);
    } else { /* the peer's tables are mapped before the threads start */
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 3, 0, LENGTH, 0)), 0);
        expect(s->scq, 3, IBV_WC_SUCCESS);
    }
    meet(s);
    if (s->is_a) {
        wake_both(s, &x);
    } else {
        sleep_for(s);
        sleep_for(&x);
    }
    meet(s);
    CHECK_EQ(ibv_destroy_qp(x.qp), 0);
    CHECK_EQ(ibv_destroy_cq(x.scq), 0);
    CHECK_EQ(ibv_destroy_cq(x.rcq), 0);
    CHECK_EQ(ibv_destroy_comp_channel(x.channel), 0);
}

int main(void)
{
    report(run_pair(two_channels, NULL), "two threads wake a peer that sleeps on two channels");
    return report_end();
}
