/* qp_select.h - which of a peer's queue pairs a put or get is posted to, apart from verbs.
 *
 * Included where net_qp_t (`next`: the queue pairs of a peer form a cyclic list) and net_peer_t
 * (`am`, `next_qp`) are known: by network_ib.h, and by tests/sim, which simulates queue pairs.  The
 * queue pairs of one peer keep no order among each other.
 */
#pragma once

/* The queue pair for a transfer.  A put that must arrive before an AM uses the AM queue pair; other
 * transfers use all queue pairs in turn.  If the library was configured for one device, all
 * transfers use the AM queue pair. */
static inline net_qp_t *net_ib_select_qp(net_peer_t *peer, enum net_order order)
{
    if (NET_IB_HCAS == 1 || order == NET_BEFORE_AM) return peer->am;
    net_qp_t *qp = peer->next_qp;
    peer->next_qp = qp->next;
    return qp;
}
