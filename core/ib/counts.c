/* counts.c - collects the counters of this network for reports, without a lock.
 */
#include "core/ib/srq.h"

/* Other threads may be posting and reaping; each counter is an aligned word and is read whole. */
__attribute__((no_sanitize("thread"))) static void add_qp(const net_qp_t *qp,
                                                          struct net_peer_counts *counts)
{
    counts->puts += qp->puts;
    counts->put_bytes += qp->put_bytes;
    counts->gets += qp->gets;
    counts->get_bytes += qp->get_bytes;
    counts->puts_not_inlined += qp->puts_not_inlined;
    /* The send ring grows on demand: its slots less one are the most operations ever in flight. */
    const net_slot_t *oldest = atomic_load(&qp->send_ring.oldest),
                     *free = atomic_load(&qp->send_ring.free);
    uint64_t most = 0, now = 0;
    bool in_flight = true;
    for (const net_slot_t *slot = oldest; most <= net_ib.depth; slot = slot->next, most++) {
        if (most && slot == oldest) break;
        if (slot == free) in_flight = false;
        now += in_flight;
    }
    counts->in_flight += now;
    if (most - 1 > counts->in_flight_most) counts->in_flight_most = most - 1;
}

__attribute__((no_sanitize("thread"))) static void add_rings(const net_peer_rings_t *rings,
                                                             struct net_peer_counts *counts)
{
    counts->by_ring = rings->out.sent;
    counts->rings = atomic_load(&rings->in) != NULL;
}

void net_peer_counts(const net_peer_t *peer, struct net_peer_counts *counts)
{
    *counts = (struct net_peer_counts){.puts = 0};
    const net_peer_rings_t *rings = atomic_load(&peer->rings);
    const net_qp_t *const first = peer->am, *qp = first;
    if (rings) add_rings(rings, counts);
    if (!qp) return;
    do {
        add_qp(qp, counts);
        qp = qp->next;
    } while (qp != first);
}

void net_counts(struct net_counts *counts)
{
    *counts = (struct net_counts){.registrations = atomic_load(&net_ib_registrations),
                                  .spares_out = atomic_load(&net_ib_spares_out),
                                  .shared = net_ib_shared_buffers(),
                                  .connections = net_ib_connections()};
}

void net_report_at_exit(void) {}
