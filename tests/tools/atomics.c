/* atomics.c - every operation of the atomic families: results, wraparound, flags, and with threads
 * exact counts, untorn halves and the litmus patterns.
 *
 * Compiled for the tools without and with threads; the threaded parts exist in the latter only.
 */
#include "tests/unit/check.h"

#include "gasnet_tools.h"

/* Runs a family's operations on one cell; results are checked against plain arithmetic. A macro,
 * since the families differ in their names alone. */
#define CHECK_FAMILY(P, V, FLAGS)                                                                  \
    do {                                                                                           \
        static P##_t cell = P##_init(5);                                                           \
        const V max = (V) ~(V)0;                                                                   \
        int good = P##_read(&cell, FLAGS) == 5;                                                    \
        P##_set(&cell, max, FLAGS);                                                                \
        good &= P##_read(&cell, FLAGS) == max;                                                     \
        P##_increment(&cell, FLAGS);                                                               \
        good &= P##_read(&cell, FLAGS) == 0;                                                       \
        P##_decrement(&cell, FLAGS);                                                               \
        good &= P##_read(&cell, FLAGS) == max;                                                     \
        good &= P##_add(&cell, 3, FLAGS) == 2;                                                     \
        good &= P##_subtract(&cell, 1, FLAGS) == 1;                                                \
        good &= P##_decrement_and_test(&cell, FLAGS) != 0;                                         \
        good &= P##_decrement_and_test(&cell, FLAGS) == 0;                                         \
        good &= P##_read(&cell, FLAGS) == max;                                                     \
        good &= P##_compare_and_swap(&cell, 7, 8, FLAGS) == 0;                                     \
        good &= P##_compare_and_swap(&cell, (V)-1, 8, FLAGS) != 0;                                 \
        good &= P##_swap(&cell, 9, FLAGS) == 8;                                                    \
        good &= P##_subtract(&cell, 10, FLAGS) == max;                                             \
        good &= P##_add(&cell, max, FLAGS) == (V)(max - 1);                                        \
        check(good, #P " with flags " #FLAGS);                                                     \
    } while (0)

static void test_operations(void)
{
    CHECK_FAMILY(gasnett_atomic, gasnett_atomic_val_t, 0);
    CHECK_FAMILY(gasnett_atomic32, uint32_t, 0);
    CHECK_FAMILY(gasnett_atomic64, uint64_t, 0);
    CHECK_FAMILY(gasnett_strongatomic, gasnett_atomic_val_t, 0);
    CHECK_FAMILY(gasnett_strongatomic32, uint32_t, 0);
    CHECK_FAMILY(gasnett_strongatomic64, uint64_t, 0);
    CHECK_FAMILY(gasnett_atomic, gasnett_atomic_val_t, GASNETT_ATOMIC_REL);
    CHECK_FAMILY(gasnett_atomic, gasnett_atomic_val_t, GASNETT_ATOMIC_ACQ);
    CHECK_FAMILY(gasnett_atomic32, uint32_t, GASNETT_ATOMIC_ACQ_IF_TRUE);
    CHECK_FAMILY(gasnett_atomic32, uint32_t, GASNETT_ATOMIC_ACQ_IF_FALSE);
    CHECK_FAMILY(gasnett_atomic64, uint64_t, GASNETT_ATOMIC_MB_PRE | GASNETT_ATOMIC_MB_POST);
    CHECK_FAMILY(gasnett_atomic64, uint64_t, GASNETT_ATOMIC_RMB_PRE | GASNETT_ATOMIC_WMB_POST);
}

static void test_ranges(void)
{
    gasnett_atomic_t cell = gasnett_atomic_init(0);
    gasnett_atomic_val_t top = (gasnett_atomic_val_t)GASNETT_ATOMIC_SIGNED_MAX;
    int good;

    gasnett_atomic_set(&cell, (gasnett_atomic_val_t)-1, 0);
    check(gasnett_atomic_signed(gasnett_atomic_read(&cell, 0)) == -1, "negative values come back");
    gasnett_atomic_set(&cell, top, 0);
    gasnett_atomic_increment(&cell, 0);
    check(gasnett_atomic_signed(gasnett_atomic_read(&cell, 0)) == GASNETT_ATOMIC_SIGNED_MIN,
          "signed maximum wraps to the minimum");
    gasnett_atomic_set(&cell, GASNETT_ATOMIC_MAX, 0);
    good =
        gasnett_atomic_compare_and_swap(&cell, (gasnett_atomic_val_t)-1, GASNETT_ATOMIC_MAX + 1, 0);
    check(good && gasnett_atomic_read(&cell, 0) == 0, "compare_and_swap wraps its arguments");
    check(GASNETT_ATOMIC_MAX >= 0xffffff, "at least 24 bits");
    check(GASNETT_HAVE_ATOMIC_CAS && GASNETT_HAVE_ATOMIC_ADD_SUB && GASNETT_HAVE_STRONGATOMIC_CAS &&
              GASNETT_HAVE_STRONGATOMIC_ADD_SUB,
          "compare-and-swap and add are there");
}

/* Storage declared as something else of the same size. */
static void test_storage(void)
{
    static double reals[3];
    static float small[3];
    int64_t words[2] = {-1, -1};
    double two = 2.0;
    uint64_t bits;

    memcpy(&bits, &two, sizeof bits);
    gasnett_atomic64_set((gasnett_atomic64_t *)&reals[1], bits, 0);
    check(reals[0] == 0 && reals[1] == 2.0 && reals[2] == 0, "64 bits in an array of doubles");
    gasnett_atomic32_set((gasnett_atomic32_t *)&small[1], 0x40000000, 0);
    check(small[0] == 0 && small[1] == 2.0f && small[2] == 0, "32 bits in an array of floats");
    gasnett_atomic64_set((gasnett_atomic64_t *)&words[0], 0, 0);
    check(words[0] == 0 && words[1] == -1, "64 bits in an array of integers");
    check(sizeof(gasnett_atomic32_t) == 4 && sizeof(gasnett_atomic64_t) == 8, "exact sizes");
}

#if GASNETT_THREAD_SAFE
enum { N_THREADS = 4, N_ROUNDS = 50000 };

static gasnett_atomic_t counter = gasnett_atomic_init(0);
static gasnett_atomic_t cas_counter = gasnett_atomic_init(0);
static gasnett_atomic64_t wide = gasnett_atomic64_init(0);
static gasnett_atomic_t torn = gasnett_atomic_init(0);

static void *count_up(void *arg)
{
    uint64_t mark = (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < N_ROUNDS; i++) {
        gasnett_atomic_val_t old;
        uint64_t seen;
        gasnett_atomic_add(&counter, 2, 0);
        gasnett_atomic_decrement(&counter, 0);
        do old = gasnett_atomic_read(&cas_counter, 0);
        while (!gasnett_atomic_compare_and_swap(&cas_counter, old, old + 1, 0));
        /* The two halves always hold the same number. */
        gasnett_atomic64_set(&wide, mark << 32 | mark, 0);
        seen = gasnett_atomic64_read(&wide, 0);
        if (seen >> 32 != (seen & 0xffffffff)) gasnett_atomic_increment(&torn, 0);
    }
    return NULL;
}

static void test_counts(void)
{
    pthread_t thread[N_THREADS];
    for (uintptr_t i = 0; i < N_THREADS; i++)
        pthread_create(&thread[i], NULL, count_up, (void *)(i + 1));
    for (int i = 0; i < N_THREADS; i++) pthread_join(thread[i], NULL);
    check(gasnett_atomic_read(&counter, 0) == N_THREADS * N_ROUNDS,
          "additions of threads all count");
    check(gasnett_atomic_read(&cas_counter, 0) == N_THREADS * N_ROUNDS,
          "compare-and-swap loops of threads all count");
    check(gasnett_atomic_read(&torn, 0) == 0, "64-bit values are never torn");
}

/* Litmus: two threads meet at a gate each round, run their side, and compare what they saw. */
static gasnett_atomic_t gate = gasnett_atomic_init(0);
static gasnett_atomic_t x = gasnett_atomic_init(0), y = gasnett_atomic_init(0);
static int plain_data, saw[2];
static int forbidden_sb, forbidden_mp;

static void meet(unsigned int number)
{
    unsigned int spins = 0;
    gasnett_atomic_increment(&gate, GASNETT_ATOMIC_MB_PRE);
    while (gasnett_atomic_read(&gate, GASNETT_ATOMIC_MB_POST) < number) {
        gasnett_spinloop_hint();
        if (++spins % 64 == 0) gasnett_sched_yield();
    }
}

static void *litmus_side(void *arg)
{
    const int me = (int)(uintptr_t)arg, flags = GASNETT_ATOMIC_MB_PRE | GASNETT_ATOMIC_MB_POST;
    gasnett_atomic_t *mine = me ? &y : &x, *other = me ? &x : &y;
    unsigned int met = 0;

    for (int i = 1; i <= N_ROUNDS / 5; i++) {
        /* Store buffering: at least one side must see the other's store. */
        meet(met += 2);
        gasnett_atomic_set(mine, (gasnett_atomic_val_t)i, flags);
        saw[me] = gasnett_atomic_read(other, flags) == (gasnett_atomic_val_t)i;
        meet(met += 2);
        if (me == 0) forbidden_sb += !saw[0] && !saw[1];
        meet(met += 2);
        /* Message passing: a thread that sees the flag sees the data. */
        if (me == 0) {
            plain_data = i;
            gasnett_atomic_set(&x, 0x80000000u + (gasnett_atomic_val_t)i, GASNETT_ATOMIC_REL);
        } else {
            unsigned int spins = 0;
            while (gasnett_atomic_read(&x, GASNETT_ATOMIC_ACQ) !=
                   0x80000000u + (gasnett_atomic_val_t)i)
                if (++spins % 64 == 0) gasnett_sched_yield();
            forbidden_mp += plain_data != i;
        }
    }
    return NULL;
}

static void test_litmus(void)
{
    pthread_t thread[2];
    for (uintptr_t i = 0; i < 2; i++) pthread_create(&thread[i], NULL, litmus_side, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    check(forbidden_sb == 0, "store buffering with full fences is sequentially consistent");
    check(forbidden_mp == 0, "message passing with release and acquire");
}
#else
static void test_counts(void) {}
static void test_litmus(void) {}
#endif

int main(void)
{
    test_operations();
    test_ranges();
    test_storage();
    test_counts();
    test_litmus();
    return check_end();
}
