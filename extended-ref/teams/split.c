/* split.c - gasnet_coll_team_split, gasnet_coll_team_free, and the queries of teams.
 *
 * A split is a gather_all of the arguments, from which every image computes the members and the id
 * of its team.  The first image of a node makes the team, the other images wait for it.
 */
#include <stdlib.h>

#include "core/am/context.h"
#include "core/job/progress.h"
#include "core/report.h"
#include "core/trace/trace.h"
#include "extended-ref/barrier/barrier.h"
#include "extended-ref/coll/team.h"
#include "extended-ref/handles.h"
#include "extended-ref/teams/split_order.h"
#include "gasnet.h"

static gasnete_coll_split_t *split_gather(gasnete_team_t *parent, uint32_t color, uint32_t relrank)
{
    gasnete_coll_split_t *all =
        gasneti_calloc(parent->images, sizeof *all, "gasnet_coll_team_split");
    gasnete_coll_split_t mine = {color, relrank, gasnete_coll_team_id(), 0};
    gasnet_coll_gather_all(parent, all, &mine, sizeof mine,
                           GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL);
    uint32_t wrong = gasnete_coll_split_discord(all, parent->first, parent->size);
    if (wrong < parent->size)
        gasneti_fatal("the images of %s pass different colors or ranks to gasnet_coll_team_split: "
                      "a team consists of ranks, with all their images",
                      gasneti_rank_name(gasnete_coll_node_of(parent, wrong)));
    return all;
}

/* Makes the team on this node.  Its barrier is set last: from then on other images may use the
 * team.  */
static gasnete_team_t *split_make(const gasnete_team_t *parent, const gasnete_coll_split_t *all,
                                  uint32_t color, uint32_t id)
{
    gasnete_coll_seat_t *seats =
        gasneti_calloc(parent->size, sizeof *seats, "gasnet_coll_team_split");
    uint32_t size = gasnete_coll_split_seats(all, parent->first, parent->size, color, seats);
    gasnet_node_t *nodes = gasneti_calloc(size, sizeof *nodes, "gasnet_coll_team_split");
    for (uint32_t i = 0; i < size; i++) nodes[i] = gasnete_coll_node_of(parent, seats[i].rank);
    gasnete_team_t *team = gasnete_coll_team_new(id, nodes, size, NULL);
    free(nodes);
    free(seats);
    team->settings = parent->settings;
    team->plain->settings = parent->settings;
    team->tuned = parent->tuned;
    gasnete_team_barrier_make(team, false);
    return team;
}

/* The team that the first image of this node has made; NULL if it is not made yet.  */
static gasnete_team_t *split_made(uint32_t id)
{
    gasneti_lock(&gasnete_coll_lock);
    gasnete_team_t *team = gasnete_coll_team_find(id);
    bool made = team && team->barrier;
    gasneti_unlock(&gasnete_coll_lock);
    return made ? team : NULL;
}

gasnet_team_handle_t gasnet_coll_team_split(gasnet_team_handle_t parent, gasnet_node_t color,
                                            gasnet_node_t relrank, void *clientdata)
{
    (void)clientdata;
    gasnete_coll_check_team("gasnet_coll_team_split", parent);
    gasnete_team_t *team = NULL;
    gasnete_coll_split_t *all = split_gather(parent, color, relrank);
    uint32_t id = gasnete_coll_split_id(all, parent->images);
    if (gasnete_coll_local_image("gasnet_coll_team_split") == 0)
        team = split_make(parent, all, color, id);
    free(all);
    gasneti_trace_wait(team != NULL || (team = split_made(id)) != NULL,
                       .kind = GASNETI_TRACE_coll_wait, .site = __builtin_return_address(0));
    return team;
}

void gasnet_coll_team_free(gasnet_team_handle_t team)
{
    gasnete_coll_check_team("gasnet_coll_team_free", team);
    if (team == gasnete_coll_team_all)
        gasneti_fatal("gasnet_coll_team_free is called for GASNET_TEAM_ALL, which lives as long as "
                      "the job");
    gasnete_coll_check_idle("gasnet_coll_team_free", team);
    gasnet_coll_barrier(team, 0, GASNET_BARRIERFLAG_ANONYMOUS | GASNET_BARRIERFLAG_IMAGES);
    gasnete_barrier_t *barrier = team->barrier;
    gasneti_lock(&barrier->image_lock);
    bool last = ++barrier->freed == team->local;
    gasneti_unlock(&barrier->image_lock);
    if (!last) return;
    if (GASNETC_CHECKING) gasnete_coll_await_checks(team);
    gasnete_team_barrier_delete(team);
    gasnete_coll_team_delete(team);
}

gasnet_node_t gasnet_coll_team_rank2node(gasnet_team_handle_t team, int rank)
{
    gasnete_coll_check_team("gasnet_coll_team_rank2node", team);
    if (rank < 0 || (uint32_t)rank >= team->size)
        gasneti_fatal("gasnet_coll_team_rank2node names rank %d of a team of %u ranks", rank,
                      team->size);
    return gasnete_coll_node_of(team, (uint32_t)rank);
}

gasnet_node_t gasnet_coll_team_node2rank(gasnet_team_handle_t team, gasnet_node_t node)
{
    gasnete_coll_check_team("gasnet_coll_team_node2rank", team);
    uint32_t rank = gasnete_coll_rank_of(team, node);
    return rank < team->size ? (gasnet_node_t)rank : (gasnet_node_t)-1;
}

gasnet_node_t gasnet_coll_team_size(gasnet_team_handle_t team)
{
    gasnete_coll_check_team("gasnet_coll_team_size", team);
    return (gasnet_node_t)team->size;
}
