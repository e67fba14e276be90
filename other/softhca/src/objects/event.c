/* event.c - completion channels and asynchronous events.
 *
 * A channel is an eventfd that counts events; producers in other processes hold a duplicate and
 * increment it. Which CQ an event is for is recorded in the CQ itself, so no event is lost when a
 * producer dies. Asynchronous events are a list in the context with an eventfd to wait on.
 */
#include "other/softhca/src/objects/event.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "other/base/uncancelled.h"
#include "other/softhca/src/objects/context.h"
#include "other/softhca/src/objects/qp.h"
#include "other/softhca/src/segment/upward.h"

struct shca_event {
    struct ibv_async_event e;
    struct shca_event *next;
};

struct ibv_comp_channel *shca_create_channel(struct ibv_context *c)
{
    static uint32_t generation;
    struct shca_channel *ch = calloc(1, sizeof *ch);
    if (!ch) return NULL;
    ch->base.context = c;
    ch->base.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    if (ch->base.fd < 0) {
        free(ch);
        return NULL;
    }
    pthread_mutex_lock(&shca.channel_lock);
    /* The lowest free index, so that a peer's cached descriptor is replaced soon; the generation
     * is never 0, and wraps after four million channels. */
    uint32_t i = 0;
    while (i < SHCA_CHANNELS && shca.channel[i]) i++;
    if (i < SHCA_CHANNELS) {
        generation = generation % (UINT32_MAX / SHCA_CHANNELS) + 1;
        ch->id = generation * SHCA_CHANNELS + i;
        shca.channel[i] = ch;
    }
    pthread_mutex_unlock(&shca.channel_lock);
    if (ch->id) return &ch->base;
    close(ch->base.fd);
    free(ch);
    errno = ENOMEM;
    return NULL;
}

int shca_destroy_channel(struct ibv_comp_channel *base)
{
    struct shca_channel *ch = (struct shca_channel *)base;
    pthread_mutex_lock(&shca.channel_lock);
    bool busy = ch->cqs != NULL;
    if (!busy) shca.channel[ch->id % SHCA_CHANNELS] = NULL;
    pthread_mutex_unlock(&shca.channel_lock);
    if (busy) return EBUSY;
    close(base->fd);
    free(ch);
    return 0;
}

/* The descriptor of channel ID of this process. Called by the RPC thread: channel_lock is never
 * held while waiting. */
int shca_channel_fd(uint32_t id)
{
    pthread_mutex_lock(&shca.channel_lock);
    struct shca_channel *ch = shca.channel[id % SHCA_CHANNELS];
    int fd = ch && ch->id == id ? ch->base.fd : -1;
    pthread_mutex_unlock(&shca.channel_lock);
    return fd;
}

void shca_channel_add(struct shca_cq *cq)
{
    struct shca_channel *ch = (struct shca_channel *)cq->base.channel;
    pthread_mutex_lock(&shca.channel_lock);
    cq->channel_next = ch->cqs;
    ch->cqs = cq;
    ch->base.refcnt++;
    pthread_mutex_unlock(&shca.channel_lock);
}

static void event_drain(int fd, uint32_t n)
{
    uint64_t one;
    struct pollfd f = {.fd = fd, .events = POLLIN};
    while (n-- > 0 && poll(&f, 1, 0) > 0)
        if (read(fd, &one, sizeof one) < 0) return;
}

void shca_channel_remove(struct shca_cq *cq)
{
    struct shca_channel *ch = (struct shca_channel *)cq->base.channel;
    pthread_mutex_lock(&shca.channel_lock);
    struct shca_cq **at = &ch->cqs;
    while (*at && *at != cq) at = &(*at)->channel_next;
    if (*at) {
        *at = cq->channel_next;
        ch->base.refcnt--;
        event_drain(ch->base.fd, cq->s->ev_produced - cq->ev_consumed);
    }
    pthread_mutex_unlock(&shca.channel_lock);
}

/* A CQ with a pending event; moved to the end of the list, so that CQs alternate. */
static struct shca_cq *event_take(struct shca_channel *ch)
{
    struct shca_cq **at = &ch->cqs, *cq;
    while (*at && (*at)->s->ev_produced == (*at)->ev_consumed) at = &(*at)->channel_next;
    if (!(cq = *at)) return NULL;
    cq->ev_consumed++;
    cq->ev_given++;
    atomic_store_explicit(&cq->empty, SHCA_NOT_POLLED, memory_order_relaxed);
    *at = cq->channel_next;
    while (*at) at = &(*at)->channel_next;
    cq->channel_next = NULL;
    *at = cq;
    return cq;
}

