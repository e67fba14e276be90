/* barrier_am.c - drives barrier_state over Active Messages:
 * gasnet_barrier_{notify,wait,try,result}.
 *
 * Messages are received by a handler, which may send no Request; it leaves a note, and the poll
 * that ran it sends what is next from gasnete_progress, on whatever thread polls.  So a node that
 * has notified and polls now and then does its part.  The lock guards the state machine and is
 * never held while a message is sent.
 */
#include "gasnet.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "core/lock.h"
#include "core/poll.h"
#include "core/report.h"
#include "core/system_am.h"
#include "extended-ref/barrier_state.h"
#include "extended-ref/handles.h"
#include "extended-ref/internal_am.h"

/* A message arrived that nobody has acted upon. */
atomic_bool gasnete_progress_due;

static struct {
    atomic_bool complete; /* the phase this node is in */
    gasneti_lock_t lock;
    gasnete_barrier_state_t state;
    gasnete_barrier_value_t result; /* of the phase this node left last */
} barrier;

void gasnete_barrier_attach(void)
{
    gasnete_barrier_init(&barrier.state, gasnet_mynode(), gasnet_nodes());
}

/* The next message to send, if there is one; notes when the phase is complete. */
static bool next(gasnete_barrier_message_t *message)
{
    gasneti_lock(&barrier.lock);
    bool any = gasnete_barrier_next(&barrier.state, message);
    if (!any && barrier.state.notified && barrier.state.complete)
        atomic_store_explicit(&barrier.complete, true, memory_order_release);
    gasneti_unlock(&barrier.lock);
    return any;
}

/* Does all that can be done now.  Sending may poll, and so come back here: each turn takes its own
 * message from the state machine, and they may leave in any order. */
static void advance(void)
{
    gasnete_barrier_message_t message;
    while (next(&message)) {
        int32_t words[2];
        gasnete_barrier_pack(&message, words);
        gasnet_AMRequestShort2((gasnet_node_t)message.to, GASNETE_H_BARRIER, words[0], words[1]);
    }
}

void gasnete_progress(void)
{
    /* First the note, then the state: a message recorded after this leaves a new note. */
    atomic_store(&gasnete_progress_due, false);
    advance();
}

void gasnete_barrier_handler(gasnet_token_t token, gasnet_handlerarg_t word0,
                             gasnet_handlerarg_t word1)
{
    int32_t words[2] = {word0, word1};
    gasnete_barrier_message_t message;
    bool good = gasnete_barrier_unpack(words, &message);
    if (good) {
        gasneti_lock(&barrier.lock);
        good = gasnete_barrier_receive(&barrier.state, &message);
        gasneti_unlock(&barrier.lock);
    }
    if (!good) {
        gasnet_node_t from = 0;
        gasnet_AMGetMsgSource(token, &from);
        gasneti_fatal(
            "rank %u sent a barrier message that cannot be (0x%08x): are all ranks of the "
            "job linked with the same release?",
            (unsigned)from, (unsigned)word0);
    }
    atomic_store(&gasnete_progress_due, true);
}

/* ---- what clients call ----------------------------------------------------------------------- */

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
