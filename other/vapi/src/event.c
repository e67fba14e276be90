/* event.c - handlers, and the library's two threads for each HCA: one calls completion handlers,
 * one asynchronous event handlers.  Both start with the first handler.
 *
 * A handler runs without any lock and may make any call, even release the HCA: calls that wait for
 * a running handler do not wait in that handler.  The state of the threads is freed by the last
 * user: the release of the HCA, or a thread.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "event_record.h"
#include "objects.h"
#include "other/base/quiet_thread.h"

struct async_handler {
    EVAPI_async_handler_hndl_t id; /* ascending; the newest handler is first in the list */
    VAPI_async_event_handler_t call;
    void *data;
    struct async_handler *next;
};

struct helper {
    pthread_t thread;
    bool started;
    int wake_fd; /* -1 until it is made */
};

struct vapi_watch {
    struct vapi_hca *hca;
    pthread_mutex_t lock; /* protects this structure and the part of CQs that concerns events */
    pthread_cond_t idle;  /* a handler has returned */
    unsigned users;       /* references: the HCA's, and one of each thread */
    bool ending;
    struct helper completion, async;
    int epoll_fd;        /* of the completion thread; data is a CQ's handle, 0 for its wake_fd */
    struct vapi_cq *cqs; /* all of the HCA */
    struct vapi_cq *running;                /* the CQ whose handler is being called */
    VAPI_completion_event_handler_t common; /* the handler of CQs that have none */
    void *common_data;
    struct async_handler *handlers;
    EVAPI_async_handler_hndl_t last_id, running_id;
};

static void event_leave(struct vapi_watch *w);

/* Acquires the lock in a call of the program, with cancellation disabled, so that no thread is
 * cancelled while it holds the lock.  Returns the old cancel state, for event_unlock.  */
static int event_hold(struct vapi_watch *w)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_mutex_lock(&w->lock);
    return state;
}

static void event_unlock(struct vapi_watch *w, int state)
{
    pthread_mutex_unlock(&w->lock);
    pthread_setcancelstate(state, NULL);
}

/* --- threads --- */

static bool can_wake(struct helper *h)
{
    if (h->wake_fd < 0) h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return h->wake_fd >= 0;
}

static bool event_start(struct vapi_watch *w, struct helper *h, void *(*run)(void *))
{
    if (h->started) return true;
    if (!can_wake(h)) return false;
    w->users++;
    h->started = gasneti_quiet_thread(&h->thread, 0, run, w) == 0;
    if (!h->started) w->users--;
    return h->started;
}

static void event_wake(const struct helper *h)
{
    const uint64_t one = 1;
    if (h->wake_fd >= 0 && write(h->wake_fd, &one, sizeof one) < 0) return; /* full: it wakes */
}

static void take_wake(const struct helper *h)
{
    uint64_t count;
    if (read(h->wake_fd, &count, sizeof count) < 0) return; /* taken */
}

static bool is_self(const struct helper *h)
{
    return h->started && pthread_equal(h->thread, pthread_self());
}

/* --- completions --- */

/* Reads and acknowledges all events of the CQ's channel; returns their number.  */
static unsigned event_take_events(struct vapi_cq *cq)
{
    struct ibv_cq *which;
    void *context;
    unsigned events = 0;
    while (ibv_get_cq_event(cq->channel, &which, &context) == 0) events++;
    if (events) ibv_ack_cq_events(cq->verbs, events);
    return events;
}

/* EVAPI_req_ncomp_notif: verbs reports each completion, VAPI the n-th.  */
static bool event_counted(struct vapi_cq *cq)
{
    if (cq->wanted == 0) return false;
    if (vapi_cq_waiting(cq, cq->wanted) < cq->wanted) {
        ibv_req_notify_cq(cq->verbs, 0);
        if (vapi_cq_waiting(cq, cq->wanted) < cq->wanted) return false;
    }
    cq->wanted = 0;
    return true;
}

