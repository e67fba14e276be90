/* testex.c - GASNet-EX: objects, messages of every form, transfers, events, implicit operations.
 *
 * The rules walk the interface by its sections; test_ex_start makes its calls of start.  Data is
 * checked by patterns that depend on rank and round.  tests/ex/vectors.c, collectives.c and
 * atomics.c have sections 10 to 12.
 */
#include <gasnet_coll.h>
#include <gasnet_mk.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

#include "test.h"

#include <gasnet_tools.h>

enum { SEGMENT = 4 << 20, WORK = 1 << 20, LONG = 100000 };

/* Each rank has, of the segment of the next one, its first megabyte for puts, and the second for
 * Longs. */
static gex_Rank_t peer(void)
{
    return (gex_Rank_t)test_next;
}
static char *there(size_t offset)
{
    return test_at(test_next, offset);
}
static char outside[WORK];

/* --- handlers --- */

/* What has arrived, and what the previous rank, which does the same as this one, has sent when this
 * rank has come as far: a fast rank may send before a slow one begins the rule. */
static int shorts, mediums, longs, answers, asked, wrong;
static int due_shorts, due_mediums, due_longs, due_answers, due_asked;
static int cdata;
static gex_EP_t endpoint;
static gex_AM_Index_t h_short, h_medium, h_long, h_answer, h_answer_medium, h_answer_long;

static void on_short(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b)
{
    (void)token;
    if (b != a + 1) test_add(&wrong, 1);
    test_add(&shorts, 1);
}

static void on_medium(gex_Token_t token, void *data, size_t nbytes, gex_AM_Arg_t key)
{
    if (test_mismatch(data, nbytes, (uint64_t)key) >= 0) test_add(&wrong, 1);
    gex_AM_ReplyShort0(token, h_answer, 0);
    test_add(&mediums, 1);
}

static void on_long(gex_Token_t token, void *data, size_t nbytes, gex_AM_Arg_t key)
{
    gex_Token_Info_t info;
    if (gex_Token_Info(token, &info, GEX_TI_ALL) != GEX_TI_ALL || !info.gex_is_long ||
        !info.gex_is_req || (int)info.gex_srcrank != test_prev || info.gex_ep != endpoint ||
        info.gex_entry->gex_cdata != &cdata || strcmp(info.gex_entry->gex_name, "long"))
        test_add(&wrong, 1);
    if (nbytes && test_mismatch(data, nbytes, (uint64_t)key) >= 0) test_add(&wrong, 1);
    test_add(&longs, 1);
}

static void on_answer(gex_Token_t token)
{
    gex_Token_Info_t info;
    if (!(gex_Token_Info(token, &info, GEX_TI_SRCRANK | GEX_TI_EP) & GEX_TI_SRCRANK) ||
        (int)info.gex_srcrank != test_next || info.gex_ep != endpoint)
        test_add(&wrong, 1);
    if (!(gex_Token_Info(token, &info, GEX_TI_IS_REQ) & GEX_TI_IS_REQ) || info.gex_is_req)
        test_add(&wrong, 1);
    test_add(&answers, 1);
}

/* The event of a Reply, which is tested after the handler. */
static gex_Event_t of_reply;
static char *reply_source;
static gex_AM_Index_t h_ask;

