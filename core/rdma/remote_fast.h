/* remote_fast.h - the variant of remote.h for SEGMENT_FAST.
 *
 * Included by remote.h alone.
 */
#pragma once

#include "core/rdma/published.h"
#include "core/rdma/remote.h"
#include "core/rdma/segment.h"
#include "other/base/min.h"

enum { REMOTE_PENDS = 0, REMOTE_KEEPS_ALL = 0 };

struct remote {
    const net_key_t *key;
};

/* The segment of a peer that contains all of a range: that which it has attached, or one that it
 * has published.  Size 0: none does. */
static inline gasnetc_published_t remote_segment(const gasnetc_peer_t *peer, uintptr_t start,
                                                 size_t nbytes)
{
    if (gasnetc_within(peer->segment.base, peer->segment.size, start, nbytes))
        return (gasnetc_published_t){.segment = peer->segment, .pin_shift = gasnetc_pin_shift};
    return gasnetc_published_at(peer->net.rank, start, nbytes);
}

/* remote_fast.c: moves the peer's window to the part of a segment that has one key and contains
 * all of the range; false if no part does.  Peer's lock held. */
bool gasnetc_move_window(gasnetc_peer_t *peer, uintptr_t start, size_t nbytes);

HOT bool remote_enter(gasnetc_peer_t *peer, bool put, uintptr_t start, size_t nbytes,
                      enum remote_effort effort, remote_t *remote)
{
    (void)put;
    if (effort == REMOTE_THOROUGH)
        gasneti_lock(&peer->lock);
    else if (!gasneti_trylock_quiet(&peer->lock))
        return false;
    remote->key = &peer->window.key;
    if (gasnetc_within(peer->window.base, peer->window.size, start, nbytes)) return true;
    if (effort == REMOTE_THOROUGH && gasnetc_move_window(peer, start, nbytes)) return true;
    gasneti_unlock(&peer->lock);
    return false;
}

HOT void remote_leave(gasnetc_peer_t *peer, const remote_t *remote)
{
    (void)remote;
    gasneti_unlock(&peer->lock);
}

static inline const net_region_t *remote_hit(gasnetc_peer_t *peer, bool put, uintptr_t start,
                                             const void *local, size_t nbytes, remote_t *remote)
{
    const net_region_t *region = gasnetc_cache_hit(peer, local, nbytes);
    if (!region || remote_enter(peer, put, start, nbytes, REMOTE_THOROUGH, remote)) return region;
    gasnetc_cache_release(gasnetc_cache_held(region));
    return NULL;
}

HOT void remote_hold(gasnetc_sent_t *sent, const remote_t *remote)
{
    (void)sent, (void)remote;
}

HOT void remote_unpin(const remote_t *remote)
{
    (void)remote;
}

HOT bool remote_read_only(const net_region_t *region)
{
    (void)region;
    return false;
}

static inline size_t remote_room(const gasnetc_peer_t *peer, uintptr_t start)
{
    const gasnetc_published_t in = remote_segment(peer, start, 1);
    const uintptr_t offset = start - in.segment.base;
    const size_t room = (((offset >> in.pin_shift) + 1) << in.pin_shift) - offset;
    return gasneti_min(room, in.segment.size - offset);
}

static inline bool remote_find(const rdma_piece_t *piece, remote_t *remote)
{
    const gasnetc_published_t in = remote_segment(piece->peer, piece->remote, piece->nbytes);
    const net_key_t *const keys = in.segment.keys;
    remote->key = keys + ((piece->remote - in.segment.base) >> in.pin_shift);
    return true;
}

static inline void remote_later(const rdma_piece_t *piece, size_t nbytes)
{
    (void)piece, (void)nbytes;
}

HOT void remote_settle(void) {}

HOT void remote_progress(void) {}
