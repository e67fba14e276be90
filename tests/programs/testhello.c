/* testhello.c - start-up: rank and size, arguments, environment, node and segment tables, handler
 * tables and the variants of attach.
 *
 * Arguments of the program: `table N` picks attach variant N (0 when absent); the words after a
 * first `--` are compared on all ranks, and printed by rank 0 one a line for the driver to compare.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

#include <gasnet_tools.h>

enum variant { PLAIN, NULL_TABLE, MAXIMUM, UNEQUAL, MIXED_INDICES, FULL_TABLE, VARIANTS };
static const char *const variant_name[] = {
    "B6 some pages, fixed indices",
    "B6 no handlers, no segment",
    "B5 B11 the maximum that was promised, after malloc, mmap and stdio",
    "B6 sizes differ between ranks, rank 0 has none",
    "B7 B8 zero and fixed indices mixed, in a table freed after attach",
    "B7 128 entries",
};
static enum variant variant;
static int arg_count;
static char **arg_words;
static uintptr_t asked;

/* --- handlers --- */

static int called[256];
static int gathered;
static uint32_t gathered_sum, gathered_different;

static void on_call(gasnet_token_t t, gasnet_handlerarg_t index)
{
    (void)t;
    test_add(&called[index & 255], 1);
}

/* Gathers a checksum from all ranks on each: all must agree. */
static void on_gather(gasnet_token_t t, gasnet_handlerarg_t sum, gasnet_handlerarg_t own)
{
    gasnet_node_t from = 0;
    gasnet_AMGetMsgSource(t, &from);
    test_check((int)from == own, "message of rank %d says it is from %d", (int)from, (int)own);
    if (gathered == 0) gathered_sum = (uint32_t)sum;
    gathered_different += (uint32_t)sum != gathered_sum;
    test_add(&gathered, 1);
}

enum { TABLE_MAX = 128 };
static gasnet_handlerentry_t entries[TABLE_MAX];
static int entry_count;
static int gather_index;

static void add_entry(int index, void (*fn)(gasnet_token_t, gasnet_handlerarg_t))
{
    entries[entry_count].index = (gasnet_handler_t)index;
    entries[entry_count].fnptr = (void *)fn;
    entry_count++;
}

static void make_table(void)
{
    int rest = 0;
    gasnet_handlerentry_t gather = {variant == MIXED_INDICES ? 0 : 252, (void *)on_gather};
    entries[entry_count++] = gather;
    if (variant == NULL_TABLE) return;
    if (variant == MIXED_INDICES) {
        static const int mixed[] = {0, 129, 0, 128, 0, 131, 200, 0, 251};
        for (int i = 0; i < TEST_COUNT(mixed); i++) add_entry(mixed[i], on_call);
        return;
    }
    /* three indices belong to test.c, one is the gatherer's */
    rest = variant == FULL_TABLE ? TABLE_MAX - 4 : 3;
    for (int i = 0; i < rest; i++) add_entry(128 + i, on_call);
}

/* --- between init and attach --- */

static void disturb_memory(void)
{
    void *kept = malloc(3 << 20);
    memset(kept, 1, 3 << 20);
    void *mapped = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped != MAP_FAILED) memset(mapped, 2, 1 << 20);
    free(malloc(100 << 20));
    printf("# rank %d writes between init and attach\n", test_rank);
    (void)kept;
}

static uintptr_t size_to_ask(void)
{
    const uintptr_t global = gasnet_getMaxGlobalSegmentSize();
    switch (variant) {
    case NULL_TABLE:
        return 0;
    case MAXIMUM:
        return global < 32u << 20 ? global : 32u << 20; /* capped: 8 ranks on one host */
    case UNEQUAL:
        return (uintptr_t)test_rank * GASNET_PAGESIZE;
    default:
        return 16 * GASNET_PAGESIZE;
    }
}

static bool limits_sane;

static void before_attach(void)
{
    const uintptr_t local = gasnet_getMaxLocalSegmentSize(),
                    global = gasnet_getMaxGlobalSegmentSize();
    limits_sane = local > 0 && global > 0 && local >= global && local % GASNET_PAGESIZE == 0 &&
                  global % GASNET_PAGESIZE == 0;
    if (TEST_EVERYTHING) limits_sane = local == UINTPTR_MAX && global == UINTPTR_MAX;
    if (variant == MAXIMUM) disturb_memory();
    asked = size_to_ask();
}

