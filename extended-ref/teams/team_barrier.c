/* team_barrier.c - runs a state machine among the nodes of a team, over Active Messages that carry
 * the team's id: barrier_state, or kin_barrier if the team has supernodes.
 *
 * The handler only records; gasnete_team_barriers_progress sends.  A message that arrives before
 * this node has made the team is kept.  No message arrives after a team is freed: the barrier that
 * frees it has received all messages.
 */
#include "extended-ref/teams/team_barrier.h"

#include <stdlib.h>

#include "core/job/progress.h"
#include "core/job/rank.h"
#include "core/report.h"
#include "extended-ref/barrier_transport.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/progress.h"

/* A message for a team that does not exist yet, or has no barrier yet.  */
struct early {
    struct early *next;
    uint32_t team;
    gasnet_node_t from;
    gasnete_barrier_message_t message;
};

/* Under gasnete_coll_lock. */
static struct early *early;
static gasnete_team_barrier_t *_Atomic due;

static void *team_barrier_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL)
        gasneti_fatal("out of memory: %zu bytes for a team's barrier", count * size);
    return memory;
}

/* --- messages that arrive --- */

/* True if that node may send a message with this step.  */
static bool team_barrier_fits(const gasnete_team_barrier_t *barrier, gasnet_node_t from,
                              uint8_t step)
{
    const gasnete_team_t *team = barrier->team;
    const gasnete_barrier_state_t *state = &barrier->nodes.state;
    if (barrier->kin)
        return gasnete_kin_barrier_fits(barrier->kin, gasnete_coll_rank_of(team, from), step);
    return step < state->steps &&
           from == gasnete_coll_node_of(team, gasnete_barrier_from(state, step));
}

/* Fatal if the message violates the protocol.  */
static void team_barrier_receive(gasnete_team_barrier_t *barrier, gasnet_node_t from,
                                 const gasnete_barrier_message_t *message)
{
    bool good = team_barrier_fits(barrier, from, message->step);
    gasneti_lock(&barrier->nodes.lock);
    if (good)
        good = barrier->kin ? gasnete_kin_barrier_receive(barrier->kin, message)
                            : gasnete_barrier_receive(&barrier->nodes.state, message);
    gasneti_unlock(&barrier->nodes.lock);
    if (!good) gasnete_barrier_bad(from, message->step);
}

/* Gives the messages that came early to the team's new barrier; gasnete_coll_lock held.  */
static void team_barrier_take_early(gasnete_team_barrier_t *barrier)
{
    for (struct early **at = &early; *at;) {
        struct early *one = *at;
        if (one->team != barrier->team->id) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        team_barrier_receive(barrier, one->from, &one->message);
        free(one);
    }
}

/* Enters a barrier in the list of barriers to be advanced; gasnete_coll_lock held. */
static void team_barrier_list(gasnete_team_barrier_t *barrier)
{
    if (barrier->listed) return;
    barrier->listed = true;
    barrier->next = atomic_load_explicit(&due, memory_order_relaxed);
    atomic_store_explicit(&due, barrier, memory_order_relaxed);
}

/* Keeps a message for a team that this node has yet to make, or to give a barrier;
 * gasnete_coll_lock held.  */
static void team_barrier_keep(uint32_t id, gasnet_node_t from,
                              const gasnete_barrier_message_t *message)
{
    if (gasnete_coll_team_wrong(id, from)) gasnete_barrier_bad(from, message->step);
    struct early *kept = team_barrier_alloc(1, sizeof *kept);
    *kept = (struct early){early, id, from, *message};
    early = kept;
}

static void team_barrier_arrived(uint32_t id, gasnet_node_t from,
                                 const gasnete_barrier_message_t *message)
{
    gasneti_lock(&gasnete_coll_lock);
    const gasnete_team_t *team = gasnete_coll_team_find(id);
    gasnete_team_barrier_t *barrier = team ? team->barrier : NULL;
    if (barrier) {
        team_barrier_receive(barrier, from, message);
        team_barrier_list(barrier);
    } else {
        team_barrier_keep(id, from, message);
    }
    gasneti_unlock(&gasnete_coll_lock);
}

