/* rdma_firehose.c - puts and gets of SEGMENT_LARGE and SEGMENT_EVERYTHING: rdma.h where memory of
 * peers is pinned by remote firehoses.
 *
 * A transfer is posted in pieces, each of which lies in one block of GASNET_FIREHOSE_MAXREGION_SIZE
 * bytes at the peer.  A piece whose remote memory is pinned is posted at once; another piece waits
 * (remote_transfers.c).  The remote end is pinned first, then the local end, which is inlined,
 * copied through a bounce buffer, or pinned too.
 */
#include "core/rdma/rdma.h"

#include <string.h>

#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/params/params.h"
#include "core/rdma/bounce.h"
#include "core/rdma/lease.h"
#include "core/rdma/rdma_internal.h"
#include "core/rdma/remote.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "gasnet.h"

/* True if the cache keeps every registration, since peers may hold any memory, even where unmapped
 * memory is not seen.  Then this rank's own transfers do not use the cache. */
#ifdef GASNET_SEGMENT_EVERYTHING
enum { KEEPS_ALL = 1 };
#else
enum { KEEPS_ALL = 0 };
#endif

_Static_assert(!NET_BUFFERS && !NET_PAIRS_LONGS, "for networks that use the core's bounce buffers");

/* --- the remote side --- */

gasnetc_local_segment_t gasnetc_local_segment; /* empty: no memory is registered permanently */

const net_region_t *gasnetc_local_region(const void *start, size_t nbytes)
{
    (void)start, (void)nbytes;
    return NULL;
}

void gasnetc_not_writable(const remote_piece_t *p)
{
    gasneti_fatal("a put of %zu bytes at %#lx of %s: the memory there may only be read, as that of "
                  "the program's code and constants",
                  p->nbytes, (unsigned long)p->remote, gasneti_rank_name(p->node));
}

/* Bytes from `start` to the end of its block; no region is larger than a block. */
static inline size_t room_in_block(uintptr_t start)
{
    return gasnetc_cache.max_region - start % gasnetc_cache.max_region;
}

/* --- the local side --- */

/* A region of the cache that covers the range, writable if `write`: memory that was read-only when
 * it was registered may have become writable, and is registered again.  NULL: the memory is of two
 * kinds, or this thread already waits for room. */
static const net_region_t *pin_local(void *start, size_t nbytes, bool write)
{
    const net_region_t *region;
    for (int tries = 0; tries < 2; tries++) {
        if (gasnetc_cache_pin(start, nbytes, true, &region) != GASNETC_CACHED) return NULL;
        if (!write || !((const gasnetc_cache_key_t *)region)->read_only) return region;
        gasnetc_cache_release(gasnetc_cache_held(region));
        gasnetc_firehose_invalidate(start, nbytes);
    }
    gasneti_fatal("a get of %zu bytes to %p: the memory there may only be read", nbytes, start);
}

/* Where the network reads the bytes of a piece, or writes them. */
typedef struct near {
    char *at;                   /* NULL: no device can access the memory */
    const net_region_t *region; /* NULL: inlined */
} near_t;

static near_t near_end(const remote_piece_t *p, gasnetc_sent_t *sent, bool reaps)
{
    if (p->landing) return (near_t){p->local, p->landing};
    if (p->put && p->nbytes <= gasnetc_caps.inline_max) return (near_t){p->local, NULL};
    near_t near = {p->local, NULL};
    if (p->nbytes > GASNETC_BBUF_SIZE) {
        if (!KEEPS_ALL || gasnetc_watched(p->local, p->nbytes))
            near.region = pin_local(p->local, p->nbytes, !p->put);
        sent->held = near.region ? gasnetc_cache_held(near.region)
                                 : gasnetc_pin_transient(p->local, p->nbytes,
                                                         p->put ? NET_SOURCE : NET_LOCAL,
                                                         &near.region, reaps);
        if (!sent->held) near.at = NULL;
        return near;
    }
    near = (near_t){gasnetc_bbuf_wait(reaps), &gasnetc_bbuf_region};
    sent->held = gasnetc_hold(near.at, p->put ? GASNETC_HELD_BBUF : GASNETC_HELD_GET);
    if (p->put) {
        gasneti_self()->counts.puts_bounced++;
        memcpy(near.at, p->local, p->nbytes);
    } else {
        sent->copy_to = p->local;
        sent->copy_length = (uint32_t)p->nbytes;
    }
    return near;
}

/* `region` is the peer's, and `pin` its use that the completion ends, or 0.  False, with nothing
 * posted, if no device can access the local memory and it is longer than a bbuf. */
