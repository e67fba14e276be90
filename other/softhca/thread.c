/* thread.c - starting a thread of our own.
 *
 * It takes no signal of the program's, and little address space for its stack: ulimit -v may be
 * small.
 */
#include "object.h"

#include <signal.h>

enum { STACK = 512 << 10 };

static int create(void *(*run)(void *), size_t stack)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (stack) pthread_attr_setstacksize(&attr, stack);
    int error = pthread_create(&thread, &attr, run, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

/* 0 or an errno value. A program with much thread-local memory needs the ordinary size. */
int shca_thread(void *(*run)(void *))
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = create(run, STACK);
    if (error) error = create(run, 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}
