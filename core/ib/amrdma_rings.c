/* amrdma_rings.c - the rings that Active Messages are written into: their memory, the peers that
 * get one, and the immediate data that report it (IB-R9..R12).
 *
 * The work for each message is inline in network_ib.h; the rules of a ring are in
 * core/rings/amrdma.h, the choice of peers in amrdma_choice.h.  A peer learns that it has a ring by
 * the immediate data of the next message to it.  A rank with a receive thread gives no rings, since
 * a write by RDMA would not wake the thread; nor does a rank on iWARP, which has no immediate
 * data.  Shared-memory peers have rings of core/shm, and no messages by the network.
 *
 * When the poller of a ring sees the trailer, the message must be complete; and when it sees the
 * header of a long message, the payload, which an earlier write brought, must be complete.  No
 * specification guarantees that: an observer that polls memory, and does not wait for a completion,
 * may see the bytes of an RDMA write, and two writes of a queue pair, in any order.  Devices that
 * place packets as they arrive, and a packet from its first byte to its last, keep the order.  So a
 * rank gives rings, which lie in its own memory, only if its device is known to keep the order, or
 * if the user says so (GASNET_AMRDMA_ANY_DEVICE).  Without a ring a message arrives by a send,
 * whose completion covers the message and all writes before it on the queue pair.  A checksum, or a
 * mark in every byte, would make each message verifiable, but would cost both ends a pass over it,
 * which is more than a ring saves.
 *
 * Immediate data: in the upper half 1 + the index of a ring given to the receiver, or 0; in the
 * lower half amrdma_freed of the ring in the other direction.  A system message has
 * NET_IB_SYSTEM instead (system_messages.h).
 */
#include <stdlib.h>

#include "core/ib/amrdma_choice.h"
#include "core/ib/rail.h"
#include "core/ib/software_device.h"
#include "core/params/params.h"
#include "core/report.h"

static amrdma_choice_t choice;
static char *arena;
static net_region_t region;
static gasnetc_ring_t *all;
static bool giving;          /* peers may get rings */
static net_peer_t **senders; /* [ranks]: peers that messages have arrived from */

static void settle_sizes(void)
{
    uint32_t inline_max = net_ib.inline_max & ~7u;
    uint32_t limit = (uint32_t)gasnetc_params.amrdma_limit;
    net_ib.rings = gasnetc_ring_form((uint32_t)gasnetc_params.amrdma_depth, limit);
    /* The trailer is inlined with the message. */
    net_ib.ring_limit_inlined = inline_max < AMRDMA_TRAILER ? 0 : inline_max - AMRDMA_TRAILER;
    if (net_ib.ring_limit_inlined > limit) net_ib.ring_limit_inlined = limit;
}

static void settle_choosing(void)
{
    net_ib.choosing = giving && amrdma_choosing(&choice);
}

static void make_arena(uint32_t count)
{
    const size_t size = gasnetc_ring_bytes(&net_ib.rings);
    arena = net_alloc(count * size);
    if (!arena)
        gasneti_fatal("cannot allocate %zu KB for AMRDMA: %s; lower GASNET_AMRDMA_MAX_PEERS or "
                      "GASNET_AMRDMA_DEPTH",
                      count * size / 1024, strerror(errno));
    if (!net_register(arena, count * size, NET_REMOTE, &region)) {
        char why[256];
        net_explain_register(errno, count * size, why, sizeof why);
        gasneti_fatal("cannot register %zu KB for AMRDMA (GASNET_AMRDMA_MAX_PEERS): %s",
                      count * size / 1024, why);
    }
}

size_t net_ib_rings_bytes(void)
{
    return arena ? choice.max_rings * gasnetc_ring_bytes(&net_ib.rings) : 0;
}

