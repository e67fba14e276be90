/* waits.c - the state of barriers and of collectives, in lines for gasnetrun --why.
 *
 * Called by the thread that answers (core/stats/waits.c).  It reads single words, which others may
 * write meanwhile, and no team is made or freed while it reads them.
 */
#include <inttypes.h>

#include "core/job/rank.h"
#include "core/stats/stats.h"
#include "extended-ref/barrier/barrier.h"
#include "extended-ref/coll/team.h"

#define READS_WHILE_WRITTEN __attribute__((no_sanitize("thread")))

READS_WHILE_WRITTEN static void write_barrier(FILE *out, const gasnete_barrier_t *barrier)
{
    const gasnete_barrier_state_t *state = &barrier->state;
    const enum gasnete_barrier_stage stage = state->stage;
    const uint32_t awaited = state->awaited;
    if (stage == GASNETE_BARRIER_SHUT) return;
    fprintf(out, "# why %" PRIu32 " barrier %" PRIu32 " %s %u", gasnetc_job.rank, barrier->team,
            stage == GASNETE_BARRIER_OUTSIDE ? "outside" : "inside", (unsigned)state->parity);
    if (stage == GASNETE_BARRIER_INSIDE && state->waits) fprintf(out, " %" PRIu32, awaited);
    fputs("\n", out);
}

/* The members of a team that are not all ranks, in the order of ranks.  Teams with other members
 * may have the same id. */
static void write_members(FILE *out, const gasnete_team_t *team)
{
    if (!team->members) return;
    fprintf(out, "# why %" PRIu32 " team %" PRIu32 " ", gasnetc_job.rank, team->id);
    for (uint32_t i = 0, first = 0; i < team->size; i++) {
        const uint32_t node = team->members[i].node;
        if (i + 1 < team->size && team->members[i + 1].node == node + 1) continue;
        fprintf(out, "%s%" PRIu32, first ? "," : "", (uint32_t)team->members[first].node);
        if (first < i) fprintf(out, "-%" PRIu32, node);
        first = i + 1;
    }
    fputs("\n", out);
}

/* The first operation of GASNET_TEAM_ALL is gasnet_coll_init, which is not counted. */
READS_WHILE_WRITTEN static void write_collectives(FILE *out, const gasnete_team_t *team)
{
    const uint32_t begun = team->calls[0];
    if (begun || team->members)
        fprintf(out, "# why %" PRIu32 " collectives %" PRIu32 " %" PRIu32 " %" PRIu32 "\n",
                gasnetc_job.rank, team->id, begun - (team->id == GASNETE_COLL_ID_ALL),
                team->in_flight);
}

void gasnete_write_waits(FILE *out)
{
    write_barrier(out, &gasnete_barrier_job);
    for (const gasnete_team_t *team = gasnete_coll_teams_enter(); team; team = team->next) {
        write_members(out, team);
        write_collectives(out, team);
        const gasnete_barrier_t *barrier = team->barrier;
        if (barrier && barrier->team == team->id) write_barrier(out, barrier);
    }
    gasnete_coll_teams_leave();
}
