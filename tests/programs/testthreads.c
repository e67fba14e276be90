/* testthreads.c - PAR only: every call from several client threads at once.
 *
 * Each thread has its own stripe of the successor's segment and its own counters; totals and
 * contents must be exact.  Threads of one process meet at pthread barriers, never at sleeps.
 */
#include <pthread.h>
#include <sched.h>

#include "test.h"

#include <gasnet_tools.h>

enum { THREADS = 4, STRIPE = 64 * 1024, SEGMENT = 2 * THREADS * STRIPE };
enum { H_COUNT = 128, H_ECHO, H_ECHOED, H_MEDIUM, H_LOCKED, H_LONG };

struct worker {
    int id;
    int echoed; /* moved by handlers on whatever thread */
    pthread_t thread;
    void *info;
};
static struct worker worker[THREADS];
static pthread_barrier_t meet; /* THREADS */
static int counted, longs;

static void on_count(gasnet_token_t t)
{
    (void)t;
    test_add(&counted, 1);
}

static void on_echo(gasnet_token_t t, gasnet_handlerarg_t thread)
{
    gasnet_AMReplyShort1(t, H_ECHOED, thread);
}

static void on_medium(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t thread,
                      gasnet_handlerarg_t key)
{
    test_check(test_mismatch(buf, n, (uint64_t)key) < 0, "Medium of %zu bytes damaged", n);
    gasnet_AMReplyShort1(t, H_ECHOED, thread);
}

static void on_long(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t thread,
                    gasnet_handlerarg_t key)
{
    test_check(test_mismatch(buf, n, (uint64_t)key) < 0, "Long of %zu bytes damaged", n);
    test_add(&longs, 1);
    gasnet_AMReplyShort1(t, H_ECHOED, thread);
}

static void on_echoed(gasnet_token_t t, gasnet_handlerarg_t thread)
{
    (void)t;
    test_add(&worker[thread].echoed, 1);
}

static gasnet_hsl_t shared = GASNET_HSL_INITIALIZER;
static int under_lock; /* plain: the lock alone keeps it exact */

static void on_locked(gasnet_token_t t, gasnet_handlerarg_t thread)
{
    gasnet_hsl_lock(&shared);
    under_lock++;
    gasnet_hsl_unlock(&shared);
    gasnet_AMReplyShort1(t, H_ECHOED, thread);
}

static gasnet_handlerentry_t table[] = {{H_COUNT, on_count},   {H_ECHO, on_echo},
                                        {H_ECHOED, on_echoed}, {H_MEDIUM, on_medium},
                                        {H_LOCKED, on_locked}, {H_LONG, on_long}};

/* --- running a body on all threads --- */

static void on_all_threads(void *(*body)(void *))
{
    test_sync();
    for (int i = 0; i < THREADS; i++) worker[i].id = i, worker[i].echoed = 0;
    counted = under_lock = longs = 0;
    test_sync();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&worker[i].thread, NULL, body, &worker[i])) {
            test_check(false, "pthread_create");
            gasnet_exit(5);
        }
    for (int i = 0; i < THREADS; i++) pthread_join(worker[i].thread, NULL);
    test_sync(); /* serves peers whose threads still send messages to this rank */
}

static char *stripe(const struct worker *w)
{
    return test_at(test_next, (size_t)w->id * STRIPE);
}

/* --- bodies --- */

