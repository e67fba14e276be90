/* testamflood.c - Active Messages under load: floods until credits run dry, receivers that seldom
 * poll, deep exchanges in a single thread, and random mixes with checksums.
 *
 * What is proved is progress (the watchdog ends a hang), exact counts and intact payloads.
 */
#include <sched.h>

#include "test.h"

enum {
    H_COUNT = 128,
    H_COUNT_MEDIUM,
    H_ECHO,
    H_ECHOED,
    H_ECHO_LONG,
    H_SMALL_ECHO,
    H_SMALL_ECHOED,
    H_PING,
    H_MIX_MEDIUM,
    H_MIX_LONG,
    H_MIX_SHORT,
    H_MIX_MEDIUM_REPLY,
    H_MIX_LONG_REPLY,
    H_MIX_SHORT_REPLY,
};

enum { SLOT = 32 * 1024, DEPTH = 16, SEGMENT = 8 << 20 };

static int counted, echoed, pinged, mixed, answered;
static char *payload;

static void on_count(gasnet_token_t t, gasnet_handlerarg_t n)
{
    (void)t, (void)n;
    test_add(&counted, 1);
}

static void on_count_medium(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t key)
{
    (void)t;
    test_check(test_mismatch(buf, n, (uint64_t)key) < 0, "Medium of %zu bytes damaged", n);
    test_add(&counted, 1);
}

static void on_echo(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t key)
{
    gasnet_AMReplyMedium1(t, H_ECHOED, buf, n, key);
}

static void on_echo_long(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t key)
{
    gasnet_AMReplyMedium1(t, H_ECHOED, buf, n, key);
}

static void on_echoed(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t key)
{
    (void)t;
    test_check(test_mismatch(buf, n, (uint64_t)key) < 0, "echo of %zu bytes damaged", n);
    test_add(&echoed, 1);
}

static void on_small_echo(gasnet_token_t t, gasnet_handlerarg_t a)
{
    gasnet_AMReplyShort1(t, H_SMALL_ECHOED, a);
}

static void on_small_echoed(gasnet_token_t t, gasnet_handlerarg_t a)
{
    (void)t, (void)a;
    test_add(&echoed, 1);
}

static void on_ping(gasnet_token_t t)
{
    (void)t;
    test_add(&pinged, 1);
}

/* --- floods of one to one, all to one --- */

static void zero_counters(void)
{
    test_sync();
    counted = echoed = pinged = mixed = answered = 0;
    test_sync();
}

static void flood(int target, int messages, size_t bytes)
{
    for (int i = 0; i < messages; i++) {
        int status = bytes ? gasnet_AMRequestMedium1((gasnet_node_t)target, H_COUNT_MEDIUM, payload,
                                                     bytes, 77)
                           : gasnet_AMRequestShort1((gasnet_node_t)target, H_COUNT, i);
        if (!test_check(status == GASNET_OK, "request %d returned %d", i, status)) return;
    }
}

static volatile unsigned sink;
static void compute(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) sink = sink * 1664525u + 1013904223u;
}

/* Every rank but `target` floods it; the target computes for long between two polls. */
static void flood_seldom_polling(size_t bytes)
{
    const int messages = test_iterations(bytes ? 4000 : 10000);
    for (int target = 0; target < (test_size > 2 ? 1 : test_size); target++) {
        zero_counters();
        if (test_rank != target || test_size == 1) flood(target, messages, bytes);
        if (test_rank == target) {
            const int expected = messages * (test_size == 1 ? 1 : test_size - 1);
            while (test_get(&counted) < expected) {
                compute(20000);
                gasnet_AMPoll();
            }
            test_check(test_get(&counted) == expected, "%d instead of %d", counted, expected);
        }
    }
}

static void short_flood(void)
{
    flood_seldom_polling(0);
}
static void medium_flood(void)
{
    flood_seldom_polling(512);
}
static void largest_flood(void)
{
    flood_seldom_polling(gasnet_AMMaxMedium());
}

