/* rdma.c - puts and gets: the choice of the local memory, and the loop that posts.
 *
 * Called by the Extended API and, for the payload of Longs, by the AM engine.  Waits by polling,
 * which runs handlers; with `in_handler` it only reaps.
 */
#include "core/rdma/rdma.h"

#include <string.h>

#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/rdma/bounce.h"
#include "core/rdma/lease.h"
#include "core/rdma/rdma_internal.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "other/base/hot.h"
#include "other/base/min.h"

gasnetc_local_segment_t gasnetc_local_segment;

/* --- the remote side --- */

/* How many bytes of a transfer one post covers: up to the end of the region, or transfer_max. */
static inline size_t piece_of(uintptr_t base, uintptr_t start, size_t nbytes)
{
    uintptr_t offset = start - base;
    size_t room = (((offset >> gasnetc_pin_shift) + 1) << gasnetc_pin_shift) - offset;
    size_t piece = nbytes < room ? nbytes : room;
    return piece < gasnetc_caps.transfer_max ? piece : gasnetc_caps.transfer_max;
}

static inline const net_key_t *key_of(const gasnetc_peer_t *peer, uintptr_t start)
{
    return &peer->segment.keys[(start - peer->segment.base) >> gasnetc_pin_shift];
}

/* --- the local side: inlined, in the segment, through a bounce buffer, or registered --- */

/* The region of this rank's segment that contains the start of [start, start+*nbytes), or NULL;
 * reduces *nbytes to the bytes in that region. */
static inline net_region_t *segment_region(const void *start, size_t *nbytes)
{
    uintptr_t offset = (uintptr_t)start - gasnetc_local_segment.base;
    if (offset >= gasnetc_local_segment.size || *nbytes > gasnetc_local_segment.size - offset)
        return NULL;
    *nbytes = piece_of(gasnetc_local_segment.base, (uintptr_t)start, *nbytes);
    return &gasnetc_local_segment.regions[offset >> gasnetc_pin_shift];
}

/* Posts one piece; waits for resources.  False, with nothing posted, if the put is inlined and the
 * network has no buffer for it (PO-18). */
static inline bool post_put(gasnetc_peer_t *peer, uintptr_t dst, const void *src,
                            const net_region_t *local, size_t nbytes, enum net_order order,
                            const gasnetc_sent_t *sent, bool in_handler)
{
    if (sent->counter) sent->counter->issued++;
    for (;;) {
        gasneti_lock(&peer->lock);
        enum net_result result =
            net_put(&peer->net, dst, key_of(peer, dst), src, local, nbytes, order, sent);
        if (result != NET_POSTED) gasnetc_count_stall(peer, result);
        gasneti_unlock(&peer->lock);
        if (result == NET_POSTED) return true;
        if (result == NET_NO_SEND_BUF) break;
        gasnetc_stall_at(peer, result, in_handler);
    }
    if (sent->counter) sent->counter->issued--;
    return false;
}

static inline bool post_get(gasnetc_peer_t *peer, void *dst, const net_region_t *local,
                            uintptr_t src, size_t nbytes, const gasnetc_sent_t *sent)
{
    sent->counter->issued++;
    for (;;) {
        gasneti_lock(&peer->lock);
        enum net_result result =
            net_get(&peer->net, dst, local, src, key_of(peer, src), nbytes, sent);
        if (result != NET_POSTED) gasnetc_count_stall(peer, result);
        gasneti_unlock(&peer->lock);
        if (result == NET_POSTED) return true;
        if (result == NET_NO_SEND_BUF) break;
        gasnetc_stall_at(peer, result, false);
    }
    sent->counter->issued--;
    return false;
}

/* The source of a bounced put: memory, or one value. */
typedef struct contents {
    const char *src;
    bool is_fill;
    int fill;
} contents_t;