/* The number of calls of the handler.  An event of an earlier arming cannot be distinguished from
 * one of the last: the handler may be called once too often.  */
static unsigned event_filter(struct vapi_cq *cq, unsigned events)
{
    pthread_mutex_lock(&cq->arming);
    if (!cq->each) events = event_counted(cq);
    pthread_mutex_unlock(&cq->arming);
    return events;
}

/* Calls the handler once for each event.  The lock is held, and released during the calls.  */
static void call_handlers(struct vapi_watch *w, struct vapi_cq *cq, unsigned events)
{
    w->running = cq;
    pthread_mutex_unlock(&w->lock);
    events = event_filter(cq, events);
    pthread_mutex_lock(&w->lock);
    while (events-- > 0 && w->running == cq && !w->ending) {
        VAPI_completion_event_handler_t call = cq->handler ? cq->handler : w->common;
        void *data = cq->handler ? cq->handler_data : w->common_data;
        VAPI_cq_hndl_t handle = cq->handle;
        if (!call) break;
        pthread_mutex_unlock(&w->lock);
        call(w->hca->handle, handle, data);
        pthread_mutex_lock(&w->lock);
    }
    w->running = NULL;
    pthread_cond_broadcast(&w->idle);
}

/* The CQ may have been destroyed since the event was seen. */
static struct vapi_cq *watched_cq(struct vapi_watch *w, uint32_t handle)
{
    struct vapi_cq *cq = handle ? vapi_object(handle, KIND_CQ) : NULL;
    return cq && cq->hca == w->hca && cq->watched ? cq : NULL;
}

/* Removes a CQ from the list of those to be examined, and returns it.  */
static struct vapi_cq *kicked_cq(struct vapi_watch *w)
{
    struct vapi_cq *cq = w->cqs;
    while (cq && !cq->kicked) cq = cq->next_watched;
    if (cq) cq->kicked = false;
    return cq;
}

static void *run_completions(void *argument)
{
    struct vapi_watch *w = argument;
    struct epoll_event ready;
    pthread_mutex_lock(&w->lock);
    while (!w->ending) {
        pthread_mutex_unlock(&w->lock);
        int count = epoll_wait(w->epoll_fd, &ready, 1, -1);
        pthread_mutex_lock(&w->lock);
        if (count <= 0 || w->ending) continue;
        struct vapi_cq *cq = watched_cq(w, ready.data.u32);
        if (ready.data.u32 == 0) {
            take_wake(&w->completion);
            while (!w->ending && (cq = kicked_cq(w)) != NULL) call_handlers(w, cq, 0);
        } else if (cq && ready.events & EPOLLIN)
            call_handlers(w, cq, event_take_events(cq));
        else if (cq) /* the device is lost: the descriptor would stay ready */
            epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, cq->channel->fd, NULL);
    }
    pthread_mutex_unlock(&w->lock);
    event_leave(w);
    return NULL;
}

/* All below is called with the lock held.  The thread is started last: without a wake_fd it could
 * not be stopped.  */
static bool start_completions(struct vapi_watch *w)
{
    struct epoll_event wanted = {.events = EPOLLIN};
    if (w->completion.started) return true;
    if (w->epoll_fd < 0) w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (w->epoll_fd < 0 || !can_wake(&w->completion)) return false;
    if (epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->completion.wake_fd, &wanted) && errno != EEXIST)
        return false;
    return event_start(w, &w->completion, run_completions);
}

/* Makes the thread wait for the channel of a CQ if it has a handler, and only then.  */
static bool event_update(struct vapi_watch *w, struct vapi_cq *cq)
{
    bool wanted = cq->waiting == WAIT_HANDLER || (cq->waiting == WAIT_NONE && w->common);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = cq->handle};
    if (wanted == cq->watched) return true;
    if (wanted) {
        event_take_events(cq); /* of earlier times */
        if (!start_completions(w)) return false;
    }
    int operation = wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
    if (epoll_ctl(w->epoll_fd, operation, cq->channel->fd, &event)) return false;
    cq->watched = wanted;
    return true;
}

