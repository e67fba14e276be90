/* rules.c - the rules of event dispatchers and notification objects, each on a device under the
 * test's control.
 *
 * The number in a name is a requirement (R) or a fault of uDAPL 2.1.10 (U); other/dapl/README.md
 * lists both.
 */
#include "tests/dapl/mock.h"

#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static dapl_work_t plain = {.operation = DAT_DTO_SEND, .length = 10, .cookie.as_64 = 77};
static dapl_work_t unsignalled = {.flags = DAPL_WORK_UNSIGNALLED, .cookie.as_64 = 78};
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { MANY_DEQUEUES = 20000 };
#else
enum { MANY_DEQUEUES = 1000000 };
#endif
static const DAT_TIMEOUT forever = DAT_TIMEOUT_INFINITE;

static void complete(dapl_evd_t *evd)
{
    mock_complete(evd, &plain, IBV_WC_SUCCESS);
}

static bool empty(dapl_evd_t *evd)
{
    DAT_EVENT event;
    return dapl_evd_dequeue(evd, &event) == BARE(DAT_QUEUE_EMPTY);
}

static int dequeue_all(dapl_evd_t *evd)
{
    DAT_EVENT event;
    int n = 0;
    while (dapl_evd_dequeue(evd, &event) == DAT_SUCCESS) n++;
    return n;
}

/* A thread that waits on an EVD, or on a CNO. */
typedef struct waiter {
    thread_t thread;
    dapl_evd_t *evd;
    dapl_cno_t *cno;
    int threshold;
    int64_t timeout; /* nanoseconds */
    DAT_EVENT event;
    DAT_COUNT nmore;
    dapl_evd_t *told;
    _Atomic bool over;
    DAT_RETURN result;
} waiter_t;

static void *run_waiter(void *arg)
{
    waiter_t *waiter = arg;
    waiter->result = waiter->cno ? dapl_cno_wait_ns(waiter->cno, waiter->timeout, &waiter->told)
                                 : dapl_evd_wait_ns(waiter->evd, waiter->timeout, waiter->threshold,
                                                    &waiter->event, &waiter->nmore);
    atomic_store(&waiter->over, true);
    return NULL;
}

static void begin_wait(waiter_t *waiter, dapl_evd_t *evd, int threshold)
{
    *waiter = (waiter_t){.evd = evd, .threshold = threshold, .timeout = -1, .nmore = -1};
    thread_begin(&waiter->thread, run_waiter, waiter);
    await_asleep(evd);
}

static void begin_cno_wait(waiter_t *waiter, dapl_cno_t *cno, uint32_t waiters)
{
    *waiter = (waiter_t){.cno = cno, .timeout = -1};
    thread_begin(&waiter->thread, run_waiter, waiter);
    await_waiters(cno, waiters);
}

static DAT_RETURN end_wait(waiter_t *waiter)
{
    thread_join(&waiter->thread);
    return waiter->result;
}

static bool told(dapl_cno_t *cno, dapl_evd_t *wanted)
{
    dapl_evd_t *evd;
    return dapl_cno_wait(cno, 0, &evd) == DAT_SUCCESS && evd == wanted;
}

static bool untriggered(dapl_cno_t *cno)
{
    dapl_evd_t *evd;
    return dapl_cno_wait(cno, 0, &evd) == BARE(DAT_QUEUE_EMPTY);
}

/* ---- Events ---- */