/* Writes the next `length` bytes to a bounce buffer. */
static void fill_bbuf(void *bbuf, contents_t *from, size_t length)
{
    if (from->is_fill) {
        memset(bbuf, from->fill, length);
        return;
    }
    memcpy(bbuf, from->src, length);
    from->src += length;
}

/* Puts through bounce buffers: the source may be written again on return. */
static void put_bounced(gasnetc_peer_t *peer, uintptr_t dst, contents_t from, size_t nbytes,
                        enum net_order order, gasnetc_counter_t *counter, bool in_handler)
{
    while (nbytes) {
        size_t piece = piece_of(peer->segment.base, dst, nbytes);
        if (piece > GASNETC_BBUF_SIZE) piece = GASNETC_BBUF_SIZE;
        void *bbuf = gasnetc_bbuf_wait(in_handler);
        fill_bbuf(bbuf, &from, piece);
        gasneti_self()->counts.puts_bounced++;
        post_put(
            peer, dst, bbuf, &gasnetc_bbuf_region, piece, order,
            &(gasnetc_sent_t){.counter = counter, .held = gasnetc_hold(bbuf, GASNETC_HELD_BBUF)},
            in_handler);
        dst += piece;
        nbytes -= piece;
    }
}

/* The number of regions of the cache that this thread holds for transfers which are not posted yet.
 * If it is not 0, the thread does not wait for room in the cache, which may be full of such
 * regions. */
static GASNETI_OF_THREAD unsigned unposted;

/* Puts from memory that no device can access. */
static __attribute__((noinline)) void put_unpinnable(gasnetc_peer_t *peer, uintptr_t dst,
                                                     const char *src, size_t nbytes,
                                                     enum net_order order,
                                                     gasnetc_counter_t *counter, bool in_handler)
{
    if (bounce_put_max()) {
        put_bounced(peer, dst, (contents_t){.src = src}, nbytes, order, counter, in_handler);
        return;
    }
    for (size_t done = 0, piece; done < nbytes; done += piece) {
        piece = gasneti_min(nbytes - done, bounce_unpinnable_put_max());
        while (!post_put(peer, dst + done, src + done, NULL, piece, order,
                         &(gasnetc_sent_t){.counter = counter}, in_handler))
            gasnetc_stall_bbuf(in_handler);
    }
}

/* Puts the first bytes of memory outside the segment, and returns their number: from a region of
 * the cache.  A handler does not wait for a region, and read-only memory is in no region: these
 * bytes are copied, or registered for the transfer if the core has no buffers. */
static size_t put_outside(gasnetc_peer_t *peer, uintptr_t dst, const char *src, size_t nbytes,
                          enum net_order order, gasnetc_counter_t *counter, bool in_handler)
{
    const net_region_t *region;
    const size_t piece = gasnetc_cache_piece(src, nbytes);
    enum gasnetc_cache_answer answer =
        gasnetc_cache_pin(src, piece, !in_handler && !unposted, &region);
    if ((answer == GASNETC_CACHE_BUSY || answer == GASNETC_READ_ONLY) && bounce_put_max()) {
        put_bounced(peer, dst, (contents_t){.src = src}, piece, order, counter, in_handler);
        return piece;
    }
    const gasnetc_held_t held =
        answer == GASNETC_CACHED
            ? gasnetc_cache_held(region)
            : gasnetc_pin_transient(src, piece, NET_SOURCE, &region, in_handler);
    if (!held) {
        put_unpinnable(peer, dst, src, piece, order, counter, in_handler);
        return piece;
    }
    unposted++;
    post_put(peer, dst, src, region, piece, order,
             &(gasnetc_sent_t){.counter = counter, .held = held}, in_handler);
    unposted--;
    return piece;
}

/* Puts directly from the source. */
static void put_zero_copy(gasnetc_peer_t *peer, uintptr_t dst, const char *src, size_t nbytes,
                          enum net_order order, gasnetc_counter_t *counter, bool in_handler)
{
    while (nbytes) {
        size_t piece = piece_of(peer->segment.base, dst, nbytes);
        net_region_t *region = segment_region(src, &piece);
        if (region)
            post_put(peer, dst, src, region, piece, order, &(gasnetc_sent_t){.counter = counter},
                     in_handler);
        else
            piece = put_outside(peer, dst, src, piece, order, counter, in_handler);
        src += piece;
        dst += piece;
        nbytes -= piece;
    }
}

