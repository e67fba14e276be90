/* testoutside.c - puts, gets and Longs whose local side is outside the segment: kinds of memory,
 * sizes, regions that overlap, many at once, handlers, threads.
 *
 * The library keeps such memory registered (IB-R13, PO-16).  matrix.table runs the program also
 * with less room than it uses.  With the argument `read-only-get` rank 0 gets into memory that it
 * must not write, which ends the job.  With `same-code` a process ends when code of its own is made
 * writable.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test.h"

enum { AREA = 2 << 20, THREADS = 8, SEGMENT = 2 * AREA };

/* The segment: [0, AREA) is written by the predecessor, [AREA, 2 AREA) by this rank itself. */
static char *target_of(int peer, size_t offset)
{
    return test_at(peer, (peer == test_rank ? (size_t)AREA : 0) + offset);
}

static gasnet_node_t node(int rank)
{
    return (gasnet_node_t)rank;
}

static void *pages(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}

static void holds(const char *memory, size_t n, uint64_t key, const char *what)
{
    ptrdiff_t at = test_mismatch(memory, n, key);
    test_check(at < 0, "%s, %zu bytes: wrong at %td", what, n, at);
}

/* Puts n bytes from `from` and gets them to `to`. */
static void round_trip(int peer, char *from, char *to, size_t n, const char *what)
{
    static uint64_t key;
    test_fill(from, n, ++key);
    gasnet_put_bulk(node(peer), target_of(peer, 0), from, n);
    memset(from, 0xA5, n);
    memset(to, 0, n);
    gasnet_get_bulk(to, node(peer), target_of(peer, 0), n);
    holds(to, n, key, what);
}

/* --- kinds of memory, sizes, alignments --- */

static char static_memory[2][600000];

static void every_size(char *from, char *to, size_t room, const char *what)
{
    static const size_t sizes[] = {1,     8,      100,    4096,   4097,   5000,   65536,
                                   65537, 131071, 131072, 131073, 262144, 300001, 524288};
    for (int i = 0; i < TEST_COUNT(sizes); i++)
        for (size_t offset = 0; offset < 3 * 1365; offset += 1365)
            if (sizes[i] + offset <= room) {
                round_trip(test_next, from + offset, to + 4096 - offset, sizes[i], what);
                round_trip(test_rank, from + offset, to + offset, sizes[i], "itself");
            }
}

static void kinds(void)
{
    char on_stack[2][40000];
    char *heap[2] = {malloc(600000), malloc(600000)};
    every_size(heap[0], heap[1], 590000, "heap");
    every_size(static_memory[0], static_memory[1], 590000, "static");
    every_size(on_stack[0], on_stack[1], 30000, "stack");
    every_size(static_memory[1], on_stack[0], 30000, "static and stack");
    free(heap[0]);
    free(heap[1]);
}

/* Transfers that overlap, touch, and lie within each other: regions grow together. */
static void overlaps(void)
{
    struct test_random r = test_random_for(1);
    enum { ROOM = 1 << 20 };
    char *a = pages(ROOM), *b = pages(ROOM);
    for (int i = 0; i < test_iterations(300); i++) {
        const size_t n = 1 + test_below(&r, i % 4 ? 20000 : 300000);
        round_trip(test_next, a + test_below(&r, ROOM - n), b + test_below(&r, ROOM - n), n,
                   "any place");
    }
    munmap(a, ROOM);
    munmap(b, ROOM);
}

/* --- more than the cache holds, many at once --- */

enum { PIECE = 8192, PIECES = AREA / PIECE };

static void many_at_once(void)
{
    char *from = pages(4 * AREA), *to = pages(4 * AREA);
    for (int round = 0; round < 3; round++) {
        const size_t stride = (size_t)PIECE * (round == 1 ? 4 : 1);
        for (int i = 0; i < PIECES; i++)
            test_fill(from + (size_t)i * stride, PIECE, (uint64_t)(round * PIECES + i));
        for (int i = 0; i < PIECES; i++)
            gasnet_put_nbi_bulk(node(test_next), target_of(test_next, (size_t)i * PIECE),
                                from + (size_t)i * stride, PIECE);
        gasnet_wait_syncnbi_puts();
        memset(to, 0, 4 * AREA);
        for (int i = 0; i < PIECES; i++)
            gasnet_get_nbi_bulk(to + (size_t)i * stride, node(test_next),
                                target_of(test_next, (size_t)i * PIECE), PIECE);
        gasnet_wait_syncnbi_gets();
        for (int i = 0; i < PIECES; i++)
            holds(to + (size_t)i * stride, PIECE, (uint64_t)(round * PIECES + i), "one of many");
    }
    munmap(from, 4 * AREA);
    munmap(to, 4 * AREA);
}

/* Sources that are free on return, longer than what is bounced. */
static void free_on_return(void)
{
    char *from = malloc(500000), *to = malloc(500000);
    gasnet_handle_t handle[4];
    for (int i = 0; i < 4; i++) {
        test_fill(from, 100000, (uint64_t)i);
        handle[i] =
            gasnet_put_nb(node(test_next), target_of(test_next, (size_t)i * 100000), from, 100000);
        memset(from, 0, 100000);
    }
    gasnet_wait_syncnb_all(handle, 4);
    gasnet_get_bulk(to, node(test_next), target_of(test_next, 0), 400000);
    for (int i = 0; i < 4; i++) holds(to + i * 100000, 100000, (uint64_t)i, "put_nb");
    free(from);
    free(to);
}