static bool update_all(struct vapi_watch *w)
{
    bool good = true;
    for (struct vapi_cq *cq = w->cqs; cq; cq = cq->next_watched) good &= event_update(w, cq);
    return good;
}

static void await_idle(struct vapi_watch *w, struct vapi_cq *cq)
{
    if (is_self(&w->completion)) {
        if (w->running == cq) w->running = NULL; /* no further call for events that were taken */
        return;
    }
    while (w->running == cq) pthread_cond_wait(&w->idle, &w->lock);
}

void vapi_watch_cq(struct vapi_cq *cq)
{
    struct vapi_watch *w = cq->hca->watch;
    int state = event_hold(w);
    cq->next_watched = w->cqs;
    w->cqs = cq;
    event_update(w, cq);
    event_unlock(w, state);
}

bool vapi_unwatch_cq(struct vapi_cq *cq)
{
    struct vapi_watch *w = cq->hca->watch;
    int state = event_hold(w);
    bool bound = cq->waiting != WAIT_NONE;
    if (!bound) {
        struct vapi_cq **link = &w->cqs;
        while (*link != cq) link = &(*link)->next_watched;
        *link = cq->next_watched;
        if (cq->watched) epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, cq->channel->fd, NULL);
        cq->watched = false;
        await_idle(w, cq);
        event_take_events(cq); /* otherwise the destruction would wait for ever */
    }
    event_unlock(w, state);
    return !bound;
}

void vapi_kick(struct vapi_cq *cq)
{
    struct vapi_watch *w = cq->hca->watch;
    int state = event_hold(w);
    if (cq->watched) {
        cq->kicked = true;
        event_wake(&w->completion);
    }
    event_unlock(w, state);
}

static VAPI_ret_t event_bind(struct vapi_watch *w, struct vapi_cq *cq,
                             VAPI_completion_event_handler_t handler, void *data)
{
    if (cq->waiting != WAIT_NONE) return VAPI_EBUSY;
    if (handler == EVAPI_POLL_CQ_UNBLOCK_HANDLER) {
        uint64_t count;
        if (cq->unblock_fd < 0) cq->unblock_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (cq->unblock_fd < 0) return VAPI_EAGAIN;
        if (read(cq->unblock_fd, &count, sizeof count) < 0) count = 0; /* of earlier times */
        __atomic_store_n(&cq->waiting, WAIT_BLOCK, __ATOMIC_RELEASE);
    } else {
        cq->handler = handler;
        cq->handler_data = data;
        cq->waiting = WAIT_HANDLER;
    }
    if (event_update(w, cq)) return VAPI_OK;
    cq->handler = NULL;
    cq->waiting = WAIT_NONE;
    return VAPI_EAGAIN;
}

VAPI_ret_t EVAPI_set_comp_eventh(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq,
                                 VAPI_completion_event_handler_t handler, void *private_data,
                                 EVAPI_compl_handler_hndl_t *handle)
{
    VAPI_ret_t code;
    struct vapi_cq *found = vapi_find(hca, cq, KIND_CQ, &code);
    if (code != VAPI_OK) return code;
    if (!handler) return VAPI_EINVAL_PARAM;
    struct vapi_watch *w = found->hca->watch;
    int state = event_hold(w);
    code = event_bind(w, found, handler, private_data);
    event_unlock(w, state);
    if (code == VAPI_OK && handle) *handle = found->handle;
    return code;
}

