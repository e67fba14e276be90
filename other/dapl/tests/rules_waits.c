/* rules_waits.c - the rules of waits on an event dispatcher: thresholds, owners, signalling events,
 * times, few wakes. Each on a device under the test's control.
 *
 * The number in a name is a requirement (R) or a fault of uDAPL 2.1.10 (U); other/dapl/README.md
 * lists both.
 */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/dapl/tests/waiters.h"

static dapl_work_t unsignalled = {.flags = DAPL_WORK_UNSIGNALLED, .event.user_cookie.as_64 = 78};

static void waiting(world_t *world, mock_kind_t kind)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 32, NULL);
    const int thresholds[] = {1, 2, 7, 32};
    waiter_t waiter;
    for (size_t t = 0; t < 4; t++)
        for (int burst = 0; burst < 2; burst++) {
            int n = thresholds[t];
            begin_wait(&waiter, evd, n);
            for (int i = 0; i < n; i++) {
                if (!burst && i) await_asleep(evd);
                check_each(!waiter.over, "returned with %d of %d", i, n);
                if (burst && i == n / 2)
                    post_number(evd, 1);
                else
                    complete(evd);
            }
            DAT_RETURN result = end_wait(&waiter);
            check_each(result == DAT_SUCCESS && waiter.nmore == n - 1, "nmore %d of %d",
                       waiter.nmore, n);
            check_each(dequeue_all(evd) == n - 1, "left");
        }
    check_all("R17 R24 thresholds 1, 2, 7 and the length, one by one and in bursts, %s",
              mock_kind_name(kind));
    mock_complete_many(evd, &plain, 32);
    DAT_EVENT event;
    DAT_COUNT nmore;
    check(dapl_evd_wait(evd, forever, 32, &event, &nmore) == DAT_SUCCESS && nmore == 31,
          "R17 R39 a wait that finds enough returns at once");
    check(dapl_evd_wait(evd, 1000, 32, &event, &nmore) == BARE(DAT_TIMEOUT_EXPIRED) && nmore == 31,
          "R17 nmore is set at the timeout, and nothing is dequeued");
    dequeue_all(evd);

    begin_wait(&waiter, evd, 1);
    check(dapl_evd_dequeue(evd, &event) == ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER),
          "R12 a dequeue finds the EVD owned by a waiter");
    check(dapl_evd_wait(evd, 0, 1, &event, &nmore) ==
              ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER),
          "R12 so does a second wait");
    check(dapl_evd_resize(evd, 64) == ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER),
          "R12 R36 so does a resize");
    post_number(evd, 3);
    check(end_wait(&waiter) == DAT_SUCCESS && number_of(&waiter.event) == 3,
          "U4 a software event wakes the waiter of an EVD with transfers");
    begin_wait(&waiter, evd, 1);
    dapl_evd_set_unwaitable(evd);
    check(end_wait(&waiter) == ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE),
          "U4 so does set_unwaitable");
    check(empty(evd), "R11 dequeue does not mind");
    dapl_evd_clear_unwaitable(evd);
    begin_wait(&waiter, evd, 1);
    check(dapl_evd_free(evd) == DAT_SUCCESS && end_wait(&waiter) == ERR(DAT_ABORT, 0),
          "R37 U15 freeing the EVD ends the wait with DAT_ABORT, without a delay");
}

static void signalling(world_t *world)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 32, NULL);
    waiter_t waiter;
    DAT_EVENT event;
    DAT_COUNT nmore;
    dapl_evd_use(evd, DAT_COMPLETION_UNSIGNALLED_FLAG);
    mock_complete(evd, &unsignalled, IBV_WC_SUCCESS);
    check(dapl_evd_wait(evd, forever, 1, &event, &nmore) == DAT_SUCCESS && number_of(&event) == 78,
          "R15 U11 an unsignalled event that is queued satisfies the wait at its entry");
    begin_wait(&waiter, evd, 1);
    mock_complete(evd, &unsignalled, IBV_WC_SUCCESS);
    while (mock_holds(evd)) sched_yield(); /* the waiter has looked at it */
    await_asleep(evd);
    check(!waiter.over, "R15 U11 it does not end a wait that has blocked");
    complete(evd);
    check(end_wait(&waiter) == DAT_SUCCESS && waiter.nmore == 1 && number_of(&waiter.event) == 78,
          "R15 U11 the next signalling event does; the older one is returned first, with one left");
    dequeue_all(evd);
    begin_wait(&waiter, evd, 1);
    mock_complete(evd, &unsignalled, IBV_WC_RETRY_EXC_ERR);
    check(end_wait(&waiter) == DAT_SUCCESS, "R15 a failure always signals");

    dapl_cno_t *cno = cno_of(world);
    dapl_evd_modify_cno(evd, cno);
    mock_complete(evd, &unsignalled, IBV_WC_SUCCESS);
    check(untriggered(cno), "R15 U11 an unsignalled event does not trigger the CNO");
    complete(evd);
    check(told(cno, evd), "R15 the next signalling event does");
    check(dequeue_all(evd) == 2, "R15 ... and both are there");
    dapl_evd_unuse(evd);
    dapl_evd_free(evd);

    evd = evd_of(world, DAT_EVD_DTO_FLAG, 32, NULL);
    dapl_evd_use(evd, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
    dapl_work_t receive = {.flags = DAPL_WORK_RECEIVE, .link = NULL};
    begin_wait(&waiter, evd, 1);
    mock_complete_as(evd, &receive, IBV_WC_SUCCESS, false, 0);
    check(mock_of(evd)->events == 0 && !waiter.over,
          "U11 a receive that is not solicited does not wake the waiter");
    mock_complete_as(evd, &receive, IBV_WC_SUCCESS, true, 0);
    check(end_wait(&waiter) == DAT_SUCCESS && waiter.nmore == 1, "U11 a solicited one does");
    dapl_evd_unuse(evd);
    dapl_evd_free(evd);
    dapl_cno_free(cno);
}

