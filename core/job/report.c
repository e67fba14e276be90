/* report.c - messages to the user.  Each is written with one write(2), so that the lines of several
 * ranks do not mix.
 */
#include "core/report.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/counters/counters.h"
#include "core/job/ending.h"
#include "core/job/job.h"
#include "core/job/thread.h"
#include "core/log.h"
#include "core/params/params.h"
#include "gasnet.h"
#include "other/base/quiet_thread.h"
#include "other/base/tools.h"
#include "other/launch/bootstrap.h"

static struct {
    uint32_t rank, size; /* size 0: gasneti_report_init was not called */
    const uint32_t *host_of;
    char host[64];
    pthread_t thread;          /* the thread that called gasnet_init */
    atomic_bool second_thread; /* another thread has called the library */
} self;

void gasneti_report_init(uint32_t rank, uint32_t size, const uint32_t *host_of)
{
    self.rank = rank;
    self.size = size;
    self.host_of = host_of;
    gethostname(self.host, sizeof self.host - 1);
    self.thread = pthread_self();
    self.second_thread = false;
}

const char *gasneti_own_name(void)
{
    static __thread char name[128];
    if (!self.size) return NULL;
    snprintf(name, sizeof name, "%srank %u of %u on %s",
             gasnetc_exit_of_child() ? "a forked child of " : "", self.rank, self.size, self.host);
    return name;
}

/* Writes one whole line: head, rank and host, text; returns its length. */
static size_t compose(char *line, size_t size, const char *head, const char *format, va_list list)
{
    const char *own = gasneti_own_name();
    int n;
    if (!own)
        n = snprintf(line, size, "%s (process %d): ", head, (int)getpid());
    else
        n = snprintf(line, size, "%s (%s): ", head, own);
    int m = vsnprintf(line + n, size - (size_t)n - 1, format, list);
    size_t length = (size_t)n + (size_t)(m > 0 ? m : 0);
    if (length > size - 2) length = size - 2;
    line[length++] = '\n';
    return length;
}

static void print(const char *text, size_t length)
{
    fflush(stdout);
    gasneti_write_all(STDERR_FILENO, text, length);
}

