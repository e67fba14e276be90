/* test.c - job set-up, the walk over the rules, gathering of failures, and the watchdog.
 *
 * Linked into every client-level test program, compiled once per threading mode.  It must use as
 * little of the library as it can: init, attach, Short AMs, BLOCKUNTIL, exit.
 */
#include "test.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "mpi_trap.h"

enum { H_ARRIVE = 253, H_RELEASE = 254, H_TELL = 255, HELPERS = 3 };

int test_rank, test_size, test_next, test_prev;
uint64_t test_seed;
gasnet_seginfo_t *test_seg;
gex_Client_t test_client;
gex_TM_t test_tm;

static int arrived, released, seeded, segments; /* counters moved by handlers */
static uint32_t arrived_sum, released_sum;
static int rounds; /* how many test_sync there were */

static uint32_t failures; /* of the rule under way, on this rank */
static const char *skip_reason;
static int lines, lines_failed; /* TAP lines printed by rank 0 */

static char hung[512]; /* message of the watchdog; ready to be written from a signal handler */
static unsigned hang_seconds = 60;

/* --- watchdog --- */

static void bark(int signal_number)
{
    (void)signal_number;
    ssize_t ignored = write(STDERR_FILENO, hung, strlen(hung));
    (void)ignored;
    _exit(3);
}

void test_phase(const char *format, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    snprintf(hung, sizeof hung, "# HUNG: rank %d after %u s in: %s\n", test_rank, hang_seconds,
             what);
    alarm(hang_seconds);
}

void test_watch(void)
{
    const char *term = getenv("TEST_HANG");
    if (term) hang_seconds = (unsigned)atoi(term);
    signal(SIGALRM, bark);
    test_phase("gasnet_init");
}

/* --- failures --- */

bool test_checked(bool holds, const char *file, int line, const char *cond, const char *format, ...)
{
    if (holds) return true;
    if (__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED) > 8) return false; /* enough to see */
    char text[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fprintf(stderr, "# rank %d: %s:%d: !(%s): %s\n", test_rank, file, line, cond, text);
    return false;
}

void test_skip(const char *reason)
{
    skip_reason = reason;
}

/* --- all ranks in step, by Short AMs --- */

static void arrive(gasnet_token_t token, gasnet_handlerarg_t value)
{
    (void)token;
    __atomic_add_fetch(&arrived_sum, (uint32_t)value, __ATOMIC_RELAXED);
    test_add(&arrived, 1);
}

static void release(gasnet_token_t token, gasnet_handlerarg_t sum)
{
    (void)token;
    released_sum = (uint32_t)sum;
    test_add(&released, 1);
}

