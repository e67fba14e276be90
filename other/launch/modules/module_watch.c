/* module_watch.c - see module.h.
 *
 * Linked into the modules, not into libspawner.  The thread must never take a signal meant for the
 * program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "other/launch/modules/module.h"
#include "other/launch/spawner_ops.h"

static _Atomic(bootstrap_death_fn) death_fn;
static atomic_flag dying = ATOMIC_FLAG_INIT;
static int parent_fd = -1, abort_fd = -1;

enum { ABORT_SECONDS = 2 };
static void (*_Atomic abort_by)(int);
static atomic_int abort_code;

static void *module_die(void *code)
{
    spawner_run_death(atomic_load(&death_fn), (int)(intptr_t)code);
}

void module_watch_report(int exitcode)
{
    void *code = (void *)(intptr_t)exitcode;
    if (atomic_flag_test_and_set(&dying)) return;
    if (!spawner_start_thread(module_die, code)) module_die(code);
}

static void *module_watch_thread(void *unused)
{
    struct pollfd fds[] = {{.fd = parent_fd, .events = POLLIN}, {.fd = abort_fd, .events = POLLIN}};
    while (poll(fds, 2, -1) <= 0) continue;
    if (fds[1].revents)
        atomic_load (&abort_by)(atomic_load(&abort_code));
    else
        module_watch_report(1);
    return NULL;
}

void module_watch_start(void)
{
    /* -1 on an older kernel: the launcher has to end this process itself */
    parent_fd = (int)syscall(SYS_pidfd_open, getppid(), 0);
    abort_fd = eventfd(0, EFD_CLOEXEC);
    spawner_start_thread(module_watch_thread, NULL);
}

/* The call may hang if the server does not answer: this process then exits after a time, and its
 * own status reports the abort. */
void module_watch_abort(void (*end)(int exitcode), int exitcode)
{
    struct timespec left = {.tv_sec = ABORT_SECONDS};
    uint64_t one = 1;
    atomic_store(&abort_code, exitcode ? exitcode : 1); /* others were ended: no success */
    atomic_store(&abort_by, end);
    if (write(abort_fd, &one, sizeof one) == (ssize_t)sizeof one)
        while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
    _exit(exitcode & 0xff);
}

void module_watch_arm(bootstrap_death_fn on_death)
{
    atomic_store(&death_fn, on_death);
}
