/* ssh_wire.c - encodes and decodes messages; see ssh_wire.h.
 *
 * Called by ranks, launcher and control processes.  Must never do I/O, keep state outside the
 * caller's structures, or trust a length that was not compared with the bytes present.
 */
#include "other/launch/ssh/ssh_wire.h"

#include <stdlib.h>
#include <string.h>

enum { MAGIC = 'S', FLAG_MORE = 1 };

/* --- buffer --- */

void ssh_wire_put(struct ssh_wire_buf *buf, const void *data, size_t len)
{
    if (buf->failed || len == 0) return;
    if (buf->cap - buf->len < len) {
        size_t cap = buf->cap ? buf->cap : 256;
        while (cap - buf->len < len) {
            if (cap > SIZE_MAX / 2) {
                buf->failed = true;
                return;
            }
            cap *= 2;
        }
        uint8_t *grown = realloc(buf->data, cap);
        if (!grown) {
            buf->failed = true;
            return;
        }
        buf->data = grown;
        buf->cap = cap;
    }
    memcpy(buf->data + buf->len, data, len);
    buf->len += len;
}

static void wire_store_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> (8 * i));
}

uint32_t ssh_wire_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

void ssh_wire_put_u32(struct ssh_wire_buf *buf, uint32_t value)
{
    uint8_t bytes[4];
    wire_store_u32(bytes, value);
    ssh_wire_put(buf, bytes, sizeof bytes);
}

void ssh_wire_put_u64(struct ssh_wire_buf *buf, uint64_t value)
{
    ssh_wire_put_u32(buf, (uint32_t)value);
    ssh_wire_put_u32(buf, (uint32_t)(value >> 32));
}

void ssh_wire_put_string(struct ssh_wire_buf *buf, const char *text)
{
    ssh_wire_put(buf, text, strlen(text) + 1);
}

void ssh_wire_free(struct ssh_wire_buf *buf)
{
    free(buf->data);
    memset(buf, 0, sizeof *buf);
}

/* --- frames --- */

static void wire_fill_header(uint8_t *head, enum ssh_wire_type type, bool more, uint32_t rank,
                             size_t len)
{
    head[0] = MAGIC;
    head[1] = SSH_WIRE_VERSION;
    head[2] = (uint8_t)type;
    head[3] = more ? FLAG_MORE : 0;
    wire_store_u32(head + 4, rank);
    wire_store_u32(head + 8, (uint32_t)len);
}

void ssh_wire_put_message(struct ssh_wire_buf *out, enum ssh_wire_type type, uint32_t rank,
                          const void *data, size_t len)
{
    const uint8_t *rest = data;
    do {
        size_t part = len < SSH_WIRE_PAYLOAD ? len : SSH_WIRE_PAYLOAD;
        uint8_t head[SSH_WIRE_HEADER];
        wire_fill_header(head, type, part < len, rank, part);
        ssh_wire_put(out, head, sizeof head);
        ssh_wire_put(out, rest, part);
        rest = part ? rest + part : rest;
        len -= part;
    } while (len);
}

size_t ssh_wire_value_frame(uint8_t out[SSH_WIRE_VALUE_FRAME], enum ssh_wire_type type,
                            uint32_t rank, uint32_t value)
{
    wire_fill_header(out, type, false, rank, 4);
    wire_store_u32(out + SSH_WIRE_HEADER, value);
    return SSH_WIRE_VALUE_FRAME;
}

ssize_t ssh_wire_parse_frame(const uint8_t *bytes, size_t len, struct ssh_wire_frame *frame,
                             const char **why)
{
    if (len && bytes[0] != MAGIC) return *why = "not a frame of this protocol", -1;
    if (len < SSH_WIRE_HEADER) return 0;
    if (bytes[1] != SSH_WIRE_VERSION) return *why = "frame of another protocol version", -1;
    if (bytes[2] == 0 || bytes[2] >= SSH_WIRE_TYPES) return *why = "frame of unknown type", -1;
    if (bytes[3] & ~FLAG_MORE) return *why = "frame with unknown flags", -1;
    size_t payload = ssh_wire_u32(bytes + 8);
    if (payload > SSH_WIRE_PAYLOAD) return *why = "frame longer than the limit", -1;
    if (len - SSH_WIRE_HEADER < payload) return 0;
    frame->type = (enum ssh_wire_type)bytes[2];
    frame->more = bytes[3] & FLAG_MORE;
    frame->rank = ssh_wire_u32(bytes + 4);
    frame->data = bytes + SSH_WIRE_HEADER;
    frame->len = payload;
    return (ssize_t)(SSH_WIRE_HEADER + payload);
}

