/* host.c - examines the system of this host: memory, limits, shared memory, names. */
#define _GNU_SOURCE
#include "config.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "other/base/memory_limits.h"
#include "other/launch/doctor/doctor.h"

static const char *const shared_memory = "/dev/shm";

enum {
    MEMLOCK_LEAST = 8 << 20,       /* bytes; less holds no receive buffers worth the name */
    MEMLOCK_PLENTY = 1 << 30,      /* bytes; less bounds the segment */
    SHARED_MEMORY_LEAST = 64 << 20 /* bytes */
};

static double megabytes(double bytes)
{
    return bytes / (1 << 20);
}

/* The file that holds the library of a function: its name has the version. */
static void library_of(void *function, char *name, size_t size)
{
    Dl_info info;
    char *path = dladdr(function, &info) && info.dli_fname ? realpath(info.dli_fname, NULL) : NULL;
    snprintf(name, size, "%s", path ? path : "(unknown)");
    free(path);
}

static void examine_versions(void)
{
    struct utsname system;
    char verbs[256];
    if (uname(&system) == 0)
        doctor_good("%s %s on %s, %ld processors", system.sysname, system.release, system.machine,
                    sysconf(_SC_NPROCESSORS_ONLN));
    void *list = dlsym(RTLD_NEXT, "ibv_open_device"); /* behind the software device's symbols */
    library_of(list ? list : dlsym(RTLD_DEFAULT, "ibv_open_device"), verbs, sizeof verbs);
    doctor_good("%s %s, libibverbs is %s", PACKAGE_NAME, PACKAGE_VERSION, verbs);
}

static void examine_memory(void)
{
    double page = (double)sysconf(_SC_PAGESIZE), all = page * (double)sysconf(_SC_PHYS_PAGES);
    double most = (double)gasneti_memory();
    if (most < all)
        doctor_note("memory: %.0f MB, of which this control group may use %.0f MB", megabytes(all),
                    megabytes(most));
    else
        doctor_good("memory: %.0f MB", megabytes(all));
}

static void examine_locked_memory(void)
{
    const uint64_t limit = gasneti_memlock();
    double most = (double)limit;
    if (limit == UINT64_MAX)
        doctor_good("locked memory (ulimit -l): unlimited%s",
                    gasneti_memlock_limit() < UINT64_MAX ? " for a process with CAP_IPC_LOCK" : "");
    else if (limit < MEMLOCK_LEAST && !doctor_kernel_devices())
        doctor_note(
            "locked memory (ulimit -l): %.3f MB, which the software device does not use and "
            "which is too little for any other",
            megabytes(most));
    else if (limit < MEMLOCK_LEAST)
        doctor_problem("locked memory (ulimit -l): %.3f MB, too little for a device; raise memlock "
                       "to unlimited in /etc/security/limits.conf and in the batch system, which "
                       "starts sessions of its own",
                       megabytes(most));
    else if (limit < MEMLOCK_PLENTY)
        doctor_note("locked memory (ulimit -l): %.0f MB, which bounds the segments on a device; "
                    "raise memlock to unlimited for more",
                    megabytes(most));
    else
        doctor_good("locked memory (ulimit -l): %.0f MB", megabytes(most));
}

static void examine_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return;
    if (limit.rlim_max < 1024)
        doctor_problem("open files (ulimit -n): at most %llu; raise nofile in "
                       "/etc/security/limits.conf",
                       (unsigned long long)limit.rlim_max);
    else
        doctor_good("open files (ulimit -n): %llu, at most %llu",
                    (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
}

/* Makes a file in shared memory, as Open MPI does; this library makes none. */
static int shared_memory_works(void)
{
    char name[64];
    snprintf(name, sizeof name, "/gasnet-doctor-%ld", (long)getpid());
    int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0) return errno;
    shm_unlink(name);
    close(fd);
    return 0;
}

static void examine_shared_memory(void)
{
    struct statvfs files;
    int error = shared_memory_works();
    if (error || statvfs(shared_memory, &files)) {
        doctor_note("%s: %s; for Open MPI mount a tmpfs there that all users may write (mode 1777)",
                    shared_memory, strerror(error ? error : errno));
        return;
    }
    double room = (double)files.f_bavail * (double)files.f_frsize;
    if (room < SHARED_MEMORY_LEAST)
        doctor_note("%s: %.0f MB are free; for Open MPI delete old files there, or mount it with a "
                    "larger size (containers: --shm-size)",
                    shared_memory, megabytes(room));
    else
        doctor_good("%s: %.0f MB are free", shared_memory, megabytes(room));
}

static void address_text(const struct addrinfo *address, char *text, size_t size)
{
    if (getnameinfo(address->ai_addr, address->ai_addrlen, text, (socklen_t)size, NULL, 0,
                    NI_NUMERICHOST))
        snprintf(text, size, "?");
}

static void examine_name(void)
{
    char name[256] = "", text[64];
    gethostname(name, sizeof name - 1);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int error = getaddrinfo(name, NULL, &hints, &found);
    if (error) {
        doctor_note("host name: %s has no address (%s); for MPI and other hosts add it to "
                    "/etc/hosts or to the name service",
                    name, gai_strerror(error));
        return;
    }
    address_text(found, text, sizeof text);
    if (strncmp(text, "127.", 4) == 0 || strcmp(text, "::1") == 0)
        doctor_note(
            "host name: %s is %s here, an address that other hosts cannot use; MPI may need "
            "its address on the network in /etc/hosts",
            name, text);
    else
        doctor_good("host name: %s is %s", name, text);
    freeaddrinfo(found);
}

void doctor_host(void)
{
    examine_versions();
    examine_memory();
    examine_locked_memory();
    examine_descriptors();
    examine_shared_memory();
    examine_name();
}
