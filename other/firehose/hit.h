/* hit.h - hits of the cache, inline, for a caller that holds the lock of the callbacks.
 *
 * The calls of firehose.h acquire the lock themselves.
 */
#ifndef FIREHOSE_HIT_H
#define FIREHOSE_HIT_H

#include "other/firehose/engine.h"

/* firehose_try_local_pin without its record: returns the number of the region, or 0. */
static inline uint32_t firehose_hit(firehose_t *fh, uintptr_t addr, size_t len)
{
    return fh_local_try(&fh->local, addr, addr + len);
}

/* The key of a region, in the array of all keys. */
static inline void *firehose_hit_key(const firehose_t *fh, uint32_t region)
{
    return fh_local_key(fh, region);
}

/* Ends one use.  True if a region is to be deregistered, by firehose_poll. */
bool firehose_hit_last(firehose_t *fh, uint32_t region); /* of firehose_hit_release alone */
static inline bool firehose_hit_release(firehose_t *fh, uint32_t region)
{
    fh_local_t *l = &fh->local;
    fh_region_t *r = fh_region(&l->table, region);
    /* The usual case: the region used last, which stays where it is in the list. */
    if (l->unused.newest != region || r->uses != 1 || r->holds)
        return firehose_hit_last(fh, region);
    r->uses = 0;
    fh_take(&l->used, r->end - r->start);
    return false;
}

/* Evicts all regions that are not used; firehose_poll deregisters them. False: no region is to be
 * deregistered. */
static inline bool firehose_hit_evict_all(firehose_t *fh)
{
    fh_local_evict_all(&fh->local);
    return fh->local.to_deregister.oldest != FH_NONE;
}

/* firehose_get_counters without the lock: the values may be of different moments. */
__attribute__((no_sanitize("thread"))) static inline void
firehose_read_counters(const firehose_t *fh, firehose_counters_t *counters)
{
    *counters = (firehose_counters_t){
        .local_hits = fh->local.hits,
        .local_misses = fh->local.misses,
        .remote_hits = fh->remote.hits,
        .remote_misses = fh->remote.misses,
        .registrations = fh->registrations,
        .evictions = fh->local.evictions,
        .refusals = fh->local.refusals,
        .firehoses_moved = fh->remote.moves,
        .requests = fh->remote.requests,
        .bytes = fh->local.present.bytes,
        .regions = fh->local.present.regions,
        .most_bytes = fh->local.peak.bytes,
        .most_regions = fh->local.peak.regions,
    };
}

#endif
