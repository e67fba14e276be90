/* ssh_forked.c - the spawner of a program that needs no launcher: the process is a job of its own,
 * or forks as many ranks as GASNET_PSHM_NODES says and is their launcher from then on.
 *
 * Called by bootstrap_init, in a process that gasnetrun has not started.  The ranks return from
 * that call and are served as those of gasnetrun are (ssh/ssh_master.c); the process that forked
 * them never returns, and ends with the exit status of the job.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other/base/descriptors.h"
#include "other/base/environment.h"
#include "other/base/numbers.h"
#include "other/launch/launcher_log.h"
#include "other/launch/spawner_ops.h"
#include "other/launch/ssh/ssh_launch.h"

#define RANKS_VARIABLE "GASNET_PSHM_NODES"
enum { RANKS_MAX = 65535 };

/* --- a job of one process --- */

static enum bootstrap_status alone_init(int *argc, char ***argv, struct bootstrap_job *job,
                                        struct spawner_console *console, char *why, size_t why_size)
{
    static const uint32_t host_of[1];
    *job = (struct bootstrap_job){.size = 1, .host_size = 1, .host_of = host_of};
    return BOOTSTRAP_OK;
}

static void alone_barrier(void) {}

static void alone_exchange(const void *mine, size_t len, void *all)
{
    if (len) memcpy(all, mine, len);
}

static void alone_broadcast(void *data, size_t len, uint32_t root) {}

static void alone_meanwhile(bootstrap_meanwhile_fn meanwhile) {}

static void alone_watch(bootstrap_death_fn on_death) {}

static void alone_fini(int exitcode) {}

static void __attribute__((noreturn)) alone_abort(int exitcode)
{
    _exit(exitcode & 0xff);
}

static const struct spawner_ops alone = {
    .abi = SPAWNER_ABI,
    .name = "itself",
    .init = alone_init,
    .barrier = alone_barrier,
    .exchange = alone_exchange,
    .alltoall = alone_exchange,
    .broadcast = alone_broadcast,
    .meanwhile = alone_meanwhile,
    .watch = alone_watch,
    .fini = alone_fini,
    .abort = alone_abort,
};

/* --- forking --- */

struct forking {
    uint32_t ranks;
    int (*ends)[2];          /* [ranks] sockets: the launcher's end, the rank's */
    struct ssh_forked *made; /* [ranks], shared by all; pid -errno: the rank could not be forked */
    pid_t launcher, leader;
    int input, forward; /* see ssh_input_open */
    /* What the program has set, for the ranks. */
    struct rlimit files;
    sigset_t mask;
    struct sigaction on_child;
};

/* In the process of a rank.  Waits until the leader has ended: then the launcher is its parent. */
static void become_rank(const struct forking *f, uint32_t rank)
{
    char control[96];
    struct stat st;
    setpgid(0, 0);
    for (uint32_t r = 0; r < f->ranks; r++) {
        close(f->ends[r][0]);
        if (r != rank) close(f->ends[r][1]);
    }
    if (f->forward >= 0) close(f->forward);
    const int input = rank == 0 ? f->input : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input != STDIN_FILENO) {
        dup2(input, STDIN_FILENO);
        close(input);
    }
    if (rank != 0 && f->input != STDIN_FILENO) close(f->input);
    const int fd = fcntl(f->ends[rank][1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(f->ends[rank][1]);
    while (getppid() == f->leader) usleep(100);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != f->launcher || fd < 0 || fstat(fd, &st) != 0) _exit(1);
    snprintf(control, sizeof control, "ssh %d %ju %" PRIu32, fd, (uintmax_t)st.st_ino, rank);
    setenv(SPAWNER_CONTROL, control, 1);
    setrlimit(RLIMIT_NOFILE, &f->files);
    sigaction(SIGCHLD, &f->on_child, NULL);
    sigprocmask(SIG_SETMASK, &f->mask, NULL);
}

/* In the leader.  The ranks share a session, as those of gasnetrun do: outside the terminal's, they
 * read it although they are not in its foreground, and the launcher alone gets its signals.  A
 * session is made by a process that then forks its members; when that ends, their parent is the
 * launcher (PR_SET_CHILD_SUBREAPER).  Returns in the ranks alone. */
static void lead(struct forking *f)
{
    f->leader = setsid();
    for (uint32_t r = 0; r < f->ranks; r++) {
        const pid_t pid = fork();
        if (pid == 0) {
            become_rank(f, r);
            return;
        }
        f->made[r].pid = pid > 0 ? pid : -errno;
        if (pid < 0) break;
    }
    _exit(0);
}

