/* why.h - the report of gasnetrun --why: who waits for whom.  Pure. */
#ifndef WHY_H
#define WHY_H

/* SHORT: at most WHY_LINES lines, one that says how many are left out, and the functions of one
 * rank of those in the same state.  ONE_RANK: the answer is of one rank, and no other is known. */
enum why_extent { WHY_SHORT, WHY_ALL, WHY_ONE_RANK };
enum { WHY_LINES = 60 };

/* Composes the report from what the ranks, and the launcher, answer; lines that are not understood
 * are ignored.  The caller frees it; NULL: out of memory. */
char *why_report(const char *answers, enum why_extent extent);

#endif
