/* poll.c - looking ahead, waiting, handlers. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "qp_pair.h"

static void write_one(struct stage *s, uint64_t id)
{
    NEED(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_RDMA_WRITE, id, 0, 8)));
}

/* Writes with these ids complete in lists of up to 4. */
static void in_lists(struct stage *s, uint64_t first)
{
    enum { WRITES = 10, MOST = 4 };
    VAPI_cq_hndl_t cq = s->a.scq;
    VAPI_wc_desc_t wc[MOST];
    u_int32_t count = 7;
    VAPI_ret_t code = VAPI_OK;
    bool well = true;
    is_code(EVAPI_poll_cq_list(s->hca, cq, 0, wc, &count), VAPI_EINVAL_PARAM, "a list of none");
    is_number(count, 0, "holds none");
    for (uint64_t i = 0; i < WRITES; i++) write_one(s, first + i);
    for (uint64_t next = first; well && next < first + WRITES;) {
        code = EVAPI_poll_cq_list(s->hca, cq, MOST, wc, &count);
        well = count <= MOST && (code == VAPI_OK) == (count > 0);
        for (u_int32_t i = 0; well && i < count; i++)
            well = wc[i].id == next++ && wc[i].status == VAPI_SUCCESS && wc[i].free_res_count == 1;
    }
    is_number(well, 1, "lists have all completions in order");
    is_code(EVAPI_poll_cq_list(s->hca, cq, MOST, wc, &count), VAPI_CQ_EMPTY, "and then none");
    is_number(count, 0, "are in the list");
}

void poll_rules(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    VAPI_wc_desc_t wc;
    VAPI_cqe_num_t entries;
    make_ends(s, &w);
    VAPI_cq_hndl_t cq = s->a.scq;
    NEED(VAPI_query_cq(s->hca, cq, &entries));
    is_code(VAPI_poll_cq(s->hca, cq, &wc), VAPI_CQ_EMPTY, "nothing there");
    in_lists(s, 100);
    in_lists(s, UINT64_C(3) << 62);
    write_one(s, 1);
    is_number(await_wc(s, cq).id, 1, "the first comes");
    is_code(EVAPI_peek_cq(s->hca, cq, 0), VAPI_E2BIG_CQ_NUM, "looking at no entry");
    is_code(EVAPI_peek_cq(s->hca, cq, entries + 1), VAPI_E2BIG_CQ_NUM,
            "or at more than there can be");
    is_code(EVAPI_peek_cq(s->hca, cq, 1), VAPI_CQ_EMPTY, "nothing to look at");
    for (uint64_t i = 2; i < 12; i++) write_one(s, i);
    while (EVAPI_peek_cq(s->hca, cq, 10) == VAPI_CQ_EMPTY) continue;
    int seen = 0;
    for (VAPI_cqe_num_t n = 1; n <= 10; n++) seen += EVAPI_peek_cq(s->hca, cq, n) == VAPI_OK;
    is_number(seen, 10, "all are there");
    is_code(EVAPI_peek_cq(s->hca, cq, 11), VAPI_CQ_EMPTY, "and no more");
    VAPI_cqe_num_t actual;
    is_code(VAPI_resize_cq(s->hca, cq, 5, &actual), VAPI_E2BIG_CQ_NUM, "they would not fit in 5");
    int in_order = 0;
    for (uint64_t i = 2; i < 12; i++) in_order += await_wc(s, cq).id == i;
    is_number(in_order, 10, "they come in order");
    is_code(VAPI_poll_cq(s->hca, cq, &wc), VAPI_CQ_EMPTY, "and then none");
    in_lists(s, 200); /* completions may wait in the library now */
    is_code(VAPI_req_comp_notif(s->hca, cq, VAPI_NOTIF_NONE), VAPI_OK, "arming for nothing");
    is_code(VAPI_req_comp_notif(s->hca, cq, (VAPI_cq_notif_type_t)7), VAPI_EINVAL_NOTIF_TYPE,
            "arming for I know not what");
    is_code(EVAPI_req_ncomp_notif(s->hca, cq, 0), VAPI_E2BIG_CQ_NUM, "arming for no completion");
    is_code(EVAPI_req_ncomp_notif(s->hca, cq, 0x8000), VAPI_E2BIG_CQ_NUM, "or for 0x8000");
    drop_ends(s);
}

/* --- waiting --- */

