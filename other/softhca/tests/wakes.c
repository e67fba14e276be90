/* wakes.c - threads that wake others, and the locks that they wait for meanwhile; the thread that
 * has the lock is kept there (tests/gate.h).
 *
 * Two threads wake a peer's completion channels, whose descriptors the peer sends over one socket.
 * The second waits for the lock of that socket, which it shows by giving up its processor; it must
 * not send a request of its own. This is repeated where the peer itself copies to its memory, and
 * where it adds to it, as the kernel refuses to copy.
 *
 * Two threads need more of a peer's memory mapped; the second waits for the first one's mapping.  A
 * thread maps memory that it allocates; others that allocate or free memory or rings wait.
 *
 * A thread polls, and its completion is held back by SOFTHCA_FAULTS. The worker thread, which is to
 * wake the threads that sleep for it, waits for the queue's lock.
 *
 * A thread looks for a peer.  The worker thread, which is to wake that peer because of a receive in
 * a shared queue, waits for the table of peers.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "other/softhca/include/softhca.h"
#include "pair.h"
#include "rules.h"
#include "tests/gate.h"

enum { IN_REQUEST = 1, IN_HOLD, IN_SEARCH, IN_SLEEP, IN_MAPPING, LENGTH = 8 };

/* The role of a thread of side A in this test; DEVICE: a thread of the device. */
static _Thread_local enum { DEVICE, MAIN, FIRST, SECOND } role;
static enum { NOTHING, YIELDS, GOES_ON } seen; /* of the thread that waits; with gate_lock */

/* Only the first counts. */
static void note(int what)
{
    pthread_mutex_lock(&gate_lock);
    if (!seen) seen = what;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate_lock);
}

static bool has_seen(void)
{
    pthread_mutex_lock(&gate_lock);
    bool has = seen;
    pthread_mutex_unlock(&gate_lock);
    return has;
}

static void see_nothing(void)
{
    pthread_mutex_lock(&gate_lock);
    seen = NOTHING;
    pthread_mutex_unlock(&gate_lock);
}

/* Waits until the behaviour is seen, and returns it. */
static int await_seen(void)
{
    pthread_mutex_lock(&gate_lock);
    while (!seen) pthread_cond_wait(&gate_changed, &gate_lock);
    int what = seen;
    pthread_mutex_unlock(&gate_lock);
    return what;
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
    if (role == SECOND) note(GOES_ON);
    return next(fd, message, flags);
}

GATE_INTERPOSED int sched_yield(void)
{
    int (*next)(void);
    *(void **)&next = dlsym(RTLD_NEXT, "sched_yield");
    if (role == SECOND || role == DEVICE) note(YIELDS);
    return next();
}

GATE_INTERPOSED ssize_t write(int fd, const void *data, size_t length)
{
    ssize_t (*next)(int, const void *, size_t);
    *(void **)&next = dlsym(RTLD_NEXT, "write");
    if (role == DEVICE) note(GOES_ON);
    return next(fd, data, length);
}

GATE_INTERPOSED void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    void *(*next)(void *, size_t, int, int, int, off_t);
    *(void **)&next = dlsym(RTLD_NEXT, "mmap");
    if (role == FIRST) gate_pass(IN_MAPPING);
    if (role == SECOND) note(GOES_ON);
    return next(at, length, protection, flags, fd, offset);
}

GATE_INTERPOSED int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    int (*next)(struct pollfd *, nfds_t, int);
    *(void **)&next = dlsym(RTLD_NEXT, "poll");
    if (role == FIRST) gate_pass(IN_SEARCH);
    return next(fds, count, timeout);
}

GATE_INTERPOSED long syscall(long number, ...)
{
    long (*next)(long, ...);
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    bool wakes = number == SYS_futex && a[1] == FUTEX_WAKE;
    if (wakes && role == DEVICE) note(GOES_ON);
    if (number == SYS_futex && a[1] == FUTEX_WAIT && role == DEVICE) gate_pass(IN_SLEEP);
    long result = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (wakes && role == FIRST) gate_pass(IN_HOLD); /* the worker is awake */
    return result;
}

static bool kernel_refuses;

GATE_INTERPOSED ssize_t process_vm_writev(pid_t pid, const struct iovec *from, unsigned long count,
                                          const struct iovec *to, unsigned long to_count,
                                          unsigned long flags)
{
    ssize_t (*next)(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                    unsigned long);
    *(void **)&next = dlsym(RTLD_NEXT, "process_vm_writev");
    if (!kernel_refuses) return next(pid, from, count, to, to_count, flags);
    errno = EPERM;
    return -1;
}

