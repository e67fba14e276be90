/* pieces.c - puts and gets in the general case: pieces, each in one region of the peer's memory,
 * and the loop that posts one.
 *
 * A piece whose remote memory has a key is posted at once; a piece whose memory is pending
 * (remote.h) is posted by a later poll, of any thread.  The local memory is then inlined, in the
 * segment, copied through a bounce buffer, in the registration cache, or registered for the
 * transfer.  Called by rdma.c, by the AM engine for the payload of Longs, and by
 * remote_transfers.c.  Waits by polling, which runs handlers; with `in_handler` it only reaps.
 */
#include <string.h>

#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/params/params.h"
#include "core/rdma/bounce.h"
#include "core/rdma/rdma_internal.h"
#include "core/rdma/remote.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "other/base/min.h"

gasnetc_local_segment_t gasnetc_local_segment;

/* --- the local side --- */

/* The memory that the network reads or writes for a piece. */
typedef struct local {
    char *at;
    const net_region_t *region; /* NULL: the network copies the bytes */
} local_t;

/* The region of this rank's segment that contains the start of [start, start+*nbytes), or NULL;
 * reduces *nbytes to the bytes in that region. */
static const net_region_t *segment_region(const char *start, size_t *nbytes)
{
    const uintptr_t offset = (uintptr_t)start - gasnetc_local_segment.base;
    if (REMOTE_PENDS || offset >= gasnetc_local_segment.size ||
        *nbytes > gasnetc_local_segment.size - offset)
        return NULL;
    const uintptr_t index = offset >> gasnetc_pin_shift;
    *nbytes = gasneti_min(*nbytes, ((index + 1) << gasnetc_pin_shift) - offset);
    return &gasnetc_local_segment.regions[index];
}

/* A bounce buffer, with the bytes of a put. */
static local_t local_buffer(const rdma_piece_t *p, gasnetc_sent_t *sent, bool in_handler)
{
    bounce_get_t get;
    if (p->put) {
        void *bbuf = gasnetc_bbuf_wait(in_handler);
        gasneti_self()->counts.puts_bounced++;
        sent->held = gasnetc_hold(bbuf, GASNETC_HELD_BBUF);
        return (local_t){memcpy(bbuf, p->local, p->nbytes), &gasnetc_bbuf_region};
    }
    while (!bounce_get_begin(&get, p->local, p->nbytes, p->counter, true))
        gasnetc_stall_bbuf(in_handler);
    *sent = get.sent;
    return (local_t){get.to, get.region};
}

/* The number of regions of the cache that this thread holds for transfers which are not posted yet.
 * If it is not 0, the thread does not wait for room in the cache, which may be full of such
 * regions. */
static GASNETI_OF_THREAD unsigned unposted;

/* Finds or registers the local memory in the cache, for a get as writable: memory that was
 * read-only when it was registered may have become writable, and is registered again.  Only where
 * waiting for room runs no handlers may a handler wait. */
static enum gasnetc_cache_answer pin_local(const rdma_piece_t *p, const net_region_t **region,
                                           bool in_handler)
{
    if (REMOTE_KEEPS_ALL && !gasnetc_watched(p->local, p->nbytes)) return GASNETC_NO_CACHE;
    for (int tries = 0; tries < 2; tries++) {
        const enum gasnetc_cache_answer answer = gasnetc_cache_pin(
            p->local, p->nbytes, !unposted && (REMOTE_PENDS || !in_handler), region);
        if (answer != GASNETC_CACHED || p->put || !remote_read_only(*region)) return answer;
        gasnetc_cache_release(gasnetc_cache_held(*region));
        gasnetc_firehose_invalidate(p->local, p->nbytes);
    }
    gasneti_fatal("a get of %zu bytes to %p: the memory there may only be read", p->nbytes,
                  (void *)p->local);
}

/* Memory outside the segment, in a region of the cache, or registered for the transfer.  False: it
 * is to be copied in parts.  No device can access it; or it is in no region, because the thread may
 * not wait for one or the memory is read-only, while the core has buffers and peers do not hold
 * regions of the cache. */
static bool local_outside(const rdma_piece_t *p, local_t *local, gasnetc_sent_t *sent,
                          bool in_handler)
{
    const enum gasnetc_cache_answer answer = pin_local(p, &local->region, in_handler);
    if (answer == GASNETC_CACHED) {
        sent->held = gasnetc_cache_held(local->region);
        return true;
    }
    if (!REMOTE_PENDS && bounce_put_max() &&
        (answer == GASNETC_CACHE_BUSY || (p->put && answer == GASNETC_READ_ONLY)))
        return false;
    sent->held = gasnetc_pin_transient(p->local, p->nbytes, p->put ? NET_SOURCE : NET_LOCAL,
                                       &local->region, in_handler);
    return sent->held;
}