static bool post_part(const remote_piece_t *p, uint32_t region, uint32_t pin, enum net_order order,
                      bool reaps)
{
    gasnetc_peer_t *peer = &gasnetc_peers[p->node];
    const gasnetc_cache_key_t *far = remote_key_of(region);
    gasnetc_sent_t sent = {.counter = p->counter, .remote_pin = pin};
    const near_t near = near_end(p, &sent, reaps);
    if (!near.at) return false;
    for (;;) {
        gasneti_lock(&peer->lock);
        enum net_result result = p->put ? net_put(&peer->net, p->remote, &far->key, near.at,
                                                  near.region, p->nbytes, order, &sent)
                                        : net_get(&peer->net, near.at, near.region, p->remote,
                                                  &far->key, p->nbytes, &sent);
        if (result != NET_POSTED) gasnetc_count_stall(peer, result);
        gasneti_unlock(&peer->lock);
        if (result == NET_POSTED) return true;
        gasnetc_stall_at(peer, result, reaps);
    }
}

/* Posts a piece whose local memory no device can access: in parts that are copied.  The last part
 * ends the use of the peer's region, and counts as the piece. */
static void post_unpinnable(const remote_piece_t *p, uint32_t region, enum net_order order,
                            bool reaps)
{
    gasnetc_counter_t earlier = {0};
    remote_piece_t part = *p;
    part.counter = &earlier;
    part.nbytes = GASNETC_BBUF_SIZE;
    size_t rest = p->nbytes;
    for (; rest > part.nbytes; rest -= part.nbytes) {
        earlier.issued++;
        post_part(&part, region, 0, order, reaps);
        part.remote += part.nbytes;
        part.local += part.nbytes;
    }
    while (!gasnetc_counter_done(&earlier)) gasnetc_stall(reaps);
    part.counter = p->counter;
    part.nbytes = rest;
    post_part(&part, region, region, order, reaps);
}

void gasnetc_post_piece(const remote_piece_t *p, uint32_t region, enum net_order order, bool reaps)
{
    if (p->put && remote_key_of(region)->read_only) gasnetc_not_writable(p);
    if (!post_part(p, region, region, order, reaps)) post_unpinnable(p, region, order, reaps);
}

/* --- the usual case: one piece, whose memory at both ends is registered, inlined or copied --- */

/* The first try, FAST, posts under the peer's leases, and makes no call but the post; the second,
 * SLOW, finds all regions of the cache. */
enum effort { FAST, SLOW };

/* The memory that a transfer uses at both ends; gasnetc_sent ends the use. */
typedef struct ends {
    const gasnetc_cache_key_t *far;
    const net_region_t *near; /* NULL: the local end is inlined or copied */
    uint32_t remote_pin;
    gasnetc_held_t held;
} ends_t;

/* True if leases cover the memory: they have counted the transfer as issued, and the peer's lock is
 * held. */
HOT bool enter_leases(gasnetc_peer_t *peer, uintptr_t there, const void *here, size_t nbytes,
                      bool near, ends_t *ends)
{
    if (!gasneti_trylock_quiet(&peer->lock)) return false;
    gasnetc_lease_t *far = gasnetc_lease_hit(peer, GASNETC_FAR, there, nbytes), *own = NULL;
    if (far && (!near || (own = gasnetc_lease_hit(peer, GASNETC_NEAR, (uintptr_t)here, nbytes)))) {
        far->issued++;
        *ends = (ends_t){.far = far->key, .remote_pin = remote_lease_pin(far)};
        if (!near) return true;
        own->issued++;
        ends->near = gasnetc_lease_region(own);
        ends->held = gasnetc_lease_held(own);
        return true;
    }
    gasneti_unlock(&peer->lock);
    return false;
}

static bool enter_regions(gasnetc_peer_t *peer, uintptr_t there, const void *here, size_t nbytes,
                          bool near, ends_t *ends)
{
    const remote_ends_t regions = remote_try_both(peer, there, here, nbytes, near);
    if (!regions.far) return false;
    *ends = (ends_t){.far = remote_key_of(regions.far),
                     .near = regions.near,
                     .remote_pin = regions.far,
                     .held = regions.near ? gasnetc_cache_held(regions.near) : 0};
    gasneti_lock(&peer->lock);
    return true;
}

HOT bool enter(gasnetc_peer_t *peer, uintptr_t there, const void *here, size_t nbytes, bool near,
               ends_t *ends, enum effort effort)
{
    if (!gasnetc_within(peer->segment.base, peer->segment.size, there, nbytes)) return false;
    return effort == FAST ? enter_leases(peer, there, here, nbytes, near, ends)
                          : enter_regions(peer, there, here, nbytes, near, ends);
}