/* --- the usual case: one piece, posted at once --- */

/* Moves the peer's window to the piece that contains all of the range; false if no piece does. */
static __attribute__((noinline)) bool move_window(gasnetc_peer_t *peer, uintptr_t start,
                                                  size_t nbytes)
{
    const gasnetc_segment_t *segment = &peer->segment;
    if (!gasnetc_within(segment->base, segment->size, start, nbytes)) return false;
    size_t index = (start - segment->base) >> gasnetc_pin_shift;
    uintptr_t offset = (uintptr_t)index << gasnetc_pin_shift;
    size_t size = (uintptr_t)1 << gasnetc_pin_shift;
    if (size > segment->size - offset) size = segment->size - offset;
    peer->window = (gasnetc_window_t){segment->base + offset, size, segment->keys[index]};
    return gasnetc_within(peer->window.base, size, start, nbytes);
}

/* True if one piece of the segment [base, base+size) contains all of the range. */
HOT bool one_piece(uintptr_t base, size_t size, uintptr_t start, size_t nbytes)
{
    uintptr_t offset = start - base;
    return gasnetc_within(0, size, offset, nbytes) &&
           (offset ^ (offset + nbytes - 1)) >> gasnetc_pin_shift == 0;
}

/* The region of this rank's segment that contains all of the range, or NULL. */
HOT const net_region_t *local_region_of(const void *start, size_t nbytes)
{
    if (!one_piece(gasnetc_local_segment.base, gasnetc_local_segment.size, (uintptr_t)start,
                   nbytes))
        return NULL;
    return &gasnetc_local_segment
                .regions[((uintptr_t)start - gasnetc_local_segment.base) >> gasnetc_pin_shift];
}

const net_region_t *gasnetc_local_region(const void *start, size_t nbytes)
{
    return local_region_of(start, nbytes);
}

/* The first try, FAST, fails when another thread holds the lock, or the range is outside the
 * window: it makes no call but the post.  The second, SLOW, waits for the lock and moves the
 * window.  If enter returns true the peer's lock is held. */
enum effort { FAST, SLOW };

HOT bool enter(gasnetc_peer_t *peer, uintptr_t start, size_t nbytes, enum effort effort)
{
    if (effort == SLOW)
        gasneti_lock(&peer->lock);
    else if (!gasneti_trylock_quiet(&peer->lock))
        return false;
    if (gasnetc_within(peer->window.base, peer->window.size, start, nbytes)) return true;
    if (effort == SLOW && move_window(peer, start, nbytes)) return true;
    gasneti_unlock(&peer->lock);
    return false;
}

/* The result of a try to post; except with POSTED, nothing is done. */
enum outcome {
    POSTED,
    NOT_NOW,
    OUTSIDE /* the local memory is not in one piece of this rank's segment */
};

/* Posts a put whose source is inlined, or in `region`; after enter. */
HOT enum outcome put_entered(gasnetc_peer_t *peer, uintptr_t dst, const void *src,
                             const net_region_t *region, size_t nbytes, const gasnetc_sent_t *sent)
{
    sent->counter->issued++;
    enum net_result result =
        net_put(&peer->net, dst, &peer->window.key, src, region, nbytes, NET_UNORDERED, sent);
    gasneti_unlock(&peer->lock);
    if (result == NET_POSTED) return POSTED;
    sent->counter->issued--;
    return NOT_NOW;
}

