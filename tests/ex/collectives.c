/* collectives.c - GASNet-EX: barriers, broadcasts and reductions as events, alone and many at once,
 * against what each rank can compute itself.
 */
#include <gasnet_coll.h>

#include "tests/programs/test.h"

enum { OUTSTANDING = 20, VECTOR = 3000, LONG = 100000, HALF = 1 << 20, SEGMENT = 2 * HALF };

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

/* The job's rank of a member of the team. */
static int member(gex_TM_t tm, int rank)
{
    return (int)gex_TM_TranslateRankToJobrank(tm, (gex_Rank_t)rank);
}

#define REDUCE(type, dt, ops, what)                                                                \
    for (int k = 0; k < TEST_COUNT(ops); k++) {                                                    \
        static type from[VECTOR], to[VECTOR];                                                      \
        bool right = true;                                                                         \
        for (size_t i = 0; i < n; i++) from[i] = (type)element(test_rank, i);                      \
        type *const result = in_place ? from : to;                                                 \
        gex_Event_Wait(                                                                            \
            gex_Coll_ReduceToAllNB(tm, result, from, dt, sizeof *from, n, ops[k], NULL, NULL, 0)); \
        for (size_t i = 0; i < n; i++) {                                                           \
            type expects = (type)element(member(tm, 0), i);                                        \
            for (int r = 1; r < size; r++) {                                                       \
                const int64_t other = element(member(tm, r), i);                                   \
                if (ops[k] == GEX_OP_MIN || ops[k] == GEX_OP_MAX)                                  \
                    expects =                                                                      \
                        ((type)other < expects) == (ops[k] == GEX_OP_MIN) ? (type)other : expects; \
                else if (ops[k] == GEX_OP_MULT && (dt) >= GEX_DT_FLT)                              \
                    expects = expects * (type)other;                                               \
                else                                                                               \
                    expects = (type)combined(ops[k], (int64_t)expects, other);                     \
            }                                                                                      \
            const double wanted = (double)expects, off = (double)result[i] - wanted;               \
            right = right && (result[i] == expects ||                                              \
                              ((dt) >= GEX_DT_FLT && off * off <= 1e-10 * wanted * wanted));       \
        }                                                                                          \
        test_check(right, "%zu of " what ", operation 0x%x, %d ranks%s", n, ops[k], size,          \
                   in_place ? ", in place" : "");                                                  \
    }

/* Every type and operation. */
static void reductions_of(gex_TM_t tm, size_t n, bool in_place)
{
    static const gex_OP_t of_integers[] = {GEX_OP_ADD, GEX_OP_MULT, GEX_OP_MIN, GEX_OP_MAX,
                                           GEX_OP_AND, GEX_OP_OR,   GEX_OP_XOR};
    static const gex_OP_t of_floats[] = {GEX_OP_ADD, GEX_OP_MIN, GEX_OP_MAX, GEX_OP_MULT};
    const int size = (int)gex_TM_QuerySize(tm);
    REDUCE(int64_t, GEX_DT_I64, of_integers, "I64");
    REDUCE(int32_t, GEX_DT_I32, of_integers, "I32");
    REDUCE(uint32_t, GEX_DT_U32, of_integers, "U32");
    REDUCE(uint64_t, GEX_DT_U64, of_integers, "U64");
    REDUCE(double, GEX_DT_DBL, of_floats, "DBL");
    REDUCE(float, GEX_DT_FLT, of_floats, "FLT");
}

static void reductions(void)
{
    static const size_t lengths[] = {1, 2, 7, 130, VECTOR};
    for (int s = 0; s < TEST_COUNT(lengths); s++)
        for (int in_place = 0; in_place < 2; in_place++)
            reductions_of(test_tm, lengths[s], in_place);
}

