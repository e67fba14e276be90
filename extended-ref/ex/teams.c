/* teams.c - teams of GASNet-EX: making them from others, and ending them.
 *
 * A team is a record with the table of its members (gasneti_jobranks), and a team of the engine of
 * collectives (coll/team.h).  The members of the parent gather their arguments, from which each
 * finds its members, and makes the engine's team, before they agree that all could use the same
 * id.  So no message of a team reaches a member that has yet to make it.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/am/context.h"
#include "core/job/job.h"
#include "core/job/rank.h"
#include "core/report.h"
#include "extended-ref/coll/op.h"
#include "extended-ref/ex/atomics.h"
#include "extended-ref/ex/objects.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/teams/split_order.h"
#include "gasnet.h"
#include "other/base/fnv.h"

enum {
    SCRATCH_SIZE = 64,
    SIZE_QUERY = GEX_FLAG_TM_SCRATCH_SIZE_MIN | GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED
};
enum { NO_TEAM = UINT32_MAX }; /* color of a caller that is to be in none */

gex_TM_t gasnete_all, gasneti_pair;
static gasneti_lock_t teams_lock; /* protects: */
static gex_TM_t teams;            /* that exist, in a list */

/* [remote]: with other endpoints than the primordial ones; NULL: none was asked for. */
static _Atomic(gex_TM_t) pairs[GASNET_MAXEPS];

/* --- the list of teams --- */

/* The link of the list that points to the team, or to GEX_TM_INVALID; lock held. */
static gex_TM_t *teams_find(gex_TM_t tm)
{
    gex_TM_t *link = &teams;
    while (*link && *link != tm) link = &(*link)->next;
    return link;
}

bool gasnete_is_team(gex_TM_t tm)
{
    gasneti_lock(&teams_lock);
    const bool found = tm && *teams_find(tm);
    gasneti_unlock(&teams_lock);
    return found;
}

void gasnete_check_team(const char *call, gex_TM_t tm)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate(call);
    if (!gasnete_is_team(tm))
        gasneti_fatal("%s is given %p, which is no team: gasnet_QueryGexObjects, gex_TM_Split and "
                      "gex_TM_Create tell of teams, and gex_TM_Destroy ends them",
                      call, (void *)tm);
}

#if GASNET_DEBUG
static bool is_pair(gex_TM_t tm)
{
    for (int i = 1; i < GASNET_MAXEPS; i++)
        if (tm && tm == atomic_load_explicit(&pairs[i], memory_order_acquire)) return true;
    return tm == gasneti_pair;
}

void gasneti_check_receives(gex_TM_t tm)
{
    if (tm->index)
        gasneti_fatal("an Active Message is sent to endpoint %d, which has GEX_EP_CAPABILITY_RMA "
                      "alone: messages go to endpoint 0",
                      tm->index);
}

void gasneti_check_member(gex_TM_t tm, gex_Rank_t rank)
{
    if (!is_pair(tm) && !gasnete_is_team(tm))
        gasneti_fatal("%p is neither a team nor a pair of endpoints", (void *)tm);
    if (rank >= tm->size)
        gasneti_fatal("rank %u is not one of the %u ranks of the team", rank, tm->size);
}
#endif

gex_Rank_t gasnete_search_jobrank(gex_TM_t tm, gex_Rank_t jobrank)
{
    if (!tm->engine) return jobrank < tm->size ? jobrank : GEX_RANK_INVALID;
    const uint32_t rank = gasnete_coll_rank_of(tm->engine, jobrank);
    return rank < tm->size ? rank : GEX_RANK_INVALID;
}

/* --- records --- */

/* A record without its table, which has room for one rank more than there are. */
static gex_TM_t teams_new(gex_Rank_t rank, gex_Rank_t size)
{
    gex_TM_t tm = gasneti_calloc(1, sizeof *tm + (size + (size_t)1) * sizeof(gex_Rank_t), "a team");
    tm->ep = &gasneti_ep0;
    tm->rank = rank;
    tm->size = size;
    return tm;
}

static void teams_list(gex_TM_t tm)
{
    gasneti_lock(&teams_lock);
    tm->next = teams;
    teams = tm;
    gasneti_unlock(&teams_lock);
}

/* All ranks of the job.  The table has a rank more than the job, so that the core refuses it by its
 * number in builds that do not check it before. */
