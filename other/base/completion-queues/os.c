/* os.c - the operating system: see os.h. */
#include "other/base/completion-queues/os.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/base/uncancelled.h"

int64_t dapl_os_deadline(int64_t timeout)
{
    if (timeout < 0) return OS_NEVER;
    int64_t now = (int64_t)gasneti_clock_ns();
    return timeout > OS_NEVER - 1 - now ? OS_NEVER - 1 : now + timeout;
}

/* The time left until the deadline; NULL: forever. */
static struct timespec *time_left(int64_t deadline, struct timespec *left)
{
    if (deadline == OS_NEVER) return NULL;
    int64_t rest = deadline - (int64_t)gasneti_clock_ns();
    if (rest < 0) rest = 0;
    left->tv_sec = rest / 1000000000;
    left->tv_nsec = rest % 1000000000;
    return left;
}

int dapl_os_wake_open(void)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

void dapl_os_wake(int fd)
{
    GASNETI_UNCANCELLED;
    uint64_t one = 1;
    /* EAGAIN: the counter is at its maximum, and readable. */
    while (write(fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

void dapl_os_clear(int fd)
{
    GASNETI_UNCANCELLED;
    uint64_t count;
    while (read(fd, &count, sizeof count) < 0 && errno == EINTR) {
    }
}

void dapl_os_close(int fd)
{
    GASNETI_UNCANCELLED;
    if (fd >= 0) close(fd);
}

int dapl_os_sleep(int first, int second, int64_t deadline)
{
    struct pollfd fds[2] = {{.fd = first, .events = POLLIN}, {.fd = second, .events = POLLIN}};
    struct timespec left;
    int n = ppoll(fds, 2, time_left(deadline, &left), NULL);
    if (n < 0) return -errno;
    return (fds[0].revents ? 1 : 0) | (fds[1].revents ? 2 : 0);
}

int dapl_os_set_open(void)
{
    int set = epoll_create1(EPOLL_CLOEXEC);
    return set < 0 ? -errno : set;
}

static int set_control(int set, int operation, int fd, uint64_t key, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u64 = key};
    return epoll_ctl(set, operation, fd, &event) ? -errno : 0;
}

int dapl_os_set_add(int set, int fd, uint64_t key, bool watch)
{
    return set_control(set, EPOLL_CTL_ADD, fd, key, watch ? EPOLLIN : 0);
}

void dapl_os_set_watch(int set, int fd, uint64_t key, bool watch)
{
    set_control(set, EPOLL_CTL_MOD, fd, key, watch ? EPOLLIN : 0);
}

void dapl_os_set_remove(int set, int fd)
{
    set_control(set, EPOLL_CTL_DEL, fd, 0, 0);
}

int dapl_os_set_add_edge(int set, int fd, uint64_t key)
{
    return set_control(set, EPOLL_CTL_ADD, fd, key, EPOLLIN | EPOLLET);
}

int dapl_os_set_sleep(int set, int64_t deadline, uint64_t *keys, int most)
{
    struct epoll_event events[DAPL_OS_AT_ONCE];
    struct timespec left;
    struct timespec *timeout = time_left(deadline, &left);
    int n = (int)syscall(SYS_epoll_pwait2, set, events, most, timeout, NULL, 0);
    if (n < 0 && errno == ENOSYS) { /* before Linux 5.11 */
        struct pollfd fds = {.fd = set, .events = POLLIN};
        n = ppoll(&fds, 1, timeout, NULL);
        if (n > 0) n = epoll_wait(set, events, most, 0);
    }
    if (n < 0) return -errno;
    for (int i = 0; i < n; i++) keys[i] = events[i].data.u64;
    return n;
}

void dapl_os_yield(unsigned round)
{
    GASNETI_UNCANCELLED;
    if (round < 16)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = round < 64 ? 50000 : 500000}, NULL);
}

static int membarrier(int command)
{
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

bool dapl_os_barrier_ready(void)
{
    return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

void dapl_os_barrier(void)
{
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
