/* connect.c - queue pairs: made one per peer, joined by addresses that the bootstrap carried.
 *
 * Called at start-up and at the end, and for the rare system message, which has its own slots in
 * every send queue and its own buffers in every receive queue.
 */
#include <stdlib.h>

#include "core/ib/rail.h"
#include "core/params.h"
#include "core/report.h"

/* What net_connect needs for each queue pair. */
static struct {
    uint32_t send_depth, recv_depth, recv_prepost, ring_size;
    net_peer_t **made; /* for net_ib_connect_fini */
    uint32_t count;
} plan;

static hca_qp_t make_qp(uint32_t *inline_max)
{
    return hca_qp_create(net_ib_rail.pd, net_ib.send_cq, net_ib.recv_cq, plan.send_depth,
                         plan.recv_depth, inline_max);
}

/* Devices tell their inline limit only by refusing queue pairs that ask for more. */
static void settle_inline(void)
{
    static const uint32_t steps[] = {1024, 512, 384, 256, 192, 128, 96, 72, 48, 32, 16, 0};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint32_t wanted = net_ib.inline_max < steps[i] ? net_ib.inline_max : steps[i];
        uint32_t granted = wanted;
        hca_qp_t probe = make_qp(&granted);
        if (!probe) continue;
        hca_qp_destroy(probe);
        net_ib.inline_max = granted < net_ib.inline_max ? granted : net_ib.inline_max;
        return;
    }
    gasneti_fatal("%s: cannot create a queue pair with %u send and %u receive entries: %s; lower "
                  "GASNET_NETWORKDEPTH_PP or GASNET_AM_CREDITS_PP",
                  net_ib_rail.name, plan.send_depth, plan.recv_depth, strerror(errno));
}

void net_ib_connect_init(uint32_t peers, uint32_t send_depth, uint32_t recv_depth,
                         uint32_t recv_prepost)
{
    plan.send_depth = send_depth;
    plan.recv_depth = recv_depth;
    plan.recv_prepost = recv_prepost;
    plan.ring_size = 1;
    while (plan.ring_size < send_depth) plan.ring_size *= 2;
    plan.made = calloc(peers, sizeof *plan.made);
    if (!plan.made) gasneti_fatal("out of memory for %u peers", peers);
    settle_inline();
}

size_t net_address_size(void)
{
    return sizeof(hca_far_t);
}

/* IB-C7: 0 is the device's maximum. */
static uint8_t rd_atom(void)
{
    int64_t most = net_ib_rail.limits.max_rd_atom ? net_ib_rail.limits.max_rd_atom : 1;
    int64_t wanted = gasnetc_params.qp_rd_atom;
    if (wanted == 0 || wanted > most) wanted = most;
    return (uint8_t)(wanted > 255 ? 255 : wanted);
}

void net_address(net_peer_t *peer, void *address)
{
    uint32_t inline_max = net_ib.inline_max;
    peer->qp = make_qp(&inline_max);
    peer->ring = calloc(plan.ring_size, sizeof *peer->ring);
    if (!peer->qp || !peer->ring)
        gasneti_fatal("%s: cannot create the queue pair for rank %u: %s; lower "
                      "GASNET_NETWORKDEPTH_PP, or run fewer processes",
                      net_ib_rail.name, peer->rank, strerror(errno));
    plan.made[plan.count++] = peer;
    peer->mask = plan.ring_size - 1;
    hca_send_init(&peer->send, (uintptr_t)peer);
    hca_far_t far = {.qp_number = hca_qp_number(peer->qp),
                     .lid = net_ib_rail.port.lid,
                     .mtu = net_ib_rail.port.mtu,
                     .rd_atom = rd_atom()};
    memcpy(far.gid, net_ib_rail.port.gid, sizeof far.gid);
    memcpy(address, &far, sizeof far);
}

void net_connect(net_peer_t *peer, const void *address)
{
    hca_far_t far;
    memcpy(&far, address, sizeof far);
    /* What both ends can do. */
    uint8_t mtu = far.mtu < net_ib_rail.port.mtu ? far.mtu : net_ib_rail.port.mtu;
    uint32_t reads = net_ib_rail.limits.max_init_rd_atom;
    if (reads > far.rd_atom) reads = far.rd_atom;
    int error = hca_qp_to_init(peer->qp, net_ib_rail.port_number);
    for (uint32_t i = 0; !error && i < plan.recv_prepost; i++)
        net_ib_recv_post(peer, net_ib_recv_pop());
    if (!error)
        error = hca_qp_to_rtr(peer->qp, net_ib_rail.port_number, &net_ib_rail.port, &far, mtu,
                              rd_atom());
    if (!error)
        error = hca_qp_to_rts(peer->qp, (uint8_t)gasnetc_params.qp_timeout,
                              (uint8_t)gasnetc_params.qp_retry_count, (uint8_t)reads);
    if (error)
        gasneti_fatal("%s: cannot connect to rank %u (LID %u, QP %u): %s", net_ib_rail.name,
                      peer->rank, far.lid, far.qp_number, strerror(error));
}

void net_ib_connect_fini(void)
{
    for (uint32_t i = 0; i < plan.count; i++) {
        hca_qp_destroy(plan.made[i]->qp);
        free(plan.made[i]->ring);
        plan.made[i]->qp = NULL;
    }
    free(plan.made);
    plan.made = NULL;
    plan.count = 0;
}

bool net_quiet(void)
{
    for (uint32_t i = 0; i < plan.count; i++)
        if (atomic_load(&plan.made[i]->head) != atomic_load(&plan.made[i]->tail)) return false;
    return true;
}

enum net_result net_sys(net_peer_t *peer, uint64_t word0, uint64_t word1)
{
    uint64_t words[2] = {word0, word1};
    if (net_ib_ring_full(peer, plan.send_depth)) return NET_BUSY;
    bool captured = net_ib.inline_max >= sizeof words;
    /* A device without inline sends: the words wait in a receive buffer, which is not given back;
     * a job ends only once. */
    net_recv_t *bounce = captured ? NULL : net_ib_recv_pop();
    if (!captured && !bounce) return NET_BUSY;
    hca_local_t local = {.data = words, .length = sizeof words, .captured = captured};
    if (bounce) {
        memcpy(bounce->message.data, words, sizeof words);
        local.data = bounce->message.data;
        local.lkey = net_ib.recv_region.lkey;
    }
    net_ib_enqueue(peer, NET_OP_SYS, &(gasnetc_sent_t){.counter = NULL});
    int error = hca_message_marked(peer->qp, &peer->send, local);
    if (error) net_ib_post_failed(peer, "system message", error);
    return NET_POSTED;
}
