/* ex_header_client.c - a client that uses the headers of GASNet-EX as clients do: gasnet_fwd.h in
 * front of everything, its constants in preprocessor and static initialisers, calls with macros as
 * arguments; compiled, never run.
 *
 * Must be C99 and C++11 at once.  headers.sh compiles it in many languages and modes, with all
 * warnings and -pedantic as errors.
 */
#include "gasnet_fwd.h"
static gex_Rank_t nobody = GEX_RANK_INVALID;
static const gex_Flags_t flags = GEX_FLAG_IMMEDIATE | GEX_FLAG_PEER_NEVER_SELF;
#if GEX_FLAG_IMMEDIATE != 1 || GEX_FLAG_AM_PREPARE_LEAST_CLIENT != 1 << 11 ||                      \
    GEX_FLAG_AM_PREPARE_LEAST_ALLOC != 1 << 12 || GEX_DT_U64 != 8 || GEX_OP_ADD != 8 ||            \
    GEX_EP_CAPABILITY_RMA != 1
#error "values that clients check"
#endif

#include "gasnet_coll.h"
#include "gasnet_mk.h"
#include "gasnet_portable_platform.h"
#include "gasnet_ratomic.h"
#include "gasnet_vis.h"
#include "gasnetex.h"

#include "gasnet_tools.h"

#if GASNET_RELEASE_VERSION_MAJOR < 2000 || GEX_SPEC_VERSION_MAJOR != 0 ||                          \
    GEX_SPEC_VERSION_MINOR < 14 || GASNET_SPEC_VERSION_MAJOR != 1 || GASNET_MAXEPS < 1 ||          \
    GASNET_CLASSIC_VERSION_MAJOR != 1 || GEX_AM_INDEX_BASE > 128
#error "versions"
#endif
#if GASNET_HIDDEN_AM_CONCURRENCY_LEVEL < 0 || !defined PLATFORM_COMPILER_IDSTR ||                  \
    !defined GASNET_SUPPORTS_TI_ENTRY ||                                                           \
    (defined GASNET_HAVE_MK_CLASS_CUDA_UVA && !GASNET_HAVE_MK_CLASS_CUDA_UVA)
#error "macros that clients test"
#endif

/* An array whose length is negative if the condition is false. */
#define HOLDS(name, condition) typedef char name[(condition) ? 1 : -1]
HOLDS(rank_is_32_bits, sizeof(gex_Rank_t) == 4 && sizeof(gasnet_node_t) == 4);
HOLDS(index_is_16_bits, sizeof(gex_EP_Index_t) == 2);
HOLDS(arguments_are_32_bits, sizeof(gex_AM_Arg_t) == 4 && sizeof(gex_Flags_t) == 4);
HOLDS(events_are_pointers, sizeof(gex_Event_t) == sizeof(void *) &&
                               sizeof(gex_TM_t) == sizeof(uintptr_t) &&
                               sizeof(gex_AD_t) == sizeof(uintptr_t));
HOLDS(pieces_are_alike, offsetof(gex_Memvec_t, gex_addr) == offsetof(gasnet_memvec_t, addr) &&
                            offsetof(gex_Memvec_t, gex_len) == offsetof(gasnet_memvec_t, len));
HOLDS(not_ready, GASNET_ERR_NOT_READY == 10004 && GASNET_OK == 0);
HOLDS(fetching, GEX_OP_TO_FETCHING(GEX_OP_ADD) == GEX_OP_FADD &&
                    GEX_OP_TO_NONFETCHING(GEX_OP_SWAP) == GEX_OP_SET);

#define TWO      1, 2
#define SHORT(n) gex_AM_RequestShort##n

GASNETT_BEGIN_EXTERNC
static void on_short(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b)
{
    gex_Token_Info_t info;
    gex_Token_Info(token, &info, GEX_TI_SRCRANK | GEX_TI_EP);
    gex_AM_ReplyShort1(token, 200, 0, a + b);
    gex_AM_ReplyShort(token, 200, 0, a);
}
GASNETT_END_EXTERNC

