/* edit_distance.h - the edit distance of a mistyped name from a known one, for suggestions.  Pure.
 */
#ifndef GASNETI_EDIT_DISTANCE_H
#define GASNETI_EDIT_DISTANCE_H

#include <stddef.h>
#include <string.h>

/* Insertions, deletions and replacements; at least 64 if `b` is longer than 64. */
static inline unsigned gasneti_edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    size_t n = strlen(b);
    unsigned row[LONGEST + 1];
    if (n > LONGEST) return LONGEST;
    for (unsigned j = 0; j <= n; j++) row[j] = j;
    for (unsigned i = 1; *a; a++, i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            unsigned replaced = diagonal + (*a != b[j - 1]);
            diagonal = row[j];
            unsigned least = row[j - 1] < row[j] ? row[j - 1] : row[j];
            row[j] = least + 1 < replaced ? least + 1 : replaced;
        }
    }
    return row[n];
}

#endif
