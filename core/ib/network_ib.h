/* network_ib.h - the types and hot calls of network.h for the InfiniBand pair (ibv, vapi).
 *
 * Included by core/network.h alone.  A reliable queue pair completes work requests in the order
 * posted, so the operations in flight to a peer are a send ring of slots: the poster moves one end,
 * the reaper the other, and no slot is ever allocated or searched for.  Start-up, registration and
 * errors are in this folder's .c files.
 */
#pragma once

#include <stdlib.h>

#define NET_HAS_LISTS
#define NET_HAS_READY
#define NET_HAS_ATOMICS

#include "core/ib/system_messages.h"
#include "core/network_defaults.h"
#include "core/report.h"
#include "core/rings/local_rings.h"

/* configure defines NET_IB_HCAS, the most devices that a process uses, and NET_IB_POLL_LOCK. */

#define NET_BUFFERS          0
#define NET_HAS_FLOW_CONTROL 0

enum {
    NET_STACK_MESSAGE = 512,
    NET_DELIVER_MAX = 16, /* messages that a poll takes; from a ring poll.c takes half as many */
    NET_PAIRS_LONGS = 0,
    NET_REAP_TELLS = 0,
};

struct net_region {
    hca_mr_t mr[NET_IB_HCAS];
    uint32_t lkey[NET_IB_HCAS];
};

struct net_key {
    uint32_t rkey[NET_IB_HCAS]; /* by device of the owner */
};

enum net_operation { NET_OP_PUT, NET_OP_GET, NET_OP_AM, NET_OP_SYS, NET_OP_ATOMIC };

/* One slot of a send ring: an operation in flight.  In a free slot sent.held is 0. */
typedef struct net_slot {
    gasnetc_sent_t sent;
    enum net_operation operation; /* for error messages */
    struct net_slot *next;
} net_slot_t;

/* Operations that complete in the order posted, with a limit of their own: the slots. */
typedef struct net_send_ring {
    net_slot_t *_Atomic free;   /* the next to fill; moved under the peer's lock */
    net_slot_t *_Atomic oldest; /* in flight unless equal to `free`; moved under the poll lock */
    net_slot_t *_Atomic unused; /* slots outside the send ring; under the peer's lock once open */
    net_peer_t *peer;
} net_send_ring_t;

/* The rings of one peer: one may be in its memory, one in local memory.  Made with the first of
 * them, under the poll lock.  The atomic fields are
 * stored last, with release: a thread that loads one finds the fields that belong to it. */
typedef struct net_peer_rings {
    amrdma_out_t out;
    uint64_t end;              /* end address of the first slot in the peer's memory */
    uint32_t rkey;             /* rkey of the peer's memory */
    hca_send_t send;           /* the work request for inlined messages; its address is filled in */
    _Atomic uint32_t offer;    /* 1 + index of the local ring, until it is reported by a message */
    _Atomic(amrdma_in_t *) in; /* of the local ring, or NULL */
    /* Not NULL while `out` is in use and no offer waits: `in`, or a ring that stays empty. */
    _Atomic(amrdma_in_t *) usual;
} net_peer_rings_t;

/* One queue pair.  The queue pairs of a peer form a cyclic list, which unordered transfers go
 * round. */
typedef struct net_qp {
    net_send_ring_t send_ring;      /* of all operations but system messages */
    uint32_t local_hca, remote_hca; /* indices of the devices of both ends */
    /* Totals, for reports.  Fields that are counted together are not adjacent, because compilers
     * would add to both by slower vector instructions. */
    uint64_t puts, gets, put_bytes, puts_not_inlined, get_bytes;
    hca_qp_t qp;
    struct net_qp *next;
    uint64_t remote_rings;     /* address of the rings that the peer can give */
    uint32_t remote_rings_key; /* the rings' rkey on this queue pair's remote device */
    hca_send_t send;           /* refilled for each post */
    _Atomic bool open;         /* connected at both ends */
    net_send_ring_t system;    /* of system messages */
    net_slot_t slots[];        /* of both send rings */
} net_qp_t;