static gex_AM_Entry_t table[] = {
    {GEX_AM_INDEX_BASE, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, NULL,
     "short"},
    {0, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQREP, 2, NULL, NULL}};

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t tm;
    gex_Segment_t segment = GEX_SEGMENT_INVALID;
    gex_Event_t event = GEX_EVENT_INVALID, leaf;
    gex_RankInfo_t *info;
    gex_Rank_t count, mine;
    gex_HSL_t lock = GEX_HSL_INITIALIZER;
    gex_AM_SrcDesc_t sd;
    gex_AD_t ad;
    int64_t earlier;
    const char *text = "source";
    char data[8] = "";
    const gex_EP_Location_t location = {0, 0};
    gex_Memvec_t pieces[1];
    pieces[0].gex_addr = data;
    pieces[0].gex_len = 0;
    (void)argc, (void)argv;
    if (gex_Client_Init(&client, &ep, &tm, "client", NULL, NULL, GEX_FLAG_DEFER_THREADS)) return 1;
    gex_EP_RegisterHandlers(ep, table, sizeof table / sizeof *table);
    gex_Segment_Attach(&segment, tm, GASNET_PAGESIZE);
    gex_System_QueryNbrhdInfo(&info, &count, &mine);
    gex_AM_RequestShort2(tm, info[mine].gex_jobrank, table[0].gex_index, flags, TWO);
    SHORT(2)(tm, 0, table[0].gex_index, 0, 1, 2);
    gex_AM_RequestShort(tm, 0, 200, 0);
    gex_AM_RequestMedium(gex_TM_Pair(ep, 0), location.gex_rank, 200, text, 6, GEX_EVENT_NOW, 0, 1);
    gex_AM_RequestLong(tm, nobody, 200, text, 6, data, &event, flags, TWO);
    sd = gex_AM_PrepareRequestMedium(tm, 0, NULL, 1, 2, NULL, flags, 16);
    gex_AM_CommitRequestMedium(sd, 200, 2, TWO, TWO, TWO, TWO, TWO, TWO, TWO, TWO);
    gex_AM_CommitRequestMedium2_v2(sd, 200, 2, 0, TWO);
    event = gex_RMA_PutNB(tm, 0, data, text, 6, &leaf, 0);
    gex_Event_Wait(leaf);
    if (gex_Event_Test(event) == GASNET_ERR_NOT_READY) gex_Event_WaitAll(&event, 1, 0);
    gex_RMA_PutNBI(tm, 0, data, text, 6, GEX_EVENT_GROUP, 0);
    gex_NBI_Wait(GEX_EC_PUT | GEX_EC_LC, 0);
    gex_VIS_SetPeerCompletionHandler(200, text, GEX_VIS_MAX_PEERCOMPLETION < 6 ? 0 : 6, 0);
    gex_VIS_VectorPutBlocking(tm, 0, 1, pieces, 1, pieces, 0);
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    gex_AD_Create(&ad, tm, GEX_DT_I64, GEX_OP_FADD | GEX_OP_GET, GEX_FLAG_AD_FAVOR_REMOTE);
    gex_AD_SetCData(ad, text);
    gex_Event_Wait(gex_AD_OpNB_I64(ad, &earlier, 0, data, GEX_OP_FADD, 1, 0, GEX_FLAG_AD_REL));
    gex_AD_OpNBI_DBL(GEX_AD_INVALID, NULL, 0, data, GEX_OP_MAX, 1.5, 0, 0);
    gex_AD_Destroy(gex_AD_QueryTM(ad) == tm ? ad : GEX_AD_INVALID);
    gex_HSL_Lock(&lock);
    gex_HSL_Unlock(&lock);
    gex_TM_SetCData(tm, text);
    GASNET_BLOCKUNTIL(gex_TM_QueryCData(tm));
    gasnett_spinloop_hint();
    gasnet_exit((int)gex_RMA_GetBlockingVal(tm, 0, data, 4, 0));
    return 0;
}
