/* ssh_launch.h - the functions of the ssh spawner that gasnetrun calls.
 *
 * Not linked into programs.  Each call returns the exit status of the calling process and has
 * printed all messages.
 */
#ifndef SSH_LAUNCH_H
#define SSH_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ssh_request {
    uint32_t ranks;
    uint32_t hosts;    /* -N; 0: not given */
    const char *path;  /* executable of argv[0] */
    char *const *argv; /* NULL-terminated */
    bool verbose;
    bool dry_run; /* print what would run, run nothing */
};

int ssh_launch(const struct ssh_request *request);

/* Prints the counters of a running job, named by the process id of its launcher on this host. */
int ssh_ask(pid_t job);

/* The hidden mode in which the launcher runs on other hosts: argv[1] is SSH_CONTROL_OPTION. */
#define SSH_CONTROL_OPTION "--spawn-control"
int ssh_control_main(int argc, char **argv);

#endif
