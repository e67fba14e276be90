/* ssh_children.c - starts processes, and makes sure that they end; see ssh_children.h.
 *
 * Called by the event loops of launcher and control process.  Must never leave a process behind:
 * PR_SET_PDEATHSIG ends direct children, the guard ends their process groups.
 */
#define _GNU_SOURCE
#include "other/launch/ssh/ssh_children.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other/base/descriptors.h"
#include "other/launch/launcher_log.h"
#include "other/launch/spawner_ops.h"

/* --- guard --- */

enum { GUARD_PATIENCE = 3000 }; /* ms between the end of the connection and SIGKILL to the parent */

/* Closes all descriptors from 3 on but two.  Old kernels cannot, and leave them open. */
static void children_close_but(int one, int other)
{
    const int kept[2] = {one < other ? one : other, one < other ? other : one};
    unsigned first = STDERR_FILENO + 1;
    for (int i = 0; i < 2; i++) {
        if (kept[i] < (int)first) continue;
        if (kept[i] > (int)first) syscall(SYS_close_range, first, kept[i] - 1, 0);
        first = (unsigned)kept[i] + 1;
    }
    syscall(SYS_close_range, first, ~0U, 0);
}

/* A process that waits for its parent's end, however that comes, and then kills the process groups
 * listed in shared memory: a wrapper may have started processes that PR_SET_PDEATHSIG does not
 * reach. */
static void children_guard(const struct ssh_children *children, pid_t parent, int fd, int up)
    __attribute__((noreturn));
static void children_guard(const struct ssh_children *children, pid_t parent, int fd, int up)
{
    struct pollfd ends[2] = {{.fd = fd, .events = POLLIN}, {.fd = up, .events = POLLRDHUP}};
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && null >= 0; i++) dup2(null, i);
    children_close_but(fd, up); /* others wait for the end of pipes that the parent has */
    poll(ends, 2, -1);
    if (!ends[0].revents && poll(ends, 1, GUARD_PATIENCE) == 0) kill(parent, SIGKILL);
    ends[0].events = 0;
    if (ends[0].revents == POLLIN) poll(ends, 1, -1); /* ssh_children_ending_well */
    shutdown(up, SHUT_RDWR); /* makes the launcher notice the parent's end before that of its
                                children */
    for (size_t i = 0; i < children->slots; i++)
        if (children->groups[i] > 0) kill(-children->groups[i], SIGKILL);
    _exit(0);
}

static bool children_start_guard(struct ssh_children *children, int up)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    children->guard = fork();
    if (children->guard == 0) {
        close(ends[1]);
        children_guard(children, parent, ends[0], up);
    }
    close(ends[0]);
    children->guard_fd = ends[1];
    return children->guard > 0;
}

/* --- opening and closing --- */

/* A rank needs a socket and, behind a wrapper, a pidfd, and possibly two pipes; a helper needs
 * three pipes and a connection, and three more ends while it starts.  poll() is limited to as many
 * entries as there may be descriptors. */
bool ssh_children_make_room(struct ssh_children *children, uint32_t ranks, uint32_t others,
                            bool piped)
{
    enum { PER_HELPER = 4, BESIDES = 16 };
    const uint32_t per_rank = piped ? 4 : 2;
    struct gasneti_descriptors found;
    memset(children, 0, sizeof *children);
    getrlimit(RLIMIT_NOFILE, &children->fds_before);
    if (gasneti_descriptors_reserve(per_rank * ranks + PER_HELPER * others + BESIDES, &found))
        return true;
    launcher_log(
        "%" PRIu32 " processes on this machine%s take up to %lu open files here, and the hard "
        "limit is %lu (ulimit -Hn): have it raised to %lu, or start fewer processes here",
        ranks, others ? " and those elsewhere" : "", found.needed, found.hard, found.needed);
    return false;
}

bool ssh_children_open(struct ssh_children *children, uint32_t ranks, uint32_t others, int up)
{
    static const int watched[] = {SIGINT,  SIGTERM, SIGQUIT, SIGHUP, SIGCHLD,
                                  SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
    children->count = ranks;
    children->slots = (size_t)ranks + others;
    children->ranks = calloc(ranks, sizeof *children->ranks);
    children->groups = mmap(NULL, children->slots * sizeof *children->groups,
                            PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!children->ranks || children->groups == MAP_FAILED) return false;
    for (uint32_t i = 0; i < ranks; i++)
        children->ranks[i].stream.fd = children->ranks[i].program = -1;

    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        struct sigaction now; /* inherited from nohup and the shell's "&": stays ignored */
        sigaction(watched[i], NULL, &now);
        if (now.sa_handler != SIG_IGN || watched[i] == SIGCHLD) sigaddset(&set, watched[i]);
    }
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, &set, &children->mask_before);
    children->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return children->signals >= 0 && children_start_guard(children, up);
}

