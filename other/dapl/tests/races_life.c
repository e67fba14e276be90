/* races_life.c - objects that are freed, moved, resized, connected and disconnected, each at every
 * point of what other threads do with them: stress tests with a printed seed, as races.c, and with
 * the same TEST_ROUNDS: 20 are 24000 ends of each kind.
 */
#include <sched.h>
#include <signal.h>

#include "other/dapl/tests/producers.h"

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

static void *wait_for_the_end(void *arg)
{
    side_t *side = arg;
    dapl_evd_t *told;
    side->done += dapl_cno_wait(side->cno, forever, &told) == DAT_SUCCESS && !told;
    return NULL;
}

static void endings(void)
{
    uint64_t seed = check_random();
    interrupt_by_signals();
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
        side_t other = {.cno = cno};
        evd_of(&brief, DAT_EVD_DTO_FLAG, 8, cno);
        thread_begin(&waiter.thread, wait_over, &waiter);
        thread_begin(&other.thread, wait_for_the_end, &other);
        spin(&seed, 20000);
        dapl_interface_shut(brief.interface);
        thread_join(&waiter.thread);
        thread_join(&other.thread);
        check_each(other.done == 1, "the wait on the CNO");
        world_close(&brief);
    }
    check_all("race 9 R4 R37 closing the interface at each point of both waits");
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
    uint64_t seed = check_random();
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
        /* Events that are queued now have triggered this CNO, or will. */
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

/* 14: EVDs are freed while others of the CNO trigger; one of its waiters is never told of an EVD
 * whose free had returned before its wait began. */
enum { LIVES = 1000 * SCALE };

typedef struct lives {
    side_t side; /* of the waiter */
    dapl_evd_t *keep;
    _Atomic(dapl_evd_t *) born[LIVES];
    _Atomic int births, deaths;
    _Atomic int events; /* of the EVD that stays */
} lives_t;

static void *wait_among_lives(void *arg)
{
    lives_t *lives = arg;
    dapl_evd_t *told;
    DAT_EVENT event;
    while (!atomic_load(&lives->side.stop)) {
        int dead = atomic_load(&lives->deaths);
        if (dapl_cno_wait_ns(lives->side.cno, 1000000, &told) != DAT_SUCCESS) continue;
        bool alive = told == lives->keep;
        for (int i = dead; i < atomic_load(&lives->births) && !alive; i++)
            alive = told == atomic_load(&lives->born[i]);
        lives->side.refused += !alive;
        while (dapl_evd_dequeue(lives->keep, &event) == DAT_SUCCESS) lives->events++;
        lives->side.done++;
    }
    return NULL;
}

static void short_lives(void)
{
    static lives_t lives;
    lives = (lives_t){.side.cno = cno_of(&world)};
    lives.keep = evd_of(&world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 64, lives.side.cno);
    uint64_t seed = check_random();
    thread_begin(&lives.side.thread, wait_among_lives, &lives);
    for (int i = 0; i < LIVES; i++) {
        dapl_evd_t *brief =
            evd_of(&world, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, 4, lives.side.cno);
        atomic_store(&lives.born[i], brief);
        atomic_store(&lives.births, i + 1);
        spin(&seed, 300);
        if (seed >> 62 & 1)
            mock_complete(lives.keep, &plain, IBV_WC_SUCCESS);
        else
            post_number(lives.keep, 1);
        post_number(brief, 1); /* replaces the trigger of the other one */
        if (seed >> 63) mock_complete(brief, &plain, IBV_WC_SUCCESS);
        spin(&seed, 300);
        dapl_evd_free(brief);
        atomic_store(&lives.deaths, i + 1);
        /* The event is not lost with the trigger of the EVD that was freed. */
        while (atomic_load(&lives.events) <= i) sched_yield();
    }
    atomic_store(&lives.side.stop, true);
    thread_join(&lives.side.thread);
    check_each(lives.side.refused == 0, "%d times an EVD that was freed before",
               (int)lives.side.refused);
    check_each(lives.events == LIVES, "%d events", (int)lives.events);
    check_all("race 14 R18 EVDs are freed while a thread waits: no other trigger is lost, no dead "
              "EVD told");
    check_note("%d triggers for %d lives", (int)lives.side.done, LIVES);
    dapl_evd_free(lives.keep);
    dapl_cno_free(lives.side.cno);
}

