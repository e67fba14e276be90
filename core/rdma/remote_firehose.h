/* remote_firehose.h - the variant of remote.h for SEGMENT_LARGE and SEGMENT_EVERYTHING, and what
 * the files behind it share.
 *
 *   remote.c             what is registered, and the messages
 *   remote_transfers.c   transfers that wait for memory of a peer
 *   rdma_firehose.c      puts and gets
 * Included by remote.h, and by these.
 */
#ifndef GASNETC_REMOTE_FIREHOSE_H
#define GASNETC_REMOTE_FIREHOSE_H

#include <stdatomic.h>

#include "core/rdma/given_back.h"
#include "core/rdma/lease.h"
#include "core/rdma/remote.h"
#include "other/firehose/hit.h"

#pragma GCC visibility push(hidden)
extern atomic_bool
    gasnetc_remote_due; /* the cache, or a transfer that waited, is to be looked at */
extern atomic_uint
    gasnetc_given_back_settled; /* reports of unmapped memory that no peer accesses any more */
#pragma GCC visibility pop

/* --- remote.h --- */

firehose_outcome_t gasnetc_remote_register(uintptr_t addr, size_t len, gasnetc_cache_key_t *key);
void gasnetc_remote_agree(firehose_sizes_t *sizes);
void gasnetc_remote_configure(firehose_config_t *config);
void gasnetc_remote_act(void);
void gasnetc_remote_settle(void) __attribute__((cold));

static inline uint32_t remote_nodes(void)
{
    return gasnetc_job.size;
}

static inline firehose_outcome_t remote_register(uintptr_t addr, size_t len, void *key)
{
    return gasnetc_remote_register(addr, len, key);
}

static inline bool remote_keeps(uintptr_t addr, size_t len)
{
    const gasnetc_segment_t *own = &gasnetc_peers[gasnetc_job.rank].segment;
    return addr - own->base < own->size && len <= own->size - (addr - own->base);
}

/* Only reaps, because completions make room.  A handler or collective that a poll ran could not
 * wait for memory of a peer, since the thread may be in gasnetc_post_waiting. */
static inline void remote_wait(void)
{
    gasnetc_reap();
}

static inline void remote_make_due(void)
{
    atomic_store_explicit(&gasnetc_remote_due, true, memory_order_release);
}

HOT void remote_settle(void)
{
    (void)gasnetc_still_watched(); /* if false, all memory has been reported */
    if (atomic_load_explicit(&gasnetc_given_back_reported, memory_order_relaxed) !=
        atomic_load_explicit(&gasnetc_given_back_settled, memory_order_relaxed))
        gasnetc_remote_settle();
}

static inline void remote_agree(firehose_sizes_t *sizes)
{
    gasnetc_remote_agree(sizes);
}

static inline void remote_configure(firehose_config_t *config)
{
    gasnetc_remote_configure(config);
}

HOT void remote_progress(void)
{
    if (atomic_load_explicit(&gasnetc_remote_due, memory_order_relaxed)) gasnetc_remote_act();
}

/* --- the messages: core/am/firehose_messages.c --- */

void gasnetc_register_firehose_handler(void);
static inline void remote_register_handler(void)
{
    gasnetc_register_firehose_handler();
}

/* Sends the bytes in a Request; false if it cannot be posted now.  Never waits and runs no handler.
 */
bool gasnetc_send_firehose_message(uint32_t node, const void *bytes, size_t size);

/* Takes a message, in its handler.  Returns NULL, or what is wrong with the message. */
const char *gasnetc_firehose_message(uint32_t from, const void *bytes, size_t size);

/* --- transfers --- */

/* One piece of a put or a get, in one region of the cache at either end. */
typedef struct remote_piece {
    uint32_t node;
    bool put;
    uintptr_t remote;
    char *local;
    const net_region_t *landing; /* NULL, or a registration of `local` */
    size_t nbytes;
    gasnetc_counter_t *counter; /* has counted the piece as issued; NULL: no thread waits */
} remote_piece_t;

/* The region of the rank's memory that covers the range, with a use that gasnetc_unpin_remote ends;
 * or 0. */
HOT uint32_t remote_try(uint32_t node, uintptr_t addr, size_t len)
{
    firehose_t *fh = gasnetc_cache.instance;
    gasneti_lock(&gasnetc_cache.lock);
    const uint32_t region = fh_remote_try(&fh->remote, node, addr, addr + len);
    gasneti_unlock(&gasnetc_cache.lock);
    return region;
}

/* Ends the use that remote_try has begun. */
void gasnetc_unpin_remote(uint32_t region);

/* The regions that a transfer uses at both ends. */
typedef struct remote_ends {
    uint32_t far;             /* of the peer; 0: not found, and no region is used */
    const net_region_t *near; /* of local memory; NULL: not asked for */
} remote_ends_t;

/* The regions that cover the ranges, looked up with the cache's lock held once; the peer may get
 * leases of them. */
static inline remote_ends_t remote_try_both(gasnetc_peer_t *peer, uintptr_t there, const void *here,
                                            size_t len, bool near)
{
    firehose_t *fh = gasnetc_cache.instance;
    remote_ends_t ends = {0, NULL};
    if (near && gasnetc_given_back_pending()) return ends;
    gasneti_lock(&gasnetc_cache.lock);
    ends.far = fh_remote_try(&fh->remote, peer->net.rank, there, there + len);
    const uint32_t local = near && ends.far ? firehose_hit(fh, (uintptr_t)here, len) : 0;
    if (near && ends.far && !local) {
        fh_remote_release(&fh->remote, ends.far);
        ends.far = 0;
    }
    if (ends.far) gasnetc_lease_offer(peer, GASNETC_FAR, ends.far);
    if (local) {
        gasnetc_lease_offer(peer, GASNETC_NEAR, local);
        ends.near = gasnetc_cache_region(local);
    }
    gasneti_unlock(&gasnetc_cache.lock);
    return ends;
}

/* gasnetc_sent_t.remote_pin of transfers under a lease: this number + the index of the lease. */
#define REMOTE_LEASES (1u << 31)

HOT uint32_t remote_lease_pin(const gasnetc_lease_t *lease)
{
    return REMOTE_LEASES + (uint32_t)(lease - gasnetc_leases[GASNETC_FAR]);
}

/* The key of a region of a peer's memory, while it is in use. */
HOT const gasnetc_cache_key_t *remote_key_of(uint32_t region)
{
    return (const gasnetc_cache_key_t *)(void *)gasnetc_cache.instance->remote_keys + region;
}

/* rdma_firehose.c: a put to memory that may only be read ends the job. */
void gasnetc_not_writable(const remote_piece_t *piece) __attribute__((noreturn, cold));

/* rdma_firehose.c: posts a piece whose memory at the peer is pinned.  With `reaps` it only reaps
 * while it waits for resources. */
void gasnetc_post_piece(const remote_piece_t *piece, uint32_t region, enum net_order order,
                        bool reaps);

/* remote_transfers.c: posts the piece when the memory at the peer is pinned, together with the
 * bytes behind it up to `pin`.  With `copy` the source is copied now.  Polls while too many wait.
 */
void gasnetc_post_later(const remote_piece_t *piece, size_t pin, bool copy);
/* Posts the pieces whose memory is pinned now.  True if some pieces still wait. */
bool gasnetc_post_waiting(void);

/* The most bytes of a put that are sent with the request for the memory; the destination precedes
 * them. */
size_t gasnetc_ride_limit(void);

#endif