/* Teams of even and odd ranks, in reverse; and of all ranks but the last, with that one alone. */
static void sub_teams(void)
{
    for (int i = 0; i < 2; i++) {
        gex_TM_t tm;
        gex_TM_Split(&tm, test_tm, i ? test_rank == test_size - 1 : test_rank % 2,
                     i ? test_rank : -test_rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
        reductions_of(tm, 5, i);
        reductions_of(tm, VECTOR, !i);
        gex_TM_Destroy(tm, NULL, 0);
    }
}

/* --- functions of the client's --- */

static void places(size_t n, int root)
{
    static place_t from[VECTOR], to[VECTOR];
    for (size_t i = 0; i < n; i++) from[i] = (place_t){element(test_rank, i), test_rank, 0};
    gex_Event_Wait(root < 0
                       ? gex_Coll_ReduceToAllNB(test_tm, to, from, GEX_DT_USER, sizeof *from, n,
                                                GEX_OP_USER, greatest, &cdata, 0)
                       : gex_Coll_ReduceToOneNB(test_tm, (gex_Rank_t)root, to, from, GEX_DT_USER,
                                                sizeof *from, n, GEX_OP_USER, greatest, &cdata, 0));
    for (size_t i = 0; i < n && (root < 0 || root == test_rank); i++) {
        int best = 0;
        for (int r = 1; r < test_size; r++)
            if (element(r, i) > element(best, i)) best = r;
        if (!test_check(to[i].rank == best && to[i].value == element(best, i),
                        "element %zu of %zu, root %d", i, n, root))
            break;
    }
}

/* The function x -> scale * x + offset; the last bytes make an element unaligned. */
typedef struct __attribute__((packed)) line {
    uint32_t scale, offset;
    char rest[5];
} line_t;

static line_t line_of(int rank, size_t i)
{
    const uint64_t any = test_mix((uint64_t)rank << 32 ^ i ^ 77);
    return (line_t){(uint32_t)any | 1, (uint32_t)(any >> 32), "line"};
}

static line_t composed(line_t left, line_t right)
{
    return (line_t){left.scale * right.scale, left.scale * right.offset + left.offset, "line"};
}

/* `left` is only read: it may be the caller's vector. */
static void compose(const void *left, void *out, size_t count, const void *data)
{
    const line_t *a = left;
    line_t *b = out;
    if (data != &wrong) test_add(&wrong, 1);
    for (size_t i = 0; i < count; i++) b[i] = composed(a[i], b[i]);
}

static void lines(size_t n, int root, bool in_place)
{
    line_t *from = malloc(n * sizeof *from), *to = in_place ? from : malloc(n * sizeof *to);
    if (!from || !to) abort();
    for (size_t i = 0; i < n; i++) from[i] = line_of(test_rank, i);
    gex_Event_Wait(root < 0 ? gex_Coll_ReduceToAllNB(test_tm, to, from, GEX_DT_USER, sizeof *from,
                                                     n, GEX_OP_USER_NC, compose, &wrong, 0)
                            : gex_Coll_ReduceToOneNB(test_tm, (gex_Rank_t)root, to, from,
                                                     GEX_DT_USER, sizeof *from, n, GEX_OP_USER_NC,
                                                     compose, &wrong, 0));
    for (size_t i = 0; i < n; i++) {
        line_t expects = line_of(0, i);
        const line_t own = line_of(test_rank, i);
        for (int r = 1; r < test_size; r++) expects = composed(expects, line_of(r, i));
        const bool right =
            root >= 0 && root != test_rank ? true : memcmp(&to[i], &expects, sizeof expects) == 0;
        if (!test_check(right && (in_place || memcmp(&from[i], &own, sizeof own) == 0),
                        "element %zu of %zu in order, root %d%s", i, n, root,
                        in_place ? ", in place" : ""))
            break;
    }
    if (!in_place) free(to);
    free(from);
}

static void functions(void)
{
    static const size_t lengths[] = {1, 7, 600, VECTOR, LONG};
    for (int s = 0; s < TEST_COUNT(lengths); s++)
        for (int root = -1; root < test_size; root += s < 4 ? 1 : test_size) {
            if (s < 4) places(lengths[s], root);
            for (int in_place = 0; in_place < 2; in_place++) lines(lengths[s], root, in_place);
        }
    test_check(test_get(&wrong) == 0, "functions of reductions: %d calls are wrong",
               test_get(&wrong));
}

/* --- equal bits --- */

/* Doubles whose sum depends on the order. */
static void fill(double *vector, size_t n, uint64_t key)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t any = test_mix(test_mix(key << 32 ^ (uint64_t)test_rank) + i);
        vector[i] = (double)(int64_t)any / (double)(1 + (any & 0xffff));
    }
}

