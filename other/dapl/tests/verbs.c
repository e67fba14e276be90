/* verbs.c - the event core over libibverbs, on softhca or whatever device there is: a loopback of
 * two queue pairs.
 *
 * Counts what a wake costs: context switches of the waiter, arms, threads. `verbs sleep N` waits N
 * times on an EVD and `verbs cno N` on a CNO, for run.sh, which counts the system calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "other/dapl/include/dapl_verbs.h"
#include "other/dapl/src/engine/engine.h"
#include "other/dapl/tests/loopback.h"
#include "tests/unit/check.h"

static dapl_verbs_device_t device;
static dapl_interface_t *interface;
static pair_t pair;

static dapl_evd_t *evd_of(unsigned flags, dapl_cno_t *cno)
{
    dapl_evd_t *evd = NULL;
    dapl_evd_attr_t attr = {
        .min_qlen = 128, .flags = (DAT_EVD_FLAGS)flags, .cno = cno, .vector = -1};
    DAT_RETURN result = dapl_evd_create(interface, &attr, &evd);
    must(result == DAT_SUCCESS, "EVD");
    return evd;
}

static void open_pair(dapl_evd_t *request, dapl_evd_t *receive)
{
    pair_open(&pair, device.context, dapl_verbs_cq_of(request), dapl_verbs_cq_of(receive));
}

/* ---- Waking ---- */

static dapl_work_t receive_work = {.flags = DAPL_WORK_RECEIVE, .event.operation = DAT_DTO_RECEIVE};
static dapl_work_t send_work = {.event.operation = DAT_DTO_SEND, .event.transfered_length = 8};

typedef struct sender {
    dapl_evd_t *evd, *sends;
    dapl_cno_t *cno;
    _Atomic int got;
    int n;
} sender_t;

/* Sends a message when the waiter sleeps, and the next when the waiter has received it. */
static void *send_when_asleep(void *arg)
{
    sender_t *sender = arg;
    DAT_EVENT event;
    for (int i = 0; i < sender->n; i++) {
        while (atomic_load(&sender->got) < i) sched_yield();
        if (sender->cno)
            while (!atomic_load(&sender->cno->waiters[0]) && !atomic_load(&sender->cno->waiters[1]))
                sched_yield();
        else
            while (!(atomic_load(&sender->evd->state) & EVD_SLEEPING)) sched_yield();
        for (int k = 0; k < 50; k++) sched_yield(); /* most likely it is in the kernel by now */
        pair_send(&pair, 0, &send_work, false, true);
        while (dapl_evd_dequeue(sender->sends, &event) != DAT_SUCCESS) sched_yield();
    }
    return NULL;
}

static int wakes(sender_t *sender)
{
    pthread_t thread;
    int good = 0;
    pthread_create(&thread, NULL, send_when_asleep, sender);
    for (int i = 0; i < sender->n; i++) {
        DAT_EVENT event;
        DAT_COUNT nmore;
        dapl_evd_t *told;
        pair_receive(&pair, 1, &receive_work);
        if (sender->cno) {
            DAT_RETURN result = dapl_cno_wait(sender->cno, DAT_TIMEOUT_INFINITE, &told);
            good += result == DAT_SUCCESS && told == sender->evd &&
                    dapl_evd_dequeue(told, &event) == DAT_SUCCESS;
        } else {
            good +=
                dapl_evd_wait(sender->evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore) == DAT_SUCCESS;
        }
        sender->got++;
    }
    pthread_join(thread, NULL);
    return good;
}

static void waking(bool by_cno, int n, bool report)
{
    dapl_cno_t *cno = NULL;
    if (by_cno)
        must(dapl_cno_create(interface, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno) == DAT_SUCCESS, "CNO");
    dapl_evd_t *evds[8];
    for (int i = 0; i < (by_cno ? 8 : 1); i++) evds[i] = evd_of(DAT_EVD_DTO_FLAG, cno);
    dapl_evd_t *sends = evd_of(DAT_EVD_DTO_FLAG, NULL);
    open_pair(sends, evds[0]);
    sender_t sender = {.evd = evds[0], .sends = sends, .cno = cno, .n = n};
    struct rusage before, after;
    uint64_t arms = dapl_evd_arms(evds[0]);
    getrusage(RUSAGE_THREAD, &before);
    int good = wakes(&sender);
    getrusage(RUSAGE_THREAD, &after);
    long switches = after.ru_nvcsw - before.ru_nvcsw;
    arms = dapl_evd_arms(evds[0]) - arms;
    if (report) {
        check(good == n, "R40 %s: %d of %d messages over libibverbs", by_cno ? "CNO" : "EVD", good,
              n);
        /* A sender that was late for the sleep costs none; one that sleeps takes one. */
        check(switches <= n + n / 20 + 5, "R30 R42 %s: at most one context switch for each wake",
              by_cno ? "a CNO of eight EVDs" : "an EVD");
        check_note("%ld switches, %ld arms for %d wakes", switches, (long)arms, n);
        check(arms <= (uint64_t)n + n / 10 + 2,
              "R27 the completion queue is armed once for each wake");
    }
    pair_close(&pair);
    for (int i = 0; i < (by_cno ? 8 : 1); i++) dapl_evd_free(evds[i]);
    dapl_evd_free(sends);
    if (cno) dapl_cno_free(cno);
}

