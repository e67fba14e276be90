/* environment.c - merges environments; see environment.h.  Pure.
 *
 * Called by the control process.  An environment may have a hundred thousand settings, so that the
 * time must not grow with their square.
 */
#include "other/launch/environment.h"

#include <stdlib.h>
#include <string.h>

/* Orders settings by name alone. */
static int environment_compare(const void *a, const void *b)
{
    const char *one = *(const char *const *)a, *two = *(const char *const *)b;
    const size_t len_one = strcspn(one, "="), len_two = strcspn(two, "=");
    const int order = memcmp(one, two, len_one < len_two ? len_one : len_two);
    return order ? order : (len_one > len_two) - (len_one < len_two);
}

const char **environment_merge(const char *const *given, size_t givens, const char *const *own,
                               size_t owns)
{
    const char **all = calloc(givens + owns + 1, sizeof *all);
    const char **sorted = calloc(givens + 1, sizeof *sorted);
    if (all && sorted) {
        size_t kept = givens;
        memcpy(all, given, givens * sizeof *all);
        memcpy(sorted, given, givens * sizeof *sorted);
        qsort(sorted, givens, sizeof *sorted, environment_compare);
        for (size_t i = 0; i < owns; i++)
            if (!bsearch(&own[i], sorted, givens, sizeof *sorted, environment_compare))
                all[kept++] = own[i];
    } else {
        free(all);
        all = NULL;
    }
    free(sorted);
    return all;
}
