/* testbarrier.c - the barrier's truth table row by row, results, and thousands of phases.
 *
 * Every row is tried with each rank in turn as the odd one out, for each way of completing a
 * barrier.  The ranks are kept in step by AMs, never by the barrier under test.
 */
#include <sched.h>

#include "test.h"

enum { ANON = GASNET_BARRIERFLAG_ANONYMOUS, MISMATCH = GASNET_BARRIERFLAG_MISMATCH, NAMED = 0 };

enum way { WAIT, TRY, CALL, WAYS };
static const char *const way_name[] = {"wait", "try", "barrier"};
static enum way way;

static int on_ping_count;
static void on_ping(gasnet_token_t t)
{
    (void)t;
    test_add(&on_ping_count, 1);
}
enum { H_PING = 128 };
static gasnet_handlerentry_t table[] = {{H_PING, on_ping}};

/* Executes a phase, completed in the way under test; `wait_id` and flags may differ from
 * notify's. */
static int phase(int id, int flags, int wait_id, int wait_flags)
{
    if (way == CALL && id == wait_id && flags == wait_flags) return gasnet_barrier(id, flags);
    gasnet_barrier_notify(id, flags);
    if (way != TRY) return gasnet_barrier_wait(wait_id, wait_flags);
    int status;
    while ((status = gasnet_barrier_try(wait_id, wait_flags)) == GASNET_ERR_NOT_READY)
        sched_yield();
    return status;
}

static void expect(int status, int expected, const char *row, int odd, int id)
{
    test_check(status == expected, "%s by %s, odd rank %d, id %d: %s", row, way_name[way], odd, id,
               gasnet_ErrorName(status));
}

static void expect_result(bool named, int id, const char *row, int odd)
{
    int result_id = id ^ 12345; /* anything else */
    int unnamed = gasnet_barrier_result(&result_id);
    if (named)
        test_check(unnamed == 0 && result_id == id,
                   "%s, odd rank %d: result %d, id %d instead of %d", row, odd, unnamed, result_id,
                   id);
    else
        test_check(unnamed != 0, "%s, odd rank %d: result says named", row, odd);
}

static const int ids[] = {0, 1, -1, 77, 0x7fffffff, (int)0x80000000u, (int)0xdeadbeefu};

/* Runs `row` for every way, every odd rank and every id, and a plain phase after each. */
static void every_way(void (*row)(int odd, int id))
{
    for (int w = 0; w < WAYS; w++) {
        way = (enum way)w;
        for (int odd = 0; odd < test_size; odd++)
            for (int i = 0; i < TEST_COUNT(ids); i++) {
                if (test_size > 2 && (i + odd) % 3) continue;
                row(odd, ids[i]);
                expect(phase(9, NAMED, 9, NAMED), GASNET_OK, "phase after", odd, 9);
            }
    }
}

/* --- the rows --- */

static void row_all_same(int odd, int id)
{
    expect(phase(id, NAMED, id, NAMED), GASNET_OK, "all named alike", odd, id);
    expect_result(true, id, "all named alike", odd);
}

static void row_one_named(int odd, int id)
{
    const bool mine = test_rank == odd;
    int status = phase(mine ? id : ~id, mine ? NAMED : ANON, mine ? id : ~id, mine ? NAMED : ANON);
    expect(status, GASNET_OK, "one named, others anonymous", odd, id);
    expect_result(true, id, "one named, others anonymous", odd);
}

static void row_one_anonymous(int odd, int id)
{
    const bool mine = test_rank == odd;
    int status = phase(mine ? ~id : id, mine ? ANON : NAMED, mine ? ~id : id, mine ? ANON : NAMED);
    expect(status, GASNET_OK, "one anonymous, others named", odd, id);
    if (test_size > 1)
        expect_result(true, id, "one anonymous, others named", odd);
    else
        expect_result(false, id, "one anonymous, alone", odd);
}

static void row_nobody_named(int odd, int id)
{
    expect(phase(id ^ test_rank, ANON, ~id ^ test_rank, ANON), GASNET_OK, "all anonymous", odd, id);
    expect_result(false, 0, "all anonymous", odd);
}

static void row_unnamed(int odd, int id)
{
    const int flag = GASNET_BARRIERFLAG_UNNAMED;
    expect(phase(id, flag, id, flag), GASNET_OK, "all unnamed", odd, id);
    expect_result(false, 0, "all unnamed", odd);
}