/* Replies in the way that the argument says. */
static void on_ask(gex_Token_t token, gex_AM_Arg_t way, gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    void *dest = (void *)(uintptr_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
    gex_AM_SrcDesc_t sd;
    const size_t most = gex_Token_MaxReplyMedium(token, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 1);
    switch (way) {
    case 0:
        of_reply = GEX_EVENT_NO_OP;
        gex_AM_ReplyMedium1(token, h_answer_medium, reply_source, 1000, &of_reply, 0, 7);
        break;
    case 1:
        gex_AM_ReplyLong1(token, h_answer_long, reply_source, LONG, dest, &of_reply, 0, 7);
        break;
    case 2: /* negotiated: prepared, cancelled, prepared again */
        sd = gex_AM_PrepareReplyMedium(token, NULL, 8, most + 100, NULL, 0, 1);
        if (gex_AM_SrcDescSize(sd) > most) test_add(&wrong, 1);
        gex_AM_CancelReplyMedium(sd, 0);
        sd = gex_AM_PrepareReplyMedium(token, NULL, 900, 1000, NULL, 0, 1);
        test_fill(gex_AM_SrcDescAddr(sd), 900, 7);
        gex_AM_CommitReplyMedium(sd, h_answer_medium, 900, 7);
        break;
    case 3:
        sd = gex_AM_PrepareReplyLong(token, reply_source, LONG, LONG, dest, GEX_EVENT_NOW, 0, 1);
        gex_AM_CommitReplyLong1(sd, h_answer_long, LONG, dest, 7);
        break;
    case 4:
        while (gex_AM_ReplyMedium(token, h_answer_medium, reply_source, 1000, GEX_EVENT_NOW,
                                  GEX_FLAG_IMMEDIATE, 7))
            test_add(&wrong, 0);
        break;
    }
    test_add(&asked, 1);
}

static void on_answer_payload(gex_Token_t token, void *data, size_t nbytes, gex_AM_Arg_t key)
{
    (void)token;
    if (test_mismatch(data, nbytes, (uint64_t)key) >= 0) test_add(&wrong, 1);
    test_add(&answers, 1);
}

static void await_all(void)
{
    GASNET_BLOCKUNTIL(test_get(&shorts) >= due_shorts && test_get(&mediums) >= due_mediums &&
                      test_get(&longs) >= due_longs && test_get(&answers) >= due_answers &&
                      test_get(&asked) >= due_asked);
}

/* The last rule. */
static void each_once(void)
{
    test_check(shorts == due_shorts && mediums == due_mediums && longs == due_longs &&
                   answers == due_answers && asked == due_asked,
               "each message has arrived once");
}

static void nothing_wrong(const char *what)
{
    test_check(test_get(&wrong) == 0, "%s: %d messages are wrong", what, test_get(&wrong));
}

/* --- objects --- */

static void objects(void)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t tm;
    gex_Segment_t segment;
    gasnet_QueryGexObjects(&client, &ep, &tm, &segment);
    test_check(client == test_client && tm == test_tm && ep == gex_TM_QueryEP(tm) &&
                   segment == gex_EP_QuerySegment(ep) && client == gex_TM_QueryClient(tm) &&
                   client == gex_EP_QueryClient(ep) && client == gex_Segment_QueryClient(segment),
               "the objects name each other");
    test_check(!strcmp(gex_Client_QueryName(client), "TEST") &&
                   gex_Client_QueryFlags(client) == GEX_FLAG_USES_GASNET1 &&
                   gex_EP_QueryIndex(ep) == 0 && gex_EP_QueryFlags(ep) == 0,
               "name, flags, index");
    test_check((int)gex_TM_QueryRank(tm) == test_rank && (int)gex_TM_QuerySize(tm) == test_size &&
                   gex_System_QueryJobRank() == gex_TM_QueryRank(tm) &&
                   gex_System_QueryJobSize() == gex_TM_QuerySize(tm),
               "ranks");
    test_check(gex_Segment_QueryAddr(segment) == test_seg[test_rank].addr &&
                   gex_Segment_QuerySize(segment) == test_seg[test_rank].size,
               "the segment");
    test_check(gex_TM_QueryCData(tm) == NULL, "no data of the client at first");
    gex_TM_SetCData(tm, &cdata), gex_EP_SetCData(ep, &asked), gex_Client_SetCData(client, &wrong);
    gex_Segment_SetCData(segment, &longs);
    test_check(gex_TM_QueryCData(tm) == &cdata && gex_EP_QueryCData(ep) == &asked &&
                   gex_Client_QueryCData(client) == &wrong &&
                   gex_Segment_QueryCData(segment) == &longs,
               "each has its own");
    const gex_TM_t pair = gex_TM_Pair(ep, 0);
    test_check(pair == gex_TM_Pair(ep, 0) && pair != tm, "a pair is a value");
    for (int r = 0; r < test_size; r++) {
        void *owner, *local;
        uintptr_t size;
        const gex_Rank_t rank = (gex_Rank_t)r;
        const gex_EP_Location_t at = gex_TM_TranslateRankToEP(tm, rank, 0);
        test_check(gex_TM_TranslateRankToJobrank(tm, rank) == rank &&
                       gex_TM_TranslateJobrankToRank(tm, rank) == rank && at.gex_rank == rank &&
                       at.gex_ep_index == 0,
                   "rank %d is translated", r);
        test_check(gex_EP_QueryBoundSegmentNB(pair, rank, &owner, &local, &size,
                                              GEX_FLAG_IMMEDIATE) == GEX_EVENT_INVALID &&
                       owner == test_seg[r].addr && size == test_seg[r].size,
                   "the segment of rank %d", r);
        if (r == test_rank && local) test_check(local == owner, "the own segment is mapped");
        test_check(gex_Segment_QueryBound(tm, rank, &owner, NULL, NULL) == 0, "the older call");
    }
    test_check(gex_TM_TranslateJobrankToRank(tm, (gex_Rank_t)test_size) == GEX_RANK_INVALID,
               "no such rank");
}

