/* exit_signals.c - signals that end a job (section 2.12 of the client interface, IB-X5).
 *
 * A handler writes one line, sets gasnetc_exit_pending for the next poll, and sets an alarm in case
 * no thread polls.  All calls in signal context are async-signal-safe, except a backtrace, if one
 * is asked for; so an alarm bounds it.
 */
#define _GNU_SOURCE
#include "core/exit/exit_signals.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/exit/exit.h"
#include "core/job/ending.h"
#include "core/job/job.h"
#include "core/job/thread.h"
#include "core/params/params.h"
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

/* --- one line, without stdio --- */

typedef struct line {
    char text[320];
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

static void announce(const char *what, int number, const char *hint)
{
    line_t line = {.length = 0};
    add(&line, what);
    for (int i = 0; i < CAUGHT; i++)
        if (caught[i].number == number) add(&line, caught[i].name);
    add(&line, "(");
    add_number(&line, (unsigned)number);
    add(&line, gasnetc_exit_of_child() ? ") in a forked child of node " : ") on node ");
    add_number(&line, gasnetc_job.rank);
    add(&line, "/");
    add_number(&line, gasnetc_job.size);
    add(&line, hint);
    add(&line, "\n");
    ssize_t ignored = write(STDERR_FILENO, line.text, line.length);
    (void)ignored;
}

/* --- handlers --- */

static void on_alarm(int number);

static timer_t timer; /* timer_settime is async-signal-safe; setitimer is not */
static bool has_timer;

void gasnetc_exit_make_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    has_timer = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
}

/* 0: cancels it. */
static void set_timer(double seconds)
{
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)seconds}};
    when.it_value.tv_nsec = (long)((seconds - (double)when.it_value.tv_sec) * 1e9);
    if (!has_timer || timer_settime(timer, 0, &when, NULL) != 0)
        alarm(seconds > 0 ? (unsigned)seconds + 1 : 0);
}

/* SA_NODEFER: a second alarm may interrupt the handler of the first.  The client may have blocked
 * the signal. */
static void set_alarm(double seconds)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_NODEFER};
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGALRM);
    sigaction(SIGALRM, &action, NULL);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
    set_timer(seconds);
}

static const double poll_time = 0.5; /* until a thread polls, or the client's handler returns */
static const double backtrace_time = 30;

static atomic_int dying_thread, dying_of; /* in a fatal signal, and which */

/* True if the alarm is to wait for an exit that is running: before the timeout, which is longer
 * where processors are few, and once more for a moment after it. */
static bool may_go_on(void)
{
    static volatile sig_atomic_t late, extended;
    if (late || !gasnetc_exit_closing()) return false;
    bool up = gasnetc_exit_time_is_up();
    if (up && !extended) return false;
    if (up) late = 1;
    extended = 1;
    set_timer(up ? 0.25 : 0.05);
    return true;
}

/* No thread polled in time, or the exit took too long: the launcher ends the job. */
static void on_alarm(int number)
{
    (void)number;
    if (!dying_of && may_go_on()) return;
    if (dying_of) gasnetc_exit_abort(128 + dying_of);
    if (!gasneti_ending()) gasnetc_exit_raise_sigquit();
    gasnetc_exit_abort(gasneti_ending() ? gasnetc_exit_code() : 1);
}