/* The second line of a fatal error: the counters. */
static size_t compose_counters(char *line, size_t size)
{
    char text[512];
    gasnetc_counts_summary(text, sizeof text);
    if (!*text) return 0;
    int n = snprintf(line, size, "*** counters of rank %u: %s\n", self.rank, text);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

static bool is_asked_for(const char *name)
{
    const char *value = gasnett_getenv(name);
    return value && gasneti_parse_yesno(value) == 1;
}

/* What the user asks for at a fatal error, before the process ends. */
static void help_debugging(void)
{
    gasnett_freezeForDebuggerErr();
    if (is_asked_for("GASNET_BACKTRACE")) (void)gasnett_print_backtrace(STDERR_FILENO);
}

/* Lets the launcher print the message once for all ranks that have the same text, or with `once`
 * for all ranks that have the failure.  Returns only if this process has to print the message. */
static void complain(const char *why, bool once)
{
    if (self.size && !gasnetc_exit_of_child() && !is_asked_for("GASNET_FREEZE_ON_ERROR") &&
        bootstrap_complain("*** FATAL ERROR", why, once)) {
        help_debugging();
        gasnetc_exit_fatal(1);
    }
}

/* --- rules that a program breaks --- */

void gasneti_note_thread(void)
{
    if (GASNETI_ONE_THREAD && self.size && !pthread_equal(pthread_self(), self.thread) &&
        !gasneti_is_quiet_thread())
        atomic_store(&self.second_thread, true);
}

/* A broken rule causes failures whose own texts mislead.  NULL: no rule is broken. */
static const char *broken_rule(void)
{
    gasneti_note_thread();
    if (self.size && gasnetc_exit_of_child())
        return "a child made by fork calls the library, which only the process that called "
               "gasnet_init may: let the child call exec or _exit, or start more ranks in its "
               "place";
    if (self.second_thread)
        return "a second thread calls the library, which is that of programs with one (SEQ): "
               "compile and link the program for parsync or par";
    return NULL;
}

/* "text", or "rule (what failed: text)". */
static void explain(const char *text, char *explained, size_t size)
{
    const char *rule = broken_rule();
    if (rule)
        snprintf(explained, size, "%s (what failed: %s)", rule, text);
    else
        snprintf(explained, size, "%s", text);
}

static size_t compose_words(char *line, size_t size, const char *head, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static size_t compose_words(char *line, size_t size, const char *head, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    size_t length = compose(line, size, head, format, list);
    va_end(list);
    return length;
}

void gasneti_fatal(const char *format, ...)
{
    char lines[2048 + 640], why[1400], text[1800];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    explain(why, text, sizeof text);
    /* At start-up all ranks often have the same failure, which the launcher prints once. */
    if (gasnetc_phase != GASNETC_RUNNING) complain(text, false);
    size_t length = compose_words(lines, 2048, "*** FATAL ERROR", "%s", text);
    if (!gasnetc_exit_of_child()) length += compose_counters(lines + length, sizeof lines - length);
    print(lines, length);
    help_debugging();
    gasnetc_exit_fatal(1);
}

void gasneti_fatal_once(const char *format, ...)
{
    char why[1400], text[1800];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    explain(why, text, sizeof text);
    complain(text, true);
    gasneti_fatal("%s", why);
}

void gasneti_fatal_by_one(bool reports, const char *error)
{
    if (reports) gasneti_fatal("%s", error);
    for (;;) bootstrap_barrier();
}

void gasneti_fatal_if_any(const char *error)
{
    char mine = error[0] != 0, *all = malloc(self.size);
    if (!all) gasneti_fatal("out of memory");
    bootstrap_exchange(&mine, 1, all);
    for (uint32_t r = 0; r < self.size; r++)
        if (all[r]) gasneti_fatal_by_one(r == self.rank, error);
    free(all);
}

void gasnetc_require_attached(const char *call)
{
    if (gasnetc_phase != GASNETC_RUNNING)
        gasneti_fatal("%s is not possible before %s: call it first and check what it returns", call,
                      gasnetc_phase == GASNETC_BEFORE_INIT ? "gasnet_init" : "gasnet_attach");
}

void gasnetc_no_such_rank(const char *call, uint32_t rank)
{
    gasnetc_require_attached(call);
    gasneti_fatal("%s names rank %u, but the ranks of this job are 0 to %u", call, rank,
                  self.size - 1);
}

static char failure[1024];

void gasneti_failed(const char *format, ...)
{
    static atomic_flag writing = ATOMIC_FLAG_INIT; /* the first failure is kept */
    char text[sizeof failure];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (gasnetc_exit_of_child()) gasneti_fatal("%s", text); /* a child may never poll */
    if (gasneti_ending() || atomic_flag_test_and_set(&writing)) return;
    gasneti_note_thread();
    if (gasnetc_exit_pending != GASNETC_EXIT_FAILURE) {
        strcpy(failure, text);
        gasnetc_exit_pending = GASNETC_EXIT_FAILURE;
    }
    atomic_flag_clear(&writing);
}

const char *gasneti_failure(void)
{
    return failure;
}

void gasneti_warn(const char *format, ...)
{
    if (gasnetc_params.quiet || gasneti_log_levels.general < GASNETI_LOG_WARN) return;
    char line[2048];
    va_list list;
    va_start(list, format);
    size_t length = compose(line, sizeof line, "*** WARNING", format, list);
    va_end(list);
    print(line, length);
}

void gasneti_note(const char *format, ...)
{
    if (gasnett_verboseenv() <= 0) return;
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "gasnet: %s\n", text);
}

bool gasneti_verbose_errors = true;

int gasneti_error(int code, const char *function, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (gasneti_verbose_errors)
        gasneti_warn("%s returns %s: %s", function, gasnet_ErrorName(code), text);
    return code;
}

const char *gasneti_rank_name(uint32_t rank)
{
    static __thread char name[128];
    char host[64];
    if (self.host_of && rank < self.size && self.host_of[rank] == self.host_of[self.rank])
        snprintf(name, sizeof name, "rank %u on the same host", rank);
    else if (self.host_of && rank < self.size &&
             bootstrap_host_name(self.host_of[rank], host, sizeof host))
        snprintf(name, sizeof name, "rank %u on host %s", rank, host);
    else if (self.host_of && rank < self.size)
        snprintf(name, sizeof name, "rank %u on host number %u", rank, self.host_of[rank]);
    else
        snprintf(name, sizeof name, "rank %u", rank);
    return name;
}

static const struct error {
    int code;
    const char *name, *description;
} errors[] = {
    {GASNET_OK, "GASNET_OK", "no error"},
    {GASNET_ERR_NOT_INIT, "GASNET_ERR_NOT_INIT",
     "the job is not started, or gasnet_init and gasnet_attach were called out of order"},
    {GASNET_ERR_RESOURCE, "GASNET_ERR_RESOURCE",
     "a system or network resource is exhausted or failed"},
    {GASNET_ERR_BAD_ARG, "GASNET_ERR_BAD_ARG", "an argument is invalid"},
    {GASNET_ERR_NOT_READY, "GASNET_ERR_NOT_READY", "the operation is not complete yet"},
    {GASNET_ERR_BARRIER_MISMATCH, "GASNET_ERR_BARRIER_MISMATCH",
     "the ranks named different barriers"},
};

static const struct error *find_error(int code)
{
    static const struct error unknown = {-1, "*unknown*", "no description available"};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) return &errors[i];
    return &unknown;
}

const char *gasnet_ErrorName(int code)
{
    return find_error(code)->name;
}

const char *gasnet_ErrorDesc(int code)
{
    return find_error(code)->description;
}
