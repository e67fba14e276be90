/* atomic_kernels.c - unit test of extended-ref/ex/atomic_kernels.c: which operations a type has,
 * what each does to an element and its neighbours in memory, the extremes of integers, the bits of
 * floating-point numbers, and threads that use one element at once.
 */
#include <pthread.h>
#include <string.h>

#include "extended-ref/ex/atomics.h"
#include "tests/unit/check.h"

enum { THREADS = 4, ROUNDS = 20000 };

/* The element lies between guards. */
static uint64_t memory[3];
static uint64_t earlier;

static gasnete_atomic_t *kernel_of(gex_DT_t dt, gex_OP_t op)
{
    return gasnete_atomic_types[GASNETE_BIT(dt)].of[GASNETE_BIT(op)];
}

/* Runs one operation on an element; false if it touched more, or its result is not the value. */
static bool run(gex_DT_t dt, gex_OP_t op, const void *before, const void *a, const void *b)
{
    const size_t size = gasnete_atomic_types[GASNETE_BIT(dt)].size;
    uint64_t operand1 = 0, operand2 = 0;
    memset(memory, 0x5a, sizeof memory);
    memset(&earlier, 0x5a, sizeof earlier);
    const uint64_t guard = memory[0];
    memcpy(&memory[1], before, size);
    memcpy(&operand1, a, size);
    memcpy(&operand2, b, size);
    if (kernel_of(dt, op)(&memory[1], gasnete_op_fetches(op) ? &earlier : NULL, operand1,
                          operand2) != GEX_EVENT_INVALID)
        return false;
    uint64_t expected = guard;
    if (gasnete_op_fetches(op)) memcpy(&expected, before, size);
    const bool whole = !memcmp((char *)&memory[1] + size, &guard, sizeof guard - size);
    return whole && earlier == expected && memory[0] == guard && memory[2] == guard;
}

