/* testvis.c - vector, indexed and strided puts and gets, against a model of their bytes.
 *
 * Each rank transfers along random descriptions, between memory of its own and an area of its ring
 * successor or of itself that belongs to it alone. It compares all of the area or of its own
 * memory, so that bytes beside the pieces are checked too.
 */
#include <pthread.h>
#include <sched.h>

#include "tests/vis/descriptions.h"
#include "tests/vis/lists.h"

enum { AREA = 256 * 1024, THREADS = 3, LANES = THREADS + 1 };
enum { SEGMENT = 3 * LANES * AREA };
/* The segment: areas of the predecessor, of the rank itself as a target, and as local memory; each
 * has a lane for the main thread and for each of the others. */

/* The memory and state of a thread. */
struct lane {
    int id;
    pthread_t thread;
    struct test_random random;
    struct transfer transfer;
    char *heap;         /* [AREA]: local memory outside the segment */
    char *image, *seen; /* [AREA] */
};
static struct lane lanes[LANES];

static char *target_of(const struct lane *lane, int peer)
{
    return test_at(peer, (size_t)((peer == test_rank ? LANES : 0) + lane->id) * AREA);
}

static char *own(const struct lane *lane)
{
    return test_at(test_rank, (size_t)(2 * LANES + lane->id) * AREA);
}

static void lane_begin(struct lane *lane, uint64_t purpose)
{
    lane->id = (int)(lane - lanes);
    lane->random = test_random_for(purpose * LANES + (uint64_t)lane->id);
    if (lane->heap) return;
    transfer_init(&lane->transfer);
    lane->heap = malloc(AREA), lane->image = malloc(AREA), lane->seen = malloc(AREA);
    if (!lane->heap || !lane->image || !lane->seen) abort();
}

/* Ways to wait for the completion; those of NB end with an invalid handle. */
static void synchronise(struct lane *lane, enum direction direction, enum form form,
                        gasnet_handle_t handle)
{
    bool put = direction == PUT;
    switch (test_below(&lane->random, 3)) {
    case 0:
        if (form == NB) gasnet_wait_syncnb(handle);
        if (form == NBI && put) gasnet_wait_syncnbi_puts();
        if (form == NBI && !put) gasnet_wait_syncnbi_gets();
        return;
    case 1: /* any poll makes progress */
        while (form == NB && gasnet_try_syncnb_nopoll(handle) != GASNET_OK) gasnet_AMPoll();
        if (form == NBI) gasnet_wait_syncnbi_all();
        return;
    default:
        while (form == NB && gasnet_try_syncnb(handle) != GASNET_OK) sched_yield();
        while (form == NBI && (put ? gasnet_try_syncnbi_puts() : gasnet_try_syncnbi_gets())) {
        }
    }
}

static void model(const struct transfer *t, char *dst, const char *src)
{
    for (size_t i = 0; i < t->bytes; i++) dst[t->dst.byte[i]] = src[t->src.byte[i]];
}

static void compare(struct lane *lane, const char *memory, enum direction direction, enum form form,
                    const char *peer)
{
    size_t at = 0;
    if (memcmp(memory, lane->image, AREA) == 0) return;
    while (memory[at] == lane->image[at]) at++;
    test_check(false, "%s, %s: wrong at +%zu", transfer_text(&lane->transfer, direction, form),
               peer, at);
}

/* Sets the target's area and its image to the pattern of a new key. */
static void renew(struct lane *lane, int peer)
{
    test_fill(lane->image, AREA, test_random(&lane->random));
    gasnet_put_bulk((gasnet_node_t)peer, target_of(lane, peer), lane->image, AREA);
}

