/* lease.c - gives leases of regions of the cache, and takes them back; see lease.h.
 *
 * The cache's lock is acquired before a peer's lock, which is only tried: a thread that posts holds
 * the peer's lock.
 */
#include "core/rdma/lease.h"

gasnetc_lease_t gasnetc_leases[GASNETC_ENDS][GASNETC_LEASES];
atomic_uint gasnetc_revoked;

/* The state of the leases of each end, under the cache's lock. */
static struct ends {
    uint32_t last;  /* the region that was offered last */
    unsigned given; /* leases that have an owner */
    unsigned next;  /* the lease that the next peer takes from its owner */
    bool closing;   /* some leases are to be taken back when their transfers have ended */
} ends[GASNETC_ENDS];

static enum gasnetc_end end_of(const gasnetc_lease_t *lease)
{
    return lease < gasnetc_leases[GASNETC_LOCAL] + GASNETC_LEASES ? GASNETC_LOCAL : GASNETC_REMOTE;
}

static bool is_idle(const gasnetc_lease_t *lease)
{
    return lease->issued == atomic_load_explicit(&lease->ended, memory_order_acquire);
}

/* --- with the cache's lock and the owner's lock held --- */

static void release_region(const gasnetc_lease_t *lease)
{
    firehose_t *fh = gasnetc_cache.instance;
    if (end_of(lease) == GASNETC_REMOTE)
        fh_remote_release(&fh->remote, lease->region);
    else if (firehose_hit_release(fh, lease->region))
        gasnetc_cache_make_due();
}

static void end_lease(gasnetc_lease_t *lease)
{
    release_region(lease);
    lease->owner->lease[end_of(lease)] = NULL;
    lease->owner = NULL;
    lease->size = 0;
    ends[end_of(lease)].given--;
}

static void begin_lease(gasnetc_lease_t *lease, gasnetc_peer_t *peer, uint32_t region)
{
    firehose_t *fh = gasnetc_cache.instance;
    const enum gasnetc_end end = end_of(lease);
    const bool local = end == GASNETC_LOCAL;
    const fh_table_t *table = local ? &fh->local.table : &fh->remote.table;
    fh_region_t *r = fh_region(table, region);
    r->uses++; /* the region has a use already: counts of regions in use do not change */
    lease->base = (uintptr_t)r->start;
    lease->size = (size_t)(r->end - r->start);
    lease->key = local ? fh_local_key(fh, region) : fh_remote_key(fh, region);
    /* The count of reports taken, because a report that the cache has not taken may be of the
     * region. */
    lease->since = local ? atomic_load_explicit(&gasnetc_unmapped_taken, memory_order_acquire)
                         : gasnetc_lease_now(end);
    lease->region = region;
    lease->owner = peer;
    peer->lease[end] = lease;
    ends[end].given++;
}

/* --- with the cache's lock held --- */

/* Ends the lease.  False: a transfer is under it, or its owner's lock is held. */
static bool take_back(gasnetc_lease_t *lease)
{
    gasnetc_peer_t *owner = lease->owner;
    if (!owner) return true;
    if (!gasneti_trylock(&owner->lock)) return false;
    const bool idle = is_idle(lease);
    lease->size = 0;
    if (idle) end_lease(lease);
    gasneti_unlock(&owner->lock);
    return idle;
}

static gasnetc_lease_t *free_lease(enum gasnetc_end end)
{
    for (unsigned i = 0; ends[end].given < GASNETC_LEASES && i < GASNETC_LEASES; i++)
        if (!gasnetc_leases[end][i].owner) return &gasnetc_leases[end][i];
    gasnetc_lease_t *lease = &gasnetc_leases[end][ends[end].next++ % GASNETC_LEASES];
    return take_back(lease) ? lease : NULL;
}

void gasnetc_lease_offer(gasnetc_peer_t *peer, enum gasnetc_end end, uint32_t region)
{
    const bool again = ends[end].last == region;
    ends[end].last = region;
    if (!again) return;
    if (peer->lease[end] && !take_back(peer->lease[end])) return;
    gasnetc_lease_t *lease = free_lease(end);
    if (!lease || !gasneti_trylock(&peer->lock)) return;
    begin_lease(lease, peer, region);
    gasneti_unlock(&peer->lock);
}

static void take_all_back(enum gasnetc_end end)
{
    ends[end].closing = false;
    for (unsigned i = 0; ends[end].given && i < GASNETC_LEASES; i++)
        if (!take_back(&gasnetc_leases[end][i])) ends[end].closing = true;
}

/* --- without locks held --- */

void gasnetc_lease_undo(gasnetc_lease_t *lease)
{
    gasnetc_peer_t *owner = lease->owner;
    gasneti_lock(&owner->lock);
    lease->issued--;
    gasneti_unlock(&owner->lock);
}

bool gasnetc_lease_take_back(enum gasnetc_end end)
{
    if (!gasnetc_cache.instance) return true;
    gasneti_lock(&gasnetc_cache.lock);
    take_all_back(end);
    const bool all = !ends[end].closing;
    gasneti_unlock(&gasnetc_cache.lock);
    return all;
}

void gasnetc_lease_retire(void)
{
    gasneti_lock(&gasnetc_cache.lock);
    if (ends[GASNETC_LOCAL].closing || gasnetc_cache.instance->local.refused)
        take_all_back(GASNETC_LOCAL);
    const bool closing = ends[GASNETC_LOCAL].closing;
    gasneti_unlock(&gasnetc_cache.lock);
    if (closing) gasnetc_cache_make_due();
}

__attribute__((no_sanitize("thread"))) uint64_t gasnetc_lease_hits(enum gasnetc_end end)
{
    uint64_t hits = 0;
    for (unsigned i = 0; i < GASNETC_LEASES; i++) hits += gasnetc_leases[end][i].issued;
    return hits;
}
