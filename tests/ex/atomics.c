/* atomics.c - GASNet-EX: remote atomics of each type, operation, form and flag, one after another
 * against a model, and all ranks and threads at once, whose outcome is known as a whole.
 *
 *     atomics [adapter]
 * With the argument the domains have no operations but those of an adapter, which the environment
 * asks for, and targets do not poll.
 *
 * Operands and results are words, of which a value of a type has the first bytes.
 */
#include <gasnet_ratomic.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/test.h"
#ifdef GASNET_PAR
#include <pthread.h>
#endif

enum { SHARED = 64 << 10, COUNTERS = 8, SEGMENT = 128 << 10 };
#define FETCHES(op) ((op) >= GEX_OP_FAND)

/* --- the types --- */

typedef struct type {
    const char *name;
    gex_DT_t dt;
    size_t size;
    gex_OP_t ops;
    bool floats;
    uint64_t (*of)(int64_t value);
    uint64_t (*arithmetic)(gex_OP_t op, uint64_t x, uint64_t a);
    gex_Event_t (*nb)(gex_AD_t ad, void *result, gex_Rank_t rank, void *at, gex_OP_t op, uint64_t a,
                      uint64_t b, gex_Flags_t flags);
    int (*nbi)(gex_AD_t ad, void *result, gex_Rank_t rank, void *at, gex_OP_t op, uint64_t a,
               uint64_t b, gex_Flags_t flags);
} type_t;

/* `wide` is a type in which sums and products do not overflow, or wrap around. */
#define FUNCTIONS(T, type, wide)                                                                   \
    static type value_##T(uint64_t word)                                                           \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, &word, sizeof value);                                                       \
        return value;                                                                              \
    }                                                                                              \
    static uint64_t word_##T(type value)                                                           \
    {                                                                                              \
        uint64_t word = 0;                                                                         \
        memcpy(&word, &value, sizeof value);                                                       \
        return word;                                                                               \
    }                                                                                              \
    static uint64_t of_##T(int64_t value)                                                          \
    {                                                                                              \
        return word_##T((type)value);                                                              \
    }                                                                                              \
    static uint64_t arithmetic_##T(gex_OP_t op, uint64_t word_x, uint64_t word_a)                  \
    {                                                                                              \
        const type x = value_##T(word_x), a = value_##T(word_a);                                   \
        switch (op) {                                                                              \
        case GEX_OP_ADD:                                                                           \
            return word_##T((type)((wide)x + (wide)a));                                            \
        case GEX_OP_SUB:                                                                           \
            return word_##T((type)((wide)x - (wide)a));                                            \
        case GEX_OP_MULT:                                                                          \
            return word_##T((type)((wide)x * (wide)a));                                            \
        case GEX_OP_INC:                                                                           \
            return word_##T((type)((wide)x + 1));                                                  \
        case GEX_OP_DEC:                                                                           \
            return word_##T((type)((wide)x - 1));                                                  \
        case GEX_OP_MIN:                                                                           \
            return a < x ? word_a : word_x;                                                        \
        default:                                                                                   \
            return a > x ? word_a : word_x;                                                        \
        }                                                                                          \
    }                                                                                              \
    static gex_Event_t nb_##T(gex_AD_t ad, void *result, gex_Rank_t rank, void *at, gex_OP_t op,   \
                              uint64_t a, uint64_t b, gex_Flags_t flags)                           \
    {                                                                                              \
        return gex_AD_OpNB_##T(ad, result, rank, at, op, value_##T(a), value_##T(b), flags);       \
    }                                                                                              \
    static int nbi_##T(gex_AD_t ad, void *result, gex_Rank_t rank, void *at, gex_OP_t op,          \
                       uint64_t a, uint64_t b, gex_Flags_t flags)                                  \
    {                                                                                              \
        return gex_AD_OpNBI_##T(ad, result, rank, at, op, value_##T(a), value_##T(b), flags);      \
    }
#define INTEGER(T, type)  FUNCTIONS(T, type, uint64_t)
#define FLOATING(T, type) FUNCTIONS(T, type, type)
GASNETI_AD_TYPES(INTEGER, FLOATING)
#undef INTEGER
#undef FLOATING