/* The queue pair of a peer that is not connected is net_ib_closed, whose send rings are full; the
 * send rings of its own queue pairs are full until they open.  So the hot paths do not test whether
 * a peer is connected.  The thread that connects (connect_on_demand.c, or start-up) stores `am`,
 * and each send ring's `unused` when it opens, with release; `next_qp` belongs to the poster, under
 * the peer's lock.  The receive path finds the queue pair by the completion and does not read this
 * record.
 */
struct net_peer {
    uint32_t rank;
    net_qp_t *_Atomic am;              /* for all Active Messages, in both directions */
    net_qp_t *next_qp;                 /* for the next unordered transfer */
    _Atomic(net_peer_rings_t *) rings; /* NULL: the peer has no rings */
};

static inline net_qp_t *net_ib_am(net_peer_t *peer)
{
    return atomic_load_explicit(&peer->am, memory_order_acquire);
}

#include "core/ib/qp_select.h"

/* Bits of net_message_t.mark.  A message without any has used up a receive buffer of its peer. */
enum {
    NET_IB_SETTLED = 1, /* no buffer is to be posted for it: it arrived by a ring, was moved, or
                           the queue is shared and another buffer was posted already */
    NET_IB_REQUEST = 2  /* with NET_IB_SETTLED: a Request, for which net_refill was called */
};

/* The descriptor of a receive buffer, or of a message that was moved to ordinary memory. */
typedef struct net_recv {
    net_message_t message; /* first */
    bool moved;
    struct net_recv *next; /* in the list of spares */
    const net_region_t *region;
    const net_qp_t *qp; /* posted to last, unless the queue is shared */
    hca_recv_t post;
} net_recv_t;

struct net_spare {
    net_recv_t *recv; /* one buffer; with a shared queue, a list of all released in this poll */
};

/* The state of the network in this process. */
struct net_ib {
    hca_cq_t send_cq[NET_IB_HCAS], recv_cq[NET_IB_HCAS];
    uint32_t hcas;
    bool indirect;  /* several devices, a shared queue or iWARP: receive buffers take the general
                       path */
    bool wordy;     /* iWARP, without immediate data: words are in messages (system_messages.h) */
    bool atomics;   /* peers' atomics may change memory of this process */
    bool shared;    /* all peers share one receive queue for each device (srq.c) */
    uint32_t depth; /* ordinary operations in flight per queue pair */
    uint32_t inline_max;
    uint32_t list_max;      /* pieces of local memory in one put */
    uint32_t buffer_size;   /* of a receive buffer */
    net_recv_t *free_recvs; /* unposted receive buffers */
    gasneti_lock_t recv_lock;
    bool total_limited; /* the send CQ is shallower than all send rings together */
    uint32_t total_depth;
    _Atomic uint32_t in_flight; /* kept only when total_limited */
    /* Rings (amrdma_rings.c). */
    gasnetc_ring_form_t rings;   /* of all rings, local and remote */
    bool choosing;               /* more peers may get a ring; under the poll lock */
    uint32_t ring_limit_inlined; /* longest inlined message for a ring */
};
#pragma GCC visibility push(hidden)
extern struct net_ib net_ib;
/* The queue pair of peers that are not connected. */
extern net_qp_t net_ib_closed;
#pragma GCC visibility pop

/* Report a failure, naming operation, peer, cause and remedy; the job ends at the next poll. */
void net_ib_send_failed(net_peer_t *peer, net_slot_t *slot, const hca_wc_t *wc);
void net_ib_recv_failed(net_peer_t *peer, const hca_wc_t *wc);
void net_ib_post_failed(const net_qp_t *qp, const char *what, int error);
/* Totals for net_counts. */
extern _Atomic uint64_t net_ib_registrations, net_ib_spares_out;
uint32_t net_ib_connections(void);
/* net_am for a peer that has a record of rings, but not rings->usual.  `held`: all that the context
 * of an Active Message has; if its address were passed, the usual path would build it in memory. */
