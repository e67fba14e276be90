/* op.c - begins operations and executes their plans.
 *
 * An operation goes through phases: a barrier if IN_ALLSYNC, the movement of data, a barrier if
 * OUT_ALLSYNC.  Each phase is a plan of plan.h, whose messages have the phase in the two highest
 * bits of their tags.
 *
 * A thread claims an operation, works on it as far as it can, and releases it unless something was
 * recorded meanwhile.  A send may poll, but such a poll does not call gasnete_coll_work
 * (gasnetc_poll_stalled).
 */
#include "extended-ref/coll/op.h"

#include <stdlib.h>
#include <string.h>

#include "core/am/context.h"
#include "core/am/system_am.h"
#include "core/job/thread.h"
#include "core/report.h"

/* A list of operations to work on, in the order of events.  */
typedef struct op_list {
    gasnete_coll_op_t *first, **end;
} op_list_t;
static gasnete_coll_op_t *free_ops;                      /* (L) */
static op_list_t ready = {NULL, &ready.first};           /* (L) */
static op_list_t for_client = {NULL, &for_client.first}; /* (L) for threads of the client's only */

/* --- records --- */

/* Makes an operation; lock held.  */
static gasnete_coll_op_t *op_new(const gasnete_coll_call_t *call, uint32_t number)
{
    static const char what[] = "a collective operation, of which fewer may be outstanding";
    gasnete_team_t *team = call->team;
    gasnete_coll_op_t *op = free_ops;
    if (op)
        free_ops = op->next;
    else
        op = gasneti_calloc(1, sizeof *op, what);
    op->images = team->local > 1 ? gasneti_calloc(team->local, sizeof *op->images, what) : &op->one;
    op->call = *call;
    op->number = number;
    op->entered = 0;
    op->phase = GASNETE_COLL_IN;
    op->with_actions = false;
    op->begun = false;
    op->claimed = true; /* claimed by the call that will start it */
    op->again = op->queued = false;
    team->in_flight++;
    return op;
}

/* The operation that the image enters; the first image of the node makes it.  Lock held.  */
static gasnete_coll_op_t *op_enter(const gasnete_coll_call_t *call, uint32_t image)
{
    gasnete_team_t *team = call->team;
    uint32_t number = team->calls[image]++;
    if (team->local == 1) {
        gasnete_coll_op_t *op = op_new(call, number);
        op->entered = 1;
        return op;
    }
    gasnete_coll_op_t **at = &team->entering[number % GASNETE_COLL_ENTERING];
    while (*at && (*at)->number != number) at = &(*at)->next;
    gasnete_coll_op_t *op = *at;
    if (op == NULL) {
        *at = op = op_new(call, number);
        op->next = NULL;
    } else if (GASNETC_CHECKING) {
        gasnete_coll_check_same(call, op);
    }
    if (++op->entered == team->local) *at = op->next;
    return op;
}

/* Ends an operation that is complete on this node.  */
static void op_finish(gasnete_coll_op_t *op)
{
    gasnete_team_t *team = op->call.team;
    gasneti_lock(&gasnete_coll_lock);
    for (uint32_t i = 0; i < team->local && !op->call.counter; i++) {
        _Atomic uint32_t *pending = &op->images[i].handle->pending;
        atomic_store_explicit(pending, atomic_load_explicit(pending, memory_order_relaxed) - 1,
                              memory_order_release);
    }
    if (op->call.counter) gasnetc_counter_ack(op->call.counter);
    team->in_flight--;
    if (op->images != &op->one) free(op->images);
    op->next = free_ops;
    free_ops = op;
    gasneti_unlock(&gasnete_coll_lock);
}

/* --- claims --- */

static void op_append(op_list_t *list, gasnete_coll_op_t *op)
{
    op->queued = true;
    op->ready = NULL;
    *list->end = op;
    list->end = &op->ready;
    atomic_store(&gasnete_progress_due, true);
}

static gasnete_coll_op_t *op_take(op_list_t *list)
{
    gasnete_coll_op_t *op = list->first;
    if (op == NULL) return NULL;
    list->first = op->ready;
    if (list->first == NULL) list->end = &list->first;
    op->queued = false;
    op->claimed = true;
    return op;
}

void gasnete_coll_make_ready(gasnete_coll_op_t *op)
{
    if (op->claimed)
        op->again = true;
    else if (!op->queued)
        op_append(&ready, op);
}

/* Claims an operation that is ready; NULL: no operation is ready for this thread.  */
static gasnete_coll_op_t *op_claim(bool client)
{
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_op_t *op = op_take(&ready);
    if (op == NULL && client) op = op_take(&for_client);
    if (op == NULL && for_client.first) atomic_store(&gasnete_progress_due, true);
    gasneti_unlock(&gasnete_coll_lock);
    return op;
}