static void contents(world_t *world)
{
    dapl_evd_t *evd =
        evd_of(world, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | DAT_EVD_CR_FLAG, 8, NULL);
    dapl_evd_t *async = evd_of(world, DAT_EVD_ASYNC_FLAG, 8, NULL);
    dapl_work_t receive = {
        .flags = DAPL_WORK_RECEIVE, .operation = DAT_DTO_RECEIVE, .cookie.as_64 = 5};
    dapl_work_t bind = {.flags = DAPL_WORK_BIND, .rmr = (DAT_HANDLE)0x99, .cookie.as_64 = 6};
    DAT_EVENT event;
    memset(&event, 0xaa, sizeof event);
    complete(evd);
    dapl_evd_dequeue(evd, &event);
    DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
    check(event.event_number == DAT_DTO_COMPLETION_EVENT &&
              event.evd_handle == (DAT_EVD_HANDLE)evd && dto->user_cookie.as_64 == 77 &&
              dto->status == DAT_DTO_SUCCESS && dto->transfered_length == 10,
          "R8 R31 a completion as an event");
    check(dto->operation == DAT_DTO_SEND && dto->rmr_context == 0 &&
              dto->ep_handle == DAT_HANDLE_NULL,
          "U12 the fields of DAT 2.0 are filled in");
    mock_complete(evd, &receive, IBV_WC_SUCCESS);
    dapl_evd_dequeue(evd, &event);
    check(dto->operation == DAT_DTO_RECEIVE && dto->transfered_length == 64,
          "U12 a receive has its own length");
    mock_complete(evd, &plain, IBV_WC_REM_ACCESS_ERR);
    dapl_evd_dequeue(evd, &event);
    check(dto->status == DAT_DTO_ERR_REMOTE_ACCESS, "R8 the status of a failed transfer");
    mock_complete(evd, &bind, IBV_WC_SUCCESS);
    dapl_evd_dequeue(evd, &event);
    check(event.event_number == DAT_RMR_BIND_COMPLETION_EVENT &&
              event.event_data.rmr_completion_event_data.rmr_handle == (DAT_HANDLE)0x99 &&
              event.event_data.rmr_completion_event_data.user_cookie.as_64 == 6,
          "R8 a bind as an event");
    DAT_EVENT request = {.event_number = DAT_CONNECTION_REQUEST_EVENT};
    request.event_data.cr_arrival_event_data.cr_handle = (DAT_CR_HANDLE)0x55;
    request.event_data.cr_arrival_event_data.truncate_flag = DAT_TRUE;
    dapl_evd_post(evd, &request);
    dapl_evd_dequeue(evd, &event);
    check(event.event_number == DAT_CONNECTION_REQUEST_EVENT &&
              event.evd_handle == (DAT_EVD_HANDLE)evd &&
              event.event_data.cr_arrival_event_data.truncate_flag == DAT_TRUE,
          "R8 U12 a connection request as an event, with the flag of truncation");

    mock_async(&world->device, DAT_ASYNC_ERROR_EVD_OVERFLOW, (DAT_HANDLE)evd,
               DAT_EVD_OVERFLOW_ERROR);
    mock_async(&world->device, DAT_ASYNC_ERROR_IA_CATASTROPHIC, DAT_HANDLE_NULL,
               DAT_IA_CATASTROPHIC_ERROR);
    DAT_ASYNCH_ERROR_EVENT_DATA *error = &event.event_data.asynch_error_event_data;
    check(dapl_evd_dequeue(async, &event) == DAT_SUCCESS &&
              event.event_number == DAT_ASYNC_ERROR_EVD_OVERFLOW &&
              error->dat_handle == (DAT_HANDLE)evd && error->reason == DAT_EVD_OVERFLOW_ERROR,
          "R20 U10 U12 the overflow of a completion queue names the EVD and the reason");
    check(dapl_evd_dequeue(async, &event) == DAT_SUCCESS &&
              error->dat_handle == (DAT_HANDLE)world->ia,
          "R20 an unaffiliated event names the interface");
    check(empty(async) && empty(evd), "R20 ... once; the EVD still answers");
    dapl_evd_free(evd);
    dapl_evd_free(async);
}

