/* am_wire.c - the check of an Active Message that arrived, before anything in it is believed.
 *
 * Called by the AM engine and by the fuzzer; pure.
 */
#include "core/am_wire.h"

#include <string.h>

/* Flags are rare; each is possible on one kind of message only. */
static bool flags_fit(const gasnetc_am_t *am, uint8_t flags)
{
    if (flags & ~(GASNETC_AM_PACKED | GASNETC_AM_HIDDEN)) return false;
    if (am->hidden && (am->request || am->category != GASNETC_AM_SHORT)) return false;
    return !am->packed || am->category == GASNETC_AM_LONG;
}

const char *gasnetc_am_parse(void *message, size_t length, gasnetc_am_t *am)
{
    const gasnetc_am_header_t *header = message;
    if (length < sizeof *header) return "length (shorter than a header)";
    unsigned category = header->head & 3u, numargs = header->head >> 3;
    if (category > GASNETC_AM_LONG) return "category";
    if (numargs > GASNETC_AM_MAX_ARGS) return "argument count";
    am->category = (enum gasnetc_am_category)category;
    am->request = header->head >> 2 & 1;
    am->hidden = header->flags & GASNETC_AM_HIDDEN;
    am->packed = header->flags & GASNETC_AM_PACKED;
    am->handler = header->handler;
    am->credits = header->credits;
    am->numargs = (uint8_t)numargs;
    am->nbytes = header->nbytes;
    if (header->flags && !flags_fit(am, header->flags)) return "flags";
    char *args = (char *)message + sizeof *header;
    if (category == GASNETC_AM_LONG) {
        if (length < sizeof *header + sizeof am->dst) return "length (destination cut off)";
        memcpy(&am->dst, args, sizeof am->dst);
        args += sizeof am->dst;
    }
    am->args = (const int32_t *)(const void *)args;
    am->payload = args + gasnetc_am_args_size(numargs);
    size_t prefix = (size_t)((char *)am->payload - (char *)message);
    if (length < prefix) return "length (arguments cut off)";
    if (category == GASNETC_AM_SHORT && header->nbytes) return "payload length";
    /* The payload of an unpacked Long went ahead. */
    size_t carried = category == GASNETC_AM_LONG && !am->packed ? 0 : header->nbytes;
    return length - prefix == carried ? NULL : "payload length";
}
