/* team.h - teams: their members, images and operations in progress; and the image of a thread in
 * them.
 *
 * A team is made by gasnete_coll_team_new from a list of nodes, equally on each of them, and found
 * by the id that messages carry.  Images follow the order of the members; a node has as many images
 * in each team as gasnet_coll_init gave it, with the same threads.
 *
 * Each team has a twin, `plain`, with the same members and one image a node, for calls with
 * GASNET_COLL_NO_IMAGES; a team that has one image a node is its own twin.  The twin has the next
 * id.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/lock.h"
#include "extended-ref/coll/plans/plan_choose.h"
#include "extended-ref/coll/schedule.h"
#include "extended-ref/topology.h"
#include "gasnet.h"

struct gasnete_coll_op;
struct gasnete_barrier;

enum { GASNETE_COLL_ENTERING = 1024 }; /* number of lists; a power of 2 */

/* A member, in the table that is sorted by node. */
typedef struct gasnete_coll_member {
    gasnet_node_t node;
    uint32_t rank;
} gasnete_coll_member_t;

struct gasnete_coll_team {
    uint32_t id;
    uint32_t rank, size;              /* of this node; of nodes */
    uint32_t images, local;           /* of the team; of this node */
    bool even;                        /* all nodes have as many images */
    gasnet_node_t *nodes;             /* [size] by rank; NULL: rank r is node r */
    gasnete_coll_member_t *members;   /* [size] by node; NULL if `nodes` is */
    uint32_t *first;                  /* [size + 1] first image by rank; NULL: one a node */
    gasnete_topology_t *topology;     /* NULL: no members share memory, or all do */
    uint32_t *first_by_index;         /* as in plan.h */
    struct gasnete_coll_team *plain;  /* see above */
    struct gasnete_coll_team *next;   /* in the list of all teams */
    gasnete_coll_settings_t settings; /* of gasnete_coll_choose; equal on all members */
    bool tuned;                       /* a call of tuning.c has changed them */
    gasnete_coll_schedule_t *schedules[GASNETE_COLL_SCHEDULES]; /* (L) by a hash, or NULL */
    struct gasnete_barrier *barrier;   /* NULL until gasnete_team_barrier_make */
    uint32_t *calls;                   /* [local] operations that each image has begun */
    uint32_t in_flight;                /* operations that are not complete on this node */
    uint32_t unchecked;                /* (L) debug builds: operations that the previous rank's
                                          digest has not been compared with */
    struct gasnete_coll_op **entering; /* [GASNETE_COLL_ENTERING], by number: operations that
                                          not all local images have begun; NULL if local is 1 */
};
typedef struct gasnete_coll_team gasnete_team_t;

/* Protects the lists below, the operations in progress and the messages.  Held for tens
 * of instructions; never while a message is sent or a function of the client runs.  */
#pragma GCC visibility push(hidden)
extern gasneti_lock_t gasnete_coll_lock;
#pragma GCC visibility pop

/* Ids that are the same in every job, whatever teams were made before on some ranks: those of
 * GASNET_TEAM_ALL and its twin, and of the primordial team of GASNet-EX.  */
enum { GASNETE_COLL_ID_ALL = 1, GASNETE_COLL_ID_PRIMORDIAL = 3, GASNETE_COLL_ID_FIRST = 5 };

/* A team of `size` nodes, in the order of ranks, with its twin; this node is one of them.  NULL for
 * `nodes`: all nodes of the job, in order; this is how gasnet_coll_init makes GASNET_TEAM_ALL, and
 * `images` is given by it alone.  `id`: equal on all members and not less than
 * gasnete_coll_team_id() of any.  Copies the list.  Any thread, no lock held; fatal if there is no
 * memory.  */
gasnete_team_t *gasnete_coll_team_new(uint32_t id, const gasnet_node_t *nodes, uint32_t size,
                                      const gasnet_image_t *images);

/* Makes a team with one image a node, as gasnete_coll_team_new does before gasnet_coll_init: for
 * GASNet-EX, which knows no images.  */
gasnete_team_t *gasnete_coll_team_new_plain(uint32_t id, const gasnet_node_t *nodes, uint32_t size);

/* The first of all teams, linked by `next`, for a thread that reads them while others go on: until
 * gasnete_coll_teams_leave no team is made or freed. */
const gasnete_team_t *gasnete_coll_teams_enter(void);
void gasnete_coll_teams_leave(void);

/* Fatal, naming the call, if collectives of a team, or of its twin, are in flight: an image that
 * has synced all its operations has seen them complete for the node.  */
void gasnete_coll_check_idle(const char *call, const gasnete_team_t *team);

/* checks.c, debug builds: waits until all calls of this rank have been compared with the previous
 * rank's, which has made them too; no message of the team is then under way to this rank.  */
void gasnete_coll_await_checks(const gasnete_team_t *team);

/* Frees a team and its twin; its `barrier` has been freed, and it is idle.  */
void gasnete_coll_team_delete(gasnete_team_t *team);

/* Fatal, naming the call, if collectives are in flight on this node.  */
void gasnete_coll_check_none(const char *call);

/* The least id that no team of this node, living or freed, has or is less than.  */
uint32_t gasnete_coll_team_id(void);

/* Takes an id, and the next one, for a team that this thread is about to make; false: other teams
 * of this node have it or a greater one.  */
bool gasnete_coll_team_take_id(uint32_t id);

/* The team of a message; NULL: the team does not exist yet, or does not exist any more.  Lock held.
 */
gasnete_team_t *gasnete_coll_team_find(uint32_t id);

/* Names what is wrong with a message of a team that a node has sent; NULL if nothing is, or if this
 * node has yet to make the team.  Lock held.  */
const char *gasnete_coll_team_wrong(uint32_t id, gasnet_node_t from);

static inline gasnet_node_t gasnete_coll_node_of(const gasnete_team_t *team, uint32_t rank)
{
    return team->nodes ? team->nodes[rank] : (gasnet_node_t)rank;
}

/* The rank of a node; team->size if it is no member.  */
uint32_t gasnete_coll_rank_of(const gasnete_team_t *team, gasnet_node_t node);

/* The rank whose node has image `image` < team->images.  */
uint32_t gasnete_coll_search_image(const gasnete_team_t *team, gasnet_image_t image);
static inline uint32_t gasnete_coll_rank_of_image(const gasnete_team_t *team, gasnet_image_t image)
{
    return team->first ? gasnete_coll_search_image(team, image) : image;
}

static inline uint32_t gasnete_coll_first_image(const gasnete_team_t *team, uint32_t rank)
{
    return team->first ? team->first[rank] : rank;
}

/* Fatal, naming the call, unless `team` is a team, gasnet_coll_init has returned and, in debug
 * builds, the calling context is legal.  */
void gasnete_coll_check_team(const char *call, const gasnete_team_t *team);

/* The number of the calling thread among the images of its node; fatal, naming the call, if it has
 * not called gasnet_coll_init.  */
uint32_t gasnete_coll_local_image(const char *call);
