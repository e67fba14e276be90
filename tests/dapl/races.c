/* races.c - two or more threads at each point where the events of one can pass the other by: a
 * stress test for each class of races, with a printed seed.
 *
 * A lost wake-up shows as a wait that does not end: the alarm of check_begin ends the program. Both
 * kinds of device take part, those that tell of completions that were there at the arming and those
 * that do not. TEST_ROUNDS=20, as in `make soak`, is 20 times all of it: more than a million
 * expiries, and 16000 ends of each kind.
 */
#include "tests/dapl/mock.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SCALE = 1 };
#else
enum { SCALE = 8 };
#endif

static dapl_work_t plain = {.event.user_cookie.as_64 = 1};
static world_t world;
static const DAT_TIMEOUT forever = DAT_TIMEOUT_INFINITE;

/* A delay of up to `most` turns, by a generator of the thread's own. */
static void spin(uint64_t *seed, uint32_t most)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    for (volatile uint32_t i = (uint32_t)(*seed >> 33) % most; i; i--) {
    }
    if (!(*seed >> 60)) sched_yield();
}

typedef struct side {
    thread_t thread;
    dapl_evd_t *evd, *evds[4];
    dapl_cno_t *cno, *cnos[2];
    int n, kinds; /* bit 0: completions, bit 1: software events */
    uint64_t seed;
    _Atomic int *gone; /* how many the consumer has had */
    _Atomic bool stop;
    _Atomic int done, refused;
} side_t;

static uint64_t fresh_seed(void)
{
    return check_random();
}

/* Produces n events, at most 16 ahead of the consumer. */
static void *produce(void *arg)
{
    side_t *side = arg;
    for (int i = 0; i < side->n; i++) {
        while (side->gone && i - atomic_load(side->gone) >= 16) sched_yield();
        spin(&side->seed, 300);
        bool software = side->kinds == 2 || (side->kinds == 3 && side->seed >> 50 & 1);
        if (!software)
            mock_complete(side->evd, &plain, IBV_WC_SUCCESS);
        else
            while (post_number(side->evd, (uint64_t)i) != DAT_SUCCESS) sched_yield();
        side->done++;
    }
    return NULL;
}

static void begin_producer(side_t *side, dapl_evd_t *evd, int n, int kinds, _Atomic int *gone)
{
    *side = (side_t){.evd = evd, .n = n, .kinds = kinds, .gone = gone, .seed = fresh_seed()};
    thread_begin(&side->thread, produce, side);
}

/* 1-3, 5, 20, 21: an event at every point of going to sleep. */
static void sleepers(int kinds, const char *name)
{
    dapl_evd_t *evd = evd_of(&world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 64, NULL);
    const int n = 8000 * SCALE;
    _Atomic int gone = 0;
    side_t producer;
    DAT_EVENT event;
    DAT_COUNT nmore;
    uint64_t seed = fresh_seed();
    begin_producer(&producer, evd, n, kinds, &gone);
    while (gone < n) {
        int threshold = n - gone >= 16 ? 1 + (int)(seed >> 40) % 3 : 1;
        check_each(dapl_evd_wait(evd, forever, threshold, &event, &nmore) == DAT_SUCCESS, "wait");
        check_each(nmore >= threshold - 1, "nmore");
        gone++;
        for (; nmore > 0 && seed >> 63; nmore--) {
            check_each(dapl_evd_dequeue(evd, &event) == DAT_SUCCESS, "nmore was too high");
            gone++;
        }
        spin(&seed, 300);
    }
    thread_join(&producer.thread);
    check_each(dapl_evd_dequeue(evd, &event) == BARE(DAT_QUEUE_EMPTY), "one too many");
    check_all("races 1-5 R24 going to sleep: %s", name);
    dapl_evd_free(evd);
}

