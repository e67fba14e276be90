/*
 * portals_wire.c - encodes, parses and checks headers and remote lists; see portals_wire.h.
 *
 * Any byte may have any value: each field is checked before it is used, and nothing outside of the
 * `size` bytes is read.
 */
#include "other/portals3/src/base/portals_wire.h"

#include <stdbool.h>

void ptli_wire_encode(const struct ptli_header *header, unsigned char bytes[PTLI_WIRE_SIZE])
{
    unsigned char *at = bytes;
    *at++ = PTLI_WIRE_VERSION;
    *at++ = header->type;
    *at++ = header->flags;
    *at++ = 0;
    at = ptli_put32(at, header->source.nid);
    at = ptli_put32(at, header->source.pid);
    at = ptli_put32(at, header->destination.nid);
    at = ptli_put32(at, header->destination.pid);
    at = ptli_put32(at, header->uid);
    at = ptli_put32(at, header->jid);
    at = ptli_put32(at, header->pt_index);
    memset(at, 0, (size_t)(bytes + PTLI_WIRE_SIZE - at));
    ptli_put64(at + 8, header->operation);
    ptli_wire_vary(bytes, header->ac_index, header->data_length, header->match_bits,
                   header->hdr_data, header->length, header->remote_offset, header->transport);
}

void ptli_wire_encode_remote(const struct ptli_remote *remote,
                             unsigned char bytes[PTLI_REMOTE_SIZE])
{
    unsigned char *at = ptli_put64(bytes, remote->address);
    at = ptli_put32(at, remote->key);
    ptli_put32(at, remote->length);
}

void ptli_wire_parse_remote(const unsigned char bytes[PTLI_REMOTE_SIZE], struct ptli_remote *remote)
{
    const unsigned char *at = bytes;
    remote->address = ptli_get64(&at);
    remote->key = ptli_get32(&at);
    remote->length = ptli_get32(&at);
}

/* A list is whole pieces of `length` bytes in all; none is empty, too long or wraps around. */
static const char *judge_list(const unsigned char *bytes, uint32_t size, uint64_t length)
{
    uint64_t sum = 0; /* cannot overflow: at most 2^28 pieces of 2^30 bytes */
    if (size == 0 || size % PTLI_REMOTE_SIZE != 0) return "a remote list of no whole pieces";
    for (uint32_t i = 0; i < size; i += PTLI_REMOTE_SIZE) {
        struct ptli_remote piece;
        ptli_wire_parse_remote(bytes + i, &piece);
        if (piece.length == 0 || piece.length > PTLI_REMOTE_MAX)
            return "a remote piece of impossible length";
        if (piece.address + piece.length < piece.address)
            return "a remote piece beyond the end of memory";
        sum += piece.length;
    }
    return sum == length ? NULL : "a remote list of another length than the request";
}

static const char *judge_request(const struct ptli_header *header, const unsigned char *data,
                                 uint32_t eager_limit)
{
    static const uint8_t allowed[] = {[PTLI_PUT] = PTLI_LONG | PTLI_ANSWER | PTLI_ASKS_ACK,
                                      [PTLI_GET] = PTLI_LONG,
                                      [PTLI_GETPUT] = 0};
    if (header->flags & ~allowed[header->type]) return "a flag that its type cannot have";
    if ((header->flags & (PTLI_ASKS_ACK | PTLI_LONG)) && header->type == PTLI_PUT &&
        !(header->flags & PTLI_ANSWER))
        return "a put that needs an answer and wants none";
    if (header->flags & PTLI_LONG) return judge_list(data, header->data_length, header->length);
    if (header->length > eager_limit) return "a request too long for its kind";
    if (header->data_length != (header->type == PTLI_GET ? 0 : header->length))
        return "a request with data of another length than it says";
    return NULL;
}

static const char *judge_answer(const struct ptli_header *header)
{
    bool placed = header->flags & PTLI_PLACED;
    if (header->flags & ~(header->type == PTLI_REPLY ? PTLI_PLACED : 0))
        return "a flag that its type cannot have";
    if (header->type != PTLI_REPLY) return header->data_length == 0 ? NULL : "an answer with data";
    if (header->data_length != (placed ? 0 : header->length))
        return "a reply with data of another length than it says";
    return NULL;
}

const char *ptli_wire_parse(const void *bytes, size_t size, uint32_t eager_limit,
                            struct ptli_header *header)
{
    const unsigned char *start = bytes;
    if (size < PTLI_WIRE_SIZE) return "a message shorter than a header";
    if (start[0] != PTLI_WIRE_VERSION) return "a message of another version";
    ptli_wire_decode(start, header);
    if (header->data_length > eager_limit) return "more data than a message can hold";
    if (size != PTLI_WIRE_SIZE + (size_t)header->data_length)
        return "a message of another size than it says";
    switch (header->type) {
    case PTLI_PUT:
    case PTLI_GET:
    case PTLI_GETPUT:
        return judge_request(header, start + PTLI_WIRE_SIZE, eager_limit);
    case PTLI_ACK:
    case PTLI_REPLY:
    case PTLI_DONE:
        return judge_answer(header);
    }
    return header->type >= PTLI_TYPE_TRANSPORT ? NULL : "a message of unknown type";
}
