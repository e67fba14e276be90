/* stacks.c - backtraces of threads that sleep or compute: each names the functions that the thread
 * is in, and no system call of a thread ends early because of the question.
 */
#define _GNU_SOURCE
#include "other/base/stacks.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "other/base/symbols.h"
#include "tests/unit/check.h"

enum { MS = 400 };
static int pipes[2], epoll;
static sem_t never;
static atomic_bool over, blocked;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

/* Each sleeps in its call, to the end; 0: the call ended as it should. */
static __attribute__((noinline)) int in_nanosleep(void)
{
    const struct timespec time = {.tv_nsec = MS * 1000000L};
    return nanosleep(&time, NULL);
}
static __attribute__((noinline)) int in_poll(void)
{
    volatile int result = poll(NULL, 0, MS); /* no tail call */
    return result;
}
static __attribute__((noinline)) int in_select(void)
{
    struct timeval time = {.tv_usec = MS * 1000L};
    return select(0, NULL, NULL, NULL, &time);
}
static __attribute__((noinline)) int in_epoll(void)
{
    struct epoll_event event;
    return epoll_wait(epoll, &event, 1, MS);
}
static __attribute__((noinline)) int in_sigwait(void)
{
    const struct timespec time = {.tv_nsec = MS * 1000000L};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &time) < 0 && errno == EAGAIN ? 0 : -1;
}
static __attribute__((noinline)) int in_semaphore(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 1;
    return sem_timedwait(&never, &time) < 0 && errno == ETIMEDOUT ? 0 : -1;
}
static __attribute__((noinline)) int in_read(void)
{
    char byte;
    return read(pipes[0], &byte, 1) == 1 ? 0 : -1;
}
static __attribute__((noinline)) int in_mutex(void)
{
    return pthread_mutex_lock(&held) || pthread_mutex_unlock(&held);
}
static __attribute__((noinline)) int in_a_loop(void)
{
    while (!over) continue;
    return 0;
}
static __attribute__((noinline)) int with_the_signal_blocked(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    blocked = true;
    return in_nanosleep();
}

static const struct sleeper {
    const char *name;
    int (*sleep)(void);
} sleepers[] = {
    {"in_nanosleep", in_nanosleep}, {"in_poll", in_poll},           {"in_select", in_select},
    {"in_epoll", in_epoll},         {"in_sigwait", in_sigwait},     {"in_read", in_read},
    {"in_mutex", in_mutex},         {"in_semaphore", in_semaphore}, {"in_a_loop", in_a_loop}};
enum { SLEEPERS = sizeof sleepers / sizeof *sleepers };

static atomic_int threads[SLEEPERS + 1];
static int results[SLEEPERS + 1];

static void *run(void *number)
{
    const size_t n = (size_t)(uintptr_t)number;
    threads[n] = (int)syscall(SYS_gettid);
    results[n] = n < SLEEPERS ? sleepers[n].sleep() : with_the_signal_blocked();
    return NULL;
}

static bool named[SLEEPERS + 1];

static void look(void *context, int thread, void *const *frames, int count)
{
    (void)context;
    for (size_t n = 0; n <= SLEEPERS; n++)
        for (int i = 0; i < count && threads[n] == thread; i++) {
            char name[256];
            gasneti_symbol_name((uintptr_t)frames[i] - (i > 0), name, sizeof name);
            if (n == SLEEPERS || strcmp(name, sleepers[n].name) == 0) named[n] = true;
        }
}

/* Long enough for all to sleep. */
static void moment(void)
{
    usleep(50000);
}

static void sleeping(void)
{
    pthread_t thread[SLEEPERS + 1];
    pthread_mutex_lock(&held);
    for (size_t n = 0; n <= SLEEPERS; n++)
        pthread_create(&thread[n], NULL, run, (void *)(uintptr_t)n);
    while (!blocked) usleep(1000);
    for (int i = 0; i < 3; i++) {
        moment();
        gasneti_stacks(100, look, NULL);
    }
    over = true;
    pthread_mutex_unlock(&held);
    check(write(pipes[1], "x", 1) == 1, "the reader gets a byte");
    for (size_t n = 0; n <= SLEEPERS; n++) pthread_join(thread[n], NULL);
    for (size_t n = 0; n < SLEEPERS; n++)
        check(named[n] && results[n] == 0, "%s: %s, and %s", sleepers[n].name,
              named[n] ? "named" : "not named",
              results[n] ? "its call ended early" : "its call went on");
    check(!named[SLEEPERS] && results[SLEEPERS] == 0, "a thread that blocks the signal is left");
}

static atomic_int own_signals;
static void own_handler(int signal)
{
    (void)signal;
    own_signals++;
}

/* The program's own handler stays, and gets its signals alone. */
static void handled_by_the_program(void)
{
    struct sigaction own = {.sa_handler = own_handler}, now;
    pthread_t thread;
    memset(named, 0, sizeof named);
    sigaction(SIGURG, &own, NULL);
    pthread_create(&thread, NULL, run, (void *)(uintptr_t)0);
    moment();
    gasneti_stacks(100, look, NULL);
    pthread_join(thread, NULL);
    sigaction(SIGURG, NULL, &now);
    check(!named[0] && !own_signals && now.sa_handler == own_handler && results[0] == 0,
          "a program that handles the signal itself is not asked");
}

static void names(void)
{
    char name[256];
    gasneti_symbol_name((uintptr_t)in_poll, name, sizeof name);
    check(!strcmp(name, "in_poll"), "a static function: %s", name);
    gasneti_symbol_name(16, name, sizeof name);
    check(!strcmp(name, "0x10"), "an address of no file: %s", name);
    gasneti_symbol_name((uintptr_t)&threads[0], name, sizeof name);
    check(strchr(name, '+') != NULL, "an address that is of no function: %s", name);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    epoll = epoll_create1(0);
    if (epoll < 0 || pipe(pipes) || sem_init(&never, 0, 0)) return 1;
    names();
    if (access("/proc/self/task", F_OK) == 0 && access("/proc/self/syscall", R_OK) == 0) {
        sleeping();
        handled_by_the_program();
    } else {
        check_note("no /proc/self/syscall here");
    }
    return check_end();
}
