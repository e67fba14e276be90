/* testlegal.c - where each call is legal (section 2.13), call by call and place by place, and which
 * wrong arguments a debug library finds.
 *
 * `testlegal list` prints every case that must end the program, with what it must say:
 * "PLACE CALL TEXT"; `testlegal PLACE` makes all the calls that are legal there, one after the
 * other, and `testlegal PLACE CALL` the one.  tests/legal/run.sh runs them.  One process is enough:
 * what is checked does not depend on the destination.
 */
#include "test.h"
#include <gasnet_tools.h>
#include <time.h>
#include <unistd.h>
#ifdef GASNET_PAR
#include <pthread.h>
#endif

enum { SEGMENT = 64 * 1024 };
enum { H_PLACE = 128, H_REPLY, H_NOTHING, H_WRONG };

/* P0 to P2: before init, before attach, after it; then inside a Request's handler, inside a
 * Reply's, under a lock, with interrupts held, in a second thread. */
enum place { P0, P1, P2, REQUEST, REPLY, LOCKED, HELD, THREAD, WRONG, PLACES };
static const char *const place_names[] = {"P0",     "P1",   "P2",     "REQUEST", "REPLY",
                                          "LOCKED", "HELD", "THREAD", "WRONG"};

static char *mine;           /* in the segment */
static gasnet_token_t token; /* of the handler that runs */
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static char word[16];

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
static void reply_short(void)
{
    gasnet_AMReplyShort0(token, H_NOTHING);
}
static void reply_medium(void)
{
    gasnet_AMReplyMedium0(token, H_NOTHING, word, 0);
}
static void reply_long(void)
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

/* NULL: legal there; SKIP: not asked; else what the library says when it ends the program. */

#define SKIP    "-"
#define NO_INIT "is called before gasnet_init"
#define NO_ATT  "is called before gasnet_attach"
#define IN_H    "inside an Active Message handler"
#define IN_L    "with a handler-safe lock held"
#define IN_N    "between gasnet_hold_interrupts and"
#define NO_H    "is called outside a handler"
#define NO_REP  "this is a Reply's handler"
#define AGAIN   "its second Reply"

/* clang-format off */
typedef const char *expected_t[PLACES];
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

