/* queues.c - rules of event queues: overflow, order, polling, waiting, handlers. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "other/portals3/tests/rules.h"

enum { PT = 9, QUIET = PTL_MD_EVENT_START_DISABLE };

/* n zero-length puts from the predecessor, with header data from `first` on. */
static void puts_with(ptl_hdr_data_t first, int n)
{
    ptl_handle_md_t from = ring_bind(ring_md(NULL, 0, 0, PTL_EQ_NONE));
    for (int i = 0; i < n; i++)
        RING_OK(PtlPut(from, PTL_NOACK_REQ, ring.next, PT, 0, 1, 0, first + (ptl_hdr_data_t)i));
    ring_unlink(from);
}

static ptl_handle_md_t sink(ptl_handle_eq_t eq)
{
    return ring_attach(PT, 1, 0, ring_md(NULL, 0, PTL_MD_OP_PUT | PTL_MD_ACK_DISABLE | QUIET, eq),
                       PTL_RETAIN);
}

static void overflow(void)
{
    ptl_handle_eq_t eq = ring_eq(13); /* becomes 16 */
    ptl_handle_md_t md = sink(eq);
    ptl_sr_value_t received = ring_register(PTL_SR_RECV_COUNT);
    ptl_event_t event;
    ptl_seq_t last = 0;
    ring_barrier();
    for (int round = 0; round < 3; round++) {
        /* exactly full, one too many, many too many */
        static const int counts[] = {16, 17, 90};
        int n = counts[round], result;
        puts_with(0, n);
        received += (ptl_sr_value_t)n;
        ring_await_register(PTL_SR_RECV_COUNT, received);
        result = PtlEQGet(eq, &event);
        ring_expect(result == (n > 16 ? PTL_EQ_DROPPED : PTL_OK), "after %d events: %s", n,
                    PtlErrorStr((unsigned int)result));
        ring_expect(event.hdr_data == (ptl_hdr_data_t)n - 16, "event %d comes first",
                    (int)event.hdr_data);
        for (int i = n - 15; i < n; i++) {
            last = event.sequence;
            RING_OK(PtlEQGet(eq, &event));
            ring_expect(event.hdr_data == (ptl_hdr_data_t)i && event.sequence == last + 1,
                        "event %d with sequence %u after %u", (int)event.hdr_data, event.sequence,
                        last);
        }
        ring_no_event(eq);
        ring_barrier();
    }
    ring_unlink(md);
    RING_OK(PtlEQFree(eq));
    ring_done("a full queue loses its oldest events and says so once; sequences have no gaps");
}

