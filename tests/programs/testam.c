/* testam.c - Active Messages: every category, argument count and form of call, to self and peer.
 *
 * All ranks walk the combinations in step: `plan` says what the request under way looks like, so
 * that even a message without arguments can be checked.  Sizes are testamsize's business, load is
 * testamflood's.
 */
#include "am_args.h"
#include "test.h"

enum category { SHORT, MEDIUM, LONG, LONGASYNC, CATEGORIES };
static const char *const category_name[] = {"Short", "Medium", "Long", "LongAsync"};

/* Handler indices: one per category and count, the numbers fixed so that tables can be const. */
enum { REQUEST = 128, REPLY = REQUEST + 3 * (AM_MAX + 1), PLAIN = REPLY + 3 * (AM_MAX + 1) };
static int index_of(int first, enum category c, int count)
{
    return first + (c == LONGASYNC ? LONG : c) * (AM_MAX + 1) + count;
}

enum { AREA = 64 * 1024, PAYLOAD = 200, NO_REPLY = -1 };

static struct {
    enum category request;
    int reply; /* category, or NO_REPLY */
    int values;
    bool variadic;
} plan;

static int requests, replies; /* seen by handlers */

/* --- arguments and payloads of messages --- */

/* Argument i of a message with `count` arguments: distinct, of every sign, top bits set. */
static gasnet_handlerarg_t argument(int count, int i, bool reply)
{
    uint32_t mixed =
        (uint32_t)test_mix((uint64_t)count << 16 ^ (uint64_t)i << 1 ^ reply ^ test_seed);
    switch (plan.values) {
    case 0:
        return (gasnet_handlerarg_t)mixed;
    case 1:
        return (gasnet_handlerarg_t)(0x80000000u | (uint32_t)(i << 8 | count) | reply << 20);
    default:
        return -1 - (i + count * 32 + reply * 1024);
    }
}

static uint64_t payload_key(int sender, int count, bool reply)
{
    return (uint64_t)sender << 32 ^ (uint64_t)count << 8 ^ (uint64_t)plan.values << 1 ^ reply;
}

/* The address in a target's segment that rank `sender`, the target or the next rank, may write to.
 * Each argument count has an address of its own: where several threads poll, the handler of one
 * message may still read its payload while the next message arrives. */
static void *landing(int target, int sender, bool reply, int count)
{
    int place = ((sender == target) * 2 + reply) * (AM_MAX + 1) + count;
    return test_at(target, (size_t)place * 256);
}

static void check_message(gasnet_token_t token, enum category c, bool reply, int count,
                          const gasnet_handlerarg_t *v, void *buf, size_t bytes)
{
    gasnet_node_t sender = (gasnet_node_t)-1;
    test_check(gasnet_AMGetMsgSource(token, &sender) == GASNET_OK, "no source (B29)");
    bool known = sender == (gasnet_node_t)test_rank ||
                 sender == (gasnet_node_t)(reply ? test_next : test_prev);
    if (!test_check(known, "%s from rank %d (B29)", reply ? "reply" : "request", (int)sender))
        return;
    for (int i = 0; i < count; i++)
        test_check(v[i] == argument(count, i, reply), "%s %s: argument %d of %d is %#x, not %#x",
                   category_name[c], reply ? "reply" : "request", i, count, (unsigned)v[i],
                   (unsigned)argument(count, i, reply));
    if (c == SHORT) return;
    test_check(bytes == PAYLOAD + (size_t)count, "%zu bytes instead of %d", bytes, PAYLOAD + count);
    ptrdiff_t at = test_mismatch(buf, bytes, payload_key((int)sender, count, reply));
    test_check(at < 0, "%s %s with %d arguments: payload wrong at %td", category_name[c],
               reply ? "reply" : "request", count, at);
    if (c == MEDIUM) {
        uintptr_t a = (uintptr_t)buf, base = (uintptr_t)test_seg[test_rank].addr;
        test_check(a % 8 == 0, "Medium buffer %p is not aligned (B24)", buf);
        test_check(a + bytes <= base || a >= base + test_seg[test_rank].size,
                   "Medium buffer %p inside the segment (B24)", buf);
    } else {
        void *where = landing(test_rank, (int)sender, reply, count);
        test_check(buf == where, "Long buffer %p instead of %p", buf, where);
    }
}

/* --- sending, with the numbered and with the variadic calls --- */

