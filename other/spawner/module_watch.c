/* module_watch.c - see module_watch.h.
 *
 * Linked into the modules, not into libspawner.  The thread must never take a signal meant for the
 * program.
 */
#define _GNU_SOURCE
#include "other/spawner/module_watch.h"
#include "other/spawner/spawner_ops.h"

#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic(bootstrap_death_fn) death_fn;
static atomic_flag dying = ATOMIC_FLAG_INIT;
static int parent_fd = -1;

static void *die(void *code)
{
    spawner_run_death(atomic_load(&death_fn), (int)(intptr_t)code);
}

void module_watch_report(int exitcode)
{
    void *code = (void *)(intptr_t)exitcode;
    if (atomic_flag_test_and_set(&dying)) return;
    if (!spawner_start_thread(die, code)) die(code);
}

static void *watch_parent(void *unused)
{
    struct pollfd parent = {.fd = parent_fd, .events = POLLIN};
    while (poll(&parent, 1, -1) <= 0) continue;
    module_watch_report(1);
    return NULL;
}

void module_watch_start(void)
{
    parent_fd = (int)syscall(SYS_pidfd_open, getppid(), 0);
    if (parent_fd < 0) return; /* an older kernel: the launcher's own means have to do */
    spawner_start_thread(watch_parent, NULL);
}

void module_watch_arm(bootstrap_death_fn on_death)
{
    atomic_store(&death_fn, on_death);
}