static void streams(world_t *world)
{
    unsigned all = DAT_EVD_SOFTWARE_FLAG | (DAT_EVD_DEFAULT_FLAG & ~DAT_EVD_ASYNC_FLAG);
    dapl_evd_t *evd = evd_of(world, all, 64, NULL);
    dapl_work_t bind = {.flags = DAPL_WORK_BIND}, works[8] = {0};
    DAT_EVENT event, request = {.event_number = DAT_CONNECTION_REQUEST_EVENT},
                     connection = {.event_number = DAT_CONNECTION_EVENT_PEER_REJECTED};
    int seen[5] = {0};
    bool ordered = true;
    for (uint64_t i = 0; i < 8; i++) {
        works[i].cookie.as_64 = i;
        mock_complete(evd, &works[i], IBV_WC_SUCCESS);
        mock_complete(evd, &bind, IBV_WC_SUCCESS);
        post_number(evd, i);
        request.event_data.cr_arrival_event_data.conn_qual = i;
        dapl_evd_post(evd, &request);
        connection.event_data.connect_event_data.private_data_size = (DAT_COUNT)i;
        dapl_evd_post(evd, &connection);
    }
    while (dapl_evd_dequeue(evd, &event) == DAT_SUCCESS) switch (event.event_number) {
        case DAT_DTO_COMPLETION_EVENT:
            ordered &= number_of(&event) == (uint64_t)seen[0]++;
            break;
        case DAT_RMR_BIND_COMPLETION_EVENT:
            seen[1]++;
            break;
        case DAT_SOFTWARE_EVENT:
            ordered &= number_of(&event) == (uint64_t)seen[2]++;
            break;
        case DAT_CONNECTION_REQUEST_EVENT:
            ordered &= event.event_data.cr_arrival_event_data.conn_qual == (DAT_CONN_QUAL)seen[3]++;
            break;
        default:
            ordered &= event.event_data.connect_event_data.private_data_size == seen[4]++;
            break;
        }
    check(ordered && seen[0] == 8 && seen[1] == 8 && seen[2] == 8 && seen[3] == 8 && seen[4] == 8,
          "R8 R34 five streams in one EVD: all events, each stream in order");
    check(dapl_evd_cq(evd) != NULL, "R9 an EVD of transfers owns a completion queue");
    dapl_evd_t *software = evd_of(world, DAT_EVD_SOFTWARE_FLAG, 1, NULL);
    check(dapl_evd_cq(software) == NULL, "R9 one without owns none");
    dapl_evd_free(evd);
    dapl_evd_free(software);
}

static void vectors(world_t *world)
{
    int seen[4] = {0};
    for (int i = 0; i < 8; i++) {
        dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 8, NULL);
        seen[mock_of(evd)->vector]++;
        dapl_evd_free(evd);
    }
    check(seen[0] == 2 && seen[1] == 2 && seen[2] == 2 && seen[3] == 2,
          "R48 eight EVDs spread over four completion vectors");
}

/* Against a counter of what each source gave and of what came out. */
static void model(world_t *world)
{
    dapl_cno_t *cno = cno_of(world);
    for (int round = 0; round < 40; round++) {
        dapl_evd_t *evd =
            evd_of(world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 8, round & 1 ? cno : NULL);
        static dapl_work_t works[2000];
        uint64_t put[2] = {0}, got[2] = {0};
        for (int step = 0; step < 1000; step++) {
            DAT_EVENT event;
            DAT_COUNT nmore;
            uint64_t queued = put[0] + put[1] - got[0] - got[1];
            DAT_RETURN result = DAT_QUEUE_EMPTY;
            switch (check_below(5)) {
            case 0:
                works[put[0]].cookie.as_64 = put[0];
                mock_complete(evd, &works[put[0]++], IBV_WC_SUCCESS);
                break;
            case 1:
                result = post_number(evd, put[1]);
                check_each((result == DAT_SUCCESS) == (put[1] - got[1] < 8), "post at %d", step);
                put[1] += result == DAT_SUCCESS;
                continue;
            case 2:
                result = dapl_evd_wait(evd, 0, 1 + (int)check_below(3), &event, &nmore);
                if (result == DAT_SUCCESS)
                    check_each(nmore == (DAT_COUNT)queued - 1, "nmore %d", nmore);
                break;
            default:
                result = dapl_evd_dequeue(evd, &event);
                check_each((result == DAT_SUCCESS) == (queued > 0), "dequeue with %d", (int)queued);
                break;
            }
            if (result != DAT_SUCCESS) continue;
            int stream = event.event_number == DAT_SOFTWARE_EVENT;
            check_each(number_of(&event) == got[stream], "order");
            got[stream]++;
        }
        dapl_evd_free(evd);
    }
    dapl_cno_free(cno);
    check_all("R16 R17 R34 dequeue and wait against a reference queue");
}

/* ---- Waiting ---- */

static void waiting(world_t *world, bool level)
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
              level ? "level" : "edge");
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
    return os_now() - from;
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
    int64_t from = os_now();
    dapl_evd_wait(evd, 500, 1, &event, &nmore);
    check(elapsed(from) >= 500000, "R29 U8 a wait of 500 us on transfers is not cut short");
    from = os_now();
    dapl_cno_wait(cno, 500, &none);
    check(elapsed(from) >= 500000, "R29 nor is one on a CNO");
    from = os_now();
    for (int i = 0; i < 14; i++) complete(evd);
    check(dapl_evd_wait(evd, 1000, 15, &event, &nmore) == BARE(DAT_TIMEOUT_EXPIRED) && nmore == 14,
          "R29 U9 the timeout bounds the whole call, whatever wakes it");
    check(os_deadline(INT64_MAX / 2) < OS_NEVER && os_deadline(-1) == OS_NEVER,
          "R29 deadlines far ahead");
    waiter_t waiter = {
        .evd = evd, .threshold = 15, .timeout = INT64_C(0xfffffffe) * 1000, .nmore = -1};
    thread_begin(&waiter.thread, run_waiter, &waiter);
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

