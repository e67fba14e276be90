/* hostmem.c - memory files without a name; see hostmem.h.
 *
 * Reading the links in /proc/PID/fd needs the permission of ptrace's read mode: the same user, and
 * a process that may be dumped.  Yama's ptrace_scope restricts attaching alone.
 */
#include "other/base/hostmem/hostmem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "other/base/uncancelled.h"

int hostmem_resize(int fd, uint64_t size)
{
    struct rlimit limit; /* growing past it raises SIGXFSZ */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < size) {
        errno = EFBIG;
        return -1;
    }
    int result;
    while ((result = ftruncate(fd, (off_t)size)) < 0 && errno == EINTR) continue;
    return result;
}

int hostmem_create(const char *name, uint64_t size)
{
    GASNETI_UNCANCELLED;
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0 || hostmem_resize(fd, size) == 0) return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

const char *hostmem_advice(int error)
{
    switch (error) {
    case EPERM:
    case ENOSYS:
        return " (refused by a seccomp filter?)";
    case EFBIG:
        return " (see ulimit -f)";
    case EMFILE:
        return " (see ulimit -n)";
    default:
        return "";
    }
}

bool hostmem_describe(int fd, hostmem_file_t *file)
{
    struct stat st;
    if (fstat(fd, &st) < 0) return false;
    *file = (hostmem_file_t){getpid(), fd, st.st_dev, st.st_ino};
    return true;
}

/* Other processes must be allowed to trace the one that has it. */
int hostmem_open(const hostmem_file_t *file)
{
    GASNETI_UNCANCELLED;
    char path[64];
    struct stat st;
    if (file->pid <= 0 || file->fd < 0) return -1;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)file->pid, (int)file->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -1;
    if (fstat(fd, &st) == 0 && st.st_dev == file->device && st.st_ino == file->inode) return fd;
    close(fd);
    return -1;
}

bool hostmem_space(uint64_t space[2])
{
    struct stat st;
    if (stat("/proc/self/ns/pid", &st) < 0) return false;
    space[0] = st.st_dev;
    space[1] = st.st_ino;
    return true;
}