/* --- memory that must not be written --- */

static void read_only(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 8 * page;
    char *memory = pages(n), *back = malloc(n);
    for (int round = 0; round < 3; round++) {
        test_fill(memory, n, (uint64_t)round);
        mprotect(memory, 4 * page, PROT_READ);
        gasnet_put_bulk(node(test_next), target_of(test_next, 0), memory, 4 * page);
        gasnet_put_bulk(node(test_next), target_of(test_next, 4 * page), memory + 4 * page,
                        4 * page);
        gasnet_get_bulk(back, node(test_next), target_of(test_next, 0), n);
        holds(back, n, (uint64_t)round, "half of it read-only");
        gasnet_put_bulk(node(test_next), target_of(test_next, 0), memory, n);
        /* A region of both kinds must not be taken for one that may be written. */
        memset(memory + 4 * page, 0, 4 * page);
        gasnet_get_bulk(memory + 4 * page, node(test_next), target_of(test_next, 4 * page),
                        4 * page);
        holds(memory, n, (uint64_t)round, "the half that is not");
        mprotect(memory, 4 * page, PROT_READ | PROT_WRITE);
    }
    munmap(memory, n);
    free(back);
}

static void get_into_read_only(void)
{
    const size_t n = 65536;
    char *memory = pages(n);
    mprotect(memory, n, PROT_READ);
    test_sync();
    if (test_rank == 0) gasnet_get_bulk(memory, node(test_next), target_of(test_next, 0), n);
    for (;;) gasnet_AMPoll();
}

/* --- code that must not be changed --- */

/* From now on the process ends at an mprotect of memory that is executable, as in some sandboxes.
 */
static void forbid_code_changes(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {TEST_COUNT(code), code};
    if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, 2, &program)) return;
    fprintf(stderr, "testoutside: cannot filter system calls\n");
    exit(1);
}

/* --- Longs, also sent by handlers --- */

enum { LONG = 60000 };
static char payload[2][LONG];
static int asked, replied, wrong;

static void on_long(gasnet_token_t token, void *data, size_t n)
{
    if (test_mismatch(data, n, 77) >= 0) test_add(&wrong, 1);
    test_add(&asked, 1);
    const size_t most = gasnet_AMMaxLongReply();
    gasnet_AMReplyLong0(token, 129, payload[1], most < LONG ? most : LONG,
                        target_of(test_prev, AREA / 2));
}

static void on_reply(gasnet_token_t token, void *data, size_t n)
{
    (void)token;
    if (test_mismatch(data, n, 78) >= 0) test_add(&wrong, 1);
    test_add(&replied, 1);
}

static gasnet_handlerentry_t handlers[] = {{128, (void (*)(void))on_long},
                                           {129, (void (*)(void))on_reply}};

static void longs(void)
{
    enum { LONGS = 20 };
    test_fill(payload[0], LONG, 77);
    test_fill(payload[1], LONG, 78);
    asked = replied = wrong = 0;
    test_sync();
    for (int i = 0; i < LONGS; i++) {
        char *source = malloc(LONG);
        test_fill(source, LONG, 77);
        if (i % 2)
            gasnet_AMRequestLong0(node(test_next), 128, source, LONG, target_of(test_next, 0));
        else
            gasnet_AMRequestLongAsync0(node(test_next), 128, payload[0], LONG,
                                       target_of(test_next, 0));
        GASNET_BLOCKUNTIL(test_get(&replied) == i + 1);
        free(source);
    }
    GASNET_BLOCKUNTIL(test_get(&asked) == LONGS);
    test_check(test_get(&wrong) == 0, "%d payloads are wrong", test_get(&wrong));
    test_sync();
}

/* --- threads --- */

#ifdef GASNET_PAR
static char shared[THREADS * 20000];

static void *one_thread(void *argument)
{
    const size_t own = *(int *)argument, room = AREA / THREADS;
    struct test_random r = test_random_for(100 + own);
    char *mine = malloc(room);
    for (int i = 0; i < test_iterations(100); i++) {
        const size_t n = 1 + test_below(&r, 30000), at = test_below(&r, room - n);
        const size_t part = test_below(&r, sizeof shared - n);
        gasnet_put_bulk(node(test_next), target_of(test_next, own * room + at), shared + part, n);
        gasnet_get_bulk(mine + at, node(test_next), target_of(test_next, own * room + at), n);
        test_check(!memcmp(mine + at, shared + part, n), "thread %zu: %zu bytes", own, n);
    }
    free(mine);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    int number[THREADS];
    test_fill(shared, sizeof shared, 5);
    test_sync();
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        if (pthread_create(&thread[i], NULL, one_thread, &number[i])) abort();
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    test_sync();
}
#endif

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"IB-R13 PO-16 heap, static memory, stack", kinds},
        {"IB-R13 PO-16 transfers that overlap", overlaps},
        {"IB-R14 PO-16 many at once, and more than fits", many_at_once},
        {"IB-R13 PO-16 sources free on return", free_on_return},
        {"IB-R13 PO-16 read-only memory beside other memory", read_only},
        {"IB-R13 PO-16 Longs, also of handlers", longs},
#ifdef GASNET_PAR
        {"IB-R13 PO-16 threads", threads},
#endif
    };
    if (argc > 1 && !strcmp(argv[1], "same-code")) forbid_code_changes();
    test_start(&argc, &argv, handlers, TEST_COUNT(handlers), SEGMENT);
    if (argc > 1 && !strcmp(argv[1], "read-only-get")) get_into_read_only();
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