/* 6, 7: an event aimed at the end of the timeout. */
static void expiries(bool by_cno)
{
    dapl_cno_t *cno = by_cno ? cno_of(&world) : NULL;
    dapl_evd_t *evd = evd_of(&world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 64, cno), *told;
    const int n = 4000 * SCALE;
    _Atomic int gone = 0;
    side_t producer;
    DAT_EVENT event;
    DAT_COUNT nmore;
    int expired = 0;
    uint64_t seed = fresh_seed();
    begin_producer(&producer, evd, n, 3, &gone);
    while (gone < n) {
        int64_t timeout = (int64_t)(seed >> 50) % 8000;
        if (by_cno) {
            DAT_RETURN result = dapl_cno_wait_ns(cno, timeout, &told);
            expired += result == BARE(DAT_QUEUE_EMPTY);
            check_each(result == BARE(DAT_QUEUE_EMPTY) || told == evd, "another EVD");
            /* Only after a trigger: one that an expiry swallowed leaves the event where it is, and
             * this hangs. */
            if (result == DAT_SUCCESS)
                while (dapl_evd_dequeue(evd, &event) == DAT_SUCCESS) gone++;
        } else {
            DAT_RETURN result = dapl_evd_wait_ns(evd, timeout, 1, &event, &nmore);
            expired += result == BARE(DAT_TIMEOUT_EXPIRED);
            gone += result == DAT_SUCCESS;
        }
        spin(&seed, 200);
    }
    thread_join(&producer.thread);
    check_all("races 6, 7 R25 U1 %s: an event at the expiry is not lost", by_cno ? "CNO" : "EVD");
    check_note("%d expiries", expired);
    dapl_evd_free(evd);
    if (cno) dapl_cno_free(cno);
}

/* 8, 14: several waiters of one CNO, who dequeue from all its EVDs. */
static void *consume_by_cno(void *arg)
{
    side_t *side = arg;
    DAT_EVENT event;
    dapl_evd_t *told;
    uint64_t seed = side->seed;
    while (!atomic_load(&side->stop)) {
        int64_t timeout = seed >> 63 ? (int64_t)(seed >> 50) % 20000 : 1000000;
        if (dapl_cno_wait_ns(side->cno, timeout, &told) == DAT_SUCCESS && told)
            while (dapl_evd_dequeue(told, &event) == DAT_SUCCESS) side->done++;
        spin(&seed, 100);
    }
    return NULL;
}

static void crowd(void)
{
    dapl_cno_t *cno = cno_of(&world);
    side_t consumers[3], producers[4];
    dapl_evd_t *evds[4];
    const int n = 2500 * SCALE;
    for (int i = 0; i < 4; i++)
        evds[i] = evd_of(&world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 64, cno);
    for (int i = 0; i < 3; i++) {
        consumers[i] = (side_t){.cno = cno, .seed = fresh_seed()};
        thread_begin(&consumers[i].thread, consume_by_cno, &consumers[i]);
    }
    for (int i = 0; i < 4; i++) begin_producer(&producers[i], evds[i], n, 3, NULL);
    for (int i = 0; i < 4; i++) thread_join(&producers[i].thread);
    while (consumers[0].done + consumers[1].done + consumers[2].done < 4 * n) sched_yield();
    for (int i = 0; i < 3; i++) atomic_store(&consumers[i].stop, true);
    for (int i = 0; i < 3; i++) thread_join(&consumers[i].thread);
    check(consumers[0].done + consumers[1].done + consumers[2].done == 4 * n,
          "races 8, 14 R7 R19 R50 three waiters, four EVDs: each event once");
    for (int i = 0; i < 4; i++) dapl_evd_free(evds[i]);
    dapl_cno_free(cno);
}

/* 9, 19: unwaitable, free, close and signals at each point of a wait. */
static void *wait_over(void *arg)
{
    side_t *side = arg;
    DAT_EVENT event;
    DAT_COUNT nmore;
    for (;;) {
        DAT_RETURN result = dapl_evd_wait(side->evd, forever, 1, &event, &nmore);
        side->done++;
        if (result == ERR(DAT_ABORT, 0)) return NULL;
        side->refused += result == ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
        if (atomic_load(&side->stop)) return NULL;
    }
}

static void ignore(int signal)
{
    (void)signal;
}