struct waiter {
    struct stage *s;
    VAPI_ret_t code;
    VAPI_wc_desc_t wc;
};

static void *wait_once(void *argument)
{
    struct waiter *w = argument;
    do w->code = EVAPI_poll_cq_block(w->s->hca, w->s->a.scq, 0, &w->wc);
    while (w->code == VAPI_EINTR);
    return NULL;
}

static void *wait_for_ever(void *argument)
{
    struct waiter *w = argument;
    for (;;) EVAPI_poll_cq_block(w->s->hca, w->s->a.scq, 0, &w->wc);
    return NULL;
}

/* A cancellation is pending that the thread has not allowed. */
static void *wait_unmoved(void *argument)
{
    struct waiter *w = argument;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cancel(pthread_self());
    w->code = EVAPI_poll_cq_block(w->s->hca, w->s->a.scq, 1000, &w->wc);
    return NULL;
}

static void on_signal(int number) {}

static void *interrupt(void *argument)
{
    pthread_t *whom = argument;
    for (;;) { /* until it is cancelled: the signal may come before the wait */
        pthread_kill(*whom, SIGUSR1);
        usleep(1000);
    }
    return NULL;
}

void wait_rules(struct stage *s)
{
    struct wants wants = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    struct waiter w = {.s = s};
    pthread_t thread;
    make_ends(s, &wants);
    VAPI_cq_hndl_t cq = s->a.scq;
    is_code(EVAPI_poll_cq_block(s->hca, cq, 1, &w.wc), VAPI_EINVAL_PARAM,
            "waiting without EVAPI_POLL_CQ_UNBLOCK_HANDLER");
    is_code(EVAPI_poll_cq_unblock(s->hca, cq), VAPI_EINVAL_PARAM, "waking");
    is_code(EVAPI_set_comp_eventh(s->hca, cq, EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, &handle),
            VAPI_OK, "that handler");
    is_true(handle == cq, "its handle is the CQ's");
    is_code(EVAPI_set_comp_eventh(s->hca, cq, EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, &handle),
            VAPI_EBUSY, "a second one");
    is_code(EVAPI_poll_cq_block(s->hca, cq, 1000, &w.wc), VAPI_ETIMEOUT, "a millisecond goes by");
    is_code(EVAPI_poll_cq_unblock(s->hca, cq), VAPI_OK, "waking nobody");
    is_code(EVAPI_poll_cq_block(s->hca, cq, 0, &w.wc), VAPI_CQ_EMPTY, "wakes the next");
    is_code(EVAPI_poll_cq_block(s->hca, cq, 1000, &w.wc), VAPI_ETIMEOUT, "and not the one after");
    write_one(s, 5);
    VAPI_ret_t code;
    while ((code = EVAPI_poll_cq_block(s->hca, cq, 0, &w.wc)) == VAPI_CQ_EMPTY) continue;
    is_true(code == VAPI_OK && w.wc.id == 5, "a completion that is there");

    pthread_create(&thread, NULL, wait_once, &w);
    usleep(2000);
    NEED(EVAPI_poll_cq_unblock(s->hca, cq));
    pthread_join(thread, NULL);
    is_code(w.code, VAPI_CQ_EMPTY, "a thread that waits is woken");
    pthread_create(&thread, NULL, wait_once, &w);
    usleep(2000);
    write_one(s, 6);
    pthread_join(thread, NULL);
    while (w.code == VAPI_CQ_EMPTY) { /* an event of earlier times has woken it */
        pthread_create(&thread, NULL, wait_once, &w);
        pthread_join(thread, NULL);
    }
    is_true(w.code == VAPI_OK && w.wc.id == 6, "or gets what comes");

    pthread_t self = pthread_self();
    const struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, interrupt, &self);
    while ((code = EVAPI_poll_cq_block(s->hca, cq, 0, &w.wc)) == VAPI_CQ_EMPTY) continue;
    is_code(code, VAPI_EINTR, "or a signal");
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, wait_for_ever, &w);
    usleep(2000);
    pthread_cancel(thread);
    void *result;
    pthread_join(thread, &result);
    is_true(result == PTHREAD_CANCELED, "or is cancelled");
    pthread_create(&thread, NULL, wait_unmoved, &w);
    pthread_join(thread, &result);
    is_true(result == NULL && w.code == VAPI_ETIMEOUT, "but not if it has disabled that");
    write_one(s, 7);
    is_number(await_wc(s, cq).id, 7, "which leaves the CQ in order");
    is_code(VAPI_destroy_cq(s->hca, cq), VAPI_EBUSY, "a CQ with a handler stays");
    is_code(EVAPI_clear_comp_eventh(s->hca, handle), VAPI_OK, "until that is taken away");
    drop_ends(s);
}

