/* connect_payload.c - checks the payload of connect_payload.h. */
#include "other/portals3/src/transport/connect_payload.h"

#include <string.h>

#include "other/connect/handshake/handshake_wire.h"

enum { MOST_NUMBER = 0xffffff };

_Static_assert(sizeof(roce_offer_t) == 68 && sizeof(ptli_connect_payload_t) == 128, "no padding");
_Static_assert(sizeof(ptli_connect_payload_t) <= HANDSHAKE_MOST_PAYLOAD, "it fits");

const char *ptli_connect_payload_parse(const void *bytes, size_t size,
                                       ptli_connect_payload_t *payload)
{
    if (size != sizeof *payload) return "payload size";
    memcpy(payload, bytes, sizeof *payload);
    if (payload->mtu < 1 || payload->mtu > 5) return "MTU";
    if (payload->qp_number > MOST_NUMBER) return "queue pair number";
    if (payload->psn > MOST_NUMBER) return "packet sequence number";
    if (!payload->window) return "window";
    if (!payload->life || !payload->number) return "life or number";
    return NULL;
}
