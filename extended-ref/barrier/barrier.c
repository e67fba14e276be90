/* barrier.c - runs the state machine of any barrier (machine.h), and makes the job's barrier.
 *
 * Any thread that polls sends the next messages, from gasnete_barrier_progress, so a rank that has
 * notified makes progress whenever it polls.
 *
 * In the job's barrier ranks of a supernode count in words that they share (words.h).  A rank that
 * counts has no messages, and its machine no steps: it waits for the word of the complete phase.
 * If the supernode is the job, all ranks count, and the last one to count completes the phase.
 */
#include "extended-ref/barrier/barrier.h"

#include "core/am/system_am.h"
#include "core/job/progress.h"
#include "core/job/rank.h"
#include "core/params/params.h"
#include "core/report.h"
#include "core/shm/shm.h"
#include "core/shm/wake.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/progress.h"
#include "extended-ref/topology.h"
#include "gasnet.h"

gasnete_barrier_t gasnete_barrier_job;

/* --- init --- */

/* GASNET_BARRIER=AMDISSEM: Active Messages of all ranks; else shared memory where ranks share some,
 * and puts where the network has RDMA. */
void gasnete_barrier_begin(void)
{
    gasnete_barrier_t *barrier = &gasnete_barrier_job;
    const uint32_t me = gasneti_mynode;
    const bool by_am = gasnetc_params.barrier == GASNETC_BARRIER_AM;
    const gasnete_topology_t *by = by_am ? NULL : gasnete_topology_job;
    gasnete_barrier_shape_t shape = {.rank = me, .size = gasneti_nodes, .topology = by};
    if (!by_am) barrier->words = (gasnete_barrier_words_t *)(void *)gasnetc_shm_barrier();
    shape.words = barrier->words != NULL;
    if (by) {
        barrier->leader = gasnete_topology_leader(by, by->of[me]);
        barrier->counting = gasnete_topology_members(by, by->of[me]) - 1;
    } else if (barrier->words) { /* the supernode is the job */
        barrier->leader = GASNETE_BARRIER_NOBODY;
        barrier->counting = shape.size;
        shape = (gasnete_barrier_shape_t){.size = 1};
    }
    if (!by_am && shape.size > 1)
        barrier->puts =
            gasnete_barrier_by_puts(gasnete_barrier_rounds(by ? by->count : shape.size));
    gasnete_barrier_init(&barrier->state, &shape);
    barrier->counts = barrier->words && barrier->state.steps == 0;
    barrier->polled = !barrier->counts && (barrier->puts || barrier->words);
}

/* Called while this rank is in no phase of the barrier. */
void gasnete_admit(bool client)
{
    gasneti_lock(&gasnete_barrier_job.lock);
    gasnete_barrier_job.state.stage = client ? GASNETE_BARRIER_OUTSIDE : GASNETE_BARRIER_SHUT;
    gasneti_unlock(&gasnete_barrier_job.lock);
}

/* --- messages --- */

static void barrier_send_shared(gasnete_barrier_t *barrier,
                                const gasnete_barrier_message_t *message)
{
    const bool whole = barrier->leader == GASNETE_BARRIER_NOBODY;
    const enum gasnete_barrier_wake wake =
        gasnete_barrier_words_send(barrier->words, message, barrier->counting, whole);
    if (wake == GASNETE_WAKE_LEADER)
        gasnetc_wakeup_rank(barrier->leader);
    else if (wake == GASNETE_WAKE_ALL)
        gasnetc_wakeup_all();
}

static void barrier_send(gasnete_barrier_t *barrier, uint32_t team,
                         const gasnete_barrier_message_t *message)
{
    int32_t words[2];
    if (message->to == gasneti_mynode) {
        barrier_send_shared(barrier, message);
    } else if (barrier->puts) {
        barrier->puts->send(message);
    } else {
        gasnete_barrier_pack(message, words);
        gasnetc_AMRequestShort((gasnet_node_t)message->to, GASNETE_H_BARRIER,
                               GASNETE_ARGS((gasnet_handlerarg_t)team, words[0], words[1]));
    }
}

/* Takes the awaited message from memory that a peer has written to, if it is there; lock held. */
static bool barrier_collect(gasnete_barrier_t *barrier)
{
    gasnete_barrier_state_t *state = &barrier->state;
    gasnete_barrier_message_t message = {.parity = state->parity, .slot = state->slot};
    bool here = false;
    if (!state->waits) return false;
    if (state->awaited == gasneti_mynode)
        here = gasnete_barrier_words_joined(barrier->words, state->parity, barrier->counting,
                                            &message.value);
    else if (barrier->puts)
        here = barrier->puts->take(state->awaited, &message);
    if (here) gasnete_barrier_take(state, message.value);
    return here;
}

/* True with the next message to send and the team that it is for. */
static bool barrier_next(gasnete_barrier_t *barrier, uint32_t *team,
                         gasnete_barrier_message_t *message)
{
    gasneti_lock(&barrier->lock);
    bool any;
    do any = gasnete_barrier_next(&barrier->state, message);
    while (!any && barrier_collect(barrier));
    if (!any && barrier->state.waits && barrier->polled)
        atomic_store_explicit(&gasnete_progress_due, true, memory_order_relaxed);
    *team = barrier->team;
    gasneti_unlock(&barrier->lock);
    return any;
}

/* A send may poll, and so call this function again: each iteration takes its own message from the
 * state machine, and messages may be sent in any order. */
