/* vectors.c - GASNet-EX: vector, indexed and strided transfers of random sections, whose strides
 * have any sign and order, in each form, against a model that visits each piece.
 */
#include <gasnet_vis.h>

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

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"EX 10: vector, indexed and strided", sections},
    };
    test_ex_start(&argc, &argv, NULL, 0, SEGMENT);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