static void in_set(gex_RankInfo_t *info, gex_Rank_t count, gex_Rank_t mine, bool hosts)
{
    gasnet_nodeinfo_t *nodes = calloc((size_t)test_size, sizeof *nodes);
    gasnet_getNodeInfo(nodes, test_size);
    test_check(mine < count && (int)info[mine].gex_jobrank == test_rank, "this rank is a member");
    gex_Rank_t n = 0;
    for (int r = 0; r < test_size; r++) {
        const gasnet_nodeinfo_t *a = &nodes[r], *b = &nodes[test_rank];
        if (hosts ? a->host != b->host : a->supernode != b->supernode) continue;
        test_check(n < count && (int)info[n].gex_jobrank == r, "rank %d is a member", r);
        n++;
    }
    test_check(n == count, "%u members of %u", n, count);
    free(nodes);
}

static void system_queries(void)
{
    gex_RankInfo_t *info;
    gex_Rank_t count, mine, n[4];
    gex_System_QueryNbrhdInfo(&info, &count, &mine);
    in_set(info, count, mine, false);
    gex_System_QueryHostInfo(&info, &count, &mine);
    in_set(info, count, mine, true);
    gex_System_QueryHostInfo(NULL, NULL, NULL);
    gex_System_QueryMyPosition(&n[0], &n[1], &n[2], &n[3]);
    test_check(n[1] < n[0] && n[3] < n[2] && n[2] <= n[0] && (int)n[0] <= test_size,
               "position %u of %u, host %u of %u", n[1], n[0], n[3], n[2]);
    test_check(gex_System_GetVerboseErrors() == 1, "errors are printed");
    gex_System_SetVerboseErrors(0);
    const gex_ProgressThreadInfo_t *threads;
    unsigned int number;
    gex_AM_Entry_t taken = {h_short, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_SHORT, 0, NULL, NULL};
    test_check(gex_EP_RegisterHandlers(endpoint, &taken, 1) == GASNET_ERR_BAD_ARG &&
                   gex_System_QueryProgressThreads(test_client, &number, &threads, 0) ==
                       GASNET_ERR_RESOURCE &&
                   gex_System_QueryProgressThreads(test_client, &number, NULL, 0) ==
                       GASNET_ERR_BAD_ARG,
               "errors are returned, in silence");
    gex_MK_Create_args_t device;
    gex_MK_t kind = GEX_MK_INVALID;
    memset(&device, 0, sizeof device);
    device.gex_class = GEX_MK_CLASS_CUDA_UVA;
    test_check(gex_MK_Create(&kind, test_client, &device, 0) == GASNET_ERR_BAD_ARG &&
                   kind == GEX_MK_INVALID,
               "memory of a device");
    gex_System_SetVerboseErrors(1);
    test_check(gex_System_QueryMaxThreads() >= 1, "threads");
}

/* --- messages --- */

