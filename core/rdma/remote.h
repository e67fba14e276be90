/* remote.h - memory of peers: the answer for a range of it is a key, or that the range is pending.
 *
 * Two variants define the calls, of which the segment mode chooses one:
 *   remote_fast.h      SEGMENT_FAST: peers' segments are registered during attach, so that no range
 *                      is ever pending, which the compiler knows;
 *   remote_firehose.h  SEGMENT_LARGE and _EVERYTHING: registered where and when they are used.  A
 *                      range that is not registered is pending: it is requested from the peer.
 * Included by puts and gets (rdma.c, pieces.c), by the code that opens the registration cache
 * (firehose_open.c), and by polls.  README.md describes remote_firehose.h.
 */
#pragma once

#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/rdma/firehose.h"
#include "core/rdma/lease.h"
#include "core/rdma/segment.h"
#include "other/base/hot.h"

/* Supplied by the variant:
 *   remote_t           the answer for a range, if it is a key: `key`, and the use of a region of
 *                      the peer that ends with the transfer, if there is one.
 *   REMOTE_PENDS       1: ranges may be pending, and no segment is registered.  0: never pending.
 *   REMOTE_KEEPS_ALL   1: the cache keeps every registration, as peers may hold any memory, even
 *                      where unmapped memory is not seen.  So this rank's own transfers only use
 *                      the cache if gasnetc_watched. */
typedef struct remote remote_t;

/* --- puts and gets: the usual case, a transfer in one piece --- */

/* QUICK: no call is made, no lock but the peer's is acquired, and that is only tried.  THOROUGH:
 * all that is registered is found; it may acquire the cache's lock. */
enum remote_effort { REMOTE_QUICK, REMOTE_THOROUGH };

/* True if all of the peer's range has the same key, and a put may write to it: the peer's lock is
 * held then, and *remote is set.  False for a range outside the peer's segment, too. */
HOT bool remote_enter(gasnetc_peer_t *peer, bool put, uintptr_t start, size_t nbytes,
                      enum remote_effort effort, remote_t *remote);

/* Undoes remote_enter with REMOTE_QUICK.  Peer's lock held. */
HOT void remote_leave(gasnetc_peer_t *peer, const remote_t *remote);

/* THOROUGH for both ends of a transfer: returns the region of the cache that covers `local`, held,
 * or NULL.  If not NULL, the peer's lock is held and *remote is set.  A get may write to the
 * region. */
static inline const net_region_t *remote_hit(gasnetc_peer_t *peer, bool put, uintptr_t start,
                                             const void *local, size_t nbytes, remote_t *remote);

/* Adds the use of the peer's region to what the operation holds. */
HOT void remote_hold(gasnetc_sent_t *sent, const remote_t *remote);

/* Ends that use of an operation that was not posted.  Peer's lock not held. */
HOT void remote_unpin(const remote_t *remote);

/* True if the memory of a region of the cache may not be written. */
HOT bool remote_read_only(const net_region_t *region);

/* --- puts and gets: one piece of a transfer --- */

/* How the network accesses the local memory of a piece. */
enum rdma_way {
    RDMA_DIRECT,  /* where it lies, if a device can access it */
    RDMA_COPIED,  /* through a bounce buffer, or one of the network */
    RDMA_INLINED, /* a put whose bytes the network takes at the post */
};

/* One piece of a put or a get, in one region of the peer's memory. */
typedef struct rdma_piece {
    gasnetc_peer_t *peer;
    bool put;
    bool source_free; /* a put whose source may be written before it is complete */
    enum rdma_way way;
    uintptr_t remote;
    char *local;
    const net_region_t *destination; /* NULL, or a registration of `local` */
    size_t nbytes;
    gasnetc_counter_t *counter; /* has counted the piece as issued; NULL: no thread waits */
} rdma_piece_t;

/* pieces.c: posts a piece whose memory has a key.  With `in_handler` it only reaps while it waits
 * for resources. */
void gasnetc_post_piece(const rdma_piece_t *piece, const remote_t *remote, enum net_order order,
                        bool in_handler);

/* The most bytes, from `start` on, that can have the same key. */
static inline size_t remote_room(const gasnetc_peer_t *peer, uintptr_t start);

/* The answer for the remote memory of a piece.  True: *remote is its key; false: it is pending.
 * Fatal for a put to memory that may only be read. */
static inline bool remote_find(const rdma_piece_t *piece, remote_t *remote);

/* Posts a pending piece when its memory has a key, which is requested, with that of the bytes
 * behind the piece up to `nbytes`.  The source of a put is copied now, if it is free.  Polls while
 * too many pieces wait. */
static inline void remote_later(const rdma_piece_t *piece, size_t nbytes);

/* --- the registration cache --- */

/* Registers whole pages; remote_fast.c or remote.c. */
firehose_outcome_t gasnetc_remote_register(uintptr_t addr, size_t len, gasnetc_cache_key_t *key);

/* --- if REMOTE_PENDS: remote.c, and core/am/firehose_messages.c --- */

/* True if a registration is kept even where unmapped memory cannot be seen.  That is so for the
 * segment, which peers hold: otherwise each of their transfers would register it again. */
bool gasnetc_remote_keeps(uintptr_t addr, size_t len);

/* Memory was unmapped that peers may hold: the next poll tells the peers. */
void gasnetc_remote_make_due(void);

/* Collective: reduces the pools to what all ranks can have. */
void gasnetc_remote_agree(firehose_sizes_t *sizes);

/* Sets what the cache needs in addition, to reach peers. */
void gasnetc_remote_configure(firehose_config_t *config);

/* Registers the handler of messages, at init, after the handlers of the Extended API. */
void gasnetc_register_firehose_handler(void);

/* Waits until no peer accesses memory that the program unmapped before the call.  Polls meanwhile;
 * not in a handler, no lock held. */
HOT void remote_settle(void);

/* Called in each poll, not in a handler and with no lock held. */
HOT void remote_progress(void);

#ifdef GASNET_SEGMENT_FAST
#include "core/rdma/remote_fast.h"
#else
#include "core/rdma/remote_firehose.h"
#endif
