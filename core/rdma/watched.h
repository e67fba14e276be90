/* watched.h - whether registrations may be kept (GASNET_FIREHOSE_KEEP): by default only while
 * other/memory-events sees all memory that the program gives back, and tells the cache.  For
 * firehose_open.c. */
#ifndef GASNETC_WATCHED_H
#define GASNETC_WATCHED_H

#include <stdbool.h>

/* Begins; returns gasnetc_watched(). */
bool gasnetc_watch_begin(void);
void gasnetc_watch_end(void);

/* To be asked before memory is registered, when gasnetc_given_back_watch has been called for it.
 * False: the registration must not be found by a later transfer.  The reason is said once, with
 * GASNET_VERBOSEENV or GASNET_FIREHOSE_VERBOSE, unless the user asked for it. */
bool gasnetc_watched(void);

#endif
