/* diagnostics.c - gasnett_run_diagnostics: self-tests that a client may run in its own job.
 *
 * Written as a client: it uses only what gasnet.h declares.  The library itself must not call it,
 * so that programs that do not use it do not link it.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gasnet.h"

#include "gasnet_tools.h"

/* Arguments of one call of gasnett_run_diagnostics.  */
struct run {
    int iters, threads;
    const gasnet_seginfo_t *segments;
};

/* --- a, m: atomics and mutexes --- */

static struct {
    gasnett_strongatomic64_t atomic;
    gasnett_mutex_t mutex;
    uint64_t guarded;
} shared = {gasnett_strongatomic64_init(0), GASNETT_MUTEX_INITIALIZER, 0};

static void *diagnostics_count_atomic(void *iters)
{
    for (int i = 0; i < *(const int *)iters; i++) {
        gasnett_strongatomic64_increment(&shared.atomic, GASNETT_ATOMIC_NONE);
        (void)gasnett_strongatomic64_add(&shared.atomic, 2, GASNETT_ATOMIC_NONE);
        uint64_t seen;
        do seen = gasnett_strongatomic64_read(&shared.atomic, GASNETT_ATOMIC_NONE);
        while (!gasnett_strongatomic64_compare_and_swap(&shared.atomic, seen, seen + 4,
                                                        GASNETT_ATOMIC_NONE));
    }
    return NULL;
}

static void *diagnostics_count_mutex(void *iters)
{
    for (int i = 0; i < *(const int *)iters; i++) {
        gasnett_mutex_lock(&shared.mutex);
        shared.guarded++;
        gasnett_mutex_unlock(&shared.mutex);
    }
    return NULL;
}

/* Runs `body` in run->threads threads; returns the number that could be started.  */
static int diagnostics_in_threads(const struct run *run, void *(*body)(void *))
{
    int iters = run->iters, started = 0;
    pthread_t *others = calloc((size_t)run->threads, sizeof *others);
    while (others && started < run->threads - 1 &&
           !pthread_create(&others[started], NULL, body, &iters))
        started++;
    body(&iters);
    for (int i = 0; i < started; i++) pthread_join(others[i], NULL);
    free(others);
    return started + 1;
}

static bool test_atomics(const struct run *run)
{
    gasnett_strongatomic64_set(&shared.atomic, 0, GASNETT_ATOMIC_NONE);
    int threads = diagnostics_in_threads(run, diagnostics_count_atomic);
    return gasnett_strongatomic64_read(&shared.atomic, GASNETT_ATOMIC_NONE) ==
           (uint64_t)threads * (uint64_t)run->iters * 7;
}

static bool test_mutex(const struct run *run)
{
    shared.guarded = 0;
    int threads = diagnostics_in_threads(run, diagnostics_count_mutex);
    return shared.guarded == (uint64_t)threads * (uint64_t)run->iters;
}

/* --- t: time --- */

static bool test_timer(const struct run *run)
{
    gasnett_tick_t last = gasnett_ticks_now();
    for (int i = 0; i < run->iters; i++) {
        gasnett_tick_t now = gasnett_ticks_now();
        if (now < last) return false;
        last = now;
    }
    return true;
}

/* --- s: the segment of the right neighbour --- */

/* Tests puts and gets in the segment of the next rank; restores its contents afterwards.  */
static bool test_segment(const struct run *run)
{
    uint64_t kept, sent, got = 0;
    gasnet_node_t right = (gasnet_node_t)((gasnet_mynode() + 1) % gasnet_nodes());
    if (run->segments[right].size < sizeof kept) return true; /* its segment is too small */
    void *there = run->segments[right].addr;
    if (!there) return true; /* all memory is the segment, and no part is known to be free */
    bool good = true;
    gasnet_get(&kept, right, there, sizeof kept);
    for (int i = 0; good && i < run->iters; i++) {
        sent = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(i + 1) + gasnet_mynode();
        gasnet_put(right, there, &sent, sizeof sent);
        gasnet_get(&got, right, there, sizeof got);
        good = got == sent;
    }
    gasnet_put(right, there, &kept, sizeof kept);
    return good;
}

/* --- the sections --- */

static const struct section {
    char letter;
    const char *name;
    bool (*test)(const struct run *run);
} sections[] = {
    {'a', "atomics", test_atomics},
    {'m', "mutexes", test_mutex},
    {'t', "timer", test_timer},
    {'s', "puts and gets", test_segment},
};

static void diagnostics_barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

int gasnett_run_diagnostics(int iters, int threads, const char *letters,
                            gasnet_seginfo_t const *seginfo)
{
    struct run run = {iters > 0 ? iters : 1, threads > 0 ? threads : 1, seginfo};
    int failed = 0;
#ifndef GASNET_PAR
    run.threads = 1; /* atomics and mutexes are not thread-safe in SEQ */
#endif
    diagnostics_barrier();
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (letters && *letters && !strchr(letters, sections[i].letter)) continue;
        if (sections[i].test == test_segment && !seginfo) continue;
        bool good = sections[i].test(&run);
        failed += !good;
        if (!good || gasnet_mynode() == 0)
            fprintf(stderr, "gasnet diagnostics: node %d: %c (%s) %s\n", (int)gasnet_mynode(),
                    sections[i].letter, sections[i].name, good ? "passed" : "FAILED");
        diagnostics_barrier();
    }
    return failed;
}

/* None of the tests needs a handler of its own. */
void gasnett_diagnostic_gethandlers(gasnet_handlerentry_t **table, int *numentries)
{
    static gasnet_handlerentry_t none[1];
    *table = none;
    *numentries = 0;
}
