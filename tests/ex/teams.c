/* teams.c - GASNet-EX: teams that are split and created from others, what they tell, and every call
 * that takes a team; against a model that each rank computes.
 */
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

#include "tests/programs/test.h"
#ifdef GASNET_PAR
#include <pthread.h>
#endif
#include <limits.h>
#include <malloc.h>

enum { H_CALL = 130, MOST = 64, SCRATCH = 64 << 10, ELEMENTS = 128 << 10, SEGMENT = 256 << 10 };

/* A team, and what it should be. */
typedef struct team {
    gex_TM_t tm;
    gex_Rank_t size, rank, jobranks[MOST];
} team_t;

static int arrived, expected, wrong; /* messages; those from another rank than they say */
static gex_AM_Index_t h_call = H_CALL;

static void call(gex_Token_t token, gex_AM_Arg_t jobrank)
{
    gex_Token_Info_t info;
    gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    if (info.gex_srcrank != (gex_Rank_t)jobrank) test_add(&wrong, 1);
    test_add(&arrived, 1);
}

static team_t everyone(void)
{
    team_t all = {.tm = test_tm, .size = (gex_Rank_t)test_size, .rank = (gex_Rank_t)test_rank};
    for (gex_Rank_t r = 0; r < all.size; r++) all.jobranks[r] = r;
    return all;
}

/* --- what a team tells --- */

static void tells(const team_t *t, gex_Flags_t flags)
{
    test_check(gex_TM_QueryRank(t->tm) == t->rank && gex_TM_QuerySize(t->tm) == t->size,
               "rank %u of %u, %u of %u is right", gex_TM_QueryRank(t->tm), gex_TM_QuerySize(t->tm),
               t->rank, t->size);
    test_check(gex_TM_QueryEP(t->tm) == gex_TM_QueryEP(test_tm) &&
                   gex_TM_QueryClient(t->tm) == test_client && gex_TM_QueryFlags(t->tm) == flags &&
                   gex_TM_QueryCData(t->tm) == NULL,
               "endpoint, client, flags 0x%x and data", gex_TM_QueryFlags(t->tm));
    gex_Rank_t inverse[MOST];
    for (int r = 0; r < test_size; r++) inverse[r] = GEX_RANK_INVALID;
    for (gex_Rank_t r = 0; r < t->size; r++) {
        const gex_EP_Location_t at = gex_TM_TranslateRankToEP(t->tm, r, 0);
        inverse[t->jobranks[r]] = r;
        test_check(gex_TM_TranslateRankToJobrank(t->tm, r) == t->jobranks[r] &&
                       at.gex_rank == t->jobranks[r] && at.gex_ep_index == 0,
                   "rank %u of the team is rank %u of the job, not %u", r, at.gex_rank,
                   t->jobranks[r]);
    }
    for (gex_Rank_t r = 0; r < (gex_Rank_t)test_size; r++)
        test_check(gex_TM_TranslateJobrankToRank(t->tm, r) == inverse[r],
                   "rank %u of the job is rank %d of the team, %d is right", r,
                   (int)gex_TM_TranslateJobrankToRank(t->tm, r), (int)inverse[r]);
    test_check(gex_TM_TranslateJobrankToRank(t->tm, (gex_Rank_t)test_size) == GEX_RANK_INVALID,
               "a rank that is not in the job");
}

/* --- the calls that take a team --- */

static void messages(const team_t *t)
{
    for (gex_Rank_t r = 0; r < t->size; r++)
        test_check(gex_AM_RequestShort1(t->tm, r, h_call, 0, test_rank) == GASNET_OK, "a message");
    test_add(&expected, (int)t->size);
    GASNET_BLOCKUNTIL(test_get(&arrived) >= test_get(&expected));
}