void net_ib_rings_init(uint32_t peers, uint32_t most)
{
    settle_sizes();
    const uint64_t room = net_ib_memlock() / 8, largest = net_ib_rails.limits.max_mr_size;
    const uint64_t places =
        (largest && largest < room ? largest : room) / gasnetc_ring_bytes(&net_ib.rings);
    if (!places || gasnetc_params.rcv_thread || net_ib.wordy) return;
    if (most > places) most = (uint32_t)places;
    choice = (amrdma_choice_t){.cycle = (uint32_t)gasnetc_params.amrdma_cycle, .max_rings = most};
    if (!amrdma_choosing(&choice) || net_ib.rings.limit == 0) return;
    all = calloc(most, sizeof *all);
    choice.peers = peers + 1;
    choice.arrivals = calloc(choice.peers, sizeof *choice.arrivals);
    senders = calloc(choice.peers, sizeof *senders);
    if (!all || !choice.arrivals || !senders) gasneti_fatal("out of memory for %u peers", peers);
    make_arena(most);
    giving = true;
    settle_choosing();
}

void net_ib_rings_fini(void)
{
    net_deregister(&region);
    net_free(arena);
    free(all);
    free(choice.arrivals);
    free(senders);
    arena = NULL;
    all = NULL;
    choice.arrivals = NULL;
    senders = NULL;
    gasnetc_rings = NULL;
    giving = net_ib.choosing = false;
}

net_ib_remote_rings_t net_ib_rings_address(void)
{
    if (!arena) return (net_ib_remote_rings_t){.base = 0};
    return (net_ib_remote_rings_t){.base = (uintptr_t)arena, .key = net_key(&region)};
}

/* The record of the peer's rings, allocated at the first call; poll lock held. */
static net_peer_rings_t *rings_of(net_peer_t *peer)
{
    net_peer_rings_t *rings = atomic_load(&peer->rings);
    if (rings) return rings;
    rings = calloc(1, sizeof *rings);
    if (!rings) gasneti_fatal("out of memory for the record of a ring");
    atomic_store(&peer->rings, rings);
    return rings;
}

/* --- giving a ring to a peer --- */

static void give(net_peer_t *peer)
{
    const uint32_t index = choice.given - 1;
    gasnetc_ring_t *ring = &all[index];
    net_peer_rings_t *rings = rings_of(peer);
    gasnetc_rings_add(ring, &net_ib.rings, arena + index * gasnetc_ring_bytes(&net_ib.rings), peer,
                      NET_IB_SETTLED, NULL, &rings->out);
    atomic_store(&rings->in, &ring->in);
    atomic_store(&rings->offer, index + 1);
    atomic_store(&rings->usual, NULL);
}

/* True if the device of this queue pair places the bytes of a write in order. */
static bool places_in_order(const net_qp_t *qp)
{
    const struct net_ib_hca *hca = &net_ib_rails.hca[qp->local_hca];
    if (gasnetc_params.amrdma_any ||
        (net_ib_is_software(hca->name) ? net_ib_software_in_order()
                                       : hca_in_order(hca->hca, qp->qp)))
        return true;
    gasneti_note("no rings for Active Messages: %s is not known to place the bytes of a write in "
                 "order (GASNET_AMRDMA_ANY_DEVICE)",
                 hca->name);
    return false;
}

static void end_of_cycle(void)
{
    for (int64_t next; giving && (next = amrdma_choose(&choice)) >= 0;) {
        giving = places_in_order(senders[next]->am); /* the result is the same for all peers */
        if (giving)
            give(senders[next]);
        else
            choice.given--;
    }
    settle_choosing();
}

/* Messages that have arrived by rings since the last call.  They count in a cycle too, but are
 * looked at only now and then. */
enum { LOOK_EVERY = 16 };
static uint32_t by_rings(void)
{
    static uint64_t before;
    uint64_t now = 0;
    for (uint32_t i = 0; i < choice.given; i++) now += all[i].in.expected - 1;
    const uint32_t since = (uint32_t)(now - before);
    before = now;
    return since;
}

