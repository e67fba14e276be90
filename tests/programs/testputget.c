/* testputget.c - puts and gets: every form, size, alignment and kind of local memory.
 *
 * Each rank writes to and reads from itself and its ring successor, in an area of the target that
 * belongs to it alone. It compares the area with the expected content, guard bytes included.
 * Handles and implicit sets are testhandles' business, values and memset testvalue's.
 */
#include "test.h"

enum { AREA = 3 << 20, SEGMENT = 3 * AREA, GUARD = 32 };
/* The segment: [0, AREA) target of self, [AREA, 2 AREA) target of predecessor, then own sources. */

static void *target_of(int peer, size_t offset)
{
    return test_at(peer, (peer == test_rank ? 0 : AREA) + offset);
}
static void *own(size_t offset)
{
    return test_at(test_rank, 2 * (size_t)AREA + offset);
}

/* --- every form of put and get --- */

enum form { BLOCKING, BULK, NB, NB_BULK, NBI, NBI_BULK, FORMS };
static const char *const form_name[] = {"", "_bulk", "_nb", "_nb_bulk", "_nbi", "_nbi_bulk"};

static void put(enum form form, int peer, void *dst, void *src, size_t n)
{
    const gasnet_node_t node = (gasnet_node_t)peer;
    switch (form) {
    case BLOCKING:
        gasnet_put(node, dst, src, n);
        break;
    case BULK:
        gasnet_put_bulk(node, dst, src, n);
        break;
    case NB:
        gasnet_wait_syncnb(gasnet_put_nb(node, dst, src, n));
        break;
    case NB_BULK:
        gasnet_wait_syncnb(gasnet_put_nb_bulk(node, dst, src, n));
        break;
    case NBI:
        gasnet_put_nbi(node, dst, src, n);
        gasnet_wait_syncnbi_puts();
        break;
    default:
        gasnet_put_nbi_bulk(node, dst, src, n);
        while (gasnet_try_syncnbi_puts() != GASNET_OK) {
        }
    }
}

static void get(enum form form, void *dst, int peer, void *src, size_t n)
{
    const gasnet_node_t node = (gasnet_node_t)peer;
    gasnet_handle_t handle;
    switch (form) {
    case BLOCKING:
        gasnet_get(dst, node, src, n);
        break;
    case BULK:
        gasnet_get_bulk(dst, node, src, n);
        break;
    case NB:
        gasnet_wait_syncnb(gasnet_get_nb(dst, node, src, n));
        break;
    case NB_BULK:
        handle = gasnet_get_nb_bulk(dst, node, src, n);
        while (gasnet_try_syncnb(handle) != GASNET_OK) {
        }
        break;
    case NBI:
        gasnet_get_nbi(dst, node, src, n);
        gasnet_wait_syncnbi_gets();
        break;
    default:
        gasnet_get_nbi_bulk(dst, node, src, n);
        gasnet_wait_syncnbi_all();
    }
}

/* --- a put and a get of the same bytes, with everything around them checked --- */

static char *heap_a, *heap_b;
static char static_a[AREA / 2], static_b[AREA / 2];
enum { MEM_SEGMENT, MEM_HEAP, MEM_STATIC, MEM_STACK, MEMORIES };
enum { STACK_ROOM = 20000 };
static const char *const memory_name[] = {"segment", "heap", "static", "stack"};

struct trip {
    int peer;
    size_t bytes, remote, local; /* offsets */
    enum form form;
    int memory;
};

static bool trip_ok(const struct trip *t, const char *what, ptrdiff_t at)
{
    return test_check(at < 0, "%s%s %zu bytes, %s, remote +%zu, local +%zu in %s: wrong at %td",
                      what, form_name[t->form], t->bytes, t->peer == test_rank ? "self" : "peer",
                      t->remote, t->local, memory_name[t->memory], at);
}

