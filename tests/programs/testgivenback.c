/* testgivenback.c - memory outside the segment that the program unmaps and has again, at the same
 * address and with other contents: puts and gets never use a registration of the old pages.
 *
 * Each rule transfers from and to a block, so that it is registered and the registration is kept,
 * unmaps it in one way, and transfers again. To be run with SOFTHCA_MEMORY=strict, where a
 * registration of unmapped pages cannot be used. With the argument `unseen` memory is unmapped by
 * code that the library cannot see, and the job must fail: otherwise this program would test
 * nothing. With `passed-by` a hook of the library is overwritten, as by a probe.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { SIZE = 128 * 1024, HALF = SIZE / 2, PAGE = 4096, ROUNDS = 3 };

static int key;       /* of the contents; another for each use */
static char *present; /* the block that is unmapped next, HALF bytes */

/* --- ways to unmap `present`, and to have memory at its address again --- */

static void *fill(void *block)
{
    if (block == MAP_FAILED || !block) abort();
    return memset(block, 0, HALF);
}

/* MAP_FIXED is not used, as it is a way of unmapping itself. */
static void map_again(void)
{
    char *again = mmap(present, HALF, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (again != present) abort();
}

static void by_munmap(void)
{
    munmap(present, HALF);
    map_again();
}

static void by_mremap(void)
{
    void *moved = mremap(present, HALF, 2 * HALF, MREMAP_MAYMOVE);
    if (moved != present) map_again();
    munmap(moved != present ? moved : (char *)moved + HALF, moved != present ? 2 * HALF : HALF);
}

static void by_mremap_over(void)
{
    void *other =
        fill(mmap(NULL, HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (mremap(other, HALF, HALF, MREMAP_MAYMOVE | MREMAP_FIXED, present) != present) abort();
}

static void by_mremap_in_place(void)
{
    if (mremap(present, HALF, PAGE, 0) != present) abort();
    if (mmap(present + PAGE, HALF - PAGE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != present + PAGE)
        abort();
}

static void by_dontneed(void)
{
    madvise(present, HALF, MADV_DONTNEED);
}

static void by_madv_free(void)
{
    madvise(present, HALF, MADV_FREE);
}

static void by_map_fixed(void)
{
    mmap(present, HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void by_fork(void)
{
    const pid_t child = fork();
    if (child == 0) {
        munmap(present, HALF);
        _exit(0);
    }
    memset(present, 1, HALF);
    waitpid(child, NULL, 0);
}

static const struct way {
    const char *name;
    void (*give_back)(void);
} ways[] = {
    {"munmap", by_munmap},
    {"mremap that moves", by_mremap},
    {"mremap over it", by_mremap_over},
    {"mremap that shrinks", by_mremap_in_place},
    {"madvise(MADV_DONTNEED)", by_dontneed},
    {"madvise(MADV_FREE)", by_madv_free},
    {"mmap(MAP_FIXED)", by_map_fixed},
    {"fork", by_fork},
};

/* --- transfers, which compare --- */

static void put_compared(char *from, const char *what)
{
    void *to = test_at(test_next, 0), *back = test_at(test_rank, SIZE);
    test_fill(from, HALF, (uint64_t)++key);
    gasnet_put_bulk((gasnet_node_t)test_next, to, from, HALF);
    gasnet_get_bulk(back, (gasnet_node_t)test_next, to, HALF);
    test_check(test_mismatch(back, HALF, (uint64_t)key) < 0, "%s: a put of old bytes", what);
}

static void get_compared(char *to, const char *what)
{
    void *from = test_at(test_next, 0), *source = test_at(test_rank, SIZE);
    test_fill(source, HALF, (uint64_t)++key);
    gasnet_put_bulk((gasnet_node_t)test_next, from, source, HALF);
    memset(to, 0, HALF);
    gasnet_get_bulk(to, (gasnet_node_t)test_next, from, HALF);
    test_check(test_mismatch(to, HALF, (uint64_t)key) < 0, "%s: a get to old pages", what);
}

/* Registers the block, and finds the registration again. */
static void use(char *block)
{
    put_compared(block, "before");
    get_compared(block, "before");
}

static void use_again(char *block, const char *what)
{
    put_compared(block, what);
    get_compared(block, what);
    put_compared(block, what);
}

static char *map_block(void)
{
    return mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* --- rules: each way, before a transfer, during one, and in another thread --- */

static void before_transfers(void)
{
    for (int i = 0; i < ROUNDS * TEST_COUNT(ways); i++) {
        const struct way *way = &ways[i % TEST_COUNT(ways)];
        test_phase("%s", way->name);
        present = map_block();
        use(present);
        way->give_back();
        use_again(present, way->name);
        munmap(present, SIZE);
    }
}

/* Unmaps the second half of a block, which one region covers, while a put from the first half is in
 * progress. Two adjacent halves that are used one after the other become one region. */
static void during_transfers(void)
{
    for (int i = 0; i < ROUNDS * TEST_COUNT(ways); i++) {
        const struct way *way = &ways[i % TEST_COUNT(ways)];
        test_phase("%s", way->name);
        char *block = map_block(), *back = test_at(test_rank, SIZE);
        if (way->give_back == by_fork) continue; /* by_fork writes, and the put reads */
        present = block + HALF;
        gasnet_put_bulk((gasnet_node_t)test_next, test_at(test_next, 0), block, SIZE - 1);
        use(present);
        test_fill(block, HALF, (uint64_t)++key);
        const int kept = key;
        gasnet_handle_t put =
            gasnet_put_nb_bulk((gasnet_node_t)test_next, test_at(test_next, 0), block, HALF);
        way->give_back();
        gasnet_wait_syncnb(put);
        gasnet_get_bulk(back, (gasnet_node_t)test_next, test_at(test_next, 0), HALF);
        test_check(test_mismatch(back, HALF, (uint64_t)kept) < 0, "%s: the put in progress",
                   way->name);
        use_again(present, way->name);
        munmap(block, SIZE);
    }
}

static void *give_back_elsewhere(void *way)
{
    ((const struct way *)way)->give_back();
    return NULL;
}

static void in_another_thread(void)
{
    for (int i = 0; i < ROUNDS * TEST_COUNT(ways); i++) {
        pthread_t thread;
        const struct way *way = &ways[i % TEST_COUNT(ways)];
        test_phase("%s", way->name);
        present = map_block();
        use(present);
        if (pthread_create(&thread, NULL, give_back_elsewhere, (void *)(uintptr_t)way)) abort();
        pthread_join(thread, NULL);
        use_again(present, way->name);
        munmap(present, SIZE);
    }
}

/* Two that map and unmap all the time, and own what they map for a moment. */
static volatile int stop;

static void *churn(void *unused)
{
    (void)unused;
    while (!stop) {
        char *block = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block != MAP_FAILED) munmap(memset(block, 7, PAGE), SIZE);
        free(memset(malloc(SIZE + 64), 7, PAGE));
    }
    return NULL;
}

static void beside_threads(void)
{
    pthread_t thread[2];
    stop = 0;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, churn, NULL)) abort();
    for (int i = 0; i < test_iterations(60); i++) {
        test_phase("round %d", i);
        char *block = i % 2 ? map_block() : malloc(SIZE);
        use(block);
        if (i % 2)
            munmap(block, SIZE);
        else
            free(block);
    }
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
}

/* --- rules: memory of other kinds --- */

static void heap(void)
{
    for (int i = 0; i < 2 * ROUNDS; i++) {
        char *block = fill(malloc(SIZE + HALF * (size_t)(i + 1)));
        use_again(block, "malloc");
        free(block);
    }
    char *moved = fill(malloc(4 * SIZE));
    use(moved);
    moved = realloc(moved, 4096 * (size_t)PAGE);
    use_again(moved, "realloc");
    free(moved);
    for (int i = 0; i < ROUNDS; i++) {
        char *end = sbrk(SIZE);
        if (end == (char *)-1) return;
        char *block = (char *)(((uintptr_t)end + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
        use_again(block, "sbrk");
        if (sbrk(0) == end + SIZE) sbrk(-SIZE);
    }
}

static char *attach(char *at, int flags)
{
    const int id = shmget(IPC_PRIVATE, SIZE, 0600);
    char *block = shmat(id, at, flags);
    shmctl(id, IPC_RMID, NULL);
    if (block == (char *)-1) abort();
    return block;
}

static void shared_memory(void)
{
    char *block = attach(NULL, 0);
    for (int i = 0; i < ROUNDS; i++) {
        use(block);
        shmdt(block);
        if (attach(block, 0) != block) abort();
        use_again(block, "shmdt");
        attach(block, SHM_REMAP);
        use_again(block, "shmat over it");
        madvise(block, SIZE, MADV_REMOVE);
        use_again(block, "madvise(MADV_REMOVE)");
    }
    shmdt(block);
}

static char *volatile on_stack;
static pthread_barrier_t arrived;

static void *lend_stack(void *unused)
{
    char block[2 * HALF];
    (void)unused;
    on_stack = block;
    pthread_barrier_wait(&arrived);
    pthread_barrier_wait(&arrived);
    return NULL;
}

static void stacks(void)
{
    for (int i = 0; i < 2 * ROUNDS; i++) {
        pthread_t thread;
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        /* Larger than glibc keeps, and then what it keeps. */
        pthread_attr_setstacksize(&attr, (size_t)(i % 2 ? 64 : 1) << 20);
        pthread_barrier_init(&arrived, NULL, 2);
        if (pthread_create(&thread, &attr, lend_stack, NULL)) abort();
        pthread_attr_destroy(&attr);
        pthread_barrier_wait(&arrived);
        use_again(on_stack, "a thread's stack");
        pthread_barrier_wait(&arrived);
        pthread_join(thread, NULL);
        pthread_barrier_destroy(&arrived);
    }
}

/* --- unmapping that the library cannot see --- */

/* munmap, without a call of the C library: code that the program writes, as a JIT compiler does. */
static long (*unseen_munmap)(void *, size_t);

static void write_unseen_code(void)
{
    static const unsigned char code[] = {0xb8, 11, 0, 0, 0, 0x0f, 0x05, 0xc3};
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) abort();
    memcpy(page, code, sizeof code);
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    memcpy(&unseen_munmap, &page, sizeof page);
}

static void unseen(void)
{
    write_unseen_code();
    present = map_block();
    use(present);
    unseen_munmap(present, HALF);
    map_again();
    /* The device learns of it from a thread of its own, which may get the processor late. */
    for (int i = 0; i < 20000; i++) {
        put_compared(present, "code of the program's own");
        sched_yield();
    }
}

/* The processor passes the library's hook in the C library's munmap by, as with a uprobe there. */
static int (*library_munmap)(void *, size_t) = munmap;

static bool pass_hook_by(void)
{
    static const unsigned char munmap_begins[] = {0xb8, 11, 0, 0, 0};
    void *library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    const unsigned char *code = library ? dlsym(library, "munmap") : NULL;
    const unsigned char *jump = code ? memchr(code, 0xe9, 16) : NULL;
    const int memory = open("/proc/self/mem", O_RDWR);
    const bool done = jump && memory >= 0 &&
                      pwrite(memory, munmap_begins, sizeof munmap_begins, (off_t)(uintptr_t)jump) ==
                          sizeof munmap_begins;
    if (memory >= 0) close(memory);
    if (done) memcpy(&library_munmap, &code, sizeof code);
    return done;
}

static void passed_by(void)
{
    present = map_block();
    use(present);
    if (!pass_hook_by()) fprintf(stderr, "# no hook is in munmap\n");
    for (int i = 0; i < 100; i++) {
        library_munmap(present, HALF);
        map_again();
        put_compared(present, "munmap, past its hook");
    }
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"IB-R13, PO-16 memory given back before a transfer", before_transfers},
        {"IB-R13, PO-16 memory given back between a put of its neighbour and the sync",
         during_transfers},
        {"IB-R13, PO-16 memory given back in another thread", in_another_thread},
        {"IB-R13, PO-16 other threads map and unmap meanwhile", beside_threads},
        {"IB-R13, PO-16 the heap", heap},
        {"IB-R13, PO-16 shared memory", shared_memory},
        {"IB-R13, PO-16 stacks of threads that end", stacks},
    };
    static const struct test_rule last[] = {{"memory given back unseen", unseen}};
    static const struct test_rule probe[] = {
        {"IB-R13, PO-16 memory unmapped past a hook", passed_by}};
    test_start(&argc, &argv, NULL, 0, 4 * SIZE);
    if (argc > 1 && strcmp(argv[1], "unseen") == 0)
        test_run(last, 1);
    else if (argc > 1 && strcmp(argv[1], "passed-by") == 0)
        test_run(probe, 1);
    else
        test_run(rules, TEST_COUNT(rules));
    test_finish();
}
