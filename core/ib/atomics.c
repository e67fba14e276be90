/* atomics.c - atomic operations of the device on memory of peers and of this rank itself.
 *
 * A device is atomic with respect to itself alone.  So all operations on one word go to the same
 * device of its rank, the first, whatever rank they come from: this rank is connected to itself.
 */
#include "core/ib/connect.h"
#include "core/log.h"
#include "core/params/params.h"

/* Why the device cannot be used for atomics; NULL: it can. */
static const char *atomics_missing(void)
{
    if (net_ib_rails.limits.atomics == HCA_ATOMICS_NONE) return "has no atomic operations";
    return net_ib_rails.manager ? "is connected by the RDMA connection manager" : NULL;
}

enum net_atomics net_ib_atomics_open(void)
{
    if (!gasnetc_params.atomics) return NET_NO_ATOMICS;
    const char *missing = atomics_missing();
    if (missing) {
        gasneti_info(network, "GASNET_ADAPTER_ATOMICS has no effect: %s %s", net_ib_rails.text,
                     missing);
        return NET_NO_ATOMICS;
    }
    net_ib.atomics = true;
    return net_ib_rails.limits.atomics == HCA_ATOMICS_GLOBAL ? NET_GLOBAL_ATOMICS
                                                             : NET_ADAPTER_ATOMICS;
}

/* A queue pair to the first device of the peer, which one of those in the list has. */
static net_qp_t *atomics_qp(net_peer_t *peer)
{
    net_qp_t *qp = net_ib_am(peer);
    if (!qp) return net_ib_connect_self(peer);
    while (NET_IB_HCAS > 1 && qp->remote_hca != 0) qp = qp->next;
    return qp;
}

enum net_result net_ib_atomic(net_peer_t *peer, const net_atomic_t *atomic, uint64_t at,
                              const net_key_t *key, uint64_t *earlier, const net_region_t *local,
                              const gasnetc_sent_t *sent)
{
    net_qp_t *qp = atomics_qp(peer);
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
