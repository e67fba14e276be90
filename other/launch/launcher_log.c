/* launcher_log.c - prints one line on stderr behind the name of the launcher; see launcher_log.h.
 *
 * Called by the launcher's code only.  Each line is a single write, so that it does not mix with
 * output of the ranks, and no event loop waits for a reader of stderr (output.h).
 */
#define _GNU_SOURCE
#include "other/launch/launcher_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/base/printed.h"
#include "other/launch/output.h"

static bool progress_shown;

/* The cursor stays where other output begins a line. */
void launcher_progress(const char *text)
{
    char *line = NULL;
    if (!text && !progress_shown) return;
    progress_shown = text;
    const int len = text ? asprintf(&line, "%s: %s\033[K\r", program_invocation_short_name, text)
                         : asprintf(&line, "\033[K");
    if (len > 0) output_put(OUTPUT_STDERR, line, (size_t)len);
    if (len > 0) free(line);
}

/* Texts may come from files or other processes: nothing in them moves the cursor. */
static void make_plain(char *text)
{
    for (; text && *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f) *text = '?';
}

void launcher_log(const char *format, ...)
{
    launcher_progress(NULL);
    char *text = NULL, *line = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) text = NULL;
    va_end(args);
    make_plain(text);
    int len =
        asprintf(&line, "%s: %s\n", program_invocation_short_name, text ? text : "out of memory");
    if (len > 0) output_put(OUTPUT_STDERR, line, (size_t)len);
    if (len > 0) free(line);
    free(text);
}

int launcher_end_print(void)
{
    int error = gasneti_printed();
    if (error) launcher_log("cannot write to standard output: %s", strerror(error));
    return error ? 1 : 0;
}
