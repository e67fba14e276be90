/* endpoints.c - GASNet-EX: endpoints and segments that the client makes, what they tell, and
 * transfers to and from the segments of every rank, this one and its neighbours among them.
 */
#include <gasnet_mk.h>
#include <gasnet_vis.h>
#include <unistd.h>

#include "tests/programs/test.h"

enum {
    LAST = GASNET_MAXEPS - 1,
    BIG = (3 << 20) + 5,
    ODD = 100003,
    SMALL = 1,
    SPARE = LAST,     /* gets the memory of a segment that was destroyed */
    ONE = LAST - 1,   /* of two with the same segment */
    OTHER = LAST - 2, /* of two with the same segment */
    LOOPS = 1000
};

static gex_EP_t eps[GASNET_MAXEPS];
static gex_Segment_t segments[GASNET_MAXEPS]; /* that are bound to these */
static char memory[ODD + 16];
static char *const odd = memory + 3;
static char mine[BIG], back[BIG];

/* The length of the segment of each endpoint, the same on all ranks. */
static size_t length_of(int ep)
{
    switch (ep) {
    case 1:
        return BIG;
    case 2:
    case SPARE:
        return ODD;
    case 3:
        return SMALL;
    case ONE:
        return length_of(OTHER);
    default:
        return 1000 * (size_t)ep + 13;
    }
}

static gex_TM_t pair(int ep)
{
    return gex_TM_Pair(eps[1], (gex_EP_Index_t)ep);
}

/* The address of a rank's segment, as this rank was told. */
static char *base_of(int ep, int rank)
{
    void *owner = NULL;
    uintptr_t size = 0;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair(ep), (gex_Rank_t)rank, &owner, NULL, &size, 0));
    test_check(size == length_of(ep), "endpoint %d of rank %d: %zu bytes", ep, rank, (size_t)size);
    return owner;
}

static uintptr_t known(gex_TM_t tm, int rank)
{
    uintptr_t size = 1;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, (gex_Rank_t)rank, NULL, NULL, &size, 0));
    return size;
}

/* --- objects --- */

static gex_Client_t client(void)
{
    return test_client;
}

static void refused(void)
{
    gex_EP_t ep = (gex_EP_t)odd;
    gex_Segment_t segment = (gex_Segment_t)odd;
    const gex_EP_Capabilities_t caps[] = {0, GEX_EP_CAPABILITY_AM, GEX_EP_CAPABILITY_ALL,
                                          GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_AM, 1U << 31};
    gex_System_SetVerboseErrors(0);
    for (int i = 0; i < TEST_COUNT(caps); i++)
        test_check(gex_EP_Create(&ep, client(), caps[i], 0) == GASNET_ERR_BAD_ARG,
                   "capabilities 0x%x", caps[i]);
    test_check(gex_EP_Create(&ep, GEX_CLIENT_INVALID, GEX_EP_CAPABILITY_RMA, 0) ==
                       GASNET_ERR_BAD_ARG &&
                   gex_EP_Create(NULL, client(), GEX_EP_CAPABILITY_RMA, 0) == GASNET_ERR_BAD_ARG,
               "no client, no output");
    test_check(
        gex_Segment_Create(&segment, client(), NULL, 0, GEX_MK_HOST, 0) == GASNET_ERR_BAD_ARG &&
            gex_Segment_Create(&segment, client(), odd, 0, GEX_MK_HOST, 0) == GASNET_ERR_BAD_ARG &&
            gex_Segment_Create(NULL, client(), odd, 8, GEX_MK_HOST, 0) == GASNET_ERR_BAD_ARG &&
            gex_Segment_Create(&segment, client(), odd, UINTPTR_MAX, GEX_MK_HOST, 0) ==
                GASNET_ERR_BAD_ARG,
        "no bytes, no output, too many bytes");
    if (gasnet_getMaxLocalSegmentSize() < UINTPTR_MAX - GASNET_PAGESIZE)
        test_check(gex_Segment_Create(&segment, client(), NULL,
                                      gasnet_getMaxLocalSegmentSize() + GASNET_PAGESIZE,
                                      GEX_MK_HOST, 0) == GASNET_ERR_BAD_ARG,
                   "larger than gasnet_getMaxLocalSegmentSize()");
    test_check(gex_Segment_Create(&segment, client(), odd, 8, GEX_MK_INVALID, 0) ==
                   GASNET_ERR_BAD_ARG,
               "no kind");
    test_check(ep == (gex_EP_t)odd && segment == (gex_Segment_t)odd, "outputs are unchanged");
    gex_System_SetVerboseErrors(1);
}

