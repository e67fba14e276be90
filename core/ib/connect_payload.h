/* connect_payload.h - the payload of a handshake message (other/connect/handshake): the sender's
 * queue pairs. Pure: used by connect_on_demand.c, tests/unit and tests/fuzz.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
static inline void net_ib_payload_encode(const net_ib_payload_t *payload, void *bytes)
{
    uint8_t *at = bytes;
    memcpy(at, &payload->rank, NET_IB_PAYLOAD_HEAD);
    at += NET_IB_PAYLOAD_HEAD;
    for (uint32_t i = 0; i < payload->qps; i++, at += NET_IB_PAYLOAD_NUMBER) {
        at[0] = (uint8_t)payload->qp_number[i];
        at[1] = (uint8_t)(payload->qp_number[i] >> 8);
        at[2] = (uint8_t)(payload->qp_number[i] >> 16);
    }
}

/* Parses a payload from a process of a job of `ranks`.  Returns NULL, or the name of the field that
 * is wrong. */
static inline const char *net_ib_payload_parse(const void *bytes, size_t size, uint32_t ranks,
                                               net_ib_payload_t *payload)
{
    const uint8_t *at = bytes;
    if (size < net_ib_payload_size(0)) return "payload size";
    memcpy(&payload->rank, at, NET_IB_PAYLOAD_HEAD);
    if (payload->rank >= ranks) return "rank";
    payload->qps = (uint32_t)((size - NET_IB_PAYLOAD_HEAD) / NET_IB_PAYLOAD_NUMBER);
    if (size != net_ib_payload_size(payload->qps)) return "payload size";
    if (payload->qps < 1 || payload->qps > NET_IB_PAYLOAD_QPS) return "number of queue pairs";
    at += NET_IB_PAYLOAD_HEAD;
    for (uint32_t i = 0; i < payload->qps; i++, at += NET_IB_PAYLOAD_NUMBER)
        payload->qp_number[i] = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
    return NULL;
}
