/* quiet_thread.h - starts a thread that blocks all signals but those that its own faults raise: if
 * these were blocked, the kernel would end the process and no handler would report it.
 *
 * Inline, because the libraries that start such threads share no other code.
 */
#ifndef GASNETI_QUIET_THREAD_H
#define GASNETI_QUIET_THREAD_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Starts a thread that calls run(arg); returns 0 or an errno value.  With `thread` NULL the thread
 * is detached.  `stack` is the size of its stack in bytes, 0 for the default; the default is also
 * used if the program's static thread-local data do not fit `stack`. */
static inline int gasneti_quiet_thread(pthread_t *thread, size_t stack, void *(*run)(void *),
                                       void *arg)
{
    pthread_t unnamed;
    pthread_attr_t attr;
    size_t usual = 0;
    sigset_t all, before;
    pthread_attr_init(&attr);
    pthread_attr_getstacksize(&attr, &usual);
    if (!thread) pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (!thread) thread = &unnamed;
    if (stack) pthread_attr_setstacksize(&attr, stack);
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, &attr, run, arg);
    if (error == EINVAL && stack) {
        pthread_attr_setstacksize(&attr, usual);
        error = pthread_create(thread, &attr, run, arg);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

/* Whether the calling thread was started by gasneti_quiet_thread, judged by its signal mask: a
 * program's own thread that blocks all signals looks the same. */
static inline bool gasneti_is_quiet_thread(void)
{
    const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2, SIGALRM, SIGIO};
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (!sigismember(&blocked, taken[i])) return false;
    return !sigismember(&blocked, SIGSEGV);
}

#endif
