/*
 * eq.c - event queues: depositing events, handlers, and taking events.
 *
 * Events are deposited with the engine's lock held, so an event is visible only when its operation
 * is no longer pending.  In a full queue the oldest event is overwritten, and the next PtlEQGet
 * returns PTL_EQ_DROPPED.  A queue with a handler stages each event until the handler has
 * returned; only then can the event be taken.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "other/base/clock.h"
#include "other/portals3/include/portals3_ext.h"
#include "other/portals3/src/engine/deposit.h"

/* Sequence numbers begin just before the wrap, to expose programs that do not handle it.  */
#define FIRST_SEQUENCE ((ptl_seq_t)-64)

/* --- depositing --- */

/* The slot of the next event of a queue with a ring; eq_show makes the event visible.  With
 * eq->lock.  */
static inline ptl_event_t *eq_next(const struct ptli_eq *eq)
{
    return &eq->ring[atomic_load_explicit(&eq->posted, memory_order_relaxed) & (eq->size - 1)];
}

static inline void eq_show(struct ptli_eq *eq)
{
    uint64_t posted = atomic_load_explicit(&eq->posted, memory_order_relaxed);
    atomic_store(&eq->posted, posted + 1); /* before engine->sleepers is read */
    ptli_eq_news(eq);
}

static void eq_store(struct ptli_eq *eq, const ptl_event_t *event)
{
    if (eq->size == 0) return;
    memcpy(eq_next(eq), event, sizeof *event);
    eq_show(eq);
}

/* The slot of the next event that is passed to the handler before the ring; show_staged makes it
 * visible. NULL: out of memory. With eq->lock. */
static ptl_event_t *staging_slot(struct ptli_eq *eq)
{
    if (eq->staged_first > 0 && eq->staged_first == eq->staged_count)
        eq->staged_first = eq->staged_count = 0;
    if (eq->staged_count == eq->staged_size) {
        uint64_t size = eq->staged_size ? 2 * eq->staged_size : 16;
        ptl_event_t *larger = realloc(eq->staged, size * sizeof *larger);
        if (!larger) return NULL;
        eq->staged = larger;
        eq->staged_size = size;
    }
    return &eq->staged[eq->staged_count];
}

static void show_staged(struct ptli_engine *engine, struct ptli_eq *eq)
{
    eq->staged_count++;
    atomic_store(&eq->any_staged, true); /* before engine->sleepers is read */
    ptli_eq_news(eq);
    if (eq->in_staged_eqs) return;
    eq->in_staged_eqs = true;
    eq->next_staged_eq = engine->staged_eqs;
    engine->staged_eqs = eq;
    atomic_store_explicit(&engine->any_staged_eq, true, memory_order_release);
    ptli_due(engine->transport);
}

/* Removes the next staged event and returns the handler to call; NULL: no event is staged. */
static ptl_eq_handler_t eq_unstage(struct ptli_eq *eq, ptl_event_t *event)
{
    ptl_eq_handler_t handler = NULL;
    ptli_mutex_lock(&eq->lock);
    if (eq->staged_first < eq->staged_count) {
        memcpy(event, &eq->staged[eq->staged_first++], sizeof *event);
        handler = eq->handler;
    }
    ptli_mutex_unlock(&eq->lock);
    return handler;
}

void ptli_eq_call_handler(struct ptli_eq *eq)
{
    ptl_event_t event, copy;
    ptl_eq_handler_t handler;
    pthread_mutex_lock(&eq->handling);
    while ((handler = eq_unstage(eq, &event))) {
        memcpy(&copy, &event, sizeof copy);
        handler(&copy);
        ptli_mutex_lock(&eq->lock);
        eq_store(eq, &event);
        if (eq->staged_first == eq->staged_count)
            atomic_store_explicit(&eq->any_staged, false, memory_order_release);
        ptli_mutex_unlock(&eq->lock);
        ptli_wake_sleepers(eq->engine);
    }
    pthread_mutex_unlock(&eq->handling);
}

static bool eq_stage(struct ptli_engine *engine, struct ptli_eq *eq, const struct ptli_md *md,
                     ptl_event_kind_t kind, const struct ptli_event_info *info, ptl_seq_t sequence)
{
    ptl_event_t *staged = staging_slot(eq);
    if (!staged) return false;
    ptli_write_event(staged, md, kind, info, sequence);
    show_staged(engine, eq);
    return true;
}

