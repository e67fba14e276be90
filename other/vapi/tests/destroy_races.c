/* destroy_races.c - objects that end while others look at them: handlers that are taken away while
 * they run, threads that wait on what goes, queue pairs destroyed under threads that poll, keys
 * that must fail afterwards, and which object holds which.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qp_pair.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int calls, after_end;
static bool ended;
static VAPI_event_record_t last;

static void note_call(void)
{
    pthread_mutex_lock(&lock);
    calls++;
    after_end += ended;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await_calls(int wanted)
{
    pthread_mutex_lock(&lock);
    while (calls < wanted) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void begin(void)
{
    pthread_mutex_lock(&lock);
    calls = after_end = 0;
    ended = false;
    pthread_mutex_unlock(&lock);
}

static void write_one(struct stage *s, uint64_t id)
{
    NEED(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_RDMA_WRITE, id, 0, 8)));
}

static void on_completion(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, void *priv)
{
    note_call();
}

/* --- handlers --- */

/* A handler is cleared when it may be running, just before, or just behind: never does it run
 * afterwards. */
static void cleared(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    int late = 0, called = 0;
    make_ends(s, &w);
    for (int i = 0; i < 300; i++) {
        begin();
        NEED(EVAPI_set_comp_eventh(s->hca, s->a.scq, on_completion, s, &handle));
        NEED(VAPI_req_comp_notif(s->hca, s->a.scq, VAPI_NEXT_COMP));
        write_one(s, 1);
        for (int k = 0; k < i % 7; k++) sched_yield();
        NEED(EVAPI_clear_comp_eventh(s->hca, handle));
        pthread_mutex_lock(&lock);
        ended = true;
        called += calls;
        pthread_mutex_unlock(&lock);
        (void)await_wc(s, s->a.scq);
        late += after_end;
    }
    is_number(late, 0, "no handler runs after it was taken away");
    is_true(called <= 300, "nor twice for one event");
    drop_ends(s);
}

/* Two queues that are to be looked at at the same time: both are. */
static void counted(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t one, two;
    make_ends(s, &w);
    for (int i = 0; i < 20; i++) {
        NEED(VAPI_post_rr(s->hca, s->b.qp, receive(s, 1, 1024, 8)));
        NEED(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_SEND, 1, 0, 8)));
        while (EVAPI_peek_cq(s->hca, s->a.scq, 1) != VAPI_OK) continue;
        while (EVAPI_peek_cq(s->hca, s->b.rcq, 1) != VAPI_OK) continue;
        begin();
        NEED(EVAPI_set_comp_eventh(s->hca, s->a.scq, on_completion, s, &one));
        NEED(EVAPI_set_comp_eventh(s->hca, s->b.rcq, on_completion, s, &two));
        NEED(EVAPI_req_ncomp_notif(s->hca, s->a.scq, 1));
        NEED(EVAPI_req_ncomp_notif(s->hca, s->b.rcq, 1));
        await_calls(2);
        NEED(EVAPI_clear_comp_eventh(s->hca, one));
        NEED(EVAPI_clear_comp_eventh(s->hca, two));
        (void)await_wc(s, s->a.scq);
        (void)await_wc(s, s->b.rcq);
    }
    is_true(true, "completions present when counted are reported, on two queues");
    drop_ends(s);
}

static EVAPI_async_handler_hndl_t async_handle[2];

static void leaves(VAPI_hca_hndl_t hca, VAPI_event_record_t *record, void *priv)
{
    NEED(EVAPI_clear_async_event_handler(hca, async_handle[0]));
    NEED(EVAPI_clear_async_event_handler(hca, async_handle[1]));
    last = *record;
    note_call();
}

/* The newer handler takes itself and the older one away: that is not called. */
static void async_leaves(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    make_ends(s, &w);
    begin();
    NEED(EVAPI_set_async_event_handler(s->hca, leaves, NULL, &async_handle[0]));
    NEED(EVAPI_set_async_event_handler(s->hca, leaves, NULL, &async_handle[1]));
    VAPI_sr_desc_t *d = request(s, VAPI_RDMA_WRITE, 9, 0, 8);
    d->r_key ^= 0x5555;
    NEED(VAPI_post_sr(s->hca, s->a.qp, d));
    await_calls(1);
    is_code(EVAPI_clear_async_event_handler(s->hca, async_handle[0]), VAPI_EINVAL_PARAM,
            "a handler takes all handlers away");
    drop_ends(s);
    is_number(calls, 1, "and no other is called");
}

