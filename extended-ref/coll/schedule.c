/* schedule.c - see schedule.h.  */
#include "extended-ref/coll/schedule.h"

#include <stdlib.h>

#include "core/report.h"
#include "extended-ref/coll/team.h"

static bool schedule_has(const gasnete_coll_schedule_t *schedule,
                         const gasnete_coll_plan_key_t *key)
{
    const gasnete_coll_plan_key_t *own = &schedule->key;
    return own->nbytes == key->nbytes && own->kind == key->kind && own->root == key->root &&
           own->unit == key->unit && own->in_order == key->in_order;
}

/* Lists the actions, if they are few.  */
static void schedule_fill(gasnete_coll_schedule_t *schedule)
{
    uint32_t count = 0;
    schedule->whole = false;
    if (schedule->rounds > GASNETE_COLL_SCHEDULE_ACTIONS) return;
    for (uint32_t round = 0; round < schedule->rounds; round++) {
        gasnete_coll_action_t action;
        schedule->first[round] = (uint8_t)count;
        for (uint32_t i = 0; gasnete_coll_plan_action(&schedule->plan, round, i, &action); i++) {
            if (count == GASNETE_COLL_SCHEDULE_ACTIONS) return;
            schedule->actions[count++] = action;
        }
    }
    schedule->first[schedule->rounds] = (uint8_t)count;
    schedule->whole = true;
}

static void schedule_make(gasnete_coll_schedule_t *schedule, const gasnete_coll_team_t *team,
                          const gasnete_coll_plan_key_t *key)
{
    schedule->key = *key;
    schedule->plan = (gasnete_coll_plan_t){
        .kind = key->kind,
        .in_order = key->in_order,
        .rank = team->rank,
        .size = team->size,
        .root = key->root,
        .nbytes = key->nbytes,
        .unit = key->unit,
        .first = team->first,
        .even = team->even,
        .supernodes = team->supernodes,
    };
    gasnete_coll_choose(&schedule->plan, &team->settings);
    schedule->rounds = gasnete_coll_plan_rounds(&schedule->plan);
    schedule->ahead = schedule->rounds > 1 ? gasnete_coll_plan_ahead(&schedule->plan) : 0;
    schedule->scratch = gasnete_coll_plan_scratch(&schedule->plan);
    schedule_fill(schedule);
}

static uint32_t schedule_hash(const gasnete_coll_plan_key_t *key)
{
    const uint32_t mixed =
        (uint32_t)(key->nbytes ^ key->nbytes >> 8) + key->root * 5 + key->kind * 3u + key->in_order;
    return mixed % GASNETE_COLL_SCHEDULES;
}

static gasnete_coll_schedule_t *schedule_new(bool listed)
{
    gasnete_coll_schedule_t *schedule = malloc(sizeof *schedule);
    if (schedule == NULL)
        gasneti_fatal("out of memory: %zu bytes for the actions of a collective operation",
                      sizeof *schedule);
    schedule->users = 0;
    schedule->listed = listed;
    return schedule;
}

/* A list that no operation uses is replaced; if one does, the new list is for this use only.  */
gasnete_coll_schedule_t *gasnete_coll_schedule_take(gasnete_coll_team_t *team,
                                                    const gasnete_coll_plan_key_t *key)
{
    gasnete_coll_schedule_t **place = &team->schedules[schedule_hash(key)];
    gasneti_lock(&gasnete_coll_lock);
    gasnete_coll_schedule_t *schedule = *place;
    if (schedule == NULL || !schedule_has(schedule, key)) {
        if (schedule == NULL)
            *place = schedule = schedule_new(true);
        else if (schedule->users)
            schedule = schedule_new(false);
        schedule_make(schedule, team, key);
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

void gasnete_coll_schedules_drop(gasnete_coll_team_t *team)
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