/* Undoes enter: nothing was posted.  Peer's lock held. */
static void leave(gasnetc_peer_t *peer, const ends_t *ends, enum effort effort)
{
    if (effort == FAST) {
        peer->lease[GASNETC_FAR]->issued--;
        if (ends->near) peer->lease[GASNETC_NEAR]->issued--;
    }
    gasneti_unlock(&peer->lock);
    if (effort == SLOW)
        gasnetc_release_pinned(
            &(gasnetc_sent_t){.held = ends->held, .remote_pin = ends->remote_pin});
}

/* Posts a put whose source is inlined or, if `bulk`, in a region of the cache; false, with nothing
 * done, in any other case. */
HOT bool put_now(uint32_t node, uintptr_t dst, const void *src, size_t nbytes,
                 gasnetc_counter_t *counter, bool bulk, enum effort effort)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    const bool near = nbytes > gasnetc_caps.inline_max;
    ends_t ends;
    if (near &&
        (!bulk || nbytes <= GASNETC_BBUF_SIZE || nbytes > gasnetc_caps.transfer_max || KEEPS_ALL))
        return false;
    if (!enter(peer, dst, src, nbytes, near, &ends, effort)) return false;
    if (!ends.far->read_only) {
        counter->issued++;
        enum net_result result =
            net_put(&peer->net, dst, &ends.far->key, src, ends.near, nbytes, NET_UNORDERED,
                    &(gasnetc_sent_t){
                        .counter = counter, .held = ends.held, .remote_pin = ends.remote_pin});
        if (result == NET_POSTED) {
            gasneti_unlock(&peer->lock);
            return true;
        }
        counter->issued--;
    }
    leave(peer, &ends, effort);
    return false;
}

/* Posts a get through a bounce buffer; false, with nothing done, in any other case. */
HOT bool get_now(uint32_t node, void *dst, uintptr_t src, size_t nbytes, gasnetc_counter_t *counter,
                 enum effort effort)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    ends_t ends;
    if (nbytes > GASNETC_BBUF_SIZE) return false;
    void *bbuf = gasnetc_pool_take_now(&gasnetc_free_bbufs);
    if (!bbuf) return false;
    if (enter(peer, src, NULL, nbytes, false, &ends, effort)) {
        counter->issued++;
        enum net_result result =
            net_get(&peer->net, bbuf, &gasnetc_bbuf_region, src, &ends.far->key, nbytes,
                    &(gasnetc_sent_t){.counter = counter,
                                      .held = gasnetc_hold(bbuf, GASNETC_HELD_GET),
                                      .copy_to = dst,
                                      .copy_length = (uint32_t)nbytes,
                                      .remote_pin = ends.remote_pin});
        if (result == NET_POSTED) {
            gasneti_unlock(&peer->lock);
            return true;
        }
        counter->issued--;
        leave(peer, &ends, effort);
    }
    gasnetc_bbuf_free(bbuf);
    return false;
}

/* --- all other cases --- */

/* The properties of a transfer that all of its pieces share. */
typedef struct transfer {
    size_t most; /* bytes of a piece */
    bool copies; /* the source of a piece that waits is copied */
    enum net_order order;
    gasnetc_counter_t *waiting; /* the counter of pieces that wait; NULL: that of the transfer */
} transfer_t;

static size_t piece_of(const transfer_t *t, const remote_piece_t *rest)
{
    size_t piece = room_in_block(rest->remote);
    if (piece > rest->nbytes) piece = rest->nbytes;
    if (piece > t->most) piece = t->most;
    if (piece > gasnetc_caps.transfer_max) piece = gasnetc_caps.transfer_max;
    const size_t local = gasnetc_cache.max_region - (uintptr_t)rest->local % GASNET_PAGESIZE;
    return piece < local ? piece : local;
}

/* Bytes of the rest that lie in the same block as its first byte. */
static size_t rest_of_block(const remote_piece_t *rest)
{
    const size_t room = room_in_block(rest->remote);
    return room < rest->nbytes ? room : rest->nbytes;
}

static void post_pieces(const transfer_t *t, remote_piece_t rest)
{
    while (rest.nbytes) {
        remote_piece_t piece = rest;
        piece.nbytes = piece_of(t, &rest);
        const uint32_t region = remote_try(piece.node, piece.remote, piece.nbytes);
        if (!region && t->waiting) piece.counter = t->waiting;
        if (piece.counter) piece.counter->issued++;
        if (region)
            gasnetc_post_piece(&piece, region, t->order, false);
        else
            gasnetc_post_later(&piece, rest_of_block(&rest), t->copies);
        rest.remote += piece.nbytes;
        rest.local += piece.nbytes;
        rest.nbytes -= piece.nbytes;
    }
}

