/* handshake_wire.c - encodes and parses the messages of handshake_wire.h.  Pure. */
#include "other/connect/handshake/handshake_wire.h"

#include <string.h>

enum { VERSION = 2, ASK = 1 };

typedef struct header {
    uint32_t protocol;
    uint8_t version, flags;
    uint16_t payload_size;
    uint64_t mine, yours;
} header_t;

_Static_assert(sizeof(header_t) == HANDSHAKE_HEADER, "no padding");

size_t handshake_encode(const handshake_message_t *message, uint32_t protocol, void *bytes)
{
    const header_t header = {.protocol = protocol,
                             .version = VERSION,
                             .flags = message->ask ? ASK : 0,
                             .payload_size = (uint16_t)message->payload_size,
                             .mine = message->mine,
                             .yours = message->yours};
    memcpy(bytes, &header, sizeof header);
    if (message->payload_size)
        memcpy((char *)bytes + sizeof header, message->payload, message->payload_size);
    return sizeof header + message->payload_size;
}

const char *handshake_parse(const void *bytes, size_t length, uint32_t protocol,
                            handshake_message_t *message)
{
    header_t header;
    if (length < sizeof header || length > HANDSHAKE_MOST - HANDSHAKE_SEAL) return "length";
    memcpy(&header, bytes, sizeof header);
    if (header.protocol != protocol) return "protocol number";
    if (header.version != VERSION) return "version";
    if (header.flags & ~ASK) return "flags";
    if (length != sizeof header + header.payload_size) return "length";
    if (!header.mine) return "stamp";
    *message = (handshake_message_t){.mine = header.mine,
                                     .yours = header.yours,
                                     .ask = header.flags & ASK,
                                     .payload = (const char *)bytes + sizeof header,
                                     .payload_size = header.payload_size};
    return NULL;
}
