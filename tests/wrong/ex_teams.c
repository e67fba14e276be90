/* ex_teams.c - one wrong use of teams of GASNet-EX, named by the argument; tests/wrong/ex_teams.sh
 * has the expected message.
 *
 *     ex_teams CASE
 * Two ranks, of which rank 0 makes the call, or both; who is not ended waits for the end of the
 * job.
 */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SEGMENT = 1 << 20 };

static gex_TM_t all, both, alone; /* the latter with this rank only */
static gex_TM_t made[2];
static gex_AD_t ad;
static gex_Event_t event;
static char *mine;
static gex_Rank_t rank;

static void split(int color, void *scratch, size_t size, gex_Flags_t flags)
{
    gex_TM_Split(made, all, color, 0, scratch, size, flags);
}

static void create(size_t teams, gex_Rank_t first, gex_Rank_t second, size_t count,
                   gex_EP_Index_t ep, gex_Flags_t flags)
{
    gex_EP_Location_t args[] = {{first, ep}, {second, ep}};
    gex_TM_Create(made, teams, all, args, count, NULL, 0, flags);
}

#define CASE(name, statement)                                                                      \
    static void name(void)                                                                         \
    {                                                                                              \
        statement;                                                                                 \
    }

/* --- by rank 0 --- */

CASE(color, split(-1, NULL, 0, GEX_FLAG_TM_NO_SCRATCH))
CASE(split_pair, gex_TM_Split(made, gex_TM_Pair(gex_TM_QueryEP(all), 0), 0, 0, mine, 64, 0))
CASE(split_none, gex_TM_Split(made, GEX_TM_INVALID, 0, 0, mine, 64, 0))
CASE(split_flags, split(0, mine, 64, GEX_FLAG_SCRATCH_SEG_OFFSET))
CASE(no_bytes, split(0, mine, 0, 0))
CASE(outside, split(0, mine + SEGMENT - 32, 64, 0))
CASE(no_form, create(1, 0, 1, 2, 0, 0))
CASE(two_forms, create(1, 0, 1, 2, 0, GEX_FLAG_TM_NO_SCRATCH | GEX_FLAG_TM_LOCAL_SCRATCH))
CASE(create_flags, create(1, 0, 1, 2, 0, GEX_FLAG_TM_NO_SCRATCH | 1U << 7))
CASE(two_teams, create(2, 0, 1, 2, 0, GEX_FLAG_TM_NO_SCRATCH))
CASE(no_members, create(1, 0, 1, 0, 0, GEX_FLAG_TM_NO_SCRATCH))
CASE(three_members, create(1, 0, 1, 3, 0, GEX_FLAG_TM_NO_SCRATCH))
CASE(rank_2, create(1, 0, 2, 2, 0, GEX_FLAG_TM_NO_SCRATCH))
CASE(jobrank_2, create(1, 0, 2, 2, 0, GEX_FLAG_TM_NO_SCRATCH | GEX_FLAG_RANK_IS_JOBRANK))
CASE(endpoint_1, create(1, 0, 1, 2, 1, GEX_FLAG_TM_NO_SCRATCH))
CASE(without_caller, create(1, 1, 0, 1, 0, GEX_FLAG_TM_NO_SCRATCH))
CASE(destroy_all, gex_TM_Destroy(all, NULL, 0))
CASE(destroy_none, gex_TM_Destroy(GEX_TM_INVALID, NULL, 0))
CASE(destroy_twice, (gex_TM_Destroy(alone, NULL, 0), gex_TM_Destroy(alone, NULL, 0)))
CASE(destroy_flags, gex_TM_Destroy(alone, NULL, 1))
CASE(with_domain,
     (gex_AD_Create(&ad, alone, GEX_DT_I64, GEX_OP_ADD, 0), gex_TM_Destroy(alone, NULL, 0)))
CASE(in_flight, (event = gex_Coll_BarrierNB(both, 0), gex_TM_Destroy(both, NULL, 0)))
CASE(message_after, (gex_TM_Destroy(alone, NULL, 0), gex_AM_RequestShort0(alone, 0, 200, 0)))
CASE(put_after,
     (gex_TM_Destroy(alone, NULL, 0), gex_RMA_PutBlocking(alone, 0, mine, mine + 8, 8, 0)))
CASE(barrier_after, (gex_TM_Destroy(alone, NULL, 0), gex_Coll_BarrierBlocking(alone, 0)))
CASE(barrier_of_pair, gex_Coll_BarrierBlocking(gex_TM_Pair(gex_TM_QueryEP(all), 0), 0))
CASE(root_1, gex_Event_Wait(gex_Coll_BroadcastNB(alone, 1, mine, mine, 8, 0)))
CASE(put_to_1, gex_RMA_PutBlocking(alone, 1, mine, mine + 8, 8, 0))
CASE(translate_1, (void)gex_TM_TranslateRankToJobrank(alone, 1))

/* --- by both --- */

CASE(sizes_differ, split(0, mine, 64 + rank, 0))
CASE(flags_differ, split(0, mine, 64, rank ? GEX_FLAG_TM_NO_SCRATCH : 0))
CASE(lists_differ, create(1, rank, 1 - rank, 2, 0, GEX_FLAG_TM_NO_SCRATCH))
CASE(one_in_none, create(!rank, 0, 1, rank ? 0 : 2, 0, GEX_FLAG_TM_NO_SCRATCH))
CASE(rank_twice, create(!rank, 0, 0, rank ? 0 : 2, 0, GEX_FLAG_TM_NO_SCRATCH))

static const struct {
    const char *name;
    bool by_both;
    void (*run)(void);
} cases[] = {
#define ROW(name, by_both)                                                                         \
    {                                                                                              \
#name, by_both, name                                                                       \
    }
    ROW(color, false),          ROW(split_pair, false),      ROW(split_none, false),
    ROW(split_flags, false),    ROW(no_bytes, false),        ROW(outside, false),
    ROW(no_form, false),        ROW(two_forms, false),       ROW(create_flags, false),
    ROW(two_teams, false),      ROW(no_members, false),      ROW(three_members, false),
    ROW(rank_2, false),         ROW(jobrank_2, false),       ROW(endpoint_1, false),
    ROW(without_caller, false), ROW(destroy_all, false),     ROW(destroy_none, false),
    ROW(destroy_twice, false),  ROW(destroy_flags, false),   ROW(with_domain, false),
    ROW(in_flight, false),      ROW(message_after, false),   ROW(put_after, false),
    ROW(barrier_after, false),  ROW(barrier_of_pair, false), ROW(root_1, false),
    ROW(put_to_1, false),       ROW(translate_1, false),     ROW(sizes_differ, true),
    ROW(flags_differ, true),    ROW(lists_differ, true),     ROW(one_in_none, true),
    ROW(rank_twice, true),
};

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    gex_Client_Init(&client, &ep, &all, "wrong", &argc, &argv, 0);
    gex_Segment_Attach(&segment, all, SEGMENT);
    mine = gex_Segment_QueryAddr(segment);
    rank = gex_TM_QueryRank(all);
    gex_TM_Split(&both, all, 0, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    gex_TM_Split(&alone, all, (int)rank, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0 && (cases[i].by_both || rank == 0)) cases[i].run();
    if (rank == 0) {
        printf("nothing was wrong about %s\n", argc > 1 ? argv[1] : "");
        fflush(stdout);
        gasnet_exit(0);
    }
    for (;;) gasnet_AMPoll();
}