/* Puts from `a`, checks the target with the bytes around it, gets into `b`, checks that. */
static void round_trip(const struct trip *t, char *a, char *b)
{
    static uint64_t key;
    static char view[AREA];
    const size_t n = t->bytes, wide = n + 2 * GUARD;
    char *dst = target_of(t->peer, t->remote);
    memset(view, 0x3C, wide);
    gasnet_put_bulk((gasnet_node_t)t->peer, dst, view, wide);

    test_fill(a + t->local, n, ++key);
    put(t->form, t->peer, dst + GUARD, a + t->local, n);
    memset(a + t->local, 0xBB, n); /* complete: the source is ours again */
    memset(view, 0, wide);
    gasnet_get_bulk(view, (gasnet_node_t)t->peer, dst, wide);
    trip_ok(t, "put", test_mismatch(view + GUARD, n, key));
    trip_ok(t, "before put", test_not_all(view, GUARD, 0x3C));
    trip_ok(t, "after put", test_not_all(view + GUARD + n, GUARD, 0x3C));

    char *into = b + t->local;
    memset(into, 0x5A, wide);
    get(t->form, into + GUARD, t->peer, dst + GUARD, n);
    trip_ok(t, "get", test_mismatch(into + GUARD, n, key));
    trip_ok(t, "before get", test_not_all(into, GUARD, 0x5A));
    trip_ok(t, "after get", test_not_all(into + GUARD + n, GUARD, 0x5A));
}

/* No message of a trip is longer than the bytes that TEST_LONGEST says. */
static bool too_long(size_t bytes)
{
    const char *text = gasnet_getenv("TEST_LONGEST");
    return text && bytes + 2 * GUARD > strtoul(text, NULL, 10);
}

static void round_trip_in(const struct trip *t)
{
    char stack_a[STACK_ROOM], stack_b[STACK_ROOM];
    if (too_long(t->bytes)) return;
    switch (t->memory) {
    case MEM_SEGMENT:
        round_trip(t, own(0), own(AREA / 2));
        break;
    case MEM_HEAP:
        round_trip(t, heap_a, heap_b);
        break;
    case MEM_STATIC:
        round_trip(t, static_a, static_b);
        break;
    default:
        round_trip(t, stack_a, stack_b);
    }
}

/* Leaves out all but one case in `share`, as each costs time. */
static bool left_out(int turn, int share)
{
    return turn % (share * test_thin()) != 0;
}

static int share(void)
{
    return test_size > 2 ? test_size / 2 : 1;
}

static const size_t sizes[] = {1,    2,    3,    4,    5,    7,    8,     9,     15,    16,   17,
                               31,   33,   64,   71,   72,   73,   100,   127,   255,   256,  257,
                               511,  513,  1000, 1024, 2047, 3071, 3073,  4011,  4012,  4013, 4095,
                               4096, 4097, 6000, 8191, 8193, 9999, 12288, 16383, 16385, 18001};

static void every_form_and_size(void)
{
    for (int f = 0; f < FORMS; f++)
        for (int m = 0; m < MEMORIES; m++)
            for (int s = 0; s < TEST_COUNT(sizes); s++) {
                if (left_out(s + m + f, share())) continue;
                struct trip t = {test_next, sizes[s], 0, 0, (enum form)f, m};
                round_trip_in(&t);
                t.peer = test_rank;
                round_trip_in(&t);
            }
}

static void every_alignment(void)
{
    static const size_t few[] = {1, 3, 7, 8, 72, 200, 4097};
    for (size_t remote = 0; remote < 17; remote++)
        for (size_t local = 0; local < 17; local++)
            for (int s = 0; s < TEST_COUNT(few); s++) {
                int turn = (int)(remote * 17 + local) + s;
                if (left_out(turn, share())) continue;
                struct trip t = {turn % 3 ? test_next : test_rank, few[s],         remote, local,
                                 (enum form)(turn % FORMS),        turn % MEMORIES};
                round_trip_in(&t);
            }
    struct test_random random = test_random_for(50);
    for (int i = 0; i < test_iterations(300); i++) { /* anywhere in a page */
        struct trip t = {test_next,
                         1 + test_below(&random, 9000),
                         test_below(&random, 4096),
                         test_below(&random, 4096),
                         (enum form)test_below(&random, FORMS),
                         (int)test_below(&random, MEMORIES)};
        round_trip_in(&t);
    }
}