/* Posts a put whose source is inlined or, if `bulk`, in this rank's segment. */
HOT enum outcome put_now(gasnetc_peer_t *peer, uintptr_t dst, const void *src, size_t nbytes,
                         gasnetc_counter_t *counter, bool bulk, enum effort effort)
{
    const net_region_t *region = NULL;
    if (nbytes > gasnetc_caps.inline_max) {
        if (!bulk || nbytes > gasnetc_caps.transfer_max) return NOT_NOW;
        region = local_region_of(src, nbytes);
        if (!region) return OUTSIDE;
    } else if (bulk && bounce_inline_copies()) {
        region = local_region_of(src, nbytes);
        if (!region && nbytes > gasnetc_caps.copy_put_max) return OUTSIDE;
    }
    if (!enter(peer, dst, nbytes, effort)) return NOT_NOW;
    return put_entered(peer, dst, src, region, nbytes, &(gasnetc_sent_t){.counter = counter});
}

HOT bool get_entered(gasnetc_peer_t *peer, void *landing, const net_region_t *region, uintptr_t src,
                     size_t nbytes, const gasnetc_sent_t *sent)
{
    sent->counter->issued++;
    enum net_result result =
        net_get(&peer->net, landing, region, src, &peer->window.key, nbytes, sent);
    gasneti_unlock(&peer->lock);
    if (result == NET_POSTED) return true;
    sent->counter->issued--;
    return false;
}

HOT bool get_into(gasnetc_peer_t *peer, void *landing, const net_region_t *region, uintptr_t src,
                  size_t nbytes, const gasnetc_sent_t *sent, enum effort effort)
{
    return enter(peer, src, nbytes, effort) &&
           get_entered(peer, landing, region, src, nbytes, sent);
}

/* Posts a get into the segment, or through a buffer; false, with nothing posted, in any other case.
 * The caller then frees *held unless 0. */
HOT bool get_now(gasnetc_peer_t *peer, void *dst, uintptr_t src, size_t nbytes,
                 gasnetc_counter_t *counter, gasnetc_held_t *held, enum effort effort)
{
    const net_region_t *region = local_region_of(dst, nbytes);
    if (region)
        return nbytes <= gasnetc_caps.transfer_max &&
               get_into(peer, dst, region, src, nbytes, &(gasnetc_sent_t){.counter = counter},
                        effort);
    if (nbytes > gasnetc_caps.copy_get_max) return false;
    bounce_get_t get;
    bool begun = bounce_get_begin(&get, dst, nbytes, counter, effort == SLOW);
    *held = get.sent.held;
    return begun && get_into(peer, get.to, get.region, src, nbytes, &get.sent, effort);
}

/* --- all other cases --- */

void gasnetc_put_payload(gasnetc_peer_t *peer, void *dst, const void *src, size_t nbytes,
                         bool source_free, enum net_order order, gasnetc_counter_t *counter,
                         bool in_handler)
{
    uintptr_t to = (uintptr_t)dst;
    gasnetc_check_remote(peer, to, nbytes, "a put");
    size_t in_segment = nbytes;
    const bool copied = source_free || nbytes <= gasnetc_caps.copy_put_max;
    if (copied && nbytes <= gasnetc_caps.inline_max &&
        piece_of(peer->segment.base, to, nbytes) == nbytes &&
        post_put(peer, to, src, NULL, nbytes, order, &(gasnetc_sent_t){.counter = counter},
                 in_handler))
        return;
    if (source_free && nbytes <= (size_t)gasnetc_params.bounce_limit) {
        put_bounced(peer, to, (contents_t){.src = src}, nbytes, order, counter, in_handler);
    } else if (source_free) {
        gasnetc_counter_t local = {0};
        put_zero_copy(peer, to, src, nbytes, order, &local, in_handler);
        while (!gasnetc_counter_done(&local)) gasnetc_stall(in_handler);
    } else if (copied && nbytes <= bounce_put_max() && !segment_region(src, &in_segment)) {
        put_bounced(peer, to, (contents_t){.src = src}, nbytes, order, counter, in_handler);
    } else {
        put_zero_copy(peer, to, src, nbytes, order, counter, in_handler);
    }
}

