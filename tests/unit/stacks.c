/* stacks.c - where threads are: one that waits in the library leaves a backtrace, of others there
 * is what the kernel tells, and no system call of a thread ends early because of the question.
 */
#define _GNU_SOURCE
#include "other/base/stacks.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "other/base/symbols.h"
#include "tests/unit/check.h"

static atomic_bool over;
static int pipes[2];

static __attribute__((noinline)) int in_a_wait(void)
{
    while (!over) gasneti_stacks_tell();
    return 0;
}
static __attribute__((noinline)) int in_a_loop(void)
{
    while (!over) continue;
    return 0;
}
static int in_poll(void)
{
    return poll(NULL, 0, 1500);
}
static int in_read(void)
{
    char byte;
    return read(pipes[0], &byte, 1) == 1 ? 0 : -1;
}
/* All signals but those that the thread blocks would be its result. */
static int in_sigwait(void)
{
    const struct timespec time = {.tv_sec = 1, .tv_nsec = 500000000};
    sigset_t all;
    sigfillset(&all);
    return sigtimedwait(&all, NULL, &time) < 0 && errno == EAGAIN ? 0 : -1;
}
static int of_a_library(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    return in_poll();
}

static const struct one {
    const char *name;
    int (*run)(void);
    const char *told; /* NULL: its function is named */
} all[] = {{"in_a_wait", in_a_wait, NULL},
           {"in_a_loop", in_a_loop, "its own code, running"},
           {"in_poll", in_poll, "system call poll"},
           {"in_read", in_read, "system call read"},
           {"in_sigwait", in_sigwait, "system call rt_sigtimedwait"},
           {"of_a_library", of_a_library, ""}};
enum { ALL = sizeof all / sizeof *all };

static atomic_int threads[ALL];
static int results[ALL];
static char told[ALL][256];

static void *run(void *number)
{
    const size_t n = (size_t)(uintptr_t)number;
    threads[n] = (int)syscall(SYS_gettid);
    results[n] = all[n].run();
    return NULL;
}

static void look(void *context, int thread, void *const *frames, int count, const char *kernel)
{
    (void)context;
    for (size_t n = 0; n < ALL; n++) {
        if (threads[n] != thread) continue;
        snprintf(told[n], sizeof told[n], "%s", kernel ? kernel : "");
        for (int i = 0; i < count; i++) {
            char name[256];
            gasneti_symbol_name((uintptr_t)frames[i] - 1, name, sizeof name);
            if (!strcmp(name, all[n].name)) snprintf(told[n], sizeof told[n], "%s", name);
        }
    }
}

static void ask(void)
{
    pthread_t thread[ALL];
    for (size_t n = 0; n < ALL; n++) pthread_create(&thread[n], NULL, run, (void *)(uintptr_t)n);
    for (size_t n = 0; n < ALL; n++)
        while (!threads[n]) usleep(1000);
    usleep(100000); /* so long that those that sleep do */
    for (int i = 0; i < 3; i++) gasneti_stacks(100, true, look, NULL);
    over = true;
    check(write(pipes[1], "x", 1) == 1, "the reader gets a byte");
    for (size_t n = 0; n < ALL; n++) pthread_join(thread[n], NULL);
    const bool has_kernel = access("/proc/self/syscall", R_OK) == 0;
    for (size_t n = 0; n < ALL; n++) {
        const char *expected = all[n].told ? all[n].told : all[n].name;
        check((!strcmp(told[n], expected) || (all[n].told && !has_kernel)) && results[n] == 0,
              "%s: \"%s\", and %s", all[n].name, told[n],
              results[n] ? "its call ended early" : "it went on");
    }
}

static unsigned counted;

static void count(void *context, int thread, void *const *frames, int n, const char *kernel)
{
    (void)context, (void)thread, (void)frames, (void)n, (void)kernel;
    counted++;
}

/* As a compiler names a copy of a function. */
static int copied(void) __asm__("copied.constprop.0");
__attribute__((noinline, used)) static int copied(void)
{
    return 1;
}

static void names(void)
{
    char name[256];
    gasneti_symbol_name((uintptr_t)in_poll, name, sizeof name);
    check(!strcmp(name, "in_poll"), "a static function: %s", name);
    gasneti_symbol_name((uintptr_t)copied, name, sizeof name);
    check(!strcmp(name, "copied"), "a copy of a function: %s", name);
    gasneti_symbol_name(16, name, sizeof name);
    check(!strcmp(name, "0x10"), "an address of no file: %s", name);
    gasneti_symbol_name((uintptr_t)&threads[0], name, sizeof name);
    check(strchr(name, '+') != NULL, "an address that is of no function: %s", name);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    if (pipe(pipes)) return 1;
    names();
    ask();
    gasneti_stacks(100, true, count, NULL);
    check(counted == 0, "a process of one thread, the calling one: nothing is told");
    return check_end();
}
