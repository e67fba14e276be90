/* connect_payload.h - the payload of a handshake message (other/connect/handshake): the sender's
 * queue pairs. Pure: used by connect_on_demand.c, tests/unit and tests/fuzz.
 */
#ifndef NET_IB_CONNECT_PAYLOAD_H
#define NET_IB_CONNECT_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "other/connect/handshake/handshake_wire.h"

enum {
    NET_IB_HANDSHAKE = 0x474e4853, /* identifies this payload in the header of a message */
    NET_IB_PAYLOAD_HEAD = 4,       /* bytes before the numbers: the rank */
    NET_IB_PAYLOAD_NUMBER = 3,     /* bytes of each number, the lowest first */
    NET_IB_PAYLOAD_QPS = (HANDSHAKE_MOST_PAYLOAD - NET_IB_PAYLOAD_HEAD) / NET_IB_PAYLOAD_NUMBER
};

typedef struct net_ib_payload {
    uint32_t rank; /* the sender's */
    uint32_t qps;
    uint32_t qp_number[NET_IB_PAYLOAD_QPS]; /* 24 bits each */
} net_ib_payload_t;

static inline size_t net_ib_payload_size(uint32_t qps)
{
    return NET_IB_PAYLOAD_HEAD + (size_t)qps * NET_IB_PAYLOAD_NUMBER;
}

/* Encodes the payload to net_ib_payload_size(payload->qps) bytes. */
void net_ib_payload_encode(const net_ib_payload_t *payload, void *bytes);

/* Parses a payload from a process of a job of `ranks`.  Returns NULL, or the name of the field that
 * is wrong. */
const char *net_ib_payload_parse(const void *bytes, size_t size, uint32_t ranks,
                                 net_ib_payload_t *payload);

#endif
