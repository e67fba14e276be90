/* testcollbasic.c - each collective once in each sync mode, of sizes around the limits of its
 * protocols, with each rank as root, one image a node: the first test to run after a change of the
 * engine.
 *
 * Arguments: `tells OP BYTES` prints the algorithm that is chosen for an operation; `repeats OP
 * COUNT BYTES` only repeats an operation, and `mixed OP COUNT BYTES` does so in a team of another
 * order.
 *
 * A block of rank r for rank s is a pattern of (r, s, position), so that a wrong block, length or
 * offset is seen.
 */
#include <gasnet_coll.h>
#include <malloc.h>

#include "tests/programs/test.h"

enum { MOST = 100000 };
static const size_t sizes[] = {1, 8, 1000, 4024, 4025, 30000, MOST};
static const int ins[] = {GASNET_COLL_IN_NOSYNC, GASNET_COLL_IN_MYSYNC, GASNET_COLL_IN_ALLSYNC};
static const int outs[] = {GASNET_COLL_OUT_NOSYNC, GASNET_COLL_OUT_MYSYNC, GASNET_COLL_OUT_ALLSYNC};
static unsigned char *src, *dst; /* [test_size * MOST] */

static unsigned char pattern(int from, int to, size_t i)
{
    return (unsigned char)(from * 31 + to * 7 + (int)(i % 251));
}

static void fill(unsigned char *block, int from, int to, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++) block[i] = pattern(from, to, i);
}

static void verify(const char *what, const unsigned char *block, int from, int to, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++) {
        if (block[i] == pattern(from, to, i)) continue;
        test_check(0, "%s of %zu bytes: byte %zu of the block from %d to %d is wrong", what, nbytes,
                   i, from, to);
        return;
    }
    test_check(1, "%s", what);
}

static void fill_sources(size_t nbytes)
{
    for (int r = 0; r < test_size; r++) fill(src + (size_t)r * nbytes, test_rank, r, nbytes);
    memset(dst, 0xee, (size_t)test_size * nbytes);
}

static void rooted(size_t nbytes, int root, int flags)
{
    fill_sources(nbytes);
    gasnet_coll_broadcast(GASNET_TEAM_ALL, dst, (gasnet_image_t)root, src, nbytes, flags);
    verify("broadcast", dst, root, 0, nbytes);
    gasnet_coll_scatter(GASNET_TEAM_ALL, dst, (gasnet_image_t)root, src, nbytes, flags);
    verify("scatter", dst, root, test_rank, nbytes);
    gasnet_coll_gather(GASNET_TEAM_ALL, (gasnet_image_t)root, dst, src, nbytes, flags);
    for (int r = 0; test_rank == root && r < test_size; r++)
        verify("gather", dst + (size_t)r * nbytes, r, 0, nbytes);
    gasnet_coll_broadcast(GASNET_TEAM_ALL, src, (gasnet_image_t)root, src, nbytes, flags);
    verify("broadcast in place", src, root, 0, nbytes);
}

static void unrooted(size_t nbytes, int flags)
{
    fill_sources(nbytes);
    gasnet_coll_gather_all(GASNET_TEAM_ALL, dst, src, nbytes, flags);
    for (int r = 0; r < test_size; r++)
        verify("gather_all", dst + (size_t)r * nbytes, r, 0, nbytes);
    gasnet_coll_exchange(GASNET_TEAM_ALL, dst, src, nbytes, flags);
    for (int r = 0; r < test_size; r++)
        verify("exchange", dst + (size_t)r * nbytes, r, test_rank, nbytes);
}

static void check_movement(void)
{
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int mode = 0; mode < 9; mode++) {
            int flags = ins[mode / 3] | outs[mode % 3] | GASNET_COLL_LOCAL;
            /* No rank may read a source that its owner fills again.  */
            gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
            rooted(sizes[s], mode % test_size, flags);
            gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
            unrooted(sizes[s], flags);
            gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
        }
}

static void in_segment(void)
{
    unsigned char *own_src = src, *own_dst = dst;
    src = test_seg[test_rank].addr;
    dst = src + (size_t)test_size * MOST;
    check_movement();
    src = own_src;
    check_movement();
    dst = own_dst;
    src = test_seg[test_rank].addr;
    check_movement();
    src = own_src;
}

/* --- reductions --- */

static void add(void *results, size_t count, const void *left, size_t left_count, const void *right,
                size_t size, int flags, int arg)
{
    const uint64_t *a = left, *b = right;
    uint64_t *to = results;
    test_check(count == left_count && size == sizeof *to && arg == 7 && flags == 0,
               "a reduction's arguments: %zu %zu %zu %d %d", count, left_count, size, flags, arg);
    for (size_t i = 0; i < count; i++) to[i] = a[i] + b[i];
}

