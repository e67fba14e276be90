/* teams.c - the barriers of teams: their messages are Active Messages, which carry the team's id.
 *
 * The handler only records; gasnete_barrier_progress sends.  A message that arrives before
 * this rank has made the team is kept.
 *
 * The barrier of a team that is freed is used again for another team, and never freed: a thread
 * that advances it then advances that of the other team.
 */
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "extended-ref/barrier/barrier.h"
#include "extended-ref/coll/team.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/progress.h"

/* A message for a team that does not exist yet.  */
struct early {
    struct early *next;
    uint32_t team, from;
    gasnete_barrier_message_t message;
};

static struct early *early;             /* under gasnete_coll_lock */
static gasnete_barrier_t *_Atomic made; /* the barriers of teams, in use or not; none is removed */
static atomic_bool due;                 /* a message has arrived for one of them */

/* --- messages that arrive --- */

/* Gives the messages that came early to the team's new barrier; gasnete_coll_lock held.  */
static void team_barrier_take_early(gasnete_barrier_t *barrier)
{
    for (struct early **at = &early; *at;) {
        struct early *one = *at;
        if (one->team != barrier->team) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        gasnete_barrier_arrived(barrier, one->from, &one->message);
        free(one);
    }
}

/* Keeps a message for a team that this rank has yet to make; gasnete_coll_lock held.  */
static void team_barrier_keep(uint32_t team, gasnet_node_t from,
                              const gasnete_barrier_message_t *message)
{
    if (gasnete_coll_team_wrong(team, from)) gasnete_barrier_bad(from, message->slot);
    struct early *kept = gasneti_calloc(1, sizeof *kept, "a team's barrier");
    *kept = (struct early){early, team, from, *message};
    early = kept;
}

static void team_barrier_arrived(uint32_t id, gasnet_node_t from,
                                 const gasnete_barrier_message_t *message)
{
    gasneti_lock(&gasnete_coll_lock);
    const gasnete_team_t *team = gasnete_coll_team_find(id);
    if (team && team->barrier)
        gasnete_barrier_arrived(team->barrier, from, message);
    else
        team_barrier_keep(id, from, message);
    gasneti_unlock(&gasnete_coll_lock);
    atomic_store(&due, true);
}

void gasnete_barrier_handler(gasnet_token_t token, gasnet_handlerarg_t team,
                             gasnet_handlerarg_t word0, gasnet_handlerarg_t word1)
{
    const int32_t words[2] = {word0, word1};
    gasnete_barrier_message_t message;
    gasnet_node_t from = 0;
    gasnet_AMGetMsgSource(token, &from);
    if (!gasnete_barrier_unpack(words, &message)) gasnete_barrier_bad(from, (uint32_t)word0);
    if (team == 0)
        gasnete_barrier_arrived(&gasnete_barrier_job, from, &message);
    else
        team_barrier_arrived((uint32_t)team, from, &message);
    atomic_store(&gasnete_progress_due, true);
}

void gasnete_barrier_progress(void)
{
    gasnete_barrier_advance(&gasnete_barrier_job);
    if (!atomic_load_explicit(&due, memory_order_relaxed) || !atomic_exchange(&due, false)) return;
    for (gasnete_barrier_t *barrier = made; barrier; barrier = barrier->next)
        gasnete_barrier_advance(barrier);
}

/* --- making and freeing --- */

/* A barrier that is not in use, or a new one; gasnete_coll_lock held. */
static gasnete_barrier_t *team_barrier_find(void)
{
    gasnete_barrier_t *barrier = made;
    while (barrier && barrier->used) barrier = barrier->next;
    if (barrier) return barrier;
    barrier = gasneti_calloc(1, sizeof *barrier, "a team's barrier");
    barrier->next = made;
    made = barrier;
    return barrier;
}

/* Prepares a barrier for a team other than GASNET_TEAM_ALL; gasnete_coll_lock held. */
static void team_barrier_prepare(gasnete_barrier_t *barrier, const gasnete_team_t *team)
{
    const gasnete_barrier_shape_t shape = {
        .rank = team->rank, .size = team->size, .topology = team->topology, .nodes = team->nodes};
    gasneti_lock(&barrier->lock);
    gasnete_barrier_init(&barrier->state, &shape);
    barrier->result = (gasnete_barrier_value_t){GASNETE_BARRIER_NONE, 0};
    barrier->team = team->id;
    barrier->size = team->size;
    gasneti_unlock(&barrier->lock);
    memset(&barrier->met, 0, sizeof barrier->met);
    barrier->freed = 0;
    barrier->used = true;
    team_barrier_take_early(barrier);
}

void gasnete_team_barrier_make(gasnete_team_t *team, bool all)
{
    gasnete_barrier_image_t *images =
        gasneti_calloc(team->local, sizeof *images, "a team's barrier");
    gasneti_lock(&gasnete_coll_lock);
    gasnete_barrier_t *barrier = all ? &gasnete_barrier_job : team_barrier_find();
    barrier->images = images;
    if (!all) team_barrier_prepare(barrier, team);
    team->barrier = barrier;
    gasneti_unlock(&gasnete_coll_lock);
}

void gasnete_team_barrier_delete(gasnete_team_t *team)
{
    gasnete_barrier_t *barrier = team->barrier;
    free(barrier->images);
    gasneti_lock(&gasnete_coll_lock);
    team->barrier = NULL;
    barrier->used = false;
    gasneti_unlock(&gasnete_coll_lock);
}
