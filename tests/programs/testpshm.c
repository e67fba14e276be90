/* testpshm.c - memory that nodes of one host share: supernodes, offsets, and puts and gets between
 * shared-memory peers ("neighbours"), which are complete when they return.
 *
 * Arguments: the megabytes of a segment (1), or "hold".  Prints the number of supernodes.
 * Neighbours are the other nodes of a node's supernode; without any, rules about them are skipped.
 */
#include <stdatomic.h>

#include "test.h"

enum { SEGMENT = 1 << 20, HANDLER_CHECK = 150, HANDLER_CHECKED = 151, ROUNDS = 3000 };

static gasnet_nodeinfo_t *node;

#if GASNET_PSHM
static uintptr_t offset_of(int rank)
{
    return node[rank].offset;
}
#else
static uintptr_t offset_of(int rank)
{
    (void)rank;
    return 0;
}
#endif

static bool is_near(int rank)
{
    return rank != test_rank && node[rank].supernode == node[test_rank].supernode;
}

/* The neighbours of this node in a ring of its supernode, or -1. */
static int next_near(int step)
{
    for (int r = test_rank + step; r != test_rank; r += step) {
        r = (r + test_size) % test_size;
        if (r == test_rank) break;
        if (is_near(r)) return r;
    }
    return -1;
}

/* True, on all nodes alike, if each node has a neighbour. */
static bool all_have_neighbours(void)
{
    if (test_sync_sum(next_near(1) >= 0) == (uint32_t)test_size) return true;
    test_skip("not every node shares memory with another");
    return false;
}

/* The address at which this node has a byte of a neighbour's segment. */
static char *here(int rank, size_t offset)
{
    return (char *)((uintptr_t)test_at(rank, offset) + offset_of(rank));
}

/* --- rules --- */

static void table(void)
{
    gasnet_node_t supernodes = 0;
    for (int r = 0; r < test_size; r++)
        if (node[r].supernode == supernodes) supernodes++;
    if (test_rank == 0) printf("# supernodes: %d\n", (int)supernodes);
    test_check(offset_of(test_rank) == 0, "own offset %#lx", (unsigned long)offset_of(test_rank));
}

static void offsets(void)
{
    if (!all_have_neighbours()) return;
    test_fill(test_at(test_rank, 0), SEGMENT / 2, (uint64_t)test_rank);
    test_sync();
    for (int r = 0; r < test_size; r++)
        if (is_near(r))
            test_check(test_mismatch(here(r, 0), SEGMENT / 2, (uint64_t)r) < 0,
                       "the segment of rank %d is not seen", r);
    int next = next_near(1), prev = next_near(-1);
    test_fill(here(next, SEGMENT / 2), SEGMENT / 2, (uint64_t)test_rank + 1000);
    test_sync();
    test_check(test_mismatch(test_at(test_rank, SEGMENT / 2), SEGMENT / 2, (uint64_t)prev + 1000) <
                   0,
               "stores of rank %d are not seen", prev);
}

enum form { PUT, PUT_BULK, PUT_NB, PUT_NB_BULK, PUT_NBI, PUT_NBI_BULK, FORMS };

/* `nbytes` is a constant where these are inlined with one. */
static inline __attribute__((always_inline)) gasnet_handle_t
put_by(enum form form, gasnet_node_t to, void *dst, void *src, size_t nbytes)
{
    switch (form) {
    case PUT:
        gasnet_put(to, dst, src, nbytes);
        break;
    case PUT_BULK:
        gasnet_put_bulk(to, dst, src, nbytes);
        break;
    case PUT_NB:
        return gasnet_put_nb(to, dst, src, nbytes);
    case PUT_NB_BULK:
        return gasnet_put_nb_bulk(to, dst, src, nbytes);
    case PUT_NBI:
        gasnet_put_nbi(to, dst, src, nbytes);
        break;
    default:
        gasnet_put_nbi_bulk(to, dst, src, nbytes);
        break;
    }
    return GASNET_INVALID_HANDLE;
}

