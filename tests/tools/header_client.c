/* header_client.c - a client that uses the headers in every way clients do; compiled, never run.
 *
 * Must be C89 and C++98 at once.  headers.sh compiles it in many languages and modes, with all
 * warnings as errors.
 */
#include <sys/param.h>

#include "gasnet.h"
#include "gasnet_handler.h"

#include "gasnet_tools.h"

#define SAFE(call)                                                                                 \
    do {                                                                                           \
        int rc = (call);                                                                           \
        if (rc != GASNET_OK) printf("%s: %s", gasnet_ErrorName(rc), gasnet_ErrorDesc(rc));         \
    } while (0)
#define SHORT(M)  gasnet_AMRequestShort##M
#define TWO_ARGS  17, 0x80000001
#define FOUR_ARGS dest, 200, TWO_ARGS
#define X2(list)  gasnet_AMRequestShort2(list)

#if GASNET_PAR
#define MODE "PAR"
#elif GASNET_PARSYNC
#define MODE "PARSYNC"
#elif GASNET_SEQ
#define MODE "SEQ"
#endif

#if GASNET_MAXNODES < 2 || GASNET_PAGESIZE % 2 || GASNET_PSHM > 1 || GASNETT_MAX_THREADS < 1 ||    \
    GASNET_ALIGNED_SEGMENTS > 1 || GASNET_NULL_ARGV_OK > 1 || GASNETT_PAGESIZE != GASNET_PAGESIZE
#error "constants must be usable in #if"
#endif

GASNETT_IDENT(client_ident, "$ClientIdent: " MODE " " _STRINGIFY(GASNET_CONDUIT_NAME) " $");
GASNETT_THREADKEY_DECLARE(client_key);
GASNETT_THREADKEY_DEFINE(client_key);

static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static struct {
    gasnett_cond_t cond;
    gasnett_mutex_t mutex;
} pairs[2] = {{GASNETT_COND_INITIALIZER, GASNETT_MUTEX_INITIALIZER},
              {GASNETT_COND_INITIALIZER, GASNETT_MUTEX_INITIALIZER}};
static gasnett_atomic_t counts[2] = {gasnett_atomic_init(0), gasnett_atomic_init(1)};
static volatile int flag;

GASNETT_BEGIN_EXTERNC
static void short_handler(gasnet_token_t token, gasnet_handlerarg_t a0)
{
    gasnet_node_t src;
    SAFE(gasnet_AMGetMsgSource(token, &src));
    gasnet_hsl_lock(&lock);
    flag = a0;
    gasnet_hsl_unlock(&lock);
    SAFE(gasnet_AMReplyShort0(token, 201));
}
static void medium_handler(gasnet_token_t token, void *buf, size_t nbytes)
{
    SAFE(gasnet_AMReplyMedium2(token, 202, buf, nbytes, 0xffffffffu, (gasnet_handlerarg_t)nbytes));
}
GASNETT_END_EXTERNC

GASNETT_INLINE(add) int add(int a, int b)
{
    return a + b;
}
GASNETT_NEVER_INLINE(sub, static int sub(int a, int b))
{
    return a - b;
}
GASNETT_FORMAT_PRINTF(say, 1, 2, static void say(const char *fmt, ...))
{
    (void)fmt;
}
static GASNETT_FORMAT_PRINTF_FUNCPTR(say_pointer, 1, 2,
                                     void (*say_pointer)(const char *fmt, ...)) = say;

static gasnet_handle_t returns_handle(gasnet_node_t node, void *p)
{
    return gasnet_put_nb_bulk(node, p, p, 8);
}

static void attach(void)
{
    gasnet_handlerentry_t table[2];
    gasnet_handlerentry_t fixed[] = {{200, (gasneti_handlerfn_t)short_handler},
                                     {0, (gasneti_handlerfn_t)medium_handler}};
#if !defined(GASNET_USE_STRICT_PROTOTYPES) && !defined(TEST_STRICT_WARNINGS)
    gasnet_handlerentry_t cast[] = {{200, (void (*)())short_handler},
                                    {0, (void (*)())medium_handler}};
    fixed[0] = cast[0];
#if !defined(__cplusplus)
    {
        gasnet_handlerentry_t uncast[] = {{200, short_handler}, {0, medium_handler}};
        fixed[1] = uncast[1];
    }
#endif
#endif
    table[0] = fixed[0];
    table[1] = fixed[1];
    SAFE(gasnet_attach(table, (int)(sizeof table / sizeof table[0]),
                       gasnet_getMaxLocalSegmentSize(), 0));
    SAFE(gasnet_attach(NULL, 0, gasnet_getMaxGlobalSegmentSize(), 0));
}