void ssh_children_close(struct ssh_children *children)
{
    for (uint32_t i = 0; i < children->count; i++) ssh_children_forget(&children->ranks[i]);
    close(children->guard_fd);
    while (children->guard > 0 && waitpid(children->guard, NULL, 0) < 0 && errno == EINTR) continue;
    close(children->signals);
    munmap((void *)children->groups, children->slots * sizeof *children->groups);
    free(children->ranks);
    children->ranks = NULL;
}

void ssh_children_ending_well(const struct ssh_children *children)
{
    while (write(children->guard_fd, "", 1) < 0 && errno == EINTR) continue;
}

/* --- starting --- */

/* In the child, before exec. */
static void children_new_session(const struct ssh_children *children, pid_t parent)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* the parent died before prctl */
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &children->mask_before, NULL);
}

/* Sets the limit of descriptors that the user had set: then no more can be made. */
static void children_limit(const struct ssh_children *children)
{
    setrlimit(RLIMIT_NOFILE, &children->fds_before);
}

static void children_note_group(struct ssh_children *children, pid_t pid)
{
    for (size_t i = 0; i < children->slots; i++) {
        if (children->groups[i]) continue;
        children->groups[i] = pid;
        return;
    }
}

/* Sends the error to the launcher, through the rank's socket. */
static void children_failed(const struct ssh_program *program, int fd, uint32_t rank, int error)
    __attribute__((noreturn));
static void children_failed(const struct ssh_program *program, int fd, uint32_t rank, int error)
{
    uint8_t frame[SSH_WIRE_VALUE_FRAME];
    size_t len = ssh_wire_value_frame(frame, SSH_WIRE_EXEC_FAILED, rank, (uint32_t)error);
    if (send(fd, frame, len, MSG_NOSIGNAL) < 0) perror(program->path);
    _exit(127);
}

/* Executes the program. */
static void children_exec(const struct ssh_program *program, const char **envp, int fd,
                          uint32_t rank) __attribute__((noreturn));
static void children_exec(const struct ssh_program *program, const char **envp, int fd,
                          uint32_t rank)
{
    fcntl(fd, F_SETFD, 0);
    execve(program->path, program->argv, (char *const *)envp);
    int error = errno;
    if (error == ENOEXEC) { /* a script without #! is run by the shell */
        size_t argc = 0;
        while (program->argv[argc]) argc++;
        const char **argv = calloc(argc + 2, sizeof *argv);
        if (argv) {
            argv[0] = "/bin/sh";
            argv[1] = program->path;
            for (size_t i = 1; i < argc; i++) argv[i + 1] = program->argv[i];
            execve(argv[0], (char *const *)argv, (char *const *)envp);
        }
    }
    children_failed(program, fd, rank, error);
}

/* Returns the program's environment with `control` added and other private variables left out. */
static const char **children_environment(const struct ssh_program *program, const char *control)
{
    size_t count = 0, kept = 0, prefix = strlen(SPAWNER_PRIVATE_PREFIX);
    while (program->envp[count]) count++;
    const char **envp = calloc(count + 2, sizeof *envp);
    if (!envp) return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(program->envp[i], SPAWNER_PRIVATE_PREFIX, prefix) != 0)
            envp[kept++] = program->envp[i];
    envp[kept] = control;
    return envp;
}

/* A pair of sockets.  The launcher's end gets a high number, so that the rank's is small and
 * within the limit that the user gave the ranks. */
