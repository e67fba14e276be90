/* random_model.h - the model of random.c: what memory holds, which operations are under way, and
 * the pool of events from which any thread takes some to synchronise.
 */
#ifndef TEST_EX_RANDOM_MODEL_H
#define TEST_EX_RANDOM_MODEL_H

#include "tests/programs/test.h"

#include <gasnet_tools.h>
#ifdef GASNET_PAR
#include <pthread.h>
enum { THREADS = 4 };
#else
enum { THREADS = 1 };
#endif

enum {
    BIG = 100 << 10, /* bytes of the first slot of a region */
    SMALL = 5 << 10, /* and of the others */
    SLOTS = 10,      /* with the first */
    REGION = BIG + (SLOTS - 1) * SMALL,
    ANSWERS = 8,       /* slots of a thread that Long Replies fill */
    ITEMS = 12,        /* operations of an access region */
    QUIET_SECONDS = 20 /* after which what has not arrived is lost */
};

/* --- places, and the model of what they hold --- */

static int *busy;         /* [rank][thread][slot]: an operation that is under way uses it */
static char *copy;        /* [rank][thread]: regions */
static int *answer_busy;  /* [thread][slot]: until the end of the phase */
static char *answer_copy; /* [thread][slot] */
static int wrong;         /* what handlers and threads have found */

static size_t region_offset(int rank, int thread)
{
    return (size_t)(rank * THREADS + thread) * REGION;
}
static size_t slot_offset(int slot)
{
    return slot == 0 ? 0 : BIG + (size_t)(slot - 1) * SMALL;
}
static size_t answer_offset(int thread, int slot)
{
    return region_offset(test_size, 0) + (size_t)(thread * ANSWERS + slot) * SMALL;
}

