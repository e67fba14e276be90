/* network_script.h - the fourth network's half of core/network.h: a script plays device and peers.
 *
 * Included by core/network.h alone, found by -Itests/unit/script.  Nothing is hot here: every call
 * goes to net_script.c, which records it and does what the test has ordered.
 */
#ifndef NETWORK_SCRIPT_H
#define NETWORK_SCRIPT_H

#define NET_HAS_READY
/* 1: tests/unit/am_pairs.c plays a network that pairs header and payload of a Long. */
#ifndef NET_SCRIPT_PAIRS
#define NET_SCRIPT_PAIRS 0
#endif
#if NET_SCRIPT_PAIRS
#define NET_HAS_LONG
#endif

#include "core/network_defaults.h"

#define NET_BUFFERS          0
#define NET_HAS_FLOW_CONTROL 0

enum {
    NET_STACK_MESSAGE = 512,
    NET_DELIVER_MAX = 8,
    NET_PAIRS_LONGS = NET_SCRIPT_PAIRS,
    NET_REAP_TELLS = 0,
};

struct net_region {
    uint32_t id; /* 0: none */
};

struct net_key {
    uint32_t id;
};

struct net_peer {
    uint32_t rank;
};

struct net_spare {
    bool in_hand;
};

enum net_result net_script_put(net_peer_t *peer, uint64_t dst, const net_key_t *key,
                               const void *src, const net_region_t *local, size_t length,
                               enum net_order order, const gasnetc_sent_t *sent);
enum net_result net_script_get(net_peer_t *peer, void *dst, const net_region_t *local, uint64_t src,
                               const net_key_t *key, size_t length, const gasnetc_sent_t *sent);
enum net_result net_script_am(net_peer_t *peer, void *data, const net_region_t *local,
                              size_t length, bool wants_reply, const gasnetc_sent_t *sent);
unsigned net_script_reap(void);
unsigned net_script_arrivals(net_message_t **messages, unsigned budget, unsigned *systems);
net_message_t *net_script_refill(net_message_t *message, net_spare_t *spare);
void net_script_release(net_message_t *message, net_spare_t *spare);
void net_script_spare_back(net_spare_t *spare);

static inline enum net_result net_put(net_peer_t *peer, uint64_t dst, const net_key_t *key,
                                      const void *src, const net_region_t *local, size_t length,
                                      enum net_order order, const gasnetc_sent_t *sent)
{
    return net_script_put(peer, dst, key, src, local, length, order, sent);
}

static inline enum net_result net_get(net_peer_t *peer, void *dst, const net_region_t *local,
                                      uint64_t src, const net_key_t *key, size_t length,
                                      const gasnetc_sent_t *sent)
{
    return net_script_get(peer, dst, local, src, key, length, sent);
}

static inline enum net_result net_am(net_peer_t *peer, void *data, const net_region_t *local,
                                     size_t length, bool wants_reply, net_message_t *answers,
                                     const gasnetc_sent_t *sent)
{
    (void)answers;
    return net_script_am(peer, data, local, length, wants_reply, sent);
}

bool net_script_ready(void);
static inline bool net_ready(net_peer_t *peer)
{
    (void)peer;
    return net_script_ready();
}

#if NET_SCRIPT_PAIRS
enum net_result net_script_long(net_peer_t *peer, void *header, size_t length,
                                const net_payload_t *payload, const gasnetc_sent_t *sent);
static inline enum net_result net_long(net_peer_t *peer, void *header, size_t length,
                                       const net_payload_t *payload, net_message_t *answers,
                                       const gasnetc_sent_t *sent)
{
    (void)answers;
    return net_script_long(peer, header, length, payload, sent);
}
#endif

static inline unsigned net_reap(void)
{
    return net_script_reap();
}

static inline unsigned net_arrivals(net_message_t **messages, unsigned budget, unsigned *systems)
{
    return net_script_arrivals(messages, budget, systems);
}

static inline net_message_t *net_refill(net_message_t *message, net_spare_t *spare)
{
    return net_script_refill(message, spare);
}

static inline void net_release(net_message_t *message, net_spare_t *spare)
{
    net_script_release(message, spare);
}

static inline void net_spare_back(net_spare_t *spare)
{
    net_script_spare_back(spare);
}

static inline void net_spare_keep(net_spare_t *spare)
{
    (void)spare;
}

#endif
