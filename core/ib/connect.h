/* connect.h - the queue pairs of one peer, from creation to destruction.  Shared by this folder's
 * .c files only: either start-up connects all peers (connect.c), or connect_on_demand.c connects
 * each at its first use.  Also the path to a peer's port (route.c).
 */
#pragma once

#include "core/ib/rail.h"

/* Sent to the peer: the local end of a queue pair. */
typedef struct net_ib_end {
    uint32_t device; /* index of the device */
    hca_remote_t remote;
} net_ib_end_t;

/* Fatal errors, since a connection cannot be made: `what` was refused with an errno, or a
 * message of the handshake has failed.  The launcher prints only the first of these messages in a
 * job (status.c). */
void net_ib_cannot_connect(uint32_t rank, const char *device, const char *what, int error)
    __attribute__((noreturn, cold));
void net_ib_handshake_failed(uint32_t rank, const char *device, const hca_failure_t *failure)
    __attribute__((noreturn, cold));

/* The depths of the queues of each queue pair.  Active Messages use one queue pair of a peer. */
struct net_ib_depths {
    uint32_t send, am_recv;
    uint32_t am_prepost; /* receives posted before the peer may send; 0: shared receive queue */
    uint32_t replies;    /* receive buffers for Replies, for each peer */
    uint32_t replies_in_all;
};

/* Sets the depths of the queue pairs to be created, and the inline limit: net_ib.inline_max is
 * wanted on entry, granted on return. */
void net_ib_connect_init(uint32_t peers, const struct net_ib_depths *depths);
void net_ib_connect_fini(void);

/* From now on the peer may be connected; until it is, its send rings are full. */
void net_ib_expect(net_peer_t *peer);

/* Creates the queue pairs for a peer: net_ib_rails.qps of them, in a cyclic list. */
net_qp_t *net_ib_make_qps(net_peer_t *peer);
void net_ib_destroy_qps(net_qp_t *first);

/* The local end of a queue pair on this rail, to be sent to the peer. */
net_ib_end_t net_ib_end(const struct net_ib_rail *rail, uint32_t qp_number);

/* Joins the queue pairs to the peer's `count`; the end with more destroys the rest.  Posts receive
 * buffers: the peer may send from now on.  Stores the queue pairs in the peer's record; their send
 * rings stay full. */
void net_ib_join_qps(net_peer_t *peer, net_qp_t *first, const net_ib_end_t *ends, uint32_t count,
                     const net_ib_remote_rings_t *rings);

/* Makes `qp`, which a connection manager connects to the peer's device `remote_device`, the peer's
 * only queue pair: posts receive buffers and stores it in the peer's record. */
void net_ib_adopt_qp(net_peer_t *peer, net_qp_t *qp, uint32_t remote_device,
                     const net_ib_remote_rings_t *rings);

/* The most RDMA reads at once on a queue pair: those that this rank serves, and those that it
 * starts. */
typedef struct net_ib_reads {
    uint8_t served, started;
} net_ib_reads_t;
net_ib_reads_t net_ib_reads(void);

/* A slot of a send ring that is not open yet, for one operation before it opens. */
net_slot_t *net_ib_first_slot(net_send_ring_t *send_ring);

/* Opens the send rings, when the peer has joined its end too. */
void net_ib_open_qps(net_peer_t *peer);

/* --- connect_on_demand.c --- */

/* Starts the thread, for a job of `processes`.  `why`: the reason if peers cannot be connected at
 * first use; else "".
 */
void net_ib_on_demand_open(uint32_t processes, char *why, size_t why_size);

/* Ends the thread, if it was started. */
void net_ib_on_demand_close(void);

/* --- route.c: the path to a peer's port, by LID or by GIDs that both have --- */

enum { NET_IB_ROUTE_TEXT = 192, NET_IB_ROUTE_TRIES = 3 };

/* Finds the path to a peer's port.  False: the path needs GIDs of one class, and the two ports have
 * none in common. */
bool net_ib_route(const struct net_ib_rail *rail, const hca_remote_t *remote, hca_route_t *route);

/* True if this errno of an address handle, or of a queue pair on its way to RTR, means that the
 * kernel did not resolve the peer's Ethernet address in time: a lost packet is enough, so the call
 * is tried NET_IB_ROUTE_TRIES times. */
bool net_ib_route_timed_out(int error);

/* "LID 5", or "GID ::ffff:10.0.0.2 (RoCE v2), from GID 3 ::ffff:10.0.0.1 (RoCE v2, eth0)". */
const char *net_ib_route_text(const struct net_ib_rail *rail, const hca_remote_t *remote,
                              char text[NET_IB_ROUTE_TEXT]);

/* End the job: net_ib_route was false; or `what`, which a route to the peer takes, was refused with
 * an errno (status.c). */
void net_ib_no_route(uint32_t rank, const struct net_ib_rail *rail, const hca_remote_t *remote)
    __attribute__((noreturn, cold));
void net_ib_cannot_reach(uint32_t rank, const struct net_ib_rail *rail, const hca_remote_t *remote,
                         const char *what, int error) __attribute__((noreturn, cold));