/* Makes and checks a transfer; `local` is the memory of this rank. */
static void transfer_once(struct lane *lane, const struct wish *wish, enum direction direction,
                          enum form form, int peer, char *local)
{
    struct transfer *t = &lane->transfer;
    char *remote = target_of(lane, peer);
    const char *name = peer == test_rank ? "self" : "peer";
    renew(lane, peer);
    if (direction == PUT) {
        test_fill(local, AREA, test_random(&lane->random));
        transfer_make(t, wish, remote, local, &lane->random);
        model(t, lane->image, local);
    } else {
        transfer_make(t, wish, local, remote, &lane->random);
        memcpy(lane->seen, lane->image, AREA);
        test_fill(local, AREA, test_random(&lane->random));
        memcpy(lane->image, local, AREA);
        model(t, lane->image, lane->seen);
    }
    uint64_t digest = transfer_digest(t);
    gasnet_handle_t handle = transfer_call(t, direction, form, (gasnet_node_t)peer);
    synchronise(lane, direction, form, handle);
    test_check(transfer_digest(t) == digest, "the description of a %s has changed",
               transfer_text(t, direction, form));
    if (direction == GET) {
        compare(lane, local, direction, form, name);
    } else {
        gasnet_get_bulk(lane->seen, (gasnet_node_t)peer, remote, AREA);
        compare(lane, lane->seen, direction, form, name);
    }
}

/* Random transfers of each kind, direction and form, with both kinds of local memory. */
static void rounds(struct lane *lane, size_t bytes, size_t piece, int count)
{
    for (int i = 0; i < count; i++) {
        for (int which = 0; which < KINDS * 2 * FORMS; which++) {
            struct wish wish = {(enum kind)(which % KINDS), bytes, piece, AREA};
            int peer = test_below(&lane->random, 5) ? test_next : test_rank;
            char *local = test_below(&lane->random, 2) ? own(lane) : lane->heap;
            transfer_once(lane, &wish, (enum direction)(which / KINDS % 2),
                          (enum form)(which / KINDS / 2), peer, local);
        }
    }
}

static void on_main(uint64_t purpose, size_t bytes, size_t piece, int count)
{
    lane_begin(&lanes[0], purpose);
    rounds(&lanes[0], bytes, piece, test_iterations(count));
    test_sync();
}

static void small_pieces(void)
{
    on_main(1, MOST_BYTES, 24, 10);
}
static void single_bytes(void)
{
    on_main(2, MOST_BYTES / 8, 1, 4);
}
static void medium_pieces(void)
{
    on_main(3, MOST_BYTES, 3000, 10);
}
static void large_pieces(void)
{
    on_main(4, MOST_BYTES, 40000, 5);
}
static void tiny_totals(void)
{
    on_main(5, 40, 8, 20);
}

/* --- many operations outstanding at once --- */

enum { MANY = 48, PART = AREA / MANY };

/* Puts from disjoint parts of `own` to disjoint parts of the target, or gets back. */
static void start_many(struct lane *lane, struct transfer *many, enum direction direction,
                       enum form form, gasnet_handle_t *handles)
{
    char *remote = target_of(lane, test_next), *local = own(lane);
    for (int i = 0; i < MANY; i++) {
        struct wish wish = {(enum kind)(i % KINDS), PART / 2, 1 + (size_t)i * 5, PART};
        char *there = remote + (size_t)i * PART, *here = local + (size_t)i * PART;
        struct transfer *t = &many[i];
        transfer_make(t, &wish, direction == PUT ? there : here, direction == PUT ? here : there,
                      &lane->random);
        enum form each = form == FORMS ? (enum form)(i % FORMS) : form;
        handles[i] = transfer_call(t, direction, each, (gasnet_node_t)test_next);
    }
}

/* lane->image has the pattern of the destination, `from` that of the source. */
static void compare_many(struct lane *lane, struct transfer *many, enum direction direction,
                         const char *from)
{
    const char *memory = own(lane);
    for (int i = 0; i < MANY; i++)
        model(&many[i], lane->image + (size_t)i * PART, from + (size_t)i * PART);
    if (direction == PUT) {
        gasnet_get_bulk(lane->seen, (gasnet_node_t)test_next, target_of(lane, test_next), AREA);
        memory = lane->seen;
    }
    test_check(memcmp(memory, lane->image, AREA) == 0, "%d %s at once", MANY,
               direction == PUT ? "puts" : "gets");
}

enum ending { WAIT_ALL, WAIT_REGION, WAIT_SETS, ENDINGS };