static void by_default(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

/* --- addresses that are valid in another process only --- */

static bool linked_as_pie;

bool gasnetc_linked_as_pie(void)
{
    return linked_as_pie;
}

/* The first object is the program; if it is not position-independent, its load offset is 0. */
static int is_moved(struct dl_phdr_info *object, size_t size, void *moved)
{
    (void)size;
    *(bool *)moved = object->dlpi_addr != 0;
    return 1;
}

/* The interrupted instruction and its stack pointer; 0 where they are not known. */
typedef struct place {
    uintptr_t instruction, stack;
} place_t;

static place_t interrupted_at(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (place_t){(uintptr_t)context->uc_mcontext.gregs[REG_RIP],
                     (uintptr_t)context->uc_mcontext.gregs[REG_RSP]};
#elif defined(__aarch64__)
    return (place_t){context->uc_mcontext.pc, context->uc_mcontext.sp};
#else
    (void)context;
    return (place_t){0, 0};
#endif
}

/* A hint for an access to a wrong address that is not near NULL: in a program linked as PIE it may
 * be an address that came in a message.  That is likely if an AM handler accessed it, or if the
 * program called it. */
static const char *hint_of(int number, const siginfo_t *info, const ucontext_t *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    bool accessed = (number == SIGSEGV || number == SIGBUS) && info->si_code > 0;
    if (!linked_as_pie || !accessed || address < 65536) return "";
    const place_t at = interrupted_at(context);
    if (address == at.instruction) return ": it called an address without code; " GASNETC_PIE_HINT;
    if (gasneti_handler_depth() == 0) return "";
    /* A stack overflow faults near the stack pointer. */
    const uintptr_t near = 256 << 10;
    if (address - at.stack < near || at.stack - address < near) return "";
    return ": a handler used a wrong address; " GASNETC_PIE_HINT;
}

/* A second fatal signal in the same thread, during this handler, has its default action. */
static void on_fatal(int number, siginfo_t *info, void *context)
{
    int other = 0, me = gettid();
    if (!atomic_compare_exchange_strong(&dying_thread, &other, me)) {
        while (other != me) pause();
        by_default(number);
        return;
    }
    announce("*** Caught a fatal signal: ", number, hint_of(number, info, context));
    if (gasnetc_exit_closing()) gasnetc_exit_abort(gasnetc_exit_code());
    gasnett_freezeForDebuggerErr();
    dying_of = number;
    set_alarm(backtrace_time);
    gasnett_print_backtrace_ifenabled(STDERR_FILENO);
    by_default(number);
}

static void on_termination(int number, siginfo_t *unused, void *interrupted)
{
    int saved = errno;
    (void)unused;
    if (gasnetc_exit_of_child()) {
        by_default(number);
        return;
    }
    if (gasnetc_exit_closing()) return; /* an alarm bounds that */
    if (gasneti_ending()) gasnetc_exit_abort(gasnetc_exit_code());
    bool again = gasnetc_exit_pending && gasnetc_exit_pending != GASNETC_EXIT_PROBE;
    gasnetc_exit_pending = number;
    gasnetc_exit_start_clock();
    /* Before any call that may block; the alarm must stay unblocked after this handler too. */
    set_alarm(poll_time);
    sigdelset(&((ucontext_t *)interrupted)->uc_sigmask, SIGALRM);
    /* SIGPIPE is raised by each write to the closed pipe. */
    if (!again || number != SIGPIPE) announce("*** Caught a signal: ", number, "");
    if (again) gasnetc_exit_abort(1);
    if (gasnetc_phase != GASNETC_ATTACHED) on_alarm(SIGALRM); /* nothing polls yet */
    errno = saved;
}

/* --- installing --- */

enum { EVERY_SIGNAL = -1 };

/* The next entry of GASNET_NO_CATCH_SIGNAL (SIGSEGV, SEGV, segv or 11) as a number: EVERY_SIGNAL
 * for
 * *, 0 if it is no signal; false at the end of the list. */
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

/* Warns of misspelt names, whose signals would be caught. */
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

bool gasnetc_exit_catch_signals(void)
{
    bool any_fatal = false;
    if (gasnetc_job.rank == 0) check_exempt();
    dl_iterate_phdr(is_moved, &linked_as_pie);
    for (int i = 0; i < CAUGHT; i++) {
        struct sigaction old, action = {.sa_flags = SA_RESTART | SA_SIGINFO};
        if (exempt(caught[i].number)) continue;
        if (sigaction(caught[i].number, NULL, &old) || old.sa_handler != SIG_DFL) continue;
        action.sa_sigaction = on_termination;
        if (caught[i].fatal) {
            any_fatal = true;
            action = (struct sigaction){.sa_sigaction = on_fatal,
                                        .sa_flags = SA_NODEFER | SA_SIGINFO | SA_ONSTACK};
        }
        sigaction(caught[i].number, &action, NULL);
    }
    return any_fatal;
}

void gasnetc_exit_raise_sigquit(void)
{
    struct sigaction quit;
    if (sigaction(SIGQUIT, NULL, &quit)) return;
    if (quit.sa_handler == SIG_DFL || quit.sa_handler == SIG_IGN ||
        quit.sa_sigaction == on_termination)
        return;
    static atomic_flag raised = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&raised)) return;
    /* Bounds a handler that does not return. */
    set_alarm(poll_time);
    sigset_t one; /* the receive thread blocks all signals */
    sigemptyset(&one);
    sigaddset(&one, SIGQUIT);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    raise(SIGQUIT);
}

void gasnetc_exit_arm(double seconds)
{
    signal(SIGQUIT, SIG_IGN);
    set_alarm(seconds);
}

void gasnetc_exit_disarm(void)
{
    set_timer(0);
}
