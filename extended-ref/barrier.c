/* barrier.c - drives barrier_state over its carrier: gasnet_barrier_{notify,wait,try,result}.
 *
 * What is next is sent by whichever thread polls, from gasnete_progress; so a node that has
 * notified and polls now and then does its part.  The lock guards the state machine and is never
 * held while a message is sent.
 */
#include "gasnet.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <strings.h>

#include "core/am/system_am.h"
#include "core/job/progress.h"
#include "core/job/rank.h"
#include "core/lock.h"
#include "core/params/params.h"
#include "core/report.h"
#include "extended-ref/barrier_carrier.h"
#include "extended-ref/handles.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/transfer.h"

/* A message arrived that nobody has acted upon, or one is waited for that does not announce itself.
 */
atomic_bool gasnete_progress_due;

static struct {
    const gasnete_barrier_carrier_t *carrier;
    atomic_bool complete; /* the phase this node is in */
    gasneti_lock_t lock;
    gasnete_barrier_state_t state;
    gasnete_barrier_value_t result; /* of the phase this node left last */
} barrier;

/* GASNET_BARRIER=AM...: by Active Messages; everything else by puts, where there are any. */
void gasnete_barrier_attach(void)
{
    const char *name = gasnetc_params.barrier;
    bool by_am = name && !strncasecmp(name, "AM", 2);
    gasnete_barrier_init(&barrier.state, gasnet_mynode(), gasnet_nodes());
    barrier.carrier = by_am ? &gasnete_barrier_am : gasnete_default_barrier(barrier.state.steps);
}

/* Lock held: hands the state machine what it waits for, if that has arrived. */
static bool collect(void)
{
    gasnete_barrier_state_t *state = &barrier.state;
    gasnete_barrier_message_t message;
    return barrier.carrier->collect && state->notified && !state->complete &&
           barrier.carrier->collect(state->parity, state->received, &message) &&
           gasnete_barrier_receive(state, &message);
}

/* The next message to send, if there is one; notes when the phase is complete. */
static bool next(gasnete_barrier_message_t *message)
{
    gasneti_lock(&barrier.lock);
    bool any;
    do any = gasnete_barrier_next(&barrier.state, message);
    while (!any && collect());
    bool complete = barrier.state.notified && barrier.state.complete;
    if (!any && complete)
        atomic_store_explicit(&barrier.complete, true, memory_order_release);
    else if (!any && barrier.carrier->collect && barrier.state.notified)
        atomic_store_explicit(&gasnete_progress_due, true, memory_order_relaxed);
    gasneti_unlock(&barrier.lock);
    return any;
}

/* Does all that can be done now.  Sending may poll, and so come back here: each turn takes its own
 * message from the state machine, and they may leave in any order. */
static void advance(void)
{
    gasnete_barrier_message_t message;
    while (next(&message)) barrier.carrier->send(&message);
}

void gasnete_progress(void)
{
    /* First the note, then the state: a message recorded after this leaves a new note. */
    atomic_store(&gasnete_progress_due, false);
    advance();
}

void gasnete_barrier_bad(uint32_t from, uint32_t word)
{
    gasneti_fatal("rank %u sent a barrier message that cannot be (0x%08x): are all ranks of the "
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

/* --- what clients call --- */

static gasnete_barrier_value_t value_of(int id, int flags)
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
    if (gasnete_rarely(barrier.carrier == NULL)) gasnetc_require_attached("a barrier");
    gasneti_lock(&barrier.lock);
    bool entered = gasnete_barrier_enter(&barrier.state, value_of(id, flags));
    if (entered) atomic_store_explicit(&barrier.complete, false, memory_order_relaxed);
    gasneti_unlock(&barrier.lock);
    if (!entered)
        gasneti_fatal("gasnet_barrier_notify is called twice without gasnet_barrier_wait (or a "
                      "successful gasnet_barrier_try) in between");
    advance();
}

static bool complete(void)
{
    return atomic_load_explicit(&barrier.complete, memory_order_acquire);
}

/* Before a wait or try. */
static void check_notified(void)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_barrier_wait or _try");
    if (gasnete_rarely(barrier.carrier == NULL)) gasnetc_require_attached("a barrier");
    gasneti_lock(&barrier.lock);
    bool notified = barrier.state.notified;
    gasneti_unlock(&barrier.lock);
    if (!notified)
        gasneti_fatal("gasnet_barrier_wait or _try is called without a gasnet_barrier_notify that "
                      "it could end");
}

static int leave(int id, int flags)
{
    gasneti_lock(&barrier.lock);
    bool match = gasnete_barrier_leave(&barrier.state, value_of(id, flags));
    barrier.result = barrier.state.value;
    gasneti_unlock(&barrier.lock);
    return match ? GASNET_OK : GASNET_ERR_BARRIER_MISMATCH;
}

/* Polls at least once, so that a loop of barriers makes progress even if none ever waits. */
int gasnete_barrier_wait(int id, int flags)
{
    check_notified();
    gasnetc_poll();
    while (!complete()) gasneti_wait_poll();
    return leave(id, flags);
}

int gasnete_barrier_try(int id, int flags)
{
    check_notified();
    gasnetc_poll();
    return complete() ? leave(id, flags) : GASNET_ERR_NOT_READY;
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
