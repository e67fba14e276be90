/* exit_signals.c - signals that end a job (section 2.12 of the client interface, IB-X5).
 *
 * The handler of a termination signal writes one line, sets gasnetc_exit_pending for the next poll,
 * and sets an alarm in case no thread polls.  The handler of a fatal signal writes one line, and
 * has the signal's default action end the process.  All calls in signal context are
 * async-signal-safe, except a requested backtrace, which an alarm bounds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/exit/exit.h"
#include "core/job/ending.h"
#include "core/job/job.h"
#include "core/job/signal_stack.h"
#include "core/job/thread.h"
#include "core/params/params.h"
#include "core/report.h"
#include "gasnet.h"
#include "other/base/tools.h"

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
    (void)syscall(SYS_write, STDERR_FILENO, line.text, line.length);
}

/* --- handlers --- */

static void on_alarm(int number);

/* Takes the default action of the signal, which ends the process, also if the handler of that
 * signal runs. */
static void end_by(int number)
{
    static const unsigned long default_action[8]; /* the kernel's struct sigaction, all 0 */
    enum { SET_SIZE = _NSIG / 8 };
    const uint64_t unblocked[2] = {UINT64_C(1) << (number - 1)};
    (void)syscall(SYS_rt_sigaction, number, default_action, NULL, SET_SIZE);
    (void)syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), number);
    (void)syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, unblocked, NULL, SET_SIZE);
}

static timer_t timer; /* timer_settime is async-signal-safe; setitimer is not */
static bool has_timer;

void gasnetc_exit_make_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    has_timer = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
}

/* Sets the alarm; 0 cancels it. */
static void set_timer(double seconds)
{
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)seconds}};
    when.it_value.tv_nsec = (long)((seconds - (double)when.it_value.tv_sec) * 1e9);
    if (!has_timer || timer_settime(timer, 0, &when, NULL) != 0)
        alarm(seconds > 0 ? (unsigned)seconds + 1 : 0);
}

/* Installs the handler and sets the alarm.  SA_NODEFER: a second alarm may interrupt the handler of
 * the first.  The client may have blocked the signal. */
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

/* The first fatal signal of the process. */
static struct {
    atomic_int thread, number;                    /* the thread that handles it; the signal */
    enum { NOT_REPORTED, MOVED, REPORTED } stage; /* of that thread's report; MOVED: to `stack` */
    stack_t stack;        /* for a thread whose own alternate stack is too small */
    ucontext_t hop, back; /* to a function on that stack, and from there */
} dying;

