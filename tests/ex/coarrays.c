/* coarrays.c - a program that calls GASNet-EX as Caffeine, a runtime of co-array Fortran, does.
 *
 * A rank is an image, with one thread.  The segment is a symmetric heap, in which the first image
 * of a team allocates for all its images and broadcasts the offset, and a heap of the image's own.
 * There are no messages: images wait for each other by counters that one domain of atomics changes,
 * and that they read by GEX_OP_GET, while the domain lives as long as the program.  Teams are made
 * by gex_TM_Split without scratch space, within each other, and are never destroyed.  Collectives
 * are done in place, for derived types with a function of the user.
 *
 *   coarrays [stop CODE | error CODE]   ends by `stop`, which all images do, or by `error stop` of
 *                                       the last image while the others wait
 */
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

#include "tests/programs/test.h"

#include <gasnet_tools.h>

enum {
    SYMMETRIC = 6 << 20, /* bytes of the symmetric heap */
    OWN = 1 << 20,       /* and of the image's own */
    DERIVED = 8192,      /* bytes of the largest derived type */
    MOST = 64            /* images */
};

typedef struct team {
    struct team *parent;
    gex_TM_t tm;
    gex_Rank_t rank, size;
    size_t free_at, end; /* of its part of the symmetric heap; only the first image knows */
} team_t;

static gex_Client_t client;
static gex_EP_t ep;
static gex_Segment_t segment;
static gex_AD_t ad;
static team_t job, *current = &job;
static char *base[MOST]; /* of the segments of all images */

static void require(int status, const char *call)
{
    if (status == GASNET_OK) return;
    fprintf(stderr, "# %s: %s\n", call, gasnet_ErrorName(status));
    exit(4);
}

/* --- teams, and memory of theirs --- */

static void sync_all(const team_t *team)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team->tm, 0));
}

static void broadcast(const team_t *team, gex_Rank_t root, void *data, size_t nbytes)
{
    gex_Event_Wait(gex_Coll_BroadcastNB(team->tm, root, data, data, nbytes, 0));
}

/* Offset of memory that all images of the team have. */
static size_t allocate(team_t *team, size_t nbytes)
{
    size_t offset = team->free_at;
    if (team->rank == 0) {
        team->free_at += (nbytes + 15) / 16 * 16;
        if (team->free_at > team->end) {
            fprintf(stderr, "# image %d: the symmetric heap is full\n", test_rank + 1);
            gasnet_exit(5);
        }
    }
    broadcast(team, 0, &offset, sizeof offset);
    return offset;
}

/* Ends the newest allocation of the team, and those after it. */
static void deallocate(team_t *team, size_t offset)
{
    sync_all(team);
    team->free_at = offset;
}

static void *local(size_t offset)
{
    return base[test_rank] + offset;
}
static gex_Rank_t image_of_job(const team_t *team, gex_Rank_t rank)
{
    return gex_TM_TranslateRankToJobrank(team->tm, rank);
}

