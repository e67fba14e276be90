/* trace_lines.c - the client's own lines in a trace, which go to the core if it writes one, and
 * behind the counters of GASNET_STATSFILE. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools.h"

gasneti_trace_hooks_t *gasneti_trace_hooks;
int gasneti_trace_written, gasneti_trace_lines;
int gasneti_trace_local = 1;

void gasneti_trace_printf(const char *format, ...)
{
    if (!gasneti_trace_lines) return;
    va_list list;
    va_start(list, format);
    gasneti_trace_hooks->line(false, format, list);
    va_end(list);
}

void gasneti_trace_printf_forced(const char *format, ...)
{
    if (!gasneti_trace_hooks) return;
    va_list list;
    va_start(list, format);
    gasneti_trace_hooks->line(true, format, list);
    va_end(list);
}

void gasneti_trace_set_source(const char *file, unsigned int line)
{
    gasneti_trace_source_t *source = gasneti_trace_hooks ? gasneti_trace_hooks->source() : NULL;
    if (!source || source->frozen) return;
    source->file = file;
    source->line = line;
}

void gasneti_trace_get_source(const char **file, unsigned int *line)
{
    const gasneti_trace_source_t *source =
        gasneti_trace_hooks ? gasneti_trace_hooks->source() : NULL;
    *file = source ? source->file : NULL;
    *line = source ? source->line : 0;
}

void gasneti_trace_freeze_source(int frozen)
{
    if (gasneti_trace_hooks) gasneti_trace_hooks->source()->frozen = frozen;
}

const char *gasneti_trace_get_mask(void)
{
    return gasneti_trace_hooks ? gasneti_trace_hooks->letters : "";
}

void gasneti_trace_set_mask(const char *letters)
{
    if (!gasneti_trace_hooks) return;
    gasneti_trace_written = 1;
    gasneti_trace_hooks->set_mask(letters);
    gasneti_trace_lines = strchr(gasneti_trace_hooks->letters, 'H') != NULL;
}

/* --- statistics --- */

static struct {
    void (*callback[16])(void (*print)(const char *format, ...));
    int count;
    bool begun;
    char letters[40]; /* "": all */
    FILE *out;        /* while the callbacks run */
} stats;

static bool stats_for_clients(void)
{
    return stats.begun && (!*stats.letters || strchr(stats.letters, 'H'));
}

int gasneti_stats_init(void (*callback)(void (*print)(const char *format, ...)))
{
    const int room = sizeof stats.callback / sizeof *stats.callback;
    if (callback && stats.count < room) stats.callback[stats.count++] = callback;
    return stats_for_clients();
}

const char *gasneti_stats_get_mask(void)
{
    return stats.letters;
}

void gasneti_stats_set_mask(const char *letters)
{
    if (stats.begun) snprintf(stats.letters, sizeof stats.letters, "%s", letters ? letters : "");
}

void gasneti_stats_begin(const char *letters)
{
    stats.begun = true;
    gasneti_stats_set_mask(letters);
}

static void print_line(const char *format, ...)
{
    char line[512];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    line[strcspn(line, "\n")] = '\0';
    fprintf(stats.out, "# client: %s\n", line);
}

void gasneti_stats_print_clients(FILE *out)
{
    stats.out = out;
    for (int i = 0; i < stats.count && stats_for_clients(); i++) stats.callback[i](print_line);
}
