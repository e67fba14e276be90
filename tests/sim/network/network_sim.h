/* network_sim.h - the simulated network's half of core/network.h, for many nodes in one process.
 *
 * Included by core/network.h alone, found by -Itests/sim/network.  A peer's record belongs to one
 * node; queue pairs are ordered lanes with delays of their own.  Every call goes to network.c.
 */
#ifndef NETWORK_SIM_H
#define NETWORK_SIM_H

#include "core/network_defaults.h"
#include "core/rings/amrdma.h"
#include "tests/sim/sim.h"

#define NET_BUFFERS          0
#define NET_HAS_FLOW_CONTROL 0

enum {
    NET_STACK_MESSAGE = 512,
    NET_DELIVER_MAX = 8,
    NET_PAIRS_LONGS = 0,
    NET_REAP_TELLS = 0,
};

struct net_region {
    char unused;
};

struct net_key {
    char unused;
};

struct net_spare {
    bool in_hand;
};

typedef struct net_qp {
    struct net_qp *next;
    uint32_t number;
    uint32_t in_flight; /* posted, not reaped */
    sim_lane_t there, back;
} net_qp_t;

/* Rings for Active Messages between a node and one peer. */
typedef struct sim_rings {
    amrdma_out_t out;           /* to the one in the peer's memory */
    amrdma_in_t in;             /* of the one in ours, if `given` */
    amrdma_released_t released; /* of `in` */
    bool given, offer;
    bool busy[AMRDMA_SLOTS]; /* written and not released */
    char *memory;            /* ours: slots */
} sim_rings_t;

struct net_peer {
    uint32_t rank;
    uint32_t owner; /* the node whose record this is */
    net_qp_t *am, *next_qp;
    int posted;         /* receive buffers for what this peer sends */
    bool open, knocked; /* connected; asked to be */
    bool touched;
    sim_rings_t rings;
    /* Bookkeeping of the invariant of credits.h, for messages from the owner to this peer. */
    int requests; /* on the way, or neither replied to, hidden or not, nor banked yet */
    int credits;  /* on the way, or arrived and not returned yet */
};

enum { NET_IB_HCAS = 4 };
#include "core/ib/qp_select.h"

enum net_result sim_net_put(net_peer_t *peer, uint64_t dst, const void *src, bool inlined,
                            size_t length, enum net_order order, const gasnetc_sent_t *sent);
enum net_result sim_net_get(net_peer_t *peer, void *dst, uint64_t src, size_t length,
                            const gasnetc_sent_t *sent);
enum net_result sim_net_am(net_peer_t *peer, void *data, bool inlined, size_t length,
                           bool wants_reply, const gasnetc_sent_t *sent);
unsigned sim_net_reap(void);
unsigned sim_net_arrivals(net_message_t **messages, unsigned budget);
net_message_t *sim_net_refill(net_message_t *message, net_spare_t *spare);
void sim_net_release(net_message_t *message, net_spare_t *spare);
void sim_net_spare_back(net_spare_t *spare);

static inline enum net_result net_put(net_peer_t *peer, uint64_t dst, const net_key_t *key,
                                      const void *src, const net_region_t *local, size_t length,
                                      enum net_order order, const gasnetc_sent_t *sent)
{
    (void)key;
    return sim_net_put(peer, dst, src, !local, length, order, sent);
}

static inline enum net_result net_get(net_peer_t *peer, void *dst, const net_region_t *local,
                                      uint64_t src, const net_key_t *key, size_t length,
                                      const gasnetc_sent_t *sent)
{
    (void)local, (void)key;
    return sim_net_get(peer, dst, src, length, sent);
}

static inline enum net_result net_am(net_peer_t *peer, void *data, const net_region_t *local,
                                     size_t length, bool wants_reply, net_message_t *answers,
                                     const gasnetc_sent_t *sent)
{
    (void)answers;
    return sim_net_am(peer, data, !local, length, wants_reply, sent);
}

static inline unsigned net_reap(void)
{
    return sim_net_reap();
}

static inline unsigned net_arrivals(net_message_t **messages, unsigned budget, unsigned *systems)
{
    (void)systems;
    return sim_net_arrivals(messages, budget);
}

static inline net_message_t *net_refill(net_message_t *message, net_spare_t *spare)
{
    return sim_net_refill(message, spare);
}

static inline void net_release(net_message_t *message, net_spare_t *spare)
{
    sim_net_release(message, spare);
}

static inline void net_spare_back(net_spare_t *spare)
{
    sim_net_spare_back(spare);
}

static inline void net_spare_keep(net_spare_t *spare)
{
    sim_net_spare_back(spare); /* no node has a receive thread */
}

#endif