/* The first image of the team gives each new team what is left of the heap. */
static team_t form_team(team_t *parent, int number, int key)
{
    team_t new = {.parent = parent};
    size_t bounds[2] = {parent->free_at, parent->end};
    gex_TM_Split(&new.tm, parent->tm, number, key, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    broadcast(parent, 0, bounds, sizeof bounds);
    new.rank = gex_TM_QueryRank(new.tm);
    new.size = gex_TM_QuerySize(new.tm);
    new.free_at = bounds[0], new.end = bounds[1];
    return new;
}

static void change_team(team_t *team)
{
    current = team;
    sync_all(team);
}
static void end_team(void)
{
    sync_all(current);
    current = current->parent;
}

/* --- atomics --- */

/* image: by rank in the job. */
static int64_t atomic(gex_Rank_t image, size_t offset, gex_OP_t op, int64_t a, int64_t b)
{
    int64_t old = 0;
    gex_Event_Wait(gex_AD_OpNB_I64(ad, &old, image, base[image] + offset, op, a, b,
                                   GEX_FLAG_RANK_IS_JOBRANK | GEX_FLAG_AD_REL | GEX_FLAG_AD_ACQ));
    return old;
}

static void await(size_t offset, int64_t value)
{
    while (atomic((gex_Rank_t)test_rank, offset, GEX_OP_GET, 0, 0) < value) gasnet_AMPoll();
}

static size_t met; /* offset of the counters of sync_images, by image of the job */
static int64_t meetings[MOST];

static void sync_images(const gex_Rank_t *images, int count)
{
    for (int i = 0; i < count; i++)
        gex_AD_OpNBI_I64(ad, NULL, images[i], base[images[i]] + met + 8 * (size_t)test_rank,
                         GEX_OP_INC, 0, 0, GEX_FLAG_RANK_IS_JOBRANK | GEX_FLAG_AD_REL);
    gex_NBI_Wait(GEX_EC_RMW, 0);
    for (int i = 0; i < count; i++) await(met + 8 * images[i], ++meetings[images[i]]);
}

/* --- rules: memory --- */

static uint64_t key_of(gex_Rank_t from, gex_Rank_t to, int round)
{
    return test_mix(test_seed ^ (uint64_t)from << 40 ^ (uint64_t)to << 20 ^ (uint64_t)round);
}

static void started(void)
{
    void *address;
    uintptr_t size;
    test_check(gex_Segment_QueryAddr(segment) == base[test_rank] &&
                   gex_Segment_QuerySize(segment) == SYMMETRIC + OWN,
               "the segment of this image");
    for (gex_Rank_t r = 0; r < job.size; r++) {
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(job.tm, r, &address, NULL, &size, 0));
        test_check(address == base[r] && size == SYMMETRIC + OWN, "the segment of image %u", r + 1);
        test_check(image_of_job(&job, r) == r && gex_TM_TranslateJobrankToRank(job.tm, r) == r,
                   "image %u", r + 1);
    }
}

/* Every image puts to every other, and gets what others have put. */
static void contiguous(void)
{
    enum { AREA = 32 << 10, ROUNDS = 3 };
    const size_t offset = allocate(current, (size_t)AREA * (size_t)test_size);
    char *const private_ = malloc(AREA);
    for (int round = 0; round < ROUNDS; round++) {
        const size_t nbytes = round == 0 ? 8 : round == 1 ? AREA : 4321;
        for (gex_Rank_t r = 0; r < current->size; r++) {
            test_fill(private_, nbytes, key_of(current->rank, r, round));
            gex_RMA_PutBlocking(current->tm, r,
                                base[image_of_job(current, r)] + offset + AREA * current->rank,
                                private_, nbytes, 0);
        }
        sync_all(current);
        for (gex_Rank_t r = 0; r < current->size; r++) {
            const gex_Rank_t other = (r + 1) % current->size;
            test_check(test_mismatch((char *)local(offset) + (size_t)AREA * r, nbytes,
                                     key_of(r, current->rank, round)) < 0,
                       "%zu bytes of image %u", nbytes, r + 1);
            gex_RMA_GetBlocking(current->tm, private_, other,
                                base[image_of_job(current, other)] + offset + (size_t)AREA * r,
                                nbytes, 0);
            test_check(test_mismatch(private_, nbytes, key_of(r, other, round)) < 0,
                       "%zu bytes of image %u, got from %u", nbytes, r + 1, other + 1);
        }
        sync_all(current);
    }
    free(private_);
    deallocate(current, offset);
}

/* A component that each image allocates in its own heap: others find it by its address. */
static void components(void)
{
    enum { NBYTES = 3000 };
    const size_t descriptor = allocate(&job, sizeof(char *));
    char *const mine = base[test_rank] + SYMMETRIC + 1000 * (size_t)(test_rank + 1);
    char *theirs, got[NBYTES];
    test_fill(mine, NBYTES, key_of((gex_Rank_t)test_rank, 0, 77));
    memcpy(local(descriptor), &mine, sizeof mine);
    sync_all(&job);
    for (gex_Rank_t r = 0; r < job.size; r++) {
        gex_RMA_GetBlocking(job.tm, &theirs, r, base[r] + descriptor, sizeof theirs, 0);
        gex_RMA_GetBlocking(job.tm, got, r, theirs, NBYTES, 0);
        test_check(test_mismatch(got, NBYTES, key_of(r, 0, 77)) < 0, "component of %u", r + 1);
    }
    deallocate(&job, descriptor);
}

