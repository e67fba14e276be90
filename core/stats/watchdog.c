/* watchdog.c - GASNET_WATCHDOG: a thread that looks now and then whether this process has got on,
 * and announces it to the launcher, which composes one report for the job.  Where no launcher
 * listens, as with mpi and pmix, the process reports about itself.
 *
 * A process has got on if a counter has changed other than those of stalls, or a wait has ended.
 * One that computes does not: all have to stand still for a report.
 */
#define _GNU_SOURCE /* asprintf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/params/params.h"
#include "core/report.h"
#include "core/stats/stats.h"
#include "gasnet.h"
#include "other/base/clock.h"
#include "other/base/quiet_thread.h"
#include "other/base/tools.h"
#include "other/launch/bootstrap.h"

static bool is_of_waiting(int counter)
{
    return strncmp(gasnetc_counter_rows[counter].name, "stalls_", 7) == 0;
}

/* A number that changes when the process gets on; `last` if it cannot be made now. */
static uint64_t mark(uint64_t last)
{
    gasnetc_tally_t tally;
    uint64_t mark = gasnetc_waits_over() + ((uint64_t)gasnetc_phase << 32);
    if (!gasnetc_stats_tally(&tally)) return last;
    for (int i = 0; i < GASNETC_COUNTERS; i++)
        if (!is_of_waiting(i)) mark = mark * 31 + tally.value[i];
    return mark;
}

/* One write, and no lock of stdio, which a thread that is stuck may hold. */
static void report_alone(void)
{
    char *answer = gasnetc_stats_why(), *why = answer ? bootstrap_why(answer) : NULL, *text = NULL;
    const int length =
        asprintf(&text, "*** WATCHDOG (%s): it has not got on for %g s (GASNET_WATCHDOG):\n%s",
                 gasneti_own_name(), gasnetc_params.watchdog, why ? why : "");
    if (length > 0) {
        gasneti_write_all(STDERR_FILENO, text, (size_t)length);
        free(text);
    }
    free(why);
    free(answer);
}

static void *watch(void *unused)
{
    const double seconds = gasnetc_params.watchdog, quarter = seconds / 4,
                 period = quarter < 5 ? quarter : 5;
    const struct timespec turn = {.tv_sec = (time_t)period,
                                  .tv_nsec = (long)((period - (double)(time_t)period) * 1e9)};
    double since = gasneti_clock();
    uint64_t last = 0;
    bool reported = false;
    double looked = since;
    while (!gasnetc_stats_closed()) {
        const uint64_t now = mark(last);
        const bool was_stopped = gasneti_clock() - looked > 2 * period + 1;
        looked = gasneti_clock();
        if (now != last || was_stopped) since = gasneti_clock(), reported = false;
        last = now;
        const bool moves = gasneti_clock() - since < seconds;
        if (!bootstrap_moves(moves, seconds) && !moves && !reported) {
            reported = true;
            report_alone();
        }
        nanosleep(&turn, NULL);
    }
    return unused;
}

void gasnetc_watchdog_start(void)
{
    enum { STACK = 256 * 1024 };
    if (gasnetc_params.watchdog <= 0) return;
    const int error = gasneti_quiet_thread(NULL, STACK, watch, NULL);
    if (error) gasneti_warn("GASNET_WATCHDOG: no thread: %s (see ulimit -u)", strerror(error));
}
