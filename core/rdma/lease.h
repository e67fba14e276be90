/* lease.h - regions of the registration cache that stay in use between transfers, so that a hit
 * needs no lock but that of its peer.
 *
 * A peer may have a lease of one region here (NEAR) and of one of its own memory (FAR).  A lease is
 * one use of the region in the cache.  Transfers under a lease are counted in the lease alone, when
 * they are posted and when they are complete.  Leases are taken back when something waits for room,
 * and when memory was given back.  Used by rdma.c and rdma_firehose.c.
 */
#ifndef GASNETC_LEASE_H
#define GASNETC_LEASE_H

#include <stdatomic.h>

#include "core/job/job.h"
#include "core/rdma/bounds.h"
#include "core/rdma/firehose.h"
#include "other/tools/hot.h"

enum { GASNETC_LEASES = 16 }; /* of each end */

typedef struct gasnetc_lease {
    uintptr_t base;
    size_t size;                    /* 0: no transfer may begin */
    const gasnetc_cache_key_t *key; /* of the region */
    unsigned since;                 /* gasnetc_lease_now when it was given */
    uint32_t region;                /* its number in the cache */
    uint64_t issued;                /* transfers under it; grows, as long as the process runs */
    _Atomic uint64_t ended;         /* of these, the complete ones; under the poll lock */
    gasnetc_peer_t *owner;          /* NULL: not given; under the cache's lock */
} gasnetc_lease_t;

#pragma GCC visibility push(hidden)
/* All but `ended` and `owner` is under the lock of the owner, and changes under the cache's lock
 * too; but `issued`, under the lock of the owner alone. */
extern gasnetc_lease_t gasnetc_leases[GASNETC_ENDS][GASNETC_LEASES];
extern atomic_uint gasnetc_revoked; /* times that peers have given memory back */
#pragma GCC visibility pop

/* A lease that was given at another time may be of memory that was given back since. */
HOT unsigned gasnetc_lease_now(enum gasnetc_end end)
{
    return atomic_load_explicit(end == GASNETC_NEAR ? &gasnetc_given_back_reported
                                                    : &gasnetc_revoked,
                                memory_order_acquire);
}

/* The peer's lease if it covers the range, else NULL.  Peer's lock held. */
HOT gasnetc_lease_t *gasnetc_lease_hit(const gasnetc_peer_t *peer, enum gasnetc_end end,
                                       uintptr_t start, size_t nbytes)
{
    gasnetc_lease_t *lease = peer->lease[end];
    if (!lease || !gasnetc_within(lease->base, lease->size, start, nbytes) ||
        lease->since != gasnetc_lease_now(end))
        return NULL;
    return lease;
}

/* Of a transfer under the lease, as gasnetc_sent_t.held. */
HOT gasnetc_held_t *gasnetc_lease_held(gasnetc_lease_t *lease)
{
    return (gasnetc_held_t *)(void *)lease;
}

HOT const net_region_t *gasnetc_lease_region(const gasnetc_lease_t *lease)
{
    return (const net_region_t *)(const void *)lease->key;
}

HOT bool gasnetc_is_lease(const gasnetc_held_t *held)
{
    return (uintptr_t)held - (uintptr_t)gasnetc_leases < sizeof gasnetc_leases;
}

/* A transfer under the lease is complete.  Poll lock held. */
HOT void gasnetc_lease_end(gasnetc_lease_t *lease)
{
    const uint64_t ended = atomic_load_explicit(&lease->ended, memory_order_relaxed);
    atomic_store_explicit(&lease->ended, ended + 1, memory_order_release);
}

/* A transfer was counted as issued, and not posted.  Peer's lock not held. */
void gasnetc_lease_undo(gasnetc_lease_t *lease);

/* The region was found in the cache without a lease, and has a use.  If that is the second time in
 * succession it becomes the peer's lease, unless transfers are under another.  Cache's lock held.
 */
void gasnetc_lease_offer(gasnetc_peer_t *peer, enum gasnetc_end end, uint32_t region);

/* Ends all leases that no transfer is under; no transfer begins under the others, which end at a
 * later call.  False: there are others.  No peer's lock held, nor the cache's. */
bool gasnetc_lease_take_back(enum gasnetc_end end);

/* The same of NEAR, if leases are in the way of a registration, or were to be taken back before. */
void gasnetc_lease_tidy(void);

/* Transfers under leases so far; any thread, no lock. */
uint64_t gasnetc_lease_hits(enum gasnetc_end end);

#endif