static void create(int ep)
{
    test_check(gex_EP_Create(&eps[ep], client(), GEX_EP_CAPABILITY_RMA, 0) == GASNET_OK &&
                   gex_EP_QueryIndex(eps[ep]) == ep,
               "endpoint %d", ep);
}

static void endpoints(void)
{
#define TEXT(number)  TEXT_(number)
#define TEXT_(number) #number
    test_check(!strcmp(TEXT(GASNET_MAXEPS), "33"), "a literal");
    eps[0] = gex_TM_QueryEP(test_tm);
    for (int ep = 1; ep <= 3; ep++) {
        create(ep);
        test_check(gex_EP_QueryClient(eps[ep]) == client() && gex_EP_QueryFlags(eps[ep]) == 0 &&
                       gex_EP_QuerySegment(eps[ep]) == GEX_SEGMENT_INVALID &&
                       gex_EP_QueryCData(eps[ep]) == NULL,
                   "what it tells");
        gex_EP_SetCData(eps[ep], &eps[ep]);
        test_check(gex_EP_QueryCData(eps[ep]) == &eps[ep], "its data");
        test_check(known(pair(ep), test_rank) == 0, "it has no segment");
    }
    gex_AM_Entry_t entry = {
        0, (gex_AM_Fn_t)endpoints, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQREP, 0, NULL, NULL};
    gex_System_SetVerboseErrors(0);
    test_check(gex_EP_RegisterHandlers(eps[1], &entry, 1) == GASNET_ERR_BAD_ARG, "no messages");
    gex_System_SetVerboseErrors(1);
}

static void segment(int ep, void *addr)
{
    test_check(gex_Segment_Create(&segments[ep], client(), addr, length_of(ep), GEX_MK_HOST, 0) ==
                   GASNET_OK,
               "segment %d", ep);
    test_check((!addr || gex_Segment_QueryAddr(segments[ep]) == addr) &&
                   gex_Segment_QuerySize(segments[ep]) == length_of(ep) &&
                   gex_Segment_QueryClient(segments[ep]) == client() &&
                   gex_Segment_QueryFlags(segments[ep]) == 0 &&
                   gex_Segment_QueryCData(segments[ep]) == NULL,
               "what it tells");
    gex_Segment_SetCData(segments[ep], odd);
    test_check(gex_Segment_QueryCData(segments[ep]) == odd, "its data");
}

static void bind(int ep)
{
    test_check(gex_EP_BindSegment(eps[ep], segments[ep], 0) == GASNET_OK &&
                   gex_EP_QuerySegment(eps[ep]) == segments[ep],
               "endpoint %d is bound", ep);
    void *owner = NULL, *local = NULL;
    uintptr_t size = 0;
    test_check(gex_Segment_QueryBound(pair(ep), (gex_Rank_t)test_rank, &owner, &local, &size) == 0,
               "it tells of its own");
    test_check(owner == gex_Segment_QueryAddr(segments[ep]) && local == owner &&
                   size == length_of(ep),
               "endpoint %d at %p, %p", ep, owner, local);
}