/* Where the device wakes once for a number of completions, a wait for 32 wakes at most twice. */
static void moderation(void)
{
    world_t world;
    world_open_with(&world, false, true);
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

/* ---- Arming ---- */

static void arming(world_t *world)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 32, NULL);
    dapl_cno_t *cno = cno_of(world);
    for (int i = 0; i < MANY_DEQUEUES; i++) dequeue_all(evd);
    complete(evd);
    check(dequeue_all(evd) == 1 && dapl_evd_arms(evd) == 0, "R27 %d dequeues arm nothing",
          MANY_DEQUEUES);
    dapl_evd_modify_cno(evd, cno);
    check(dapl_evd_arms(evd) == 1, "R35 U3 a CNO that is attached later has the queue armed");
    for (int i = 0; i < 1000; i++) dequeue_all(evd);
    check(dapl_evd_arms(evd) == 1, "R27 ... once");
    dapl_evd_disable(evd);
    complete(evd);
    check(untriggered(cno), "R35 a disabled EVD triggers nothing");
    dapl_evd_enable(evd);
    check(told(cno, evd), "R35 enabling it with an event queued does");
    check(dequeue_all(evd) == 1, "R35 ... for an event that is there");
    dapl_evd_free(evd);
    dapl_cno_free(cno);
}

static int threads_now(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(dir));) n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static int descriptors_now(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(dir));) n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void many(world_t *world)
{
    enum { MANY = 400 };
    dapl_evd_t *evds[MANY];
    int threads = threads_now(), descriptors = descriptors_now();
    dapl_cno_t *cno = cno_of(world);
    for (int i = 0; i < MANY; i++) evds[i] = evd_of(world, DAT_EVD_DTO_FLAG, 8, cno);
    check(threads_now() == threads, "R28 no thread for %d completion queues", MANY);
    check(descriptors_now() - descriptors <= MANY + 2, "R28 one descriptor for each");
    bool all = true;
    for (int i = MANY - 1; i >= 0; i--) {
        complete(evds[i]);
        all &= told(cno, evds[i]) && dequeue_all(evds[i]) == 1;
    }
    check(all, "R18 R42 the CNO names the EVD, among %d", MANY);
    for (int i = 0; i < MANY; i++) dapl_evd_free(evds[i]);
    check(dapl_cno_free(cno) == DAT_SUCCESS && descriptors_now() == descriptors,
          "R28 all descriptors are closed");
}

/* ---- Notification objects ---- */