#define FOUND(condition)                                                                           \
    do {                                                                                           \
        if (condition) {                                                                           \
            test_add(&wrong, 1);                                                                   \
            fprintf(stderr, "# rank %d: %s:%d: %s\n", test_rank, __FILE__, __LINE__, #condition);  \
        }                                                                                          \
    } while (0)

/* --- operations under way --- */

/* A source that the library reads, or a destination that it writes. */
struct item {
    struct item *next;
    gex_EC_t category; /* GEX_EC_PUT, _GET or _AM */
    bool grouped;      /* of a put: GEX_EC_LC tells of the source */
    bool source_over;
    int *slot; /* to be freed; may be NULL */
    size_t nbytes;
    char *expected; /* of a get */
    char data[];
};

/* The event of some operations, and its leaves. */
struct bundle {
    struct bundle *next;
    gex_Event_t root, leaf[4];
    gex_EC_t category[4];
    int leaves;
    struct item *items;
};

static struct item *item_new(gex_EC_t category, size_t nbytes)
{
    struct item *i = calloc(1, sizeof *i + nbytes);
    i->category = category, i->nbytes = nbytes;
    return i;
}

static void source_over(struct item *i)
{
    if (!i->source_over) memset(i->data, 0xdb, i->nbytes);
    i->source_over = true;
}

static void item_over(struct item *i)
{
    if (i->category == GEX_EC_GET) {
        FOUND(memcmp(i->data, i->expected, i->nbytes) != 0);
        free(i->expected);
    } else
        source_over(i);
    if (i->slot) __atomic_store_n(i->slot, 0, __ATOMIC_RELEASE);
    free(i);
}

/* What the completion of these categories says of the items. */
static void categories_over(struct item **list, gex_EC_t categories)
{
    for (struct item **at = list, *i; (i = *at);) {
        if (i->category & categories) {
            *at = i->next;
            item_over(i);
            continue;
        }
        if (i->category == GEX_EC_PUT && i->grouped && categories & GEX_EC_LC) source_over(i);
        at = &i->next;
    }
}

static void bundle_over(struct bundle *b)
{
    categories_over(&b->items, GEX_EC_ALL);
    free(b);
}

/* --- the pool of events --- */

static gex_HSL_t pool_lock = GEX_HSL_INITIALIZER;
static struct bundle *pool;
static int bundles; /* in the pool, or in the hands of a thread that took them there */

/* Also in handlers. */
static void give(struct bundle *b)
{
    gex_HSL_Lock(&pool_lock);
    b->next = pool, pool = b;
    gex_HSL_Unlock(&pool_lock);
}

/* Leaves that are complete, of a bundle whose root may not be. */
static void leaves_over(struct bundle *b)
{
    int left = 0;
    for (int i = 0; i < b->leaves; i++) {
        if (b->leaf[i] == GEX_EVENT_INVALID)
            categories_over(&b->items, b->category[i]);
        else
            b->leaf[left] = b->leaf[i], b->category[left++] = b->category[i];
    }
    b->leaves = left;
}

/* Takes an event, with its leaf unless that is NULL, and what they tell of. */
static void started(gex_Event_t root, gex_Event_t *leaf, struct item *items)
{
    if (root == GEX_EVENT_INVALID) {
        FOUND(leaf && *leaf != GEX_EVENT_INVALID);
        categories_over(&items, GEX_EC_ALL);
        return;
    }
    struct bundle *b = calloc(1, sizeof *b);
    b->root = root, b->items = items;
    if (leaf) b->leaf[b->leaves] = *leaf, b->category[b->leaves++] = GEX_EC_LC;
    leaves_over(b);
    test_add(&bundles, 1);
    give(b);
}

static struct bundle *take(struct test_random *random)
{
    gex_HSL_Lock(&pool_lock);
    struct bundle **at = &pool, *b;
    for (uint64_t skip = test_below(random, 4); skip && *at && (*at)->next; skip--)
        at = &(*at)->next;
    if ((b = *at)) *at = b->next;
    gex_HSL_Unlock(&pool_lock);
    return b;
}

/* --- synchronisation --- */

enum { TAKEN = 6, EVENTS = TAKEN * 5 + 3 };

/* Some of the leaves, then the root; returns whether the root is complete. */
static bool one_by_one(struct bundle *b, struct test_random *random)
{
    const bool waits = test_below(random, 2);
    for (int i = 0; i < b->leaves; i++) {
        if (test_below(random, 3) == 0) continue;
        if (waits)
            gex_Event_Wait(b->leaf[i]);
        else if (gex_Event_Test(b->leaf[i]) != GASNET_OK)
            continue;
        b->leaf[i] = GEX_EVENT_INVALID;
    }
    leaves_over(b);
    if (waits)
        gex_Event_Wait(b->root);
    else if (gex_Event_Test(b->root) != GASNET_OK)
        return false;
    return true;
}

/* One call for an array, whose result must agree with what it leaves there. */
static void call_array(gex_Event_t *events, size_t n, struct test_random *random)
{
    const uint64_t form = test_below(random, 4);
    size_t before = 0, after = 0;
    int status = GASNET_OK;
    for (size_t i = 0; i < n; i++) before += events[i] != GEX_EVENT_INVALID;
    if (form == 0) status = gex_Event_TestSome(events, n, 0);
    if (form == 1) status = gex_Event_TestAll(events, n, 0);
    if (form == 2) gex_Event_WaitSome(events, n, 0);
    if (form == 3) gex_Event_WaitAll(events, n, 0);
    for (size_t i = 0; i < n; i++) after += events[i] != GEX_EVENT_INVALID;
    const bool done = form % 2 ? after == 0 : after < before || before == 0;
    FOUND((status == GASNET_OK) != done);
    FOUND(status != GASNET_OK && status != GASNET_ERR_NOT_READY);
}

/* Roots and leaves of several bundles in any order. */
static void by_array(struct bundle **taken, int n, struct test_random *random)
{
    gex_Event_t events[EVENTS], *from[EVENTS] = {NULL};
    size_t count = 0;
    for (int b = 0; b < n; b++) {
        from[count++] = &taken[b]->root;
        for (int i = 0; i < taken[b]->leaves; i++) from[count++] = &taken[b]->leaf[i];
    }
    count += test_below(random, 3); /* these are invalid */
    for (size_t i = count; i-- > 1;) {
        const size_t k = (size_t)test_below(random, i + 1);
        gex_Event_t *const swapped = from[i];
        from[i] = from[k], from[k] = swapped;
    }
    for (size_t i = 0; i < count; i++) events[i] = from[i] ? *from[i] : GEX_EVENT_INVALID;
    call_array(events, count, random);
    for (size_t i = 0; i < count; i++)
        if (from[i]) *from[i] = events[i];
}

static void synchronise(struct test_random *random)
{
    struct bundle *taken[TAKEN];
    int n = 0;
    const int most = 1 + (int)test_below(random, TAKEN);
    while (n < most && (taken[n] = take(random))) n++;
    if (n == 0) return;
    const bool array = test_below(random, 4);
    if (array) by_array(taken, n, random);
    for (int b = 0; b < n; b++) {
        struct bundle *const t = taken[b];
        bool over;
        if (array) {
            over = t->root == GEX_EVENT_INVALID;
            for (int i = 0; over && i < t->leaves; i++) FOUND(t->leaf[i] != GEX_EVENT_INVALID);
            leaves_over(t);
        } else
            over = one_by_one(t, random);
        if (over) {
            bundle_over(t);
            test_add(&bundles, -1);
        } else
            give(t);
    }
}

static void drain(struct test_random *random)
{
    while (test_get(&bundles)) {
        gasnet_AMPoll();
        synchronise(random);
    }
}

/* --- the state of a thread --- */

struct thread {
    int index;
    struct test_random random;
    struct item *implicit; /* operations that gex_NBI_Wait or the present region tells of */
    bool in_region;
    uint32_t messages; /* sent */
};

static gex_TM_t halves, reversed; /* teams, by parity and of all */

static uint64_t below(struct thread *t, uint64_t bound)
{
    return test_below(&t->random, bound);
}
static bool coin(struct thread *t)
{
    return below(t, 2);
}

/* A rank of the job, and a name for it. */
struct peer {
    int job;
    gex_TM_t tm;
    gex_Rank_t rank;
};

static struct peer any_peer(struct thread *t)
{
    const gex_TM_t names[] = {test_tm, gex_TM_Pair(gex_TM_QueryEP(test_tm), 0), halves, reversed};
    const int name = (int)below(t, 4);
    struct peer p = {(int)below(t, (uint64_t)test_size), names[name], 0};
    p.rank = name < 2 ? (gex_Rank_t)p.job : gex_TM_TranslateJobrankToRank(p.tm, (gex_Rank_t)p.job);
    if (p.rank == GEX_RANK_INVALID) p.tm = test_tm, p.rank = (gex_Rank_t)p.job;
    return p;
}

/* A part of a free slot of this thread's region at a rank. */
struct place {
    int *busy;
    char *there, *copy; /* NULL: no slot was free */
    size_t nbytes;
};

static struct place any_place(struct thread *t, int rank)
{
    const int slot = below(t, 8) ? 1 + (int)below(t, SLOTS - 1) : 0;
    struct place p = {&busy[(rank * THREADS + t->index) * SLOTS + slot], NULL, NULL, 0};
    if (__atomic_load_n(p.busy, __ATOMIC_ACQUIRE)) return p;
    const size_t room = slot ? SMALL : BIG;
    const size_t most = coin(t) ? 100 : room;
    p.nbytes = 1 + (size_t)below(t, most);
    const size_t at = slot_offset(slot) + (size_t)below(t, room - p.nbytes + 1);
    p.there = test_at(rank, region_offset(test_rank, t->index) + at);
    p.copy = copy + region_offset(rank, t->index) + at;
    return p;
}

#endif
