/* connect.h - the queue pairs of one peer, from their making to their end.  Shared by this folder's
 * .c files only: start-up connects all peers at once (connect.c), or connect_on_demand.c does each
 * at its first use.
 */
#ifndef NET_IB_CONNECT_H
#define NET_IB_CONNECT_H

#include "core/ib/rail.h"

/* A queue pair, as the peer at its other end must know it. */
typedef struct net_ib_end {
    uint32_t device; /* index where it is */
    hca_remote_t remote;
} net_ib_end_t;

/* Ends the job, since a connection cannot be made: `what` was refused with an errno, or a message
 * of the handshake has failed.  For the job the launcher tells the first of these alone (status.c).
 */
void net_ib_cannot_connect(uint32_t rank, const char *device, const char *what, int error)
    __attribute__((noreturn, cold));
void net_ib_handshake_failed(uint32_t rank, const char *device, const hca_failure_t *failure)
    __attribute__((noreturn, cold));

/* How deep the queues of each queue pair are to be; Active Messages use one queue pair of a peer.
 */
struct net_ib_depths {
    uint32_t send, am_recv;
    uint32_t am_prepost; /* receives posted before the first message may arrive; 0: they share */
    uint32_t replies;    /* receive buffers for Replies, for each peer... */
    uint32_t replies_in_all;
};

/* Settles the inline size (net_ib.inline_max: wanted on entry, what queue pairs grant on return)
 * and the depths of the queue pairs to be made. */
void net_ib_connect_init(uint32_t peers, const struct net_ib_depths *depths);
void net_ib_connect_fini(void);

/* From now on it may be connected; until then it looks full. */
void net_ib_expect(net_peer_t *peer);

/* The queue pairs for a peer, net_ib_rails.qps of them in a circle. */
net_qp_t *net_ib_make_qps(net_peer_t *peer);
void net_ib_destroy_qps(net_qp_t *first);

/* This process's end on a rail, as peers must know it. */
net_ib_end_t net_ib_end(const struct net_ib_rail *rail, uint32_t qp_number);

/* Joins them to the peer's `count`, as many as the fewer, and makes room for what may arrive: the
 * peer may send.  They are in the peer's record then, looking full. */
void net_ib_join_qps(net_peer_t *peer, net_qp_t *first, const net_ib_end_t *ends, uint32_t count,
                     const net_ib_far_rings_t *rings);

/* The peer has done the same: this process may send. */
void net_ib_open_qps(net_peer_t *peer);

#endif