static void triggers(world_t *world, bool software)
{
    dapl_cno_t *cno = cno_of(world);
    unsigned flags = software ? DAT_EVD_SOFTWARE_FLAG : DAT_EVD_DTO_FLAG;
    const char *kind = software ? "software" : "transfers";
    dapl_evd_t *evd = evd_of(world, flags, 32, cno), *other = evd_of(world, flags, 32, cno);
    dapl_evd_t *got;
#define ARRIVE(at) (software ? (void)post_number(at, 1) : complete(at))
    ARRIVE(evd);
    check(dapl_cno_wait(cno, forever, &got) == DAT_SUCCESS && got == evd,
          "R13 a trigger is kept for the next wait: %s", kind);
    check(untriggered(cno), "R13 ... which consumes it: %s", kind);
    check(dequeue_all(evd) == 1 && untriggered(cno),
          "R19 the event is there, whatever the CNO says: %s", kind);
    ARRIVE(evd);
    ARRIVE(other);
    bool first = dapl_cno_wait(cno, 0, &got) == DAT_SUCCESS && (got == evd || got == other);
    check(first, "R18 a trigger of two EVDs names one of them: %s", kind);
    dequeue_all(evd);
    dequeue_all(other);
    while (dapl_cno_wait(cno, 0, &got) == DAT_SUCCESS)
        check_each(got == evd || got == other, "another EVD");
    check_all("R19 the hint of an empty EVD is one of the CNO's: %s", kind);

    /* Events that came between the hint and the next wait. */
    ARRIVE(evd);
    check(told(cno, evd), "R13 a trigger again: %s", kind);
    ARRIVE(evd);
    DAT_EVENT event;
    dapl_evd_dequeue(evd, &event);
    check(told(cno, evd), "R11 an event that came after the hint triggers again: %s", kind);
    dequeue_all(evd);
    while (dapl_cno_wait(cno, 0, &got) == DAT_SUCCESS) {
    }

    waiter_t waiter;
    begin_wait(&waiter, evd, 2);
    ARRIVE(evd);
    check(untriggered(cno),
          "R11 while a thread waits on the EVD its events do not trigger the CNO: %s", kind);
    ARRIVE(evd);
    end_wait(&waiter);
    check(told(cno, evd), "R11 the event that the waiter left does: %s", kind);
    dequeue_all(evd);
    ARRIVE(evd);
    check(told(cno, evd),
          "R11 U2 so does one that comes after a wait consumed the notification: %s", kind);
    dequeue_all(evd);
    while (dapl_cno_wait(cno, 0, &got) == DAT_SUCCESS) {
    }

    check(dapl_cno_free(cno) == ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE),
          "R4 the CNO is in use");
    begin_cno_wait(&waiter, cno, 1);
    dapl_evd_free(evd);
    check(!waiter.over, "R37 freeing an EVD that is not the last releases nobody");
    dapl_evd_free(other);
    check(end_wait(&waiter) == DAT_SUCCESS && waiter.told == NULL,
          "R4 freeing the last one releases the waiters");
    check(untriggered(cno) && dapl_cno_free(cno) == DAT_SUCCESS, "R4 ... those of that time");
#undef ARRIVE
}

static void crowd(world_t *world)
{
    enum { WAITERS = 16, TRIGGERS = 9 };
    dapl_cno_t *cno = cno_of(world);
    dapl_evd_t *evd = evd_of(world, DAT_EVD_SOFTWARE_FLAG, 32, cno);
    waiter_t waiters[WAITERS];
    for (uint32_t i = 0; i < WAITERS; i++) begin_cno_wait(&waiters[i], cno, i + 1);
    for (int k = 1; k <= TRIGGERS; k++) {
        post_number(evd, 1);
        int over = 0;
        while (over < k) {
            sched_yield();
            over = 0;
            for (int i = 0; i < WAITERS; i++) over += waiters[i].over;
        }
        check_each(over == k && !atomic_load(&cno->triggered), "%d released by %d triggers", over,
                   k);
    }
    check_all("R12 sixteen waiters, nine triggers: nine are released");
    check(dapl_cno_free(cno) == ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE),
          "R4 a CNO with waiters is in use");
    DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
    dapl_cno_t *quiet = cno_of(world);
    for (int i = 0; i < 3; i++) cno_set_triggered(quiet, evd, &agent);
    uint64_t writes = 0;
    check(read(quiet->wake, &writes, sizeof writes) == sizeof writes && writes == 1,
          "R46 three triggers without a consumer write to the descriptor once");
    atomic_store(&quiet->triggered, NULL);
    dapl_cno_free(quiet);
    dapl_evd_free(evd);
    int none = 0;
    for (int i = 0; i < WAITERS; i++) {
        end_wait(&waiters[i]);
        none += waiters[i].told == NULL;
    }
    check(none == WAITERS - TRIGGERS, "R4 freeing the last EVD releases the other seven");
    dapl_cno_free(cno);
}