/* Keeps first and last of a range of ranks; 0xbad if two ranges are not adjacent. */
static void join(void *results, size_t count, const void *left, size_t left_count,
                 const void *right, size_t size, int flags, int arg)
{
    const uint32_t *a = left, *b = right;
    uint32_t *to = results;
    (void)left_count, (void)size, (void)flags, (void)arg;
    for (size_t i = 0; i < count * 2; i += 2) {
        uint32_t first = a[i], good = a[i + 1] + 1 == b[i];
        to[i + 1] = good ? b[i + 1] : 0xbad;
        to[i] = good ? first : 0xbad;
    }
}

static void reduce_one(size_t count, int root, int flags)
{
    uint64_t *from = calloc(count, sizeof *from), *to = calloc(count, sizeof *to);
    uint32_t *range = (uint32_t *)from, *joined = (uint32_t *)to;
    for (size_t i = 0; i < count; i++) from[i] = (uint64_t)test_rank * 1000 + i;
    gasnet_coll_reduce(GASNET_TEAM_ALL, (gasnet_image_t)root, to, from, 0, 0, 8, count, 0, 7,
                       flags);
    uint64_t sum = (uint64_t)test_size * (uint64_t)(test_size - 1) / 2 * 1000, bad = 0;
    for (size_t i = 0; i < count; i++) bad += to[i] != sum + (uint64_t)test_size * i;
    test_check(test_rank != root || bad == 0, "reduce of %zu: %u wrong", count, (unsigned)bad);
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
    for (size_t i = 0; i < count * 2; i++) range[i] = (uint32_t)test_rank;
    gasnet_coll_reduce(GASNET_TEAM_ALL, (gasnet_image_t)root, joined, range, 0, 0, 8, count, 1, 7,
                       flags);
    for (size_t i = bad = 0; i < count; i++)
        bad += joined[i * 2] != 0 || joined[i * 2 + 1] != (uint32_t)test_size - 1;
    test_check(test_rank != root || bad == 0, "reduce in order of %zu: %u wrong", count,
               (unsigned)bad);
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
    free(from);
    free(to);
}

static void check_reduce(void)
{
    static const size_t counts[] = {1, 5, 503, 600, 20000};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int mode = 0; mode < 9; mode++)
            reduce_one(counts[c], mode % test_size,
                       ins[mode / 3] | outs[mode % 3] | GASNET_COLL_LOCAL);
}

/* --- many operations at once --- */

enum { MANY = 65535 };

static void check_many(void)
{
    static uint32_t from[MANY], to[MANY];
    static gasnet_coll_handle_t handles[MANY];
    const int flags = GASNET_COLL_IN_NOSYNC | GASNET_COLL_OUT_NOSYNC | GASNET_COLL_LOCAL;
    int wrong = 0;
    for (int i = 0; i < MANY; i++) from[i] = (uint32_t)i * 3 + 1;
    memset(to, 0, sizeof to);
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
    for (int i = 0; i < MANY; i++)
        handles[i] = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, &to[i],
                                              (gasnet_image_t)(i % test_size), &from[i], 4, flags);
    for (int i = MANY - 1; i >= 0; i--) gasnet_coll_wait_sync(handles[i]);
    for (int i = 0; i < MANY; i++) wrong += to[i] != from[i];
    test_check(wrong == 0, "%d of %d broadcasts are wrong", wrong, MANY);
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static long allocated(void)
{
    const struct mallinfo2 now = mallinfo2();
    return (long)(now.uordblks + now.hblkhd);
}

/* The root begins when all others have, so that none of their broadcasts is complete before. */
static void check_memory(void)
{
    enum { COUNT = 4096, MOST_BYTES = 1000 };
    static uint32_t from[COUNT], to[COUNT];
    static gasnet_coll_handle_t handles[COUNT];
    const int flags = GASNET_COLL_IN_NOSYNC | GASNET_COLL_OUT_NOSYNC | GASNET_COLL_LOCAL;
    volatile uint64_t *begun = test_at(test_rank, 0);
    int wrong = 0;
    for (int r = 0; r < test_size; r++) begun[r] = 0;
    for (int i = 0; i < COUNT; i++) from[i] = (uint32_t)i * 5 + 2;
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
    for (int r = 1; test_rank == 0 && r < test_size; r++) GASNET_BLOCKUNTIL(begun[r]);
    const long before = allocated();
    for (int i = 0; i < COUNT; i++)
        handles[i] = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, &to[i], 0, &from[i], 4, flags);
    if (test_rank > 0) {
        const long each = (allocated() - before) / COUNT;
        test_check(each <= MOST_BYTES, "%ld bytes of memory for each broadcast", each);
        gasnet_put_val(0, test_at(0, (size_t)test_rank * 8), 1, 8);
    }
    for (int i = 0; i < COUNT; i++) gasnet_coll_wait_sync(handles[i]);
    for (int i = 0; i < COUNT; i++) wrong += to[i] != (uint32_t)i * 5 + 2;
    test_check(wrong == 0, "%d of %d broadcasts are wrong", wrong, COUNT);
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void check_aggregate(void)
{
    uint32_t from[100], to[100];
    const int flags = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL;
    for (int i = 0; i < 100; i++) from[i] = (uint32_t)(test_rank * 1000 + i), to[i] = 0;
    for (int i = 0; i < 99; i++) {
        gasnet_coll_handle_t h =
            gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, &to[i], (gasnet_image_t)(i % test_size),
                                     &from[i], 4, flags | GASNET_COLL_AGGREGATE);
        test_check(h == GASNET_COLL_INVALID_HANDLE, "an aggregated call returns a handle");
    }
    gasnet_coll_handle_t last = gasnet_coll_broadcast_nb(
        GASNET_TEAM_ALL, &to[99], (gasnet_image_t)(99 % test_size), &from[99], 4, flags);
    while (gasnet_coll_try_sync(last) != GASNET_OK) continue;
    for (int i = 0; i < 100; i++)
        test_check(to[i] == (uint32_t)(i % test_size * 1000 + i), "aggregate: %d is wrong", i);
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static const struct test_rule rules[] = {
    {"B81 all movements, sizes, sync modes and roots, in heap memory", check_movement},
    {"B81 the same in the segment, and with one side in it", in_segment},
    {"B83 reduce: sums, and an operation that is not commutative", check_reduce},
    {"broadcasts that are outstanding take little memory each", check_memory},
    {"65,535 broadcasts outstanding, synced in reverse order", check_many},
    {"a chain of aggregated calls is synced by its last handle", check_aggregate},
};