#define BITWISE (GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR)
#define ORDERED                                                                                    \
    (GEX_OP_ADD | GEX_OP_SUB | GEX_OP_MULT | GEX_OP_MIN | GEX_OP_MAX | GEX_OP_INC | GEX_OP_DEC)
#define FLOATING_OPS                                                                               \
    (ORDERED | GEX_OP_TO_FETCHING(ORDERED) | GEX_OP_SET | GEX_OP_SWAP | GEX_OP_CAS | GEX_OP_FCAS | \
     GEX_OP_GET)
#define INTEGER_OPS (FLOATING_OPS | BITWISE | GEX_OP_TO_FETCHING(BITWISE))

#define SUMS (GEX_OP_ADD | GEX_OP_SUB | GEX_OP_INC | GEX_OP_DEC)
#define BITS (GEX_OP_CAS | GEX_OP_FCAS | GEX_OP_GET)

#define ROW(T, type, ops, floats)                                                                  \
    {                                                                                              \
#T, GEX_DT_##T, sizeof(type), ops, floats, of_##T, arithmetic_##T, nb_##T, nbi_##T         \
    }
#define INTEGER(T, type)  ROW(T, type, INTEGER_OPS, false),
#define FLOATING(T, type) ROW(T, type, FLOATING_OPS, true),
static const type_t all_types[] = {GASNETI_AD_TYPES(INTEGER, FLOATING)};
static const type_t adapter_types[] = {
    ROW(U64, uint64_t, SUMS | GEX_OP_TO_FETCHING(SUMS) | BITS, false), ROW(DBL, double, BITS, true),
    ROW(I64, int64_t, SUMS | GEX_OP_TO_FETCHING(SUMS) | BITS, false)};
enum { I64 = 2 }; /* in either table */
static const type_t *types = all_types;
static int type_count = TEST_COUNT(all_types);

/* The element after an operation. */
static uint64_t after(const type_t *t, gex_OP_t op, uint64_t x, uint64_t a, uint64_t b)
{
    if (op == GEX_OP_GET) return x;
    switch (FETCHES(op) ? GEX_OP_TO_NONFETCHING(op) : op) {
    case GEX_OP_AND:
        return x & a;
    case GEX_OP_OR:
        return x | a;
    case GEX_OP_XOR:
        return x ^ a;
    case GEX_OP_SET:
        return a;
    case GEX_OP_CAS:
        return x == a ? b : x;
    default:
        return t->arithmetic(FETCHES(op) ? GEX_OP_TO_NONFETCHING(op) : op, x, a);
    }
}

/* --- domains --- */

static gex_AD_t domain_of(const type_t *t, gex_OP_t ops, gex_Flags_t flags)
{
    gex_AD_t ad = GEX_AD_INVALID;
    gex_AD_Create(&ad, test_tm, t->dt, ops, flags);
    return ad;
}

static void domains(void)
{
    static const gex_Flags_t flags[] = {0, GEX_FLAG_AD_FAVOR_MY_RANK, GEX_FLAG_AD_FAVOR_MY_NBRHD,
                                        GEX_FLAG_AD_FAVOR_REMOTE};
    gex_AD_t ads[TEST_COUNT(all_types)][TEST_COUNT(flags)];
    for (int i = 0; i < type_count; i++)
        for (int k = 0; k < TEST_COUNT(flags); k++) {
            const gex_OP_t ops = k % 2 ? types[i].ops : types[i].ops & -types[i].ops;
            const gex_AD_t ad = ads[i][k] = domain_of(&types[i], ops, flags[k]);
            test_check(ad != GEX_AD_INVALID && gex_AD_QueryDT(ad) == types[i].dt &&
                           gex_AD_QueryOps(ad) == ops && gex_AD_QueryFlags(ad) == flags[k] &&
                           gex_AD_QueryTM(ad) == test_tm && gex_AD_QueryCData(ad) == NULL,
                       "%s with flags 0x%x", types[i].name, flags[k]);
            gex_AD_SetCData(ad, &ads[i][k]);
        }
    for (int i = 0; i < type_count; i++)
        for (int k = 0; k < TEST_COUNT(flags); k++) {
            test_check(gex_AD_QueryCData(ads[i][k]) == &ads[i][k], "data of %s", types[i].name);
            gex_AD_Destroy(ads[i][k]);
        }
}

