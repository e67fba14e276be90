/* stacks.c - backtraces of the other threads of this process; see stacks.h.
 *
 * The kernel begins most system calls again after a handler (SA_RESTART).  Sleeps and polls it
 * ends with EINTR, which few programs expect where no handler is theirs: for those the handler sets
 * the registers back to the call, with the arguments that it had.  A sleep may then be longer.
 */
#define _GNU_SOURCE
#include "other/base/stacks.h"

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { MOST_FRAMES = 64, SIGNAL = SIGURG };

/* A thread that is asked: what it does in the kernel, and its frames. */
enum { FREE, ASKED, TAKEN, DONE };
static struct {
    atomic_int state, thread;
    long call; /* number of the system call in which it sleeps; -1: none */
    unsigned long stack, code;
    void *frames[MOST_FRAMES];
    int count, first;
} request;

/* --- in the thread that is asked --- */

#ifdef __x86_64__
enum { CAN_BEGIN_AGAIN = 1 };

static unsigned long interrupted_at(const ucontext_t *context)
{
    return (unsigned long)context->uc_mcontext.gregs[REG_RIP];
}

/* If the signal has ended the system call in which the thread slept, it is made once more: the
 * other registers have its arguments still. */
static void begin_again(ucontext_t *context)
{
    enum { SYSCALL_LENGTH = 2 };
    greg_t *registers = context->uc_mcontext.gregs;
    if (request.call < 0 || registers[REG_RAX] != -EINTR ||
        (unsigned long)registers[REG_RSP] != request.stack ||
        interrupted_at(context) != request.code)
        return;
    registers[REG_RAX] = (greg_t)request.call;
    registers[REG_RIP] -= SYSCALL_LENGTH;
}
#else
enum { CAN_BEGIN_AGAIN = 0 };

static unsigned long interrupted_at(const ucontext_t *context)
{
    return 0;
}

static void begin_again(ucontext_t *context) {}
#endif

/* The first of the frames is that of the handler; those from the interrupted one on are wanted. */
static void take_frames(const ucontext_t *context)
{
    enum { OF_THE_HANDLER = 2 };
    request.count = backtrace(request.frames, MOST_FRAMES);
    request.first = request.count > OF_THE_HANDLER ? OF_THE_HANDLER : 0;
    for (int i = 0; i < request.count; i++)
        if ((unsigned long)request.frames[i] == interrupted_at(context)) request.first = i;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    int asked = ASKED;
    (void)number, (void)info;
    if (atomic_load(&request.thread) == (int)syscall(SYS_gettid) &&
        atomic_compare_exchange_strong(&request.state, &asked, TAKEN)) {
        take_frames(context);
        begin_again(context);
        atomic_store(&request.state, DONE);
    }
    errno = error;
}

/* --- in the thread that asks --- */

static bool install(void)
{
    struct sigaction now,
        ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    if (sigaction(SIGNAL, NULL, &now)) return false;
    if (now.sa_sigaction == on_signal) return true;
    if (now.sa_handler != SIG_DFL) return false;
    (void)backtrace((void *[1]){NULL}, 1); /* loads libgcc, which a handler must not */
    return sigaction(SIGNAL, &ours, NULL) == 0;
}

static FILE *open_of(int thread, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/self/task/%d/%s", thread, what);
    return fopen(name, "re");
}

static bool blocks_signal(int thread)
{
    char line[256];
    unsigned long long mask = ~0ULL;
    FILE *file = open_of(thread, "status");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "SigBlk: %llx", &mask) == 1) break;
    if (file) fclose(file);
    return mask >> (SIGNAL - 1) & 1;
}

/* System calls that go on as they were after the handler, by the kernel or by begin_again. */
static bool is_restartable(long call, unsigned long timeout)
{
    static const long
        by_kernel[] = {SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_wait4, SYS_waitid},
        by_us[] = {
#ifdef SYS_poll
            SYS_poll,          SYS_select,          SYS_epoll_wait, SYS_pause,
#endif
            SYS_nanosleep,     SYS_clock_nanosleep, SYS_ppoll,      SYS_pselect6,   SYS_epoll_pwait,
            SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_recvfrom,   SYS_recvmsg,    SYS_sendto,
            SYS_sendmsg,       SYS_accept,          SYS_accept4,    SYS_semtimedop, SYS_futex};
    for (size_t i = 0; i < sizeof by_kernel / sizeof *by_kernel; i++)
        if (call == by_kernel[i]) return true;
    if (call == SYS_futex && !timeout) return true;
    for (size_t i = 0; i < sizeof by_us / sizeof *by_us; i++)
        if (CAN_BEGIN_AGAIN && call == by_us[i]) return true;
    return false;
}

/* Prepares the request; false: a signal might harm the thread. */
static bool may_interrupt(int thread)
{
    char line[256] = "";
    unsigned long a[6];
    FILE *file = blocks_signal(thread) ? NULL : open_of(thread, "syscall");
    const bool known = file && fgets(line, sizeof line, file);
    if (file) fclose(file);
    request.call = -1;
    if (!known) return false;
    if (strncmp(line, "running", 7) == 0) return true;
    if (sscanf(line, "%ld 0x%lx 0x%lx 0x%lx 0x%lx 0x%lx 0x%lx 0x%lx 0x%lx", &request.call, &a[0],
               &a[1], &a[2], &a[3], &a[4], &a[5], &request.stack, &request.code) != 9)
        return strncmp(line, "-1 ", 3) == 0; /* in the kernel, but in no call */
    return is_restartable(request.call, a[3]);
}

/* Whether the thread has answered within a tenth of a second. */
static bool await(void)
{
    enum { TURNS = 100 };
    const struct timespec turn = {.tv_nsec = 1000000};
    int asked = ASKED;
    for (int i = 0; i < TURNS && atomic_load(&request.state) != DONE; i++) nanosleep(&turn, NULL);
    return !atomic_compare_exchange_strong(&request.state, &asked, FREE) &&
           atomic_load(&request.state) == DONE;
}

static bool ask(int thread)
{
    if (!may_interrupt(thread)) return false;
    atomic_store(&request.thread, thread);
    atomic_store(&request.state, ASKED);
    if (syscall(SYS_tgkill, getpid(), thread, SIGNAL) == 0) return await();
    atomic_store(&request.state, FREE);
    return false;
}

void gasneti_stacks(unsigned most, gasneti_stack_fn each, void *context)
{
    const int self = (int)syscall(SYS_gettid);
    if (!install()) return;
    DIR *threads = opendir("/proc/self/task");
    const struct dirent *one;
    while (threads && most && (one = readdir(threads))) {
        const int thread = atoi(one->d_name);
        if (atomic_load(&request.state) == TAKEN) break; /* a handler that does not return */
        if (thread <= 0 || thread == self || !ask(thread)) continue;
        each(context, thread, request.frames + request.first, request.count - request.first);
        atomic_store(&request.state, FREE);
        most--;
    }
    if (threads) closedir(threads);
}