static void endings(void)
{
    uint64_t seed = fresh_seed();
    struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 50 * SCALE; i++) {
        side_t waiter = {.evd = evd_of(&world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 8, NULL)};
        thread_begin(&waiter.thread, wait_over, &waiter);
        while (!waiter.done && seed >> 62) {
            spin(&seed, 3000);
            dapl_evd_set_unwaitable(waiter.evd);
        }
        dapl_evd_clear_unwaitable(waiter.evd);
        for (int k = 0; k < 3; k++) {
            spin(&seed, 3000);
            pthread_kill(waiter.thread.id, SIGUSR1);
            if (k & 1) post_number(waiter.evd, 1);
        }
        spin(&seed, 5000);
        atomic_store(&waiter.stop, true);
        dapl_evd_set_unwaitable(waiter.evd);
        thread_join(&waiter.thread);
        check_each(dapl_evd_free(waiter.evd) == DAT_SUCCESS, "free");
    }
    /* Only one wait may be beside the free, so nothing else ends it. */
    for (int i = 0; i < 50 * SCALE; i++) {
        side_t waiter = {.evd = evd_of(&world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 8, NULL)};
        thread_begin(&waiter.thread, wait_over, &waiter);
        while (!atomic_load(&waiter.evd->waits)) sched_yield();
        spin(&seed, 3000);
        check_each(dapl_evd_free(waiter.evd) == DAT_SUCCESS, "free of a waiter's EVD");
        thread_join(&waiter.thread);
        check_each(waiter.done == 1, "the wait did not end with the free");
    }
    check_all("races 9, 19 R37 U15 unwaitable, signals and free at each point of a wait");
    for (int i = 0; i < 50 * SCALE; i++) {
        world_t brief;
        world_open(&brief);
        dapl_cno_t *cno = cno_of(&brief);
        side_t waiter = {.evd = evd_of(&brief, DAT_EVD_DTO_FLAG, 8, NULL)};
        side_t other = {.cno = cno, .stop = true};
        evd_of(&brief, DAT_EVD_DTO_FLAG, 8, cno);
        thread_begin(&waiter.thread, wait_over, &waiter);
        thread_begin(&other.thread, consume_by_cno, &other);
        spin(&seed, 20000);
        dapl_interface_shut(brief.interface);
        thread_join(&waiter.thread);
        thread_join(&other.thread);
        world_close(&brief);
    }
    check(true, "race 9 R37 closing the interface at each point of both waits");
}

/* 10, 11: changes of the CNO and of the enabling while events come. */
static void moves(bool by_enable)
{
    dapl_cno_t *cnos[2] = {cno_of(&world), cno_of(&world)};
    dapl_evd_t *evd = evd_of(&world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 64, cnos[0]), *told;
    const int n = 3000 * SCALE;
    _Atomic int gone = 0;
    side_t producer;
    DAT_EVENT event;
    uint64_t seed = fresh_seed();
    int at = 0, moved = 0;
    begin_producer(&producer, evd, n, 3, &gone);
    while (gone < n) {
        if (by_enable) {
            dapl_evd_disable(evd);
            spin(&seed, 300);
            dapl_evd_enable(evd);
        } else {
            at = !at;
            check_each(dapl_evd_modify_cno(evd, cnos[at]) == DAT_SUCCESS, "modify");
            check_each(dapl_cno_free(cnos[!at]) == DAT_SUCCESS, "the CNO that was left is in use");
            cnos[!at] = cno_of(&world);
        }
        moved++;
        spin(&seed, 300);
        /* Whatever is queued now has triggered this CNO, or will. */
        if (producer.done > gone) {
            check_each(dapl_cno_wait(cnos[at], forever, &told) == DAT_SUCCESS && told == evd,
                       "trigger");
            while (dapl_evd_dequeue(evd, &event) == DAT_SUCCESS) gone++;
        }
    }
    thread_join(&producer.thread);
    check_all(by_enable ? "race 11 R35 disabling and enabling while events come"
                        : "race 10 R10 U3 A to B to A and free of A");
    check_note("%d times", moved);
    dapl_evd_free(evd);
    dapl_cno_free(cnos[0]);
    dapl_cno_free(cnos[1]);
}

/* 12: a waiter of the EVD leaves with events behind it while another thread sleeps on the CNO. */
static void *wait_briefly(void *arg)
{
    side_t *side = arg;
    DAT_EVENT event;
    DAT_COUNT nmore;
    uint64_t seed = side->seed;
    while (!atomic_load(&side->stop)) {
        DAT_RETURN result =
            dapl_evd_wait_ns(side->evd, (int64_t)(seed >> 50) % 5000, 1, &event, &nmore);
        side->done += result == DAT_SUCCESS;
        spin(&seed, 3000);
    }
    return NULL;
}

