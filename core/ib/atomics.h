/* atomics.h - net_atomic of core/network.h for the InfiniBand pair.
 *
 * Included by network_ib.h alone, where slots, keys and local memory are known.
 */
#pragma once

/* Connects this rank to itself, for atomics; returns the queue pair; connect.c.  Peer's lock held.
 */
net_qp_t *net_ib_connect_self(net_peer_t *self);

/* A queue pair to the first device of the peer, which is the remote end of one in the list.  A
 * device is atomic with respect to itself alone, so all atomics on a word go to the same device of
 * its rank, whatever rank they come from, and this rank is connected to itself. */
HOT net_qp_t *net_ib_atomics_qp(net_peer_t *peer)
{
    net_qp_t *qp = net_ib_am(peer);
    if (!qp) return net_ib_connect_self(peer);
    for (; NET_IB_HCAS > 1; qp = qp->next) {
        /* The remote device is known when the queue pair is open. */
        if (!atomic_load_explicit(&qp->open, memory_order_acquire)) return &net_ib_closed;
        if (qp->remote_hca == 0) break;
    }
    return qp;
}

HOT enum net_result net_atomic(net_peer_t *peer, const net_atomic_t *atomic, uint64_t at,
                               const net_key_t *key, uint64_t *earlier, const net_region_t *local,
                               const gasnetc_sent_t *sent)
{
    net_qp_t *qp = net_ib_atomics_qp(peer);
    net_slot_t *slot = net_ib_slot(&qp->send_ring);
    if (!slot) return net_ib_busy(peer, qp);
    net_ib_enqueue(&qp->send_ring, slot, NET_OP_ATOMIC, sent);
    hca_send_atomic(&qp->send, at, net_ib_rkey(qp, key), atomic->operand, atomic->swap);
    const enum hca_kind kind = atomic->kind == NET_FETCH_ADD ? HCA_FETCH_ADD : HCA_COMPARE_SWAP;
    int error =
        hca_post(qp->qp, &qp->send, kind, net_ib_local(qp, earlier, sizeof *earlier, local));
    if (error != 0) net_ib_post_failed(qp, "an atomic operation", error);
    return NET_POSTED;
}