/* --- rules: sections of arrays --- */

enum { SIDE = 12, CELLS = SIDE * SIDE * SIDE };

/* A section of an array of SIDE by SIDE by SIDE elements. */
typedef struct section {
    size_t first[3], count[3];
    ptrdiff_t step[3]; /* in elements of the dimension; may be negative */
} section_t;

static section_t draw(struct test_random *random)
{
    section_t s;
    for (int d = 0; d < 3; d++) {
        const size_t step = 1 + (size_t)test_below(random, 3);
        s.first[d] = (size_t)test_below(random, SIDE);
        const bool back = test_below(random, 2);
        const size_t room = back ? s.first[d] : SIDE - 1 - s.first[d];
        s.count[d] = 1 + (size_t)test_below(random, room / step + 1);
        s.step[d] = back ? -(ptrdiff_t)step : (ptrdiff_t)step;
    }
    return s;
}

static size_t cell(const section_t *s, size_t i, size_t j, size_t k)
{
    const size_t n[] = {i, j, k};
    ptrdiff_t at = 0;
    for (int d = 2; d >= 0; d--)
        at = at * SIDE + (ptrdiff_t)s->first[d] + (ptrdiff_t)n[d] * s->step[d];
    return (size_t)at;
}

/* a(first::step, ...)[image] = values, or the reverse; `values` is contiguous. */
static void transfer(gex_Rank_t rank, double *array, double *values, const section_t *s, bool get)
{
    ptrdiff_t there[3], here[3];
    double *const first = array + cell(s, 0, 0, 0);
    ptrdiff_t size = sizeof *array, packed = sizeof *array;
    for (int d = 0; d < 3; d++) {
        there[d] = s->step[d] * size, here[d] = packed;
        size *= SIDE, packed *= (ptrdiff_t)s->count[d];
    }
    if (get)
        gex_VIS_StridedGetBlocking(current->tm, values, here, rank, first, there, sizeof *array,
                                   s->count, 3, 0);
    else
        gex_VIS_StridedPutBlocking(current->tm, rank, first, there, values, here, sizeof *array,
                                   s->count, 3, 0);
}

/* Each image changes a part of the array of the next one, which is its alone between syncs. */
static void sections(void)
{
    static double expected[CELLS], values[CELLS], got[CELLS];
    struct test_random random = test_random_for(3);
    const size_t offset = allocate(current, sizeof expected);
    const gex_Rank_t rank = (current->rank + 1) % current->size;
    double *const theirs = (double *)(void *)(base[image_of_job(current, rank)] + offset);
    memset(local(offset), 0, sizeof expected);
    memset(expected, 0, sizeof expected);
    sync_all(current);
    for (int round = 0; round < test_iterations(60); round++) {
        const section_t s = draw(&random), t = draw(&random);
        size_t n = 0;
        for (size_t k = 0; k < s.count[2]; k++)
            for (size_t j = 0; j < s.count[1]; j++)
                for (size_t i = 0; i < s.count[0]; i++)
                    expected[cell(&s, i, j, k)] = values[n++] =
                        (double)(test_random(&random) >> 20);
        transfer(rank, theirs, values, &s, false);
        transfer(rank, theirs, got, &t, true);
        n = 0;
        bool right = true;
        for (size_t k = 0; k < t.count[2]; k++)
            for (size_t j = 0; j < t.count[1]; j++)
                for (size_t i = 0; i < t.count[0]; i++)
                    right &= got[n++] == expected[cell(&t, i, j, k)];
        if (!test_check(right, "a section of image %u, round %d", rank + 1, round)) break;
    }
    gex_RMA_GetBlocking(current->tm, got, rank, theirs, sizeof got, 0);
    test_check(!memcmp(got, expected, sizeof got), "the array of image %u", rank + 1);
    deallocate(current, offset);
}

/* --- rules: waiting for each other --- */