/* --- rules --- */

static void all_agree(const char *what, uint32_t sum)
{
    test_sync();
    gathered = 0;
    gathered_different = 0;
    test_sync();
    for (int r = 0; r < test_size; r++)
        gasnet_AMRequestShort2((gasnet_node_t)r, (gasnet_handler_t)gather_index,
                               (gasnet_handlerarg_t)sum, test_rank);
    GASNET_BLOCKUNTIL(test_get(&gathered) == test_size);
    test_check(gathered_different == 0, "%s: %u ranks differ", what, gathered_different);
}

static uint32_t sum_of(uint32_t sum, const void *data, size_t n)
{
    for (size_t i = 0; i < n; i++) sum = (sum ^ ((const uint8_t *)data)[i]) * 16777619u;
    return sum;
}

static void rank_and_size(void)
{
    test_check(test_size > 0 && test_rank >= 0 && test_rank < test_size, "rank %d of %d", test_rank,
               test_size);
    all_agree("job size", (uint32_t)test_size);
    uint32_t ranks = test_sync_sum(1u << test_rank % 31);
    uint32_t expected = 0;
    for (int r = 0; r < test_size; r++) expected += 1u << r % 31;
    test_check(ranks == expected, "ranks are not 0..%d", test_size - 1);
    const char *wanted = gasnet_getenv("TEST_EXPECT_RANKS"); /* set by the runner */
    if (wanted) test_check(atoi(wanted) == test_size, "%s ranks were launched", wanted);
}

static void arguments(void)
{
    test_check(arg_words[0] != NULL && arg_words[arg_count] == NULL, "argv not terminated");
    uint32_t sum = sum_of(7, &arg_count, sizeof arg_count);
    for (int i = 1; i < arg_count; i++) {
        sum = sum_of(sum, arg_words[i], strlen(arg_words[i]) + 1);
        test_check(strncmp(arg_words[i], "-GASNET-SPAWN", 13) != 0, "launcher-private word left");
    }
    all_agree("arguments", sum);
    for (int i = 1; test_rank == 0 && i < arg_count; i++) printf("ARG[%s]\n", arg_words[i]);
}

static void environment(void)
{
    uint32_t sum = 3;
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "TEST_VALUE_%d", i);
        const char *value = gasnet_getenv(name);
        if (!value) continue;
        sum = sum_of(sum, value, strlen(value) + 1);
        test_check(strcmp(value, gasnet_getenv(name)) == 0, "%s changes from call to call", name);
        if (test_rank == 0) printf("ENV[%s=%s]\n", name, value);
    }
    test_check(gasnet_getenv("TEST_SURELY_UNSET_VARIABLE") == NULL, "unset name has a value");
    all_agree("environment", sum);
}

static void error_texts(void)
{
    static const struct {
        int code;
        const char *name;
    } codes[] = {{GASNET_OK, "GASNET_OK"},
                 {GASNET_ERR_NOT_INIT, "GASNET_ERR_NOT_INIT"},
                 {GASNET_ERR_RESOURCE, "GASNET_ERR_RESOURCE"},
                 {GASNET_ERR_BAD_ARG, "GASNET_ERR_BAD_ARG"},
                 {GASNET_ERR_NOT_READY, "GASNET_ERR_NOT_READY"},
                 {GASNET_ERR_BARRIER_MISMATCH, "GASNET_ERR_BARRIER_MISMATCH"}};
    for (int i = 0; i < TEST_COUNT(codes); i++) {
        test_check(strcmp(gasnet_ErrorName(codes[i].code), codes[i].name) == 0, "%s is called %s",
                   codes[i].name, gasnet_ErrorName(codes[i].code));
        test_check(strlen(gasnet_ErrorDesc(codes[i].code)) > 3, "no description of %s",
                   codes[i].name);
    }
    test_check(gasnet_ErrorName(-12345) != NULL, "no name for an unknown code");
    test_check(strcmp(gasnet_ErrorDesc(-12345), "no description available") == 0, "unknown: %s",
               gasnet_ErrorDesc(-12345));
}

