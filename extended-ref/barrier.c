/* barrier.c - the job's barrier: runs the state machine barrier_state over a transport, or counts
 * in memory that all nodes share (barrier_host.h); gasnet_barrier_{notify,wait,try,result}.
 *
 * Any thread that polls sends the next messages, from gasnete_barrier_progress, so a node that has
 * notified makes progress whenever it polls.  The lock protects the state machine and is never held
 * while a message is sent.
 */
#include "gasnet.h"

#include <strings.h>

#include "core/job/progress.h"
#include "core/job/rank.h"
#include "core/params/params.h"
#include "core/pshm/common.h"
#include "core/pshm/pshm.h"
#include "core/report.h"
#include "extended-ref/barrier_host.h"
#include "extended-ref/barrier_object.h"
#include "extended-ref/barrier_transport.h"
#include "extended-ref/coll/team.h"
#include "extended-ref/handles.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/progress.h"
#include "extended-ref/transfer.h"

static struct {
    const gasnete_barrier_transport_t *transport; /* NULL: none, or not attached */
    _Atomic uint64_t *host;                       /* NULL: messages, or not attached */
    gasnete_barrier_t object;
} barrier;

/* GASNET_BARRIER=AM...: Active Messages; any other value: the default, which is the memory that all
 * nodes share, if they do, else puts where the network has RDMA.  */
void gasnete_barrier_attach(void)
{
    const char *name = gasnetc_params.barrier;
    bool by_am = name && !strncasecmp(name, "AM", 2);
    barrier.host = by_am ? NULL : gasnetc_pshm_barrier();
    if (barrier.host) { /* the state machine has no messages then, as in a job of one node */
        gasnete_barrier_init(&barrier.object.state, 0, 1);
        return;
    }
    gasnete_barrier_init(&barrier.object.state, gasnet_mynode(), gasnet_nodes());
    barrier.transport =
        by_am ? &gasnete_barrier_am : gasnete_default_barrier(barrier.object.state.steps);
}

/* With the lock held: passes the awaited message to the state machine, if it has arrived.  */
static bool barrier_collect(void)
{
    gasnete_barrier_state_t *state = &barrier.object.state;
    gasnete_barrier_message_t message;
    return state->notified && !state->complete && barrier.transport->collect &&
           barrier.transport->collect(state->parity, state->received, &message) &&
           gasnete_barrier_receive(state, &message);
}

/* True with the next message to send; records when the phase is complete.  */
static bool barrier_next(gasnete_barrier_message_t *message)
{
    gasneti_lock(&barrier.object.lock);
    bool any;
    do any = gasnete_barrier_next(&barrier.object.state, message);
    while (!any && barrier_collect());
    bool complete = barrier.object.state.notified && barrier.object.state.complete;
    if (!any && complete)
        atomic_store_explicit(&barrier.object.complete, true, memory_order_release);
    else if (!any && barrier.object.state.notified && barrier.transport->collect)
        atomic_store_explicit(&gasnete_progress_due, true, memory_order_relaxed);
    gasneti_unlock(&barrier.object.lock);
    return any;
}

/* Sends all messages that can be sent now.  A send may poll, and so call this function again: each
 * iteration takes its own message from the state machine, and messages may be sent in any order. */
static void barrier_advance(void)
{
    gasnete_barrier_message_t message;
    while (barrier_next(&message)) barrier.transport->send(&message);
}

void gasnete_barrier_progress(void)
{
    barrier_advance();
}

void gasnete_barrier_bad(uint32_t from, uint32_t word)
{
    gasneti_fatal("rank %u sent an invalid barrier message (0x%08x): are all ranks of the "
                  "job linked with the same release?",
                  from, word);
}

void gasnete_barrier_arrived(uint32_t from, const gasnete_barrier_message_t *message)
{
    if (!gasnete_barrier_object_receive(&barrier.object, message))
        gasnete_barrier_bad(from, message->step);
    atomic_store(&gasnete_progress_due, true);
}

/* --- client calls --- */

static void barrier_enter(int id, int flags)
{
    if (!gasnete_barrier_object_enter(&barrier.object, gasnete_barrier_value(id, flags)))
        gasneti_fatal("gasnet_barrier_notify is called twice without gasnet_barrier_wait (or a "
                      "successful gasnet_barrier_try) in between");
}

/* Fatal for a wait or try without a notify.  */
static void barrier_check_notified(void)
{
    if (!gasnete_barrier_object_notified(&barrier.object))
        gasneti_fatal("gasnet_barrier_wait or _try is called without a gasnet_barrier_notify that "
                      "it could end");
}

static int barrier_leave(int id, int flags)
{
    return gasnete_barrier_object_leave(&barrier.object, gasnete_barrier_value(id, flags));
}

/* The calls by shared memory, out of line for the sake of those by messages; fatal before attach.
 */

/* The last node wakes those that sleep. */
static __attribute__((noinline)) void host_notify(int id, int flags)
{
    if (!barrier.host) gasnetc_require_attached("a barrier");
    barrier_enter(id, flags);
    const gasnete_barrier_state_t *state = &barrier.object.state;
    if (gasnete_barrier_host_notify(barrier.host, state->parity, state->value, gasnet_nodes()))
        gasnetc_common_wake_all();
}

static bool host_complete(void)
{
    gasnete_barrier_state_t *state = &barrier.object.state;
    return gasnete_barrier_host_complete(barrier.host, state->parity, gasnet_nodes(),
                                         &state->value);
}

/* Polls, as gasnete_barrier_wait. */
static __attribute__((noinline)) int host_try(int id, int flags, bool block)
{
    if (!barrier.host) gasnetc_require_attached("a barrier");
    barrier_check_notified();
    gasnetc_poll();
    while (!host_complete()) {
        if (!block) return GASNET_ERR_NOT_READY;
        gasnetc_wait_ring();
    }
    gasneti_wait_over();
    return barrier_leave(id, flags);
}

void gasnete_barrier_notify(int id, int flags)
{
    if (GASNETC_CHECKING) {
        gasnetc_check_may_communicate("gasnet_barrier_notify");
        gasnete_coll_check_none("gasnet_barrier_notify");
    }
    if (gasnete_rarely(barrier.transport == NULL)) {
        host_notify(id, flags);
        return;
    }
    barrier_enter(id, flags);
    barrier_advance();
}

bool gasnete_barrier_is_split(void)
{
    return gasnete_barrier_object_notified(&barrier.object);
}

/* Polls at least once, so that a loop of barriers serves Active Messages even if no wait blocks. */
int gasnete_barrier_wait(int id, int flags)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_barrier_wait or _try");
    if (gasnete_rarely(barrier.transport == NULL)) return host_try(id, flags, true);
    barrier_check_notified();
    gasnetc_poll();
    while (!gasnete_barrier_object_complete(&barrier.object)) gasneti_wait_poll();
    return barrier_leave(id, flags);
}

int gasnete_barrier_try(int id, int flags)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_barrier_wait or _try");
    if (gasnete_rarely(barrier.transport == NULL)) return host_try(id, flags, false);
    barrier_check_notified();
    gasnetc_poll();
    return gasnete_barrier_object_complete(&barrier.object) ? barrier_leave(id, flags)
                                                            : GASNET_ERR_NOT_READY;
}

int gasnete_barrier(int id, int flags)
{
    gasnete_barrier_notify(id, flags);
    return gasnete_barrier_wait(id, flags);
}

int gasnete_barrier_result(int *id)
{
    return gasnete_barrier_object_result(&barrier.object, id);
}