static void many_at_once(enum direction direction, enum ending ending)
{
    struct lane *lane = &lanes[0];
    static struct transfer many[MANY];
    gasnet_handle_t handles[MANY];
    char *from = malloc(AREA);
    if (!from) abort();
    for (int i = 0; i < MANY && !many[i].dst.byte; i++) transfer_init(&many[i]);
    renew(lane, test_next);
    test_fill(own(lane), AREA, test_random(&lane->random));
    if (direction == PUT) {
        memcpy(from, own(lane), AREA);
    } else {
        memcpy(from, lane->image, AREA);
        memcpy(lane->image, own(lane), AREA);
    }
    if (ending == WAIT_REGION) {
        gasnet_begin_nbi_accessregion();
        start_many(lane, many, direction, NBI, handles);
        gasnet_handle_t region = gasnet_end_nbi_accessregion();
        test_check(gasnet_try_syncnbi_all() == GASNET_OK, "a region's operations are in no set");
        gasnet_wait_syncnb(region);
    } else {
        start_many(lane, many, direction, ending == WAIT_ALL ? NB : FORMS, handles);
        if (ending == WAIT_SETS && direction == PUT) gasnet_wait_syncnbi_puts();
        if (ending == WAIT_SETS && direction == GET) gasnet_wait_syncnbi_gets();
        gasnet_wait_syncnb_all(handles, MANY);
    }
    compare_many(lane, many, direction, from);
    free(from);
}

static void outstanding(void)
{
    lane_begin(&lanes[0], 6);
    for (int round = test_iterations(4); round > 0; round--)
        for (int which = 0; which < 2 * ENDINGS; which++)
            many_at_once((enum direction)(which % 2), (enum ending)(which / 2));
    test_sync();
}

/* --- operations of no bytes, and degenerate shapes --- */

static void empty(void)
{
    gasnet_node_t node = (gasnet_node_t)test_next;
    void *nowhere = (void *)(uintptr_t)16;
    gasnet_memvec_t none[3] = {{NULL, 0}, {nowhere, 0}, {(void *)UINTPTR_MAX, 0}};
    const size_t zero[3] = {8, 0, 2}, strides[2] = {64, 4096}, nothing[1] = {0};
    for (int i = 0; i < 2; i++, node = (gasnet_node_t)test_rank) {
        gasnet_putv_bulk(node, 0, nowhere, 0, NULL);
        gasnet_putv_bulk(node, 3, none, 0, nowhere);
        gasnet_getv_bulk(0, NULL, node, 3, none);
        gasnet_puti_bulk(node, 0, nowhere, 8, 0, NULL, 8);
        gasnet_geti_bulk(0, nowhere, 0, node, 0, NULL, 4);
        gasnet_puts_bulk(node, nowhere, strides, nowhere, strides, zero, 2);
        gasnet_gets_bulk(nowhere, NULL, node, nowhere, NULL, nothing, 0);
        gasnet_putv_nbi_bulk(node, 3, none, 3, none);
        gasnet_geti_nbi_bulk(0, nowhere, 4, node, 0, nowhere, 8);
        gasnet_wait_syncnb(gasnet_putv_nb_bulk(node, 3, none, 3, none));
        gasnet_wait_syncnb(gasnet_gets_nb_bulk(nowhere, strides, node, nowhere, strides, zero, 2));
        test_check(gasnet_try_syncnbi_all() == GASNET_OK, "an operation of no bytes is pending");
    }
    test_sync();
}

/* --- several threads --- */

#if defined(GASNET_PAR)
static void *work(void *lane)
{
    rounds(lane, MOST_BYTES / 2, 64, test_iterations(3));
    return NULL;
}

static void threads(void)
{
    test_sync();
    for (int i = 1; i < LANES; i++) {
        lane_begin(&lanes[i], 7);
        if (pthread_create(&lanes[i].thread, NULL, work, &lanes[i])) abort();
    }
    for (int i = 1; i < LANES; i++) pthread_join(lanes[i].thread, NULL);
    test_sync();
}
#endif

/* --- descriptions as text --- */

enum { LONG_LIST = 1000, TEXT_GUARD = 0x5A };

