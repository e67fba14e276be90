/* overlap.c - calls under way while another comes: two changes of one object at once, arming while
 * the library's thread looks at what was armed before, and threads that sleep until another wakes
 * them (VC-5); and threads that cannot start, or have nothing more to wait for.
 *
 * The first call is kept at a gate inside the verbs operation that it makes (tests/gate.h).
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "qp_pair.h"
#include "tests/gate.h"

enum operation { MODIFY = 1, RESIZE, POLL, HANDLER, NOTIFY };

GATE_INTERPOSED int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    int (*next)(struct ibv_qp *, struct ibv_qp_attr *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "ibv_modify_qp");
    gate_pass(MODIFY);
    return next(qp, attr, mask);
}

GATE_INTERPOSED int ibv_resize_cq(struct ibv_cq *cq, int entries)
{
    int (*next)(struct ibv_cq *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "ibv_resize_cq");
    gate_pass(RESIZE);
    return next(cq, entries);
}

/* No software device has a shared queue that has failed: here is one. */
static bool failed;

GATE_INTERPOSED int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
    int (*next)(struct ibv_srq *, struct ibv_srq_attr *);
    *(void **)&next = dlsym(RTLD_NEXT, "ibv_query_srq");
    return failed ? EINVAL : next(srq, attr);
}

static int (*poll_below)(struct ibv_cq *, int, struct ibv_wc *);

static int gated_poll(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    gate_pass(POLL);
    return poll_below(cq, count, wc);
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
    pthread_mutex_lock(&gate_lock);
    told |= all;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate_lock);
}

static bool is_told(void)
{
    struct timespec until;
    int error = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    pthread_mutex_lock(&gate_lock);
    while (!told && !error) error = pthread_cond_timedwait(&gate_changed, &gate_lock, &until);
    bool result = told;
    pthread_mutex_unlock(&gate_lock);
    return result;
}

static int arm_next(void *stage)
{
    struct stage *s = stage;
    return VAPI_req_comp_notif(s->hca, s->a.scq, VAPI_NEXT_COMP);
}

static int arm_five(void *stage)
{
    struct stage *s = stage;
    return EVAPI_req_ncomp_notif(s->hca, s->a.scq, 5);
}

/* The thread that calls handlers has seen an event, of arming for three, and counts. What is armed
 * now must not be lost on it: when `then` completions are there that were not, the handler is
 * called.
 */
static void arm_meanwhile(struct stage *s, gate_call *arm, unsigned first, unsigned then,
                          const char *name)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    struct gate_worker armer;
    make_ends(s, &w);
    VAPI_cq_hndl_t cq = s->a.scq;
    struct ibv_context *context = vapi_slot_of(cq)->verbs.cq->context;
    poll_below = context->ops.poll_cq;
    context->ops.poll_cq = gated_poll;
    expected = first + then;
    told = false;
    NEED(EVAPI_set_comp_eventh(s->hca, cq, on_completion, s, &handle));
    NEED(EVAPI_req_ncomp_notif(s->hca, cq, 3));
    gate_shut(POLL);
    for (unsigned i = 0; i < first; i++) write_one(s, i);
    gate_await_inside();
    gate_begin(&armer, s, arm);
    gate_sleeps(&armer); /* until the thread has counted; or has gone on without that */
    gate_open();
    is_code(gate_end(&armer), VAPI_OK, name);
    for (unsigned i = 0; i < then; i++) write_one(s, i);
    is_true(is_told(), "and the handler is called");
    NEED(EVAPI_clear_comp_eventh(s->hca, handle));
    context->ops.poll_cq = poll_below;
    drop_ends(s);
}

static int (*notify_below)(struct ibv_cq *, int);

static int gated_notify(struct ibv_cq *cq, int solicited)
{
    int error = notify_below(cq, solicited);
    gate_pass(NOTIFY);
    return error;
}

/* A completion comes while a thread arms: the device is armed, and the library has not noted yet
 * what for.  The thread that calls handlers waits for that. */