static bool children_socketpair(int ends[2])
{
    enum { OUT_OF_THE_WAY = 32 };
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
    int high = fcntl(ends[0], F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    if (high < 0) return true; /* the limit leaves no high number */
    close(ends[0]);
    ends[0] = high;
    return true;
}

/* --- forker --- */

/* A rank to start: the launcher's end of its socket is passed with the message, and behind it those
 * of the descriptors 0 to 2 that are not the forker's own. */
struct order {
    uint32_t rank;
    bool passed[3];
};
enum { ORDER_FDS = 4, SIBLING_STACK = 64 * 1024 };

struct sibling {
    const struct ssh_children *children;
    const struct ssh_program *program;
    struct order order;
    int fds[ORDER_FDS];
    pid_t parent;
};

/* Executes the program of a rank, which leads a process group. */
static int sibling_run(void *arg)
{
    const struct sibling *s = arg;
    const int *fd = s->fds + 1;
    struct stat st;
    char control[96];
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != s->parent) _exit(1); /* the parent died before prctl */
    for (int i = 0; i < 3; i++)
        if (s->order.passed[i]) dup2(*fd++, i);
    fstat(s->fds[0], &st);
    snprintf(control, sizeof control, SPAWNER_CONTROL "=ssh %d %ju %" PRIu32, s->fds[0],
             (uintmax_t)st.st_ino, s->order.rank);
    const char **envp = children_environment(s->program, control);
    if (!envp) children_failed(s->program, s->fds[0], s->order.rank, ENOMEM);
    children_limit(s->children);
    children_exec(s->program, envp, s->fds[0], s->order.rank);
}

/* Receives an order and its descriptors.  False at the end of the connection.  If this process has
 * no room for all descriptors, it gets none: fds[0] is -1. */
static bool forker_take(int orders, struct order *order, int fds[ORDER_FDS])
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(ORDER_FDS * sizeof(int))];
    } control;
    struct iovec data = {order, sizeof *order};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    for (int i = 0; i < ORDER_FDS; i++) fds[i] = -1;
    ssize_t got;
    while ((got = recvmsg(orders, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
    if (got != sizeof *order) return false;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head) memcpy(fds, CMSG_DATA(head), head->cmsg_len - CMSG_LEN(0));
    if (message.msg_flags & MSG_CTRUNC && fds[0] >= 0) {
        close(fds[0]);
        fds[0] = -1;
    }
    return true;
}

/* The ranks of a host share a session, because the kernel may give each session a share of its own
 * of the processors (autogroup): then sched_yield gives way only to processes of the same session.
 * This process leads it, and starts the ranks as children of its parent. */
static void forker_run(const struct ssh_children *children, const struct ssh_program *program,
                       pid_t parent, int orders) __attribute__((noreturn));
static void forker_run(const struct ssh_children *children, const struct ssh_program *program,
                       pid_t parent, int orders)
{
    static char stack[SIBLING_STACK] __attribute__((aligned(64)));
    struct sibling next = {.children = children, .program = program, .parent = parent};
    int null;
    children_new_session(children, parent);
    while ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && null <= 2) continue;
    while (forker_take(orders, &next.order, next.fds)) {
        int answer = -EMFILE;
        if (next.fds[0] >= 0) {
            answer = clone(sibling_run, stack + sizeof stack, CLONE_PARENT | SIGCHLD, &next);
            if (answer < 0) answer = -errno;
        }
        for (int i = 0; i < ORDER_FDS; i++)
            if (next.fds[i] >= 0) close(next.fds[i]);
        ssize_t sent;
        while ((sent = send(orders, &answer, sizeof answer, MSG_NOSIGNAL)) < 0 && errno == EINTR)
            continue;
        if (sent < 0) break;
    }
    _exit(0);
}

bool ssh_children_open_nursery(struct ssh_children *children, const struct ssh_program *program)
{
    int ends[2];
    const pid_t parent = getpid();
    if (!children_socketpair(ends)) return false;
    children->session = fork();
    if (children->session == 0) {
        close(ends[0]);
        forker_run(children, program, parent, ends[1]);
    }
    close(ends[1]);
    children->orders = ends[0];
    if (children->session < 0) close(ends[0]);
    return children->session > 0;
}

void ssh_children_close_nursery(struct ssh_children *children)
{
    if (children->session <= 0) return; /* the session could not be opened */
    close(children->orders);
    while (waitpid(children->session, NULL, 0) < 0 && errno == EINTR) continue;
}

