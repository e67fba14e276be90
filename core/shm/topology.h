/* topology.h - which processes form a supernode: those that can map each other's memory.
 *
 * Pure: no globals, no I/O.  All ranks compute the same from the same records.
 */
#pragma once

#include <stdint.h>

/* Where a process is.  Two processes with the same host, user and space may be able to open each
 * other's files (other/base/hostmem). */
typedef struct gasnetc_location {
    uint32_t rank;
    uint32_t host;
    uint32_t user;
    uint32_t shares; /* 0: the process shares no memory */
    uint64_t space[2];
} gasnetc_location_t;

/* Groups the ranks that have equal records in `locations`, at most `most` in a group (0: any
 * number), by order of rank.  group[r] is the lowest rank of r's group.  Sorts `locations`, whose
 * ranks are 0 to n-1. */
void gasnetc_supernodes_group(gasnetc_location_t *locations, uint32_t n, uint32_t most,
                              uint32_t *group);

/* Sets supernode[r], numbered from 0 without gaps in the order of first appearance: equal for the
 * ranks of a group, but ranks with alone[r] have one each.  `number` has room for n numbers. */
void gasnetc_supernodes_number(const uint32_t *group, const uint8_t *alone, uint32_t n,
                               uint32_t *number, uint32_t *supernode);
