/* messages.c - fuzzes what arrives in messages whose format has a pure parser: the header of
 * libportals, the private data of the connection manager, addresses of vis, halves of a Long of
 * portals-conduit, and the trailers of a ring.
 *
 * The first byte chooses.
 */
#include "core/rings/amrdma.h"
#include "extended-ref/vis/pieces.h"
#include "other/connect/rdmacm/greeting.h"
#include "other/portals3/src/base/portals_wire.h"
#include "portals-conduit/long_id.h"
#include "tests/fuzz/fuzz.h"

enum { EAGER = 200, KEY = 0x0101 };

#define ZERO8 "\0\0\0\0\0\0\0\0"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\0\x01\x01\0\0" ZERO8 ZERO8 ZERO8 ZERO8 "\x04\0\0\0" ZERO8 ZERO8 ZERO8
              "\x04\0\0\0\0\0\0\0" ZERO8 ZERO8 ZERO8 "abcd"), /* put of 4 bytes */
    FUZZ_SEED("\0\x01\x01\x01\0" ZERO8 ZERO8 ZERO8 ZERO8 "\x10\0\0\0" ZERO8 ZERO8 ZERO8
              "\x08\0\0\0\0\0\0\0" ZERO8 ZERO8 ZERO8
              "\0\x10\0\0\0\0\0\0\x07\0\0\0\x08\0\0\0"), /* a list of one piece */
    FUZZ_SEED("\x01GNCM\x01\x01\0\0\x01\x01\0\0\0\0\0\0\x02\0\0\0\x01\0\0\0"),
    FUZZ_SEED("\x02\x10\x10\x20"),                     /* a piece of 8 bytes */
    FUZZ_SEED("\x02\x30\x11\x20\x03\x80\x01\x81\x02"), /* groups */
    FUZZ_SEED("\x03\x01\x81\x02\x01\x82\x82"),
    FUZZ_SEED("\x04\x01\0\0\0\x03\0\x10\0\x02\0\0\0\0\0\0\0"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 400;

static void portals_header(const uint8_t *data, size_t size)
{
    struct ptli_header h;
    const char *wrong = ptli_wire_parse(data, size, EAGER, &h);
    fuzz_require(!wrong || *wrong, "a refusal says why");
    if (wrong) return;
    fuzz_require(size >= PTLI_WIRE_SIZE && h.data_length == size - PTLI_WIRE_SIZE,
                 "the data are what follows the header");
    if (h.type < PTLI_TYPE_TRANSPORT && h.flags & PTLI_LONG) {
        ptl_size_t all = 0;
        for (size_t at = PTLI_WIRE_SIZE; at < size; at += PTLI_REMOTE_SIZE) {
            struct ptli_remote piece;
            fuzz_require(size - at >= PTLI_REMOTE_SIZE, "a list has whole pieces");
            ptli_wire_parse_remote(data + at, &piece);
            fuzz_require(piece.length > 0 && piece.length <= PTLI_REMOTE_MAX, "of possible length");
            all += piece.length;
        }
        fuzz_require(all == h.length, "and together of the length that is said");
    }
    uint8_t *again = fuzz_copy(data, size);
    ptli_wire_encode(&h, again);
    fuzz_require(!ptli_wire_parse(again, size, EAGER, &h), "what was accepted comes back");
    free(again);
}

static void greeting(const uint8_t *data, size_t size)
{
    rdmacm_greeting_t g;
    uint8_t again[RDMACM_GREETING];
    const char *wrong = rdmacm_greeting_parse(data, size, KEY, 1, 3, &g);
    fuzz_require(!wrong || *wrong, "a refusal names the field");
    if (wrong) return;
    fuzz_require(g.key == KEY && g.to == 1 && g.from < 3 && g.from != 1, "it is of this job");
    rdmacm_greeting_encode(&g, again);
    fuzz_require(!rdmacm_greeting_parse(again, sizeof again, KEY, 1, 3, &g), "it comes back");
}

/* The pieces that a description names are within memory, and as long as was said. */
static void pieces(const uint8_t *data, size_t size)
{
    if (size < 1) return;
    const size_t claimed = data[0];
    gasnete_vis_reader_t reader = {.in = data + 1, .end = data + size, .data = claimed};
    size_t seen = 0;
    for (;;) {
        gasnete_vis_group_t g;
        const enum gasnete_vis_read result = gasnete_vis_read(&reader, &g);
        if (result == GASNETE_VIS_BROKEN) return;
        if (result == GASNETE_VIS_END) break;
        fuzz_require(g.length > 0 && g.times > 0, "no group is empty");
        fuzz_require(g.length <= claimed && g.times <= claimed, "a group has no more than all");
        seen += g.length * g.times;
        fuzz_require(seen <= claimed, "groups have no more than was said");
        const uintptr_t last = (uintptr_t)g.first + (g.times - 1) * (uintptr_t)g.stride;
        fuzz_require(last == (uintptr_t)g.last, "the last piece is where the stride leads");
        fuzz_require((uintptr_t)g.last + g.length - 1 >= (uintptr_t)g.last, "nothing wraps");
    }
    fuzz_require(seen == claimed, "and all of it");
}

/* Bytes: bit 7 a header, the rest a number; sources by turns. */
static void halves(const uint8_t *data, size_t size)
{
    long_ids_t ids = {0};
    uint8_t stored[2][128] = {{0}}; /* 1 the payload, 2 the header */
    if (!long_ids_init(&ids, 4)) abort();
    for (size_t i = 0; i < size; i++) {
        const uint32_t source = i & 1, number = data[i] & 127;
        const bool header = data[i] & 128;
        uint8_t *there = &stored[source][number];
        long_id_half_t *half = NULL;
        switch (long_ids_meet(&ids, source, number, header, &half)) {
        case LONG_ID_FIRST:
            fuzz_require(*there == 0, "the first half is the first");
            memset(half->bytes, 1, sizeof half->bytes);
            *there = header ? 2 : 1;
            break;
        case LONG_ID_SECOND:
            fuzz_require(*there == (header ? 1 : 2), "the second is the other one");
            fuzz_require(half->is_header != header && half->number == number, "and of this Long");
            long_ids_done(&ids, half);
            *there = 0;
            break;
        case LONG_ID_TWICE:
            fuzz_require(*there == (header ? 2 : 1), "what came twice was there");
            break;
        case LONG_ID_MEMORY:
            abort();
        }
    }
    long_ids_fini(&ids);
}

/* Trailers of 8 bytes, as a peer may write them: the sender never has more than its slots. */
static void ring(const uint8_t *data, size_t size)
{
    enum { SLOTS = 8 };
    static amrdma_released_t released;
    amrdma_in_t in;
    amrdma_out_t out = {0};
    amrdma_in_init(&in, SLOTS, &released, false);
    atomic_store(&out.slots, SLOTS);
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t trailer;
        memcpy(&trailer, data, sizeof trailer);
        fuzz_require(amrdma_trailer(amrdma_trailer_number(trailer), amrdma_trailer_freed(trailer),
                                    amrdma_trailer_length(trailer)) == trailer,
                     "a trailer is its three parts");
        if (amrdma_may_send(&out)) amrdma_send(&out);
        if (!amrdma_is_next(&in, trailer)) continue;
        const uint32_t number = amrdma_take(&in);
        amrdma_release(&in, number, false);
        fuzz_require(amrdma_freed(&in, false) == (uint16_t)number, "what was taken is released");
        amrdma_update_freed(&out, amrdma_trailer_freed(trailer));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const look[])(const uint8_t *, size_t) = {portals_header, greeting, pieces,
                                                            halves, ring};
    if (size < 1) return 0;
    uint8_t *copy = fuzz_copy(data + 1, size - 1);
    look[data[0] % (sizeof look / sizeof *look)](copy, size - 1);
    free(copy);
    return 0;
}