/* --- messages --- */

/* The rest of a payload; `short_of` is sticky, so that decoders check once. */
struct reader {
    const uint8_t *at;
    size_t left;
    bool short_of;
};

static const uint8_t *wire_take(struct reader *in, size_t len)
{
    if (in->left < len) {
        in->short_of = true;
        return NULL;
    }
    const uint8_t *found = in->at;
    in->at += len;
    in->left -= len;
    return found;
}

static uint32_t wire_take_u32(struct reader *in)
{
    const uint8_t *bytes = wire_take(in, 4);
    return bytes ? ssh_wire_u32(bytes) : 0;
}

static uint64_t wire_take_u64(struct reader *in)
{
    uint64_t low = wire_take_u32(in);
    return low | (uint64_t)wire_take_u32(in) << 32;
}

ssize_t ssh_wire_strings(const uint8_t *data, size_t len)
{
    ssize_t count = 0;
    if (len && data[len - 1] != 0) return -1;
    for (size_t i = 0; i < len; i++) count += data[i] == 0;
    return count;
}

static const char *wire_decode_collective(struct reader *in, struct ssh_wire_message *m)
{
    uint32_t kind = wire_take_u32(in);
    m->collective.root = wire_take_u32(in);
    m->collective.seq = wire_take_u32(in);
    m->collective.len = wire_take_u64(in);
    if (in->short_of) return "collective call cut short";
    if (kind >= SSH_WIRE_COLLECTIVES) return "collective call of unknown kind";
    if (m->collective.len > SSH_WIRE_MESSAGE) return "collective call with too long a block";
    m->collective.kind = (enum ssh_wire_collective)kind;
    return NULL;
}

static const char *wire_decode_welcome(struct reader *in, struct ssh_wire_message *m)
{
    m->welcome.size = wire_take_u32(in);
    if (in->short_of || m->welcome.size == 0 || m->welcome.size > SSH_WIRE_RANKS)
        return "welcome with an impossible number of processes";
    m->welcome.host_of = wire_take(in, (size_t)m->welcome.size * 4);
    if (in->short_of) return "welcome cut short";
    for (uint32_t r = 0; r < m->welcome.size; r++)
        if (ssh_wire_u32(m->welcome.host_of + 4 * (size_t)r) >= m->welcome.size)
            return "welcome with an impossible host number";
    if (ssh_wire_strings(in->at, in->left) < 0) return "welcome with a broken environment";
    return NULL;
}

static const char *wire_decode_setup(struct reader *in, struct ssh_wire_message *m)
{
    m->setup.first = wire_take_u32(in);
    m->setup.count = wire_take_u32(in);
    m->setup.stride = wire_take_u32(in);
    m->setup.size = wire_take_u32(in);
    m->setup.below = wire_take_u32(in);
    m->setup.argc = wire_take_u32(in);
    m->setup.envc = wire_take_u32(in);
    if (in->short_of) return "set-up cut short";
    if (m->setup.size > SSH_WIRE_RANKS || m->setup.first >= m->setup.size || m->setup.count == 0 ||
        m->setup.stride == 0 ||
        m->setup.count - 1 > (m->setup.size - 1 - m->setup.first) / m->setup.stride ||
        m->setup.below > SSH_WIRE_HOSTS)
        return "set-up with impossible ranks";
    uint64_t strings = 2 + (uint64_t)m->setup.argc + m->setup.envc;
    if (m->setup.argc == 0 || ssh_wire_strings(in->at, in->left) != (ssize_t)strings)
        return "set-up whose strings do not add up";
    return NULL;
}

static const char *wire_decode_start(struct reader *in, struct ssh_wire_message *m)
{
    m->start.slot = wire_take_u32(in);
    if (in->short_of) return "start cut short";
    ssize_t strings = ssh_wire_strings(in->at, in->left);
    if (strings <= 0 || strings > SSH_WIRE_RANKS) return "start without a command";
    m->start.argc = (uint32_t)strings;
    return NULL;
}