enum net_result net_ib_unusual_am(net_qp_t *qp, net_slot_t *slot, const void *data, size_t length,
                                  const net_region_t *local, gasnetc_held_t held);
/* Zeroes the bytes between a message and its trailer. */
void net_ib_ring_pad(char *pad, uint32_t length);
/* Takes the immediate data with which an Active Message has arrived. */
void net_ib_ring_imm(net_peer_t *peer, uint32_t imm);
/* Counts a message that has arrived, while net_ib.choosing. */
void net_ib_count_arrival(const net_message_t *message);
/* The slow part of net_refill: no spare is left. */
net_message_t *net_ib_move(net_recv_t *recv);
/* The slow part of net_release, for messages that are marked NET_IB_SETTLED. */
void net_ib_release_settled(net_recv_t *recv, net_spare_t *spare);
/* net_spare_back with a shared queue. */
void net_ib_shared_back(net_recv_t *released);
/* net_ib_reply_recv if net_ib.indirect. */
bool net_ib_reply_recv_indirect(net_peer_t *peer, const net_qp_t *qp);

/* Requests a connection to the peer; never waits.  Peer's lock held. */
void net_ib_request_connect(net_peer_t *peer);

/* Takes the receive buffers that new connections have made, when no buffer is spare; returns one of
 * them, or NULL. */
net_recv_t *net_ib_recv_more(void);

/* --- receive buffers --- */

static inline net_recv_t *net_ib_recv_pop(void)
{
    gasneti_lock(&net_ib.recv_lock);
    net_recv_t *recv = net_ib.free_recvs;
    if (recv) net_ib.free_recvs = recv->next;
    gasneti_unlock(&net_ib.recv_lock);
    return recv;
}

static inline void net_ib_recv_push(net_recv_t *recv)
{
    gasneti_lock(&net_ib.recv_lock);
    recv->next = net_ib.free_recvs;
    net_ib.free_recvs = recv;
    gasneti_unlock(&net_ib.recv_lock);
}

/* Posts a buffer whose lkey is that of the queue pair's device already. */
static inline void net_ib_recv_post_as_is(net_peer_t *peer, const net_qp_t *qp, net_recv_t *recv)
{
    recv->message.peer = peer;
    recv->qp = qp;
    int error = hca_post_recv(qp->qp, &recv->post);
    if (error != 0) net_ib_post_failed(qp, "a receive buffer", error);
}

static inline void net_ib_recv_post(net_peer_t *peer, const net_qp_t *qp, net_recv_t *recv)
{
    if (NET_IB_HCAS > 1 && net_ib.hcas > 1) recv->post.sge.lkey = recv->region->lkey[qp->local_hca];
    net_ib_recv_post_as_is(peer, qp, recv);
}

/* Posts a buffer for the Reply to a Request, before the Request is sent; false if no buffer is
 * left. */
static inline bool net_ib_reply_recv(net_peer_t *peer, const net_qp_t *qp)
{
    if (net_ib.indirect) return net_ib_reply_recv_indirect(peer, qp);
    net_recv_t *recv = net_ib_recv_pop();
    if (!recv) recv = net_ib_recv_more();
    if (!recv) return false;
    net_ib_recv_post_as_is(peer, qp, recv);
    return true;
}

/* --- immediate data, and rings --- */

/* Takes the immediate data with which a message has arrived.  True if the message is a system
 * message. */
static inline bool net_ib_decode_imm(net_peer_t *peer, uint32_t imm)
{
    if (net_ib_imm_is_system(imm)) return true;
    net_ib_ring_imm(peer, imm);
    return false;
}

/* True if an AM is to be written into the remote ring, which has a free slot; else it is to be sent
 * with immediate data, which are filled in: `freed`, the number of messages released from the local
 * ring.  Peer's lock held. */
HOT bool net_ib_ring_may(net_qp_t *qp, const net_peer_rings_t *rings, const hca_local_t *local,
                         uint16_t freed)
{
    const uint32_t limit = local->inlined ? net_ib.ring_limit_inlined : net_ib.rings.limit;
    if (local->length <= limit && amrdma_may_send(&rings->out)) return true;
    qp->send.wr.imm_data = freed;
    return false;
}

