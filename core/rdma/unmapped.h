/* unmapped.h - reports of memory that the program has unmapped, on their way to the registration
 * cache.
 *
 * The reporting side runs in any thread, within the program's munmap or free, or in a signal
 * handler: it takes no lock and allocates nothing.  The cache takes the reports before each look-up
 * (firehose.c).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called before memory is registered, and after it was deregistered.  A report is dropped if its
 * range shares no block of 2^UNMAPPED_SHIFT bytes with registered memory; blocks may count as
 * registered for too long, which is harmless. */
enum { UNMAPPED_SHIFT = 18 };
void gasnetc_unmapped_watch(uintptr_t start, size_t size);
void gasnetc_unmapped_unwatch(uintptr_t start, size_t size);

/* Between gasnetc_unmapped_watch_all and _watch_some no report is dropped: a thread may deregister
 * memory and register it again as a part of a larger region.  The calls nest, also those of several
 * threads.
 */
void gasnetc_unmapped_watch_all(void);
void gasnetc_unmapped_watch_some(void);

/* Reports a range.  False if none of it can be registered. */
bool gasnetc_unmapped_report(uintptr_t start, size_t size);

/* Counts of reports, and of those that the cache has acted on. */
#pragma GCC visibility push(hidden)
extern atomic_uint gasnetc_unmapped_reported, gasnetc_unmapped_taken;
#pragma GCC visibility pop

static inline bool gasnetc_unmapped_pending(void)
{
    return atomic_load_explicit(&gasnetc_unmapped_reported, memory_order_acquire) !=
           atomic_load_explicit(&gasnetc_unmapped_taken, memory_order_acquire);
}

/* Calls `visit` for each range that was reported; when more were reported than the slots hold, for
 * all of the address space.  gasnetc_unmapped_pending is true until then.  One thread at a time.
 */
void gasnetc_unmapped_take(void (*visit)(uintptr_t start, size_t size));
