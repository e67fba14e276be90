/* connect.c - queue pairs: created for a peer, and joined to the peer's by addresses that the
 * bootstrap or handshakes have exchanged.
 *
 * Called at start-up and at the end, and by connect_on_demand.c when a peer is first used.
 */
#include "core/ib/connect.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/ib/srq.h"
#include "core/ib/system_messages.h"
#include "core/log.h"
#include "core/params/params.h"
#include "core/report.h"
#include "other/base/clock.h"

/* Sent to each peer at start-up: the queue pairs for that peer. */
typedef struct address {
    uint32_t qps;
    net_ib_remote_rings_t rings;
    net_ib_end_t end[];
} address_t;

/* The settings by which queue pairs are created and connected. */
static struct {
    struct net_ib_depths depths;
    uint32_t replies_left; /* buffers of depths.replies_in_all that are not allocated yet */
    uint32_t psn;
    net_peer_t **peer; /* all that may be connected */
    uint32_t peers;
    net_peer_t *_Atomic self; /* the record of this rank, if it is connected to itself */
} plan;

/* A send ring of one slot: full, although nothing is in flight. */
static net_slot_t nothing = {.next = &nothing};
net_qp_t net_ib_closed = {.send_ring = {.free = &nothing, .oldest = &nothing},
                          .next = &net_ib_closed,
                          .system = {.free = &nothing, .oldest = &nothing}};

static const struct net_ib_rail *rail_of(uint32_t index)
{
    return &net_ib_rails.rail[index % net_ib_rails.rails];
}

/* The index of the queue pair for Active Messages: both ends choose the same one, and pairs of
 * peers differ. */
static uint32_t am_index(const net_qp_t *first, const net_ib_end_t *ends, uint32_t qps)
{
    return (first->qp->qp_num + ends[0].remote.qp_number) % qps;
}

static hca_qp_t connect_make_qp(uint32_t hca, uint32_t recv_depth, uint32_t list,
                                uint32_t *inline_max)
{
    return hca_qp_create(net_ib_rails.hca[hca].pd, HCA_CONNECTED, net_ib.send_cq[hca],
                         net_ib.recv_cq[hca], net_ib_shared_queue(hca), plan.depths.send,
                         recv_depth, list, inline_max);
}

/* Sets net_ib.inline_max to what the device grants.  A device reports its inline limit only by
 * refusing queue pairs that ask for more. */
static void settle_inline(uint32_t hca)
{
    static const uint32_t steps[] = {1024, 512, 384, 256, 192, 128, 96, 72, 48, 32, 16, 0};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint32_t wanted = net_ib.inline_max < steps[i] ? net_ib.inline_max : steps[i];
        uint32_t granted = wanted;
        hca_qp_t probe = connect_make_qp(hca, plan.depths.am_recv, 1, &granted);
        if (!probe) continue;
        hca_destroy(probe);
        net_ib.inline_max = granted < net_ib.inline_max ? granted : net_ib.inline_max;
        return;
    }
    gasneti_fatal("%s: cannot create a queue pair with %u send and %u receive entries: %s; lower "
                  "GASNET_NETWORKDEPTH_PP or GASNET_AM_CREDITS_PP%s",
                  net_ib_rails.hca[hca].name, plan.depths.send, plan.depths.am_recv,
                  strerror(errno), net_ib_memlock_advice(errno));
}

/* Sets net_ib.list_max (lists.c) to what all devices grant without making inline sends shorter. */
static void settle_lists(void)
{
    net_ib.list_max = net_ib_lists_wanted();
    for (uint32_t hca = 0; hca < net_ib.hcas && net_ib.list_max > 1;) {
        uint32_t granted = net_ib.inline_max;
        hca_qp_t probe = connect_make_qp(hca, plan.depths.am_recv, net_ib.list_max, &granted);
        if (probe) hca_destroy(probe);
        if (probe && granted >= net_ib.inline_max)
            hca++;
        else
            net_ib.list_max /= 2;
    }
    if (net_ib.list_max < 1) net_ib.list_max = 1;
}

void net_ib_connect_init(uint32_t peers, const struct net_ib_depths *depths)
{
    plan.depths = *depths;
    plan.replies_left = depths->replies_in_all;
    plan.psn = (uint32_t)(gasneti_clock() * 1e6 + getpid()) & 0xffffff;
    plan.peer = calloc(peers, sizeof *plan.peer);
    if (!plan.peer) gasneti_fatal("out of memory for %u peers", peers);
    for (uint32_t i = 0; i < net_ib.hcas; i++) settle_inline(i);
    settle_lists();
}

