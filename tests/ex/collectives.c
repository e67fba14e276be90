/* collectives.c - GASNet-EX: barriers, broadcasts and reductions as events, alone and many at once,
 * against what each rank can compute itself.
 */
#include "tests/programs/test.h"
#include <gasnet_coll.h>

enum { OUTSTANDING = 20, VECTOR = 3000, LONG = 100000, SEGMENT = 4096 };

static int wrong, cdata;

/* A barrier is not complete before the last rank has called. */
static void barriers(void)
{
    gex_Event_t events[OUTSTANDING];
    if (test_rank != 0)
        for (int i = 0; i < OUTSTANDING; i++) events[i] = gex_Coll_BarrierNB(test_tm, 0);
    if (test_rank != 0)
        for (int i = 0; i < 100; i++) {
            gasnet_AMPoll();
            test_check(gex_Event_Test(gex_Event_QueryLeaf(events[0], GEX_EC_PUT)) != GASNET_OK,
                       "a barrier is complete before rank 0 has called");
        }
    test_sync();
    if (test_rank == 0)
        for (int i = 0; i < OUTSTANDING; i++) events[i] = gex_Coll_BarrierNB(test_tm, 0);
    gex_Event_WaitAll(events, OUTSTANDING, 0);
    for (int i = 0; i < test_iterations(50); i++) gex_Coll_BarrierBlocking(test_tm, 0);
}

static void broadcasts(void)
{
    static const size_t sizes[] = {0, 1, 8, 1000, 40000, LONG};
    for (int root = 0; root < test_size; root++)
        for (int s = 0; s < TEST_COUNT(sizes); s++) {
            static char from[LONG], to[LONG];
            const uint64_t key = (uint64_t)(root * 10 + s);
            const bool in_place = s % 2 && root == test_rank;
            memset(to, 0, sizeof to);
            if (root == test_rank) test_fill(in_place ? to : from, sizes[s], key);
            gex_Event_Wait(gex_Coll_BroadcastNB(test_tm, (gex_Rank_t)root, to, in_place ? to : from,
                                                sizes[s], 0));
            test_check(test_mismatch(to, sizes[s], key) < 0, "%zu bytes of rank %d", sizes[s],
                       root);
        }
}

/* Element i of a rank. */
static int64_t element(int rank, size_t i)
{
    return (int64_t)(test_mix((uint64_t)rank << 32 ^ i) % 1000) - 500;
}