/* Appends the trailer to the message; returns its address in the peer's memory. */
HOT uint64_t net_ib_ring_fill(net_peer_rings_t *rings, uint16_t freed, hca_local_t *local)
{
    uint32_t number = amrdma_send(&rings->out), padded = amrdma_padded(local->length);
    char *data = (char *)(uintptr_t)local->data;
    uint64_t trailer = amrdma_trailer(number, freed, local->length);
    if (local->length & 7) net_ib_ring_pad(data + local->length, padded - local->length);
    memcpy(data + padded, &trailer, sizeof trailer);
    local->length = padded + AMRDMA_TRAILER;
    uint64_t end = rings->end + (uint64_t)(number & net_ib.rings.mask) * net_ib.rings.slot;
    return end - local->length;
}

/* --- posting --- */

/* Acquires one of the operations that all queue pairs may have in flight together
 * (net_ib.total_limited); net_reap releases it. */
static inline bool net_ib_total_take(void)
{
    uint32_t before = atomic_fetch_add_explicit(&net_ib.in_flight, 1, memory_order_relaxed);
    if (before < net_ib.total_depth) return true;
    atomic_fetch_sub_explicit(&net_ib.in_flight, 1, memory_order_relaxed);
    return false;
}

/* Undoes net_ib_total_take: nothing was posted. */
static inline void net_ib_total_return(void)
{
    if (net_ib.total_limited) atomic_fetch_sub(&net_ib.in_flight, 1);
}

/* A slot for one operation, NULL when the send ring is full.  The ring grows from one slot on
 * demand, so its size is the most that was ever in flight (counts.c).  Growing changes no link that
 * the reaper follows. */
static inline net_slot_t *net_ib_send_ring_slot(net_send_ring_t *send_ring)
{
    net_slot_t *slot = atomic_load_explicit(&send_ring->free, memory_order_relaxed);
    if (slot->next == atomic_load_explicit(&send_ring->oldest, memory_order_acquire)) {
        net_slot_t *more = atomic_load_explicit(&send_ring->unused, memory_order_acquire);
        if (!more) return NULL;
        atomic_store_explicit(&send_ring->unused, more->next, memory_order_relaxed);
        more->next = slot->next;
        slot->next = more;
    }
    return slot;
}

/* net_ib_send_ring_slot, but also NULL when as many operations as net_ib.total_depth are in flight.
 */
static inline net_slot_t *net_ib_slot(net_send_ring_t *send_ring)
{
    net_slot_t *slot = net_ib_send_ring_slot(send_ring);
    if (net_ib.total_limited && slot && !net_ib_total_take()) return NULL;
    return slot;
}

/* The result when no slot is free: the queue pair is full, or the peer is not connected, and a
 * connection is requested. */
static inline enum net_result net_ib_busy(net_peer_t *peer, const net_qp_t *qp)
{
    if (atomic_load_explicit(&qp->open, memory_order_relaxed)) return NET_BUSY;
    net_ib_request_connect(peer);
    return NET_CONNECTING;
}

static inline bool net_ready(net_peer_t *peer)
{
    if (atomic_load_explicit(&net_ib_am(peer)->open, memory_order_relaxed)) return true;
    net_ib_request_connect(peer);
    return false;
}

/* Fills a slot of the send ring. */
static inline void net_ib_enqueue(net_send_ring_t *send_ring, net_slot_t *slot,
                                  enum net_operation operation, const gasnetc_sent_t *sent)
{
    atomic_store_explicit(&send_ring->free, slot->next, memory_order_relaxed);
    /* Copied by fields, so that the caller's structure need not be in memory. */
    slot->sent.counter = sent->counter;
    gasnetc_sent_copy_pin(&slot->sent, sent);
    if (sent->held) { /* without `held` the other fields are not read */
        slot->sent.held = sent->held;
        slot->sent.copy_to = sent->copy_to;
        slot->sent.copy_length = sent->copy_length;
    }
    slot->operation = operation;
}