/* Each rank of the job has words of its own at every other. */
static void transfers(const team_t *t)
{
    for (gex_Rank_t r = 0; r < t->size; r++) {
        const int rank = (int)t->jobranks[r];
        char *const at = (char *)test_at(rank, 64 * (size_t)test_rank);
        uint64_t out[2] = {test_mix(r), test_mix((uint64_t)t->size << 32 | r)}, in[2] = {0};
        void *owner = NULL;
        uintptr_t size = 0;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(t->tm, r, &owner, NULL, &size, 0));
        test_check(TEST_EVERYTHING || (owner == test_seg[rank].addr && size == SEGMENT),
                   "the segment of rank %u is at %p", r, owner);
        gex_RMA_PutBlocking(t->tm, r, at, &out[0], 8, 0);
        gex_Event_Wait(gex_RMA_PutNB(t->tm, r, at + 8, &out[1], 8, GEX_EVENT_NOW, 0));
        gex_RMA_GetBlocking(t->tm, in, r, at, 16, 0);
        test_check(in[0] == out[0] && in[1] == out[1], "transfers with rank %u", r);
        const gex_Memvec_t from = {out, 16}, to = {at + 16, 16};
        gex_Event_Wait(gex_VIS_VectorPutNB(t->tm, r, 1, &to, 1, &from, 0));
        test_check(gex_RMA_GetBlockingVal(t->tm, r, at + 24, 8, 0) == out[1], "vectors to %u", r);
    }
}

static uint64_t sum_of(const team_t *t)
{
    uint64_t sum = 0;
    for (gex_Rank_t r = 0; r < t->size; r++) sum += test_mix(t->jobranks[r]);
    return sum;
}

static void collectives(const team_t *t, gex_Rank_t root)
{
    uint64_t mine = test_mix((uint64_t)test_rank), sum = 0, one = 0, cast = 0;
    gex_Event_t events[] = {
        gex_Coll_BarrierNB(t->tm, 0),
        gex_Coll_ReduceToAllNB(t->tm, &sum, &mine, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0),
        gex_Coll_BroadcastNB(t->tm, root, &cast, &mine, 8, 0),
        gex_Coll_ReduceToOneNB(t->tm, root, &one, &mine, GEX_DT_U64, 8, 1, GEX_OP_MAX, NULL, NULL,
                               0)};
    gex_Event_WaitAll(events, TEST_COUNT(events), 0);
    uint64_t most = 0;
    for (gex_Rank_t r = 0; r < t->size; r++)
        if (test_mix(t->jobranks[r]) > most) most = test_mix(t->jobranks[r]);
    test_check(sum == sum_of(t) && cast == test_mix(t->jobranks[root]) &&
                   one == (t->rank == root ? most : 0),
               "collectives of %u ranks with root %u", t->size, root);
}

/* Every member adds to an element of every other. */
static void atomics(const team_t *t)
{
    gex_AD_t ad;
    memset(test_at(test_rank, ELEMENTS), 0, 8);
    gex_Coll_BarrierBlocking(t->tm, 0);
    gex_AD_Create(&ad, t->tm, GEX_DT_U64, GEX_OP_ADD | GEX_OP_GET, 0);
    for (gex_Rank_t r = 0; r < t->size; r++) {
        void *const at = test_at((int)t->jobranks[r], ELEMENTS);
        gex_Event_Wait(gex_AD_OpNB_U64(ad, NULL, r, at, GEX_OP_ADD, r + 1, 0, 0));
        gex_Event_Wait(gex_AD_OpNB_U64(ad, NULL, t->jobranks[r], at, GEX_OP_ADD, r + 1, 0,
                                       GEX_FLAG_RANK_IS_JOBRANK));
    }
    gex_Coll_BarrierBlocking(t->tm, 0);
    uint64_t found = 0;
    gex_Event_Wait(
        gex_AD_OpNB_U64(ad, &found, t->rank, test_at(test_rank, ELEMENTS), GEX_OP_GET, 0, 0, 0));
    test_check(found == 2 * (uint64_t)t->size * (t->rank + 1), "the element is %llu",
               (unsigned long long)found);
    gex_Coll_BarrierBlocking(t->tm, 0);
    gex_AD_Destroy(ad);
}

static void works(const team_t *t, gex_Rank_t root)
{
    messages(t);
    transfers(t);
    collectives(t, root);
    atomics(t);
}

static void check_messages(void)
{
    test_sync();
    test_check(test_get(&arrived) == expected && wrong == 0, "%d messages, %d expected, %d wrong",
               arrived, expected, wrong);
}

/* --- splits --- */

