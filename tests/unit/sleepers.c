/* sleepers.c - a thread that sleeps on the futex word of other/base/hostmem/sleepers.h is woken:
 * the word itself between threads, a waiting thread's state machine, and the barrier's word.
 *
 * No sleep in these tests may reach its limit, which is far longer than any of them takes: a sleep
 * that does has lost its wake-up.
 */
#include "other/base/hostmem/sleepers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/progress/backoff.h"
#include "extended-ref/barrier/words.h"
#include "tests/unit/check.h"

enum { THREADS = 4, LIMIT_US = 20 * 1000 * 1000 };

static hostmem_sleepers_t *sleepers;
static atomic_uint late;                  /* sleeps that reached their limit */
static _Atomic uint32_t carrier[THREADS]; /* words of another carrier, by index */

static void sleep_for(uint32_t place, uint32_t wakes)
{
    if (!hostmem_sleepers_sleep(sleepers, place, wakes, LIMIT_US)) atomic_fetch_add(&late, 1);
}

/* --- letters from one thread to another --- */

enum { LETTERS = 3000 };
static _Atomic uint32_t letter[THREADS]; /* the number of the last letter to an index */

static void send(uint32_t to, uint32_t number, bool by_carrier)
{
    atomic_store_explicit(&letter[to], number, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    if (!by_carrier)
        hostmem_wake(sleepers, to);
    else if (atomic_load_explicit(&carrier[to], memory_order_relaxed) &&
             atomic_exchange(&carrier[to], 0))
        hostmem_wake(sleepers, to);
}

static void await(uint32_t me, uint32_t number)
{
    while (atomic_load_explicit(&letter[me], memory_order_acquire) < number) {
        const uint32_t wakes = hostmem_sleepers_arm(sleepers, me, &carrier[me], me + 1, false);
        if (atomic_load_explicit(&letter[me], memory_order_acquire) >= number) return;
        sleep_for(me, wakes);
    }
}

/* A letter goes round; each thread sleeps until it has it. */
static void *pass_on(void *number)
{
    const uint32_t me = (uint32_t)(uintptr_t)number, next = (me + 1) % THREADS;
    for (uint32_t i = 1; i <= LETTERS; i++) {
        if (me == 0) send(next, i, i % 2);
        await(me, i);
        if (me != 0) send(next, i, i % 3 == 0);
    }
    return NULL;
}

/* --- a barrier of all --- */

enum { PHASES = 3000 };
static gasnete_barrier_words_t host;
static atomic_uint wrong;

static void *meet(void *number)
{
    const uint32_t me = (uint32_t)(uintptr_t)number;
    for (uint32_t i = 0; i < PHASES; i++) {
        const gasnete_barrier_value_t mine = {
            i % THREADS == me ? GASNETE_BARRIER_NAMED : GASNETE_BARRIER_NONE, (int32_t)i};
        gasnete_barrier_value_t all = mine;
        const uint8_t parity = i % 2;
        if (gasnete_barrier_words_notify(&host, parity, mine, THREADS)) {
            if (!gasnete_barrier_words_joined(&host, parity, THREADS, &all))
                atomic_fetch_add(&wrong, 1);
            gasnete_barrier_words_end(&host, parity, all);
            hostmem_wake_all(sleepers);
        }
        while (!gasnete_barrier_words_complete(&host, parity, &all)) {
            const uint32_t wakes = hostmem_sleepers_arm(sleepers, me, NULL, 0, true);
            if (gasnete_barrier_words_complete(&host, parity, &all)) break;
            sleep_for(me, wakes);
        }
        if (all.kind != GASNETE_BARRIER_NAMED || all.id != (int32_t)i) atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

static void run_all(void *(*run)(void *))
{
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

/* Tests watching; no thread sleeps. */
static void watches(void)
{
    const uint32_t wakes = sleepers->wakes;
    _Atomic uint32_t other_carrier = 0;
    hostmem_sleepers_watch(sleepers, 0, &other_carrier, 7);
    check(sleepers->asleep[0] != 0 && other_carrier == 7, "a watched place has its flags set");
    hostmem_wake(sleepers, 0);
    check(sleepers->asleep[0] == 0 && sleepers->wakes == wakes,
          "a wake-up clears the flag, and wakes nobody");
    const uint32_t armed = hostmem_sleepers_arm(sleepers, 0, NULL, 0, true);
    hostmem_sleepers_watch(sleepers, 0, NULL, 0);
    hostmem_wake(sleepers, 0);
    check(hostmem_sleepers_sleep(sleepers, 0, armed, LIMIT_US),
          "a wake-up of an index that one thread watches ends the sleep of another");
}

static void sleepers_words(void)
{
    if (!hostmem_sleepers_prepare()) {
        check(true, "a word to sleep on # SKIP membarrier is refused here");
        return;
    }
    sleepers = calloc(1, hostmem_sleepers_size(THREADS));
    atomic_init(&sleepers->wakes, UINT32_MAX - LETTERS); /* its count of wake-ups passes the wrap */
    run_all(pass_on);
    check(late == 0, "a letter round %d sleeping threads: %u wake-ups lost", THREADS, late);
    late = 0;
    run_all(meet);
    check(late == 0, "a barrier of %d sleeping threads: %u wake-ups lost", THREADS, late);
    check(wrong == 0, "whose phases have the value that one of them named");
    memset(sleepers, 0, hostmem_sleepers_size(THREADS));
    const uint32_t wakes = hostmem_sleepers_arm(sleepers, 0, NULL, 0, false);
    hostmem_wake(sleepers, 1);
    check(!hostmem_sleepers_sleep(sleepers, 0, wakes, 1000),
          "a wake-up of another does not end a sleep");
    hostmem_wake(sleepers, 0);
    check(hostmem_sleepers_sleep(sleepers, 0, wakes, LIMIT_US), "one before the sleep prevents it");
    watches();
    free(sleepers);
}

/* --- the state machine of a waiting thread --- */

static void backs_off(void)
{
    gasnetc_backoff_t backoff = {.fruitless = 0};
    bool whole = true;
    for (int i = 0; i < GASNETC_BACKOFF_PATIENCE; i++)
        whole = whole && gasnetc_backoff_next(&backoff, 20, 1000) == GASNETC_BACKOFF_GO_ON;
    check(whole, "a thread first only yields");
    for (int i = 0; i < 2 * GASNETC_BACKOFF_PATIENCE; i++)
        whole = whole && gasnetc_backoff_next(&backoff, 20, GASNETC_BACKOFF_LEAST_US - 1) ==
                             GASNETC_BACKOFF_GO_ON;
    check(whole, "and goes on so while it may not sleep for long");
    for (uint32_t us = 20, i = 0; i < 8; i++) {
        whole = whole && gasnetc_backoff_next(&backoff, 20, 1000) == GASNETC_BACKOFF_ARM;
        whole = whole && backoff.brief == (i == 0) && backoff.us == us;
        whole = whole && gasnetc_backoff_next(&backoff, 20, 1000) == GASNETC_BACKOFF_SLEEP &&
                backoff.us == us;
        us = 2 * us < 1000 ? 2 * us : 1000;
    }
    check(whole,
          "then it arms before each sleep, and sleeps twice as long each time, up to a limit");
    gasnetc_backoff_next(&backoff, 20, 1000);
    gasnetc_backoff_found(&backoff);
    check(gasnetc_backoff_next(&backoff, 20, 1000) == GASNETC_BACKOFF_GO_ON,
          "who has found something starts anew");
    backoff = (gasnetc_backoff_t){.fruitless = 0};
    for (int i = 0; i < 5 * GASNETC_BACKOFF_PATIENCE; i++) {
        whole = whole && gasnetc_backoff_others_got_on(&backoff);
        whole = whole && gasnetc_backoff_next(&backoff, 20, 1000) == GASNETC_BACKOFF_GO_ON;
    }
    check(whole, "it only yields while others get on");
    while (gasnetc_backoff_next(&backoff, 20, 1000) != GASNETC_BACKOFF_ARM) continue;
    whole = whole && !gasnetc_backoff_others_got_on(&backoff);
    check(whole && gasnetc_backoff_next(&backoff, 20, 1000) == GASNETC_BACKOFF_SLEEP,
          "but polls and sleeps once it has armed");
    gasnetc_backoff_others_got_on(&backoff);
    for (int i = 0; i < GASNETC_BACKOFF_PATIENCE; i++)
        whole = whole && gasnetc_backoff_next(&backoff, 20, 1000) == GASNETC_BACKOFF_GO_ON;
    check(whole && gasnetc_backoff_next(&backoff, 20, 1000) == GASNETC_BACKOFF_ARM &&
              backoff.us == 40,
          "and after a sleep it yields again, and the next one is longer");
}

/* --- the barrier's word --- */

static const gasnete_barrier_value_t values[] = {{GASNETE_BARRIER_NONE, 0},
                                                 {GASNETE_BARRIER_NAMED, 0},
                                                 {GASNETE_BARRIER_NAMED, -1},
                                                 {GASNETE_BARRIER_NAMED, INT32_MIN},
                                                 {GASNETE_BARRIER_MISMATCH, 0}};
enum { VALUES = sizeof values / sizeof *values };

static bool same(gasnete_barrier_value_t a, gasnete_barrier_value_t b)
{
    return a.kind == b.kind && (a.kind != GASNETE_BARRIER_NAMED || a.id == b.id);
}

static void barrier_words(void)
{
    for (int round = 0; round < 1000; round++) {
        const uint32_t size = 1 + check_below(300);
        gasnete_barrier_words_t some = {{0, 0}, {0, 0}};
        for (uint8_t phase = 1; phase < 4; phase++) {
            gasnete_barrier_value_t all = values[0], found;
            for (uint32_t i = 0; i < size; i++) {
                const gasnete_barrier_value_t mine = values[check_below(VALUES)];
                check_each(!gasnete_barrier_words_joined(&some, phase % 2, size, &found) &&
                               !gasnete_barrier_words_complete(&some, phase % 2, &found),
                           "complete after %u of %u", i, size);
                all = gasnete_barrier_join(all, mine);
                check_each(gasnete_barrier_words_notify(&some, phase % 2, mine, size) ==
                               (i == size - 1),
                           "the last of %u is %u", size, i);
            }
            check_each(gasnete_barrier_words_joined(&some, phase % 2, size, &found) &&
                           same(found, all) &&
                           !gasnete_barrier_words_complete(&some, phase % 2, &found),
                       "%u nodes: another value", size);
            gasnete_barrier_words_end(&some, phase % 2, values[phase]);
            check_each(gasnete_barrier_words_complete(&some, phase % 2, &found) &&
                           same(found, values[phase]),
                       "%u nodes: another value of the job", size);
        }
    }
    check_all("a barrier's word counts the nodes and joins their values");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    backs_off();
    barrier_words();
    sleepers_words();
    return check_end();
}
