/* once.c - eight threads mix the calls that DAT makes safe beside one another, on one EVD and its
 * CNO: each event is delivered exactly once (R7).
 *
 * TEST_EVENTS says how many; `make soak` has ten millions, as the requirement. A lost wake-up shows
 * as a program that does not end: the alarm ends it.
 */
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "other/dapl/tests/mock.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { EVENTS = 40000 };
#else
enum { EVENTS = 400000 };
#endif
enum { AHEAD = 256, RECORDS = 4 * AHEAD, BOUND = 1500 };

static world_t world;
static dapl_evd_t *evd;
static dapl_cno_t *cno;
static uint64_t wanted;

static _Atomic uint8_t *seen;           /* of each event, by its number */
static _Atomic uint64_t taken[2];       /* events of each producer */
static _Atomic uint64_t twice, strange; /* delivered again; no event of a producer */
static dapl_work_t records[RECORDS];    /* of the completions in flight */

/* How each consumer came by its events. */
static _Atomic uint64_t dequeued, waited, notified, changes;

static bool over(void)
{
    return atomic_load(&taken[0]) + atomic_load(&taken[1]) >= wanted;
}

static void take(const DAT_EVENT *event, _Atomic uint64_t *way)
{
    uint64_t number = number_of(event);
    if (number >= wanted)
        strange++;
    else if (atomic_exchange(&seen[number], 1))
        twice++;
    else
        taken[number & 1]++;
    (*way)++;
}

/* Even numbers are software events, odd ones completions. */
static void await_room(uint64_t number)
{
    while (number / 2 - atomic_load(&taken[number & 1]) >= AHEAD) sched_yield();
}

static void *post_even(void *unused)
{
    for (uint64_t number = 0; number < wanted; number += 2) {
        await_room(number);
        while (post_number(evd, number) != DAT_SUCCESS) sched_yield();
    }
    return unused;
}

static void *complete_odd(void *unused)
{
    for (uint64_t number = 1; number < wanted; number += 2) {
        dapl_work_t *work = &records[number / 2 % RECORDS];
        await_room(number);
        work->event.user_cookie.as_64 = number;
        mock_complete(evd, work, IBV_WC_SUCCESS);
    }
    return unused;
}

static void *dequeue(void *unused)
{
    DAT_EVENT event;
    while (!over()) {
        if (dapl_evd_dequeue(evd, &event) == DAT_SUCCESS)
            take(&event, &dequeued);
        else
            sched_yield();
    }
    return unused;
}

static void *wait_for_one(void *seed)
{
    DAT_EVENT event;
    DAT_COUNT nmore;
    uint64_t random = *(uint64_t *)seed;
    while (!over()) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        int64_t timeout = (int64_t)(random >> 50) * 4;
        if (dapl_evd_wait_ns(evd, timeout, 1 + (random >> 33 & 1), &event, &nmore) == DAT_SUCCESS)
            take(&event, &waited);
        sched_yield();
    }
    return NULL;
}

static void *wait_for_trigger(void *unused)
{
    DAT_EVENT event;
    dapl_evd_t *told;
    while (!over())
        if (dapl_cno_wait_ns(cno, 1000000, &told) == DAT_SUCCESS)
            while (dapl_evd_dequeue(told, &event) == DAT_SUCCESS) take(&event, &notified);
    return unused;
}

static void *change(void *unused)
{
    for (; !over(); changes++) {
        dapl_cno_t *other = cno_of(&world);
        dapl_evd_disable(evd);
        dapl_evd_set_unwaitable(evd);
        sched_yield();
        dapl_evd_clear_unwaitable(evd);
        dapl_evd_enable(evd);
        dapl_cno_free(other);
        for (int i = 0; i < 20; i++) sched_yield();
    }
    return unused;
}

static void mix(mock_kind_t kind)
{
    void *(*const runs[])(void *) = {post_even, complete_odd, dequeue,          dequeue,
                                     dequeue,   wait_for_one, wait_for_trigger, change};
    enum { THREADS = sizeof runs / sizeof *runs };
    thread_t threads[THREADS];
    uint64_t seed = check_random(), missing = 0;
    world_open_with(&world, kind, false);
    cno = cno_of(&world);
    evd = evd_of(&world, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, 2 * AHEAD, cno);
    seen = calloc(wanted, sizeof *seen);
    check_each(seen != NULL, "memory");
    atomic_store(&taken[0], 0);
    atomic_store(&taken[1], 0);
    dequeued = waited = notified = changes = 0;
    for (int i = 0; i < THREADS; i++) thread_begin(&threads[i], runs[i], &seed);
    for (int i = 0; i < THREADS; i++) thread_join(&threads[i]);
    for (uint64_t i = 0; i < wanted; i++) missing += !atomic_load(&seen[i]);
    DAT_EVENT event;
    check_each(!missing && !twice && !strange, "%llu missing, %llu twice, %llu strange",
               (unsigned long long)missing, (unsigned long long)twice, (unsigned long long)strange);
    check_each(dapl_evd_dequeue(evd, &event) == BARE(DAT_QUEUE_EMPTY), "one too many");
    check_all("R7 R19 R23 R50 %d threads, %llu events, each exactly once, %s", THREADS,
              (unsigned long long)wanted, mock_kind_name(kind));
    check_note("%llu dequeued, %llu by waits, %llu by triggers; %llu changes of the state",
               (unsigned long long)dequeued, (unsigned long long)waited,
               (unsigned long long)notified, (unsigned long long)changes);
    free(seen);
    dapl_evd_free(evd);
    dapl_cno_free(cno);
    world_close(&world);
}

int main(int argc, char **argv)
{
    const char *wish = getenv("TEST_EVENTS");
    wanted = wish && atoll(wish) > 0 ? (uint64_t)atoll(wish) : EVENTS;
    check_begin(argc, argv);
    if (wish) alarm(BOUND);
    for (mock_kind_t kind = MOCK_EDGE; kind < MOCK_KINDS; kind++) mix(kind);
    return check_end();
}