static void __attribute__((noreturn)) refuse(uint32_t ranks, const char *what, const char *why)
{
    launcher_log(RANKS_VARIABLE "=%" PRIu32 ": %s: %s (see ulimit -u and ulimit -n, or let it be "
                                "fewer)",
                 ranks, what, why);
    _exit(1);
}

/* The descriptors of the sockets, and memory for their tables. */
static void prepare(struct forking *f)
{
    struct gasneti_descriptors found;
    getrlimit(RLIMIT_NOFILE, &f->files);
    if (!gasneti_descriptors_reserve(2 * f->ranks, &found))
        refuse(f->ranks, "too many open files", "the hard limit is too low");
    f->ends = calloc(f->ranks, sizeof *f->ends);
    f->made = mmap(NULL, f->ranks * sizeof *f->made, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!f->ends || f->made == MAP_FAILED) refuse(f->ranks, "no memory", strerror(ENOMEM));
    for (uint32_t r = 0; r < f->ranks; r++) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, f->ends[r]) != 0)
            refuse(f->ranks, "no socket", strerror(errno));
        f->made[r].fd = f->ends[r][0];
    }
}

/* In the launcher, with all signals blocked.  If a rank is missing the others end with it. */
static void __attribute__((noreturn)) serve(const struct forking *f)
{
    char *argv[] = {program_invocation_name, NULL};
    const struct ssh_request request = {.ranks = f->ranks,
                                        .path = argv[0],
                                        .argv = argv,
                                        .here_alone = true,
                                        .forked = f->made,
                                        .forward = f->forward};
    while (waitpid(f->leader, NULL, 0) < 0 && errno == EINTR) continue;
    if (f->input != STDIN_FILENO) close(f->input);
    for (uint32_t r = 0; r < f->ranks; r++) {
        close(f->ends[r][1]);
        if (f->made[r].pid <= 0)
            refuse(f->ranks, "cannot fork", strerror(f->made[r].pid ? -f->made[r].pid : EAGAIN));
    }
    _exit(ssh_launch(&request));
}

/* Opens descriptors 0 to 2 if they are closed: a rank replaces its standard input. */
static void ensure_stdio(void)
{
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= STDERR_FILENO) continue;
    if (fd > STDERR_FILENO) close(fd);
}

/* Returns in the ranks alone. */
static void fork_ranks(uint32_t ranks)
{
    struct forking f = {.ranks = ranks, .launcher = getpid()};
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t all;
    ensure_stdio();
    fflush(NULL); /* what is buffered is written once */
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &f.mask);
    sigaction(SIGCHLD, &usual, &f.on_child);
    prepare(&f);
    f.input = ssh_input_open(&f.forward);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) refuse(ranks, "prctl", strerror(errno));
    f.leader = fork();
    if (f.leader < 0) refuse(ranks, "cannot fork", strerror(errno));
    if (f.leader > 0) serve(&f);
    lead(&f);
    munmap(f.made, ranks * sizeof *f.made);
    free(f.ends);
    bootstrap_launcher = "itself (" RANKS_VARIABLE ")";
}

/* --- the choice --- */

/* The threads of this process; 0: not known.  No rank has those that the program has started, and
 * in the launcher they take its signals. */
static unsigned count_threads(void)
{
    unsigned threads = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return 0;
    for (const struct dirent *d; (d = readdir(tasks));) threads += d->d_name[0] != '.';
    closedir(tasks);
    return threads;
}

static const struct spawner_ops *load_launched(char *why, size_t why_size)
{
    return &spawner_ssh;
}

static const struct spawner_ops *load_forked(char *why, size_t why_size)
{
    const char *text = gasneti_variable(RANKS_VARIABLE);
    int64_t ranks = 1;
    if (text && *text && (!gasneti_parse_int(text, 0, &ranks) || ranks < 1 || ranks > RANKS_MAX)) {
        snprintf(why, why_size,
                 RANKS_VARIABLE "=%s: the number of processes, from 1 to %d, is needed here", text,
                 RANKS_MAX);
        return NULL;
    }
    if (ranks == 1) return &alone;
    if (count_threads() > 1) {
        snprintf(why, why_size,
                 RANKS_VARIABLE "=%s: the program has %u threads before gasnet_init, and a forked "
                                "process has one; start it by %s -n %s instead",
                 text, count_threads(), bootstrap_launcher, text);
        return NULL;
    }
    fork_ranks((uint32_t)ranks);
    return &spawner_ssh;
}

size_t spawner_list_candidates(struct spawner_candidate *list)
{
    const char *control = getenv(SPAWNER_CONTROL);
    *list = control
                ? (struct spawner_candidate){"ssh", control, SPAWNER_CONTROL, load_launched}
                : (struct spawner_candidate){"fork", RANKS_VARIABLE, RANKS_VARIABLE, load_forked};
    return 1;
}