/* --- one operation after another --- */

static bool is_neighbour(int rank)
{
    gex_RankInfo_t *info;
    gex_Rank_t count;
    gex_System_QueryNbrhdInfo(&info, &count, NULL);
    for (gex_Rank_t i = 0; i < count; i++)
        if (info[i].gex_jobrank == (gex_Rank_t)rank) return true;
    return false;
}

/* Any that are true of the rank. */
static gex_Flags_t any_flags(struct test_random *random, int rank)
{
    gex_Flags_t flags = GEX_FLAG_AD_REL | GEX_FLAG_AD_ACQ | GEX_FLAG_RANK_IS_JOBRANK |
                        GEX_FLAG_AD_MY_RANK | GEX_FLAG_AD_MY_NBRHD | GEX_FLAG_IMMEDIATE;
    flags &= (gex_Flags_t)test_random(random);
    if (rank != test_rank) flags &= ~GEX_FLAG_AD_MY_RANK;
    if (!is_neighbour(rank)) flags &= ~GEX_FLAG_AD_MY_NBRHD;
    return flags;
}

static gex_EC_t category_of(gex_OP_t op)
{
    return op == GEX_OP_SET ? GEX_EC_PUT : op == GEX_OP_GET ? GEX_EC_GET : GEX_EC_RMW;
}

/* An operation in any form; the element has the value *x, and gets its next one. */
static bool step(struct test_random *random, const type_t *t, gex_AD_t ad, int rank, void *at,
                 gex_OP_t op, uint64_t a, uint64_t b, uint64_t *x)
{
    static const uint64_t unused = 0xa5a5a5a5a5a5a5a5;
    uint64_t got = unused, expected = unused;
    const gex_Flags_t flags = any_flags(random, rank);
    void *const result = FETCHES(op) || test_below(random, 2) ? &got : NULL;
    if (test_below(random, 2)) {
        gex_Event_Wait(t->nb(ad, result, (gex_Rank_t)rank, at, op, a, b, flags));
    } else {
        const int status = t->nbi(ad, result, (gex_Rank_t)rank, at, op, a, b, flags);
        test_check(status == 0, "OpNBI returns %d", status);
        gex_NBI_Wait(test_below(random, 2) ? category_of(op) : GEX_EC_ALL, 0);
    }
    if (FETCHES(op)) memcpy(&expected, x, t->size);
    *x = after(t, op, *x, a, b);
    return test_check(
        got == expected, "%s, operation 0x%x on rank %d, flags 0x%x: got %#llx, %#llx is right",
        t->name, op, rank, flags, (unsigned long long)got, (unsigned long long)expected);
}

/* One of the operations, each as often as the others. */
static gex_OP_t any_op(struct test_random *random, gex_OP_t ops)
{
    for (uint64_t skip = test_below(random, (uint64_t)__builtin_popcount(ops)); skip > 0; skip--)
        ops &= ops - 1;
    return ops & -ops;
}

/* Small values, whose products are exact, and extreme ones of integers. */
static uint64_t any_value(struct test_random *random, const type_t *t)
{
    uint64_t word = 0;
    if (t->floats || test_below(random, 4)) return t->of((int64_t)test_below(random, 5) - 2);
    const uint64_t bits = test_random(random);
    memcpy(&word, &bits, t->size);
    return word;
}

/* Stores a value of an element that no other rank uses. */
static void begin_with(const type_t *t, int rank, void *at, uint64_t x)
{
    gex_RMA_PutBlocking(test_tm, (gex_Rank_t)rank, at, &x, t->size, 0);
}