static void flood_into_barrier(void)
{
    const int messages = test_iterations(10000);
    zero_counters();
    if (test_rank != 0 || test_size == 1) flood(0, messages, 0);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS); /* rank 0 is here from the start */
    int status = gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    test_check(status == GASNET_OK, "barrier returned %d", status);
    if (test_rank == 0) {
        const int expected = messages * (test_size == 1 ? 1 : test_size - 1);
        GASNET_BLOCKUNTIL(test_get(&counted) == expected);
    }
}

/* The target makes no call at all until all senders must have run out of credits. */
static void flood_absent_receiver(void)
{
    zero_counters();
    const int messages = test_iterations(3000);
    if (test_rank == 0)
        compute(20000000);
    else
        flood(0, messages, 64);
    if (test_rank == 0) GASNET_BLOCKUNTIL(test_get(&counted) == messages * (test_size - 1));
}

static void all_to_all_flood(void)
{
    zero_counters();
    const int messages = test_iterations(2000);
    for (int i = 0; i < messages; i++)
        for (int r = 0; r < test_size; r++)
            gasnet_AMRequestShort1((gasnet_node_t)((r + test_rank) % test_size), H_COUNT, i);
    GASNET_BLOCKUNTIL(test_get(&counted) == messages * test_size);
}

/* --- exchanges of requests and replies --- */

static void exchange(int peer, size_t bytes, int depth, int messages)
{
    int sent = 0;
    const int start = test_get(&echoed);
    while (sent < messages) {
        gasnet_handlerarg_t key = sent;
        if (bytes) {
            test_fill(payload, bytes, (uint64_t)key);
            if (sent % 3 == 2) {
                size_t offset = (size_t)(test_rank * 8 + sent % 8) * SLOT / 8;
                /* the destination of a Long may be reused only when its echo is back */
                GASNET_BLOCKUNTIL(test_get(&echoed) == start + sent);
                gasnet_AMRequestLong1((gasnet_node_t)peer, H_ECHO_LONG, payload, bytes,
                                      test_at(peer, offset), key);
            } else
                gasnet_AMRequestMedium1((gasnet_node_t)peer, H_ECHO, payload, bytes, key);
        } else
            gasnet_AMRequestShort1((gasnet_node_t)peer, H_SMALL_ECHO, key);
        sent++;
        GASNET_BLOCKUNTIL(test_get(&echoed) - start > sent - depth);
    }
    GASNET_BLOCKUNTIL(test_get(&echoed) == start + messages);
}

static size_t largest_exchange(void)
{
    return gasnet_AMMaxMedium() < SLOT / 8 ? gasnet_AMMaxMedium() : SLOT / 8;
}

static void pairwise(void)
{
    for (int depth = 1; depth <= DEPTH; depth *= 2) {
        zero_counters();
        exchange(test_next, largest_exchange(), depth, test_iterations(200));
        exchange(test_next, 0, depth, test_iterations(400));
    }
}

static void everyone_with_everyone(void)
{
    for (int depth = 1; depth <= 64; depth *= 8) {
        zero_counters();
        for (int step = 0; step < test_size; step++)
            exchange((test_rank + step) % test_size, largest_exchange(), depth,
                     test_iterations(64));
    }
}

/* Requests only: the answer to a request is another request, sent by the main program. */
static void request_ping_pong(void)
{
    zero_counters();
    const int peer = test_rank ^ 1;
    if (peer >= test_size) return;
    for (int i = 0; i < test_iterations(3000); i++) {
        if (test_rank & 1) GASNET_BLOCKUNTIL(test_get(&pinged) == i + 1);
        gasnet_AMRequestShort0((gasnet_node_t)peer, H_PING);
        if (!(test_rank & 1)) GASNET_BLOCKUNTIL(test_get(&pinged) == i + 1);
    }
}

/* A token goes round: each rank waits for its predecessor, in AMPoll loops with sched_yield. */
static void ring(void)
{
    zero_counters();
    const int laps = test_iterations(500);
    for (int lap = 0; lap < laps; lap++) {
        if (test_rank != 0)
            while (test_get(&pinged) <= lap) {
                gasnet_AMPoll();
                sched_yield();
            }
        gasnet_AMRequestShort0((gasnet_node_t)test_next, H_PING);
        if (test_rank == 0) GASNET_BLOCKUNTIL(test_get(&pinged) == lap + 1);
    }
}

