/* handshake.c - fuzzes what arrives at the sockets and UD queue pairs of handshakes: a message, and
 * the payload of either user; and the state machine, with any messages at any time.
 *
 * The first byte chooses: 0 a message of core/ib, 1 one of libportals, 2 one without a seal,
 * otherwise steps of 4 bytes.
 */
#include "other/connect/handshake/handshake.h"

#include "core/ib/connect_payload.h"
#include "other/connect/handshake/seal.h"
#include "other/portals3/src/transport/connect_payload.h"
#include "tests/fuzz/fuzz.h"

enum { RANKS = 100 };

#define STAMP(low) low "\0\0\0\0\0\0\0"
#define ZERO4      "\0\0\0\0"
#define ZERO16     ZERO4 ZERO4 ZERO4 ZERO4
#define ZERO68     ZERO16 ZERO16 ZERO16 ZERO16 ZERO4

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\0SHNG\x02\x01\x07\0" STAMP("\x01") STAMP("\0") "\x63\0\0\0"
                                                               "\x01\x02\x03"),
    FUZZ_SEED("\0SHNG\x02\0\x0a\0" STAMP("\x01") STAMP("\x01") "\0\0\0\0"
                                                               "\xff\xff\xff\x07\0\0"),
    FUZZ_SEED("\1PT33\x02\x01\x80\0" STAMP("\x05")
                  STAMP("\x09") "\x01\0\0\x7f"
                                "\x02\0\0\0" ZERO4 ZERO4 STAMP("\x11") STAMP("\x12") STAMP(
                                    "\x13") "\x03\0\0\0"
                                            "\x04\0\0\0\0\x40\0\0\x10\0\x01\0\x05\x10\0\0" ZERO68),
    FUZZ_SEED("\2" STAMP("\x11") STAMP("\x12") STAMP("\x13") "a message"),
    FUZZ_SEED("\3\0\0\0\0\1\5\1\1\3\0\0\x40\1\6\2\0\4\0\0\0\2\0\0\0"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 300;

static void ib(const handshake_message_t *m)
{
    net_ib_payload_t payload;
    uint8_t again[HANDSHAKE_MOST_PAYLOAD];
    if (net_ib_payload_parse(m->payload, m->payload_size, RANKS, &payload)) return;
    fuzz_require(payload.rank < RANKS && payload.qps > 0 && payload.qps <= NET_IB_PAYLOAD_QPS,
                 "rank and number of queue pairs are possible");
    for (uint32_t i = 0; i < payload.qps; i++)
        fuzz_require(payload.qp_number[i] <= 0xffffff, "a queue pair number has 24 bits");
    net_ib_payload_encode(&payload, again);
    fuzz_require(net_ib_payload_size(payload.qps) == m->payload_size &&
                     !memcmp(again, m->payload, m->payload_size),
                 "a payload of core/ib comes back");
}

static void portals(const handshake_message_t *m)
{
    ptli_connect_payload_t payload;
    if (ptli_connect_payload_parse(m->payload, m->payload_size, &payload)) return;
    fuzz_require(payload.mtu >= 1 && payload.mtu <= 5 && payload.window > 0 &&
                     payload.qp_number <= 0xffffff && payload.psn <= 0xffffff,
                 "all that a queue pair is connected with is possible");
    fuzz_require(!memcmp(&payload, m->payload, sizeof payload), "it is what was sent");
}

static void message(const uint8_t *bytes, size_t size, uint32_t protocol)
{
    handshake_message_t m;
    uint8_t again[HANDSHAKE_MOST];
    const char *wrong = handshake_parse(bytes, size, protocol, &m);
    fuzz_require(!wrong || *wrong, "a refusal says why");
    if (wrong) return;
    fuzz_require(m.mine != 0, "a queue pair has a stamp");
    fuzz_require((const uint8_t *)m.payload + m.payload_size == bytes + size,
                 "the payload is the rest");
    fuzz_touch(m.payload, m.payload_size);
    fuzz_require(handshake_encode(&m, protocol, again) == size && !memcmp(again, bytes, size),
                 "a message comes back");
    (protocol == PTLI_HANDSHAKE ? portals : ib)(&m);
}

/* Checks the properties that an engine relies on, whatever arrives. */
static void perform(handshake_t *h, unsigned actions, const handshake_t *before)
{
    const bool had = before->mine && !(actions & HANDSHAKE_DROP);
    fuzz_require(before->mine || !(actions & HANDSHAKE_DROP), "only what is there is dropped");
    fuzz_require(!(actions & HANDSHAKE_MAKE) || !had, "no second queue pair is created");
    fuzz_require(!h->mine == !(had || (actions & HANDSHAKE_MAKE)), "a stamp is of a queue pair");
    const bool was_joined = had && before->theirs, was_open = had && before->open;
    fuzz_require(!(actions & HANDSHAKE_JOIN) || (h->mine && !was_joined), "connected once");
    fuzz_require(!h->theirs == !(was_joined || (actions & HANDSHAKE_JOIN)), "and then it says so");
    fuzz_require(!(actions & HANDSHAKE_OPEN) || (h->theirs && !was_open), "opened once");
    fuzz_require(h->open == (was_open || (actions & HANDSHAKE_OPEN)), "and then it is open");
    fuzz_require(!(actions & HANDSHAKE_SEND) || h->mine, "only a queue pair is spoken of");
    fuzz_require(!(actions & HANDSHAKE_SILENT) || (actions == HANDSHAKE_SILENT && !h->open),
                 "only what waits is given up");
    fuzz_require(!h->waiting || (h->mine && !h->open && h->next >= h->since), "what waits can end");
    fuzz_require(h->last >= h->mine && h->last >= before->last, "stamps do not go back");
}

/* An event, two stamps, and how much later it is. */
static void steps(const uint8_t *data, size_t size)
{
    static const handshake_times_t times = {.first = 0.02, .longest = 0.5, .give_up = 10};
    handshake_t h = {0};
    handshake_moment_t at = {.now = 0, .stamp = 1};
    for (; size >= 4; data += 4, size -= 4) {
        const handshake_t before = h;
        const handshake_message_t m = {
            .mine = data[1] % 16 + 1u, .yours = data[2] % 16, .ask = data[0] & 8};
        at.now += data[3] / 16.0;
        at.stamp += data[3] / 64;
        switch (data[0] % 5) {
        case 0:
            perform(&h, handshake_want(&h, at, &times), &before);
            break;
        case 1:
            perform(&h, handshake_receive(&h, &m, at, &times), &before);
            break;
        case 2:
            perform(&h, handshake_reset(&h), &before);
            break;
        case 3:
            perform(&h, handshake_tick(&h, at.now, &times), &before);
            break;
        case 4:
            perform(&h, handshake_refused(&h, at.now, 0.5), &before);
            break;
        }
    }
}

/* Tests that only a sealed message is accepted, and only if it is unchanged. */
static void sealed(const uint8_t *bytes, size_t size)
{
    static const handshake_key_t key = {.size = HANDSHAKE_KEY_MOST, .bytes = {1}};
    const handshake_way_t way = {.from = size, .to = 1};
    uint8_t own[HANDSHAKE_MOST];
    fuzz_require(!handshake_unseal(&key, way, bytes, size), "a seal cannot be guessed");
    if (size < 1 || size > HANDSHAKE_MOST - HANDSHAKE_SEAL) return;
    memcpy(own, bytes, size);
    const size_t whole = handshake_seal(&key, way, own, size);
    fuzz_require(handshake_unseal(&key, way, own, whole) == size, "a sealed message is authentic");
    own[bytes[0] % whole] ^= 1;
    fuzz_require(!handshake_unseal(&key, way, own, whole), "a changed one is not");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    uint8_t *copy = fuzz_copy(data + 1, size - 1);
    if (data[0] > 2)
        steps(copy, size - 1);
    else if (data[0] == 2)
        sealed(copy, size - 1);
    else
        message(copy, size - 1, data[0] ? PTLI_HANDSHAKE : NET_IB_HANDSHAKE);
    free(copy);
    return 0;
}