static void moving(world_t *world, bool with)
{
    dapl_cno_t *a = cno_of(world), *b = cno_of(world);
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 32, with ? a : NULL);
    dapl_evd_t *stay = evd_of(world, DAT_EVD_DTO_FLAG, 32, a);
    const char *how = with ? "created with a CNO" : "created without";
    complete(evd);
    dapl_evd_modify_cno(evd, b);
    check(told(b, evd), "R10 R35 U3 attaching an EVD with an event triggers: %s", how);
    dequeue_all(evd);
    complete(evd);
    check(told(b, evd) && untriggered(a),
          "R10 U3 from then on the new CNO is triggered, the old one not: %s", how);
    dequeue_all(evd);
    dapl_evd_modify_cno(evd, NULL);
    waiter_t waiter;
    begin_wait(&waiter, evd, 1);
    for (int i = 0; i < 50; i++) complete(stay);
    check(told(a, stay) && !waiter.over,
          "R10 U3 a waiter of a detached EVD takes no other's notifications: %s", how);
    complete(evd);
    check(end_wait(&waiter) == DAT_SUCCESS, "R10 U3 and is woken by its own: %s", how);
    dapl_evd_modify_cno(evd, a);
    dapl_evd_free(evd);
    dequeue_all(stay);
    complete(stay);
    check(told(a, stay), "R10 U3 freeing the EVD leaves the CNO to the others: %s", how);
    check(dapl_cno_free(b) == DAT_SUCCESS, "R10 the CNO that was left is free: %s", how);
    dapl_evd_free(stay);
    dapl_cno_free(a);
}

/* ---- Agents ---- */

typedef struct agency {
    dapl_cno_t *cno;
    dapl_evd_t *other;
    _Atomic int calls, events;
    _Atomic(DAT_EVD_HANDLE) evd;
    bool again;
} agency_t;

static void act(DAT_PVOID instance, DAT_EVD_HANDLE handle)
{
    agency_t *agency = instance;
    dapl_evd_t *evd = (dapl_evd_t *)handle;
    DAT_EVENT event;
    atomic_store(&agency->evd, handle);
    if (evd)
        while (dapl_evd_dequeue(evd, &event) == DAT_SUCCESS) agency->events++;
    if (agency->other) post_number(agency->other, 1);
    if (agency->again) {
        dapl_evd_t *consumed;
        dapl_cno_wait(agency->cno, 0, &consumed);
        dapl_cno_modify_agent(agency->cno, (DAT_OS_WAIT_PROXY_AGENT){agency, act});
    }
    agency->calls++;
}

static void await_calls(agency_t *agency, int n)
{
    while (atomic_load(&agency->calls) < n) sched_yield();
}

static void agents(world_t *world, bool software)
{
    const char *kind = software ? "software" : "transfers";
    dapl_cno_t *cno = cno_of(world);
    dapl_evd_t *evd = evd_of(world, software ? DAT_EVD_SOFTWARE_FLAG : DAT_EVD_DTO_FLAG, 32, cno);
    dapl_evd_t *other = evd_of(world, DAT_EVD_SOFTWARE_FLAG, 32, NULL), *got;
    agency_t agency = {.cno = cno, .other = other};
#define ARRIVE(at) (software ? (void)post_number(at, 1) : complete(at))
    dapl_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){&agency, act});
    ARRIVE(evd);
    await_calls(&agency, 1);
    check(agency.evd == (DAT_EVD_HANDLE)evd && agency.events == 1,
          "R5 U7 the agent is called with the EVD, and may dequeue: %s", kind);
    check(dequeue_all(other) == 1, "R5 U7 it may post to another EVD: %s", kind);
    check(told(cno, evd), "R14 a waiter sees the same trigger: %s", kind);
    ARRIVE(evd);
    check(told(cno, evd) && agency.calls == 1,
          "R5 the agent is not called again until it is set again: %s", kind);
    dapl_cno_wait(cno, 0, &got);
    dequeue_all(evd);
    while (dapl_cno_wait(cno, 0, &got) == DAT_SUCCESS) {
    }
    ARRIVE(evd);
    if (!software) told(cno, evd), post_number(other, 1); /* consumed: see below */
    dequeue_all(evd);
    while (dapl_cno_wait(cno, 0, &got) == DAT_SUCCESS) {
    }
    dapl_evd_modify_cno(other, cno);
    dequeue_all(other);
    while (dapl_cno_wait(cno, 0, &got) == DAT_SUCCESS) {
    }
    post_number(other, 1);
    agency.other = NULL;
    dapl_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){&agency, act});
    ARRIVE(evd);
    dapl_evd_enable(evd);
    check(agency.calls == 1, "R14 a trigger in the triggered state calls no agent: %s", kind);
    dapl_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
    dequeue_all(evd);
    dapl_evd_modify_cno(other, NULL);
    while (dapl_cno_wait(cno, 0, &got) == DAT_SUCCESS) {
    }
    agency.again = true;
    dapl_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){&agency, act});
    for (int i = 2; i < 100; i++) {
        ARRIVE(evd);
        await_calls(&agency, i);
    }
    check(agency.events >= 99, "R5 U7 it may set itself again, every time: %s", kind);
    agency.again = false;
    dapl_evd_free(evd);
    await_calls(&agency, 100);
    check(agency.evd == NULL, "R4 it is released with a null EVD when the last one is freed: %s",
          kind);
    dapl_evd_free(other);
    dapl_cno_free(cno);