static inline hca_local_t net_ib_local(const net_qp_t *qp, const void *data, size_t length,
                                       const net_region_t *local)
{
    return (hca_local_t){.data = data,
                         .length = (uint32_t)length,
                         .lkey = local ? local->lkey[NET_IB_HCAS > 1 ? qp->local_hca : 0] : 0,
                         .inlined = !local};
}

static inline uint32_t net_ib_rkey(const net_qp_t *qp, const net_key_t *key)
{
    return key->rkey[NET_IB_HCAS > 1 ? qp->remote_hca : 0];
}

HOT enum net_result net_put(net_peer_t *peer, uint64_t dst, const net_key_t *key, const void *src,
                            const net_region_t *local, size_t length, enum net_order order,
                            const gasnetc_sent_t *sent)
{
    net_qp_t *qp = net_ib_select_qp(peer, order);
    net_slot_t *slot = net_ib_slot(&qp->send_ring);
    if (!slot) return net_ib_busy(peer, qp);
    qp->puts++;
    qp->put_bytes += length;
    if (local) qp->puts_not_inlined++;
    net_ib_enqueue(&qp->send_ring, slot, NET_OP_PUT, sent);
    hca_send_target(&qp->send, dst, net_ib_rkey(qp, key));
    int error = hca_post(qp->qp, &qp->send, HCA_WRITE, net_ib_local(qp, src, length, local));
    if (error != 0) net_ib_post_failed(qp, "a put", error);
    return NET_POSTED;
}

HOT enum net_result net_get(net_peer_t *peer, void *dst, const net_region_t *local, uint64_t src,
                            const net_key_t *key, size_t length, const gasnetc_sent_t *sent)
{
    net_qp_t *qp = net_ib_select_qp(peer, NET_UNORDERED);
    net_slot_t *slot = net_ib_slot(&qp->send_ring);
    if (!slot) return net_ib_busy(peer, qp);
    qp->gets++;
    qp->get_bytes += length;
    net_ib_enqueue(&qp->send_ring, slot, NET_OP_GET, sent);
    hca_send_target(&qp->send, src, net_ib_rkey(qp, key));
    int error = hca_post(qp->qp, &qp->send, HCA_READ, net_ib_local(qp, dst, length, local));
    if (error != 0) net_ib_post_failed(qp, "a get", error);
    return NET_POSTED;
}

/* lists.c */
enum net_result net_ib_put_list(net_peer_t *peer, uint64_t dst, const net_key_t *key,
                                const net_piece_t *pieces, uint32_t count, size_t nbytes,
                                const gasnetc_sent_t *sent);
enum net_result net_ib_get_list(net_peer_t *peer, const net_piece_t *pieces, uint32_t count,
                                uint64_t src, const net_key_t *key, size_t nbytes,
                                const gasnetc_sent_t *sent);

static inline enum net_result net_put_list(net_peer_t *peer, uint64_t dst, const net_key_t *key,
                                           const net_piece_t *pieces, uint32_t count, size_t nbytes,
                                           const gasnetc_sent_t *sent)
{
    return net_ib_put_list(peer, dst, key, pieces, count, nbytes, sent);
}

static inline enum net_result net_get_list(net_peer_t *peer, const net_piece_t *pieces,
                                           uint32_t count, uint64_t src, const net_key_t *key,
                                           size_t nbytes, const gasnetc_sent_t *sent)
{
    return net_ib_get_list(peer, pieces, count, src, key, nbytes, sent);
}

#include "core/ib/atomics.h"

/* The result of posting an Active Message.  The queue pair is read again, so that it is not kept in
 * a register while the message is posted. */
HOT enum net_result net_ib_am_posted(net_peer_t *peer, int error)
{
    if (error != 0) net_ib_post_failed(net_ib_am(peer), "an Active Message", error);
    return NET_POSTED;
}

