/* overlap.c - calls under way while another comes: two changes of one object at once, arming while
 * the library's thread looks at what was armed before, and threads that sleep until another wakes
 * them (VC-5); and threads that cannot start, or have nothing more to wait for.
 *
 * Nothing here depends on which thread is faster: the first call is kept at a gate inside the verbs
 * operation that it makes, and the state that the kernel shows of a thread is awaited.
 */
#include "qp_pair.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* --- the gate --- */

enum operation { NONE, MODIFY, RESIZE, POLL, HANDLER };

/* The first thread stands at the gate until it is opened; the others pass. */
static enum operation gate_of;
static bool inside, opened;

static void shut_gate(enum operation of)
{
    pthread_mutex_lock(&lock);
    gate_of = of;
    inside = opened = false;
    pthread_mutex_unlock(&lock);
}

static void pass(enum operation of)
{
    pthread_mutex_lock(&lock);
    if (gate_of == of) {
        gate_of = NONE;
        inside = true;
        pthread_cond_broadcast(&changed);
        while (!opened) pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void await_inside(void)
{
    pthread_mutex_lock(&lock);
    while (!inside) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void open_gate(void)
{
    pthread_mutex_lock(&lock);
    opened = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

#define FOR_THE_LIBRARY __attribute__((visibility("default")))

FOR_THE_LIBRARY int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    int (*next)(struct ibv_qp *, struct ibv_qp_attr *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "ibv_modify_qp");
    pass(MODIFY);
    return next(qp, attr, mask);
}

FOR_THE_LIBRARY int ibv_resize_cq(struct ibv_cq *cq, int entries)
{
    int (*next)(struct ibv_cq *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "ibv_resize_cq");
    pass(RESIZE);
    return next(cq, entries);
}

/* No software device has a shared queue that has failed: here is one. */
static bool failed;

FOR_THE_LIBRARY int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
    int (*next)(struct ibv_srq *, struct ibv_srq_attr *);
    *(void **)&next = dlsym(RTLD_NEXT, "ibv_query_srq");
    return failed ? EINVAL : next(srq, attr);
}

static int (*poll_below)(struct ibv_cq *, int, struct ibv_wc *);

static int gated_poll(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    pass(POLL);
    return poll_below(cq, count, wc);
}

/* --- threads --- */

struct worker {
    struct stage *s;
    int (*call)(struct stage *s);
    int code;
    bool ended;           /* under the lock, as is: */
    pid_t id;             /* 0 until it runs */
    struct rusage before; /* its own, and behind the call */
    struct rusage after;
    pthread_t thread;
};

static void *run(void *argument)
{
    struct worker *w = argument;
    pthread_mutex_lock(&lock);
    w->id = gettid();
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    getrusage(RUSAGE_THREAD, &w->before);
    w->code = w->call(w->s);
    getrusage(RUSAGE_THREAD, &w->after);
    pthread_mutex_lock(&lock);
    w->ended = true;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void begin(struct worker *w, struct stage *s, int (*call)(struct stage *s))
{
    *w = (struct worker){.s = s, .call = call};
    pthread_create(&w->thread, NULL, run, w);
    pthread_mutex_lock(&lock);
    while (!w->id) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static int end(struct worker *w)
{
    pthread_join(w->thread, NULL);
    return w->code;
}

static bool has_ended(struct worker *w)
{
    pthread_mutex_lock(&lock);
    bool ended = w->ended;
    pthread_mutex_unlock(&lock);
    return ended;
}

/* The state that /proc shows of a thread, and how often it has given up its processor. */
static char look_at(pid_t id, unsigned long *times)
{
    char path[60], line[200], state = 'X';
    unsigned long more;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)id);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "State: %c", &state);
        if (sscanf(line, "voluntary_ctxt_switches: %lu", &more) == 1) *times += more;
    }
    if (file) fclose(file);
    return state;
}

/* Until a thread has ended its call, or sleeps and goes on sleeping: one that looks again every now
 * and then, or spins, does not. */
static bool sleeps(struct worker *w)
{
    unsigned long before = 0;
    for (int looks = 0, still = 0; looks < 20000 && !has_ended(w); looks++) {
        unsigned long times = 0;
        bool same = look_at(w->id, &times) == 'S' && times == before;
        still = same ? still + 1 : 0;
        if (still == 20) return true;
        before = times;
        usleep(1000);
    }
    return false;
}

