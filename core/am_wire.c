/* am_wire.c - the check of an Active Message that arrived, before anything in it is believed.
 *
 * Called by the AM engine and by the fuzzer; pure.
 */
#include "core/am_wire.h"

#include <string.h>

const char *gasnetc_am_parse(void *message, size_t length, gasnetc_am_t *am)
{
    gasnetc_am_header_t header;
    if (length < sizeof header) return "length (shorter than a header)";
    memcpy(&header, message, sizeof header);
    unsigned category = header.head & 3u, numargs = header.head >> 3;
    if (category > GASNETC_AM_LONG) return "category";
    if (numargs > GASNETC_AM_MAX_ARGS) return "argument count";
    if (header.flags & ~(GASNETC_AM_PACKED | GASNETC_AM_HIDDEN)) return "flags";
    *am = (gasnetc_am_t){.category = (enum gasnetc_am_category)category,
                         .request = header.head >> 2 & 1,
                         .hidden = header.flags & GASNETC_AM_HIDDEN,
                         .packed = header.flags & GASNETC_AM_PACKED,
                         .handler = header.handler,
                         .credits = header.credits,
                         .numargs = (uint8_t)numargs,
                         .nbytes = header.nbytes};
    if (am->hidden && (am->request || category != GASNETC_AM_SHORT)) return "flags";
    if (am->packed && category != GASNETC_AM_LONG) return "flags";
    uint32_t prefix = gasnetc_am_prefix(am->category, numargs);
    if (length < prefix) return "length (arguments cut off)";
    bool carries = category == GASNETC_AM_MEDIUM || am->packed;
    if (carries ? length - prefix != header.nbytes : length != prefix) return "payload length";
    if (category == GASNETC_AM_SHORT && header.nbytes) return "payload length";
    char *bytes = message;
    if (category == GASNETC_AM_LONG) memcpy(&am->dst, bytes + sizeof header, sizeof am->dst);
    uint32_t args = prefix - ((numargs * 4u + 7u) & ~7u);
    am->args = (const int32_t *)(const void *)(bytes + args);
    am->payload = bytes + prefix;
    return NULL;
}
