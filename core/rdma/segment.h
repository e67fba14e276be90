/* segment.h - segments: this rank's own at init, attach and exit, the check that a remote range
 * lies in the segment of its rank, and what the segment modes share.
 *
 * segment.c (FAST) or segment_unpinned.c (LARGE, EVERYTHING) has the calls of init, attach and
 * exit, and segments.c the rest.
 */
#pragma once

#include <stdint.h>

#include "core/job/job.h"
#include "other/base/hot.h"
#include "other/base/numbers.h"

/* Init, collective: determines the largest segment of this rank and of all ranks. */
void gasnetc_segment_limits(void);

/* Attach, collective: allocates, registers and exchanges.  Returns a GASNET_ code. */
int gasnetc_segment_attach(uintptr_t size);

/* Exit: deregisters the segment, but does not free it: the client may still read it. */
void gasnetc_segment_close(void);

/* --- ranges, for puts, gets and Longs, in all segment modes --- */

/* True if the range is not empty and lies in [base, base+size). */
HOT bool gasnetc_within(uintptr_t base, size_t size, uintptr_t start, size_t nbytes)
{
    const size_t last = nbytes - 1;
    return last < size && start - base < size - last;
}

/* Fatal: names the range and the segment. */
void gasnetc_out_of_segment(const gasnetc_peer_t *peer, uintptr_t start, size_t nbytes,
                            const char *what) __attribute__((noreturn, cold));

/* Fatal unless [start, start+nbytes) lies in the segment that the peer has attached. */
static inline void gasnetc_check_remote(const gasnetc_peer_t *peer, uintptr_t start, size_t nbytes,
                                        const char *what)
{
    uintptr_t offset = start - peer->segment.base;
    if (offset > peer->segment.size || nbytes > peer->segment.size - offset)
        gasnetc_out_of_segment(peer, start, nbytes, what);
}

/* Fatal unless the range, which is not empty, lies in that or in one that the peer has published.
 */
void gasnetc_check_reachable(const gasnetc_peer_t *peer, uintptr_t start, size_t nbytes,
                             const char *what);

/* --- for segment.c and segment_unpinned.c: the sizes, and the exchange of addresses --- */

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
