/* verbs_progress.c - progress: by a thread that sleeps in the kernel when there is nothing to do,
 * and by every caller that polls.
 *
 * While callers poll, the thread leaves the work to them: it checks from time to time whether they
 * still do, and arms the completion channel only when they have stopped, or when a caller goes to
 * sleep (ptli_verbs_wake).  Callers do not try the lock while the thread waits for it, so that they
 * do not starve it where there are more processes than processors.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <portals3_ext.h>

#include "other/portals3/transport/verbs.h"
#include "other/tools/quiet_thread.h"

enum {
    LOOK_MS = 250,
    HEAR_SOON = 8, /* rounds, as the next; powers of two */
    HEAR_EVERY = 256,
    THREAD_GRACE_MS = 1,
    HYBRID_GRACE_MS = 20
};

double ptli_verbs_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- one round; driving --- */

static void reap(struct ptli_verbs *v, const struct ibv_wc *wc, int n)
{
    for (int i = 0, quick; i < n; i += quick) {
        quick = ptli_verbs_fast_completed(v, &wc[i], n - i);
        if (quick) continue;
        if (wc[i].wr_id & 1)
            ptli_verbs_received(v, &wc[i]);
        else
            ptli_verbs_completed(v, &wc[i]);
        quick = 1;
    }
}

static void feed(struct ptli_verbs *v)
{
    ptli_mutex_lock(&v->posting.lock);
    v->starved = false;
    for (struct ptli_link *link = v->links; link; link = link->next)
        if (link->node->link == link) ptli_verbs_pump(link->node);
    ptli_mutex_unlock(&v->posting.lock);
}

/* Work that is rarely there. */
static inline bool has_chores(const struct ptli_verbs *v)
{
    return v->leaving || v->held || v->starved || v->trouble;
}

__attribute__((noinline)) static bool chores(struct ptli_verbs *v)
{
    bool any = false;
    if (v->leaving || v->trouble) any |= ptli_verbs_tend(v);
    if (v->held) any |= ptli_verbs_offer_held(v);
    if (v->starved) feed(v);
    return any;
}

/* On request, and every so many rounds without completions. */
static inline bool is_time_to_listen(struct ptli_verbs *v)
{
    return atomic_load_explicit(&v->attention, memory_order_relaxed) ||
           !(++v->idle & (v->connecting ? HEAR_SOON - 1 : HEAR_EVERY - 1));
}

__attribute__((noinline)) static bool listen_and_look(struct ptli_verbs *v)
{
    bool any = ptli_verbs_handshakes(v);
    double now = ptli_verbs_clock();
    if (now - v->looked > LOOK_MS / 1000.0) {
        v->looked = now;
        ptli_verbs_events(v, now);
        ptli_verbs_look(v);
    }
    return any;
}

bool ptli_verbs_round(struct ptli_verbs *v)
{
    struct ibv_wc wc[PTLI_BATCH];
    int n = ibv_poll_cq(v->cq, PTLI_BATCH, wc);
    bool any = n > 0, busy = any;
    if (any) reap(v, wc, n);
    if (__builtin_expect(has_chores(v), 0)) {
        any |= chores(v);
        busy = false; /* the work may depend on a handshake message */
    }
    if (!busy && __builtin_expect(is_time_to_listen(v), 0)) any |= listen_and_look(v);
    if (v->finished.head) any |= ptli_verbs_deliver(v);
    if (!v->closing) any |= ptli_work(v->face.engine);
    return any;
}

static inline void drive(struct ptli_verbs *v)
{
    atomic_store_explicit(&v->driver, (uintptr_t)pthread_self(), memory_order_relaxed);
}

static inline void let_go(struct ptli_verbs *v)
{
    atomic_store_explicit(&v->driver, 0, memory_order_relaxed);
    ptli_mutex_unlock(&v->driving);
}

/* --- sleeping; nothing held --- */

static void wake_thread(struct ptli_verbs *v)
{
    const uint64_t one = 1;
    if (write(v->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN)
        ptli_verbs_say(v, "cannot wake the thread that makes progress: %s", strerror(errno));
}

void ptli_verbs_wake(struct ptli_transport *transport)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    atomic_store(&v->attention, true);
    if (atomic_load(&v->asleep) && !atomic_exchange(&v->needed, true)) wake_thread(v);
}

/* Until a completion (if `armed`), a handshake message, an asynchronous event, a wake-up, or `ms`.
 */
static void nap(struct ptli_verbs *v, bool armed, int ms)
{
    struct pollfd fds[] = {{.fd = v->socket, .events = POLLIN},
                           {.fd = v->wake_fd, .events = POLLIN},
                           {.fd = v->context->async_fd, .events = POLLIN},
                           {.fd = v->channel->fd, .events = POLLIN}};
    int ready = poll(fds, armed ? 4 : 3, ms);
    uint64_t wakes;
    /* A handshake message, or time to repeat one or to probe silent peers. */
    if (fds[0].revents || ready == 0) atomic_store(&v->attention, true);
    if (fds[1].revents & POLLIN && read(v->wake_fd, &wakes, sizeof wakes) < 0 && errno != EAGAIN)
        return;
    if (fds[2].revents & POLLIN) {
        v->looked = 0; /* read the event now */
        atomic_store(&v->attention, true);
    }
    if (!armed || !(fds[3].revents & POLLIN)) return;
    struct ibv_cq *cq;
    void *context;
    if (!ibv_get_cq_event(v->channel, &cq, &context)) ibv_ack_cq_events(cq, 1);
}

