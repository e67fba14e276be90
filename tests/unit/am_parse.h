/* am_parse.h - parses a message of any category by core/am/am_wire.h, as am_deliver.c does. */
#ifndef UNIT_AM_PARSE_H
#define UNIT_AM_PARSE_H

#include "core/am/am_wire.h"

/* Parses `length` bytes at `message`.  Returns NULL, or the name of the invalid field; `am` is then
 * unspecified.  Does not read beyond the message. */
static inline const char *am_parse(void *message, size_t length, gasnetc_am_t *am)
{
    const gasnetc_am_header_t *header = message;
    if (length < sizeof *header) return "length (shorter than a header)";
    switch (header->head & 3) {
    case GASNETC_AM_SHORT:
        return gasnetc_am_parse_as(GASNETC_AM_SHORT, message, length, am);
    case GASNETC_AM_MEDIUM:
        return gasnetc_am_parse_as(GASNETC_AM_MEDIUM, message, length, am);
    case GASNETC_AM_LONG:
        return gasnetc_am_parse_as(GASNETC_AM_LONG, message, length, am);
    }
    return "category";
}

#endif
