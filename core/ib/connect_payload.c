/* connect_payload.c - encodes and parses the payload of connect_payload.h. */
#include "core/ib/connect_payload.h"

#include <string.h>

void net_ib_payload_encode(const net_ib_payload_t *payload, void *bytes)
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

const char *net_ib_payload_parse(const void *bytes, size_t size, uint32_t ranks,
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
