/* tap.h - TAP lines from the C tests of the tools.
 *
 * Each program prints "ok N - name" or "not ok N - name" and ends with the plan; its exit status is
 * 0 when every line was ok.  One thread prints.
 */
#ifndef TOOLS_TAP_H
#define TOOLS_TAP_H

#include <stdio.h>

static int tap_count, tap_bad;

static inline void tap_ok(int good, const char *name)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++tap_count, name);
    tap_bad += !good;
}

/* A detail of the line before, as a comment. */
#define tap_note(...) (printf("# " __VA_ARGS__), printf("\n"))

static inline int tap_end(void)
{
    printf("1..%d\n", tap_count);
    return tap_bad != 0 || tap_count == 0;
}

#endif