static void mix_once(struct worker *w, struct test_random *random, int i)
{
    const gasnet_node_t peer = (gasnet_node_t)(test_below(random, 4) ? test_next : test_rank);
    char source[700], back[700];
    const size_t n = 1 + test_below(random, sizeof source);
    const uint64_t key = test_random(random) & 0xffffff;
    char *dst = test_at(
        (int)peer,
        (size_t)((peer == (gasnet_node_t)test_rank && test_size > 1) * THREADS + w->id) * STRIPE);
    test_fill(source, n, key);
    const int echoed = test_get(&w->echoed);
    switch (test_below(random, 8)) {
    case 0:
        gasnet_AMRequestShort1(peer, H_ECHO, w->id);
        GASNET_BLOCKUNTIL(test_get(&w->echoed) == echoed + 1);
        return;
    case 1:
        gasnet_AMRequestMedium2(peer, H_MEDIUM, source, MIN(n, gasnet_AMMaxMedium()), w->id,
                                (gasnet_handlerarg_t)key);
        GASNET_BLOCKUNTIL(test_get(&w->echoed) == echoed + 1);
        return;
    case 2:
        gasnet_AMRequestLong2(peer, H_LONG, source, n, dst, w->id, (gasnet_handlerarg_t)key);
        while (test_get(&w->echoed) != echoed + 1) gasnet_AMPoll();
        return;
    case 3:
        gasnet_put_bulk(peer, dst, source, n);
        break;
    case 4:
        gasnet_wait_syncnb(gasnet_put_nb(peer, dst, source, n));
        break;
    case 5:
        gasnet_put_nbi(peer, dst, source, n);
        memset(source, 0, n);
        gasnet_wait_syncnbi_puts();
        break;
    case 6:
        gasnet_begin_nbi_accessregion();
        gasnet_put_nbi_bulk(peer, dst, source, n / 2);
        gasnet_put_nbi_bulk(peer, dst + n / 2, source + n / 2, n - n / 2);
        gasnet_wait_syncnb(gasnet_end_nbi_accessregion());
        break;
    default:
        gasnet_put_val(peer, dst, (gasnet_register_value_t)i, 4);
        test_check(gasnet_get_val(peer, dst, 4) == (gasnet_register_value_t)i, "thread %d: value",
                   w->id);
        return;
    }
    gasnet_get_bulk(back, peer, dst, n);
    ptrdiff_t at = test_mismatch(back, n, key);
    test_check(at < 0, "thread %d, operation %d: %zu bytes wrong at %td", w->id, i, n, at);
}

static void *mix_body(void *arg)
{
    struct worker *w = arg;
    struct test_random random = test_random_for(90 + (uint64_t)w->id);
    for (int i = 0; i < test_iterations(1500); i++) mix_once(w, &random, i);
    return NULL;
}
static void random_mix(void)
{
    on_all_threads(mix_body);
}

/* In the default mode spinning threads may outnumber the CPUs: slower, but it must go on. */
static void *default_mode_body(void *arg)
{
    struct worker *w = arg;
    struct test_random random = test_random_for(970 + (uint64_t)w->id);
    for (int i = 0; i < test_iterations(60); i++) mix_once(w, &random, i);
    return NULL;
}
static void default_mode(void)
{
    gasnet_set_waitmode(GASNET_WAIT_SPIN);
    on_all_threads(default_mode_body);
    gasnet_set_waitmode(GASNET_WAIT_BLOCK);
}

static void *flood_body(void *arg)
{
    struct worker *w = arg;
    for (int i = 0; i < test_iterations(2000); i++)
        gasnet_AMRequestShort0((gasnet_node_t)((w->id + i) % test_size), H_COUNT);
    return NULL;
}
static void floods(void)
{
    on_all_threads(flood_body);
    const uint32_t all = (uint32_t)(test_iterations(2000) * THREADS * test_size);
    uint32_t seen;
    while ((seen = test_sync_sum((uint32_t)test_get(&counted))) < all) gasnet_AMPoll();
    test_check(seen == all, "%u of %u messages", seen, all);
}

static void *lock_body(void *arg)
{
    struct worker *w = arg;
    for (int i = 0; i < test_iterations(1000); i++) {
        gasnet_AMRequestShort1((gasnet_node_t)test_next, H_LOCKED, w->id);
        gasnet_hsl_lock(&shared);
        under_lock++;
        gasnet_hsl_unlock(&shared);
        while (gasnet_hsl_trylock(&shared) != GASNET_OK) sched_yield();
        under_lock++;
        gasnet_hsl_unlock(&shared);
    }
    GASNET_BLOCKUNTIL(test_get(&w->echoed) == test_iterations(1000));
    return NULL;
}
static void mutual_exclusion(void)
{
    on_all_threads(lock_body);
    const int all = 3 * THREADS * test_iterations(1000);
    test_check(under_lock == all, "%d increments under the lock instead of %d", under_lock, all);
}

