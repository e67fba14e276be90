/* locks.c - mutexes, conditions, reader/writer locks and thread keys of the tools.
 *
 * Without threads a smoke test; with threads also exclusion, waking, and keys of thousands of
 * threads.  With an argument it does one forbidden thing, which a debug build must end with a
 * message (run.sh).
 */
#include "tests/unit/check.h"

#include "gasnet_tools.h"

GASNETT_THREADKEY_DECLARE(first_key); /* before the definition */
GASNETT_THREADKEY_DEFINE(first_key);
GASNETT_THREADKEY_DEFINE(second_key);

/* Initialisers nest. */
static struct {
    struct {
        gasnett_cond_t cond;
        gasnett_mutex_t mutex;
    } pair;
    gasnett_rwlock_t rw;
    int value;
} box = {{GASNETT_COND_INITIALIZER, GASNETT_MUTEX_INITIALIZER}, GASNETT_RWLOCK_INITIALIZER, 3};

static void test_smoke(void)
{
    gasnett_mutex_t m;
    gasnett_cond_t c;
    gasnett_rwlock_t l;
    int good;

    gasnett_mutex_init(&m);
    gasnett_mutex_assertunlocked(&m);
    gasnett_mutex_lock(&m);
    gasnett_mutex_assertlocked(&m);
    gasnett_mutex_unlock(&m);
    good = gasnett_mutex_trylock(&m) == 0;
    gasnett_mutex_unlock(&m);
    gasnett_mutex_destroy(&m);
    gasnett_mutex_init(&m);
    good &= gasnett_mutex_destroy_ignoreerr(&m) == 0;
    check(good, "mutex: init, lock, trylock, unlock, destroy");

    gasnett_cond_init(&c);
    gasnett_cond_signal(&c);
    gasnett_cond_broadcast(&c);
    gasnett_cond_destroy(&c);
    check(1, "condition: init, signal, broadcast, destroy");

    gasnett_rwlock_init(&l);
    gasnett_rwlock_assertunlocked(&l);
    gasnett_rwlock_rdlock(&l);
    gasnett_rwlock_assertlocked(&l);
    gasnett_rwlock_assertrdlocked(&l);
    gasnett_rwlock_unlock(&l);
    gasnett_rwlock_wrlock(&l);
    gasnett_rwlock_assertlocked(&l);
    gasnett_rwlock_assertwrlocked(&l);
    gasnett_rwlock_unlock(&l);
    good = gasnett_rwlock_tryrdlock(&l) == 0;
    gasnett_rwlock_unlock(&l);
    good &= gasnett_rwlock_trywrlock(&l) == 0;
    gasnett_rwlock_unlock(&l);
    gasnett_rwlock_destroy(&l);
    check(good, "reader/writer lock: all calls");

    gasnett_mutex_lock(&box.pair.mutex);
    gasnett_mutex_unlock(&box.pair.mutex);
    gasnett_rwlock_wrlock(&box.rw);
    gasnett_rwlock_unlock(&box.rw);
    check(box.value == 3, "static initialisers nest");
}

static void test_keys(void)
{
    GASNETT_THREADKEY_DECLARE(second_key);
    int a, b, good;
    good = gasnett_threadkey_get(first_key) == NULL && gasnett_threadkey_get(second_key) == NULL;
    check(good, "keys begin as NULL");
    gasnett_threadkey_set(first_key, &a);
    gasnett_threadkey_init(second_key);
    gasnett_threadkey_init(second_key);
    gasnett_threadkey_set_noinit(second_key, &b);
    good = gasnett_threadkey_get(first_key) == &a && gasnett_threadkey_get_noinit(second_key) == &b;
    check(good, "keys keep what was set, however often initialised");
}

#if GASNETT_THREAD_SAFE
enum { N_THREADS = 4, N_ROUNDS = 20000, MANY_THREADS = 2000, AT_ONCE = 100 };

static long exclusive_count;
static gasnett_atomic_t bad_keys = gasnett_atomic_init(0), bad_readers = gasnett_atomic_init(0);
static long halves[2];

static void *count_exclusively(void *arg)
{
    (void)arg;
    for (int i = 0; i < N_ROUNDS; i++) {
        if (i % 3)
            gasnett_mutex_lock(&box.pair.mutex);
        else
            while (gasnett_mutex_trylock(&box.pair.mutex)) gasnett_sched_yield();
        exclusive_count++;
        gasnett_mutex_unlock(&box.pair.mutex);
        if (i % 8 == 0) {
            gasnett_rwlock_wrlock(&box.rw);
            halves[0]++;
            halves[1]++;
            gasnett_rwlock_unlock(&box.rw);
        } else {
            gasnett_rwlock_rdlock(&box.rw);
            if (halves[0] != halves[1]) gasnett_atomic_increment(&bad_readers, 0);
            gasnett_rwlock_unlock(&box.rw);
        }
    }
    return NULL;
}