/* Gets through a bounce buffer.  False, with nothing posted, if the network has no buffer. */
static bool get_bounced(gasnetc_peer_t *peer, void *to, uintptr_t from, size_t nbytes,
                        gasnetc_counter_t *counter)
{
    bounce_get_t get;
    while (!bounce_get_begin(&get, to, nbytes, counter, true)) gasnetc_stall_bbuf(false);
    return post_get(peer, get.to, get.region, from, nbytes, &get.sent);
}

/* Gets to memory that no device can access. */
static __attribute__((noinline)) void get_unpinnable(gasnetc_peer_t *peer, char *to, uintptr_t from,
                                                     size_t nbytes, gasnetc_counter_t *counter)
{
    for (size_t done = 0, piece; done < nbytes; done += piece) {
        piece = gasneti_min(nbytes - done, bounce_unpinnable_get_max());
        while (!get_bounced(peer, to + done, from + done, piece, counter))
            gasnetc_stall_bbuf(false);
    }
}

/* Gets the first bytes to memory outside the segment, and returns their number. */
static size_t get_outside(gasnetc_peer_t *peer, void *to, uintptr_t from, size_t nbytes,
                          gasnetc_counter_t *counter)
{
    if (nbytes <= gasnetc_caps.copy_get_max && get_bounced(peer, to, from, nbytes, counter))
        return nbytes;
    const net_region_t *region;
    size_t piece = gasnetc_cache_piece(to, nbytes);
    enum gasnetc_cache_answer answer = gasnetc_cache_pin(to, piece, !unposted, &region);
    if (answer == GASNETC_CACHE_BUSY) {
        if (piece > bounce_get_max()) piece = bounce_get_max();
        if (piece && get_bounced(peer, to, from, piece, counter)) return piece;
        piece = nbytes;
    }
    const gasnetc_held_t held = answer == GASNETC_CACHED
                                    ? gasnetc_cache_held(region)
                                    : gasnetc_pin_transient(to, piece, NET_LOCAL, &region, false);
    if (!held) {
        get_unpinnable(peer, to, from, piece, counter);
        return piece;
    }
    unposted++;
    post_get(peer, to, region, from, piece, &(gasnetc_sent_t){.counter = counter, .held = held});
    unposted--;
    return piece;
}

static __attribute__((noinline)) void get_pieces(gasnetc_peer_t *peer, char *to, uintptr_t from,
                                                 size_t nbytes, gasnetc_counter_t *counter)
{
    gasnetc_check_remote(peer, from, nbytes, "a get");
    while (nbytes) {
        size_t piece = piece_of(peer->segment.base, from, nbytes);
        net_region_t *region = segment_region(to, &piece);
        if (region)
            post_get(peer, to, region, from, piece, &(gasnetc_sent_t){.counter = counter});
        else
            piece = get_outside(peer, to, from, piece, counter);
        to += piece;
        from += piece;
        nbytes -= piece;
    }
}

/* put_slowly and get_slowly: the second try, SLOW, then the general case. */

static __attribute__((noinline)) void put_slowly(gasnetc_peer_t *peer, void *dst, const void *src,
                                                 size_t nbytes, gasnetc_counter_t *counter,
                                                 bool bulk)
{
    if (nbytes == 0) return;
    if (put_now(peer, (uintptr_t)dst, src, nbytes, counter, bulk, SLOW) != POSTED)
        gasnetc_put_payload(peer, dst, src, nbytes, !bulk, NET_UNORDERED, counter, false);
}

static void free_unposted(gasnetc_held_t get)
{
    if (get) gasnetc_bbuf_free(gasnetc_held_record(get, GASNETC_HELD_GET));
}

