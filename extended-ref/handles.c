/* handles.c - synchronisation of explicit and implicit handles, and the growth of record pools.
 *
 * Implements gasnet_{wait,try}_sync*.  All forms poll except *_nopoll.
 */
#include "extended-ref/handles.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/job/progress.h"
#include "core/report.h"

enum { POOL_FIRST = 64, POOL_CHUNK_MOST = 4096, CACHE_LINE = 64 };

/* Allocates whole cache lines, zeroed, because other threads complete this thread's operations.  */
static void *handles_alloc(size_t size)
{
    size = (size + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
    void *memory = aligned_alloc(CACHE_LINE, size);
    if (memory == NULL)
        gasneti_fatal("out of memory: %zu bytes for records of non-blocking operations; raise the "
                      "limit (ulimit -v) or keep fewer operations outstanding",
                      size);
    memset(memory, 0, size);
    return memory;
}

__attribute__((cold)) gasnete_thread_t *gasnete_thread_create(void)
{
    gasneti_thread_t *self = gasneti_self();
    gasnete_thread_t *me = gasneti_self_extended();
    if (me) return me; /* left by an earlier thread with the same index */
    me = handles_alloc(sizeof *me);
    me->index = self->index;
    me->puts = &me->put_set;
    me->gets = &me->get_set;
    gasneti_self_extend(me);
    return me;
}

/* The range of a number of records; checking builds keep all ranges, to recognise values that are
 * not handles.  */
typedef struct chunk {
    struct chunk *next;
    const char *records;
    size_t size; /* bytes of one record */
    uint32_t count;
} chunk_t;
static chunk_t *_Atomic chunks;

static void handles_add_chunk(const char *records, size_t size, uint32_t count)
{
    chunk_t *chunk = handles_alloc(sizeof *chunk);
    *chunk = (chunk_t){atomic_load(&chunks), records, size, count};
    while (!atomic_compare_exchange_weak(&chunks, &chunk->next, chunk)) continue;
}

static bool handles_is_record(const void *handle)
{
    for (const chunk_t *chunk = atomic_load(&chunks); chunk; chunk = chunk->next) {
        size_t offset = (uintptr_t)handle - (uintptr_t)chunk->records;
        if (offset < chunk->size * chunk->count) return offset % chunk->size == 0;
    }
    return false;
}

/* Doubles the pool, by at least POOL_FIRST and at most POOL_CHUNK_MOST records.  */
__attribute__((cold)) void *gasnete_make_records(gasnete_thread_t *me, size_t size, uint32_t *made,
                                                 uint32_t *count)
{
    *count = *made;
    if (*count < POOL_FIRST) *count = POOL_FIRST;
    if (*count > POOL_CHUNK_MOST) *count = POOL_CHUNK_MOST;
    char *records = handles_alloc(*count * size);
    if (GASNETC_CHECKING) handles_add_chunk(records, size, *count);
    for (uint32_t i = 0; i < *count; i++)
        ((gasnete_op_t *)(void *)(records + i * size))->owner = (uint16_t)me->index;
    *made += *count;
    return records;
}

__attribute__((cold)) void gasnete_pool_grow(gasnete_thread_t *me)
{
    uint32_t count;
    gasnete_op_t *ops = gasnete_make_records(me, sizeof *ops, &me->made, &count);
    while (count-- > 0) gasnete_op_free(me, &ops[count]);
}

/* --- checks, called in checking builds only --- */

/* gasnetc_check_may_communicate exists in checking builds only.  */
static void handles_check_context(const char *call)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate(call);
}

void gasnete_check_op(const gasnete_op_t *op, enum gasnete_op_state state)
{
    uint32_t caller = gasneti_self()->index;
    handles_check_context("a call that synchronises handles");
    if (!handles_is_record(op))
        gasneti_fatal("%p is synchronised as a handle, and no call has returned it",
                      (const void *)op);
    if (op->owner != caller)
        gasneti_fatal("handle %p belongs to thread %u and is synchronised by thread %u: a handle "
                      "may only be synchronised by the thread that created it",
                      (const void *)op, op->owner, caller);
    if (op->state != state)
        gasneti_fatal("handle %p is not live: each handle must be synchronised exactly once",
                      (const void *)op);
}

void gasnete_check_transfer(const char *call, gasnet_node_t node)
{
    handles_check_context(call);
    if (node >= gasnetc_job.size) gasnetc_no_such_rank(call, node);
}

static void handles_check_list(const char *call, const gasnet_handle_t *handles, size_t count)
{
    handles_check_context(call);
    if (GASNETC_CHECKING && !handles && count)
        gasneti_fatal("%s is given a NULL list of %zu handles", call, count);
}

/* Fatal in an open access region, whose operations are synchronised through its handle.  */
static void handles_check_implicit(const gasnete_thread_t *me)
{
    if (GASNETC_CHECKING && me->region)
        gasneti_fatal("gasnet_{wait,try}_syncnbi_* is called inside an access region; call "
                      "gasnet_end_nbi_accessregion first and synchronise the handle it returns");
}

/* --- explicit handles --- */

/* Tests one valid entry of an array; if complete, frees its record and sets it to
 * GASNET_INVALID_HANDLE.  */
