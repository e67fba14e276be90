/* system_messages.c - system messages in both directions: posting them, and releasing those that
 * have arrived.
 *
 * Called by the exit engine (net_sys) and by the delivery (net_release_system).  A system message
 * needs no credit: its send ring and its receive buffers serve no other messages.
 */
#include "core/ib/system_messages.h"

#include "core/ib/rail.h"
#include "core/ib/srq.h"

/* Where the device does not inline: a receive buffer that holds the two words until the send has
 * completed.  It does not return to the free list, since a job ends only once. */
static net_recv_t *take_bounce_buffer(void)
{
    net_recv_t *bounce = net_ib_recv_pop();
    if (!bounce) bounce = net_ib_recv_more();
    if (!bounce && net_ib.shared) bounce = net_ib_recv_make(1); /* few are spare there */
    return bounce;
}

enum net_result net_sys(net_peer_t *peer, uint64_t word0, uint64_t word1)
{
    const uint64_t words[2] = {word0, word1};
    net_qp_t *qp = peer->am;
    net_slot_t *slot = net_ib_send_ring_slot(&qp->system);
    if (!slot) return net_ib_busy(peer, qp);
    hca_local_t local = {.data = words, .length = sizeof words};
    local.inlined = net_ib.inline_max >= sizeof words;
    if (!local.inlined) {
        net_recv_t *bounce = take_bounce_buffer();
        if (!bounce) return NET_NO_REPLY_BUF;
        local.data = memcpy(bounce->message.data, words, sizeof words);
        local.lkey = bounce->region->lkey[qp->local_hca];
    }
    if (net_ib.total_limited) atomic_fetch_add(&net_ib.in_flight, 1);
    net_ib_enqueue(&qp->system, slot, NET_OP_SYS, &(gasnetc_sent_t){.counter = NULL});
    hca_send_t send;
    hca_send_init(&send, (uintptr_t)&qp->system);
    send.wr.imm_data = (uint32_t)NET_IB_SYSTEM;
    int error = hca_post(qp->qp, &send, HCA_SEND_IMM, local);
    if (error) net_ib_post_failed(qp, "a system message", error);
    return NET_POSTED;
}

/* Posts the receive buffer again: as many as were set aside stay posted. */
void net_release_system(net_message_t *message)
{
    net_recv_t *recv = (net_recv_t *)message;
    message->system = false;
    if (net_ib.shared) {
        net_spare_t spare = {NULL};
        message->mark |= NET_IB_REQUEST; /* not a Reply, the release of which is counted */
        net_ib_release_settled(recv, &spare);
        net_spare_back(&spare);
    } else {
        net_ib_recv_post(message->peer, recv->qp, recv);
    }
}
