/* ranges.c - see ranges.h. */
#include "other/base/ranges.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint32_t gasneti_ranges(char *text, size_t size, uint32_t count,
                        bool (*listed)(const void *of, uint32_t number), const void *of)
{
    const char more[] = ", ...";
    char word[32] = "";
    size_t used = 0;
    uint32_t total = 0;
    bool full = false;
    text[0] = 0;
    /* A range is printed once the next one is known, since the last one follows an "and". */
    for (uint32_t i = 0; i <= count; i++) {
        if (i < count && !listed(of, i)) continue;
        bool first = !used;
        if (word[0] && !full) {
            const char *before = first ? "" : i < count ? ", " : " and ";
            size_t after = i < count ? sizeof more : 1;
            full = used + strlen(before) + strlen(word) + after > size;
            used += (size_t)snprintf(text + used, size - used, "%s%s", full ? "" : before,
                                     full ? more + (first ? 2 : 0) : word);
        }
        if (i == count) break;
        uint32_t last = i;
        while (last + 1 < count && listed(of, last + 1)) last++;
        if (last > i)
            snprintf(word, sizeof word, "%" PRIu32 "-%" PRIu32, i, last);
        else
            snprintf(word, sizeof word, "%" PRIu32, i);
        total += last - i + 1;
        i = last;
    }
    return total;
}
