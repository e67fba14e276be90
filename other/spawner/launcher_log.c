/* launcher_log.c - prints one line on stderr behind the name of the launcher; see launcher_log.h.
 *
 * Called by the launcher's code only.  Each line is a single write, so that it does not mix with
 * output of the ranks.
 */
#define _GNU_SOURCE
#include "other/spawner/launcher_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void launcher_log(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) text = NULL;
    va_end(args);
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, text ? text : "out of memory");
    free(text);
}
