/* team.c - making, finding and freeing teams.  Pure bookkeeping: sends nothing.
 *
 * Teams are few and live long: the list of all is searched only for messages that arrive before
 * they are expected.
 */
#include "extended-ref/coll/team.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/job/rank.h"
#include "core/log.h"
#include "core/report.h"

gasneti_lock_t gasnete_coll_lock;
static gasnete_team_t *teams;
/* Held while the list changes, also in libraries whose locks of the core are none: the thread that
 * answers gasnetrun --why reads it. */
static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER;
static uint32_t next_id = GASNETE_COLL_ID_FIRST;

static int team_compare(const void *a, const void *b)
{
    const gasnete_coll_member_t *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Sets the members, and this node's rank.  */
static void team_fill_members(gasnete_team_t *team, const gasnet_node_t *nodes)
{
    team->rank = gasnetc_job.rank;
    if (nodes == NULL) return;
    team->nodes = gasneti_calloc(team->size, sizeof *team->nodes, "a team");
    team->members = gasneti_calloc(team->size, sizeof *team->members, "a team");
    for (uint32_t r = 0; r < team->size; r++) {
        if (nodes[r] >= gasnetc_job.size) gasnetc_no_such_rank("a team", nodes[r]);
        team->nodes[r] = nodes[r];
        team->members[r] = (gasnete_coll_member_t){nodes[r], r};
    }
    qsort(team->members, team->size, sizeof *team->members, team_compare);
    for (uint32_t i = 1; i < team->size; i++)
        if (team->members[i].node == team->members[i - 1].node)
            gasneti_fatal("a team has rank %u of the job twice", (unsigned)team->members[i].node);
    team->rank = gasnete_coll_rank_of(team, (gasnet_node_t)gasnetc_job.rank);
    if (team->rank == team->size) gasneti_fatal("a team is made on a rank that is not a member");
}

static uint32_t team_images_of(const gasnet_image_t *images, gasnet_node_t node)
{
    if (images) return images[node];
    const gasnete_team_t *all = gasnete_coll_team_all;
    return all && all->first ? all->first[node + 1] - all->first[node] : 1;
}

/* Sets the images; `plain`: one a node.  */
static void team_fill_images(gasnete_team_t *team, const gasnet_image_t *images, bool plain)
{
    bool one_each = true;
    uint32_t *first = gasneti_calloc((size_t)team->size + 1, sizeof *first, "a team");
    team->even = true;
    for (uint32_t r = 0; r < team->size; r++) {
        const uint32_t count = plain ? 1 : team_images_of(images, gasnete_coll_node_of(team, r));
        first[r + 1] = first[r] + count;
        one_each = one_each && count == 1;
        team->even = team->even && count == first[1];
    }
    team->images = first[team->size];
    team->local = first[team->rank + 1] - first[team->rank];
    if (one_each)
        free(first);
    else
        team->first = first;
}

/* Sets the supernodes, and the images in their order. */
static void team_fill_supernodes(gasnete_team_t *team)
{
    const gasnete_topology_t *job = gasnete_topology_job;
    team->topology = gasnete_topology_job;
    if (job && team->nodes &&
        !gasnete_topology_new(&team->topology, job->of, job->count, team->nodes, team->size))
        gasneti_fatal("out of memory for a team of %u ranks", team->size);
    const gasnete_topology_t *by = team->topology;
    if (!by || !team->first) return;
    uint32_t *first =
        gasneti_calloc((size_t)team->size + 1 + by->count + 1, sizeof *first, "a team");
    team->first_by_index = first;
    for (uint32_t i = 0; i < team->size; i++)
        first[i + 1] = first[i] + team->first[by->ranks[i] + 1] - team->first[by->ranks[i]];
    for (uint32_t s = 0; s <= by->count; s++) first[team->size + 1 + s] = first[by->first[s]];
}

static gasnete_team_t *team_make_twin(const gasnete_team_t *team)
{
    gasnete_team_t *twin = gasneti_calloc(1, sizeof *twin, "a team");
    *twin = *team;
    twin->id = team->id + 1;
    twin->images = team->size;
    twin->local = 1;
    twin->first = twin->first_by_index = NULL;
    twin->entering = NULL;
    twin->calls = gasneti_calloc(1, sizeof *twin->calls, "a team");
    twin->plain = twin;
    return twin;
}

/* Enters the team in the list of teams; lock held.  */
static void team_list(gasnete_team_t *team)
{
    team->next = teams;
    teams = team;
}

static gasnete_team_t *team_new(uint32_t id, const gasnet_node_t *nodes, uint32_t size,
                                const gasnet_image_t *images, bool plain)
{
    if (id > UINT32_MAX - 2) /* its twin's is the next, and next_id that behind it */
        gasneti_fatal("2^31 teams have been made, and messages can name no more: make teams once, "
                      "and keep them");
    gasnete_team_t *team = gasneti_calloc(1, sizeof *team, "a team");
    team->id = id;
    team->size = size;
    team_fill_members(team, nodes);
    team_fill_images(team, images, plain);
    team_fill_supernodes(team);
    team->calls = gasneti_calloc(team->local, sizeof *team->calls, "a team");
    if (team->local > 1)
        team->entering = gasneti_calloc(GASNETE_COLL_ENTERING, sizeof *team->entering, "a team");
    team->plain = team->first ? team_make_twin(team) : team;
    pthread_mutex_lock(&listing);
    gasneti_lock(&gasnete_coll_lock);
    team_list(team);
    if (team->plain != team) team_list(team->plain);
    if (next_id < id + 2) next_id = id + 2; /* without a twin too: ids are equal on all members */
    gasneti_unlock(&gasnete_coll_lock);
    pthread_mutex_unlock(&listing);
    gasneti_info(coll, "team %u of %u ranks, this one is rank %u of it", id, size, team->rank);
    return team;
}

gasnete_team_t *gasnete_coll_team_new(uint32_t id, const gasnet_node_t *nodes, uint32_t size,
                                      const gasnet_image_t *images)
{
    return team_new(id, nodes, size, images, false);
}

gasnete_team_t *gasnete_coll_team_new_plain(uint32_t id, const gasnet_node_t *nodes, uint32_t size)
{
    return team_new(id, nodes, size, NULL, true);
}

/* Removes the team from the list of teams; lock held.  */
static void team_unlist(gasnete_team_t *team)
{
    gasnete_team_t **at = &teams;
    while (*at != team) at = &(*at)->next;
    *at = team->next;
}

const gasnete_team_t *gasnete_coll_teams_enter(void)
{
    pthread_mutex_lock(&listing);
    return teams;
}

void gasnete_coll_teams_leave(void)
{
    pthread_mutex_unlock(&listing);
}

void gasnete_coll_check_idle(const char *call, const gasnete_team_t *team)
{
    gasneti_lock(&gasnete_coll_lock);
    const uint32_t in_flight = team->in_flight + (team->plain == team ? 0 : team->plain->in_flight);
    gasneti_unlock(&gasnete_coll_lock);
    if (in_flight)
        gasneti_fatal("%s is called while %u of the team's collectives are in flight: sync them "
                      "first",
                      call, in_flight);
}

void gasnete_coll_team_delete(gasnete_team_t *team)
{
    gasnete_team_t *twin = team->plain;
    pthread_mutex_lock(&listing);
    gasneti_lock(&gasnete_coll_lock);
    team_unlist(team);
    if (twin != team) team_unlist(twin);
    gasneti_unlock(&gasnete_coll_lock);
    pthread_mutex_unlock(&listing);
    gasnete_coll_schedules_drop(team);
    if (twin != team) gasnete_coll_schedules_drop(twin);
    free(team->nodes);
    free(team->members);
    free(team->first);
    free(team->first_by_index);
    if (team->topology != gasnete_topology_job) free(team->topology);
    free(team->calls);
    free(team->entering);
    if (twin != team) {
        free(twin->calls);
        free(twin);
    }
    free(team);
}

void gasnete_coll_check_none(const char *call)
{
    uint32_t in_flight = 0;
    gasneti_lock(&gasnete_coll_lock);
    for (const gasnete_team_t *team = teams; team; team = team->next) in_flight += team->in_flight;
    gasneti_unlock(&gasnete_coll_lock);
    if (in_flight)
        gasneti_fatal("%s is called while %u collectives of this rank are in flight: sync them "
                      "before the barrier",
                      call, in_flight);
}

uint32_t gasnete_coll_team_id(void)
{
    gasneti_lock(&gasnete_coll_lock);
    uint32_t id = next_id;
    gasneti_unlock(&gasnete_coll_lock);
    return id;
}

bool gasnete_coll_team_take_id(uint32_t id)
{
    gasneti_lock(&gasnete_coll_lock);
    const bool taken = id >= next_id;
    if (taken && id <= UINT32_MAX - 2) next_id = id + 2; /* gasnete_coll_team_new refuses others */
    gasneti_unlock(&gasnete_coll_lock);
    return taken;
}

gasnete_team_t *gasnete_coll_team_find(uint32_t id)
{
    gasnete_team_t *team = teams;
    while (team && team->id != id) team = team->next;
    return team;
}

const char *gasnete_coll_team_wrong(uint32_t id, gasnet_node_t from)
{
    const gasnete_team_t *team = gasnete_coll_team_find(id);
    const bool to_be_made = id >= next_id || id - GASNETE_COLL_ID_ALL < 2;
    if (team == NULL) return to_be_made ? NULL : "team (it is freed, or never existed)";
    return gasnete_coll_rank_of(team, from) == team->size ? "team (not the sender's)" : NULL;
}

uint32_t gasnete_coll_rank_of(const gasnete_team_t *team, gasnet_node_t node)
{
    if (team->members == NULL) return node < team->size ? node : team->size;
    const gasnete_coll_member_t wanted = {node, 0};
    const gasnete_coll_member_t *found =
        bsearch(&wanted, team->members, team->size, sizeof wanted, team_compare);
    return found ? found->rank : team->size;
}

uint32_t gasnete_coll_search_image(const gasnete_team_t *team, gasnet_image_t image)
{
    uint32_t low = 0, high = team->size;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (team->first[middle] <= image)
            low = middle;
        else
            high = middle;
    }
    return low;
}
