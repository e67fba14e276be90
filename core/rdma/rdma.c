/* rdma.c - puts and gets: the usual case, a transfer that one post makes at once.
 *
 * The remote range has a key (remote.h); the local memory is inlined, registered or copied.
 * pieces.c has all other cases.  Called by the Extended API.
 */
#include "core/rdma/rdma.h"

#include <string.h>

#include "core/job/job.h"
#include "core/job/thread.h"
#include "core/rdma/bounce.h"
#include "core/rdma/lease.h"
#include "core/rdma/rdma_internal.h"
#include "core/rdma/remote.h"
#include "core/rdma/segment.h"
#include "other/base/hot.h"

/* --- one post --- */

/* The region of this rank's segment that contains all of the range, or NULL. */
HOT const net_region_t *local_region_of(const void *start, size_t nbytes)
{
    const uintptr_t offset = (uintptr_t)start - gasnetc_local_segment.base;
    if (REMOTE_PENDS || !gasnetc_within(0, gasnetc_local_segment.size, offset, nbytes) ||
        (offset ^ (offset + nbytes - 1)) >> gasnetc_pin_shift != 0)
        return NULL;
    return &gasnetc_local_segment.regions[offset >> gasnetc_pin_shift];
}

const net_region_t *gasnetc_local_region(const void *start, size_t nbytes)
{
    return local_region_of(start, nbytes);
}

/* Posts a put or a get after remote_enter, which it undoes if it posts nothing.  `region` NULL: the
 * network copies the bytes at `local`. */
HOT bool post_entered(gasnetc_peer_t *peer, bool put, uintptr_t start, void *local,
                      const net_region_t *region, size_t nbytes, const remote_t *remote,
                      gasnetc_sent_t sent)
{
    remote_hold(&sent, remote);
    sent.counter->issued++;
    const enum net_result result =
        put ? net_put(&peer->net, start, remote->key, local, region, nbytes, NET_UNORDERED, &sent)
            : net_get(&peer->net, local, region, start, remote->key, nbytes, &sent);
    gasneti_unlock(&peer->lock);
    if (result == NET_POSTED) return true;
    sent.counter->issued--;
    remote_unpin(remote);
    return false;
}

HOT bool post_now(gasnetc_peer_t *peer, bool put, uintptr_t start, void *local,
                  const net_region_t *region, size_t nbytes, gasnetc_sent_t sent,
                  enum remote_effort effort)
{
    remote_t remote;
    return remote_enter(peer, put, start, nbytes, effort, &remote) &&
           post_entered(peer, put, start, local, region, nbytes, &remote, sent);
}

/* The result of a try to post; except with POSTED, nothing is done. */
enum outcome {
    POSTED,
    NOT_NOW,
    OUTSIDE /* the local memory is not in one piece of this rank's segment */
};

/* Posts a put whose source is inlined or, if `bulk`, in this rank's segment. */
HOT enum outcome put_now(gasnetc_peer_t *peer, uintptr_t dst, const void *src, size_t nbytes,
                         gasnetc_counter_t *counter, bool bulk, enum remote_effort effort)
{
    const net_region_t *region = NULL;
    if (nbytes > gasnetc_caps.inline_max) {
        if (!bulk || nbytes > gasnetc_caps.transfer_max) return NOT_NOW;
        region = local_region_of(src, nbytes);
        if (!region) return OUTSIDE;
    } else if (bulk && NET_BUFFERS) { /* a put from a region saves the network's copy */
        region = local_region_of(src, nbytes);
        if (!region && nbytes > gasnetc_caps.copy_put_max) return OUTSIDE;
    }
    return post_now(peer, true, dst, (void *)(uintptr_t)src, region, nbytes,
                    (gasnetc_sent_t){.counter = counter}, effort)
               ? POSTED
               : NOT_NOW;
}

/* Posts a get into the segment, or through a buffer; false, with nothing posted, in any other case.
 * The caller then frees *held unless 0. */
HOT bool get_now(gasnetc_peer_t *peer, void *dst, uintptr_t src, size_t nbytes,
                 gasnetc_counter_t *counter, gasnetc_held_t *held, enum remote_effort effort)
{
    const net_region_t *region = local_region_of(dst, nbytes);
    if (region)
        return nbytes <= gasnetc_caps.transfer_max &&
               post_now(peer, false, src, dst, region, nbytes, (gasnetc_sent_t){.counter = counter},
                        effort);
    if (nbytes > gasnetc_caps.copy_get_max) return false;
    bounce_get_t get;
    bool begun = bounce_get_begin(&get, dst, nbytes, counter, effort == REMOTE_THOROUGH);
    *held = get.sent.held;
    return begun && post_now(peer, false, src, get.to, get.region, nbytes, get.sent, effort);
}

