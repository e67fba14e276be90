/* handles.c - a thread's record for collectives: its image, its handles, its open aggregates; and
 * the synchronisation of handles.
 *
 * A thread takes handles from a free list of its own and returns them, with no lock.  An aggregate
 * is a handle for several operations of a team.
 */
#include "extended-ref/handles.h"

#include <stdlib.h>

#include "core/am/context.h"
#include "core/job/progress.h"
#include "core/report.h"
#include "core/trace/trace.h"
#include "extended-ref/coll/op.h"

/* An aggregate that calls with GASNET_COLL_AGGREGATE have opened.  */
typedef struct handles_aggregate {
    struct handles_aggregate *next;
    const gasnete_team_t *team;
    gasnet_coll_handle_t handle;
} handles_aggregate_t;

typedef struct handles_thread {
    uint32_t image;
    gasnet_coll_handle_t free;
    handles_aggregate_t *open;
} handles_thread_t;

static const char HANDLES_MEMORY[] = "handles of collectives, of which fewer may be outstanding";

/* --- the thread --- */

static handles_thread_t *handles_self(const char *call)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    handles_thread_t *thread = me ? me->coll : NULL;
    if (thread == NULL)
        gasneti_fatal("%s is called by a thread that has not called gasnet_coll_init: each image, "
                      "and no other thread, must call it before other collectives",
                      call);
    return thread;
}

uint32_t gasnete_coll_local_image(const char *call)
{
    return handles_self(call)->image;
}

void gasnete_coll_become_image(uint32_t image)
{
    gasnete_thread_t *me = gasnete_self();
    handles_thread_t *thread =
        me->coll ? me->coll : gasneti_calloc(1, sizeof *thread, HANDLES_MEMORY);
    thread->image = image;
    me->coll = thread;
}

/* --- handles --- */

enum { HANDLES_AT_ONCE = 64 };

static gasnet_coll_handle_t handles_new(handles_thread_t *me)
{
    if (me->free == NULL) {
        gasnet_coll_handle_t handles =
            gasneti_calloc(HANDLES_AT_ONCE, sizeof *handles, HANDLES_MEMORY);
        for (int i = 0; i < HANDLES_AT_ONCE; i++) {
            handles[i].owner = gasnete_self()->index;
            handles[i].next = me->free;
            me->free = &handles[i];
        }
    }
    gasnet_coll_handle_t handle = me->free;
    me->free = handle->next;
    handle->live = true;
    atomic_store_explicit(&handle->pending, 0, memory_order_relaxed);
    return handle;
}

static void handles_free(handles_thread_t *me, gasnet_coll_handle_t handle)
{
    handle->live = false;
    handle->next = me->free;
    me->free = handle;
}

static inline bool handles_done(gasnet_coll_handle_t handle)
{
    return atomic_load_explicit(&handle->pending, memory_order_acquire) == 0;
}

/* Counts one more operation; other operations of the aggregate may complete at the same time.  */
static void handles_add(gasnet_coll_handle_t handle)
{
    gasneti_lock(&gasnete_coll_lock);
    uint32_t pending = atomic_load_explicit(&handle->pending, memory_order_relaxed);
    atomic_store_explicit(&handle->pending, pending + 1, memory_order_relaxed);
    gasneti_unlock(&gasnete_coll_lock);
}

/* The list entry of the team's open aggregate; the end of the list if the team has none.  */
static handles_aggregate_t **handles_find(handles_thread_t *me, const gasnete_team_t *team)
{
    handles_aggregate_t **at = &me->open;
    while (*at && (*at)->team != team->plain) at = &(*at)->next;
    return at;
}

/* Begins the operation of a call with GASNET_COLL_AGGREGATE.  */
static void handles_aggregate(handles_thread_t *me, const gasnete_coll_call_t *call, uint32_t image)
{
    handles_aggregate_t **at = handles_find(me, call->team);
    if (*at == NULL) {
        *at = gasneti_calloc(1, sizeof **at, HANDLES_MEMORY);
        (*at)->team = call->team->plain;
        (*at)->handle = handles_new(me);
    }
    gasnet_coll_handle_t handle = (*at)->handle;
    handles_add(handle);
    gasnete_coll_begin(call, image, handle, false);
}

/* The handle of a call without GASNET_COLL_AGGREGATE, which ends an open aggregate.  */
static gasnet_coll_handle_t handles_take(handles_thread_t *me, const gasnete_team_t *team)
{
    handles_aggregate_t **at = me->open ? handles_find(me, team) : &me->open;
    handles_aggregate_t *aggregate = *at;
    if (aggregate == NULL) return handles_new(me);
    gasnet_coll_handle_t handle = aggregate->handle;
    *at = aggregate->next;
    free(aggregate);
    return handle;
}

static uint32_t handles_image(const handles_thread_t *me, const gasnete_coll_call_t *call)
{
    return call->team->local == 1 ? 0 : me->image;
}

gasnet_coll_handle_t gasnete_coll_start(const gasnete_coll_call_t *call)
{
    handles_thread_t *me = handles_self(call->name);
    if (call->flags & GASNET_COLL_AGGREGATE) {
        handles_aggregate(me, call, handles_image(me, call));
        return GASNET_COLL_INVALID_HANDLE;
    }
    gasnet_coll_handle_t handle = handles_take(me, call->team);
    handles_add(handle);
    const uint64_t began = gasneti_trace_begin();
    gasnete_coll_begin(call, handles_image(me, call), handle, false);
    gasnete_coll_trace(began, call);
    if (!handles_done(handle)) return handle;
    handles_free(me, handle);
    return GASNET_COLL_INVALID_HANDLE;
}

