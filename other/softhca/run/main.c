/* main.c - softhca-run: options, then the program itself in this process's place.
 *
 * It sets the environment and calls exec, so that signals, exit status, terminal and process id
 * are the program's own. It holds nothing open and starts no process.
 */
#include "run.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void run_say(const char *format, ...)
{
    va_list args;
    fflush(stdout);
    fputs("softhca-run: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static const char usage[] =
    "usage: softhca-run [OPTION]... PROGRAM [ARGUMENT]...\n"
    "       softhca-run --status[=PID]\n"
    "\n"
    "Runs PROGRAM with libsofthca preloaded: it finds an InfiniBand device made of software\n"
    "beside the real ones (SOFTHCA=on, unless the environment says otherwise).\n"
    "\n"
    "  --devices=NxP   N devices of P ports each (SOFTHCA_DEVICES)\n"
    "  --hosts=FILE    the addresses of other hosts (SOFTHCA_HOSTS)\n"
    "  --faults=TEXT   faults to inject (SOFTHCA_FAULTS)\n"
    "  --files         make what UCX and Open MPI look for, /dev/infiniband/softhca0 and\n"
    "                  /sys/class/infiniband, visible to PROGRAM alone; start a launcher such as\n"
    "                  mpirun this way rather than each of its processes\n"
    "  --status[=PID]  what the device's processes of this user are doing; one of them in detail\n"
    "  --help          this text\n"
    "\n"
    "Exit status: that of PROGRAM; 127 when it is not found, 126 when it cannot be executed, 125\n"
    "when softhca-run itself fails. See softhca-run(1) and softhca(7).\n";

enum { DEVICES = 256, HOSTS, FAULTS, FILES, STATUS };

static const struct option options[] = {
    {"devices", required_argument, NULL, DEVICES},
    {"hosts", required_argument, NULL, HOSTS},
    {"faults", required_argument, NULL, FAULTS},
    {"files", no_argument, NULL, FILES},
    {"status", optional_argument, NULL, STATUS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int show_status(const char *word)
{
    char *end = NULL;
    long pid = word ? strtol(word, &end, 10) : 0;
    if (word && (*end || end == word || pid < 1 || pid > INT_MAX)) {
        run_say("--status=%s: not the number of a process", word);
        return RUN_FAILED;
    }
    return status_show((pid_t)pid);
}

static int run(char **words, bool files)
{
    char library[PATH_MAX], path[PATH_MAX];
    if (!library_find(library, sizeof library) || !library_preload(library)) return RUN_FAILED;
    setenv("SOFTHCA", "on", 0);
    if (files && !files_make()) return RUN_FAILED;
    bool found = program_find(words[0], path, sizeof path);
    if (found) program_warn(path);
    execvp(words[0], words);
    if (errno == ENOENT && !found) {
        run_say("%s: not found%s", words[0], strchr(words[0], '/') ? "" : " along PATH");
        return RUN_NOT_FOUND;
    }
    run_say("%s: cannot be executed: %s", words[0],
            errno == ENOENT ? "the interpreter that it names does not exist" : strerror(errno));
    return RUN_NOT_EXECUTABLE;
}

int main(int argc, char **argv)
{
    bool files = false;
    for (int o; (o = getopt_long(argc, argv, "+h", options, NULL)) >= 0;) {
        switch (o) {
        case DEVICES:
            setenv("SOFTHCA_DEVICES", optarg, 1);
            break;
        case HOSTS:
            setenv("SOFTHCA_HOSTS", optarg, 1);
            break;
        case FAULTS:
            setenv("SOFTHCA_FAULTS", optarg, 1);
            break;
        case FILES:
            files = true;
            break;
        case STATUS:
            return show_status(optarg);
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            return RUN_FAILED;
        }
    }
    if (optind < argc) return run(argv + optind, files);
    run_say("which program? (softhca-run --help)");
    return RUN_FAILED;
}