VAPI_ret_t EVAPI_clear_comp_eventh(VAPI_hca_hndl_t hca, EVAPI_compl_handler_hndl_t handle)
{
    VAPI_ret_t code;
    struct vapi_cq *cq = vapi_find(hca, handle, KIND_CQ, &code);
    if (code != VAPI_OK) return code;
    struct vapi_watch *w = cq->hca->watch;
    int state = event_hold(w);
    bool blocks = cq->waiting == WAIT_BLOCK;
    const uint64_t one = 1;
    cq->handler = NULL;
    __atomic_store_n(&cq->waiting, WAIT_NONE, __ATOMIC_RELEASE);
    if (blocks && write(cq->unblock_fd, &one, sizeof one) < 0) blocks = false; /* full: it wakes */
    event_update(w, cq);
    await_idle(w, cq);
    event_unlock(w, state);
    return VAPI_OK;
}

/* The latest header declares this call for the kernel only; user programs of earlier releases
 * probably had it, as some contain it commented out.  */
VAPI_ret_t VAPI_set_comp_event_handler(VAPI_hca_hndl_t handle,
                                       VAPI_completion_event_handler_t handler, void *private_data)
{
    struct vapi_hca *hca = vapi_hca(handle);
    if (!hca) return VAPI_EINVAL_HCA_HNDL;
    if (!handler || handler == EVAPI_POLL_CQ_UNBLOCK_HANDLER) return VAPI_EINVAL_PARAM;
    struct vapi_watch *w = hca->watch;
    int state = event_hold(w);
    VAPI_ret_t code = w->common ? VAPI_EBUSY : VAPI_OK;
    if (code == VAPI_OK) {
        w->common = handler;
        w->common_data = private_data;
        if (!update_all(w)) {
            w->common = NULL;
            update_all(w);
            code = VAPI_EAGAIN;
        }
    }
    event_unlock(w, state);
    return code;
}

/* --- asynchronous events --- */

/* Calls the handlers, the newest first.  A handler may remove and add handlers, so the position in
 * the list is kept as an id.  */
static void call_async_handlers(struct vapi_watch *w, const VAPI_event_record_t *record)
{
    EVAPI_async_handler_hndl_t below = w->last_id + 1;
    while (!w->ending) {
        struct async_handler *h = w->handlers;
        while (h && h->id >= below) h = h->next;
        if (!h) break;
        VAPI_event_record_t copy = *record;
        VAPI_async_event_handler_t call = h->call;
        void *data = h->data;
        below = w->running_id = h->id;
        pthread_mutex_unlock(&w->lock);
        call(w->hca->handle, &copy, data);
        pthread_mutex_lock(&w->lock);
        w->running_id = 0;
        pthread_cond_broadcast(&w->idle);
    }
}

/* An event is acknowledged as soon as it has been copied: until then the object that it concerns
 * cannot be destroyed.  */
static void take_async(struct vapi_watch *w)
{
    struct ibv_async_event event;
    VAPI_event_record_t record;
    if (ibv_get_async_event(w->hca->verbs, &event)) return;
    bool known = vapi_event_record(&event, &record);
    ibv_ack_async_event(&event);
    if (known) call_async_handlers(w, &record);
}

static void *run_async(void *argument)
{
    struct vapi_watch *w = argument;
    struct pollfd fd[2] = {{.fd = w->hca->verbs->async_fd, .events = POLLIN},
                           {.fd = w->async.wake_fd, .events = POLLIN}};
    pthread_mutex_lock(&w->lock);
    while (!w->ending) {
        pthread_mutex_unlock(&w->lock);
        int count = poll(fd, 2, -1);
        pthread_mutex_lock(&w->lock);
        if (count > 0 && fd[0].revents & POLLIN && !w->ending)
            take_async(w);
        else if (count > 0 && fd[0].revents)
            fd[0].fd = -1; /* the device is lost: the descriptor would stay ready */
    }
    pthread_mutex_unlock(&w->lock);
    event_leave(w);
    return NULL;
}

static bool start_async(struct vapi_watch *w)
{
    int fd = w->hca->verbs->async_fd;
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           event_start(w, &w->async, run_async);
}

