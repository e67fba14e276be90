/* segments.c - memory of peers that no attach has registered: GASNET_SEGMENT_LARGE and _EVERYTHING.
 *
 * Without arguments the rules, of which some concern one of the two.  `ride` makes puts whose data
 * can ride on requests, for segments.sh, which counts RDMA writes.  `wrong NAME` makes a transfer
 * that must end the job.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "../programs/test.h"

enum {
    PAGE = 4096,
    SEGMENT = 24 << 20,
    KINDS = 7,
    LENGTH = 8 * PAGE,
    H_ADDRESS = 128,
    HOLE = 64 << 20
};

/* --- memory of every kind --- */

static const char *const kind_name[KINDS] = {
    "static data", "zeroed static data", "malloc, large", "malloc, small", "sbrk", "mmap", "stack"};
static char initialised[LENGTH] = {1};
static char zeroed[LENGTH];
static const char constant[LENGTH] = {42, 43};

static struct {
    uint64_t at[KINDS], constant, code, mixed;
} address[64]; /* by rank */
static int addresses;

static void on_address(gasnet_token_t token, void *bytes, size_t size)
{
    gasnet_node_t from;
    gasnet_AMGetMsgSource(token, &from);
    memcpy(&address[from], bytes, size);
    test_add(&addresses, 1);
}

static void exchange_addresses(char *stack, char *mixed)
{
    char *memory[KINDS] = {initialised, zeroed, malloc(1 << 20), malloc(LENGTH), sbrk(LENGTH),
                           NULL,        stack};
    memory[5] = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < KINDS; i++) address[test_rank].at[i] = (uintptr_t)memory[i];
    address[test_rank].constant = (uintptr_t)constant;
    address[test_rank].code = (uintptr_t)exchange_addresses;
    address[test_rank].mixed = (uintptr_t)mixed;
    addresses = 0;
    test_sync();
    for (int r = 0; r < test_size; r++)
        gasnet_AMRequestMedium0((gasnet_node_t)r, H_ADDRESS, &address[test_rank], sizeof *address);
    GASNET_BLOCKUNTIL(test_get(&addresses) == test_size);
    test_sync();
}

static void *pointer(uint64_t at)
{
    return (void *)(uintptr_t)at;
}

/* All kinds at the next rank are written, and read back; the owner looks too. */
static void any_address(void)
{
    static char sent[LENGTH], got[LENGTH];
    char stack[LENGTH];
    const gasnet_node_t peer = (gasnet_node_t)test_next;
    if (!TEST_EVERYTHING) {
        test_skip("GASNET_SEGMENT_EVERYTHING");
        return;
    }
    memset(stack, 0, sizeof stack);
    exchange_addresses(stack, NULL);
    for (int i = 0; i < KINDS; i++) {
        const uint64_t key = test_seed + (uint64_t)(test_rank * KINDS + i);
        test_fill(sent, sizeof sent, key);
        gasnet_put(peer, pointer(address[peer].at[i]), sent, LENGTH);
        memset(got, 0, sizeof got);
        gasnet_get(got, peer, pointer(address[peer].at[i]), LENGTH);
        test_check(test_mismatch(got, LENGTH, key) < 0, "%s is read back", kind_name[i]);
    }
    test_sync();
    for (int i = 0; i < KINDS; i++)
        test_check(test_mismatch(pointer(address[test_rank].at[i]), LENGTH,
                                 test_seed + (uint64_t)(test_prev * KINDS + i)) < 0,
                   "%s at its owner", kind_name[i]);
    test_sync();
}

/* Gets read-only memory. All ranks have loaded the same program. */
static void read_only(void)
{
    static char got[LENGTH];
    const gasnet_node_t peer = (gasnet_node_t)test_next;
    if (!TEST_EVERYTHING) {
        test_skip("GASNET_SEGMENT_EVERYTHING");
        return;
    }
    gasnet_get(got, peer, pointer(address[peer].constant), LENGTH);
    test_check(memcmp(got, constant, LENGTH) == 0, "constants");
    gasnet_get(got, peer, pointer(address[peer].code), 64);
    test_check(memcmp(got, pointer(address[test_rank].code), 64) == 0, "code");
    test_check(gasnet_get_val(peer, pointer(address[peer].constant + 1), 1) == 43, "one byte");
    test_sync();
}

