/* segments.h - what the segment modes share: the sizes that are asked for and agreed on, and the
 * exchange of the segments' addresses.
 *
 * Used by segment.c and segment_unpinned.c.
 */
#ifndef GASNETC_SEGMENTS_H
#define GASNETC_SEGMENTS_H

#include <stdint.h>

#include "other/base/numbers.h"

/* `size` reduced to whole pages, at least one. */
uintptr_t gasnetc_segment_pages(uint64_t size);

/* The amount of memory that a parameter gives, in bytes for all processes of a host.  `per`:
 * whether an amount without /P or /H is for each process ('P') or for the host ('H'). */
uint64_t gasnetc_memory_of_host(const struct gasneti_memory *memory, char per);

/* The size that the user asks for, or the library was configured with; *bound says which. */
uint64_t gasnetc_segment_asked(const char **bound);

/* Collective: the least value of all ranks. */
uint64_t gasnetc_segment_least(uint64_t mine);

/* Collective: `most` is this rank's largest segment, and `bound` the limit that determines it. */
void gasnetc_segment_agree(uintptr_t most, const char *bound);

/* Checks the size that gasnet_attach was given: GASNET_OK, or the error, which is reported. */
int gasnetc_segment_check(uintptr_t size);

/* Fatal: the segment cannot be allocated, for the reason in errno. */
void gasnetc_segment_not_allocated(uintptr_t size) __attribute__((noreturn, cold));

/* Collective: sets address and size of each peer's segment; those of this rank are `base` and
 * `size`. */
void gasnetc_segment_exchange(uintptr_t base, uintptr_t size);

#endif
