/* waits.c - the state of barriers and of collectives, in lines for gasnetrun --why.
 *
 * Called by the thread that answers (core/stats/waits.c), which takes no lock: it reads single
 * words, of records that are never freed.
 */
#include <inttypes.h>

#include "core/job/rank.h"
#include "core/stats/stats.h"
#include "extended-ref/barrier/barrier.h"
#include "extended-ref/coll/team.h"
#include "extended-ref/ex/objects.h"

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

/* The first operation of GASNET_TEAM_ALL is gasnet_coll_init, which is not counted. */
READS_WHILE_WRITTEN static void write_collectives(FILE *out, const gasnete_team_t *team)
{
    const uint32_t begun = team->calls[0];
    if (begun)
        fprintf(out, "# why %" PRIu32 " collectives %" PRIu32 " %" PRIu32 " %" PRIu32 "\n",
                gasnetc_job.rank, team->id, begun - (team->id == GASNETE_COLL_ID_ALL),
                team->in_flight);
}

void gasnete_write_waits(FILE *out)
{
    const gasnete_team_t *all = gasnete_coll_team_all;
    write_barrier(out, &gasnete_barrier_job);
    for (const gasnete_barrier_t *one = gasnete_barriers_of_teams(); one; one = one->next)
        if (one->used) write_barrier(out, one);
    if (all) write_collectives(out, all);
    if (all && all->plain != all) write_collectives(out, all->plain);
    if (gasnete_all && gasnete_all->engine) write_collectives(out, gasnete_all->engine);
}