#undef ARRIVE
}

/* ---- The form with a descriptor ---- */

static bool readable(int fd)
{
    struct pollfd fds = {.fd = fd, .events = POLLIN};
    return poll(&fds, 1, 0) == 1;
}

static void descriptors(world_t *world)
{
    dapl_cno_t *cno;
    dapl_evd_t *got;
    int fd;
    dapl_cno_fd_create(world->interface, &fd, &cno);
    dapl_evd_t *dto = evd_of(world, DAT_EVD_DTO_FLAG, 32, cno),
               *software = evd_of(world, DAT_EVD_SOFTWARE_FLAG, 8, cno);
    dapl_evd_t *const evds[] = {dto, software};
    check(!readable(fd), "R51 U19 the descriptor is not readable without a trigger");
    for (int i = 0; i < 2; i++)
        for (int round = 0; round < 3; round++) {
            i ? (void)post_number(software, 1) : complete(dto);
            check_each(readable(fd) && readable(fd), "not readable");
            int outer = epoll_create1(0);
            struct epoll_event event = {.events = EPOLLIN};
            epoll_ctl(outer, EPOLL_CTL_ADD, fd, &event);
            check_each(epoll_wait(outer, &event, 1, 0) == 1, "not readable in a set");
            close(outer);
            fd_set set;
            FD_ZERO(&set);
            FD_SET(fd, &set);
            check_each(select(fd + 1, &set, NULL, NULL, &(struct timeval){0}) == 1,
                       "not readable by select");
            check_each(dapl_cno_trigger(cno, &got) == DAT_SUCCESS && got == evds[i], "trigger");
            check_each(!readable(fd), "readable after it was consumed");
            check_each(dequeue_all(evds[i]) == 1, "the event");
        }
    check_all("R51 U19 poll, epoll and select see the trigger until it is consumed");
    check(dapl_cno_trigger(cno, &got) == BARE(DAT_QUEUE_EMPTY) && !got,
          "R51 U19 nothing to consume");
    dapl_evd_free(dto);
    dapl_evd_free(software);
    dapl_cno_free(cno);
}

/* ---- Resize ---- */

static void resizing(world_t *world)
{
    DAT_EVENT event;
    DAT_EVD_PARAM param;
    dapl_evd_t *evd = evd_of(world, DAT_EVD_SOFTWARE_FLAG, 4, NULL);
    uint64_t put = 0, got = 0;
    while (post_number(evd, put) == DAT_SUCCESS) put++;
    const int lengths[] = {5, 7, 100, 64, 200, 16};
    for (size_t i = 0; i < 6; i++) {
        DAT_RETURN result = dapl_evd_resize(evd, lengths[i]);
        if (put - got > (uint64_t)lengths[i]) {
            check_each(result == ERR(DAT_INVALID_STATE, 0), "shrunk below what is queued");
            for (; put - got > 3 && dapl_evd_dequeue(evd, &event) == DAT_SUCCESS; got++)
                check_each(number_of(&event) == got, "order");
            result = dapl_evd_resize(evd, lengths[i]);
        }
        check_each(result == DAT_SUCCESS, "resize to %d: 0x%x", lengths[i], result);
        dapl_evd_query(evd, DAT_EVD_FIELD_ALL, &param);
        check_each(param.evd_qlen >= lengths[i], "the length is reported");
        while (post_number(evd, put) == DAT_SUCCESS) put++;
        check_each(put - got >= (uint64_t)lengths[i], "%d events fit", (int)(put - got));
    }
    for (; dapl_evd_dequeue(evd, &event) == DAT_SUCCESS; got++)
        check_each(number_of(&event) == got, "order");
    check_each(got == put, "%d of %d came out", (int)got, (int)put);
    check_all("R36 R6 U6 growing and shrinking with events queued loses and reorders nothing");
    dapl_evd_free(evd);

    evd = evd_of(world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 8, NULL);
    mock_complete_many(evd, &plain, 5);
    dapl_evd_dequeue(evd, &event);
    check(dapl_evd_resize(evd, 50) == DAT_SUCCESS && dequeue_all(evd) == 4,
          "R36 U5 an EVD of transfers is resized");
    world->device.no_resize = true;
    dapl_evd_query(evd, DAT_EVD_FIELD_ALL, &param);
    int before = param.evd_qlen;
    check(dapl_evd_resize(evd, 500) == ERR(DAT_NOT_IMPLEMENTED, 0),
          "R36 U5 a device that cannot says so");
    dapl_evd_query(evd, DAT_EVD_FIELD_ALL, &param);
    complete(evd);
    post_number(evd, 1);
    check(param.evd_qlen == before && dequeue_all(evd) == 2, "R36 U6 ... and the EVD is unchanged");
    world->device.no_resize = false;
    dapl_evd_free(evd);
}