/* The member of `parent` that follows the others of a color in the order of key and rank. */
static team_t model(const team_t *parent, const int *colors, const int *keys, int color)
{
    team_t t = {0};
    bool taken[MOST] = {false};
    for (;;) {
        int best = -1;
        for (int r = 0; r < (int)parent->size; r++)
            if (!taken[r] && colors[r] == color && (best < 0 || keys[r] < keys[best])) best = r;
        if (best < 0) return t;
        taken[best] = true;
        if (best == (int)parent->rank) t.rank = t.size;
        t.jobranks[t.size++] = parent->jobranks[best];
    }
}

static char *scratch_at(gex_Rank_t i)
{
    return (char *)test_at(test_rank, SCRATCH + 4096 * (size_t)(i % 8));
}

/* colors[r]: below 0 for rank r to be in no team. */
static team_t split(const team_t *parent, const int *colors, const int *keys, bool scratch)
{
    const int color = colors[parent->rank], key = keys[parent->rank];
    const gex_Flags_t flags = scratch ? 0 : GEX_FLAG_TM_NO_SCRATCH;
    gex_TM_t tm = GEX_TM_INVALID, *const tm_p = color < 0 ? NULL : &tm;
    size_t size =
        gex_TM_Split(tm_p, parent->tm, color, key, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED);
    test_check(tm == GEX_TM_INVALID && (tm_p ? size > 0 && size < 4096 : size == 0), "size %zu",
               size);
    gex_TM_Split(tm_p, parent->tm, color, key, scratch ? scratch_at(parent->size) : NULL, size,
                 flags);
    team_t t = {0};
    if (!tm_p) return t;
    t = model(parent, colors, keys, color);
    t.tm = tm;
    test_check(tm != GEX_TM_INVALID && tm != parent->tm, "a new team");
    tells(&t, flags);
    return t;
}

static void destroy(const team_t *t, gex_Memvec_t *scratch_p, gex_Flags_t flags,
                    const void *scratch)
{
    gex_Memvec_t none = {NULL, 0};
    if (scratch_p) *scratch_p = none;
    const int returned = gex_TM_Destroy(t->tm, scratch_p, flags);
    test_check((returned != 0) == (scratch && scratch_p), "scratch space is returned: %d",
               returned);
    if (scratch_p)
        test_check(scratch_p->gex_addr == scratch && (scratch_p->gex_len > 0) == (scratch != NULL),
                   "%p, %zu bytes", scratch_p->gex_addr, scratch_p->gex_len);
}

static void splits(void)
{
    static int data;
    const team_t all = everyone();
    int colors[MOST], keys[MOST];
    gex_Memvec_t memory;
    for (int form = 0; form < 6; form++) {
        for (int r = 0; r < test_size; r++) {
            colors[r] = form == 0   ? 0
                        : form == 1 ? r
                        : form == 2 ? r % 2
                        : form == 3 ? 7
                                    : r % 3 - 1;
            keys[r] = form == 3   ? -r
                      : form == 4 ? 0x7fffffff - r % 2
                      : form == 5 ? -0x7fffffff - r % 2
                                  : 5;
        }
        const team_t t = split(&all, colors, keys, form % 2 == 1);
        if (!t.tm) continue;
        gex_TM_SetCData(t.tm, &data);
        works(&t, t.size - 1);
        test_check(gex_TM_QueryCData(t.tm) == &data, "data");
        destroy(&t, &memory, 0, form % 2 == 1 ? scratch_at(all.size) : NULL);
    }
    check_messages();
}

/* Splits a team by what its members draw alike, and so on. */
static void explore(const team_t *parent, uint64_t state, int depth)
{
    struct test_random random = {state};
    for (int i = 0; i < 2; i++) {
        int colors[MOST], keys[MOST];
        for (gex_Rank_t r = 0; r < parent->size; r++) {
            colors[r] = (int)test_below(&random, 4) - 1;
            keys[r] = (int)test_below(&random, 5) - 2;
        }
        const team_t t = split(parent, colors, keys, test_below(&random, 2));
        const bool quiet = test_below(&random, 2);
        const uint64_t next = test_random(&random) + (uint64_t)(colors[parent->rank] + 1);
        if (!t.tm) continue;
        for (uint64_t pause = test_mix(next + (uint64_t)test_rank) % 30; pause > 0; pause--)
            gasnet_AMPoll();
        works(&t, (gex_Rank_t)(next % t.size));
        if (depth > 1) explore(&t, next, depth - 1);
        if (quiet) gex_Coll_BarrierBlocking(t.tm, 0);
        gex_TM_Destroy(t.tm, NULL, quiet ? GEX_FLAG_GLOBALLY_QUIESCED : 0);
    }
}