static void binding(void)
{
    segment(1, NULL);
    segment(2, odd);
    segment(3, back + 1);
    test_check(test_not_all(gex_Segment_QueryAddr(segments[1]), BIG, 0) < 0, "zeroed memory");
    for (int ep = 1; ep <= 3; ep++) bind(ep);
    gex_System_SetVerboseErrors(0);
    test_check(gex_EP_BindSegment(eps[1], segments[2], 0) == GASNET_ERR_BAD_ARG &&
                   gex_EP_BindSegment(eps[1], segments[1], 0) == GASNET_ERR_BAD_ARG,
               "bound twice");
    test_check(gex_EP_BindSegment(eps[0], segments[1], 0) == GASNET_ERR_BAD_ARG &&
                   gex_EP_BindSegment(GEX_EP_INVALID, segments[1], 0) == GASNET_ERR_BAD_ARG &&
                   gex_EP_BindSegment((gex_EP_t)odd, segments[1], 0) == GASNET_ERR_BAD_ARG,
               "the primordial endpoint, and none");
    test_check(gex_EP_BindSegment(eps[1], GEX_SEGMENT_INVALID, 0) == GASNET_ERR_BAD_ARG &&
                   gex_EP_BindSegment(eps[1], (gex_Segment_t)odd, 0) == GASNET_ERR_BAD_ARG,
               "no segment");
    test_check(gex_EP_QuerySegment(eps[1]) == segments[1], "still the same");
    gex_System_SetVerboseErrors(1);
}

static void pairs(void)
{
    for (int ep = 0; ep < GASNET_MAXEPS; ep++) {
        const gex_TM_t tm = gex_TM_Pair(eps[0], (gex_EP_Index_t)ep);
        test_check(tm == gex_TM_Pair(eps[0], (gex_EP_Index_t)ep) && tm != test_tm, "a value");
        for (int r = 0; r < test_size; r++) {
            const gex_EP_Location_t at = gex_TM_TranslateRankToEP(tm, (gex_Rank_t)r, 0);
            test_check(at.gex_rank == (gex_Rank_t)r && at.gex_ep_index == ep, "what it names");
        }
    }
    test_check(gex_TM_TranslateRankToEP(test_tm, 0, 0).gex_ep_index == 0, "of a team: 0");
}

/* --- publication --- */

/* What nobody has published is unknown, and the outputs of the older query stay unchanged. */
static void unpublished(void)
{
    void *owner = odd;
    for (int r = 0; r < test_size; r++)
        if (r != test_rank)
            test_check(known(pair(1), r) == 0 &&
                           gex_Segment_QueryBound(pair(1), (gex_Rank_t)r, &owner, NULL, NULL) &&
                           owner == odd,
                       "rank %d has published nothing", r);
    test_sync();
}

/* Each rank publishes 1 and 2, one by one or together, and 3 if it is even. */
static void published(void)
{
    gex_EP_t list[] = {eps[2], eps[0], eps[3], eps[1]};
    gex_EP_t wrong[] = {eps[1], (gex_EP_t)odd};
    test_check(gex_EP_PublishBoundSegment(test_tm, NULL, 0, 0) == GASNET_OK, "none");
    gex_System_SetVerboseErrors(0);
    const int result = gex_EP_PublishBoundSegment(test_tm, wrong, test_rank == 0 ? 2 : 1, 0);
    test_check(result == (test_rank == 0 ? GASNET_ERR_BAD_ARG : GASNET_OK), "a wrong list");
    gex_System_SetVerboseErrors(1);
    if (test_rank % 2) list[2] = eps[1];
    for (int twice = 0; twice < 2; twice++)
        test_check(gex_EP_PublishBoundSegment(test_tm, list, 4, 0) == GASNET_OK, "lists");
    for (int r = 0; r < test_size; r++) {
        test_check(base_of(1, r) && base_of(2, r), "rank %d", r);
        if (r != test_rank)
            test_check(known(pair(3), r) == (r % 2 ? 0 : SMALL), "of rank %d if it is even", r);
        void *local = odd;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair(1), (gex_Rank_t)r, NULL, &local, NULL, 0));
        test_check(r == test_rank ? local == gex_Segment_QueryAddr(segments[1]) : local == NULL,
                   "mapped by its owner alone");
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair(1), (gex_Rank_t)r, NULL, NULL, NULL,
                                                  GEX_FLAG_IMMEDIATE));
    }
    test_check(known(pair(7), test_rank) == 0, "an endpoint that does not exist");
    test_sync();
    test_check(gex_EP_PublishBoundSegment(test_tm, eps + 3, 1, 0) == GASNET_OK, "the rest");
}