static gex_TM_t teams_new_job(void)
{
    gex_TM_t tm = teams_new(gasnetc_job.rank, gasnetc_job.size);
    gex_Rank_t *table = (gex_Rank_t *)(tm + 1);
    for (gex_Rank_t r = 0; r <= tm->size; r++) table[r] = r;
    return tm;
}

/* Made when it is needed for the first time, and not ended: it may be used in any thread. */
gex_TM_t gasneti_pair_with(gex_EP_Index_t remote)
{
    if (remote == 0) return gasneti_pair;
    if (remote >= GASNET_MAXEPS)
        gasneti_fatal("gex_TM_Pair names endpoint %d: the most is %d", remote, GASNET_MAXEPS - 1);
    gex_TM_t pair = atomic_load_explicit(&pairs[remote], memory_order_acquire);
    if (pair) return pair;
    gex_TM_t made = teams_new_job();
    made->index = remote;
    if (atomic_compare_exchange_strong(&pairs[remote], &pair, made)) return made;
    free(made);
    return pair;
}

void gasnete_teams_init(void)
{
    gasneti_pair = teams_new_job();
    gasnete_all = teams_new_job();
    gasnete_all->engine =
        gasnete_coll_team_new_plain(GASNETE_COLL_ID_PRIMORDIAL, NULL, gasnetc_job.size);
    gasnete_all->engine->settings = gasnete_coll_settings();
    teams_list(gasnete_all);
}

/* --- making a team --- */

/* What a caller asks for.  `at`: the members of its new team, by rank in the parent; as many as
 * `size`, 0 for no team. */
typedef struct request {
    const char *call;
    gex_TM_t parent;
    gasnete_coll_split_t mine;
    gex_Rank_t *at, size;
    gex_Memvec_t scratch; /* gex_addr is NULL: none */
    gex_Flags_t flags;
} request_t;

static gasnete_coll_split_t *teams_gather(const request_t *request)
{
    gasnete_coll_split_t *all = gasneti_calloc(request->parent->size, sizeof *all, request->call);
    gasnete_coll_gather_bytes(request->call, request->parent, all, &request->mine, sizeof *all);
    return all;
}

/* Fatal unless all members pass what is to be equal. */
static void teams_check_equal(const request_t *request, const gasnete_coll_split_t *all)
{
    const gex_Rank_t differs = gasnete_coll_split_differs(
        all, request->at, request->size, request->mine.color, request->mine.digest);
    if (differs < request->size)
        gasneti_fatal("%s: %s is to be in a new team with this rank, but passes other members, "
                      "another size of scratch space or other flags: these are equal on all "
                      "members of a new team",
                      request->call,
                      gasneti_rank_name(gasneti_jobranks(request->parent)[request->at[differs]]));
}

/* The engine's team of `size` ranks of the job; NULL if that is 0.  The first id to try is one that
 * no member's teams have.  If another thread has made a team since, of other ranks, all try again.
 */
static gasnete_team_t *teams_agree(gex_TM_t parent, uint32_t id, const gex_Rank_t *jobranks,
                                   gex_Rank_t size)
{
    for (;;) {
        gasnete_team_t *team = NULL;
        uint32_t mine = 0, greatest = 0; /* the least id that is free, if this one was not */
        if (size && gasnete_coll_team_take_id(id))
            team = gasnete_coll_team_new_plain(id, jobranks, size);
        else if (size)
            mine = gasnete_coll_team_id();
        gex_Event_Wait(gex_Coll_ReduceToAllNB(parent, &greatest, &mine, GEX_DT_U32, sizeof mine, 1,
                                              GEX_OP_MAX, NULL, NULL, 0));
        if (!greatest) return team;
        if (team) gasnete_coll_team_delete(team);
        id = greatest;
    }
}

/* Makes the team that the caller asks for; GEX_TM_INVALID if it asks for none. */
static gex_TM_t teams_make(const request_t *request, const gasnete_coll_split_t *all)
{
    const gex_TM_t parent = request->parent;
    const uint32_t id = gasnete_coll_split_id(all, parent->size);
    if (!request->size) {
        teams_agree(parent, id, NULL, 0);
        return GEX_TM_INVALID;
    }
    teams_check_equal(request, all);
    gex_TM_t tm = teams_new(0, request->size);
    gex_Rank_t *table = (gex_Rank_t *)(tm + 1);
    for (gex_Rank_t r = 0; r < tm->size; r++) table[r] = gasneti_jobranks(parent)[request->at[r]];
    table[tm->size] = GEX_RANK_INVALID;
    tm->engine = teams_agree(parent, id, table, tm->size);
    tm->engine->settings = parent->engine->settings;
    tm->rank = tm->engine->rank;
    tm->flags = request->flags;
    tm->scratch = request->scratch;
    teams_list(tm);
    return tm;
}