/* More completions than places: none is lost, and no call is refused. */
static void overflow(world_t *world)
{
    dapl_evd_t *evd = evd_of(world, DAT_EVD_DTO_FLAG, 4, NULL);
    DAT_EVENT event;
    DAT_COUNT nmore;
    mock_complete_many(evd, &plain, 1000);
    check(dapl_evd_wait(evd, 0, 1, &event, &nmore) == DAT_SUCCESS && dequeue_all(evd) == 999,
          "R20 U10 more completions than the EVD is long are dequeued, and the EVD answers");
    dapl_evd_free(evd);
}

/* ---- Several interfaces, and their end ---- */

static void spanning(world_t *world)
{
    world_t second;
    world_open(&second);
    dapl_cno_t *cno = cno_of(world);
    dapl_evd_t *here = evd_of(world, DAT_EVD_DTO_FLAG, 8, cno),
               *there = evd_of(&second, DAT_EVD_DTO_FLAG, 8, cno);
    complete(there);
    check(told(cno, there), "R49 EVDs of two devices on one CNO");
    dequeue_all(there);
    int served[2] = {0};
    for (int i = 0; i < 2000; i++) {
        complete(here);
        complete(there);
        complete(there);
        dapl_evd_t *got;
        if (dapl_cno_wait(cno, 0, &got) != DAT_SUCCESS) continue;
        served[got == there]++;
        DAT_EVENT event;
        for (int n = 0; n < 8 && dapl_evd_dequeue(got, &event) == DAT_SUCCESS; n++) {
        }
    }
    check(served[0] < 2 * served[1] && served[1] < 2 * served[0], "R49 neither starves: %d and %d",
          served[0], served[1]);
    dapl_evd_free(here);
    dapl_evd_free(there);
    dapl_cno_free(cno);
    world_close(&second);
}

static void ending(void)
{
    world_t world;
    world_open(&world);
    dapl_evd_t *evd = evd_of(&world, DAT_EVD_DTO_FLAG, 8, NULL), *got;
    dapl_cno_t *cno = cno_of(&world);
    evd_of(&world, DAT_EVD_SOFTWARE_FLAG, 8, cno);
    waiter_t one, two;
    agency_t agency = {.cno = cno};
    dapl_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){&agency, act});
    begin_wait(&one, evd, 1);
    begin_cno_wait(&two, cno, 1);
    dapl_interface_shut(world.interface);
    check(end_wait(&one) == ERR(DAT_ABORT, 0),
          "R37 U15 closing the interface ends a wait on an EVD with DAT_ABORT");
    check(end_wait(&two) == DAT_SUCCESS && !two.told, "R4 and one on a CNO with a null EVD");
    check(agency.calls == 1 && agency.evd == NULL, "R4 and calls the agent with none");
    check(dapl_cno_wait(cno, forever, &got) == DAT_SUCCESS && !got,
          "R37 so does a wait that begins later");
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
    for (int level = 0; level < 2; level++) {
        world_open_with(&world, level, false);
        contents(&world);
        streams(&world);
        vectors(&world);
        model(&world);
        waiting(&world, level);
        signalling(&world);
        triggers(&world, false);
        triggers(&world, true);
        moving(&world, true);
        moving(&world, false);
        agents(&world, false);
        agents(&world, true);
        descriptors(&world);
        world_close(&world);
    }
    world_open(&world);
    times(&world);
    arming(&world);
    many(&world);
    crowd(&world);
    resizing(&world);
    overflow(&world);
    spanning(&world);
    forking(&world);
    world_close(&world);
    moderation();
    ending();
    return check_end();
}
