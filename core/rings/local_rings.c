/* local_rings.c - rings of this process come into use.
 *
 * Called by the networks; net_rings_add with the poll lock held.
 */
#include "core/network.h"
#include "core/report.h"
#include "core/rings/local_rings.h"

struct net_rings net_rings;

void net_rings_form(uint32_t slots, uint32_t limit)
{
    net_rings.mask = slots - 1;
    net_rings.slot = amrdma_slot_size(limit);
    net_rings.limit = limit;
}

static void set_up(net_ring_t *ring, char *slots, net_peer_t *peer, uint8_t mark)
{
    const uint32_t count = net_rings.mask + 1;
    for (uint32_t i = 0; i < count; i++) {
        char *end = slots + (size_t)(i + 1) * net_rings.slot;
        ring->slot[i] = (net_ring_message_t){
            .message = {.peer = peer, .kept_buffer = true, .mark = mark},
            .in = &ring->in,
            .number = amrdma_before_first(i, count),
            .released = &ring->in.released->number[i],
            .trailer = (const _Atomic uint64_t *)(const void *)(end - AMRDMA_TRAILER),
            .next = &ring->slot[(i + 1) & net_rings.mask]};
    }
    ring->message = &ring->slot[ring->in.expected & net_rings.mask];
}

static void enter_circle(net_ring_t *ring)
{
    net_ring_t *first = net_rings.first ? net_rings.first : ring;
    ring->next = first->next ? first->next : ring;
    first->next = ring;
    net_rings.first = first;
}

void net_rings_add(net_ring_t *ring, char *slots, net_peer_t *peer, uint8_t mark,
                   amrdma_released_t *released, amrdma_out_t *out)
{
    amrdma_in_init(&ring->in, net_rings.mask + 1, released ? released : &ring->released, released);
    set_up(ring, slots, peer, mark);
    ring->out = out;
    enter_circle(ring);
}

void net_rings_malformed(const net_ring_message_t *slot, uint32_t length, const char *field)
{
    gasneti_malformed(slot->message.peer->rank, length, field);
}
