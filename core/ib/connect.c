/* connect.c - queue pairs: made for each peer, joined by addresses that the bootstrap carried.
 *
 * Called at start-up and at the end, and for the rare system message, which has its own slots in
 * every send queue and its own buffers in every receive queue.
 */
#include <stdlib.h>

#include "core/ib/rail.h"
#include "core/params.h"
#include "core/report.h"

/* What a process tells a peer: its queue pairs for that one. */
typedef struct end {
    uint32_t device; /* index there */
    hca_far_t far;
} end_t;
typedef struct address {
    uint32_t qps;
    net_ib_far_rings_t rings;
    end_t end[];
} address_t;

/* What net_connect needs for each queue pair. */
static struct {
    struct net_ib_depths depths;
    hca_qp_t probe[NET_IB_HCAS]; /* until a peer takes it */
    net_peer_t **made;           /* for net_ib_connect_fini */
    uint32_t count;
} plan;

static const struct net_ib_rail *rail_of(uint32_t index)
{
    return &net_ib_rails.rail[index % net_ib_rails.rails];
}

/* Active Messages go by one queue pair; both ends choose the same, and pairs of peers differ. */
static uint32_t am_index(const net_peer_t *peer, const address_t *address, uint32_t qps)
{
    return (hca_qp_number(peer->turn->qp) + address->end[0].far.qp_number) % qps;
}

static hca_qp_t make_qp(uint32_t hca, uint32_t recv_depth, uint32_t *inline_max)
{
    return hca_qp_create(net_ib_rails.hca[hca].pd, net_ib.send_cq[hca], net_ib.recv_cq[hca],
                         plan.depths.send, recv_depth, inline_max);
}

/* Devices tell their inline limit only by refusing queue pairs that ask for more.  The one that
 * tells it is kept for a peer: freeing what it holds would teach malloc to clear memory that comes
 * cleared from the kernel, for all queue pairs to follow on the software device. */
static void settle_inline(uint32_t hca)
{
    static const uint32_t steps[] = {1024, 512, 384, 256, 192, 128, 96, 72, 48, 32, 16, 0};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint32_t wanted = net_ib.inline_max < steps[i] ? net_ib.inline_max : steps[i];
        uint32_t granted = wanted;
        hca_qp_t probe = make_qp(hca, plan.depths.am_recv, &granted);
        if (!probe) continue;
        plan.probe[hca] = probe;
        net_ib.inline_max = granted < net_ib.inline_max ? granted : net_ib.inline_max;
        return;
    }
    gasneti_fatal("%s: cannot create a queue pair with %u send and %u receive entries: %s; lower "
                  "GASNET_NETWORKDEPTH_PP or GASNET_AM_CREDITS_PP",
                  net_ib_rails.hca[hca].name, plan.depths.send, plan.depths.am_recv,
                  strerror(errno));
}

void net_ib_connect_init(uint32_t peers, const struct net_ib_depths *depths)
{
    plan.depths = *depths;
    plan.made = calloc(peers, sizeof *plan.made);
    if (!plan.made) gasneti_fatal("out of memory for %u peers", peers);
    for (uint32_t i = 0; i < net_ib.hcas; i++) settle_inline(i);
}

size_t net_address_size(void)
{
    /* Addresses lie one after the other, each aligned. */
    size_t size = sizeof(address_t) + net_ib_rails.qps * sizeof(end_t), unit = _Alignof(address_t);
    return (size + unit - 1) / unit * unit;
}

/* IB-C7: 0 is the device's maximum. */
static uint8_t rd_atom(void)
{
    int64_t most = net_ib_rails.limits.max_rd_atom ? net_ib_rails.limits.max_rd_atom : 1;
    int64_t wanted = gasnetc_params.qp_rd_atom;
    if (wanted == 0 || wanted > most) wanted = most;
    return (uint8_t)(wanted > 255 ? 255 : wanted);
}

/* A circle with one slot more than may be in flight, since a full one and an empty one must differ.
 */