/* 15: resize while producers and completions go on, of a device that refuses at times. */
static void resizes(void)
{
    dapl_evd_t *evd = evd_of(&world, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, 8, NULL);
    side_t producers[3];
    const int n = 4000 * SCALE;
    _Atomic int gone = 0;
    uint64_t seed = check_random();
    DAT_EVENT event;
    int refused = 0, transfers = 0;
    for (int i = 0; i < 2; i++) begin_producer(&producers[i], evd, n, 2, NULL);
    begin_producer(&producers[2], evd, n, 1, NULL);
    uint64_t last[2] = {0};
    for (int turn = 0; gone < 3 * n; turn++) {
        if (turn % 64 == 0) {
            world.device.no_resize = seed >> 62 == 0;
            DAT_RETURN result = dapl_evd_resize(evd, 1 + (int)(seed >> 40) % 60);
            refused += result != DAT_SUCCESS;
            check_each(result == ERR(DAT_INVALID_STATE, 0) ||
                           result ==
                               (world.device.no_resize ? ERR(DAT_NOT_IMPLEMENTED, 0) : DAT_SUCCESS),
                       "resize 0x%x", result);
        }
        if (dapl_evd_dequeue(evd, &event) == DAT_SUCCESS) {
            gone++;
            if (event.event_number == DAT_DTO_COMPLETION_EVENT) {
                transfers++;
                continue;
            }
            uint64_t number = number_of(&event);
            int stream = number == last[0] ? 0 : 1; /* each stream counts from 0, in order */
            check_each(number == last[stream], "out of order: %d", (int)number);
            last[stream]++;
        }
        spin(&seed, 50);
    }
    for (int i = 0; i < 3; i++) thread_join(&producers[i].thread);
    world.device.no_resize = false;
    check_each(transfers == n, "%d transfers", transfers);
    check_all("race 15 R36 U6 resize under three producers: all events, each producer's in order");
    check_note("%d resizes refused", refused);
    dapl_evd_free(evd);
}

/* 16: receives beside the connection event; completions and sentinels beside the disconnection. */
typedef struct connection {
    dapl_evd_t *requests, *transfers;
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
        int which = i ^ (int)(c->seed >> 63); /* either queue may be the first */
        spin(&seed, 200);
        mock_complete(which ? c->transfers : c->requests, &c->sentinels[which],
                      IBV_WC_WR_FLUSH_ERR);
    }
    return NULL;
}

static void connections(bool together)
{
    unsigned both = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG;
    dapl_cno_t *cno = cno_of(&world);
    dapl_evd_t *transfers = evd_of(&world, both, 64, together ? cno : NULL), *told;
    dapl_evd_t *requests = together ? transfers : evd_of(&world, DAT_EVD_DTO_FLAG, 64, NULL);
    dapl_evd_t *connection = together ? transfers : evd_of(&world, DAT_EVD_CONNECTION_FLAG, 8, cno);
    for (int i = 0; i < 300 * SCALE; i++) {
        connection_t c = {.requests = requests, .transfers = transfers, .seed = check_random()};
        dapl_link_attr_t attr = {.request = requests,
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
                    check_each(mock_holds(transfers) == 0 && mock_holds(requests) == 0,
                               "completions not seen");
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
              together ? "one EVD" : "three EVDs");
    if (!together) dapl_evd_free(connection);
    if (!together) dapl_evd_free(requests);
    dapl_evd_free(transfers);
    dapl_cno_free(cno);
}

static void races(void)
{
    endings();
    moves(false);
    moves(true);
    short_lives();
    resizes();
    connections(true);
    connections(false);
}

int main(int argc, char **argv)
{
    return race_rounds(argc, argv, races);
}
