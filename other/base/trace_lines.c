/* trace_lines.c - the client's own lines in a trace: passes them to the core, if it writes one. */
#include "config.h"

#include <string.h>

#include "tools.h"

gasneti_trace_hooks_t *gasneti_trace_hooks;
int gasneti_trace_lines;
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
    gasneti_trace_source_t *source = gasneti_trace_hooks->source();
    if (source->frozen) return;
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
    gasneti_trace_hooks->set_mask(letters);
    gasneti_trace_lines = strchr(gasneti_trace_hooks->letters, 'H') != NULL;
}