static void make_lane(net_lane_t *lane, net_peer_t *peer, net_slot_t *slots, uint32_t depth)
{
    for (uint32_t i = 0; i <= depth; i++) slots[i] = (net_slot_t){.next = &slots[i + 1]};
    slots[0].next = slots;
    slots[depth].next = NULL;
    *lane = (net_lane_t){.free = slots, .oldest = slots, .unused = slots + 1, .peer = peer};
}

/* Which of several queue pairs will carry AMs is known when the peer's number of them is. */
static net_qp_t *add_qp(net_peer_t *peer, uint32_t index)
{
    uint32_t inline_max = net_ib.inline_max;
    const uint32_t depth = net_ib.depth, slots = depth + 1 + NET_IB_SYS_SLOTS + 1;
    net_qp_t *qp = NULL;
    if (posix_memalign((void **)&qp, 64, sizeof *qp + slots * sizeof *qp->slots) == 0) {
        *qp = (net_qp_t){.here = rail_of(index)->hca};
        make_lane(&qp->lane, peer, qp->slots, depth);
        make_lane(&qp->system, peer, qp->slots + depth + 1, NET_IB_SYS_SLOTS);
        qp->qp = plan.probe[qp->here] ? plan.probe[qp->here]
                                      : make_qp(qp->here, plan.depths.am_recv, &inline_max);
        plan.probe[qp->here] = NULL;
    }
    if (!qp || !qp->qp)
        gasneti_fatal("%s: cannot create the queue pair for rank %u: %s; lower "
                      "GASNET_NETWORKDEPTH_PP, or run fewer processes",
                      net_ib_rails.hca[rail_of(index)->hca].name, peer->rank, strerror(errno));
    hca_send_init(&qp->send, (uintptr_t)&qp->lane);
    return qp;
}

static end_t describe(const net_qp_t *qp, const struct net_ib_rail *rail)
{
    end_t end = {.device = rail->hca,
                 .far = {.qp_number = hca_qp_number(qp->qp),
                         .lid = rail->port.lid,
                         .mtu = rail->port.mtu,
                         .rd_atom = rd_atom()}};
    memcpy(end.far.gid, rail->port.gid, sizeof end.far.gid);
    return end;
}

void net_address(net_peer_t *peer, void *opaque)
{
    address_t *address = opaque;
    net_qp_t **link = &peer->turn;
    address->qps = net_ib_rails.qps;
    address->rings = net_ib_rings_address();
    for (uint32_t i = 0; i < address->qps; i++) {
        *link = add_qp(peer, i);
        address->end[i] = describe(*link, rail_of(i));
        link = &(*link)->next;
    }
    *link = peer->turn;
    plan.made[plan.count++] = peer;
}

static void destroy_qp(net_qp_t *qp)
{
    hca_qp_destroy(qp->qp);
    free(atomic_load(&qp->rings));
    free(qp);
}

/* The peer has fewer: the circle becomes as small. */
static void keep_qps(net_peer_t *peer, uint32_t count)
{
    net_qp_t *last = peer->turn;
    for (uint32_t i = 1; i < count; i++) last = last->next;
    while (last->next != peer->turn) {
        net_qp_t *extra = last->next;
        last->next = extra->next;
        destroy_qp(extra);
    }
}

static void join(net_qp_t *qp, const struct net_ib_rail *rail, const end_t *end)
{
    net_peer_t *peer = qp->lane.peer;
    const hca_far_t *far = &end->far;
    /* What both ends can do. */
    uint8_t mtu = far->mtu < rail->port.mtu ? far->mtu : rail->port.mtu;
    uint32_t reads = net_ib_rails.limits.max_init_rd_atom;
    if (reads > far->rd_atom) reads = far->rd_atom;
    qp->there = end->device;
    int error = hca_qp_to_init(qp->qp, rail->number);
    for (uint32_t i = 0; !error && qp == peer->am && i < plan.depths.am_prepost; i++)
        net_ib_recv_post(peer, net_ib_recv_pop());
    if (!error) error = hca_qp_to_rtr(qp->qp, rail->number, &rail->port, far, mtu, rd_atom());
    if (!error)
        error = hca_qp_to_rts(qp->qp, (uint8_t)gasnetc_params.qp_timeout,
                              (uint8_t)gasnetc_params.qp_retry_count, (uint8_t)reads);
    if (error)
        gasneti_fatal("%s: cannot connect to rank %u (LID %u, QP %u): %s",
                      net_ib_rails.hca[rail->hca].name, peer->rank, far->lid, far->qp_number,
                      strerror(error));
}