/* Each rank has an element of its own in the segment of every other. */
static void sequence(struct test_random *random, const type_t *t, gex_AD_t ad, int rank)
{
    const size_t half = t->size == 4 ? 4 * (size_t)test_below(random, 2) : 0;
    char *const at = (char *)test_at(rank, 8 * (size_t)test_rank + half);
    uint64_t x = 0;
    begin_with(t, rank, at, x);
    for (int i = 0; i < 100; i++) {
        const gex_OP_t op = i % 20 || !(t->ops & GEX_OP_SET) ? any_op(random, t->ops) : GEX_OP_SET;
        const bool same = test_below(random, 2);
        const uint64_t a = same ? x : any_value(random, t), b = any_value(random, t);
        if (t->floats && op & (GEX_OP_MULT | GEX_OP_FMULT) && same) continue;
        if (!step(random, t, ad, rank, at, op, a, b, &x)) return;
    }
    step(random, t, ad, rank, at, GEX_OP_GET, 0, 0, &x);
    if (rank == test_rank) test_check(memcmp(at, &x, t->size) == 0, "%s in memory", t->name);
}

static void sequences(void)
{
    struct test_random random = test_random_for(21);
    for (int i = 0; i < type_count; i++) {
        const gex_AD_t ad = domain_of(&types[i], types[i].ops, 0);
        for (int round = 0; round < test_iterations(20); round++) {
            const int any = (int)test_below(&random, (uint64_t)test_size);
            const int ranks[] = {test_rank, test_next, test_prev, any};
            sequence(&random, &types[i], ad, ranks[round % 4]);
        }
        test_sync();
        gex_AD_Destroy(ad);
    }
}

/* The last element of a segment, by each way of addressing it. */
static void ends(void)
{
    struct test_random random = test_random_for(22);
    for (int i = 0; i < type_count; i++) {
        const type_t *t = &types[i];
        const gex_AD_t ad = domain_of(t, t->ops, 0);
        uint64_t x = t->of(7);
        char *const at = (char *)test_at(test_next, test_seg[test_next].size - t->size);
        begin_with(t, test_next, at, x);
        step(&random, t, ad, test_next, at, GEX_OP_FCAS, x, t->of(3), &x);
        step(&random, t, ad, test_next, at, GEX_OP_GET, 0, 0, &x);
        test_sync();
        gex_AD_Destroy(ad);
    }
}

/* --- several in flight --- */

static void many(void)
{
    enum { MANY = 300 };
    static int64_t got[MANY];
    gex_Event_t events[MANY];
    const type_t *t = &types[I64];
    const gex_AD_t ad = domain_of(t, t->ops, 0);
    const gex_Rank_t rank = (gex_Rank_t)test_next;
    void *const at = test_at(test_next, 8 * (size_t)test_rank);
    int64_t seen[MANY] = {0};
    begin_with(t, test_next, at, 0);
    for (int i = 0; i < MANY; i++) events[i] = t->nb(ad, &got[i], rank, at, GEX_OP_FINC, 0, 0, 0);
    gex_Event_WaitAll(events, MANY, 0);
    for (int i = 0; i < MANY; i++) t->nbi(ad, NULL, rank, at, GEX_OP_INC, 0, 0, 0);
    while (gex_NBI_Test(GEX_EC_RMW, 0) != GASNET_OK) gasnet_AMPoll();
    gex_NBI_BeginAccessRegion(0);
    for (int i = 0; i < MANY; i++) t->nbi(ad, NULL, rank, at, GEX_OP_INC, 0, 0, 0);
    const gex_Event_t region = gex_NBI_EndAccessRegion(0);
    gex_Event_Wait(gex_Event_QueryLeaf(region, GEX_EC_RMW));
    gex_Event_Wait(region);
    for (int i = 0; i < MANY; i++)
        if (test_check(got[i] >= 0 && got[i] < MANY, "operation %d found %lld", i,
                       (long long)got[i]))
            seen[got[i]]++;
    for (int i = 0; i < MANY; i++)
        test_check(seen[i] == 1, "%lld operations found %d", (long long)seen[i], i);
    gex_Event_Wait(t->nb(ad, &got[0], rank, at, GEX_OP_GET, 0, 0, 0));
    test_check(got[0] == 3 * MANY, "%lld of %d operations were executed", (long long)got[0],
               3 * MANY);
    test_sync();
    gex_AD_Destroy(ad);
}