static bool eq_wanted(const struct ptli_md *md, ptl_event_kind_t kind)
{
    if (!md->eq) return false;
    switch (kind) {
    case PTL_EVENT_GET_START:
    case PTL_EVENT_PUT_START:
    case PTL_EVENT_GETPUT_START:
    case PTL_EVENT_REPLY_START:
    case PTL_EVENT_SEND_START:
        return !(md->user.options & PTL_MD_EVENT_START_DISABLE);
    /* Disabled END events are not logged for failures either. */
    case PTL_EVENT_GET_END:
    case PTL_EVENT_PUT_END:
    case PTL_EVENT_GETPUT_END:
    case PTL_EVENT_REPLY_END:
    case PTL_EVENT_SEND_END:
        return !(md->user.options & PTL_MD_EVENT_END_DISABLE);
    /* No option disables these.  */
    case PTL_EVENT_ACK:
    case PTL_EVENT_UNLINK:
        return true;
    }
    return false;
}

void ptli_log(struct ptli_engine *engine, struct ptli_md *md, ptl_event_kind_t kind,
              const struct ptli_event_info *info)
{
    struct ptli_eq *eq = md->eq;
    bool staged = false;
    if (!eq_wanted(md, kind)) return;
    ptli_mutex_lock(&eq->lock);
    const ptl_seq_t sequence = eq->sequence++;
    if (eq->handler != NULL) staged = eq_stage(engine, eq, md, kind, info, sequence);
    if (!staged && eq->size) {
        ptli_write_event(eq_next(eq), md, kind, info, sequence);
        eq_show(eq);
    }
    ptli_mutex_unlock(&eq->lock);
    if (atomic_load(&engine->sleepers) > 0) ptli_wake_sleepers(engine);
}

static inline bool none_to_take(const struct ptli_eq *eq)
{
    return atomic_load(&eq->posted) == atomic_load_explicit(&eq->taken, memory_order_relaxed);
}

/* In this order: an event that is no longer staged can be taken.  */
static inline bool is_empty(const struct ptli_eq *eq)
{
    return !atomic_load(&eq->any_staged) && none_to_take(eq);
}

bool ptli_eq_quiet(struct ptli_eq *eq)
{
    return eq->ends_due == 0 && is_empty(eq);
}

/* --- taking --- */

/* True if the queue was freed meanwhile; the object may be another queue by now.  */
static bool is_gone(struct ptli_eq *eq, ptl_handle_eq_t handle)
{
    return atomic_load_explicit(&eq->slot.handle, memory_order_acquire) != handle;
}

/* With eq->lock.  */
static inline int take_next(struct ptli_eq *eq, ptl_handle_eq_t handle, ptl_event_t *event)
{
    uint64_t posted = atomic_load_explicit(&eq->posted, memory_order_relaxed);
    uint64_t taken = atomic_load_explicit(&eq->taken, memory_order_relaxed);
    int result = PTL_OK;
    if (posted == taken || is_gone(eq, handle)) return PTL_EQ_EMPTY;
    if (posted - taken > eq->size) {
        taken = posted - eq->size;
        result = PTL_EQ_DROPPED;
    }
    memcpy(event, &eq->ring[taken & (eq->size - 1)], sizeof *event);
    atomic_store_explicit(&eq->taken, taken + 1, memory_order_relaxed);
    return result;
}

static int take_what_comes(struct ptli_eq *eq, ptl_handle_eq_t handle, ptl_event_t *event)
{
    int result;
    if (atomic_load_explicit(&eq->any_staged, memory_order_acquire)) ptli_eq_call_handler(eq);
    ptli_mutex_lock(&eq->lock);
    result = take_next(eq, handle, event);
    ptli_mutex_unlock(&eq->lock);
    return result;
}

static inline int eq_take(struct ptli_eq *eq, ptl_handle_eq_t handle, ptl_event_t *event)
{
    return is_empty(eq) ? PTL_EQ_EMPTY : take_what_comes(eq, handle, event);
}