static void test_exclusion(void)
{
    pthread_t thread[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) pthread_create(&thread[i], NULL, count_exclusively, NULL);
    for (int i = 0; i < N_THREADS; i++) pthread_join(thread[i], NULL);
    check(exclusive_count == (long)N_THREADS * N_ROUNDS, "a mutex excludes");
    check(gasnett_atomic_read(&bad_readers, 0) == 0, "readers never see half a write");
    gasnett_mutex_lock(&box.pair.mutex);
    check(pthread_create(&thread[0], NULL, count_exclusively, NULL) == 0,
          "a thread meets a held mutex");
    gasnett_mutex_unlock(&box.pair.mutex);
    pthread_join(thread[0], NULL);
}

static int turn;

static void *take_turns(void *arg)
{
    const int me = (int)(uintptr_t)arg;
    for (int i = 0; i < N_ROUNDS / 10; i++) {
        gasnett_mutex_lock(&box.pair.mutex);
        while (turn != me) gasnett_cond_wait(&box.pair.cond, &box.pair.mutex);
        gasnett_mutex_assertlocked(&box.pair.mutex);
        turn = !me;
        gasnett_cond_signal(&box.pair.cond);
        gasnett_mutex_unlock(&box.pair.mutex);
    }
    return NULL;
}

static void test_waking(void)
{
    pthread_t thread[2];
    for (uintptr_t i = 0; i < 2; i++) pthread_create(&thread[i], NULL, take_turns, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    check(turn == 0, "two threads wake each other by a condition");
}

static void *use_keys(void *arg)
{
    int bad = gasnett_threadkey_get(first_key) != NULL || gasnett_threadkey_get(second_key) != NULL;
    gasnett_threadkey_init(first_key);
    gasnett_threadkey_set(first_key, arg);
    gasnett_threadkey_set(second_key, &arg);
    gasnett_sched_yield();
    bad |= gasnett_threadkey_get(first_key) != arg || gasnett_threadkey_get(second_key) != &arg;
    if (bad) gasnett_atomic_increment(&bad_keys, 0);
    return NULL;
}

static void test_many_keys(void)
{
    static char place[AT_ONCE];
    for (int done = 0; done < MANY_THREADS; done += AT_ONCE) {
        pthread_t thread[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) pthread_create(&thread[i], NULL, use_keys, &place[i]);
        for (int i = 0; i < AT_ONCE; i++) pthread_join(thread[i], NULL);
    }
    check(gasnett_atomic_read(&bad_keys, 0) == 0, "keys of two thousand threads are their own");
}

#if GASNET_DEBUG
static void *unlock_here(void *arg)
{
    gasnett_mutex_unlock(arg);
    return NULL;
}

/* Released by a thread that does not hold it. */
static void unlock_elsewhere(gasnett_mutex_t *m)
{
    pthread_t thread;
    gasnett_mutex_lock(m);
    pthread_create(&thread, NULL, unlock_here, m);
    pthread_join(thread, NULL);
}
#endif
#else
static void test_exclusion(void) {}
static void test_waking(void) {}
static void test_many_keys(void) {}
#if GASNET_DEBUG
static void unlock_elsewhere(gasnett_mutex_t *m)
{
    gasnett_mutex_unlock(m);
}
#endif
#endif

#if GASNET_DEBUG
/* Does not return. */
static int misuse(const char *what)
{
    gasnett_mutex_t m = GASNETT_MUTEX_INITIALIZER;
    gasnett_rwlock_t l = GASNETT_RWLOCK_INITIALIZER;

    if (!strcmp(what, "recursive")) {
        gasnett_mutex_lock(&m);
        gasnett_mutex_lock(&m);
    } else if (!strcmp(what, "free")) {
        gasnett_mutex_unlock(&m);
    } else if (!strcmp(what, "elsewhere")) {
        unlock_elsewhere(&m);
    } else if (!strcmp(what, "assert")) {
        gasnett_mutex_assertlocked(&m);
    } else if (!strcmp(what, "rwlock")) {
        gasnett_rwlock_wrlock(&l);
        gasnett_rwlock_wrlock(&l);
    }
    return 0;
}
#else
/* Production builds do not look: it would hang, or worse. */
static int misuse(const char *what)
{
    (void)what;
    return 77;
}
#endif

int main(int argc, char **argv)
{
    if (argc > 1) return misuse(argv[1]);
    test_smoke();
    test_keys();
    test_exclusion();
    test_waking();
    test_many_keys();
    return check_end();
}