static void nested(void)
{
    const team_t all = everyone();
    for (int i = 0; i < test_iterations(10); i++)
        explore(&all, test_mix(test_seed + (uint64_t)i), 3);
    check_messages();
}

/* --- teams from lists --- */

/* A team of the listed ranks of the parent, with this rank, in each form. */
static void create(const team_t *parent, const gex_Rank_t *list, size_t count, int form)
{
    static const gex_Flags_t forms[] = {GEX_FLAG_TM_NO_SCRATCH, GEX_FLAG_TM_LOCAL_SCRATCH,
                                        GEX_FLAG_TM_GLOBAL_SCRATCH, GEX_FLAG_TM_SYMMETRIC_SCRATCH};
    const bool offset = form % 8 >= 4, of_job = form >= 8;
    const gex_Flags_t flags = forms[form % 4] | (offset ? GEX_FLAG_SCRATCH_SEG_OFFSET : 0) |
                              (of_job ? GEX_FLAG_RANK_IS_JOBRANK : 0);
    /* Segments may be at different addresses. */
    if (form % 4 == 3 && !offset) return;
    team_t t = {.size = (gex_Rank_t)count};
    gex_EP_Location_t args[MOST];
    gex_Addr_t addrs[MOST];
    for (size_t i = 0; i < count; i++) {
        const gex_Rank_t jobrank = t.jobranks[i] = parent->jobranks[list[i]];
        args[i] = (gex_EP_Location_t){of_job ? jobrank : list[i], 0};
        addrs[i] = offset ? (gex_Addr_t)(uintptr_t)SCRATCH : test_at((int)jobrank, SCRATCH);
        if (list[i] == parent->rank) t.rank = (gex_Rank_t)i;
    }
    if (form % 4 == 1 && count) addrs[0] = addrs[t.rank];
    const size_t size =
        gex_TM_Create(&t.tm, count != 0, parent->tm, args, count, NULL, 0,
                      GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED | (flags & GEX_FLAG_RANK_IS_JOBRANK));
    test_check((size > 0) == (count > 0) && size < 4096, "size %zu", size);
    gex_TM_Create(&t.tm, count != 0, parent->tm, args, count, addrs, size, flags);
    if (!count) return;
    gex_Memvec_t memory;
    tells(&t, flags);
    works(&t, 0);
    destroy(&t, &memory, 0, form % 4 ? test_at(test_rank, SCRATCH) : NULL);
}

/* Lists of every other rank, in descending order, the last of three in none. */
static void create_all(const team_t *parent)
{
    for (int form = 0; form < 16; form++) {
        gex_Rank_t list[MOST], count = 0;
        for (gex_Rank_t r = parent->size; r-- > 0 && parent->rank % 3 != 2;)
            if (r % 3 == parent->rank % 3) list[count++] = r;
        create(parent, list, count, form);
    }
}

static void created(void)
{
    const team_t all = everyone();
    int colors[MOST] = {0}, keys[MOST];
    create_all(&all);
    for (int r = 0; r < test_size; r++) keys[r] = -r;
    const team_t reversed = split(&all, colors, keys, false);
    create_all(&reversed);
    destroy(&reversed, NULL, GEX_FLAG_GLOBALLY_QUIESCED, NULL);
    check_messages();
}

/* --- the end of teams --- */

