/* testamsize.c - Active Message payloads: every size class, alignment, kind of source memory, and
 * what may happen to the source or the received buffer around a send.
 *
 * Each rank works on its ring successor; the successor's handlers check the payload and the bytes
 * around it.  Argument counts are testam's business.
 */
#include "test.h"

enum {
    H_MEDIUM = 128,
    H_LONG,
    H_REPLIED, /* Medium or Long reply, checked */
    H_ECHO,    /* Medium: reply with buf, then overwrite it */
    H_ECHO_LONG,
    H_MODIFY, /* Long: change the payload, reply with it from there */
    H_COPY,   /* Medium and Long: checked later, by a copy or where it is */
    H_ZERO,
    H_ZERO_REPLY,
    H_SHORT_REPLY,
};

enum { SIDE = 2 << 20, SEGMENT = 3 * SIDE, GUARD = 64 };
/* The segment: [0, SIDE) requests land, [SIDE, 2 SIDE) replies land, [2 SIDE, 3 SIDE) sources. */

static int requests, replies, shorts;
static char scratch[SIDE];

enum ask { ASK_NOTHING, ASK_MEDIUM, ASK_LONG };

static void *reply_room(int rank)
{
    return test_at(rank, SIDE + GUARD);
}

static void check_payload(const char *what, const void *buf, size_t n, gasnet_handlerarg_t bytes,
                          gasnet_handlerarg_t key)
{
    if (!test_check(n == (size_t)bytes, "%s: %zu bytes, %d were sent", what, n, (int)bytes)) return;
    ptrdiff_t at = test_mismatch(buf, n, (uint64_t)key);
    test_check(at < 0, "%s of %zu bytes: wrong at %td", what, n, at);
}

/* B34: not one byte outside [buf, buf + n) may have been written. */
static void check_neighbours(const void *buf, size_t n)
{
    const char *p = buf;
    ptrdiff_t at = test_not_all(p - GUARD, GUARD, 0xA5);
    test_check(at < 0, "Long of %zu bytes: byte %td before it overwritten", n, GUARD - at);
    at = test_not_all(p + n, GUARD, 0xA5);
    test_check(at < 0, "Long of %zu bytes: byte %td after it overwritten", n, at);
}

static void answer(gasnet_token_t t, enum ask ask, void *src, size_t n, gasnet_handlerarg_t key)
{
    gasnet_node_t from = 0;
    gasnet_AMGetMsgSource(t, &from);
    if (ask == ASK_MEDIUM) gasnet_AMReplyMedium2(t, H_REPLIED, src, n, (gasnet_handlerarg_t)n, key);
    if (ask == ASK_LONG)
        gasnet_AMReplyLong2(t, H_REPLIED, src, n, reply_room((int)from), (gasnet_handlerarg_t)n,
                            key);
}

static void on_medium(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t bytes,
                      gasnet_handlerarg_t key, gasnet_handlerarg_t ask)
{
    check_payload("Medium", buf, n, bytes, key);
    test_check((uintptr_t)buf % 8 == 0, "Medium of %zu bytes at %p: not aligned (B24)", n, buf);
    answer(t, (enum ask)ask, buf, n, key);
    test_add(&requests, 1);
}

static void on_long(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t bytes,
                    gasnet_handlerarg_t key, gasnet_handlerarg_t ask, gasnet_handlerarg_t offset)
{
    test_check(buf == test_at(test_rank, (size_t)offset), "Long at %p, not at offset %d", buf,
               (int)offset);
    check_payload("Long", buf, n, bytes, key);
    check_neighbours(buf, n);
    /* Once answered, the next one may arrive here: first the guards for it. */
    memcpy(scratch, buf, n);
    memset(buf, 0xA5, n);
    answer(t, (enum ask)ask, scratch, n, key);
    test_add(&requests, 1);
}

static void on_reply(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t bytes,
                     gasnet_handlerarg_t key)
{
    (void)t;
    check_payload("reply", buf, n, bytes, key);
    test_add(&replies, 1);
}

static void on_echo(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t key,
                    gasnet_handlerarg_t ask)
{
    answer(t, (enum ask)ask, buf, n, key);
    memset(buf, 0xEE, n); /* B25: the reply has inlined it already */
    test_add(&requests, 1);
}

static void on_echo_long(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t key,
                         gasnet_handlerarg_t ask)
{
    on_echo(t, buf, n, key, ask);
}

