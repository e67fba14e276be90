/* threads.c - T threads of rank 0, each doing N operations of one kind on its own part of rank 1's
 * segment, at the same time.
 *
 *   threads OPERATION T N
 *
 * Prints the processor time that an operation took.  Under callgrind, threads.sh counts what
 * happens inside counted(), which each thread calls once.  Rank 1 serves messages until it is told
 * that all is done.
 */
#include <pthread.h>
#include <time.h>

#include "tests/programs/test.h"

enum { MOST = 16, BATCH = 16, SEGMENT = 64 * 1024, H_COUNT = 128, H_DONE };

static int done;
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static double nanoseconds; /* of all threads; under the lock */

static void on_count(gasnet_token_t t)
{
    (void)t;
}
static void on_done(gasnet_token_t t)
{
    (void)t;
    test_add(&done, 1);
}
static gasnet_handlerentry_t table[] = {{H_COUNT, on_count}, {H_DONE, on_done}};

static struct worker {
    pthread_t thread;
    char *there;
    uint64_t here[8];
} worker[MOST];
static int threads, count;
static pthread_barrier_t meet;

/* --- N operations of each kind --- */

static void put(struct worker *w)
{
    for (int i = 0; i < count; i++) gasnet_put(1, w->there, w->here, 8);
}
static void put_nb(struct worker *w)
{
    for (int i = 0; i < count; i++) gasnet_wait_syncnb(gasnet_put_nb(1, w->there, w->here, 8));
}
static void put_nbi(struct worker *w)
{
    for (int i = 0; i < count; i++) {
        gasnet_put_nbi(1, w->there, w->here, 8);
        if (i % BATCH == BATCH - 1) gasnet_wait_syncnbi_puts();
    }
}
static void get(struct worker *w)
{
    for (int i = 0; i < count; i++) gasnet_get(w->here, 1, w->there, 8);
}
static void am_short(struct worker *w)
{
    (void)w;
    for (int i = 0; i < count; i++) gasnet_AMRequestShort0(1, H_COUNT);
}
static void poll(struct worker *w)
{
    (void)w;
    for (int i = 0; i < count; i++) gasnet_AMPoll();
}

static const struct operation {
    const char *name;
    void (*run)(struct worker *w);
} operations[] = {{"put", put}, {"put_nb", put_nb},     {"put_nbi", put_nbi},
                  {"get", get}, {"am_short", am_short}, {"poll", poll}};
static const struct operation *operation;

/* Callgrind collects from entry to exit of this function, on each thread. */
void counted(struct worker *w);
__attribute__((noinline)) void counted(struct worker *w)
{
    operation->run(w);
    __asm__ volatile("" ::: "memory"); /* no tail call: we must return from here */
}

static void *work(void *of)
{
    struct worker *w = of;
    struct timespec begin, end;
    gasnet_put(1, w->there, w->here, 8); /* the thread's records */
    pthread_barrier_wait(&meet);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    counted(w);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    gasnet_hsl_lock(&lock);
    nanoseconds +=
        (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    gasnet_hsl_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv)
{
    test_start(&argc, &argv, table, TEST_COUNT(table), SEGMENT);
    for (int i = 0; argc == 4 && i < TEST_COUNT(operations); i++)
        if (strcmp(argv[1], operations[i].name) == 0) operation = &operations[i];
    threads = argc == 4 ? atoi(argv[2]) : 0;
    count = argc == 4 ? atoi(argv[3]) / BATCH * BATCH : 0;
    if (!operation || threads < 1 || threads > MOST || test_size != 2) {
        if (test_rank == 0) fprintf(stderr, "usage: gasnetrun_ibv -n 2 threads OPERATION T N\n");
        gasnet_exit(1);
    }
    test_sync();
    if (test_rank == 0) {
        pthread_barrier_init(&meet, NULL, (unsigned)threads);
        for (int i = 0; i < threads; i++) {
            worker[i].there = test_at(1, 256 * (size_t)i);
            if (pthread_create(&worker[i].thread, NULL, work, &worker[i])) gasnet_exit(1);
        }
        for (int i = 0; i < threads; i++) pthread_join(worker[i].thread, NULL);
        printf("%s, %d threads: %.1f ns of processor time an operation\n", operation->name, threads,
               nanoseconds / ((double)threads * count));
        gasnet_AMRequestShort0(1, H_DONE);
    } else {
        GASNET_BLOCKUNTIL(test_get(&done));
    }
    test_sync();
    gasnet_exit(0);
}