static inline bool eq_progress(struct ptli_engine *engine, ptl_time_t timeout)
{
    return engine->transport->ops->progress(engine->transport, timeout);
}

/* A program that polls several queues round robin drives the network once for all of them: a call
 * that finds a queue empty drives it only if no other call has done so since the last call for this
 * queue.  */
static inline bool was_looked_for(struct ptli_engine *engine, struct ptli_eq *eq)
{
    uint32_t looks = atomic_load_explicit(&engine->looks, memory_order_relaxed);
    if (atomic_load_explicit(&eq->looked, memory_order_relaxed) == looks) return false;
    atomic_store_explicit(&eq->looked, looks, memory_order_relaxed);
    return true;
}

/* Lets the network deliver what has arrived.  False: nothing has.  */
static inline bool eq_drive_network(struct ptli_engine *engine, struct ptli_eq *eq)
{
    uint32_t looks = atomic_load_explicit(&engine->looks, memory_order_relaxed) + 1;
    atomic_store_explicit(&engine->looks, looks, memory_order_relaxed);
    atomic_store_explicit(&eq->looked, looks, memory_order_relaxed);
    return eq_progress(engine, 0);
}

/* The queue is empty: drives the network and tries again.  */
static int get_what_comes(struct ptli_engine *engine, struct ptli_eq *eq, ptl_handle_eq_t handle,
                          ptl_event_t *event)
{
    return eq_drive_network(engine, eq) ? eq_take(eq, handle, event) : PTL_EQ_EMPTY;
}

/* The general case: staged events, contention, an empty queue.  */
static int eq_get(struct ptli_engine *engine, struct ptli_eq *eq, ptl_handle_eq_t handle,
                  ptl_event_t *event)
{
    int result = eq_take(eq, handle, event);
    return result == PTL_EQ_EMPTY ? get_what_comes(engine, eq, handle, event) : result;
}

/* A handle of another interface, or an invalid one.  */
__attribute__((cold)) static int get_elsewhere(ptl_handle_eq_t handle, ptl_event_t *event)
{
    struct ptli_engine *engine;
    struct ptli_eq *eq;
    int result;
    if (!event) return PTL_SEGV;
    if (!(engine = ptli_engine_of(handle, PTLI_EQ, PTL_EQ_INVALID, &result))) return result;
    eq = ptli_pool_find(&engine->eqs, handle);
    return eq ? eq_get(engine, eq, handle, event) : PTL_EQ_INVALID;
}

int PtlEQGet(ptl_handle_eq_t handle, ptl_event_t *event)
{
    struct ptli_engine *engine = &ptli_engines[PTL_IFACE_DEFAULT];
    struct ptli_eq *eq = ptli_pool_again(&engine->eqs, handle);
    int result;
    if (!eq || !event) return get_elsewhere(handle, event);
    if (atomic_load(&eq->any_staged)) return eq_get(engine, eq, handle, event);
    if (none_to_take(eq))
        return was_looked_for(engine, eq) ? PTL_EQ_EMPTY
                                          : get_what_comes(engine, eq, handle, event);
    if (!ptli_mutex_try(&eq->lock)) return eq_get(engine, eq, handle, event);
    result = take_next(eq, handle, event);
    ptli_mutex_unlock(&eq->lock);
    return result == PTL_EQ_EMPTY ? eq_get(engine, eq, handle, event) : result;
}

/* The events from number `taken` on, up to the end of the ring.  */
static inline int events_at(const struct ptli_eq *eq, uint64_t taken, uint64_t posted,
                            const ptl_event_t **events, ptl_size_t *count)
{
    const uint64_t at = taken & (eq->size - 1), there = posted - taken, room = eq->size - at;
    *events = &eq->ring[at];
    *count = there < room ? there : room;
    return PTL_OK;
}