/* A buffer of just the size that was asked for, with a guard behind it. */
static char *text_buffer(size_t size)
{
    char *text = malloc(size + 1);
    if (!text) abort();
    memset(text, TEXT_GUARD, size + 1);
    return text;
}

static void text_ends(char *text, size_t size, const char *word)
{
    test_check(memchr(text, 0, size) != NULL && text[size] == TEXT_GUARD, "a text of %zu bytes",
               size);
    test_check(strstr(text, word) != NULL, "no \"%s\" in \"%s\"", word, text);
    free(text);
}

static void formats_of_lists(size_t count)
{
    static gasnet_memvec_t list[LONG_LIST];
    static void *addresses[LONG_LIST];
    size_t total = 0, size = gasnett_format_memveclist_bufsz(count);
    for (size_t i = 0; i < count; i++) {
        addresses[i] = list[i].addr = (char *)UINTPTR_MAX - (i + 1) * 4096;
        total += list[i].len = 3 + i % 5;
    }
    char *text = text_buffer(size);
    gasnett_list_stats_t stats = gasnett_format_memveclist(text, count, list);
    text_ends(text, size, "entries");
    test_check(stats.totalsz == total, "%zu bytes of %zu", stats.totalsz, total);
    test_check(count == 0 || (stats.minsz == 3 && stats.maxsz <= 7 && stats.maxsz >= 3),
               "entries of %zu to %zu bytes", stats.minsz, stats.maxsz);
    test_check(count == 0 || (stats.minaddr == list[count - 1].addr &&
                              stats.maxaddr == (char *)list[0].addr + 2),
               "from %p to %p", stats.minaddr, stats.maxaddr);
    size = gasnett_format_addrlist_bufsz(count);
    stats = gasnett_format_addrlist(text = text_buffer(size), count, addresses, 8);
    text_ends(text, size, "of 8 bytes");
    test_check(stats.totalsz == 8 * count, "%zu bytes of %zu", stats.totalsz, 8 * count);
    size = gasnett_format_putvgetv_bufsz(count, count);
    test_check(gasnett_format_putvgetv(text = text_buffer(size), 65535, count, list, count, list) ==
                   total,
               "a total");
    text_ends(text, size, "node 65535");
    size = gasnett_format_putigeti_bufsz(count, count);
    test_check(gasnett_format_putigeti(text = text_buffer(size), 3, count, addresses, 8, count,
                                       addresses, 8) == 8 * count,
               "a total");
    text_ends(text, size, "node 3");
}

static void formats(void)
{
    const size_t strides[2] = {SIZE_MAX, 100}, counts[3] = {8, 2, 3};
    size_t many[LONG_LIST], size = gasnett_format_strides_bufsz(LONG_LIST);
    const size_t lengths[] = {0, 1, 15, 16, 17, LONG_LIST};
    for (int i = 0; i < TEST_COUNT(lengths); i++) formats_of_lists(lengths[i]);
    memset(many, 0xFF, sizeof many);
    char *text = text_buffer(size);
    gasnett_format_strides(text, LONG_LIST, many);
    text_ends(text, size, "18446744073709551615");
    size = gasnett_format_putsgets_bufsz(2);
    text = text_buffer(size);
    test_check(gasnett_format_putsgets(text, NULL, 1, text, strides, text, strides, counts, 2) ==
                   48,
               "a total");
    text_ends(text, size, "8, 2, 3");
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"B50 B51 B52 small pieces, totals of many messages", small_pieces},
        {"B50 pieces of one byte, thousands of them", single_bytes},
        {"B50 pieces around the length that is packed", medium_pieces},
        {"B50 B65 few large pieces", large_pieces},
        {"B50 totals of a few bytes", tiny_totals},
        {"B55 B56 many outstanding, in handles, sets and access regions", outstanding},
        {"B50 lists of pieces of one side, of all lengths around the longest", lists},
        {"B61 operations of no bytes, with junk addresses", empty},
#if defined(GASNET_PAR)
        {"B62 several threads at once", threads},
#endif
        {"descriptions as text", formats},
    };
    test_start(&argc, &argv, NULL, 0, SEGMENT);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