/* Images at some distance exchange blocks, by sync images alone. */
static void synchronised(void)
{
    enum { NBYTES = 1000, DISTANCES = 5 };
    const size_t offset = allocate(&job, (size_t)DISTANCES * NBYTES);
    char data[NBYTES];
    for (int round = 0; round < test_iterations(60); round++) {
        const int d = round % DISTANCES;
        const gex_Rank_t distance = (gex_Rank_t)(1 + d) % job.size;
        const gex_Rank_t to = (job.rank + distance) % job.size,
                         from = (job.rank + job.size - distance) % job.size;
        const gex_Rank_t partners[] = {to, from};
        const size_t at = offset + (size_t)d * NBYTES;
        test_fill(data, NBYTES, key_of(job.rank, to, round));
        gex_RMA_PutBlocking(job.tm, to, base[to] + at, data, NBYTES, 0);
        sync_images(partners, to == from ? 1 : 2);
        test_check(test_mismatch(local(at), NBYTES, key_of(from, job.rank, round)) < 0,
                   "a block of image %u, round %d", from + 1, round);
        sync_images(partners, to == from ? 1 : 2); /* the block may be overwritten */
    }
    deallocate(&job, offset);
}

/* Producers put into slots of a consumer and post; the consumer posts back that a slot is free. */
static void events(void)
{
    enum { SLOTS = 4, NBYTES = 2000 };
    const int count = test_iterations(100);
    const gex_Rank_t to = (job.rank + 1) % job.size, from = (job.rank + job.size - 1) % job.size;
    const size_t filled = allocate(&job, 8), drained = allocate(&job, 8),
                 slots = allocate(&job, SLOTS * NBYTES);
    char data[NBYTES];
    memset(local(filled), 0, 8), memset(local(drained), 0, 8);
    sync_all(&job);
    for (int i = 0; i < count + SLOTS; i++) {
        const int n = i - SLOTS; /* this many were filled before the first is drained */
        if (n >= 0) {
            await(filled, 1);
            atomic(job.rank, filled, GEX_OP_SUB, 1, 0);
            test_check(test_mismatch((char *)local(slots) + (size_t)(n % SLOTS) * NBYTES, NBYTES,
                                     key_of(from, job.rank, n)) < 0,
                       "post %d of image %u", n, from + 1);
            atomic(from, drained, GEX_OP_ADD, 1, 0);
        }
        if (i >= count) continue;
        if (n >= 0) {
            await(drained, 1);
            atomic(job.rank, drained, GEX_OP_SUB, 1, 0);
        }
        test_fill(data, NBYTES, key_of(job.rank, to, i));
        gex_RMA_PutBlocking(job.tm, to, base[to] + slots + (size_t)(i % SLOTS) * NBYTES, data,
                            NBYTES, 0);
        atomic(to, filled, GEX_OP_ADD, 1, 0);
    }
    sync_all(&job);
    test_check(atomic(job.rank, filled, GEX_OP_GET, 0, 0) == 0, "posts are left");
    deallocate(&job, filled);
}

/* A lock of each image is a word with the number of the image that holds it. */
static void locks(void)
{
    const int count = test_iterations(40);
    const size_t lock = allocate(&job, 8), account = allocate(&job, 8);
    struct test_random random = test_random_for(5);
    int64_t value;
    memset(local(lock), 0, 8), memset(local(account), 0, 8);
    sync_all(&job);
    for (int i = 0; i < count; i++) {
        const gex_Rank_t r = (gex_Rank_t)test_below(&random, job.size);
        while (atomic(r, lock, GEX_OP_FCAS, 0, test_rank + 1)) gasnet_AMPoll();
        gex_RMA_GetBlocking(job.tm, &value, r, base[r] + account, 8, 0);
        value += 1;
        gex_RMA_PutBlocking(job.tm, r, base[r] + account, &value, 8, 0);
        const int64_t holder = atomic(r, lock, GEX_OP_SWAP, 0, 0);
        test_check(holder == test_rank + 1, "lock %u was held by image %d", r + 1, (int)holder);
    }
    sync_all(&job);
    memcpy(&value, local(account), 8);
    test_check(test_sync_sum((uint32_t)value) == test_sync_sum((uint32_t)count), "accounts");
    deallocate(&job, lock);
}

