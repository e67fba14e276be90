/* testpollalone.c - do two threads ever poll completion queues at once? (IB-B4)  Prints "together"
 * or "alone"; tests/ib/firmware.sh knows which it must be.
 *
 * Stands between library and device, as tests/params/spy.c.  A poll of the main thread stays
 * inside, for a bounded time, until some other thread has come: the one that connects peers, and in
 * PAR the receive threads.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "tests/programs/test.h"

enum { H_ASK = 128, H_ANSWER, STAYS = 40, SEGMENT = 1 << 20 };

static int (*device_poll)(struct ibv_cq *, int, struct ibv_wc *);
static atomic_int inside, together, others;
static pthread_t first;
static int stays = STAYS;

static void moment(void)
{
    const struct timespec ms = {.tv_nsec = 1000000};
    nanosleep(&ms, NULL);
}

static int on_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    if (atomic_fetch_add(&inside, 1) > 0) atomic_fetch_add(&together, 1);
    if (!pthread_equal(pthread_self(), first)) atomic_fetch_add(&others, 1);
    if (pthread_equal(pthread_self(), first) && stays > 0)
        for (int i = 0; i < 20 && !atomic_load(&together); i++) moment();
    if (pthread_equal(pthread_self(), first)) stays--;
    int got = device_poll(cq, n, wc);
    atomic_fetch_sub(&inside, 1);
    return got;
}

#pragma GCC visibility push(default) /* for the libraries to find */
struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *own,
                             struct ibv_comp_channel *channel, int vector)
{
    static struct ibv_cq *(*next)(struct ibv_context *, int, void *, struct ibv_comp_channel *,
                                  int);
    if (!next) *(void **)(void *)&next = dlsym(RTLD_NEXT, "ibv_create_cq");
    struct ibv_cq *cq = next(context, cqe, own, channel, vector);
    if (!device_poll) device_poll = context->ops.poll_cq;
    context->ops.poll_cq = on_poll;
    return cq;
}
#pragma GCC visibility pop

static int answered;

static void on_ask(gasnet_token_t t)
{
    gasnet_AMReplyShort0(t, H_ANSWER);
}

static void on_answer(gasnet_token_t t)
{
    (void)t;
    test_add(&answered, 1);
}

static gasnet_handlerentry_t table[] = {{H_ASK, on_ask}, {H_ANSWER, on_answer}};

static void speak(void)
{
    stays = STAYS; /* at the start there were some too, while peers were connected */
    for (int i = 1; i <= 200; i++) {
        gasnet_AMRequestShort0((gasnet_node_t)test_next, H_ASK);
        GASNET_BLOCKUNTIL(test_get(&answered) >= i);
    }
    test_check(atomic_load(&others) > 0, "no other thread has polled");
    printf("# rank %d: %s\n", test_rank, atomic_load(&together) ? "together" : "alone");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    first = pthread_self();
    test_start(&argc, &argv, table, TEST_COUNT(table), SEGMENT);
    const struct test_rule rules[] = {{"IB-B4 messages, while polls are watched", speak}};
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