static __attribute__((noinline)) void get_slowly(gasnetc_peer_t *peer, void *dst, uintptr_t src,
                                                 size_t nbytes, gasnetc_counter_t *counter,
                                                 gasnetc_held_t held)
{
    free_unposted(held);
    held = GASNETC_HELD_NOTHING;
    if (nbytes == 0) return;
    if (get_now(peer, dst, src, nbytes, counter, &held, SLOW)) return;
    free_unposted(held);
    get_pieces(peer, dst, src, nbytes, counter);
}

/* put_uncached and get_uncached: the transfer could not be posted; they release the region of the
 * cache that was held for it. */
static __attribute__((noinline)) void put_uncached(gasnetc_peer_t *peer, void *dst, const void *src,
                                                   size_t nbytes, gasnetc_counter_t *counter,
                                                   const net_region_t *region)
{
    gasnetc_cache_release(gasnetc_cache_held(region));
    put_slowly(peer, dst, src, nbytes, counter, true);
}

static __attribute__((noinline)) void get_uncached(gasnetc_peer_t *peer, void *dst, uintptr_t src,
                                                   size_t nbytes, gasnetc_counter_t *counter,
                                                   const net_region_t *region)
{
    gasnetc_cache_release(gasnetc_cache_held(region));
    get_slowly(peer, dst, src, nbytes, counter, GASNETC_HELD_NOTHING);
}

/* Transfers of memory outside the segment, longer than those that are copied: the memory is looked
 * up in the region of the peer's lease, then in the cache. */

/* True if the peer's lease covers the local memory; the peer's lock is held then. */
HOT bool enter_lease(gasnetc_peer_t *peer, uintptr_t remote, const void *local, size_t nbytes)
{
    if (!enter(peer, remote, nbytes, FAST)) return false;
    if (gasnetc_lease_hit(peer, GASNETC_NEAR, (uintptr_t)local, nbytes)) return true;
    gasneti_unlock(&peer->lock);
    return false;
}

static __attribute__((noinline)) void put_any(gasnetc_peer_t *peer, void *dst, const void *src,
                                              size_t nbytes, gasnetc_counter_t *counter)
{
    const net_region_t *region =
        nbytes > gasnetc_caps.copy_put_max ? gasnetc_cache_hit(peer, src, nbytes) : NULL;
    if (!region)
        put_slowly(peer, dst, src, nbytes, counter, true);
    else if (!enter(peer, (uintptr_t)dst, nbytes, SLOW) ||
             put_entered(peer, (uintptr_t)dst, src, region, nbytes,
                         &(gasnetc_sent_t){.counter = counter,
                                           .held = gasnetc_cache_held(region)}) != POSTED)
        put_uncached(peer, dst, src, nbytes, counter, region);
}

static __attribute__((noinline)) void put_cached(gasnetc_peer_t *peer, void *dst, const void *src,
                                                 size_t nbytes, gasnetc_counter_t *counter)
{
    if (nbytes <= gasnetc_caps.copy_put_max || !enter_lease(peer, (uintptr_t)dst, src, nbytes)) {
        put_any(peer, dst, src, nbytes, counter);
        return;
    }
    gasnetc_lease_t *lease = peer->lease[GASNETC_NEAR];
    lease->issued++;
    if (put_entered(peer, (uintptr_t)dst, src, gasnetc_lease_region(lease), nbytes,
                    &(gasnetc_sent_t){.counter = counter, .held = gasnetc_lease_held(lease)}) ==
        POSTED)
        return;
    gasnetc_lease_undo(lease);
    put_slowly(peer, dst, src, nbytes, counter, true);
}

static __attribute__((noinline)) void get_any(gasnetc_peer_t *peer, void *dst, uintptr_t src,
                                              size_t nbytes, gasnetc_counter_t *counter)
{
    const net_region_t *region = gasnetc_cache_hit(peer, dst, nbytes);
    if (!region)
        get_slowly(peer, dst, src, nbytes, counter, GASNETC_HELD_NOTHING);
    else if (!get_into(peer, dst, region, src, nbytes,
                       &(gasnetc_sent_t){.counter = counter, .held = gasnetc_cache_held(region)},
                       SLOW))
        get_uncached(peer, dst, src, nbytes, counter, region);
}

