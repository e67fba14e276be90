/* amrdma_near.c - Active Messages that are written into rings in memory that shared-memory
 * peers map (core/rings/neighbours.h), or posted if the ring has no room for them.
 *
 * amrdma_rings.c gives the rings: a shared-memory peer has one from its first message, while rings
 * are left.
 */
#include "core/ib/rail.h"

size_t net_near_size(uint32_t *neighbours)
{
    *neighbours = net_ib_rings_most();
    return net_neighbours_size(*neighbours);
}

void net_near_peer(net_peer_t *peer, void *theirs)
{
    net_neighbours_enter(peer, theirs);
    net_ib_rings_near(peer);
}

static enum net_result by_network(net_qp_t *qp, net_slot_t *slot, const void *data, size_t length,
                                  const net_region_t *local, gasnetc_held_t held)
{
    return net_ib_post_am(qp->send_ring.peer, qp, slot, HCA_SEND,
                          net_ib_local(qp, data, length, local), &(gasnetc_sent_t){.held = held});
}

enum net_result net_ib_near_am(net_qp_t *qp, net_slot_t *slot, const void *data, size_t length,
                               const net_region_t *local, gasnetc_held_t held)
{
    net_peer_t *peer = qp->send_ring.peer;
    net_near_out_t *near = &atomic_load_explicit(&peer->rings, memory_order_relaxed)->near;
    char *to = net_near_place(near, length);
    if (!to) return by_network(qp, slot, data, length, local, held);
    net_ib_total_return();
    net_near_copy(to, data, (uint32_t)length);
    net_near_sent(near, peer->rank, (uint32_t)length);
    return NET_COPIED;
}

enum net_result net_ib_near_first_am(net_qp_t *qp, net_slot_t *slot, const void *data,
                                     size_t length, const net_region_t *local, gasnetc_held_t held)
{
    net_peer_t *peer = qp->send_ring.peer;
    net_near_ring_t *ring = net_near_given(peer, 0);
    if (!ring) return by_network(qp, slot, data, length, local, held);
    net_near_begin(&atomic_load(&peer->rings)->near, peer, ring);
    return net_ib_near_am(qp, slot, data, length, local, held);
}

void *net_ib_near_room(net_peer_t *peer, size_t length, bool wants_reply)
{
    net_peer_rings_t *rings = atomic_load_explicit(&peer->rings, memory_order_relaxed);
    char *to = net_near_place(&rings->near, length);
    return to && (!wants_reply || net_ib_reply_recv(peer, net_ib_am(peer))) ? to : NULL;
}

void net_ib_near_written(net_peer_t *peer, size_t length)
{
    net_peer_rings_t *rings = atomic_load_explicit(&peer->rings, memory_order_relaxed);
    net_near_sent(&rings->near, peer->rank, (uint32_t)length);
}
