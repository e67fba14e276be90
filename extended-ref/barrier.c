/* barrier.c - the job's barrier: runs the state machine barrier_state over a transport;
 * gasnet_barrier_{notify,wait,try,result}.
 *
 * Any thread that polls sends the next messages, from gasnete_barrier_progress, so a rank that has
 * notified makes progress whenever it polls.  The lock protects the state machine and is never held
 * while a message is sent.
 *
 * Ranks that share memory count in shared words (barrier_host.h).  Then one rank of each supernode,
 * its leader, exchanges messages with the other leaders, and the state machine is the supernode's.
 */
#include "gasnet.h"

#include <stdlib.h>

#include "core/job/progress.h"
#include "core/job/rank.h"
#include "core/params/params.h"
#include "core/shm/wake.h"
#include "core/shm/shm.h"
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
    const gasnete_barrier_transport_t *calls;     /* NULL: the calls use `near`, or not attached */
    const gasnete_barrier_transport_t *transport; /* NULL: no messages are needed */
    gasnete_barrier_t object;
} barrier;

/* The state of a barrier among ranks that share memory. */
static struct {
    gasnete_barrier_host_t *host; /* NULL: no ranks of the job share memory, or not attached */
    uint32_t members, leader;
    bool single;             /* the supernode is the job */
    uint32_t *leaders;       /* leaders of all supernodes, in a leader with messages; else NULL */
    gasnete_barrier_t phase; /* of this rank */
    _Atomic uint8_t parity;  /* of the phase that this rank has notified */
} near;

/* Finds the leaders.  False if each rank is a supernode. */
static bool attach_near(void)
{
    static gasnete_barrier_host_t alone;
    const uint32_t nodes = gasnet_nodes(), me = gasnet_mynode();
    uint32_t *leaders = calloc(nodes, sizeof *leaders), supernodes = 0;
    if (!leaders) gasneti_fatal("out of memory for the barrier of %u nodes", nodes);
    for (uint32_t r = 0; r < nodes; r++) {
        if (gasnetc_pshm_supernode(r) == supernodes) leaders[supernodes++] = r;
        near.members += gasnetc_pshm_supernode(r) == gasnetc_pshm_supernode(me);
    }
    near.single = nodes > 1 && supernodes == 1;
    near.leader = leaders[gasnetc_pshm_supernode(me)];
    gasnete_barrier_init(&barrier.object.state, gasnetc_pshm_supernode(me), supernodes);
    if (supernodes < nodes) {
        _Atomic uint64_t *words = gasnetc_pshm_barrier();
        near.host = words ? (gasnete_barrier_host_t *)(void *)words : &alone;
        gasnete_barrier_init(&near.phase.state, 0, 1);
    }
    if (supernodes < nodes && !near.single && near.leader == me)
        near.leaders = leaders;
    else
        free(leaders);
    return near.host != NULL;
}

/* Chooses the transport.  GASNET_BARRIER=AMDISSEM: Active Messages of all ranks; else shared memory
 * where ranks share some, and puts where the network has RDMA.  */
void gasnete_barrier_attach(void)
{
    const bool by_am = gasnetc_params.barrier == GASNETC_BARRIER_AM;
    if (by_am || !attach_near())
        gasnete_barrier_init(&barrier.object.state, gasnet_mynode(), gasnet_nodes());
    if (!near.single)
        barrier.transport =
            by_am ? &gasnete_barrier_am : gasnete_default_barrier(barrier.object.state.steps);
    if (!near.host) barrier.calls = barrier.transport;
}

/* Passes the awaited message to the state machine, if the message has arrived; lock held.  */
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
    while (barrier_next(&message)) {
        if (near.leaders) message.to = near.leaders[message.to];
        barrier.transport->send(&message);
    }
}