/* An operation is in its own category, and in no other. */
static void categories(void)
{
    const type_t *t = &types[I64];
    const gex_AD_t ad = domain_of(t, t->ops, 0);
    const gex_Rank_t rank = (gex_Rank_t)test_next;
    void *const at = test_at(test_next, 8 * (size_t)test_rank);
    static const gex_OP_t ops[] = {GEX_OP_SET, GEX_OP_GET, GEX_OP_FADD, GEX_OP_SWAP, GEX_OP_CAS};
    static uint64_t got;
    for (int i = 0; i < TEST_COUNT(ops); i++) {
        const gex_EC_t category = category_of(ops[i]);
        if (!(ops[i] & t->ops)) continue;
        t->nbi(ad, &got, rank, at, ops[i], 5, 6, 0);
        test_check(gex_NBI_Test(GEX_EC_ALL & ~category & ~GEX_EC_LC, 0) == GASNET_OK,
                   "operation 0x%x is in another category", ops[i]);
        gex_NBI_Wait(category, 0);
        test_check(gex_NBI_Test(GEX_EC_ALL, 0) == GASNET_OK, "operation 0x%x", ops[i]);
    }
    test_sync();
    gex_AD_Destroy(ad);
}

/* --- all ranks and threads at once --- */

#ifdef GASNET_PAR
enum { THREADS = 4 };
#else
enum { THREADS = 1 };
#endif

/* Elements that all ranks share, in the segment of a rank. */
enum { SUM, TICKETS, GREATEST, LEAST, PARITY, PRODUCT, LOOPS, BOX };

typedef struct worker {
    int id;
    const type_t *t;
    gex_AD_t ad;
    int rank, count;
    uint64_t sum, greatest, least, parity, put, taken;
} worker_t;

static void *shared_at(int rank, int what)
{
    return test_at(rank, SHARED + 8 * (size_t)what);
}

/* t->arithmetic(op) of an element by compare-and-swap. */
static void by_loop(const worker_t *w, void *at, gex_OP_t op, uint64_t a)
{
    uint64_t x = 0, found = 0;
    gex_Event_Wait(w->t->nb(w->ad, &x, (gex_Rank_t)w->rank, at, GEX_OP_GET, 0, 0, 0));
    for (;; x = found) {
        const uint64_t y = w->t->arithmetic(op, x, a);
        gex_Event_Wait(w->t->nb(w->ad, &found, (gex_Rank_t)w->rank, at, GEX_OP_FCAS, x, y, 0));
        if (found == x) return;
    }
}

static uint64_t fetched(const worker_t *w, int what, gex_OP_t op, uint64_t a)
{
    uint64_t got = 0;
    gex_Event_Wait(
        w->t->nb(w->ad, &got, (gex_Rank_t)w->rank, shared_at(w->rank, what), op, a, 0, 0));
    return got;
}

/* The operations that not every domain has. */
static void work_more(worker_t *w, uint64_t a, bool odd)
{
    const type_t *t = w->t;
    fetched(w, GREATEST, GEX_OP_MAX, a);
    w->greatest = t->arithmetic(GEX_OP_MAX, w->greatest, a);
    fetched(w, LEAST, GEX_OP_FMIN, a);
    w->least = t->arithmetic(GEX_OP_MIN, w->least, a);
    /* What one puts into the box another takes, and none is lost. */
    w->put = t->arithmetic(GEX_OP_ADD, w->put, a);
    w->taken = t->arithmetic(GEX_OP_ADD, w->taken, fetched(w, BOX, GEX_OP_SWAP, a));
    if (t->floats) return;
    fetched(w, PARITY, odd ? GEX_OP_FXOR : GEX_OP_XOR, a);
    w->parity ^= a;
    fetched(w, PRODUCT, GEX_OP_MULT, t->of(3));
}

static void *work(void *argument)
{
    worker_t *const w = argument;
    const type_t *t = w->t;
    struct test_random random = test_random_for(30 + (uint64_t)w->id + 100 * (uint64_t)t->dt);
    for (int i = 0; i < w->count; i++) {
        const uint64_t a = t->of((int64_t)test_below(&random, 9));
        const uint64_t other = t->of(1 + (int64_t)test_below(&random, 100));
        by_loop(w, shared_at(w->rank, LOOPS), GEX_OP_ADD, t->of(1));
        if (t->ops & GEX_OP_MAX) work_more(w, other, i % 2);
        if (!(t->ops & GEX_OP_ADD)) continue;
        fetched(w, SUM, i % 2 ? GEX_OP_FADD : GEX_OP_ADD, a);
        w->sum = t->arithmetic(GEX_OP_ADD, w->sum, a);
        fetched(w, TICKETS, GEX_OP_FINC, 0);
        fetched(w, TICKETS, GEX_OP_SUB, t->of(2));
    }
    return NULL;
}