/* Releases the claim and returns true, unless an event was recorded since the claim.  */
static bool op_release(gasnete_coll_op_t *op, bool needs_client)
{
    gasneti_lock(&gasnete_coll_lock);
    bool again = op->again && !needs_client;
    op->again = false;
    op->claimed = again;
    if (needs_client) op_append(&for_client, op);
    gasneti_unlock(&gasnete_coll_lock);
    return !again;
}

void gasnete_coll_received(gasnete_coll_op_t *op, uint32_t slot)
{
    if (--op->awaited[slot] == 0) gasnete_coll_make_ready(op);
}

void gasnete_coll_sent(gasnete_coll_op_t *op)
{
    if (--op->sends == 0) gasnete_coll_make_ready(op);
}

/* --- phases --- */

static void op_schedule(gasnete_coll_op_t *op, enum gasnete_coll_kind kind)
{
    const gasnete_coll_call_t *call = &op->call;
    gasnete_coll_plan_key_t key = {.kind = kind};
    if (kind != GASNETE_COLL_BARRIER) {
        key.nbytes = call->nbytes;
        key.unit = call->unit;
        key.root = gasnete_coll_rank_of_image(call->team, call->root);
        key.in_order = call->unit && gasnete_coll_in_order(call);
        key.in_place = kind == GASNETE_COLL_REDUCE_ALL && call->dst == call->src;
    }
    op->schedule = gasnete_coll_schedule_take(call->team, &key);
    uint32_t ahead = op->schedule->ahead;
    op->ahead = ahead < GASNETE_COLL_SLOTS ? ahead : GASNETE_COLL_SLOTS - 1;
    op->round = op->posted = 0;
}

/* Begins a phase; false if the operation does not have it.  */
static bool op_begin_phase(gasnete_coll_op_t *op)
{
    const gasnete_coll_call_t *call = &op->call;
    switch (op->phase) {
    case GASNETE_COLL_IN:
    case GASNETE_COLL_OUT:
        if (!(call->flags &
              (op->phase == GASNETE_COLL_IN ? GASNET_COLL_IN_ALLSYNC : GASNET_COLL_OUT_ALLSYNC)) ||
            call->team->size == 1)
            return false;
        op_schedule(op, GASNETE_COLL_BARRIER);
        return true;
    default:
        if (call->nbytes == 0 && call->kind != GASNETE_COLL_BARRIER) return false;
        op_schedule(op, call->kind);
        if (call->kind != GASNETE_COLL_BARRIER) gasnete_coll_pack(op);
        return true;
    }
}

static void op_end_phase(gasnete_coll_op_t *op)
{
    if (op->phase == GASNETE_COLL_MOVE && op->call.kind != GASNETE_COLL_BARRIER)
        gasnete_coll_unpack(op);
    gasnete_coll_schedule_return(op->schedule);
}

/* --- rounds --- */

static char *op_address(const gasnete_coll_op_t *op, gasnete_coll_address_t at)
{
    return op->buffer[at.buffer] + at.offset;
}

static uint32_t op_tag(const gasnete_coll_op_t *op, uint32_t tag)
{
    return tag | (uint32_t)op->phase << 30;
}

static void op_post(gasnete_coll_op_t *op, const gasnete_coll_action_t *action, uint32_t round)
{
    char *to = action->nbytes ? op_address(op, action->to) : NULL;
    gasnete_coll_receive(op, action->peer, op_tag(op, action->tag), to, action->nbytes,
                         round % GASNETE_COLL_SLOTS);
}

/* Posts the messages of this round and of up to `ahead` rounds after it.  */
static void op_post_ahead(gasnete_coll_op_t *op)
{
    const gasnete_coll_schedule_t *schedule = op->schedule;
    gasnete_coll_action_t space;
    const gasnete_coll_action_t *action;
    for (; op->posted < schedule->rounds && op->posted <= op->round + op->ahead; op->posted++)
        for (uint32_t i = 0;
             (action = gasnete_coll_schedule_action(schedule, op->posted, i, &space)); i++)
            if (action->verb == GASNETE_COLL_RECV) op_post(op, action, op->posted);
}

static void op_copy(gasnete_coll_op_t *op, const gasnete_coll_action_t *action)
{
    char *to = op_address(op, action->to);
    const char *from = op_address(op, action->from);
    for (size_t i = 0; i < action->count; i++) {
        if (to != from) memmove(to, from, action->nbytes);
        to += action->to_stride;
        from += action->from_stride;
    }
}

static bool op_messages_in_place(gasnete_coll_op_t *op)
{
    uint32_t before = (op->round + GASNETE_COLL_SLOTS - 1) % GASNETE_COLL_SLOTS;
    gasneti_lock(&gasnete_coll_lock);
    bool in_place = op->awaited[before] == 0;
    gasneti_unlock(&gasnete_coll_lock);
    return in_place;
}