static void large_sizes(void)
{
    static const size_t large[] = {32767,   65535,   65536,   65537,          131071,
                                   131073,  262144,  262145,  524287,         1048575,
                                   1048576, 1048577, 1400000, AREA / 2 - 4096};
    for (int s = 0; s < TEST_COUNT(large); s++)
        for (int f = 0; f < FORMS; f++) {
            int m = (s + f) % MEM_STACK; /* not the stack */
            if (left_out(s + f, test_size > 2 ? test_size : 1)) continue;
            struct trip t = {f & 1 ? test_next : test_rank,
                             large[s],
                             (size_t)(s * 5),
                             (size_t)(f * 3),
                             (enum form)f,
                             m};
            round_trip_in(&t);
            t.peer = test_next;
            round_trip_in(&t);
        }
}

static size_t longest = AREA; /* AREA, or as many MiB as the first argument says */

static void whole_segment(void)
{
    const size_t n = longest - 64; /* one transfer of several MB, longer than one pinned region */
    char *source = malloc(n), *back = malloc(n);
    test_fill(source, n, 4);
    gasnet_put_bulk((gasnet_node_t)test_next, target_of(test_next, 1), source, n);
    memset(back, 0, n);
    gasnet_get_bulk(back, (gasnet_node_t)test_next, target_of(test_next, 1), n);
    ptrdiff_t at = test_mismatch(back, n, 4);
    test_check(at < 0, "%zu bytes: wrong at %td", n, at);
    free(source);
    free(back);
}

/* --- kinds of local memory, and its changes during transfers --- */

static void read_only_source(void)
{
    static const char text[] = "read-only text, which no library may try to pin for writing; "
                               "long enough not to travel inside the work request itself, so that "
                               "the path of registered or bounced memory is taken.............";
    char back[sizeof text];
    for (int f = 0; f < FORMS; f++) {
        memset(back, 0, sizeof back);
        put((enum form)f, test_next, target_of(test_next, 3), (void *)(uintptr_t)text, sizeof text);
        get((enum form)f, back, test_next, target_of(test_next, 3), sizeof text);
        test_check(memcmp(back, text, sizeof text) == 0, "put%s of a literal", form_name[f]);
        memset(back, 0, sizeof back); /* program text: mapped from a file */
        put((enum form)f, test_next, target_of(test_next, 3), (void *)(uintptr_t)&read_only_source,
            128);
        get((enum form)f, back, test_next, target_of(test_next, 3), 128);
        test_check(memcmp(back, (void *)(uintptr_t)&read_only_source, 128) == 0, "put%s of code",
                   form_name[f]);
    }
}

static void freed_and_allocated_again(void)
{
    for (int i = 0; i < test_iterations(150); i++) {
        size_t n = i % 3 == 0 ? 300000 : 5000 + (size_t)i * 300; /* mmapped and ordinary ones */
        char *p = malloc(n);
        test_fill(p, n, (uint64_t)i);
        gasnet_put_bulk((gasnet_node_t)test_next, target_of(test_next, 0), p, n);
        free(p);
        char *q = malloc(n); /* likely at the same address, on fresh pages */
        memset(q, 0, n);
        gasnet_get_bulk(q, (gasnet_node_t)test_next, target_of(test_next, 0), n);
        ptrdiff_t at = test_mismatch(q, n, (uint64_t)i);
        test_check(at < 0, "round %d, %zu bytes at %p: wrong at %td", i, n, (void *)q, at);
        free(q);
    }
}