static __attribute__((noinline)) void get_cached(gasnetc_peer_t *peer, void *dst, uintptr_t src,
                                                 size_t nbytes, gasnetc_counter_t *counter)
{
    if (!enter_lease(peer, src, dst, nbytes)) {
        get_any(peer, dst, src, nbytes, counter);
        return;
    }
    gasnetc_lease_t *lease = peer->lease[GASNETC_NEAR];
    lease->issued++;
    if (get_entered(peer, dst, gasnetc_lease_region(lease), src, nbytes,
                    &(gasnetc_sent_t){.counter = counter, .held = gasnetc_lease_held(lease)}))
        return;
    gasnetc_lease_undo(lease);
    get_slowly(peer, dst, src, nbytes, counter, GASNETC_HELD_NOTHING);
}

/* --- the calls --- */

/* The cases that the first try leaves: tail calls, which keep the first try short. */

static __attribute__((noinline)) void get_again(gasnetc_peer_t *peer, void *dst, uintptr_t src,
                                                size_t nbytes, gasnetc_counter_t *counter,
                                                gasnetc_held_t held)
{
    if (held || nbytes <= gasnetc_caps.copy_get_max || nbytes > gasnetc_caps.transfer_max ||
        (uintptr_t)dst - gasnetc_local_segment.base < gasnetc_local_segment.size)
        get_slowly(peer, dst, src, nbytes, counter, held);
    else
        get_cached(peer, dst, src, nbytes, counter);
}

void gasnetc_rdma_put_bulk(uint32_t node, void *dst, const void *src, size_t nbytes,
                           gasnetc_counter_t *counter)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    const enum outcome outcome = put_now(peer, (uintptr_t)dst, src, nbytes, counter, true, FAST);
    if (outcome == OUTSIDE)
        put_cached(peer, dst, src, nbytes, counter);
    else if (outcome != POSTED)
        put_slowly(peer, dst, src, nbytes, counter, true);
}

void gasnetc_rdma_put(uint32_t node, void *dst, const void *src, size_t nbytes,
                      gasnetc_counter_t *counter)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    if (put_now(peer, (uintptr_t)dst, src, nbytes, counter, false, FAST) != POSTED)
        put_slowly(peer, dst, src, nbytes, counter, false);
}

void gasnetc_rdma_get(uint32_t node, void *dst, const void *src, size_t nbytes,
                      gasnetc_counter_t *counter)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    gasnetc_held_t held = GASNETC_HELD_NOTHING;
    if (!get_now(peer, dst, (uintptr_t)src, nbytes, counter, &held, FAST))
        get_again(peer, dst, (uintptr_t)src, nbytes, counter, held);
}

void gasnetc_rdma_get_into(uint32_t node, void *dst, const struct net_region *landing,
                           const void *src, size_t nbytes, gasnetc_counter_t *counter)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    if (landing && one_piece(peer->segment.base, peer->segment.size, (uintptr_t)src, nbytes))
        post_get(peer, dst, landing, (uintptr_t)src, nbytes, &(gasnetc_sent_t){.counter = counter});
    else
        get_pieces(peer, dst, (uintptr_t)src, nbytes, counter);
}

bool gasnetc_rdma_fill(uint32_t node, void *dst, int value, size_t nbytes,
                       gasnetc_counter_t *counter)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    char small[128];
    if (nbytes <= sizeof small && nbytes <= gasnetc_caps.inline_max) {
        memset(small, value, nbytes);
        gasnetc_rdma_put(node, dst, small, nbytes, counter);
        return true;
    }
    if (bounce_put_max() == 0) return false;
    gasnetc_check_remote(peer, (uintptr_t)dst, nbytes, "a fill");
    put_bounced(peer, (uintptr_t)dst, (contents_t){.is_fill = true, .fill = value}, nbytes,
                NET_UNORDERED, counter, false);
    return true;
}
