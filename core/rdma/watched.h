/* watched.h - whether registrations may be kept, and used again (GASNET_FIREHOSE_KEEP): by default
 * only while other/base/memory-events sees all memory that the program unmaps, and tells the cache.
 * For firehose_open.c and the look-ups of the cache. */
#ifndef GASNETC_WATCHED_H
#define GASNETC_WATCHED_H

#include <stdbool.h>
#include <stddef.h>

#include "other/base/memory-events/memory_events.h"
#include "other/base/hot.h"

/* Reads the setting; returns whether any registration may be kept.  The watch itself begins with
 * the first call of gasnetc_watched. */
bool gasnetc_watch_begin(void);
void gasnetc_watch_end(void);

/* To be called before the range is registered, after gasnetc_given_back_watch for it.  False: the
 * registration must not be found by a later transfer.  The reason is printed once, with
 * GASNET_VERBOSEENV or GASNET_FIREHOSE_VERBOSE, unless the user asked for it. */
bool gasnetc_watched(const void *start, size_t nbytes);

#pragma GCC visibility push(hidden)
extern bool gasnetc_watch_at_use;
#pragma GCC visibility pop

/* To be called before a kept registration is used.  False: no kept registration may be used, and
 * all memory has been reported as unmapped. */
HOT bool gasnetc_still_watched(void)
{
    return __builtin_expect(!gasnetc_watch_at_use, 1) || memory_events_intact();
}

#endif