/* The sender of the messages of a step. */
uint32_t gasnete_barrier_sender(uint8_t step)
{
    const uint32_t from = gasnete_barrier_from(&barrier.object.state, step);
    return near.leaders ? near.leaders[from] : from;
}

void gasnete_barrier_bad(uint32_t from, uint32_t word)
{
    gasneti_fatal("rank %u sent an invalid barrier message (0x%08x): are all ranks of the "
                  "job linked with the same release?",
                  from, word);
}

/* True if a message of this step may come from this rank, by the transport in use.  */
static bool barrier_awaits(uint32_t from, uint8_t step)
{
    return barrier.transport && !barrier.transport->collect && step < barrier.object.state.steps &&
           gasnete_barrier_sender(step) == from;
}

void gasnete_barrier_arrived(uint32_t from, const gasnete_barrier_message_t *message)
{
    if (!barrier_awaits(from, message->step) ||
        !gasnete_barrier_object_receive(&barrier.object, message))
        gasnete_barrier_bad(from, message->step);
    atomic_store(&gasnete_progress_due, true);
}

/* --- client calls --- */

static void barrier_enter(gasnete_barrier_t *phase, int id, int flags)
{
    if (!gasnete_barrier_object_enter(phase, gasnete_barrier_value(id, flags)))
        gasneti_fatal("gasnet_barrier_notify is called twice without gasnet_barrier_wait (or a "
                      "successful gasnet_barrier_try) in between");
}

/* Fatal for a wait or try without a notify.  */
static void barrier_check_notified(gasnete_barrier_t *phase)
{
    if (!gasnete_barrier_object_notified(phase))
        gasneti_fatal("gasnet_barrier_wait or _try is called without a gasnet_barrier_notify that "
                      "it could end");
}

static int barrier_leave(gasnete_barrier_t *phase, int id, int flags)
{
    return gasnete_barrier_object_leave(phase, gasnete_barrier_value(id, flags));
}

/* --- the calls where ranks share memory, in functions of their own: the calls by messages stay
 * short --- */

/* Completes the phase in this supernode; the phase is complete in the whole job. */
static void near_end(uint8_t parity, gasnete_barrier_value_t all)
{
    gasnete_barrier_host_end(near.host, parity, all);
    if (near.members > 1) gasnetc_common_wake_all();
}

/* Called in a leader: enters the phase that all ranks of the supernode have notified, and ends it
 * in the supernode when it is complete among the leaders. */
static void leader_advance(void)
{
    gasnete_barrier_state_t *state = &barrier.object.state;
    gasnete_barrier_value_t all;
    const uint8_t parity = atomic_load_explicit(&near.parity, memory_order_acquire);
    gasneti_lock(&barrier.object.lock);
    if (parity != state->parity &&
        gasnete_barrier_host_joined(near.host, parity, near.members, &all))
        gasnete_barrier_enter(state, all);
    gasneti_unlock(&barrier.object.lock);
    barrier_advance();
    gasneti_lock(&barrier.object.lock);
    const bool ends = state->notified && state->complete, goes_on = parity != state->parity;
    if (ends) {
        gasnete_barrier_leave(state, state->value);
        near_end(state->parity, state->value);
    }
    gasneti_unlock(&barrier.object.lock);
    if (goes_on) atomic_store_explicit(&gasnete_progress_due, true, memory_order_relaxed);
}

void gasnete_barrier_progress(void)
{
    if (near.leaders)
        leader_advance();
    else
        barrier_advance();
}

/* Notifies in shared memory; fatal before attach. */
static void near_notify(int id, int flags)
{
    if (!near.host) gasnetc_require_attached("a barrier");
    barrier_enter(&near.phase, id, flags);
    const gasnete_barrier_state_t *state = &near.phase.state;
    const uint8_t parity = state->parity;
    const bool last = gasnete_barrier_host_notify(near.host, parity, state->value, near.members);
    gasnete_barrier_value_t all = state->value;
    if (near.leaders) {
        atomic_store_explicit(&near.parity, parity, memory_order_release);
        leader_advance();
    } else if (last && near.single) {
        gasnete_barrier_host_joined(near.host, parity, near.members, &all);
        near_end(parity, all);
    } else if (last) {
        gasnetc_common_wake(near.leader);
    }
}

