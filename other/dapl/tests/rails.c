/* rails.c - one thread sleeps for the completion queues of four devices (R49). Three forms: on a
 * set of channels, as the receive thread of ibv-conduit does; on one CNO of four interfaces; and
 * directly, with epoll over the channels, against which the others are counted. Also tests how such
 * a thread is stopped.
 *
 *   rails [SEED]           all rules, in TAP
 *   rails FORM N           N wakes of FORM, which is direct, set or cno, for run.sh, which counts
 * the system calls of the first thread
 *
 * A lost wake-up is detected as a wait that does not end: the alarm of check_begin ends the
 * program.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "other/base/completion-queues/channel_set.h"
#include "other/dapl/include/dapl_verbs.h"
#include "other/dapl/src/engine/engine.h"
#include "other/dapl/tests/loopback.h"
#include "tests/descriptors.h"
#include "tests/unit/check.h"

enum { RAILS = 4, RECEIVES = 32, QLEN = 128 };

typedef enum form { DIRECT, SET, CNO } form_t;
static const char *const forms[] = {"direct", "set", "cno"};

typedef struct rail {
    dapl_verbs_device_t device;
    struct ibv_comp_channel *channel; /* of the direct form */
    struct ibv_cq *cq, *send_cq;
    dapl_interface_t *interface; /* of the CNO, as the next two */
    dapl_link_t *link;
    dapl_evd_t *evd;
    pair_t pair;
    int got;
} rail_t;

static form_t form;
static rail_t rails[RAILS];
static int epoll_set;
static dapl_channel_set_t set;
static dapl_cno_t *cno;
static dapl_evd_t *stop_evd; /* of the CNO: an event ends the thread */

static dapl_work_t receive_work = {.flags = DAPL_WORK_RECEIVE};
static dapl_work_t send_work;

static _Atomic int ready; /* the wake that the thread is about to sleep for */
static _Atomic bool stopping;
static _Atomic int received;

/* ---- The three forms: opening ---- */

static void open_direct(rail_t *rail, int number)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)number};
    rail->channel = ibv_create_comp_channel(rail->device.context);
    must(rail->channel != NULL, "channel");
    rail->cq = ibv_create_cq(rail->device.context, QLEN, NULL, rail->channel, 0);
    must(rail->cq && !epoll_ctl(epoll_set, EPOLL_CTL_ADD, rail->channel->fd, &event), "queue");
    must(!ibv_req_notify_cq(rail->cq, 0), "arm");
}

static void open_in_set(rail_t *rail)
{
    int entries = QLEN;
    void *cq;
    must(!dapl_verbs_cq.create(&rail->device, NULL, 0, &entries, &cq), "queue");
    rail->cq = cq;
    must(!dapl_set_add(&set, &dapl_verbs_cq, cq), "set");
}

static dapl_evd_t *evd_of(rail_t *rail, DAT_EVD_FLAGS flags)
{
    dapl_evd_attr_t attr = {.min_qlen = QLEN, .flags = flags, .cno = cno, .vector = -1};
    dapl_evd_t *evd;
    must(dapl_evd_create(rail->interface, &attr, &evd) == DAT_SUCCESS, "EVD");
    return evd;
}

static void open_on_cno(rail_t *rail)
{
    dapl_interface_attr_t attr = {
        .device = &rail->device, .cq = &dapl_verbs_cq, .vectors = 1, .span = true};
    must(dapl_interface_open(&attr, &rail->interface) == DAT_SUCCESS, "interface");
    if (!cno)
        must(dapl_cno_create(rail->interface, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno) == DAT_SUCCESS,
             "CNO");
    rail->evd = evd_of(rail, DAT_EVD_DTO_FLAG);
    rail->cq = dapl_verbs_cq_of(rail->evd);
    dapl_link_attr_t link = {.receive = rail->evd, .receives = RECEIVES};
    must(dapl_link_create(&link, &rail->link) == DAT_SUCCESS, "link");
    dapl_link_open(rail->link);
}

static void open_rails(form_t wanted)
{
    form = wanted;
    struct ibv_device **list = ibv_get_device_list(NULL);
    if (form == DIRECT) epoll_set = epoll_create1(0);
    for (int i = 0; i < RAILS; i++) {
        rail_t *rail = &rails[i];
        *rail = (rail_t){.cq = NULL};
        must(list && list[i], "four devices are needed, as SOFTHCA=on gives");
        rail->device.context = ibv_open_device(list[i]);
        must(rail->device.context != NULL, "device");
        if (form == DIRECT)
            open_direct(rail, i);
        else if (form == SET)
            open_in_set(rail);
        else
            open_on_cno(rail);
        rail->send_cq = ibv_create_cq(rail->device.context, QLEN, NULL, NULL, 0);
        must(rail->send_cq != NULL, "queue");
        pair_open(&rail->pair, rail->device.context, rail->send_cq, rail->cq);
        for (int k = 0; k < RECEIVES; k++) pair_receive(&rail->pair, 1, &receive_work);
    }
    ibv_free_device_list(list);
    if (form == CNO) stop_evd = evd_of(&rails[0], DAT_EVD_SOFTWARE_FLAG);
    atomic_store(&ready, 0);
    atomic_store(&received, 0);
    atomic_store(&stopping, false);
}

