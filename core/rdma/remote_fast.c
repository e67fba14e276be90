/* remote_fast.c - the rare part of remote_fast.h. */
#include "core/rdma/remote.h"

bool gasnetc_move_window(gasnetc_peer_t *peer, uintptr_t start, size_t nbytes)
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