/* `tells OP BYTES`: rank 0 prints what the library chooses for an operation, by its number.  */
static void tell(int op, size_t nbytes)
{
    gasnet_coll_args_t args = GASNET_COLL_ARGS_INITIALIZER;
    uint32_t algorithm, count, *values;
    char *tree;
    args.dst = &dst, args.src = &src, args.nbytes = nbytes;
    gasnet_coll_tune_generic_op(GASNET_TEAM_ALL, (gasnet_coll_optype_t)op, args,
                                ins[1] | outs[1] | GASNET_COLL_LOCAL, NULL, NULL, &algorithm,
                                &count, &values, &tree);
    if (test_rank == 0)
        printf("# algorithm %u, segment %u, tree %s\n", algorithm,
               values[GASNET_COLL_PIPE_SEG_SIZE], tree);
    free(values);
    free(tree);
}

/* Ranks 0, 2, ..., 1, 3, ... of the job. */
static gasnet_team_handle_t team_mixed(void)
{
    return gasnet_coll_team_split(GASNET_TEAM_ALL, 0,
                                  (gasnet_node_t)(test_rank % 2 * test_size + test_rank), NULL);
}

/* Rank 1 is the root. */
static void repeat(gasnet_team_handle_t team, int op, int count, size_t n)
{
    enum { BROADCAST, SCATTER, GATHER, REDUCE, GATHER_ALL, ALL_SYNC, BARRIER, IN_ORDER, EXCHANGE };
    const int flags = ins[1] | outs[1] | GASNET_COLL_LOCAL;
    const int flags_all_sync = ins[2] | outs[2] | GASNET_COLL_LOCAL;
    for (int i = 0; i < count; i++) {
        if (op == BROADCAST) gasnet_coll_broadcast(team, dst, 1, src, n, flags);
        if (op == SCATTER) gasnet_coll_scatter(team, dst, 1, src, n, flags);
        if (op == GATHER) gasnet_coll_gather(team, 1, dst, src, n, flags);
        if (op == REDUCE) gasnet_coll_reduce(team, 1, dst, src, 0, 0, 8, n / 8, 0, 7, flags);
        if (op == GATHER_ALL) gasnet_coll_gather_all(team, dst, src, n, flags);
        if (op == ALL_SYNC) gasnet_coll_broadcast(team, dst, 1, src, n, flags_all_sync);
        if (op == BARRIER) gasnet_coll_barrier(team, i, 0);
        if (op == EXCHANGE) gasnet_coll_exchange(team, dst, src, n, flags);
        if (op == IN_ORDER) gasnet_coll_reduce(team, 1, dst, src, 0, 0, 8, n / 8, 1, 7, flags);
    }
    gasnet_barrier_notify(0, 0);
    gasnet_barrier_wait(0, 0);
}

int main(int argc, char **argv)
{
    gasnet_coll_fn_entry_t functions[] = {{add, 0}, {join, GASNET_COLL_NONCOMM}};
    test_init(&argc, &argv);
    test_attach(NULL, 0, (((size_t)test_size * MOST * 2) | 65535) + 1);
    gasnet_coll_init(NULL, gasnet_mynode(), functions, 2, 0);
    src = malloc((size_t)test_size * MOST);
    dst = malloc((size_t)test_size * MOST);
    if (argc == 4) {
        tell(atoi(argv[2]), (size_t)atoi(argv[3]));
        gasnet_exit(0);
    }
    if (argc == 5) {
        repeat(argv[1][0] == 'm' ? team_mixed() : GASNET_TEAM_ALL, atoi(argv[2]), atoi(argv[3]),
               (size_t)atoi(argv[4]));
        gasnet_exit(0);
    }
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