static void srq_limit(struct stage *s)
{
    VAPI_srq_attr_t attr = {.pd_hndl = s->pd, .max_outs_wr = 8, .max_sentries = 1, .srq_limit = 2};
    VAPI_srq_hndl_t srq;
    NEED(VAPI_create_srq(s->hca, &attr, &srq, NULL));
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR, .srq = srq};
    make_ends(s, &w);
    begin();
    NEED(EVAPI_set_async_event_handler(s->hca, leaves, NULL, &async_handle[0]));
    NEED(EVAPI_set_async_event_handler(s->hca, leaves, NULL, &async_handle[1]));
    for (int i = 0; i < 3; i++)
        NEED(VAPI_post_srq(s->hca, srq, 1, receive(s, UINT64_C(1) << 63, 1024, 8), NULL));
    NEED(VAPI_modify_srq(s->hca, srq, &attr, VAPI_SRQ_ATTR_LIMIT, NULL));
    for (int i = 0; i < 2; i++) {
        NEED(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_SEND, 1, 0, 8)));
        is_true(await_wc(s, s->b.rcq).id == UINT64_C(1) << 63,
                "a message takes of the shared queue");
    }
    await_calls(1);
    is_true(last.type == VAPI_SRQ_LIMIT_REACHED && last.modifier.srq_hndl == srq,
            "a shared queue below its limit raises an event that names it");
    drop_ends(s);
    NEED(VAPI_destroy_srq(s->hca, srq));
}

/* --- threads --- */

static void *waits(void *argument)
{
    struct stage *s = argument;
    VAPI_wc_desc_t wc;
    VAPI_ret_t code;
    note_call();
    do code = EVAPI_poll_cq_block(s->hca, s->a.scq, 0, &wc);
    while (code == VAPI_CQ_EMPTY || code == VAPI_EINTR);
    return (void *)(intptr_t)code;
}

static void waiting_ends(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    pthread_t thread[3];
    int told = 0;
    make_ends(s, &w);
    begin();
    NEED(EVAPI_set_comp_eventh(s->hca, s->a.scq, EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, &handle));
    for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, waits, s);
    await_calls(3);
    usleep(2000); /* most are asleep then; whether they are makes no difference to the result */
    NEED(EVAPI_clear_comp_eventh(s->hca, handle));
    for (int i = 0; i < 3; i++) {
        void *code;
        pthread_join(thread[i], &code);
        told += (VAPI_ret_t)(intptr_t)code == VAPI_EINVAL_PARAM;
    }
    is_number(told, 3, "all waiting threads are woken when the handler is removed");
    NEED(EVAPI_set_comp_eventh(s->hca, s->a.scq, EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, &handle));
    VAPI_wc_desc_t wc;
    is_code(EVAPI_poll_cq_block(s->hca, s->a.scq, 1000, &wc), VAPI_ETIMEOUT,
            "of which nothing is left to the next");
    NEED(EVAPI_clear_comp_eventh(s->hca, handle));
    drop_ends(s);
}

enum { MANY = 3000 };
static struct stage *polled;
static VAPI_cq_hndl_t polled_cq;
static unsigned freed, completions; /* atomic */
static bool stop;                   /* atomic */

