/* spawner_thread.c - the spawners' own threads: the watch, and the thread that runs a death
 * function.
 *
 * Called by the spawners.  These threads must never take a signal of the program, and must work in
 * programs whose thread-local data leaves little room on a small stack.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "other/base/quiet_thread.h"
#include "other/launch/spawner_ops.h"

enum { WATCH_STACK = 256 * 1024, DEATH_SECONDS = 2 };

bool spawner_start_thread(void *(*body)(void *), void *arg)
{
    errno = gasneti_quiet_thread(NULL, WATCH_STACK, body, arg);
    return errno == 0;
}

struct timespec spawner_next_turn(unsigned turn)
{
    enum { LAST = 5 };
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += 1000000L << (turn < LAST ? turn : LAST);
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

struct death {
    bootstrap_death_fn fn;
    int exitcode;
};

static void *spawner_run_thread(void *arg)
{
    const struct death *death = arg;
    death->fn(death->exitcode);
    _exit(death->exitcode & 0xff); /* the death function did not end the process */
}

void spawner_run_death(bootstrap_death_fn on_death, int exitcode)
{
    static struct death death; /* called once in each process */
    if (on_death) {
        death = (struct death){on_death, exitcode};
        if (!spawner_start_thread(spawner_run_thread, &death)) spawner_run_thread(&death);
        struct timespec left = {.tv_sec = DEATH_SECONDS};
        while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
    }
    _exit(exitcode & 0xff);
}