/* Afterwards the peer's tables are mapped. */
static void reach(struct side *s)
{
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 3, 0, LENGTH, 0)), 0);
    expect(s->scq, 3, IBV_WC_SUCCESS);
}

static enum ibv_wr_opcode asks = IBV_WR_SEND;

/* A request of its own: make_wr() has one, for one thread. */
static int ask_as(struct side *s, uint64_t id)
{
    struct ibv_sge piece = {.addr = s->mine.addr, .length = LENGTH, .lkey = s->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = id,
                             .opcode = asks,
                             .send_flags = IBV_SEND_SIGNALED,
                             .sg_list = &piece,
                             .num_sge = 1};
    if (asks == IBV_WR_RDMA_WRITE)
        wr.wr.rdma.remote_addr = s->its.addr, wr.wr.rdma.rkey = s->its.rkey;
    if (asks == IBV_WR_ATOMIC_FETCH_AND_ADD)
        wr.wr.atomic.remote_addr = s->its.addr, wr.wr.atomic.rkey = s->its.rkey;
    return post(s, &wr);
}

static int ask_first(void *side)
{
    role = FIRST;
    return ask_as(side, 1);
}

static int ask_second(void *side)
{
    role = SECOND;
    return ask_as(side, 2);
}

static void ask_both(struct side *s, struct side *x, int gate)
{
    struct gate_worker first, second;
    gate_shut(gate);
    gate_begin(&first, s, ask_first);
    gate_await_inside();
    see_nothing();
    gate_begin(&second, x, ask_second);
    int what = await_seen();
    gate_open();
    CHECK_EQ(gate_end(&first), 0);
    CHECK_EQ(gate_end(&second), 0);
    CHECK_EQ(what, YIELDS);
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
    role = MAIN;
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
    } else {
        reach(s); /* before the threads start */
    }
    meet(s);
    if (s->is_a) {
        ask_both(s, &x, IN_REQUEST);
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

/* Each thread of side A has a queue pair and a completion queue. */
static void two_requests(struct side *s, enum ibv_wr_opcode opcode)
{
    struct side more = *s;
    role = MAIN;
    more.scq = ibv_create_cq(s->ctx, 16, s, NULL, 0);
    CHECK(more.scq != NULL);
    struct side x = another_qp(&more);
    if (s->is_a) {
        kernel_refuses = true;
        reach(s);
        asks = opcode;
        ask_both(s, &x, IN_REQUEST);
    }
    meet(s);
    CHECK_EQ(ibv_destroy_qp(x.qp), 0);
    CHECK_EQ(ibv_destroy_cq(x.scq), 0);
}

/* Side B registers more memory than side A has mapped. */
static void two_mappings(struct side *s)
{
    enum { MORE = 16 << 20 };
    struct side more = *s;
    struct ibv_mr *mr = NULL;
    role = MAIN;
    more.scq = ibv_create_cq(s->ctx, 16, s, NULL, 0);
    CHECK(more.scq != NULL);
    struct side x = another_qp(&more);
    if (s->is_a) reach(s); /* with what side B has by now */
    meet(s);
    if (s->is_a) {
        hear(s, &x.its, sizeof x.its);
        s->its = x.its;
        asks = IBV_WR_RDMA_WRITE;
        ask_both(s, &x, IN_MAPPING);
    } else {
        char *memory = softhca_alloc(MORE);
        mr = ibv_reg_mr(s->pd, memory, MORE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
        CHECK(mr != NULL);
        const struct address end = {.addr = (uintptr_t)memory + MORE - LENGTH, .rkey = mr->rkey};
        tell(s, &end, sizeof end);
    }
    meet(s);
    if (mr) CHECK_EQ(ibv_dereg_mr(mr), 0);
    CHECK_EQ(ibv_destroy_qp(x.qp), 0);
    CHECK_EQ(ibv_destroy_cq(x.scq), 0);
}

static int allocate_first(void *unused)
{
    (void)unused;
    role = FIRST;
    softhca_free(softhca_alloc(LENGTH));
    return 0;
}

static int allocate_memory(void *block)
{
    *(void **)block = softhca_alloc(LENGTH);
    return *(void **)block ? 0 : -1;
}

static int free_memory(void *block)
{
    softhca_free(*(void **)block);
    return 0;
}

static struct ibv_context *context;

static int allocate_rings(void *queue)
{
    *(struct ibv_cq **)queue = ibv_create_cq(context, 16, NULL, NULL, 0);
    return *(struct ibv_cq **)queue ? 0 : -1;
}

static int free_rings(void *queue)
{
    return ibv_destroy_cq(*(struct ibv_cq **)queue);
}

static void beside_mapping(void)
{
    void *block;
    struct ibv_cq *queue;
    const struct {
        gate_call *call;
        void *argument;
    } rows[] = {{allocate_memory, &block},
                {allocate_rings, &queue},
                {free_rings, &queue},
                {free_memory, &block}};
    context = open_named("softhca0");
    CHECK(context != NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gate_worker first, second;
        gate_shut(IN_MAPPING);
        gate_begin(&first, NULL, allocate_first);
        gate_await_inside();
        gate_begin(&second, rows[i].argument, rows[i].call);
        CHECK(gate_sleeps(&second));
        gate_open();
        CHECK_EQ(gate_end(&first), 0);
        CHECK_EQ(gate_end(&second), 0);
    }
    CHECK_EQ(ibv_close_device(context), 0);
}

static void two_copies(struct side *s)
{
    two_requests(s, IBV_WR_RDMA_WRITE);
}

static void two_additions(struct side *s)
{
    two_requests(s, IBV_WR_ATOMIC_FETCH_AND_ADD);
}

static int poll_until_one(void *side)
{
    struct side *s = side;
    struct ibv_wc wc;
    int n;
    role = FIRST;
    while (!(n = ibv_poll_cq(s->scq, 1, &wc))) sched_yield();
    return n == 1 && wc.status == IBV_WC_SUCCESS ? 0 : -1;
}

/* Asking for an event wakes the device's thread. It may itself wait for those that post. */
static int ask_for_event(void *side)
{
    struct side *s = side;
    role = MAIN;
    return ibv_req_notify_cq(s->scq, 0);
}

static void held_back(struct side *s)
{
    struct gate_worker first, second;
    role = MAIN;
    if (s->is_a) {
        reach(s);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 4, 0, LENGTH, 0)), 0);
        gate_shut(IN_HOLD);
        gate_begin(&first, s, poll_until_one);
        gate_await_inside();
        see_nothing();
        gate_begin(&second, s, ask_for_event);
        int what = await_seen();
        gate_open();
        CHECK_EQ(gate_end(&first), 0);
        CHECK_EQ(gate_end(&second), 0);
        CHECK_EQ(what, YIELDS);
    }
    meet(s);
}

