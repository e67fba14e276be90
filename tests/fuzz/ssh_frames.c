/* ssh_frames.c - fuzzes what the ssh spawner's processes read from each other: a stream of frames,
 * gathered into messages; and a message's payload alone.
 *
 * The first byte chooses: 0 a stream, otherwise the type of one message.
 */
#include "other/launch/ssh/ssh_wire.h"
#include "tests/fuzz/fuzz.h"

_Static_assert(SSH_WIRE_VERSION == 10 && SSH_WIRE_WELCOME == 11 && SSH_WIRE_JOIN == 18 &&
                   SSH_WIRE_SETUP == 23 && SSH_WIRE_CHALLENGE == 26 && SSH_WIRE_PROOF == 27,
               "the seeds below say so too");
#define HEAD(type, more, length) "S\x0a" type more "\x02\0\0\0" length "\0\0\0"
#define U32(low)                 low "\0\0\0"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\0" HEAD("\x01", "\0", "\x04") U32("\x09") HEAD("\x02", "\0", "\x04") U32("\0")),
    FUZZ_SEED("\0" HEAD("\x03", "\0", "\x18") U32("\x01") U32("\0") U32("\x07") U32("\x04")
                  U32("\0") "abcd"),
    FUZZ_SEED("\0" HEAD("\x03", "\x01", "\x08") U32("\x01") U32("\0") HEAD("\x05", "\0", "\x04")
                  U32("\x03") HEAD("\x03", "\0", "\x0c") U32("\x07") U32("\0") U32("\0")),
    FUZZ_SEED("\x0b" U32("\x02") U32("\0") U32("\x01") "A=1\0B=2\0"),
    FUZZ_SEED("\x0c" U32("\x05") "result"),
    FUZZ_SEED("\x07" U32("\x05") U32("\x01") "answer"),
    FUZZ_SEED("\x12" U32("\x01") "0123456789abcdef0123456789abcdef"),
    FUZZ_SEED("\x1a"
              "0123456789abcdef0123456789abcdef"
              "0123456789abcdef0123456789abcdef"),
    FUZZ_SEED("\x1b"
              "0123456789abcdef0123456789abcdef"),
    FUZZ_SEED("\x16" U32("\x01") "ssh\0host\0command\0"),
    FUZZ_SEED("\x17" U32("\0") U32("\x02") U32("\x01") U32("\x04") U32("\0") U32("\x01")
                  U32("\x01") "/tmp\0/bin/x\0x\0A=1\0"),
    FUZZ_SEED("\x05" U32("\x2a")),
    FUZZ_SEED("\x1c" U32("\x01") U32("\x1c") U32("\x07") U32("\0")),
    FUZZ_SEED("\x09\x0b\x64\0\0"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 400;

/* Checks that a decoded message points into the bytes that it was decoded from. */
static void look(const struct ssh_wire_message *m, const uint8_t *data, size_t size)
{
    fuzz_require(m->type > 0 && m->type < SSH_WIRE_TYPES, "the type is known");
    fuzz_require(m->data_len <= size &&
                     (!m->data_len || (m->data >= data && m->data + m->data_len <= data + size)),
                 "the rest lies in the message");
    fuzz_touch(m->data, m->data_len);
    if (m->type == SSH_WIRE_WELCOME) {
        fuzz_require(m->welcome.size > 0 && m->welcome.size <= size / 4, "the hosts are there");
        for (uint32_t r = 0; r < m->welcome.size; r++)
            fuzz_require(ssh_wire_u32(m->welcome.host_of + 4 * r) < m->welcome.size,
                         "a host number is possible");
    }
    if (m->type == SSH_WIRE_WELCOME || m->type == SSH_WIRE_SETUP)
        fuzz_require(!m->data_len || m->data[m->data_len - 1] == 0, "the last string ends");
    if (m->type == SSH_WIRE_SETUP)
        fuzz_require(m->setup.first + (m->setup.count - 1) * (uint64_t)m->setup.stride <
                             m->setup.size &&
                         ssh_wire_strings(m->data, m->data_len) ==
                             (ssize_t)(2 + (uint64_t)m->setup.argc + m->setup.envc),
                     "ranks and strings add up");
    if (m->type == SSH_WIRE_START)
        fuzz_require(m->start.argc > 0 &&
                         ssh_wire_strings(m->data, m->data_len) == (ssize_t)m->start.argc,
                     "the command's words add up");
    if (m->type == SSH_WIRE_CHALLENGE) fuzz_touch(m->meeting.nonce, SSH_WIRE_NONCE);
    if (m->type == SSH_WIRE_CHALLENGE || m->type == SSH_WIRE_PROOF)
        fuzz_touch(m->meeting.proof, SSH_WIRE_PROOF_LEN);
    if (m->type == SSH_WIRE_COLLECTIVE)
        fuzz_require(m->collective.kind < SSH_WIRE_COLLECTIVES &&
                         m->collective.len <= SSH_WIRE_MESSAGE,
                     "kind and length are possible");
}

static void stream(const uint8_t *data, size_t size)
{
    struct ssh_wire_assembly assembly = {0};
    for (size_t at = 0; at < size;) {
        uint8_t *rest = fuzz_copy(data + at, size - at);
        struct ssh_wire_frame frame;
        struct ssh_wire_message message;
        const char *why = NULL;
        ssize_t used = ssh_wire_parse_frame(rest, size - at, &frame, &why);
        int result = -1;
        fuzz_require(used >= -1 && used <= (ssize_t)(size - at), "no more is used than is there");
        if (used > 0) {
            fuzz_require(frame.data >= rest && frame.data + frame.len == rest + used,
                         "a frame's data end it");
            result = ssh_wire_assemble(&assembly, &frame, &message, &why);
        }
        fuzz_require(used == 0 || result >= 0 || (why && *why), "a refusal says why");
        if (result == 1)
            look(&message, assembly.done ? assembly.buf.data : frame.data,
                 assembly.done ? assembly.buf.len : frame.len);
        free(rest);
        if (used <= 0 || result < 0) break;
        at += (size_t)used;
    }
    ssh_wire_free(&assembly.buf);
}

/* Tests that a message is received as it was sent. */
static void round_trip(enum ssh_wire_type type, const uint8_t *data, size_t size)
{
    struct ssh_wire_buf buf = {0};
    struct ssh_wire_frame frame;
    const char *why;
    ssh_wire_put_message(&buf, type, 77, data, size);
    ssize_t used = ssh_wire_parse_frame(buf.data, buf.len, &frame, &why);
    fuzz_require(used == (ssize_t)buf.len && frame.type == type && frame.rank == 77 &&
                     !frame.more && frame.len == size && !memcmp(frame.data, data, size),
                 "a message of one frame comes back");
    fuzz_require(ssh_wire_parse_frame(buf.data, buf.len - 1, &frame, &why) == 0,
                 "one that lacks a byte is not there yet");
    ssh_wire_free(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    if (data[0] == 0) {
        stream(data + 1, size - 1);
        return 0;
    }
    enum ssh_wire_type type = (enum ssh_wire_type)(1 + (data[0] - 1) % (SSH_WIRE_TYPES - 1));
    uint8_t *copy = fuzz_copy(data + 1, size - 1);
    struct ssh_wire_message message;
    const char *why = NULL;
    bool good = ssh_wire_decode(type, 3, copy, size - 1, &message, &why);
    fuzz_require(good || (why && *why), "a refusal says why");
    if (good) look(&message, copy, size - 1);
    round_trip(type, copy, size - 1);
    free(copy);
    return 0;
}