static void requests(void)
{
    const gex_TM_t pair = gex_TM_Pair(endpoint, 0);
    const int rounds = test_iterations(50);
    gex_Event_t event;
    for (int i = 0; i < rounds; i++) {
        test_fill(outside, gex_AM_LUBRequestMedium(), (uint64_t)i);
        gex_AM_RequestShort2(test_tm, peer(), h_short, 0, i, i + 1);
        gex_AM_RequestShort(pair, peer(), h_short, 0, i, i + 1);
        event = GEX_EVENT_NO_OP;
        gex_AM_RequestMedium1(test_tm, peer(), h_medium, outside, gex_AM_LUBRequestMedium(), &event,
                              0, i);
        gex_Event_Wait(event);
        gex_AM_RequestMedium(pair, peer(), h_medium, outside, (size_t)i, GEX_EVENT_NOW, 0, i);
        gex_AM_RequestMedium1(pair, peer(), h_medium, outside, 100, GEX_EVENT_GROUP, 0, i);
        gex_NBI_Wait(GEX_EC_AM, 0);
    }
    due_shorts += 2 * rounds, due_mediums += 3 * rounds, due_answers += 3 * rounds;
    await_all();
    /* Longs of each lc_opt; the source is changed as soon as it may be. */
    const size_t sizes[] = {0, 8, 500, LONG};
    for (int s = 0; s < TEST_COUNT(sizes); s++) {
        const size_t size = sizes[s];
        char *dest = there(WORK);
        test_fill(outside, size, 1);
        gex_AM_RequestLong1(test_tm, peer(), h_long, outside, size, dest, GEX_EVENT_NOW, 0, 1);
        test_fill(outside, size, 2);
        gex_AM_RequestLong(pair, peer(), h_long, outside, size, dest + LONG, &event, 0, 2);
        while (gex_Event_Test(event) != GASNET_OK) gasnet_AMPoll();
        test_fill(outside, size, 3);
        gex_AM_RequestLong1(test_tm, peer(), h_long, outside, size, dest + 2 * LONG,
                            GEX_EVENT_GROUP, 0, 3);
        gex_NBI_Wait(GEX_EC_AM, 0);
        memset(outside, 0, size);
        due_longs += 3;
        await_all();
        test_sync();
    }
    nothing_wrong("requests");
}

/* More immediate messages than there are credits, from a rank that polls only when it is refused.
 */
static void immediate(void)
{
    const int rounds = test_iterations(2000);
    int refused = 0;
    for (int i = 0; i < rounds; i++)
        while (gex_AM_RequestShort2(test_tm, peer(), h_short, GEX_FLAG_IMMEDIATE, i, i + 1)) {
            refused++;
            gasnet_AMPoll();
        }
    test_fill(outside, LONG, 9);
    for (int i = 0; i < rounds / 10; i++) {
        gex_Event_t event;
        while (gex_AM_RequestMedium1(test_tm, peer(), h_medium, outside, gex_AM_LUBRequestMedium(),
                                     &event, GEX_FLAG_IMMEDIATE, 9)) {
            refused++;
            gasnet_AMPoll();
        }
        gex_Event_Wait(event);
        while (gex_AM_RequestLong1(test_tm, peer(), h_long, outside, LONG, there(WORK), &event,
                                   GEX_FLAG_IMMEDIATE, 9)) {
            refused++;
            gasnet_AMPoll();
        }
        gex_Event_Wait(event);
    }
    due_shorts += rounds, due_longs += rounds / 10;
    due_mediums += rounds / 10, due_answers += rounds / 10;
    await_all();
    nothing_wrong("immediate messages");
    if (test_size > 1 && !gex_System_QueryHiddenAMConcurrencyLevel())
        test_check(refused > 0, "no message is refused");
}

static void replies(void)
{
    const uint64_t mine = (uintptr_t)test_at(test_rank, 2 * WORK);
    for (int way = 0; way <= 4; way++) {
        test_fill(reply_source, LONG, 7);
        of_reply = GEX_EVENT_INVALID;
        test_sync();
        gex_AM_RequestShort3(test_tm, peer(), h_ask, 0, way, (gex_AM_Arg_t)(mine >> 32),
                             (gex_AM_Arg_t)mine);
        due_answers++, due_asked++;
        await_all();
        gex_Event_Wait(of_reply);
        test_sync();
    }
    nothing_wrong("replies");
}

