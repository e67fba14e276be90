/* stats.c - reports of the counters: to GASNET_STATSFILE at exit, and to gasnetrun --stats, --why
 * and --top, which query a running job.
 *
 * One line for each counter: rank, peer, name, value, unit.  A peer's counters that are 0 are left
 * out.
 */
#include "core/stats/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/job/ending.h"
#include "core/job/job.h"
#include "core/job/rank_file.h"
#include "core/params/params.h"
#include "core/report.h"
#include "gasnet.h"
#include "other/base/clock.h"
#include "other/base/tools.h"

static double started;
static char *path; /* absolute: a program may change its directory; NULL: no file */
static int stream = -1;

/* --- text --- */

/* Where a report goes, and the letters of the counters that it has; "": all. */
typedef struct report {
    FILE *out;
    const char *letters;
} report_t;

static void row(const report_t *report, const char *peer, int i, uint64_t value)
{
    const gasnetc_counter_row_t *r = &gasnetc_counter_rows[i];
    if (*report->letters && !strchr(report->letters, r->letter)) return;
    fprintf(report->out, "%6u %6s %-24s %14llu %s\n", gasnetc_job.rank, peer, r->name,
            (unsigned long long)value, r->unit);
}

static void rows_of_peer(const report_t *report, uint32_t node)
{
    gasnetc_tally_t tally;
    char peer[12];
    snprintf(peer, sizeof peer, "%u", node);
    gasnetc_tally_peer(node, &tally);
    /* A peer without traffic, of which only the credits are not 0, is left out. */
    if (tally.value[GASNETC_COUNT_credits_lowest] == tally.value[GASNETC_COUNT_credits] &&
        !tally.value[GASNETC_COUNT_in_flight_most] && !tally.value[GASNETC_COUNT_got_requests])
        return;
    for (int i = 0; i < GASNETC_COUNTERS; i++)
        if (gasnetc_counter_rows[i].scope == GASNETC_SCOPE_PEER &&
            (tally.value[i] || gasnetc_counter_rows[i].fold == GASNETC_FOLD_LEAST))
            row(report, peer, i, tally.value[i]);
}

static void head(FILE *out, const char *when)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    fprintf(out, "# rank %u of %u on %s, process %d: %.3f s after gasnet_init, %s\n",
            gasnetc_job.rank, gasnetc_job.size, host, (int)getpid(), gasneti_clock() - started,
            when);
}

static void counters(const report_t *report)
{
    gasnetc_tally_t tally;
    fputs("# rank   peer counter                           value unit\n", report->out);
    gasnetc_tally_process(&tally);
    for (int i = 0; i < GASNETC_COUNTERS; i++)
        row(report, gasnetc_counter_rows[i].scope == GASNETC_SCOPE_PEER ? "all" : "-", i,
            tally.value[i]);
    for (uint32_t node = 0; node < gasnetc_job.size; node++)
        if (node != gasnetc_job.rank) rows_of_peer(report, node);
}

/* Whether a thread polls within `patience` seconds; *when: the moment of the report, in words. */
static bool look_at_phase(double patience, const char **when)
{
    bool polls = false;
    *when = "on request, before gasnet_attach";
    if (gasnetc_phase == GASNETC_RUNNING) {
        polls = gasnetc_exit_polls(patience);
        *when = polls ? "on request"
                      : "on request; it has not polled for 1 s: it computes, sleeps or is stuck";
    }
    if (gasneti_ending()) *when = "on request, while it ends";
    return polls;
}

/* The report for GASNET_STATSFILE; the caller frees it.  NULL when out of memory. */
static char *compose_file(const char *when, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out) return NULL;
    head(out, when);
    counters(&(report_t){out, gasneti_stats_get_mask()});
    gasneti_stats_print_clients(out);
    return fclose(out) ? NULL : text;
}

/* The answer to a question; the caller frees it.  NULL when out of memory. */
static char *compose(const char *when, enum bootstrap_question question, bool polls, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out) return NULL;
    head(out, when);
    if (question == BOOTSTRAP_TOP)
        gasnetc_write_top(out, polls);
    else
        counters(&(report_t){out, ""});
    if (question == BOOTSTRAP_WHY) gasnetc_write_waits(out, polls);
    return fclose(out) ? NULL : text;
}

/* --- the file --- */

static void warn_unwritten(int error)
{
    const char *name = gasnetc_params.statsfile;
    gasneti_warn("GASNET_STATSFILE=%s: cannot write %s: %s; the counters of this rank are lost",
                 name, path ? path : name, strerror(error));
}

void gasnetc_stats_init(void)
{
    const char *name = gasnetc_params.statsfile;
    started = gasneti_clock();
    const char *ranks = gasnetc_params.statsnodes;
    if (!name || (ranks && !gasneti_list_names_rank(ranks, (int)gasnetc_job.rank))) return;
    gasneti_stats_begin(gasnetc_params.statsmask);
    stream = gasneti_standard_stream(name);
    if (stream < 0 && (path = gasneti_rank_file_name(name))) {
        /* If all ranks share the file, rank 0 truncates it. */
        bool first = gasnetc_job.rank == 0 || strchr(name, '%');
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (first ? O_TRUNC : 0), 0666);
        if (fd >= 0) {
            close(fd);
            return;
        }
        warn_unwritten(errno);
        free(path);
        path = NULL;
    }
}

void gasnetc_stats_write(const char *when)
{
    size_t length = 0;
    char *text;
    if ((!path && stream < 0) || !gasnetc_peers || !(text = compose_file(when, &length))) return;
    /* One write: sections of several ranks do not interleave. */
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : stream;
    bool written = fd >= 0 && gasneti_write_all(fd, text, length);
    int error = errno;
    if (fd >= 0 && path && close(fd) && written) {
        written = false; /* NFS may report a failed write at close */
        error = errno;
    }
    if (!written) warn_unwritten(error);
    free(text);
}

/* --- on request --- */

static pthread_mutex_t answering = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool closed; /* written under `answering`: the records are about to be freed */

bool gasnetc_stats_closed(void)
{
    return closed;
}

bool gasnetc_stats_tally(gasnetc_tally_t *tally)
{
    if (pthread_mutex_trylock(&answering)) return false;
    const bool open = !closed;
    if (open) gasnetc_tally_process(tally);
    pthread_mutex_unlock(&answering);
    return open;
}

/* Runs in a thread of the bootstrap: a process that is stuck answers too. */
static char *answer(enum bootstrap_question question, size_t *length)
{
    const double patience = question == BOOTSTRAP_TOP ? 0.1 : 1;
    const char *when;
    const bool polls = look_at_phase(patience, &when);
    pthread_mutex_lock(&answering);
    char *text = closed ? NULL : compose(when, question, polls, length);
    pthread_mutex_unlock(&answering);
    return text;
}

char *gasnetc_stats_why(void)
{
    size_t length;
    return answer(BOOTSTRAP_WHY, &length);
}

void gasnetc_stats_serve(void)
{
    bootstrap_answer(answer);
    gasnetc_watchdog_start();
}

void gasnetc_stats_close(void)
{
    pthread_mutex_lock(&answering);
    closed = true;
    pthread_mutex_unlock(&answering);
}