void net_ib_count_arrival(const net_message_t *message)
{
    net_peer_t *peer = message->peer;
    const net_peer_rings_t *rings = atomic_load(&peer->rings);
    const bool has_ring = rings && atomic_load(&rings->in);
    if (message->length > net_ib.rings.limit || net_ib_is_system(message)) return;
    senders[peer->rank] = peer;
    bool end = amrdma_count_arrival(&choice, has_ring ? AMRDMA_HAS_RING : (int64_t)peer->rank, 1);
    if (choice.total % LOOK_EVERY == 0)
        end = amrdma_count_arrival(&choice, AMRDMA_HAS_RING, by_rings());
    if (end) end_of_cycle();
}

/* Sets `usual` if a ring in the peer's memory is in use and no offer waits.  Another thread may be
 * in give(), which sets `offer` and then clears `usual`: in whichever order these stores happen,
 * `usual` is NULL while an offer waits. */
static void settle_usual(net_peer_rings_t *rings)
{
    static amrdma_released_t nothing;
    static amrdma_in_t no_ring = {.released = &nothing}; /* no message is ever in it */
    amrdma_in_t *in = atomic_load(&rings->in);
    if (atomic_load(&rings->offer) || !atomic_load(&rings->out.slots)) return;
    atomic_store(&rings->usual, in ? in : &no_ring);
    if (atomic_load(&rings->offer)) atomic_store(&rings->usual, NULL);
}

static __attribute__((cold)) void make_offer(net_qp_t *qp, net_peer_rings_t *rings)
{
    qp->send.wr.imm_data |= atomic_exchange(&rings->offer, 0) << 16;
    settle_usual(rings);
}

/* Posts a message with immediate data, because no ring in the peer's memory is in use yet, or
 * because an offer waits.  Offers are removed under the peer's lock alone. */
enum net_result net_ib_unusual_am(net_qp_t *qp, net_slot_t *slot, const void *data, size_t length,
                                  const net_region_t *local, gasnetc_held_t held)
{
    net_peer_t *peer = qp->send_ring.peer;
    net_peer_rings_t *rings = atomic_load(&peer->rings);
    amrdma_in_t *in = atomic_load(&rings->in);
    const uint16_t freed = in ? amrdma_freed(in, GASNETC_RINGS_IN_ORDER) : 0;
    qp->send.wr.imm_data = freed;
    if (atomic_load(&rings->offer) != 0) make_offer(qp, rings);
    return net_ib_post_am(peer, qp, slot, HCA_SEND_IMM, net_ib_local(qp, data, length, local),
                          &(gasnetc_sent_t){.held = held});
}

void net_ib_ring_pad(char *pad, uint32_t length)
{
    memset(pad, 0, length);
}

/* --- a ring that a peer has given --- */

static void take_offer(net_peer_t *peer, uint32_t offer)
{
    const net_qp_t *qp = peer->am;
    net_peer_rings_t *rings = rings_of(peer);
    if (atomic_load(&rings->out.slots) || !qp->remote_rings)
        gasneti_malformed(peer->rank, 0, "offer of a ring");
    rings->end =
        qp->remote_rings + (offer - 1) * gasnetc_ring_bytes(&net_ib.rings) + net_ib.rings.slot;
    rings->rkey = qp->remote_rings_key;
    hca_send_init(&rings->send, (uintptr_t)&qp->send_ring);
    hca_send_target(&rings->send, 0, rings->rkey);
    atomic_store(&rings->out.slots, (uint16_t)(net_ib.rings.mask + 1));
    settle_usual(rings);
}

void net_ib_ring_imm(net_peer_t *peer, uint32_t imm)
{
    net_peer_rings_t *rings = atomic_load(&peer->rings);
    if (rings) amrdma_update_freed(&rings->out, (uint16_t)imm);
    if (imm >> 16) take_offer(peer, imm >> 16);
}