void gasnete_barrier_advance(gasnete_barrier_t *barrier)
{
    gasnete_barrier_message_t message;
    uint32_t team;
    while (barrier_next(barrier, &team, &message)) barrier_send(barrier, team, &message);
}

void gasnete_barrier_bad(uint32_t from, uint32_t word)
{
    gasneti_fatal("rank %u sent an invalid barrier message (0x%08x): are all ranks of the "
                  "job linked with the same release?",
                  from, word);
}

void gasnete_barrier_arrived(gasnete_barrier_t *barrier, uint32_t from,
                             const gasnete_barrier_message_t *message)
{
    gasneti_lock(&barrier->lock);
    const bool good = !barrier->puts && gasnete_barrier_receive(&barrier->state, from, message);
    gasneti_unlock(&barrier->lock);
    if (!good) gasnete_barrier_bad(from, message->slot);
}

/* --- the calls of any barrier --- */

static __attribute__((noreturn, cold)) void barrier_misused(const gasnete_barrier_t *barrier,
                                                            bool notify)
{
    gasnetc_require_attached("a barrier");
    if (barrier->team == 0)
        gasneti_fatal(notify ? "gasnet_barrier_notify is called twice without gasnet_barrier_wait "
                               "(or a successful gasnet_barrier_try) in between"
                             : "gasnet_barrier_wait or _try is called without a "
                               "gasnet_barrier_notify that it could end");
    gasneti_fatal(
        notify ? "gasnet_coll_barrier_notify on a team of %u ranks while this rank has not left "
                 "the team's barrier: without GASNET_BARRIERFLAG_IMAGES one thread of a rank takes "
                 "part, and calls gasnet_coll_barrier_wait (or a successful _try) first"
               : "gasnet_coll_barrier_wait or _try on a team of %u ranks without a "
                 "gasnet_coll_barrier_notify that it could end",
        barrier->size);
}

bool gasnete_barrier_inside(gasnete_barrier_t *barrier)
{
    gasneti_lock(&barrier->lock);
    const bool inside = barrier->state.stage >= GASNETE_BARRIER_INSIDE;
    gasneti_unlock(&barrier->lock);
    return inside;
}

void gasnete_barrier_open(gasnete_barrier_t *barrier, gasnete_barrier_value_t mine)
{
    gasneti_lock(&barrier->lock);
    const bool entered = gasnete_barrier_enter(&barrier->state, mine);
    gasneti_unlock(&barrier->lock);
    if (!entered) barrier_misused(barrier, true);
    if (barrier->counts)
        barrier_send_shared(barrier, &(gasnete_barrier_message_t){.parity = barrier->state.parity,
                                                                  .slot = GASNETE_BARRIER_UP,
                                                                  .value = mine});
    else
        gasnete_barrier_advance(barrier);
}

int gasnete_barrier_end(gasnete_barrier_t *barrier, gasnete_barrier_value_t expected)
{
    gasnete_barrier_state_t *state = &barrier->state;
    int status = GASNET_ERR_NOT_READY;
    gasneti_lock(&barrier->lock);
    const bool inside = state->stage >= GASNETE_BARRIER_INSIDE;
    if (barrier->counts
            ? inside && gasnete_barrier_words_complete(barrier->words, state->parity, &state->value)
            : state->stage == GASNETE_BARRIER_COMPLETE) {
        const bool match = gasnete_barrier_leave(state, expected);
        status = match ? GASNET_OK : GASNET_ERR_BARRIER_MISMATCH;
        barrier->result = state->value;
    } else if (!inside) {
        status = GASNET_ERR_NOT_INIT;
    }
    gasneti_unlock(&barrier->lock);
    return status;
}

int gasnete_barrier_look(gasnete_barrier_t *barrier, gasnete_barrier_value_t expected)
{
    gasnetc_poll();
    const int status = gasnete_barrier_end(barrier, expected);
    if (status == GASNET_ERR_NOT_INIT) barrier_misused(barrier, false);
    return status;
}

/* One step of waiting: while other ranks of the supernode arrive, this rank yields its processor to
 * them.  A leader waits for messages of other leaders too. */
static void barrier_wait_step(const gasnete_barrier_t *barrier, uint32_t *arrived)
{
    if (!barrier->counts) {
        gasneti_wait_poll();
        return;
    }
    const uint32_t now = gasnete_barrier_words_arrived(barrier->words, barrier->state.parity);
    gasnetc_wait_woken(now != *arrived);
    *arrived = now;
}

/* Each poll comes after a look at the barrier: a peer that has left the phase may have sent a
 * message, which a poll would serve while this rank is still inside. */
int gasnete_barrier_close(gasnete_barrier_t *barrier, gasnete_barrier_value_t expected)
{
    uint32_t arrived = 0;
    int status;
    for (;;) {
        if (!barrier->counts) gasnete_barrier_advance(barrier);
        status = gasnete_barrier_end(barrier, expected);
        if (status != GASNET_ERR_NOT_READY) break;
        barrier_wait_step(barrier, &arrived);
    }
    if (status == GASNET_ERR_NOT_INIT) barrier_misused(barrier, false);
    gasneti_wait_over();
    return status;
}

int gasnete_barrier_last(gasnete_barrier_t *barrier, int *id)
{
    gasneti_lock(&barrier->lock);
    const gasnete_barrier_value_t result = barrier->result;
    gasneti_unlock(&barrier->lock);
    if (result.kind != GASNETE_BARRIER_NAMED) return 1;
    *id = result.id;
    return 0;
}