static void event_while_arming(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    struct gate_worker armer;
    make_ends(s, &w);
    VAPI_cq_hndl_t cq = s->a.scq;
    struct ibv_context *context = vapi_slot_of(cq)->verbs.cq->context;
    notify_below = context->ops.req_notify_cq;
    context->ops.req_notify_cq = gated_notify;
    expected = 1;
    told = false;
    NEED(EVAPI_set_comp_eventh(s->hca, cq, on_completion, s, &handle));
    gate_shut(NOTIFY);
    gate_begin(&armer, s, arm_next);
    gate_await_inside();
    write_one(s, 1);
    is_true(gate_others_sleep(), "a completion comes while a thread arms for it");
    gate_open();
    is_code(gate_end(&armer), VAPI_OK, "which then is armed");
    is_true(is_told(), "and the handler is called");
    context->ops.req_notify_cq = notify_below;
    NEED(EVAPI_clear_comp_eventh(s->hca, handle));
    drop_ends(s);
}

static int calls;

static void on_any(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, void *priv)
{
    bool theirs = cq == *(const VAPI_cq_hndl_t *)priv;
    pthread_mutex_lock(&gate_lock);
    calls += theirs;
    told |= !theirs;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate_lock);
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
    gate_pass(HANDLER);
}

static void on_gated_async(VAPI_hca_hndl_t hca, VAPI_event_record_t *record, void *priv)
{
    gate_pass(HANDLER);
}

static EVAPI_async_handler_hndl_t async_handle;

static int clear_async(void *stage)
{
    struct stage *s = stage;
    return EVAPI_clear_async_event_handler(s->hca, async_handle);
}

static int clear(void *stage)
{
    struct stage *s = stage;
    return EVAPI_clear_comp_eventh(s->hca, s->a.scq);
}

/* With a handler at the gate. */
static void cancel(struct stage *s, gate_call *call, const char *name)
{
    struct gate_worker first, second;
    gate_await_inside();
    gate_begin(&first, s, call);
    is_true(gate_sleeps(&first), name);
    pthread_cancel(first.thread);
    gate_open();
    gate_end(&first);
    gate_begin(&second, s, call);
    bool stuck = gate_sleeps(&second);
    is_true(!stuck, "and may be cancelled");
    if (stuck) _exit(check_end());
    gate_end(&second);
}

static void cancelled(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    make_ends(s, &w);
    gate_shut(HANDLER);
    NEED(EVAPI_set_comp_eventh(s->hca, s->a.scq, on_gated, NULL, &handle));
    NEED(VAPI_req_comp_notif(s->hca, s->a.scq, VAPI_NEXT_COMP));
    write_one(s, 1);
    cancel(s, clear, "removing a handler waits for it to return");
    drop_ends(s);
    make_ends(s, &w);
    gate_shut(HANDLER);
    NEED(EVAPI_set_async_event_handler(s->hca, on_gated_async, NULL, &async_handle));
    VAPI_sr_desc_t *d = request(s, VAPI_RDMA_WRITE, 9, 0, 8);
    d->r_key ^= 0x5555;
    NEED(VAPI_post_sr(s->hca, s->a.qp, d));
    cancel(s, clear_async, "so does removing one of asynchronous events");
    drop_ends(s);
}

/* --- two at once --- */

static int modify(void *stage)
{
    struct stage *s = stage;
    return change_state(s, s->a.qp, VAPI_ERR);
}

static int resize(void *stage)
{
    struct stage *s = stage;
    VAPI_cqe_num_t actual;
    return VAPI_resize_cq(s->hca, s->a.scq, 5 * DEPTH, &actual);
}

static void two_at_once(struct stage *s, enum operation of, gate_call *call, VAPI_ret_t wanted,
                        const char *name)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    struct gate_worker first;
    make_ends(s, &w);
    gate_shut(of);
    gate_begin(&first, s, call);
    gate_await_inside();
    is_code(call(s), wanted, name);
    gate_open();
    is_code(gate_end(&first), VAPI_OK, "of which the first is not disturbed");
    is_code(call(s), VAPI_OK, "and afterwards it can be done again");
    drop_ends(s);
}

static int reset(void *stage)
{
    struct stage *s = stage;
    return change_state(s, s->a.qp, VAPI_RESET);
}

static int peek(void *stage)
{
    struct stage *s = stage;
    return EVAPI_peek_cq(s->hca, s->a.scq, 1);
}

/* Completions of a queue pair that is reset are removed: no other thread sees them in part. */
static void peek_while_purging(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    struct gate_worker purger, peeker;
    make_ends(s, &w);
    struct ibv_context *context = vapi_slot_of(s->a.scq)->verbs.cq->context;
    poll_below = context->ops.poll_cq;
    context->ops.poll_cq = gated_poll;
    write_one(s, 1);
    gate_shut(POLL);
    gate_begin(&purger, s, reset);
    gate_await_inside();
    gate_begin(&peeker, s, peek);
    is_true(gate_sleeps(&peeker), "a thread that counts completions waits while some are removed");
    gate_open();
    is_code(gate_end(&purger), VAPI_OK, "by the reset of a queue pair");
    is_code(gate_end(&peeker), VAPI_CQ_EMPTY, "and then finds none");
    context->ops.poll_cq = poll_below;
    drop_ends(s);
}