/* put_slowly and get_slowly: the thorough try, then the general case. */

static void put_slowly(gasnetc_peer_t *peer, void *dst, const void *src, size_t nbytes,
                       gasnetc_counter_t *counter, bool bulk)
{
    if (nbytes == 0) return;
    if (put_now(peer, (uintptr_t)dst, src, nbytes, counter, bulk, REMOTE_THOROUGH) != POSTED)
        gasnetc_put_pieces(peer, dst, src, nbytes, !bulk, counter);
}

static void free_unposted(gasnetc_held_t get)
{
    if (get) gasnetc_bbuf_free(gasnetc_held_record(get, GASNETC_HELD_GET));
}

static void get_slowly(gasnetc_peer_t *peer, void *dst, uintptr_t src, size_t nbytes,
                       gasnetc_counter_t *counter, gasnetc_held_t held)
{
    free_unposted(held);
    held = GASNETC_HELD_NOTHING;
    if (nbytes == 0) return;
    if (get_now(peer, dst, src, nbytes, counter, &held, REMOTE_THOROUGH)) return;
    free_unposted(held);
    gasnetc_get_pieces(peer, dst, NULL, src, nbytes, counter);
}

/* --- one post, of memory outside the segment --- */

static void slowly(gasnetc_peer_t *peer, bool put, uintptr_t start, void *local, size_t nbytes,
                   gasnetc_counter_t *counter)
{
    if (put)
        put_slowly(peer, (void *)start, local, nbytes, counter, true);
    else
        get_slowly(peer, local, start, nbytes, counter, GASNETC_HELD_NOTHING);
}

/* Puts through a bounce buffer, if that is possible: the quick try, then the thorough one. */
static bool put_bounced(gasnetc_peer_t *peer, uintptr_t dst, const void *src, size_t nbytes,
                        gasnetc_counter_t *counter)
{
    remote_t remote;
    void *bbuf = nbytes <= bounce_put_max() ? gasnetc_bbuf_try() : NULL;
    if (!bbuf) return false;
    memcpy(bbuf, src, nbytes);
    const gasnetc_sent_t sent = {.counter = counter, .held = gasnetc_hold(bbuf, GASNETC_HELD_BBUF)};
    if ((remote_enter(peer, true, dst, nbytes, REMOTE_QUICK, &remote) ||
         remote_enter(peer, true, dst, nbytes, REMOTE_THOROUGH, &remote)) &&
        post_entered(peer, true, dst, bbuf, &gasnetc_bbuf_region, nbytes, &remote, sent)) {
        gasneti_self()->counts.puts_bounced++;
        return true;
    }
    gasnetc_bbuf_free(bbuf);
    return false;
}

static void put_short(gasnetc_peer_t *peer, void *dst, const void *src, size_t nbytes,
                      gasnetc_counter_t *counter)
{
    if (!put_bounced(peer, (uintptr_t)dst, src, nbytes, counter))
        put_slowly(peer, dst, src, nbytes, counter, true);
}

/* Posts from or to a region of the cache, if both ends are registered. */
static void transfer_cached(gasnetc_peer_t *peer, bool put, uintptr_t start, void *local,
                            size_t nbytes, gasnetc_counter_t *counter)
{
    remote_t remote;
    const net_region_t *region = remote_hit(peer, put, start, local, nbytes, &remote);
    if (region) {
        const gasnetc_held_t held = gasnetc_cache_held(region);
        if (post_entered(peer, put, start, local, region, nbytes, &remote,
                         (gasnetc_sent_t){.counter = counter, .held = held}))
            return;
        gasnetc_cache_release(held);
    }
    slowly(peer, put, start, local, nbytes, counter);
}

/* The peer's lease that covers the local memory, or NULL.  If not NULL, the lease has counted the
 * transfer, *remote is set, and the peer's lock is held. */
HOT gasnetc_lease_t *enter_lease(gasnetc_peer_t *peer, bool put, uintptr_t start, const void *local,
                                 size_t nbytes, remote_t *remote)
{
    if (REMOTE_KEEPS_ALL || !remote_enter(peer, put, start, nbytes, REMOTE_QUICK, remote))
        return NULL;
    gasnetc_lease_t *lease = gasnetc_lease_hit(peer, GASNETC_LOCAL, (uintptr_t)local, nbytes);
    if (lease && (put || !remote_read_only(gasnetc_lease_region(lease)))) {
        lease->issued++;
        return lease;
    }
    remote_leave(peer, remote);
    return NULL;
}