static void mixed(void)
{
    dapl_cno_t *cno = cno_of(&world);
    dapl_evd_t *evd = evd_of(&world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 64, cno), *told;
    side_t producer, waiter = {.evd = evd, .seed = fresh_seed()};
    const int n = 2500 * SCALE;
    int own = 0;
    DAT_EVENT event;
    thread_begin(&waiter.thread, wait_briefly, &waiter);
    begin_producer(&producer, evd, n, 3, NULL);
    while (own + waiter.done < n)
        if (dapl_cno_wait_ns(cno, 5000000, &told) == DAT_SUCCESS)
            while (dapl_evd_dequeue(evd, &event) == DAT_SUCCESS) own++;
    thread_join(&producer.thread);
    atomic_store(&waiter.stop, true);
    thread_join(&waiter.thread);
    check(own + waiter.done == n,
          "race 12 R11 U2 waits on the EVD beside one on its CNO: each event once");
    dapl_evd_free(evd);
    dapl_cno_free(cno);
}

/* 13: an agent that dequeues, consumes and sets itself again, while the agent is modified. */
static void act(DAT_PVOID instance, DAT_EVD_HANDLE handle)
{
    side_t *side = instance;
    DAT_EVENT event;
    dapl_evd_t *told;
    if (!handle) return;
    dapl_cno_wait(side->cno, 0, &told);
    dapl_cno_modify_agent(side->cno, (DAT_OS_WAIT_PROXY_AGENT){side, act});
    while (dapl_evd_dequeue(side->evd, &event) == DAT_SUCCESS) side->done++;
}