/* The same of all threads but this. */
static bool others_sleep(void)
{
    unsigned long before = 0;
    for (int looks = 0, still = 0; looks < 20000; looks++) {
        unsigned long times = 0;
        bool all = true;
        DIR *tasks = opendir("/proc/self/task");
        for (struct dirent *task; (task = readdir(tasks));)
            if (task->d_name[0] != '.' && atoi(task->d_name) != gettid())
                all &= look_at(atoi(task->d_name), &times) == 'S';
        closedir(tasks);
        still = all && times == before ? still + 1 : 0;
        if (still == 20) return true;
        before = times;
        usleep(1000);
    }
    return false;
}

static void write_one(struct stage *s, uint64_t id)
{
    NEED(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_RDMA_WRITE, id, 0, 8)));
}

/* --- arming --- */

static VAPI_cqe_num_t expected; /* completions that the handler is to be called for */
static bool told;

static void on_completion(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, void *priv)
{
    bool all = EVAPI_peek_cq(hca, cq, expected) == VAPI_OK;
    pthread_mutex_lock(&lock);
    told |= all;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static bool is_told(void)
{
    struct timespec until;
    int error = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    pthread_mutex_lock(&lock);
    while (!told && !error) error = pthread_cond_timedwait(&changed, &lock, &until);
    bool result = told;
    pthread_mutex_unlock(&lock);
    return result;
}

static int arm_next(struct stage *s)
{
    return VAPI_req_comp_notif(s->hca, s->a.scq, VAPI_NEXT_COMP);
}

static int arm_five(struct stage *s)
{
    return EVAPI_req_ncomp_notif(s->hca, s->a.scq, 5);
}

/* The thread that calls handlers has seen an event, of arming for three, and counts. What is armed
 * now must not be lost on it: when `then` completions are there that were not, the handler is
 * called.
 */
static void arm_meanwhile(struct stage *s, int (*arm)(struct stage *), unsigned first,
                          unsigned then, const char *name)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    struct worker armer;
    make_ends(s, &w);
    VAPI_cq_hndl_t cq = s->a.scq;
    struct ibv_context *context = vapi_slot_of(cq)->verbs.cq->context;
    poll_below = context->ops.poll_cq;
    context->ops.poll_cq = gated_poll;
    expected = first + then;
    told = false;
    NEED(EVAPI_set_comp_eventh(s->hca, cq, on_completion, s, &handle));
    NEED(EVAPI_req_ncomp_notif(s->hca, cq, 3));
    shut_gate(POLL);
    for (unsigned i = 0; i < first; i++) write_one(s, i);
    await_inside();
    begin(&armer, s, arm);
    sleeps(&armer); /* until the thread has counted; or has gone on without that */
    open_gate();
    is_code(end(&armer), VAPI_OK, name);
    for (unsigned i = 0; i < then; i++) write_one(s, i);
    is_true(is_told(), "and the handler is called");
    NEED(EVAPI_clear_comp_eventh(s->hca, handle));
    context->ops.poll_cq = poll_below;
    drop_ends(s);
}

static int calls;

static void on_any(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, void *priv)
{
    bool theirs = cq == *(const VAPI_cq_hndl_t *)priv;
    pthread_mutex_lock(&lock);
    calls += theirs;
    told |= !theirs;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Waiting arms too, but for itself: a handler that comes later is called when it was armed for. */
static void armed_by_nobody(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t one, other;
    VAPI_wc_desc_t wc;
    make_ends(s, &w);
    VAPI_cq_hndl_t cq = s->a.scq;
    NEED(EVAPI_set_comp_eventh(s->hca, cq, EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, &one));
    if (EVAPI_poll_cq_block(s->hca, cq, 1, &wc) != VAPI_ETIMEOUT) NEED(VAPI_EGEN);
    NEED(EVAPI_clear_comp_eventh(s->hca, one));
    calls = 0;
    told = false;
    NEED(EVAPI_set_comp_eventh(s->hca, cq, on_any, &cq, &one));
    NEED(EVAPI_set_comp_eventh(s->hca, s->b.rcq, on_any, &cq, &other));
    NEED(VAPI_req_comp_notif(s->hca, s->b.rcq, VAPI_NEXT_COMP));
    write_one(s, 1);
    NEED(VAPI_post_rr(s->hca, s->b.qp, receive(s, 1, 1024, 8)));
    NEED(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_SEND, 2, 0, 8)));
    is_true(is_told(), "a queue that was armed raises its event");
    NEED(EVAPI_clear_comp_eventh(s->hca, one));
    NEED(EVAPI_clear_comp_eventh(s->hca, other));
    is_number(calls, 0, "and one that only a thread had waited on does not");
    drop_ends(s);
}

