/* vectors.c - GASNet-EX: vector, indexed and strided transfers of random sections, whose strides
 * have any sign and order, in each form, against a model that visits each piece.
 */
#include <gasnet_vis.h>
#include <string.h>

#include "tests/programs/test.h"

enum { BOX = 1 << 16, DIMENSIONS = 4, SEGMENT = BOX };

static gex_Rank_t peer(void)
{
    return (gex_Rank_t)test_next;
}
static char *there(size_t offset)
{
    return test_at(test_next, offset);
}

/* A random section of both sides: counts, strides of any sign and order within a box of BOX bytes,
 * by a model that visits each piece. */
typedef struct section {
    size_t elemsz, levels, count[DIMENSIONS];
    ptrdiff_t there[DIMENSIONS], here[DIMENSIONS];
    size_t there_start, here_start;
} section_t;

/* Strides of one side: the levels nest in a random order, some with gaps, some backwards. */
static size_t make_side(struct test_random *random, const section_t *s, ptrdiff_t *strides)
{
    size_t order[DIMENSIONS], span = s->elemsz, start = 0;
    for (size_t i = 0; i < s->levels; i++) {
        const size_t j = (size_t)test_below(random, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < s->levels; i++) {
        const size_t level = order[i], stride = span + (size_t)test_below(random, 3) * 5;
        const bool back = test_below(random, 2);
        strides[level] = back ? -(ptrdiff_t)stride : (ptrdiff_t)stride;
        if (back) start += (s->count[level] - 1) * stride;
        span = stride * s->count[level];
    }
    return start;
}

static section_t make_section(struct test_random *random)
{
    section_t s = {.elemsz = (size_t)test_below(random, 40) + 1,
                   .levels = (size_t)test_below(random, DIMENSIONS + 1)};
    for (size_t i = 0; i < s.levels; i++) s.count[i] = (size_t)test_below(random, 5) + 1;
    s.there_start = make_side(random, &s, s.there);
    s.here_start = make_side(random, &s, s.here);
    return s;
}

/* The offset of piece n of a side. */
static size_t piece(const section_t *s, const ptrdiff_t *strides, size_t start, size_t n)
{
    ptrdiff_t at = (ptrdiff_t)start;
    for (size_t i = 0; i < s->levels; i++, n /= s->count[i - 1])
        at += (ptrdiff_t)(n % s->count[i]) * strides[i];
    return (size_t)at;
}

static size_t pieces(const section_t *s)
{
    size_t n = 1;
    for (size_t i = 0; i < s->levels; i++) n *= s->count[i];
    return n;
}

static char here[BOX], expected[BOX], got[BOX];

static void lists_of(const section_t *s, gex_Memvec_t *far_, gex_Memvec_t *near_)
{
    for (size_t n = 0; n < pieces(s); n++) {
        far_[n].gex_addr = there(piece(s, s->there, s->there_start, n));
        near_[n].gex_addr = here + piece(s, s->here, s->here_start, n);
        far_[n].gex_len = near_[n].gex_len = s->elemsz;
    }
}

/* One transfer, in one of nine ways. */
static void move(const section_t *s, bool get, int way)
{
    enum { MOST = 5 * 5 * 5 * 5 };
    static gex_Memvec_t far_[MOST], near_[MOST];
    static void *far_list[MOST], *near_list[MOST];
    const size_t n = pieces(s);
    char *const far_start = there(s->there_start), *const near_start = here + s->here_start;
    gex_Event_t event = GEX_EVENT_INVALID;
    lists_of(s, far_, near_);
    for (size_t i = 0; i < n; i++) far_list[i] = far_[i].gex_addr, near_list[i] = near_[i].gex_addr;
#define WAYS(name, put_arguments, get_arguments)                                                   \
    switch (way % 3) {                                                                             \
    case 0:                                                                                        \
        get ? gex_VIS_##name##GetBlocking get_arguments                                            \
            : gex_VIS_##name##PutBlocking put_arguments;                                           \
        break;                                                                                     \
    case 1:                                                                                        \
        event = get ? gex_VIS_##name##GetNB get_arguments : gex_VIS_##name##PutNB put_arguments;   \
        gex_Event_Wait(gex_Event_QueryLeaf(event, GEX_EC_LC));                                     \
        gex_Event_Wait(event);                                                                     \
        break;                                                                                     \
    case 2:                                                                                        \
        get ? gex_VIS_##name##GetNBI get_arguments : gex_VIS_##name##PutNBI put_arguments;         \
        gex_NBI_Wait(get ? GEX_EC_GET : GEX_EC_LC | GEX_EC_PUT, 0);                                \
        break;                                                                                     \
    }
    const gex_Flags_t flags = GEX_FLAG_ENABLE_LEAF_LC;
    switch (way / 3) {
    case 0:
        WAYS(Vector, (test_tm, peer(), n, far_, n, near_, flags),
             (test_tm, n, near_, peer(), n, far_, 0));
        break;
    case 1:
        WAYS(Indexed, (test_tm, peer(), n, far_list, s->elemsz, n, near_list, s->elemsz, flags),
             (test_tm, n, near_list, s->elemsz, peer(), n, far_list, s->elemsz, 0));
        break;
    case 2:
        WAYS(Strided,
             (test_tm, peer(), far_start, s->there, near_start, s->here, s->elemsz, s->count,
              s->levels, flags),
             (test_tm, near_start, s->here, peer(), far_start, s->there, s->elemsz, s->count,
              s->levels, 0));
        break;
    }
#undef WAYS
}

static void sections(void)
{
    struct test_random random = test_random_for(7);
    for (int round = 0; round < test_iterations(90); round++) {
        const section_t s = make_section(&random);
        const bool get = round % 2;
        test_fill(here, BOX, 2 * (uint64_t)round);
        test_fill(got, BOX, 2 * (uint64_t)round + 1);
        gex_RMA_PutBlocking(test_tm, peer(), there(0), got, BOX, 0);
        memcpy(expected, get ? here : got, BOX);
        for (size_t n = 0; n < pieces(&s); n++) {
            const size_t far_ = piece(&s, s.there, s.there_start, n),
                         near_ = piece(&s, s.here, s.here_start, n);
            memcpy(expected + (get ? near_ : far_), (get ? got : here) + (get ? far_ : near_),
                   s.elemsz);
        }
        move(&s, get, round / 2 % 9);
        if (!get) gex_RMA_GetBlocking(test_tm, got, peer(), there(0), BOX, 0);
        if (!test_check(memcmp(get ? here : got, expected, BOX) == 0, "round %d", round)) return;
    }
    gex_VIS_StridedPutBlocking(test_tm, peer(), NULL, NULL, NULL, NULL, 0, NULL, 0, 0);
    test_check(gex_VIS_VectorPutNB(test_tm, peer(), 0, NULL, 0, NULL, 0) == GEX_EVENT_INVALID,
               "an empty list");
}

/* --- a handler that runs at the target behind a put --- */

enum { TOLD = 200, AT_PEER_ROUNDS = 12, ROW_BYTES = 300, ROW_COUNT = 4 };

static struct {
    int count;
    gex_Rank_t from;
    bool reply, medium, entry, right;
} told;

/* The payload is the number of the round, and some bytes of its put; the put's data must be here.
 */
static void on_told(gex_Token_t token, void *payload, size_t nbytes)
{
    gex_Token_Info_t info;
    gex_Token_Info(token, &info, GEX_TI_ALL);
    const unsigned char *mine = test_at(test_rank, 0);
    const unsigned char round = nbytes ? *(unsigned char *)payload : 0;
    told.from = info.gex_srcrank;
    told.reply = !info.gex_is_req;
    told.medium = !info.gex_is_long;
    told.entry = info.gex_entry && info.gex_entry->gex_index == TOLD;
    told.right = nbytes == (round % 3 ? 1 : GEX_VIS_MAX_PEERCOMPLETION);
    for (size_t i = 0; i < nbytes; i++) told.right &= ((unsigned char *)payload)[i] == round;
    for (size_t i = 0; i < (size_t)ROW_COUNT * ROW_BYTES; i++) told.right &= mine[2 * i] == round;
    test_add(&told.count, 1);
}

/* Every other byte: packed in messages, or put each by each, as the ways of the build are. */
static void put_round(int round)
{
    static unsigned char source[ROW_COUNT * ROW_BYTES];
    memset(source, round, sizeof source);
    const ptrdiff_t far_[] = {2}, near_[] = {1};
    const size_t count[] = {ROW_COUNT * ROW_BYTES};
    void *to = there(0);
    gex_Event_t event;
    switch (round % 3) {
    case 0:
        gex_VIS_StridedPutBlocking(test_tm, peer(), to, far_, source, near_, 1, count, 1, 0);
        break;
    case 1:
        event = gex_VIS_StridedPutNB(test_tm, peer(), to, far_, source, near_, 1, count, 1, 0);
        gex_Event_Wait(event);
        break;
    case 2:
        gex_VIS_StridedPutNBI(test_tm, peer(), to, far_, source, near_, 1, count, 1, 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
        break;
    }
}

static void at_peer(void)
{
    unsigned char payload[GEX_VIS_MAX_PEERCOMPLETION];
    test_sync();
    for (int round = 1; round <= AT_PEER_ROUNDS; round++) {
        memset(payload, round, sizeof payload);
        gex_VIS_SetPeerCompletionHandler(TOLD, payload, round % 3 ? 1 : sizeof payload, 0);
        memset(payload, 0, sizeof payload); /* the call has copied the payload */
        put_round(round);
        GASNET_BLOCKUNTIL(test_get(&told.count) == round);
        if (!test_check(told.right && told.reply && told.medium && told.entry &&
                            told.from == (gex_Rank_t)test_prev,
                        "round %d: from rank %u", round, told.from))
            return;
        test_sync(); /* the next round overwrites the data */
    }
    /* Once for one put, and not once for one that was taken back. */
    put_round(1);
    gex_VIS_SetPeerCompletionHandler(TOLD, payload, 1, 0);
    gex_VIS_SetPeerCompletionHandler(0, NULL, 0, 0);
    put_round(1);
    test_sync();
    test_check(test_get(&told.count) == AT_PEER_ROUNDS, "%d handlers in %d rounds",
               test_get(&told.count), AT_PEER_ROUNDS);
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"EX 10: vector, indexed and strided", sections},
        {"EX 10: a handler that runs at the target behind a put", at_peer},
    };
    gex_AM_Entry_t handlers[] = {
        {TOLD, (gex_AM_Fn_t)on_told, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 0, NULL, NULL}};
    test_ex_start(&argc, &argv, handlers, 1, SEGMENT);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