size_t net_address_size(void)
{
    /* Rounded up, so that each address of an array is aligned. */
    size_t size = sizeof(address_t) + net_ib_rails.qps * sizeof(net_ib_end_t),
           unit = _Alignof(address_t);
    return (size + unit - 1) / unit * unit;
}

/* RDMA reads that this process serves for each queue pair (IB-C7); 0 is the device's maximum. */
static uint8_t rd_atom(void)
{
    int64_t most = net_ib_rails.limits.max_rd_atom ? net_ib_rails.limits.max_rd_atom : 1;
    int64_t wanted = gasnetc_params.qp_rd_atom;
    if (wanted == 0 || wanted > most) wanted = most;
    return (uint8_t)(wanted > 255 ? 255 : wanted);
}

/* Makes a send ring of `depth` + 1 slots: the extra slot distinguishes a full ring from an empty
 * one.  The ring is full until open_send_ring. */
static void init_send_ring(net_send_ring_t *send_ring, net_peer_t *peer, net_slot_t *slots,
                           uint32_t depth)
{
    for (uint32_t i = 0; i <= depth; i++) slots[i] = (net_slot_t){.next = &slots[i + 1]};
    slots[0].next = slots;
    slots[depth].next = NULL;
    *send_ring = (net_send_ring_t){.free = slots, .oldest = slots, .peer = peer};
}

/* Release store: pairs with the acquire load in net_ib_send_ring_slot. */
static void open_send_ring(net_send_ring_t *send_ring)
{
    net_slot_t *first = atomic_load_explicit(&send_ring->free, memory_order_relaxed);
    atomic_store_explicit(&send_ring->unused, first + 1, memory_order_release);
}

/* Creates a queue pair with the receive depth for AMs: each may become the one for AMs, which is
 * chosen when the peer's number of queue pairs is known.
 */
static net_qp_t *add_qp(net_peer_t *peer, uint32_t index)
{
    uint32_t inline_max = net_ib.inline_max;
    const uint32_t depth = net_ib.depth, slots = depth + 1 + NET_IB_SYS_SLOTS + 1;
    net_qp_t *qp = NULL;
    if (posix_memalign((void **)&qp, 64, sizeof *qp + slots * sizeof *qp->slots) == 0) {
        *qp = (net_qp_t){.local_hca = rail_of(index)->hca};
        init_send_ring(&qp->send_ring, peer, qp->slots, depth);
        init_send_ring(&qp->system, peer, qp->slots + depth + 1, NET_IB_SYS_SLOTS);
        qp->qp = connect_make_qp(qp->local_hca, plan.depths.am_recv, net_ib.list_max, &inline_max);
    }
    if (!qp || !qp->qp)
        net_ib_cannot_connect(peer->rank, net_ib_rails.hca[rail_of(index)->hca].name,
                              "no queue pair", qp ? errno : ENOMEM);
    hca_send_init(&qp->send, (uintptr_t)&qp->send_ring);
    return qp;
}

void net_ib_expect(net_peer_t *peer)
{
    atomic_store_explicit(&peer->am, &net_ib_closed, memory_order_release);
    peer->next_qp = &net_ib_closed;
    plan.peer[plan.peers++] = peer;
}

net_qp_t *net_ib_make_qps(net_peer_t *peer)
{
    net_qp_t *first = add_qp(peer, 0), *last = first;
    for (uint32_t i = 1; i < net_ib_rails.qps; i++) last = last->next = add_qp(peer, i);
    last->next = first;
    return first;
}

net_ib_end_t net_ib_end(const struct net_ib_rail *rail, uint32_t qp_number)
{
    return (net_ib_end_t){.device = rail->hca,
                          .remote = {.qp_number = qp_number,
                                     .psn = plan.psn,
                                     .lid = rail->port.lid,
                                     .mtu = rail->port.mtu,
                                     .rd_atom = rd_atom(),
                                     .gids = rail->gids.offer}};
}

void net_address(net_peer_t *peer, void *opaque)
{
    address_t *address = opaque;
    net_ib_expect(peer);
    net_qp_t *qp = peer->next_qp = net_ib_make_qps(peer);
    address->qps = net_ib_rails.qps;
    address->rings = net_ib_rings_address();
    for (uint32_t i = 0; i < address->qps; i++, qp = qp->next)
        address->end[i] = net_ib_end(rail_of(i), qp->qp->qp_num);
}

static void destroy_qp(net_qp_t *qp)
{
    hca_destroy(qp->qp);
    free(qp);
}

