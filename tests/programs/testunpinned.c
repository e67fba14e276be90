/* testunpinned.c - puts, gets and Active Messages whose local memory the program can access, but
 * the kernel pins for no device: secret memory, and a mapping of kernel memory, as drivers make.
 *
 * To be run also with SOFTHCA_MEMORY=strict, where the software device refuses to register such
 * memory, as real devices do.  With the argument `read-only-get` or `unmapped-get` rank 0 gets into
 * secret memory that may only be read, or that has a hole, which ends the job.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

enum { PAGE = 4096, MOST = 1 << 20, AREA = 2 * MOST, SEGMENT = 2 * AREA };

/* The segment: [0, AREA) is written by the predecessor, [AREA, 2 AREA) by this rank itself. */
static char *target_of(int peer, size_t offset)
{
    return test_at(peer, (peer == test_rank ? (size_t)AREA : 0) + offset);
}

static gasnet_node_t node(int rank)
{
    return (gasnet_node_t)rank;
}

static void holds(const char *memory, size_t n, uint64_t key, const char *what)
{
    ptrdiff_t at = test_mismatch(memory, n, key);
    test_check(at < 0, "%s, %zu bytes: wrong at %td", what, n, at);
}

/* --- memory that cannot be pinned; NULL, with errno, where the system has none --- */

/* `at`: NULL, or memory that is replaced. */
static char *map_secret(void *at, size_t size)
{
    const int fd = (int)syscall(SYS_memfd_secret, 0);
    if (fd < 0) return NULL;
    char *memory = MAP_FAILED;
    if (ftruncate(fd, (off_t)size) == 0)
        memory = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
    const int error = errno;
    close(fd);
    errno = error;
    return memory == MAP_FAILED ? NULL : memory;
}

static char *secret(size_t size)
{
    return map_secret(NULL, size);
}

/* The buffer of a counter that counts nothing: pages of the kernel, mapped as a driver maps its
 * own.  They hold zeros and may be read, and the second half of the page in front may be written.
 */
