/* no_log.c - stands for core/job/log.c in programs that do not have it: no level is on. */
#include "core/log.h"

gasneti_log_levels_t gasneti_log_levels;

void gasneti_log_line(enum gasneti_log_component component, enum gasneti_log_level level,
                      const char *format, ...)
{
    (void)component, (void)level, (void)format;
}