static void *polls(void *looks_ahead)
{
    VAPI_wc_desc_t wc;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        if (looks_ahead) EVAPI_peek_cq(polled->hca, polled_cq, 2);
        VAPI_ret_t code = VAPI_poll_cq(polled->hca, polled_cq, &wc);
        if (code == VAPI_CQ_EMPTY) {
            sched_yield();
            continue;
        }
        need(code, "VAPI_poll_cq");
        __atomic_add_fetch(&completions, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&freed, wc.free_res_count, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void start_pollers(struct stage *s, VAPI_cq_hndl_t cq, pthread_t thread[2])
{
    polled = s;
    polled_cq = cq;
    freed = completions = 0;
    stop = false;
    pthread_create(&thread[0], NULL, polls, NULL);
    pthread_create(&thread[1], NULL, polls, s);
}

static void end_pollers(pthread_t thread[2])
{
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
}

/* Tests that each poll call returns the room of each request once, in lists or not, signalled or
 * not.
 */
static void pollers(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    pthread_t thread[2];
    unsigned signalled = 0;
    make_ends(s, &w);
    start_pollers(s, s->a.scq, thread);
    for (int i = 0; i < MANY; i++) {
        VAPI_sr_desc_t *d = request(s, VAPI_RDMA_WRITE, (uint64_t)i, 0, 8);
        d->comp_type = i % 3 == 1 && i != MANY - 1 ? VAPI_UNSIGNALED : VAPI_SIGNALED;
        signalled += d->comp_type == VAPI_SIGNALED;
        VAPI_ret_t code;
        while ((code = i % 100 == 99 ? EVAPI_post_sr_list(s->hca, s->a.qp, 1, d)
                                     : VAPI_post_sr(s->hca, s->a.qp, d)) == VAPI_E2BIG_WR_NUM)
            sched_yield();
        need(code, "a post");
    }
    while (__atomic_load_n(&freed, __ATOMIC_ACQUIRE) < MANY) sched_yield();
    end_pollers(thread);
    is_number(freed, MANY, "two polling threads get all slots back");
    is_number(completions, signalled, "and each completion once");
    drop_ends(s);
}

/* Queue pairs go while others poll their CQ, with work of all kinds under way. */
static void destroyed_under_pollers(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    pthread_t thread[2];
    make_ends(s, &w);
    start_pollers(s, s->a.scq, thread);
    for (int i = 0; i < 60; i++) {
        VAPI_qp_init_attr_t init = {.sq_cq_hndl = s->a.scq,
                                    .rq_cq_hndl = s->a.scq,
                                    .cap = {8, 8, 1, 1, 0},
                                    .sq_sig_type = VAPI_SIGNAL_REQ_WR,
                                    .pd_hndl = s->pd};
        VAPI_qp_hndl_t qp;
        VAPI_qp_prop_t prop;
        NEED(VAPI_create_qp(s->hca, &init, &qp, &prop));
        connect_to(s, qp, VAPI_TS_RC, prop.qp_num, s->port.lid); /* to itself */
        for (int k = 0; k < 6; k++) {
            VAPI_sr_desc_t *d = request(s, VAPI_RDMA_WRITE, 1, 0, 8);
            d->comp_type = k % 2 ? VAPI_SIGNALED : VAPI_UNSIGNALED;
            if (i % 3 == 2 && k == 3) d->r_key ^= 0x5555;
            NEED(VAPI_post_sr(s->hca, qp, d));
            NEED(VAPI_post_rr(s->hca, qp, receive(s, 2, 0, 8)));
        }
        for (int k = 0; k < i % 5; k++) sched_yield();
        if (i % 2) NEED(change_state(s, qp, i % 4 == 1 ? VAPI_ERR : VAPI_RESET));
        NEED(VAPI_destroy_qp(s->hca, qp));
    }
    end_pollers(thread);
    is_true(true, "queue pairs are destroyed under threads that poll");
    drop_ends(s);
}

/* --- keys and holders --- */

/* A key that must not work: the write fails, and the queue pairs with it. */
static void dead_key(struct stage *s, VAPI_virt_addr_t to, VAPI_rkey_t rkey, const char *name)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    make_ends(s, &w);
    VAPI_sr_desc_t *d = request(s, VAPI_RDMA_WRITE, 1, 0, 8);
    d->remote_addr = to;
    d->r_key = rkey;
    NEED(VAPI_post_sr(s->hca, s->a.qp, d));
    is_number(await_wc(s, s->a.scq).status, VAPI_REM_ACCESS_ERR, name);
    drop_ends(s);
}

static void dead_keys(struct stage *s)
{
    EVAPI_fmr_t p = {.pd_hndl = s->pd,
                     .acl = VAPI_EN_LOCAL_WRITE | VAPI_EN_REMOTE_WRITE,
                     .max_pages = 2,
                     .log2_page_sz = 12,
                     .max_outstanding_maps = 1};
    EVAPI_fmr_map_t map = {.start = (MT_virt_addr_t)s->memory, .size = 64};
    EVAPI_fmr_hndl_t f;
    VAPI_lkey_t lkey;
    VAPI_rkey_t rkey;
    NEED(EVAPI_alloc_fmr(s->hca, &p, &f));
    NEED(EVAPI_map_fmr(s->hca, f, &map, &lkey, &rkey));
    is_code(VAPI_dealloc_pd(s->hca, s->pd), VAPI_EBUSY, "a fast region holds its domain");
    NEED(EVAPI_unmap_fmr(s->hca, 1, &f));
    dead_key(s, map.start, rkey, "the key of a fast region that was unmapped");
    NEED(EVAPI_map_fmr(s->hca, f, &map, &lkey, &rkey));
    NEED(EVAPI_free_fmr(s->hca, f));
    dead_key(s, map.start, rkey, "or freed");
    VAPI_mr_t want = {.type = VAPI_MR,
                      .start = (MT_virt_addr_t)s->memory,
                      .size = 64,
                      .pd_hndl = s->pd,
                      .acl = VAPI_EN_LOCAL_WRITE | VAPI_EN_REMOTE_WRITE},
              got, fresh;
    VAPI_mr_hndl_t mr, other;
    NEED(VAPI_register_mr(s->hca, &want, &mr, &got));
    want.acl = VAPI_EN_LOCAL_WRITE;
    NEED(VAPI_reregister_mr(s->hca, mr, VAPI_MR_CHANGE_ACL, &want, &other, &fresh));
    dead_key(s, got.start, got.r_key, "of a region that was registered without that right");
    NEED(VAPI_deregister_mr(s->hca, other));
    dead_key(s, got.start, fresh.r_key, "or that has ended");
}

static void unbound(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    VAPI_mw_hndl_t mw;
    VAPI_rkey_t rkey, none;
    make_ends(s, &w);
    NEED(VAPI_alloc_mw(s->hca, s->pd, &mw, &rkey));
    VAPI_mw_bind_t b = {.mr_lkey = s->keys.l_key,
                        .start = (MT_virt_addr_t)s->memory,
                        .size = 64,
                        .acl = VAPI_EN_REMOTE_WRITE};
    NEED(VAPI_bind_mw(s->hca, mw, &b, s->a.qp, 1, VAPI_UNSIGNALED, &rkey));
    b.size = 0;
    is_code(VAPI_bind_mw(s->hca, mw, &b, s->a.qp, 2, VAPI_SIGNALED, &none), VAPI_OK,
            "a window is unbound");
    VAPI_wc_desc_t wc = await_wc(s, s->a.scq);
    is_true(wc.status == VAPI_SUCCESS && wc.id == 2 && wc.free_res_count == 2,
            "which completes the unsignalled binding before it");
    is_code(VAPI_deregister_mr(s->hca, 12345), VAPI_EINVAL_MR_HNDL, "and holds no region");
    drop_ends(s);
    dead_key(s, (MT_virt_addr_t)s->memory, rkey, "the key of a window that was unbound");
    NEED(VAPI_dealloc_mw(s->hca, mw));
}

static bool kept;

__attribute__((visibility("default"))) int ibv_destroy_cq(struct ibv_cq *cq)
{
    int (*next)(struct ibv_cq *);
    *(void **)&next = dlsym(RTLD_NEXT, "ibv_destroy_cq");
    return kept ? EBUSY : next(cq);
}

/* Verbs may not let a queue go: then it is as it was, and goes later. */
static void kept_by_verbs(struct stage *s)
{
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR};
    EVAPI_compl_handler_hndl_t handle;
    VAPI_cq_hndl_t cq;
    VAPI_cqe_num_t n;
    NEED(VAPI_create_cq(s->hca, 10, &cq, &n));
    kept = true;
    is_code(VAPI_destroy_cq(s->hca, cq), VAPI_EBUSY, "a queue that verbs keeps");
    is_code(VAPI_destroy_cq(s->hca, cq), VAPI_EBUSY, "is kept for good");
    kept = false;
    is_code(EVAPI_set_comp_eventh(s->hca, cq, on_completion, s, &handle), VAPI_OK,
            "can be used as before");
    NEED(EVAPI_clear_comp_eventh(s->hca, handle));
    is_code(VAPI_destroy_cq(s->hca, cq), VAPI_OK, "and goes when verbs lets it");
    make_ends(s, &w); /* the list of queues is in order */
    drop_ends(s);
}