static void *meddle(void *arg)
{
    side_t *side = arg;
    uint64_t seed = side->seed;
    while (!atomic_load(&side->stop)) {
        dapl_evd_t *told;
        spin(&seed, 2000);
        dapl_cno_modify_agent(side->cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
        dapl_cno_wait(side->cno, 0, &told);
        dapl_cno_modify_agent(side->cno, (DAT_OS_WAIT_PROXY_AGENT){side, act});
        DAT_EVENT event;
        while (dapl_evd_dequeue(side->evd, &event) == DAT_SUCCESS) side->done++;
    }
    return NULL;
}

static void agents(void)
{
    dapl_cno_t *cno = cno_of(&world);
    dapl_evd_t *evd = evd_of(&world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 64, cno);
    side_t producer, agent = {.cno = cno, .evd = evd, .seed = fresh_seed()};
    const int n = 1500 * SCALE;
    thread_begin(&agent.thread, meddle, &agent);
    begin_producer(&producer, evd, n, 3, NULL);
    thread_join(&producer.thread);
    while (agent.done < n) sched_yield();
    atomic_store(&agent.stop, true);
    thread_join(&agent.thread);
    check(agent.done == n,
          "race 13 R5 U7 an agent that dequeues and sets itself, while it is modified");
    dapl_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
    dapl_evd_free(evd);
    dapl_cno_free(cno);
}

/* 14: EVDs are freed while others of the CNO trigger. */
static void short_lives(void)
{
    dapl_cno_t *cno = cno_of(&world);
    dapl_evd_t *keep = evd_of(&world, DAT_EVD_DTO_FLAG, 64, cno);
    side_t consumer = {.cno = cno, .seed = fresh_seed()};
    uint64_t seed = fresh_seed();
    dapl_evd_t *told;
    for (int i = 0; i < 1000 * SCALE; i++) {
        dapl_evd_t *brief = evd_of(&world, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, 4, cno);
        mock_complete(keep, &plain, IBV_WC_SUCCESS);
        post_number(brief, 1);
        if (seed >> 63) mock_complete(brief, &plain, IBV_WC_SUCCESS);
        spin(&seed, 100);
        dapl_evd_free(brief);
        DAT_EVENT event;
        int n = 0;
        while (dapl_cno_wait(cno, 0, &told) == DAT_SUCCESS) {
            check_each(told == keep, "a freed EVD");
            while (dapl_evd_dequeue(keep, &event) == DAT_SUCCESS) n++;
        }
        check_each(n == 1, "the trigger of the other EVD was lost with the freed one");
    }
    (void)consumer;
    check_all("race 14 R18 the free of an EVD that triggered takes no other's trigger along");
    dapl_evd_free(keep);
    dapl_cno_free(cno);
}

/* 15: resize while producers and completions go on. */
static void resizes(void)
{
    dapl_evd_t *evd = evd_of(&world, DAT_EVD_SOFTWARE_FLAG, 8, NULL);
    side_t producers[2];
    const int n = 4000 * SCALE;
    _Atomic int gone = 0;
    uint64_t seed = fresh_seed();
    DAT_EVENT event;
    int refused = 0;
    for (int i = 0; i < 2; i++) begin_producer(&producers[i], evd, n, 2, NULL);
    uint64_t last[2] = {0};
    for (int turn = 0; gone < 2 * n; turn++) {
        if (turn % 64 == 0) {
            DAT_RETURN result = dapl_evd_resize(evd, 1 + (int)(seed >> 40) % 60);
            refused += result != DAT_SUCCESS;
            check_each(result == DAT_SUCCESS || result == ERR(DAT_INVALID_STATE, 0), "resize 0x%x",
                       result);
        }
        if (dapl_evd_dequeue(evd, &event) == DAT_SUCCESS) {
            uint64_t number = number_of(&event);
            int stream = number == last[0] ? 0 : 1; /* both count from 0; each in order */
            check_each(number == last[stream], "out of order: %d", (int)number);
            last[stream]++;
            gone++;
        }
        spin(&seed, 50);
    }
    for (int i = 0; i < 2; i++) thread_join(&producers[i].thread);
    check_all("race 15 R36 U6 resize under two producers: all events, each producer's in order");
    check_note("%d resizes refused", refused);
    dapl_evd_free(evd);
}

/* 16: receives beside the connection event; completions and sentinels beside the disconnection. */
typedef struct connection {
    dapl_evd_t *transfers;
    dapl_link_t *link;
    dapl_work_t sentinels[2];
    _Atomic bool flushed;
    uint64_t seed;
} connection_t;

static int flush(void *arg)
{
    connection_t *c = arg;
    for (int i = 0; i < 2; i++)
        c->sentinels[i] = (dapl_work_t){.link = c->link, .flags = DAPL_WORK_SENTINEL};
    atomic_store(&c->flushed, true);
    return 2;
}

static void *connect_and_end(void *arg)
{
    connection_t *c = arg;
    uint64_t seed = c->seed;
    spin(&seed, 500);
    dapl_link_established(c->link, 0, NULL);
    spin(&seed, 500);
    dapl_link_disconnected(c->link, DAT_CONNECTION_EVENT_DISCONNECTED);
    return NULL;
}

static void *complete_all(void *arg)
{
    connection_t *c = arg;
    static dapl_work_t receives[5];
    uint64_t seed = c->seed ^ 99;
    for (uint64_t i = 0; i < 5; i++) {
        receives[i] = (dapl_work_t){
            .link = c->link, .flags = DAPL_WORK_RECEIVE, .event.user_cookie.as_64 = i};
        spin(&seed, 200);
        mock_complete(c->transfers, &receives[i], IBV_WC_SUCCESS);
    }
    while (!atomic_load(&c->flushed)) sched_yield();
    for (int i = 0; i < 2; i++) {
        spin(&seed, 200);
        mock_complete(c->transfers, &c->sentinels[i], IBV_WC_WR_FLUSH_ERR);
    }
    return NULL;
}

static void connections(bool together)
{
    unsigned both = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG;
    dapl_cno_t *cno = cno_of(&world);
    dapl_evd_t *transfers = evd_of(&world, both, 64, together ? cno : NULL), *told;
    dapl_evd_t *connection = together ? transfers : evd_of(&world, DAT_EVD_CONNECTION_FLAG, 8, cno);
    for (int i = 0; i < 300 * SCALE; i++) {
        connection_t c = {.transfers = transfers, .seed = fresh_seed()};
        dapl_link_attr_t attr = {.request = transfers,
                                 .receive = transfers,
                                 .connection = connection,
                                 .flush = flush,
                                 .arg = &c,
                                 .receives = 5};
        thread_t threads[2];
        dapl_link_create(&attr, &c.link);
        thread_begin(&threads[0], connect_and_end, &c);
        thread_begin(&threads[1], complete_all, &c);
        bool up = false, down = false;
        for (uint64_t got = 0; !down || got < 5;) {
            DAT_EVENT event;
            dapl_evd_t *from = NULL;
            if (!down) {
                dapl_cno_wait(cno, forever, &told);
            }
            while (dapl_evd_dequeue(from = connection, &event) == DAT_SUCCESS ||
                   dapl_evd_dequeue(from = transfers, &event) == DAT_SUCCESS) {
                if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
                    check_each(!up && (got == 0 || from != transfers || !together),
                               "connection after a transfer");
                    up = true;
                } else if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED) {
                    check_each(up && (!together || got == 5), "disconnected after %d transfers",
                               (int)got);
                    check_each(mock_holds(transfers) == 0, "completions not seen");
                    down = true;
                } else {
                    check_each(number_of(&event) == got, "order");
                    got++;
                }
            }
        }
        thread_join(&threads[0]);
        thread_join(&threads[1]);
        dapl_link_free(c.link);
    }
    check_all("race 16 R21 R22 connections and their ends beside their completions: %s",
              together ? "one EVD" : "two EVDs");
    if (!together) dapl_evd_free(connection);
    dapl_evd_free(transfers);
    dapl_cno_free(cno);
}