/* Destroys all queue pairs but `count`: the peer has no more. */
static void keep_qps(net_qp_t *first, uint32_t count)
{
    net_qp_t *last = first;
    for (uint32_t i = 1; i < count; i++) last = last->next;
    while (last->next != first) {
        net_qp_t *extra = last->next;
        last->next = extra->next;
        destroy_qp(extra);
    }
}

void net_ib_destroy_qps(net_qp_t *first)
{
    keep_qps(first, 1);
    destroy_qp(first);
}

/* Moves a queue pair to RTR, again after a time-out of the route.  Returns 0 or an errno. */
static int step_to_rtr(hca_qp_t qp, const hca_setup_t *setup)
{
    int error = ETIMEDOUT;
    for (int i = 0; i < NET_IB_ROUTE_TRIES && net_ib_route_timed_out(error); i++)
        error = hca_qp_step(qp, HCA_CONNECTED, HCA_RTR, setup);
    return error;
}

static void post_recvs(net_peer_t *peer, net_qp_t *qp, net_recv_t *recvs)
{
    for (net_recv_t *next; recvs; recvs = next) {
        next = recvs->next;
        net_ib_recv_post(peer, qp, recvs);
    }
}

/* Connects a queue pair to the peer's end.  `recvs`: receive buffers to be posted before the peer
 * may send. */
static void connect_join(net_qp_t *qp, const struct net_ib_rail *rail, const net_ib_end_t *end,
                         net_recv_t *recvs)
{
    net_peer_t *peer = qp->send_ring.peer;
    const hca_remote_t *remote = &end->remote;
    /* The MTU of a connection is the smaller one of its ends. */
    uint8_t mtu = remote->mtu < rail->port.mtu ? remote->mtu : rail->port.mtu;
    uint32_t reads = net_ib_rails.limits.max_init_rd_atom;
    if (reads > remote->rd_atom) reads = remote->rd_atom;
    hca_setup_t setup = {.port = rail->number,
                         .pkey_index = (uint16_t)gasnetc_params.pkey_index,
                         .qp_number = remote->qp_number,
                         .remote_psn = remote->psn,
                         .psn = plan.psn,
                         .mtu = mtu,
                         .timeout = (uint8_t)gasnetc_params.qp_timeout,
                         .retries = (uint8_t)gasnetc_params.qp_retry_count,
                         .dest_rd_atomic = rd_atom(),
                         .rd_atomic = (uint8_t)reads,
                         .atomics = net_ib.atomics};
    if (!net_ib_route(rail, remote, &setup.route)) net_ib_no_route(peer->rank, rail, remote);
    qp->remote_hca = end->device;
    int error = hca_qp_step(qp->qp, HCA_CONNECTED, HCA_INIT, &setup);
    if (!error) post_recvs(peer, qp, recvs);
    if (!error) error = step_to_rtr(qp->qp, &setup);
    if (!error) error = hca_qp_step(qp->qp, HCA_CONNECTED, HCA_RTS, &setup);
    if (!error) return;
    char what[80 + NET_IB_ROUTE_TEXT], path[NET_IB_ROUTE_TEXT];
    snprintf(what, sizeof what, "its queue pair %u at %s is refused", remote->qp_number,
             net_ib_route_text(rail, remote, path));
    net_ib_cannot_reach(peer->rank, rail, remote, what, error);
}

/* Makes the receive buffers for one peer.  Returns those to be posted at once; the peer's part of
 * the buffers for Replies is handed over to the threads that send Requests (net_ib_recv_more). */
static net_recv_t *make_recvs(void)
{
    uint32_t replies =
        plan.depths.replies < plan.replies_left ? plan.depths.replies : plan.replies_left;
    plan.replies_left -= replies;
    net_recv_t *first = net_ib_recv_make(plan.depths.am_prepost + replies), *last = first;
    for (uint32_t i = 1; i < plan.depths.am_prepost; i++) last = last->next;
    net_ib_recv_hand_over(last->next);
    last->next = NULL;
    return first;
}

/* Makes a queue pair the one for the peer's Active Messages; returns the receive buffers to be
 * posted to it. */
static net_recv_t *adopt(net_peer_t *peer, net_qp_t *am)
{
    /* Stored before messages can arrive, because delivery posts their buffers to this queue pair.
     */
    atomic_store_explicit(&peer->am, am, memory_order_release);
    if (!net_ib.shared) return make_recvs();
    net_ib_shared_enter(am);
    return NULL;
}

static void set_rings(net_qp_t *am, const net_ib_remote_rings_t *rings)
{
    am->remote_rings = rings->base;
    am->remote_rings_key = rings->key.rkey[NET_IB_HCAS > 1 ? am->remote_hca : 0];
}