/* Returns the process, or -1 with errno. */
static pid_t children_order(const struct ssh_children *children, uint32_t rank, int control_fd,
                            const int fds[3])
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(ORDER_FDS * sizeof(int))];
    } control = {.space = {0}};
    struct order order = {.rank = rank};
    int passed[ORDER_FDS] = {control_fd}, count = 1, answer;
    for (int i = 0; i < 3; i++) {
        order.passed[i] = fds[i] > 2;
        if (order.passed[i]) passed[count++] = fds[i];
    }
    struct iovec data = {&order, sizeof order};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(head), passed, (size_t)count * sizeof(int));
    ssize_t done;
    while ((done = sendmsg(children->orders, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        continue;
    if (done < 0) return -1;
    while ((done = recv(children->orders, &answer, sizeof answer, 0)) < 0 && errno == EINTR)
        continue;
    if (done != sizeof answer) answer = -ECHILD;
    if (answer > 0) return answer;
    errno = -answer;
    return -1;
}

void ssh_children_adopt(struct ssh_children *children, uint32_t index, uint32_t rank, pid_t pid,
                        int fd)
{
    children_note_group(children, pid);
    children->ranks[index].pid = pid;
    children->ranks[index].rank = rank;
    ssh_stream_open(&children->ranks[index].stream, fd, true);
}

bool ssh_children_start_rank(struct ssh_children *children, uint32_t index, uint32_t rank,
                             const int fds[3])
{
    int ends[2];
    if (!children_socketpair(ends)) return false;
    const pid_t pid = children_order(children, rank, ends[1], fds);
    int error = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        errno = error;
        return false;
    }
    ssh_children_adopt(children, index, rank, pid, ends[0]);
    return true;
}

pid_t ssh_children_start_helper(struct ssh_children *children, char *const *argv, const int fds[3])
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        children_new_session(children, parent);
        for (int i = 0; i < 3; i++) dup2(fds[i], i);
        children_limit(children);
        execvp(argv[0], argv);
        _exit(127);
    }
    if (pid > 0) children_note_group(children, pid);
    return pid;
}

/* --- programs behind wrappers --- */

void ssh_children_note_program(const struct ssh_children *children, struct ssh_child *child,
                               pid_t program)
{
    /* Only a process of the ranks' session has a number that is valid here; in a container it is
     * another. */
    if (child->program >= 0 || getsid(program) != children->session ||
        ssh_children_find(children, program))
        return;
    child->program = (int)syscall(SYS_pidfd_open, program, 0); /* -1 on old kernels: not watched */
    if (child->program >= 0) child->program_pid = program;
}

void ssh_children_forget(struct ssh_child *child)
{
    ssh_stream_close(&child->stream);
    if (child->program >= 0) close(child->program);
    child->program = -1;
    child->program_pid = 0;
}

/* A process that is ending has no memory any more, and so no executable. */
bool ssh_children_ending(const struct ssh_child *child)
{
    const pid_t pid = child->program_pid ? child->program_pid : child->pid;
    char path[32], executable[1];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return pid == 0 || (readlink(path, executable, sizeof executable) < 0 && errno == ENOENT);
}

/* --- ending --- */

void ssh_children_signal(struct ssh_children *children, uint32_t index, int signo)
{
    /* In its first microseconds the child may not have its group yet: then signal the process
     * alone. */
    pid_t pid = children->ranks[index].pid;
    if (pid > 0 && kill(-pid, signo) != 0) kill(pid, signo);
}

void ssh_children_kill_helper(pid_t pid, int signo)
{
    if (pid > 0 && kill(-pid, signo) != 0) kill(pid, signo);
}

void ssh_children_poll(const struct ssh_children *children, struct pollfd *fds)
{
    for (uint32_t i = 0; i < children->count; i++) {
        const struct ssh_child *child = &children->ranks[i];
        fds[2 * i] =
            (struct pollfd){.fd = child->stream.fd, .events = ssh_stream_events(&child->stream)};
        fds[2 * i + 1] = (struct pollfd){.fd = child->program, .events = POLLIN};
    }
}

struct ssh_child *ssh_children_find(const struct ssh_children *children, pid_t pid)
{
    for (uint32_t i = 0; i < children->count; i++)
        if (children->ranks[i].pid == pid) return &children->ranks[i];
    return NULL;
}

pid_t ssh_children_reap(struct ssh_children *children, bool kill_group, int *status)
{
    /* Kill the group before the process is reaped: until then its number cannot be reused. */
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return 0;
        pid_t pid = info.si_pid;
        bool badly = info.si_code != CLD_EXITED || info.si_status != 0;
        if (pid != children->guard && (badly || kill_group)) kill(-pid, SIGKILL);
        pid_t got;
        while ((got = waitpid(pid, status, 0)) < 0 && errno == EINTR) continue;
        if (got != pid) return 0;
        for (size_t i = 0; i < children->slots; i++)
            if (children->groups[i] == pid) children->groups[i] = 0;
        if (pid != children->guard) return pid;
        children->guard =
            0; /* the guard was killed; direct children still die by PR_SET_PDEATHSIG */
    }
}
