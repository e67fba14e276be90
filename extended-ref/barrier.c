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
    const gasnete_barrier_transport_t *transport; /* NULL before attach */
    _Atomic uint64_t *host;                       /* NULL: messages */
    gasnete_barrier_t object;
} barrier;

/* GASNET_BARRIER=AM...: Active Messages; any other value: the default, which is the memory that all
 * nodes share, if they do, else puts where the network has RDMA.  */
void gasnete_barrier_attach(void)
{
    const char *name = gasnetc_params.barrier;
    bool by_am = name && !strncasecmp(name, "AM", 2);
    gasnete_barrier_init(&barrier.object.state, gasnet_mynode(), gasnet_nodes());
    barrier.transport =
        by_am ? &gasnete_barrier_am : gasnete_default_barrier(barrier.object.state.steps);
    if (!by_am) barrier.host = gasnetc_pshm_barrier();
}

/* With the lock held: passes the awaited message to the state machine, if it has arrived.  */
static bool barrier_collect(void)
{
    gasnete_barrier_state_t *state = &barrier.object.state;
    gasnete_barrier_message_t message;
    return barrier.transport->collect && state->notified && !state->complete &&
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
    else if (!any && barrier.transport->collect && barrier.object.state.notified)
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
    if (!barrier.host) barrier_advance();
}

/* By shared memory: notifies; the last node wakes those that sleep. */
static void host_notify(void)
{
    const gasnete_barrier_state_t *state = &barrier.object.state;
    if (gasnete_barrier_host_notify(barrier.host, state->parity, state->value, state->size))
        gasnetc_common_wake_all();
}

static bool barrier_complete(void)
{
    gasnete_barrier_state_t *state = &barrier.object.state;
    return barrier.host ? gasnete_barrier_host_complete(barrier.host, state->parity, state->size,
                                                        &state->value)
                        : gasnete_barrier_object_complete(&barrier.object);
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

void gasnete_barrier_notify(int id, int flags)
{
    if (GASNETC_CHECKING) {
        gasnetc_check_may_communicate("gasnet_barrier_notify");
        gasnete_coll_check_none("gasnet_barrier_notify");
    }
    if (gasnete_rarely(barrier.transport == NULL)) gasnetc_require_attached("a barrier");
    if (!gasnete_barrier_object_enter(&barrier.object, gasnete_barrier_value(id, flags)))
        gasneti_fatal("gasnet_barrier_notify is called twice without gasnet_barrier_wait (or a "
                      "successful gasnet_barrier_try) in between");
    if (barrier.host)
        host_notify();
    else
        barrier_advance();
}

bool gasnete_barrier_is_split(void)
{
    return gasnete_barrier_object_notified(&barrier.object);
}

/* Fatal for a wait or try without a notify.  */
static void barrier_check_notified(void)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_barrier_wait or _try");
    if (gasnete_rarely(barrier.transport == NULL)) gasnetc_require_attached("a barrier");
    if (!gasnete_barrier_object_notified(&barrier.object))
        gasneti_fatal("gasnet_barrier_wait or _try is called without a gasnet_barrier_notify that "
                      "it could end");
}

static int barrier_leave(int id, int flags)
{
    return gasnete_barrier_object_leave(&barrier.object, gasnete_barrier_value(id, flags));
}

static __attribute__((noinline)) void barrier_block(void)
{
    do gasneti_wait_poll();
    while (!barrier_complete());
    gasnetc_wait_over();
}

/* Polls at least once, so that a loop of barriers serves Active Messages even if no wait blocks. */
int gasnete_barrier_wait(int id, int flags)
{
    barrier_check_notified();
    gasnetc_poll();
    if (!barrier_complete()) barrier_block();
    return barrier_leave(id, flags);
}

int gasnete_barrier_try(int id, int flags)
{
    barrier_check_notified();
    gasnetc_poll();
    return barrier_complete() ? barrier_leave(id, flags) : GASNET_ERR_NOT_READY;
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
