/* neighbours.c - Active Messages and puts between two ranks that share memory, beside what they
 * cannot be faster than: two flags in that memory, memcpy, and stores.  A Medium has 4 KiB, or as
 * much as it can.
 *
 * Each batch takes all kinds in turns, both ranks as often; the best batch of each kind counts.
 * Rank 0 prints one line, in microseconds.  A put and a store are of 8 bytes, as all words of
 * `BYTES` together.
 */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "tests/programs/test.h"

enum { H_PING = 128, H_MEDIUM_PING, H_PONG, BYTES = 4096, ROUNDS = 200, BATCHES = 50 };

typedef _Atomic uint64_t flag_t;

static int heard;             /* messages */
static flag_t *mine, *theirs; /* in the segments */
static char *there;           /* `BYTES` of rank 1's segment, here */
static char *target;          /* `BYTES` of rank 1's segment, as rank 1 has it */
static char payload[BYTES] __attribute__((aligned(8)));
static size_t bytes;

static void on_ping(gasnet_token_t token)
{
    test_add(&heard, 1);
    gasnet_AMReplyShort0(token, H_PONG);
}

static void on_medium_ping(gasnet_token_t token, void *buf, size_t n)
{
    (void)buf, (void)n;
    on_ping(token);
}

static void on_pong(gasnet_token_t token)
{
    (void)token;
    test_add(&heard, 1);
}

static gasnet_handlerentry_t table[] = {
    {H_PING, on_ping}, {H_MEDIUM_PING, on_medium_ping}, {H_PONG, on_pong}};

static void flags(void)
{
    static uint64_t n;
    for (int i = 0; i < ROUNDS; i++) {
        n++;
        if (test_rank == 0) atomic_store_explicit(theirs, n, memory_order_release);
        while (atomic_load_explicit(mine, memory_order_acquire) != n) continue;
        if (test_rank == 1) atomic_store_explicit(theirs, n, memory_order_release);
    }
}

static void messages(bool medium)
{
    static int expected;
    for (int i = 0; i < ROUNDS; i++) {
        expected++;
        if (test_rank == 0 && medium) gasnet_AMRequestMedium0(1, H_MEDIUM_PING, payload, bytes);
        if (test_rank == 0 && !medium) gasnet_AMRequestShort0(1, H_PING);
        while (test_get(&heard) != expected) gasnet_AMPoll();
    }
}

static void shorts(void)
{
    messages(false);
}

static void mediums(void)
{
    messages(true);
}

static void copies(void)
{
    for (int i = 0; test_rank == 0 && i < ROUNDS; i++) {
        memcpy(there, payload, bytes);
        __asm__ volatile("" ::: "memory");
    }
}

static void puts_of_words(void)
{
    for (int i = 0; test_rank == 0 && i < ROUNDS; i++)
        for (size_t at = 0; at < BYTES; at += 8) gasnet_put(1, target + at, payload + at, 8);
}

static void stores_of_words(void)
{
    for (int i = 0; test_rank == 0 && i < ROUNDS; i++)
        for (size_t at = 0; at < BYTES; at += 8) {
            memcpy(there + at, payload + at, 8);
            __asm__ volatile("" ::: "memory"); /* each is stored */
        }
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void measure(void)
{
    static void (*const kinds[])(void) = {flags,  shorts,        mediums,
                                          copies, puts_of_words, stores_of_words};
    double best[TEST_COUNT(kinds)];
    for (int batch = 0; batch < BATCHES; batch++)
        for (int k = 0; k < TEST_COUNT(kinds); k++) {
            flags(); /* until ranks 0 and 1 run */
            const double from = now_us();
            kinds[k]();
            const double each = (now_us() - from) / ROUNDS;
            if (batch == 0 || each < best[k]) best[k] = each;
        }
    if (test_rank == 0)
        printf("neighbours: flags %.3f Short %.3f Medium %.3f memcpy %.3f bytes %zu puts %.3f "
               "stores %.3f\n",
               best[0], best[1], best[2], best[3], bytes, best[4], best[5]);
}

int main(int argc, char **argv)
{
    gasnet_nodeinfo_t info[2];
    test_start(&argc, &argv, table, TEST_COUNT(table), 65536);
    gasnet_getNodeInfo(info, 2);
    if (test_size != 2 || info[0].supernode != info[1].supernode) {
        if (test_rank == 0) fprintf(stderr, "neighbours: needs two ranks that share memory\n");
        gasnet_exit(2);
    }
#if GASNET_PSHM
    mine = (flag_t *)(void *)test_at(test_rank, 0);
    theirs = (flag_t *)(void *)((char *)test_at(!test_rank, 0) + info[!test_rank].offset);
    there = (char *)theirs + BYTES;
    target = (char *)test_at(1, 0) + BYTES;
#endif
    bytes = gasnet_AMMaxMedium() < BYTES ? gasnet_AMMaxMedium() : BYTES;
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    measure();
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_exit(0);
}
