/* log.c - writes the lines of log.h: each with one write(2), so that those of several ranks and
 * threads do not mix. */
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/job/rank_file.h"
#include "core/params/params.h"
#include "core/report.h"
#include "gasnet.h"
#include "other/base/tools.h"

gasneti_log_levels_t gasneti_log_levels = {.general = GASNETI_LOG_WARN};
static int to = STDERR_FILENO;

static void open_file(const char *pattern)
{
    to = gasneti_standard_stream(pattern);
    if (to >= 0) return;
    char *path = gasneti_rank_file_name(pattern);
    /* A file that all ranks share is appended to: another rank may have written to it already. */
    const int truncate = strchr(pattern, '%') ? O_TRUNC : 0;
    if (path) to = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | truncate, 0666);
    if (to < 0) {
        gasneti_warn("GASNET_LOGFILE=%s: cannot open %s: %s; the log of this rank is written to "
                     "standard error",
                     pattern, path ? path : pattern, strerror(errno));
        to = STDERR_FILENO;
    }
    free(path);
}

/* True if a component has lines to write. */
static bool is_asked_for(void)
{
    for (int i = 0; i < GASNETI_LOG_COUNT; i++)
        if (gasneti_log_levels.of[i] >= GASNETI_LOG_INFO) return true;
    return false;
}

void gasneti_log_init(void)
{
    char why[256];
    const char *levels = gasnetc_params.log;
    gasneti_log_parse(levels ? levels : "", &gasneti_log_levels, why, sizeof why);
    if (gasnetc_params.logfile && is_asked_for()) open_file(gasnetc_params.logfile);
}

void gasneti_log_line(enum gasneti_log_component component, enum gasneti_log_level level,
                      const char *format, ...)
{
    static const char *const names[] = {
#define NAME(name) #name,
        GASNETI_LOG_COMPONENTS(NAME)
#undef NAME
    };
    char line[1024];
    struct timespec now;
    const char *own = gasneti_own_name();
    clock_gettime(CLOCK_REALTIME, &now);
    const unsigned second = (unsigned)(now.tv_sec % (24 * 60 * 60)); /* of the day, UTC */
    const int n =
        snprintf(line, sizeof line, "%02u:%02u:%02u.%06ld %s, %s%s: ", second / 3600,
                 second / 60 % 60, second % 60, now.tv_nsec / 1000, own ? own : "no rank yet",
                 names[component], level == GASNETI_LOG_DEBUG ? " debug" : "");
    va_list list;
    va_start(list, format);
    const int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, list);
    va_end(list);
    size_t length = (size_t)n + (size_t)(m > 0 ? m : 0);
    if (length > sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    gasneti_write_all(to, line, length);
}