/* The element is `expected` after the operation and its fetching form. */
#define CASE(T, type, op, before, a, b, expected)                                                  \
    do {                                                                                           \
        const type x_ = (before), a_ = (a), b_ = (b), y_ = (expected);                             \
        check_each(run(GEX_DT_##T, GEX_OP_##op, &x_, &a_, &b_), #op " of " #T ": memory, result"); \
        check_each(!memcmp(&memory[1], &y_, sizeof y_), #op " of " #T ": the element");            \
    } while (0)
#define BOTH(T, type, op, before, a, expected)                                                     \
    CASE(T, type, op, before, a, 9, expected);                                                     \
    CASE(T, type, F##op, before, a, 9, expected)

#define ORDERED(T, type)                                                                           \
    BOTH(T, type, ADD, 20, 3, 23);                                                                 \
    BOTH(T, type, SUB, 20, 3, 17);                                                                 \
    BOTH(T, type, MULT, 20, 3, 60);                                                                \
    BOTH(T, type, MIN, 20, 3, 3);                                                                  \
    BOTH(T, type, MIN, 3, 20, 3);                                                                  \
    BOTH(T, type, MAX, 20, 3, 20);                                                                 \
    BOTH(T, type, MAX, 3, 20, 20);                                                                 \
    BOTH(T, type, INC, 20, 3, 21);                                                                 \
    BOTH(T, type, DEC, 20, 3, 19);                                                                 \
    CASE(T, type, SET, 20, 3, 9, 3);                                                               \
    CASE(T, type, SWAP, 20, 3, 9, 3);                                                              \
    CASE(T, type, GET, 20, 3, 9, 20);                                                              \
    CASE(T, type, CAS, 20, 3, 9, 20);                                                              \
    CASE(T, type, CAS, 20, 20, 9, 9);                                                              \
    CASE(T, type, FCAS, 20, 3, 9, 20);                                                             \
    CASE(T, type, FCAS, 20, 20, 9, 9);                                                             \
    check_all("ordinary values of " #T);
#define BITWISE(T, type)                                                                           \
    ORDERED(T, type)                                                                               \
    BOTH(T, type, AND, 0x3c, 0x15, 0x14);                                                          \
    BOTH(T, type, OR, 0x3c, 0x15, 0x3d);                                                           \
    BOTH(T, type, XOR, 0x3c, 0x15, 0x29);                                                          \
    check_all("bits of " #T);

static void values(void)
{
    GASNETI_AD_TYPES(BITWISE, ORDERED)
}

/* `least` and `most` of an integer type wrap into each other. */
#define EXTREMES(T, type, least, most)                                                             \
    BOTH(T, type, ADD, most, 1, least);                                                            \
    BOTH(T, type, INC, most, 0, least);                                                            \
    BOTH(T, type, SUB, least, 1, most);                                                            \
    BOTH(T, type, DEC, least, 0, most);                                                            \
    BOTH(T, type, MULT, most, 2, (type)-2);                                                        \
    BOTH(T, type, MIN, most, least, least);                                                        \
    BOTH(T, type, MAX, least, most, most);                                                         \
    check_all("extremes of " #T)

static void extremes(void)
{
    EXTREMES(I32, int32_t, INT32_MIN, INT32_MAX);
    EXTREMES(U32, uint32_t, 0, UINT32_MAX);
    EXTREMES(I64, int64_t, INT64_MIN, INT64_MAX);
    EXTREMES(U64, uint64_t, 0, UINT64_MAX);
}

#define BITS(T, type, nan)                                                                         \
    CASE(T, type, FCAS, (type)-0.0, 0, 9, (type)-0.0);                                             \
    CASE(T, type, FCAS, (type)-0.0, (type)-0.0, 9, 9);                                             \
    CASE(T, type, CAS, nan, nan, 9, 9);                                                            \
    CASE(T, type, SWAP, 1, nan, 9, nan);                                                           \
    CASE(T, type, FADD, (type)0.5, (type)0.25, 9, (type)0.75);                                     \
    CASE(T, type, FMIN, (type)-1.5, (type)0.25, 9, (type)-1.5);                                    \
    check_all("the bits of " #T)

static void bits(void)
{
    BITS(FLT, float, __builtin_nanf("7"));
    BITS(DBL, double, __builtin_nan("7"));
}

static void table(void)
{
    const gex_OP_t bitwise = GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR;
    const gex_OP_t singles = GEX_OP_SET | GEX_OP_CAS | GEX_OP_SWAP | GEX_OP_FCAS | GEX_OP_GET;
    const gex_OP_t arithmetic =
        GEX_OP_ADD | GEX_OP_SUB | GEX_OP_MULT | GEX_OP_MIN | GEX_OP_MAX | GEX_OP_INC | GEX_OP_DEC;
    for (unsigned type = 0; type < GASNETE_ATOMIC_TYPES; type++) {
        const gex_DT_t dt = 1U << type;
        gex_OP_t expected = arithmetic | GEX_OP_TO_FETCHING(arithmetic) | singles, found = 0;
        if (dt < GEX_DT_FLT) expected |= bitwise | GEX_OP_TO_FETCHING(bitwise);
        for (unsigned op = 0; op < 32; op++)
            if (gasnete_atomic_types[type].of[op]) found |= 1U << op;
        check_each(found == expected, "type %u has the operations %#x", type, found);
        check_each(gasnete_atomic_types[type].size ==
                       (dt & (GEX_DT_I32 | GEX_DT_U32 | GEX_DT_FLT) ? 4 : 8),
                   "the size of type %u", type);
    }
    check_all("the operations of each type");
}

/* --- threads --- */

static _Alignas(8) double of_loops, of_increments;
static uint64_t seen; /* one bit for each thread */

static void *add(void *argument)
{
    const unsigned id = (unsigned)(uintptr_t)argument;
    const double one = 1;
    uint64_t word, got;
    memcpy(&word, &one, sizeof word);
    for (int i = 0; i < ROUNDS; i++) {
        double x, y;
        kernel_of(GEX_DT_DBL, GEX_OP_FADD)(&of_increments, &got, word, 0);
        kernel_of(GEX_DT_DBL, GEX_OP_GET)(&of_loops, &x, 0, 0);
        for (uint64_t a, b;; x = y) {
            const double next = x + 1;
            memcpy(&a, &x, sizeof a);
            memcpy(&b, &next, sizeof b);
            kernel_of(GEX_DT_DBL, GEX_OP_FCAS)(&of_loops, &y, a, b);
            if (y == x) break;
        }
        kernel_of(GEX_DT_U64, GEX_OP_XOR)(&seen, NULL, 1ULL << id, 0);
        kernel_of(GEX_DT_U64, GEX_OP_FXOR)(&seen, &got, 1ULL << (id + 32), 0);
    }
    kernel_of(GEX_DT_U64, GEX_OP_FXOR)(&seen, &got, 1ULL << id, 0);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, add, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    check(of_increments == (double)THREADS * ROUNDS, "additions of threads: %.0f", of_increments);
    check(of_loops == (double)THREADS * ROUNDS, "loops of threads: %.0f", of_loops);
    check(seen == (1 << THREADS) - 1, "bits of threads: %#llx", (unsigned long long)seen);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    table();
    values();
    extremes();
    bits();
    threads();
    return check_end();
}
