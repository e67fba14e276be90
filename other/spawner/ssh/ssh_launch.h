/* ssh_launch.h - what a launcher program asks of the ssh spawner.
 *
 * Called by gasnetrun; nothing of this is in programs.  Both calls return the exit status for the
 * calling process and have said on stderr whatever there was to say.
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
    bool dry_run; /* say what would run, run nothing */
};

int ssh_launch(const struct ssh_request *request);

/* Prints what the processes of a running job answer; the job is that of launcher `job`, on this
 * machine. */
int ssh_ask(pid_t job);

/* The hidden mode in which the launcher runs on other hosts: argv[1] is SSH_CONTROL_OPTION. */
#define SSH_CONTROL_OPTION "--spawn-control"
int ssh_control_main(int argc, char **argv);

#endif