/* A thread that removes a handler waits for its calls.  If that thread is cancelled meanwhile it
 * ends, but not there: nothing stays locked. */
static void on_gated(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, void *priv)
{
    pass(HANDLER);
}

static void on_gated_async(VAPI_hca_hndl_t hca, VAPI_event_record_t *record, void *priv)
{
    pass(HANDLER);
}

static EVAPI_async_handler_hndl_t async_handle;

static int clear_async(struct stage *s)
{
    return EVAPI_clear_async_event_handler(s->hca, async_handle);
}

static int clear(struct stage *s)
{
    return EVAPI_clear_comp_eventh(s->hca, s->a.scq);
}

/* With a handler at the gate. */
static void cancel(struct stage *s, int (*call)(struct stage *), const char *name)
{
    struct worker first, second;
    await_inside();
    begin(&first, s, call);
    is_true(sleeps(&first), name);
    pthread_cancel(first.thread);
    open_gate();
    end(&first);
    begin(&second, s, call);
    bool stuck = sleeps(&second);
    is_true(!stuck, "and may be cancelled");
    if (stuck) _exit(finish());
    end(&second);
}

static void cancelled(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    make_ends(s, &w);
    shut_gate(HANDLER);
    NEED(EVAPI_set_comp_eventh(s->hca, s->a.scq, on_gated, NULL, &handle));
    NEED(VAPI_req_comp_notif(s->hca, s->a.scq, VAPI_NEXT_COMP));
    write_one(s, 1);
    cancel(s, clear, "removing a handler waits for it to return");
    drop_ends(s);
    make_ends(s, &w);
    shut_gate(HANDLER);
    NEED(EVAPI_set_async_event_handler(s->hca, on_gated_async, NULL, &async_handle));
    VAPI_sr_desc_t *d = request(s, VAPI_RDMA_WRITE, 9, 0, 8);
    d->r_key ^= 0x5555;
    NEED(VAPI_post_sr(s->hca, s->a.qp, d));
    cancel(s, clear_async, "so does removing one of asynchronous events");
    drop_ends(s);
}

/* --- two at once --- */

static int modify(struct stage *s)
{
    return change_state(s, s->a.qp, VAPI_ERR);
}

static int resize(struct stage *s)
{
    VAPI_cqe_num_t actual;
    return VAPI_resize_cq(s->hca, s->a.scq, 5 * DEPTH, &actual);
}

static void two_at_once(struct stage *s, enum operation of, int (*call)(struct stage *),
                        VAPI_ret_t wanted, const char *name)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    struct worker first;
    make_ends(s, &w);
    shut_gate(of);
    begin(&first, s, call);
    await_inside();
    is_code(call(s), wanted, name);
    open_gate();
    is_code(end(&first), VAPI_OK, "of which the first is not disturbed");
    is_code(call(s), VAPI_OK, "and afterwards it can be done again");
    drop_ends(s);
}

static void failed_srq(struct stage *s)
{
    VAPI_srq_attr_t attr = {.pd_hndl = s->pd, .max_outs_wr = 4, .max_sentries = 1}, got;
    VAPI_srq_hndl_t srq;
    NEED(VAPI_create_srq(s->hca, &attr, &srq, NULL));
    failed = true;
    is_code(VAPI_query_srq(s->hca, srq, &got), VAPI_ESRQ, "a shared queue that has failed");
    failed = false;
    is_code(VAPI_query_srq(s->hca, srq, &got), VAPI_OK, "one that has not");
    NEED(VAPI_destroy_srq(s->hca, srq));
}

/* --- asleep --- */

static VAPI_wc_desc_t taken;

static int block(struct stage *s)
{
    return EVAPI_poll_cq_block(s->hca, s->a.scq, 0, &taken);
}

static int block_a_while(struct stage *s)
{
    return EVAPI_poll_cq_block(s->hca, s->a.scq, 100000, &taken);
}

