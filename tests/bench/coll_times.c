/* coll_times.c - times of collectives, for collectives.sh. */
#include "tests/programs/test.h"
#include <gasnet_coll.h>
#include "tests/bench/coll_times.h"

enum { FLAGS = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL };

static char *src, *dst; /* in the segment: a block for each rank */

/* As fast as a client makes it. */
__attribute__((optimize("O3"))) static void sum(void *results, size_t count, const void *left,
                                                size_t left_count, const void *right,
                                                size_t elem_size, int flags, int arg)
{
    (void)left_count, (void)elem_size, (void)flags, (void)arg;
    int64_t *result = results;
    const int64_t *a = left, *b = right;
#pragma GCC ivdep
    for (size_t i = 0; i < count; i++) result[i] = a[i] + b[i];
}

static void broadcast(int root, size_t n)
{
    gasnet_coll_broadcast(GASNET_TEAM_ALL, src, (gasnet_image_t)root, src, n, FLAGS);
}
static void gather_all(int root, size_t n)
{
    (void)root;
    gasnet_coll_gather_all(GASNET_TEAM_ALL, dst, src, n, FLAGS);
}
static void exchange(int root, size_t n)
{
    (void)root;
    gasnet_coll_exchange(GASNET_TEAM_ALL, dst, src, n, FLAGS);
}
static void reduce(int root, size_t n)
{
    gasnet_coll_reduce(GASNET_TEAM_ALL, (gasnet_image_t)root, dst, src, 0, 0, 8, n / 8, 0, 0,
                       FLAGS);
}
static void barrier(int root, size_t n)
{
    (void)root, (void)n;
    gasnet_coll_barrier(GASNET_TEAM_ALL, 0, GASNET_BARRIERFLAG_UNNAMED);
}

static const struct collective collectives[COLLECTIVES] = {{"broadcast", broadcast},
                                                           {"gather_all", gather_all},
                                                           {"exchange", exchange},
                                                           {"reduce", reduce},
                                                           {"barrier", barrier}};
static void meet(void)
{
    barrier(0, 0);
}

int main(int argc, char **argv)
{
    gasnet_coll_fn_entry_t functions[] = {{sum, GASNET_COLL_AMSAFE}};
    test_init(&argc, &argv);
    const size_t area = (size_t)test_size * LARGEST_BLOCK;
    test_attach(NULL, 0, 2 * area);
    gasnet_coll_init(NULL, 0, functions, 1, 0);
    src = test_at(test_rank, 0);
    dst = test_at(test_rank, area);
    memset(src, 1, 2 * area);
    measure(test_rank, test_size);
    meet();
    gasnet_exit(0);
}