/* Posts an Active Message, with a free slot. */
HOT enum net_result net_ib_post_am(net_peer_t *peer, net_qp_t *qp, net_slot_t *slot,
                                   enum hca_kind kind, hca_local_t from, const gasnetc_sent_t *sent)
{
    net_ib_enqueue(&qp->send_ring, slot, NET_OP_AM, sent);
    return net_ib_am_posted(peer, hca_post(qp->qp, &qp->send, kind, from));
}

/* Posts an Active Message as a write into the peer's ring, which has a free slot. */
HOT enum net_result net_ib_post_ring(net_peer_t *peer, net_qp_t *qp, net_slot_t *slot,
                                     net_peer_rings_t *rings, uint16_t freed, hca_local_t from,
                                     const gasnetc_sent_t *sent)
{
    const uint64_t to = net_ib_ring_fill(rings, freed, &from);
    if (!from.inlined) {
        hca_send_target(&qp->send, to, rings->rkey);
        return net_ib_post_am(peer, qp, slot, HCA_WRITE, from, sent);
    }
    net_ib_enqueue(&qp->send_ring, slot, NET_OP_AM, sent);
    return net_ib_am_posted(peer,
                            hca_post_inlined(qp->qp, &rings->send, to, from.data, from.length));
}

HOT enum net_result net_am(net_peer_t *peer, void *data, const net_region_t *local, size_t length,
                           bool wants_reply, net_message_t *answers, const gasnetc_sent_t *sent)
{
    (void)answers;
    net_qp_t *qp = net_ib_am(peer);
    net_slot_t *slot = net_ib_slot(&qp->send_ring);
    if (!slot) return net_ib_busy(peer, qp);
    if (wants_reply && !net_ib_reply_recv(peer, qp)) {
        net_ib_total_return();
        return NET_NO_REPLY_BUF;
    }
    hca_local_t from = net_ib_local(qp, data, length, local);
    net_peer_rings_t *rings = atomic_load_explicit(&peer->rings, memory_order_acquire);
    if (!rings) return net_ib_post_am(peer, qp, slot, HCA_SEND, from, sent);
    amrdma_in_t *usual = atomic_load_explicit(&rings->usual, memory_order_acquire);
    if (!usual) return net_ib_unusual_am(qp, slot, data, length, local, sent->held);
    const uint16_t freed = amrdma_freed(usual, GASNETC_RINGS_IN_ORDER);
    return net_ib_ring_may(qp, rings, &from, freed)
               ? net_ib_post_ring(peer, qp, slot, rings, freed, from, sent)
               : net_ib_post_am(peer, qp, slot, HCA_SEND_IMM, from, sent);
}

/* --- reaping --- */

/* The most completions that one poll takes: of messages, which must fit into a full batch, and of
 * operations, which cost so little each that the poll itself counts. */
enum { NET_IB_BATCH = 16, NET_IB_REAPED = 64 };

/* Polls so that no two threads poll at once, for --enable-...-poll-lock (IB-B4): not even the
 * thread of connect_on_demand.c and the one that holds the poll lock; reap_multi.c. */
int net_ib_poll_alone(hca_cq_t cq, int budget, hca_wc_t *wc);

static inline int net_ib_poll(hca_cq_t cq, int budget, hca_wc_t *wc)
{
    return NET_IB_POLL_LOCK ? net_ib_poll_alone(cq, budget, wc) : hca_poll(cq, budget, wc);
}

/* Ends an operation that has completed. */
HOT void net_ib_reap_one(const hca_wc_t *wc)
{
    net_send_ring_t *send_ring = (net_send_ring_t *)(uintptr_t)hca_done(wc).id;
    net_slot_t *slot = atomic_load_explicit(&send_ring->oldest, memory_order_relaxed);
    if (hca_done(wc).ok)
        gasnetc_sent(&slot->sent);
    else
        net_ib_send_failed(send_ring->peer, slot, wc);
    /* Release: from now on a poster may use the slot again. */
    atomic_store_explicit(&send_ring->oldest, slot->next, memory_order_release);
}