static void large(void)
{
    ptl_handle_eq_t eq = ring_eq(200000);
    ptl_handle_md_t md = sink(eq);
    enum { N = 20000 };
    ptl_sr_value_t received = ring_register(PTL_SR_RECV_COUNT);
    ring_barrier();
    puts_with(5, N);
    ring_await_register(PTL_SR_RECV_COUNT, received + N);
    for (int i = 0; i < N; i++) {
        ptl_event_t event = ring_event(eq, PTL_EVENT_PUT_END);
        if (!ring_expect(event.hdr_data == (ptl_hdr_data_t)i + 5, "event %d is %d", i,
                         (int)event.hdr_data - 5))
            break;
    }
    ring_no_event(eq);
    ring_barrier();
    ring_unlink(md);
    RING_OK(PtlEQFree(eq));
    ring_done("a queue of 200000 events, messages in the order sent");
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void polling(void)
{
    ptl_handle_eq_t eqs[3], mixed[2];
    ptl_handle_md_t md;
    ptl_handle_ni_t other;
    ptl_event_t event;
    double start;
    int which = -1;
    for (int i = 0; i < 3; i++) eqs[i] = ring_eq(8);
    md = sink(eqs[1]);
    ring_barrier();
    RING_IS(PtlEQPoll(eqs, 3, 0, &event, &which), PTL_EQ_EMPTY);
    start = seconds();
    RING_IS(PtlEQPoll(eqs, 3, 30, &event, &which), PTL_EQ_EMPTY);
    ring_expect(seconds() - start >= 0.03, "30 ms took %f s", seconds() - start);
    ring_barrier();
    puts_with(1, 1);
    RING_OK(PtlEQPoll(eqs, 3, PTL_TIME_FOREVER, &event, &which));
    ring_expect(which == 1, "queue %d", which);
    ring_barrier();
    puts_with(2, 1);
    ring_expect(PtlEQWait(eqs[1], &event) == PTL_OK && event.hdr_data == 2, "PtlEQWait");
    ring_barrier();
    ring_unlink(md);
    RING_IS(PtlEQPoll(eqs, 0, 0, &event, &which), PTL_EQ_INVALID);
    if (PtlNIInit(PTL_IFACE_SELF, PTL_PID_ANY, NULL, NULL, &other) == PTL_OK && other != ring.ni) {
        mixed[0] = eqs[0];
        RING_OK(PtlEQAlloc(other, 4, NULL, &mixed[1]));
        RING_IS(PtlEQPoll(mixed, 2, 0, &event, &which), PTL_EQ_INVALID);
        ring_expect(which == 1, "the queue of the other interface is %d", which);
        RING_OK(PtlNIFini(other));
    }
    for (int i = 0; i < 3; i++) RING_OK(PtlEQFree(eqs[i]));
    ring_done("PtlEQPoll: which queue, timeouts, for ever, other interfaces refused");
}

/* --- several threads wait; each event wakes one of them --- */

enum { WAITERS = 4, EACH = 200 };
static void *waiter(void *argument)
{
    ptl_handle_eq_t eq = *(ptl_handle_eq_t *)argument;
    uintptr_t got = 0;
    for (;;) {
        ptl_event_t event;
        int result = PtlEQWait(eq, &event);
        ring_expect(result == PTL_OK, "PtlEQWait: %s", PtlErrorStr((unsigned int)result));
        if (result != PTL_OK || event.hdr_data == 0) return (void *)got;
        got++;
    }
}

static void waiting(void)
{
    ptl_handle_eq_t eq = ring_eq(1024);
    ptl_handle_md_t md = sink(eq);
    pthread_t threads[WAITERS];
    uintptr_t sum = 0;
    for (int i = 0; i < WAITERS; i++) pthread_create(&threads[i], NULL, waiter, &eq);
    ring_barrier();
    puts_with(1, WAITERS * EACH);
    for (int i = 0; i < WAITERS; i++) puts_with(0, 1); /* a put ends each thread */
    for (int i = 0; i < WAITERS; i++) {
        void *got;
        pthread_join(threads[i], &got);
        sum += (uintptr_t)got;
    }
    ring_expect(sum == WAITERS * EACH, "%d events were taken", (int)sum);
    ring_barrier();
    ring_unlink(md);
    RING_OK(PtlEQFree(eq));
    ring_done("threads that wait on one queue are woken, each event taken once");
}

/* --- several queues, and one that goes --- */

enum { CROWD = 20 };

static void which_queue(void)
{
    ptl_handle_eq_t eqs[CROWD];
    ptl_handle_md_t mds[CROWD];
    ptl_event_t event;
    int which = -1;
    for (int i = 0; i < CROWD; i++) {
        eqs[i] = ring_eq(4);
        mds[i] = ring_bind(ring_md(NULL, 0, QUIET, eqs[i]));
    }
    for (int i = CROWD - 1; i >= 0; i -= 3) {
        RING_OK(PtlPut(mds[i], PTL_NOACK_REQ, ring.self, PT, 0, 99, 0, (ptl_hdr_data_t)i));
        RING_OK(PtlPut(mds[i], PTL_NOACK_REQ, ring.self, PT, 0, 99, 0, (ptl_hdr_data_t)i));
    }
    for (int i = (CROWD - 1) % 3; i < CROWD; i += 3)
        for (int j = 0; j < 2; j++) {
            RING_OK(PtlEQPoll(eqs, CROWD, PTL_TIME_FOREVER, &event, &which));
            ring_expect(which == i && event.hdr_data == (ptl_hdr_data_t)i, "queue %d before %d",
                        which, i);
        }
    RING_IS(PtlEQPoll(eqs, CROWD, 0, &event, &which), PTL_EQ_EMPTY);
    for (int i = 0; i < CROWD; i++) {
        ring_unlink(mds[i]);
        RING_OK(PtlEQFree(eqs[i]));
    }
    ring_done("PtlEQPoll looks at %d queues in the order of the array", CROWD);
}

struct sleeper {
    pthread_t thread;
    ptl_handle_eq_t eqs[2];
    ptl_event_t event;
    int result, which;
};

static void *sleeps(void *argument)
{
    struct sleeper *sleeper = argument;
    sleeper->result =
        PtlEQPoll(sleeper->eqs, 2, PTL_TIME_FOREVER, &sleeper->event, &sleeper->which);
    return NULL;
}

/* The event of another thread's operation wakes a thread that waits for ever; so does the end of a
 * queue. */
static void woken(void)
{
    for (int i = 0; i < 40; i++) {
        struct sleeper sleeper = {.eqs = {ring_eq(4), ring_eq(4)}};
        ptl_handle_md_t md = ring_bind(ring_md(NULL, 0, QUIET, sleeper.eqs[1]));
        struct timespec moment = {.tv_nsec = i % 4 * 700000};
        pthread_create(&sleeper.thread, NULL, sleeps, &sleeper);
        nanosleep(&moment, NULL); /* the thread may sleep already, or not yet look */
        if (i % 2) {
            RING_OK(PtlPut(md, PTL_NOACK_REQ, ring.self, PT, 0, 99, 0, 0));
            pthread_join(sleeper.thread, NULL);
            ring_expect(sleeper.result == PTL_OK && sleeper.which == 1, "woken with %s",
                        PtlErrorStr((unsigned int)sleeper.result));
        }
        ring_unlink(md);
        RING_OK(PtlEQFree(sleeper.eqs[1]));
        if (i % 2 == 0) {
            pthread_join(sleeper.thread, NULL);
            ring_expect(sleeper.result == PTL_EQ_INVALID, "a queue went, and %s",
                        PtlErrorStr((unsigned int)sleeper.result));
        }
        RING_OK(PtlEQFree(sleeper.eqs[0]));
    }
    ring_done("a wait without timeout ends by another thread's event, and by the end of a queue");
}

/* --- handlers --- */

static _Atomic int handled, handling, overlaps;
static ptl_hdr_data_t handled_sum;
static void handler(ptl_event_t *event)
{
    if (handling++ > 0) overlaps++;
    handled_sum += event->hdr_data;
    handled++;
    handling--;
}

static void handlers(void)
{
    ptl_handle_eq_t eq, only;
    ptl_handle_md_t md;
    ptl_event_t event;
    int most = 0;
    RING_OK(PtlEQAlloc(ring.ni, 4, handler, &eq));
    RING_OK(PtlEQAlloc(ring.ni, 0, handler, &only));
    handled = handled_sum = 0;
    md = sink(eq);
    ring_barrier();
    puts_with(1, 100); /* the queue holds 4, the handler sees all */
    for (int i = 0; i < 20000 && handled < 100; i++) PtlProgress(ring.ni, 1);
    ring_expect(handled == 100 && handled_sum == 5050, "%d events were handled", handled);
    RING_IS(PtlEQGet(eq, &event), PTL_EQ_DROPPED);
    for (most = 1; PtlEQGet(eq, &event) == PTL_OK;) most++;
    ring_expect(most == 4, "%d events were kept", most);
    ring_barrier();
    puts_with(1, 1);
    RING_OK(PtlEQWait(eq, &event));
    ring_expect(handled == 101, "the handler had run when PtlEQWait returned");
    ring_barrier();
    ring_unlink(md);
    md = sink(only);
    ring_barrier();
    puts_with(1, 10);
    for (int i = 0; i < 20000 && handled < 111; i++) PtlProgress(ring.ni, 1);
    ring_expect(handled == 111, "%d events were handled", handled);
    ring_no_event(only);
    ring_expect(overlaps == 0, "handlers of one queue ran at the same time");
    ring_barrier();
    ring_unlink(md);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(only));
    ring_done("handlers see every event, overflow or not, before it can be taken");
}

void rules_queues(void)
{
    overflow();
    large();
    polling();
    which_queue();
    waiting();
    woken();
    handlers();
}