static int64_t elapsed(int64_t from)
{
    return (int64_t)gasneti_clock_ns() - from;
}

static void ignore(int signal)
{
    (void)signal;
}

static void times(world_t *world)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 32, NULL);
    dapl_cno_t *cno = cno_of(world);
    dapl_evd_t *none;
    DAT_EVENT event;
    DAT_COUNT nmore;
    int64_t from = (int64_t)gasneti_clock_ns();
    dapl_evd_wait(evd, 500, 1, &event, &nmore);
    check(elapsed(from) >= 500000, "R29 U8 a wait of 500 us on transfers is not cut short");
    from = (int64_t)gasneti_clock_ns();
    dapl_cno_wait(cno, 500, &none);
    check(elapsed(from) >= 500000, "R29 nor is one on a CNO");
    from = (int64_t)gasneti_clock_ns();
    for (int i = 0; i < 14; i++) complete(evd);
    check(dapl_evd_wait(evd, 1000, 15, &event, &nmore) == BARE(DAT_TIMEOUT_EXPIRED) && nmore == 14,
          "R29 U9 the timeout bounds the whole call, whatever wakes it");
    check(dapl_os_deadline(INT64_MAX / 2) < OS_NEVER && dapl_os_deadline(-1) == OS_NEVER,
          "R29 deadlines far ahead");
    waiter_t waiter = {
        .evd = evd, .threshold = 15, .timeout = INT64_C(0xfffffffe) * 1000, .nmore = -1};
    waiter_begin(&waiter);
    await_asleep(evd);
    complete(evd);
    check(end_wait(&waiter) == DAT_SUCCESS, "R29 U16 a timeout of 0xfffffffe us works");
    dequeue_all(evd);

    struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGUSR1, &action, NULL);
    complete(evd);
    begin_wait(&waiter, evd, 2);
    while (!waiter.over) {
        pthread_kill(waiter.thread.id, SIGUSR1);
        sched_yield();
    }
    check(end_wait(&waiter) == BARE(DAT_INTERRUPTED_CALL) && waiter.nmore == 1,
          "U16 a signal ends a wait on transfers with DAT_INTERRUPTED_CALL and nmore");
    dapl_evd_t *software = evd_of(world, DAT_EVD_SOFTWARE_FLAG, 4, NULL);
    begin_wait(&waiter, software, 1);
    while (!waiter.over) {
        pthread_kill(waiter.thread.id, SIGUSR1);
        sched_yield();
    }
    check(end_wait(&waiter) == BARE(DAT_INTERRUPTED_CALL), "U16 one on software events too");
    begin_cno_wait(&waiter, cno, 1);
    while (!waiter.over) {
        pthread_kill(waiter.thread.id, SIGUSR1);
        sched_yield();
    }
    check(end_wait(&waiter) == BARE(DAT_INTERRUPTED_CALL), "U16 one on a CNO too");
    dapl_evd_free(software);
    dapl_evd_free(evd);
    dapl_cno_free(cno);
}

/* Tests a device that wakes once for a number of completions: a wait for 32 wakes at most twice. */
static void moderation(void)
{
    world_t world;
    world_open_with(&world, MOCK_EDGE, true);
    dapl_evd_t *evd = evd_of(&world, DAT_EVD_DTO_FLAG, 64, NULL);
    waiter_t waiter;
    for (int round = 0; round < 3; round++) {
        unsigned before = mock_of(evd)->events;
        begin_wait(&waiter, evd, 32);
        mock_complete_many(evd, &plain, 32);
        check_each(end_wait(&waiter) == DAT_SUCCESS, "wait");
        check_each(round == 0 || mock_of(evd)->events - before <= 2, "%u events",
                   mock_of(evd)->events - before);
        dequeue_all(evd);
    }
    check_all("R38 R41 a wait for 32 is woken at most twice by a device that can count");
    begin_wait(&waiter, evd, 1);
    complete(evd);
    check(end_wait(&waiter) == DAT_SUCCESS, "R38 ... and once for each event after a wait for one");
    world_close(&world);
    world_open(&world);
    evd = evd_of(&world, DAT_EVD_SOFTWARE_FLAG, 64, NULL);
    begin_wait(&waiter, evd, 32);
    for (uint64_t i = 0; i < 31; i++) post_number(evd, i);
    check(atomic_load(&evd->state) & EVD_SLEEPING,
          "R38 software events below the threshold do not wake the waiter");
    post_number(evd, 31);
    check(end_wait(&waiter) == DAT_SUCCESS && waiter.nmore == 31, "R38 ... the last one does");
    world_close(&world);
}

/* Descriptors do not reach other programs, and a child that ends leaves the parent's alone. */
static void forking(world_t *world)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 8, NULL);
    waiter_t waiter;
    begin_wait(&waiter, evd, 1);
    pid_t child = fork();
    if (!child) _exit(0);
    waitpid(child, NULL, 0);
    complete(evd);
    check(end_wait(&waiter) == DAT_SUCCESS, "R24 a fork leaves a wait alone");
    dapl_evd_free(evd);
}

int main(int argc, char **argv)
{
    world_t world;
    check_begin(argc, argv);
    for (mock_kind_t kind = MOCK_EDGE; kind <= MOCK_LEVEL; kind++) {
        world_open_with(&world, kind, false);
        waiting(&world, kind);
        signalling(&world);
        world_close(&world);
    }
    world_open(&world);
    times(&world);
    forking(&world);
    world_close(&world);
    moderation();
    return check_end();
}