enum { POSTS = 16 };
static VAPI_srq_hndl_t shared;
static pthread_barrier_t both;

static int post_many(void *stage)
{
    struct stage *s = stage;
    VAPI_ret_t code = VAPI_OK;
    pthread_barrier_wait(&both); /* the end of one call is not ordered before the other */
    for (uint64_t i = 0; i < POSTS && code == VAPI_OK; i++) {
        VAPI_sg_lst_entry_t piece = {.addr = (uintptr_t)s->memory, .len = 8, .lkey = s->keys.l_key};
        VAPI_rr_desc_t receive = {.id = UINT64_C(3) << 62 | i,
                                  .opcode = VAPI_RECEIVE,
                                  .comp_type = VAPI_SIGNALED,
                                  .sg_lst_p = &piece,
                                  .sg_lst_len = 1};
        u_int32_t posted;
        code = VAPI_post_srq(s->hca, shared, 1, &receive, &posted);
    }
    return code;
}

/* Receives whose ids need records, which the queue's lock protects: the thread sanitizer looks. */
static void two_post(struct stage *s)
{
    VAPI_srq_attr_t attr = {.pd_hndl = s->pd, .max_outs_wr = 2 * POSTS, .max_sentries = 1};
    struct gate_worker one, other;
    NEED(VAPI_create_srq(s->hca, &attr, &shared, NULL));
    pthread_barrier_init(&both, NULL, 2);
    gate_begin(&one, s, post_many);
    gate_begin(&other, s, post_many);
    is_code(gate_end(&one), VAPI_OK, "two threads post receives of long ids to a shared queue");
    is_code(gate_end(&other), VAPI_OK, "both of them");
    pthread_barrier_destroy(&both);
    NEED(VAPI_destroy_srq(s->hca, shared));
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

static int block(void *stage)
{
    struct stage *s = stage;
    return EVAPI_poll_cq_block(s->hca, s->a.scq, 0, &taken);
}

static int block_a_while(void *stage)
{
    struct stage *s = stage;
    return EVAPI_poll_cq_block(s->hca, s->a.scq, 100000, &taken);
}

static void asleep(struct stage *s)
{
    struct wants wants = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    struct gate_worker w;
    make_ends(s, &wants);
    NEED(EVAPI_set_comp_eventh(s->hca, s->a.scq, EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, &handle));

    gate_begin(&w, s, block);
    is_true(gate_sleeps(&w), "VC-5 a thread that waits for a completion sleeps");
    write_one(s, 6);
    is_code(gate_end(&w), VAPI_OK, "VC-5 until it comes");
    is_number((long long)taken.id, 6, "VC-5 which is the one that was waited for");

    gate_begin(&w, s, block);
    is_true(gate_sleeps(&w), "VC-5 the next");
    NEED(EVAPI_poll_cq_unblock(s->hca, s->a.scq));
    is_code(gate_end(&w), VAPI_CQ_EMPTY, "VC-5 and is woken by a call");

    gate_begin(&w, s, block);
    is_true(gate_sleeps(&w), "VC-5 or sleeps");
    NEED(EVAPI_clear_comp_eventh(s->hca, handle));
    is_code(gate_end(&w), VAPI_CQ_EMPTY, "VC-5 until waiting is over for all");

    NEED(EVAPI_set_comp_eventh(s->hca, s->a.scq, EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, &handle));
    gate_begin(&w, s, block_a_while);
    is_code(gate_end(&w), VAPI_ETIMEOUT, "VC-5 for a tenth of a second");
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
    is_true(gate_others_sleep(), "the library's threads sleep when a device is gone");
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
    event_while_arming(&s);
    armed_by_nobody(&s);
    cancelled(&s);
    two_at_once(&s, MODIFY, modify, VAPI_EAGAIN, "two threads that change a queue pair");
    two_at_once(&s, RESIZE, resize, VAPI_EBUSY, "two threads that resize a completion queue");
    peek_while_purging(&s);
    two_post(&s);
    failed_srq(&s);
    asleep(&s);
    gone(&s);
    close_stage(&s);
    return check_end();
}