/* --- handlers --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int calls, reaped, async_calls;
static VAPI_event_record_t last;
static atomic_bool clear_inside;

static void count(int *counter, int by)
{
    pthread_mutex_lock(&lock);
    *counter += by;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await(int *counter, int wanted)
{
    pthread_mutex_lock(&lock);
    while (*counter < wanted) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* Reaps, arms, reaps again, as GASNet's did. */
static void on_completion(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, void *priv)
{
    VAPI_wc_desc_t wc;
    int found = 0;
    struct stage *s = priv;
    count(&calls, 1);
    while (VAPI_poll_cq(hca, cq, &wc) == VAPI_OK) found++;
    VAPI_req_comp_notif(hca, cq, VAPI_NEXT_COMP);
    while (VAPI_poll_cq(hca, cq, &wc) == VAPI_OK) found++;
    if (found == 0) return; /* in doubt a handler is called once too often */
    if (atomic_load(&clear_inside)) EVAPI_clear_comp_eventh(hca, s->a.scq);
    count(&reaped, found);
}

static void on_n(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, void *priv)
{
    count(&calls, 1);
}

static void on_async(VAPI_hca_hndl_t hca, VAPI_event_record_t *record, void *priv)
{
    pthread_mutex_lock(&lock);
    last = *record;
    pthread_mutex_unlock(&lock);
    count(&async_calls, 1);
}

static int order[2], ordered;
static void first_handler(VAPI_hca_hndl_t hca, VAPI_event_record_t *record, void *priv)
{
    if (ordered < 2) order[ordered++] = 1;
    count(&async_calls, 1);
}

static void second_handler(VAPI_hca_hndl_t hca, VAPI_event_record_t *record, void *priv)
{
    if (ordered < 2) order[ordered++] = 2;
    count(&async_calls, 1);
}

static void completions(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    make_ends(s, &w);
    VAPI_cq_hndl_t cq = s->a.scq;
    is_code(EVAPI_set_comp_eventh(s->hca, cq, NULL, s, &handle), VAPI_EINVAL_PARAM, "no handler");
    is_code(EVAPI_set_comp_eventh(s->hca, cq, on_completion, s, &handle), VAPI_OK, "a handler");
    is_code(EVAPI_set_comp_eventh(s->hca, cq, on_completion, s, &handle), VAPI_EBUSY,
            "and another");
    NEED(VAPI_req_comp_notif(s->hca, cq, VAPI_NEXT_COMP));
    const int many = 2000;
    for (int i = 0; i < many; i++) {
        VAPI_ret_t code;
        while ((code = VAPI_post_sr(s->hca, s->a.qp,
                                    request(s, VAPI_RDMA_WRITE, (uint64_t)i, 0, 8))) ==
               VAPI_E2BIG_WR_NUM)
            usleep(50);
        need(code, "VAPI_post_sr");
    }
    await(&reaped, many);
    is_number(reaped, many, "no wake-up is lost");
    atomic_store(&clear_inside, true);
    NEED(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_RDMA_WRITE, 1, 0, 8)));
    await(&reaped, many + 1);
    is_code(EVAPI_clear_comp_eventh(s->hca, handle), VAPI_OK, "a handler that took itself away");
    is_code(EVAPI_set_comp_eventh(s->hca, cq, on_n, s, &handle), VAPI_OK, "leaves room for one");
    is_code(EVAPI_clear_comp_eventh(s->hca, handle), VAPI_OK, "which goes too");
    drop_ends(s);
}

