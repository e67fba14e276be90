/* gasnetrun.c - starts a parallel job: gasnetrun_<conduit> -n <processes> program arguments...
 *
 * One source for every conduit; the build defines GASNETRUN_CONDUIT (upper case) and GASNETRUN_NAME
 * (lower case).  Chooses a spawner, checks everything that can be checked before a process exists,
 * and runs the event loop of the ssh spawner or executes mpirun or another launcher.
 */
#include "config.h"

#include "other/launch/gasnetrun/gasnetrun.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "other/launch/gasnetrun/options.h"
#include "other/launch/launcher_log.h"
#include "other/launch/report/report.h"
#include "other/launch/ssh/ssh_launch.h"

#define LAUNCHER "gasnetrun_" GASNETRUN_NAME

void gasnetrun_help_env(void); /* of the conduit: lists its variables */

static const char usage[] =
    "usage: " LAUNCHER " -n <processes> [options] [--] program [arguments]\n"
    "\n"
    "  -n N, -np N    number of processes\n"
    "  -E V1,V2       environment variables to hand on (spawner ssh hands on all of them)\n"
    "  -v             say what is done; sets GASNET_VERBOSEENV=1\n"
    "  -t             say what would be done, and do nothing\n"
    "  -k             keep temporary files (none are made); implies -v\n"
    "  --             end of options\n"
    "  --help         this text\n"
    "  --help-env     environment variables of the library\n"
    "  --version      version\n"
    "  --stats JOB    the counters of a running job, named by the process id of its " LAUNCHER "\n"
    "                 (printed by -v); with mpi and pmix, of this machine's ranks\n"
    "  --why JOB      who waits for whom in a running job; after -v without a limit on lines\n"
    "  --top JOB      a live view of the ranks of a running job: traffic, waiting, memory\n"
    "  --trace-report [-o FILE] TRACE...\n"
    "                 an HTML page (gasnet-trace.html) about the files of GASNET_TRACEFILE\n";

static const char usage_of_hosts[] =
    "  -N M           number of hosts to use\n"
    "  -c K           CPUs for each process (spawners mpi and pmix only)\n"
    "  -spawner=NAME  ssh, mpi or pmix; default: GASNET_" GASNETRUN_CONDUIT
    "_SPAWNER, else " GASNETRUN_SPAWNER "\n"
    "  --doctor       examine the hosts, start a small job, and say what to repair\n"
    "\n"
    "Hosts come from GASNET_SSH_NODEFILE (a file, one host a line) or GASNET_SSH_SERVERS (a "
    "list);\n"
    "with neither, all processes run on this machine.";

static void print_usage(FILE *to)
{
    fprintf(to, "%s%s%sThe exit status is the job's.\n", usage,
            GASNETRUN_HERE_ALONE ? "" : usage_of_hosts, GASNETRUN_HERE_ALONE ? "\n" : "  ");
}

static int gasnetrun_refuse(const char *why)
{
    launcher_log("%s (try " LAUNCHER " --help)", why);
    return 1;
}

static const char *choose_spawner(const struct options *options)
{
    const char *env = getenv("GASNET_" GASNETRUN_CONDUIT "_SPAWNER");
    if (options->spawner) return options->spawner;
    return env && *env ? env : GASNETRUN_SPAWNER;
}

static bool check_spawner(const char *spawner, char *why, size_t why_size)
{
    static const struct {
        const char *name;
        bool built;
        const char *package;
    } known[] = {{"ssh", true, ""},
                 {"mpi", MPIRUN_BUILT, "an MPI (Debian: libopenmpi-dev)"},
                 {"pmix", PMIX_BUILT, "PMIx (Debian: libpmix-dev)"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(spawner, known[i].name) != 0) continue;
        if (!known[i].built)
            snprintf(why, why_size,
                     "spawner %s is not built: install %s, configure and build again, or use "
                     "-spawner=ssh",
                     spawner, known[i].package);
        return known[i].built;
    }
    snprintf(why, why_size,
             "unknown spawner \"%s\": choose ssh, mpi or pmix by -spawner or "
             "GASNET_" GASNETRUN_CONDUIT "_SPAWNER",
             spawner);
    return false;
}