static void source_overwritten(void)
{
    static const size_t some[] = {1, 8, 72, 73, 1000, 4096, 65535, 65536, 65537, 200000};
    char *source = malloc(200000), *back = malloc(200000);
    for (int s = 0; s < TEST_COUNT(some); s++)
        for (int nbi = 0; nbi < 2; nbi++)
            for (int where = 0; where < 2; where++) {
                const size_t n = some[s];
                const uint64_t key = (uint64_t)s * 4 + (uint64_t)nbi * 2 + (uint64_t)where;
                char *src = where ? own(64) : source;
                void *dst = target_of(test_next, 8);
                gasnet_handle_t handle = GASNET_INVALID_HANDLE;
                test_fill(src, n, key);
                if (nbi)
                    gasnet_put_nbi((gasnet_node_t)test_next, dst, src, n);
                else
                    handle = gasnet_put_nb((gasnet_node_t)test_next, dst, src, n);
                memset(src, 0xEE, n);
                if (nbi)
                    gasnet_wait_syncnbi_puts();
                else
                    gasnet_wait_syncnb(handle);
                gasnet_get_bulk(back, (gasnet_node_t)test_next, dst, n);
                ptrdiff_t at = test_mismatch(back, n, key);
                test_check(at < 0, "put_nb%s of %zu bytes from %s: wrong at %td", nbi ? "i" : "", n,
                           where ? "segment" : "heap", at);
            }
    /* many in flight from one address: bounce buffers run out, none may be sent late */
    const int many = test_iterations(400);
    for (int i = 0; i < many; i++) {
        test_fill(source, 3000, (uint64_t)i);
        gasnet_put_nbi((gasnet_node_t)test_next, target_of(test_next, (size_t)i * 3000), source,
                       3000);
    }
    gasnet_wait_syncnbi_puts();
    for (int i = 0; i < many; i++) {
        gasnet_get_bulk(back, (gasnet_node_t)test_next, target_of(test_next, (size_t)i * 3000),
                        3000);
        test_check(test_mismatch(back, 3000, (uint64_t)i) < 0, "put %d of %d in flight damaged", i,
                   many);
    }
    free(source);
    free(back);
}

static void within_own_segment(void)
{
    const gasnet_node_t self = (gasnet_node_t)test_rank;
    for (size_t n = 1; n < AREA / 4; n = n * 3 + 1) {
        test_fill(own(0), n, n);
        gasnet_put_bulk(self, own(AREA / 2), own(0), n);
        gasnet_get_bulk(own(AREA / 4 * 3), self, own(AREA / 2), n);
        test_check(test_mismatch(own(AREA / 4 * 3), n, n) < 0, "%zu bytes inside own segment", n);
        gasnet_put_bulk(self, own(0), own(0), n); /* identical source and destination are legal */
        test_check(test_mismatch(own(0), n, n) < 0, "%zu bytes onto themselves", n);
        gasnet_get_bulk(own(0), (gasnet_node_t)test_next, target_of(test_next, 0), n);
    }
}

static void one_destination_for_many_gets(void)
{
    test_fill(heap_a, 6000, 63);
    gasnet_put_bulk((gasnet_node_t)test_next, target_of(test_next, 0), heap_a, 6000);
    for (int i = 0; i < test_iterations(100); i++)
        gasnet_get_nbi_bulk(heap_b, (gasnet_node_t)test_next, target_of(test_next, 0), 6000);
    gasnet_wait_syncnbi_gets();
    test_check(test_mismatch(heap_b, 6000, 63) < 0, "wrong content after many gets");
}

static void slices(void)
{
    enum { ROOM = 5000 };
    struct test_random random = test_random_for(65);
    static char shadow[ROOM], back[ROOM];
    char *dst = target_of(test_next, 11);
    memset(shadow, 0, ROOM);
    gasnet_put_bulk((gasnet_node_t)test_next, dst, shadow, ROOM);
    for (int i = 0; i < test_iterations(1500); i++) {
        size_t start = test_below(&random, ROOM), n = 1 + test_below(&random, ROOM - start);
        if (i & 1) n = 1 + n % 40; /* many short ones: bytes beside them must stay */
        if (start + n > ROOM) n = ROOM - start;
        test_fill(shadow + start, n, (uint64_t)i);
        put((enum form)(i % FORMS), test_next, dst + start, shadow + start, n);
        if (i % 50 == 0) {
            gasnet_get_bulk(back, (gasnet_node_t)test_next, dst, ROOM);
            test_check(memcmp(back, shadow, ROOM) == 0, "after slice %d [%zu, +%zu)", i, start, n);
        }
    }
    gasnet_get_bulk(back, (gasnet_node_t)test_next, dst, ROOM);
    test_check(memcmp(back, shadow, ROOM) == 0, "after the last slice");
}

/* --- several ranks on one segment --- */