static void same_bits_of(gex_TM_t tm, double *to, double *from, size_t n)
{
    double *first = malloc(n * sizeof *first);
    if (!first) abort();
    fill(from, n, n);
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(tm, to, from, GEX_DT_DBL, sizeof *to, n, GEX_OP_ADD, NULL, NULL, 0));
    gex_Event_Wait(gex_Coll_BroadcastNB(tm, 0, first, to, n * sizeof *to, 0));
    test_check(memcmp(first, to, n * sizeof *to) == 0,
               "%zu sums differ from those of rank 0 of %u%s", n, gex_TM_QuerySize(tm),
               to == from ? ", in place" : "");
    free(first);
}

/* In the segment, and outside of it. */
static void same_bits(void)
{
    static const size_t lengths[] = {1, 3, 100, 1025, 5000, LONG};
    gex_TM_t teams[2] = {test_tm};
    char *segment = test_at(test_rank, 0);
    gex_TM_Split(&teams[1], test_tm, test_rank == 0, -test_rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    for (int i = 0; i < TEST_COUNT(lengths) * 2; i++) {
        const size_t n = lengths[i / 2];
        double *memory = malloc(2 * n * sizeof *memory);
        if (!memory) abort();
        same_bits_of(teams[i % 2], memory, memory + n, n);
        same_bits_of(teams[i % 2], memory, memory, n);
        same_bits_of(teams[i % 2], (double *)(void *)segment, (double *)(void *)(segment + HALF),
                     n);
        same_bits_of(teams[i % 2], (double *)(void *)segment, (double *)(void *)segment, n);
        free(memory);
    }
    gex_TM_Destroy(teams[1], NULL, 0);
}

/* --- many at once --- */

/* Several of several lengths on each of three teams, in place or not. */
static void many_reductions(void)
{
    enum { TEAMS = 3, EACH = 8, MOST = 4000 };
    static uint64_t from[TEAMS][EACH][MOST], to[TEAMS][EACH][MOST];
    gex_TM_t teams[TEAMS] = {test_tm};
    gex_Event_t events[TEAMS * EACH];
    gex_TM_Split(&teams[1], test_tm, test_rank % 2, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    gex_TM_Split(&teams[2], test_tm, 0, -test_rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    for (int i = 0; i < TEAMS * EACH; i++) {
        const int t = i % TEAMS, k = i / TEAMS;
        const size_t n = k % 2 ? MOST : (size_t)k + 1;
        for (size_t j = 0; j < n; j++) from[t][k][j] = (uint64_t)test_rank * j + (uint64_t)i;
        events[i] = gex_Coll_ReduceToAllNB(teams[t], k % 4 < 2 ? to[t][k] : from[t][k], from[t][k],
                                           GEX_DT_U64, 8, n, GEX_OP_ADD, NULL, NULL, 0);
    }
    gex_Event_WaitAll(events, TEAMS * EACH, 0);
    for (int i = 0; i < TEAMS * EACH; i++) {
        const int t = i % TEAMS, k = i / TEAMS, size = (int)gex_TM_QuerySize(teams[t]);
        const uint64_t *result = k % 4 < 2 ? to[t][k] : from[t][k];
        uint64_t ranks = 0;
        for (int r = 0; r < size; r++) ranks += (uint64_t)member(teams[t], r);
        for (size_t j = 0; j < (k % 2 ? MOST : (size_t)k + 1); j++)
            if (!test_check(result[j] == ranks * j + (uint64_t)(i * size),
                            "element %zu of reduction %d of team %d", j, k, t))
                break;
    }
    gex_TM_Destroy(teams[1], NULL, 0);
    gex_TM_Destroy(teams[2], NULL, 0);
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
        {"EX 11.3, 11.4: reductions of all types by all operations", reductions},
        {"EX 11.3: reductions of teams of some ranks", sub_teams},
        {"EX 11.4: reductions by functions, also in the order of ranks", functions},
        {"EX 11.3: all ranks have the same bits", same_bits},
        {"EX 11.3: several reductions on several teams at once", many_reductions},
        {"EX 11: collectives of all kinds at once", collectives},
    };
    test_ex_start(&argc, &argv, NULL, 0, SEGMENT);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