/* --- random mix --- */

static uint32_t checksum(const void *data, size_t n)
{
    const uint8_t *byte = data;
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < n; i++) sum = (sum ^ byte[i]) * 16777619u;
    return sum;
}

static void check_sum(const char *what, const void *buf, size_t n, gasnet_handlerarg_t sum)
{
    test_check((gasnet_handlerarg_t)checksum(buf, n) == sum, "%s of %zu bytes: wrong checksum",
               what, n);
}

enum { MIX_NO_REPLY, MIX_SHORT, MIX_MEDIUM, MIX_LONG };

/* Answers as asked, with the received payload; `offset` is the requester's slot for Long replies.
 */
static void mix_answer(gasnet_token_t t, int reply, void *buf, size_t n, gasnet_handlerarg_t sum,
                       gasnet_handlerarg_t offset)
{
    gasnet_node_t from = 0;
    gasnet_AMGetMsgSource(t, &from);
    if (reply == MIX_SHORT) gasnet_AMReplyShort1(t, H_MIX_SHORT_REPLY, offset);
    if (reply == MIX_MEDIUM)
        gasnet_AMReplyMedium2(t, H_MIX_MEDIUM_REPLY, buf, MIN(n, gasnet_AMMaxMedium()),
                              (gasnet_handlerarg_t)checksum(buf, MIN(n, gasnet_AMMaxMedium())),
                              offset);
    if (reply == MIX_LONG)
        gasnet_AMReplyLong2(t, H_MIX_LONG_REPLY, buf, n,
                            test_at((int)from, SEGMENT / 2 + (size_t)offset), sum, offset);
    test_add(&mixed, 1);
}

static void on_mix_short(gasnet_token_t t, gasnet_handlerarg_t reply, gasnet_handlerarg_t offset)
{
    char nothing = 0;
    mix_answer(t, reply, &nothing, 0, (gasnet_handlerarg_t)checksum(NULL, 0), offset);
}

static void on_mix_medium(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t sum,
                          gasnet_handlerarg_t reply, gasnet_handlerarg_t offset)
{
    check_sum("Medium", buf, n, sum);
    mix_answer(t, reply, buf, n, sum, offset);
}

static void on_mix_long(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t sum,
                        gasnet_handlerarg_t reply, gasnet_handlerarg_t offset)
{
    check_sum("Long", buf, n, sum);
    mix_answer(t, reply, buf, n, sum, offset);
}

static int slot_busy[DEPTH];

/* The number of slots of a rank, each of which has a destination of its own in every segment. */
static int mix_depth(void)
{
    int room = SEGMENT / 2 / SLOT / test_size;
    return room < DEPTH ? room : DEPTH;
}

static void on_mix_short_reply(gasnet_token_t t, gasnet_handlerarg_t offset)
{
    (void)t;
    __atomic_store_n(&slot_busy[offset / SLOT - test_rank * mix_depth()], 0, __ATOMIC_RELEASE);
    test_add(&answered, 1);
}

static void on_mix_payload_reply(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t sum,
                                 gasnet_handlerarg_t offset)
{
    check_sum("reply", buf, n, sum);
    on_mix_short_reply(t, offset);
}