static void on_modify(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t key,
                      gasnet_handlerarg_t ask)
{
    check_payload("Long", buf, n, (gasnet_handlerarg_t)n, key);
    test_fill(buf, n, (uint64_t)(key + 1)); /* B27 */
    answer(t, (enum ask)ask, buf, n, key + 1);
    test_add(&requests, 1);
}

static void on_copy(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t key,
                    gasnet_handlerarg_t reply)
{
    check_payload("payload whose source was overwritten", buf, n, (gasnet_handlerarg_t)n, key);
    if (reply) gasnet_AMReplyShort0(t, H_SHORT_REPLY);
    test_add(&requests, 1);
}

static void on_zero(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t kind)
{
    (void)buf; /* undefined */
    test_check(n == 0, "zero-length message arrives with %zu bytes", n);
    void *junk[] = {NULL, (void *)1, (void *)~(uintptr_t)0};
    if (kind < 3)
        gasnet_AMReplyMedium0(t, H_ZERO_REPLY, junk[kind], 0);
    else
        gasnet_AMReplyLong0(t, H_ZERO_REPLY, junk[kind - 3], 0, junk[kind - 3]);
    test_add(&requests, 1);
}

static void on_zero_reply(gasnet_token_t t, void *buf, size_t n)
{
    (void)t, (void)buf;
    test_check(n == 0, "zero-length reply arrives with %zu bytes", n);
    test_add(&replies, 1);
}

static void on_short_reply(gasnet_token_t t)
{
    (void)t;
    test_add(&shorts, 1);
}

static gasnet_handlerentry_t table[] = {
    {H_MEDIUM, on_medium},
    {H_LONG, on_long},
    {H_REPLIED, on_reply},
    {H_ECHO, on_echo},
    {H_ECHO_LONG, on_echo_long},
    {H_MODIFY, on_modify},
    {H_COPY, on_copy},
    {H_ZERO, on_zero},
    {H_ZERO_REPLY, on_zero_reply},
    {H_SHORT_REPLY, on_short_reply},
};

/* --- sources of every kind --- */

enum { IN_SEGMENT, ON_HEAP, ON_STACK, IN_STATIC, SOURCES };
static char static_source[SIDE];
static char *heap_source;

/* Sizes up to a few KB densely enough to meet every internal limit, then around powers of two. */
static size_t next_size(size_t n, size_t limit)
{
    size_t next;
    if (n < 40)
        next = n + 1;
    else if (n < 4200)
        next = n + (test_size > 2 ? 89 : 23) * test_thin();
    else {
        size_t power = 4096;
        while (power * 2 <= n + 1) power *= 2;
        next = n + 1 == power || n == power ? n + 1 : power * 2 - 1;
    }
    return n < limit && next > limit ? limit : next;
}

static void start_rule(void)
{
    test_sync();
    requests = replies = shorts = 0;
    memset(test_at(test_rank, 0), 0xA5, SIDE);
    test_sync();
}

static size_t long_limit(size_t library_limit)
{
    size_t room = (test_size > 2 ? SIDE / 8 : SIDE) - 4 * GUARD - 64;
    return library_limit < room ? library_limit : room;
}

/* Sends one Medium or Long to the successor from `src` and waits for the answer asked for. */
static void send_checked(bool is_long, char *src, size_t n, enum ask ask, size_t landing)
{
    gasnet_node_t to = (gasnet_node_t)test_next;
    gasnet_handlerarg_t key = (gasnet_handlerarg_t)(n * 31 + (size_t)test_rank) & 0x7fffffff;
    const int before = test_get(&replies);
    test_fill(src, n, (uint64_t)key);
    if (is_long)
        gasnet_AMRequestLong4(to, H_LONG, src, n, test_at(test_next, landing),
                              (gasnet_handlerarg_t)n, key, ask, (gasnet_handlerarg_t)landing);
    else
        gasnet_AMRequestMedium3(to, H_MEDIUM, src, n, (gasnet_handlerarg_t)n, key, ask);
    if (ask != ASK_NOTHING) GASNET_BLOCKUNTIL(test_get(&replies) == before + 1);
}

