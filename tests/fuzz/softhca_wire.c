/* softhca_wire.c - fuzzes what a process of another host may send: a stream of frames into the
 * greeting and both machines of a queue pair; and each frame's way to bytes and back.
 *
 * The first byte says which end listens and how much it has posted.
 */
#include "other/softhca/src/tcp/greet.h"
#include "other/softhca/src/tcp/remote.h"
#include "tests/fuzz/fuzz.h"

#define U32(low)    low "\0\0\0"
#define U64(low)    low "\0\0\0\0\0\0\0"
#define FRAME(t, f) t f "\0\0"
#define TAIL(op, len)                                                                              \
    op "\0\0\0" U32("\0") U32(len) U32("\0") U32("\0") U32("\0") U64("\0") U64("\0") U64("\0")

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\x00" FRAME("\x01", "\x01") U32("\x02") U32("\x05") U32("\x06") U32("\x01") U32("\0")
                  U64("\0") TAIL("\0", "\x04") "ab" FRAME("\x02", "\0") U32("\x02") U32("\x05")
                      U32("\x06") U32("\x01") U32("\0") U64("\x02") "cd"),
    FUZZ_SEED("\x00" FRAME("\x01", "\x01") U32("\0") U32("\x05") U32("\x06") U32("\x01") U32("\0")
                  U64("\0") TAIL("\x04", "\x40")),
    FUZZ_SEED("\x13" FRAME("\x04", "\0") U32("\0") U32("\x05") U32("\x06") U32("\x01") U32("\x02")
                  U64("\0")),
    FUZZ_SEED("\x13" FRAME("\x05", "\0") U32("\0") U32("\x05") U32("\x06") U32("\x01") U32("\x01")
                  U64("\x02")),
    FUZZ_SEED("\x13" FRAME("\x06", "\0") U32("\x02") U32("\x05") U32("\x06") U32("\x01") U32("\x03")
                  U64("\0") "ab"),
    FUZZ_SEED("\x02" FRAME("\x09", "\0") U32("\x3c") U32("\0") U32("\0") U32("\0")
                  U32("\0") "softhca\0" U32("\x01") U32("\0") U32("\x07") U64("\x09") U32("\0")
                      U64("\x05") U32("\x01") U32("\x09") U32("\0") "0123456789abcdef"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 500;

static uint32_t posted;

static void look(void *owner, uint32_t msn, struct requester_wr *wr)
{
    (void)owner;
    fuzz_require(msn < posted, "only what is posted is asked for");
    *wr = (struct requester_wr){.opcode = msn % WIRE_OPCODES,
                                .length = msn % WIRE_OPCODES > WIRE_READ ? 8 : 2};
}

static void hear_as_requester(struct requester *q, const struct wire_frame *f)
{
    int status;
    if (f->type == WIRE_RESPONSE || f->type == WIRE_RESULT) {
        uint32_t n = f->type == WIRE_RESULT ? 8 : f->length,
                 offset = f->type == WIRE_RESULT ? 0 : f->value;
        if (requester_wants(q, f->life, f->msn, offset, n)) requester_received(q, n, 5);
    } else
        requester_on_frame(q, f, 5);
    while (!q->failing && requester_done(q, &status)) continue;
    fuzz_require(q->una <= q->next && q->next <= q->head && q->fetches <= q->max_fetches,
                 "the send queue stays whole");
}

/* False: close the connection. */
static bool hear_as_responder(struct responder *r, const struct wire_frame *f)
{
    enum responder_verdict v = responder_on_frame(r, f);
    if (v == RESPONDER_RUN) {
        fuzz_require(r->open && r->at <= r->request.total && f->length <= r->request.total - r->at,
                     "what is run is within the message");
        bool whole = wire_is_fetch(r->request.opcode) || responder_ran(r, f->length);
        if (whole) v = responder_finish(r, 9);
    }
    fuzz_require(r->fetches <= WIRE_FETCHES, "fetches are within bounds");
    return v != RESPONDER_BAD;
}

static void drain(struct responder *r)
{
    struct wire_frame f;
    int frames = 0;
    while (responder_next(r, &f)) {
        fuzz_require(++frames < 4 + WIRE_FETCHES * (WIRE_LONGEST / WIRE_CHUNK), "answers end");
        responder_sent(r, &f);
    }
}

static void round_trip(const struct wire_frame *f, const uint8_t *bytes, size_t size)
{
    uint8_t again[WIRE_REQUEST_HEADER];
    struct wire_frame g;
    const char *why;
    fuzz_require(wire_put(f, again) == size, "a header has one size");
    again[2] = bytes[2], again[3] = bytes[3]; /* reserved */
    if (f->type == WIRE_REQUEST) memcpy(again + 76, bytes + 76, 4);
    fuzz_require(!memcmp(again, bytes, size), "what is read is written the same");
    fuzz_require(wire_parse(again, size - 1, &g, &why) == 0, "a part of it is not enough");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    static const struct greet_self self = {.me = {1, 9, 222, 4}, .hosts = 5};
    static const uint8_t noise[WIRE_NONCE];
    struct greet g;
    struct responder r = {.reliable = !(data[0] & 8)};
    struct requester q = {.reliable = true,
                          .life = 1,
                          .max_fetches = 4,
                          .timeout = 1,
                          .tries = 1,
                          .rnr_retry = 3,
                          .look = look};
    posted = data[0] >> 3;
    greet_accept(&g, noise);
    responder_start(&r);
    requester_start(&q);
    requester_posted(&q, posted, 1);
    struct wire_frame f;
    while (requester_next(&q, 1, &f)) requester_sent(&q, &f, 1);
    uint8_t *copy = fuzz_copy(data + 1, size - 1);
    for (size_t at = 0; at < size - 1;) {
        const char *why;
        int used = wire_parse(copy + at, size - 1 - at, &f, &why);
        fuzz_require((used < 0) == (why != NULL), "a refusal says why");
        if (used <= 0) break;
        fuzz_require((size_t)used <= size - 1 - at, "no more is read than there is");
        round_trip(&f, copy + at, used);
        at += used;
        if (f.length > size - 1 - at) break;
        fuzz_touch(copy + at, f.length);
        if (f.type >= WIRE_HELLO) {
            if (!greet_on_frame(&g, &self, &f, copy + at)) break;
        } else if (f.type <= WIRE_PROBE) {
            if (!hear_as_responder(&r, &f)) break;
        } else
            hear_as_requester(&q, &f);
        at += f.length;
    }
    fuzz_require(g.state != GREET_WELCOME, "nobody is welcome who is not let in");
    drain(&r);
    free(copy);
    return 0;
}