void net_connect(net_peer_t *peer, const void *opaque)
{
    const address_t *address = opaque;
    uint32_t qps = address->qps < net_ib_rails.qps ? address->qps : net_ib_rails.qps;
    keep_qps(peer, qps);
    peer->am = peer->turn;
    for (uint32_t i = am_index(peer, address, qps); i > 0; i--) peer->am = peer->am->next;
    peer->am->far_rings = address->rings.base;
    net_qp_t *qp = peer->turn;
    for (uint32_t i = 0; i < qps; i++, qp = qp->next) join(qp, rail_of(i), &address->end[i]);
    peer->am->far_rings_key = address->rings.key.rkey[NET_IB_HCAS > 1 ? peer->am->there : 0];
}

uint32_t net_ib_connections(void)
{
    return plan.count;
}

void net_ib_connect_fini(void)
{
    for (uint32_t i = 0; i < plan.count; i++) {
        net_peer_t *peer = plan.made[i];
        keep_qps(peer, 1);
        destroy_qp(peer->turn);
        peer->turn = peer->am = NULL;
    }
    for (uint32_t i = 0; i < net_ib.hcas; i++) {
        if (plan.probe[i]) hca_qp_destroy(plan.probe[i]);
        plan.probe[i] = NULL;
    }
    free(plan.made);
    plan.made = NULL;
    plan.count = 0;
}

static bool lane_quiet(const net_lane_t *lane)
{
    return atomic_load(&lane->free) == atomic_load(&lane->oldest);
}

static bool quiet(const net_peer_t *peer)
{
    const net_qp_t *qp = peer->turn;
    do {
        if (!lane_quiet(&qp->lane) || !lane_quiet(&qp->system)) return false;
        qp = qp->next;
    } while (qp != peer->turn);
    return true;
}

bool net_quiet(void)
{
    for (uint32_t i = 0; i < plan.count; i++)
        if (!quiet(plan.made[i])) return false;
    return true;
}

enum net_result net_sys(net_peer_t *peer, uint64_t word0, uint64_t word1)
{
    uint64_t words[2] = {word0, word1};
    net_qp_t *qp = peer->am;
    net_slot_t *slot = net_ib_lane_slot(&qp->system);
    if (!slot) return NET_BUSY;
    bool captured = net_ib.inline_max >= sizeof words;
    /* A device without inline sends: the words wait in a receive buffer, which is not given back;
     * a job ends only once. */
    net_recv_t *bounce = captured ? NULL : net_ib_recv_pop();
    if (!captured && !bounce) return NET_BUSY;
    hca_local_t local = {.data = words, .length = sizeof words, .captured = captured};
    if (bounce) {
        memcpy(bounce->message.data, words, sizeof words);
        local.data = bounce->message.data;
        local.lkey = net_ib.recv_region.lkey[qp->here];
    }
    if (net_ib.total_limited) atomic_fetch_add(&net_ib.in_flight, 1);
    net_ib_enqueue(&qp->system, slot, NET_OP_SYS, &(gasnetc_sent_t){.counter = NULL});
    hca_send_t send;
    hca_send_init(&send, (uintptr_t)&qp->system);
    hca_send_word(&send, (uint32_t)NET_IB_SYSTEM);
    int error = hca_post(qp->qp, &send, HCA_MESSAGE_MARKED, local);
    if (error) net_ib_post_failed(peer, "system message", error);
    return NET_POSTED;
}