static void sizes_of(bool is_long, enum ask ask, size_t limit)
{
    char stack_source[16384];
    int sent = 0;
    start_rule();
    for (size_t n = 0; n <= limit; n = next_size(n, limit)) {
        for (int kind = 0; kind < SOURCES; kind++) {
            if (n > 4096 && kind != (int)(n % SOURCES)) continue; /* one for large sizes */
            if (kind == ON_STACK && n + 16 > sizeof stack_source) continue;
            char *base[] = {test_at(test_rank, 2 * SIDE), heap_source, stack_source, static_source};
            size_t landing = GUARD + (n * 7 + (size_t)kind * 3) % 64;
            send_checked(is_long, base[kind] + (n + (size_t)kind) % 9, n, ask, landing);
            sent++;
        }
    }
    GASNET_BLOCKUNTIL(test_get(&requests) == sent);
}

static void medium_sizes(void)
{
    sizes_of(false, ASK_MEDIUM, gasnet_AMMaxMedium());
}
static void medium_to_long(void)
{
    size_t limit = gasnet_AMMaxMedium();
    sizes_of(false, ASK_LONG, limit < gasnet_AMMaxLongReply() ? limit : gasnet_AMMaxLongReply());
}
static void long_sizes(void)
{
    size_t both = gasnet_AMMaxLongRequest();
    if (both > gasnet_AMMaxLongReply()) both = gasnet_AMMaxLongReply();
    sizes_of(true, ASK_LONG, long_limit(both));
}
static void long_to_medium(void)
{
    sizes_of(true, ASK_MEDIUM, gasnet_AMMaxMedium());
}

static void unanswered_sizes(void)
{
    start_rule();
    struct test_random random = test_random_for(1);
    int count = test_iterations(40);
    for (int i = 0; i < count; i++) {
        size_t n = test_below(&random, gasnet_AMMaxMedium() + 1);
        send_checked(false, heap_source + i % 13, n, ASK_NOTHING, 0);
    }
    for (int i = 0; i < count; i++) { /* disjoint destinations: no wait between */
        size_t slot = long_limit(gasnet_AMMaxLongRequest()) / (size_t)count;
        size_t n = test_below(&random, slot - 2 * GUARD);
        send_checked(true, heap_source + i % 13, n, ASK_NOTHING, (size_t)i * slot + GUARD);
    }
    GASNET_BLOCKUNTIL(test_get(&requests) == 2 * count);
}

/* --- buffers that change around a send --- */

static void echo_and_overwrite(void)
{
    start_rule();
    int sent = 0;
    const size_t top = gasnet_AMMaxMedium();
    for (size_t n = 1; n <= top; n = next_size(n * 2 - 1, top))
        for (int ask = ASK_MEDIUM; ask <= ASK_LONG; ask++)
            for (int is_long = 0; is_long < 2; is_long++) {
                gasnet_node_t to = (gasnet_node_t)(sent & 4 ? test_rank : test_next);
                gasnet_handlerarg_t key = (gasnet_handlerarg_t)n + 5;
                test_fill(heap_source, n, (uint64_t)key);
                const int before = test_get(&replies);
                if (is_long)
                    gasnet_AMRequestLong2(
                        to, H_ECHO_LONG, heap_source, n,
                        /* Two destinations by turns: the handler overwrites the answered one. */
                        test_at((int)to, (size_t)(test_rank == (int)to) * SIDE / 2 +
                                             (size_t)(sent >> 1 & 1) * SIDE / 4),
                        key, ask);
                else
                    gasnet_AMRequestMedium2(to, H_ECHO, heap_source, n, key, ask);
                GASNET_BLOCKUNTIL(test_get(&replies) == before + 1);
                sent++;
            }
    test_sync();
    test_check(test_get(&replies) == sent, "%d replies to %d requests", replies, sent);
}

static void modify_in_place(void)
{
    start_rule();
    for (size_t n = 1; n <= gasnet_AMMaxMedium(); n = n * 3 + 1)
        for (int ask = ASK_MEDIUM; ask <= ASK_LONG; ask++) {
            gasnet_handlerarg_t key = (gasnet_handlerarg_t)n + 17;
            test_fill(heap_source, n, (uint64_t)key);
            const int before = test_get(&replies);
            gasnet_AMRequestLong2((gasnet_node_t)test_next, H_MODIFY, heap_source, n,
                                  test_at(test_next, 32), key, ask);
            GASNET_BLOCKUNTIL(test_get(&replies) == before + 1);
        }
}

