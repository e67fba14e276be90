/* atomics.c - one wrong use of remote atomics, named by the argument; tests/wrong/atomics.sh has
 * the expected message.
 *
 *     atomics CASE
 * Two ranks, of which rank 0 makes the call; the other waits for the end of the job.
 */
#include <gasnet_ratomic.h>
#include <gasnetex.h>
#include <stdio.h>
#include <string.h>

#include "tests/wrong/cases.h"

enum { SEGMENT = 1 << 20 };

static gex_TM_t all;
static gex_AD_t ad, other; /* of I64: FADD, SET and GET; of FLT */
static gex_AD_t device;    /* which the adapter executes */
static char *there;        /* the segment of rank 1 */
static int64_t got;

static void create(gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags)
{
    gex_AD_t created;
    gex_AD_Create(&created, all, dt, ops, flags);
}

static void add(gex_Rank_t rank, size_t offset, gex_OP_t op, gex_Flags_t flags)
{
    gex_Event_Wait(gex_AD_OpNB_I64(ad, &got, rank, there + offset, op, 1, 0, flags));
}

/* --- domains --- */

CASE(type_none, create(0, GEX_OP_ADD, 0))
CASE(type_user, create(GEX_DT_USER, GEX_OP_ADD, 0))
CASE(type_two, create(GEX_DT_I32 | GEX_DT_U32, GEX_OP_ADD, 0))
CASE(ops_none, create(GEX_DT_I32, 0, 0))
CASE(ops_bits, create(GEX_DT_DBL, GEX_OP_ADD | GEX_OP_FXOR, 0))
CASE(ops_user, create(GEX_DT_U64, GEX_OP_USER, 0))
CASE(favours, create(GEX_DT_U64, GEX_OP_ADD, GEX_FLAG_AD_FAVOR_MY_RANK | GEX_FLAG_AD_FAVOR_REMOTE))
CASE(flag_8, create(GEX_DT_U64, GEX_OP_ADD, 8))
CASE(pair, gex_AD_Create(&ad, gex_TM_Pair(gex_TM_QueryEP(all), 0), GEX_DT_I32, GEX_OP_ADD, 0))
CASE(team_none, gex_AD_Create(&ad, GEX_TM_INVALID, GEX_DT_I32, GEX_OP_ADD, 0))
CASE(destroy_twice, (gex_AD_Destroy(ad), gex_AD_Destroy(ad)))
CASE(destroy_none, gex_AD_Destroy(GEX_AD_INVALID))

/* --- operations --- */

CASE(destroyed, (gex_AD_Destroy(ad), add(1, 0, GEX_OP_FADD, 0)))
CASE(domain_none, (ad = GEX_AD_INVALID, add(1, 0, GEX_OP_FADD, 0)))
CASE(other_type, (ad = other, add(1, 0, GEX_OP_FADD, 0)))
CASE(not_in_domain, add(1, 0, GEX_OP_FSUB, 0))
CASE(op_none, add(1, 0, 0, 0))
CASE(two_ops, add(1, 0, GEX_OP_SET | GEX_OP_GET, 0))
CASE(no_result, (void)gex_AD_OpNBI_I64(ad, NULL, 1, there, GEX_OP_FADD, 1, 0, 0))
CASE(rank_2, add(2, 0, GEX_OP_FADD, 0))
CASE(jobrank_2, add(2, 0, GEX_OP_FADD, GEX_FLAG_RANK_IS_JOBRANK))
CASE(not_my_rank, add(1, 0, GEX_OP_FADD, GEX_FLAG_AD_MY_RANK))
CASE(not_my_nbrhd, add(1, 0, GEX_OP_FADD, GEX_FLAG_AD_MY_NBRHD))
CASE(misaligned, add(1, 4, GEX_OP_FADD, 0))
CASE(outside, add(1, SEGMENT, GEX_OP_FADD, 0))
CASE(device_rank_2, (ad = device, add(2, 0, GEX_OP_FADD, 0)))
CASE(device_misaligned, (ad = device, add(1, 4, GEX_OP_FADD, 0)))
CASE(device_outside, (ad = device, add(1, SEGMENT, GEX_OP_FADD, 0)))
CASE(across, gex_Event_Wait(gex_AD_OpNB_FLT(other, NULL, 1, there - 4, GEX_OP_SET, 1, 0, 0)))

static const wrong_case_t cases[] = {
    ROW(type_none),      ROW(type_user),    ROW(type_two),      ROW(ops_none),
    ROW(ops_bits),       ROW(ops_user),     ROW(favours),       ROW(flag_8),
    ROW(pair),           ROW(team_none),    ROW(destroyed),     ROW(domain_none),
    ROW(destroy_twice),  ROW(other_type),   ROW(not_in_domain), ROW(op_none),
    ROW(two_ops),        ROW(no_result),    ROW(rank_2),        ROW(jobrank_2),
    ROW(not_my_rank),    ROW(not_my_nbrhd), ROW(misaligned),    ROW(outside),
    ROW(across),         ROW(destroy_none), ROW(device_rank_2), ROW(device_misaligned),
    ROW(device_outside),
};

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    void *addr;
    gex_Client_Init(&client, &ep, &all, "wrong", &argc, &argv, 0);
    gex_Segment_Attach(&segment, all, SEGMENT);
    gex_Segment_QueryBound(all, 1, &addr, NULL, NULL);
    there = addr;
    gex_AD_Create(&device, all, GEX_DT_I64, GEX_OP_FADD, 0);
    gex_AD_Create(&ad, all, GEX_DT_I64, GEX_OP_FADD | GEX_OP_SET | GEX_OP_GET, 0);
    gex_AD_Create(&other, all, GEX_DT_FLT, GEX_OP_SET | GEX_OP_FADD, 0);
    const char *name = argc > 1 ? argv[1] : "";
    const wrong_case_t *wrong = WRONG_FIND(cases, name);
    if (gex_TM_QueryRank(all) == 0 && wrong) wrong->run();
    wrong_unnoticed(name, gex_TM_QueryRank(all));
}
