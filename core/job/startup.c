/* startup.c - a line about a start-up that takes long; see startup.h.
 *
 * A thread writes it, since the one that starts up waits or registers memory.
 */
#include "core/job/startup.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/job/rank.h"
#include "core/log.h"
#include "gasnet.h"
#include "other/base/clock.h"
#include "other/base/quiet_thread.h"
#include "other/base/tools.h"

enum { FIRST_MS = 2000, NEXT_MS = 500, NEXT_OF_LOG_MS = 10000 };

static struct {
    const char *call; /* NULL: none is in progress, or nothing is to be shown */
    double since;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool over; /* under the lock */
    atomic_int step;
    _Atomic uint64_t done, total;
} startup = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* "registers memory: 3.0 of 8.0 GB" */
static void describe(char *text, size_t size)
{
    const uint64_t done = startup.done, total = startup.total;
    switch ((enum gasnetc_startup)startup.step) {
    case GASNETC_STARTUP_CONNECTS:
        snprintf(text, size, "connected %llu of %llu ranks", (unsigned long long)done,
                 (unsigned long long)total);
        break;
    case GASNETC_STARTUP_REGISTERS:
        snprintf(text, size, "registered %.3f of %.3f GB", (double)done / (1 << 30),
                 (double)total / (1 << 30));
        break;
    case GASNETC_STARTUP_WAITS:
        snprintf(text, size, "waits for other ranks");
        break;
    default:
        snprintf(text, size, "opens the network");
        break;
    }
}

/* The cursor stays where other output begins a line. */
static void show(bool on_terminal)
{
    char text[100], line[200];
    const double seconds = gasneti_clock() - startup.since;
    describe(text, sizeof text);
    if (!on_terminal) {
        gasneti_info(job, "%s, after %.0f s: %s", startup.call, seconds, text);
        return;
    }
    const int length =
        snprintf(line, sizeof line, "%s, after %.0f s: %s\033[K\r", startup.call, seconds, text);
    gasneti_write_all(STDERR_FILENO, line, (size_t)length);
}

/* Waits, with the lock; true when the call is over. */
static bool over_within(unsigned ms)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += ms / 1000;
    end.tv_nsec += ms % 1000 * 1000000L;
    if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
    int error = 0;
    while (!startup.over && !error)
        error = pthread_cond_timedwait(&startup.ended, &startup.lock, &end);
    return startup.over;
}

static void *watch(void *unused)
{
    static const char erase[] = "\033[K";
    const bool on_terminal = isatty(STDERR_FILENO);
    bool shown = false;
    pthread_mutex_lock(&startup.lock);
    for (unsigned ms = FIRST_MS; !over_within(ms); ms = on_terminal ? NEXT_MS : NEXT_OF_LOG_MS) {
        show(on_terminal);
        shown = true;
    }
    pthread_mutex_unlock(&startup.lock);
    if (shown && on_terminal) gasneti_write_all(STDERR_FILENO, erase, sizeof erase - 1);
    return unused;
}

void gasnetc_startup_begin(const char *call, enum gasnetc_startup step)
{
    enum { STACK = 64 * 1024 };
    pthread_condattr_t attr;
    if (gasnetc_job.rank != 0 || gasnetc_job.size <= 1) return;
    if (!isatty(STDERR_FILENO) && gasneti_log_levels.of[GASNETI_LOG_job] < GASNETI_LOG_INFO) return;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&startup.ended, &attr);
    pthread_condattr_destroy(&attr);
    startup.over = false;
    startup.since = gasneti_clock();
    startup.step = step;
    startup.call = call;
    if (gasneti_quiet_thread(&startup.thread, STACK, watch, NULL)) startup.call = NULL;
}

void gasnetc_startup_step(enum gasnetc_startup step, uint64_t done, uint64_t total)
{
    startup.step = step;
    startup.done = done;
    startup.total = total;
}

void gasnetc_startup_end(void)
{
    if (!startup.call) return;
    pthread_mutex_lock(&startup.lock);
    startup.over = true;
    pthread_cond_signal(&startup.ended);
    pthread_mutex_unlock(&startup.lock);
    pthread_join(startup.thread, NULL);
    pthread_cond_destroy(&startup.ended);
    startup.call = NULL;
}