void gasnete_team_barrier_handler(gasnet_token_t token, gasnet_handlerarg_t team,
                                  gasnet_handlerarg_t word0, gasnet_handlerarg_t word1)
{
    const int32_t words[2] = {word0, word1};
    gasnete_barrier_message_t message;
    gasnet_node_t from = 0;
    gasnet_AMGetMsgSource(token, &from);
    if (!gasnete_barrier_unpack(words, &message)) gasnete_barrier_bad(from, (uint32_t)word0);
    team_barrier_arrived((uint32_t)team, from, &message);
    atomic_store(&gasnete_progress_due, true);
}

/* --- sending --- */

/* The next message of a team with supernodes; the lock of `nodes` is held.  */
static bool team_barrier_next_of_kin(gasnete_team_barrier_t *barrier,
                                     gasnete_barrier_message_t *message)
{
    if (gasnete_kin_barrier_next(barrier->kin, message)) return true;
    if (gasnete_kin_barrier_leave(barrier->kin)) {
        barrier->nodes.state.value = barrier->kin->value;
        barrier->nodes.state.complete = true;
    }
    return false;
}

/* True with the next message to send; records when the phase is complete.  */
static bool team_barrier_next(gasnete_team_barrier_t *barrier, gasnete_barrier_message_t *message)
{
    gasnete_barrier_t *nodes = &barrier->nodes;
    gasneti_lock(&nodes->lock);
    bool any = barrier->kin ? team_barrier_next_of_kin(barrier, message)
                            : gasnete_barrier_next(&nodes->state, message);
    if (!any && nodes->state.notified && nodes->state.complete)
        atomic_store_explicit(&nodes->complete, true, memory_order_release);
    gasneti_unlock(&nodes->lock);
    return any;
}

/* Sends all messages that can be sent now, as barrier_advance in barrier.c.  */
static void team_barrier_advance(gasnete_team_barrier_t *barrier)
{
    gasnete_barrier_message_t message;
    while (team_barrier_next(barrier, &message)) {
        int32_t words[2];
        gasnete_barrier_pack(&message, words);
        gasnetc_AMRequestShort(
            gasnete_coll_node_of(barrier->team, message.to), GASNETE_H_TEAM_BARRIER,
            GASNETE_ARGS((gasnet_handlerarg_t)barrier->team->id, words[0], words[1]));
    }
}

/* Takes a barrier from the list, or NULL; it must not be freed until team_barrier_release.  */
static gasnete_team_barrier_t *team_barrier_claim(void)
{
    gasneti_lock(&gasnete_coll_lock);
    gasnete_team_barrier_t *barrier = atomic_load_explicit(&due, memory_order_relaxed);
    if (barrier) {
        atomic_store_explicit(&due, barrier->next, memory_order_relaxed);
        barrier->listed = false;
        barrier->sending++;
    }
    gasneti_unlock(&gasnete_coll_lock);
    return barrier;
}

static void team_barrier_release(gasnete_team_barrier_t *barrier)
{
    gasneti_lock(&gasnete_coll_lock);
    barrier->sending--;
    gasneti_unlock(&gasnete_coll_lock);
}

void gasnete_team_barriers_progress(void)
{
    gasnete_team_barrier_t *barrier;
    while (atomic_load_explicit(&due, memory_order_relaxed) && (barrier = team_barrier_claim())) {
        team_barrier_advance(barrier);
        team_barrier_release(barrier);
    }
}

/* --- the barrier of a team --- */

static gasnete_team_barrier_t *team_barrier_new(gasnete_team_t *team)
{
    gasnete_team_barrier_t *new = team_barrier_alloc(1, sizeof *new);
    new->team = team;
    new->images.images = team->local;
    new->images.phase = team_barrier_alloc(team->local, sizeof *new->images.phase);
    new->images.inside = team_barrier_alloc(team->local, sizeof *new->images.inside);
    gasnete_barrier_init(&new->nodes.state, team->rank, team->size);
    if (team->supernodes) {
        new->kin = team_barrier_alloc(1, sizeof *new->kin);
        gasnete_kin_barrier_init(new->kin, team->rank, team->size, team->supernodes);
    }
    return new;
}