/* Fatal unless the scratch space is memory of the segment. */
static void teams_check_scratch(const request_t *request)
{
    const gex_Memvec_t *scratch = &request->scratch;
    if (!scratch->gex_len ||
        !gasnete_in_segment(gasnetc_job.rank, scratch->gex_addr, scratch->gex_len))
        gasneti_fatal("%s is given %zu bytes at %p as scratch space, which is not memory of this "
                      "rank's segment: pass as much as GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED tells, "
                      "or GEX_FLAG_TM_NO_SCRATCH",
                      request->call, scratch->gex_len, scratch->gex_addr);
}

static void teams_check_flags(const char *call, gex_Flags_t flags, gex_Flags_t known)
{
    if (flags & ~known)
        gasneti_fatal("%s is given the flags 0x%x, of which 0x%x is unknown", call, flags,
                      flags & ~known);
}

/* --- gex_TM_Split --- */

size_t gex_TM_Split(gex_TM_t *new_tm_p, gex_TM_t parent, int color, int key, void *scratch_addr,
                    size_t scratch_size, gex_Flags_t flags)
{
    gasnete_check_team(__func__, parent);
    teams_check_flags(__func__, flags, SIZE_QUERY | GEX_FLAG_TM_NO_SCRATCH);
    if (flags & SIZE_QUERY) return new_tm_p ? SCRATCH_SIZE : 0;
    if (new_tm_p && color < 0)
        gasneti_fatal("%s is called with color %d: colors are not negative", __func__, color);
    const bool no_scratch = flags & GEX_FLAG_TM_NO_SCRATCH;
    request_t request = {.call = __func__, .parent = parent, .flags = flags};
    request.mine.color = new_tm_p ? (uint32_t)color : NO_TEAM;
    request.mine.relrank = (uint32_t)key - (uint32_t)INT32_MIN; /* in the order of `key` */
    request.mine.id = gasnete_coll_team_id();
    if (!no_scratch && new_tm_p) {
        request.scratch = (gex_Memvec_t){scratch_addr, scratch_size};
        teams_check_scratch(&request);
    }
    const uint64_t equal[] = {no_scratch, request.scratch.gex_len};
    request.mine.digest = (uint32_t)gasneti_fnv(GASNETI_FNV_START, equal, sizeof equal);
    gasnete_coll_split_t *all = teams_gather(&request);
    gasnete_coll_seat_t *seats = gasneti_calloc(parent->size, sizeof *seats, __func__);
    request.at = gasneti_calloc(parent->size, sizeof *request.at, __func__);
    if (new_tm_p)
        request.size = gasnete_coll_split_seats(all, NULL, parent->size, request.mine.color, seats);
    for (gex_Rank_t i = 0; i < request.size; i++) request.at[i] = seats[i].rank;
    const gex_TM_t tm = teams_make(&request, all);
    if (new_tm_p) *new_tm_p = tm;
    free(request.at);
    free(seats);
    free(all);
    return 0;
}

/* --- gex_TM_Create --- */

/* Translates the list to ranks of the parent; fatal if the parent does not have them, or if the
 * caller is not listed. */
static gex_Rank_t *teams_listed(const request_t *request, const gex_EP_Location_t *args)
{
    const gex_TM_t parent = request->parent;
    const bool of_job = request->flags & GEX_FLAG_RANK_IS_JOBRANK;
    gex_Rank_t *at = gasneti_calloc(request->size + (size_t)1, sizeof *at, request->call);
    bool with_caller = false;
    for (gex_Rank_t i = 0; i < request->size; i++) {
        const gex_Rank_t rank = args[i].gex_rank;
        at[i] = of_job ? gex_TM_TranslateJobrankToRank(parent, rank) : rank;
        if (at[i] >= parent->size)
            gasneti_fatal("%s names rank %u%s, which is not in the parent of %u ranks",
                          request->call, rank, of_job ? " of the job" : "", parent->size);
        if (args[i].gex_ep_index)
            gasneti_fatal("%s names endpoint %d of rank %u: teams are of endpoints 0",
                          request->call, args[i].gex_ep_index, rank);
        with_caller = with_caller || at[i] == parent->rank;
    }
    if (request->size && !with_caller)
        gasneti_fatal("%s is given a list of %u ranks without the caller, rank %u of the parent",
                      request->call, request->size, parent->rank);
    return at;
}