static bool op_drained(gasnete_coll_op_t *op)
{
    gasneti_lock(&gasnete_coll_lock);
    bool drained = op->sends == 0;
    gasneti_unlock(&gasnete_coll_lock);
    return drained;
}

/* Executes an action; false if it has to wait.  */
static bool op_act(gasnete_coll_op_t *op, const gasnete_coll_action_t *action)
{
    switch (action->verb) {
    case GASNETE_COLL_SEND:
        gasnete_coll_send(op, action->peer, op_tag(op, action->tag),
                          action->nbytes ? op_address(op, action->from) : NULL, action->nbytes);
        return true;
    case GASNETE_COLL_RECV:
        if (op->ahead == 0) op_post(op, action, op->round);
        return true;
    case GASNETE_COLL_COPY:
        op_copy(op, action);
        return true;
    case GASNETE_COLL_COMBINE:
        gasnete_coll_combine(&op->call, op_address(op, action->to), op_address(op, action->from),
                             op_address(op, action->with), action->nbytes);
        return true;
    case GASNETE_COLL_DRAIN:
        return op_drained(op);
    }
    return true;
}

/* Executes the plan from where it stopped; true if it is complete, false if it waits.  */
static bool op_execute(gasnete_coll_op_t *op)
{
    const gasnete_coll_schedule_t *schedule = op->schedule;
    gasnete_coll_action_t space;
    const gasnete_coll_action_t *action;
    for (; op->round < schedule->rounds; op->round++) {
        if (!op->with_actions) {
            if (!op_messages_in_place(op)) return false;
            if (op->ahead) op_post_ahead(op);
            op->with_actions = true;
            op->action = 0;
        }
        while ((action = gasnete_coll_schedule_action(schedule, op->round, op->action, &space))) {
            if (!op_act(op, action)) return false;
            op->action++;
        }
        op->with_actions = false;
    }
    return op_messages_in_place(op) && op_drained(op);
}

static bool op_has_transfers(gasnete_coll_op_t *op)
{
    gasneti_lock(&gasnete_coll_lock);
    bool any = op->announced || op->offered;
    gasneti_unlock(&gasnete_coll_lock);
    return any;
}

enum op_result { OP_WAITS, OP_NEEDS_CLIENT, OP_COMPLETE };

/* Works on a claimed operation as far as possible.  */
static enum op_result op_run(gasnete_coll_op_t *op, bool client)
{
    if (!client && gasnete_coll_needs_client(&op->call)) return OP_NEEDS_CLIENT;
    if (op_has_transfers(op)) gasnete_coll_transfer(op);
    for (; op->phase != GASNETE_COLL_OVER; op->phase++) {
        if (!op->begun) op->begun = op_begin_phase(op);
        if (op->begun && !op_execute(op)) return OP_WAITS;
        if (op->begun) op_end_phase(op);
        op->begun = false;
    }
    return OP_COMPLETE;
}

/* Works on a claimed operation until it is complete or waits, and then releases it.  */
static void op_work_on(gasnete_coll_op_t *op, bool client)
{
    for (;;) {
        enum op_result result = op_run(op, client);
        if (result == OP_COMPLETE) {
            op_finish(op);
            return;
        }
        if (op_release(op, result == OP_NEEDS_CLIENT)) return;
    }
}

/* Works on an operation whose claim a thread of the client's keeps; true if the operation is
 * complete.  */
static bool op_work_on_kept(gasnete_coll_op_t *op)
{
    bool complete = op_run(op, true) == OP_COMPLETE;
    if (complete) op_finish(op);
    return complete;
}

void gasnete_coll_work(bool client)
{
    gasnete_coll_reap_fetches();
    for (gasnete_coll_op_t *op; (op = op_claim(client)) != NULL;) op_work_on(op, client);
}

gasnete_coll_op_t *gasnete_coll_begin(const gasnete_coll_call_t *call, uint32_t image,
                                      gasnet_coll_handle_t handle, bool keep)
{
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_op_t *op = op_enter(call, image);
    op->images[image] = (gasnete_coll_image_t){call->dst, call->src, handle};
    bool all = op->entered == call->team->local;
    gasneti_unlock(&gasnete_coll_lock);
    if (!all) return NULL;
    if (GASNETC_CHECKING) gasnete_coll_check_peers(op);
    if (keep) return op_work_on_kept(op) ? NULL : op;
    op_work_on(op, true);
    return NULL;
}

bool gasnete_coll_resume(gasnete_coll_op_t *op)
{
    gasneti_lock(&gasnete_coll_lock);
    bool again = op->again;
    op->again = false;
    gasneti_unlock(&gasnete_coll_lock);
    return again && op_work_on_kept(op);
}
