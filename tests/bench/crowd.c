/* crowd.c - many processes on few processors: the time of a barrier, and what waiting costs.
 *
 * barrier ROUNDS: the mean and the best time of a barrier, over ten batches.  wait SECONDS: rank 0
 * sleeps so long while the others wait for it in a barrier; their processor time together.  Rank 0
 * prints one line.
 */
#include "tests/programs/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double processor_us(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void time_barriers(int rounds)
{
    enum { BATCHES = 10 };
    double best = 1e18;
    for (int i = 0; i < 3; i++) barrier();
    const double start = now_us();
    for (int b = 0; b < BATCHES; b++) {
        const double from = now_us();
        for (int i = 0; i < rounds; i++) barrier();
        const double each = (now_us() - from) / rounds;
        if (each < best) best = each;
    }
    const double mean = (now_us() - start) / (BATCHES * rounds);
    if (test_rank == 0) printf("crowd: %.1f us mean, %.1f us best\n", mean, best);
}

static void time_waiting(int seconds)
{
    const struct timespec rest = {.tv_sec = seconds};
    barrier();
    const double before = processor_us();
    if (test_rank == 0) nanosleep(&rest, NULL);
    barrier();
    double mine = processor_us() - before, all = 0;
    memcpy(test_at(test_rank, 0), &mine, sizeof mine);
    barrier();
    for (int r = 1; test_rank == 0 && r < test_size; r++) {
        double one;
        gasnet_get(&one, (gasnet_node_t)r, test_at(r, 0), sizeof one);
        all += one;
    }
    if (test_rank == 0) printf("crowd: %.0f ms of processor time\n", all / 1e3);
}

int main(int argc, char **argv)
{
    test_start(&argc, &argv, NULL, 0, 65536);
    if (argc != 3) {
        fprintf(stderr, "usage: crowd barrier ROUNDS | wait SECONDS\n");
        gasnet_exit(2);
    }
    (argv[1][0] == 'b' ? time_barriers : time_waiting)(atoi(argv[2]));
    barrier();
    gasnet_exit(0);
}
