/* schedule.h - plans that a team has carried out lately, as lists of actions.
 *
 * Programs repeat few different calls, and to evaluate a plan costs more than to send a small
 * message.  So the actions of short plans are kept, by the plan's arguments.
 */
#pragma once

#include "extended-ref/coll/plans/plan.h"

enum { GASNETE_COLL_SCHEDULE_ACTIONS = 64, GASNETE_COLL_SCHEDULES = 32 };

/* The arguments by which the plans of a team differ. */
typedef struct gasnete_coll_plan_key {
    size_t nbytes, unit;
    uint32_t root;
    uint8_t kind; /* enum gasnete_coll_kind */
    bool in_order, in_place;
} gasnete_coll_plan_key_t;

typedef struct gasnete_coll_schedule {
    gasnete_coll_plan_key_t key;
    uint32_t users;  /* (L) phases of operations that execute it */
    uint32_t rounds; /* as gasnete_coll_plan_rounds, and so on; ahead is 0 if no round but
                        the first one receives */
    uint32_t ahead;
    uint32_t count; /* number of actions; 0 unless `whole` */
    size_t scratch;
    bool listed; /* in the team's table */
    bool whole;  /* `actions` has all actions; else the plan is evaluated */
    gasnete_coll_plan_t plan;
    uint8_t first[GASNETE_COLL_SCHEDULE_ACTIONS + 1]; /* [rounds + 1] action of each round */
    gasnete_coll_action_t actions[];                  /* [count] */
} gasnete_coll_schedule_t;

struct gasnete_coll_team;

/* The plan of a team for these arguments, by its settings.  */
gasnete_coll_plan_t gasnete_coll_team_plan(const struct gasnete_coll_team *team,
                                           const gasnete_coll_plan_key_t *key);
/* The schedule of a plan of the team; to be returned by the caller.  Takes the lock.  */
gasnete_coll_schedule_t *gasnete_coll_schedule_take(struct gasnete_coll_team *team,
                                                    const gasnete_coll_plan_key_t *key);
void gasnete_coll_schedule_return(gasnete_coll_schedule_t *schedule);
/* Drops all schedules: the settings of the team have changed, or the team is freed.  */
void gasnete_coll_schedules_drop(struct gasnete_coll_team *team);

/* Action `i` of `round`, in the schedule or in *space; NULL if the round has no more.  */
static inline const gasnete_coll_action_t *
gasnete_coll_schedule_action(const gasnete_coll_schedule_t *schedule, uint32_t round, uint32_t i,
                             gasnete_coll_action_t *space)
{
    if (schedule->whole) {
        i += schedule->first[round];
        return i < schedule->first[round + 1] ? &schedule->actions[i] : NULL;
    }
    return gasnete_coll_plan_action(&schedule->plan, round, i, space) ? space : NULL;
}
