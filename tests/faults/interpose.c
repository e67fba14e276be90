/* interpose.c - a library, loaded first, that lets one call of the C library fail in one process of
 * a job.
 *
 * A site is a call in the product of a function that can fail: role of the process, function,
 * module and offset. FAULTS_TABLE names a file, shared by all processes of the job, in which each
 * site has its count of calls. With FAULTS_ERROR the call FAULTS_HIT (the first is 1) of the site
 * FAULTS_SITE, a hash from an earlier table, fails with that errno; "short" transfers one byte
 * only. The head of the table says which call failed. Called by tests/faults/faults.py.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <link.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SITES = 8192, SHORT = -1 };

struct site {
    uint64_t hash; /* 0: free */
    uint64_t offset;
    uint32_t hits, ready;
    char role[8], function[24], module[48];
};

struct table {
    uint32_t fired, fd; /* how often the fault happened; the descriptor of the call, or -1 */
    struct site sites[SITES];
};

static struct table *table;
static uint64_t wanted;
static uint32_t wanted_hit;
static int wanted_error;
static const char *role; /* NULL: not a process of the product */

/* --- which call this is ---------------------------------------------------------------------- */

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The product's own modules; what the C library or the client calls is their affair. */
static bool is_product(const char *module)
{
    static const char *const names[] = {"gasnetrun_", "libgasnet", "libsofthca", "libvapi.",
                                        "libportals", "libmosal",  "libmpga"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(module, names[i], strlen(names[i]))) return true;
    return false;
}

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash;
}

