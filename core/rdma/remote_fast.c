/* remote_fast.c - the rare calls of remote.h in SEGMENT_FAST, where peers hold nothing of the
 * cache. */
#include "core/rdma/buffers.h"
#include "core/rdma/remote.h"

bool gasnetc_move_window(gasnetc_peer_t *peer, uintptr_t start, size_t nbytes)
{
    const gasnetc_published_t in = remote_segment(peer, start, nbytes);
    if (!in.segment.size) return false;
    size_t index = (start - in.segment.base) >> in.pin_shift;
    uintptr_t offset = (uintptr_t)index << in.pin_shift;
    size_t size = (uintptr_t)1 << in.pin_shift;
    if (size > in.segment.size - offset) size = in.segment.size - offset;
    peer->window = (gasnetc_window_t){in.segment.base + offset, size, in.segment.keys[index]};
    return gasnetc_within(peer->window.base, size, start, nbytes);
}

firehose_outcome_t gasnetc_remote_register(uintptr_t addr, size_t len, gasnetc_cache_key_t *key)
{
    if (gasnetc_register((void *)addr, len, NET_LOCAL, key)) return FIREHOSE_PINNED;
    return errno == ENOMEM || errno == EAGAIN ? FIREHOSE_REFUSED : FIREHOSE_INVALID;
}