static const struct call {
    const char *name;
    void (*make)(void);
    expected_t expected;
} calls[] = {
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

/* --- wrong arguments and orders, in the plain client code of P2 --- */

static void destroy_held(void)
{
    gasnet_hsl_lock(&lock);
    gasnet_hsl_destroy(&lock);
}
static void init_static(void)
{
    gasnet_hsl_init(&lock);
}
static void init_held(void)
{
    static gasnet_hsl_t held;
    gasnet_hsl_init(&held);
    gasnet_hsl_lock(&held);
    gasnet_hsl_init(&held);
}
static void lock_destroyed(void)
{
    gasnet_hsl_destroy(&lock);
    gasnet_hsl_lock(&lock);
}
static void lock_own(void)
{
    gasnet_hsl_lock(&lock);
    gasnet_hsl_lock(&lock);
}
static void trylock_own(void)
{
    gasnet_hsl_lock(&lock);
    (void)gasnet_hsl_trylock(&lock);
}
static void unlock_out_of_order(void)
{
    static gasnet_hsl_t second = GASNET_HSL_INITIALIZER;
    gasnet_hsl_lock(&lock);
    gasnet_hsl_lock(&second);
    gasnet_hsl_unlock(&lock);
}
static void hold_twice(void)
{
    gasnet_hold_interrupts();
    gasnet_hold_interrupts();
}
static void put_outside(void)
{
    gasnet_put(0, word, mine, 8);
}
static void put_across_the_end(void)
{
    gasnet_put_nb_bulk(0, mine + SEGMENT - 4, word, 8) == GASNET_INVALID_HANDLE ? (void)0 : (void)1;
}
static void get_outside(void)
{
    gasnet_get_nbi(mine, 0, word, 8);
}
static void fill_outside(void)
{
    gasnet_memset(0, word, 0, 8);
}
static void value_outside(void)
{
    gasnet_put_val(0, word, 0, 8);
}
static void value_get_outside(void)
{
    (void)gasnet_get_val(0, word, 8);
}
static void put_to_nobody(void)
{
    gasnet_put(1, mine, word, 8);
}
static void request_to_nobody(void)
{
    gasnet_AMRequestShort0(1, H_NOTHING);
}
static void barrier_flags(void)
{
    gasnet_barrier_notify(0, 0x40);
}
static void barrier_private_bit(void)
{
    (void)gasnet_barrier(0, GASNET_BARRIERFLAG_UNNAMED & ~GASNET_BARRIERFLAG_ANONYMOUS);
}
static void wait_flags(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_UNNAMED);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_UNNAMED | 0x100);
}
static void notify_twice(void)
{
    gasnet_barrier_notify(0, 0);
    gasnet_barrier_notify(0, 0);
}
static void handle_garbage(void)
{
    gasnet_wait_syncnb((gasnet_handle_t)(uintptr_t)0x12345678);
}
static void handle_in_list(void)
{
    gasnet_handle_t list[] = {GASNET_INVALID_HANDLE, (gasnet_handle_t)(void *)word};
    (void)gasnet_try_syncnb_all(list, 2);
}
static void handle_list_null(void)
{
    gasnet_wait_syncnb_some(NULL, 2);
}
static void value_handle_null(void)
{
    (void)gasnet_wait_syncnb_valget((gasnet_valget_handle_t)0);
}
static void value_handle_garbage(void)
{
    (void)gasnet_wait_syncnb_valget((gasnet_valget_handle_t)(uintptr_t)word);
}
static void value_handle_twice(void)
{
    gasnet_valget_handle_t handle = gasnet_get_nb_val(0, mine, 8);
    (void)gasnet_wait_syncnb_valget(handle);
    (void)gasnet_wait_syncnb_valget(handle);
}
static void token_null(void)
{
    gasnet_AMReplyShort0(NULL, H_NOTHING);
}
static void source_garbage(void)
{
    gasnet_node_t from;
    gasnet_AMGetMsgSource((gasnet_token_t)(void *)word, &from);
}
static gasnet_token_t stale;
static void token_stale(void)
{
    gasnet_AMRequestShort1(0, H_WRONG, 0);
    gasnet_AMReplyShort0(stale, H_NOTHING);
}
static void handler_wrong(gasnet_handlerarg_t how)
{
    gasnet_AMRequestShort1(0, H_WRONG, how);
}
static void token_garbage(void)
{
    handler_wrong(1);
}
static void token_null_in_handler(void)
{
    handler_wrong(2);
}
static void reply_locked(void)
{
    handler_wrong(3);
}
static void return_locked(void)
{
    handler_wrong(4);
}
static void reply_twice(void)
{
    handler_wrong(5);
}
#ifdef GASNET_PAR
static void in_thread(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, arg)) abort();
    pthread_join(thread, NULL);
}
static void *reply_with(void *given)
{
    gasnet_AMReplyShort0(given, H_NOTHING);
    return NULL;
}
static void token_of_other_thread(void)
{
    handler_wrong(6);
}
static void *unlock_it(void *unused)
{
    gasnet_hsl_unlock(&lock);
    return unused;
}
static void unlock_in_other_thread(void)
{
    gasnet_hsl_lock(&lock);
    in_thread(unlock_it, NULL);
}
static void *wait_for(void *handle)
{
    (void)gasnet_wait_syncnb_valget(*(gasnet_valget_handle_t *)handle);
    return NULL;
}
static void handle_of_other_thread(void)
{
    gasnet_valget_handle_t handle = gasnet_get_nb_val(0, mine, 8);
    in_thread(wait_for, &handle);
}
#endif