static void mix_send(struct test_random *random, int slot)
{
    static char source[DEPTH][SLOT];
    int target = (int)test_below(random, (uint64_t)test_size);
    int reply = 1 + (int)test_below(random, 3);
    size_t offset = (size_t)(test_rank * mix_depth() + slot) * SLOT;
    size_t top = test_below(random, 4) ? 600 : SLOT;
    size_t n = test_below(random, MIN(top, gasnet_AMMaxLongReply()));
    uint64_t kind = test_below(random, 4);
    if (kind == MIX_MEDIUM) n = MIN(n, gasnet_AMMaxMedium());
    char *src = source[slot];
    test_fill(src, n, test_random(random));
    gasnet_handlerarg_t sum = (gasnet_handlerarg_t)checksum(src, n),
                        at = (gasnet_handlerarg_t)offset;
    gasnet_node_t to = (gasnet_node_t)target;
    switch (kind) {
    case MIX_SHORT:
        gasnet_AMRequestShort2(to, H_MIX_SHORT, reply, at);
        break;
    case MIX_MEDIUM:
        gasnet_AMRequestMedium3(to, H_MIX_MEDIUM, src, n, sum, reply, at);
        break;
    case MIX_LONG:
        gasnet_AMRequestLong3(to, H_MIX_LONG, src, n, test_at(target, offset), sum, reply, at);
        memset(src, 0xDD, n);
        break;
    default:
        gasnet_AMRequestLongAsync3(to, H_MIX_LONG, src, n, test_at(target, offset), sum, reply, at);
    }
}

static void random_mix(void)
{
    if (mix_depth() == 0) {
        test_skip("too many ranks for the segment");
        return;
    }
    zero_counters();
    struct test_random random = test_random_for(32);
    const int messages = test_iterations(6000);
    int unanswered = 0;
    for (int i = 0; i < messages; i++) {
        const int slot = i % mix_depth();
        GASNET_BLOCKUNTIL(__atomic_load_n(&slot_busy[slot], __ATOMIC_ACQUIRE) == 0);
        slot_busy[slot] = 1;
        mix_send(&random, slot);
        if (test_below(&random, 3) == 0) { /* a Request without a Reply, in between */
            gasnet_AMRequestShort2((gasnet_node_t)test_below(&random, (uint64_t)test_size),
                                   H_MIX_SHORT, MIX_NO_REPLY, 0);
            unanswered++;
        }
    }
    GASNET_BLOCKUNTIL(test_get(&answered) == messages);
    const uint32_t all = test_sync_sum((uint32_t)(messages + unanswered));
    /* unanswered ones may still be on their way: what is sent arrives, exactly once */
    uint32_t seen = 0;
    while ((seen = test_sync_sum((uint32_t)test_get(&mixed))) < all) gasnet_AMPoll();
    test_check(seen == all, "%u messages sent, %u handlers run", all, seen);
}

static gasnet_handlerentry_t table[] = {
    {H_COUNT, on_count},
    {H_COUNT_MEDIUM, on_count_medium},
    {H_ECHO, on_echo},
    {H_ECHOED, on_echoed},
    {H_ECHO_LONG, on_echo_long},
    {H_SMALL_ECHO, on_small_echo},
    {H_SMALL_ECHOED, on_small_echoed},
    {H_PING, on_ping},
    {H_MIX_MEDIUM, on_mix_medium},
    {H_MIX_LONG, on_mix_long},
    {H_MIX_SHORT, on_mix_short},
    {H_MIX_MEDIUM_REPLY, on_mix_payload_reply},
    {H_MIX_LONG_REPLY, on_mix_payload_reply},
    {H_MIX_SHORT_REPLY, on_mix_short_reply},
};

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"B30 IB-A1 Short flood into a receiver that seldom polls", short_flood},
        {"B30 Medium flood into a receiver that seldom polls", medium_flood},
        {"B30 flood of the largest Medium", largest_flood},
        {"B30 flood into a receiver that sits in a barrier", flood_into_barrier},
        {"IB-A1 flood into a receiver that is away", flood_absent_receiver},
        {"B31 all flood all, without Replies", all_to_all_flood},
        {"B31 pairwise exchange, depth 1 to 16", pairwise},
        {"B31 all ranks exchange with all", everyone_with_everyone},
        {"IB-A3 ping-pong of requests", request_ping_pong},
        {"B31 ring, waiting in AMPoll", ring},
        {"B32 random mix with checksums", random_mix},
    };
    test_start(&argc, &argv, table, TEST_COUNT(table), SEGMENT);
    payload = malloc(gasnet_AMMaxMedium() + SLOT);
    test_fill(payload, gasnet_AMMaxMedium(), 77);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
