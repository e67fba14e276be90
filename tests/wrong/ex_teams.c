/* ex_teams.c - one wrong use of teams of GASNet-EX, named by the argument; tests/wrong/ex_teams.sh
 * has the expected message.
 *
 *     ex_teams CASE
 * Two ranks, of which rank 0 makes the call, or both; who is not ended waits for the end of the
 * job.
 */
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnetex.h>
#include <stdio.h>
#include <string.h>

#include "tests/wrong/cases.h"

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

static const wrong_case_t by_one[] = {
    ROW(color),         ROW(split_pair),      ROW(split_none),    ROW(split_flags),
    ROW(no_bytes),      ROW(outside),         ROW(no_form),       ROW(two_forms),
    ROW(create_flags),  ROW(two_teams),       ROW(no_members),    ROW(three_members),
    ROW(rank_2),        ROW(jobrank_2),       ROW(endpoint_1),    ROW(without_caller),
    ROW(destroy_all),   ROW(destroy_none),    ROW(destroy_twice), ROW(destroy_flags),
    ROW(with_domain),   ROW(in_flight),       ROW(message_after), ROW(put_after),
    ROW(barrier_after), ROW(barrier_of_pair), ROW(root_1),        ROW(put_to_1),
    ROW(translate_1),
};
static const wrong_case_t by_both[] = {
    ROW(sizes_differ), ROW(flags_differ), ROW(lists_differ), ROW(one_in_none), ROW(rank_twice),
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
    const char *name = argc > 1 ? argv[1] : "";
    const wrong_case_t *wrong = WRONG_FIND(by_both, name);
    if (!wrong && rank == 0) wrong = WRONG_FIND(by_one, name);
    if (wrong) wrong->run();
    wrong_unnoticed(name, rank);
}