static void negotiated(void)
{
    const gex_TM_t pair = gex_TM_Pair(endpoint, 0);
    const size_t most =
        gex_AM_MaxRequestMedium(pair, peer(), NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 1);
    const int rounds = test_iterations(100);
    gex_Event_t event = GEX_EVENT_NO_OP;
    test_check(most >= 512 && gex_AM_MaxArgs() == 16 && gex_AM_LUBRequestMedium() >= 512, "limits");
    for (int i = 0; i < rounds; i++) {
        gex_AM_SrcDesc_t sd;
        /* lent, of all sizes; one in five is cancelled first */
        if (i % 5 == 0) {
            sd = gex_AM_PrepareRequestMedium(pair, peer(), NULL, 1, most, NULL, 0, 5);
            test_check(gex_AM_CancelRequestMedium(sd, 0) == 0, "a Prepare is cancelled");
        }
        const size_t size = (size_t)i * 37 % most + 1;
        const size_t largest = i % 3 == 0 ? size : i % 3 == 1 ? size + 1000 : (size_t)-1;
        while (!(sd = gex_AM_PrepareRequestMedium(pair, peer(), NULL, size, largest, NULL,
                                                  i % 2 ? GEX_FLAG_IMMEDIATE : 0, 1)))
            gasnet_AMPoll();
        test_check((uintptr_t)gex_AM_SrcDescAddr(sd) % 8 == 0 && gex_AM_SrcDescSize(sd) >= size &&
                       gex_AM_SrcDescSize(sd) <= largest && gex_AM_SrcDescSize(sd) <= most,
                   "a buffer of %zu bytes", gex_AM_SrcDescSize(sd));
        test_fill(gex_AM_SrcDescAddr(sd), size, (uint64_t)i);
        if (i % 4)
            gex_AM_CommitRequestMedium(sd, h_medium, size, i);
        else
            while (gex_AM_CommitRequestMedium_v2(sd, h_medium, size, GEX_FLAG_IMMEDIATE, i)) {
            }
        test_check(event == GEX_EVENT_NO_OP, "the event of an earlier message is written");
        sd = gex_AM_PrepareRequestLong(pair, peer(), NULL, 50, 60, NULL, NULL, 0, 1);
        test_fill(gex_AM_SrcDescAddr(sd), 50, 6);
        gex_AM_CommitRequestLong1(sd, h_long, 50, there(WORK + LONG), 6);
        /* the client's buffer, last: its lc_opt is not the next message's */
        test_fill(outside, LONG, 5);
        sd = gex_AM_PrepareRequestMedium(pair, peer(), outside, 100, LONG, &event, 0, 1);
        test_check(gex_AM_SrcDescAddr(sd) == outside, "the client's buffer");
        gex_AM_CommitRequestMedium1(sd, h_medium, 100, 5);
        gex_Event_Wait(event);
        sd = gex_AM_PrepareRequestLong(pair, peer(), outside, LONG, LONG, NULL, &event, 0, 1);
        gex_AM_CommitRequestLong(sd, h_long, LONG, there(WORK), 5);
        gex_Event_Wait(event);
        event = GEX_EVENT_NO_OP;
        due_longs += 2, due_mediums += 2, due_answers += 2;
        await_all();
        test_sync(); /* the next Long overwrites this one's memory */
    }
    nothing_wrong("negotiated payload");
}

/* --- transfers --- */

static void check_there(size_t nbytes, uint64_t key, const char *what)
{
    static char back[WORK];
    memset(back, 0, nbytes);
    gex_RMA_GetBlocking(test_tm, back, peer(), there(0), nbytes, 0);
    test_check(test_mismatch(back, nbytes, key) < 0, "%s of %zu bytes", what, nbytes);
    memset(back, 0, nbytes);
    gex_Event_Wait(gex_RMA_GetNB(gex_TM_Pair(endpoint, 0), back, peer(), there(0), nbytes, 0));
    test_check(test_mismatch(back, nbytes, key) < 0, "%s of %zu bytes, by GetNB", what, nbytes);
    memset(back, 0, nbytes);
    gex_RMA_GetNBI(test_tm, back, peer(), there(0), nbytes, 0);
    gex_NBI_Wait(GEX_EC_GET, 0);
    test_check(test_mismatch(back, nbytes, key) < 0, "%s of %zu bytes, by GetNBI", what, nbytes);
}

