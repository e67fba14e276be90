/* firehose.h - the registration cache of the core, an instance of other/firehose.
 *
 * Memory of this rank outside its segment is registered when it is first used, and stays registered
 * within a pool.  Puts and gets use it.  A transfer holds its region until its
 * completion is reaped: the region is its gasnetc_sent_t.held.
 */
#pragma once

#include "core/completion.h"
#include "core/job/job.h"
#include "core/lock.h"
#include "core/network.h"
#include "core/rdma/buffers.h"
#include "core/rdma/unmapped.h"
#include "gasnet.h"
#include "other/base/hot.h"
#include "other/base/memory-events/memory_events.h"
#include "other/firehose/hit.h"

/* Opens the cache; at attach, when the segment is registered.  Collective.  Fatal, naming the two
 * settings or limits that contradict each other. */
void gasnetc_firehose_open(void);

/* Exit: prints how the cache was used, if the user asked for it. */
void gasnetc_firehose_report(void);

/* Exit: deregisters all regions. */
void gasnetc_firehose_close(void);

/* The counts, for reports; any time, any thread, no lock. */
typedef struct gasnetc_cache_counts {
    firehose_counters_t firehose;
    uint64_t microseconds; /* spent registering and deregistering */
} gasnetc_cache_counts_t;
void gasnetc_cache_counts(gasnetc_cache_counts_t *counts);

/* The program unmaps [addr, addr+len), or is about to: no transfer that starts later uses a
 * registration of that memory.  In any thread, also within free or munmap and in a signal handler:
 * takes no lock and allocates nothing.  Does nothing while there is no cache. */
void gasnetc_firehose_invalidate(void *addr, size_t len);

/* What the cache keeps of each region: the keys by which this rank's device accesses it and, where
 * peers pin, those by which peers do. */
#ifdef GASNET_SEGMENT_FAST
typedef net_region_t gasnetc_cache_key_t;
#else
typedef struct gasnetc_cache_key {
    net_region_t region; /* first */
    net_key_t key;
    bool read_only; /* the memory may not be written */
} gasnetc_cache_key_t;
#endif

/* The cache as transfers see it. */
typedef struct gasnetc_cache {
    firehose_t *instance; /* NULL: no cache */
    size_t max_region;    /* bytes of one region, whole pages; SIZE_MAX without a cache */
    uintptr_t keys;       /* of the regions, each a gasnetc_cache_key_t */
    gasneti_lock_t lock;
} gasnetc_cache_t;
#pragma GCC visibility push(hidden)
extern gasnetc_cache_t gasnetc_cache;
/* An entry for the list of gasnetc_retire; while it is there, gasnetc_firehose_retire is to be
 * called. */
extern gasnetc_link_t gasnetc_cache_due;
#pragma GCC visibility pop

/* The number of bytes of [start, start+nbytes) that one region can cover.  Long ranges are divided
 * at multiples of max_region, so that transfers of the same memory find the same regions. */
static inline size_t gasnetc_cache_piece(const void *start, size_t nbytes)
{
    const size_t most = gasnetc_cache.max_region;
    if (nbytes + (uintptr_t)start % GASNET_PAGESIZE <= most) return nbytes;
    return most - (uintptr_t)start % most;
}

HOT const net_region_t *gasnetc_cache_region(uint32_t region)
{
    return (const net_region_t *)(gasnetc_cache.keys + region * sizeof(gasnetc_cache_key_t));
}

/* The region that covers the range, held by the caller, if it is registered; else NULL.  A hit may
 * give the peer, unless NULL, a lease (lease.h). */
const net_region_t *gasnetc_cache_hit(gasnetc_peer_t *peer, const void *start, size_t nbytes);

/* Finds the region that covers the range, or registers the range, which waits for room by polling
 * (LARGE, EVERYTHING: by reaping).  At most gasnetc_cache_piece bytes. */
enum gasnetc_cache_answer {
    GASNETC_CACHED,
    GASNETC_CACHE_BUSY, /* not registered, and the caller must not wait */
    GASNETC_READ_ONLY,  /* not registered: the memory cannot be written, or is not mapped */
    GASNETC_NO_CACHE
};
enum gasnetc_cache_answer gasnetc_cache_pin(const void *start, size_t nbytes, bool may_wait,
                                            const net_region_t **region);

/* gasnetc_sent_t.held of a transfer that holds the region. */
static inline gasnetc_held_t gasnetc_cache_held(const net_region_t *region)
{
    const uintptr_t offset = (uintptr_t)region - gasnetc_cache.keys;
    return offset / sizeof(gasnetc_cache_key_t) * GASNETC_HELD_TAGS + GASNETC_HELD_CACHED;
}

HOT uint32_t gasnetc_cache_region_of(gasnetc_held_t held)
{
    return (uint32_t)(held / GASNETC_HELD_TAGS);
}

/* Ends the use of a region.  May be called under the poll lock: deregisters nothing. */
void gasnetc_cache_release(gasnetc_held_t held);
void gasnetc_cache_make_due(
    void); /* firehose_hit_release was true; or leases are to be taken back */

/* With no lock held: deregisters all regions that no transfer uses, after the system has refused a
 * registration.  False: no region was unused. */
bool gasnetc_cache_shed(void);

/* Acts on reports of unmapped memory, then does the registrations, deregistrations and answers that
 * are due.  With no lock held, and not in a handler. */
void gasnetc_cache_work(void);

/* With no lock held: deregisters unmapped memory. */
void gasnetc_firehose_retire(void);

/* --- watched.c: whether registrations may be kept, and used again (GASNET_FIREHOSE_KEEP) --- */

/* By default they may only while other/base/memory-events sees all memory that the program unmaps,
 * and tells the cache.
 *
 * Reads the setting; returns whether any registration may be kept.  The watch itself begins with
 * the first call of gasnetc_watched. */
bool gasnetc_watch_begin(void);
void gasnetc_watch_end(void);

/* To be called before the range is registered, after gasnetc_unmapped_watch for it.  False: the
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
    return !gasnetc_watch_at_use || memory_events_intact();
}