/* A put whose source may be written again on return, or is read until it is complete. */
static void put_pieces(uint32_t node, void *dst, const void *src, size_t nbytes, bool source_free,
                       transfer_t t, gasnetc_counter_t *counter)
{
    remote_piece_t whole = {.node = node,
                            .put = true,
                            .remote = (uintptr_t)dst,
                            .local = (char *)(uintptr_t)src,
                            .nbytes = nbytes,
                            .counter = counter};
    gasnetc_check_remote(&gasnetc_peers[node], whole.remote, nbytes, "a put");
    t.most = SIZE_MAX;
    if (source_free && nbytes > (size_t)gasnetc_params.bounce_limit) {
        gasnetc_counter_t complete = {0};
        whole.counter = t.waiting = &complete;
        post_pieces(&t, whole);
        while (!gasnetc_counter_done(&complete)) gasnetc_stall(false);
        return;
    }
    if (source_free) t.most = GASNETC_BBUF_SIZE;
    t.copies = source_free;
    post_pieces(&t, whole);
}

/* Puts the payload of a Long; pieces that had to wait are complete on return.  Not called in a
 * handler, whose Longs are packed.
 */
void gasnetc_put_payload(gasnetc_peer_t *peer, void *dst, const void *src, size_t nbytes,
                         bool source_free, enum net_order order, gasnetc_counter_t *counter,
                         bool in_handler)
{
    (void)in_handler;
    gasnetc_counter_t waited = {0};
    put_pieces(peer->net.rank, dst, src, nbytes, source_free,
               (transfer_t){.order = order, .waiting = &waited}, counter);
    while (!gasnetc_counter_done(&waited)) gasnetc_stall(false);
}

static void put_slowly(uint32_t node, void *dst, const void *src, size_t nbytes, bool source_free,
                       gasnetc_counter_t *counter)
{
    if (nbytes && !put_now(node, (uintptr_t)dst, src, nbytes, counter, !source_free, SLOW))
        put_pieces(node, dst, src, nbytes, source_free, (transfer_t){.order = NET_UNORDERED},
                   counter);
}

static void get_slowly(uint32_t node, void *dst, const void *src, size_t nbytes,
                       const net_region_t *landing, gasnetc_counter_t *counter)
{
    if (nbytes == 0 || (!landing && get_now(node, dst, (uintptr_t)src, nbytes, counter, SLOW)))
        return;
    gasnetc_check_remote(&gasnetc_peers[node], (uintptr_t)src, nbytes, "a get");
    post_pieces(&(transfer_t){.most = SIZE_MAX, .order = NET_UNORDERED},
                (remote_piece_t){.node = node,
                                 .remote = (uintptr_t)src,
                                 .local = dst,
                                 .landing = landing,
                                 .nbytes = nbytes,
                                 .counter = counter});
}

/* --- the calls --- */

void gasnetc_rdma_put_bulk(uint32_t node, void *dst, const void *src, size_t nbytes,
                           gasnetc_counter_t *counter)
{
    if (!put_now(node, (uintptr_t)dst, src, nbytes, counter, true, FAST))
        put_slowly(node, dst, src, nbytes, false, counter);
}

void gasnetc_rdma_put(uint32_t node, void *dst, const void *src, size_t nbytes,
                      gasnetc_counter_t *counter)
{
    if (!put_now(node, (uintptr_t)dst, src, nbytes, counter, false, FAST))
        put_slowly(node, dst, src, nbytes, true, counter);
}

void gasnetc_rdma_get(uint32_t node, void *dst, const void *src, size_t nbytes,
                      gasnetc_counter_t *counter)
{
    if (!get_now(node, dst, (uintptr_t)src, nbytes, counter, FAST))
        get_slowly(node, dst, src, nbytes, NULL, counter);
}

void gasnetc_rdma_get_into(uint32_t node, void *dst, const struct net_region *landing,
                           const void *src, size_t nbytes, gasnetc_counter_t *counter)
{
    get_slowly(node, dst, src, nbytes, landing, counter);
}

/* Lists of local pieces are for memory that is registered already. */
uint32_t gasnetc_rdma_list_max(bool put)
{
    (void)put;
    return 0;
}

bool gasnetc_rdma_list(uint32_t node, bool put, void *remote, const gasnetc_piece_t *pieces,
                       uint32_t count, gasnetc_counter_t *counter)
{
    (void)node, (void)put, (void)remote, (void)pieces, (void)count, (void)counter;
    return false;
}

bool gasnetc_rdma_fill(uint32_t node, void *dst, int value, size_t nbytes,
                       gasnetc_counter_t *counter)
{
    char bytes[GASNETC_FILL_MAX];
    memset(bytes, value, nbytes);
    gasnetc_rdma_put(node, dst, bytes, nbytes, counter);
    return true;
}