/* Begins an operation and waits for it.  The thread keeps the claim of its operation, which
 * messages then need not put on the list of ready operations.  */
static void handles_begin_and_wait(handles_thread_t *me, const gasnete_coll_call_t *call,
                                   gasnet_coll_handle_t handle)
{
    gasnete_coll_op_t *op = gasnete_coll_begin(call, handles_image(me, call), handle, true);
    while (!handles_done(handle)) {
        gasneti_wait_poll();
        if (op && gasnete_coll_resume(op)) op = NULL;
    }
    gasneti_wait_over();
}

void gasnete_coll_execute(const gasnete_coll_call_t *call)
{
    handles_thread_t *me = handles_self(call->name);
    const uint64_t began = gasneti_trace_begin();
    if (me->open != NULL) {
        gasnet_coll_handle_t handle = handles_take(me, call->team);
        handles_add(handle);
        handles_begin_and_wait(me, call, handle);
        handles_free(me, handle);
    } else {
        struct gasnete_coll_handle handle = {.pending = 1};
        handles_begin_and_wait(me, call, &handle);
    }
    gasnete_coll_trace(began, call);
}

/* --- synchronisation --- */

/* The record behind a valid handle of the calling thread.  */
static handles_thread_t *handles_check(const char *call, gasnet_coll_handle_t handle)
{
    handles_thread_t *me = handles_self(call);
    if (!GASNETC_CHECKING) return me;
    if (handle->owner != gasnete_self()->index)
        gasneti_fatal("%s: the handle belongs to thread %u and is synchronised by thread %u: a "
                      "handle may only be synchronised by the thread that initiated the operation",
                      call, handle->owner, gasnete_self()->index);
    if (!handle->live)
        gasneti_fatal("%s: the handle is not live: each must be synchronised exactly once", call);
    return me;
}

static void handles_check_context(const char *call)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate(call);
}

/* Tests one valid entry of an array; if complete, frees it and sets it to
 * GASNET_COLL_INVALID_HANDLE.  */
static bool handles_retire(const char *call, gasnet_coll_handle_t *entry)
{
    handles_thread_t *me = handles_check(call, *entry);
    if (!handles_done(*entry)) return false;
    handles_free(me, *entry);
    *entry = GASNET_COLL_INVALID_HANDLE;
    return true;
}

static int handles_try_all(const char *call, gasnet_coll_handle_t *handles, size_t count)
{
    int result = GASNET_OK;
    for (size_t i = 0; i < count; i++)
        if (handles[i] != GASNET_COLL_INVALID_HANDLE && !handles_retire(call, &handles[i]))
            result = GASNET_ERR_NOT_READY;
    return result;
}

/* Returns GASNET_OK also if no entry is valid.  */
static int handles_try_some(const char *call, gasnet_coll_handle_t *handles, size_t count)
{
    bool any = false, pending = false;
    for (size_t i = 0; i < count; i++) {
        if (handles[i] == GASNET_COLL_INVALID_HANDLE) continue;
        if (handles_retire(call, &handles[i]))
            any = true;
        else
            pending = true;
    }
    return any || !pending ? GASNET_OK : GASNET_ERR_NOT_READY;
}

void gasnet_coll_wait_sync(gasnet_coll_handle_t handle)
{
    handles_check_context("gasnet_coll_wait_sync");
    if (handle == GASNET_COLL_INVALID_HANDLE) return;
    handles_thread_t *me = handles_check("gasnet_coll_wait_sync", handle);
    gasneti_trace_wait(handles_done(handle), .kind = GASNETI_TRACE_coll_wait,
                       .site = __builtin_return_address(0));
    handles_free(me, handle);
}

int gasnet_coll_try_sync(gasnet_coll_handle_t handle)
{
    handles_check_context("gasnet_coll_try_sync");
    gasnetc_poll();
    return handles_try_all("gasnet_coll_try_sync", &handle, 1);
}

void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *handles, size_t numhandles)
{
    for (size_t i = 0; i < numhandles; i++) {
        gasnet_coll_wait_sync(handles[i]);
        handles[i] = GASNET_COLL_INVALID_HANDLE;
    }
}

int gasnet_coll_try_sync_all(gasnet_coll_handle_t *handles, size_t numhandles)
{
    handles_check_context("gasnet_coll_try_sync_all");
    gasnetc_poll();
    return handles_try_all("gasnet_coll_try_sync_all", handles, numhandles);
}

void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *handles, size_t numhandles)
{
    handles_check_context("gasnet_coll_wait_sync_some");
    gasneti_trace_wait(handles_try_some("gasnet_coll_wait_sync_some", handles, numhandles) ==
                           GASNET_OK,
                       .kind = GASNETI_TRACE_coll_wait, .site = __builtin_return_address(0));
}

int gasnet_coll_try_sync_some(gasnet_coll_handle_t *handles, size_t numhandles)
{
    handles_check_context("gasnet_coll_try_sync_some");
    gasnetc_poll();
    return handles_try_some("gasnet_coll_try_sync_some", handles, numhandles);
}
