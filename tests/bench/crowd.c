/* crowd.c - many processes on few processors: the time of a barrier, and what waiting costs.
 *
 * barrier ROUNDS: the mean and the best time of a barrier, over ten batches.  counter ROUNDS: the
 * same of a counter in shared memory with sched_yield(), the floor of a barrier on this machine at
 * this time.  exchange ROUNDS: each rank sends a Short Request to each other one and waits for the
 * Replies; the mean and the best time of one of its Requests.  wait SECONDS: rank 0 sleeps so long
 * while the others wait for it in a barrier; their processor time together.  Rank 0 prints one
 * line.  start: nothing but the start and the end of the job.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/programs/test.h"

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double processor_us(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static _Atomic unsigned *counter; /* in the segment of rank 0 */

static void count(void)
{
    const unsigned size = (unsigned)test_size, before = atomic_fetch_add(counter, 1);
    const unsigned end = before / size * size + size;
    while ((int)(atomic_load(counter) - end) < 0) sched_yield();
}

static void find_counter(void)
{
    gasnet_nodeinfo_t *info = malloc(sizeof *info * (size_t)test_size);
    if (!info || gasnet_getNodeInfo(info, test_size) != GASNET_OK ||
        info[0].supernode != info[test_rank].supernode) {
        fprintf(stderr, "crowd: the processes do not share memory\n");
        gasnet_exit(2);
    }
    counter = (void *)((char *)test_at(0, 0) + info[0].offset);
    free(info);
    if (test_rank == 0) atomic_store(counter, 0);
    barrier();
}

enum { H_ASK = 130, H_ANSWER };
static volatile int answers;

static void on_ask(gasnet_token_t token)
{
    gasnet_AMReplyShort0(token, H_ANSWER);
}

static void on_answer(gasnet_token_t token)
{
    (void)token;
    answers++;
}

static void exchange(void)
{
    answers = 0;
    for (int i = 1; i < test_size; i++)
        gasnet_AMRequestShort0((gasnet_node_t)((test_rank + i) % test_size), H_ASK);
    GASNET_BLOCKUNTIL(answers == test_size - 1);
}

/* Of a step in which each rank does so many things. */
static void time_steps(void (*step)(void), int rounds, unsigned things)
{
    enum { BATCHES = 10 };
    double best = 1e18;
    for (int i = 0; i < 3; i++) step();
    const double start = now_us();
    for (int b = 0; b < BATCHES; b++) {
        const double from = now_us();
        for (int i = 0; i < rounds; i++) step();
        const double each = (now_us() - from) / rounds;
        if (each < best) best = each;
    }
    const double mean = (now_us() - start) / (BATCHES * rounds);
    if (test_rank == 0) printf("crowd: %.1f us mean, %.1f us best\n", mean / things, best / things);
}

static void time_waiting(int seconds)
{
    const struct timespec rest = {.tv_sec = seconds};
    barrier();
    const double before = processor_us();
    if (test_rank == 0) nanosleep(&rest, NULL);
    barrier();
    double mine = processor_us() - before, all = 0;
    memcpy(test_at(test_rank, 0), &mine, sizeof mine);
    barrier();
    for (int r = 1; test_rank == 0 && r < test_size; r++) {
        double one;
        gasnet_get(&one, (gasnet_node_t)r, test_at(r, 0), sizeof one);
        all += one;
    }
    if (test_rank == 0) printf("crowd: %.0f ms of processor time\n", all / 1e3);
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t table[] = {{H_ASK, (void (*)(void))on_ask},
                                     {H_ANSWER, (void (*)(void))on_answer}};
    test_start(&argc, &argv, table, 2, 65536);
    const int many = argc == 3 ? atoi(argv[2]) : 0;
    if (argc == 2 && strcmp(argv[1], "start") == 0) gasnet_exit(0);
    if (many > 0 && strcmp(argv[1], "barrier") == 0) {
        time_steps(barrier, many, 1);
    } else if (many > 0 && strcmp(argv[1], "counter") == 0) {
        find_counter();
        time_steps(count, many, 1);
    } else if (many > 0 && strcmp(argv[1], "exchange") == 0)
        time_steps(exchange, many, (unsigned)test_size - 1);
    else if (many > 0 && strcmp(argv[1], "wait") == 0)
        time_waiting(many);
    else {
        fprintf(stderr,
                "usage: crowd barrier|counter|exchange ROUNDS, crowd wait SECONDS, crowd start\n");
        gasnet_exit(2);
    }
    barrier();
    gasnet_exit(0);
}
