/* testlat.c - a table of latencies and bandwidths between rank 0 and rank 1, for `make bench`.
 *
 * Rank 0 drives, rank 1 waits in a barrier, further ranks do nothing.  The best of several rounds
 * is shown; figures on machines with fewer cores than processes show the scheduler.
 */
#include <time.h>

#include "tests/programs/test.h"

enum { H_PING = 128, H_PONG, H_MEDIUM_PING, H_MEDIUM_PONG, SEGMENT = 2 << 20, ROUNDS = 5 };

static int pongs, window = 1; /* operations in flight */
static char *here, *there;

static void on_ping(gasnet_token_t t)
{
    gasnet_AMReplyShort0(t, H_PONG);
}
static void on_pong(gasnet_token_t t)
{
    (void)t;
    test_add(&pongs, 1);
}
static void on_medium_ping(gasnet_token_t t, void *buf, size_t n)
{
    gasnet_AMReplyMedium0(t, H_MEDIUM_PONG, buf, n);
}
static void on_medium_pong(gasnet_token_t t, void *buf, size_t n)
{
    (void)buf, (void)n;
    on_pong(t);
}

static gasnet_handlerentry_t table[] = {{H_PING, on_ping},
                                        {H_PONG, on_pong},
                                        {H_MEDIUM_PING, on_medium_ping},
                                        {H_MEDIUM_PONG, on_medium_pong}};

/* Each does `count` operations of `n` bytes and returns when all are complete. */
static void put(int count, size_t n)
{
    while (count--) gasnet_put(1, there, here, n);
}
static void get(int count, size_t n)
{
    while (count--) gasnet_get(here, 1, there, n);
}
static void put_window(int count, size_t n)
{
    for (int i = 1; i <= count; i++) {
        gasnet_put_nbi_bulk(1, there, here, n);
        if (i % window == 0) gasnet_wait_syncnbi_puts();
    }
    gasnet_wait_syncnbi_puts();
}
static void get_window(int count, size_t n)
{
    for (int i = 1; i <= count; i++) {
        gasnet_get_nbi_bulk(here, 1, there, n);
        if (i % window == 0) gasnet_wait_syncnbi_gets();
    }
    gasnet_wait_syncnbi_gets();
}
static void short_ping(int count, size_t n)
{
    (void)n;
    while (count--) {
        const int before = test_get(&pongs);
        gasnet_AMRequestShort0(1, H_PING);
        GASNET_BLOCKUNTIL(test_get(&pongs) != before);
    }
}
static void medium_ping(int count, size_t n)
{
    while (count--) {
        const int before = test_get(&pongs);
        gasnet_AMRequestMedium0(1, H_MEDIUM_PING, here, n);
        GASNET_BLOCKUNTIL(test_get(&pongs) != before);
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double best(void (*work)(int, size_t), int count, size_t n)
{
    double shortest = 1e9;
    work(count / 10 + 1, n); /* warm */
    for (int round = 0; round < ROUNDS; round++) {
        double start = seconds();
        work(count, n);
        double took = (seconds() - start) / count;
        if (took < shortest) shortest = took;
    }
    return shortest;
}

static void measure(void)
{
    static const struct {
        const char *name;
        void (*work)(int, size_t);
        int count;
        size_t bytes;
        int window;
        bool bandwidth;
    } row[] = {
        {"put, 8 B", put, 2000, 8, 1, false},
        {"get, 8 B", get, 2000, 8, 1, false},
        {"put, 4 KiB", put, 2000, 4096, 1, false},
        {"get, 4 KiB", get, 2000, 4096, 1, false},
        {"put, 8 B, 16 in flight", put_window, 2000, 8, 16, false},
        {"put, 8 B, 64 in flight", put_window, 2048, 8, 64, false},
        {"AM Short there and back", short_ping, 1000, 0, 1, false},
        {"AM Medium 64 B there and back", medium_ping, 1000, 64, 1, false},
        {"put, 64 KiB, 16 in flight", put_window, 160, 64 << 10, 16, true},
        {"get, 64 KiB, 16 in flight", get_window, 160, 64 << 10, 16, true},
        {"put, 1 MiB, 4 in flight", put_window, 20, 1 << 20, 4, true},
        {"get, 1 MiB, 4 in flight", get_window, 20, 1 << 20, 4, true},
    };
    printf("%-34s %10s\n", GASNET_CONDUIT_NAME_STR ", rank 0 to rank 1", "best");
    for (int i = 0; i < TEST_COUNT(row); i++) {
        window = row[i].window;
        double took = best(row[i].work, row[i].count, row[i].bytes);
        if (row[i].bandwidth)
            printf("%-34s %10.1f MB/s\n", row[i].name, (double)row[i].bytes / took / 1e6);
        else
            printf("%-34s %10.3f us\n", row[i].name, took * 1e6);
    }
}

int main(int argc, char **argv)
{
    test_start(&argc, &argv, table, TEST_COUNT(table), SEGMENT);
    if (test_size < 2) {
        if (test_rank == 0)
            fprintf(stderr, "testlat: needs two ranks: gasnetrun_ibv -n 2 testlat\n");
        gasnet_exit(1);
    }
    here = test_at(test_rank, 0);
    there = test_at(1, 0);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_UNNAMED);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_UNNAMED);
    if (test_rank == 0) measure();
    fflush(stdout);
    gasnet_barrier_notify(1, GASNET_BARRIERFLAG_UNNAMED);
    gasnet_barrier_wait(1, GASNET_BARRIERFLAG_UNNAMED);
    gasnet_exit(0);
}
