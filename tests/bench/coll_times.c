/* coll_times.c - times of collectives, for collectives.sh. */
#include "tests/bench/coll_times.h"

#include <gasnet_coll.h>

#include "tests/programs/test.h"

enum { FLAGS = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL };

static char *src, *dst; /* in the segment: a block for each rank */
static gex_TM_t tm;

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

/* Of GASNet-EX: */
static void ex_broadcast(int root, size_t n)
{
    gex_Event_Wait(gex_Coll_BroadcastNB(tm, (gex_Rank_t)root, src, src, n, 0));
}
static void ex_reduce(int root, size_t n)
{
    gex_Event_Wait(gex_Coll_ReduceToOneNB(tm, (gex_Rank_t)root, dst, src, GEX_DT_I64, 8, n / 8,
                                          GEX_OP_ADD, NULL, NULL, 0));
}
static void ex_reduce_all(int root, size_t n)
{
    (void)root;
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(tm, dst, src, GEX_DT_I64, 8, n / 8, GEX_OP_ADD, NULL, NULL, 0));
}
static void ex_barrier(int root, size_t n)
{
    (void)root, (void)n;
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
}

static const struct collective collectives[] = {
    {"broadcast", broadcast, LARGEST_BLOCK},
    {"gather_all", gather_all, LARGEST_BLOCK},
    {"exchange", exchange, LARGEST_BLOCK},
    {"reduce", reduce, LARGEST_BLOCK},
    {"barrier", barrier, 0},
    {"ex_broadcast", ex_broadcast, LARGEST},
    {"ex_reduce", ex_reduce, LARGEST},
    {"ex_reduce_all", ex_reduce_all, LARGEST},
    {"ex_barrier", ex_barrier, 0},
    {NULL, NULL, 0},
};
static void meet(void)
{
    barrier(0, 0);
}

int main(int argc, char **argv)
{
    gasnet_coll_fn_entry_t functions[] = {{sum, GASNET_COLL_AMSAFE}};
    test_init(&argc, &argv);
    const size_t blocks = (size_t)test_size * LARGEST_BLOCK;
    const size_t area = blocks > LARGEST ? blocks : LARGEST;
    test_attach(NULL, 0, 2 * area);
    gasnet_coll_init(NULL, 0, functions, 1, 0);
    gasnet_QueryGexObjects(NULL, NULL, &tm, NULL);
    src = test_at(test_rank, 0);
    dst = test_at(test_rank, area);
    memset(src, 1, 2 * area);
    measure(collectives, test_rank, test_size);
    meet();
    gasnet_exit(0);
}
