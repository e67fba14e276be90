/* wraps.c - counters that no other unit test starts near their wrap: operations in flight, the
 * numbers of collectives, the ids of teams, and the handles of libportals.  wraps.md lists all.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/completion.h"
#include "core/job/rank.h"
#include "core/report.h"
#include "extended-ref/coll/match.h"
#include "extended-ref/coll/team.h"
#include "other/portals3/src/engine/pool.h"
#include "tests/unit/check.h"

/* --- what team.c needs --- */

struct bootstrap_job gasnetc_job = {.size = 1};
gasnete_team_t *gasnete_coll_team_all;
gasnete_topology_t *gasnete_topology_job;

void gasneti_fatal(const char *format, ...)
{
    fputs("FATAL ERROR: ", stderr);
    fputs(format, stderr);
    fputc('\n', stderr);
    exit(1);
}

void gasnetc_no_such_rank(const char *call, uint32_t rank)
{
    gasneti_fatal("%s %u", call, rank);
}

void gasnete_coll_schedules_drop(gasnete_team_t *team)
{
    (void)team;
}

/* --- operations in flight --- */

static void counter(void)
{
    static const uint32_t starts[] = {0, UINT32_MAX - 40, INT32_MAX - 40};
    for (unsigned k = 0; k < 3; k++) {
        const uint32_t acked = check_below(UINT32_MAX);
        gasnetc_counter_t c = {.issued = starts[k], .reaped = starts[k] - acked, .acked = acked};
        uint32_t open = 0;
        for (int i = 0; i < 1000; i++) {
            check_each(gasnetc_counter_done(&c) == (open == 0), "from %u: %u are in flight",
                       starts[k], open);
            const uint32_t n = check_below(4);
            if (check_below(2)) {
                c.issued += n;
                open += n;
            } else if (n <= open) {
                open -= n;
                if (check_below(2))
                    gasnetc_counter_reap(&c, n);
                else
                    for (uint32_t a = 0; a < n; a++) gasnetc_counter_ack(&c);
            }
        }
    }
    check_all("operations are complete when all have ended, across the wrap of each count");
}

/* --- collectives --- */

/* Messages of the operations before and behind the wrap, posted together. */
static void numbers(void)
{
    enum { MOST = 64 };
    static gasnete_coll_match_t match;
    static gasnete_coll_item_t item[MOST];
    const uint32_t first = UINT32_MAX - MOST / 2;
    for (uint32_t i = 0; i < MOST; i++) {
        item[i].key = (gasnete_coll_key_t){.team = 1, .number = first + i, .peer = 3};
        item[i].state = GASNETE_COLL_POSTED;
        item[i].nbytes = i;
        gasnete_coll_match_insert(&match, &item[i]);
    }
    for (uint32_t i = MOST; i-- > 0;) {
        const char *wrong = NULL;
        const gasnete_coll_key_t key = {.team = 1, .number = first + i, .peer = 3};
        check_each(gasnete_coll_match_whole(&match, &key, i, &wrong) == &item[i] && !wrong,
                   "the message of operation %u", first + i);
    }
    check_all("messages of collectives are told apart across the wrap of their numbers");
}

static gasnete_team_t *team_of(uint32_t id)
{
    static const gasnet_node_t self;
    return gasnete_coll_team_new(id, &self, 1, NULL);
}

static void make_team(const void *id)
{
    team_of(*(const uint32_t *)id);
}

/* Ids are never used again: the last one is refused, not the id of a team that lives. */
static void teams(void)
{
    check_each(gasnete_coll_team_id() == GASNETE_COLL_ID_FIRST, "the first id");
    gasnete_team_t *all = team_of(1), *last = team_of(UINT32_MAX - 2);
    gasneti_lock(&gasnete_coll_lock);
    check_each(gasnete_coll_team_find(1) == all && gasnete_coll_team_find(last->id) == last,
               "both are found");
    check_each(!gasnete_coll_team_wrong(last->id, 0), "the last team has messages");
    gasneti_unlock(&gasnete_coll_lock);
    const uint32_t next = gasnete_coll_team_id();
    check_each(next == UINT32_MAX, "the next id is %u", next);
    check_all("the last id of a team is one of its own");
    check_fatal("another team ends the job", make_team, &next, "2^31 teams");
    gasnete_coll_team_delete(last);
    gasnete_coll_team_delete(all);
}

/* --- libportals --- */

static void handles(void)
{
    struct thing {
        struct ptli_slot slot;
        uint64_t more;
    };
    struct ptli_pool pool;
    check_each(ptli_pool_open(&pool, PTLI_EQ, 1, sizeof(struct thing), PTLI_CHUNK), "a pool");
    struct thing *things[PTLI_CHUNK];
    for (int i = 0; i < PTLI_CHUNK; i++) {
        things[i] = ptli_pool_take(&pool);
        things[i]->slot.serial = UINT32_MAX - 2 * PTLI_GENERATIONS;
    }
    for (int i = 0; i < PTLI_CHUNK; i++) ptli_pool_give(&pool, &things[i]->slot);
    ptl_handle_any_t former[PTLI_CHUNK] = {0};
    for (int i = 0; i < 4 * PTLI_GENERATIONS * PTLI_CHUNK; i++) {
        struct thing *thing = ptli_pool_take(&pool);
        const ptl_handle_any_t handle = thing->slot.handle, old = former[thing->slot.index];
        check_each(handle != PTL_INVALID_HANDLE && handle != old &&
                       ptli_kind_of(handle) == PTLI_EQ && ptli_interface_of(handle) == 1 &&
                       ptli_index_of(handle) == thing->slot.index,
                   "use %u: handle %#x after %#x", thing->slot.serial, handle, old);
        check_each(ptli_pool_find(&pool, handle) == thing && !ptli_pool_find(&pool, old),
                   "use %u: what handle %#x names", thing->slot.serial, handle);
        former[thing->slot.index] = handle;
        ptli_pool_give(&pool, &thing->slot);
    }
    check_each(things[0]->slot.serial < 4 * PTLI_GENERATIONS, "the serial numbers have wrapped");
    check_all("handles name their objects across the wraps of generation and serial number");
    ptli_pool_close(&pool);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    counter();
    numbers();
    teams();
    handles();
    return check_end();
}