static const struct wrong {
    const char *name;
    void (*make)(void);
    const char *expected;
} wrongs[] = {
    {"destroy_held", destroy_held, "gasnet_hsl_destroy of a lock that is held"},
    {"init_static", init_static, "that GASNET_HSL_INITIALIZER has initialised"},
    {"init_held", init_held, "that is held"},
    {"lock_destroyed", lock_destroyed, "not initialised, or was destroyed"},
    {"lock_own", lock_own, "gasnet_hsl_lock of a lock that this thread holds"},
    {"trylock_own", trylock_own, "gasnet_hsl_trylock of a lock that this thread holds"},
    {"unlock_out_of_order", unlock_out_of_order, "out of order"},
    {"hold_twice", hold_twice, "called twice"},
    {"put_outside", put_outside, "gasnet_put of 8 bytes at .* is outside the segment"},
    {"put_across_the_end", put_across_the_end, "gasnet_put_nb_bulk of 8 bytes .* outside"},
    {"get_outside", get_outside, "gasnet_get_nbi of 8 bytes at .* is outside the segment"},
    {"fill_outside", fill_outside, "gasnet_memset of 8 bytes at .* is outside the segment"},
    {"value_outside", value_outside, "gasnet_put_val of 8 bytes at .* is outside the segment"},
    {"value_get_outside", value_get_outside, "gasnet_get_val of 8 bytes at .* is outside"},
    {"put_to_nobody", put_to_nobody, "gasnet_put names (node|rank) 1"},
    {"request_to_nobody", request_to_nobody, "Active Message.* rank 1"},
    {"barrier_flags", barrier_flags, "gasnet_barrier_notify is given .* 0x40 is unknown"},
    {"barrier_private_bit", barrier_private_bit, "gasnet_barrier is given .* 0x8 is unknown"},
    {"wait_flags", wait_flags, "gasnet_barrier_wait is given .* 0x100 is unknown"},
    {"notify_twice", notify_twice, "called twice without"},
    {"handle_garbage", handle_garbage, "0x12345678 is synchronised as a handle"},
    {"handle_in_list", handle_in_list, "is synchronised as a handle, and no call has returned"},
    {"handle_list_null", handle_list_null, "gasnet_wait_syncnb_some is given a NULL list"},
    {"value_handle_null", value_handle_null, "is synchronised as a handle"},
    {"value_handle_garbage", value_handle_garbage, "is synchronised as a handle"},
    {"value_handle_twice", value_handle_twice, "is not live"},
    {"token_null", token_null, "is called outside a handler"},
    {"source_garbage", source_garbage, "gasnet_AMGetMsgSource is called outside a handler"},
    {"token_stale", token_stale, "is called outside a handler"},
    {"token_garbage", token_garbage, "that of the running handler is"},
    {"token_null_in_handler", token_null_in_handler, "that of the running handler is"},
    {"reply_locked", reply_locked, "a handler replies with a handler-safe lock held"},
    {"return_locked", return_locked, "a handler returns with a handler-safe lock held"},
    {"reply_twice", reply_twice, AGAIN},
#ifdef GASNET_PAR
    {"token_of_other_thread", token_of_other_thread, "is called outside a handler"},
    {"unlock_in_other_thread", unlock_in_other_thread, "that this thread does not hold"},
    {"handle_of_other_thread", handle_of_other_thread, "only be synchronised by the thread"},
#endif
};

/* --- in each place --- */

static const char *only; /* the one call, or NULL: all that are legal */
static enum place here;

static void make_calls(void)
{
    for (int i = 0; i < TEST_COUNT(calls); i++) {
        const char *expected = calls[i].expected[here];
        if (only ? strcmp(only, calls[i].name) != 0 : expected != NULL) continue;
        calls[i].make();
        printf("LEGAL %s\n", calls[i].name);
    }
}

/* What a handler may say: each kind of Reply in a handler of its own. */
static void on_place(gasnet_token_t t, gasnet_handlerarg_t reply)
{
    static void (*const replies[])(void) = {reply_short, reply_medium, reply_long};
    token = t;
    if (here == REQUEST) {
        if (reply == 0) make_calls();
        if (!only) replies[reply]();
        if (!only) printf("LEGAL Reply %d\n", (int)reply);
    } else {
        gasnet_AMReplyShort0(t, H_REPLY);
    }
}

static void on_reply(gasnet_token_t t)
{
    token = t;
    make_calls();
}

static void on_nothing(gasnet_token_t t)
{
    (void)t;
}

