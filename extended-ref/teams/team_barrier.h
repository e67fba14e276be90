/* team_barrier.h - barriers of teams: among the nodes of a team, and the place where the images of
 * this node meet.  GASNET_TEAM_ALL has only the latter: its barrier of nodes is the job's.
 */
#ifndef GASNETE_TEAM_BARRIER_H
#define GASNETE_TEAM_BARRIER_H

#include "extended-ref/barrier_object.h"
#include "extended-ref/teams/image_barrier.h"
#include "extended-ref/coll/team.h"
#include "extended-ref/teams/kin_barrier.h"

typedef struct gasnete_team_barrier {
    gasnete_coll_team_t *team;
    gasnete_barrier_t nodes;
    gasnete_kin_barrier_t *kin; /* has the messages then, and is protected by the lock of `nodes`;
                                   NULL: the team has no supernodes */
    gasneti_lock_t lock;        /* of the next two */
    gasnete_image_barrier_t images;
    uint32_t freed; /* images that have called gasnet_coll_team_free */
    /* With gasnete_coll_lock: */
    struct gasnete_team_barrier *next; /* in the list of those that have messages to send */
    bool listed;
    uint32_t sending; /* threads that took it from the list */
} gasnete_team_barrier_t;

/* That of the team, which is made at the first call.  */
gasnete_team_barrier_t *gasnete_team_barrier_of(gasnete_coll_team_t *team);

/* Frees it, if there is one.  No phase is in progress.  May poll.  */
void gasnete_team_barrier_delete(gasnete_coll_team_t *team);

/* Among the nodes of a team other than GASNET_TEAM_ALL; the rules are those of
 * gasnet_barrier_notify and so on.  A wrong order of calls is fatal.  */
void gasnete_team_barrier_notify(gasnete_coll_team_t *team, int id, int flags);
int gasnete_team_barrier_try(gasnete_coll_team_t *team, int id, int flags);
int gasnete_team_barrier_result(gasnete_coll_team_t *team, int *id);

#endif
