/* rdma.c - one-sided transfers: how each local side is made reachable, and the loop that posts.
 *
 * Called by the Extended API and, for the payload of Longs, by the AM engine.  Never runs a handler
 * when `in_handler`; otherwise any stall polls.
 */
#include "core/rdma.h"

#include <string.h>

#include "core/buffers.h"
#include "core/job.h"
#include "core/poll.h"
#include "core/rdma_internal.h"
#include "core/report.h"

net_region_t *gasnetc_segment_regions; /* this node's, one per 2^gasnetc_pin_shift bytes */

static inline void stall(bool in_handler)
{
    if (in_handler)
        gasnetc_reap();
    else
        gasneti_wait_poll();
}

/* ---- the remote side
 * ----------------------------------------------------------------------------- */

static void __attribute__((noreturn, cold))
out_of_segment(const gasnetc_peer_t *peer, uintptr_t start, size_t nbytes, const char *what)
{
    gasneti_fatal("%s of %zu bytes at %#lx is outside the segment of %s, which is [%#lx, %#lx)",
                  what, nbytes, (unsigned long)start, gasneti_rank_name(peer->net.rank),
                  (unsigned long)peer->segment.base,
                  (unsigned long)(peer->segment.base + peer->segment.size));
}

void gasnetc_check_remote(const gasnetc_peer_t *peer, uintptr_t start, size_t nbytes,
                          const char *what)
{
    uintptr_t offset = start - peer->segment.base;
    if (offset > peer->segment.size || nbytes > peer->segment.size - offset)
        out_of_segment(peer, start, nbytes, what);
}

/* How much of a transfer one post may carry: up to the end of the region that holds it. */
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

/* ---- the local side: one of inline, in-segment, bounce, transient
 * ----------------------------------- */

/* The region of this node's segment that holds the start of [start, start+nbytes), or NULL; *nbytes
 * is cut to what that region holds. */
static inline net_region_t *segment_region(const void *start, size_t *nbytes)
{
    const gasnetc_segment_t *mine = &gasnetc_peers[gasnetc_job.rank].segment;
    uintptr_t offset = (uintptr_t)start - mine->base;
    if (offset >= mine->size || *nbytes > mine->size - offset) return NULL;
    *nbytes = piece_of(mine->base, (uintptr_t)start, *nbytes);
    return &gasnetc_segment_regions[offset >> gasnetc_pin_shift];
}

/* Posts one piece, however long that takes. */
static inline void post_put(gasnetc_peer_t *peer, uintptr_t dst, const void *src,
                            const net_region_t *local, size_t nbytes, gasnetc_sent_t sent,
                            bool in_handler)
{
    if (sent.counter) sent.counter->issued++;
    for (;;) {
        gasneti_lock(&peer->lock);
        enum net_result result =
            net_put(&peer->net, dst, key_of(peer, dst), src, local, nbytes, sent);
        gasneti_unlock(&peer->lock);
        if (__builtin_expect(result == NET_POSTED, 1)) return;
        stall(in_handler);
    }
}

static inline void post_get(gasnetc_peer_t *peer, void *dst, const net_region_t *local,
                            uintptr_t src, size_t nbytes, gasnetc_sent_t sent)
{
    sent.counter->issued++;
    for (;;) {
        gasneti_lock(&peer->lock);
        enum net_result result =
            net_get(&peer->net, dst, local, src, key_of(peer, src), nbytes, sent);
        gasneti_unlock(&peer->lock);
        if (__builtin_expect(result == NET_POSTED, 1)) return;
        stall(false);
    }
}

static void *wait_bbuf(bool in_handler)
{
    void *bbuf;
    while (!(bbuf = gasnetc_bbuf_try())) stall(in_handler);
    return bbuf;
}

/* Puts through bounce buffers: the source is free when this returns. */
static void put_bounced(gasnetc_peer_t *peer, uintptr_t dst, const char *src, size_t nbytes,
                        gasnetc_counter_t *counter, bool in_handler)
{
    while (nbytes) {
        size_t piece = piece_of(peer->segment.base, dst, nbytes);
        if (piece > GASNETC_BBUF_SIZE) piece = GASNETC_BBUF_SIZE;
        void *bbuf = wait_bbuf(in_handler);
        memcpy(bbuf, src, piece);
        post_put(peer, dst, bbuf, &gasnetc_bbuf_region, piece,
                 (gasnetc_sent_t){.counter = counter, .held = bbuf}, in_handler);
        src += piece;
        dst += piece;
        nbytes -= piece;
    }
}