static uint64_t word(gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    return (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
}

/* The sender's segment, in a build for GASNET_SEGMENT_EVERYTHING; else the seed. */
static void take_words(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low,
                       gasnet_handlerarg_t is_segment, gasnet_handlerarg_t size_high,
                       gasnet_handlerarg_t size_low)
{
    gasnet_node_t from;
    if (!is_segment) {
        test_seed = word(high, low);
        test_add(&seeded, 1);
        return;
    }
    gasnet_AMGetMsgSource(token, &from);
    test_seg[from].addr = (void *)(uintptr_t)word(high, low);
    test_seg[from].size = (uintptr_t)word(size_high, size_low);
    test_add(&segments, 1);
}

static void require(int status, const char *call)
{
    if (status == GASNET_OK) return;
    fprintf(stderr, "# rank %d: %s: %s (%s)\n", test_rank, call, gasnet_ErrorName(status),
            gasnet_ErrorDesc(status));
    gasnet_exit(4);
}

/* Requests of the interface that the program speaks. */
static int tell_word(int r, gasnet_handler_t handler, uint32_t value)
{
    const gasnet_handlerarg_t arg = (gasnet_handlerarg_t)value;
    if (test_tm) return gex_AM_RequestShort1(test_tm, (gex_Rank_t)r, handler, 0, arg);
    return gasnet_AMRequestShort1((gasnet_node_t)r, handler, arg);
}

static int tell_words(int r, uint64_t a, int is_segment, uint64_t size)
{
    const gasnet_handlerarg_t args[] = {(gasnet_handlerarg_t)(a >> 32), (gasnet_handlerarg_t)a,
                                        (gasnet_handlerarg_t)(size >> 32),
                                        (gasnet_handlerarg_t)size};
    if (test_tm)
        return gex_AM_RequestShort5(test_tm, (gex_Rank_t)r, H_TELL, 0, args[0], args[1], is_segment,
                                    args[2], args[3]);
    return gasnet_AMRequestShort5((gasnet_node_t)r, H_TELL, args[0], args[1], is_segment, args[2],
                                  args[3]);
}

uint32_t test_sync_sum(uint32_t mine)
{
    rounds++;
    require(tell_word(0, H_ARRIVE, mine), "sync: arrive");
    if (test_rank == 0) {
        GASNET_BLOCKUNTIL(test_get(&arrived) == rounds * test_size);
        uint32_t sum = __atomic_exchange_n(&arrived_sum, 0, __ATOMIC_ACQ_REL);
        for (int r = 0; r < test_size; r++) require(tell_word(r, H_RELEASE, sum), "sync: release");
    }
    GASNET_BLOCKUNTIL(test_get(&released) == rounds);
    return released_sum;
}

void test_sync(void)
{
    test_sync_sum(0);
}

/* --- job set-up --- */

static void joined(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_rank = (int)gasnet_mynode();
    test_size = (int)gasnet_nodes();
    test_next = (test_rank + 1) % test_size;
    test_prev = (test_rank + test_size - 1) % test_size;
    test_phase("between init and attach");
}

void test_init(int *argc, char ***argv)
{
    test_watch();
    int status = gasnet_init(argc, argv);
    if (status != GASNET_OK) {
        fprintf(stderr, "# gasnet_init: %s (%s)\n", gasnet_ErrorName(status),
                gasnet_ErrorDesc(status));
        exit(4);
    }
    joined();
}

static void agree_on_seed(void)
{
    if (test_rank == 0) {
        const char *text = gasnet_getenv("TEST_SEED");
        uint64_t seed = text ? strtoull(text, NULL, 0)
                             : test_mix((uint64_t)time(NULL) ^ (uint64_t)getpid() << 40) >> 20;
        for (int r = 0; r < test_size; r++) require(tell_words(r, seed, 0, 0), "send the seed");
        printf("# TEST_SEED=%llu, %d ranks\n", (unsigned long long)seed, test_size);
    }
    GASNET_BLOCKUNTIL(test_get(&seeded) == 1);
}

/* Fills test_seg; where all memory is the segment, agrees with all peers on a part of it. */
static void agree_on_segments(uintptr_t size)
{
    if (!TEST_EVERYTHING) {
        require(gasnet_getSegmentInfo(test_seg, test_size), "gasnet_getSegmentInfo");
        return;
    }
    void *mine =
        size ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
    if (mine == MAP_FAILED) gasnet_exit(4);
    for (int r = 0; r < test_size; r++)
        require(tell_words(r, (uintptr_t)mine, 1, size), "send the segment");
    GASNET_BLOCKUNTIL(test_get(&segments) == test_size);
}

void test_attach(gasnet_handlerentry_t *table, int entries, uintptr_t segsize)
{
    test_phase("gasnet_attach");
    gasnet_handlerentry_t *all = calloc((size_t)(entries + HELPERS), sizeof *all);
    if (entries) memcpy(all, table, (size_t)entries * sizeof *all);
    gasnet_handlerentry_t helpers[HELPERS] = {
        {H_ARRIVE, arrive}, {H_RELEASE, release}, {H_TELL, take_words}};
    memcpy(all + entries, helpers, sizeof helpers);

    /* Before attach: a peer's segment may arrive before this rank's attach returns. */
    test_seg = calloc((size_t)test_size, sizeof *test_seg);
    require(gasnet_attach(all, entries + HELPERS, segsize, 0), "gasnet_attach");
    if (entries) memcpy(table, all, (size_t)entries * sizeof *all); /* chosen indices */
    free(all);

    agree_on_segments(segsize);
    const char *mode = getenv("TEST_WAITMODE");
    if (mode) require(gasnet_set_waitmode(atoi(mode)), "gasnet_set_waitmode");
    agree_on_seed();
    if (getenv("TEST_MPI_TRAP")) printf("# MPI is trapped: %d\n", mpi_trap(1));
}

void test_start(int *argc, char ***argv, gasnet_handlerentry_t *table, int entries,
                uintptr_t segsize)
{
    test_init(argc, argv);
    test_attach(table, entries, segsize);
}

/* After gex_Client_Init. */
static void ex_joined(gex_Client_t client, gex_TM_t tm)
{
    enum { REQUESTS = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST };
    static gex_AM_Entry_t helpers[HELPERS] = {
        {H_ARRIVE, (gex_AM_Fn_t)arrive, REQUESTS, 1, NULL, "arrive"},
        {H_RELEASE, (gex_AM_Fn_t)release, REQUESTS, 1, NULL, "release"},
        {H_TELL, (gex_AM_Fn_t)take_words, REQUESTS, 5, NULL, "tell"}};
    test_client = client;
    test_tm = tm;
    joined();
    require(gex_EP_RegisterHandlers(gex_TM_QueryEP(tm), helpers, HELPERS),
            "gex_EP_RegisterHandlers");
}

void test_ex_join(gex_Client_t client, gex_TM_t tm)
{
    ex_joined(client, tm);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    require(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS), "gasnet_barrier_wait");
    agree_on_seed();
}

