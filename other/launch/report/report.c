/* report.c - gasnetrun --trace-report: from files to a page; see report.h. */
#include "other/launch/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "other/launch/launcher_log.h"

static bool read_file(struct trace *trace, const char *file)
{
    FILE *from = fopen(file, "r");
    if (!from) {
        launcher_log("--trace-report: cannot read %s: %s%s", file, strerror(errno),
                     *file == '-' ? " (options go before the files)" : "");
        return false;
    }
    bool good = trace_take_file(trace, file, from);
    fclose(from);
    if (!good) launcher_log("--trace-report: %s", trace->error);
    return good;
}

/* Whether a file may be replaced: a page may; a trace that was named by mistake may not. */
static bool may_write(const char *output)
{
    static const char mark[] = "<!DOCTYPE html>";
    char text[sizeof mark] = "";
    struct stat st;
    if (stat(output, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) return true;
    FILE *there = fopen(output, "r");
    bool page = there && fgets(text, sizeof text, there) && strcmp(text, mark) == 0;
    if (there) fclose(there);
    if (!page)
        launcher_log(
            "--trace-report: %s is there and no HTML page, so it is not replaced: remove it "
            "or name another file with -o",
            output);
    return page;
}

static bool write_file(const struct trace *trace, const char *output)
{
    FILE *to = fopen(output, "w");
    bool good = to && page_write(trace, to);
    if (to && fclose(to) != 0) good = false;
    if (!good) launcher_log("--trace-report: cannot write %s: %s", output, strerror(errno));
    return good;
}

int report_main(char **files, const char *output)
{
    struct trace trace;
    bool good = true;
    uint32_t found = 0;
    if (!output) output = "gasnet-trace.html";
    if (!may_write(output)) return 2;
    trace_begin(&trace, TRACE_EVENTS_MAX);
    while (good && *files) good = read_file(&trace, *files++);
    if (good) {
        trace_end(&trace);
        good = write_file(&trace, output);
    }
    for (uint32_t i = 0; i < trace.ranks; i++) found += trace.rank[i].begun;
    if (good)
        printf("%s: %u of %u ranks, %" PRIu64 " events, %" PRIu64 " malformed lines\n", output,
               found, trace.ranks, trace.read, trace.malformed);
    trace_free(&trace);
    return good && launcher_end_print() == 0 ? 0 : 2;
}
