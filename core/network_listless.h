/* network_listless.h - net_put_list and net_get_list for networks without lists of local memory,
 * whose caps.put_list_max and get_list_max are 0.
 *
 * Included by the network's header.  The core does not reach the calls.
 */
#ifndef NETWORK_LISTLESS_H
#define NETWORK_LISTLESS_H

#include <stdlib.h>

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