static char *kernel_buffer(size_t size)
{
    struct perf_event_attr nothing = {.type = PERF_TYPE_SOFTWARE,
                                      .size = sizeof nothing,
                                      .config = PERF_COUNT_SW_DUMMY,
                                      .disabled = 1,
                                      .exclude_kernel = 1,
                                      .exclude_hv = 1};
    const int fd = (int)syscall(SYS_perf_event_open, &nothing, 0, -1, -1, 0);
    if (fd < 0) return NULL;
    char *memory = mmap(NULL, PAGE + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int error = errno;
    close(fd);
    errno = error;
    return memory == MAP_FAILED ? NULL : memory + PAGE;
}

static void forget(char *memory, size_t size)
{
    if (memory) munmap(memory, size);
}

static void forget_kernel_buffer(char *memory, size_t size)
{
    if (memory) munmap(memory - PAGE, PAGE + size);
}

/* True on every rank if all ranks have the memory; else the rule is skipped. */
static bool all_have(bool mine, const char *what)
{
    static char reason[200];
    const int error = mine ? 0 : errno;
    if (test_sync_sum(mine) == (uint32_t)test_size) return true;
    snprintf(reason, sizeof reason, "no %s here: %s", what,
             error ? strerror(error) : "refused to another rank");
    test_skip(reason);
    return false;
}

static const char secret_name[] = "secret memory (memfd_secret)";

/* --- puts and gets --- */

enum way { BULK, NB_BULK, NBI_BULK, BLOCKING, NB, NBI, WAYS };

static void put(enum way way, int peer, void *to, void *from, size_t n)
{
    gasnet_handle_t handle = GASNET_INVALID_HANDLE;
    if (way == BULK) gasnet_put_bulk(node(peer), to, from, n);
    if (way == NB_BULK) handle = gasnet_put_nb_bulk(node(peer), to, from, n);
    if (way == NBI_BULK) gasnet_put_nbi_bulk(node(peer), to, from, n);
    if (way == BLOCKING) gasnet_put(node(peer), to, from, n);
    if (way == NB) handle = gasnet_put_nb(node(peer), to, from, n);
    if (way == NBI) gasnet_put_nbi(node(peer), to, from, n);
    if (way == NB || way == NBI) memset(from, 0xA5, n); /* the source is free on return */
    gasnet_wait_syncnb(handle);
    gasnet_wait_syncnbi_puts();
}

static void get(enum way way, int peer, void *to, void *from, size_t n)
{
    gasnet_handle_t handle = GASNET_INVALID_HANDLE;
    if (way == BULK) gasnet_get_bulk(to, node(peer), from, n);
    if (way == NB_BULK) handle = gasnet_get_nb_bulk(to, node(peer), from, n);
    if (way == NBI_BULK) gasnet_get_nbi_bulk(to, node(peer), from, n);
    if (way == BLOCKING) gasnet_get(to, node(peer), from, n);
    if (way == NB) handle = gasnet_get_nb(to, node(peer), from, n);
    if (way == NBI) gasnet_get_nbi(to, node(peer), from, n);
    gasnet_wait_syncnb(handle);
    gasnet_wait_syncnbi_gets();
}

static const size_t sizes[] = {8, 64, 65, 4096, 65536 + 3, MOST};

/* Puts from the memory and gets into it, in each way.  The bytes of a put are checked in ordinary
 * memory, and those of a get come from there. */
static void round_trip(enum way way, int peer, char *memory, size_t n)
{
    static char ordinary[MOST];
    static uint64_t key;
    test_fill(memory, n, ++key);
    put(way, peer, target_of(peer, 0), memory, n);
    memset(ordinary, 0, n);
    gasnet_get_bulk(ordinary, node(peer), target_of(peer, 0), n);
    holds(ordinary, n, key, "put");
    test_fill(ordinary, n, ++key);
    gasnet_put_bulk(node(peer), target_of(peer, 0), ordinary, n);
    memset(memory, 0, n);
    get(way, peer, memory, target_of(peer, 0), n);
    holds(memory, n, key, "get");
}

static void every_size(char *memory, size_t room)
{
    for (enum way way = 0; way < WAYS; way++)
        for (int i = 0; i < TEST_COUNT(sizes); i++)
            for (size_t offset = 0; offset <= 1365; offset += 1365)
                if (sizes[i] + offset <= room) {
                    round_trip(way, test_next, memory + offset, sizes[i]);
                    round_trip(way, test_rank, memory + offset, sizes[i]);
                }
}

static void of_secret_memory(void)
{
    char *memory = secret(MOST + PAGE);
    if (all_have(memory, secret_name)) every_size(memory, MOST + PAGE);
    forget(memory, MOST + PAGE);
}

static void of_kernel_memory(void)
{
    enum { ROOM = 32 * PAGE, HALF = PAGE / 2 };
    static char ordinary[ROOM];
    char *memory = kernel_buffer(ROOM);
    if (all_have(memory, "buffer of perf_event_open")) {
        every_size(memory - HALF, HALF);
        for (int i = 0; i < TEST_COUNT(sizes); i++) {
            const size_t n = sizes[i] < ROOM ? sizes[i] : ROOM;
            memset(ordinary, 1, n);
            gasnet_put_bulk(node(test_next), target_of(test_next, 0), memory, n);
            gasnet_get_bulk(ordinary, node(test_next), target_of(test_next, 0), n);
            const ptrdiff_t at = test_not_all(ordinary, n, 0);
            test_check(at < 0, "kernel memory, %zu bytes: wrong at %td", n, at);
        }
    }
    forget_kernel_buffer(memory, ROOM);
}

/* Transfers of both kinds of memory. */
static void beside_other_memory(void)
{
    enum { HALF = 65 * PAGE };
    char *memory =
        mmap(NULL, (size_t)3 * HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    if (all_have(map_secret(memory + HALF, HALF), secret_name)) {
        every_size(memory + HALF - 100, (size_t)2 * HALF + 100);
        every_size(memory + 2 * HALF - 5000, HALF + 5000);
        round_trip(NB_BULK, test_next, memory, (size_t)3 * HALF);
    }
    munmap(memory, (size_t)3 * HALF);
}

static void read_only_source(void)
{
    char *memory = secret(MOST), *back = malloc(MOST);
    if (all_have(memory, secret_name)) {
        test_fill(memory, MOST, 3);
        mprotect(memory, MOST, PROT_READ);
        for (int i = 0; i < TEST_COUNT(sizes); i++) {
            memset(back, 0, sizes[i]);
            gasnet_put_bulk(node(test_next), target_of(test_next, 0), memory, sizes[i]);
            gasnet_get_bulk(back, node(test_next), target_of(test_next, 0), sizes[i]);
            holds(back, sizes[i], 3, "read-only");
        }
    }
    forget(memory, MOST);
    free(back);
}

enum { PIECE = 20000, PIECES = MOST / PIECE };

static void many_at_once(void)
{
    char *memory = secret(MOST);
    if (all_have(memory, secret_name)) {
        for (int i = 0; i < PIECES; i++) test_fill(memory + (size_t)i * PIECE, PIECE, (uint64_t)i);
        for (int i = 0; i < PIECES; i++)
            gasnet_put_nbi_bulk(node(test_next), target_of(test_next, (size_t)i * PIECE),
                                memory + (size_t)i * PIECE, PIECE);
        gasnet_wait_syncnbi_puts();
        memset(memory, 0, MOST);
        for (int i = 0; i < PIECES; i++)
            gasnet_get_nbi_bulk(memory + (size_t)i * PIECE, node(test_next),
                                target_of(test_next, (size_t)i * PIECE), PIECE);
        gasnet_wait_syncnbi_gets();
        for (int i = 0; i < PIECES; i++)
            holds(memory + (size_t)i * PIECE, PIECE, (uint64_t)i, "one of many");
    }
    forget(memory, MOST);
}

static void strided(void)
{
    enum { ROW = 5000, ROWS = 30, STRIDE = 2 * ROW };
    const size_t there[] = {ROW}, here[] = {STRIDE}, count[] = {ROW, ROWS};
    char *memory = secret(MOST);
    if (all_have(memory, secret_name)) {
        for (int i = 0; i < ROWS; i++) test_fill(memory + (size_t)i * STRIDE, ROW, (uint64_t)i);
        gasnet_puts_bulk(node(test_next), target_of(test_next, 0), there, memory, here, count, 1);
        memset(memory, 0, MOST);
        gasnet_gets_bulk(memory, here, node(test_next), target_of(test_next, 0), there, count, 1);
        for (int i = 0; i < ROWS; i++)
            holds(memory + (size_t)i * STRIDE, ROW, (uint64_t)i, "a row");
    }
    forget(memory, MOST);
}

/* --- Active Messages --- */

static char *messages; /* secret memory from which they are sent */
static int requests, replies, wrong;

enum { ON_LONG = 128, ON_LONG_REPLY, ON_MEDIUM, ON_MEDIUM_REPLY, REPLY_AT = MOST };

static void arrived(int *count, const void *data, size_t n, gasnet_handlerarg_t bytes,
                    gasnet_handlerarg_t key)
{
    if (n != (size_t)bytes || test_mismatch(data, n, (uint64_t)key) >= 0) test_add(&wrong, 1);
    test_add(count, 1);
}

/* Replies are sent from the second half of `messages`, filled with the key 78. */
static void on_long(gasnet_token_t token, void *data, size_t n, gasnet_handlerarg_t bytes,
                    gasnet_handlerarg_t key)
{
    arrived(&requests, data, n, bytes, key);
    const size_t most = gasnet_AMMaxLongReply();
    n = n < most ? n : most;
    gasnet_AMReplyLong2(token, ON_LONG_REPLY, messages + MOST, n, target_of(test_prev, REPLY_AT),
                        (gasnet_handlerarg_t)n, 78);
}

static void on_medium(gasnet_token_t token, void *data, size_t n, gasnet_handlerarg_t bytes,
                      gasnet_handlerarg_t key)
{
    arrived(&requests, data, n, bytes, key);
    gasnet_AMReplyMedium2(token, ON_MEDIUM_REPLY, messages + MOST, n, bytes, 78);
}

static void on_reply(gasnet_token_t token, void *data, size_t n, gasnet_handlerarg_t bytes,
                     gasnet_handlerarg_t key)
{
    (void)token;
    arrived(&replies, data, n, bytes, key);
}

static gasnet_handlerentry_t handlers[] = {{ON_LONG, (void (*)(void))on_long},
                                           {ON_LONG_REPLY, (void (*)(void))on_reply},
                                           {ON_MEDIUM, (void (*)(void))on_medium},
                                           {ON_MEDIUM_REPLY, (void (*)(void))on_reply}};

static void send_one(int form, size_t n)
{
    const gasnet_handlerarg_t bytes = (gasnet_handlerarg_t)n;
    const int before = test_get(&replies);
    char *to = target_of(test_next, 0);
    test_fill(messages, n, 77);
    if (form == 0) gasnet_AMRequestLong2(node(test_next), ON_LONG, messages, n, to, bytes, 77);
    if (form == 1) gasnet_AMRequestLongAsync2(node(test_next), ON_LONG, messages, n, to, bytes, 77);
    if (form == 2) gasnet_AMRequestMedium2(node(test_next), ON_MEDIUM, messages, n, bytes, 77);
    if (form != 1) memset(messages, 0, n); /* the source is free on return */
    GASNET_BLOCKUNTIL(test_get(&replies) == before + 1);
}

static void active_messages(void)
{
    const size_t most[] = {gasnet_AMMaxLongRequest(), gasnet_AMMaxLongRequest(),
                           gasnet_AMMaxMedium()};
    int sent = 0;
    messages = secret((size_t)2 * MOST);
    requests = replies = wrong = 0;
    if (messages) test_fill(messages + MOST, MOST, 78);
    if (all_have(messages, secret_name)) {
        for (int form = 0; form < 3; form++)
            for (int i = 0; i < TEST_COUNT(sizes); i++, sent++)
                send_one(form, sizes[i] < most[form] ? sizes[i] : most[form]);
        GASNET_BLOCKUNTIL(test_get(&requests) == sent);
        test_check(test_get(&wrong) == 0, "%d messages are wrong", test_get(&wrong));
    }
    test_sync();
    forget(messages, (size_t)2 * MOST);
}

/* --- threads --- */

#ifdef GASNET_PAR
enum { THREADS = 4, ROOM = MOST / THREADS };
static char *shared;

static void *one_thread(void *argument)
{
    const size_t own = *(int *)argument;
    struct test_random r = test_random_for(100 + own);
    char *mine = malloc(ROOM);
    for (int i = 0; i < test_iterations(40); i++) {
        const size_t n = 1 + test_below(&r, 30000), at = own * ROOM + test_below(&r, ROOM - n);
        const uint64_t key = own << 32 | (uint64_t)i;
        test_fill(shared + at, n, key);
        gasnet_put_bulk(node(test_next), target_of(test_next, at), shared + at, n);
        gasnet_get_bulk(mine, node(test_next), target_of(test_next, at), n);
        holds(mine, n, key, "put of a thread");
        memset(shared + at, 0, n);
        gasnet_get_bulk(shared + at, node(test_next), target_of(test_next, at), n);
        holds(shared + at, n, key, "get of a thread");
    }
    free(mine);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    int number[THREADS];
    shared = secret(MOST);
    if (all_have(shared, secret_name)) {
        for (int i = 0; i < THREADS; i++) {
            number[i] = i;
            if (pthread_create(&thread[i], NULL, one_thread, &number[i])) abort();
        }
        for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    }
    test_sync();
    forget(shared, MOST);
}
#endif

/* --- gets that end the job --- */

static void get_into(bool hole)
{
    enum { SIZE = 16 * PAGE };
    char *memory = secret(SIZE);
    if (!memory) {
        fprintf(stderr, "testunpinned: no %s here: %s\n", secret_name, strerror(errno));
        exit(1);
    }
    if (hole)
        munmap(memory + SIZE / 2, PAGE);
    else
        mprotect(memory, SIZE, PROT_READ);
    test_sync();
    if (test_rank == 0) gasnet_get_bulk(memory, node(test_next), target_of(test_next, 0), SIZE);
    for (;;) gasnet_AMPoll();
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"IB-R13 PO-16 secret memory", of_secret_memory},
        {"IB-R13 PO-16 a mapping of kernel memory", of_kernel_memory},
        {"IB-R13 PO-16 secret memory beside other memory", beside_other_memory},
        {"IB-R13 PO-16 secret memory that may only be read", read_only_source},
        {"IB-R13 PO-16 many transfers of secret memory at once", many_at_once},
        {"IB-R13 PO-16 strided transfers of secret memory", strided},
        {"IB-R13 PO-16 Active Messages from secret memory", active_messages},
#ifdef GASNET_PAR
        {"IB-R13 PO-16 threads that transfer secret memory", threads},
#endif
    };
    test_start(&argc, &argv, handlers, TEST_COUNT(handlers), SEGMENT);
    if (argc > 1) get_into(!strcmp(argv[1], "unmapped-get"));
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
