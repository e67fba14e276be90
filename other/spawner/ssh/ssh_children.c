/* ssh_children.c - starts processes, and makes sure that they end; see ssh_children.h.
 *
 * Called by the event loops of launcher and control process.  Must never leave a process behind:
 * PR_SET_PDEATHSIG ends direct children, the guard ends their process groups.
 */
#define _GNU_SOURCE
#include "other/spawner/launcher_log.h"
#include "other/spawner/spawner_ops.h"
#include "other/spawner/ssh/ssh_children.h"
#include "other/tools/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

/* --- guard --- */

enum { GUARD_PATIENCE = 3000 }; /* ms between the end of the connection and SIGKILL to the parent */

/* A process that waits for its parent's end, however that comes, and then kills the process groups
 * listed in shared memory: a wrapper may have started processes that PR_SET_PDEATHSIG does not
 * reach. */
static void children_guard(const struct ssh_children *kids, pid_t parent, int fd, int up)
    __attribute__((noreturn));
static void children_guard(const struct ssh_children *kids, pid_t parent, int fd, int up)
{
    struct pollfd ends[2] = {{.fd = fd}, {.fd = up, .events = POLLRDHUP}};
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && null >= 0; i++) dup2(null, i);
    poll(ends, 2, -1);
    if (!ends[0].revents && poll(ends, 1, GUARD_PATIENCE) == 0) kill(parent, SIGKILL);
    shutdown(up, SHUT_RDWR); /* so that the parent's end is noticed before that of its children */
    for (size_t i = 0; i < kids->slots; i++)
        if (kids->groups[i] > 0) kill(-kids->groups[i], SIGKILL);
    _exit(0);
}

static bool children_start_guard(struct ssh_children *kids, int up)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    kids->guard = fork();
    if (kids->guard == 0) {
        close(ends[1]);
        children_guard(kids, parent, ends[0], up);
    }
    close(ends[0]);
    kids->guard_fd = ends[1];
    return kids->guard > 0;
}

/* --- opening and closing --- */

/* A rank needs a socket and, behind a wrapper, a pidfd, and possibly two pipes; a helper needs
 * three pipes and a connection, and three more ends while it starts.  poll() is limited to as many
 * entries as there may be descriptors. */
bool ssh_children_make_room(struct ssh_children *kids, uint32_t ranks, uint32_t others, bool piped)
{
    enum { PER_HELPER = 4, BESIDES = 16 };
    const uint32_t per_rank = piped ? 4 : 2;
    struct gasneti_descriptors found;
    memset(kids, 0, sizeof *kids);
    getrlimit(RLIMIT_NOFILE, &kids->fds_before);
    if (gasneti_descriptors_reserve(per_rank * ranks + PER_HELPER * others + BESIDES, &found))
        return true;
    launcher_log(
        "%" PRIu32 " processes on this machine%s take up to %lu open files here, and the hard "
        "limit is %lu (ulimit -Hn): have it raised to %lu, or start fewer processes here",
        ranks, others ? " and those elsewhere" : "", found.needed, found.hard, found.needed);
    return false;
}

bool ssh_children_open(struct ssh_children *kids, uint32_t ranks, uint32_t others, int up)
{
    static const int watched[] = {SIGINT,  SIGTERM, SIGQUIT, SIGHUP, SIGCHLD,
                                  SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
    kids->count = ranks;
    kids->slots = (size_t)ranks + others;
    kids->ranks = calloc(ranks, sizeof *kids->ranks);
    kids->groups = mmap(NULL, kids->slots * sizeof *kids->groups, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!kids->ranks || kids->groups == MAP_FAILED) return false;
    for (uint32_t i = 0; i < ranks; i++) kids->ranks[i].link.fd = kids->ranks[i].program = -1;

    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        struct sigaction now; /* inherited from nohup and the shell's "&": stays ignored */
        sigaction(watched[i], NULL, &now);
        if (now.sa_handler != SIG_IGN || watched[i] == SIGCHLD) sigaddset(&set, watched[i]);
    }
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, &set, &kids->mask_before);
    kids->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return kids->signals >= 0 && children_start_guard(kids, up);
}

void ssh_children_close(struct ssh_children *kids)
{
    for (uint32_t i = 0; i < kids->count; i++) ssh_children_forget(&kids->ranks[i]);
    close(kids->guard_fd);
    while (kids->guard > 0 && waitpid(kids->guard, NULL, 0) < 0 && errno == EINTR) continue;
    close(kids->signals);
    munmap((void *)kids->groups, kids->slots * sizeof *kids->groups);
    free(kids->ranks);
    kids->ranks = NULL;
}

/* --- starting --- */

