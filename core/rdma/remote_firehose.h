/* remote_firehose.h - the variant of remote.h for SEGMENT_LARGE and SEGMENT_EVERYTHING, and what
 * the files behind it share.
 *
 *   remote.c             what is registered, and the messages
 *   remote_transfers.c   transfers that wait for memory of a peer
 * Included by remote.h, and by these.
 */
#pragma once

#include <stdatomic.h>

#include "core/rdma/lease.h"
#include "core/rdma/published.h"
#include "core/rdma/remote.h"
#include "core/rdma/unmapped.h"
#include "other/firehose/hit.h"

#ifdef GASNET_SEGMENT_EVERYTHING
enum { REMOTE_PENDS = 1, REMOTE_KEEPS_ALL = 1 };
#else
enum { REMOTE_PENDS = 1, REMOTE_KEEPS_ALL = 0 };
#endif

struct remote {
    const net_key_t *key;
    uint32_t pin; /* gasnetc_sent_t.remote_pin: a region of the peer, or a lease of one */
};

#pragma GCC visibility push(hidden)
extern atomic_bool
    gasnetc_remote_due; /* the cache, or a transfer that waited, is to be looked at */
extern atomic_uint
    gasnetc_unmapped_settled; /* reports of unmapped memory that no peer accesses any more */
#pragma GCC visibility pop

/* --- remote.h --- */

void gasnetc_remote_act(void);
void gasnetc_remote_settle(void) __attribute__((cold));

HOT void remote_settle(void)
{
    (void)gasnetc_still_watched(); /* if false, all memory has been reported */
    if (atomic_load_explicit(&gasnetc_unmapped_reported, memory_order_relaxed) !=
        atomic_load_explicit(&gasnetc_unmapped_settled, memory_order_relaxed))
        gasnetc_remote_settle();
}

HOT void remote_progress(void)
{
    if (atomic_load_explicit(&gasnetc_remote_due, memory_order_relaxed)) gasnetc_remote_act();
}

/* --- the messages: core/am/firehose_messages.c --- */

/* Sends the bytes in a Request; false if it cannot be posted now.  Never waits and runs no handler.
 */
bool gasnetc_send_firehose_message(uint32_t node, const void *bytes, size_t size);

/* Takes a message, in its handler.  Returns NULL, or what is wrong with the message. */
const char *gasnetc_firehose_message(uint32_t from, const void *bytes, size_t size);

/* --- transfers --- */

/* Ends the use of a peer's region. */
void gasnetc_unpin_remote(uint32_t region);

/* gasnetc_sent_t.remote_pin of transfers under a lease: this number + the index of the lease. */
#define REMOTE_LEASES (1u << 31)

/* The key of a region of a peer's memory, while it is in use. */
HOT const gasnetc_cache_key_t *remote_key_of(uint32_t region)
{
    return (const gasnetc_cache_key_t *)(void *)gasnetc_cache.instance->remote_keys + region;
}

HOT remote_t remote_of(uint32_t region)
{
    return (remote_t){&remote_key_of(region)->key, region};
}

/* The regions of the cache that cover the range and, unless `region` is NULL, the local memory;
 * looked up with the cache's lock held once.  The peer may get leases of them.  If true, the peer's
 * lock is held. */
bool gasnetc_remote_search(gasnetc_peer_t *peer, bool put, uintptr_t start, const void *local,
                           size_t nbytes, remote_t *remote, const net_region_t **region);

/* remote_enter with REMOTE_QUICK: the peer's lease covers the range. */
HOT bool remote_enter_lease(gasnetc_peer_t *peer, bool put, uintptr_t start, size_t nbytes,
                            remote_t *remote)
{
    if (!gasneti_trylock_quiet(&peer->lock)) return false;
    gasnetc_lease_t *lease = gasnetc_lease_hit(peer, GASNETC_REMOTE, start, nbytes);
    if (lease && !(put && lease->key->read_only)) {
        lease->issued++;
        *remote = (remote_t){&lease->key->key,
                             REMOTE_LEASES + (uint32_t)(lease - gasnetc_leases[GASNETC_REMOTE])};
        return true;
    }
    gasneti_unlock(&peer->lock);
    return false;
}

HOT bool remote_enter(gasnetc_peer_t *peer, bool put, uintptr_t start, size_t nbytes,
                      enum remote_effort effort, remote_t *remote)
{
    if (!gasnetc_within(peer->segment.base, peer->segment.size, start, nbytes) &&
        (effort == REMOTE_QUICK || !gasnetc_is_published(peer->net.rank, start, nbytes)))
        return false;
    return effort == REMOTE_QUICK
               ? remote_enter_lease(peer, put, start, nbytes, remote)
               : gasnetc_remote_search(peer, put, start, NULL, nbytes, remote, NULL);
}

HOT void remote_leave(gasnetc_peer_t *peer, const remote_t *remote)
{
    gasnetc_leases[GASNETC_REMOTE][remote->pin - REMOTE_LEASES].issued--;
    gasneti_unlock(&peer->lock);
}

static inline const net_region_t *remote_hit(gasnetc_peer_t *peer, bool put, uintptr_t start,
                                             const void *local, size_t nbytes, remote_t *remote)
{
    const net_region_t *region = NULL;
    if (REMOTE_KEEPS_ALL ||
        (!gasnetc_within(peer->segment.base, peer->segment.size, start, nbytes) &&
         !gasnetc_is_published(peer->net.rank, start, nbytes)) ||
        !gasnetc_remote_search(peer, put, start, local, nbytes, remote, &region))
        return NULL;
    return region;
}

HOT void remote_hold(gasnetc_sent_t *sent, const remote_t *remote)
{
    sent->remote_pin = remote->pin;
}

void gasnetc_remote_undo(uint32_t pin) __attribute__((cold));
HOT void remote_unpin(const remote_t *remote)
{
    gasnetc_remote_undo(remote->pin);
}

HOT bool remote_read_only(const net_region_t *region)
{
    return ((const gasnetc_cache_key_t *)region)->read_only;
}

/* Bytes from `start` to the end of its block; no region is larger than a block. */
static inline size_t remote_room(const gasnetc_peer_t *peer, uintptr_t start)
{
    (void)peer;
    return gasnetc_cache.max_region - start % gasnetc_cache.max_region;
}

/* Fatal for a put to memory that may only be read. */
void gasnetc_check_writable(const rdma_piece_t *piece, uint32_t region);

static inline bool remote_find(const rdma_piece_t *piece, remote_t *remote)
{
    firehose_t *fh = gasnetc_cache.instance;
    gasneti_lock(&gasnetc_cache.lock);
    const uint32_t region = fh_remote_try(&fh->remote, piece->peer->net.rank, piece->remote,
                                          piece->remote + piece->nbytes);
    gasneti_unlock(&gasnetc_cache.lock);
    if (!region) return false;
    gasnetc_check_writable(piece, region);
    *remote = remote_of(region);
    return true;
}

/* remote_transfers.c */
void gasnetc_post_later(const rdma_piece_t *piece, size_t pin);
static inline void remote_later(const rdma_piece_t *piece, size_t nbytes)
{
    const size_t room = remote_room(piece->peer, piece->remote);
    gasnetc_post_later(piece, room < nbytes ? room : nbytes);
}

/* Posts the pieces whose memory is pinned now.  True if some pieces still wait. */
bool gasnetc_post_waiting(void);

/* The most bytes of a put that are sent with the request for the memory; the destination precedes
 * them. */
size_t gasnetc_ride_limit(void);
