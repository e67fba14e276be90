/* check.c - see check.h.  Knows nothing of the library.
 */
#include "tests/unit/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BOUND = 300 }; /* seconds that no test program needs, sanitizers included */

static unsigned count, bad, misses;
static uint64_t seed, state;

void check_begin(int argc, char **argv)
{
    const char *given = argc > 1 ? argv[1] : getenv("UNIT_SEED");
    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    state = seed;
    alarm(BOUND);
    printf("# seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
}

bool check(bool ok, const char *name, ...)
{
    va_list list;
    va_start(list, name);
    printf("%sok %u - ", ok ? "" : "not ", ++count);
    vprintf(name, list);
    va_end(list);
    putchar('\n');
    if (!ok) bad++;
    fflush(stdout);
    return ok;
}

void check_note(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("# ");
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    fflush(stdout);
}

bool check_each(bool ok, const char *format, ...)
{
    if (ok || misses++ >= 5) return ok;
    va_list list;
    va_start(list, format);
    printf("# failed: ");
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    return ok;
}

void check_all(const char *name, ...)
{
    char text[256];
    va_list list;
    va_start(list, name);
    vsnprintf(text, sizeof text, name, list);
    va_end(list);
    check(misses == 0, "%s", text);
    misses = 0;
}

int check_end(void)
{
    if (misses) check_all("nothing failed unreported");
    printf("1..%u\n", count);
    if (bad) printf("# %u of %u failed; seed %llu\n", bad, count, (unsigned long long)seed);
    return bad || !count;
}

/* --- checks that run a function in a child process, which the function may end --- */

const char *check_stderr(void (*run)(const void *), const void *arg, int *status)
{
    static char text[65536];
    int fd[2];
    fflush(stdout);
    if (pipe(fd)) abort();
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
        dup2(fd[1], STDERR_FILENO);
        close(fd[0]);
        close(fd[1]);
        alarm(BOUND / 2);
        run(arg);
        _exit(0);
    }
    close(fd[1]);
    size_t length = 0;
    ssize_t n;
    while ((n = read(fd[0], text + length, sizeof text - 1 - length)) > 0) length += (size_t)n;
    text[length] = 0;
    close(fd[0]);
    if (waitpid(child, status, 0) != child) abort();
    return text;
}

void check_fatal_words(const char *name, void (*run)(const void *), const void *arg,
                       const char *const *words)
{
    int status;
    const char *text = check_stderr(run, arg, &status);
    const char *newline = strchr(text, '\n');
    const char *missing = NULL;
    for (; *words && !missing; words++)
        if (!strstr(text, *words)) missing = *words;
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 1;
    /* A second line may tell the counters. */
    if (newline && !strncmp(newline, "\n*** counters of rank", 21))
        newline = strchr(newline + 1, '\n');
    bool one_line = newline && !newline[1] && strstr(text, "FATAL ERROR");
    if (check(ended && one_line && !missing, "%s", name)) return;
    if (!ended) check_note("wait status %#x, not an exit with 1", (unsigned)status);
    if (missing) check_note("the message lacks: %s", missing);
    check_note("it wrote: %.1500s", text);
}

/* --- randomness --- */

uint64_t check_seed(void)
{
    return seed;
}

uint64_t check_random(void)
{
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint32_t check_below(uint32_t bound)
{
    return (uint32_t)(check_random() % bound);
}

void check_fill(void *bytes, uint64_t length)
{
    unsigned char *p = bytes;
    for (uint64_t i = 0; i < length; i++) p[i] = (unsigned char)check_random();
}
