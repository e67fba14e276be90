/* launcher_log.c - one line on stderr under the name by which the launcher was called; see
 * launcher_log.h.
 *
 * Called by everything that is only in the launcher.  Each line is one write, lest it mixes with
 * what the ranks print.
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