/* ---- Order and flags ---- */

static dapl_work_t sentinels[2];

static int flush(void *arg)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    for (int i = 0; i < 2; i++)
        sentinels[i] =
            (dapl_work_t){.link = arg ? *(dapl_link_t **)arg : NULL, .flags = DAPL_WORK_SENTINEL};
    if (ibv_modify_qp(pair.qp[1], &attr, IBV_QP_STATE)) return -errno;
    pair_send(&pair, 1, &sentinels[0], false, true);
    pair_receive(&pair, 1, &sentinels[1]);
    return 2;
}

static void order(bool together)
{
    dapl_evd_t *evd = evd_of(DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, NULL),
               *sends = evd_of(DAT_EVD_DTO_FLAG, NULL);
    dapl_evd_t *connection = together ? evd : evd_of(DAT_EVD_CONNECTION_FLAG, NULL);
    static dapl_link_t *link;
    open_pair(together ? evd : sends, evd);
    dapl_link_attr_t attr = {.request = together ? evd : sends,
                             .receive = evd,
                             .connection = connection,
                             .flush = flush,
                             .arg = &link,
                             .receives = 16};
    must(dapl_link_create(&attr, &link) == DAT_SUCCESS, "link");
    static dapl_work_t receives[8];
    for (uint64_t i = 0; i < 8; i++) {
        receives[i] =
            (dapl_work_t){.link = link, .flags = DAPL_WORK_RECEIVE, .event.user_cookie.as_64 = i};
        pair_receive(&pair, 1, &receives[i]);
    }
    dapl_work_t quiet = {.flags = DAPL_WORK_SUPPRESS};
    for (int i = 0; i < 5; i++) pair_send(&pair, 0, &quiet, false, false);
    DAT_EVENT event;
    DAT_COUNT nmore;
    check(dapl_evd_wait(evd, 2000, 1, &event, &nmore) == DAT_TIMEOUT_EXPIRED,
          "R21 early data waits for its connection");
    dapl_link_established(link, 0, NULL);
    check(dapl_evd_dequeue(connection, &event) == DAT_SUCCESS &&
              event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED,
          "R21 ... which comes first");
    dapl_link_disconnected(link, DAT_CONNECTION_EVENT_DISCONNECTED);
    if (!together)
        check(dapl_evd_wait(connection, DAT_TIMEOUT_INFINITE, 1, &event, &nmore) == DAT_SUCCESS &&
                  event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
              "R22 the disconnection, on another EVD");
    bool ordered = true;
    for (uint64_t i = 0; i < 8; i++)
        ordered &= dapl_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore) == DAT_SUCCESS &&
                   event.event_data.dto_completion_event_data.user_cookie.as_64 == i &&
                   event.event_data.dto_completion_event_data.status ==
                       (i < 5 ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED);
    check(ordered, "R22 five receives, and three that are flushed: %s",
          together ? "one EVD" : "two EVDs");
    if (together)
        check(dapl_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore) == DAT_SUCCESS &&
                  event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
              "R22 the disconnection is last");
    dapl_link_free(link);
    pair_close(&pair);
    if (!together) dapl_evd_free(connection);
    dapl_evd_free(evd);
    dapl_evd_free(sends);
}

typedef struct sleeper {
    dapl_evd_t *evd;
    DAT_RETURN result;
    DAT_COUNT nmore;
    _Atomic bool over;
} sleeper_t;

static void *sleep_on(void *arg)
{
    sleeper_t *sleeper = arg;
    DAT_EVENT event;
    sleeper->result = dapl_evd_wait(sleeper->evd, DAT_TIMEOUT_INFINITE, 1, &event, &sleeper->nmore);
    atomic_store(&sleeper->over, true);
    return NULL;
}