/* Threads take turns; each waits for its own with the lock. */
static gasnett_cond_t turn_changed = GASNETT_COND_INITIALIZER;
static int turn;

static void *turns_body(void *arg)
{
    struct worker *w = arg;
    for (int i = 0; i < test_iterations(1000); i++) {
        gasnet_hsl_lock(&shared);
        while (turn % THREADS != w->id) gasnett_cond_wait(&turn_changed, &shared.lock);
        turn++;
        gasnett_cond_broadcast(&turn_changed);
        gasnet_hsl_unlock(&shared);
    }
    return NULL;
}
static void waiting_with_a_lock(void)
{
    turn = 0;
    on_all_threads(turns_body);
    test_check(turn == THREADS * test_iterations(1000), "%d turns", turn);
}

/* Thread 0 goes through barriers, notifying and waiting from turn to turn on another thread. */
static int barrier_turns;
static void *barrier_body(void *arg)
{
    struct worker *w = arg;
    const int phases = test_iterations(150);
    struct test_random random = test_random_for(760 + (uint64_t)w->id);
    if (w->id >= 2) {
        for (int i = 0; i < test_iterations(500); i++) mix_once(w, &random, i);
        return NULL;
    }
    for (int i = 0; i < 2 * phases; i++) { /* thread 0 notifies, thread 1 waits, then swapped */
        const int turn = i % 2 == (i / 2) % 2 ? 0 : 1;
        if (w->id != turn) continue;
        while (test_get(&barrier_turns) != i) {
            gasnet_AMPoll();
            sched_yield();
        }
        if (i % 2 == 0)
            gasnet_barrier_notify(i / 2, 0);
        else {
            int status = gasnet_barrier_wait(i / 2, 0);
            test_check(status == GASNET_OK, "phase %d: %d", i / 2, status);
        }
        test_add(&barrier_turns, 1);
    }
    return NULL;
}
static void barriers_amid_traffic(void)
{
    test_sync();
    barrier_turns = 0;
    on_all_threads(barrier_body);
}

/* A thread runs the handler that another one waits for. */
static int baton;
static void *baton_body(void *arg)
{
    struct worker *w = arg;
    for (int i = 0; i < test_iterations(200); i++) {
        const int echoed = test_get(&w->echoed);
        gasnet_AMRequestShort1((gasnet_node_t)test_next, H_ECHO, w->id);
        if (w->id & 1)
            GASNET_BLOCKUNTIL(test_get(&w->echoed) == echoed + 1);
        else
            while (test_get(&w->echoed) == echoed) gasnet_AMPoll();
    }
    test_add(&baton, 1);
    while (test_get(&baton) < THREADS) gasnet_AMPoll(); /* polls for those that still wait */
    return NULL;
}
static void handlers_on_other_threads(void)
{
    baton = 0;
    on_all_threads(baton_body);
}

/* --- life of threads --- */

enum { CROWD = 200 };

/* A cell is of one living thread. */
static void *short_life(void *arg)
{
    const int i = *(int *)arg;
    uint32_t value = (uint32_t)i, back = 0;
    void *cell = test_at(test_next, (size_t)(i % CROWD) * 8);
    gasnet_handle_t h = gasnet_put_nb((gasnet_node_t)test_next, cell, &value, 4);
    gasnet_wait_syncnb(h);
    gasnet_get_nbi(&back, (gasnet_node_t)test_next, cell, 4);
    gasnet_wait_syncnbi_all();
    test_check(back == value, "thread %d reads %u", i, back);
    gasnet_AMRequestShort0((gasnet_node_t)test_next, H_COUNT);
    return NULL;
}

static void thousands_of_threads(void)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024);
    test_sync();
    counted = 0;
    test_sync();
    const int count = test_iterations(2500);
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (!test_check(pthread_create(&thread, &small, short_life, &i) == 0, "thread %d", i))
            break;
        pthread_join(thread, NULL);
    }
    GASNET_BLOCKUNTIL(test_get(&counted) == count);
    pthread_attr_destroy(&small);
}