/* ---- Closing the CNO and its interfaces ---- */

static void close_cno(void)
{
    for (int i = 0; i < RAILS; i++) {
        dapl_link_free(rails[i].link);
        check_each(dapl_evd_free(rails[i].evd) == DAT_SUCCESS, "the EVD of rail %d", i);
    }
    check_each(dapl_evd_free(stop_evd) == DAT_SUCCESS, "the EVD of the stop");
    check_each(dapl_cno_free(cno) == DAT_SUCCESS, "the CNO");
    cno = NULL;
    for (int i = 0; i < RAILS; i++) dapl_interface_close(rails[i].interface);
}

static void close_rails(void)
{
    for (int i = 0; i < RAILS; i++) pair_close(&rails[i].pair);
    if (form == SET) dapl_set_close(&set);
    if (form == CNO) close_cno();
    for (int i = 0; i < RAILS; i++) {
        rail_t *rail = &rails[i];
        if (form == SET) check_each(!dapl_verbs_cq.destroy(rail->cq), "the queue of rail %d", i);
        if (form == DIRECT) {
            check_each(!ibv_destroy_cq(rail->cq), "the queue of rail %d", i);
            ibv_destroy_comp_channel(rail->channel);
        }
        ibv_destroy_cq(rail->send_cq);
        ibv_close_device(rail->device.context);
    }
    if (form == DIRECT) close(epoll_set);
}

/* ---- The thread that sleeps ---- */

static void have(rail_t *rail, int n)
{
    rail->got += n;
    for (int i = 0; i < n; i++) pair_receive(&rail->pair, 1, &receive_work);
    atomic_fetch_add(&received, n);
}

/* Polls at most 16 completions of each rail; returns their number. */
static int look(void)
{
    struct ibv_wc wc[16];
    int all = 0;
    for (int i = 0; i < RAILS; i++) {
        int n = ibv_poll_cq(rails[i].cq, 16, wc);
        must(n >= 0, "poll");
        have(&rails[i], n);
        all += n;
    }
    return all;
}

static void sleep_directly(void)
{
    struct epoll_event events[RAILS];
    int n = epoll_wait(epoll_set, events, RAILS, -1);
    for (int i = 0; i < n; i++) {
        rail_t *rail = &rails[events[i].data.u32];
        struct ibv_cq *of;
        void *context;
        must(!ibv_get_cq_event(rail->channel, &of, &context), "event");
        ibv_ack_cq_events(of, 1);
        must(!ibv_req_notify_cq(of, 0), "arm");
    }
}

/* Waits until a poll finds a completion; an empty poll waits again. */
static void wait_in_set_or_directly(void)
{
    for (;;) {
        if (form == SET) dapl_set_arm(&set);
        if (look() || atomic_load(&stopping)) return;
        if (form == SET)
            dapl_set_sleep(&set, -1);
        else
            sleep_directly();
    }
}

static void wait_on_cno(void)
{
    DAT_EVENT event;
    dapl_evd_t *told;
    must(dapl_cno_wait(cno, DAT_TIMEOUT_INFINITE, &told) == DAT_SUCCESS && told, "CNO");
    for (int i = 0; i < RAILS; i++)
        if (rails[i].evd == told)
            for (int n = 0; n < 16 && dapl_evd_dequeue(told, &event) == DAT_SUCCESS; n++)
                have(&rails[i], 1);
    if (told == stop_evd && dapl_evd_dequeue(told, &event) == DAT_SUCCESS)
        atomic_store(&stopping, true);
}

static void *serve(void *unused)
{
    (void)unused;
    while (!atomic_load(&stopping)) {
        atomic_fetch_add(&ready, 1);
        if (form == CNO)
            wait_on_cno();
        else
            wait_in_set_or_directly();
    }
    return NULL;
}

static void stop_server(void)
{
    if (form == CNO) {
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};
        must(dapl_evd_post_se(stop_evd, &event) == DAT_SUCCESS, "post");
    } else {
        atomic_store(&stopping, true);
        dapl_set_wake(&set);
    }
}

/* ---- The sender ---- */

static void send_on(rail_t *rail)
{
    struct ibv_wc wc;
    pair_send(&rail->pair, 0, &send_work, false, true);
    while (ibv_poll_cq(rail->send_cq, 1, &wc) != 1) sched_yield();
    must(wc.status == IBV_WC_SUCCESS, "send");
}