/* Transfers of memory longer than what is copied: the memory is looked up in the region of the
 * peer's lease, then in the cache. */
HOT void transfer_long(gasnetc_peer_t *peer, bool put, uintptr_t start, void *local, size_t nbytes,
                       gasnetc_counter_t *counter)
{
    remote_t remote;
    gasnetc_lease_t *lease = enter_lease(peer, put, start, local, nbytes, &remote);
    if (!lease) {
        transfer_cached(peer, put, start, local, nbytes, counter);
        return;
    }
    if (post_entered(peer, put, start, local, gasnetc_lease_region(lease), nbytes, &remote,
                     (gasnetc_sent_t){.counter = counter, .held = gasnetc_lease_held(lease)}))
        return;
    gasnetc_lease_undo(lease);
    slowly(peer, put, start, local, nbytes, counter);
}

/* noinline: row "blocking put" of make bench is 5 % more without it, "get_nb + wait" with
 * get_again. */
static __attribute__((noinline)) void put_outside(gasnetc_peer_t *peer, void *dst, const void *src,
                                                  size_t nbytes, gasnetc_counter_t *counter)
{
    if (nbytes <= gasnetc_caps.copy_put_max)
        put_short(peer, dst, src, nbytes, counter);
    else
        transfer_long(peer, true, (uintptr_t)dst, (void *)(uintptr_t)src, nbytes, counter);
}

static void get_outside(gasnetc_peer_t *peer, void *dst, uintptr_t src, size_t nbytes,
                        gasnetc_counter_t *counter)
{
    transfer_long(peer, false, src, dst, nbytes, counter);
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
        get_outside(peer, dst, src, nbytes, counter);
}

void gasnetc_rdma_put_bulk(uint32_t node, void *dst, const void *src, size_t nbytes,
                           gasnetc_counter_t *counter)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    const enum outcome outcome =
        put_now(peer, (uintptr_t)dst, src, nbytes, counter, true, REMOTE_QUICK);
    if (outcome == OUTSIDE)
        put_outside(peer, dst, src, nbytes, counter);
    else if (outcome != POSTED)
        put_slowly(peer, dst, src, nbytes, counter, true);
}

void gasnetc_rdma_put(uint32_t node, void *dst, const void *src, size_t nbytes,
                      gasnetc_counter_t *counter)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    if (put_now(peer, (uintptr_t)dst, src, nbytes, counter, false, REMOTE_QUICK) != POSTED)
        put_slowly(peer, dst, src, nbytes, counter, false);
}

void gasnetc_rdma_get(uint32_t node, void *dst, const void *src, size_t nbytes,
                      gasnetc_counter_t *counter)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    gasnetc_held_t held = GASNETC_HELD_NOTHING;
    if (!get_now(peer, dst, (uintptr_t)src, nbytes, counter, &held, REMOTE_QUICK))
        get_again(peer, dst, (uintptr_t)src, nbytes, counter, held);
}

void gasnetc_rdma_get_into(uint32_t node, void *dst, const struct net_region *destination,
                           const void *src, size_t nbytes, gasnetc_counter_t *counter)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    const gasnetc_sent_t sent = {.counter = counter};
    if (!destination)
        gasnetc_rdma_get(node, dst, src, nbytes, counter);
    else if (!post_now(peer, false, (uintptr_t)src, dst, destination, nbytes, sent, REMOTE_QUICK) &&
             !post_now(peer, false, (uintptr_t)src, dst, destination, nbytes, sent,
                       REMOTE_THOROUGH))
        gasnetc_get_pieces(peer, dst, destination, (uintptr_t)src, nbytes, counter);
}

bool gasnetc_rdma_fill(uint32_t node, void *dst, int value, size_t nbytes,
                       gasnetc_counter_t *counter)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    char small[128], most[GASNETC_FILL_MAX];
    if (nbytes > GASNETC_FILL_MAX) return false;
    if (nbytes <= sizeof small && nbytes <= gasnetc_caps.inline_max) {
        memset(small, value, nbytes);
        gasnetc_rdma_put(node, dst, small, nbytes, counter);
        return true;
    }
    if (bounce_put_max() == 0) return false;
    gasnetc_check_reachable(peer, (uintptr_t)dst, nbytes, "a fill");
    gasnetc_put_copied(peer, dst, memset(most, value, nbytes), nbytes, counter);
    return true;
}