/* On a CQ without earlier completions. */
static void counted_completions(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    make_ends(s, &w);
    VAPI_cq_hndl_t cq = s->a.scq;
    NEED(EVAPI_set_comp_eventh(s->hca, cq, on_n, s, &handle));
    calls = 0;
    is_code(EVAPI_req_ncomp_notif(s->hca, cq, 4), VAPI_OK, "of four completions");
    for (uint64_t i = 0; i < 3; i++) write_one(s, i);
    while (EVAPI_peek_cq(s->hca, cq, 3) == VAPI_CQ_EMPTY) continue;
    is_number(calls, 0, "is not told of three");
    write_one(s, 3);
    await(&calls, 1);
    is_number(calls, 1, "but of four");
    is_code(EVAPI_clear_comp_eventh(s->hca, handle), VAPI_OK, "a handler goes");
    is_code(EVAPI_clear_comp_eventh(s->hca, handle), VAPI_OK,
            "and that there is none does not matter");
    calls = 0;
    is_code(VAPI_set_comp_event_handler(s->hca, NULL, NULL), VAPI_EINVAL_PARAM, "none for all");
    is_code(VAPI_set_comp_event_handler(s->hca, on_n, s), VAPI_OK, "one for all");
    is_code(VAPI_set_comp_event_handler(s->hca, on_n, s), VAPI_EBUSY, "and one alone");
    NEED(VAPI_req_comp_notif(s->hca, cq, VAPI_NEXT_COMP));
    write_one(s, 8);
    await(&calls, 1);
    is_number(calls, 1, "is called");
    drop_ends(s);
}

static void solicited(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    make_ends(s, &w);
    NEED(EVAPI_set_comp_eventh(s->hca, s->b.rcq, on_n, s, &handle));
    calls = 0;
    NEED(VAPI_req_comp_notif(s->hca, s->b.rcq, VAPI_SOLIC_COMP));
    for (int i = 0; i < 2; i++) {
        NEED(VAPI_post_rr(s->hca, s->b.qp, receive(s, 1, 1024, 8)));
        VAPI_sr_desc_t *d = request(s, VAPI_SEND, 1, 0, 8);
        d->set_se = i == 1;
        NEED(VAPI_post_sr(s->hca, s->a.qp, d));
        (void)await_wc(s, s->b.rcq);
        if (i == 0)
            is_number(calls, 0,
                      "an ordinary message raises no event on a queue armed for solicited ones");
    }
    await(&calls, 1);
    is_number(calls, 1, "one that was sent with set_se does");
    NEED(EVAPI_clear_comp_eventh(s->hca, handle));
    drop_ends(s);
}

void event_rules(struct stage *s)
{
    EVAPI_async_handler_hndl_t one, two;
    completions(s);
    counted_completions(s);
    solicited(s);
    is_code(EVAPI_set_async_event_handler(s->hca, NULL, NULL, &one), VAPI_EINVAL_PARAM, "none");
    is_code(EVAPI_set_async_event_handler(s->hca, on_async, NULL, NULL), VAPI_EINVAL_PARAM,
            "nowhere to tell which");
    is_code(VAPI_set_async_event_handler(s->hca, NULL, NULL), VAPI_EINVAL_PARAM, "none, as of old");
    is_code(EVAPI_set_async_event_handler(s->hca, on_async, NULL, &one), VAPI_OK, "a handler");
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    make_ends(s, &w);
    VAPI_sr_desc_t *d = request(s, VAPI_RDMA_WRITE, 9, 0, 8);
    d->r_key ^= 0x5555;
    NEED(VAPI_post_sr(s->hca, s->a.qp, d));
    await(&async_calls, 1);
    is_true(last.type == VAPI_LOCAL_WQ_ACCESS_VIOL_ERROR && last.modifier.qp_hndl == s->b.qp &&
                last.syndrome == VAPI_EV_SYNDROME_NONE,
            "hears that a key was wrong, and of which queue pair");
    drop_ends(s);
    is_code(EVAPI_clear_async_event_handler(s->hca, one), VAPI_OK, "it goes");
    is_code(EVAPI_clear_async_event_handler(s->hca, one), VAPI_EINVAL_PARAM, "once");
    async_calls = 0;
    NEED(EVAPI_set_async_event_handler(s->hca, first_handler, NULL, &one));
    NEED(EVAPI_set_async_event_handler(s->hca, second_handler, NULL, &two));
    make_ends(s, &w);
    d = request(s, VAPI_RDMA_WRITE, 9, 0, 8);
    d->r_key ^= 0x5555;
    NEED(VAPI_post_sr(s->hca, s->a.qp, d));
    await(&async_calls, 2);
    is_true(order[0] == 2 && order[1] == 1, "of two the newer is called first");
    drop_ends(s);
    NEED(EVAPI_clear_async_event_handler(s->hca, two));
    NEED(EVAPI_clear_async_event_handler(s->hca, one));
}
