/* endpoints.c - one wrong use of endpoints and their segments, named by the argument;
 * tests/wrong/endpoints.sh has the expected message.
 *
 *     endpoints CASE
 * Two ranks, each with endpoint 1, whose segment is published, and 2, whose segment is not.  Rank 0
 * makes the call.
 */
#include <gasnet_mk.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>
#include <gasnetex.h>
#include <string.h>

#include "tests/wrong/cases.h"

enum { SEGMENT = 1 << 20, SIZE = 4096 };

static gex_TM_t all, first, second; /* the team, and pairs with endpoints 1 and 2 */
static gex_EP_t eps[3];
static gex_Segment_t attached, created[3];
static char *theirs, *unpublished; /* segments of endpoints of rank 1 */
static char memory[2 * SIZE], mine[8];
static gex_AD_t ad;
static int32_t result;

static void put(gex_TM_t tm, void *to)
{
    gex_RMA_PutBlocking(tm, 1, to, mine, sizeof mine, 0);
}

static char *attached_there(void)
{
    void *there = NULL;
    gex_Segment_QueryBound(all, 1, &there, NULL, NULL);
    return there;
}

static void vector(void *to)
{
    const gex_Memvec_t there = {to, 8}, here = {mine, 8};
    gex_VIS_VectorPutBlocking(first, 1, 1, &there, 1, &here, 0);
}

static void atomic(void)
{
    gex_AD_Create(&ad, all, GEX_DT_I32, GEX_OP_FADD, 0);
    gex_Event_Wait(gex_AD_OpNB_I32(ad, &result, 1, theirs, GEX_OP_FADD, 1, 0, 0));
}

CASE(outside, put(first, theirs + SIZE - 4))
CASE(before, put(first, theirs - 4))
CASE(get_outside, gex_RMA_GetBlocking(first, mine, 1, theirs + SIZE, 8, 0))
CASE(get_nb, gex_Event_Wait(gex_RMA_GetNB(first, mine, 1, theirs + SIZE, 8, 0)))
CASE(put_nbi, gex_RMA_PutNBI(first, 1, theirs + SIZE, mine, 8, GEX_EVENT_DEFER, 0))
CASE(value, gex_RMA_PutBlockingVal(first, 1, theirs + SIZE - 7, 1, 8, 0))
CASE(vector_outside, vector(theirs + SIZE - 4))
CASE(attached_by_1, put(first, attached_there()))
CASE(created_by_0, put(all, theirs))
CASE(vector_by_1, vector(attached_there()))
CASE(not_published, put(second, unpublished))
CASE(no_endpoint, put(gex_TM_Pair(eps[0], 7), theirs))
CASE(rank_2, gex_RMA_PutBlocking(first, 2, theirs, mine, 8, 0))
CASE(atomic_by_0, atomic())
CASE(message, gex_AM_RequestShort0(first, 1, 200, 0))
CASE(message_long, gex_AM_RequestLong0(first, 1, 200, mine, 8, theirs, GEX_EVENT_NOW, 0))
CASE(long_by_0, gex_AM_RequestLong0(all, 1, 200, mine, 8, theirs, GEX_EVENT_NOW, 0))
CASE(pair_33, (void)gex_TM_Pair(eps[0], GASNET_MAXEPS))
CASE(pair_65535, (void)gex_TM_Pair(eps[0], 65535))
CASE(destroy_attached, gex_Segment_Destroy(attached, 0))
CASE(destroy_none, gex_Segment_Destroy(GEX_SEGMENT_INVALID, 0))
CASE(destroy_twice, (gex_Segment_Destroy(created[1], 0), gex_Segment_Destroy(created[1], 0)))
CASE(publish_pair, gex_EP_PublishBoundSegment(first, eps + 1, 1, 0))
CASE(split_pair, gex_TM_Split(&all, first, 0, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH))
CASE(destroyed, put(first, theirs))

static const wrong_case_t by_one[] = {
    ROW(outside),      ROW(before),        ROW(get_outside),    ROW(get_nb),
    ROW(put_nbi),      ROW(value),         ROW(vector_outside), ROW(attached_by_1),
    ROW(created_by_0), ROW(vector_by_1),   ROW(not_published),  ROW(no_endpoint),
    ROW(rank_2),       ROW(atomic_by_0),   ROW(message),        ROW(message_long),
    ROW(long_by_0),    ROW(pair_33),       ROW(pair_65535),     ROW(destroy_attached),
    ROW(destroy_none), ROW(destroy_twice), ROW(publish_pair),   ROW(split_pair),
    ROW(destroyed),
};

static void *bound(gex_TM_t tm)
{
    void *there = NULL;
    gex_Segment_QueryBound(tm, 1, &there, NULL, NULL);
    return there;
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_Client_Init(&client, &eps[0], &all, "wrong", &argc, &argv, 0);
    gex_Segment_Attach(&attached, all, SEGMENT);
    for (int i = 1; i <= 2; i++) {
        gex_EP_Create(&eps[i], client, GEX_EP_CAPABILITY_RMA, 0);
        gex_Segment_Create(&created[i], client, memory + (i - 1) * SIZE, SIZE, GEX_MK_HOST, 0);
        gex_EP_BindSegment(eps[i], created[i], 0);
    }
    gex_EP_PublishBoundSegment(all, eps + 1, 1, 0);
    first = gex_TM_Pair(eps[0], 1);
    second = gex_TM_Pair(eps[0], 2);
    theirs = bound(first);
    unpublished = theirs + SIZE;
    const gex_Rank_t rank = gex_TM_QueryRank(all);
    const char *name = argc > 1 ? argv[1] : "";
    if (rank == 1 && strcmp(name, "destroyed") == 0) gex_Segment_Destroy(created[1], 0);
    gex_Coll_BarrierBlocking(all, 0);
    const wrong_case_t *wrong = rank == 0 ? WRONG_FIND(by_one, name) : NULL;
    if (wrong) wrong->run();
    wrong_unnoticed(name, rank);
}
