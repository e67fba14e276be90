/* calls.c - every call of the client interface, made once, and where each is legal (section 2.13).
 */
#include "legal.h"

char *mine;
gasnet_token_t token;
gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
char word[16];

static void discard(gasnet_handle_t handle)
{
    gasnet_wait_syncnb(handle);
}

/* --- the calls --- */

static void init(void)
{
    if (gasnet_init(NULL, NULL) != GASNET_ERR_NOT_INIT) printf("# gasnet_init went well\n");
}
static void attach(void)
{
    if (gasnet_attach(NULL, 0, 0, 0) != GASNET_ERR_NOT_INIT) printf("# gasnet_attach went well\n");
}
static void max_local(void)
{
    (void)gasnet_getMaxLocalSegmentSize();
}
static void max_global(void)
{
    (void)gasnet_getMaxGlobalSegmentSize();
}
static void mynode(void)
{
    (void)gasnet_mynode();
}
static void nodes(void)
{
    (void)gasnet_nodes();
}
static void segment_info(void)
{
    gasnet_seginfo_t info;
    gasnet_getSegmentInfo(&info, 1);
}
static void node_info(void)
{
    gasnet_nodeinfo_t info;
    gasnet_getNodeInfo(&info, 1);
}
static void env(void)
{
    (void)gasnet_getenv("HOME");
}
static void waitmode(void)
{
    gasnet_set_waitmode(GASNET_WAIT_BLOCK);
}
static void error_name(void)
{
    (void)gasnet_ErrorName(GASNET_ERR_BAD_ARG);
}
static void error_desc(void)
{
    (void)gasnet_ErrorDesc(GASNET_ERR_BAD_ARG);
}
static void am_max(void)
{
    (void)(gasnet_AMMaxArgs() + gasnet_AMMaxMedium() + gasnet_AMMaxLongRequest() +
           gasnet_AMMaxLongReply());
}
static void request_short(void)
{
    gasnet_AMRequestShort0(0, H_NOTHING);
}
static void request_medium(void)
{
    gasnet_AMRequestMedium0(0, H_NOTHING, word, 0);
}
static void request_long(void)
{
    gasnet_AMRequestLong0(0, H_NOTHING, word, 0, mine);
}
static void request_long_async(void)
{
    gasnet_AMRequestLongAsync0(0, H_NOTHING, word, 0, mine);
}
static void request_variadic(void)
{
    gasnet_AMRequestShort(0, H_NOTHING, 0);
}
void reply_short(void)
{
    gasnet_AMReplyShort0(token, H_NOTHING);
}
void reply_medium(void)
{
    gasnet_AMReplyMedium0(token, H_NOTHING, word, 0);
}
void reply_long(void)
{
    gasnet_AMReplyLong0(token, H_NOTHING, word, 0, mine);
}
static void am_poll(void)
{
    gasnet_AMPoll();
}
static void block_until(void)
{
    GASNET_BLOCKUNTIL(1);
}
static void source(void)
{
    gasnet_node_t from;
    gasnet_AMGetMsgSource(token, &from);
}
static void hold_resume(void)
{
    gasnet_hold_interrupts();
    gasnet_resume_interrupts();
}
static void resume(void)
{
    gasnet_resume_interrupts();
    gasnet_hold_interrupts();
}
static void hsl_init(void)
{
    gasnet_hsl_t new_lock;
    memset(&new_lock, 0, sizeof new_lock);
    gasnet_hsl_init(&new_lock);
    gasnet_hsl_destroy(&new_lock);
}
static void hsl_destroy(void)
{
    static gasnet_hsl_t of_static = GASNET_HSL_INITIALIZER;
    gasnet_hsl_destroy(&of_static);
}
static void hsl_lock(void)
{
    static gasnet_hsl_t another = GASNET_HSL_INITIALIZER;
    gasnet_hsl_lock(&another);
    gasnet_hsl_unlock(&another);
}
static void hsl_trylock(void)
{
    static gasnet_hsl_t another = GASNET_HSL_INITIALIZER;
    if (gasnet_hsl_trylock(&another) == GASNET_OK) gasnet_hsl_unlock(&another);
}
static void hsl_unlock(void)
{
    static gasnet_hsl_t another = GASNET_HSL_INITIALIZER;
    gasnet_hsl_unlock(&another);
}

