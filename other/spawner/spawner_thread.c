/* spawner_thread.c - the spawners' own threads: the watch, and the one that runs a death function.
 *
 * Called by the spawners.  These threads must never take a signal meant for the program, and must
 * work in programs whose thread-local data leaves little room on a small stack.
 */
#include "other/spawner/spawner_ops.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WATCH_STACK = 256 * 1024, DEATH_SECONDS = 2 };

bool spawner_start_thread(void *(*body)(void *), void *arg)
{
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, WATCH_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &attr, body, arg);
    pthread_attr_destroy(&attr);
    /* EINVAL: static thread-local data alone exceed that stack; the default has room. */
    if (error == EINVAL && (error = pthread_create(&thread, NULL, body, arg)) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return error == 0;
}

struct death {
    bootstrap_death_fn fn;
    int exitcode;
};

static void *run(void *arg)
{
    const struct death *death = arg;
    death->fn(death->exitcode);
    _exit(death->exitcode & 0xff); /* it had to end the process, and did not */
}

void spawner_run_death(bootstrap_death_fn on_death, int exitcode)
{
    static struct death death; /* one thread per process comes here, once */
    if (on_death) {
        death = (struct death){on_death, exitcode};
        if (!spawner_start_thread(run, &death)) run(&death);
        struct timespec left = {.tv_sec = DEATH_SECONDS};
        while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
    }
    _exit(exitcode & 0xff);
}
