/* events.c - events of GASNet-EX: records (records.h), and leaves of records, which have bit 1 set.
 *
 * A leaf is complete when its record's operations are.  It can be synchronised as long as the
 * record lives; arrays that have both are served leaves first.
 */
#include "core/job/progress.h"
#include "core/trace/trace.h"
#include "extended-ref/handles.h"
#include "gasnet.h"

enum { LEAF = 2 };

static bool event_is_leaf(gex_Event_t event)
{
    return (uintptr_t)event & LEAF;
}

static gex_Event_t event_root_of(gex_Event_t leaf)
{
    return (gex_Event_t)((uintptr_t)leaf - LEAF);
}

/* GEX_EVENT_NO_OP is neither a record nor a leaf. */
static gasnete_op_t *event_record_of(gex_Event_t event)
{
    return gasnete_op_of(event_is_leaf(event) ? event_root_of(event) : event);
}

/* Operations of the network end soon, collectives when other processes have got on: a wait polls
 * for a while before it begins to yield its processor.  Without noinline gasnete_event_wait saves
 * the registers of this loop first, which is 6 % of row ex_put of make bench. */
static __attribute__((noinline)) void event_await(gasnetc_counter_t *counter, const void *site)
{
    enum { POLLS = 32 };
    const uint64_t began = gasneti_trace_begin();
    for (int i = 0; i < POLLS && !gasnetc_counter_done(counter); i++) gasnetc_poll_in_wait();
    gasneti_wait_until(gasnetc_counter_done(counter));
    gasneti_trace_waited(began, site);
}

static void event_free(gasnete_op_t *op)
{
    gasnete_op_push(GASNETI_ONE_THREAD ? op->home : &gasnete_self()->ops, op);
}

void gasnete_event_wait(gex_Event_t event)
{
    if (event_is_leaf(event)) {
        event_await(&event_record_of(event)->counter, __builtin_return_address(0));
        return;
    }
    gasnete_op_t *op = gasnete_op_of(event);
    if (!gasnetc_counter_done(&op->counter)) gasnetc_poll_in_wait();
    if (!gasnetc_counter_done(&op->counter)) event_await(&op->counter, __builtin_return_address(0));
    event_free(op);
}

#if GASNET_DEBUG
int gasneti_event_done(gex_Event_t event)
{
    return gasnetc_counter_done(&event_record_of(event)->counter);
}
#endif

/* The event is complete; a leaf ends with its record. */
void gasnete_event_end(gex_Event_t event)
{
    if (!event_is_leaf(event)) event_free(gasnete_op_of(event));
}

/* Completes what is complete; counts what was and what was not. */
typedef struct found {
    size_t complete, pending;
} found_t;

static void event_retire(gex_Event_t *event, found_t *found)
{
    if (gex_Event_Test(*event) == GASNET_OK) {
        *event = GEX_EVENT_INVALID;
        found->complete++;
    } else {
        found->pending++;
    }
}

/* Completes the leaves of a record that is about to end, which have become complete since the pass
 * over all leaves. */
static void event_retire_leaves(gex_Event_t *events, size_t n, gex_Event_t root, found_t *found)
{
    for (size_t i = 0; i < n; i++) {
        if (!event_is_leaf(events[i]) || event_root_of(events[i]) != root) continue;
        events[i] = GEX_EVENT_INVALID;
        found->pending--;
    }
}

static found_t event_look(gex_Event_t *events, size_t n)
{
    found_t found = {0, 0};
    for (size_t i = 0; i < n; i++)
        if (event_is_leaf(events[i])) event_retire(&events[i], &found);
    const size_t leaves = found.pending;
    for (size_t i = 0; i < n; i++) {
        const gex_Event_t root = events[i];
        if (root == GEX_EVENT_INVALID || event_is_leaf(root)) continue;
        event_retire(&events[i], &found);
        if (leaves && events[i] == GEX_EVENT_INVALID) event_retire_leaves(events, n, root, &found);
    }
    return found;
}

int gex_Event_TestSome(gex_Event_t *events, size_t n, gex_Flags_t flags)
{
    const found_t found = event_look(events, n);
    (void)flags;
    return found.complete || !found.pending ? GASNET_OK : GASNET_ERR_NOT_READY;
}

void gex_Event_WaitSome(gex_Event_t *events, size_t n, gex_Flags_t flags)
{
    const uint64_t began = gasneti_trace_begin();
    gasneti_wait_until(gex_Event_TestSome(events, n, flags) == GASNET_OK);
    gasneti_trace_waited(began, __builtin_return_address(0));
}

int gex_Event_TestAll(gex_Event_t *events, size_t n, gex_Flags_t flags)
{
    (void)flags;
    return event_look(events, n).pending ? GASNET_ERR_NOT_READY : GASNET_OK;
}

void gex_Event_WaitAll(gex_Event_t *events, size_t n, gex_Flags_t flags)
{
    const uint64_t began = gasneti_trace_begin();
    (void)flags;
    for (int leaves = 1; leaves >= 0; leaves--)
        for (size_t i = 0; i < n; i++) {
            if (events[i] == GEX_EVENT_INVALID || event_is_leaf(events[i]) != leaves) continue;
            gasnete_event_wait(events[i]);
            events[i] = GEX_EVENT_INVALID;
        }
    gasneti_trace_waited(began, __builtin_return_address(0));
}