static void get(void)
{
    gasnet_get(word, 0, mine, 8);
}
static void get_bulk(void)
{
    gasnet_get_bulk(word, 0, mine, 8);
}
static void get_nb(void)
{
    discard(gasnet_get_nb(word, 0, mine, 8));
}
static void get_nb_bulk(void)
{
    discard(gasnet_get_nb_bulk(word, 0, mine, 8));
}
static void get_nbi(void)
{
    gasnet_get_nbi(word, 0, mine, 8);
}
static void get_nbi_bulk(void)
{
    gasnet_get_nbi_bulk(word, 0, mine, 8);
}
static void put(void)
{
    gasnet_put(0, mine, word, 8);
}
static void put_bulk(void)
{
    gasnet_put_bulk(0, mine, word, 8);
}
static void put_nb(void)
{
    discard(gasnet_put_nb(0, mine, word, 8));
}
static void put_nb_bulk(void)
{
    discard(gasnet_put_nb_bulk(0, mine, word, 8));
}
static void put_nbi(void)
{
    gasnet_put_nbi(0, mine, word, 8);
}
static void put_nbi_bulk(void)
{
    gasnet_put_nbi_bulk(0, mine, word, 8);
}
/* Vector, indexed and strided: eight bytes, in one piece.  */
#define VIS(name, call)                                                                            \
    static void name(void)                                                                         \
    {                                                                                              \
        gasnet_memvec_t to = {mine, 8}, from = {mine + 8, 8};                                      \
        void *dst = mine, *src = mine + 8;                                                         \
        const size_t count = 8;                                                                    \
        (void)to, (void)from, (void)dst, (void)src, (void)count;                                   \
        call;                                                                                      \
    }