/* Opens descriptors 0 to 2 if they are closed, so that no socket of the launcher gets their
 * numbers. */
static void ensure_stdio(void)
{
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= 2) continue;
    if (fd > 2) close(fd);
}

/* Why the options make no sense for a conduit whose jobs run on one machine; NULL: they do. */
static const char *wants_hosts(const struct options *options, const char *spawner)
{
    if (options->action == OPTIONS_DOCTOR) return "--doctor examines networks, and there is none";
    if (options->hosts > 1) return "-N: all processes run on this machine";
    if (strcmp(spawner, "ssh") != 0)
        return "-spawner, GASNET_" GASNETRUN_CONDUIT
               "_SPAWNER: no other launcher starts the processes of this conduit";
    return NULL;
}

static int gasnetrun_run(const struct options *options)
{
    char why[512] = "";
    const char *spawner = choose_spawner(options);
    if (!check_spawner(spawner, why, sizeof why)) return gasnetrun_refuse(why);
    char *path = program_find(options->program[0], why, sizeof why);
    if (!path) return gasnetrun_refuse(why);
    if (options->verbose) {
        setenv("GASNET_VERBOSEENV", "1", 1);
        if (!program_with_ident(options->program, "$GASNetConduitName: " GASNETRUN_CONDUIT " $"))
            launcher_log("warning: no word of the command is a program linked with GASNet "
                         "for " GASNETRUN_CONDUIT " (a shared library or a wrapper hides it)");
    }
    int status;
    if (strcmp(spawner, "ssh") != 0) {
        status = mpirun_exec(options, spawner, path);
    } else {
        if (options->cpus)
            launcher_log("warning: -c %u has no effect with the ssh spawner", options->cpus);
        struct ssh_request request = {.ranks = options->ranks,
                                      .hosts = options->hosts,
                                      .path = path,
                                      .argv = options->program,
                                      .verbose = options->verbose,
                                      .here_alone = GASNETRUN_HERE_ALONE,
                                      .dry_run = options->dry_run};
        status = ssh_launch(&request);
    }
    free(path);
    return status;
}

int main(int argc, char **argv)
{
    struct options options;
    char why[256];
    ensure_stdio();
    if (argc > 1 && strcmp(argv[1], SSH_CONTROL_OPTION) == 0) return ssh_control_main(argc, argv);
    if (argc <= 1) {
        print_usage(stderr);
        return 1;
    }
    if (!options_parse(&options, argv, why, sizeof why)) return gasnetrun_refuse(why);
    const char *wrong =
        GASNETRUN_HERE_ALONE ? wants_hosts(&options, choose_spawner(&options)) : NULL;
    if (wrong) return gasnetrun_refuse(wrong);
    switch (options.action) {
    case OPTIONS_HELP:
        print_usage(stdout);
        break;
    case OPTIONS_VERSION:
        puts(LAUNCHER " (" PACKAGE_NAME ") " PACKAGE_VERSION);
        break;
    case OPTIONS_HELP_ENV:
        gasnetrun_help_env();
        break;
    case OPTIONS_DOCTOR:
        return doctor_exec(&options);
    case OPTIONS_STATS:
        return ssh_ask((pid_t)options.job, SSH_ASK_STATS);
    case OPTIONS_WHY:
        return ssh_ask((pid_t)options.job, options.verbose ? SSH_ASK_WHY_ALL : SSH_ASK_WHY);
    case OPTIONS_TRACE_REPORT:
        return report_main(options.program, options.output);
    case OPTIONS_TOP:
        return ssh_ask((pid_t)options.job, SSH_ASK_TOP);
    case OPTIONS_RUN:
        return gasnetrun_run(&options);
    }
    return launcher_end_print();
}