static void puts_of(char *source, size_t nbytes)
{
    gex_Event_t leaf, put;
    test_fill(source, nbytes, 1);
    gex_RMA_PutBlocking(test_tm, peer(), there(0), source, nbytes, GEX_FLAG_IMMEDIATE);
    check_there(nbytes, 1, "PutBlocking");
    test_fill(source, nbytes, 2);
    put = gex_RMA_PutNB(test_tm, peer(), there(0), source, nbytes, GEX_EVENT_NOW, 0);
    memset(source, 0, nbytes);
    gex_Event_Wait(put);
    check_there(nbytes, 2, "PutNB, NOW");
    test_fill(source, nbytes, 3);
    gex_Event_Wait(gex_RMA_PutNB(test_tm, peer(), there(0), source, nbytes, GEX_EVENT_DEFER, 0));
    check_there(nbytes, 3, "PutNB, DEFER");
    test_fill(source, nbytes, 4);
    put = gex_RMA_PutNB(test_tm, peer(), there(0), source, nbytes, &leaf, 0);
    while (gex_Event_Test(leaf) != GASNET_OK) gasnet_AMPoll();
    memset(source, 0, nbytes);
    gex_Event_Wait(put);
    check_there(nbytes, 4, "PutNB with an event of its source");
    test_fill(source, nbytes, 5);
    gex_RMA_PutNBI(test_tm, peer(), there(0), source, nbytes, GEX_EVENT_GROUP, 0);
    gex_NBI_Wait(GEX_EC_LC, 0);
    memset(source, 0, nbytes);
    while (gex_NBI_Test(GEX_EC_PUT, 0) != GASNET_OK) gasnet_AMPoll();
    check_there(nbytes, 5, "PutNBI, GROUP");
    test_fill(source, nbytes, 6);
    gex_RMA_PutNBI(test_tm, peer(), there(0), source, nbytes, GEX_EVENT_NOW, 0);
    memset(source, 0, nbytes);
    gex_NBI_Wait(GEX_EC_ALL, 0);
    check_there(nbytes, 6, "PutNBI, NOW");
    test_fill(source, nbytes, 7);
    gex_RMA_PutNBI(test_tm, peer(), there(0), source, nbytes, GEX_EVENT_DEFER, 0);
    gex_NBI_Wait(GEX_EC_PUT, 0);
    check_there(nbytes, 7, "PutNBI, DEFER");
}

static void transfers(void)
{
    static const size_t sizes[] = {0, 1, 8, 64, 72, 73, 500, 4096, 70000, WORK - 1};
    for (int i = 0; i < TEST_COUNT(sizes); i++) {
        puts_of(outside, sizes[i]);
        puts_of(test_at(test_rank, 3 * WORK), sizes[i]);
    }
}

