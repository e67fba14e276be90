/* local_rings.c - rings of this process come into use.
 *
 * gasnetc_rings_add is called with the poll lock held.
 */
#include "core/report.h"
/* core/network.h has the types that local_rings.h needs. */
/* clang-format off */
#include "core/network.h"
#include "core/rings/local_rings.h"
/* clang-format on */

gasnetc_ring_t *gasnetc_rings;

static void set_up(gasnetc_ring_t *ring, const gasnetc_ring_form_t *form, char *slots,
                   net_peer_t *peer, uint8_t mark)
{
    const uint32_t count = form->mask + 1;
    for (uint32_t i = 0; i < count; i++) {
        char *end = slots + (size_t)(i + 1) * form->slot;
        ring->slot[i] = (gasnetc_ring_message_t){
            .message = {.peer = peer, .kept_buffer = true, .mark = mark},
            .in = &ring->in,
            .number = amrdma_before_first(i, count),
            .released = &ring->in.released->number[i],
            .trailer = (const _Atomic uint64_t *)(const void *)(end - AMRDMA_TRAILER),
            .next = &ring->slot[(i + 1) & form->mask]};
    }
    ring->message = &ring->slot[ring->in.expected & form->mask];
}

static void enter_circle(gasnetc_ring_t *ring)
{
    gasnetc_ring_t *first = gasnetc_rings ? gasnetc_rings : ring;
    ring->next = first->next ? first->next : ring;
    first->next = ring;
    gasnetc_rings = first;
}

void gasnetc_rings_add(gasnetc_ring_t *ring, const gasnetc_ring_form_t *form, char *slots,
                       net_peer_t *peer, uint8_t mark, amrdma_released_t *released,
                       amrdma_out_t *out)
{
    amrdma_in_init(&ring->in, form->mask + 1, released ? released : &ring->released, released);
    set_up(ring, form, slots, peer, mark);
    ring->limit = form->limit;
    ring->out = out;
    enter_circle(ring);
}

void gasnetc_rings_add_door(gasnetc_ring_t *ring, const _Atomic uint64_t *word)
{
    ring->slot[0].trailer = word;
    ring->message = &ring->slot[0];
    ring->in.expected = 1;
    enter_circle(ring);
}

void gasnetc_rings_malformed(const gasnetc_ring_message_t *slot, uint32_t length, const char *field)
{
    gasneti_malformed(slot->message.peer->rank, length, field);
}
