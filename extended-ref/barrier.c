/* barrier.c - runs the state machine barrier_state over a transport:
 * gasnet_barrier_{notify,wait,try,result}.
 *
 * Any thread that polls sends the next messages, from gasnete_barrier_progress, so a node that has notified
 * makes progress whenever it polls.  The lock protects the state machine and is never held while a
 * message is sent.
 */
#include "gasnet.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <strings.h>

#include "core/job/progress.h"
#include "core/job/rank.h"
#include "core/lock.h"
#include "core/params/params.h"
#include "core/report.h"
#include "extended-ref/barrier_transport.h"
#include "extended-ref/handles.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/progress.h"
#include "extended-ref/transfer.h"

static struct {
    const gasnete_barrier_transport_t *transport;
    atomic_bool complete; /* the phase that this node is in */
    gasneti_lock_t lock;
    gasnete_barrier_state_t state;
    gasnete_barrier_value_t result; /* of the phase that this node left last */
} barrier;

/* GASNET_BARRIER=AM...: Active Messages; any other value: the default, which is puts where the
 * network has RDMA.  */
void gasnete_barrier_attach(void)
{
    const char *name = gasnetc_params.barrier;
    bool by_am = name && !strncasecmp(name, "AM", 2);
    gasnete_barrier_init(&barrier.state, gasnet_mynode(), gasnet_nodes());
    barrier.transport = by_am ? &gasnete_barrier_am : gasnete_default_barrier(barrier.state.steps);
}

/* With the lock held: passes the awaited message to the state machine, if it has arrived.  */
static bool barrier_collect(void)
{
    gasnete_barrier_state_t *state = &barrier.state;
    gasnete_barrier_message_t message;
    return barrier.transport->collect && state->notified && !state->complete &&
           barrier.transport->collect(state->parity, state->received, &message) &&
           gasnete_barrier_receive(state, &message);
}

/* True with the next message to send; records when the phase is complete.  */
static bool barrier_next(gasnete_barrier_message_t *message)
{
    gasneti_lock(&barrier.lock);
    bool any;
    do any = gasnete_barrier_next(&barrier.state, message);
    while (!any && barrier_collect());
    bool complete = barrier.state.notified && barrier.state.complete;
    if (!any && complete)
        atomic_store_explicit(&barrier.complete, true, memory_order_release);
    else if (!any && barrier.transport->collect && barrier.state.notified)
        atomic_store_explicit(&gasnete_progress_due, true, memory_order_relaxed);
    gasneti_unlock(&barrier.lock);
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
    gasneti_lock(&barrier.lock);
    bool good = gasnete_barrier_receive(&barrier.state, message);
    gasneti_unlock(&barrier.lock);
    if (!good) gasnete_barrier_bad(from, message->step);
    atomic_store(&gasnete_progress_due, true);
}

/* --- client calls --- */

static gasnete_barrier_value_t barrier_value(int id, int flags)
{
    if (flags & GASNET_BARRIERFLAG_MISMATCH)
        return (gasnete_barrier_value_t){GASNETE_BARRIER_MISMATCH, 0};
    if (flags & GASNET_BARRIERFLAG_ANONYMOUS)
        return (gasnete_barrier_value_t){GASNETE_BARRIER_NONE, 0};
    return (gasnete_barrier_value_t){GASNETE_BARRIER_NAMED, id};
}

void gasnete_barrier_notify(int id, int flags)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_barrier_notify");
    if (gasnete_rarely(barrier.transport == NULL)) gasnetc_require_attached("a barrier");
    gasneti_lock(&barrier.lock);
    bool entered = gasnete_barrier_enter(&barrier.state, barrier_value(id, flags));
    if (entered) atomic_store_explicit(&barrier.complete, false, memory_order_relaxed);
    gasneti_unlock(&barrier.lock);
    if (!entered)
        gasneti_fatal("gasnet_barrier_notify is called twice without gasnet_barrier_wait (or a "
                      "successful gasnet_barrier_try) in between");
    barrier_advance();
}

static bool barrier_complete(void)
{
    return atomic_load_explicit(&barrier.complete, memory_order_acquire);
}

/* Fatal for a wait or try without a notify.  */
static void barrier_check_notified(void)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_barrier_wait or _try");
    if (gasnete_rarely(barrier.transport == NULL)) gasnetc_require_attached("a barrier");
    gasneti_lock(&barrier.lock);
    bool notified = barrier.state.notified;
    gasneti_unlock(&barrier.lock);
    if (!notified)
        gasneti_fatal("gasnet_barrier_wait or _try is called without a gasnet_barrier_notify that "
                      "it could end");
}

static int barrier_leave(int id, int flags)
{
    gasneti_lock(&barrier.lock);
    bool match = gasnete_barrier_leave(&barrier.state, barrier_value(id, flags));
    barrier.result = barrier.state.value;
    gasneti_unlock(&barrier.lock);
    return match ? GASNET_OK : GASNET_ERR_BARRIER_MISMATCH;
}

/* Polls at least once, so that a loop of barriers serves Active Messages even if no wait blocks. */
int gasnete_barrier_wait(int id, int flags)
{
    barrier_check_notified();
    gasnetc_poll();
    while (!barrier_complete()) gasneti_wait_poll();
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
    gasneti_lock(&barrier.lock);
    gasnete_barrier_value_t result = barrier.result;
    gasneti_unlock(&barrier.lock);
    if (result.kind != GASNETE_BARRIER_NAMED) return 1;
    *id = result.id;
    return 0;
}
