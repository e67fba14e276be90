/* rules_cno.c - the rules of notification objects: triggers, crowds of waiters, many EVDs, a change
 * of the CNO, agents, the form with a descriptor, several interfaces and their end. Each on a
 * device under the test's control.
 *
 * The number in a name is a requirement (R) or a fault of uDAPL 2.1.10 (U); other/dapl/README.md
 * lists both.
 */
#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "other/dapl/tests/waiters.h"
#include "tests/descriptors.h"

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
    check(dequeue_all(evd) == 1 && told(cno, evd),
          "R13 a trigger is kept though its event is dequeued: %s", kind);
    check(untriggered(cno), "R13 ... for one wait: %s", kind);
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
    calm(cno);

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
    calm(cno);

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
    taken_t agent = {.cno = NULL};
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

static int threads_now(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(dir));) n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void many(world_t *world)
{
    enum { MANY = 400 };
    dapl_evd_t *evds[MANY];
    int threads = threads_now(), descriptors = count_descriptors();
    dapl_cno_t *cno = cno_of(world);
    for (int i = 0; i < MANY; i++) evds[i] = evd_of(world, DAT_EVD_DTO_FLAG, 8, cno);
    check(threads_now() == threads, "R28 no thread for %d completion queues", MANY);
    check(count_descriptors() - descriptors <= MANY + 2, "R28 one descriptor for each");
    bool all = true;
    for (int i = MANY - 1; i >= 0; i--) {
        complete(evds[i]);
        all &= told(cno, evds[i]) && dequeue_all(evds[i]) == 1;
    }
    check(all, "R18 R42 the CNO names the EVD, among %d", MANY);
    for (int i = 0; i < MANY; i++) dapl_evd_free(evds[i]);
    check(dapl_cno_free(cno) == DAT_SUCCESS && count_descriptors() == descriptors,
          "R28 all descriptors are closed");
}

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
    calm(cno);
    ARRIVE(evd);
    if (!software) told(cno, evd), post_number(other, 1); /* consumed: see below */
    dequeue_all(evd);
    calm(cno);
    dapl_evd_modify_cno(other, cno);
    dequeue_all(other);
    calm(cno);
    post_number(other, 1);
    agency.other = NULL;
    dapl_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){&agency, act});
    ARRIVE(evd);
    dapl_evd_enable(evd);
    check(agency.calls == 1, "R14 a trigger in the triggered state calls no agent: %s", kind);
    dapl_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
    dequeue_all(evd);
    dapl_evd_modify_cno(other, NULL);
    calm(cno);
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

/* An agent that stays until the other thread is inside dapl_evd_free, or might be. */
typedef struct stay {
    dapl_cno_t *cno;
    dapl_evd_t *evd;
    _Atomic int inside, looks, frees;
} stay_t;

static void stay(DAT_PVOID instance, DAT_EVD_HANDLE handle)
{
    stay_t *stay = instance;
    DAT_EVENT event;
    (void)handle;
    atomic_store(&stay->inside, 1);
    for (int i = 0; i < 5000; i++) {
        if (dapl_evd_dequeue(stay->evd, &event) == DAT_SUCCESS) stay->looks++;
        sched_yield();
    }
    stay->looks++;
}

static void free_both(DAT_PVOID instance, DAT_EVD_HANDLE handle)
{
    stay_t *stay = instance;
    if (!handle) return; /* the last EVD is freed */
    stay->frees += dapl_evd_free(stay->evd) == DAT_SUCCESS;
    stay->frees += dapl_cno_free(stay->cno) == DAT_SUCCESS;
}

static void *post_one(void *arg)
{
    stay_t *stay = arg;
    post_number(stay->evd, 1);
    return NULL;
}

static void frees(world_t *world)
{
    thread_t thread;
    stay_t own = {.cno = cno_of(world)};
    own.evd = evd_of(world, DAT_EVD_SOFTWARE_FLAG, 8, own.cno);
    dapl_cno_modify_agent(own.cno, (DAT_OS_WAIT_PROXY_AGENT){&own, stay});
    thread_begin(&thread, post_one, &own);
    while (!atomic_load(&own.inside)) sched_yield();
    dapl_cno_modify_agent(own.cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
    bool good = dapl_evd_free(own.evd) == DAT_SUCCESS && own.looks == 2;
    check(good && dapl_cno_free(own.cno) == DAT_SUCCESS,
          "R5 R23 an EVD is freed when the agent that another thread calls has returned");
    thread_join(&thread);
    stay_t given = {.cno = cno_of(world)};
    given.evd = evd_of(world, DAT_EVD_SOFTWARE_FLAG, 8, given.cno);
    dapl_cno_modify_agent(given.cno, (DAT_OS_WAIT_PROXY_AGENT){&given, free_both});
    thread_begin(&thread, post_one, &given);
    thread_join(&thread);
    check(given.frees == 2, "R5 an agent may free its EVD and its CNO");
}

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

/* Instead of dapl_os_set_sleep, by the linker: an event comes when the time is over, before the
 * sleeper knows it. */
static dapl_evd_t *late;
int __real_dapl_os_set_sleep(int set, int64_t deadline, uint64_t *keys, int most);
int __wrap_dapl_os_set_sleep(int set, int64_t deadline, uint64_t *keys, int most);
int __wrap_dapl_os_set_sleep(int set, int64_t deadline, uint64_t *keys, int most)
{
    int readable = __real_dapl_os_set_sleep(set, deadline, keys, most);
    dapl_evd_t *evd = readable == 0 ? late : NULL;
    if (!evd) return readable;
    late = NULL;
    post_number(evd, 1);
    return readable;
}

static void expiry(world_t *world)
{
    dapl_cno_t *cno = cno_of(world);
    dapl_evd_t *evd = evd_of(world, DAT_EVD_SOFTWARE_FLAG, 4, cno), *got;
    late = evd;
    DAT_RETURN result = dapl_cno_wait(cno, 10, &got);
    bool kept = result == DAT_SUCCESS ? got == evd : told(cno, evd);
    check(!late && kept && dequeue_all(evd) == 1,
          "R25 U1 a trigger that comes at the expiry is told, or kept for the next wait");
    dapl_evd_free(evd);
    dapl_cno_free(cno);
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

int main(int argc, char **argv)
{
    world_t world;
    check_begin(argc, argv);
    for (mock_kind_t kind = MOCK_EDGE; kind <= MOCK_LEVEL; kind++) {
        world_open_with(&world, kind, false);
        triggers(&world, false);
        triggers(&world, true);
        moving(&world, true);
        moving(&world, false);
        agents(&world, false);
        agents(&world, true);
        frees(&world);
        descriptors(&world);
        world_close(&world);
    }
    world_open(&world);
    many(&world);
    crowd(&world);
    spanning(&world);
    expiry(&world);
    world_close(&world);
    ending();
    return check_end();
}