static void second_calls_fail(void)
{
    int n = 1;
    char word[] = "again", *words[] = {word, NULL}, **v = words;
    int status = gasnet_init(&n, &v);
    test_check(status == GASNET_ERR_NOT_INIT, "second init: %s", gasnet_ErrorName(status));
    status = gasnet_attach(NULL, 0, 0, 0);
    test_check(status == GASNET_ERR_NOT_INIT, "second attach: %s", gasnet_ErrorName(status));
    test_check(gasnet_set_waitmode(99) == GASNET_ERR_BAD_ARG, "wait mode 99 accepted");
    static const int modes[] = {GASNET_WAIT_SPIN, GASNET_WAIT_SPINBLOCK, GASNET_WAIT_BLOCK};
    for (int i = 0; i < 3; i++)
        test_check(gasnet_set_waitmode(modes[i]) == GASNET_OK, "wait mode %d", modes[i]);
}

static void segment_table(void)
{
    gasnet_seginfo_t *seg = calloc((size_t)test_size + 2, sizeof *seg);
    for (int n = 0; n <= test_size + 2; n++) {
        memset(seg, 0x55, ((size_t)test_size + 2) * sizeof *seg);
        test_check(gasnet_getSegmentInfo(seg, n) == GASNET_OK, "n = %d", n);
        for (int i = n < test_size ? n : test_size; i < test_size + 2; i++)
            test_check(test_not_all(&seg[i], sizeof *seg, 0x55) < 0, "n = %d: entry %d written", n,
                       i);
    }
    test_check(gasnet_getSegmentInfo(seg, -1) == GASNET_ERR_BAD_ARG, "n = -1 accepted");
    gasnet_getSegmentInfo(seg, test_size);
    test_check(seg[test_rank].size >= asked, "%zu bytes asked, %zu granted", (size_t)asked,
               (size_t)seg[test_rank].size);
    for (int r = 0; r < test_size; r++) {
        if (TEST_EVERYTHING)
            test_check(!seg[r].addr && seg[r].size == UINTPTR_MAX, "rank %d: %p, %zu", r,
                       seg[r].addr, (size_t)seg[r].size);
        else
            test_check(seg[r].size % GASNET_PAGESIZE == 0, "size of %d not in pages", r);
        test_check((uintptr_t)seg[r].addr % GASNET_PAGESIZE == 0, "base of %d not in pages", r);
        if (variant == UNEQUAL)
            test_check(seg[r].size >= (uintptr_t)r * GASNET_PAGESIZE, "rank %d has %zu bytes", r,
                       (size_t)seg[r].size);
    }
    all_agree("segment table", sum_of(1, seg, (size_t)test_size * sizeof *seg));
    test_check(limits_sane, "maximum segment sizes before attach");
    free(seg);
}

static void segment_ends(void)
{
    const int peer = test_next;
    if (test_seg[test_rank].size > 0) {
        volatile char *mine = test_seg[test_rank].addr;
        mine[test_seg[test_rank].size / 2] = 1; /* local access at once */
    }
    test_sync();
    if (test_seg[peer].size == 0) return;
    const size_t ends[] = {0, test_seg[peer].size - 1};
    for (int i = 0; i < 2; i++) {
        gasnet_put_val((gasnet_node_t)peer, test_at(peer, ends[i]), 0x5A, 1);
        test_check(gasnet_get_val((gasnet_node_t)peer, test_at(peer, ends[i]), 1) == 0x5A,
                   "byte %zu of rank %d", ends[i], peer);
    }
}

static void node_table(void)
{
    gasnet_nodeinfo_t *node = calloc((size_t)test_size + 2, sizeof *node);
    for (int n = 0; n <= test_size + 2; n++) {
        memset(node, 0x55, ((size_t)test_size + 2) * sizeof *node);
        test_check(gasnet_getNodeInfo(node, n) == GASNET_OK, "n = %d", n);
        for (int i = n < test_size ? n : test_size; i < test_size + 2; i++)
            test_check(test_not_all(&node[i], sizeof *node, 0x55) < 0, "n = %d: entry %d written",
                       n, i);
    }
    test_check(gasnet_getNodeInfo(node, -1) == GASNET_ERR_BAD_ARG, "n = -1 accepted");
    gasnet_getNodeInfo(node, test_size);
    gasnet_node_t hosts = 0, supernodes = 0;
    uint32_t sum = 9;
    for (int r = 0; r < test_size; r++) {
        test_check(node[r].host <= hosts, "host ids not dense: rank %d has %d", r,
                   (int)node[r].host);
        test_check(node[r].supernode <= supernodes, "supernodes not dense at rank %d", r);
        if (node[r].host == hosts) hosts++;
        if (node[r].supernode == supernodes) supernodes++;
        for (int s = 0; s < r; s++)
            test_check(node[r].supernode != node[s].supernode || node[r].host == node[s].host,
                       "a supernode spans hosts");
        sum = sum_of(sum_of(sum, &node[r].host, sizeof node[r].host), &node[r].supernode,
                     sizeof node[r].supernode);
    }
    all_agree("node table", sum);
    free(node);
}

