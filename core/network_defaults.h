/* network_defaults.h - the calls of core/network.h that a network may leave out.
 *
 * Included by the network's header, which defines before that NET_HAS_LISTS, NET_HAS_LONG,
 * NET_HAS_ARRIVED, NET_HAS_READY and NET_HAS_ATOMICS, each where the calls are its own.  The core
 * reaches none of the defaults but net_arrived and net_ready; a compiler that does not optimise
 * keeps the others.
 */
#pragma once

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

/* Atomics of an adapter: caps.atomics is NET_NO_ATOMICS. */
#ifndef NET_HAS_ATOMICS
static inline enum net_result net_atomic(net_peer_t *peer, const net_atomic_t *atomic, uint64_t at,
                                         const net_key_t *key, uint64_t *earlier,
                                         const net_region_t *local, const gasnetc_sent_t *sent)
{
    (void)peer, (void)atomic, (void)at, (void)key, (void)earlier, (void)local, (void)sent;
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

/* A connection at first use: the network needs none. */
#ifndef NET_HAS_READY
static inline bool net_ready(net_peer_t *peer)
{
    (void)peer;
    return true;
}
#endif