static bool near_complete(void)
{
    gasnete_barrier_state_t *state = &near.phase.state;
    return gasnete_barrier_host_complete(near.host, state->parity, &state->value);
}

static void near_check(void)
{
    if (!near.host) gasnetc_require_attached("a barrier");
    barrier_check_notified(&near.phase);
}

static int near_try(int id, int flags)
{
    near_check();
    gasnetc_poll();
    return near_complete() ? barrier_leave(&near.phase, id, flags) : GASNET_ERR_NOT_READY;
}

/* One step of waiting: while other ranks of the supernode arrive, this rank yields its processor to
 * them. */
static void near_wait_step(uint32_t *arrived)
{
    const uint32_t now = gasnete_barrier_host_arrived(near.host, near.phase.state.parity);
    gasnetc_wait_bell(now != *arrived);
    *arrived = now;
}

/* Phase end where nodes share memory: a leader waits for messages of other leaders too. */
static int near_wait(int id, int flags)
{
    near_check();
    uint32_t arrived = 0;
    for (;;) {
        if (near.leaders) leader_advance();
        if (near_complete()) break;
        near.leaders ? gasneti_wait_poll() : near_wait_step(&arrived);
    }
    gasneti_wait_over();
    return barrier_leave(&near.phase, id, flags);
}

void gasnete_barrier_notify(int id, int flags)
{
    if (GASNETC_CHECKING) {
        gasnetc_check_may_communicate("gasnet_barrier_notify");
        gasnete_coll_check_none("gasnet_barrier_notify");
    }
    if (barrier.calls == NULL) {
        near_notify(id, flags);
        return;
    }
    barrier_enter(&barrier.object, id, flags);
    barrier_advance();
}

bool gasnete_barrier_is_split(void)
{
    return gasnete_barrier_object_notified(near.host ? &near.phase : &barrier.object);
}

/* Wait for the end of the phase that this node has notified.  Each poll comes after a look at the
 * barrier: a peer that has left the phase may have sent a message, which a poll would serve while
 * this node is still inside. */
static int barrier_end(int id, int flags)
{
    if (barrier.calls == NULL) return near_wait(id, flags);
    barrier_check_notified(&barrier.object);
    for (barrier_advance(); !gasnete_barrier_object_complete(&barrier.object); barrier_advance())
        gasneti_wait_poll();
    gasneti_wait_over();
    return barrier_leave(&barrier.object, id, flags);
}

/* The polls at the end serve what peers sent before they notified, although the interface does not
 * promise that, and let a loop of barriers serve Active Messages even if no wait blocks. */
int gasnete_barrier_wait(int id, int flags)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_barrier_wait or _try");
    const int result = barrier_end(id, flags);
    gasnetc_poll_backlog();
    return result;
}

int gasnete_barrier_without_poll(int id)
{
    gasnete_barrier_notify(id, 0);
    return barrier_end(id, 0);
}

int gasnete_barrier_try(int id, int flags)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_barrier_wait or _try");
    if (barrier.calls == NULL) return near_try(id, flags);
    barrier_check_notified(&barrier.object);
    gasnetc_poll();
    return gasnete_barrier_object_complete(&barrier.object)
               ? barrier_leave(&barrier.object, id, flags)
               : GASNET_ERR_NOT_READY;
}

int gasnete_barrier(int id, int flags)
{
    gasnete_barrier_notify(id, flags);
    return gasnete_barrier_wait(id, flags);
}

int gasnete_barrier_result(int *id)
{
    return gasnete_barrier_object_result(near.host ? &near.phase : &barrier.object, id);
}
