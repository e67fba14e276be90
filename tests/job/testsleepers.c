/* testsleepers.c - PAR only: a thread that sleeps in GASNET_BLOCKUNTIL until another thread of its
 * process sends a Request to their own node, and polls no more.
 *
 * many.sh runs it so that sleeps have no limits, and a process that sleeps leaves a file in the
 * folder MANY_SLEPT: the other thread waits for that.
 */
#include <pthread.h>
#include <unistd.h>

#include "tests/programs/test.h"

enum { H_WAKE = 128 };

static int woken;

static void on_wake(gasnet_token_t token)
{
    (void)token;
    test_add(&woken, 1);
}

static gasnet_handlerentry_t table[] = {{H_WAKE, on_wake}};

static void *sleep_until_woken(void *unused)
{
    GASNET_BLOCKUNTIL(test_get(&woken) == 1);
    return unused;
}

static void wake(void)
{
    enum { TRIES = 20000, MOMENT_US = 1000 };
    char name[4096];
    pthread_t sleeper;
    snprintf(name, sizeof name, "%s/%d", getenv("MANY_SLEPT"), (int)getpid());
    unlink(name);
    if (pthread_create(&sleeper, NULL, sleep_until_woken, NULL)) {
        test_check(false, "pthread_create");
        return;
    }
    for (int i = 0; i < TRIES && access(name, F_OK) != 0; i++) usleep(MOMENT_US);
    test_check(access(name, F_OK) == 0, "the thread sleeps");
    gasnet_AMRequestShort0((gasnet_node_t)test_rank, H_WAKE);
    pthread_join(sleeper, NULL);
}

static const struct test_rule rules[] = {
    {"a Request to the own node wakes another thread", wake},
};

int main(int argc, char **argv)
{
    test_start(&argc, &argv, table, TEST_COUNT(table), 65536);
    if (!getenv("MANY_SLEPT")) {
        fprintf(stderr, "testsleepers: runs in many.sh\n");
        gasnet_exit(5);
    }
    gasnet_set_waitmode(GASNET_WAIT_BLOCK);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