/* --- transfers: in turn t each rank has all of one other to itself --- */

static void put(int form, gex_TM_t tm, gex_Rank_t rank, char *to, char *from, size_t n)
{
    gex_Event_t leaf = GEX_EVENT_INVALID, event = GEX_EVENT_INVALID;
    switch (form) {
    case 0:
        gex_RMA_PutBlocking(tm, rank, to, from, n, 0);
        return;
    case 1:
        gex_Event_Wait(gex_RMA_PutNB(tm, rank, to, from, n, GEX_EVENT_NOW, 0));
        return;
    case 2:
        gex_Event_Wait(gex_RMA_PutNB(tm, rank, to, from, n, GEX_EVENT_DEFER, 0));
        return;
    case 3:
        event = gex_RMA_PutNB(tm, rank, to, from, n, &leaf, 0);
        gex_Event_Wait(leaf);
        gex_Event_Wait(event);
        return;
    case 4:
        gex_NBI_BeginAccessRegion(0);
        gex_RMA_PutNBI(tm, rank, to, from, n / 2, GEX_EVENT_NOW, 0);
        gex_RMA_PutNBI(tm, rank, to + n / 2, from + n / 2, n - n / 2, GEX_EVENT_DEFER, 0);
        gex_Event_Wait(gex_NBI_EndAccessRegion(0));
        return;
    default:
        gex_RMA_PutNBI(tm, rank, to, from, n, form == 5 ? GEX_EVENT_GROUP : GEX_EVENT_DEFER, 0);
        if (form == 5) gex_NBI_Wait(GEX_EC_LC, 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
    }
}
enum { PUTS = 7, GETS = 3 };

static void get(int form, gex_TM_t tm, gex_Rank_t rank, char *to, char *from, size_t n)
{
    if (form == 0) gex_RMA_GetBlocking(tm, to, rank, from, n, 0);
    if (form == 1) gex_Event_Wait(gex_RMA_GetNB(tm, to, rank, from, n, 0));
    if (form == 2) {
        gex_RMA_GetNBI(tm, to, rank, from, n, 0);
        gex_NBI_Wait(GEX_EC_GET, 0);
    }
}

/* All of the segment, then parts of every size, by every form. */
static void transfers(int ep, int rank, struct test_random *random)
{
    char *const base = base_of(ep, rank);
    const size_t size = length_of(ep);
    const gex_Rank_t there = (gex_Rank_t)rank;
    const uint64_t key = test_random(random);
    char *const here =
        size > ODD || rank % 2 ? mine : test_at(test_rank, 0); /* in a segment, too */
    test_fill(here, size, key);
    put((int)test_below(random, PUTS), pair(ep), there, base, here, size);
    memset(back + 8, 0, size - (size == BIG ? 8 : 0));
    get((int)test_below(random, GETS), pair(ep), there, back + 8, base,
        size == BIG ? BIG - 8 : size);
    test_check(test_mismatch(back + 8, size == BIG ? BIG - 8 : size, key) < 0,
               "all of endpoint %d of rank %d", ep, rank);
    for (int form = 0; form < PUTS * GETS; form++) {
        size_t n = (size_t)1 << test_below(random, 18);
        n += (size_t)test_below(random, 9);
        if (n > size) n = size;
        const size_t at = (size_t)test_below(random, size - n + 1);
        const uint64_t part = test_random(random);
        test_fill(mine, n, part);
        put(form % PUTS, pair(ep), there, base + at, mine, n);
        memset(back + 8, 0, n);
        get(form / PUTS, pair(ep), there, back + 8, base + at, n);
        test_check(test_mismatch(back + 8, n, part) < 0,
                   "%zu bytes at %zu of endpoint %d of rank %d, form %d", n, at, ep, rank, form);
    }
    for (size_t n = 1; n <= 8 && n <= size; n++) {
        const uint64_t value = test_random(random) >> (64 - 8 * n);
        char *const at = base + test_below(random, size - n + 1);
        gex_RMA_PutBlockingVal(pair(ep), there, at, value, n, 0);
        test_check(gex_RMA_GetBlockingVal(pair(ep), there, at, n, 0) == value, "%zu bytes", n);
        gex_Event_Wait(gex_RMA_PutNBVal(pair(ep), there, at, ~value, n, 0));
        gex_RMA_PutNBIVal(pair(ep), there, at, ~value, n, 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
        test_check(gex_RMA_GetBlockingVal(pair(ep), there, at, n, 0) ==
                       (~value << (64 - 8 * n)) >> (64 - 8 * n),
                   "%zu bytes", n);
    }
}

/* Columns of a matrix of bytes, by lists and by strides. */
static void vectors(int ep, int rank)
{
    enum { ROWS = 40, PITCH = 200, WIDTH = 24, TOTAL = ROWS * WIDTH };
    char *const base = base_of(ep, rank) + 1;
    const gex_Rank_t there = (gex_Rank_t)rank;
    void *rows[ROWS], *whole[1] = {mine};
    gex_Memvec_t list[ROWS];
    const gex_Memvec_t local = {mine, TOTAL}, result = {back, TOTAL};
    for (int i = 0; i < ROWS; i++) {
        rows[i] = base + (size_t)i * PITCH;
        list[i] = (gex_Memvec_t){rows[i], WIDTH};
    }
    for (int form = 0; form < 3; form++) {
        const uint64_t key = test_mix((uint64_t)(ep * 100 + rank * 10 + form));
        test_fill(mine, TOTAL, key);
        memset(back, 0, TOTAL);
        const ptrdiff_t far[] = {PITCH}, near[] = {WIDTH};
        const size_t count[] = {ROWS};
        if (form == 0) {
            gex_VIS_VectorPutBlocking(pair(ep), there, ROWS, list, 1, &local, 0);
            gex_Event_Wait(
                gex_VIS_StridedGetNB(pair(ep), back, near, there, base, far, WIDTH, count, 1, 0));
        } else if (form == 1) {
            gex_Event_Wait(
                gex_VIS_IndexedPutNB(pair(ep), there, ROWS, rows, WIDTH, 1, whole, TOTAL, 0));
            gex_VIS_VectorGetNBI(pair(ep), 1, &result, there, ROWS, list, 0);
            gex_NBI_Wait(GEX_EC_ALL, 0);
        } else {
            void *to[1] = {back};
            gex_VIS_StridedPutNBI(pair(ep), there, base, far, mine, near, WIDTH, count, 1, 0);
            gex_NBI_Wait(GEX_EC_ALL, 0);
            gex_VIS_IndexedGetBlocking(pair(ep), 1, to, TOTAL, there, ROWS, rows, WIDTH, 0);
        }
        test_check(test_mismatch(back, TOTAL, key) < 0, "vectors to endpoint %d of rank %d, %d", ep,
                   rank, form);
    }
}

static void fills(int rank)
{
#ifndef GASNET_DEBUG /* in which the classic calls reach the attached segment alone */
    for (size_t n = 1; n <= ODD; n = n * 9 + 1) {
        gasnet_memset((gasnet_node_t)rank, base_of(2, rank) + 5, (int)n & 255, n - n / 9);
        gex_RMA_GetBlocking(pair(2), back, (gex_Rank_t)rank, base_of(2, rank) + 5, n - n / 9, 0);
        test_check(test_not_all(back, n - n / 9, (uint8_t)n) < 0, "a fill of %zu bytes", n);
    }
#else
    (void)rank;
#endif
}

static void each_rank(void)
{
    for (int turn = 0; turn < test_size; turn++) {
        const int rank = (test_rank + turn) % test_size;
        struct test_random random = test_random_for((uint64_t)turn);
        for (int ep = 1; ep <= 2; ep++) {
            transfers(ep, rank, &random);
            vectors(ep, rank);
        }
        fills(rank);
        test_sync();
    }
}

/* The endpoints' memory is what the owner sees. */
static void seen_by_owner(void)
{
    char *const own = gex_Segment_QueryAddr(segments[1]);
    test_fill(mine, BIG, (uint64_t)test_rank);
    gex_RMA_PutBlocking(pair(1), (gex_Rank_t)test_next, base_of(1, test_next), mine, BIG, 0);
    test_fill(mine, ODD, (uint64_t)test_rank + 1000);
    gex_RMA_PutBlocking(pair(2), (gex_Rank_t)test_next, base_of(2, test_next), mine, ODD, 0);
    gex_RMA_PutBlockingVal(pair(3), (gex_Rank_t)test_next, base_of(3, test_next),
                           (uint64_t)test_rank + 7, 1, 0);
    test_sync();
    test_check(test_mismatch(own, BIG, (uint64_t)test_prev) < 0, "the library's memory");
    test_check(test_mismatch(odd, ODD, (uint64_t)test_prev + 1000) < 0, "static memory");
    test_check(odd[-1] == 0 && odd[ODD] == 0 && back[1] == test_prev + 7, "no byte more");
    test_sync();
}

/* --- as many as there can be --- */

static void many(void)
{
    gex_EP_t ep = GEX_EP_INVALID;
    for (int i = 4; i <= LAST; i++) create(i);
    gex_System_SetVerboseErrors(0);
    test_check(gex_EP_Create(&ep, client(), GEX_EP_CAPABILITY_RMA, 0) == GASNET_ERR_RESOURCE &&
                   ep == GEX_EP_INVALID,
               "one more");
    gex_System_SetVerboseErrors(1);
    for (int i = 4; i <= OTHER; i++) {
        static void *memory[GASNET_MAXEPS]; /* which outlives its segment */
        if (i % 2 == 0) memory[i] = malloc(length_of(i));
        segment(i, memory[i]);
        bind(i);
    }
    segments[ONE] = segments[OTHER];
    bind(ONE);
    /* Each half of the job publishes first: its members know the segments before other ranks do. */
    gex_TM_t half;
    gex_TM_Split(&half, test_tm, test_rank % 2, test_rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    test_check(gex_EP_PublishBoundSegment(half, eps + 4, ONE - 4 + 1, 0) == GASNET_OK, "a half");
    for (int r = 0; r < test_size; r++)
        for (int i = 4; i <= ONE; i++)
            test_check(known(pair(i), r) == (r % 2 == test_rank % 2 ? length_of(i) : 0),
                       "endpoint %d of rank %d", i, r);
    for (int r = test_rank % 2; r < test_size; r += 2) {
        char *const at = base_of(9, r) + test_rank;
        gex_RMA_PutBlocking(pair(9), (gex_Rank_t)r, at, mine, 1, 0);
    }
    test_sync();
    gex_TM_Destroy(half, NULL, 0);
    test_check(gex_EP_PublishBoundSegment(test_tm, eps, GASNET_MAXEPS, 0) == GASNET_OK, "all");
    for (int turn = 0; turn < test_size; turn++) {
        const int rank = (test_rank + turn) % test_size;
        for (int step = 0; step < 3 * ONE; step++) { /* to and fro between segments */
            const int i = step * 7 % ONE + 1;
            const uint64_t value = test_mix((uint64_t)(rank * 100 + step));
            char *const at = base_of(i, rank) + length_of(i) / 2;
            const size_t n = i == 3 ? 1 : 8;
            put(step % PUTS, pair(i), (gex_Rank_t)rank, at, (char *)&value, n);
            uint64_t got = 0;
            get(step % GETS, pair(i), (gex_Rank_t)rank, (char *)&got, at, n);
            test_check(!memcmp(&got, &value, n), "endpoint %d of rank %d", i, rank);
        }
        test_check(base_of(ONE, rank) == base_of(OTHER, rank), "one segment of two endpoints");
        test_sync();
    }
}

/* --- the end of segments --- */

static size_t pages_now(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1) test_check(false, "/proc/self/statm");
    if (file) fclose(file);
    return pages;
}

static void loops(void)
{
    gex_Segment_t made = GEX_SEGMENT_INVALID;
    size_t before = 0;
    for (int i = 0; i < LOOPS; i++) {
        test_check(gex_Segment_Create(&made, client(), i % 3 ? NULL : odd, i % 3 ? BIG : 7,
                                      GEX_MK_HOST, 0) == GASNET_OK,
                   "segment %d", i);
        *(char *)gex_Segment_QueryAddr(made) = 1;
        gex_Segment_Destroy(made, 0);
        if (i == LOOPS / 10) before = pages_now();
    }
    test_check(pages_now() < before + 1000, "%zu pages, then %zu", before, pages_now());
    odd[0] = 0;
}

/* Memory of a segment that was destroyed, in a new one. */
static void destroyed(void)
{
    for (int r = 0; r < test_size; r++) /* so that the library remembers the old one last */
        gex_RMA_GetBlocking(pair(2), back + 8, (gex_Rank_t)r, base_of(2, r), 64, 0);
    test_sync();
    gex_Segment_Destroy(segments[2], 0);
    test_check(gex_EP_QuerySegment(eps[2]) == GEX_SEGMENT_INVALID && known(pair(2), test_rank) == 0,
               "it is no more");
    gex_System_SetVerboseErrors(0);
    test_check(gex_EP_BindSegment(eps[2], segments[1], 0) == GASNET_ERR_BAD_ARG, "not again");
    gex_System_SetVerboseErrors(1);
    segment(SPARE, odd);
    bind(SPARE);
    test_check(gex_EP_PublishBoundSegment(test_tm, &eps[SPARE], 1, 0) == GASNET_OK, "published");
    for (int r = 0; r < test_size; r++) test_check(known(pair(2), r) == 0, "rank %d has none", r);
    for (int turn = 0; turn < test_size; turn++) {
        struct test_random random = test_random_for((uint64_t)turn);
        transfers(SPARE, (test_rank + turn) % test_size, &random);
        test_sync();
    }
    gex_Segment_Destroy(segments[OTHER], 0);
    test_check(known(pair(ONE), test_rank) == 0 && known(pair(OTHER), test_rank) == 0,
               "both endpoints have lost it");
    gex_Segment_Destroy(segments[1], 0);
    test_check(gex_EP_PublishBoundSegment(test_tm, eps, GASNET_MAXEPS, 0) == GASNET_OK, "the rest");
    for (int r = 0; r < test_size; r++)
        test_check(known(pair(1), r) == 0 && known(pair(ONE), r) == 0 &&
                       known(pair(4), r) == length_of(4),
                   "rank %d has the rest", r);
    test_sync();
}

static const struct test_rule rules[] = {
    {"endpoints and segments that are refused", refused},
    {"endpoints have indices in the order of creation", endpoints},
    {"segments are bound once", binding},
    {"pairs name endpoints", pairs},
    {"what is not published is not known", unpublished},
    {"what is published is known", published},
    {"transfers of every form with every rank", each_rank},
    {"owners see what is put", seen_by_owner},
    {"as many endpoints as there can be, published to a part of the job first", many},
    {"segments are made and destroyed without growth", loops},
    {"memory of a destroyed segment in a new one", destroyed},
};

int main(int argc, char **argv)
{
    test_ex_start(&argc, &argv, NULL, 0, 1 << 20);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