/* Puts straight from the source, registering what lies outside the segment. */
static void put_zero_copy(gasnetc_peer_t *peer, uintptr_t dst, const char *src, size_t nbytes,
                          gasnetc_counter_t *counter, bool in_handler)
{
    while (nbytes) {
        size_t piece = piece_of(peer->segment.base, dst, nbytes);
        gasnetc_held_t *held = NULL;
        net_region_t *region = segment_region(src, &piece);
        if (!region) held = gasnetc_pin_transient(src, piece, &region);
        post_put(peer, dst, src, region, piece, (gasnetc_sent_t){.counter = counter, .held = held},
                 in_handler);
        src += piece;
        dst += piece;
        nbytes -= piece;
    }
}

/* Small enough to be captured at the call, and within one region of the target. */
static inline bool put_inline(gasnetc_peer_t *peer, uintptr_t dst, const void *src, size_t nbytes,
                              gasnetc_counter_t *counter, bool in_handler)
{
    if (nbytes > gasnetc_caps.inline_max || piece_of(peer->segment.base, dst, nbytes) < nbytes)
        return false;
    post_put(peer, dst, src, NULL, nbytes, (gasnetc_sent_t){.counter = counter}, in_handler);
    return true;
}

/* ---- the calls
 * --------------------------------------------------------------------------------------- */

void gasnetc_put_payload(gasnetc_peer_t *peer, void *dst, const void *src, size_t nbytes,
                         bool source_free, gasnetc_counter_t *counter, bool in_handler)
{
    uintptr_t to = (uintptr_t)dst;
    gasnetc_check_remote(peer, to, nbytes, "a put");
    if (__builtin_expect(put_inline(peer, to, src, nbytes, counter, in_handler), 1)) return;
    size_t in_segment = nbytes;
    if (source_free && nbytes <= (size_t)gasnetc_params.bounce_limit) {
        put_bounced(peer, to, src, nbytes, counter, in_handler);
    } else if (source_free) {
        gasnetc_counter_t local = {0};
        put_zero_copy(peer, to, src, nbytes, &local, in_handler);
        while (!gasnetc_counter_done(&local)) stall(in_handler);
    } else if (nbytes <= GASNETC_BBUF_SIZE && !segment_region(src, &in_segment)) {
        put_bounced(peer, to, src, nbytes, counter, in_handler);
    } else {
        put_zero_copy(peer, to, src, nbytes, counter, in_handler);
    }
}

void gasnetc_rdma_put_bulk(uint32_t node, void *dst, const void *src, size_t nbytes,
                           gasnetc_counter_t *counter)
{
    gasnetc_put_payload(&gasnetc_peers[node], dst, src, nbytes, false, counter, false);
}

void gasnetc_rdma_put(uint32_t node, void *dst, const void *src, size_t nbytes,
                      gasnetc_counter_t *counter)
{
    gasnetc_put_payload(&gasnetc_peers[node], dst, src, nbytes, true, counter, false);
}

void gasnetc_rdma_get(uint32_t node, void *dst, const void *src, size_t nbytes,
                      gasnetc_counter_t *counter)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    uintptr_t from = (uintptr_t)src;
    char *to = dst;
    gasnetc_check_remote(peer, from, nbytes, "a get");
    while (nbytes) {
        size_t piece = piece_of(peer->segment.base, from, nbytes);
        net_region_t *region = segment_region(to, &piece);
        gasnetc_sent_t sent = {.counter = counter};
        void *landing = to;
        if (!region && nbytes <= GASNETC_BBUF_SIZE) {
            sent.held = landing = wait_bbuf(false);
            sent.copy_to = to;
            sent.copy_length = (uint32_t)piece;
            region = &gasnetc_bbuf_region;
        } else if (!region) {
            sent.held = gasnetc_pin_transient(to, piece, &region);
        }
        post_get(peer, landing, region, from, piece, sent);
        to += piece;
        from += piece;
        nbytes -= piece;
    }
}