static void values(void)
{
    const gex_RMA_Value_t value = 0x0123456789abcdefu;
    for (size_t n = 1; n <= SIZEOF_GEX_RMA_VALUE_T; n++) {
        const gex_RMA_Value_t part = n == 8 ? value : value & (((uint64_t)1 << 8 * n) - 1);
        gex_RMA_PutBlockingVal(test_tm, peer(), there(0), value, n, 0);
        gex_Event_Wait(gex_RMA_PutNBVal(test_tm, peer(), there(16), value, n, 0));
        gex_RMA_PutNBIVal(test_tm, peer(), there(32), value, n, 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
        for (size_t at = 0; at <= 32; at += 16)
            test_check(gex_RMA_GetBlockingVal(test_tm, peer(), there(at), n, 0) == part,
                       "a value of %zu bytes at %zu", n, at);
    }
}

/* --- events --- */

enum { MANY = 64 };

static bool all_over(const gex_Event_t *events, int n)
{
    for (int i = 0; i < n; i++)
        if (events[i] != GEX_EVENT_INVALID) return false;
    return true;
}

/* Puts with leaves in one array, in a random order; synchronised by each call. */
static void arrays(void)
{
    struct test_random random = test_random_for(3);
    for (int round = 0; round < 4 * test_iterations(20); round++) {
        gex_Event_t events[2 * MANY];
        int n = 0;
        for (int i = 0; i < MANY; i++, n += 2)
            events[n] = gex_RMA_PutNB(test_tm, peer(), there((size_t)i * 8192), outside, 8000,
                                      &events[n + 1], 0);
        for (int i = 0; i < n; i++) {
            const int j = (int)test_below(&random, (uint64_t)n);
            const gex_Event_t event = events[i];
            events[i] = events[j];
            events[j] = event;
        }
        switch (round % 4) {
        case 0:
            gex_Event_WaitAll(events, (size_t)n, 0);
            break;
        case 1:
            while (gex_Event_TestAll(events, (size_t)n, 0) != GASNET_OK) gasnet_AMPoll();
            break;
        case 2:
            while (!all_over(events, n)) gex_Event_WaitSome(events, (size_t)n, 0);
            break;
        case 3:
            while (!all_over(events, n))
                if (gex_Event_TestSome(events, (size_t)n, 0) != GASNET_OK) gasnet_AMPoll();
            break;
        }
        if (!test_check(all_over(events, n), "events are left, round %d", round)) return;
    }
    gex_Event_t none[2] = {GEX_EVENT_INVALID, GEX_EVENT_INVALID};
    test_check(gex_Event_TestSome(none, 2, 0) == GASNET_OK &&
                   gex_Event_TestAll(none, 2, 0) == GASNET_OK &&
                   gex_Event_TestSome(NULL, 0, 0) == GASNET_OK &&
                   gex_Event_Test(GEX_EVENT_INVALID) == GASNET_OK,
               "no event is complete");
    gex_Event_Wait(GEX_EVENT_INVALID);
    gex_Event_WaitSome(none, 2, 0);
    test_check(gex_Event_QueryLeaf(GEX_EVENT_INVALID, GEX_EC_LC) == GEX_EVENT_INVALID,
               "the leaf of a complete event");
}

static void access_regions(void)
{
    gex_NBI_BeginAccessRegion(0);
    test_check(gex_NBI_EndAccessRegion(0) == GEX_EVENT_INVALID, "an empty region");
    for (int round = 0; round < test_iterations(20); round++) {
        test_fill(outside, LONG, (uint64_t)round);
        gex_NBI_BeginAccessRegion(0);
        gex_RMA_PutNBI(test_tm, peer(), there(0), outside, LONG, GEX_EVENT_GROUP, 0);
        gex_RMA_PutNBI(test_tm, peer(), there(LONG), outside, LONG, GEX_EVENT_DEFER, 0);
        gex_AM_RequestLong1(test_tm, peer(), h_long, outside, LONG, there(WORK), GEX_EVENT_GROUP, 0,
                            round);
        const gex_Event_t region = gex_NBI_EndAccessRegion(0);
        gex_Event_Wait(gex_Event_QueryLeaf(region, GEX_EC_LC));
        gex_Event_Wait(gex_Event_QueryLeaf(region, GEX_EC_AM));
        gex_Event_Wait(region);
        check_there(LONG, (uint64_t)round, "a put in a region");
        due_longs++;
        await_all();
        test_sync();
    }
    nothing_wrong("regions");
}

/* Tests do not poll: with nobody who polls, an operation that is not complete stays so.  Of a put
 * that is complete in the device no event tells until a poll. */
static void tests_do_not_poll(void)
{
    const int before = test_get(&answers);
    gex_AM_RequestMedium1(test_tm, peer(), h_medium, outside, 0, GEX_EVENT_NOW, 0, 0);
    for (int i = 0; i < 100000; i++) {
        (void)gex_NBI_Test(GEX_EC_ALL, 0);
        (void)gex_Event_Test(GEX_EVENT_INVALID);
    }
    if (!gex_System_QueryHiddenAMConcurrencyLevel() && test_size > 1)
        test_check(test_get(&answers) == before, "a test has run a handler");
    due_mediums++, due_answers++;
    await_all();
}

/* An immediate Request to this rank runs its own handler, but does not poll: with nobody else who
 * does, an answer that has arrived stays unhandled. */
static void immediate_to_self(void)
{
    const int before = test_get(&answers);
    const int rounds = 20000;
    gex_AM_RequestMedium1(test_tm, peer(), h_medium, outside, 0, GEX_EVENT_NOW, 0, 0);
    for (int i = 0; i < rounds; i++)
        test_check(gex_AM_RequestShort2(test_tm, (gex_Rank_t)test_rank, h_short, GEX_FLAG_IMMEDIATE,
                                        i, i + 1) == 0,
                   "an immediate Request to this rank is refused");
    if (!gex_System_QueryHiddenAMConcurrencyLevel() && test_size > 1)
        test_check(test_get(&answers) == before, "an immediate Request has polled");
    due_shorts += rounds, due_mediums++, due_answers++;
    await_all();
}

/* Both interfaces in one program. */
static void both(void)
{
    test_fill(outside, 8000, 11);
    gex_Event_Wait(gasnet_put_nb_bulk(peer(), there(0), outside, 8000));
    check_there(8000, 11, "a classic put");
    gasnet_wait_syncnb(gex_RMA_PutNB(test_tm, peer(), there(0), outside, 8000, GEX_EVENT_NOW, 0));
    gasnet_AMRequestShort2(peer(), h_short, 1, 2);
    due_shorts++;
    await_all();
    gasnet_barrier_notify(1, 0);
    test_check(gasnet_barrier_wait(1, 0) == GASNET_OK, "a classic barrier");
    gex_HSL_t lock = GEX_HSL_INITIALIZER;
    gex_HSL_Lock(&lock);
    gex_HSL_Unlock(&lock);
}

int main(int argc, char **argv)
{
    enum {
        REQUEST = GEX_FLAG_AM_REQUEST,
        SHORT = GEX_FLAG_AM_SHORT | REQUEST,
        REPLY = GEX_FLAG_AM_REPLY
    };
    static const struct test_rule rules[] = {
        {"EX 3, 5, 6: objects", objects},
        {"EX 4: the system", system_queries},
        {"EX 7.4: Requests with every lc_opt", requests},
        {"EX 7.4: immediate Requests", immediate},
        {"EX 7.4: Replies with every lc_opt", replies},
        {"EX 7.5: negotiated payload", negotiated},
        {"EX 8: transfers with every lc_opt", transfers},
        {"EX 8: values", values},
        {"EX 9.1: arrays of events and leaves", arrays},
        {"EX 9.2: access regions", access_regions},
        {"EX 19.1: tests do not poll", tests_do_not_poll},
        {"EX 7.4: immediate Requests to this rank do not poll", immediate_to_self},
        {"EX 14.3: both interfaces", both},
        {"EX 7: each message arrived once", each_once},
    };
    gex_AM_Entry_t table[] = {
        {0, (gex_AM_Fn_t)on_short, SHORT, 2, NULL, "short"},
        {0, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_MEDIUM | REQUEST, 1, NULL, "medium"},
        {0, (gex_AM_Fn_t)on_long, GEX_FLAG_AM_LONG | REQUEST, 1, &cdata, "long"},
        {0, (gex_AM_Fn_t)on_answer, GEX_FLAG_AM_SHORT | REPLY, 0, NULL, NULL},
        {0, (gex_AM_Fn_t)on_answer_payload, GEX_FLAG_AM_MEDIUM | REPLY, 1, NULL, NULL},
        {0, (gex_AM_Fn_t)on_answer_payload, GEX_FLAG_AM_LONG | REPLY, 1, NULL, NULL},
        {0, (gex_AM_Fn_t)on_ask, SHORT, 3, NULL, NULL},
    };
    static char source[LONG];
    reply_source = source;
    test_ex_start(&argc, &argv, table, TEST_COUNT(table), SEGMENT);
    endpoint = gex_TM_QueryEP(test_tm);
    h_short = table[0].gex_index, h_medium = table[1].gex_index, h_long = table[2].gex_index;
    h_answer = table[3].gex_index, h_answer_medium = table[4].gex_index;
    h_answer_long = table[5].gex_index, h_ask = table[6].gex_index;
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
