/* ssh_top.c - gasnetrun --top: asks a job each second, and shows what its ranks do; the text is
 * composed by top.c.
 *
 * A thread asks, which takes seconds if a rank is stopped; the main thread draws, and takes keys
 * and signals.  The terminal is as it was on every way out, also while the process is stopped by
 * Control-Z.
 */
#define _GNU_SOURCE /* ppoll */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/launch/launcher_log.h"
#include "other/launch/spawner_ops.h"
#include "other/launch/ssh/ssh_asker.h"
#include "other/launch/top.h"

enum { PERIOD_MS = 1000 };

/* --- the terminal --- */

static struct {
    struct termios before;
    bool has_keys; /* standard input is a terminal too */
    bool entered;
} terminal;

static bool put(const char *text, size_t length)
{
    while (length) {
        const ssize_t n = write(STDOUT_FILENO, text, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text += n;
        length -= (size_t)n;
    }
    return true;
}

static bool put_string(const char *text)
{
    return put(text, strlen(text));
}

/* The other screen, without a cursor; keys come at once and are not shown. */
static void terminal_enter(void)
{
    struct termios raw;
    terminal.has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &terminal.before) == 0;
    if (terminal.has_keys) {
        raw = terminal.before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    terminal.entered = true;
    put_string("\033[?1049h\033[?25l");
}

static void terminal_leave(void)
{
    if (!terminal.entered) return;
    terminal.entered = false;
    put_string("\033[?25h\033[?1049l");
    if (terminal.has_keys) tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
}

/* --- signals: blocked, but while the main thread waits --- */

static volatile sig_atomic_t stopping, ending; /* the number of the signal */
static const int fatal[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
static const int others[] = {SIGTSTP, SIGWINCH, SIGCONT};
enum { FATAL = sizeof fatal / sizeof *fatal, OTHERS = sizeof others / sizeof *others };

static void on_signal(int number)
{
    if (number == SIGTSTP)
        stopping = number;
    else if (number != SIGWINCH && number != SIGCONT)
        ending = number;
}

/* Blocks the signals; *open: the mask with which the main thread waits. */
static void catch_signals(sigset_t *open)
{
    const struct sigaction handler = {.sa_handler = on_signal};
    struct sigaction before;
    sigset_t all;
    sigemptyset(&all);
    for (size_t i = 0; i < FATAL; i++) {
        sigaddset(&all, fatal[i]);
        sigaction(fatal[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) sigaction(fatal[i], &handler, NULL);
    }
    for (size_t i = 0; i < OTHERS; i++) {
        sigaddset(&all, others[i]);
        sigaction(others[i], &handler, NULL);
    }
    sigprocmask(SIG_BLOCK, &all, open);
    for (size_t i = 0; i < FATAL; i++) sigdelset(open, fatal[i]);
    for (size_t i = 0; i < OTHERS; i++) sigdelset(open, others[i]);
}

/* Control-Z: the shell gets its terminal back until it lets this process go on. */
static void stop_here(const sigset_t *open)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    struct sigaction own;
    sigset_t before;
    terminal_leave();
    stopping = 0;
    sigaction(SIGTSTP, &usual, &own);
    raise(SIGTSTP);
    sigprocmask(SIG_SETMASK, open, &before); /* stops here */
    sigprocmask(SIG_SETMASK, &before, NULL);
    sigaction(SIGTSTP, &own, NULL);
    terminal_enter();
}

/* Ends as the signal would have ended this process. */
static int end_by_signal(int number)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t one;
    sigaction(number, &usual, NULL);
    sigemptyset(&one);
    sigaddset(&one, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    return 128 + number;
}

/* --- asking --- */

static struct {
    pid_t job;
    int pipe[2]; /* a byte for each answer */
    pthread_mutex_t lock;
    top_t top; /* under the lock */
    bool over; /* under the lock: the job has ended */
} asked = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Asks once; false: the job is over, or cannot be asked. */
static bool ask_once(bool again)
{
    const char *text = ssh_ask_text(asked.job, BOOTSTRAP_TOP, again);
    pthread_mutex_lock(&asked.lock);
    if (text && !top_take(&asked.top, text, gasneti_clock())) text = NULL;
    asked.over = !text;
    pthread_mutex_unlock(&asked.lock);
    return text;
}

static void *ask_on(void *unused)
{
    bool there = true;
    while (there) {
        poll(NULL, 0, PERIOD_MS);
        there = ask_once(true);
        if (write(asked.pipe[1], "", 1) < 0) break;
    }
    return unused;
}

/* --- drawing --- */

/* Each line replaces the one that was there, and the rest of the screen is erased. */
static bool draw_lines(const char *text, unsigned rows)
{
    bool ok = put_string("\033[H");
    for (unsigned row = 0; ok && *text && row < rows; row++) {
        const size_t length = strcspn(text, "\n");
        ok = put_string("\033[K") && put(text, length);
        text += length + (text[length] == '\n');
        if (*text && row + 1 < rows) ok = ok && put_string("\r\n");
    }
    return ok && put_string("\033[J");
}

static bool draw(enum top_sort sort)
{
    struct winsize size = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    const top_screen_t screen = {.columns = size.ws_col ? size.ws_col : 80,
                                 .rows = size.ws_row ? size.ws_row : 24,
                                 .sort = sort,
                                 .job = asked.job};
    pthread_mutex_lock(&asked.lock);
    char *text = top_text(&asked.top, &screen);
    pthread_mutex_unlock(&asked.lock);
    const bool ok = text && draw_lines(text, screen.rows);
    free(text);
    return ok;
}

/* Takes the keys that were typed; false: the user has seen enough. */
static bool take_keys(enum top_sort *sort)
{
    char keys[64];
    const ssize_t n = read(STDIN_FILENO, keys, sizeof keys);
    if (n <= 0) return n < 0 && (errno == EINTR || errno == EAGAIN);
    for (ssize_t i = 0; i < n; i++) {
        const enum top_sort by = top_key(keys[i]);
        if (keys[i] == 'q' || keys[i] == 'Q') return false;
        if (by != TOP_SORTS) *sort = by;
    }
    return true;
}

static bool is_over(void)
{
    pthread_mutex_lock(&asked.lock);
    const bool over = asked.over;
    pthread_mutex_unlock(&asked.lock);
    return over;
}

/* Shows the job until it is over or the user has seen enough; false: the terminal is gone. */
static bool show(const sigset_t *open)
{
    enum top_sort sort = TOP_TRAFFIC;
    bool ok = true, wanted = true;
    char bytes[16];
    while (ok && wanted && !ending && !is_over()) {
        struct pollfd fds[] = {{.fd = asked.pipe[0], .events = POLLIN},
                               {.fd = terminal.has_keys ? STDIN_FILENO : -1, .events = POLLIN}};
        ok = draw(sort);
        if (ppoll(fds, 2, NULL, open) < 0) fds[0].revents = fds[1].revents = 0;
        if (stopping) stop_here(open);
        if (fds[0].revents && read(asked.pipe[0], bytes, sizeof bytes) < 0) ok = false;
        if (fds[1].revents) wanted = take_keys(&sort);
    }
    return ok;
}

/* Standard output is no terminal: what there is in one second, of all ranks. */
static int print_once(void)
{
    const top_screen_t screen = {.columns = 80, .sort = TOP_TRAFFIC, .job = asked.job};
    poll(NULL, 0, PERIOD_MS);
    ask_once(true);
    char *text = top_text(&asked.top, &screen);
    if (text) fputs(text, stdout);
    free(text);
    return launcher_end_print() || !text;
}

int ssh_top(pid_t job)
{
    sigset_t open;
    asked.job = job;
    if (!ask_once(false)) return 1;
    if (!isatty(STDOUT_FILENO)) {
        const int status = print_once();
        top_free(&asked.top);
        return status;
    }
    if (pipe(asked.pipe)) {
        launcher_log("--top: %s", strerror(errno));
        return 1;
    }
    catch_signals(&open);
    terminal_enter();
    /* The thread uses what is static here until the process ends. */
    const bool started = spawner_start_thread(ask_on, NULL);
    const bool shown = started && show(&open);
    terminal_leave();
    if (!started) launcher_log("--top: no thread: %s (see ulimit -u)", strerror(errno));
    if (is_over() && kill(job, 0) && errno == ESRCH)
        printf("job %d has ended\n", (int)job);
    else if (is_over())
        launcher_log("--top: job %d does not answer: is its launcher stopped?", (int)job);
    if (ending) return end_by_signal((int)ending);
    return launcher_end_print() || !shown;
}