static int connect_second(void *side)
{
    struct side *x = side;
    role = FIRST;
    connect_qp(x, &x->its);
    return 0;
}

/* Side B sends to a shared queue without a receive; its worker thread does not try again until it
 * is woken. */
static void late_receive(struct side *s)
{
    struct side x = *s;
    struct gate_worker first;
    role = MAIN;
    add_qp(&x);
    tell(s, &x.mine, sizeof x.mine);
    hear(s, &x.its, sizeof x.its);
    reach(s);
    meet(s);
    if (!s->is_a) {
        gate_shut(IN_SLEEP);
        CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, 0, LENGTH, 0)), 0);
        gate_await_inside();
    }
    meet(s);
    if (s->is_a) {
        gate_shut(IN_SEARCH);
        gate_begin(&first, &x, connect_second);
        gate_await_inside();
        see_nothing();
        CHECK_EQ(post_recv(s, 1, 0, LENGTH), 0);
        CHECK(gate_others_sleep());
        bool waited = !has_seen();
        gate_open();
        CHECK_EQ(gate_end(&first), 0);
        CHECK(waited);
    }
    meet(s);
    if (!s->is_a) gate_open();
    expect(s->is_a ? s->rcq : s->scq, 1, IBV_WC_SUCCESS);
    meet(s);
    CHECK_EQ(ibv_destroy_qp(x.qp), 0);
}

int main(void)
{
    const struct options held = {.env = {"SOFTHCA_FAULTS=hold:process=0,us=1"}};
    const struct options shared = {.srq_wr = 4}, ordinary = {.ordinary = true};
    check(run_pair(two_channels, NULL), "two threads wake a peer that sleeps on two channels");
    check(run_pair(two_copies, &ordinary), "two threads have a peer copy to its memory");
    check(run_pair(two_additions, &ordinary), "two threads have a peer add to its memory");
    check(run_pair(two_mappings, NULL), "two threads map memory of a peer");
    check(run_alone(beside_mapping), "memory and rings are allocated and freed by one at a time");
    check(run_pair(held_back, &held), "who wakes a sleeper for a completion that is held back "
                                      "waits for the thread that holds it");
    check(run_pair(late_receive, &shared),
          "who wakes a peer for a receive waits for the thread that looks for a peer");
    return check_end();
}