static void on_wrong(gasnet_token_t t, gasnet_handlerarg_t how)
{
    stale = t;
    switch (how) {
    case 1:
        gasnet_AMReplyShort0((gasnet_token_t)(void *)word, H_NOTHING);
        break;
    case 2:
        gasnet_AMReplyShort0(NULL, H_NOTHING);
        break;
    case 3:
        gasnet_hsl_lock(&lock);
        gasnet_AMReplyShort0(t, H_NOTHING);
        break;
    case 4:
        gasnet_hsl_lock(&lock);
        break;
    case 5:
        gasnet_AMReplyShort0(t, H_NOTHING);
        gasnet_AMReplyShort0(t, H_NOTHING);
        break;
#ifdef GASNET_PAR
    case 6:
        in_thread(reply_with, t);
        break;
#endif
    }
}

#ifdef GASNET_PAR
static void *make_in_thread(void *unused)
{
    make_calls();
    return unused;
}
#endif

/* Held for longer than a moment, which is told at the end. */
static void hold_for_long(void)
{
    const struct timespec moment = {.tv_sec = 1, .tv_nsec = 100 * 1000000};
    static gasnet_hsl_t again;
    gasnet_hold_interrupts();
    gasnet_hsl_lock(&lock);
    nanosleep(&moment, NULL);
    gasnet_hsl_unlock(&lock);
    gasnet_resume_interrupts();
    gasnet_hsl_init(&again);
    gasnet_hsl_init(&again);
}

static void go_there(void)
{
    switch (here) {
    case REQUEST:
        for (int reply = 0; reply < (only ? 1 : 3); reply++)
            gasnet_AMRequestShort1(0, H_PLACE, reply);
        break;
    case REPLY:
        gasnet_AMRequestShort1(0, H_PLACE, 0);
        break;
    case LOCKED:
        gasnet_hsl_lock(&lock);
        make_calls();
        gasnet_hsl_unlock(&lock);
        break;
    case HELD:
        gasnet_hold_interrupts();
        make_calls();
        if (!only || strcmp(only, "gasnet_resume_interrupts") != 0) gasnet_resume_interrupts();
        break;
    case WRONG:
        if (!only) hold_for_long();
        for (int i = 0; only && i < TEST_COUNT(wrongs); i++)
            if (strcmp(only, wrongs[i].name) == 0) wrongs[i].make();
        break;
#ifdef GASNET_PAR
    case THREAD:
        in_thread(make_in_thread, NULL);
        break;
#endif
    default:
        make_calls();
    }
}

static int list(void)
{
    for (int place = 0; place < WRONG; place++)
        for (int i = 0; i < TEST_COUNT(calls); i++) {
            const char *expected = calls[i].expected[place];
#ifndef GASNET_PAR
            if (place == THREAD) continue;
#endif
            if (expected && strcmp(expected, SKIP) != 0)
                printf("%s %s %s\n", place_names[place], calls[i].name, expected);
        }
    for (int i = 0; i < TEST_COUNT(wrongs); i++)
        printf("WRONG %s %s\n", wrongs[i].name, wrongs[i].expected);
    return 0;
}

static int start(void)
{
    gasnet_handlerentry_t table[] = {
        {H_PLACE, on_place}, {H_REPLY, on_reply}, {H_NOTHING, on_nothing}, {H_WRONG, on_wrong}};
    gasnet_seginfo_t segment;
    if (gasnet_init(NULL, NULL) != GASNET_OK) return 97;
    if (here == P1) make_calls();
    if (here == P1 && only) return 0;
    if (gasnet_attach(table, TEST_COUNT(table), SEGMENT, 0) != GASNET_OK) return 96;
    gasnet_getSegmentInfo(&segment, 1);
    mine = segment.addr;
    if (here != P1) go_there();
    gasnet_exit(0);
}

int main(int argc, char **argv)
{
    int place = 0;
    if (argc == 2 && strcmp(argv[1], "list") == 0) return list();
    while (place < PLACES && (argc < 2 || strcmp(argv[1], place_names[place]) != 0)) place++;
    if (place == PLACES) {
        fprintf(stderr, "usage: testlegal list | testlegal PLACE [CALL]\n");
        return 98;
    }
    here = (enum place)place;
    only = argc > 2 ? argv[2] : NULL;
    if (here != P0) return start();
    make_calls();
    return 0;
}
