/* lease.h - regions of the registration cache that stay in use between transfers, so that a hit
 * needs no lock but its peer's.
 *
 * A peer may have a lease of one region of local memory (LOCAL) and of one of its own memory
 * (REMOTE). A lease is one use of the region in the cache.  Transfers under a lease are counted in
 * the lease alone, when they are posted and when they are complete.  Leases are taken back when a
 * registration waits for room, and when memory was unmapped.  Used by rdma.c and remote.h.
 */
#pragma once

#include <stdatomic.h>

#include "core/job/job.h"
#include "core/rdma/firehose.h"
#include "core/rdma/segment.h"
#include "other/base/hot.h"

enum { GASNETC_LEASES = 16 }; /* for each end */

typedef struct gasnetc_lease {
    uintptr_t base;
    size_t size;                    /* 0: no transfer may begin */
    const gasnetc_cache_key_t *key; /* of the region */
    unsigned since;                 /* gasnetc_lease_now when the lease was given */
    uint32_t region;                /* its number in the cache */
    uint64_t issued;                /* transfers under it; grows, as long as the process runs */
    _Atomic uint64_t ended;         /* transfers under it that are complete; under the poll lock */
    gasnetc_peer_t *owner;          /* NULL: not given; under the cache's lock */
} gasnetc_lease_t;

#pragma GCC visibility push(hidden)
/* Fields other than `ended` and `owner` are read under the owner's lock, and change under that and
 * the cache's lock; `issued` changes under the owner's lock alone. */
extern gasnetc_lease_t gasnetc_leases[GASNETC_ENDS][GASNETC_LEASES];
extern atomic_uint gasnetc_revoked; /* revocations by peers, of memory that they have unmapped */
#pragma GCC visibility pop

/* The count of unmapped ranges.  A lease whose `since` differs may be of memory that was unmapped
 * since. */
HOT unsigned gasnetc_lease_now(enum gasnetc_end end)
{
    return atomic_load_explicit(
        end == GASNETC_LOCAL ? &gasnetc_unmapped_reported : &gasnetc_revoked, memory_order_acquire);
}

/* The peer's lease if it covers the range, else NULL.  Peer's lock held. */
HOT gasnetc_lease_t *gasnetc_lease_hit(const gasnetc_peer_t *peer, enum gasnetc_end end,
                                       uintptr_t start, size_t nbytes)
{
    gasnetc_lease_t *lease = peer->lease[end];
    if (!lease || !gasnetc_within(lease->base, lease->size, start, nbytes) ||
        (end == GASNETC_LOCAL && !gasnetc_still_watched()) ||
        lease->since != gasnetc_lease_now(end))
        return NULL;
    return lease;
}

/* gasnetc_sent_t.held of a transfer under the lease. */
HOT gasnetc_held_t gasnetc_lease_held(const gasnetc_lease_t *lease)
{
    return gasnetc_hold(lease, GASNETC_HELD_LEASE);
}

HOT const net_region_t *gasnetc_lease_region(const gasnetc_lease_t *lease)
{
    return (const net_region_t *)(const void *)lease->key;
}

/* A transfer under the lease is complete.  Poll lock held. */
HOT void gasnetc_lease_end(gasnetc_lease_t *lease)
{
    const uint64_t ended = atomic_load_explicit(&lease->ended, memory_order_relaxed);
    atomic_store_explicit(&lease->ended, ended + 1, memory_order_release);
}

/* Undoes the count of a transfer that was issued, but not posted.  Peer's lock not held. */
void gasnetc_lease_undo(gasnetc_lease_t *lease);

/* A hit found this region in the cache without a lease, and has added a use.  At the second such
 * hit in succession the region becomes the peer's lease, unless transfers are under another lease
 * of the peer.  Cache's lock held.
 */
void gasnetc_lease_offer(gasnetc_peer_t *peer, enum gasnetc_end end, uint32_t region);

/* Ends all leases that no transfer is under; no transfer begins under the other ones, which end at
 * a later call.  False: such leases are left.  No peer's lock held, nor the cache's. */
bool gasnetc_lease_take_back(enum gasnetc_end end);

/* Ends the leases of LOCAL that it can, if a registration was refused, or if some are left of an
 * earlier call. */
void gasnetc_lease_retire(void);

/* Transfers under leases so far; any thread, no lock. */
uint64_t gasnetc_lease_hits(enum gasnetc_end end);
