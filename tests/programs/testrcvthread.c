/* testrcvthread.c - with GASNET_RCV_THREAD=1: messages are served although no thread of the program
 * makes progress (IB-C8); in SEQ and PARSYNC only if configured with --enable-seq-rcv-thread
 * (IB-C10).
 *
 * After sending, a rank watches plain memory and calls nothing of the library: only the receive
 * threads, here and there, can run the handlers that change it.
 */
#include <gasnet_coll.h>
#include <pthread.h>
#include <sched.h>

#include "test.h"

enum {
    MESSAGES = 16,
    ROUNDS = 50,
    FLOOD = 2000,
    LOCKED = 500,
    SEGMENT = 1 << 20,
    LONG_SIZE = 100000
};
enum { H_ASK = 128, H_ANSWER, H_MEDIUM, H_LONG, H_LOCKED, H_STAY, H_STAYS };

static int asked, answered, damaged; /* since the start: the previous rank may be ahead */

/* Without a call of the library. */
static void watch(int *counter, int until)
{
    while (test_get(counter) < until) sched_yield();
}

static void on_ask(gasnet_token_t t)
{
    test_add(&asked, 1);
    gasnet_AMReplyShort0(t, H_ANSWER);
}

static void on_answer(gasnet_token_t t)
{
    (void)t;
    test_add(&answered, 1);
}

static void on_payload(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t key)
{
    if (test_mismatch(buf, n, (uint64_t)key) >= 0) test_add(&damaged, 1);
    test_add(&asked, 1);
    gasnet_AMReplyShort0(t, H_ANSWER);
}

/* A count that two threads change, under a handler-safe lock. */
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static volatile int guarded;
static int locked_runs;

static void add_guarded(void)
{
    gasnet_hsl_lock(&lock);
    int before = guarded;
    for (volatile int i = 0; i < 1000; i++) continue; /* without the lock this loses counts */
    guarded = before + 1;
    gasnet_hsl_unlock(&lock);
}

static void on_locked(gasnet_token_t t)
{
    (void)t;
    add_guarded();
    test_add(&locked_runs, 1);
}

/* Stays on the receive thread until the client thread has called what a handler may not; does not
 * stay where that thread itself, inside a call, runs it. */
static pthread_t client;
static int replied, stays, staying, left;

static void on_stay(gasnet_token_t t)
{
    bool stay = !pthread_equal(pthread_self(), client);
    gasnet_AMReplyShort1(t, H_STAYS, stay);
    if (!stay) return;
    test_add(&staying, 1);
    watch(&left, 1);
}

static void on_stays(gasnet_token_t t, gasnet_handlerarg_t stay)
{
    (void)t;
    test_add(&stays, stay);
    test_add(&replied, 1);
}

static gasnet_handlerentry_t table[] = {
    {H_ASK, on_ask},       {H_ANSWER, on_answer}, {H_MEDIUM, on_payload}, {H_LONG, on_payload},
    {H_LOCKED, on_locked}, {H_STAY, on_stay},     {H_STAYS, on_stays}};

static void shorts(void)
{
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < MESSAGES; i++) gasnet_AMRequestShort0((gasnet_node_t)test_next, H_ASK);
        watch(&answered, round * MESSAGES);
    }
    watch(&asked, ROUNDS * MESSAGES);
}

static void payloads(void)
{
    static char source[LONG_SIZE];
    const int before = ROUNDS * MESSAGES;
    for (int i = 0; i < MESSAGES; i++) {
        size_t n = (size_t)(i % 2 ? LONG_SIZE : gasnet_AMMaxMedium()) - (size_t)i;
        test_fill(source, n, (uint64_t)i);
        if (i % 2)
            gasnet_AMRequestLong1((gasnet_node_t)test_next, H_LONG, source, n,
                                  test_at(test_next, (size_t)i), i);
        else
            gasnet_AMRequestMedium1((gasnet_node_t)test_next, H_MEDIUM, source, n, i);
        watch(&answered, before + i + 1);
    }
    watch(&asked, before + MESSAGES);
    test_check(test_get(&damaged) == 0, "%d payloads damaged", test_get(&damaged));
}

/* The program's own threads may serve as well: nothing is served twice or not at all. */
static void together(void)
{
    const int all = (ROUNDS + 1) * MESSAGES + FLOOD;
    for (int i = 0; i < FLOOD; i++) gasnet_AMRequestShort0((gasnet_node_t)test_next, H_ASK);
    GASNET_BLOCKUNTIL(test_get(&answered) == all);
    GASNET_BLOCKUNTIL(test_get(&asked) == all);
}

static void locked(void)
{
    for (int i = 0; i < LOCKED; i++) {
        gasnet_AMRequestShort0((gasnet_node_t)test_next, H_LOCKED);
        add_guarded();
    }
    watch(&locked_runs, LOCKED);
    gasnet_hsl_lock(&lock);
    int count = guarded;
    gasnet_hsl_unlock(&lock);
    test_check(count == 2 * LOCKED, "%d counts of %d", count, 2 * LOCKED);
}

/* Tests that the client may call, whatever the receive thread runs meanwhile, what a handler may
 * not call. */
static void beside_a_handler(void)
{
    int word = test_rank == 0 ? 4711 : 0;
    client = pthread_self();
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    test_sync();
    if (test_rank == 0 && test_size > 1) watch(&staying, 1);
    for (int tried = 0; test_rank == 1 && test_get(&stays) == 0; tried++) {
        gasnet_AMRequestShort0(0, H_STAY);
        watch(&replied, tried + 1);
    }
    gasnet_coll_broadcast(GASNET_TEAM_ALL, &word, 0, &word, sizeof word,
                          GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL);
    test_add(&left, 1);
    test_check(word == 4711, "a broadcast brought %d", word);
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"IB-C8 Requests and Replies are served while no rank polls", shorts},
        {"IB-C8 Mediums and Longs too", payloads},
        {"IB-C8 and together with a program that polls", together},
        {"IB-C8 a handler-safe lock excludes the thread's handlers", locked},
        {"IB-C8 IB-C10 the client calls what a handler may not while the thread runs one",
         beside_a_handler},
    };
    test_start(&argc, &argv, table, TEST_COUNT(table), SEGMENT);
    const char *asked_for = gasnet_getenv("GASNET_RCV_THREAD");
    if (!asked_for || !strchr("1yY", *asked_for)) { /* no thread would ever serve the messages */
        if (test_rank == 0) fprintf(stderr, "testrcvthread: run it with GASNET_RCV_THREAD=1\n");
        gasnet_exit(1);
    }
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
