/* messages.c - one wrong use of GASNet-EX messages, named by the argument; tests/wrong/messages.sh
 * has the expected message.
 *
 *     messages CASE
 * Two ranks, of which rank 0 makes the call, or lets rank 1 make it in a handler.
 */
#include <gasnet_coll.h>
#include <gasnetex.h>
#include <stdio.h>
#include <string.h>

#include "tests/wrong/cases.h"

enum { SEGMENT = 1 << 20, NOTHING = 200, REPLY_PUT, REPLY_TWICE };

static gex_TM_t all;
static void *there; /* the segment of rank 1 */
static char bytes[200];

static gex_AM_SrcDesc_t prepare(void)
{
    return gex_AM_PrepareRequestMedium(all, 1, NULL, 100, 100, NULL, 0, 1);
}

static void nothing(gex_Token_t token, void *payload, size_t nbytes, gex_AM_Arg_t a)
{
    (void)token, (void)payload, (void)nbytes, (void)a;
}
static void reply_put(gex_Token_t token)
{
    (void)gex_AM_PrepareReplyMedium(token, NULL, 8, 8, NULL, 0, 0);
    gex_RMA_PutBlocking(all, 0, there, bytes, 8, 0);
}
static void reply_twice(gex_Token_t token)
{
    (void)gex_AM_PrepareReplyMedium(token, NULL, 8, 8, NULL, 0, 0);
    gex_AM_ReplyMedium1(token, NOTHING, bytes, 8, GEX_EVENT_NOW, 0, 0);
}

static void let_reply(gex_AM_Index_t handler)
{
    gex_AM_RequestShort0(all, 1, handler, 0);
    for (;;) gasnet_AMPoll();
}

/* --- while a payload is prepared --- */

CASE(twice, (prepare(), prepare()))
CASE(put, (prepare(), gex_RMA_PutBlocking(all, 1, there, bytes, 8, 0)))
CASE(get, (prepare(), gex_RMA_GetBlocking(all, bytes, 1, there, 8, 0)))
CASE(request, (prepare(), gex_AM_RequestShort0(all, 1, NOTHING, 0)))
CASE(poll, (prepare(), gasnet_AMPoll()))
CASE(wait, (prepare(), gex_NBI_Wait(GEX_EC_ALL, 0)))
CASE(barrier, (prepare(), gex_Event_Wait(gex_Coll_BarrierNB(all, 0))))
CASE(in_reply_put, let_reply(REPLY_PUT))
CASE(in_reply_twice, let_reply(REPLY_TWICE))

/* --- what Commit and Cancel are given --- */

static void after_cancel(void)
{
    gex_AM_SrcDesc_t sd = prepare();
    gex_AM_CancelRequestMedium(sd, 0);
    gex_AM_CommitRequestMedium1(sd, NOTHING, 8, 0);
}
static void committed(void)
{
    gex_AM_SrcDesc_t sd = prepare();
    gex_AM_CommitRequestMedium1(sd, NOTHING, 8, 0);
    gex_AM_CommitRequestMedium1(sd, NOTHING, 8, 0);
}
CASE(as_long, gex_AM_CommitRequestLong1(prepare(), NOTHING, 8, there, 0))
CASE(never, gex_AM_CommitRequestMedium1((gex_AM_SrcDesc_t)bytes, NOTHING, 8, 0))
CASE(too_many_bytes, gex_AM_CommitRequestMedium1(prepare(), NOTHING, 101, 0))
CASE(arguments, gex_AM_CommitRequestMedium2(prepare(), NOTHING, 100, 0, 0))
CASE(handler_127, gex_AM_CommitRequestMedium1(prepare(), 127, 100, 0))

/* --- what Prepare and the fixed forms are given --- */

CASE(too_large, (void)gex_AM_PrepareRequestMedium(all, 1, NULL, 1 << 20, 1 << 20, NULL, 0, 1))
CASE(most_below_least, (void)gex_AM_PrepareRequestMedium(all, 1, NULL, 100, 99, NULL, 0, 1))
CASE(lc_null, gex_AM_RequestMedium1(all, 1, NOTHING, bytes, 8, NULL, 0, 0))
CASE(lc_defer, gex_AM_RequestLong0(all, 1, NOTHING, bytes, 8, there, GEX_EVENT_DEFER, 0))
CASE(lc_prepare, (void)gex_AM_PrepareRequestMedium(all, 1, bytes, 8, 8, NULL, 0, 1))
CASE(classic_request, gasnet_AMRequestShort0(1, NOTHING))
CASE(classic_put, gasnet_put(1, there, bytes, 8))
CASE(classic_value, gasnet_put_val(1, there, 1, 8))
CASE(at_peer_index, gex_VIS_SetPeerCompletionHandler(127, NULL, 0, 0))
CASE(at_peer_size,
     gex_VIS_SetPeerCompletionHandler(NOTHING, bytes, GEX_VIS_MAX_PEERCOMPLETION + 1, 0))
CASE(rank_2, (void)gex_AM_PrepareRequestMedium(all, 2, NULL, 8, 8, NULL, 0, 1))

static void classic_vector(void)
{
    gasnet_memvec_t to = {there, 8}, from = {bytes, 8};
    gasnet_putv_bulk(1, 1, &to, 1, &from);
}

static const wrong_case_t cases[] = {
    ROW(twice),
    ROW(put),
    ROW(get),
    ROW(request),
    ROW(poll),
    ROW(wait),
    ROW(barrier),
    ROW(after_cancel),
    ROW(committed),
    ROW(as_long),
    ROW(never),
    ROW(too_many_bytes),
    ROW(arguments),
    ROW(handler_127),
    ROW(too_large),
    ROW(most_below_least),
    ROW(lc_null),
    ROW(lc_defer),
    ROW(lc_prepare),
    ROW(rank_2),
    ROW(classic_request),
    ROW(classic_put),
    ROW(classic_value),
    ROW(classic_vector),
    ROW(at_peer_index),
    ROW(at_peer_size),
    {"reply_put", in_reply_put},
    {"reply_twice", in_reply_twice},
};

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    gex_AM_Entry_t handlers[] = {
        {NOTHING, (gex_AM_Fn_t)nothing, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQREP, 1, NULL, NULL},
        {REPLY_PUT, (gex_AM_Fn_t)reply_put, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, NULL},
        {REPLY_TWICE, (gex_AM_Fn_t)reply_twice, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
         NULL},
    };
    gex_Client_Init(&client, &ep, &all, "wrong", &argc, &argv, 0);
    gex_EP_RegisterHandlers(ep, handlers, sizeof handlers / sizeof *handlers);
    gex_Segment_Attach(&segment, all, SEGMENT);
    gex_Segment_QueryBound(all, 1, &there, NULL, NULL);
    const char *name = argc > 1 ? argv[1] : "";
    const wrong_case_t *wrong = WRONG_FIND(cases, name);
    if (gex_TM_QueryRank(all) == 0 && wrong) wrong->run();
    wrong_unnoticed(name, gex_TM_QueryRank(all));
}
