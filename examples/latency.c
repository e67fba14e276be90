/* latency.c - latency and bandwidth between rank 0 and rank 1: blocking 8-byte put and get, Active
 * Message round trip, puts and gets of 64 KiB and 1 MiB.
 *
 * Each row is repeated until it takes LONG_ENOUGH; the table shows the best of three such runs.
 * Further ranks only wait in the barrier.  With more processes than cores the figures measure the
 * scheduler.
 *
 *   gasnetrun_ibv -n 2 latency
 */
#include <gasnet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PING = 203, PONG = 204 };
enum { SMALL = 8, LARGE = 1 << 20, WINDOW = 16 };
static const double LONG_ENOUGH = 0.05; /* seconds */

static char *mine, *theirs; /* LARGE bytes at the start of each segment, one buffer for all rows */
static const gasnet_node_t peer = 1;
static volatile int pongs;

static void ping_handler(gasnet_token_t token)
{
    gasnet_AMReplyShort0(token, PONG);
}

static void pong_handler(gasnet_token_t token)
{
    (void)token;
    pongs++;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The measured operations: each function performs `count` of them and returns when all are
 * complete.  */
static void put(int count, size_t bytes)
{
    while (count--) gasnet_put(peer, theirs, mine, bytes);
}

static void get(int count, size_t bytes)
{
    while (count--) gasnet_get(mine, peer, theirs, bytes);
}

static void message(int count, size_t bytes)
{
    (void)bytes;
    while (count--) {
        int expected = pongs + 1;
        gasnet_AMRequestShort0(peer, PING);
        GASNET_BLOCKUNTIL(pongs == expected);
    }
}

static void stream_puts(int count, size_t bytes)
{
    for (int i = 0; i < count; i++) {
        gasnet_put_nbi_bulk(peer, theirs, mine, bytes);
        if (i % WINDOW == WINDOW - 1) gasnet_wait_syncnbi_puts();
    }
    gasnet_wait_syncnbi_puts();
}

static void stream_gets(int count, size_t bytes)
{
    for (int i = 0; i < count; i++) {
        gasnet_get_nbi_bulk(mine, peer, theirs, bytes);
        if (i % WINDOW == WINDOW - 1) gasnet_wait_syncnbi_gets();
    }
    gasnet_wait_syncnbi_gets();
}

/* Seconds for one operation. */
static double measure(void (*operation)(int, size_t), size_t bytes)
{
    double best = 0;
    int count = WINDOW;
    for (int round = 0; round < 3;) {
        double began = now();
        operation(count, bytes);
        double spent = now() - began;
        if (spent < LONG_ENOUGH) {
            count *= 2;
            continue;
        }
        if (round++ == 0 || spent / count < best) best = spent / count;
    }
    return best;
}

static void show_latency(const char *what, void (*operation)(int, size_t))
{
    printf("  %-24s %9.2f us\n", what, 1e6 * measure(operation, SMALL));
}

static void show_bandwidth(const char *what, void (*operation)(int, size_t), size_t bytes)
{
    printf("  %-24s %9.0f MB/s\n", what, 1e-6 * (double)bytes / measure(operation, bytes));
}

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t handlers[] = {{PING, ping_handler}, {PONG, pong_handler}};
    gasnet_seginfo_t segments[2];

    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    if (gasnet_attach(handlers, 2, LARGE, 0) != GASNET_OK) return 1;
    if (gasnet_nodes() < 2) {
        fprintf(stderr, "latency measures between two processes: start it with -n 2\n");
        gasnet_exit(1);
    }
    gasnet_getSegmentInfo(segments, 2);
    mine = segments[0].addr;
    theirs = segments[peer].addr;
    if (gasnet_mynode() < 2) memset(segments[gasnet_mynode()].addr, 1, LARGE);

    barrier();
    if (gasnet_mynode() == 0) {
        printf("between two processes:\n");
        show_latency("put, 8 bytes", put);
        show_latency("get, 8 bytes", get);
        show_latency("AM round trip", message);
        show_bandwidth("puts of 64 KiB", stream_puts, 64 << 10);
        show_bandwidth("puts of 1 MiB", stream_puts, LARGE);
        show_bandwidth("gets of 64 KiB", stream_gets, 64 << 10);
        show_bandwidth("gets of 1 MiB", stream_gets, LARGE);
    }
    barrier();
    gasnet_exit(0);
}