static void row_two_names(int odd, int id)
{
    if (test_size == 1) return;
    const int mine = test_rank == odd ? id : id ^ 0x40000;
    expect(phase(mine, NAMED, mine, NAMED), GASNET_ERR_BARRIER_MISMATCH, "one named differently",
           odd, id);
}

/* B73: two names on each pair of ranks, all others anonymous. */
static void row_two_names_among_anonymous(int odd, int id)
{
    for (int other = 0; other < test_size; other++) {
        if (other == odd) continue;
        const bool named = test_rank == odd || test_rank == other;
        const int mine = test_rank == odd ? id : id ^ 1, flags = named ? NAMED : ANON;
        expect(phase(mine, flags, mine, flags), GASNET_ERR_BARRIER_MISMATCH, "two names", odd, id);
    }
}

static void row_mismatch_flag(int odd, int id)
{
    const int flags = test_rank == odd ? MISMATCH : id & 1 ? NAMED : ANON;
    expect(phase(id, flags, id, flags), GASNET_ERR_BARRIER_MISMATCH, "one with the mismatch flag",
           odd, id);
}

static void row_waits_for_another_name(int odd, int id)
{
    const bool mine = test_rank == odd;
    int status = phase(id, NAMED, mine ? id ^ 2 : id, NAMED);
    if (mine) expect(status, GASNET_ERR_BARRIER_MISMATCH, "notified N, waits W", odd, id);
}

static void row_anonymous_waits_for_wrong_name(int odd, int id)
{
    if (test_size == 1) return;
    const bool mine = test_rank == odd;
    int status = phase(id, mine ? ANON : NAMED, mine ? id ^ 2 : id, NAMED);
    if (mine) expect(status, GASNET_ERR_BARRIER_MISMATCH, "anonymous waits for W != V", odd, id);
}

static void row_anonymous_waits_for_right_name(int odd, int id)
{
    const bool mine = test_rank == odd && test_size > 1;
    int status = phase(mine ? 5 : id, mine ? ANON : NAMED, id, NAMED);
    expect(status, GASNET_OK, "anonymous waits for V", odd, id);
    expect_result(true, id, "anonymous waits for V", odd);
}

static void row_all_anonymous_wait_for_names(int odd, int id)
{
    expect(phase(0, ANON, id ^ test_rank, NAMED), GASNET_OK, "all anonymous, wait named", odd, id);
    expect_result(false, 0, "all anonymous, wait named", odd);
}

static void row_named_waits_anonymous(int odd, int id)
{
    expect(phase(id, NAMED, 0, ANON), GASNET_OK, "named, waits anonymous", odd, id);
    expect_result(true, id, "named, waits anonymous", odd);
}

