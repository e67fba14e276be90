/* team_barrier.h - barriers of teams: among the nodes of a team, and among the images of this node.
 * GASNET_TEAM_ALL has only the latter: its barrier of nodes is the job's.
 */
#ifndef GASNETE_TEAM_BARRIER_H
#define GASNETE_TEAM_BARRIER_H

#include "extended-ref/barrier_object.h"
#include "extended-ref/teams/image_barrier.h"
#include "extended-ref/coll/team.h"
#include "extended-ref/teams/kin_barrier.h"

typedef struct gasnete_team_barrier {
    gasnete_team_t *team;
    gasnete_barrier_t nodes;
    gasnete_kin_barrier_t *kin; /* runs the messages, under the lock of `nodes`; NULL: no
                                   supernodes */
    gasneti_lock_t lock;        /* of `images` and `freed` */
    gasnete_image_barrier_t images;
    uint32_t freed; /* images that have called gasnet_coll_team_free */
    /* Under gasnete_coll_lock: */
    struct gasnete_team_barrier *next; /* in the list of barriers that have messages to send */
    bool listed;
    uint32_t sending; /* threads that took this barrier from the list */
} gasnete_team_barrier_t;

/* The barrier of the team, which is made at the first call.  */
gasnete_team_barrier_t *gasnete_team_barrier_of(gasnete_team_t *team);

/* Frees the barrier of the team, if it has one.  No phase is in progress.  May poll.  */
void gasnete_team_barrier_delete(gasnete_team_t *team);

/* The barrier among the nodes of a team other than GASNET_TEAM_ALL; the rules are those of
 * gasnet_barrier_notify and so on.  A wrong order of calls is fatal.  */
void gasnete_team_barrier_notify(gasnete_team_t *team, int id, int flags);
int gasnete_team_barrier_try(gasnete_team_t *team, int id, int flags);
int gasnete_team_barrier_result(gasnete_team_t *team, int *id);

#endif
