/* wire.c - the bytes of wire.h. */
#include "other/firehose/wire.h"

#include <string.h>

/* "FH", the version, the kind; numbers of tokens and pins; bytes behind them. */
typedef struct header {
    uint8_t magic[2], version, kind;
    uint16_t tokens, pins;
    uint32_t extra_size;
} header_t;

_Static_assert(sizeof(header_t) == FH_HEADER && sizeof(fh_pin_t) == FH_PIN, "as on the wire");

enum { VERSION = 1 };

static void place(fh_message_t *m, void *bytes)
{
    m->token = (uint8_t *)bytes + FH_HEADER;
    m->pin = m->token + (size_t)m->tokens * FH_TOKEN;
    m->extra = m->pin + (size_t)m->pins * FH_PIN;
}

void fh_compose(fh_message_t *m, enum fh_kind kind, uint32_t tokens, uint32_t pins, void *bytes)
{
    *m = (fh_message_t){.kind = kind, .tokens = tokens, .pins = pins};
    place(m, bytes);
}

size_t fh_composed(fh_message_t *m, size_t extra, void *bytes)
{
    m->extra_size = (uint32_t)extra;
    const header_t header = {.magic = {'F', 'H'},
                             .version = VERSION,
                             .kind = (uint8_t)m->kind,
                             .tokens = (uint16_t)m->tokens,
                             .pins = (uint16_t)m->pins,
                             .extra_size = m->extra_size};
    memcpy(bytes, &header, sizeof header);
    return fh_message_size(m->tokens, m->pins, extra);
}

static const char *check_pins(const fh_message_t *m)
{
    uint64_t data = 0;
    for (uint32_t i = 0; i < m->pins; i++) {
        const fh_pin_t pin = fh_get_pin(m, i);
        if (pin.pages == 0) return "a region without pages";
        data += pin.extra;
    }
    if (m->kind == FH_REQUEST && data != m->extra_size) return "data of another size than it says";
    return NULL;
}

const char *fh_parse(fh_message_t *m, const void *bytes, size_t size, uint32_t most_tokens,
                     uint32_t most_pins, uint32_t key_size)
{
    header_t header;
    if (size < sizeof header) return "shorter than a header";
    memcpy(&header, bytes, sizeof header);
    if (header.magic[0] != 'F' || header.magic[1] != 'H') return "no message of firehoses";
    if (header.version != VERSION) return "a message of another version";
    if (header.kind < FH_REQUEST || header.kind > FH_REVOKE) return "a message of unknown kind";
    *m = (fh_message_t){.kind = (enum fh_kind)header.kind,
                        .tokens = header.tokens,
                        .pins = header.pins,
                        .extra_size = header.extra_size};
    if (m->tokens > most_tokens || m->pins > most_pins) return "more regions than a message has";
    if (size != fh_message_size(m->tokens, m->pins, m->extra_size)) return "of another length";
    if (m->kind == FH_REPLY && (m->tokens || m->extra_size != m->pins * key_size))
        return "keys of another size";
    if (m->kind == FH_REVOKE && (m->pins || m->extra_size)) return "a revocation with regions";
    place(m, (void *)(uintptr_t)bytes);
    return check_pins(m);
}

void fh_put_token(const fh_message_t *m, uint32_t i, uint32_t token)
{
    memcpy(m->token + (size_t)i * FH_TOKEN, &token, sizeof token);
}

uint32_t fh_get_token(const fh_message_t *m, uint32_t i)
{
    uint32_t token;
    memcpy(&token, m->token + (size_t)i * FH_TOKEN, sizeof token);
    return token;
}

void fh_put_pin(const fh_message_t *m, uint32_t i, const fh_pin_t *pin)
{
    memcpy(m->pin + (size_t)i * FH_PIN, pin, sizeof *pin);
}

fh_pin_t fh_get_pin(const fh_message_t *m, uint32_t i)
{
    fh_pin_t pin;
    memcpy(&pin, m->pin + (size_t)i * FH_PIN, sizeof pin);
    return pin;
}
