/* ranges.h - ranges of memory that are registered, and how often each is used.  Pure.
 *
 * A range that lies within another one shares it: three MDs over one segment are one registration.
 * Sorted by address, with the furthest end of all that begin no later, so that looking for a range
 * around another stops where none can be.
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
    bool writable; /* who wants to write cannot share one that is not */
};

struct ptli_ranges {
    struct {
        struct ptli_range *range;
        uintptr_t reach; /* the furthest last byte of this one and those before */
    } * at;
    size_t count, room;
};

/* One around these bytes, with one more use, or NULL. */
struct ptli_range *ptli_ranges_share(struct ptli_ranges *ranges, uintptr_t base, uint64_t length,
                                     bool writable);

/* A new one, length above 0, with one use; false: out of memory. */
bool ptli_ranges_add(struct ptli_ranges *ranges, struct ptli_range *range);

/* One use less; true: there is none left, and the range has been taken out. */
bool ptli_ranges_drop(struct ptli_ranges *ranges, struct ptli_range *range);

void ptli_ranges_free(struct ptli_ranges *ranges);

#endif
