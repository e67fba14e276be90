/* network_defaults.h - the calls of core/network.h that a network may leave out.
 *
 * Included by the network's header, which defines before that NET_HAS_LISTS, NET_HAS_LONG,
 * NET_HAS_ARRIVED and NET_HAS_RINGS, each where the calls are its own.  The core reaches none of
 * the defaults but net_arrived, net_is_near, net_at_hand and net_unanswered; a compiler that does
 * not optimise keeps the others.
 */
#ifndef NETWORK_DEFAULTS_H
#define NETWORK_DEFAULTS_H

#include <stdbool.h>
#include <stdlib.h>

/* Lists of local memory: caps.put_list_max and get_list_max are 0. */
#ifndef NET_HAS_LISTS
static inline enum net_result net_put_list(net_peer_t *peer, uint64_t dst, const net_key_t *key,
                                           const net_piece_t *pieces, uint32_t count, size_t nbytes,
                                           const gasnetc_sent_t *sent)
{
    (void)peer, (void)dst, (void)key, (void)pieces, (void)count, (void)nbytes, (void)sent;
    abort();
}

static inline enum net_result net_get_list(net_peer_t *peer, const net_piece_t *pieces,
                                           uint32_t count, uint64_t src, const net_key_t *key,
                                           size_t nbytes, const gasnetc_sent_t *sent)
{
    (void)peer, (void)src, (void)key, (void)pieces, (void)count, (void)nbytes, (void)sent;
    abort();
}
#endif

/* A Long as header and payload: NET_PAIRS_LONGS is 0. */
#ifndef NET_HAS_LONG
static inline enum net_result net_long(net_peer_t *peer, void *header, size_t length,
                                       const net_payload_t *payload, net_message_t *answers,
                                       const gasnetc_sent_t *sent)
{
    (void)peer, (void)header, (void)length, (void)payload, (void)answers, (void)sent;
    abort();
}
#endif

/* Whether a message has arrived: NET_REAP_TELLS is 0. */
#ifndef NET_HAS_ARRIVED
static inline bool net_arrived(void)
{
    return true;
}
#endif

/* Messages in shared memory and in rings. */
#ifndef NET_HAS_RINGS
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

#endif
