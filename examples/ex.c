/* ex.c - GASNet-EX: every rank puts its number into its right neighbour's segment, tells it by a
 * message, and all add up what they found.
 *
 *   gasnetrun_ibv -n 4 ./ex
 */
#include <gasnetex.h>
#include <stdio.h>

static volatile int told;

static void on_tell(gex_Token_t token, gex_AM_Arg_t number)
{
    gex_Token_Info_t info;
    gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    if (number != (gex_AM_Arg_t)info.gex_srcrank) gasnet_exit(1);
    told = 1;
}

/* Ends the job if a call has failed. */
static void must(int status, const char *call)
{
    if (status == GASNET_OK) return;
    fprintf(stderr, "%s: %s\n", call, gasnet_ErrorDesc(status));
    gasnet_exit(1);
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t all;
    gex_Segment_t segment;
    gex_AM_Entry_t table[] = {
        {0, (gex_AM_Fn_t)on_tell, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "tell"}};

    must(gex_Client_Init(&client, &ep, &all, "EXAMPLE", &argc, &argv, 0), "gex_Client_Init");
    must(gex_EP_RegisterHandlers(ep, table, 1), "gex_EP_RegisterHandlers");
    must(gex_Segment_Attach(&segment, all, GASNET_PAGESIZE), "gex_Segment_Attach");

    const gex_Rank_t rank = gex_TM_QueryRank(all), size = gex_TM_QuerySize(all);
    const gex_Rank_t right = (rank + 1) % size, left = (rank + size - 1) % size;
    uint64_t *mine = gex_Segment_QueryAddr(segment);
    void *there;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, right, &there, NULL, NULL, 0));

    /* The put is complete at the target before the message is sent. */
    const uint64_t number = rank;
    gex_Event_Wait(gex_RMA_PutNB(all, right, there, &number, sizeof number, GEX_EVENT_NOW, 0));
    gex_AM_RequestShort1(all, right, table[0].gex_index, 0, (gex_AM_Arg_t)rank);
    GASNET_BLOCKUNTIL(told);

    uint64_t sum;
    gex_Event_Wait(gex_Coll_ReduceToAllNB(all, &sum, mine, GEX_DT_U64, sizeof sum, 1, GEX_OP_ADD,
                                          NULL, NULL, 0));
    const int right_sum = sum == (uint64_t)size * (size - 1) / 2 && *mine == left;
    if (rank == 0)
        printf("ex: the numbers of %u ranks, sum %lu, %s\n", size, (unsigned long)sum,
               right_sum ? "verified" : "FAILED");
    gex_Coll_BarrierBlocking(all, 0);
    gasnet_exit(!right_sum);
    return 0;
}