static void holders(struct stage *s)
{
    VAPI_pd_hndl_t pd;
    VAPI_mw_hndl_t mw;
    VAPI_rkey_t rkey;
    VAPI_ud_av_t av = {.dlid = s->port.lid, .port = 1};
    VAPI_ud_av_hndl_t ah;
    VAPI_srq_hndl_t srq;
    NEED(VAPI_alloc_pd(s->hca, &pd));
    NEED(VAPI_alloc_mw(s->hca, pd, &mw, &rkey));
    is_code(VAPI_dealloc_pd(s->hca, pd), VAPI_EBUSY, "a domain stays for a window");
    NEED(VAPI_dealloc_mw(s->hca, mw));
    NEED(VAPI_create_addr_hndl(s->hca, pd, &av, &ah));
    is_code(VAPI_dealloc_pd(s->hca, pd), VAPI_EBUSY, "for a way");
    NEED(VAPI_destroy_addr_hndl(s->hca, ah));
    VAPI_srq_attr_t attr = {.pd_hndl = pd, .max_outs_wr = 4, .max_sentries = 1};
    NEED(VAPI_create_srq(s->hca, &attr, &srq, NULL));
    is_code(VAPI_dealloc_pd(s->hca, pd), VAPI_EBUSY, "for a shared queue");
    NEED(VAPI_destroy_srq(s->hca, srq));
    is_code(VAPI_dealloc_pd(s->hca, pd), VAPI_OK, "and then goes");
}

void life_rules(struct stage *s)
{
    cleared(s);
    counted(s);
    async_leaves(s);
    srq_limit(s);
    waiting_ends(s);
    pollers(s);
    destroyed_under_pollers(s);
    dead_keys(s);
    unbound(s);
    holders(s);
    kept_by_verbs(s);
}