static void ends(void)
{
    enum { PUTS = 50 };
    static char data[PUTS][4096];
    const team_t all = everyone();
    int colors[MOST] = {0}, keys[MOST] = {0};
    gex_Event_t events[PUTS];
    for (int form = 0; form < 4; form++) {
        const team_t t = split(&all, colors, keys, form % 2);
        const gex_Rank_t next = (t.rank + 1) % t.size;
        test_fill(data, sizeof data, (uint64_t)(form + test_rank * 10));
        for (int i = 0; i < PUTS; i++)
            events[i] = gex_RMA_PutNB(t.tm, next, test_at(test_next, (size_t)i * 4096), data[i],
                                      4096, GEX_EVENT_DEFER, 0);
        test_add(&expected, 1);
        gex_AM_RequestShort1(t.tm, next, h_call, 0, test_rank);
        if (form >= 2) test_sync();
        destroy(&t, NULL, form >= 2 ? GEX_FLAG_GLOBALLY_QUIESCED : 0, form % 2 ? data : NULL);
        gex_Event_WaitAll(events, PUTS, 0);
        test_sync();
        test_check(test_mismatch(test_at(test_rank, 0), sizeof data,
                                 (uint64_t)(form + test_prev * 10)) < 0,
                   "puts that a team began");
        test_sync();
    }
    GASNET_BLOCKUNTIL(test_get(&arrived) >= expected);
    check_messages();
}

/* --- many --- */

/* Collectives of several teams in flight, which end in any order. */
static void outstanding(void)
{
    enum { TEAMS = 8, EACH = 10 };
    struct test_random random = test_random_for(5), same = {test_seed};
    const team_t all = everyone();
    team_t t[TEAMS];
    int colors[MOST], keys[MOST];
    for (int i = 0; i < TEAMS; i++) {
        const int parts = 1 + i % 3;
        for (int r = 0; r < test_size; r++) {
            colors[r] = r % parts;
            keys[r] = (int)test_below(&same, 10);
        }
        t[i] = split(&all, colors, keys, false);
    }
    for (int round = 0; round < test_iterations(20); round++) {
        uint64_t mine = test_mix((uint64_t)test_rank), sums[TEAMS][EACH];
        gex_Event_t events[TEAMS * EACH];
        int count[TEAMS] = {0};
        for (int n = 0; n < TEAMS * EACH; n++) {
            int i = (int)test_below(&random, TEAMS);
            while (count[i] == EACH) i = (i + 1) % TEAMS;
            uint64_t *sum = &sums[i][count[i]++];
            events[n] = count[i] == 3 ? gex_Coll_BarrierNB(t[i].tm, 0)
                                      : gex_Coll_ReduceToAllNB(t[i].tm, sum, &mine, GEX_DT_U64, 8,
                                                               1, GEX_OP_ADD, NULL, NULL, 0);
            if (count[i] == 3) *sum = sum_of(&t[i]);
        }
        for (int n = TEAMS * EACH; n-- > 0;) gex_Event_Wait(events[n]);
        for (int i = 0; i < TEAMS; i++)
            for (int k = 0; k < EACH; k++)
                test_check(sums[i][k] == sum_of(&t[i]), "reduction %d of team %d", k, i);
    }
    for (int i = 0; i < TEAMS; i++) destroy(&t[i], NULL, 0, NULL);
}

static void split_and_destroy(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        gex_TM_t tm;
        gex_TM_Split(&tm, test_tm, i % 2 ? test_rank % 2 : 0, i % 3 ? -test_rank : 0, NULL, 0,
                     GEX_FLAG_TM_NO_SCRATCH);
        if (i % 10 == 0) gex_Coll_BarrierBlocking(tm, 0);
        gex_TM_Destroy(tm, NULL, 0);
    }
}

/* Teams that have ended leave no memory in use: pools may still grow, but not each time. */
static void thousands(void)
{
    enum { TIMES = 5, LIVING = 200 };
    gex_TM_t living[LIVING];
    const int rounds = test_iterations(3000) / test_thin() / TIMES;
    long least = LONG_MAX;
    for (int i = 0; i < TIMES; i++) {
        const size_t before = mallinfo2().uordblks;
        split_and_destroy(rounds);
        const long grown = (long)mallinfo2().uordblks - (long)before;
        if (grown < least) least = grown;
    }
    test_check(least < 8 * (long)rounds, "%d teams leave %ld bytes", rounds, least);
    for (int i = 0; i < LIVING; i++)
        gex_TM_Split(&living[i], test_tm, 0, i % 2 ? -test_rank : 0, NULL, 0,
                     GEX_FLAG_TM_NO_SCRATCH);
    for (int i = 0; i < LIVING; i++)
        test_check(gex_TM_QueryRank(living[i]) ==
                       (gex_Rank_t)(i % 2 ? test_size - 1 - test_rank : test_rank),
                   "team %d", i);
    for (int i = 0; i < LIVING; i++) gex_TM_Destroy(living[(i * 7) % LIVING], NULL, 0);
}