static void handler_indices(void)
{
    static const int wanted[] = {130, 132, 129, 133, 128, 134, 131, 200, 135, 251};
    bool used[256] = {false};
    for (int i = 0; i < entry_count; i++) {
        int index = entries[i].index;
        test_check(index >= 128 && !used[index], "entry %d has index %d", i, index);
        used[index] = true;
        if (variant == MIXED_INDICES)
            test_check(index == wanted[i], "entry %d has index %d, not %d", i, index, wanted[i]);
    }
    test_sync();
    memset(called, 0, sizeof called);
    test_sync();
    for (int i = 0; i < entry_count; i++)
        if ((int)entries[i].index != gather_index)
            gasnet_AMRequestShort1((gasnet_node_t)test_next, entries[i].index, entries[i].index);
    for (int i = 0; i < entry_count; i++)
        if ((int)entries[i].index != gather_index)
            GASNET_BLOCKUNTIL(test_get(&called[entries[i].index]) == 1);
}

static void config_strings(void)
{
    const char *config = GASNET_CONFIG_STRING;
    static const char *const parts[] = {"RELEASE=", "SPEC=1.8",
                                        "CONDUIT=", "THREADMODEL=", "SEGMENT="};
    for (int i = 0; i < TEST_COUNT(parts); i++)
        test_check(strstr(config, parts[i]) != NULL, "no %s in %s", parts[i], config);
    test_check(GASNET_SPEC_VERSION_MAJOR == 1 && GASNET_SPEC_VERSION_MINOR == 8, "not 1.8");
    test_check(strlen(GASNET_CONDUIT_NAME_STR) > 0, "conduit without a name");
    test_check(strcmp(_STRINGIFY(GASNET_CONDUIT_NAME), GASNET_CONDUIT_NAME_STR) == 0,
               "names differ");
    test_check(test_size <= (int)(GASNET_MAXNODES & 0x7fffffff), "more ranks than GASNET_MAXNODES");
}

static void self_tests(void)
{
    gasnet_seginfo_t *segments = calloc(gasnet_nodes(), sizeof *segments);
    gasnet_handlerentry_t *handlers;
    int count = -1;
    gasnett_diagnostic_gethandlers(&handlers, &count);
    test_check(handlers && count == 0, "%d handlers", count);
    gasnet_getSegmentInfo(segments, (int)gasnet_nodes());
    test_check(gasnett_run_diagnostics(100, 2, NULL, segments) == 0, "all sections");
    test_check(gasnett_run_diagnostics(0, 0, "ts", NULL) == 0, "two sections, no segments");
    free(segments);
}

int main(int argc, char **argv)
{
    static struct test_rule rules[] = {
        {NULL, segment_table}, /* named after the variant */
        {"B11 first and last byte of a fresh segment", segment_ends},
        {"2.5 rank and size", rank_and_size},
        {"B1 arguments reach every rank alike", arguments},
        {"B2 B3 IB-S6 environment reaches every rank alike", environment},
        {"2.0 names and descriptions of errors", error_texts},
        {"2.2 2.3 second init and attach, wait modes", second_calls_fail},
        {"B9 B10 node table", node_table},
        {"B7 B21 handler indices", handler_indices},
        {"1.3 1.8 versions and configuration string", config_strings},
        {"6.10 self-tests for clients", self_tests},
    };
    test_init(&argc, &argv);
    arg_count = argc;
    arg_words = argv;
    if (argc > 2 && strcmp(argv[1], "table") == 0)
        variant = (enum variant)(atoi(argv[2]) % VARIANTS);
    rules[0].name = variant_name[variant];
    before_attach();
    make_table();
    gasnet_handlerentry_t *temporary = malloc((size_t)entry_count * sizeof *temporary);
    memcpy(temporary, entries, (size_t)entry_count * sizeof *temporary);
    test_attach(temporary, entry_count, asked);
    memcpy(entries, temporary, (size_t)entry_count * sizeof *temporary);
    memset(temporary, 0xFF, (size_t)entry_count * sizeof *temporary);
    free(temporary);
    gather_index = entries[0].index;
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
