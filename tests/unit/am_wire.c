/* am_wire.c - the format of core/am/am_wire.h and the check of what arrived (IB-A7): every honest
 * message comes apart as it was put together, and each dishonest field is named.
 */
#include "core/am/am_wire.h"

#include <stdlib.h>

#include "tests/unit/am_compose.h"
#include "tests/unit/am_parse.h"
#include "tests/unit/check.h"

/* Parses a copy of exactly the right size, so that a sanitizer sees a read past it. */
static const char *parse(const uint8_t *bytes, size_t length, gasnetc_am_t *am, uint8_t **copy)
{
    *copy = malloc(length ? length : 1);
    if (!*copy) abort();
    memcpy(*copy, bytes, length);
    return am_parse(*copy, length, am);
}

static bool same(const message_t *m, const gasnetc_am_t *am, void *message)
{
    const int32_t *args = gasnetc_am_args(am, message);
    for (unsigned i = 0; i < m->numargs; i++)
        if (args[i] != 100 + (int32_t)i) return false;
    if (m->payload && memcmp(gasnetc_am_payload(am, message), m->payload, m->nbytes)) return false;
    return am->category == m->category && am->request == m->request && am->numargs == m->numargs &&
           am->handler == m->handler && am->credits == m->credits &&
           am->packed == !!(m->flags & PACKED) && am->hidden == !!(m->flags & HIDDEN) &&
           am->nbytes == m->nbytes && (m->category != LONG || am->dst == m->dst);
}

static void honest(unsigned category, unsigned flags, uint32_t nbytes, const char *name)
{
    static uint8_t payload[4096], bytes[5000], *copy;
    check_fill(payload, sizeof payload);
    bool carries = category == MEDIUM || flags & PACKED;
    for (unsigned numargs = 0; numargs <= 16; numargs++)
        for (unsigned request = 0; request < 2; request++) {
            message_t m = {.category = category,
                           .request = request,
                           .numargs = numargs,
                           .handler = 255,
                           .credits = 200,
                           .flags = flags,
                           .nbytes = nbytes,
                           .dst = 0x123456789abcdef0,
                           .payload = carries ? payload : NULL};
            size_t length = compose(&m, bytes);
            gasnetc_am_t am;
            const char *wrong = parse(bytes, length, &am, &copy);
            check_each(!wrong, "%u arguments: bad %s", numargs, wrong);
            check_each(wrong || same(&m, &am, copy), "%u arguments, request %u differ", numargs,
                       request);
            check_each(wrong || am.args % 4 == 0, "arguments are not aligned");
            check_each(wrong || !carries || am.payload % 8 == 0, "payload is not 8-byte aligned");
            check_each(gasnetc_am_prefix((enum gasnetc_am_category)category, numargs) ==
                           length - (carries ? nbytes : 0),
                       "%u arguments: prefix", numargs);
            free(copy);
        }
    check_all("IB-A7 %s with 0..16 arguments comes apart as it was put together", name);
}

static void dishonest(const char *name, message_t m, const char *field)
{
    static uint8_t bytes[5000], *copy;
    gasnetc_am_t am;
    size_t length = compose(&m, bytes);
    const char *wrong = parse(bytes, length, &am, &copy);
    free(copy);
    check(wrong && !strcmp(wrong, field), "design 3: %s is refused as bad %s", name, field);
    if (!wrong || strcmp(wrong, field)) check_note("%s", wrong ? wrong : "accepted");
}

static void all_dishonest(void)
{
    static const uint8_t payload[64];
    message_t small = {.category = SHORT, .numargs = 3},
              medium = {.category = MEDIUM, .numargs = 1, .payload = payload, .nbytes = 9},
              packed = {.category = LONG,
                        .flags = PACKED,
                        .numargs = 2,
                        .payload = payload,
                        .nbytes = 64},
              far = {.category = LONG, .numargs = 2, .nbytes = 1 << 30}, m;
    dishonest("an empty message", (message_t){.longer = -8}, "length (shorter than a header)");
    dishonest("seven bytes", (message_t){.longer = -1}, "length (shorter than a header)");
    dishonest("category 3", (message_t){.category = 3}, "category");
    dishonest("17 arguments", (message_t){.numargs = 17}, "argument count");
    dishonest("31 arguments", (message_t){.numargs = 31}, "argument count");
    dishonest("an unknown flag", (message_t){.flags = 4}, "flags");
    dishonest("another unknown flag", (message_t){.flags = 128}, "flags");
    dishonest("a hidden Request", (message_t){.flags = HIDDEN, .request = 1}, "flags");
    dishonest("a hidden Medium", (message_t){.category = MEDIUM, .flags = HIDDEN}, "flags");
    dishonest("a hidden Long", (message_t){.category = LONG, .flags = HIDDEN}, "flags");
    dishonest("a packed Short", (message_t){.flags = PACKED}, "flags");
    dishonest("a packed Medium", (message_t){.category = MEDIUM, .flags = PACKED}, "flags");
    m = small, m.longer = -1;
    dishonest("a Short with its last byte cut off", m, "length (arguments cut off)");
    m = small, m.longer = 8;
    dishonest("a Short with something behind it", m, "payload length");
    m = small, m.lie = 1;
    dishonest("a Short that claims a payload", m, "payload length");
    m = medium, m.longer = -1;
    dishonest("a Medium with its last byte cut off", m, "payload length");
    m = medium, m.longer = 1;
    dishonest("a Medium with a byte too many", m, "payload length");
    m = medium, m.lie = 1;
    dishonest("a Medium that claims a byte too many", m, "payload length");
    m = medium, m.lie = -1;
    dishonest("a Medium that hides a byte", m, "payload length");
    m = medium, m.lie = -10;
    dishonest("a Medium of 4 GB", m, "payload length");
    m = medium, m.longer = -10;
    dishonest("a Medium cut off in its arguments", m, "length (arguments cut off)");
    m = packed, m.lie = 8;
    dishonest("a packed Long that claims more than it carries", m, "payload length");
    m = packed, m.longer = -65;
    dishonest("a packed Long cut off in its arguments", m, "length (arguments cut off)");
    m = far, m.longer = 8;
    dishonest("a Long with something behind it", m, "payload length");
    m = far, m.longer = -12;
    dishonest("a Long cut off in its address", m, "length (arguments cut off)");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    honest(SHORT, 0, 0, "a Short");
    honest(MEDIUM, 0, 0, "an empty Medium");
    honest(MEDIUM, 0, 1, "a Medium of one byte");
    honest(MEDIUM, 0, 4024, "a Medium of 4024 bytes");
    honest(LONG, 0, 0x7fffffff, "a Long of 2 GB");
    honest(LONG, PACKED, 4016, "a packed Long of 4016 bytes");
    all_dishonest();
    return check_end();
}