/* atomic_define, _ref, _add, _fetch_and, ..., _cas on a word of the first image. */
static void atomics(void)
{
    const size_t word = allocate(current, 8), bits = allocate(current, 8);
    const gex_Rank_t first = image_of_job(current, 0);
    const int64_t mine = (int64_t)1 << current->rank, all = ((int64_t)1 << current->size) - 1;
    if (current->rank == 0) {
        atomic(first, word, GEX_OP_SET, 1000, 0);
        atomic(first, bits, GEX_OP_SET, all << 20, 0);
    }
    sync_all(current);
    atomic(first, word, GEX_OP_ADD, 5, 0);
    const int64_t before = atomic(first, word, GEX_OP_FADD, 3, 0);
    test_check(before >= 1005 && before < 1000 + 8 * (int64_t)current->size, "fetched %d",
               (int)before);
    atomic(first, bits, GEX_OP_OR, mine, 0);
    atomic(first, bits, GEX_OP_FXOR, mine << 40, 0);
    atomic(first, bits, GEX_OP_FAND, ~(mine << 20), 0);
    sync_all(current);
    test_check(atomic(first, word, GEX_OP_GET, 0, 0) == 1000 + 8 * (int64_t)current->size &&
                   atomic(first, bits, GEX_OP_GET, 0, 0) == (all | all << 40),
               "the sum and the bits of %u images", current->size);
    deallocate(current, word);
}

/* --- rules: collectives --- */

/* The user's data of co_reduce. */
struct reduction {
    const struct reduction *self;
    size_t size; /* of an element */
    int wrong;
};

/* Sums bytes, so that any order gives the same. */
static void combine(const void *left, void *out, size_t count, const void *cdata)
{
    struct reduction *about = (struct reduction *)(uintptr_t)cdata;
    const uint8_t *l = left;
    uint8_t *o = out;
    if (about->self != about) {
        fprintf(stderr, "# co_reduce: this is not the data of this image\n");
        gasnet_exit(6);
    }
    if (count == 0) about->wrong++;
    for (size_t i = 0; i < count * about->size; i++) o[i] = (uint8_t)(o[i] + l[i]);
}

static uint8_t element_byte(gex_Rank_t image, size_t i)
{
    return (uint8_t)test_mix(image * 1000003u + i);
}

/* root: its result alone is there; GEX_RANK_INVALID: all have it. */
static void co_reduce(size_t size, size_t count, gex_Rank_t root)
{
    struct reduction about = {&about, size, 0};
    const size_t nbytes = size * count;
    uint8_t *const a = malloc(nbytes + 1), *const at = a + nbytes % 2; /* of any alignment */
    for (size_t i = 0; i < nbytes; i++)
        at[i] = element_byte(image_of_job(current, current->rank), i);
    gex_Event_Wait(root == GEX_RANK_INVALID
                       ? gex_Coll_ReduceToAllNB(current->tm, at, at, GEX_DT_USER, size, count,
                                                GEX_OP_USER, combine, &about, 0)
                       : gex_Coll_ReduceToOneNB(current->tm, root, at, at, GEX_DT_USER, size, count,
                                                GEX_OP_USER, combine, &about, 0));
    bool right = about.wrong == 0;
    for (size_t i = 0; i < nbytes && (root == GEX_RANK_INVALID || root == current->rank); i++) {
        uint8_t sum = 0;
        for (gex_Rank_t r = 0; r < current->size; r++)
            sum = (uint8_t)(sum + element_byte(image_of_job(current, r), i));
        right &= at[i] == sum;
    }
    test_check(right, "co_reduce of %zu elements of %zu bytes", count, size);
    free(a);
}

static void reductions(void)
{
    static const size_t sizes[] = {1, 7, 24, 1000, DERIVED}, counts[] = {1, 3, 40};
    for (int s = 0; s < TEST_COUNT(sizes); s++)
        for (int c = 0; c < TEST_COUNT(counts); c++) {
            co_reduce(sizes[s], counts[c], GEX_RANK_INVALID);
            co_reduce(sizes[s], counts[c], (gex_Rank_t)(s + c) % current->size);
        }
}