static void together(worker_t *workers)
{
#ifdef GASNET_PAR
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
#else
    for (int i = 0; i < THREADS; i++) work(&workers[i]);
#endif
}

/* Combines a word of all ranks. */
static uint64_t over_all(const type_t *t, gex_OP_t op, uint64_t word)
{
    uint64_t all = 0;
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(test_tm, &all, &word, t->dt, t->size, 1, op, NULL, NULL, 0));
    return all;
}

static void expect(const worker_t *w, int what, const char *name, uint64_t right)
{
    const uint64_t found = fetched(w, what, GEX_OP_GET, 0);
    test_check(found == right, "%s of %s in rank %d: %#llx, %#llx is right", name, w->t->name,
               w->rank, (unsigned long long)found, (unsigned long long)right);
}

static void check_more(const worker_t *w, const worker_t *all, int64_t rounds)
{
    const type_t *t = w->t;
    uint64_t product = t->of(1);
    const uint64_t put = over_all(t, GEX_OP_ADD, all->put),
                   taken = over_all(t, GEX_OP_ADD, all->taken);
    expect(w, GREATEST, "the greatest", over_all(t, GEX_OP_MAX, all->greatest));
    expect(w, LEAST, "the least", over_all(t, GEX_OP_MIN, all->least));
    expect(w, BOX, "what was not taken", t->arithmetic(GEX_OP_SUB, put, taken));
    if (t->floats) return;
    for (int64_t i = 0; i < rounds; i++) product = t->arithmetic(GEX_OP_MULT, product, t->of(3));
    expect(w, PARITY, "the bits", over_all(t, GEX_OP_XOR, all->parity));
    expect(w, PRODUCT, "the product", product);
}

static void check_shared(const worker_t *workers)
{
    const worker_t *w = &workers[0];
    const type_t *t = w->t;
    const int64_t rounds = (int64_t)w->count * THREADS * test_size;
    worker_t all = *w;
    for (int i = 1; i < THREADS; i++) {
        all.sum = t->arithmetic(GEX_OP_ADD, all.sum, workers[i].sum);
        all.greatest = t->arithmetic(GEX_OP_MAX, all.greatest, workers[i].greatest);
        all.least = t->arithmetic(GEX_OP_MIN, all.least, workers[i].least);
        all.put = t->arithmetic(GEX_OP_ADD, all.put, workers[i].put);
        all.taken = t->arithmetic(GEX_OP_ADD, all.taken, workers[i].taken);
        all.parity ^= workers[i].parity;
    }
    expect(w, LOOPS, "the increments by compare-and-swap", t->of(rounds));
    if (t->ops & GEX_OP_MAX) check_more(w, &all, rounds);
    if (!(t->ops & GEX_OP_ADD)) return;
    expect(w, SUM, "the sum", over_all(t, GEX_OP_ADD, all.sum));
    expect(w, TICKETS, "increments and subtractions",
           t->arithmetic(GEX_OP_SUB, t->of(0), t->of(rounds)));
}

static void everyone(void)
{
    struct test_random random = {test_seed};
    for (int i = 0; i < type_count; i++) {
        const type_t *t = &types[i];
        worker_t workers[THREADS];
        const gex_AD_t ad = domain_of(t, t->ops, 0);
        const int rank = (int)test_below(&random, (uint64_t)test_size);
        memset(test_at(test_rank, SHARED), 0, 8 * COUNTERS);
        const uint64_t one = t->of(1), least = t->of(127);
        memcpy(shared_at(test_rank, PRODUCT), &one, t->size);
        memcpy(shared_at(test_rank, LEAST), &least, t->size);
        for (int k = 0; k < THREADS; k++)
            workers[k] = (worker_t){.id = k,
                                    .t = t,
                                    .ad = ad,
                                    .rank = rank,
                                    .least = least,
                                    .count = test_iterations(100)};
        test_sync();
        together(workers);
        test_sync();
        check_shared(workers);
        test_sync();
        gex_AD_Destroy(ad);
    }
}