int shca_get_cq_event(struct ibv_comp_channel *base, struct ibv_cq **cq, void **context)
{
    for (;;) {
        uint64_t one;
        if (read(base->fd, &one, sizeof one) != sizeof one) return -1;
        pthread_mutex_lock(&shca.channel_lock);
        struct shca_cq *x = event_take((struct shca_channel *)base);
        pthread_mutex_unlock(&shca.channel_lock);
        if (!x) continue;
        *cq = &x->base;
        *context = x->base.cq_context;
        return 0;
    }
}

void shca_ack_cq_events(struct ibv_cq *cq, unsigned n)
{
    pthread_mutex_lock(&cq->mutex);
    cq->comp_events_completed += n;
    pthread_cond_signal(&cq->cond);
    pthread_mutex_unlock(&cq->mutex);
}

void shca_raise(struct ibv_context *base, const struct ibv_async_event *e)
{
    GASNETI_UNCANCELLED;
    struct shca_context *c = shca_context(base);
    struct shca_event *x = calloc(1, sizeof *x);
    if (!x) return;
    x->e = *e;
    pthread_mutex_lock(&base->mutex);
    if (!c->events) c->events_end = &c->events;
    *c->events_end = x;
    c->events_end = &x->next;
    pthread_mutex_unlock(&base->mutex);
    uint64_t one = 1;
    if (write(base->async_fd, &one, sizeof one) < 0) return;
}

/* An object counts the events delivered to the program and those it has acknowledged; its
 * destruction waits until both are equal. */
struct counts {
    uint32_t *given, *acknowledged;
    pthread_mutex_t *mutex;
    pthread_cond_t *cond;
};

static bool event_counts_of(const struct ibv_async_event *e, struct counts *x)
{
    switch (e->event_type) {
    case IBV_EVENT_CQ_ERR: {
        struct shca_cq *cq = shca_cq(e->element.cq);
        *x = (struct counts){&cq->async_given, &cq->base.async_events_completed, &cq->base.mutex,
                             &cq->base.cond};
        return true;
    }
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED: {
        struct shca_qp *qp = shca_qp(e->element.qp);
        *x = (struct counts){&qp->async_given, &qp->base.events_completed, &qp->base.mutex,
                             &qp->base.cond};
        return true;
    }
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: {
        struct shca_srq *q = shca_srq(e->element.srq);
        *x = (struct counts){&q->async_given, &q->base.events_completed, &q->base.mutex,
                             &q->base.cond};
        return true;
    }
    default:
        return false;
    }
}

int shca_get_async_event(struct ibv_context *base, struct ibv_async_event *e)
{
    struct shca_context *c = shca_context(base);
    for (;;) {
        uint64_t one;
        if (read(base->async_fd, &one, sizeof one) != sizeof one) return -1;
        pthread_mutex_lock(&base->mutex);
        struct shca_event *x = c->events;
        if (x) {
            c->events = x->next;
            if (!c->events) c->events_end = &c->events;
            *e = x->e;
            struct counts n;
            if (event_counts_of(e, &n)) ++*n.given;
        }
        pthread_mutex_unlock(&base->mutex);
        free(x);
        if (x) return 0;
    }
}

void shca_ack_async_event(struct ibv_async_event *e)
{
    struct counts n;
    if (!event_counts_of(e, &n)) return;
    pthread_mutex_lock(n.mutex);
    ++*n.acknowledged;
    pthread_cond_signal(n.cond);
    pthread_mutex_unlock(n.mutex);
}

/* OBJECT is being destroyed: its undelivered events are dropped. */
void shca_forget_events(struct ibv_context *base, const void *object)
{
    struct shca_context *c = shca_context(base);
    uint32_t dropped = 0;
    pthread_mutex_lock(&base->mutex);
    struct shca_event **at = &c->events;
    while (*at) {
        struct shca_event *x = *at;
        struct counts n;
        if (event_counts_of(&x->e, &n) && (const void *)x->e.element.qp == object) {
            *at = x->next;
            free(x);
            dropped++;
        } else
            at = &x->next;
    }
    c->events_end = at;
    event_drain(base->async_fd, dropped);
    pthread_mutex_unlock(&base->mutex);
}