/* co_sum, co_min and co_max of whole arrays of a type; sums are small integers, so exact. */
#define INTRINSIC(T, type)                                                                         \
    static void intrinsic_##T(size_t count, gex_OP_t op, gex_Rank_t root)                          \
    {                                                                                              \
        type *const a = malloc(count * sizeof *a);                                                 \
        for (size_t i = 0; i < count; i++)                                                         \
            a[i] = (type)((current->rank * 7 + i) % 1000 + (i % 3 == 0 ? current->rank : 0));      \
        gex_Event_Wait(root == GEX_RANK_INVALID                                                    \
                           ? gex_Coll_ReduceToAllNB(current->tm, a, a, GEX_DT_##T, sizeof *a,      \
                                                    count, op, NULL, NULL, 0)                      \
                           : gex_Coll_ReduceToOneNB(current->tm, root, a, a, GEX_DT_##T,           \
                                                    sizeof *a, count, op, NULL, NULL, 0));         \
        bool right = true;                                                                         \
        for (size_t i = 0; i < count && (root == GEX_RANK_INVALID || root == current->rank);       \
             i++) {                                                                                \
            type model = 0;                                                                        \
            for (gex_Rank_t r = 0; r < current->size; r++) {                                       \
                const type value = (type)((r * 7 + i) % 1000 + (i % 3 == 0 ? r : 0));              \
                if (r == 0)                                                                        \
                    model = value;                                                                 \
                else if (op == GEX_OP_ADD)                                                         \
                    model = (type)(model + value);                                                 \
                else if (op == GEX_OP_MIN ? value < model : value > model)                         \
                    model = value;                                                                 \
            }                                                                                      \
            right &= a[i] == model;                                                                \
        }                                                                                          \
        test_check(right, #T ": operation 0x%x of %zu elements", op, count);                       \
        free(a);                                                                                   \
    }
INTRINSIC(I32, int32_t)
INTRINSIC(I64, int64_t)
INTRINSIC(FLT, float)
INTRINSIC(DBL, double)
#undef INTRINSIC

static void intrinsics(void)
{
    static const gex_OP_t ops[] = {GEX_OP_ADD, GEX_OP_MIN, GEX_OP_MAX};
    static const size_t counts[] = {1, 100, 30000};
    for (int o = 0; o < TEST_COUNT(ops); o++)
        for (int c = 0; c < TEST_COUNT(counts); c++)
            for (int to_all = 0; to_all < 2; to_all++) {
                const gex_Rank_t root =
                    to_all ? GEX_RANK_INVALID : (gex_Rank_t)(o + c) % current->size;
                intrinsic_I32(counts[c], ops[o], root);
                intrinsic_I64(counts[c], ops[o], root);
                intrinsic_FLT(counts[c], ops[o], root);
                intrinsic_DBL(counts[c], ops[o], root);
            }
}

static void broadcasts(void)
{
    static const size_t sizes[] = {1, 8, 1000, DERIVED, 300001};
    for (int s = 0; s < TEST_COUNT(sizes); s++) {
        const gex_Rank_t root = (gex_Rank_t)s % current->size;
        char *const a = malloc(sizes[s]);
        test_fill(a, sizes[s], key_of(current->rank, 0, s));
        broadcast(current, root, a, sizes[s]);
        test_check(test_mismatch(a, sizes[s], key_of(root, 0, s)) < 0, "co_broadcast of %zu bytes",
                   sizes[s]);
        free(a);
    }
}

/* --- rules: teams --- */

/* Teams of teams, each with memory of its own, while memory of the parents stays as it is. */
static void descend(int depth)
{
    enum { NBYTES = 5000 };
    const size_t kept = allocate(current, NBYTES);
    test_fill(local(kept), NBYTES, key_of((gex_Rank_t)test_rank, 1, depth));
    team_t new = form_team(current, 1 + (int)current->rank % (depth % 2 ? 2 : 3),
                           depth % 2 ? -(int)current->rank : 0);
    change_team(&new);
    test_check(image_of_job(current, current->rank) == (gex_Rank_t)test_rank &&
                   gex_TM_TranslateJobrankToRank(current->tm, (gex_Rank_t)test_rank) ==
                       current->rank,
               "image %u of a team of %u", current->rank + 1, current->size);
    contiguous();
    sections();
    atomics();
    broadcasts();
    co_reduce(DERIVED, 2, GEX_RANK_INVALID);
    intrinsic_I32(100, GEX_OP_ADD, GEX_RANK_INVALID);
    intrinsic_DBL(100, GEX_OP_MAX, 0);
    if (depth > 1) descend(depth - 1);
    end_team();
    test_check(test_mismatch(local(kept), NBYTES, key_of((gex_Rank_t)test_rank, 1, depth)) < 0,
               "memory of a parent");
    deallocate(current, kept);
}

static void teams(void)
{
    for (int i = 0; i < 2; i++) descend(3);
    test_check(current == &job, "back in the first team");
}

/* --- start and end --- */

static void start(void)
{
    enum {
        OPS = GEX_OP_ADD | GEX_OP_SUB | GEX_OP_INC | GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR |
              GEX_OP_SET | GEX_OP_GET | GEX_OP_SWAP | GEX_OP_FCAS | GEX_OP_FADD | GEX_OP_FAND |
              GEX_OP_FOR | GEX_OP_FXOR
    };
    require(gex_Client_Init(&client, &ep, &job.tm, "caffeine", NULL, NULL, 0), "gex_Client_Init");
    job.rank = gex_TM_QueryRank(job.tm);
    job.size = gex_TM_QuerySize(job.tm);
    job.end = SYMMETRIC;
    if (job.size > MOST || gasnet_getMaxGlobalSegmentSize() < SYMMETRIC + OWN) {
        fprintf(stderr, "# %u images, segments of %zu bytes: at most %d, at least %d\n", job.size,
                (size_t)gasnet_getMaxGlobalSegmentSize(), MOST, SYMMETRIC + OWN);
        exit(4);
    }
    require(gex_Segment_Attach(&segment, job.tm, SYMMETRIC + OWN), "gex_Segment_Attach");
    for (gex_Rank_t r = 0; r < job.size; r++)
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(job.tm, r, (void **)&base[r], NULL, NULL, 0));
    gex_AD_Create(&ad, job.tm, GEX_DT_I64, OPS, 0);
    test_ex_join(client, job.tm);
    met = allocate(&job, 8 * (size_t)test_size);
    memset(local(met), 0, 8 * (size_t)test_size);
    sync_all(&job);
}