VIS(putv_bulk, gasnet_putv_bulk(0, 1, &to, 1, &from))
VIS(putv_nb_bulk, discard(gasnet_putv_nb_bulk(0, 1, &to, 1, &from)))
VIS(putv_nbi_bulk, gasnet_putv_nbi_bulk(0, 1, &to, 1, &from))
VIS(puti_bulk, gasnet_puti_bulk(0, 1, &dst, 8, 1, &src, 8))
VIS(puti_nb_bulk, discard(gasnet_puti_nb_bulk(0, 1, &dst, 8, 1, &src, 8)))
VIS(puti_nbi_bulk, gasnet_puti_nbi_bulk(0, 1, &dst, 8, 1, &src, 8))
VIS(puts_bulk, gasnet_puts_bulk(0, dst, NULL, src, NULL, &count, 0))
VIS(puts_nb_bulk, discard(gasnet_puts_nb_bulk(0, dst, NULL, src, NULL, &count, 0)))
VIS(puts_nbi_bulk, gasnet_puts_nbi_bulk(0, dst, NULL, src, NULL, &count, 0))
VIS(getv_bulk, gasnet_getv_bulk(1, &to, 0, 1, &from))
VIS(getv_nb_bulk, discard(gasnet_getv_nb_bulk(1, &to, 0, 1, &from)))
VIS(getv_nbi_bulk, gasnet_getv_nbi_bulk(1, &to, 0, 1, &from))
VIS(geti_bulk, gasnet_geti_bulk(1, &dst, 8, 0, 1, &src, 8))
VIS(geti_nb_bulk, discard(gasnet_geti_nb_bulk(1, &dst, 8, 0, 1, &src, 8)))
VIS(geti_nbi_bulk, gasnet_geti_nbi_bulk(1, &dst, 8, 0, 1, &src, 8))
VIS(gets_bulk, gasnet_gets_bulk(dst, NULL, 0, src, NULL, &count, 0))
VIS(gets_nb_bulk, discard(gasnet_gets_nb_bulk(dst, NULL, 0, src, NULL, &count, 0)))
VIS(gets_nbi_bulk, gasnet_gets_nbi_bulk(dst, NULL, 0, src, NULL, &count, 0))
static void fill(void)
{
    gasnet_memset(0, mine, 1, 8);
}
static void fill_nb(void)
{
    discard(gasnet_memset_nb(0, mine, 1, 8));
}
static void fill_nbi(void)
{
    gasnet_memset_nbi(0, mine, 1, 8);
}
static void put_val(void)
{
    gasnet_put_val(0, mine, 1, 8);
}
static void put_nb_val(void)
{
    discard(gasnet_put_nb_val(0, mine, 1, 8));
}
static void put_nbi_val(void)
{
    gasnet_put_nbi_val(0, mine, 1, 8);
}
static void get_val(void)
{
    (void)gasnet_get_val(0, mine, 8);
}
static void get_nb_val(void)
{
    (void)gasnet_wait_syncnb_valget(gasnet_get_nb_val(0, mine, 8));
}
static void wait_nb(void)
{
    gasnet_wait_syncnb(GASNET_INVALID_HANDLE);
}
static void try_nb(void)
{
    (void)gasnet_try_syncnb(GASNET_INVALID_HANDLE);
}
static void try_nopoll(void)
{
    (void)gasnet_try_syncnb_nopoll(GASNET_INVALID_HANDLE);
}
static gasnet_handle_t none[2];
static void wait_all(void)
{
    gasnet_wait_syncnb_all(none, 2);
}
static void wait_some(void)
{
    gasnet_wait_syncnb_some(none, 2);
}
static void try_all(void)
{
    (void)gasnet_try_syncnb_all(none, 2);
}
static void try_some(void)
{
    (void)gasnet_try_syncnb_some(none, 2);
}
static void nbi_puts(void)
{
    gasnet_wait_syncnbi_puts();
}
static void nbi_gets(void)
{
    gasnet_wait_syncnbi_gets();
}
static void nbi_all(void)
{
    gasnet_wait_syncnbi_all();
}
static void try_nbi(void)
{
    (void)gasnet_try_syncnbi_all();
}
static void region(void)
{
    gasnet_begin_nbi_accessregion();
    discard(gasnet_end_nbi_accessregion());
}
static void barrier(void)
{
    gasnet_barrier(3, 0);
}
static void notify(void)
{
    gasnet_barrier_notify(3, 0);
    gasnet_barrier_wait(3, 0);
}
static void try(void)
{
    gasnet_barrier_notify(3, 0);
    while (gasnet_barrier_try(3, 0) == GASNET_ERR_NOT_READY) continue;
}
static void wait(void)
{
    gasnet_barrier_wait(3, 0);
}
static void result(void)
{
    int id;
    (void)gasnet_barrier_result(&id);
}

/* --- the table --- */

#define NO_INIT "is called before gasnet_init"
#define NO_ATT  "is called before gasnet_attach"
#define IN_H    "inside an Active Message handler"
#define IN_L    "with a handler-safe lock held"
#define IN_N    "between gasnet_hold_interrupts and"
#define NO_H    "is called outside a handler"
#define NO_REP  "this is a Reply's handler"

/* clang-format off */
/*                     P0       P1      P2    REQUEST REPLY   LOCKED HELD  THREAD */
#define ROW_ERROR     {NULL,    NULL,   NULL, NULL,   NULL,   NULL,  NULL, NULL}
#define ROW_QUERY     {NO_INIT, NULL,   NULL, NULL,   NULL,   NULL,  NULL, NULL}
#define ROW_ANYWHERE  {NULL,    NULL,   NULL, NULL,   NULL,   NULL,  NULL, NULL}
#define ROW_SEGMENT   {NO_INIT, NO_ATT, NULL, NULL,   NULL,   NULL,  NULL, NULL}
#define ROW_CLIENT    {NO_INIT, NO_ATT, NULL, IN_H,   IN_H,   IN_L,  IN_N, NULL}
#define ROW_REPLY     {NO_INIT, NO_ATT, NO_H, SKIP,   NO_REP, NO_H,  NO_H, NO_H}
#define ROW_SOURCE    {NO_INIT, NO_ATT, NO_H, NULL,   NULL,   NO_H,  NO_H, NO_H}
#define ROW_HOLD      {NO_INIT, NULL,   NULL, NULL,   NULL,   NULL,  SKIP, NULL}
#define ROW_RESUME    {NO_INIT, "without gasnet_hold", "without gasnet_hold", NULL, NULL, NULL, NULL, \
                       "without gasnet_hold"}
