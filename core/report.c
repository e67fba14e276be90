/* report.c - messages to people.  Written with one write each, so that the lines of several ranks
 * do not mix.
 */
#include "core/report.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/counters.h"
#include "core/exit.h"
#include "core/job.h"
#include "core/params.h"
#include "gasnet.h"
#include "other/spawner/bootstrap.h"
#include "other/tools/tools.h"

static struct {
    uint32_t rank, size; /* size 0: not known yet */
    const uint32_t *host_of;
    char host[64];
} who;

void gasneti_report_init(uint32_t rank, uint32_t size, const uint32_t *host_of)
{
    who.rank = rank;
    who.size = size;
    who.host_of = host_of;
    gethostname(who.host, sizeof who.host - 1);
}

/* One whole line: head, who, text; returns its length. */
static size_t compose(char *line, size_t size, const char *head, const char *format, va_list list)
{
    int n = who.size ? snprintf(line, size, "%s (rank %u of %u on %s): ", head, who.rank, who.size,
                                who.host)
                     : snprintf(line, size, "%s (process %d): ", head, (int)getpid());
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

/* A second line of a fatal error: what the counters say. */
static size_t compose_counters(char *line, size_t size)
{
    char text[512];
    gasnetc_counts_summary(text, sizeof text);
    if (!*text) return 0;
    int n = snprintf(line, size, "*** counters of rank %u: %s\n", who.rank, text);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

/* At start-up all ranks often meet the same: then the launcher says it once for all.  Returns if
 * this process has to. */
static void complain(const char *format, va_list list)
{
    char why[2048];
    vsnprintf(why, sizeof why, format, list);
    if (who.size && bootstrap_complain("*** FATAL ERROR", why, false)) gasnetc_exit_fatal(1);
}

void gasneti_fatal(const char *format, ...)
{
    char lines[2048 + 640];
    va_list list;
    va_start(list, format);
    if (gasnetc_phase != GASNETC_ATTACHED) complain(format, list);
    va_end(list);
    va_start(list, format);
    size_t length = compose(lines, 2048, "*** FATAL ERROR", format, list);
    va_end(list);
    length += compose_counters(lines + length, sizeof lines - length);
    print(lines, length);
    gasnetc_exit_fatal(1);
}

void gasneti_fatal_once(const char *format, ...)
{
    char why[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    if (who.size && bootstrap_complain("*** FATAL ERROR", why, true)) gasnetc_exit_fatal(1);
    gasneti_fatal("%s", why);
}

void gasneti_fatal_by_one(bool speaker, const char *error)
{
    if (speaker) gasneti_fatal("%s", error);
    for (;;) bootstrap_barrier();
}

void gasneti_fatal_if_any(const char *error)
{
    char mine = error[0] != 0, *all = malloc(who.size);
    if (!all) gasneti_fatal("out of memory");
    bootstrap_exchange(&mine, 1, all);
    for (uint32_t r = 0; r < who.size; r++)
        if (all[r]) gasneti_fatal_by_one(r == who.rank, error);
    free(all);
}

static char failure[1024];

void gasneti_failed(const char *format, ...)
{
    static atomic_flag writing = ATOMIC_FLAG_INIT; /* the first failure stands */
    if (gasneti_ending() || atomic_flag_test_and_set(&writing)) return;
    if (gasnetc_exit_pending != GASNETC_EXIT_FAILURE) {
        va_list list;
        va_start(list, format);
        vsnprintf(failure, sizeof failure, format, list);
        va_end(list);
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
    if (gasnetc_params.quiet) return;
    char line[2048];
    va_list list;
    va_start(list, format);
    size_t length = compose(line, sizeof line, "*** WARNING", format, list);
    va_end(list);
    print(line, length);
}

int gasneti_error(int code, const char *function, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    gasneti_warn("%s returns %s: %s", function, gasnet_ErrorName(code), text);
    return code;
}

const char *gasneti_rank_name(uint32_t rank)
{
    static __thread char name[128];
    char host[64];
    if (who.host_of && rank < who.size && who.host_of[rank] == who.host_of[who.rank])
        snprintf(name, sizeof name, "rank %u on the same host", rank);
    else if (who.host_of && rank < who.size &&
             bootstrap_host_name(who.host_of[rank], host, sizeof host))
        snprintf(name, sizeof name, "rank %u on host %s", rank, host);
    else if (who.host_of && rank < who.size)
        snprintf(name, sizeof name, "rank %u on host number %u", rank, who.host_of[rank]);
    else
        snprintf(name, sizeof name, "rank %u", rank);
    return name;
}

const char *gasnet_ErrorName(int code)
{
    switch (code) {
    case GASNET_OK:
        return "GASNET_OK";
    case GASNET_ERR_NOT_INIT:
        return "GASNET_ERR_NOT_INIT";
    case GASNET_ERR_RESOURCE:
        return "GASNET_ERR_RESOURCE";
    case GASNET_ERR_BAD_ARG:
        return "GASNET_ERR_BAD_ARG";
    case GASNET_ERR_NOT_READY:
        return "GASNET_ERR_NOT_READY";
    case GASNET_ERR_BARRIER_MISMATCH:
        return "GASNET_ERR_BARRIER_MISMATCH";
    }
    return "*unknown*";
}

const char *gasnet_ErrorDesc(int code)
{
    switch (code) {
    case GASNET_OK:
        return "no error";
    case GASNET_ERR_NOT_INIT:
        return "the job is not started, or gasnet_init and gasnet_attach were called out of order";
    case GASNET_ERR_RESOURCE:
        return "a system or network resource is exhausted or failed";
    case GASNET_ERR_BAD_ARG:
        return "an argument is invalid";
    case GASNET_ERR_NOT_READY:
        return "the operation is not complete yet";
    case GASNET_ERR_BARRIER_MISMATCH:
        return "the nodes named different barriers";
    }
    return "no description available";
}
