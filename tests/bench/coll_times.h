/* coll_times.h - the loop that times collectives, the same for this library and for MPI.
 *
 * The includer defines meet(), and calls measure() on all ranks.  Rooted
 * operations change the root from call to call, so that each depends on the one before.  Rank 0
 * prints lines `NAME BYTES MICROSECONDS`: the best of several rounds.
 */
#ifndef TEST_COLL_TIMES_H
#define TEST_COLL_TIMES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct collective {
    const char *name;
    void (*run)(int root, size_t nbytes);
    size_t largest; /* 0: without data */
};
enum { LARGEST_BLOCK = 64 << 10, LARGEST = 1 << 20 };
static void meet(void);

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double best_round(const struct collective *c, size_t nbytes, int count, int size)
{
    double best = 1e9;
    for (int round = 0; round < 6; round++) { /* the first one warms up */
        meet();
        const double start = seconds();
        for (int i = 0; i < count; i++) c->run(i % size, nbytes);
        const double took = (seconds() - start) / count;
        if (round > 0 && took < best) best = took;
    }
    return best;
}

/* Whether $TEST_COLLECTIVES, which is a list of names, has this one or is not set. */
static int chosen(const char *name)
{
    const char *const list = getenv("TEST_COLLECTIVES");
    const size_t length = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return 1;
    return !list;
}

/* The table ends with a row without a name. */
static void measure(const struct collective *c, int rank, int size)
{
    static const size_t bytes[] = {8, 1024, LARGEST_BLOCK, LARGEST};
    static const int counts[] = {1000, 1000, 100, 10};
    for (; c->name; c++) {
        if (!chosen(c->name)) continue;
        for (int j = 0; j == 0 || (j < 4 && bytes[j] <= c->largest); j++) {
            const int count = counts[j] * 4 / (size * size) + 1;
            const double took = best_round(c, bytes[j], count, size);
            if (rank == 0) printf("%s %zu %.3f\n", c->name, bytes[j], took * 1e6);
        }
    }
    fflush(stdout);
}

#endif
