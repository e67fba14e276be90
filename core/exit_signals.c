/* exit_signals.c - signals that end a job (section 2.12 of the client interface, IB-X5).
 *
 * A handler does no work: it writes one line, leaves a note for the next poll, and sets an alarm
 * for the case that there is no next poll.  Everything called here in signal context is
 * async-signal-safe.
 */
#include "core/exit_signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/exit.h"
#include "core/job.h"
#include "core/params.h"
#include "core/report.h"
#include "gasnet.h"
#include "other/tools/tools.h"

atomic_int gasnetc_exit_pending;

static const struct caught {
    int number;
    const char *name;
    bool fatal;
} caught[] = {
    {SIGABRT, "SIGABRT", true},  {SIGFPE, "SIGFPE", true},  {SIGILL, "SIGILL", true},
    {SIGSEGV, "SIGSEGV", true},  {SIGBUS, "SIGBUS", true},  {SIGINT, "SIGINT", false},
    {SIGTERM, "SIGTERM", false}, {SIGHUP, "SIGHUP", false}, {SIGPIPE, "SIGPIPE", false},
    {SIGQUIT, "SIGQUIT", false},
};
enum { CAUGHT = sizeof caught / sizeof *caught };

/* ---- one line, without stdio
 * ------------------------------------------------------------------------ */

typedef struct line {
    char text[160];
    size_t length;
} line_t;

static void add(line_t *line, const char *text)
{
    while (*text && line->length < sizeof line->text - 1) line->text[line->length++] = *text++;
}

static void add_number(line_t *line, unsigned n)
{
    char digits[12], *p = digits + sizeof digits - 1;
    *p = 0;
    do {
        *--p = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    add(line, p);
}

static void announce(const char *what, int number)
{
    line_t line = {.length = 0};
    add(&line, what);
    for (int i = 0; i < CAUGHT; i++)
        if (caught[i].number == number) add(&line, caught[i].name);
    add(&line, "(");
    add_number(&line, (unsigned)number);
    add(&line, ") on node ");
    add_number(&line, gasnetc_job.rank);
    add(&line, "/");
    add_number(&line, gasnetc_job.size);
    add(&line, "\n");
    ssize_t ignored = write(STDERR_FILENO, line.text, line.length);
    (void)ignored;
}

/* ---- handlers
 * ------------------------------------------------------------------------------------------ */

static void on_alarm(int number);

/* A second alarm may interrupt the work of the first. */
static void set_alarm(double seconds)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_NODEFER};
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)seconds}};
    timer.it_value.tv_usec = (suseconds_t)((seconds - (double)timer.it_value.tv_sec) * 1e6);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Nobody polled in time, or the exit took too long: the launcher does it. */
static void on_alarm(int number)
{
    static volatile sig_atomic_t told;
    (void)number;
    if (!told && !gasneti_ending()) {
        told = 1;
        gasnetc_exit_tell_client();
    }
    gasnetc_exit_abort(gasneti_ending() ? gasnetc_exit_code() : 1);
}

static void on_fatal(int number)
{
    announce("*** Caught a fatal signal: ", number);
    if (gasnetc_exit_closing()) gasnetc_exit_abort(gasnetc_exit_code());
    gasnett_freezeForDebuggerErr();
    gasnett_print_backtrace_ifenabled(STDERR_FILENO);
    signal(number, SIG_DFL);
    raise(number);
}

static const double poll_time = 0.5; /* for a process to poll, or for the client's handler */

static void on_termination(int number)
{
    if (gasnetc_exit_of_child()) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    if (gasnetc_exit_closing()) return; /* an alarm watches over that */
    if (gasneti_ending()) gasnetc_exit_abort(gasnetc_exit_code());
    announce("*** Caught a signal: ", number);
    if (gasnetc_exit_pending && gasnetc_exit_pending != GASNETC_EXIT_ASKED) gasnetc_exit_abort(1);
    gasnetc_exit_pending = number;
    set_alarm(poll_time);
}

/* ---- installing
 * ------------------------------------------------------------------------------------------ */

enum { EVERY_SIGNAL = -1 };

/* The next name of GASNET_NO_CATCH_SIGNAL: its number (SIGSEGV, SEGV, segv or 11), EVERY_SIGNAL for
 * *, 0 for what is no signal; false at the end of the list. */
static bool next_exempt(const char **list, char *name, size_t size, int *number)
{
    *list += strspn(*list, ", ");
    size_t n = strcspn(*list, ", ");
    if (n == 0) return false;
    snprintf(name, size, "%.*s", (int)n, *list);
    *list += n;
    *number = strcmp(name, "*") == 0 ? EVERY_SIGNAL : gasneti_signal_from_name(name);
    return true;
}

static bool exempt(int signal)
{
    const char *list = gasnetc_params.no_catch_signal;
    char name[32];
    int number;
    while (list && next_exempt(&list, name, sizeof name, &number))
        if (number == signal || number == EVERY_SIGNAL) return true;
    return false;
}

/* A name that is misspelt leaves its signal caught, which would show too late. */
static void check_exempt(void)
{
    const char *list = gasnetc_params.no_catch_signal;
    char name[32];
    int number;
    while (list && next_exempt(&list, name, sizeof name, &number))
        if (!number)
            gasneti_warn("GASNET_NO_CATCH_SIGNAL=%s: %s is no signal; those that are caught are "
                         "SIGABRT, SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGINT, SIGTERM, SIGHUP, "
                         "SIGPIPE, SIGQUIT (or SEGV, segv, 11; * for all)",
                         gasnetc_params.no_catch_signal, name);
}

void gasnetc_exit_catch_signals(void)
{
    if (gasnetc_job.rank == 0) check_exempt();
    for (int i = 0; i < CAUGHT; i++) {
        struct sigaction old, action = {.sa_handler = caught[i].fatal ? on_fatal : on_termination};
        if (exempt(caught[i].number)) continue;
        if (sigaction(caught[i].number, NULL, &old) || old.sa_handler != SIG_DFL) continue;
        action.sa_flags = caught[i].fatal ? SA_NODEFER : SA_RESTART;
        sigaction(caught[i].number, &action, NULL);
    }
}

void gasnetc_exit_tell_client(void)
{
    struct sigaction quit;
    if (sigaction(SIGQUIT, NULL, &quit)) return;
    if (quit.sa_handler == SIG_DFL || quit.sa_handler == SIG_IGN ||
        quit.sa_handler == on_termination)
        return;
    /* A handler that never returns is cut short. */
    set_alarm(poll_time);
    raise(SIGQUIT);
}

void gasnetc_exit_arm(double seconds)
{
    signal(SIGQUIT, SIG_IGN);
    set_alarm(seconds);
}

void gasnetc_exit_disarm(void)
{
    struct itimerval off = {.it_value = {.tv_sec = 0}};
    setitimer(ITIMER_REAL, &off, NULL);
}