/* net_ib_reap_one for `count` completions.  Rare, as a poll mostly finds none or one; reap_multi.c.
 */
void net_ib_reap_batch(const hca_wc_t *wc, unsigned count);

HOT unsigned net_ib_reap(hca_cq_t cq)
{
    hca_wc_t wc[NET_IB_REAPED];
    const int n = net_ib_poll(cq, NET_IB_REAPED, wc);
    /* Neither result is the usual one: a poll that finds nothing and one that finds a completion
     * are both short. */
    if (n <= 0) return 0;
    net_ib_reap_one(wc);
    if (n > 1) net_ib_reap_batch(wc + 1, (unsigned)(n - 1));
    if (net_ib.total_limited) atomic_fetch_sub(&net_ib.in_flight, (uint32_t)n);
    return (unsigned)n;
}

/* net_ib_reap for all devices but the first; reap_multi.c. */
unsigned net_ib_reap_others(void);

HOT unsigned net_reap(void)
{
    unsigned n = net_ib_reap(net_ib.send_cq[0]);
    if (NET_IB_HCAS > 1 && net_ib.indirect) n += net_ib_reap_others();
    return n;
}

HOT unsigned net_ib_arrivals(hca_cq_t cq, net_message_t **messages, unsigned budget,
                             unsigned *systems)
{
    hca_wc_t wc[NET_IB_BATCH];
    net_message_t **out = messages;
    int n = net_ib_poll(cq, budget < NET_IB_BATCH ? (int)budget : NET_IB_BATCH, wc);
    if (n <= 0) return 0;
    for (const hca_wc_t *w = wc, *end = wc + n; w != end; w++) {
        net_recv_t *recv = (net_recv_t *)(uintptr_t)hca_done(w).id;
        if (!hca_done(w).ok) {
            net_ib_recv_failed(recv->message.peer, w);
            continue;
        }
        recv->message.length = hca_done(w).length;
        *out++ = &recv->message;
        if (hca_done(w).has_imm) {
            recv->message.system = net_ib_decode_imm(recv->message.peer, hca_done(w).imm);
            *systems += recv->message.system;
        }
        if (net_ib.choosing) net_ib_count_arrival(&recv->message);
    }
    return (unsigned)(out - messages);
}

/* net_ib_arrivals with several devices or a shared queue; reap_multi.c. */
unsigned net_ib_arrivals_any(net_message_t **messages, unsigned budget, unsigned *systems);

HOT unsigned net_arrivals(net_message_t **messages, unsigned budget, unsigned *systems)
{
    if (net_ib.indirect) return net_ib_arrivals_any(messages, budget, systems);
    return net_ib_arrivals(net_ib.recv_cq[0], messages, budget, systems);
}

/* --- receive space --- */

static inline net_message_t *net_refill(net_message_t *message, net_spare_t *spare)
{
    if (message->mark) {
        message->mark = NET_IB_SETTLED | NET_IB_REQUEST;
        return message;
    }
    net_recv_t *fresh = spare->recv;
    spare->recv = NULL;
    if (!fresh) fresh = net_ib_recv_pop();
    if (!fresh) return net_ib_move((net_recv_t *)message);
    net_ib_recv_post(message->peer, ((net_recv_t *)message)->qp, fresh);
    return message;
}

static inline void net_release(net_message_t *message, net_spare_t *spare)
{
    net_recv_t *recv = (net_recv_t *)message;
    if (message->mark) {
        net_ib_release_settled(recv, spare);
    } else if (!spare->recv)
        spare->recv = recv;
    else
        net_ib_recv_push(recv);
}

static inline void net_spare_back(net_spare_t *spare)
{
    if (!spare->recv) return;
    if (net_ib.shared)
        net_ib_shared_back(spare->recv);
    else
        net_ib_recv_push(spare->recv);
    spare->recv = NULL;
}

static inline void net_spare_keep(net_spare_t *spare)
{
    if (net_ib.shared) net_spare_back(spare);
}