static void messages(gasnet_node_t dest, void *p)
{
    unsigned int u = 3;
    enum { an_enum = 4 } e = an_enum;
    SAFE(gasnet_AMRequestShort0(dest, 200));
    SAFE(SHORT(2)(dest, 200, TWO_ARGS));
    SAFE(X2(FOUR_ARGS));
    SAFE(gasnet_AMRequestShort4(dest, 200, u, e, 0xdeadbeef, dest));
    SAFE(gasnet_AMRequestMedium1(dest, 201, p, 100, u));
    SAFE(gasnet_AMRequestMedium0(dest, 201, "constant", 9));
    SAFE(gasnet_AMRequestLong16(dest, 202, p, 100, p, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
                                14, 15));
    SAFE(gasnet_AMRequestLongAsync1(dest, 202, p, 100, p, -1));
    SAFE(gasnet_AMRequestShort(dest, 200, 0));
    SAFE(
        gasnet_AMRequestMedium(dest, 200, p, 1, 2, (gasnet_handlerarg_t)1, (gasnet_handlerarg_t)2));
    SAFE((gasnet_hold_interrupts(), gasnet_AMPoll()));
    gasnet_resume_interrupts();
    GASNET_BLOCKUNTIL(add(flag, 1) != 0);
    if (gasnet_hsl_trylock(&lock) == GASNET_OK) gasnet_hsl_unlock(&lock);
}

static void transfers(gasnet_node_t node, char *p, const char *constant)
{
    GASNET_BEGIN_FUNCTION();
    gasnet_handle_t h[4];
    gasnet_valget_handle_t v;
    gasnet_register_value_t value;
    size_t n = 8;

    memset(h, 0, sizeof h);
    gasnet_put(node, p, (void *)(uintptr_t)constant, n);
    gasnet_get(p, node, p, n);
    h[0] = n > 8 ? gasnet_put_nb(node, p, p, n) : GASNET_INVALID_HANDLE;
    h[1] = gasnet_get_nb(p, node, p, n);
    h[2] = returns_handle(node, p);
    h[3] = gasnet_memset_nb(node, p, 0, n);
    if (h[0] == GASNET_INVALID_HANDLE)
        gasnet_wait_syncnb_all(h, 4);
    else
        gasnet_wait_syncnb(h[0]);
    gasnet_begin_nbi_accessregion();
    gasnet_put_nbi(node, p, p, n);
    h[0] = gasnet_end_nbi_accessregion();
    while (gasnet_try_syncnb(h[0]) == GASNET_ERR_NOT_READY) SAFE(gasnet_AMPoll());
    gasnet_get_nbi_bulk(p, node, p, n);
    if (n)
        gasnet_wait_syncnbi_all();
    else
        gasnet_wait_syncnbi_gets();
    v = gasnet_get_nb_val(node, p, 3);
    value = gasnet_wait_syncnb_valget(v);
    gasnet_put_val(node, p, value, 3);
    {
        GASNET_POST_THREADINFO(GASNET_GET_THREADINFO());
        int id;
        gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS | GASNET_BARRIERFLAG_MISMATCH);
        SAFE(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_UNNAMED));
        SAFE(gasnet_barrier_result(&id));
    }
}

#define tracked GASNETT_TRACE_SETSOURCELINE(__FILE__, __LINE__), sub
static uintptr_t load(void *src, size_t n)
{
    GASNETT_VALUE_RETURN(src, n);
}

static void tools(void)
{
    gasnett_tick_t t = gasnett_ticks_now();
    void *p = gasnett_mmap(GASNETT_PAGESIZE);
    char *loc = gasnett_current_loc;
    gasnett_atomic_val_t a =
        gasnett_atomic_add(&counts[1], 1, GASNETT_ATOMIC_REL | GASNETT_ATOMIC_ACQ);
    int x = (tracked(2, 1));

    if_pf(p == NULL) x = 0;
    else x++;
    if_pt(p) x++;
    gasnett_mutex_lock(&pairs[0].mutex);
    gasnett_mutex_unlock(&pairs[0].mutex);
    gasnett_threadkey_set(client_key, p);
    GASNETT_TRACE_PRINTF("%d", x);
    say_pointer("%s %lu", loc, (unsigned long)gasnett_ticks_to_us(t));
    GASNETT_VALUE_ASSIGN(p, a + load(p, 3), 4);
    GASNETT_FAST_ALIGNED_MEMCPY(p, &x, sizeof x);
    free(loc);
    if (GASNETT_PREDICT_TRUE(gasnett_threadkey_get(client_key))) gasnett_local_mb();
}

int main(int argc, char **argv)
{
    gasnet_seginfo_t info[2];
    gasnet_nodeinfo_t nodes[2];

    SAFE(gasnet_init(&argc, &argv));
    attach();
    SAFE(gasnet_getSegmentInfo(info, MIN(2, gasnet_nodes())));
    SAFE(gasnet_getNodeInfo(nodes, MAX(2, 1)));
    SAFE(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK));
    printf("%s %s %d %s\n", GASNET_CONFIG_STRING, GASNETT_CONFIG_STRING, (int)gasnet_mynode(),
           gasnet_getenv("HOME"));
    messages((gasnet_node_t)(gasnet_nodes() - 1), info[0].addr);
    transfers(0, (char *)info[0].addr, "x");
    tools();
    gasnet_exit((int)gasnet_AMMaxMedium());
    return 0;
}