static bool local_end(const rdma_piece_t *p, local_t *local, gasnetc_sent_t *sent, bool in_handler)
{
    size_t nbytes = p->nbytes;
    *local = (local_t){p->local, p->destination};
    if (p->way == RDMA_INLINED || p->destination) return true;
    if (p->way == RDMA_COPIED) {
        *local = local_buffer(p, sent, in_handler);
        return true;
    }
    local->region = segment_region(p->local, &nbytes);
    return local->region || local_outside(p, local, sent, in_handler);
}

/* --- posting a piece --- */

/* Posts a piece; waits for resources.  False, with nothing posted: the local memory is to be copied
 * in parts, or the network has no buffer for a piece that it copies (PO-18). */
static bool post(const rdma_piece_t *p, const remote_t *remote, enum net_order order,
                 bool in_handler)
{
    gasnetc_peer_t *peer = p->peer;
    gasnetc_sent_t sent = {.counter = p->counter};
    enum net_result result;
    local_t local;
    if (!local_end(p, &local, &sent, in_handler)) return false;
    remote_hold(&sent, remote);
    const enum gasnetc_held_tag tag = gasnetc_held_tag(sent.held);
    const bool registered = tag == GASNETC_HELD_CACHED || tag == GASNETC_HELD_TRANSIENT;
    unposted += registered;
    for (;;) {
        gasneti_lock(&peer->lock);
        result = p->put ? net_put(&peer->net, p->remote, remote->key, local.at, local.region,
                                  p->nbytes, order, &sent)
                        : net_get(&peer->net, local.at, local.region, p->remote, remote->key,
                                  p->nbytes, &sent);
        if (result != NET_POSTED) gasnetc_count_stall(peer, result);
        gasneti_unlock(&peer->lock);
        if (result == NET_POSTED || result == NET_NO_SEND_BUF) break;
        gasnetc_stall_at(peer, result, in_handler);
    }
    unposted -= registered;
    return result == NET_POSTED;
}

/* Posts a piece in parts that are copied.  The last part ends the use of the peer's region, and
 * counts as the piece; if there is such a use, all others are complete by then. */
static void post_in_parts(const rdma_piece_t *p, const remote_t *remote, enum net_order order,
                          bool in_handler)
{
    const size_t most = p->put ? NET_BUFFER_PUT : NET_BUFFER_GET;
    const remote_t unused = {.key = remote->key};
    gasnetc_counter_t earlier = {0};
    rdma_piece_t part = *p;
    part.way = p->put && !bounce_put_max() ? RDMA_INLINED : RDMA_COPIED;
    if (REMOTE_PENDS) part.counter = &earlier;
    for (size_t rest = p->nbytes; rest; rest -= part.nbytes) {
        const bool last = rest <= most;
        part.nbytes = last ? rest : most;
        if (last) {
            while (!gasnetc_counter_done(&earlier)) gasnetc_stall(in_handler);
            part.counter = p->counter;
        } else if (part.counter) {
            part.counter->issued++;
        }
        while (!post(&part, last ? remote : &unused, order, in_handler))
            gasnetc_stall_bbuf(in_handler);
        part.remote += part.nbytes;
        part.local += part.nbytes;
    }
}

/* Posts a piece for which the network has no buffer: it is registered instead.  If its source is
 * free, it is complete on return. */
static void post_uncopied(const rdma_piece_t *p, const remote_t *remote, enum net_order order,
                          bool in_handler)
{
    gasnetc_counter_t complete = {0};
    rdma_piece_t direct = *p;
    direct.way = RDMA_DIRECT;
    if (p->source_free) {
        if (p->counter) p->counter->issued--;
        complete.issued = 1;
        direct.counter = &complete;
    }
    if (!post(&direct, remote, order, in_handler))
        post_in_parts(&direct, remote, order, in_handler);
    while (!gasnetc_counter_done(&complete)) gasnetc_stall(in_handler);
}

void gasnetc_post_piece(const rdma_piece_t *p, const remote_t *remote, enum net_order order,
                        bool in_handler)
{
    if (post(p, remote, order, in_handler)) return;
    if (p->way == RDMA_DIRECT)
        post_in_parts(p, remote, order, in_handler);
    else
        post_uncopied(p, remote, order, in_handler);
}

/* --- transfers --- */

/* The properties of a transfer that its pieces share. */
typedef struct transfer {
    size_t most;   /* bytes of a piece */
    size_t copied; /* a piece of at most so much from outside the segment is copied, though it need
                      not be */
    enum net_order order;
    bool in_handler;
    gasnetc_counter_t *waiting; /* the counter of pending pieces; NULL: that of the transfer */
} transfer_t;

/* How many bytes of the rest of a transfer the next piece has: its memory at either end is in one
 * region, or can be. */
static size_t piece_of(const transfer_t *t, const rdma_piece_t *rest)
{
    size_t piece = gasneti_min(rest->nbytes, remote_room(rest->peer, rest->remote));
    piece = gasneti_min(piece, gasneti_min(t->most, gasnetc_caps.transfer_max));
    if (rest->way != RDMA_DIRECT || rest->destination || segment_region(rest->local, &piece))
        return piece;
    return gasnetc_cache_piece(rest->local, piece);
}

