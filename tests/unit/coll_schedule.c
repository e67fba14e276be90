/* coll_schedule.c - the lists of actions that a team keeps: which calls share one, and when the
 * table entry of one is reused for another.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/report.h"
#include "extended-ref/coll/schedule.h"
#include "extended-ref/coll/team.h"
#include "tests/unit/check.h"

gasneti_lock_t gasnete_coll_lock;

void gasneti_fatal(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    abort();
}

/* LENGTH and OTHER have the same index in the team's table. */
enum { LENGTH = 8, OTHER = LENGTH + GASNETE_COLL_SCHEDULES };

static gasnete_team_t team = {.rank = 1, .size = 4, .images = 4, .local = 1, .even = true};

static gasnete_coll_schedule_t *take(size_t nbytes)
{
    const gasnete_coll_plan_key_t key = {
        .kind = GASNETE_COLL_BROADCAST, .nbytes = nbytes, .unit = 1};
    return gasnete_coll_schedule_take(&team, &key);
}

static void shared(void)
{
    gasnete_coll_schedule_t *one = take(LENGTH), *two = take(LENGTH);
    check(one == two && one->users == 2 && one->rounds > 0 && one->key.nbytes == LENGTH,
          "two operations that are alike have one list");
    gasnete_coll_schedule_t *other = take(OTHER);
    check(other != one && other->key.nbytes == OTHER && one->key.nbytes == LENGTH,
          "while they use it another operation does not take its place");
    gasnete_coll_schedule_return(other);
    gasnete_coll_schedule_return(one);
    check(take(LENGTH) == one, "nor do they lose it as long as one of them goes on");
    gasnete_coll_schedule_return(one);
    gasnete_coll_schedule_return(two);
    other = take(OTHER);
    check(other->listed && other->users == 1 && other->key.nbytes == OTHER && take(OTHER) == other,
          "once both are over it does");
    gasnete_coll_schedule_return(other);
    gasnete_coll_schedule_return(other);
}

/* Drops the schedules; the address sanitizer checks that each is freed once. */
static void dropped(void)
{
    gasnete_coll_schedule_t *used = take(LENGTH);
    gasnete_coll_schedules_drop(&team);
    gasnete_coll_schedule_t *fresh = take(LENGTH);
    check(fresh != used && used->users == 1 && fresh->users == 1,
          "after a change of the settings a call makes a new one, and the old one is used on");
    gasnete_coll_schedule_return(used);
    gasnete_coll_schedule_return(fresh);
    gasnete_coll_schedules_drop(&team);
    for (int i = 0; i < GASNETE_COLL_SCHEDULES; i++) check_each(!team.schedules[i], "place %d", i);
    check_all("and the table can be emptied at any time");
}

/* Of an exchange of so many ranks. */
static gasnete_coll_schedule_t *listed(uint32_t size)
{
    const gasnete_coll_plan_key_t key = {.kind = GASNETE_COLL_EXCHANGE, .nbytes = 1000, .unit = 1};
    team.size = team.images = size;
    gasnete_coll_schedule_t *schedule = gasnete_coll_schedule_take(&team, &key);
    for (uint32_t round = 0; round < schedule->rounds; round++) {
        gasnete_coll_action_t space, action;
        const gasnete_coll_action_t *found;
        for (uint32_t i = 0;
             (found = gasnete_coll_schedule_action(schedule, round, i, &space)) != NULL; i++)
            check_each(gasnete_coll_plan_action(&schedule->plan, round, i, &action) &&
                           found->verb == action.verb && found->peer == action.peer,
                       "action %u of round %u of %u ranks", i, round, size);
    }
    gasnete_coll_schedules_drop(&team);
    return schedule;
}

/* Pairwise it has 2 * size - 1 actions. */
static void limits(void)
{
    for (uint32_t size = 1; size < 50; size++) {
        gasnete_coll_schedule_t *schedule = listed(size);
        const bool few = 2 * size - 1 <= GASNETE_COLL_SCHEDULE_ACTIONS;
        check_each(schedule->whole == few, "a schedule of %u ranks", size);
        check_each(schedule->count == (few ? 2 * size - 1 : 0), "%u actions", schedule->count);
        gasnete_coll_schedule_return(schedule);
    }
    check_all("a plan of few actions is listed, another evaluated, with the same actions");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    shared();
    dropped();
    limits();
    return check_end();
}
