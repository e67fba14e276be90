/* main.c - softhca-run: parses the options, sets the environment, and executes the program.
 *
 * execvp in this process: signals, exit status, terminal and process id are the program's. Leaves
 * no descriptor open and starts no process.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "other/base/printed.h"
#include "other/softhca/src/run/run.h"
#include "other/softhca/src/settings/settings.h"

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
    "  --files         make what UCX and Open MPI look for, /dev/infiniband/softhca0 and\n"
    "                  /sys/class/infiniband, visible to PROGRAM alone; start a launcher such as\n"
    "                  mpirun this way rather than each of its processes\n"
    "  --status[=PID]  what the device's processes of this user are doing; one of them in detail\n"
    "  --help          this text\n"
    "  --help-env      every SOFTHCA_* variable and what it means\n";
static const char usage_end[] =
    "\n"
    "Exit status: that of PROGRAM; 127 when it is not found, 126 when it cannot be executed, 125\n"
    "when softhca-run itself fails. See softhca-run(1) and softhca(7).\n";

enum { FILES = 256, STATUS, HELP, HELP_ENV, FIRST_SETTING };

static const struct option fixed[] = {
    {"files", no_argument, NULL, FILES},
    {"status", optional_argument, NULL, STATUS},
    {"help", no_argument, NULL, HELP},
    {"help-env", no_argument, NULL, HELP_ENV},
};
enum { FIXED = sizeof fixed / sizeof *fixed, MOST = 64 };

/* The option that sets a variable: --tcp-port for SOFTHCA_TCP_PORT; "" for SOFTHCA itself. */
static void main_option_name(const struct gasneti_env_row *row, char *name, size_t size)
{
    static const char prefix[] = "SOFTHCA_";
    size_t skip = sizeof prefix - 1, n = 0;
    if (!strncmp(row->name, prefix, skip))
        for (const char *p = row->name + skip; *p && n + 1 < size; p++)
            name[n++] = *p == '_' ? '-' : (char)tolower((unsigned char)*p);
    name[n] = 0;
}

static const struct option *main_options(void)
{
    static struct option all[FIXED + MOST + 1];
    static char names[MOST][64];
    size_t n = FIXED;
    memcpy(all, fixed, sizeof fixed);
    for (size_t i = 0; i < shca_setting_count && i < MOST; i++) {
        main_option_name(&shca_setting_rows[i], names[i], sizeof names[i]);
        if (*names[i])
            all[n++] = (struct option){names[i], required_argument, NULL, FIRST_SETTING + (int)i};
    }
    return all;
}

static void main_help(void)
{
    fputs(usage, stdout);
    for (size_t i = 0; i < shca_setting_count; i++) {
        char name[64], values[160];
        const struct gasneti_env_row *row = &shca_setting_rows[i];
        main_option_name(row, name, sizeof name);
        if (*name)
            printf("  --%s=%s\n                  sets %s\n", name,
                   gasneti_env_values(row, values, sizeof values), row->name);
    }
    fputs(usage_end, stdout);
}

static bool main_set(const struct gasneti_env_row *row, const char *value)
{
    struct shca_settings unused;
    char why[200];
    if (gasneti_env_parse(row, value, &unused, why, sizeof why))
        return setenv(row->name, value, 1) == 0;
    run_say("%s", why);
    return false;
}

static int main_status(const char *word)
{
    char *end = NULL;
    long pid = word ? strtol(word, &end, 10) : 0;
    if (word && (*end || end == word || pid < 1 || pid > INT_MAX)) {
        run_say("--status=%s: not the number of a process", word);
        return RUN_FAILED;
    }
    return status_show((pid_t)pid);
}

static int main_exec(char **words, bool files)
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

/* The exit status of a command that printed something: `status`, unless that is lost. */
static int main_end_print(int status)
{
    int error = gasneti_printed();
    if (!error) return status;
    run_say("cannot write to standard output: %s", strerror(error));
    return RUN_FAILED;
}

int main(int argc, char **argv)
{
    bool files = false;
    for (int o; (o = getopt_long(argc, argv, "+", main_options(), NULL)) >= 0;) {
        switch (o) {
        case FILES:
            files = true;
            break;
        case STATUS:
            return main_end_print(main_status(optarg));
        case HELP:
            main_help();
            return main_end_print(0);
        case HELP_ENV:
            shca_settings_print(stdout);
            return main_end_print(0);
        case '?':
            return RUN_FAILED;
        default:
            if (!main_set(&shca_setting_rows[o - FIRST_SETTING], optarg)) return RUN_FAILED;
        }
    }
    if (optind < argc) return main_exec(argv + optind, files);
    run_say("which program? (softhca-run --help)");
    return RUN_FAILED;
}