/* `stop` waits for all images; `error stop` for none. */
static void stop(bool error, int code)
{
    if (!error) {
        sync_all(&job);
        gasnet_exit(code);
    }
    if (job.rank == job.size - 1) gasnet_exit(code);
    if (job.rank % 3 == 0) sync_all(&job);
    if (job.rank % 3 == 1) await(met, INT64_MAX);
    GASNET_BLOCKUNTIL((gasnett_nsleep(1000), 0));
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"EX 17, Caffeine: start", started},
        {"EX 17, Caffeine: puts and gets", contiguous},
        {"EX 17, Caffeine: allocated components", components},
        {"EX 17, Caffeine: sections of arrays", sections},
        {"EX 17, Caffeine: sync images", synchronised},
        {"EX 17, Caffeine: events", events},
        {"EX 17, Caffeine: locks", locks},
        {"EX 17, Caffeine: atomic subroutines", atomics},
        {"EX 17, Caffeine: co_reduce of derived types", reductions},
        {"EX 17, Caffeine: co_sum, co_min, co_max", intrinsics},
        {"EX 17, Caffeine: co_broadcast", broadcasts},
        {"EX 17, Caffeine: teams in teams", teams},
    };
    test_watch();
    start();
    if (argc > 2) stop(!strcmp(argv[1], "error"), atoi(argv[2]));
    test_run(rules, TEST_COUNT(rules));
    gasnet_exit(test_close());
}