#define ROW(name)                                                                                  \
    static void name(void)                                                                         \
    {                                                                                              \
        every_way(row_##name);                                                                     \
    }
ROW(all_same)
ROW(one_named)
ROW(one_anonymous)
ROW(nobody_named)
ROW(unnamed)
ROW(two_names)
ROW(two_names_among_anonymous)
ROW(mismatch_flag)
ROW(waits_for_another_name)
ROW(anonymous_waits_for_wrong_name)
ROW(anonymous_waits_for_right_name)
ROW(all_anonymous_wait_for_names)
ROW(named_waits_anonymous)

/* --- phases in numbers --- */

static void thousands_of_phases(void)
{
    for (int i = 0; i < test_iterations(4000); i++) {
        way = (enum way)(i % WAYS);
        int flags = i % 7 == 0                 ? GASNET_BARRIERFLAG_UNNAMED
                    : (i + test_rank) % 3 == 0 ? ANON
                                               : NAMED;
        if (!test_check(phase(i, flags, i, flags) == GASNET_OK, "phase %d", i)) return;
    }
}

/* Ranks take turns at being late; the others notify ahead.  No phase may run into the next:
   everybody's counter is put into everybody's segment and checked on leaving.  It is one byte: a
   larger number may be seen half written. */
static void phases_kept_apart(void)
{
    unsigned char *row = test_at(test_rank, 0);
    struct test_random random = test_random_for(70);
    volatile unsigned spin = 0;
    memset(row, 0, (size_t)test_size * sizeof *row);
    test_sync();
    for (int i = 1; i <= test_iterations(600); i++) {
        way = (enum way)(i % WAYS);
        for (unsigned k = 0; k < test_below(&random, 3000); k++) spin = spin + 1;
        for (int r = 0; r < test_size; r++)
            gasnet_put_val((gasnet_node_t)r, (char *)test_at(r, 0) + test_rank,
                           (gasnet_register_value_t)(i & 0xff), 1);
        if (!test_check(phase(i, NAMED, i, NAMED) == GASNET_OK, "phase %d", i)) return;
        for (int r = 0; r < test_size; r++) {
            int ahead = (__atomic_load_n(&row[r], __ATOMIC_ACQUIRE) - i) & 0xff;
            if (!test_check(ahead <= 1, "phase %d: rank %d is %d ahead", i, r, ahead)) return;
        }
    }
}

static void notify_does_not_block(void)
{
    /* Rank 0 notifies only after an AM from every other rank that has notified already. */
    on_ping_count = 0;
    test_sync();
    if (test_rank == 0) GASNET_BLOCKUNTIL(test_get(&on_ping_count) == test_size - 1);
    gasnet_barrier_notify(3, NAMED);
    if (test_rank != 0) gasnet_AMRequestShort0(0, H_PING);
    int status = gasnet_barrier_wait(3, NAMED);
    test_check(status == GASNET_OK, "wait: %d", status);
}

static void early_try_is_not_ready(void)
{
    if (test_size == 1) {
        test_skip("needs two ranks");
        return;
    }
    on_ping_count = 0;
    test_sync();
    if (test_rank == 0) {
        gasnet_barrier_notify(4, NAMED);
        for (int i = 0; i < 200; i++)
            test_check(gasnet_barrier_try(4, NAMED) == GASNET_ERR_NOT_READY,
                       "ready before rank 1 came");
        for (int r = 1; r < test_size; r++) gasnet_AMRequestShort0((gasnet_node_t)r, H_PING);
    } else {
        GASNET_BLOCKUNTIL(test_get(&on_ping_count) == 1);
        gasnet_barrier_notify(4, NAMED);
    }
    int status = gasnet_barrier_wait(4, NAMED);
    test_check(status == GASNET_OK, "wait: %d", status);
}

/* AMs, puts and gets between notify and wait; the barrier completes by polling alone. */
static void work_in_between(void)
{
    for (int i = 0; i < test_iterations(200); i++) {
        uint32_t back = 0, value = (uint32_t)(i * 64 + test_rank);
        gasnet_barrier_notify(i, NAMED);
        for (int k = 0; k < 10; k++) gasnet_AMRequestShort0((gasnet_node_t)test_next, H_PING);
        uint32_t *cell = (uint32_t *)test_at(test_next, 1024) + test_rank;
        gasnet_put(test_next, cell, &value, 4);
        gasnet_get(&back, (gasnet_node_t)test_next, cell, 4);
        test_check(back == value, "phase %d: %u instead of %u", i, back, value);
        int status = gasnet_barrier_wait(i, NAMED);
        test_check(status == GASNET_OK, "phase %d: %d", i, status);
    }
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"B70 B71 all named alike", all_same},
        {"B72 one named, all others anonymous", one_named},
        {"B72 one anonymous, all others named", one_anonymous},
        {"B70 no rank named", nobody_named},
        {"B70 unnamed on all", unnamed},
        {"B73 one name differs", two_names},
        {"B73 two names on each pair, others anonymous", two_names_among_anonymous},
        {"B74 mismatch flag on each single rank", mismatch_flag},
        {"3.7 notified N, waits for another name", waits_for_another_name},
        {"3.7 anonymous, waits for the wrong name", anonymous_waits_for_wrong_name},
        {"3.7 anonymous, waits for the right name", anonymous_waits_for_right_name},
        {"3.7 all anonymous, wait for any name", all_anonymous_wait_for_names},
        {"3.7 named, waits anonymous", named_waits_anonymous},
        {"3.7 notify does not block", notify_does_not_block},
        {"3.7 try before the others came", early_try_is_not_ready},
        {"3.7 communication between notify and wait", work_in_between},
        {"B70 thousands of phases", thousands_of_phases},
        {"B70 B78 a fast rank ahead: phases kept apart, puts visible", phases_kept_apart},
    };
    test_start(&argc, &argv, table, TEST_COUNT(table), 64 * 1024);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