static int send_request(enum category c, gasnet_node_t to, int count, const gasnet_handlerarg_t *v,
                        void *src, size_t bytes)
{
    const gasnet_handler_t h = (gasnet_handler_t)index_of(REQUEST, c, count);
    void *dst = landing((int)to, test_rank, false, count);
    switch (c * 64 + plan.variadic * 32 + count) {
#define CASE(M)                                                                                    \
    case SHORT * 64 + M:                                                                           \
        return gasnet_AMRequestShort##M(to, h AM_PASS##M);                                         \
    case SHORT * 64 + 32 + M:                                                                      \
        return gasnet_AMRequestShort(to, h, M AM_PASS##M);                                         \
    case MEDIUM * 64 + M:                                                                          \
        return gasnet_AMRequestMedium##M(to, h, src, bytes AM_PASS##M);                            \
    case MEDIUM * 64 + 32 + M:                                                                     \
        return gasnet_AMRequestMedium(to, h, src, bytes, M AM_PASS##M);                            \
    case LONG * 64 + M:                                                                            \
        return gasnet_AMRequestLong##M(to, h, src, bytes, dst AM_PASS##M);                         \
    case LONG * 64 + 32 + M:                                                                       \
        return gasnet_AMRequestLong(to, h, src, bytes, dst, M AM_PASS##M);                         \
    case LONGASYNC * 64 + M:                                                                       \
        return gasnet_AMRequestLongAsync##M(to, h, src, bytes, dst AM_PASS##M);                    \
    case LONGASYNC * 64 + 32 + M:                                                                  \
        return gasnet_AMRequestLongAsync(to, h, src, bytes, dst, M AM_PASS##M);
        AM_EACH(CASE)
#undef CASE
    }
    return -1;
}

static int send_reply(enum category c, gasnet_token_t t, int requester, int count,
                      const gasnet_handlerarg_t *v, void *src, size_t bytes)
{
    const gasnet_handler_t h = (gasnet_handler_t)index_of(REPLY, c, count);
    void *dst = landing(requester, test_rank, true, count);
    switch (c * 64 + plan.variadic * 32 + count) {
#define CASE(M)                                                                                    \
    case SHORT * 64 + M:                                                                           \
        return gasnet_AMReplyShort##M(t, h AM_PASS##M);                                            \
    case SHORT * 64 + 32 + M:                                                                      \
        return gasnet_AMReplyShort(t, h, M AM_PASS##M);                                            \
    case MEDIUM * 64 + M:                                                                          \
        return gasnet_AMReplyMedium##M(t, h, src, bytes AM_PASS##M);                               \
    case MEDIUM * 64 + 32 + M:                                                                     \
        return gasnet_AMReplyMedium(t, h, src, bytes, M AM_PASS##M);                               \
    case LONG * 64 + M:                                                                            \
        return gasnet_AMReplyLong##M(t, h, src, bytes, dst AM_PASS##M);                            \
    case LONG * 64 + 32 + M:                                                                       \
        return gasnet_AMReplyLong(t, h, src, bytes, dst, M AM_PASS##M);
        AM_EACH(CASE)
#undef CASE
    }
    return -1;
}

/* --- handlers --- */

static void on_request(gasnet_token_t token, enum category c, int count,
                       const gasnet_handlerarg_t *v, void *buf, size_t bytes)
{
    check_message(token, c, false, count, v, buf, bytes);
    if (plan.reply != NO_REPLY) {
        gasnet_node_t requester = 0;
        gasnet_AMGetMsgSource(token, &requester);
        gasnet_handlerarg_t answer[AM_MAX + 1] = {0};
        char payload[PAYLOAD + AM_MAX];
        for (int i = 0; i < count; i++) answer[i] = argument(count, i, true);
        test_fill(payload, PAYLOAD + (size_t)count, payload_key(test_rank, count, true));
        int status = send_reply((enum category)plan.reply, token, (int)requester, count, answer,
                                payload, PAYLOAD + (size_t)count);
        test_check(status == GASNET_OK, "reply returned %d", status);
        check_message(token, c, false, count, v, buf, bytes); /* B26: still intact */
    }
    test_add(&requests, 1);
}

static void on_reply(gasnet_token_t token, enum category c, int count, const gasnet_handlerarg_t *v,
                     void *buf, size_t bytes)
{
    check_message(token, c, true, count, v, buf, bytes);
    test_add(&replies, 1);
}

#define HANDLERS(M)                                                                                \
    static void short_request_##M(gasnet_token_t t AM_DECL##M)                                     \
    {                                                                                              \
        const gasnet_handlerarg_t v[] = {0 AM_LIST##M};                                            \
        on_request(t, SHORT, M, v + 1, NULL, 0);                                                   \
    }                                                                                              \
    static void medium_request_##M(gasnet_token_t t, void *buf, size_t n AM_DECL##M)               \
    {                                                                                              \
        const gasnet_handlerarg_t v[] = {0 AM_LIST##M};                                            \
        on_request(t, MEDIUM, M, v + 1, buf, n);                                                   \
    }                                                                                              \
    static void long_request_##M(gasnet_token_t t, void *buf, size_t n AM_DECL##M)                 \
    {                                                                                              \
        const gasnet_handlerarg_t v[] = {0 AM_LIST##M};                                            \
        on_request(t, LONG, M, v + 1, buf, n);                                                     \
    }                                                                                              \
    static void short_reply_##M(gasnet_token_t t AM_DECL##M)                                       \
    {                                                                                              \
        const gasnet_handlerarg_t v[] = {0 AM_LIST##M};                                            \
        on_reply(t, SHORT, M, v + 1, NULL, 0);                                                     \
    }                                                                                              \
    static void medium_reply_##M(gasnet_token_t t, void *buf, size_t n AM_DECL##M)                 \
    {                                                                                              \
        const gasnet_handlerarg_t v[] = {0 AM_LIST##M};                                            \
        on_reply(t, MEDIUM, M, v + 1, buf, n);                                                     \
    }                                                                                              \
    static void long_reply_##M(gasnet_token_t t, void *buf, size_t n AM_DECL##M)                   \
    {                                                                                              \
        const gasnet_handlerarg_t v[] = {0 AM_LIST##M};                                            \
        on_reply(t, LONG, M, v + 1, buf, n);                                                       \
    }
AM_EACH(HANDLERS)

/* --- plain handlers for the odd rules --- */

static int pings;
static gasnet_handlerarg_t seen[4];

static void keep_four(gasnet_token_t t, gasnet_handlerarg_t a, gasnet_handlerarg_t b,
                      gasnet_handlerarg_t c, gasnet_handlerarg_t d)
{
    (void)t;
    seen[0] = a, seen[1] = b, seen[2] = c, seen[3] = d;
    test_add(&pings, 1);
}

static void bad_source_queries(gasnet_token_t t)
{
    gasnet_node_t source;
    (void)source;
    test_check(gasnet_AMGetMsgSource(t, NULL) == GASNET_ERR_BAD_ARG, "NULL pointer accepted");
    test_check(gasnet_mynode() == (gasnet_node_t)test_rank, "mynode wrong in a handler");
    test_check(gasnet_nodes() == (gasnet_node_t)test_size, "nodes wrong in a handler");
    gasnet_hold_interrupts(); /* ignored inside handlers */
    gasnet_resume_interrupts();
    test_add(&pings, 1);
}

#define ENTRIES(M)                                                                                 \
    {REQUEST + M, short_request_##M}, {REQUEST + 17 + M, medium_request_##M},                      \
        {REQUEST + 34 + M, long_request_##M}, {REPLY + M, short_reply_##M},                        \
        {REPLY + 17 + M, medium_reply_##M}, {REPLY + 34 + M, long_reply_##M},
static gasnet_handlerentry_t table[] = {AM_EACH(ENTRIES){PLAIN, keep_four},
                                        {PLAIN + 1, bad_source_queries}};

/* --- rules --- */

/* Sends a request of the plan's kind with `count` arguments; waits for the reply if the plan has
 * one. */
static void one_exchange(int to, int count)
{
    static char source[2][PAYLOAD + AM_MAX]; /* LongAsync needs it stable until the reply */
    gasnet_handlerarg_t v[AM_MAX + 1] = {0};
    for (int i = 0; i < count; i++) v[i] = argument(count, i, false);
    char *payload = source[count & 1];
    test_fill(payload, PAYLOAD + (size_t)count, payload_key(test_rank, count, false));
    const int before = test_get(&replies);
    int status =
        send_request(plan.request, (gasnet_node_t)to, count, v, payload, PAYLOAD + (size_t)count);
    test_check(status == GASNET_OK, "request returned %d", status);
    if (plan.reply != NO_REPLY) GASNET_BLOCKUNTIL(test_get(&replies) == before + 1);
}

static void every_count(enum category request, int reply)
{
    if (request == LONGASYNC && reply == NO_REPLY) return; /* must reply */
    for (int values = 0; values < 3; values++)
        for (int variadic = 0; variadic < 2; variadic++) {
            if (test_size > 2 && values != variadic) continue; /* keeps large jobs short */
            test_sync();
            requests = replies = 0;
            plan.request = request;
            plan.reply = reply;
            plan.values = values;
            plan.variadic = variadic;
            test_sync();
            for (int count = 0; count <= AM_MAX; count++) {
                one_exchange(test_rank, count); /* B23 */
                one_exchange(test_next, count);
            }
            GASNET_BLOCKUNTIL(test_get(&requests) == 2 * (AM_MAX + 1));
        }
}

static void every_reply(enum category request)
{
    for (int reply = NO_REPLY; reply < LONGASYNC; reply++) every_count(request, reply);
}

static void short_requests(void)
{
    every_reply(SHORT);
}
static void medium_requests(void)
{
    every_reply(MEDIUM);
}
static void long_requests(void)
{
    every_reply(LONG);
}
static void longasync_requests(void)
{
    every_reply(LONGASYNC);
}

enum colour { RED = 7 };

static void conversions(void)
{
    gasnet_node_t to = (gasnet_node_t)test_next;
    pings = 0;
    test_sync();
    gasnet_AMRequestShort4(to, PLAIN, 0x80000001u, 0xFFFFFFFF, RED, (gasnet_node_t)3);
    GASNET_BLOCKUNTIL(test_get(&pings) == 1);
    test_check(seen[0] == (gasnet_handlerarg_t)0x80000001u, "%#x", (unsigned)seen[0]);
    test_check(seen[1] == -1, "%#x", (unsigned)seen[1]);
    test_check(seen[2] == RED, "%d", (int)seen[2]);
    test_check(seen[3] == 3, "%d", (int)seen[3]);
}

/* Two arguments from one macro; the name pasted by another one. */
#define TWO_ARGUMENTS          11, 12
#define FOUR_OF(a, b)          a, b
#define SEND_SHORT(M)          gasnet_AMRequestShort##M
#define PASS_ON(M, to, h, ...) SEND_SHORT(M)(to, h, __VA_ARGS__)

static void through_macros(void)
{
    pings = 0;
    test_sync();
    int status = PASS_ON(4, (gasnet_node_t)test_next, PLAIN, TWO_ARGUMENTS, FOUR_OF(13, 14));
    test_check(status == GASNET_OK, "returned %d", status);
    GASNET_BLOCKUNTIL(test_get(&pings) == 1);
    for (int i = 0; i < 4; i++) test_check(seen[i] == 11 + i, "argument %d is %d", i, (int)seen[i]);
}

static void source_queries(void)
{
    pings = 0;
    test_sync();
    gasnet_AMRequestShort0((gasnet_node_t)test_next, PLAIN + 1);
    GASNET_BLOCKUNTIL(test_get(&pings) == 1);
}

static void limits(void)
{
    test_check(gasnet_AMMaxArgs() == AM_MAX, "AMMaxArgs is %zu", gasnet_AMMaxArgs());
    test_check(gasnet_AMMaxMedium() >= 512, "AMMaxMedium is %zu", gasnet_AMMaxMedium());
    test_check(gasnet_AMMaxMedium() <= 0x7fffffff, "AMMaxMedium is %zu", gasnet_AMMaxMedium());
    test_check(gasnet_AMMaxLongRequest() >= 512, "%zu", gasnet_AMMaxLongRequest());
    test_check(gasnet_AMMaxLongRequest() <= 0x7fffffff, "%zu", gasnet_AMMaxLongRequest());
    test_check(gasnet_AMMaxLongReply() >= 512, "%zu", gasnet_AMMaxLongReply());
    test_check(gasnet_AMMaxLongReply() <= 0x7fffffff, "%zu", gasnet_AMMaxLongReply());
}

static void idle_polls(void)
{
    for (int i = 0; i < test_iterations(100000); i++)
        if (!test_check(gasnet_AMPoll() == GASNET_OK, "AMPoll failed")) return;
}

static void blockuntil(void)
{
    int calls = 0;
    GASNET_BLOCKUNTIL((calls++, true)); /* already true: evaluated at least once, returns */
    test_check(calls >= 1, "condition never evaluated");
    pings = 0;
    test_sync();
    gasnet_AMRequestShort4((gasnet_node_t)test_rank, PLAIN, 1, 2, 3, 4);
    GASNET_BLOCKUNTIL(test_get(&pings) == 1 && seen[3] == 4);
    if (test_get(&pings))
        GASNET_BLOCKUNTIL(pings == 1); /* as a statement in if/else (B141) */
    else
        test_check(false, "unreachable");
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"AM limits: 16 arguments, sizes at least 512 and fit an int", limits},
        {"B20 B23 B29 Short requests, every count and reply", short_requests},
        {"B20 B23 B24 Medium requests, every count and reply", medium_requests},
        {"B20 B23 B33 Long requests, every count and reply", long_requests},
        {"B20 B23 B36 LongAsync requests, every count and reply", longasync_requests},
        {"B20 arguments converted to 32 signed bits", conversions},
        {"B141 B142 numbered calls survive macros", through_macros},
        {"B29 calls legal in handlers", source_queries},
        {"B39 idle AMPoll", idle_polls},
        {"BLOCKUNTIL with a true condition, and as a statement", blockuntil},
    };
    test_start(&argc, &argv, table, TEST_COUNT(table), AREA);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