static void flags(void)
{
    dapl_evd_t *evd = evd_of(DAT_EVD_DTO_FLAG, NULL), *sends = evd_of(DAT_EVD_DTO_FLAG, NULL);
    dapl_evd_use(evd, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
    open_pair(sends, evd);
    for (int i = 0; i < 4; i++) pair_receive(&pair, 1, &receive_work);
    DAT_EVENT event;
    DAT_COUNT nmore;
    pthread_t thread;
    sleeper_t sleeper = {.evd = evd};
    pthread_create(&thread, NULL, sleep_on, &sleeper);
    for (int solicited = 0; solicited < 2; solicited++) {
        while (!(atomic_load(&evd->state) & EVD_SLEEPING)) sched_yield();
        check(!sleeper.over, "U11 a receive that is not solicited does not end the wait");
        pair_send(&pair, 0, &send_work, solicited, true);
        while (dapl_evd_dequeue(sends, &event) != DAT_SUCCESS) sched_yield();
    }
    pthread_join(thread, NULL);
    check(sleeper.result == DAT_SUCCESS && sleeper.nmore == 1,
          "U11 a solicited one does, on a device");
    check(dapl_evd_resize(sends, 300) == DAT_SUCCESS,
          "R36 U5 the completion queue of an EVD is resized under its queue pair");
    pair_send(&pair, 0, &send_work, true, true);
    check(dapl_evd_wait(sends, DAT_TIMEOUT_INFINITE, 1, &event, &nmore) == DAT_SUCCESS,
          "R36 ... and works");
    pair_close(&pair);
    dapl_evd_unuse(evd);
    dapl_evd_free(evd);
    dapl_evd_free(sends);
}

/* ---- Asynchronous events ---- */

static void asynchronous(void)
{
    dapl_evd_t *async = evd_of(DAT_EVD_ASYNC_FLAG, NULL),
               *receives = evd_of(DAT_EVD_DTO_FLAG, NULL);
    dapl_evd_t *sends = NULL;
    DAT_EVENT event;
    DAT_COUNT nmore;
    check(dapl_evd_dequeue(async, &event) == DAT_QUEUE_EMPTY,
          "R20 the asynchronous events of a device without one");
    dapl_evd_attr_t attr = {.min_qlen = 4, .flags = DAT_EVD_DTO_FLAG, .vector = -1};
    must(dapl_evd_create(interface, &attr, &sends) == DAT_SUCCESS, "EVD");
    open_pair(sends, receives);
    for (int i = 0; i <= dapl_verbs_cq_of(sends)->cqe; i++) {
        pair_receive(&pair, 1, &receive_work);
        pair_send(&pair, 0, &send_work, false, true);
    }
    check(dapl_evd_wait(async, DAT_TIMEOUT_INFINITE, 1, &event, &nmore) == DAT_SUCCESS &&
              event.event_number == DAT_ASYNC_ERROR_EVD_OVERFLOW &&
              event.event_data.asynch_error_event_data.dat_handle == (DAT_HANDLE)sends,
          "R20 U10 a completion queue that overflows: the event names its EVD");
    pair_close(&pair);
    dapl_evd_free(sends);
    dapl_evd_free(receives);
    dapl_evd_free(async);
}

/* The kernel opens the descriptor of a device's events for reading alone, without any flag. */
static void plain_descriptor(void)
{
    int ends[2];
    must(pipe(ends) == 0 && fcntl(ends[0], F_GETFL) == 0, "pipe");
    struct ibv_context context = {.async_fd = ends[0]};
    dapl_verbs_device_t of = {.context = &context};
    check(dapl_verbs_async.fd(&of) == ends[0] && fcntl(ends[0], F_GETFL) == O_NONBLOCK,
          "R20 the descriptor of asynchronous events does not block");
    close(ends[0]);
    close(ends[1]);
}

int main(int argc, char **argv)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    must(list && *list, "there is no verbs device");
    device.context = ibv_open_device(*list);
    must(device.context != NULL, "the device cannot be opened");
    dapl_interface_attr_t attr = {.device = &device,
                                  .cq = &dapl_verbs_cq,
                                  .async = &dapl_verbs_async,
                                  .vectors = device.context->num_comp_vectors};
    must(dapl_interface_open(&attr, &interface) == DAT_SUCCESS, "interface");
    if (argc > 2) {
        waking(!strcmp(argv[1], "cno"), atoi(argv[2]), false);
    } else {
        check_begin(argc, argv);
        waking(false, 500, true);
        waking(true, 500, true);
        order(true);
        order(false);
        flags();
        asynchronous();
        plain_descriptor();
    }
    dapl_interface_close(interface);
    ibv_close_device(device.context);
    ibv_free_device_list(list);
    return argc > 2 ? 0 : check_end();
}
