/* handles.c - synchronisation of explicit and implicit handles, and the threads' records.
 *
 * Implements gasnet_{wait,try}_sync*.  All forms poll except *_nopoll.
 */
#include "extended-ref/handles.h"

#include "core/job/progress.h"
#include "core/report.h"
#include "core/trace/trace.h"

__attribute__((cold)) gasnete_thread_t *gasnete_thread_create(void)
{
    gasneti_thread_t *self = gasneti_self();
    gasnete_thread_t *me = gasneti_self_extended();
    if (me) return me; /* left by an earlier thread with the same index */
    me = gasnete_alloc(sizeof *me);
    me->index = self->index;
    gasnete_sets_restore(me);
    gasneti_self_extend(me);
    return me;
}

__attribute__((cold)) void gasnete_pool_grow(gasnete_thread_t *me)
{
    static gasnete_reserve_t reserve = {.size = sizeof(gasnete_op_t)};
    uint32_t count;
    gasnete_op_t *ops = gasnete_pool_refill(&me->ops, &reserve, &count);
    if (!ops) return;
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
    handles_check_context("a call that synchronises handles");
    if (!gasnete_is_record(op))
        gasneti_fatal("%p is synchronised as a handle, and no call has returned it",
                      (const void *)op);
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
    const uint64_t began = gasneti_trace_begin();
    handles_check_list("gasnet_wait_syncnb_all", handles, count);
    for (size_t i = 0; i < count; i++) {
        gasnete_wait_syncnb(handles[i]);
        handles[i] = GASNET_INVALID_HANDLE;
    }
    gasneti_trace_waited(began, __builtin_return_address(0));
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
    const uint64_t began = gasneti_trace_begin();
    handles_check_list("gasnet_wait_syncnb_some", handles, count);
    while (gasnete_try_syncnb_some_nopoll(handles, count) != GASNET_OK) gasnetc_poll();
    gasneti_trace_waited(began, __builtin_return_address(0));
}

/* --- the implicit handle --- */

/* The sets that a category has. */
static const struct {
    gex_EC_t category;
    enum gasnete_set set;
} handles_sets[] = {
    {GEX_EC_PUT, GASNETE_PUTS},    {GEX_EC_PUT | GEX_EC_LC, GASNETE_GROUPED_PUTS},
    {GEX_EC_GET, GASNETE_GETS},    {GEX_EC_AM, GASNETE_MESSAGES},
    {GEX_EC_RMW, GASNETE_ATOMICS},
};
enum { HANDLES_SETS = sizeof handles_sets / sizeof *handles_sets };

static gasnete_thread_t *handles_self_for(const char *call)
{
    handles_check_context(call);
    gasnete_thread_t *me = gasnete_self();
    handles_check_implicit(me);
    return me;
}

static inline void handles_wait_sets(const char *call, gex_EC_t mask)
{
    gasnete_thread_t *me = handles_self_for(call);
    for (int i = 0; i < HANDLES_SETS; i++)
        if (mask & handles_sets[i].category) gasnetc_wait(&me->own[handles_sets[i].set]);
}

static inline int handles_test_sets(gasnete_thread_t *me, gex_EC_t mask)
{
    for (int i = 0; i < HANDLES_SETS; i++)
        if (mask & handles_sets[i].category && !gasnetc_counter_done(&me->own[handles_sets[i].set]))
            return GASNET_ERR_NOT_READY;
    return GASNET_OK;
}

static int handles_try_sets(const char *call, gex_EC_t mask)
{
    gasnete_thread_t *me = handles_self_for(call);
    gasnetc_poll();
    return handles_test_sets(me, mask);
}

#define SYNCNBI(name, mask)                                                                        \
    void gasnete_wait_syncnbi_##name(void)                                                         \
    {                                                                                              \
        handles_wait_sets("gasnet_wait_syncnbi_" #name, mask);                                     \
    }                                                                                              \
    int gasnete_try_syncnbi_##name(void)                                                           \
    {                                                                                              \
        return handles_try_sets("gasnet_try_syncnbi_" #name, mask);                                \
    }
SYNCNBI(puts, GEX_EC_PUT)
SYNCNBI(gets, GEX_EC_GET)
SYNCNBI(all, GEX_EC_PUT | GEX_EC_GET)

void gasnete_nbi_wait(gex_EC_t mask)
{
    handles_wait_sets("gex_NBI_Wait", mask);
}

int gasnete_nbi_test(gex_EC_t mask)
{
    return handles_test_sets(handles_self_for("gex_NBI_Test"), mask);
}

/* --- access regions: many implicit operations with one explicit handle --- */

/* While a region is open, the thread's implicit operations are counted in an operation record of
 * the pool instead of the thread's own sets.  The end of the region returns the record. */
void gasnete_begin_nbi_accessregion(void)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_begin_nbi_accessregion");
    gasnete_thread_t *me = gasnete_self();
    if (me->region)
        gasneti_fatal("gasnet_begin_nbi_accessregion is called inside an access region; regions "
                      "do not nest: end the first one before");
    me->region = gasnete_op_new(me, GASNETE_OP_HANDLE);
    for (int set = 0; set < GASNETE_SETS; set++) me->implicit[set] = &me->region->counter;
}

gasnet_handle_t gasnete_end_nbi_accessregion(void)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_end_nbi_accessregion");
    gasnete_thread_t *me = gasnete_self();
    gasnete_op_t *op = me->region;
    if (op == NULL)
        gasneti_fatal("gasnet_end_nbi_accessregion is called by a thread that has not called "
                      "gasnet_begin_nbi_accessregion before");
    me->region = NULL;
    gasnete_sets_restore(me);
    if (!gasnetc_counter_done(&op->counter)) return op;
    gasnete_op_free(me, op); /* no operations, or all complete already */
    return GASNET_INVALID_HANDLE;
}
