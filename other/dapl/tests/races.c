/* races.c - two or more threads at each point where one can miss the events of another: going to
 * sleep, expiries, triggers, agents, shared consumers. A stress test for each class of races, with
 * a printed seed; races_life.c has those of the life of objects.
 *
 * All kinds of device take part: those that report completions from before the arming, those that
 * do not, and those with other behaviour. TEST_ROUNDS=20, as in `make soak`, repeats all 20 times:
 * more than a million expiries.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "other/dapl/tests/producers.h"

/* 1-5: an event at every point of going to sleep; 21: on each kind of device. */
static void sleepers(int kinds, const char *name)
{
    dapl_evd_t *evd = evd_of(&world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 64, NULL);
    const int n = 8000 * SCALE;
    _Atomic int gone = 0;
    side_t producer;
    DAT_EVENT event;
    DAT_COUNT nmore;
    uint64_t seed = check_random();
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
    uint64_t seed = check_random();
    begin_producer(&producer, evd, n, 3, &gone);
    while (gone < n) {
        int64_t timeout = (int64_t)(seed >> 50) % 8000;
        if (by_cno) {
            DAT_RETURN result = dapl_cno_wait_ns(cno, timeout, &told);
            expired += result == BARE(DAT_QUEUE_EMPTY);
            check_each(result == BARE(DAT_QUEUE_EMPTY) || told == evd, "another EVD");
            /* Events that were produced and not dequeued have a trigger that no thread consumed. */
            if (result != DAT_SUCCESS && producer.done > gone) {
                result = dapl_cno_wait_ns(cno, 0, &told);
                check_each(result == DAT_SUCCESS, "an expiry swallowed a trigger");
                result = DAT_SUCCESS;
            }
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

/* 8, 14: several waiters of one CNO, which dequeue from all its EVDs. */
enum { CROWD = 4 };

static void *consume_by_cno(void *arg)
{
    side_t *side = arg;
    DAT_EVENT event;
    dapl_evd_t *told;
    uint64_t seed = side->seed;
    while (!atomic_load(&side->stop)) {
        int64_t timeout = seed >> 63 ? (int64_t)(seed >> 50) % 20000 : 1000000;
        /* A trigger may stand for several EVDs. */
        if (dapl_cno_wait_ns(side->cno, timeout, &told) == DAT_SUCCESS && told)
            for (int i = 0; i < CROWD; i++)
                while (dapl_evd_dequeue(side->evds[i], &event) == DAT_SUCCESS) side->done++;
        spin(&seed, 100);
    }
    return NULL;
}

static void crowd(void)
{
    dapl_cno_t *cno = cno_of(&world);
    side_t consumers[3], producers[4];
    dapl_evd_t *evds[CROWD];
    const int n = 2500 * SCALE;
    for (int i = 0; i < CROWD; i++)
        evds[i] = evd_of(&world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 64, cno);
    interrupt_by_signals();
    for (int i = 0; i < 3; i++) {
        consumers[i] = (side_t){.cno = cno, .seed = check_random()};
        memcpy(consumers[i].evds, evds, sizeof evds);
        thread_begin(&consumers[i].thread, consume_by_cno, &consumers[i]);
    }
    for (int i = 0; i < 4; i++) begin_producer(&producers[i], evds[i], n, 3, NULL);
    /* 19: signals, too. */
    for (uint64_t seed = check_random(); producers[0].done < n;) {
        spin(&seed, 5000);
        pthread_kill(consumers[seed >> 33 & 1].thread.id, SIGUSR1);
    }
    for (int i = 0; i < 4; i++) thread_join(&producers[i].thread);
    while (consumers[0].done + consumers[1].done + consumers[2].done < 4 * n) sched_yield();
    for (int i = 0; i < 3; i++) atomic_store(&consumers[i].stop, true);
    for (int i = 0; i < 3; i++) thread_join(&consumers[i].thread);
    check(consumers[0].done + consumers[1].done + consumers[2].done == 4 * n,
          "races 8, 14, 19 R7 R19 R50 three waiters, four EVDs, signals: each event once");
    for (int i = 0; i < 4; i++) dapl_evd_free(evds[i]);
    dapl_cno_free(cno);
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
    side_t producer, waiter = {.evd = evd, .seed = check_random()};
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
    side_t producer, agent = {.cno = cno, .evd = evd, .seed = check_random()};
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
        /* At least one event is queued for each thread that dequeues. */
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

static void races(void)
{
    sleepers(1, "completions");
    sleepers(2, "software events");
    sleepers(3, "both");
    expiries(false);
    expiries(true);
    crowd();
    mixed();
    agents();
    full();
    sharing();
}

int main(int argc, char **argv)
{
    return race_rounds(argc, argv, races);
}