/* The first rule: what the library does only once is done by a thread that is cancelled.
 * Long puts, for which processes that share no memory call the system.  The memory is the thread's:
 * nothing may use it when the thread has gone. */
static int putting; /* threads that began */
static void *put_until_cancelled(void *arg)
{
    enum { SIZE = 4 * STRIPE };
    uint8_t *data = calloc(1, SIZE);
    pthread_cleanup_push(free, data);
    test_add(&putting, 1);
    for (;;) {
        gasnet_put_bulk((gasnet_node_t)test_next, test_at(test_next, 0), data, SIZE);
        gasnet_AMRequestMedium2((gasnet_node_t)test_next, H_MEDIUM, data, 0, 0, 0);
        pthread_testcancel();
    }
    pthread_cleanup_pop(1);
    return arg;
}

static void cancelled_threads(void)
{
    struct test_random random = test_random_for(3);
    const int count = test_iterations(200);
    test_sync();
    counted = 0;
    test_sync();
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        void *result;
        const int had = test_get(&putting);
        if (!test_check(pthread_create(&thread, NULL, put_until_cancelled, NULL) == 0, "thread"))
            return;
        while (test_get(&putting) == had) gasnet_AMPoll();
        for (uint64_t turns = test_below(&random, 200); turns > 0; turns--) gasnet_AMPoll();
        pthread_cancel(thread);
        pthread_join(thread, &result);
        test_check(result == PTHREAD_CANCELED, "thread %d was not cancelled", i);
        short_life(&i);
    }
    GASNET_BLOCKUNTIL(test_get(&counted) == count);
}

static pthread_barrier_t crowd_meet;
static void *crowd_body(void *arg)
{
    pthread_barrier_wait(&crowd_meet); /* all alive before any calls GASNet */
    short_life(arg);
    pthread_barrier_wait(&crowd_meet); /* all alive after their calls */
    return NULL;
}

/* Many threads alive at once, fewer than the limit; twice, so that slots must come back. */
static void a_crowd(void)
{
    static pthread_t thread[CROWD];
    static int number[CROWD];
    for (int again = 0; again < 2; again++) {
        test_sync();
        counted = 0;
        test_sync();
        pthread_barrier_init(&crowd_meet, NULL, CROWD);
        for (int i = 0; i < CROWD; i++) {
            number[i] = i;
            if (pthread_create(&thread[i], NULL, crowd_body, &number[i])) gasnet_exit(5);
        }
        for (int i = 0; i < CROWD; i++) pthread_join(thread[i], NULL);
        GASNET_BLOCKUNTIL(test_get(&counted) == CROWD);
        pthread_barrier_destroy(&crowd_meet);
    }
}

static void *identity_body(void *arg)
{
    GASNET_BEGIN_FUNCTION();
    struct worker *w = arg;
    w->info = (void *)GASNET_GET_THREADINFO();
    for (int i = 0; i < 100; i++)
        test_check((void *)GASNET_GET_THREADINFO() == w->info, "thread %d: another identity",
                   w->id);
    pthread_barrier_wait(&meet);
    for (int i = 0; i < THREADS; i++)
        test_check(i == w->id || worker[i].info != w->info, "threads %d and %d are the same", i,
                   w->id);
    pthread_barrier_wait(&meet);
    {
        GASNET_POST_THREADINFO((gasnet_threadinfo_t)w->info);
        short_life(&w->id);
    }
    return NULL;
}
static void identities(void)
{
    on_all_threads(identity_body);
}