static inline bool handles_retire(gasnete_thread_t *me, gasnet_handle_t *entry)
{
    gasnete_op_t *op = gasnete_op_of(*entry);
    if (!gasnetc_counter_done(&op->counter)) return false;
    gasnete_op_free(me, op);
    *entry = GASNET_INVALID_HANDLE;
    return true;
}

void gasnete_wait_syncnb(gasnet_handle_t handle)
{
    handles_check_context("gasnet_wait_syncnb");
    if (handle == GASNET_INVALID_HANDLE) return;
    gasnete_op_t *op = gasnete_op_of(handle);
    gasnetc_wait(&op->counter);
    gasnete_op_free(gasnete_self(), op);
}

int gasnete_try_syncnb_nopoll(gasnet_handle_t handle)
{
    handles_check_context("gasnet_try_syncnb_nopoll");
    if (handle == GASNET_INVALID_HANDLE) return GASNET_OK;
    return handles_retire(gasnete_self(), &handle) ? GASNET_OK : GASNET_ERR_NOT_READY;
}

int gasnete_try_syncnb(gasnet_handle_t handle)
{
    handles_check_context("gasnet_try_syncnb");
    gasnetc_poll();
    return gasnete_try_syncnb_nopoll(handle);
}

void gasnete_wait_syncnb_all(gasnet_handle_t *handles, size_t count)
{
    handles_check_list("gasnet_wait_syncnb_all", handles, count);
    for (size_t i = 0; i < count; i++) {
        gasnete_wait_syncnb(handles[i]);
        handles[i] = GASNET_INVALID_HANDLE;
    }
}

int gasnete_try_syncnb_all_nopoll(gasnet_handle_t *handles, size_t count)
{
    handles_check_list("gasnet_try_syncnb_all_nopoll", handles, count);
    gasnete_thread_t *me = gasnete_self();
    int result = GASNET_OK;
    for (size_t i = 0; i < count; i++)
        if (handles[i] != GASNET_INVALID_HANDLE && !handles_retire(me, &handles[i]))
            result = GASNET_ERR_NOT_READY;
    return result;
}

int gasnete_try_syncnb_all(gasnet_handle_t *handles, size_t count)
{
    handles_check_list("gasnet_try_syncnb_all", handles, count);
    gasnetc_poll();
    return gasnete_try_syncnb_all_nopoll(handles, count);
}

/* Returns GASNET_OK also if no entry is valid.  */
int gasnete_try_syncnb_some_nopoll(gasnet_handle_t *handles, size_t count)
{
    handles_check_list("gasnet_try_syncnb_some_nopoll", handles, count);
    gasnete_thread_t *me = gasnete_self();
    bool any = false, pending = false;
    for (size_t i = 0; i < count; i++) {
        if (handles[i] == GASNET_INVALID_HANDLE) continue;
        if (handles_retire(me, &handles[i]))
            any = true;
        else
            pending = true;
    }
    return any || !pending ? GASNET_OK : GASNET_ERR_NOT_READY;
}

int gasnete_try_syncnb_some(gasnet_handle_t *handles, size_t count)
{
    handles_check_list("gasnet_try_syncnb_some", handles, count);
    gasnetc_poll();
    return gasnete_try_syncnb_some_nopoll(handles, count);
}

void gasnete_wait_syncnb_some(gasnet_handle_t *handles, size_t count)
{
    handles_check_list("gasnet_wait_syncnb_some", handles, count);
    while (gasnete_try_syncnb_some_nopoll(handles, count) != GASNET_OK) gasnetc_poll();
}

/* --- the implicit handle --- */

void gasnete_wait_syncnbi_puts(void)
{
    handles_check_context("gasnet_wait_syncnbi_puts");
    gasnete_thread_t *me = gasnete_self();
    handles_check_implicit(me);
    gasnetc_wait(&me->put_set);
}

void gasnete_wait_syncnbi_gets(void)
{
    handles_check_context("gasnet_wait_syncnbi_gets");
    gasnete_thread_t *me = gasnete_self();
    handles_check_implicit(me);
    gasnetc_wait(&me->get_set);
}

void gasnete_wait_syncnbi_all(void)
{
    handles_check_context("gasnet_wait_syncnbi_all");
    gasnete_thread_t *me = gasnete_self();
    handles_check_implicit(me);
    gasnetc_wait(&me->put_set);
    gasnetc_wait(&me->get_set);
}

/* Polls, then tests one of the two sets or both.  */
static int handles_try_sets(const char *call, bool puts, bool gets)
{
    handles_check_context(call);
    gasnete_thread_t *me = gasnete_self();
    handles_check_implicit(me);
    gasnetc_poll();
    bool done = (!puts || gasnetc_counter_done(&me->put_set)) &&
                (!gets || gasnetc_counter_done(&me->get_set));
    return done ? GASNET_OK : GASNET_ERR_NOT_READY;
}

int gasnete_try_syncnbi_puts(void)
{
    return handles_try_sets("gasnet_try_syncnbi_puts", true, false);
}

int gasnete_try_syncnbi_gets(void)
{
    return handles_try_sets("gasnet_try_syncnbi_gets", false, true);
}

int gasnete_try_syncnbi_all(void)
{
    return handles_try_sets("gasnet_try_syncnbi_all", true, true);
}
