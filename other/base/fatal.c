/* fatal.c - ends the process on an error, or stops it for a debugger.
 *
 * Called from anywhere, handlers of fatal signals included: nothing here allocates memory or
 * acquires a lock, except for formatting and writing one line.
 */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <time.h>

#include "tools.h"

volatile int gasnet_frozen;

bool gasneti_write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

static size_t fatal_append(char *buf, size_t size, size_t used, const char *text)
{
    size_t len = strlen(text), room = size - 1 - used;
    if (len > room) len = room;
    memcpy(buf + used, text, len);
    buf[used + len] = '\0';
    return used + len;
}

/* "*** FATAL ERROR: rank 2 on host x: text" and a newline; a long text is cut. */
static void print_fatal(const char *fmt, va_list args)
{
    char buf[2048];
    const size_t size = sizeof buf - 1; /* the last byte is for the newline */
    const char *who = gasneti_fatal_prefix_hook ? gasneti_fatal_prefix_hook() : NULL;
    size_t used = fatal_append(buf, size, 0, "*** FATAL ERROR: ");
    int len;

    if (who && *who) {
        used = fatal_append(buf, size, used, who);
        used = fatal_append(buf, size, used, ": ");
    }
    len = vsnprintf(buf + used, size - used, fmt, args);
    if (len > 0) used = (size_t)len < size - used ? used + (size_t)len : size - 1;
    if (used == 0 || buf[used - 1] != '\n') buf[used++] = '\n';
    gasneti_write_all(STDERR_FILENO, buf, used);
}

void gasnett_fatalerror(const char *fmt, ...)
{
    va_list args;
    (void)fflush(stdout);
    va_start(args, fmt);
    print_fatal(fmt, args);
    va_end(args);
    gasnett_freezeForDebuggerErr();
    (void)gasnett_print_backtrace_ifenabled(STDERR_FILENO);
    abort();
}

void gasnett_killmyprocess(int exitcode)
{
    _exit(exitcode);
}

/* Not fflush(NULL): it blocks while another thread blocks in a read of some stream. */
void gasnett_flush_streams(void)
{
    (void)fflush(stdout);
    (void)fflush(stderr);
}

/* Redirected to /dev/null rather than closed: later messages must not reach another file. */
void gasnett_close_streams(void)
{
    int fd, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    gasnett_flush_streams();
    for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (null >= 0)
            (void)dup2(null, fd);
        else
            (void)close(fd);
    }
    if (null > STDERR_FILENO) (void)close(null);
}

void gasnett_freezeForDebuggerNow(volatile int *flag, const char *name)
{
    const struct timespec second = {1, 0};
    char text[512];
    int len = snprintf(text, sizeof text,
                       "*** Process frozen for a debugger: host %s, pid %ld.\n"
                       "*** Attach to it and set %s=1 to let it go on.\n",
                       gasnett_gethostname(), (long)getpid(), name);
    gasneti_write_all(STDERR_FILENO, text, len < (int)sizeof text ? (size_t)len : sizeof text - 1);
    while (!*flag) (void)nanosleep(&second, NULL);
    gasnett_local_rmb();
}

/* A bad value is not fatal here: this is called while a fatal error is reported. */
void gasnett_freezeForDebuggerErr(void)
{
    const char *value = gasnett_getenv("GASNET_FREEZE_ON_ERROR");
    if (value && gasneti_parse_yesno(value) == 1)
        gasnett_freezeForDebuggerNow(&gasnet_frozen, "gasnet_frozen");
}

char *gasneti_build_loc(const char *function, const char *file, int line)
{
    char *loc;
    const char *at = *function ? " at " : "";
    if (asprintf(&loc, "%s%s%s:%d", function, at, file, line) < 0)
        gasnett_fatalerror("out of memory for a source location");
    return loc;
}
