/* wire.c - encodes and decodes frames; see wire.h.
 *
 * Pure and bounded: it reads no byte beyond those it is given, and refuses invalid values.
 */
#include "other/softhca/src/tcp/wire.h"

#include <string.h>

static uint8_t *wire_put_uint(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
    return at + bytes;
}

static uint64_t wire_get_uint(const uint8_t **at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)(*at)[i] << 8 * i;
    *at += bytes;
    return value;
}

size_t wire_header_size(uint8_t type)
{
    return type == WIRE_REQUEST ? WIRE_REQUEST_HEADER : WIRE_HEADER;
}

size_t wire_put(const struct wire_frame *f, uint8_t *at)
{
    at = wire_put_uint(at, f->type, 1);
    at = wire_put_uint(at, f->flags, 1);
    at = wire_put_uint(at, 0, 2);
    at = wire_put_uint(at, f->length, 4);
    at = wire_put_uint(at, f->to, 4);
    at = wire_put_uint(at, f->from, 4);
    at = wire_put_uint(at, f->life, 4);
    at = wire_put_uint(at, f->msn, 4);
    at = wire_put_uint(at, f->value, 8);
    if (f->type != WIRE_REQUEST) return WIRE_HEADER;
    at = wire_put_uint(at, f->opcode, 1);
    at = wire_put_uint(at, f->service, 1);
    at = wire_put_uint(at, f->send_flags, 1);
    at = wire_put_uint(at, f->dest_port, 1);
    memcpy(at, &f->imm, 4);
    at = wire_put_uint(at + 4, f->total, 4);
    at = wire_put_uint(at, f->rkey, 4);
    at = wire_put_uint(at, f->qkey, 4);
    at = wire_put_uint(at, f->srqn, 4);
    at = wire_put_uint(at, f->compare_add, 8);
    at = wire_put_uint(at, f->swap, 8);
    at = wire_put_uint(at, f->slid, 2);
    at = wire_put_uint(at, f->sl, 1);
    at = wire_put_uint(at, f->dlid_path_bits, 1);
    at = wire_put_uint(at, f->pkey, 2);
    wire_put_uint(at, 0, 2);
    return WIRE_REQUEST_HEADER;
}

static void wire_get_request(const uint8_t *at, struct wire_frame *f)
{
    f->opcode = wire_get_uint(&at, 1);
    f->service = wire_get_uint(&at, 1);
    f->send_flags = wire_get_uint(&at, 1);
    f->dest_port = wire_get_uint(&at, 1);
    memcpy(&f->imm, at, 4);
    at += 4;
    f->total = wire_get_uint(&at, 4);
    f->rkey = wire_get_uint(&at, 4);
    f->qkey = wire_get_uint(&at, 4);
    f->srqn = wire_get_uint(&at, 4);
    f->compare_add = wire_get_uint(&at, 8);
    f->swap = wire_get_uint(&at, 8);
    f->slid = wire_get_uint(&at, 2);
    f->sl = wire_get_uint(&at, 1);
    f->dlid_path_bits = wire_get_uint(&at, 1);
    f->pkey = wire_get_uint(&at, 2);
}

static const char *wire_fault_of_request(const struct wire_frame *f)
{
    if (f->opcode >= WIRE_OPCODES) return "unknown operation";
    if (f->service >= WIRE_SERVICES) return "unknown service";
    if (f->send_flags > WIRE_SEND_FLAGS) return "unknown send flags";
    if (f->dest_port >= WIRE_PORTS) return "unknown port";
    if (f->total > WIRE_LONGEST) return "message too long";
    if (f->opcode > WIRE_READ && f->total != 8) return "atomic of not 8 bytes";
    if (f->opcode == WIRE_NOTHING && f->total) return "something";
    if (wire_is_fetch(f->opcode) && f->length) return "fetch with a payload";
    if (f->length > f->total) return "payload longer than the message";
    return NULL;
}

static const char *wire_fault_of(const struct wire_frame *f)
{
    bool data = f->type == WIRE_DATA || f->type == WIRE_RESPONSE;
    uint32_t most = 0;
    struct wire_nak nak;
    if (f->flags > WIRE_FLAGS) return "unknown flags";
    if (f->to >> 24 || f->from >> 24) return "QP number out of range";
    if (f->type == WIRE_REQUEST || data) most = WIRE_CHUNK;
    if (f->type >= WIRE_HELLO) most = WIRE_GREETING;
    if (f->length > most) return "payload too long";
    if (data && (f->value > WIRE_LONGEST || f->value + f->length > WIRE_LONGEST))
        return "offset out of range";
    if (f->type == WIRE_DATA && f->length == 0) return "no data";
    if (f->type == WIRE_HELLO && f->value != WIRE_MAGIC) return "no greeting";
    if (f->type == WIRE_NAK && !wire_get_nak(f->value, &nak)) return "unknown refusal";
    return f->type == WIRE_REQUEST ? wire_fault_of_request(f) : NULL;
}

