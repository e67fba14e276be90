/* ssh_children.h - the processes that launcher or control process start on their own machine.
 *
 * Every one leads a session of its own, so that its whole process group can be ended, and so that
 * it may read the terminal although it is not in the terminal's foreground group.  All die with
 * the process that started them, even if that one is killed by SIGKILL: see guard in the .c file.
 */
#ifndef SSH_CHILDREN_H
#define SSH_CHILDREN_H

#include "other/spawner/ssh/ssh_link.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

/* What a rank's process runs. */
struct ssh_program {
    const char *path;        /* executable */
    char *const *argv;       /* NULL-terminated */
    const char *const *envp; /* NULL-terminated; private words are left out */
};

struct ssh_child {
    pid_t pid; /* 0: none (any more) */
    uint32_t rank;
    int program; /* pidfd of the program, if a wrapper stands between us; else -1 */
    struct ssh_link link;
};

struct ssh_children {
    struct ssh_child *ranks; /* [count] */
    uint32_t count;
    volatile pid_t *groups; /* shared with the guard; [slots], 0: free */
    size_t slots;
    pid_t guard;
    int guard_fd;
    sigset_t mask_before;     /* what children get back, */
    struct rlimit fds_before; /* and this */
    int signals;              /* signalfd */
};

/* Makes room for the descriptors of `ranks` rank processes and `others` helpers, which may be
 * started afterwards; `piped`: the ranks' output goes by pipes to the caller.  False, and said so,
 * where the limits are too narrow for that. */
bool ssh_children_make_room(struct ssh_children *kids, uint32_t ranks, uint32_t others, bool piped);
/* Then: blocks the signals an event loop watches, opens the signalfd, starts the guard.  When the
 * connection `up` (-1: none) is closed by its other side this process has to end; one that does
 * not, being stopped perhaps, is ended by the guard.  False: errno tells. */
bool ssh_children_open(struct ssh_children *kids, uint32_t ranks, uint32_t others, int up);
/* Ends the guard; kills what is left. */
void ssh_children_close(struct ssh_children *kids);

/* Starts kids->ranks[index] as `rank`, with these descriptors as 0, 1, 2 (0 to 2: the caller's
 * own). False: errno tells. */
bool ssh_children_start_rank(struct ssh_children *kids, uint32_t index, uint32_t rank,
                             const struct ssh_program *program, const int fds[3]);
/* Starts a helper (a remote shell) with these descriptors as 0, 1, 2; -1 on failure. */
pid_t ssh_children_start_helper(struct ssh_children *kids, char *const *argv, const int fds[3]);

/* The rank behind `child` said what its process is.  If that is not the child itself its end is
 * watched as well: a wrapper lives on, and holds the rank's socket open. */
void ssh_children_note_program(struct ssh_child *child, pid_t program);
void ssh_children_forget(struct ssh_child *child); /* closes its descriptors */

/* Sends a signal to the whole process group of a rank that lives. */
void ssh_children_signal(struct ssh_children *kids, uint32_t index, int signo);
void ssh_children_kill_helper(pid_t pid, int signo);

/* Fills 2 * kids->count entries: child i's link at 2i, its program's end at 2i + 1. */
void ssh_children_poll(const struct ssh_children *kids, struct pollfd *fds);

/* Next child that ended: its pid and wait status; 0 when there is none.  The rest of its process
 * group is killed with it if it went badly, or if `kill_group` says so; what a rank that ended
 * well leaves running is its own affair. */
pid_t ssh_children_reap(struct ssh_children *kids, bool kill_group, int *status);
struct ssh_child *ssh_children_find(struct ssh_children *kids, pid_t pid);

#endif
