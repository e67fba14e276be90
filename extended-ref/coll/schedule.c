/* schedule.c - see schedule.h.  */
#include "extended-ref/coll/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/report.h"
#include "extended-ref/coll/plans/plan_choose.h"
#include "extended-ref/coll/team.h"

static bool schedule_has(const gasnete_coll_schedule_t *schedule,
                         const gasnete_coll_plan_key_t *key)
{
    const gasnete_coll_plan_key_t *own = &schedule->key;
    return own->nbytes == key->nbytes && own->kind == key->kind && own->root == key->root &&
           own->unit == key->unit && own->in_order == key->in_order &&
           own->in_place == key->in_place;
}

gasnete_coll_plan_t gasnete_coll_team_plan(const gasnete_team_t *team,
                                           const gasnete_coll_plan_key_t *key)
{
    gasnete_coll_plan_t plan = {
        .kind = key->kind,
        .in_order = key->in_order,
        .in_place = key->in_place,
        .rank = team->rank,
        .size = team->size,
        .root = key->root,
        .nbytes = key->nbytes,
        .unit = key->unit,
        .first = team->first,
        .even = team->even,
        .topology = team->topology,
        .first_by_index = team->first_by_index,
    };
    gasnete_coll_choose(&plan, &team->settings);
    return plan;
}

/* Lists the actions, if they are few, in `actions`, which has room for them.  */
static void schedule_fill(gasnete_coll_schedule_t *schedule, gasnete_coll_action_t *actions)
{
    uint32_t count = 0;
    bool early = false; /* a message may be posted before its round */
    if (schedule->rounds > GASNETE_COLL_SCHEDULE_ACTIONS) return;
    for (uint32_t round = 0; round < schedule->rounds; round++) {
        gasnete_coll_action_t action;
        schedule->first[round] = (uint8_t)count;
        for (uint32_t i = 0; gasnete_coll_plan_action(&schedule->plan, round, i, &action); i++) {
            if (count == GASNETE_COLL_SCHEDULE_ACTIONS) return;
            actions[count++] = action;
            early = early || (round && action.verb == GASNETE_COLL_RECV);
        }
    }
    schedule->first[schedule->rounds] = (uint8_t)count;
    schedule->count = count;
    schedule->whole = true;
    if (!early) schedule->ahead = 0;
}

/* Makes a schedule, not listed and without users, with no more memory than its actions need.  */
static gasnete_coll_schedule_t *schedule_new(const gasnete_team_t *team,
                                             const gasnete_coll_plan_key_t *key)
{
    gasnete_coll_action_t actions[GASNETE_COLL_SCHEDULE_ACTIONS];
    gasnete_coll_schedule_t schedule = {.key = *key, .plan = gasnete_coll_team_plan(team, key)};
    schedule.rounds = gasnete_coll_plan_rounds(&schedule.plan);
    schedule.ahead = schedule.rounds > 1 ? gasnete_coll_plan_ahead(&schedule.plan) : 0;
    schedule.scratch = gasnete_coll_plan_scratch(&schedule.plan);
    schedule_fill(&schedule, actions);
    const size_t bytes = schedule.count * sizeof *actions;
    gasnete_coll_schedule_t *new = malloc(sizeof *new + bytes);
    if (new == NULL)
        gasneti_fatal("out of memory: %zu bytes for the actions of a collective operation",
                      sizeof *new + bytes);
    *new = schedule;
    memcpy(new->actions, actions, bytes);
    gasneti_debug(coll, "team %u: %s of %zu bytes goes by %s in %u rounds", team->id,
                  gasnete_coll_kind_name[key->kind], key->nbytes,
                  gasnete_coll_algorithm_name[schedule.plan.algorithm], schedule.rounds);
    return new;
}

static uint32_t schedule_hash(const gasnete_coll_plan_key_t *key)
{
    const uint32_t mixed = (uint32_t)(key->nbytes ^ key->nbytes >> 8) + key->root * 5 +
                           key->kind * 3u + key->in_order + key->in_place * 2u;
    return mixed % GASNETE_COLL_SCHEDULES;
}

/* Replaces the list in the table, unless an operation uses it: then the new list is for this use
 * only.  */
gasnete_coll_schedule_t *gasnete_coll_schedule_take(gasnete_team_t *team,
                                                    const gasnete_coll_plan_key_t *key)
{
    gasnete_coll_schedule_t **listed = &team->schedules[schedule_hash(key)];
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_schedule_t *schedule = *listed;
    if (schedule == NULL || !schedule_has(schedule, key)) {
        const bool replace = schedule == NULL || schedule->users == 0;
        if (replace) free(schedule);
        schedule = schedule_new(team, key);
        schedule->listed = replace;
        if (replace) *listed = schedule;
    }
    schedule->users++;
    gasneti_unlock(&gasnete_coll_lock);
    return schedule;
}

void gasnete_coll_schedule_return(gasnete_coll_schedule_t *schedule)
{
    gasneti_lock(&gasnete_coll_lock);
    bool unused = --schedule->users == 0 && !schedule->listed;
    gasneti_unlock(&gasnete_coll_lock);
    if (unused) free(schedule);
}

void gasnete_coll_schedules_drop(gasnete_team_t *team)
{
    gasneti_lock(&gasnete_coll_lock);
    for (int i = 0; i < GASNETE_COLL_SCHEDULES; i++) {
        gasnete_coll_schedule_t *schedule = team->schedules[i];
        team->schedules[i] = NULL;
        if (schedule == NULL) continue;
        schedule->listed = false; /* the last user frees it */
        if (schedule->users == 0) free(schedule);
    }
    gasneti_unlock(&gasnete_coll_lock);
}