int wire_parse(const uint8_t *data, size_t n, struct wire_frame *f, const char **why)
{
    *why = NULL;
    if (n == 0) return 0;
    if (data[0] == 0 || data[0] >= WIRE_TYPES) {
        *why = "unknown frame";
        return -1;
    }
    size_t size = wire_header_size(data[0]);
    if (n < size) return 0;
    const uint8_t *at = data;
    *f = (struct wire_frame){0};
    f->type = wire_get_uint(&at, 1);
    f->flags = wire_get_uint(&at, 1);
    at += 2;
    f->length = wire_get_uint(&at, 4);
    f->to = wire_get_uint(&at, 4);
    f->from = wire_get_uint(&at, 4);
    f->life = wire_get_uint(&at, 4);
    f->msn = wire_get_uint(&at, 4);
    f->value = wire_get_uint(&at, 8);
    if (f->type == WIRE_REQUEST) wire_get_request(at, f);
    *why = wire_fault_of(f);
    return *why ? -1 : (int)size;
}

uint64_t wire_put_nak(const struct wire_nak *n)
{
    return n->code | n->status << 8 | n->timer << 16;
}

bool wire_get_nak(uint64_t value, struct wire_nak *n)
{
    n->code = value;
    n->status = value >> 8;
    n->timer = value >> 16;
    return value >> 24 == 0 && n->code >= WIRE_RNR && n->code <= WIRE_ERROR && n->status < 32 &&
           (n->code == WIRE_ERROR) == (n->status != 0) && n->timer < 32;
}

enum { HELLO_SIZE = 60, CHALLENGE_SIZE = 60 };

size_t wire_put_hello(const struct wire_hello *h, uint8_t at[WIRE_GREETING])
{
    at = wire_put_uint(at, h->version, 4); /* first in every version */
    at = wire_put_uint(at, h->from.host, 4);
    at = wire_put_uint(at, h->from.slot, 4);
    at = wire_put_uint(at, h->from.nonce, 8);
    at = wire_put_uint(at, h->from.number, 4);
    at = wire_put_uint(at, h->hosts, 8);
    at = wire_put_uint(at, h->to_host, 4);
    at = wire_put_uint(at, h->to_slot, 4);
    at = wire_put_uint(at, h->serial, 4);
    memcpy(at, h->challenge, WIRE_NONCE);
    return HELLO_SIZE;
}

bool wire_get_hello(const uint8_t *data, size_t n, struct wire_hello *h)
{
    if (n < 4) return false;
    h->version = wire_get_uint(&data, 4);
    if (h->version != WIRE_VERSION) return true; /* the layout of the rest is unknown */
    if (n != HELLO_SIZE) return false;
    h->from.host = wire_get_uint(&data, 4);
    h->from.slot = wire_get_uint(&data, 4);
    h->from.nonce = wire_get_uint(&data, 8);
    h->from.number = wire_get_uint(&data, 4);
    h->hosts = wire_get_uint(&data, 8);
    h->to_host = wire_get_uint(&data, 4);
    h->to_slot = wire_get_uint(&data, 4);
    h->serial = wire_get_uint(&data, 4);
    memcpy(h->challenge, data, WIRE_NONCE);
    return true;
}

size_t wire_put_challenge(const struct wire_challenge *c, uint8_t at[WIRE_GREETING])
{
    at = wire_put_uint(at, c->nonce, 8);
    at = wire_put_uint(at, c->number, 4);
    memcpy(at, c->challenge, WIRE_NONCE);
    memcpy(at + WIRE_NONCE, c->mac, WIRE_MAC);
    return CHALLENGE_SIZE;
}

bool wire_get_challenge(const uint8_t *data, size_t n, struct wire_challenge *c)
{
    if (n != CHALLENGE_SIZE) return false;
    c->nonce = wire_get_uint(&data, 8);
    c->number = wire_get_uint(&data, 4);
    memcpy(c->challenge, data, WIRE_NONCE);
    memcpy(c->mac, data + WIRE_NONCE, WIRE_MAC);
    return true;
}
