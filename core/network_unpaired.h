/* network_unpaired.h - net_long for networks whose NET_PAIRS_LONGS is 0.
 *
 * Included by the network's header.  The core does not reach the call, but a compiler that does not
 * optimise keeps it.
 */
#ifndef NETWORK_UNPAIRED_H
#define NETWORK_UNPAIRED_H

#include <stdlib.h>

static inline enum net_result net_long(net_peer_t *peer, void *header, size_t length,
                                       const net_payload_t *payload, net_message_t *answers,
                                       const gasnetc_sent_t *sent)
{
    (void)peer, (void)header, (void)length, (void)payload, (void)answers, (void)sent;
    abort();
}

#endif