static void overwrite_source(void)
{
    start_rule();
    int count = test_iterations(60), sent = 0;
    const size_t medium = gasnet_AMMaxMedium(), top = long_limit(gasnet_AMMaxLongRequest());
    for (int i = 0; i < count; i++) {
        gasnet_handlerarg_t key = 100 + i;
        test_fill(heap_source, medium, (uint64_t)key);
        gasnet_AMRequestMedium2((gasnet_node_t)test_next, H_COPY, heap_source, medium, key, 0);
        memset(heap_source, 0xEE, medium);
        sent++;
    }
    size_t n = top / 2;
    for (size_t used = 0; used + n <= top && n >= 256; used += n, n = n / 2 | 1, sent++) {
        gasnet_handlerarg_t key = 200 + sent; /* each has a destination of its own: nothing to
                                                 wait for */
        test_fill(heap_source, n / 2, (uint64_t)key);
        gasnet_AMRequestLong2((gasnet_node_t)test_next, H_COPY, heap_source, n / 2,
                              test_at(test_next, used / 2), key, 0);
        memset(heap_source, 0xEE, n / 2);
    }
    char *freed = malloc(medium);
    test_fill(freed, medium, 99);
    gasnet_AMRequestMedium2((gasnet_node_t)test_next, H_COPY, freed, medium, 99, 0);
    free(freed);
    sent++;
    GASNET_BLOCKUNTIL(test_get(&requests) == sent);
}

static void longest_overwritten(void)
{
    const size_t top = long_limit(gasnet_AMMaxLongRequest());
    for (int i = 0; i < 3; i++) {
        start_rule();
        test_fill(heap_source, top, (uint64_t)i);
        gasnet_AMRequestLong2((gasnet_node_t)test_next, H_COPY, heap_source, top,
                              test_at(test_next, 3), i, 0);
        memset(heap_source, 0xEE, top);
        GASNET_BLOCKUNTIL(test_get(&requests) == 1);
    }
}

static void async_source(void)
{
    start_rule();
    const size_t top = long_limit(gasnet_AMMaxLongRequest());
    int sent = 0;
    for (size_t n = 1; n <= top; n = n * 5 + 2) {
        gasnet_handlerarg_t key = (gasnet_handlerarg_t)n;
        test_fill(heap_source, n, (uint64_t)key);
        gasnet_AMRequestLongAsync2((gasnet_node_t)test_next, H_COPY, heap_source, n,
                                   test_at(test_next, 1), key, 1);
        sent++;
        GASNET_BLOCKUNTIL(test_get(&shorts) == sent);
        memset(heap_source, 0xEE, n);
    }
    GASNET_BLOCKUNTIL(test_get(&requests) == sent);
}

static void zero_length(void)
{
    start_rule();
    void *junk[] = {NULL, (void *)1, (void *)~(uintptr_t)0};
    int sent = 0;
    for (int peer = 0; peer < 2; peer++)
        for (int kind = 0; kind < 6; kind++)
            for (int j = 0; j < 3; j++) {
                gasnet_node_t to = (gasnet_node_t)(peer ? test_next : test_rank);
                void *good = test_at((int)to, 0);
                gasnet_AMRequestMedium1(to, H_ZERO, junk[j], 0, kind);
                gasnet_AMRequestLong1(to, H_ZERO, junk[j], 0, junk[2 - j], kind);
                gasnet_AMRequestLong1(to, H_ZERO, junk[j], 0, good, kind);
                gasnet_AMRequestLongAsync1(to, H_ZERO, junk[j], 0, junk[j], kind);
                sent += 4;
            }
    GASNET_BLOCKUNTIL(test_get(&replies) == sent && test_get(&requests) == sent);
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"B22 B24 Medium request and Medium reply of every size", medium_sizes},
        {"B22 Medium request and Long reply of every size", medium_to_long},
        {"B22 B33 B34 Long request and Long reply of every size and alignment", long_sizes},
        {"B22 B34 Long request and Medium reply", long_to_medium},
        {"IB-A2 B22 Requests of random size without Replies", unanswered_sizes},
        {"B25 B23 reply from the received buffer, which is overwritten then", echo_and_overwrite},
        {"B27 Long payload changed in place and sent back", modify_in_place},
        {"B35 sources overwritten or freed right after return", overwrite_source},
        {"B35 B33 source of the longest Long overwritten right after return", longest_overwritten},
        {"B36 LongAsync source reused in step with its reply", async_source},
        {"B28 zero-length messages with junk addresses", zero_length},
    };
    test_start(&argc, &argv, table, TEST_COUNT(table), SEGMENT);
    heap_source = malloc(SIDE);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
