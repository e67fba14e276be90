/* ranges.c - see ranges.h.  Called by verbs_memory.c with its lock held. */
#include "other/portals3/src/transport/ranges.h"

#include <stdlib.h>
#include <string.h>

static uintptr_t last_byte(const struct ptli_range *range)
{
    return range->base + (range->length - 1);
}

/* The first that begins after `base`. */
static size_t after(const struct ptli_ranges *ranges, uintptr_t base)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->at[middle].range->base <= base)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void reach_from(struct ptli_ranges *ranges, size_t i)
{
    uintptr_t reach = i ? ranges->at[i - 1].reach : 0;
    for (; i < ranges->count; i++) {
        uintptr_t last = last_byte(ranges->at[i].range);
        if (last > reach) reach = last;
        ranges->at[i].reach = reach;
    }
}

struct ptli_range *ptli_ranges_share(struct ptli_ranges *ranges, uintptr_t base, uint64_t length,
                                     bool writable)
{
    uintptr_t last = base + (length - 1);
    for (size_t i = after(ranges, base); i > 0 && ranges->at[i - 1].reach >= last; i--) {
        struct ptli_range *range = ranges->at[i - 1].range;
        if (last_byte(range) < last || (writable && !range->writable)) continue;
        range->uses++;
        return range;
    }
    return NULL;
}

bool ptli_ranges_add(struct ptli_ranges *ranges, struct ptli_range *range)
{
    if (ranges->count == ranges->room) {
        size_t room = ranges->room ? 2 * ranges->room : 16;
        void *at = realloc(ranges->at, room * sizeof *ranges->at);
        if (!at) return false;
        ranges->at = at;
        ranges->room = room;
    }
    size_t i = after(ranges, range->base);
    memmove(&ranges->at[i + 1], &ranges->at[i], (ranges->count - i) * sizeof *ranges->at);
    ranges->count++;
    ranges->at[i].range = range;
    range->uses = 1;
    reach_from(ranges, i);
    return true;
}

bool ptli_ranges_drop(struct ptli_ranges *ranges, struct ptli_range *range)
{
    if (--range->uses > 0) return false;
    size_t i = after(ranges, range->base);
    while (i > 0 && ranges->at[i - 1].range != range) i--;
    if (i == 0) return true;
    ranges->count--;
    memmove(&ranges->at[i - 1], &ranges->at[i], (ranges->count - (i - 1)) * sizeof *ranges->at);
    reach_from(ranges, i - 1);
    return true;
}

void ptli_ranges_free(struct ptli_ranges *ranges)
{
    free(ranges->at);
    *ranges = (struct ptli_ranges){0};
}