/* The caller's scratch space. */
static gex_Memvec_t teams_scratch_of(const request_t *request, const gex_Addr_t *addrs, size_t size)
{
    gex_Rank_t which = 0;
    if (request->flags & GEX_FLAG_TM_GLOBAL_SCRATCH)
        while (request->at[which] != request->parent->rank) which++;
    const uintptr_t base = request->flags & GEX_FLAG_SCRATCH_SEG_OFFSET
                               ? gasnetc_peers[gasnetc_job.rank].segment.base
                               : 0;
    return (gex_Memvec_t){(void *)(base + (uintptr_t)addrs[which]), size};
}

size_t gex_TM_Create(gex_TM_t *new_tms, size_t num_new_tms, gex_TM_t parent,
                     gex_EP_Location_t *args, size_t numargs, gex_Addr_t *scratch_addrs,
                     size_t scratch_size, gex_Flags_t flags)
{
    enum {
        FORMS = GEX_FLAG_TM_GLOBAL_SCRATCH | GEX_FLAG_TM_LOCAL_SCRATCH |
                GEX_FLAG_TM_SYMMETRIC_SCRATCH | GEX_FLAG_TM_NO_SCRATCH
    };
    const gex_Flags_t form = flags & FORMS;
    gasnete_check_team(__func__, parent);
    teams_check_flags(__func__, flags,
                      FORMS | SIZE_QUERY | GEX_FLAG_SCRATCH_SEG_OFFSET | GEX_FLAG_RANK_IS_JOBRANK);
    if (flags & SIZE_QUERY) return numargs ? SCRATCH_SIZE : 0;
    if (!form || form & (form - 1))
        gasneti_fatal(
            "%s is given the flags 0x%x, of which exactly one is to be GEX_FLAG_TM_GLOBAL_, "
            "LOCAL_, SYMMETRIC_ or NO_SCRATCH",
            __func__, flags);
    if (num_new_tms != (numargs != 0) || numargs > parent->size)
        gasneti_fatal(
            "%s asks for %zu teams of %zu members: it is one team of at most the %u ranks "
            "of the parent, or none with no members",
            __func__, num_new_tms, numargs, parent->size);
    request_t request = {
        .call = __func__, .parent = parent, .size = (gex_Rank_t)numargs, .flags = flags};
    request.at = teams_listed(&request, args);
    if (numargs && form != GEX_FLAG_TM_NO_SCRATCH) {
        request.scratch = teams_scratch_of(&request, scratch_addrs, scratch_size);
        teams_check_scratch(&request);
    }
    const uint64_t equal[] = {numargs, form, request.scratch.gex_len};
    const uint64_t digest = gasneti_fnv(GASNETI_FNV_START, equal, sizeof equal);
    request.mine.color = numargs ? 0 : NO_TEAM;
    request.mine.id = gasnete_coll_team_id();
    request.mine.digest = (uint32_t)gasneti_fnv(digest, request.at, numargs * sizeof *request.at);
    gasnete_coll_split_t *all = teams_gather(&request);
    const gex_TM_t tm = teams_make(&request, all);
    if (numargs) new_tms[0] = tm;
    free(request.at);
    free(all);
    return 0;
}

/* --- gex_TM_Destroy --- */

int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags)
{
    gasnete_check_team(__func__, tm);
    teams_check_flags(__func__, flags, GEX_FLAG_GLOBALLY_QUIESCED);
    if (tm == gasnete_all)
        gasneti_fatal("%s is given the team of all ranks, which lives as long as the job",
                      __func__);
    if (gasnete_has_domain(tm))
        gasneti_fatal("%s is given a team that has a domain of atomics: call gex_AD_Destroy first",
                      __func__);
    gasnete_coll_check_idle(__func__, tm->engine);
    if (!(flags & GEX_FLAG_GLOBALLY_QUIESCED)) gex_Coll_BarrierBlocking(tm, 0);
    if (GASNETC_CHECKING) gasnete_coll_await_checks(tm->engine);
    gasneti_lock(&teams_lock);
    *teams_find(tm) = tm->next;
    gasneti_unlock(&teams_lock);
    gasnete_coll_team_delete(tm->engine);
    const gex_Memvec_t scratch = tm->scratch;
    free(tm);
    if (!scratch.gex_len || !scratch_p) return 0;
    *scratch_p = scratch;
    return 1;
}
