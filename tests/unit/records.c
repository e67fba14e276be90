/* records.c - unit test of extended-ref/records.c: records that one thread starts and another frees
 * go round, and no more are allocated than are outstanding at once and a few batches.
 */
#include "extended-ref/records.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/report.h"
#include "tests/unit/check.h"

enum { AT_ONCE = 100, ROUNDS = 20000, PAIRS = 4 };

void gasneti_fatal(const char *format, ...)
{
    (void)format;
    abort();
}

static gasnete_reserve_t reserve = {.size = sizeof(gasnete_op_t)};

static gasnete_op_t *take(gasnete_pool_t *pool)
{
    if (!pool->free) {
        uint32_t count;
        gasnete_op_t *made = gasnete_pool_refill(pool, &reserve, &count);
        while (made && count-- > 0) gasnete_op_push(pool, &made[count]);
    }
    return gasnete_op_pop(pool, GASNETE_OP_HANDLE);
}

/* Two threads: one takes, the other frees. Records pass in a ring of one writer and one reader. */
struct pair {
    pthread_t starter, waiter;
    gasnete_pool_t starts, waits;
    gasnete_op_t *_Atomic ring[AT_ONCE];
    unsigned busy; /* records that were lent while their operation was outstanding */
};

static void *start(void *arg)
{
    struct pair *p = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        gasnete_op_t *_Atomic *slot = &p->ring[i % AT_ONCE];
        while (atomic_load(slot)) sched_yield();
        gasnete_op_t *op = take(&p->starts);
        p->busy += !gasnetc_counter_done(&op->counter);
        op->counter.issued++;
        atomic_store(slot, op);
    }
    return NULL;
}

static void *wait(void *arg)
{
    struct pair *p = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        gasnete_op_t *op, *_Atomic *slot = &p->ring[i % AT_ONCE];
        while (!(op = atomic_load(slot))) sched_yield();
        gasnetc_counter_ack(&op->counter);
        gasnete_op_push(&p->waits, op);
        atomic_store(slot, NULL);
    }
    return NULL;
}

static void handed_over(void)
{
    static struct pair pairs[PAIRS];
    uint32_t made = 0;
    for (int i = 0; i < PAIRS; i++) {
        pthread_create(&pairs[i].starter, NULL, start, &pairs[i]);
        pthread_create(&pairs[i].waiter, NULL, wait, &pairs[i]);
    }
    for (int i = 0; i < PAIRS; i++) {
        pthread_join(pairs[i].starter, NULL);
        pthread_join(pairs[i].waiter, NULL);
        made += pairs[i].starts.made;
        check_each(pairs[i].waits.made == 0, "a thread that only waits makes none");
        check_each(pairs[i].busy == 0, "a record that is lent is free");
    }
    check(made <= PAIRS * 4 * (AT_ONCE + GASNETE_BATCH),
          "%u records serve %u hand-overs of %u at once", made, PAIRS * ROUNDS, PAIRS * AT_ONCE);
}

static void one_thread(void)
{
    static gasnete_pool_t pool;
    gasnete_op_t *op[3 * GASNETE_BATCH];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3 * GASNETE_BATCH; i++) op[i] = take(&pool);
        for (int i = 0; i < 3 * GASNETE_BATCH; i++) gasnete_op_push(&pool, op[i]);
    }
    check(pool.made == 4 * GASNETE_BATCH && !pool.strays, "a pool doubles, and keeps its own");
}

static void strays(void)
{
    static gasnete_pool_t a, b;
    static gasnete_op_t *op[GASNETE_BATCH]; /* static: for the leak checker */
    for (int i = 0; i < GASNETE_BATCH; i++) op[i] = take(&a);
    for (int i = 0; i < GASNETE_BATCH - 1; i++) gasnete_op_push(&b, op[i]);
    check(b.stray_count == GASNETE_BATCH - 1 && !b.free, "strays wait apart");
    check(take(&b)->home == &b && b.made == 0 && !b.strays, "an empty pool takes its strays");
    for (int i = 0; i < GASNETE_BATCH - 2; i++) take(&b);
    check(!b.free && b.made == 0, "and no others yet");
}

int main(void)
{
    one_thread();
    strays();
    handed_over();
    return check_end();
}
