/* conduit_network.h - the network of smp-conduit, for core/network.h: none.
 *
 * All ranks share memory (core/shm).  net_open announces in caps.unreachable that nothing else
 * connects them, so that the core ends a job whose ranks do not, and makes no call that takes a
 * peer.
 */
#pragma once

#define NET_HAS_ARRIVED

#include "core/network_defaults.h"

#define NET_BUFFERS          0
#define NET_HAS_FLOW_CONTROL 0

enum {
    NET_STACK_MESSAGE = 512,
    NET_DELIVER_MAX = 2,
    NET_PAIRS_LONGS = 0,
    NET_REAP_TELLS = 1,
};

struct net_region {
    bool used;
};

struct net_key {
    uint8_t unused;
};

struct net_peer {
    uint32_t rank;
};

struct net_spare {
    uint8_t unused;
};

/* Fatal: a call that takes a peer. */
void net_smp_reached(const net_peer_t *peer) __attribute__((noreturn, cold));

static inline enum net_result net_put(net_peer_t *peer, uint64_t dst, const net_key_t *key,
                                      const void *src, const net_region_t *local, size_t length,
                                      enum net_order order, const gasnetc_sent_t *sent)
{
    net_smp_reached(peer);
}

static inline enum net_result net_get(net_peer_t *peer, void *dst, const net_region_t *local,
                                      uint64_t src, const net_key_t *key, size_t length,
                                      const gasnetc_sent_t *sent)
{
    net_smp_reached(peer);
}

static inline enum net_result net_am(net_peer_t *peer, void *data, const net_region_t *local,
                                     size_t length, bool wants_reply, net_message_t *answers,
                                     const gasnetc_sent_t *sent)
{
    net_smp_reached(peer);
}

static inline unsigned net_reap(void)
{
    return 0;
}

static inline bool net_arrived(void)
{
    return false;
}

static inline unsigned net_arrivals(net_message_t **messages, unsigned budget, unsigned *systems)
{
    return 0;
}

static inline net_message_t *net_refill(net_message_t *message, net_spare_t *spare)
{
    return message;
}

static inline void net_release(net_message_t *message, net_spare_t *spare) {}

static inline void net_spare_back(net_spare_t *spare) {}

static inline void net_spare_keep(net_spare_t *spare) {}