static void asleep(struct stage *s)
{
    struct wants wants = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    struct worker w;
    make_ends(s, &wants);
    NEED(EVAPI_set_comp_eventh(s->hca, s->a.scq, EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, &handle));

    begin(&w, s, block);
    is_true(sleeps(&w), "VC-5 a thread that waits for a completion sleeps");
    write_one(s, 6);
    is_code(end(&w), VAPI_OK, "VC-5 until it comes");
    is_number((long long)taken.id, 6, "VC-5 which is the one that was waited for");

    begin(&w, s, block);
    is_true(sleeps(&w), "VC-5 the next");
    NEED(EVAPI_poll_cq_unblock(s->hca, s->a.scq));
    is_code(end(&w), VAPI_CQ_EMPTY, "VC-5 and is woken by a call");

    begin(&w, s, block);
    is_true(sleeps(&w), "VC-5 or sleeps");
    NEED(EVAPI_clear_comp_eventh(s->hca, handle));
    is_code(end(&w), VAPI_CQ_EMPTY, "VC-5 until waiting is over for all");

    NEED(EVAPI_set_comp_eventh(s->hca, s->a.scq, EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, &handle));
    begin(&w, s, block_a_while);
    is_code(end(&w), VAPI_ETIMEOUT, "VC-5 for a tenth of a second");
    long slept = w.after.ru_nvcsw - w.before.ru_nvcsw;
    is_true(slept >= 1 && slept <= 20, "VC-5 it sleeps, and does not look again and again");
    NEED(EVAPI_clear_comp_eventh(s->hca, handle));
    drop_ends(s);
}

/* --- a device that is gone --- */

static void on_async(VAPI_hca_hndl_t hca, VAPI_event_record_t *record, void *priv) {}

/* No thread can wait on an unplugged device: its descriptors are ready for ever, and
 * there is never anything. */
static void unplug(int fd)
{
    int ends[2];
    if (pipe(ends)) NEED(VAPI_EGEN);
    close(ends[1]);
    dup2(ends[0], fd);
    close(ends[0]);
}

static void gone(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t one, other;
    EVAPI_async_handler_hndl_t async;
    make_ends(s, &w);
    struct ibv_cq *cq = vapi_slot_of(s->a.scq)->verbs.cq;
    struct ibv_cq *blocked = vapi_slot_of(s->b.scq)->verbs.cq;
    unplug(cq->channel->fd);
    unplug(blocked->channel->fd);
    unplug(cq->context->async_fd);
    NEED(EVAPI_set_comp_eventh(s->hca, s->a.scq, on_any, &s->a.scq, &one));
    NEED(EVAPI_set_comp_eventh(s->hca, s->b.scq, EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, &other));
    NEED(EVAPI_set_async_event_handler(s->hca, on_async, NULL, &async));
    is_true(others_sleep(), "the library's threads sleep when a device is gone");
    is_code(EVAPI_poll_cq_block(s->hca, s->b.scq, 0, &taken), VAPI_EFATAL,
            "the waiting thread returns");
    NEED(EVAPI_clear_async_event_handler(s->hca, async));
    NEED(EVAPI_clear_comp_eventh(s->hca, one));
    NEED(EVAPI_clear_comp_eventh(s->hca, other));
    drop_ends(s);
}

/* --- threads that cannot start --- */

static void on_none(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, void *priv) {}

/* As many descriptors more than there are as it takes: what failed for want of them can be done
 * later, and an HCA whose threads did not start is released. */
static void few_descriptors(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    VAPI_ret_t code = VAPI_EAGAIN;
    struct rlimit before, few;
    int room = 0;
    make_ends(s, &w);
    getrlimit(RLIMIT_NOFILE, &before);
    for (; code == VAPI_EAGAIN && room < 10; room++) {
        int lowest = dup(0);
        close(lowest);
        few = before;
        few.rlim_cur = (rlim_t)(lowest + room);
        setrlimit(RLIMIT_NOFILE, &few);
        code = VAPI_set_comp_event_handler(s->hca, on_none, NULL);
        setrlimit(RLIMIT_NOFILE, &before);
    }
    is_true(code == VAPI_OK && room > 1, "a handler for all, as soon as there are descriptors");
    drop_ends(s);
}

int main(void)
{
    struct stage s;
    setenv("SOFTHCA", "on", 1);
    open_stage(&s);
    few_descriptors(&s);
    close_stage(&s);
    open_stage(&s);
    arm_meanwhile(&s, arm_next, 1, 1, "the next completion is armed for while three are counted");
    arm_meanwhile(&s, arm_five, 3, 2, "five are, while three are counted that are there");
    armed_by_nobody(&s);
    cancelled(&s);
    two_at_once(&s, MODIFY, modify, VAPI_EAGAIN, "two threads that change a queue pair");
    two_at_once(&s, RESIZE, resize, VAPI_EBUSY, "two threads that resize a completion queue");
    failed_srq(&s);
    asleep(&s);
    gone(&s);
    close_stage(&s);
    return finish();
}
