/* report.c - the whole report: starts gasnetrun once for each host, for each spawner, and for a
 * job on all hosts, and prints what they print in order.
 */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other/launch/doctor/doctor.h"

enum {
    AT_ONCE = 32,  /* hosts that are examined at the same time */
    PATIENCE = 100 /* seconds after which a command is ended */
};

/* A command whose output is kept until it ends. */
struct command {
    pid_t process;
    FILE *output;
    int status; /* of its end; -1: it could not be started */
};

/* `host` NULL: the hosts of the environment. */
static void command_start(struct command *command, char *const *argv, const char *host)
{
    *command = (struct command){.process = -1, .output = tmpfile(), .status = -1};
    fflush(stdout);
    if (!command->output || (command->process = fork()) != 0) return;
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    dup2(fileno(command->output), STDOUT_FILENO);
    dup2(fileno(command->output), STDERR_FILENO);
    if (host) {
        unsetenv("GASNET_SSH_NODEFILE");
        setenv("GASNET_SSH_SERVERS", host, 1);
    }
    alarm(PATIENCE); /* is kept by the program that is executed */
    execv(argv[0], argv);
    fprintf(stderr, "cannot execute %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* Waits, and leaves the output at its start. */
static void command_wait(struct command *command)
{
    int status;
    if (command->process < 0) return;
    while (waitpid(command->process, &status, 0) < 0 && errno == EINTR) continue;
    command->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        fseek(command->output, 0, SEEK_END);
        fprintf(command->output, "no end within %d seconds\n", PATIENCE);
    }
    rewind(command->output);
}

/* Findings as they are, other lines, which are messages of the library or a launcher, behind a
 * bar. */
static void command_print(struct command *command)
{
    char *line = NULL;
    size_t size = 0;
    while (command->output && getline(&line, &size, command->output) > 0)
        if (!doctor_pass(line)) printf("         | %s", line);
    free(line);
    if (command->output) fclose(command->output);
}

/* --- hosts --- */

static void examine_hosts(char *self, char *launcher, char **hosts, size_t count)
{
    static char n[] = "-n", one[] = "1", ssh[] = "-spawner=ssh", part[] = "--host";
    char *const argv[] = {launcher, n, one, ssh, self, part, NULL};
    struct command commands[AT_ONCE];
    for (size_t i = 0; i < count; i++) command_start(&commands[i], argv, hosts[i]);
    for (size_t i = 0; i < count; i++) {
        command_wait(&commands[i]);
        printf("host %s\n", hosts[i]);
        command_print(&commands[i]);
        if (commands[i].status)
            doctor_problem("host %s could not be examined (status %d); the lines above say why",
                           hosts[i], commands[i].status);
    }
}

/* --- spawners --- */

static void examine_spawner(char *self, char *launcher, const char *name)
{
    static char n[] = "-n", two[] = "2", part[] = "--start";
    char option[32];
    snprintf(option, sizeof option, "-spawner=%s", name);
    char *const argv[] = {launcher, n, two, option, self, part, NULL};
    struct command command;
    command_start(&command, argv, NULL);
    command_wait(&command);
    if (command.status == 0) {
        doctor_good("spawner %s starts jobs", name);
        if (command.output) fclose(command.output);
        return;
    }
    command_print(&command);
    doctor_note("spawner %s does not start jobs: see above", name);
}

/* --- the job --- */

static void try_job(char *self, char *launcher, size_t hosts)
{
    static char n[] = "-n", big_n[] = "-N", part[] = "--job";
    char ranks[24], across[24];
    snprintf(ranks, sizeof ranks, "%zu", hosts > 1 ? hosts : 2);
    snprintf(across, sizeof across, "%zu", hosts ? hosts : 1);
    char *const argv[] = {launcher, n, ranks, big_n, across, self, part, NULL};
    struct command command;
    printf("a job of %s processes, on %s\n", ranks, hosts ? "the hosts of the list" : "this host");
    command_start(&command, argv, NULL);
    command_wait(&command);
    command_print(&command);
    if (command.status)
        doctor_problem("the job failed (status %d); the lines above say why", command.status);
    else
        doctor_good("the job ran");
}

int doctor_report(const char *self, const char *launcher, char **hosts, size_t count)
{
    char name[256] = "localhost", *this_host[] = {name};
    static const char *const spawners[] = {"ssh", "mpi", "pmix"};
    char *program = strdup(self), *starter = strdup(launcher);
    if (!program || !starter) return 1;
    gethostname(name, sizeof name - 1);
    printf("%s %s: report of %s --doctor\n", PACKAGE_NAME, PACKAGE_VERSION,
           strrchr(starter, '/') ? strrchr(starter, '/') + 1 : starter);
    for (size_t i = 0; i < count; i += AT_ONCE)
        examine_hosts(program, starter, hosts + i, count - i < AT_ONCE ? count - i : AT_ONCE);
    if (!count) examine_hosts(program, starter, this_host, 1);
    printf("spawners\n");
    for (size_t i = 0; i < sizeof spawners / sizeof *spawners; i++)
        examine_spawner(program, starter, spawners[i]);
    try_job(program, starter, count);
    unsigned problems = doctor_problems();
    printf("problems: %u\n", problems);
    free(program);
    free(starter);
    return doctor_end_print() || problems ? 1 : 0;
}
