/* edit_distance.h - how far a mistyped name is from a known one.
 *
 * In a header of its own because parts that share nothing else suggest names.  Pure.
 */
#ifndef GASNETI_EDIT_DISTANCE_H
#define GASNETI_EDIT_DISTANCE_H

#include <stddef.h>
#include <string.h>

/* Insertions, deletions and replacements; names longer than 64 are far from everything. */
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