static inline __attribute__((always_inline)) gasnet_handle_t
get_by(enum form form, void *dst, gasnet_node_t from, void *src, size_t nbytes)
{
    switch (form) {
    case PUT:
        gasnet_get(dst, from, src, nbytes);
        break;
    case PUT_BULK:
        gasnet_get_bulk(dst, from, src, nbytes);
        break;
    case PUT_NB:
        return gasnet_get_nb(dst, from, src, nbytes);
    case PUT_NB_BULK:
        return gasnet_get_nb_bulk(dst, from, src, nbytes);
    case PUT_NBI:
        gasnet_get_nbi(dst, from, src, nbytes);
        break;
    default:
        gasnet_get_nbi_bulk(dst, from, src, nbytes);
        break;
    }
    return GASNET_INVALID_HANDLE;
}

/* Puts and gets at an offset: the bytes are there when the call returns, and no others change.
 */
static inline __attribute__((always_inline)) void both(enum form form, int to, size_t at,
                                                       size_t nbytes)
{
    static char source[4096 + 2], target[4096 + 2];
    const uint64_t key = test_mix(at * 131 + nbytes) + (uint64_t)form;
    char *seen = here(to, at);
    char before = at ? seen[-1] : 0;
    test_fill(source + 1, nbytes, key);
    gasnet_handle_t handle = put_by(form, (gasnet_node_t)to, test_at(to, at), source + 1, nbytes);
    atomic_signal_fence(memory_order_seq_cst);
    test_check(handle == GASNET_INVALID_HANDLE, "form %d, %zu bytes: a handle", form, nbytes);
    test_check(test_mismatch(seen, nbytes, key) < 0, "form %d, %zu bytes at %zu: not there", form,
               nbytes, at);
    test_check(!at || seen[-1] == before, "form %d, %zu bytes at %zu: the byte before", form,
               nbytes, at);
    memset(target, 0x77, sizeof target);
    handle = get_by(form, target + 1, (gasnet_node_t)to, test_at(to, at), nbytes);
    atomic_signal_fence(memory_order_seq_cst);
    test_check(handle == GASNET_INVALID_HANDLE, "get form %d, %zu bytes: a handle", form, nbytes);
    test_check(test_mismatch(target + 1, nbytes, key) < 0, "form %d, %zu bytes at %zu: not got",
               form, nbytes, at);
    test_check(target[0] == 0x77 && target[nbytes + 1] == 0x77, "form %d, %zu bytes: too many got",
               form, nbytes);
}

#define ALL_FORMS(to, at, nbytes)                                                                  \
    do {                                                                                           \
        both(PUT, to, at, nbytes);                                                                 \
        both(PUT_BULK, to, at, nbytes);                                                            \
        both(PUT_NB, to, at, nbytes);                                                              \
        both(PUT_NB_BULK, to, at, nbytes);                                                         \
        both(PUT_NBI, to, at, nbytes);                                                             \
        both(PUT_NBI_BULK, to, at, nbytes);                                                        \
    } while (0)

/* Each node has a third of its supernode's next segment for itself, both ends included. */
static void forms(void)
{
    if (!all_have_neighbours()) return;
    int to = next_near(1);
    test_sync();
    const size_t places[] = {0, 1, 4093, SEGMENT - 4096, SEGMENT - 4095};
    for (int i = 0; i < TEST_COUNT(places); i++) {
        size_t at = places[i];
        ALL_FORMS(to, at, 1);
        ALL_FORMS(to, at, 2);
        ALL_FORMS(to, at, 4);
        ALL_FORMS(to, at, 8);
        ALL_FORMS(to, at, 24);
        ALL_FORMS(to, at, 63);
        ALL_FORMS(to, at, 64);
        ALL_FORMS(to, at, 65);
        ALL_FORMS(to, at, 4000);
    }
    for (volatile size_t nbytes = 1; nbytes <= 130; nbytes++) {
        const size_t any = nbytes;
        ALL_FORMS(to, SEGMENT - any, any);
    }
    ALL_FORMS(to, SEGMENT - 1, 1);
    ALL_FORMS(to, SEGMENT - 8, 8);
    ALL_FORMS(to, SEGMENT - 63, 8);
    ALL_FORMS(to, SEGMENT - 64, 64);
    gasnet_wait_syncnbi_all();
    test_sync();
}