static void *handles_body(void *arg)
{
    struct worker *w = arg;
    enum { COUNT = 2000 };
    gasnet_handle_t *handle = malloc(COUNT * sizeof *handle);
    uint32_t *value = malloc(COUNT * sizeof *value), *back = malloc(COUNT * sizeof *back);
    for (int round = 0; round < test_iterations(6); round++) {
        for (int i = 0; i < COUNT; i++) {
            value[i] = (uint32_t)test_mix((uint64_t)(round * COUNT + i) << 8 ^ (uint64_t)w->id);
            handle[i] =
                gasnet_put_nb_bulk((gasnet_node_t)test_next, stripe(w) + 4 * i, &value[i], 4);
        }
        gasnet_wait_syncnb_all(handle, COUNT);
        for (int i = 0; i < COUNT; i++)
            gasnet_get_nbi(&back[i], (gasnet_node_t)test_next, stripe(w) + 4 * i, 4);
        gasnet_wait_syncnbi_gets();
        test_check(memcmp(value, back, COUNT * 4) == 0, "thread %d, round %d", w->id, round);
    }
    free(handle);
    free(value);
    free(back);
    return NULL;
}
static void private_handles(void)
{
    on_all_threads(handles_body);
}

/* Each thread starts operations, and the next one synchronises them. */
static struct {
    gasnet_handle_t put[64], get[64];
    gasnet_valget_handle_t value;
    uint32_t back[64];
} handed[THREADS];

static void *hand_over_body(void *arg)
{
    struct worker *w = arg;
    const int last = (w->id + THREADS - 1) % THREADS;
    uint32_t *mine = (uint32_t *)stripe(w); /* at the successor */
    uint32_t value[64];
    for (int round = 0; round < test_iterations(200); round++) {
        for (uint32_t i = 0; i < 64; i++) {
            value[i] = (uint32_t)round << 16 | (uint32_t)w->id << 8 | i;
            handed[w->id].put[i] = gasnet_put_nb((gasnet_node_t)test_next, mine + i, &value[i], 4);
        }
        pthread_barrier_wait(&meet);
        gasnet_wait_syncnb_all(handed[last].put, 64);
        pthread_barrier_wait(&meet);
        for (uint32_t i = 0; i < 64; i++)
            handed[w->id].get[i] =
                gasnet_get_nb_bulk(&handed[w->id].back[i], (gasnet_node_t)test_next, mine + i, 4);
        handed[w->id].value = gasnet_get_nb_val((gasnet_node_t)test_next, mine + 5, 4);
        pthread_barrier_wait(&meet);
        for (int i = 0; i < 64; i++) gasnet_wait_syncnb(handed[last].get[i]);
        const gasnet_register_value_t fifth = gasnet_wait_syncnb_valget(handed[last].value);
        pthread_barrier_wait(&meet);
        test_check(memcmp(handed[w->id].back, value, sizeof value) == 0, "thread %d, round %d",
                   w->id, round);
        test_check(fifth == ((uint32_t)round << 16 | (uint32_t)last << 8 | 5),
                   "thread %d, round %d: the value is %#lx", w->id, round, (unsigned long)fifth);
    }
    return NULL;
}
static void handles_handed_over(void)
{
    on_all_threads(hand_over_body);
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"B91 threads that are cancelled inside the library hold nothing", cancelled_threads},
        {"B92 thread identity", identities},
        {"B90 B62 random mixes from several threads", random_mix},
        {"B97 B96 more threads than CPUs, all spinning", default_mode},
        {"B90 private handles of several threads", private_handles},
        {"B90 handles that another thread synchronises", handles_handed_over},
        {"B90 B30 floods from several threads", floods},
        {"B40 B97 mutual exclusion of handler-safe locks", mutual_exclusion},
        {"2.8 a thread that holds a handler-safe lock waits on a condition", waiting_with_a_lock},
        {"B37 B96 handlers that run on another thread", handlers_on_other_threads},
        {"B76 B90 barriers handed from thread to thread amid traffic", barriers_amid_traffic},
        {"B91 thousands of threads one after the other", thousands_of_threads},
        {"B91 3.9 two hundred threads at once, twice", a_crowd},
    };
    test_start(&argc, &argv, table, TEST_COUNT(table), SEGMENT);
    gasnet_set_waitmode(GASNET_WAIT_BLOCK); /* B95: more threads than CPUs, so a good client asks */
    pthread_barrier_init(&meet, NULL, THREADS);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