/* --- by the adapter --- */

/* Waits until the word has the value, for five seconds at most, without a call of the library. */
static bool reaches(const volatile int64_t *word, int64_t value)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < 5000 && *word != value; i++) nanosleep(&pause, NULL);
    return *word == value;
}

/* Each odd rank waits outside the library for what the rank before it does to its memory. */
static void unattended(void)
{
    enum { TIMES = 200 };
    const type_t *t = &types[I64];
    const gex_AD_t ad = domain_of(t, t->ops, GEX_FLAG_AD_FAVOR_REMOTE);
    memset(test_at(test_rank, SHARED), 0, 8 * COUNTERS);
    test_sync();
    if (test_rank % 2)
        test_check(reaches(shared_at(test_rank, TICKETS), TIMES), "only %lld operations arrived",
                   (long long)*(int64_t *)shared_at(test_rank, TICKETS));
    else if (test_rank + 1 < test_size)
        for (int64_t i = 0, found; i < TIMES; i++) {
            gex_Event_Wait(t->nb(ad, &found, (gex_Rank_t)test_rank + 1,
                                 shared_at(test_rank + 1, TICKETS), GEX_OP_FINC, 0, 0, 0));
            test_check(found == i, "found %lld, not %lld", (long long)found, (long long)i);
        }
    test_sync();
    gex_AD_Destroy(ad);
}

/* A release of a flag comes after the puts that were complete, and after the stores, before it; and
 * an acquire that sees the flag before the loads after it. */
static void ordered(void)
{
    enum { ROUNDS = 200, DATA = SHARED + 1024 };
    const type_t *t = &types[I64];
    const gex_AD_t ad = domain_of(t, t->ops, GEX_FLAG_AD_FAVOR_REMOTE);
    int64_t *const flag = shared_at(test_rank, BOX), *const data = test_at(test_rank, DATA);
    memset(test_at(test_rank, SHARED), 0, 8 * COUNTERS);
    *data = 0;
    test_sync();
    for (int64_t round = 1; round <= ROUNDS; round++) {
        int64_t seen = 0;
        gex_RMA_PutBlocking(test_tm, (gex_Rank_t)test_next, test_at(test_next, DATA), &round,
                            sizeof round, 0);
        gex_Event_Wait(t->nb(ad, NULL, (gex_Rank_t)test_next, shared_at(test_next, BOX), GEX_OP_INC,
                             0, 0, GEX_FLAG_AD_REL));
        while (seen < round) {
            gex_Event_Wait(
                t->nb(ad, &seen, (gex_Rank_t)test_rank, flag, GEX_OP_GET, 0, 0, GEX_FLAG_AD_ACQ));
            gasnet_AMPoll(); /* the operation of the peer may be a message */
        }
        test_check(*(volatile int64_t *)data >= round, "round %lld: %lld", (long long)round,
                   (long long)*data);
        test_sync();
    }
    gex_AD_Destroy(ad);
}

static const struct test_rule rules[] = {
    {"EX 12.1: domains and what they tell", domains},
    {"EX 12.2: operations of each type, one after another", sequences},
    {"EX 12.2: the last element of a segment", ends},
    {"EX 12.2: many in flight, an access region", many},
    {"EX 9.2, 12.2: the categories of operations", categories},
    {"EX 12.2: all ranks and threads on the same elements", everyone},
    {"EX 12.2: release and acquire", ordered},
    {"EX 12.2: the target does not poll", unattended}, /* with an adapter alone */
};

int main(int argc, char **argv)
{
    test_ex_start(&argc, &argv, NULL, 0, SEGMENT);
    const bool adapter = argc > 1 && !strcmp(argv[1], "adapter");
    if (adapter) {
        types = adapter_types;
        type_count = TEST_COUNT(adapter_types);
    }
    test_run(rules, TEST_COUNT(rules) - !adapter);
    test_finish();
}
