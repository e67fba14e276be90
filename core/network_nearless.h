/* network_nearless.h - the calls for messages to neighbours, and without completions, for networks
 * that write no messages into the memory of others.
 *
 * Included by the network's header.  The core reaches net_is_near, net_at_hand and net_unanswered
 * alone.
 */
#ifndef NETWORK_NEARLESS_H
#define NETWORK_NEARLESS_H

#include <stdlib.h>

enum { NET_NEAR_COPIES = 0 };

static inline bool net_is_near(net_peer_t *peer)
{
    (void)peer;
    return false;
}

static inline void *net_near_room(net_peer_t *peer, size_t length, bool wants_reply,
                                  const net_message_t *answers)
{
    (void)peer, (void)length, (void)wants_reply, (void)answers;
    abort();
}

static inline void net_near_written(net_peer_t *peer, size_t length, const net_message_t *answers)
{
    (void)peer, (void)length, (void)answers;
    abort();
}

static inline bool net_unanswered(const net_message_t *request)
{
    (void)request;
    return false;
}

static inline net_ring_t *net_at_hand(void)
{
    return NULL;
}

static inline net_message_t *net_ring_take(net_ring_t *ring)
{
    (void)ring;
    abort();
}

static inline bool net_ring_more(const net_ring_t *ring)
{
    (void)ring;
    abort();
}

static inline unsigned net_ring_take_more(net_ring_t *ring, unsigned most)
{
    (void)ring, (void)most;
    abort();
}

static inline void net_ring_end(net_ring_t *ring)
{
    (void)ring;
    abort();
}

static inline void net_ring_taken(unsigned count)
{
    (void)count;
    abort();
}

static inline net_message_t *net_ring_after(const net_message_t *message)
{
    (void)message;
    abort();
}

static inline void net_release_at_hand(net_message_t *message)
{
    (void)message;
    abort();
}

#endif