static void values(void)
{
    if (!all_have_neighbours()) return;
    int to = next_near(1);
    const uint64_t value = 0x8182838485868788u;
    const size_t places[] = {8, 17, SEGMENT - 8};
    test_sync();
    for (int i = 0; i < TEST_COUNT(places); i++) {
        char *at = test_at(to, places[i]), *seen = here(to, places[i]);
        uint64_t found = 0;
        gasnet_put_val((gasnet_node_t)to, at, value, 8);
        memcpy(&found, seen, 8);
        test_check(found == value, "put_val: %#lx", (unsigned long)found);
        gasnet_put_nbi_val((gasnet_node_t)to, at, value + 1, 1);
        test_check((uint8_t)*seen == (uint8_t)(value + 1), "put_nbi_val: %#x", (unsigned)*seen);
        gasnet_handle_t handle = gasnet_put_nb_val((gasnet_node_t)to, at, value + 2, 2);
        test_check(handle == GASNET_INVALID_HANDLE, "put_nb_val: a handle");
        for (volatile size_t nbytes = 1; nbytes <= 8; nbytes++) {
            const uint64_t low = nbytes == 8 ? value : value & (((uint64_t)1 << 8 * nbytes) - 1);
            gasnet_put_val((gasnet_node_t)to, at, value, nbytes);
            test_check(gasnet_get_val((gasnet_node_t)to, at, nbytes) == low, "value of %zu",
                       nbytes);
            test_check(
                gasnet_wait_syncnb_valget(gasnet_get_nb_val((gasnet_node_t)to, at, nbytes)) == low,
                "value of %zu, nb", nbytes);
        }
        test_check(gasnet_get_val((gasnet_node_t)to, at, 4) == (uint32_t)value, "get_val of 4");
    }
    test_sync();
}

static void fills(void)
{
    if (!all_have_neighbours()) return;
    int to = next_near(1);
    const size_t sizes[] = {1, 100, 5000, SEGMENT};
    test_sync();
    for (int i = 0; i < TEST_COUNT(sizes); i++) {
        size_t at = SEGMENT - sizes[i];
        gasnet_memset((gasnet_node_t)to, test_at(to, at), 0x11 + i, sizes[i]);
        test_check(test_not_all(here(to, at), sizes[i], (uint8_t)(0x11 + i)) < 0, "memset of %zu",
                   sizes[i]);
        gasnet_wait_syncnb(
            gasnet_memset_nb((gasnet_node_t)to, test_at(to, at), 0x21 + i, sizes[i]));
        test_check(test_not_all(here(to, at), sizes[i], (uint8_t)(0x21 + i)) < 0, "memset_nb");
        gasnet_memset_nbi((gasnet_node_t)to, test_at(to, at), 0x31 + i, sizes[i]);
        test_check(test_not_all(here(to, at), sizes[i], (uint8_t)(0x31 + i)) < 0, "memset_nbi");
    }
    test_sync();
}