/* Staged events are passed to their handler first; the general case of PtlEQNext.  */
static int next_slowly(ptl_handle_eq_t handle, const ptl_event_t **events, ptl_size_t *count)
{
    struct ptli_engine *engine;
    struct ptli_eq *eq;
    int result;
    if (!events || !count) return PTL_SEGV;
    if (!(engine = ptli_engine_of(handle, PTLI_EQ, PTL_EQ_INVALID, &result))) return result;
    if (!(eq = ptli_pool_find(&engine->eqs, handle))) return PTL_EQ_INVALID;
    if (atomic_load(&eq->any_staged)) ptli_eq_call_handler(eq);
    const uint64_t posted = atomic_load_explicit(&eq->posted, memory_order_acquire);
    uint64_t taken = atomic_load_explicit(&eq->taken, memory_order_relaxed);
    if (posted == taken) return PTL_EQ_EMPTY;
    result = PTL_OK;
    if (posted - taken > eq->size) {
        taken = posted - eq->size;
        atomic_store_explicit(&eq->taken, taken, memory_order_relaxed);
        result = PTL_EQ_DROPPED;
    }
    events_at(eq, taken, posted, events, count);
    return result;
}

int PtlEQNext(ptl_handle_eq_t handle, const ptl_event_t **events, ptl_size_t *count)
{
    const struct ptli_eq *eq = ptli_pool_latest(&ptli_engines[PTL_IFACE_DEFAULT].eqs, handle);
    if (!eq || !events || !count || atomic_load(&eq->any_staged))
        return next_slowly(handle, events, count);
    const uint64_t posted = atomic_load_explicit(&eq->posted, memory_order_acquire);
    const uint64_t taken = atomic_load_explicit(&eq->taken, memory_order_relaxed);
    if (posted == taken) return PTL_EQ_EMPTY;
    if (posted - taken > eq->size) return next_slowly(handle, events, count);
    return events_at(eq, taken, posted, events, count);
}

/* release: the events have been read.  */
static inline void events_done(struct ptli_eq *eq, ptl_size_t count)
{
    atomic_store_explicit(&eq->taken,
                          atomic_load_explicit(&eq->taken, memory_order_relaxed) + count,
                          memory_order_release);
}

__attribute__((cold)) static void done_elsewhere(ptl_handle_eq_t handle, ptl_size_t count)
{
    struct ptli_engine *engine = ptli_engines + ptli_interface_of(handle) % PTLI_INTERFACES;
    struct ptli_eq *eq = ptli_pool_again(&engine->eqs, handle);
    if (eq) events_done(eq, count);
}

void PtlEQDone(ptl_handle_eq_t handle, ptl_size_t count)
{
    struct ptli_eq *eq = ptli_pool_latest(&ptli_engines[PTL_IFACE_DEFAULT].eqs, handle);
    if (!eq)
        done_elsewhere(handle, count);
    else
        events_done(eq, count);
}

/* A staged event can be taken once the handler has returned.  */
static inline ptl_size_t events_of(const struct ptli_eq *eq)
{
    return atomic_load(&eq->any_staged) + atomic_load(&eq->posted) -
           atomic_load_explicit(&eq->taken, memory_order_relaxed);
}

int PtlEQCount(const ptl_handle_eq_t *handles, int size, ptl_size_t *counts)
{
    struct ptli_engine *engine = &ptli_engines[PTL_IFACE_DEFAULT];
    int result;
    if (!handles || !counts) return PTL_SEGV;
    if (size < 1) return PTL_EQ_INVALID;
    if (!ptli_pool_again(&engine->eqs, handles[0]) &&
        !(engine = ptli_engine_of(handles[0], PTLI_EQ, PTL_EQ_INVALID, &result)))
        return result;
    for (int i = 0; i < size; i++) {
        const struct ptli_eq *eq = ptli_pool_again(&engine->eqs, handles[i]);
        if (!eq) return PTL_EQ_INVALID;
        counts[i] = events_of(eq);
    }
    return PTL_OK;
}

/* --- waiting --- */

struct wait {
    struct ptli_engine *engine;
    ptl_handle_eq_t *handles;
    int size;
    struct ptli_eq **eqs;
    ptl_event_t *event;
    int which;
};

static int eq_take_any(struct wait *wait)
{
    for (int i = 0; i < wait->size; i++) {
        int result = eq_take(wait->eqs[i], wait->handles[i], wait->event);
        wait->which = i;
        if (result != PTL_EQ_EMPTY) return result;
        if (is_gone(wait->eqs[i], wait->handles[i])) return PTL_EQ_INVALID;
    }
    return PTL_EQ_EMPTY;
}