void net_ib_join_qps(net_peer_t *peer, net_qp_t *first, const net_ib_end_t *ends, uint32_t count,
                     const net_ib_remote_rings_t *rings)
{
    uint32_t qps = count < net_ib_rails.qps ? count : net_ib_rails.qps;
    keep_qps(first, qps);
    net_qp_t *am = first;
    for (uint32_t i = am_index(first, ends, qps); i > 0; i--) am = am->next;
    net_recv_t *recvs = adopt(peer, am);
    net_qp_t *qp = first;
    for (uint32_t i = 0; i < qps; i++, qp = qp->next)
        connect_join(qp, rail_of(i), &ends[i], qp == am ? recvs : NULL);
    set_rings(am, rings);
}

void net_ib_adopt_qp(net_peer_t *peer, net_qp_t *qp, uint32_t remote_device,
                     const net_ib_remote_rings_t *rings)
{
    qp->remote_hca = remote_device;
    post_recvs(peer, qp, adopt(peer, qp));
    set_rings(qp, rings);
}

/* Makes a queue pair on the first rail whose remote end is the same queue pair: no message arrives
 * by it, only atomics. */
net_qp_t *net_ib_connect_self(net_peer_t *self)
{
    net_qp_t *qp = add_qp(self, 0);
    const net_ib_end_t end = net_ib_end(rail_of(0), qp->qp->qp_num);
    qp->next = qp;
    connect_join(qp, rail_of(0), &end, NULL);
    atomic_store_explicit(&self->am, qp, memory_order_release);
    net_ib_open_qps(self);
    atomic_store(&plan.self, self);
    return qp;
}

net_ib_reads_t net_ib_reads(void)
{
    const uint32_t started = net_ib_rails.limits.max_init_rd_atom;
    return (net_ib_reads_t){.served = rd_atom(),
                            .started = (uint8_t)(started < 255 ? started : 255)};
}

/* Returns a slot to fill, and adds one to the ring, which is full until it opens. */
net_slot_t *net_ib_first_slot(net_send_ring_t *send_ring)
{
    net_slot_t *slot = atomic_load_explicit(&send_ring->free, memory_order_relaxed);
    slot[1].next = slot;
    slot->next = &slot[1];
    return slot;
}

void net_ib_open_qps(net_peer_t *peer)
{
    net_qp_t *const am = peer->am, *qp = am;
    do {
        atomic_store_explicit(&qp->open, true, memory_order_release);
        open_send_ring(&qp->send_ring);
        open_send_ring(&qp->system);
        qp = qp->next;
    } while (qp != am);
    gasneti_info(connect, "connected to %s by %u queue pairs", gasneti_rank_name(peer->rank),
                 net_ib_rails.qps);
}

void net_connect(net_peer_t *peer, const void *opaque)
{
    const address_t *address = opaque;
    net_ib_join_qps(peer, peer->next_qp, address->end, address->qps, &address->rings);
    net_ib_open_qps(peer);
}

uint32_t net_ib_connections(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan.peers; i++)
        count += atomic_load_explicit(&net_ib_am(plan.peer[i])->open, memory_order_relaxed);
    return count;
}

void net_ib_connect_fini(void)
{
    for (uint32_t i = 0; i < plan.peers; i++) {
        net_peer_t *peer = plan.peer[i];
        net_qp_t *am = peer->am;
        if (am != &net_ib_closed) net_ib_destroy_qps(am);
        peer->am = peer->next_qp = &net_ib_closed;
        free(atomic_exchange(&peer->rings, NULL));
    }
    net_peer_t *self = atomic_exchange(&plan.self, NULL);
    if (self) net_ib_destroy_qps(atomic_exchange(&self->am, NULL));
    free(plan.peer);
    plan.peer = NULL;
    plan.peers = 0;
}

static bool send_ring_empty(const net_send_ring_t *send_ring)
{
    return atomic_load(&send_ring->free) == atomic_load(&send_ring->oldest);
}

static bool quiet(const net_peer_t *peer)
{
    const net_qp_t *const am = peer->am, *qp = am;
    do {
        if (!send_ring_empty(&qp->send_ring) || !send_ring_empty(&qp->system)) return false;
        qp = qp->next;
    } while (qp != am);
    return true;
}

bool net_quiet(void)
{
    for (uint32_t i = 0; i < plan.peers; i++)
        if (!quiet(plan.peer[i])) return false;
    const net_peer_t *self = atomic_load(&plan.self);
    return !self || quiet(self);
}
