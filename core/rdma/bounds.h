/* bounds.h - whether a range lies in another: the check that a remote range lies in the segment of
 * its rank.
 *
 * For puts, gets and Longs, in all segment modes.
 */
#ifndef GASNETC_BOUNDS_H
#define GASNETC_BOUNDS_H

#include "core/job/job.h"
#include "other/base/hot.h"

/* True if the range is not empty and lies in [base, base+size). */
HOT bool gasnetc_within(uintptr_t base, size_t size, uintptr_t start, size_t nbytes)
{
    const size_t last = nbytes - 1;
    return last < size && start - base < size - last;
}

/* Fatal: names the range and the segment. */
void gasnetc_out_of_segment(const gasnetc_peer_t *peer, uintptr_t start, size_t nbytes,
                            const char *what) __attribute__((noreturn, cold));

/* Fatal unless [start, start+nbytes) lies in the peer's segment. */
static inline void gasnetc_check_remote(const gasnetc_peer_t *peer, uintptr_t start, size_t nbytes,
                                        const char *what)
{
    uintptr_t offset = start - peer->segment.base;
    if (offset > peer->segment.size || nbytes > peer->segment.size - offset)
        gasnetc_out_of_segment(peer, start, nbytes, what);
}

#endif
