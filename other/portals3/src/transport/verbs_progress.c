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
#include <portals3_ext.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/base/quiet_thread.h"
#include "other/base/uncancelled.h"
#include "other/portals3/src/transport/verbs.h"

enum { LOOK_MS = 250, IDLE_LOOK_MS = 1000, THREAD_GRACE_MS = 1, HYBRID_GRACE_MS = 20 };

/* --- one round; driving --- */

static void progress_reap(struct ptli_verbs *v, const struct ibv_wc *wc, int n)
{
    for (int i = 0, done; i < n; i += done) {
        const bool message = wc[i].wr_id & 1;
        done = message ? ptli_verbs_fast_received(v, &wc[i], n - i)
                       : ptli_verbs_fast_completed(v, &wc[i], n - i);
        if (done) continue;
        done = 1;
        if (message)
            ptli_verbs_received(v, &wc[i]);
        else
            ptli_verbs_completed(v, &wc[i]);
    }
}

static void feed(struct ptli_verbs *v)
{
    ptli_mutex_lock(&v->posting.lock);
    v->starved = false;
    for (struct ptli_conn *conn = v->conns; conn; conn = conn->next)
        if (conn->node->conn == conn) ptli_verbs_pump(conn->node);
    ptli_mutex_unlock(&v->posting.lock);
}

/* Work that is rarely there. */
static inline bool has_chores(const struct ptli_verbs *v)
{
    return v->leaving || v->held || v->starved || v->trouble;
}

static bool chores(struct ptli_verbs *v)
{
    bool any = false;
    if (v->leaving || v->trouble) any |= ptli_verbs_tend(v);
    if (v->held) any |= ptli_verbs_offer_held(v);
    if (v->starved) feed(v);
    return any;
}

static bool listen_and_look(struct ptli_verbs *v)
{
    GASNETI_UNCANCELLED;
    bool any = ptli_verbs_handshakes(v);
    double now = gasneti_clock();
    if (now - v->looked > LOOK_MS / 1000.0) {
        v->looked = now;
        ptli_verbs_events(v, now);
        ptli_verbs_look(v);
    }
    return any;
}

/* Does the work that is due. `due` is cleared before the work is looked at, so work that is stored
 * later sets it again. */
static bool work_due(struct ptli_verbs *v)
{
    bool any = false;
    atomic_exchange(&v->face.due, false);
    if (v->finished.head) any |= ptli_verbs_deliver(v);
    if (has_chores(v)) any |= chores(v);
    if (!v->closing) any |= ptli_work(v->face.engine);
    if (has_chores(v)) ptli_due(&v->face);
    return any;
}

bool ptli_verbs_work(struct ptli_verbs *v, const struct ibv_wc *wc, int n, bool listen)
{
    bool any = n > 0;
    atomic_store_explicit(&v->driver, (uintptr_t)pthread_self(), memory_order_relaxed);
    if (any) progress_reap(v, wc, n);
    if (atomic_load_explicit(&v->face.due, memory_order_relaxed)) {
        any |= work_due(v);
        /* The work may depend on a handshake message. */
        listen |= ptli_verbs_is_time_to_listen(v, ++v->idle);
    }
    if (listen || atomic_load_explicit(&v->attention, memory_order_relaxed))
        any |= listen_and_look(v);
    atomic_store_explicit(&v->driver, 0, memory_order_relaxed);
    return any;
}

bool ptli_verbs_round(struct ptli_verbs *v)
{
    const int n = ibv_poll_cq(v->cq, PTLI_POLLED, v->wc);
    const bool due = atomic_load_explicit(&v->face.due, memory_order_relaxed);
    const bool listen = n <= 0 && ptli_verbs_is_time_to_listen(v, ++v->idle);
    return (n > 0 || due || listen) && ptli_verbs_work(v, v->wc, n, listen);
}

/* --- sleeping; nothing held --- */

static void wake_thread(struct ptli_verbs *v)
{
    GASNETI_UNCANCELLED;
    const uint64_t one = 1;
    if (write(v->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN)
        ptli_verbs_say(v, "cannot wake the thread that makes progress: %s", strerror(errno));
}

static void call_attention(struct ptli_verbs *v)
{
    atomic_store(&v->attention, true);
    ptli_due(&v->face);
}

void ptli_verbs_wake(struct ptli_transport *transport)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    call_attention(v);
    if (atomic_load(&v->asleep) && !atomic_exchange(&v->needed, true)) wake_thread(v);
}

/* Until a completion (if `armed`), a handshake message, an asynchronous event, a wake-up, or `ms`.
 */
static void nap(struct ptli_verbs *v, bool armed, int ms)
{
    struct pollfd fds[] = {{.fd = v->socket, .events = POLLIN},
                           {.fd = v->wake_fd, .events = POLLIN},
                           {.fd = v->context->async_fd, .events = POLLIN},
                           {.fd = v->local_socket, .events = POLLIN},
                           {.fd = v->channel->fd, .events = POLLIN}};
    int ready = poll(fds, armed ? 5 : 4, ms);
    uint64_t wakes;
    /* A handshake message, or time to repeat one or to probe silent peers. */
    if (fds[0].revents || fds[3].revents || ready == 0) call_attention(v);
    if (fds[1].revents & POLLIN && read(v->wake_fd, &wakes, sizeof wakes) < 0 && errno != EAGAIN)
        return;
    if (fds[2].revents & POLLIN) {
        v->looked = 0; /* read the event now */
        call_attention(v);
    }
    if (!armed || !(fds[4].revents & POLLIN)) return;
    struct ibv_cq *cq;
    void *context;
    if (!ibv_get_cq_event(v->channel, &cq, &context)) ibv_ack_cq_events(cq, 1);
}

/* How long the thread may sleep, at most `most` ms.  While it sleeps another thread may send a
 * request to a peer that is gone already: so it looks now and then although nothing is awaited. */
static int sleep_ms(struct ptli_verbs *v, int most)
{
    ptli_mutex_lock(&v->driving);
    double due = ptli_verbs_due(v);
    if (most > IDLE_LOOK_MS && ptli_verbs_any_conn(v)) most = IDLE_LOOK_MS;
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
    bool any = ptli_verbs_round(v);
    if (arm && !any) {
        ibv_req_notify_cq(v->cq, 0);
        atomic_store(&v->asleep, true);
        any = ptli_verbs_round(v); /* completions of before the arming raise no event */
        if (any || atomic_load(&v->attention)) atomic_store(&v->asleep, false), any = true;
    }
    ptli_mutex_unlock(&v->driving);
    return any;
}

static void *progress_run(void *arg)
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
    v->last_note = &v->notes;
    int flags = fcntl(v->channel->fd, F_GETFL);
    fcntl(v->channel->fd, F_SETFL, flags | O_NONBLOCK);
    if (v->settings.mode == PTLI_CALLS) return PTL_OK;
    int error = gasneti_quiet_thread(&v->thread, 0, progress_run, v);
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
    if (!ptli_verbs_begin(v)) return false;
    bool any = ptli_verbs_round(v);
    ptli_mutex_unlock(&v->driving);
    return any;
}

static bool rounds_until(struct ptli_verbs *v, ptl_time_t timeout)
{
    double until = gasneti_clock() + timeout / 1000.0;
    for (;;) {
        double left = 1000 * (until - gasneti_clock());
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