/* True if the alarm is to wait for an exit that is running: until the timeout, which is longer
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

/* The alarm: no thread polled in time, or the exit took too long.  The launcher ends the job. */
static void on_alarm(int number)
{
    (void)number;
    if (gasnetc_exit_of_child()) end_by(SIGALRM);
    if (!dying.number && may_go_on()) return;
    if (dying.number) gasnetc_exit_abort(128 + dying.number);
    if (!gasneti_ending()) gasnetc_exit_raise_sigquit();
    gasnetc_exit_abort(gasneti_ending() ? gasnetc_exit_code() : 1);
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
 * be an address that came in a message.  That is likely if an AM handler accessed the address, or
 * if the program called it. */
static const char *hint_of(int number, const siginfo_t *info, const ucontext_t *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    bool accessed = (number == SIGSEGV || number == SIGBUS) && info->si_code > 0;
    if (!linked_as_pie || !accessed || address < 65536) return "";
    const place_t at = interrupted_at(context);
    if (address == at.instruction) return ": it called an address without code; " GASNETC_PIE_HINT;
    if (gasneti_handler_depth() == 0) return "";
    /* A stack overflow faults near the stack pointer, and needs no hint. */
    const uintptr_t near = 256 << 10;
    if (address - at.stack < near || at.stack - address < near) return "";
    return ": a handler used a wrong address; " GASNETC_PIE_HINT;
}

/* --- fatal signals --- */

/* Stack that a report may take, with a backtrace and a freeze. */
enum { ROOM = GASNETC_SIGNAL_STACK_SIZE / 2 };

/* True if the handler runs on an alternate stack of the program's that has less than ROOM left. */
static bool lacks_room(const ucontext_t *interrupted)
{
    const stack_t *stack = &interrupted->uc_stack;
    const uintptr_t room = (uintptr_t)__builtin_frame_address(0) - (uintptr_t)stack->ss_sp;
    return !(stack->ss_flags & SS_DISABLE) && room < stack->ss_size && room < ROOM;
}

/* Makes dying.stack the alternate stack of the thread.  Runs on dying.stack, since a thread cannot
 * replace the alternate stack that it runs on. */
static void replace_stack(void)
{
    if (dying.number) sigaltstack(&dying.stack, NULL);
}

/* Makes dying.stack.  Calls every function that the handler calls before it is on that stack: the
 * dynamic linker binds a function at its first call from the library, which takes kilobytes of
 * stack. */
static void prepare_stack(void)
{
    (void)gasnetc_exit_of_child();
    (void)syscall(SYS_gettid);
    if (!gasnetc_signal_stack_map(&dying.stack) || getcontext(&dying.hop)) return;
    dying.hop.uc_stack = dying.stack;
    dying.hop.uc_link = &dying.back;
    makecontext(&dying.hop, replace_stack, 0);
    (void)swapcontext(&dying.back, &dying.hop);
    makecontext(&dying.hop, replace_stack, 0);
}

/* Has the kernel deliver the signal again, to the same thread at the same instruction, on
 * dying.stack, as soon as the handler returns.  A debugger and an unwinder see nothing of the first
 * delivery. */
static bool deliver_again(int number, siginfo_t *info, ucontext_t *interrupted)
{
    if (!dying.hop.uc_link || swapcontext(&dying.back, &dying.hop)) return false;
    interrupted->uc_stack = dying.stack; /* the return from the handler sets this stack */
    return syscall(SYS_rt_tgsigqueueinfo, syscall(SYS_getpid), syscall(SYS_gettid), number, info) ==
           0;
}

static void report(int number, const siginfo_t *info, const ucontext_t *interrupted)
{
    announce("*** Caught a fatal signal: ", number, hint_of(number, info, interrupted));
    set_timer(0); /* cancels the alarm of an exit that runs; a debugger may take longer */
    gasnett_freezeForDebuggerErr();
    set_alarm(backtrace_time);
    gasnett_print_backtrace_ifenabled(STDERR_FILENO);
}

/* The handler of fatal signals.  The signal is blocked in it, so that the kernel ends the process
 * if the signal is raised again; if another fatal signal is raised in the same thread, the process
 * ends by the first one.  No call takes much stack before lacks_room has returned false. */
static void on_fatal(int number, siginfo_t *info, void *interrupted)
{
    int other = 0;
    const int me = (int)syscall(SYS_gettid);
    if (gasnetc_exit_of_child()) { /* vfork: `dying` may be the parent's */
        report(number, info, interrupted);
        end_by(number);
    }
    if (!atomic_compare_exchange_strong(&dying.thread, &other, me))
        while (other != me) (void)syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
    if (dying.number && (dying.stage != MOVED || dying.number != number)) end_by(dying.number);
    dying.number = number;
    if (dying.stage == NOT_REPORTED && lacks_room(interrupted)) {
        dying.stage = MOVED;
        if (deliver_again(number, info, interrupted)) return;
    }
    dying.stage = REPORTED;
    report(number, info, interrupted);
    end_by(number);
}

static void on_termination(int number, siginfo_t *unused, void *interrupted)
{
    int saved = errno;
    (void)unused;
    if (gasnetc_exit_of_child()) end_by(number);
    if (gasnetc_exit_closing()) return; /* an alarm bounds the exit */
    if (gasneti_ending()) gasnetc_exit_abort(gasnetc_exit_code());
    bool again = gasnetc_exit_pending && gasnetc_exit_pending != GASNETC_EXIT_PROBE;
    gasnetc_exit_pending = number;
    gasnetc_exit_start_clock();
    /* Set before any call that may block; the alarm must stay unblocked after this handler too. */
    set_alarm(poll_time);
    sigdelset(&((ucontext_t *)interrupted)->uc_sigmask, SIGALRM);
    /* SIGPIPE is raised by each write to the closed pipe. */
    if (!again || number != SIGPIPE) announce("*** Caught a signal: ", number, "");
    if (again) gasnetc_exit_abort(1);
    if (gasnetc_phase == GASNETC_BEFORE_INIT) on_alarm(SIGALRM); /* nothing polls yet */
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

/* Warns of misspelt names in GASNET_NO_CATCH_SIGNAL, whose signals would be caught. */
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
            action =
                (struct sigaction){.sa_sigaction = on_fatal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        }
        sigaction(caught[i].number, &action, NULL);
    }
    if (any_fatal) prepare_stack();
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
    /* The alarm bounds a handler that does not return. */
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