/* Eight pages, of which every third may only be read: in one transfer, and then put beside. */
static void two_kinds(void)
{
    static char got[8 * PAGE];
    const gasnet_node_t peer = (gasnet_node_t)test_next;
    if (!TEST_EVERYTHING) {
        test_skip("GASNET_SEGMENT_EVERYTHING");
        return;
    }
    char *mixed =
        mmap(NULL, sizeof got, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    test_fill(mixed, sizeof got, test_seed + (uint64_t)test_rank);
    for (int i = 0; i < 8; i += 3) mprotect(mixed + i * PAGE, PAGE, PROT_READ);
    exchange_addresses(got, mixed);
    char *there = pointer(address[peer].mixed);
    gasnet_get(got, peer, there, sizeof got);
    test_check(test_mismatch(got, sizeof got, test_seed + peer) < 0, "in one transfer");
    memset(got, 0, sizeof got);
    gasnet_get(got + 100, peer, there + 100, sizeof got - 200);
    gasnet_put(peer, there + PAGE + 1, "written", 8);
    gasnet_get(got, peer, there + PAGE, 16);
    test_check(strcmp(got + 1, "written") == 0, "a put to a page beside: %.8s", got + 1);
    test_sync();
    munmap(mixed, sizeof got);
}

/* --- more than may be pinned --- */

/* Every rank owns a part of the next one's segment, in cells.  A cell has the key of its last put.
 */
enum { CELL = 40000, CELLS = SEGMENT / CELL };
static uint32_t version[CELLS];

static uint64_t cell_key(int writer, int cell, uint32_t of_version)
{
    return test_seed ^ test_mix((uint64_t)writer << 40 | (uint64_t)cell << 20 | of_version);
}

static void one_put(struct test_random *random, int kind, char *source)
{
    const gasnet_node_t peer = (gasnet_node_t)test_next;
    const int cell = (int)(test_random(random) % CELLS);
    char *there = test_at(test_next, (size_t)cell * CELL);
    test_fill(source, CELL, cell_key(test_rank, cell, ++version[cell]));
    switch (kind % 4) {
    case 0:
        gasnet_put(peer, there, source, CELL);
        break;
    case 1:
        gasnet_put_nbi(peer, there, source, CELL);
        break;
    case 2:
        gasnet_wait_syncnb(gasnet_put_nb_bulk(peer, there, source, CELL));
        break;
    default: /* in small pieces, at once */
        for (size_t at = 0; at < CELL; at += 100)
            gasnet_put_nbi(peer, there + at, source + at, 100);
        break;
    }
    gasnet_wait_syncnbi_puts();
}

static void over_the_pool(void)
{
    static char source[CELL], got[CELL];
    struct test_random random = test_random_for(1);
    memset(version, 0, sizeof version);
    test_sync();
    for (int i = 0; i < test_iterations(1500); i++) {
        one_put(&random, i, source);
        if (i % 8) continue;
        const int cell = (int)(test_random(&random) % CELLS);
        if (!version[cell]) continue;
        gasnet_get(got, (gasnet_node_t)test_next, test_at(test_next, (size_t)cell * CELL), CELL);
        test_check(test_mismatch(got, CELL, cell_key(test_rank, cell, version[cell])) < 0,
                   "cell %d of version %u is read back", cell, version[cell]);
    }
    test_sync();
    for (int cell = 0; cell < CELLS; cell++) {
        if (!version[cell]) continue;
        gasnet_get(got, (gasnet_node_t)test_next, test_at(test_next, (size_t)cell * CELL), CELL);
        test_check(test_mismatch(got, CELL, cell_key(test_rank, cell, version[cell])) < 0,
                   "cell %d of version %u at the end", cell, version[cell]);
    }
    test_sync();
}

/* Many operations whose memory is not pinned, in flight together, from and to all ranks. */
static void all_at_once(void)
{
    enum { COUNT = 600, BYTES = 2000 };
    static char source[COUNT][BYTES], got[COUNT][BYTES];
    struct test_random random = test_random_for(2);
    gasnet_handle_t handle[COUNT];
    char *there[COUNT];
    int peer[COUNT];
    test_sync();
    for (int i = 0; i < COUNT; i++) {
        peer[i] = (int)(test_random(&random) % (unsigned)test_size);
        /* Each rank has cells of its own in each segment. */
        const size_t cell = (size_t)i * (size_t)test_size + (size_t)test_rank;
        there[i] = test_at(peer[i], cell * (SEGMENT / (COUNT * (size_t)test_size)));
        test_fill(source[i], BYTES, test_seed + (uint64_t)cell);
        handle[i] = i % 2 ? gasnet_put_nb((gasnet_node_t)peer[i], there[i], source[i], BYTES)
                          : gasnet_put_nb_bulk((gasnet_node_t)peer[i], there[i], source[i], BYTES);
        if (i % 2) memset(source[i], 0, BYTES); /* the source may be written again */
    }
    gasnet_wait_syncnb_all(handle, COUNT);
    for (int i = 0; i < COUNT; i++)
        handle[i] = gasnet_get_nb_bulk(got[i], (gasnet_node_t)peer[i], there[i], BYTES);
    gasnet_wait_syncnb_all(handle, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const uint64_t cell = (uint64_t)i * (uint64_t)test_size + (uint64_t)test_rank;
        test_check(test_mismatch(got[i], BYTES, test_seed + cell) < 0, "operation %d", i);
    }
    test_sync();
}

/* --- for segments.sh --- */

/* Eight puts, each to a page that was not used before. */
static void ride(void)
{
    static char source[3000];
    for (int i = 0; i < 8 && test_rank == 0; i++)
        gasnet_put(1, test_at(1, (size_t)i * 64 * PAGE + 10), source, sizeof source);
    test_sync();
    gasnet_exit(0);
}

static void wrong(const char *name)
{
    static char bytes[PAGE];
    /* The next mapping takes an end of the hole. */
    char *hole = mmap(NULL, HOLE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    exchange_addresses(bytes, hole + HOLE / 2);
    munmap(hole, HOLE);
    test_sync();
    void *code = pointer(address[1].code), *none = pointer(address[1].mixed);
    if (test_rank == 0) {
        if (strcmp(name, "put_code") == 0) gasnet_put(1, code, bytes, 8);
        if (strcmp(name, "put_constant") == 0)
            gasnet_put_bulk(1, pointer(address[1].constant), bytes, sizeof bytes);
        if (strcmp(name, "put_none") == 0) gasnet_put(1, none, bytes, 8);
        if (strcmp(name, "get_none") == 0) gasnet_get(bytes, 1, none, sizeof bytes);
        if (strcmp(name, "get_null") == 0) gasnet_get(bytes, 1, (void *)16, 8);
        if (strcmp(name, "wraps") == 0) gasnet_put(1, (void *)(UINTPTR_MAX - 4), bytes, 8);
        if (strcmp(name, "beyond") == 0) gasnet_put(1, test_at(1, SEGMENT - 4), bytes, 8);
    }
    test_sync();
    gasnet_exit(0);
}

/* Rank 1 unmaps memory that rank 0 has registered there, has other memory at the same address, and
 * says so at once; rank 0 puts again, to the other memory. On a device that refuses registrations
 * of unmapped memory (SOFTHCA_MEMORY=strict). TOLD: by a message; NOT_HELD: by a message, to a
 * block that rank 0 does not hold but rank 1 has registered; BARRIER: by a barrier. */
enum turn { TOLD, NOT_HELD, BARRIER, TURNS };

static void tell(enum turn turn)
{
    if (turn == BARRIER) {
        gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
        gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    } else if (test_rank == 1) {
        gasnet_AMRequestMedium0(0, H_ADDRESS, &address[1], sizeof *address);
    } else {
        GASNET_BLOCKUNTIL(test_get(&addresses) == 1);
    }
}

static void unmapped(void)
{
    enum { BLOCK = 4 << 20, SIZE = 8 * PAGE };
    static char source[SIZE];
    char *block =
        mmap(NULL, TURNS * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    exchange_addresses(block, block);
    char *theirs = pointer(address[1].mixed);
    for (int turn = 0; turn < TURNS; turn++, theirs += BLOCK, block += BLOCK) {
        memset(source, turn + 1, SIZE);
        if (turn != NOT_HELD && test_rank == 0) {
            gasnet_put_bulk(1, theirs, source, SIZE);
            for (int i = 0; i < 4; i++) gasnet_put(1, theirs, source, 8);
        }
        if (turn == NOT_HELD && test_rank == 1)
            gasnet_put_bulk(0, pointer(address[0].at[5]), block, SIZE);
        test_sync();
        addresses = 0;
        if (test_rank == 1)
            mmap(block, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0);
        tell(turn);
        memset(source, turn + 11, SIZE);
        if (test_rank == 0) {
            gasnet_put(1, theirs, source, 8);
            gasnet_put_bulk(1, theirs + 8, source, SIZE - 8);
        }
        test_sync();
        if (test_rank == 1 && (block[0] != turn + 11 || block[SIZE - 1] != turn + 11))
            gasnet_exit(2);
    }
    test_sync();
    gasnet_exit(0);
}

/* As gasnet_init has computed it; in SEGMENT_LARGE it depends on nothing else than what is asked.
 */
static void __attribute__((noreturn)) largest(void)
{
    if (test_rank == 0)
        printf("largest %llu\n", (unsigned long long)gasnet_getMaxLocalSegmentSize());
    gasnet_exit(0);
}

int main(int argc, char **argv)
{
    static gasnet_handlerentry_t table[] = {{H_ADDRESS, on_address}};
    static const struct test_rule rules[] = {
        {"IB-W5 static data, heap and stacks of a peer", any_address},
        {"IB-W5 memory that may only be read", read_only},
        {"IB-W5 memory of two kinds", two_kinds},
        {"IB-R14 puts over more memory than may be pinned", over_the_pool},
        {"IB-P6 hundreds of operations wait for pinning", all_at_once},
    };
    test_start(&argc, &argv, table, TEST_COUNT(table), SEGMENT);
    if (argc > 1 && strcmp(argv[1], "largest") == 0) largest();
    if (argc > 1 && strcmp(argv[1], "ride") == 0) ride();
    if (argc > 1 && strcmp(argv[1], "unmapped") == 0) unmapped();
    if (argc > 2 && strcmp(argv[1], "wrong") == 0) wrong(argv[2]);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