void test_ex_start(int *argc, char ***argv, gex_AM_Entry_t *table, size_t entries,
                   uintptr_t segsize)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t tm;
    gex_Segment_t segment;
    test_watch();
    int status = gex_Client_Init(&client, &ep, &tm, "TEST", argc, argv, GEX_FLAG_USES_GASNET1);
    if (status != GASNET_OK) {
        fprintf(stderr, "# gex_Client_Init: %s\n", gasnet_ErrorName(status));
        exit(4);
    }
    ex_joined(client, tm);
    require(gex_EP_RegisterHandlers(ep, table, entries), "gex_EP_RegisterHandlers");
    test_phase("gex_Segment_Attach");
    /* Before attach: a peer's segment may arrive before this rank's attach returns. */
    test_seg = calloc((size_t)test_size, sizeof *test_seg);
    require(gex_Segment_Attach(&segment, test_tm, segsize), "gex_Segment_Attach");
    agree_on_segments(segsize);
    agree_on_seed();
}

/* --- the walk over the rules --- */

void test_run(const struct test_rule *rules, int count)
{
    const char *only = gasnet_getenv("TEST_ONLY");
    for (int i = 0; i < count; i++) {
        if (only && !strstr(rules[i].name, only)) continue;
        failures = 0;
        skip_reason = NULL;
        test_phase("%s", rules[i].name);
        if (getenv("TEST_MPI_TRAP")) mpi_trap(1);
        test_sync();
        rules[i].check();
        uint32_t total = test_sync_sum(__atomic_load_n(&failures, __ATOMIC_ACQUIRE));
        lines++;
        lines_failed += total != 0;
        if (test_rank != 0) continue;
        printf("%sok %d - %s%s%s\n", total ? "not " : "", lines, rules[i].name,
               skip_reason ? " # SKIP " : "", skip_reason ? skip_reason : "");
        if (total) printf("# %u failed checks on all ranks\n", total);
    }
}

/* Of the address sanitizer: reports memory that nothing points to, and returns whether there is. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

int test_close(void)
{
    test_phase("the end of the job");
    if (getenv("TEST_LEAKS") && __lsan_do_recoverable_leak_check)
        lines_failed += __lsan_do_recoverable_leak_check() != 0;
    if (test_rank == 0) printf("1..%d\n", lines);
    fflush(stdout);
    const int status = test_sync_sum((uint32_t)(lines_failed || lines == 0)) != 0;
    if (getenv("TEST_MPI_TRAP")) mpi_trap(0);
    return status;
}

void test_finish(void)
{
    gasnet_exit(test_close());
}

int test_thin(void)
{
    const char *text = gasnet_getenv("TEST_THIN");
    const int thin = text ? atoi(text) : 1;
    return thin < 1 ? 1 : thin;
}

int test_iterations(int base)
{
    int n = (test_size <= 2 ? base : base * 2 / test_size) / test_thin();
    return n < 1 ? 1 : n;
}

/* --- patterns --- */

struct pattern {
    uint8_t first, step, row;
};

static struct pattern pattern_of(uint64_t key)
{
    uint64_t k = test_mix(key);
    return (struct pattern){(uint8_t)k, (uint8_t)(k >> 8 | 1), (uint8_t)(k >> 16)};
}

static uint8_t pattern_byte(struct pattern p, size_t i)
{
    return (uint8_t)(p.first + i * p.step + (i >> 8) * p.row + (i >> 16) * 101);
}

void test_fill(void *memory, size_t length, uint64_t key)
{
    struct pattern p = pattern_of(key);
    uint8_t *byte = memory;
    for (size_t i = 0; i < length; i++) byte[i] = pattern_byte(p, i);
}

ptrdiff_t test_mismatch(const void *memory, size_t length, uint64_t key)
{
    struct pattern p = pattern_of(key);
    const uint8_t *byte = memory;
    for (size_t i = 0; i < length; i++)
        if (byte[i] != pattern_byte(p, i)) return (ptrdiff_t)i;
    return -1;
}

ptrdiff_t test_not_all(const void *memory, size_t length, uint8_t value)
{
    const uint8_t *byte = memory;
    for (size_t i = 0; i < length; i++)
        if (byte[i] != value) return (ptrdiff_t)i;
    return -1;
}