/* Transfers every second word of a neighbour, by each kind of description. */
static void pieces(void)
{
    enum { COUNT = 100 };
    if (!all_have_neighbours()) return;
    int to = next_near(1);
    uint32_t source[COUNT], target[COUNT];
    void *remote[COUNT], *local[1] = {source}, *back[1] = {target};
    const size_t spread[] = {8}, dense[] = {4}, count[] = {4, COUNT};
    test_sync();
    for (int i = 0; i < COUNT; i++) {
        source[i] = (uint32_t)(i * 77 + test_rank);
        remote[i] = test_at(to, (size_t)i * 8);
    }
    memset(here(to, 0), 0, COUNT * 8);
    gasnet_puti_bulk((gasnet_node_t)to, COUNT, remote, 4, 1, local, sizeof source);
    for (int i = 0; i < COUNT; i++) {
        uint32_t word[2];
        memcpy(word, here(to, (size_t)i * 8), 8);
        test_check(word[0] == source[i] && word[1] == 0, "puti: word %d is %#x, %#x", i, word[0],
                   word[1]);
    }
    memset(target, 0, sizeof target);
    gasnet_gets_bulk(target, dense, (gasnet_node_t)to, test_at(to, 0), spread, count, 1);
    test_check(memcmp(source, target, sizeof source) == 0, "gets differs");
    memset(target, 0, sizeof target);
    gasnet_geti_bulk(1, back, sizeof target, (gasnet_node_t)to, COUNT, remote, 4);
    test_check(memcmp(source, target, sizeof source) == 0, "geti differs");
    test_sync();
}

/* Puts from a neighbour's memory, as this node sees it, to the next but one. */
static void from_a_neighbour(void)
{
    if (!all_have_neighbours()) return;
    int prev = next_near(-1), next = next_near(1);
    test_fill(test_at(test_rank, 0), 40000, (uint64_t)test_rank + 50);
    test_sync();
    gasnet_put_bulk((gasnet_node_t)next, test_at(next, SEGMENT / 2), here(prev, 0), 40000);
    test_check(test_mismatch(here(next, SEGMENT / 2), 40000, (uint64_t)prev + 50) < 0, "differs");
    test_sync();
}

/* Tests that the mappings are not inherited and not dumped: a child would keep the pages, and a
 * core file would have those of all neighbours. */
static void kept_to_itself(void)
{
    if (!all_have_neighbours()) return;
    const unsigned long at = (unsigned long)(uintptr_t)here(next_near(1), 0);
    char line[512], flags[512] = "";
    bool inside = false;
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long first, last;
        if (sscanf(line, "%lx-%lx ", &first, &last) == 2) inside = at >= first && at < last;
        if (inside && !strncmp(line, "VmFlags:", 8)) snprintf(flags, sizeof flags, "%s", line);
    }
    if (maps) fclose(maps);
    test_check(strstr(flags, " dc"), "copied to a child: %s", flags);
    test_check(strstr(flags, " dd"), "in core files: %s", flags);
}

/* --- the memory model --- */

/* A flag that is put after data is seen after it. */
static void flag_after_data(void)
{
    if (!all_have_neighbours()) return;
    int to = next_near(1);
    volatile uint64_t *flag = test_at(test_rank, 4096), *data = test_at(test_rank, 8192);
    volatile uint64_t *answer = test_at(test_rank, 12288);
    int from = next_near(-1);
    *flag = *answer = 0;
    test_sync();
    for (uint64_t round = 1; round <= (uint64_t)ROUNDS; round++) {
        uint64_t words[8];
        for (int i = 0; i < 8; i++) words[i] = round * 10 + (uint64_t)i;
        gasnet_put((gasnet_node_t)to, test_at(to, 8192), words, sizeof words);
        gasnet_put((gasnet_node_t)to, test_at(to, 4096), &round, 8);
        GASNET_BLOCKUNTIL(*flag == round);
        for (int i = 0; i < 8; i++)
            test_check(data[i] == round * 10 + (uint64_t)i, "round %lu: word %d is %lu",
                       (unsigned long)round, i, (unsigned long)data[i]);
        gasnet_put_val((gasnet_node_t)from, test_at(from, 12288), round, 8);
        GASNET_BLOCKUNTIL(*answer == round);
    }
    test_sync();
}

static int checked;