#define ROW_UNLOCK    {NO_INIT, "does not hold", "does not hold", "does not hold", "does not hold", \
                       "does not hold", "does not hold", "does not hold"}
#define ROW_WAIT      {NO_INIT, NO_ATT, "without a gasnet_barrier_notify", IN_H, IN_H, IN_L, IN_N, \
                       "without a gasnet_barrier_notify"}

/* clang-format on */

const struct call calls[] = {
    {"gasnet_attach", attach, {NULL, SKIP, NULL, NULL, NULL, NULL, NULL, NULL}},
    {"gasnet_init", init, {SKIP, NULL, NULL, NULL, NULL, NULL, NULL, NULL}},
    {"gasnet_getMaxLocalSegmentSize", max_local, ROW_QUERY},
    {"gasnet_getMaxGlobalSegmentSize", max_global, ROW_QUERY},
    {"gasnet_mynode", mynode, ROW_QUERY},
    {"gasnet_nodes", nodes, ROW_QUERY},
    {"gasnet_getSegmentInfo", segment_info, ROW_SEGMENT},
    {"gasnet_getNodeInfo", node_info, ROW_QUERY},
    {"gasnet_getenv", env, ROW_ANYWHERE},
    {"gasnet_set_waitmode", waitmode, ROW_QUERY},
    {"gasnet_ErrorName", error_name, ROW_ANYWHERE},
    {"gasnet_ErrorDesc", error_desc, ROW_ANYWHERE},
    {"gasnet_AMMax", am_max, ROW_ANYWHERE},
    {"gasnet_AMRequestShort0", request_short, ROW_CLIENT},
    {"gasnet_AMRequestMedium0", request_medium, ROW_CLIENT},
    {"gasnet_AMRequestLong0", request_long, ROW_CLIENT},
    {"gasnet_AMRequestLongAsync0", request_long_async, ROW_CLIENT},
    {"gasnet_AMRequestShort", request_variadic, ROW_CLIENT},
    {"gasnet_AMReplyShort0", reply_short, ROW_REPLY},
    {"gasnet_AMReplyMedium0", reply_medium, ROW_REPLY},
    {"gasnet_AMReplyLong0", reply_long, ROW_REPLY},
    {"gasnet_AMPoll", am_poll, ROW_CLIENT},
    {"GASNET_BLOCKUNTIL", block_until, ROW_CLIENT},
    {"gasnet_AMGetMsgSource", source, ROW_SOURCE},
    {"gasnet_hold_interrupts", hold_resume, ROW_HOLD},
    {"gasnet_resume_interrupts", resume, ROW_RESUME},
    {"gasnet_hsl_init", hsl_init, ROW_QUERY},
    {"gasnet_hsl_destroy", hsl_destroy, ROW_QUERY},
    {"gasnet_hsl_lock", hsl_lock, ROW_QUERY},
    {"gasnet_hsl_trylock", hsl_trylock, ROW_QUERY},
    {"gasnet_hsl_unlock", hsl_unlock, ROW_UNLOCK},
    {"gasnet_get", get, ROW_CLIENT},
    {"gasnet_get_bulk", get_bulk, ROW_CLIENT},
    {"gasnet_get_nb", get_nb, ROW_CLIENT},
    {"gasnet_get_nb_bulk", get_nb_bulk, ROW_CLIENT},
    {"gasnet_get_nbi", get_nbi, ROW_CLIENT},
    {"gasnet_get_nbi_bulk", get_nbi_bulk, ROW_CLIENT},
    {"gasnet_put", put, ROW_CLIENT},
    {"gasnet_put_bulk", put_bulk, ROW_CLIENT},
    {"gasnet_put_nb", put_nb, ROW_CLIENT},
    {"gasnet_put_nb_bulk", put_nb_bulk, ROW_CLIENT},
    {"gasnet_put_nbi", put_nbi, ROW_CLIENT},
    {"gasnet_put_nbi_bulk", put_nbi_bulk, ROW_CLIENT},
    {"gasnet_putv_bulk", putv_bulk, ROW_CLIENT},
    {"gasnet_putv_nb_bulk", putv_nb_bulk, ROW_CLIENT},
    {"gasnet_putv_nbi_bulk", putv_nbi_bulk, ROW_CLIENT},
    {"gasnet_puti_bulk", puti_bulk, ROW_CLIENT},
    {"gasnet_puti_nb_bulk", puti_nb_bulk, ROW_CLIENT},
    {"gasnet_puti_nbi_bulk", puti_nbi_bulk, ROW_CLIENT},
    {"gasnet_puts_bulk", puts_bulk, ROW_CLIENT},
    {"gasnet_puts_nb_bulk", puts_nb_bulk, ROW_CLIENT},
    {"gasnet_puts_nbi_bulk", puts_nbi_bulk, ROW_CLIENT},
    {"gasnet_getv_bulk", getv_bulk, ROW_CLIENT},
    {"gasnet_getv_nb_bulk", getv_nb_bulk, ROW_CLIENT},
    {"gasnet_getv_nbi_bulk", getv_nbi_bulk, ROW_CLIENT},
    {"gasnet_geti_bulk", geti_bulk, ROW_CLIENT},
    {"gasnet_geti_nb_bulk", geti_nb_bulk, ROW_CLIENT},
    {"gasnet_geti_nbi_bulk", geti_nbi_bulk, ROW_CLIENT},
    {"gasnet_gets_bulk", gets_bulk, ROW_CLIENT},
    {"gasnet_gets_nb_bulk", gets_nb_bulk, ROW_CLIENT},
    {"gasnet_gets_nbi_bulk", gets_nbi_bulk, ROW_CLIENT},
    {"gasnet_memset", fill, ROW_CLIENT},
    {"gasnet_memset_nb", fill_nb, ROW_CLIENT},
    {"gasnet_memset_nbi", fill_nbi, ROW_CLIENT},
    {"gasnet_put_val", put_val, ROW_CLIENT},
    {"gasnet_put_nb_val", put_nb_val, ROW_CLIENT},
    {"gasnet_put_nbi_val", put_nbi_val, ROW_CLIENT},
    {"gasnet_get_val", get_val, ROW_CLIENT},
    {"gasnet_get_nb_val", get_nb_val, ROW_CLIENT},
    {"gasnet_wait_syncnb", wait_nb, ROW_CLIENT},
    {"gasnet_try_syncnb", try_nb, ROW_CLIENT},
    {"gasnet_try_syncnb_nopoll", try_nopoll, ROW_CLIENT},
    {"gasnet_wait_syncnb_all", wait_all, ROW_CLIENT},
    {"gasnet_wait_syncnb_some", wait_some, ROW_CLIENT},
    {"gasnet_try_syncnb_all", try_all, ROW_CLIENT},
    {"gasnet_try_syncnb_some", try_some, ROW_CLIENT},
    {"gasnet_wait_syncnbi_puts", nbi_puts, ROW_CLIENT},
    {"gasnet_wait_syncnbi_gets", nbi_gets, ROW_CLIENT},
    {"gasnet_wait_syncnbi_all", nbi_all, ROW_CLIENT},
    {"gasnet_try_syncnbi_all", try_nbi, ROW_CLIENT},
    {"gasnet_begin_nbi_accessregion", region, ROW_CLIENT},
    {"gasnet_barrier", barrier, ROW_CLIENT},
    {"gasnet_barrier_notify", notify, ROW_CLIENT},
    {"gasnet_barrier_try", try, ROW_CLIENT},
    {"gasnet_barrier_wait", wait, ROW_WAIT},
    {"gasnet_barrier_result", result, ROW_CLIENT},
};
const int call_count = TEST_COUNT(calls);