/* --- both interfaces --- */

/* After teams of some ranks alone, the ranks still agree on the teams of GASNet-1. */
static void classic(void)
{
    enum { FLAGS = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL };
    const team_t all = everyone();
    int colors[MOST] = {0}, keys[MOST] = {0}, mine = test_rank, ranks[MOST];
    for (int r = 0; r < test_size; r++) colors[r] = r % 2 - 1;
    team_t t = split(&all, colors, keys, false);
    if (t.tm) destroy(&t, NULL, 0, NULL);
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    const gasnet_team_handle_t half = gasnet_coll_team_split(
        GASNET_TEAM_ALL, (gasnet_node_t)test_rank % 2, (gasnet_node_t)test_rank, NULL);
    t = split(&all, colors, keys, false);
    gasnet_coll_gather_all(GASNET_TEAM_ALL, ranks, &mine, sizeof mine, FLAGS);
    for (int r = 0; r < test_size; r++) test_check(ranks[r] == r, "rank %d", ranks[r]);
    if (t.tm) works(&t, 0);
    gasnet_coll_gather_all(half, ranks, &mine, sizeof mine, FLAGS);
    for (int r = 0; 2 * r + test_rank % 2 < test_size; r++)
        test_check(ranks[r] == 2 * r + test_rank % 2, "rank %d", ranks[r]);
    if (t.tm) destroy(&t, NULL, 0, NULL);
    gasnet_coll_team_free(half);
    check_messages();
}

/* --- threads --- */

#ifdef GASNET_PAR
enum { THREADS = 4 };

/* Splits a team of its own, and works with what it gets. */
static void *splitter(void *argument)
{
    const team_t *const parent = argument;
    struct test_random random = {test_mix(test_seed + parent->size)};
    for (int i = 0; i < test_iterations(100); i++) {
        int colors[MOST], keys[MOST];
        for (gex_Rank_t r = 0; r < parent->size; r++) {
            colors[r] = (int)test_below(&random, 2);
            keys[r] = (int)test_below(&random, 5);
        }
        const team_t t = split(parent, colors, keys, false);
        collectives(&t, (gex_Rank_t)i % t.size);
        gex_TM_Destroy(t.tm, NULL, 0);
    }
    return NULL;
}

/* Thread i has a team without rank i: so the ranks' teams differ, and their ids as well. */
static void threads(void)
{
    pthread_t ids[THREADS];
    team_t teams[THREADS];
    const team_t all = everyone();
    for (int i = 0; i < THREADS; i++) {
        int colors[MOST], keys[MOST];
        for (int r = 0; r < test_size; r++) {
            colors[r] = test_size > 1 && r == i ? -1 : 0;
            keys[r] = i % 2 ? -r : r;
        }
        teams[i] = split(&all, colors, keys, false);
    }
    for (int i = 0; i < THREADS; i++)
        if (teams[i].tm) pthread_create(&ids[i], NULL, splitter, &teams[i]);
    for (int i = 0; i < THREADS; i++)
        if (teams[i].tm) pthread_join(ids[i], NULL);
    test_sync();
    for (int i = 0; i < THREADS; i++)
        if (teams[i].tm) gex_TM_Destroy(teams[i].tm, NULL, GEX_FLAG_GLOBALLY_QUIESCED);
}
#endif

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"EX 6.1, 6.2: splits of every form, and all calls with a team", splits},
        {"EX 6.2: random nested splits", nested},
        {"EX 6.3: teams from lists", created},
        {"EX 6.4: the end of teams with operations in flight", ends},
        {"EX 11: collectives in flight on several teams", outstanding},
        {"EX 6.4: thousands of teams", thousands},
        {"EX 14, 6: teams of both interfaces", classic},
#ifdef GASNET_PAR
        {"EX 6.2: threads that split different teams", threads},
#endif
    };
    static gex_AM_Entry_t table[] = {
        {H_CALL, (gex_AM_Fn_t)call, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "call"}};
    test_ex_start(&argc, &argv, table, 1, SEGMENT);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