static const char *wire_decode_payload(struct reader *in, struct ssh_wire_message *m)
{
    switch (m->type) {
    case SSH_WIRE_COLLECTIVE:
        return wire_decode_collective(in, m);
    case SSH_WIRE_WELCOME:
        return wire_decode_welcome(in, m);
    case SSH_WIRE_SETUP:
        return wire_decode_setup(in, m);
    case SSH_WIRE_START:
        return wire_decode_start(in, m);
    case SSH_WIRE_RESULT:
        m->seq = wire_take_u32(in);
        return in->short_of ? "result cut short" : NULL;
    case SSH_WIRE_COMPLAINT:
        return NULL;
    case SSH_WIRE_SHELL:
        m->value = wire_take_u32(in);
        m->seq = wire_take_u32(in);
        return in->short_of || in->left ? "shell's end of the wrong length" : NULL;
    case SSH_WIRE_ANSWER:
        m->value = wire_take_u32(in);
        m->seq = wire_take_u32(in);
        return in->short_of ? "answer cut short" : NULL;
    case SSH_WIRE_JOIN:
        m->join.slot = wire_take_u32(in);
        wire_take(in, SSH_WIRE_NONCE);
        return in->short_of || in->left ? "join of the wrong length" : NULL;
    case SSH_WIRE_CHALLENGE:
        m->meeting.nonce = wire_take(in, SSH_WIRE_NONCE);
        m->meeting.proof = wire_take(in, SSH_WIRE_PROOF_LEN);
        return in->short_of || in->left ? "challenge of the wrong length" : NULL;
    case SSH_WIRE_PROOF:
        m->meeting.proof = wire_take(in, SSH_WIRE_PROOF_LEN);
        return in->short_of || in->left ? "proof of the wrong length" : NULL;
    case SSH_WIRE_LOST:
        m->lost.stream = wire_take_u32(in);
        m->lost.error = wire_take_u32(in);
        m->lost.bytes = wire_take_u64(in);
        return in->short_of || in->left ? "lost output of the wrong length" : NULL;
    default:
        m->value = wire_take_u32(in);
        return in->short_of || in->left ? "message of the wrong length" : NULL;
    }
}

bool ssh_wire_decode(enum ssh_wire_type type, uint32_t rank, const uint8_t *data, size_t len,
                     struct ssh_wire_message *message, const char **why)
{
    struct reader in = {.at = data, .left = len};
    memset(message, 0, sizeof *message);
    message->type = type;
    message->rank = rank;
    const char *wrong = wire_decode_payload(&in, message);
    if (wrong) return *why = wrong, false;
    message->data = in.at;
    message->data_len = in.left;
    return true;
}

static bool wire_may_be_long(enum ssh_wire_type type)
{
    return type == SSH_WIRE_COLLECTIVE || type == SSH_WIRE_WELCOME || type == SSH_WIRE_RESULT ||
           type == SSH_WIRE_SETUP || type == SSH_WIRE_START;
}

int ssh_wire_assemble(struct ssh_wire_assembly *assembly, const struct ssh_wire_frame *frame,
                      struct ssh_wire_message *message, const char **why)
{
    struct ssh_wire_buf *buf = &assembly->buf;
    if (assembly->done) {
        buf->len = 0;
        assembly->done = false;
    }
    /* Short messages are single frames, which may come between the frames of a long message. */
    if (!wire_may_be_long(frame->type)) {
        if (frame->more) return *why = "short message in several frames", -1;
        return ssh_wire_decode(frame->type, frame->rank, frame->data, frame->len, message, why)
                   ? 1
                   : -1;
    }
    if (assembly->type && (assembly->type != frame->type || assembly->rank != frame->rank))
        return *why = "a message begins before another ended", -1;
    if (frame->more && frame->len == 0) return *why = "message with an empty middle", -1;
    if (buf->len + frame->len > SSH_WIRE_MESSAGE) return *why = "message too long", -1;
    ssh_wire_put(buf, frame->data, frame->len);
    if (buf->failed) return *why = "out of memory for a message", -1;
    assembly->type = frame->type;
    assembly->rank = frame->rank;
    if (frame->more) return 0;
    assembly->type = (enum ssh_wire_type)0;
    assembly->done = true;
    return ssh_wire_decode(frame->type, frame->rank, buf->data, buf->len, message, why) ? 1 : -1;
}