/* Sends a message each time that the thread sleeps, over each rail in turn. */
static void *send_when_asleep(void *count)
{
    for (int i = 0; i < *(int *)count; i++) {
        while (atomic_load(&ready) <= i || atomic_load(&received) < i) sched_yield();
        for (int k = 0; k < 50; k++) sched_yield(); /* most likely it sleeps in the kernel by now */
        send_on(&rails[i % RAILS]);
    }
    return NULL;
}

/* ---- Wakes ---- */

/* Of this thread: context switches for n messages, each of which found it asleep. */
static long wakes(form_t wanted, int n)
{
    struct rusage before, after;
    pthread_t sender;
    open_rails(wanted);
    pthread_create(&sender, NULL, send_when_asleep, &n);
    getrusage(RUSAGE_THREAD, &before);
    while (atomic_load(&received) < n) {
        atomic_fetch_add(&ready, 1);
        if (form == CNO)
            wait_on_cno();
        else
            wait_in_set_or_directly();
    }
    getrusage(RUSAGE_THREAD, &after);
    pthread_join(sender, NULL);
    for (int i = 0; i < RAILS; i++)
        check_each(rails[i].got == n / RAILS, "rail %d: %d messages", i, rails[i].got);
    close_rails();
    return after.ru_nvcsw - before.ru_nvcsw;
}

static void waking(void)
{
    enum { WAKES = 400 };
    for (form_t wanted = DIRECT; wanted <= CNO; wanted++) {
        long switches = wakes(wanted, WAKES);
        check_each(switches <= WAKES + WAKES / 20 + 5, "%ld switches", switches);
        check_all(
            "R49 R30 four devices, %s: one context switch for a wake at most, and every message",
            forms[wanted]);
        check_note("%ld switches for %d wakes", switches, WAKES);
    }
}

/* ---- No rail starves ---- */

/* The first rail gets four messages for each one of the others. */
static void flood(form_t wanted)
{
    enum { ROUNDS = 200 };
    int told[RAILS] = {0};
    open_rails(wanted);
    for (int round = 0; round < ROUNDS; round++) {
        int before[RAILS];
        for (int i = 0; i < RAILS; i++) {
            before[i] = rails[i].got;
            for (int k = 0; k < (i ? 1 : 4); k++) send_on(&rails[i]);
        }
        for (int k = 0; k < RAILS && atomic_load(&received) < 7 * (round + 1); k++) {
            if (form == CNO)
                wait_on_cno();
            else
                wait_in_set_or_directly();
        }
        for (int i = 0; i < RAILS; i++) told[i] += rails[i].got > before[i];
    }
    for (int i = 0; i < RAILS; i++)
        check_each(2 * told[i] > ROUNDS, "rail %d was served in %d of %d rounds", i, told[i],
                   ROUNDS);
    check_all("R49 four devices, %s: none starves while one gets four times as much",
              forms[wanted]);
    close_rails();
}

/* ---- The end of the thread ---- */

static void *send_always(void *arg)
{
    (void)arg;
    for (int i = 0; !atomic_load(&stopping); i++)
        if (i - atomic_load(&received) < RECEIVES / 2)
            send_on(&rails[i % RAILS]);
        else
            i--, sched_yield();
    return NULL;
}

/* `busy`: while messages arrive; else most likely asleep. */
static void stops(form_t wanted, bool busy)
{
    for (int round = 0; round < 50; round++) {
        pthread_t server, sender;
        const int descriptors = count_descriptors();
        const int until = busy ? (int)check_below(40) : 0;
        open_rails(wanted);
        pthread_create(&server, NULL, serve, NULL);
        if (busy) pthread_create(&sender, NULL, send_always, NULL);
        while (!atomic_load(&ready) || atomic_load(&received) < until) sched_yield();
        for (uint32_t k = check_below(60); k; k--) sched_yield();
        stop_server();
        pthread_join(server, NULL);
        if (busy) pthread_join(sender, NULL);
        close_rails();
        check_each(count_descriptors() == descriptors, "%d descriptors are left",
                   count_descriptors() - descriptors);
    }
    check_all("R49 IB-C8 the thread is stopped %s, and leaves nothing: %s",
              busy ? "while events arrive" : "in its sleep", forms[wanted]);
}

int main(int argc, char **argv)
{
    setenv("SOFTHCA_DEVICES", "4x1", 0); /* with real devices it means nothing */
    if (argc > 2) {
        form_t wanted = DIRECT;
        while (strcmp(argv[1], forms[wanted]) != 0) must(++wanted <= CNO, "direct, set or cno");
        wakes(wanted, atoi(argv[2]));
        return 0;
    }
    check_begin(argc, argv);
    waking();
    flood(SET);
    flood(CNO);
    for (int busy = 0; busy < 2; busy++) {
        stops(SET, busy);
        stops(CNO, busy);
    }
    return check_end();
}
