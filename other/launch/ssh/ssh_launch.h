/* ssh_launch.h - the functions of the ssh spawner that gasnetrun calls, and of these ssh_launch in
 * programs that start their ranks themselves (ssh_forked.c).
 *
 * Each call returns the exit status of the calling process and has
 * printed all messages.
 */
#ifndef SSH_LAUNCH_H
#define SSH_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A rank that the caller has forked: its process, and the launcher's end of its socket. */
struct ssh_forked {
    pid_t pid;
    int fd;
};

struct ssh_request {
    uint32_t ranks;
    uint32_t hosts;    /* -N; 0: not given */
    const char *path;  /* executable of argv[0] */
    char *const *argv; /* NULL-terminated */
    bool verbose;
    bool dry_run;    /* print what would run, run nothing */
    bool here_alone; /* all ranks run on this machine, whatever hosts the environment names */
    const struct ssh_forked *forked; /* [ranks] that run already; NULL: they are to be started */
    int forward;                     /* with `forked`: see ssh_input_open */
};

int ssh_launch(const struct ssh_request *request);

/* Returns the standard input of a rank 0 on this machine; the caller closes it after the start
 * unless it is STDIN_FILENO.  *forward: the end of a pipe to which the launcher writes what it
 * reads; -1: the rank shares the launcher's descriptor. */
int ssh_input_open(int *forward);

enum ssh_ask_for { SSH_ASK_STATS, SSH_ASK_WHY, SSH_ASK_WHY_ALL, SSH_ASK_TOP };
/* Prints the counters of a running job, named by the process id of its launcher on this host, or
 * who waits for whom in it, or shows what its ranks do; returns the exit status. */
int ssh_ask(pid_t job, enum ssh_ask_for what);

/* The hidden mode in which the launcher runs on other hosts: argv[1] is SSH_CONTROL_OPTION. */
#define SSH_CONTROL_OPTION "--spawn-control"
int ssh_control_main(int argc, char **argv);

#endif