/* 17: the ring is full, is freed, and has a waiter. */
static void full(void)
{
    dapl_evd_t *evd = evd_of(&world, DAT_EVD_SOFTWARE_FLAG, 2, NULL);
    side_t producers[3];
    const int n = 2000 * SCALE;
    DAT_EVENT event;
    DAT_COUNT nmore;
    for (int i = 0; i < 3; i++) begin_producer(&producers[i], evd, n, 2, NULL);
    int got = 0;
    for (; got < 3 * n; got++)
        check_each(dapl_evd_wait(evd, forever, 1, &event, &nmore) == DAT_SUCCESS, "wait");
    for (int i = 0; i < 3; i++) thread_join(&producers[i].thread);
    check_each(dapl_evd_dequeue(evd, &event) == BARE(DAT_QUEUE_EMPTY), "one too many");
    check_all("race 17 R20 R45 a ring of two, three producers, one waiter");
    dapl_evd_free(evd);
}

/* 18: shared consumers: while events are queued nobody finds the EVD empty. */
static void *dequeue_own(void *arg)
{
    side_t *side = arg;
    DAT_EVENT event;
    for (int i = 0; i < side->n; i++) {
        /* There is one event at least for each thread that looks. */
        if (post_number(side->evd, 1) != DAT_SUCCESS) side->refused++;
        if (dapl_evd_dequeue(side->evd, &event) != DAT_SUCCESS) side->refused++;
        if (i % 5 == 0) mock_complete(side->evd, &plain, IBV_WC_SUCCESS);
        if (i % 5 == 0 && dapl_evd_dequeue(side->evd, &event) != DAT_SUCCESS) side->refused++;
    }
    return NULL;
}

static void *toggle(void *arg)
{
    side_t *side = arg;
    while (!atomic_load(&side->stop)) {
        dapl_evd_disable(side->evd);
        dapl_evd_enable(side->evd);
        dapl_evd_set_unwaitable(side->evd);
        dapl_evd_clear_unwaitable(side->evd);
    }
    return NULL;
}

static void sharing(void)
{
    dapl_cno_t *cno = cno_of(&world);
    dapl_evd_t *evd = evd_of(&world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 64, cno), *told;
    side_t sides[7], toggler = {.evd = evd};
    int refused = 0;
    thread_begin(&toggler.thread, toggle, &toggler);
    for (int i = 0; i < 7; i++) {
        sides[i] = (side_t){.evd = evd, .n = 1000 * SCALE};
        thread_begin(&sides[i].thread, dequeue_own, &sides[i]);
    }
    for (int i = 0; i < 7; i++) {
        thread_join(&sides[i].thread);
        refused += sides[i].refused;
    }
    atomic_store(&toggler.stop, true);
    thread_join(&toggler.thread);
    check(refused == 0,
          "race 18 R7 R23 R50 eight threads on one EVD: none finds it empty that is not");
    while (dapl_cno_wait(cno, 0, &told) == DAT_SUCCESS) {
    }
    dapl_evd_free(evd);
    dapl_cno_free(cno);
}

int main(int argc, char **argv)
{
    enum { ROUND_BOUND = 300 }; /* seconds */
    const char *wish = getenv("TEST_ROUNDS");
    const int rounds = wish && atoi(wish) > 1 ? atoi(wish) : 1;
    check_begin(argc, argv);
    for (int round = 0; round < 2 * rounds; round++) {
        const int level = round % 2;
        if (round > 1) alarm(ROUND_BOUND);
        world_open_with(&world, level, false);
        check_note("a device that arms by %s", level ? "level" : "edge");
        sleepers(1, "completions");
        sleepers(2, "software events");
        sleepers(3, "both");
        expiries(false);
        expiries(true);
        crowd();
        endings();
        moves(false);
        moves(true);
        mixed();
        agents();
        short_lives();
        resizes();
        connections(true);
        connections(false);
        full();
        sharing();
        world_close(&world);
    }
    return check_end();
}
