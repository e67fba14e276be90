/* qp_select.h - which of a peer's queue pairs carries what: the rule, apart from verbs.
 *
 * Included where net_qp_t (`next`: those of a peer form a circle) and net_peer_t (`am`, `turn`) are
 * known: by network_ib.h, and by tests/sim, whose queue pairs are made of paper.  Queue pairs
 * of one peer may overtake each other.
 */
#ifndef NET_IB_TURNS_H
#define NET_IB_TURNS_H

/* The queue pair for a put or get: what must arrive before an AM goes the same way as it. */
static inline net_qp_t *net_ib_turn(net_peer_t *peer, enum net_order order)
{
    if (NET_IB_HCAS == 1 || order == NET_BEFORE_AM) return peer->am;
    net_qp_t *qp = peer->turn;
    peer->turn = qp->next;
    return qp;
}

#endif
