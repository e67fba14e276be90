/* testlock.c - handler-safe locks and no-interrupt sections: the legal cases, in every mode.
 *
 * Mutual exclusion between threads is testthreads' business.
 */
#include "test.h"

enum { H_LOCKED = 128, H_HOLD, H_DONE };

static gasnet_hsl_t lock_static = GASNET_HSL_INITIALIZER;
static gasnet_hsl_t lock_dynamic, lock_inner;
static int under_lock; /* changed only under lock_static, by handlers and the main program */
static int done;

static void on_locked(gasnet_token_t t)
{
    gasnet_hsl_lock(&lock_static);
    int before = under_lock;
    gasnet_hsl_lock(&lock_inner);
    under_lock = before + 1;
    gasnet_hsl_unlock(&lock_inner);
    gasnet_hsl_unlock(&lock_static);
    gasnet_AMReplyShort0(t, H_DONE);
}

/* hold without resume, and resume without hold, are ignored in handlers. */
static void on_hold(gasnet_token_t t, gasnet_handlerarg_t kind)
{
    if (kind & 1) gasnet_hold_interrupts();
    if (kind & 2) gasnet_resume_interrupts();
    gasnet_AMReplyShort0(t, H_DONE);
}

static void on_done(gasnet_token_t t)
{
    (void)t;
    test_add(&done, 1);
}

static gasnet_handlerentry_t table[] = {
    {H_LOCKED, on_locked}, {H_HOLD, on_hold}, {H_DONE, on_done}};

static void nested(void)
{
    gasnet_hsl_lock(&lock_static);
    gasnet_hold_interrupts(); /* ignored while a lock is held */
    gasnet_hsl_lock(&lock_dynamic);
    gasnet_resume_interrupts();
    gasnet_hsl_unlock(&lock_dynamic);
    gasnet_hsl_unlock(&lock_static);

    gasnet_hold_interrupts();
    gasnet_hsl_lock(&lock_static);
    test_check(gasnet_mynode() == (gasnet_node_t)test_rank, "mynode under a lock");
    gasnet_hsl_unlock(&lock_static);
    gasnet_resume_interrupts();
}

static void trylock(void)
{
    for (int i = 0; i < 1000; i++) {
        int status = gasnet_hsl_trylock(&lock_dynamic);
        if (!test_check(status == GASNET_OK, "trylock of a free lock: %d", status)) return;
        gasnet_hsl_unlock(&lock_dynamic);
    }
}

static void many_locks(void)
{
    enum { LOCKS = 1000 };
    gasnet_hsl_t *lock = malloc(LOCKS * sizeof *lock);
    for (int i = 0; i < LOCKS; i++) gasnet_hsl_init(&lock[i]);
    for (int i = 0; i < LOCKS; i++) gasnet_hsl_lock(&lock[i]);
    for (int i = LOCKS; i-- > 0;) gasnet_hsl_unlock(&lock[i]);
    for (int i = 0; i < LOCKS; i++) gasnet_hsl_destroy(&lock[i]);
    free(lock);
    static gasnet_hsl_t static_one = GASNET_HSL_INITIALIZER;
    gasnet_hsl_destroy(&static_one);
}

static void with_handlers(void)
{
    const int count = test_iterations(2000);
    test_sync();
    done = 0;
    under_lock = 0;
    test_sync();
    for (int i = 0; i < count; i++) {
        gasnet_AMRequestShort0((gasnet_node_t)test_next, H_LOCKED);
        gasnet_hsl_lock(&lock_static);
        under_lock++;
        gasnet_hsl_unlock(&lock_static);
    }
    GASNET_BLOCKUNTIL(test_get(&done) == count);
    test_sync();
    test_check(under_lock == 2 * count, "%d increments of %d", under_lock, 2 * count);
}

static void hold_in_handlers(void)
{
    test_sync();
    done = 0;
    test_sync();
    for (int i = 0; i < 400; i++)
        gasnet_AMRequestShort1((gasnet_node_t)(i & 4 ? test_next : test_rank), H_HOLD, i & 3);
    GASNET_BLOCKUNTIL(test_get(&done) == 400);
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"B93 nested locks, hold and resume around and inside", nested},
        {"B93 trylock of a free lock", trylock},
        {"B93 thousands of locks: init, lock, unlock, destroy", many_locks},
        {"B40 locks in handlers and main program: totals exact", with_handlers},
        {"B93 hold and resume in handlers are ignored", hold_in_handlers},
    };
    test_start(&argc, &argv, table, TEST_COUNT(table), 0);
    gasnet_hsl_init(&lock_dynamic);
    gasnet_hsl_init(&lock_inner);
    test_run(rules, TEST_COUNT(rules));
    gasnet_hsl_destroy(&lock_dynamic);
    test_finish();
}
