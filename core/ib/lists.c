/* lists.c - puts from several pieces of local memory, and gets into them, by one work request.
 *
 * The send queue's entries have room for inlined bytes.  A list uses the same room, so that queue
 * pairs take no more memory than without lists; where that room is small, an entry takes up to 128
 * bytes more.
 */
#include "core/ib/rail.h"

enum { LISTS_LEAST = 8 };

/* The longest list that fits in the room for inlined bytes, or LISTS_LEAST if that is more, and
 * that the device takes. */
static uint32_t lists_most(uint32_t device_max)
{
    uint32_t most = net_ib.inline_max / (uint32_t)sizeof(hca_sge_t);
    if (most < LISTS_LEAST) most = LISTS_LEAST;
    if (most > device_max) most = device_max;
    return most < NET_LIST_MOST ? most : NET_LIST_MOST;
}

uint32_t net_ib_lists_wanted(void)
{
    const uint32_t most = lists_most(net_ib_rails.limits.max_sge);
    return most > 1 ? most : 1;
}

/* Sets the caps; 0 if the most is a single piece, which is sent as an ordinary put or get. */
void net_ib_lists_caps(struct net_caps *caps)
{
    const uint32_t most = net_ib.list_max, reads = lists_most(net_ib_rails.limits.max_sge_rd);
    caps->put_list_max = most > 1 ? most : 0;
    caps->get_list_max = reads < most ? reads : most;
    if (caps->get_list_max < 2) caps->get_list_max = 0;
}

static void lists_post(net_qp_t *qp, enum hca_kind kind, const net_piece_t *pieces, uint32_t count)
{
    hca_sge_t list[NET_LIST_MOST];
    const uint32_t hca = NET_IB_HCAS > 1 ? qp->local_hca : 0;
    for (uint32_t i = 0; i < count; i++)
        list[i] = hca_sge(pieces[i].at, (uint32_t)pieces[i].length, pieces[i].local->lkey[hca]);
    int error = hca_post_list(qp->qp, &qp->send, kind, list, count);
    if (error != 0) net_ib_post_failed(qp, kind == HCA_WRITE ? "a put" : "a get", error);
}

enum net_result net_ib_put_list(net_peer_t *peer, uint64_t dst, const net_key_t *key,
                                const net_piece_t *pieces, uint32_t count, size_t nbytes,
                                const gasnetc_sent_t *sent)
{
    net_qp_t *qp = net_ib_select_qp(peer, NET_UNORDERED);
    net_slot_t *slot = net_ib_slot(&qp->send_ring);
    if (!slot) return net_ib_busy(peer, qp);
    qp->puts++;
    qp->put_bytes += nbytes;
    qp->puts_not_inlined++;
    net_ib_enqueue(&qp->send_ring, slot, NET_OP_PUT, sent);
    hca_send_target(&qp->send, dst, net_ib_rkey(qp, key));
    lists_post(qp, HCA_WRITE, pieces, count);
    return NET_POSTED;
}

enum net_result net_ib_get_list(net_peer_t *peer, const net_piece_t *pieces, uint32_t count,
                                uint64_t src, const net_key_t *key, size_t nbytes,
                                const gasnetc_sent_t *sent)
{
    net_qp_t *qp = net_ib_select_qp(peer, NET_UNORDERED);
    net_slot_t *slot = net_ib_slot(&qp->send_ring);
    if (!slot) return net_ib_busy(peer, qp);
    qp->gets++;
    qp->get_bytes += nbytes;
    net_ib_enqueue(&qp->send_ring, slot, NET_OP_GET, sent);
    hca_send_target(&qp->send, src, net_ib_rkey(qp, key));
    lists_post(qp, HCA_READ, pieces, count);
    return NET_POSTED;
}
