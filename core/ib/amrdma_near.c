/* amrdma_near.c - Active Messages that are written into rings in memory that neighbours share
 * (core/rings/neighbours.h), or posted where that cannot be.
 *
 * amrdma_rings.c gives the rings: a neighbour has one from its first message, so far as there are
 * rings.
 */
#include "core/ib/rail.h"

size_t net_ib_near_size(void)
{
    return net_neighbours_size(net_ib_rings_most(), 0);
}

void net_ib_near_open(void *memory, void (*wake)(uint32_t rank))
{
    net_neighbours_open(memory, 0, wake);
    net_ib_rings_near();
}

static __attribute__((noinline)) bool by_network(net_qp_t *qp, net_slot_t *slot, const void *data,
                                                 size_t length, const net_region_t *local,
                                                 gasnetc_held_t *held)
{
    net_peer_rings_t *rings = atomic_load_explicit(&qp->rings, memory_order_relaxed);
    net_ib_post_am(qp->send_ring.peer, qp, slot,
                   net_ib_ring_unusual(qp, rings) < 0 ? HCA_SEND_IMM : HCA_SEND,
                   net_ib_local(qp, data, length, local), &(gasnetc_sent_t){.held = held});
    return false;
}

/* A ring that the peer does not know of yet is reported by the network. */
static inline char *place(net_peer_rings_t *rings, size_t length)
{
    if (__builtin_expect(atomic_load_explicit(&rings->offer, memory_order_relaxed) != 0, 0))
        return NULL;
    return net_near_place(&rings->near, length);
}

bool net_ib_near_am(net_qp_t *qp, net_slot_t *slot, const void *data, size_t length,
                    const net_region_t *local, gasnetc_held_t *held)
{
    net_peer_rings_t *rings = atomic_load_explicit(&qp->rings, memory_order_relaxed);
    char *to = place(rings, length);
    if (__builtin_expect(!to, 0)) return by_network(qp, slot, data, length, local, held);
    net_ib_total_return();
    net_near_copy(to, data, (uint32_t)length);
    net_near_sent(&rings->near, qp->send_ring.peer->rank, (uint32_t)length);
    return true;
}

void *net_ib_near_room(net_peer_t *peer, size_t length, bool wants_reply)
{
    net_qp_t *qp = net_ib_am(peer);
    char *to = place(atomic_load_explicit(&qp->rings, memory_order_relaxed), length);
    return to && (!wants_reply || net_ib_reply_recv(peer, qp)) ? to : NULL;
}

void net_ib_near_written(net_peer_t *peer, size_t length)
{
    net_peer_rings_t *rings = atomic_load_explicit(&net_ib_am(peer)->rings, memory_order_relaxed);
    net_near_sent(&rings->near, peer->rank, (uint32_t)length);
}