static void team_barrier_free(gasnete_team_barrier_t *barrier)
{
    free(barrier->images.phase);
    free(barrier->images.inside);
    free(barrier->kin);
    free(barrier);
}

gasnete_team_barrier_t *gasnete_team_barrier_of(gasnete_team_t *team)
{
    gasneti_lock(&gasnete_coll_lock);
    gasnete_team_barrier_t *barrier = team->barrier;
    gasneti_unlock(&gasnete_coll_lock);
    if (barrier) return barrier;

    gasnete_team_barrier_t *made = team_barrier_new(team);
    gasneti_lock(&gasnete_coll_lock);
    barrier = team->barrier;
    if (barrier == NULL) {
        team_barrier_take_early(made);
        team->barrier = barrier = made;
    }
    gasneti_unlock(&gasnete_coll_lock);
    if (barrier != made) team_barrier_free(made);
    return barrier;
}

/* Removes a barrier from the list; true if no thread sends for it.  */
static bool team_barrier_unlist(gasnete_team_barrier_t *barrier)
{
    gasneti_lock(&gasnete_coll_lock);
    if (barrier->listed) {
        gasnete_team_barrier_t *before = atomic_load_explicit(&due, memory_order_relaxed);
        if (before == barrier) {
            atomic_store_explicit(&due, barrier->next, memory_order_relaxed);
        } else {
            while (before->next != barrier) before = before->next;
            before->next = barrier->next;
        }
        barrier->listed = false;
    }
    bool idle = barrier->sending == 0;
    gasneti_unlock(&gasnete_coll_lock);
    return idle;
}

void gasnete_team_barrier_delete(gasnete_team_t *team)
{
    gasnete_team_barrier_t *barrier = team->barrier;
    if (barrier == NULL) return;
    gasneti_wait_until(team_barrier_unlist(barrier));
    team->barrier = NULL;
    team_barrier_free(barrier);
}

void gasnete_team_barrier_notify(gasnete_team_t *team, int id, int flags)
{
    gasnete_team_barrier_t *barrier = gasnete_team_barrier_of(team);
    const gasnete_barrier_value_t mine = gasnete_barrier_value(id, flags);
    if (!gasnete_barrier_object_enter(&barrier->nodes, mine))
        gasneti_fatal(
            "gasnet_coll_barrier_notify on a team of %u nodes while this node has not left the "
            "team's barrier: without GASNET_BARRIERFLAG_IMAGES one thread of a node takes part, "
            "and calls gasnet_coll_barrier_wait (or a successful _try) first",
            team->size);
    if (barrier->kin) {
        gasneti_lock(&barrier->nodes.lock);
        gasnete_kin_barrier_enter(barrier->kin, mine);
        gasneti_unlock(&barrier->nodes.lock);
    }
    team_barrier_advance(barrier);
}

int gasnete_team_barrier_try(gasnete_team_t *team, int id, int flags)
{
    gasnete_barrier_t *nodes = &gasnete_team_barrier_of(team)->nodes;
    if (!gasnete_barrier_object_notified(nodes))
        gasneti_fatal("gasnet_coll_barrier_wait or _try on a team of %u nodes without a "
                      "gasnet_coll_barrier_notify that it could end",
                      team->size);
    gasnetc_poll();
    if (!gasnete_barrier_object_complete(nodes)) return GASNET_ERR_NOT_READY;
    return gasnete_barrier_object_leave(nodes, gasnete_barrier_value(id, flags));
}

int gasnete_team_barrier_result(gasnete_team_t *team, int *id)
{
    return gasnete_barrier_object_result(&gasnete_team_barrier_of(team)->nodes, id);
}
