/* ssh_children.h - the processes that the launcher or a control process starts on its own host.
 *
 * Each child leads a process group of its own, so that the whole of it can be ended.  The ranks
 * form a session, and so does each helper, so that they may read the terminal although they are not
 * in the terminal's foreground group.  All children die with the process that started them, even if
 * that is killed by SIGKILL: see children_guard.
 */
#ifndef SSH_CHILDREN_H
#define SSH_CHILDREN_H

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

#include "other/launch/ssh/ssh_stream.h"

/* The program of a rank's process. */
struct ssh_program {
    const char *path;        /* executable */
    char *const *argv;       /* NULL-terminated */
    const char *const *envp; /* NULL-terminated; private variables are left out */
};

struct ssh_child {
    pid_t pid; /* 0: none, or ended */
    uint32_t rank;
    pid_t program_pid; /* the program behind a wrapper; 0: none is known */
    int program;       /* pidfd of program_pid; else -1 */
    struct ssh_stream stream;
};

struct ssh_children {
    struct ssh_child *ranks; /* [count] */
    uint32_t count;
    volatile pid_t *groups; /* shared with the guard; [slots], 0: free */
    size_t slots;
    pid_t session; /* of the ranks: the process that starts them; 0 or less: none */
    int orders;    /* connection to it, while it lives */
    pid_t guard;
    int guard_fd;
    sigset_t mask_before;     /* restored in children */
    struct rlimit fds_before; /* restored in children */
    int signals;              /* signalfd */
};

/* Raises the limit of open files for `ranks` rank processes and `others` helpers; with `piped` the
 * ranks' output goes through pipes.  Returns false, with a message, where the limits are too low.
 */
bool ssh_children_make_room(struct ssh_children *children, uint32_t ranks, uint32_t others,
                            bool piped);
/* Blocks the signals that the event loop watches, opens the signalfd, starts the guard.  When the
 * peer closes the connection `up` (-1: none), this process must end; if it is stopped and does
 * not, the guard kills it.  Returns false with errno. */
bool ssh_children_open(struct ssh_children *children, uint32_t ranks, uint32_t others, int up);
/* Announces to the guard that this process ends by itself, and takes its time. */
void ssh_children_ending_well(const struct ssh_children *children);
/* Kills the remaining children and ends the guard. */
void ssh_children_close(struct ssh_children *children);

/* Before the ranks start, and after: the process that starts them.  Returns false with errno. */
bool ssh_children_open_nursery(struct ssh_children *children, const struct ssh_program *program);
void ssh_children_close_nursery(struct ssh_children *children);
/* Starts children->ranks[index] as `rank`, with these descriptors as 0, 1, 2 (the values 0 to 2 are
 * the caller's own).  Returns false with errno. */
bool ssh_children_start_rank(struct ssh_children *children, uint32_t index, uint32_t rank,
                             const int fds[3]);
/* children->ranks[index] is from now on the process `pid`, which runs as `rank` and leads a process
 * group; `fd` is this process's end of its socket. */
void ssh_children_adopt(struct ssh_children *children, uint32_t index, uint32_t rank, pid_t pid,
                        int fd);
/* Starts a helper (a remote shell) with these descriptors as 0, 1, 2; returns -1 on failure. */
pid_t ssh_children_start_helper(struct ssh_children *children, char *const *argv, const int fds[3]);

/* Notes the process id that the rank of `child` sent.  If it differs from the child's, a wrapper
 * runs the program, and may outlive it and hold the rank's socket open: the program's end is
 * watched too. */
void ssh_children_note_program(const struct ssh_children *children, struct ssh_child *child,
                               pid_t program);
void ssh_children_forget(struct ssh_child *child); /* closes its descriptors */
/* Whether the kernel is ending the program of `child`, or has ended it.  It closes the program's
 * descriptors before it unpins and frees what the program registered, which takes seconds for much
 * memory; only then the end can be seen, and its status. */
bool ssh_children_ending(const struct ssh_child *child);

/* Sends a signal to the process group of a running rank. */
void ssh_children_signal(struct ssh_children *children, uint32_t index, int signo);
void ssh_children_kill_helper(pid_t pid, int signo);

/* Fills 2 * children->count entries: child i's stream at 2i, its program's end at 2i + 1. */
void ssh_children_poll(const struct ssh_children *children, struct pollfd *fds);

/* Returns the next child that ended and its wait status; 0 when no more have ended. The rest of the
 * child's process group is killed if the child failed or `kill_group` is set; processes left by a
 * rank that ended well are not touched. */
pid_t ssh_children_reap(struct ssh_children *children, bool kill_group, int *status);
struct ssh_child *ssh_children_find(const struct ssh_children *children, pid_t pid);

#endif