/* In the child: preparations for exec that all processes need. */
static void children_new_session(const struct ssh_children *kids, pid_t parent)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* the parent died before prctl */
    signal(SIGPIPE, SIG_DFL);
    setrlimit(RLIMIT_NOFILE, &kids->fds_before);
    sigprocmask(SIG_SETMASK, &kids->mask_before, NULL);
}

static void children_note_group(struct ssh_children *kids, pid_t pid)
{
    for (size_t i = 0; i < kids->slots; i++) {
        if (kids->groups[i]) continue;
        kids->groups[i] = pid;
        return;
    }
}

/* Executes the program; on failure sends the errno to the launcher through the rank's socket. */
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
    uint8_t frame[SSH_WIRE_VALUE_FRAME];
    size_t len = ssh_wire_value_frame(frame, SSH_WIRE_EXEC_FAILED, rank, (uint32_t)error);
    if (send(fd, frame, len, MSG_NOSIGNAL) < 0) perror(program->path);
    _exit(127);
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

bool ssh_children_start_rank(struct ssh_children *kids, uint32_t index, uint32_t rank,
                             const struct ssh_program *program, const int fds[3])
{
    int ends[2];
    struct stat st;
    char control[96];
    if (!children_socketpair(ends)) return false;
    fstat(ends[1], &st);
    snprintf(control, sizeof control, SPAWNER_CONTROL "=ssh %d %ju %" PRIu32, ends[1],
             (uintmax_t)st.st_ino, rank);
    const char **envp = children_environment(program, control);
    pid_t parent = getpid();
    pid_t pid = envp ? fork() : -1;
    if (pid == 0) {
        children_new_session(kids, parent);
        for (int i = 0; i < 3; i++)
            if (fds[i] > 2) dup2(fds[i], i);
        children_exec(program, envp, ends[1], rank);
    }
    int error = errno;
    free(envp);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        errno = error;
        return false;
    }
    children_note_group(kids, pid);
    kids->ranks[index].pid = pid;
    kids->ranks[index].rank = rank;
    ssh_link_open(&kids->ranks[index].link, ends[0], true);
    return true;
}

pid_t ssh_children_start_helper(struct ssh_children *kids, char *const *argv, const int fds[3])
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        children_new_session(kids, parent);
        for (int i = 0; i < 3; i++) dup2(fds[i], i);
        execvp(argv[0], argv);
        _exit(127);
    }
    if (pid > 0) children_note_group(kids, pid);
    return pid;
}

/* --- programs behind wrappers --- */

void ssh_children_note_program(struct ssh_child *child, pid_t program)
{
    /* Only a process of our own session has a number that is valid here; in a container it is
     * another. */
    if (child->program >= 0 || program == child->pid || getsid(program) != child->pid) return;
    child->program = (int)syscall(SYS_pidfd_open, program, 0); /* -1 on old kernels: not watched */
}

void ssh_children_forget(struct ssh_child *child)
{
    ssh_link_close(&child->link);
    if (child->program >= 0) close(child->program);
    child->program = -1;
}

/* --- ending --- */

void ssh_children_signal(struct ssh_children *kids, uint32_t index, int signo)
{
    /* In its first microseconds the child may not have its session yet: then signal the process
     * alone. */
    pid_t pid = kids->ranks[index].pid;
    if (pid > 0 && kill(-pid, signo) != 0) kill(pid, signo);
}

void ssh_children_kill_helper(pid_t pid, int signo)
{
    if (pid > 0 && kill(-pid, signo) != 0) kill(pid, signo);
}

void ssh_children_poll(const struct ssh_children *kids, struct pollfd *fds)
{
    for (uint32_t i = 0; i < kids->count; i++) {
        const struct ssh_child *child = &kids->ranks[i];
        fds[2 * i] = (struct pollfd){.fd = child->link.fd, .events = ssh_link_events(&child->link)};
        fds[2 * i + 1] = (struct pollfd){.fd = child->program, .events = POLLIN};
    }
}

struct ssh_child *ssh_children_find(struct ssh_children *kids, pid_t pid)
{
    for (uint32_t i = 0; i < kids->count; i++)
        if (kids->ranks[i].pid == pid) return &kids->ranks[i];
    return NULL;
}

pid_t ssh_children_reap(struct ssh_children *kids, bool kill_group, int *status)
{
    /* Kill the group before the process is reaped: until then its number cannot be reused. */
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return 0;
        pid_t pid = info.si_pid;
        bool badly = info.si_code != CLD_EXITED || info.si_status != 0;
        if (pid != kids->guard && (badly || kill_group)) kill(-pid, SIGKILL);
        if (waitpid(pid, status, 0) != pid) return 0;
        for (size_t i = 0; i < kids->slots; i++)
            if (kids->groups[i] == pid) kids->groups[i] = 0;
        if (pid != kids->guard) return pid;
        kids->guard = 0; /* the guard was killed; direct children still die by PR_SET_PDEATHSIG */
    }
}