static VAPI_ret_t add_handler(VAPI_hca_hndl_t handle, VAPI_async_event_handler_t call, void *data,
                              EVAPI_async_handler_hndl_t *id)
{
    struct vapi_hca *hca = vapi_hca(handle);
    if (!hca) return VAPI_EINVAL_HCA_HNDL;
    if (!call || !id) return VAPI_EINVAL_PARAM;
    struct async_handler *h = malloc(sizeof *h);
    if (!h) return VAPI_ENOMEM;
    struct vapi_watch *w = hca->watch;
    int state = event_hold(w);
    if (!start_async(w)) {
        event_unlock(w, state);
        free(h);
        return VAPI_EAGAIN;
    }
    *h =
        (struct async_handler){.id = ++w->last_id, .call = call, .data = data, .next = w->handlers};
    w->handlers = h;
    *id = h->id;
    event_unlock(w, state);
    return VAPI_OK;
}

VAPI_ret_t EVAPI_set_async_event_handler(VAPI_hca_hndl_t hca, VAPI_async_event_handler_t handler,
                                         void *private_data, EVAPI_async_handler_hndl_t *handle)
{
    return add_handler(hca, handler, private_data, handle);
}

VAPI_ret_t VAPI_set_async_event_handler(VAPI_hca_hndl_t hca, VAPI_async_event_handler_t handler,
                                        void *private_data)
{
    EVAPI_async_handler_hndl_t handle;
    return add_handler(hca, handler, private_data, &handle);
}

VAPI_ret_t EVAPI_clear_async_event_handler(VAPI_hca_hndl_t hca, EVAPI_async_handler_hndl_t handle)
{
    struct vapi_hca *of = vapi_hca(hca);
    if (!of) return VAPI_EINVAL_HCA_HNDL;
    struct vapi_watch *w = of->watch;
    int state = event_hold(w);
    struct async_handler **link = &w->handlers;
    while (*link && (*link)->id != handle) link = &(*link)->next;
    struct async_handler *found = *link;
    if (found) {
        *link = found->next;
        while (w->running_id == handle && !is_self(&w->async))
            pthread_cond_wait(&w->idle, &w->lock);
    }
    event_unlock(w, state);
    free(found);
    return found ? VAPI_OK : VAPI_EINVAL_PARAM;
}

/* --- creation and destruction --- */

struct vapi_watch *vapi_watch_new(struct vapi_hca *hca)
{
    struct vapi_watch *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->hca = hca;
    w->users = 1;
    w->epoll_fd = w->completion.wake_fd = w->async.wake_fd = -1;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->idle, NULL);
    return w;
}

static void close_if_open(int fd)
{
    if (fd >= 0) close(fd);
}

static void event_destroy(struct vapi_watch *w)
{
    while (w->handlers) {
        struct async_handler *h = w->handlers;
        w->handlers = h->next;
        free(h);
    }
    close_if_open(w->epoll_fd);
    close_if_open(w->completion.wake_fd);
    close_if_open(w->async.wake_fd);
    pthread_cond_destroy(&w->idle);
    pthread_mutex_destroy(&w->lock);
    if (w->hca->handle) { /* otherwise creation failed, and the caller frees the HCA */
        ibv_close_device(w->hca->verbs);
        pthread_mutex_destroy(&w->hca->lock);
        free(w->hca);
    }
    free(w);
}

static void event_leave(struct vapi_watch *w)
{
    pthread_mutex_lock(&w->lock);
    bool last = --w->users == 0;
    pthread_mutex_unlock(&w->lock);
    if (last) event_destroy(w);
}

/* Ends the threads and waits for them, except for the calling thread.  */
void vapi_watch_end(struct vapi_watch *w)
{
    struct helper *helpers[] = {&w->completion, &w->async};
    int state = event_hold(w);
    w->ending = true;
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < 2; i++) {
        if (!helpers[i]->started) continue;
        event_wake(helpers[i]);
        if (is_self(helpers[i]))
            pthread_detach(helpers[i]->thread);
        else
            pthread_join(helpers[i]->thread, NULL);
    }
    event_leave(w);
    pthread_setcancelstate(state, NULL);
}