/* The way of a piece of a transfer that need not be copied: short pieces outside the segment are
 * copied nevertheless. */
static enum rdma_way way_of(const transfer_t *t, const rdma_piece_t *p)
{
    size_t nbytes = p->nbytes;
    if (p->destination || segment_region(p->local, &nbytes)) return RDMA_DIRECT;
    return p->nbytes <= t->copied ? RDMA_COPIED : RDMA_DIRECT;
}

static void post_pieces(const transfer_t *t, rdma_piece_t rest)
{
    while (rest.nbytes) {
        rdma_piece_t piece = rest;
        remote_t remote;
        piece.nbytes = piece_of(t, &rest);
        if (rest.way == RDMA_DIRECT) piece.way = way_of(t, &piece);
        const bool pending = !remote_find(&piece, &remote);
        if (pending && t->waiting) piece.counter = t->waiting;
        if (piece.counter) piece.counter->issued++;
        if (pending)
            remote_later(&piece, rest.nbytes);
        else
            gasnetc_post_piece(&piece, &remote, t->order, t->in_handler);
        rest.remote += piece.nbytes;
        rest.local += piece.nbytes;
        rest.nbytes -= piece.nbytes;
    }
}

/* Puts in pieces.  `way` is RDMA_DIRECT only if the source is not free. */
static void put(const transfer_t *t, gasnetc_peer_t *peer, void *dst, const void *src,
                size_t nbytes, bool source_free, enum rdma_way way, gasnetc_counter_t *counter)
{
    post_pieces(t, (rdma_piece_t){.peer = peer,
                                  .put = true,
                                  .source_free = source_free,
                                  .way = way,
                                  .remote = (uintptr_t)dst,
                                  .local = (char *)(uintptr_t)src,
                                  .nbytes = nbytes,
                                  .counter = counter});
}

static void put_whole(transfer_t t, gasnetc_peer_t *peer, void *dst, const void *src, size_t nbytes,
                      bool source_free, gasnetc_counter_t *counter)
{
    const bool copied = source_free || nbytes <= gasnetc_caps.copy_put_max;
    gasnetc_check_reachable(peer, (uintptr_t)dst, nbytes, "a put");
    t.most = SIZE_MAX;
    t.copied = gasneti_min(gasnetc_caps.copy_put_max, bounce_put_max());
    if (copied && nbytes <= gasnetc_caps.inline_max) {
        put(&t, peer, dst, src, nbytes, source_free, RDMA_INLINED, counter);
    } else if (!source_free) {
        put(&t, peer, dst, src, nbytes, false, RDMA_DIRECT, counter);
    } else if (nbytes <= (size_t)gasnetc_params.bounce_limit) {
        t.most = bounce_put_max();
        put(&t, peer, dst, src, nbytes, true, RDMA_COPIED, counter);
    } else {
        gasnetc_counter_t complete = {0};
        t.waiting = NULL;
        t.copied = 0; /* longer than the user wants copied */
        put(&t, peer, dst, src, nbytes, false, RDMA_DIRECT, &complete);
        while (!gasnetc_counter_done(&complete)) gasnetc_stall(t.in_handler);
    }
}

void gasnetc_put_pieces(gasnetc_peer_t *peer, void *dst, const void *src, size_t nbytes,
                        bool source_free, gasnetc_counter_t *counter)
{
    put_whole((transfer_t){.order = NET_UNORDERED}, peer, dst, src, nbytes, source_free, counter);
}

void gasnetc_put_copied(gasnetc_peer_t *peer, void *dst, const void *src, size_t nbytes,
                        gasnetc_counter_t *counter)
{
    put(&(transfer_t){.most = bounce_put_max(), .order = NET_UNORDERED}, peer, dst, src, nbytes,
        true, RDMA_COPIED, counter);
}

void gasnetc_put_payload(gasnetc_peer_t *peer, void *dst, const void *src, size_t nbytes,
                         bool source_free, enum net_order order, gasnetc_counter_t *counter,
                         bool in_handler)
{
    gasnetc_counter_t waited = {0};
    put_whole((transfer_t){.order = order, .in_handler = in_handler, .waiting = &waited}, peer, dst,
              src, nbytes, source_free, counter);
    while (!gasnetc_counter_done(&waited)) gasnetc_stall(in_handler);
}

void gasnetc_get_pieces(gasnetc_peer_t *peer, void *to, const net_region_t *destination,
                        uintptr_t from, size_t nbytes, gasnetc_counter_t *counter)
{
    gasnetc_check_reachable(peer, from, nbytes, "a get");
    post_pieces(&(transfer_t){.most = SIZE_MAX,
                              .copied = gasnetc_caps.copy_get_max,
                              .order = NET_UNORDERED},
                (rdma_piece_t){.peer = peer,
                               .way = RDMA_DIRECT,
                               .remote = from,
                               .local = to,
                               .destination = destination,
                               .nbytes = nbytes,
                               .counter = counter});
}