static int64_t combined(gex_OP_t op, int64_t a, int64_t b)
{
    switch (op) {
    case GEX_OP_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case GEX_OP_MULT:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case GEX_OP_MIN:
        return a < b ? a : b;
    case GEX_OP_MAX:
        return a > b ? a : b;
    case GEX_OP_AND:
        return a & b;
    case GEX_OP_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* Elements of a user's type: the greatest value, and its rank. */
typedef struct place {
    int64_t value;
    int32_t rank, unused;
} place_t;

static void greatest(const void *left, void *out, size_t count, const void *data)
{
    const place_t *a = left;
    place_t *b = out;
    if (data != &cdata) test_add(&wrong, 1);
    for (size_t i = 0; i < count; i++)
        if (a[i].value > b[i].value || (a[i].value == b[i].value && a[i].rank < b[i].rank))
            b[i] = a[i];
}

#define REDUCE(type, dt, ops, what)                                                                \
    for (int k = 0; k < TEST_COUNT(ops); k++) {                                                    \
        static type from[VECTOR], to[VECTOR];                                                      \
        bool right = true;                                                                         \
        for (size_t i = 0; i < n; i++) from[i] = (type)element(test_rank, i);                      \
        type *const result = in_place ? from : to;                                                 \
        gex_Event_Wait(gex_Coll_ReduceToAllNB(test_tm, result, from, dt, sizeof *from, n, ops[k],  \
                                              NULL, NULL, 0));                                     \
        for (size_t i = 0; i < n; i++) {                                                           \
            type expects = (type)element(0, i);                                                    \
            for (int r = 1; r < test_size; r++)                                                    \
                expects = ops[k] == GEX_OP_MULT && (dt) >= GEX_DT_FLT                              \
                              ? expects * (type)element(r, i)                                      \
                              : (type)combined(ops[k], (int64_t)expects, element(r, i));           \
            const double wanted = (double)expects, off = (double)result[i] - wanted;               \
            right = right && (result[i] == expects ||                                              \
                              ((dt) >= GEX_DT_FLT && off * off <= 1e-10 * wanted * wanted));       \
        }                                                                                          \
        test_check(right, "%zu of " what ", operation 0x%x", n, ops[k]);                           \
    }

static void reductions(void)
{
    static const gex_OP_t all[] = {GEX_OP_ADD, GEX_OP_MULT, GEX_OP_MIN, GEX_OP_MAX,
                                   GEX_OP_AND, GEX_OP_OR,   GEX_OP_XOR};
    static const gex_OP_t of_signed[] = {GEX_OP_ADD, GEX_OP_MIN, GEX_OP_MAX, GEX_OP_XOR};
    static const gex_OP_t of_unsigned[] = {GEX_OP_ADD, GEX_OP_MULT, GEX_OP_AND, GEX_OP_OR};
    static const gex_OP_t of_floats[] = {GEX_OP_ADD, GEX_OP_MIN, GEX_OP_MAX, GEX_OP_MULT};
    static const size_t lengths[] = {1, 7, VECTOR};
    for (int s = 0; s < TEST_COUNT(lengths); s++) {
        const size_t n = lengths[s];
        const bool in_place = s == 1;
        REDUCE(int64_t, GEX_DT_I64, all, "I64");
        REDUCE(int32_t, GEX_DT_I32, of_signed, "I32");
        REDUCE(uint32_t, GEX_DT_U32, of_unsigned, "U32");
        REDUCE(uint64_t, GEX_DT_U64, of_unsigned, "U64");
        REDUCE(double, GEX_DT_DBL, of_floats, "DBL");
        REDUCE(float, GEX_DT_FLT, of_floats, "FLT");
        for (int root = 0; root < test_size; root++) {
            static place_t from[VECTOR], to[VECTOR];
            for (size_t i = 0; i < n; i++) from[i] = (place_t){element(test_rank, i), test_rank, 0};
            gex_Event_Wait(gex_Coll_ReduceToOneNB(test_tm, (gex_Rank_t)root, to, from, GEX_DT_USER,
                                                  sizeof *from, n, GEX_OP_USER, greatest, &cdata,
                                                  0));
            for (size_t i = 0; i < n && root == test_rank; i++) {
                int best = 0;
                for (int r = 1; r < test_size; r++)
                    if (element(r, i) > element(best, i)) best = r;
                if (!test_check(to[i].rank == best && to[i].value == element(best, i),
                                "element %zu of %zu", i, n))
                    break;
            }
        }
    }
    test_check(test_get(&wrong) == 0, "functions of reductions: %d calls are wrong",
               test_get(&wrong));
}

/* Many of different kinds at once, synchronised in a random order. */
static void collectives(void)
{
    struct test_random random = test_random_for(9);
    for (int round = 0; round < test_iterations(10); round++) {
        static uint64_t sums[OUTSTANDING], ranks[OUTSTANDING], shared[OUTSTANDING];
        gex_Event_t events[OUTSTANDING];
        for (int i = 0; i < OUTSTANDING; i++) {
            const gex_Rank_t root = (gex_Rank_t)(i % test_size);
            ranks[i] = (uint64_t)test_rank + 1;
            shared[i] = (uint64_t)(root + (gex_Rank_t)i) * (root == (gex_Rank_t)test_rank);
            if (i % 3 == 0)
                events[i] = gex_Coll_BarrierNB(test_tm, 0);
            else if (i % 3 == 1)
                events[i] =
                    gex_Coll_BroadcastNB(test_tm, root, &shared[i], &shared[i], sizeof *shared, 0);
            else
                events[i] = gex_Coll_ReduceToAllNB(test_tm, &sums[i], &ranks[i], GEX_DT_U64, 8, 1,
                                                   GEX_OP_ADD, NULL, NULL, 0);
        }
        for (int left = OUTSTANDING; left > 0; left--) {
            const int i = (int)test_below(&random, (uint64_t)left);
            gex_Event_Wait(events[i]);
            events[i] = events[left - 1];
        }
        for (int i = 0; i < OUTSTANDING; i++) {
            if (i % 3 == 1)
                test_check(shared[i] == (uint64_t)(i % test_size + i), "broadcast %d", i);
            if (i % 3 == 2)
                test_check(sums[i] == (uint64_t)test_size * (uint64_t)(test_size + 1) / 2,
                           "reduction %d", i);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"EX 11.1: barriers, many at once", barriers},
        {"EX 11.2: broadcasts", broadcasts},
        {"EX 11.3, 11.4: reductions", reductions},
        {"EX 11: collectives of all kinds at once", collectives},
    };
    test_ex_start(&argc, &argv, NULL, 0, SEGMENT);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
