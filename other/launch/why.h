/* why.h - the report of gasnetrun --why: who waits for whom.  Pure. */
#ifndef WHY_H
#define WHY_H

#include <stdbool.h>

/* Composes the report from what the ranks, and the launcher, answer to --stats; lines that are not
 * understood are ignored.  Unless `all`, the report has at most WHY_LINES lines, and one that says
 * how many are left out.  The caller frees it; NULL: out of memory. */
char *why_report(const char *answers, bool all);

enum { WHY_LINES = 40 };

#endif