/* True if the thread must not sleep.  */
static bool is_due(const struct wait *wait)
{
    for (int i = 0; i < wait->size; i++) {
        struct ptli_eq *eq = wait->eqs[i];
        if (!is_empty(eq) || is_gone(eq, wait->handles[i])) return true;
    }
    return atomic_load(&wait->engine->closing);
}

/* Waits until an event is due or the deadline (ms, 0: none) has passed.  */
static void sleep_among(struct wait *wait, uint64_t deadline)
{
    struct ptli_engine *engine = wait->engine;
    struct timespec until = {.tv_sec = (time_t)(deadline / 1000),
                             .tv_nsec = (long)(deadline % 1000) * 1000000};
    int error = 0;
    atomic_fetch_add(&engine->sleepers, 1);
    pthread_mutex_lock(&engine->bell_lock);
    while (!is_due(wait) && error != ETIMEDOUT)
        error = deadline ? pthread_cond_timedwait(&engine->bell, &engine->bell_lock, &until)
                         : pthread_cond_wait(&engine->bell, &engine->bell_lock);
    pthread_mutex_unlock(&engine->bell_lock);
    atomic_fetch_sub(&engine->sleepers, 1);
}

/* Drives the network for ROUNDS polls; then leaves that to the progress thread and sleeps.  */
static int wait_for_any(struct wait *wait, ptl_time_t timeout)
{
    enum { ROUNDS = 100 };
    struct ptli_engine *engine = wait->engine;
    bool forever = timeout == PTL_TIME_FOREVER;
    uint64_t deadline = 0;
    int rounds = 0;
    for (;;) {
        int result = eq_take_any(wait);
        if (result != PTL_EQ_EMPTY) return result;
        if (atomic_load(&engine->closing)) return PTL_EQ_INVALID;
        if (rounds > 0 && timeout == 0) return PTL_EQ_EMPTY;
        if (rounds == 0 && timeout != 0 && !forever) deadline = gasneti_clock_ms() + timeout + 1;
        if (rounds > 0 && !forever && gasneti_clock_ms() >= deadline) return PTL_EQ_EMPTY;
        if (eq_progress(engine, 0) || ++rounds < ROUNDS) {
            rounds += rounds == 0;
            continue;
        }
        if (engine->transport->threaded) {
            engine->transport->ops->wake(engine->transport); /* idle while this thread polled */
            sleep_among(wait, deadline);
        } else {
            uint64_t now = gasneti_clock_ms(), left = deadline > now ? deadline - now : 0;
            eq_progress(engine, forever || left > 100 ? 100 : (ptl_time_t)left);
        }
    }
}

static int wait_inside(struct wait *wait, ptl_time_t timeout)
{
    int result;
    atomic_fetch_add(&wait->engine->inside, 1);
    result = wait_for_any(wait, timeout);
    atomic_fetch_sub(&wait->engine->inside, 1);
    return result;
}

int PtlEQWait(ptl_handle_eq_t handle, ptl_event_t *event)
{
    struct wait wait = {.handles = &handle, .size = 1, .event = event};
    struct ptli_eq *eq;
    int result;
    if (!event) return PTL_SEGV;
    if (!(wait.engine = ptli_engine_of(handle, PTLI_EQ, PTL_EQ_INVALID, &result))) return result;
    eq = ptli_pool_find(&wait.engine->eqs, handle);
    if (!eq) return PTL_EQ_INVALID;
    wait.eqs = &eq;
    return wait_inside(&wait, PTL_TIME_FOREVER);
}

int PtlEQPoll(ptl_handle_eq_t *handles, int size, ptl_time_t timeout, ptl_event_t *event,
              int *which)
{
    enum { FEW = 16 };
    struct ptli_eq *few[FEW], **eqs = few;
    struct wait wait = {.handles = handles, .size = size, .event = event};
    int result = PTL_OK;
    if (!handles || !event || !which) return PTL_SEGV;
    if ((result = ptli_not_initialised()) != PTL_OK) return result;
    if (size < 1) return PTL_EQ_INVALID;
    if (size > FEW && !(eqs = malloc((size_t)size * sizeof *eqs))) return PTL_NO_SPACE;
    wait.eqs = eqs;
    for (int i = 0; i < size && result == PTL_OK; i++) {
        struct ptli_engine *engine = ptli_engine_of(handles[i], PTLI_EQ, PTL_EQ_INVALID, &result);
        eqs[i] = engine ? ptli_pool_find(&engine->eqs, handles[i]) : NULL;
        if (!wait.engine) wait.engine = engine;
        if (!eqs[i] || engine != wait.engine) {
            result = PTL_EQ_INVALID;
            *which = i;
        }
    }
    if (result == PTL_OK) {
        result = wait_inside(&wait, timeout);
        if (result == PTL_OK || result == PTL_EQ_DROPPED) *which = wait.which;
    }
    if (eqs != few) free(eqs);
    return result;
}

