/* ranges.h - ranges of memory that are registered, and how often each is used.  Pure.
 *
 * A range that lies within another one shares it: three MDs over one segment are one registration.
 * The ranges are sorted by address.  Each has the furthest end of all that begin no later, so that
 * a search for an enclosing range stops where none can follow.
 */
#ifndef PTLI_RANGES_H
#define PTLI_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptli_range {
    uintptr_t base;
    uint64_t length;
    uint32_t uses;
    bool writable; /* if not, it cannot be shared for writing */
};

struct ptli_ranges {
    struct {
        struct ptli_range *range;
        uintptr_t reach; /* the furthest last byte of this one and those before */
    } * at;
    size_t count, room;
};

/* A range that contains these bytes, with its uses incremented, or NULL. */
struct ptli_range *ptli_ranges_share(struct ptli_ranges *ranges, uintptr_t base, uint64_t length,
                                     bool writable);

/* Adds a new range, of length above 0, with one use; false: out of memory. */
bool ptli_ranges_add(struct ptli_ranges *ranges, struct ptli_range *range);

/* Decrements the uses; true: that was the last use, and the range has been removed. */
bool ptli_ranges_drop(struct ptli_ranges *ranges, struct ptli_range *range);

void ptli_ranges_free(struct ptli_ranges *ranges);

#endif
