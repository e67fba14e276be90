/* segments.h - what the segment modes share: the sizes that are asked for and agreed on, and the
 * exchange of the segments' addresses.
 *
 * Used by segment.c and segment_unpinned.c.
 */
#ifndef GASNETC_SEGMENTS_H
#define GASNETC_SEGMENTS_H

#include <stdint.h>

/* `size` in whole pages, at least one. */
uintptr_t gasnetc_segment_pages(uint64_t size);

/* What the user asks for, or 2 GB less one page; *bound says so. */
uint64_t gasnetc_segment_asked(const char **bound);

/* Collective: the least value of all nodes. */
uint64_t gasnetc_segment_least(uint64_t mine);

/* Collective: `most` is this node's largest segment, and `bound` the limit that makes it so. */
void gasnetc_segment_agree(uintptr_t most, const char *bound);

/* A size that gasnet_attach was given: GASNET_OK, or the error, which is reported. */
int gasnetc_segment_check(uintptr_t size);

/* Fatal: the segment cannot be allocated, for the reason in errno. */
void gasnetc_segment_not_allocated(uintptr_t size) __attribute__((noreturn, cold));

/* Collective: sets address and size of each peer's segment; this node's are `base` and `size`. */
void gasnetc_segment_exchange(uintptr_t base, uintptr_t size);

#endif