static struct site *find(uint64_t hash, const char *function, const char *module, uint64_t offset)
{
    for (size_t i = hash % SITES, n = 0; n < SITES; n++, i = (i + 1) % SITES) {
        struct site *s = &table->sites[i];
        uint64_t found = 0;
        if (__atomic_compare_exchange_n(&s->hash, &found, hash, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            s->offset = offset;
            strncpy(s->role, role, sizeof s->role - 1);
            strncpy(s->function, function, sizeof s->function - 1);
            strncpy(s->module, module, sizeof s->module - 1);
            __atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
            return s;
        }
        if (found == hash) return s;
    }
    return NULL;
}

/* An errno, SHORT, or 0: the call goes on. */
static int fault(const char *function, void *caller, int fd)
{
    if (!table || !role) return 0;
    struct dl_find_object object;
    if (_dl_find_object((char *)caller - 1, &object) != 0) return 0;
    struct link_map *map = object.dlfo_link_map;
    const char *module = *map->l_name ? base(map->l_name) : program_invocation_short_name;
    if (!is_product(module)) return 0;
    uint64_t offset = (uint64_t)((char *)caller - 1 - (char *)map->l_addr);
    uint64_t hash = mix(mix(mix(0xcbf29ce484222325u, role), function), module);
    hash = (hash ^ offset) * 0x100000001b3u;
    struct site *site = find(hash ? hash : 1, function, module, offset);
    if (!site) return 0;
    uint32_t hit = 1 + __atomic_fetch_add(&site->hits, 1, __ATOMIC_RELAXED);
    if (site->hash != wanted || hit != wanted_hit) return 0;
    table->fd = (uint32_t)fd;
    return wanted_error;
}

static void fired(void)
{
    __atomic_fetch_add(&table->fired, 1, __ATOMIC_RELAXED);
}

static bool is_nonblocking(int fd, int flags)
{
    return (flags & MSG_DONTWAIT) || ((int)syscall(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK);
}

/* Whether this descriptor can fail so: a stream may be cut anywhere, what does not block may say
 * so, files get full and cannot be read, readers go away. */
static bool can_happen(int error, int fd, int flags)
{
    int type = 0;
    socklen_t length = sizeof type;
    struct stat is = {0};
    if (syscall(SYS_fstat, fd, &is) != 0) return false;
    if (S_ISSOCK(is.st_mode)) syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &length);
    switch (error) {
    case SHORT:
        return S_ISREG(is.st_mode) || S_ISFIFO(is.st_mode) || type == SOCK_STREAM;
    case EAGAIN: /* eventfds say so when they are empty or, which is never, full */
        return (is.st_mode & S_IFMT) && is_nonblocking(fd, flags);
    case EINTR: /* eventfds and the like sleep in no other way */
        return (is.st_mode & S_IFMT) || !is_nonblocking(fd, flags);
    case ENOSPC:
    case EIO:
        return S_ISREG(is.st_mode);
    case EPIPE:
        return S_ISSOCK(is.st_mode) || S_ISFIFO(is.st_mode);
    }
    return true;
}

__attribute__((constructor(101))) static void begin(int argc, char **argv)
{
    const char *path = getenv("FAULTS_TABLE"), *value;
    const char *me = base(argv[0]);
    if (!path) return;
    if (!strncmp(me, "gasnetrun_", 10))
        role = argc > 1 && !strncmp(argv[1], "--spawn-control", 15) ? "control" : "launch";
    else if (!strncmp(me, "testfaults", 10))
        role = "rank";
    if (!role) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR);
    if (fd < 0) return;
    void *mapped =
        (void *)syscall(SYS_mmap, NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (mapped == MAP_FAILED) abort();
    if ((value = getenv("FAULTS_SITE"))) wanted = strtoull(value, NULL, 16);
    if ((value = getenv("FAULTS_HIT"))) wanted_hit = (uint32_t)strtoul(value, NULL, 10);
    if ((value = getenv("FAULTS_ERROR")))
        wanted_error = strcmp(value, "short") ? (int)strtol(value, NULL, 10) : SHORT;
    table = mapped;
}

/* --- the calls ------------------------------------------------------------------------------- */

#define NEXT(name)                                                                                 \
    static __typeof__(&name) next;                                                                 \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* A call that returns `bad` and sets errno. */
#define CALL(type, name, bad, fd, parameters, arguments)                                           \
    type name parameters                                                                           \
    {                                                                                              \
        NEXT(name);                                                                                \
        int error = fault(#name, __builtin_return_address(0), (int)(fd));                          \
        if (!error) return next arguments;                                                         \
        fired();                                                                                   \
        errno = error;                                                                             \
        return bad;                                                                                \
    }

/* A call that returns its error. */
#define CODE(name, parameters, arguments)                                                          \
    int name parameters                                                                            \
    {                                                                                              \
        NEXT(name);                                                                                \
        int error = fault(#name, __builtin_return_address(0), -1);                                 \
        if (!error) return next arguments;                                                         \
        fired();                                                                                   \
        return error;                                                                              \
    }

/* A transfer, which may be short: `less` are the arguments for one byte. */
#define TRANSFER(name, fd, flags, parameters, arguments, prepare, less)                            \
    ssize_t name parameters                                                                        \
    {                                                                                              \
        NEXT(name);                                                                                \
        int error = fault(#name, __builtin_return_address(0), fd);                                 \
        if (!error || !can_happen(error, fd, flags)) return next arguments;                        \
        fired();                                                                                   \
        if (error == SHORT) {                                                                      \
            prepare;                                                                               \
            return next less;                                                                      \
        }                                                                                          \
        errno = error;                                                                             \
        return -1;                                                                                 \
    }

/* The allocators are not looked up: looking up allocates. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
#define ALLOCATE(name, parameters, real)                                                           \
    void *name parameters                                                                          \
    {                                                                                              \
        int error = fault(#name, __builtin_return_address(0), -1);                                 \
        if (!error) return real;                                                                   \
        fired();                                                                                   \
        errno = error;                                                                             \
        return NULL;                                                                               \
    }
ALLOCATE(malloc, (size_t n), __libc_malloc(n))
ALLOCATE(calloc, (size_t n, size_t size), __libc_calloc(n, size))
ALLOCATE(realloc, (void *p, size_t n), __libc_realloc(p, n))
ALLOCATE(aligned_alloc, (size_t alignment, size_t n), __libc_memalign(alignment, n))
CODE(posix_memalign, (void **p, size_t alignment, size_t n), (p, alignment, n))
CALL(char *, strdup, NULL, -1, (const char *text), (text))
CALL(char *, strndup, NULL, -1, (const char *text, size_t n), (text, n))
CALL(char *, getcwd, NULL, -1, (char *buffer, size_t n), (buffer, n))
CALL(FILE *, open_memstream, NULL, -1, (char **text, size_t *n), (text, n))
CALL(int, vasprintf, -1, -1, (char **text, const char *format, va_list list), (text, format, list))

int asprintf(char **text, const char *format, ...)
{
    NEXT(vasprintf);
    int error = fault("asprintf", __builtin_return_address(0), -1);
    if (error) {
        fired();
        errno = error;
        return -1;
    }
    va_list list;
    va_start(list, format);
    int result = next(text, format, list);
    va_end(list);
    return result;
}

CALL(void *, mmap, MAP_FAILED, fd, (void *at, size_t n, int prot, int flags, int fd, off_t offset),
     (at, n, prot, flags, fd, offset))
CALL(int, munmap, -1, -1, (void *at, size_t n), (at, n))
CALL(int, mprotect, -1, -1, (void *at, size_t n, int prot), (at, n, prot))
CALL(int, madvise, -1, -1, (void *at, size_t n, int advice), (at, n, advice))
CALL(int, mincore, -1, -1, (void *at, size_t n, unsigned char *pages), (at, n, pages))
CALL(int, msync, -1, -1, (void *at, size_t n, int flags), (at, n, flags))
CALL(int, memfd_create, -1, -1, (const char *name, unsigned flags), (name, flags))
CALL(int, ftruncate, -1, fd, (int fd, off_t n), (fd, n))
CODE(posix_fallocate, (int fd, off_t at, off_t n), (fd, at, n))
CALL(int, fallocate, -1, fd, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
CALL(ssize_t, process_vm_readv, -1, -1,
     (pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from, unsigned long m,
      unsigned long flags),
     (pid, to, n, from, m, flags))
CALL(ssize_t, process_vm_writev, -1, -1,
     (pid_t pid, const struct iovec *from, unsigned long n, const struct iovec *to, unsigned long m,
      unsigned long flags),
     (pid, from, n, to, m, flags))

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        NEXT(name);                                                                                \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;                  \
        va_end(list);                                                                              \
        int error = fault(#name, __builtin_return_address(0), -1);                                 \
        if (!error) return next(path, flags, mode);                                                \
        fired();                                                                                   \
        errno = error;                                                                             \
        return -1;                                                                                 \
    }
OPEN(open)
OPEN(open64)

int fcntl(int fd, int command, ...)
{
    NEXT(fcntl);
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    bool can_fail =
        command != F_GETFL && command != F_SETFL && command != F_GETFD && command != F_SETFD;
    int error = can_fail ? fault("fcntl", __builtin_return_address(0), fd) : 0;
    if (!error) return next(fd, command, argument);
    fired();
    errno = error;
    return -1;
}

int prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long),
                  c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    int error = fault("prctl", __builtin_return_address(0), -1);
    if (!error) return (int)syscall(SYS_prctl, option, a, b, c, d);
    fired();
    errno = error;
    return -1;
}

/* The kernel has closed it whatever it returns. */
int close(int fd)
{
    NEXT(close);
    int error = fault("close", __builtin_return_address(0), fd), result = next(fd);
    if (!error) return result;
    fired();
    errno = error;
    return -1;
}

CALL(FILE *, fopen, NULL, -1, (const char *path, const char *mode), (path, mode))
CALL(FILE *, fdopen, NULL, fd, (int fd, const char *mode), (fd, mode))
CALL(FILE *, popen, NULL, -1, (const char *command, const char *mode), (command, mode))
CALL(int, fflush, EOF, stream ? fileno(stream) : -1, (FILE * stream), (stream))
CALL(char *, fgets, NULL, fileno(stream), (char *text, int n, FILE *stream), (text, n, stream))
CALL(ssize_t, getline, -1, fileno(stream), (char **text, size_t *n, FILE *stream),
     (text, n, stream))
CALL(DIR *, opendir, NULL, -1, (const char *path), (path))
CALL(ssize_t, readlink, -1, -1, (const char *path, char *text, size_t n), (path, text, n))
CALL(int, stat, -1, -1, (const char *path, struct stat *result), (path, result))
CALL(int, fstat, -1, fd, (int fd, struct stat *result), (fd, result))
CALL(int, access, -1, -1, (const char *path, int mode), (path, mode))
CALL(int, chdir, -1, -1, (const char *path), (path))
CALL(int, unlink, -1, -1, (const char *path), (path))

/* Closes all the same. */
int fclose(FILE *stream)
{
    NEXT(fclose);
    int fd = fileno(stream), error = fault("fclose", __builtin_return_address(0), fd);
    int result = next(stream);
    if (!error) return result;
    fired();
    errno = error;
    return EOF;
}

CALL(int, socket, -1, -1, (int domain, int type, int protocol), (domain, type, protocol))
CALL(int, socketpair, -1, -1, (int domain, int type, int protocol, int pair[2]),
     (domain, type, protocol, pair))
CALL(int, bind, -1, fd, (int fd, __CONST_SOCKADDR_ARG at, socklen_t n), (fd, at, n))
CALL(int, listen, -1, fd, (int fd, int n), (fd, n))
CALL(int, connect, -1, fd, (int fd, __CONST_SOCKADDR_ARG to, socklen_t n), (fd, to, n))
CALL(int, accept4, -1, fd, (int fd, __SOCKADDR_ARG from, socklen_t *n, int flags),
     (fd, from, n, flags))
CALL(int, getsockname, -1, fd, (int fd, __SOCKADDR_ARG name, socklen_t *n), (fd, name, n))
CALL(int, getpeername, -1, fd, (int fd, __SOCKADDR_ARG name, socklen_t *n), (fd, name, n))
CALL(int, getsockopt, -1, fd, (int fd, int level, int name, void *value, socklen_t *n),
     (fd, level, name, value, n))
CALL(int, setsockopt, -1, fd, (int fd, int level, int name, const void *value, socklen_t n),
     (fd, level, name, value, n))
CALL(int, shutdown, -1, fd, (int fd, int how), (fd, how))
CALL(int, pipe2, -1, -1, (int pair[2], int flags), (pair, flags))
CALL(int, dup2, -1, from, (int from, int to), (from, to))
CALL(int, dup, -1, from, (int from), (from))
CALL(int, eventfd, -1, -1, (unsigned value, int flags), (value, flags))
CALL(int, eventfd_read, -1, fd, (int fd, eventfd_t *value), (fd, value))
CALL(int, eventfd_write, -1, fd, (int fd, eventfd_t value), (fd, value))
CALL(int, epoll_create1, -1, -1, (int flags), (flags))
CALL(int, epoll_ctl, -1, fd, (int set, int what, int fd, struct epoll_event *event),
     (set, what, fd, event))
CALL(int, epoll_wait, -1, -1, (int set, struct epoll_event *events, int n, int timeout),
     (set, events, n, timeout))
CALL(int, poll, -1, -1, (struct pollfd * fds, nfds_t n, int timeout), (fds, n, timeout))
CALL(int, ppoll, -1, -1,
     (struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask),
     (fds, n, timeout, mask))
CALL(int, timerfd_create, -1, -1, (int clock, int flags), (clock, flags))
CALL(int, timer_create, -1, -1, (clockid_t clock, struct sigevent *event, timer_t *timer),
     (clock, event, timer))
CALL(int, signalfd, -1, fd, (int fd, const sigset_t *mask, int flags), (fd, mask, flags))
CALL(int, sigaltstack, -1, -1, (const stack_t *now, stack_t *old), (now, old))
CALL(ssize_t, getrandom, -1, -1, (void *bytes, size_t n, unsigned flags), (bytes, n, flags))
CALL(int, gethostname, -1, -1, (char *name, size_t n), (name, n))
CALL(int, getifaddrs, -1, -1, (struct ifaddrs * *list), (list))
CODE(getaddrinfo,
     (const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list),
     (host, service, hints, list))
CALL(int, setrlimit, -1, -1, (__rlimit_resource_t which, const struct rlimit *limit),
     (which, limit))
CALL(int, getrlimit, -1, -1, (__rlimit_resource_t which, struct rlimit *limit), (which, limit))
CALL(int, setenv, -1, -1, (const char *name, const char *value, int replace),
     (name, value, replace))
CALL(pid_t, setsid, -1, -1, (void), ())
CALL(int, setpgid, -1, -1, (pid_t pid, pid_t group), (pid, group))
CALL(int, sched_setaffinity, -1, -1, (pid_t pid, size_t n, const cpu_set_t *set), (pid, n, set))
CALL(int, sched_getaffinity, -1, -1, (pid_t pid, size_t n, cpu_set_t *set), (pid, n, set))

CALL(pid_t, fork, -1, -1, (void), ())
CALL(pid_t, waitpid, -1, -1, (pid_t pid, int *status, int options), (pid, status, options))
CALL(int, execve, -1, -1, (const char *path, char *const argv[], char *const envp[]),
     (path, argv, envp))
CALL(int, execv, -1, -1, (const char *path, char *const argv[]), (path, argv))
CALL(int, execvp, -1, -1, (const char *path, char *const argv[]), (path, argv))
CODE(posix_spawnp,
     (pid_t * pid, const char *file, const posix_spawn_file_actions_t *actions,
      const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]),
     (pid, file, actions, attributes, argv, envp))
CODE(pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument),
     (thread, attributes, body, argument))
CODE(pthread_key_create, (pthread_key_t * key, void (*destroy)(void *)), (key, destroy))
CALL(void *, dlopen, NULL, -1, (const char *path, int mode), (path, mode))

static struct iovec one_byte(const struct iovec *list)
{
    return (struct iovec){list->iov_base, list->iov_len != 0};
}
TRANSFER(write, fd, 0, (int fd, const void *bytes, size_t n), (fd, bytes, n), , (fd, bytes, n != 0))
TRANSFER(read, fd, 0, (int fd, void *bytes, size_t n), (fd, bytes, n), , (fd, bytes, n != 0))
TRANSFER(pread, fd, 0, (int fd, void *bytes, size_t n, off_t at), (fd, bytes, n, at), ,
         (fd, bytes, n != 0, at))
TRANSFER(pwrite, fd, 0, (int fd, const void *bytes, size_t n, off_t at), (fd, bytes, n, at), ,
         (fd, bytes, n != 0, at))
TRANSFER(writev, fd, 0, (int fd, const struct iovec *list, int n), (fd, list, n),
         struct iovec one = one_byte(list), (fd, &one, 1))
TRANSFER(readv, fd, 0, (int fd, const struct iovec *list, int n), (fd, list, n),
         struct iovec one = one_byte(list), (fd, &one, 1))
TRANSFER(send, fd, flags, (int fd, const void *bytes, size_t n, int flags), (fd, bytes, n, flags), ,
         (fd, bytes, n != 0, flags))
TRANSFER(recv, fd, flags, (int fd, void *bytes, size_t n, int flags), (fd, bytes, n, flags), ,
         (fd, bytes, n != 0, flags))
TRANSFER(sendto, fd, flags,
         (int fd, const void *bytes, size_t n, int flags, __CONST_SOCKADDR_ARG to, socklen_t m),
         (fd, bytes, n, flags, to, m), , (fd, bytes, n != 0, flags, to, m))
TRANSFER(recvfrom, fd, flags,
         (int fd, void *bytes, size_t n, int flags, __SOCKADDR_ARG from, socklen_t *m),
         (fd, bytes, n, flags, from, m), , (fd, bytes, n != 0, flags, from, m))

static struct msghdr first_byte(const struct msghdr *message, struct iovec *one)
{
    struct msghdr result = *message;
    if (message->msg_iovlen) *one = one_byte(message->msg_iov);
    result.msg_iov = one, result.msg_iovlen = message->msg_iovlen != 0;
    return result;
}
TRANSFER(sendmsg, fd, flags, (int fd, const struct msghdr *message, int flags),
         (fd, message, flags), struct iovec one;
         struct msghdr less = first_byte(message, &one), (fd, &less, flags))
TRANSFER(recvmsg, fd, flags, (int fd, struct msghdr *message, int flags), (fd, message, flags),
         struct iovec one;
         struct msghdr less = first_byte(message, &one), (fd, &less, flags))