static void seen_by_target(void)
{
    for (int i = 0; i < test_iterations(60); i++) {
        size_t n = 1 + (size_t)i * 97 % 7000;
        test_fill(heap_a, n, (uint64_t)(i * 64 + test_rank));
        put((enum form)(i % FORMS), test_next, test_at(test_next, AREA), heap_a, n);
        gasnet_barrier_notify(i, 0);
        gasnet_barrier_wait(i, 0);
        const char *here = test_at(test_rank, AREA);
        test_check(test_mismatch(here, n, (uint64_t)(i * 64 + test_prev)) < 0,
                   "round %d: put, barrier, local read", i);
        int second = (test_next + 1) % test_size; /* B54: get by a third party */
        gasnet_get_bulk(heap_b, (gasnet_node_t)second, test_at(second, AREA), n);
        test_check(test_mismatch(heap_b, n, (uint64_t)(i * 64 + test_next)) < 0,
                   "round %d: put by A, barrier, get by B", i);
        gasnet_barrier_notify(i, 0);
        gasnet_barrier_wait(i, 0);
    }
}

/* The flag is put when the data are known to be there, and one byte, which is never seen half
 * written.
 */
static void flag_behind_data(void)
{
    enum { MOST = 4000 };
    char *data = test_at(test_next, AREA), *flag = data + MOST;
    char *here = test_at(test_rank, AREA);
    here[MOST] = 0;
    test_sync();
    for (int i = 1; i <= test_iterations(60); i++) {
        size_t n = 1 + (size_t)i * 67 % MOST;
        test_fill(heap_a, n, (uint64_t)(i * 64 + test_rank));
        put((enum form)(i % FORMS), test_next, data, heap_a, n);
        gasnet_put_val((gasnet_node_t)test_next, flag, (gasnet_register_value_t)i, 1);
        GASNET_BLOCKUNTIL(__atomic_load_n(&here[MOST], __ATOMIC_ACQUIRE) == i);
        test_check(test_mismatch(here, n, (uint64_t)(i * 64 + test_prev)) < 0,
                   "round %d: %zu bytes are not there with the flag behind them", i, n);
        test_sync();
    }
}

/* Ownership of interleaved cells of rank 0's segment rotates from phase to phase. */
static void disjoint_cells(void)
{
    enum { CELL = 24, CELLS = 64 };
    const int phases = test_iterations(40);
    for (int phase = 0; phase < phases; phase++) {
        for (int c = 0; c < CELLS; c++) {
            if ((c + phase) % test_size != test_rank) continue;
            char *cell = test_at(0, (size_t)c * CELL), value[CELL];
            if (phase > 0) {
                gasnet_get(value, 0, cell, CELL);
                test_check(test_mismatch(value, CELL, (uint64_t)(c * 1000 + phase - 1)) < 0,
                           "phase %d, cell %d is stale or torn", phase, c);
            }
            test_fill(value, CELL, (uint64_t)(c * 1000 + phase));
            gasnet_put_nbi(0, cell, value, CELL);
        }
        gasnet_wait_syncnbi_puts();
        test_sync();
    }
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"B50 B51 every form, size and kind of local memory", every_form_and_size},
        {"B50 every alignment of both sides", every_alignment},
        {"B50 IB-E3 large sizes", large_sizes},
        {"B50 IB-R8 one transfer of several MB", whole_segment},
        {"B51 put from read-only memory", read_only_source},
        {"B51 memory freed and allocated again", freed_and_allocated_again},
        {"B53 IB-P5 non-bulk source overwritten right after initiation", source_overwritten},
        {"B52 inside the own segment", within_own_segment},
        {"B63 many gets into one destination", one_destination_for_many_gets},
        {"B65 slices of arbitrary start and length", slices},
        {"B54 B78 put, barrier, read at the target and by others", seen_by_target},
        {"B54 put, then a flag that the target polls", flag_behind_data},
        {"B62 disjoint cells of one segment, owners rotating", disjoint_cells},
    };
    if (argc > 1 && (longest = (size_t)atoi(argv[1]) << 20) == 0) {
        fprintf(stderr, "usage: testputget [MIB-OF-THE-LONGEST-TRANSFER]\n");
        return 2;
    }
    test_start(&argc, &argv, NULL, 0, SEGMENT - AREA + (longest > AREA ? longest : AREA));
    heap_a = malloc(AREA / 2);
    heap_b = malloc(AREA / 2);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