/* --- making and freeing --- */

/* Under the queue's lock: the object may have been another queue, which a thread may still access.
 * */
static void open_eq(struct ptli_engine *engine, struct ptli_eq *eq, ptl_event_t *ring,
                    uint64_t size, ptl_eq_handler_t handler)
{
    if (!eq->ready) {
        eq->engine = engine;
        pthread_mutex_init(&eq->handling, NULL);
        eq->ready = true;
    }
    ptli_mutex_lock(&eq->lock);
    eq->ring = ring;
    eq->size = size;
    atomic_store(&eq->posted, 0);
    atomic_store(&eq->taken, 0);
    eq->sequence = FIRST_SEQUENCE;
    eq->handler = handler;
    eq->users = 0;
    eq->ends_due = 0;
    eq->open = true;
    ptli_mutex_unlock(&eq->lock);
}

int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler, ptl_handle_eq_t *eq)
{
    struct ptli_engine *engine;
    ptl_event_t *ring = NULL;
    struct ptli_eq *made;
    uint64_t size = count > 0;
    int result;
    if (!eq) return PTL_SEGV;
    if (!(engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result))) return result;
    *eq = PTL_EQ_NONE;
    if (count == 0 && !handler) return PTL_OK;
    while (size < count && size < (uint64_t)1 << 40) size *= 2;
    if (size && !(ring = calloc(size, sizeof *ring))) return PTL_NO_SPACE;
    ptli_lock(engine);
    made = ptli_pool_take(&engine->eqs);
    if (made) {
        open_eq(engine, made, ring, size, handler);
        *eq = made->slot.handle;
    }
    ptli_unlock(engine);
    if (!made) free(ring);
    return made ? PTL_OK : PTL_NO_SPACE;
}

/* Frees the memory of the queue; no event may be deposited any more.  */
void ptli_eq_close(struct ptli_eq *eq)
{
    ptli_mutex_lock(&eq->lock);
    eq->open = false;
    free(eq->ring);
    free(eq->staged);
    eq->ring = eq->staged = NULL;
    eq->staged_first = eq->staged_count = eq->staged_size = 0;
    atomic_store(&eq->any_staged, false);
    ptli_mutex_unlock(&eq->lock);
}

int PtlEQFree(ptl_handle_eq_t handle)
{
    struct ptli_engine *engine;
    struct ptli_eq *eq;
    int result;
    if (!(engine = ptli_engine_of(handle, PTLI_EQ, PTL_EQ_INVALID, &result))) return result;
    ptli_lock(engine);
    eq = ptli_pool_find(&engine->eqs, handle);
    result = !eq ? PTL_EQ_INVALID : eq->users > 0 ? PTL_EQ_IN_USE : PTL_OK;
    if (result == PTL_OK) {
        ptli_pool_kill(&eq->slot);
        for (struct ptli_eq **at = &engine->staged_eqs; *at; at = &(*at)->next_staged_eq)
            if (*at == eq) {
                *at = eq->next_staged_eq;
                eq->in_staged_eqs = false;
                break;
            }
    }
    ptli_unlock(engine);
    if (result != PTL_OK) return result;
    atomic_thread_fence(memory_order_seq_cst);
    ptli_wake_sleepers(engine); /* waiting threads return PTL_EQ_INVALID */
    /* Staged events are passed to the handler, then lost; waits for a running call of it. */
    if (eq->handler) ptli_eq_call_handler(eq);
    ptli_eq_close(eq);
    ptli_lock(engine);
    ptli_pool_give(&engine->eqs, &eq->slot);
    ptli_unlock(engine);
    return PTL_OK;
}
