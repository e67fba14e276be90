/* report.c - results in TAP, for the programs that hold many tests. */
#include "rules.h"

#include <stdarg.h>
#include <stdio.h>

static int count, bad;

void report(bool ok, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%sok %d - ", ok ? "" : "not ", ++count);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    fflush(stdout);
    if (!ok) bad++;
}

int report_end(void)
{
    printf("1..%d\n", count);
    return bad || !count;
}
