/* outside.c - times and registrations of puts from outside the segment, for outside.sh.
 *
 *   outside time         microseconds of a put of 64 KiB from the segment, and of one from memory
 *                        outside it that is registered: the best of many, taken in turns
 *   outside trace SEED N N puts from the pieces of trace.h, and the misses of LRU on that trace;
 *                        how often memory was registered is in the job's counters
 */
#include <sys/mman.h>
#include <time.h>

#include "tests/bench/trace.h"
#include "tests/programs/test.h"

enum { ROUNDS = 60, PUTS = 20 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *pieces(void)
{
    char *memory = mmap(NULL, TRACE_BYTES + TRACE_PIECE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory + (TRACE_PIECE - (uintptr_t)memory % TRACE_PIECE) % TRACE_PIECE;
}

/* Of one put; shortens *best. */
static void put_from(char *source, double *best)
{
    const double start = seconds();
    for (int i = 0; i < PUTS; i++) gasnet_put_bulk(1, test_at(1, 0), source, TRACE_PIECE);
    const double took = (seconds() - start) / PUTS;
    if (took < *best) *best = took;
}

static void measure(void)
{
    char *inside = test_at(0, TRACE_PIECE), *outside = pieces();
    double best_inside = 1e9, best_outside = 1e9;
    memset(inside, 1, TRACE_PIECE);
    memset(outside, 1, TRACE_PIECE);
    for (int round = 0; round < ROUNDS; round++) {
        put_from(inside, &best_inside);
        put_from(outside, &best_outside);
    }
    printf("%.2f %.2f\n", best_inside * 1e6, best_outside * 1e6);
}

static void trace(uint64_t seed, unsigned n)
{
    char *memory = pieces();
    printf("%u\n", trace_lru_misses(seed, n));
    while (n--)
        gasnet_put_bulk(1, test_at(1, 0), memory + (size_t)trace_next(&seed) * TRACE_PIECE,
                        TRACE_PIECE);
}

int main(int argc, char **argv)
{
    test_start(&argc, &argv, NULL, 0, 2 * TRACE_PIECE);
    if (test_size != 2 || argc < 2) {
        if (test_rank == 0)
            fprintf(stderr, "usage: gasnetrun_ibv -n 2 outside time | trace SEED N\n");
        gasnet_exit(1);
    }
    if (test_rank == 0 && argc == 4)
        trace(strtoull(argv[2], NULL, 10), (unsigned)atoi(argv[3]));
    else if (test_rank == 0)
        measure();
    fflush(stdout);
    test_sync();
    gasnet_exit(0);
}
