/* backtrace.c - prints a backtrace of the calling process by the first mechanism that succeeds.
 *
 * Called from fatal errors and signal handlers, so a mechanism may fail but must not crash or
 * deadlock: debuggers are started with posix_spawn, never fork.  GASNET_BACKTRACE_TYPE selects and
 * orders the mechanisms; a client may add one of its own.
 */
#include "config.h"

#include <execinfo.h>
#include <fcntl.h>
#include <spawn.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "environment.h"
#include "tools.h"

extern char **environ;

/* A weak definition: a client's own replaces it. */
__attribute__((weak)) gasnett_backtrace_type_t gasnett_backtrace_user;

static char executable[PATH_MAX];
static bool enabled;     /* GASNET_BACKTRACE */
static bool initialised; /* gasnett_backtrace_init was called */

/* --- Mechanisms: each writes to fd and returns 0 on success --- */

static int by_execinfo(int fd)
{
    enum { MOST_FRAMES = 128 };
    void *frames[MOST_FRAMES];
    int n = backtrace(frames, MOST_FRAMES);
    if (n <= 1) return 1;
    backtrace_symbols_fd(frames, n, fd);
    return 0;
}

static int await_child(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return 1;
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static int run_program(int fd, char *const argv[])
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int failed;

    if (gasneti_has_more_rights()) return 1; /* the user's PATH would choose the program */
    if (posix_spawn_file_actions_init(&actions)) return 1;
    failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) ||
             posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO) ||
             posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    /* Lets a child process attach where the kernel permits only ancestors to trace (Yama). */
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    failed = failed || posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed || await_child(child);
}

static int by_gdb(int fd)
{
    char pid[16];
    char *argv[] = {"gdb",      "-nx", "-batch", "-ex", "thread apply all backtrace",
                    executable, pid,   NULL};
    if (!*executable) return 1;
    (void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
    return run_program(fd, argv);
}

static int by_program(int fd, char *program)
{
    char pid[16];
    char *argv[] = {program, pid, NULL};
    (void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
    return run_program(fd, argv);
}

static int by_gstack(int fd)
{
    return by_program(fd, "gstack");
}

static int by_pstack(int fd)
{
    return by_program(fd, "pstack");
}

static int by_user(int fd)
{
    return gasnett_backtrace_user.fnp ? gasnett_backtrace_user.fnp(fd) : 1;
}

/* In order of preference: the client's, then the one that needs nothing, then those that print more
 * but need permission to trace. */
static gasnett_backtrace_type_t mechanisms[] = {
    {NULL, by_user, 1},       {"EXECINFO", by_execinfo, 0}, {"GDB", by_gdb, 1},
    {"GSTACK", by_gstack, 1}, {"PSTACK", by_pstack, 1},
};
enum { N_MECHANISMS = sizeof mechanisms / sizeof *mechanisms };

static const char *mechanism_name(int i)
{
    return i == 0 ? gasnett_backtrace_user.name : mechanisms[i].name;
}

/* Indices of the selected mechanisms, in the order in which they are tried. */
static int chosen[N_MECHANISMS], n_chosen;

/* --- Configuration --- */

static int find_mechanism(const char *name, size_t len)
{
    for (int i = 0; i < N_MECHANISMS; i++) {
        const char *known = mechanism_name(i);
        if (known && strlen(known) == len && !strncasecmp(known, name, len)) return i;
    }
    return -1;
}

static void choose_all(char *list, size_t size)
{
    n_chosen = 0;
    *list = '\0';
    for (int i = 0; i < N_MECHANISMS; i++) {
        size_t used = strlen(list);
        if (!mechanism_name(i)) continue;
        chosen[n_chosen++] = i;
        (void)snprintf(list + used, size - used, "%s%s", used ? "," : "", mechanism_name(i));
    }
}

/* A comma-separated list of names; unknown names, perhaps of another system, are skipped. */
static void choose_from(const char *list)
{
    n_chosen = 0;
    while (*list) {
        size_t len = strcspn(list, ", ");
        int i = find_mechanism(list, len);
        if (i >= 0 && n_chosen < N_MECHANISMS) chosen[n_chosen++] = i;
        list += len;
        list += strspn(list, ", ");
    }
}

/* Whether "0,2-4,6" or "*" names the rank. */
bool gasneti_list_names_rank(const char *list, int rank)
{
    while (*list) {
        char *end;
        long first, last;
        if (*list == '*') return true;
        first = last = strtol(list, &end, 10);
        if (end == list) return false;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        if (rank >= first && rank <= last) return true;
        list = end + strspn(end, ", ");
        if (list == end && *end) return false;
    }
    return false;
}

void gasnett_backtrace_init(const char *argv0)
{
    char all[256];
    const char *list, *nodes, *value;
    int rank = gasneti_rank_hook ? gasneti_rank_hook() : -1;
    ssize_t len = readlink("/proc/self/exe", executable, sizeof executable - 1);

    if (len > 0)
        executable[len] = '\0';
    else
        (void)snprintf(executable, sizeof executable, "%s", argv0 ? argv0 : "");

    value = gasnett_getenv("GASNET_BACKTRACE");
    enabled = (!value || *value) && gasnett_getenv_yesno_withdefault("GASNET_BACKTRACE", 0);
    nodes = gasnett_getenv_withdefault("GASNET_BACKTRACE_NODES", NULL);
    if (enabled && nodes && rank >= 0) enabled = gasneti_list_names_rank(nodes, rank);
    choose_all(all, sizeof all);
    list = gasnett_getenv_withdefault("GASNET_BACKTRACE_TYPE", all);
    if (strcmp(list, all) != 0) choose_from(list);
    if (enabled)
        (void)backtrace((void *[1]){NULL}, 1); /* loads libgcc now: not possible after a crash */
    initialised = true;
}

/* --- Printing --- */

int gasnett_print_backtrace(int fd)
{
    if (!initialised) gasnett_backtrace_init(NULL);
    for (int i = 0; i < n_chosen; i++) {
        const char *name = mechanism_name(chosen[i]);
        char line[128];
        int len = snprintf(line, sizeof line, "*** Backtrace by %.64s:\n", name);
        if (write(fd, line, (size_t)len) < 0) return 1;
        if (!mechanisms[chosen[i]].fnp(fd)) return 0;
    }
    return 1;
}

static int print_if_enabled(int fd)
{
    static const char hint[] =
        "*** NOTICE: with GASNET_BACKTRACE=1 in the environment a backtrace is printed here.\n";
    const char *value = gasnett_getenv("GASNET_BACKTRACE");
    bool wanted = initialised ? enabled : value && gasneti_parse_yesno(value) == 1;

    if (wanted) return gasnett_print_backtrace(fd);
    if (!value && write(fd, hint, sizeof hint - 1) < 0) return 1;
    return 1;
}

int (*gasnett_print_backtrace_ifenabled)(int fd) = print_if_enabled;