static void check_handler(gasnet_token_t token, gasnet_handlerarg_t round)
{
    const uint32_t *words = test_at(test_rank, 20480);
    for (int i = 0; i < 16; i++)
        test_check(words[i] == (uint32_t)round, "round %d: word %d is %u", (int)round, i, words[i]);
    gasnet_AMReplyShort0(token, HANDLER_CHECKED);
}

static void checked_handler(gasnet_token_t token)
{
    (void)token;
    test_add(&checked, 1);
}

/* Tests that a put before a Request is complete when its handler runs. */
static void request_after_put(void)
{
    if (!all_have_neighbours()) return;
    int to = next_near(1);
    test_sync();
    for (int round = 1; round <= ROUNDS; round++) {
        uint32_t words[16];
        for (int i = 0; i < 16; i++) words[i] = (uint32_t)round;
        const int before = test_get(&checked);
        gasnet_put_nbi((gasnet_node_t)to, test_at(to, 20480), words, sizeof words);
        gasnet_wait_syncnbi_puts();
        gasnet_AMRequestShort1((gasnet_node_t)to, HANDLER_CHECK, round);
        GASNET_BLOCKUNTIL(test_get(&checked) > before);
    }
    test_sync();
}

/* Tests that a put before a barrier is complete behind it, and can be got. */
static void barrier_after_put(void)
{
    if (!all_have_neighbours()) return;
    int to = next_near(1), from = next_near(-1);
    test_sync();
    for (uint32_t round = 1; round <= (uint32_t)test_iterations(500); round++) {
        gasnet_put_val((gasnet_node_t)to, test_at(to, 30000), round * 100 + (uint32_t)test_rank, 4);
        gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
        gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
        uint32_t mine;
        memcpy(&mine, test_at(test_rank, 30000), 4);
        test_check(mine == round * 100 + (uint32_t)from, "round %u: %u", round, mine);
        test_check(gasnet_get_val((gasnet_node_t)to, test_at(to, 30000), 4) ==
                       round * 100 + (uint32_t)test_rank,
                   "round %u at the neighbour", round);
        gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
        gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    }
}

static gasnet_handlerentry_t handlers[] = {{HANDLER_CHECK, check_handler},
                                           {HANDLER_CHECKED, checked_handler}};

static const struct test_rule rules[] = {
    {"the own offset is 0", table},
    {"neighbours see each other's segments", offsets},
    {"puts and gets of all forms and sizes are complete when they return", forms},
    {"so are values", values},
    {"and fills", fills},
    {"vector, indexed and strided transfers", pieces},
    {"memory of a neighbour as the source of a put", from_a_neighbour},
    {"memory of a neighbour goes into no child and no core file", kept_to_itself},
    {"a flag that is put after data is seen after it", flag_after_data},
    {"what was put before a Request is there in its handler", request_after_put},
    {"what was put before a barrier is there behind it", barrier_after_put},
};

/* Stays until it is killed. */
static void hold(void)
{
    memset(test_at(test_rank, 0), 1, SEGMENT);
    test_sync();
    printf("# holding: rank %d\n", test_rank);
    fflush(stdout);
    for (;;) gasnet_AMPoll();
}

int main(int argc, char **argv)
{
    test_init(&argc, &argv);
    node = calloc((size_t)test_size, sizeof *node);
    gasnet_getNodeInfo(node, test_size);
    gasnet_nodeinfo_t *early = malloc((size_t)test_size * sizeof *early);
    memcpy(early, node, (size_t)test_size * sizeof *early);
    const bool holds = argc > 1 && !strcmp(argv[1], "hold");
    const uintptr_t megabytes = argc > 1 && !holds ? (uintptr_t)atoi(argv[1]) : 1;
    test_attach(handlers, TEST_COUNT(handlers), megabytes << 20);
    if (holds) hold();
    gasnet_getNodeInfo(node, test_size);
    for (int r = 0; r < test_size; r++)
        test_check(node[r].supernode == early[r].supernode, "attach changes the supernode of %d",
                   r);
    free(early);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