/* How long the thread may sleep, at most `most` ms. */
static int sleep_ms(struct ptli_verbs *v, int most)
{
    ptli_mutex_lock(&v->driving);
    double due = ptli_verbs_due(v);
    if ((ptli_verbs_watching(v) || v->down_since > 0) && most > LOOK_MS) most = LOOK_MS;
    ptli_mutex_unlock(&v->driving);
    return due >= 0 && due * 1000 < most ? (int)(due * 1000) + 1 : most;
}

/* --- the thread --- */

static _Atomic(ptl_progress_handler_t) handler;

void PtlProgressHandler(ptl_progress_handler_t new_handler)
{
    atomic_store(&handler, new_handler);
}

/* Whether callers have made progress since the last call: then they do all the work. */
static bool callers_poll(struct ptli_verbs *v, uint32_t *rounds)
{
    uint32_t now = atomic_load_explicit(&v->rounds, memory_order_relaxed);
    bool do_poll = now != *rounds;
    *rounds = now;
    return do_poll;
}

static bool thread_round(struct ptli_verbs *v, bool arm)
{
    atomic_store(&v->wanted, true);
    ptli_mutex_lock(&v->driving);
    atomic_store(&v->wanted, false);
    drive(v);
    bool any = ptli_verbs_round(v);
    if (arm && !any) {
        ibv_req_notify_cq(v->cq, 0);
        atomic_store(&v->asleep, true);
        any = ptli_verbs_round(v); /* completions of before the arming raise no event */
        if (any || atomic_load(&v->attention)) atomic_store(&v->asleep, false), any = true;
    }
    let_go(v);
    return any;
}

static void *run(void *arg)
{
    struct ptli_verbs *v = arg;
    uint32_t rounds = 0, empty = 0;
    int grace = v->settings.mode == PTLI_HYBRID ? HYBRID_GRACE_MS : THREAD_GRACE_MS;
    while (!atomic_load(&v->over)) {
        if (callers_poll(v, &rounds)) {
            atomic_store(&v->asleep, true);
            nap(v, false, grace);
            atomic_store(&v->asleep, false);
            if (!atomic_exchange(&v->needed, false) && callers_poll(v, &rounds)) continue;
            callers_poll(v, &rounds);
            empty = 0;
        }
        bool arm = empty >= v->settings.spin;
        if (thread_round(v, arm)) {
            empty = 0;
            const ptl_progress_handler_t call = atomic_load(&handler);
            if (call) call();
        } else if (arm) {
            nap(v, true, sleep_ms(v, 60000));
            atomic_store(&v->asleep, false);
            atomic_store(&v->needed, false);
            empty = v->settings.spin / 2;
        } else {
            empty++;
            sched_yield();
        }
    }
    return NULL;
}

int ptli_verbs_progress_start(struct ptli_verbs *v)
{
    int flags = fcntl(v->channel->fd, F_GETFL);
    fcntl(v->channel->fd, F_SETFL, flags | O_NONBLOCK);
    if (v->settings.mode == PTLI_CALLS) return PTL_OK;
    int error = gasneti_quiet_thread(&v->thread, 0, run, v);
    v->running = !error;
    if (error)
        ptli_verbs_say(
            v, "cannot start the thread that makes progress: %s (see ulimit -u and ulimit -v)",
            strerror(error));
    return error ? PTL_NO_SPACE : PTL_OK;
}

void ptli_verbs_progress_stop(struct ptli_verbs *v)
{
    if (!v->running) return;
    atomic_store(&v->over, true);
    wake_thread(v);
    pthread_join(v->thread, NULL);
    v->running = false;
}

/* --- callers --- */

static inline bool caller_round(struct ptli_verbs *v)
{
    if (atomic_load_explicit(&v->wanted, memory_order_relaxed)) return false;
    if (!ptli_mutex_try(&v->driving)) return false;
    atomic_store_explicit(&v->rounds, atomic_load_explicit(&v->rounds, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    drive(v);
    bool any = ptli_verbs_round(v);
    let_go(v);
    return any;
}

__attribute__((noinline)) static bool rounds_until(struct ptli_verbs *v, ptl_time_t timeout)
{
    double until = ptli_verbs_clock() + timeout / 1000.0;
    for (;;) {
        double left = 1000 * (until - ptli_verbs_clock());
        if (timeout != PTL_TIME_FOREVER && left <= 0) return false;
        int most = timeout == PTL_TIME_FOREVER || left > 1000 ? 1000 : (int)left + 1;
        if (v->running) { /* the thread does the work */
            struct timespec moment = {.tv_nsec = 50000};
            nanosleep(&moment, NULL);
        } else if (ptli_mutex_try(&v->driving)) {
            ibv_req_notify_cq(v->cq, 0);
            ptli_mutex_unlock(&v->driving);
            if (caller_round(v)) return true;
            atomic_store(&v->asleep, true);
            if (!atomic_load(&v->attention)) nap(v, true, sleep_ms(v, most));
            atomic_store(&v->asleep, false);
            atomic_store(&v->needed, false);
        } else {
            nap(v, false, 1);
        }
        if (caller_round(v)) return true;
    }
}

bool ptli_verbs_progress(struct ptli_transport *transport, ptl_time_t timeout)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    if (!timeout) return caller_round(v);
    return caller_round(v) || rounds_until(v, timeout);
}
