/* am_wire.h - what an Active Message looks like on the wire, and the check of one that arrived.
 *
 *   offset 0   head     category, Request or Reply, argument count
 *          1   handler  index
 *          2   credits  returned to the receiver by this message
 *          3   flags    GASNETC_AM_*
 *          4   nbytes   payload length
 *          8   dst      Long only: payload's address at the receiver
 *          8 or 16      arguments, 4 bytes each, padded to 8; then the payload of a Medium or
 * packed Long
 *
 * All integers in the byte order of the machines of the job, which is one.  gasnetc_am_parse is
 * pure and is what the fuzzer feeds.
 */
#ifndef GASNETC_AM_WIRE_H
#define GASNETC_AM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gasnetc_am_category { GASNETC_AM_SHORT, GASNETC_AM_MEDIUM, GASNETC_AM_LONG };

enum {
    GASNETC_AM_PACKED = 1, /* the payload of a Long follows in this message */
    GASNETC_AM_HIDDEN = 2, /* a Reply that only carries credits: no handler runs */
    GASNETC_AM_MAX_ARGS = 16,
};

typedef struct gasnetc_am_header {
    uint8_t head; /* category | request << 2 | numargs << 3 */
    uint8_t handler;
    uint8_t credits;
    uint8_t flags;
    uint32_t nbytes;
} gasnetc_am_header_t;

static inline uint8_t gasnetc_am_head(enum gasnetc_am_category category, bool request,
                                      unsigned numargs)
{
    return (uint8_t)(category | (unsigned)request << 2 | numargs << 3);
}

/* Bytes that the arguments take. */
static inline uint32_t gasnetc_am_args_size(unsigned numargs)
{
    return (numargs * 4u + 7u) & ~7u;
}

/* Bytes before the payload. */
static inline uint32_t gasnetc_am_prefix(enum gasnetc_am_category category, unsigned numargs)
{
    uint32_t fixed = sizeof(gasnetc_am_header_t) + (category == GASNETC_AM_LONG ? 8u : 0u);
    return fixed + gasnetc_am_args_size(numargs);
}

/* A message taken apart; pointers lead into the message. */
typedef struct gasnetc_am {
    enum gasnetc_am_category category;
    bool request;
    bool hidden;
    bool packed;
    uint8_t handler;
    uint8_t credits;
    uint8_t numargs;
    uint32_t nbytes;
    uint64_t dst;
    const int32_t *args;
    void *payload; /* Medium and packed Long */
} gasnetc_am_t;

/* Takes apart `length` bytes at `message` (8-byte aligned).  Returns NULL, or the name of the field
 * that is wrong; `am` is then unspecified.  Never reads past the message. */
const char *gasnetc_am_parse(void *message, size_t length, gasnetc_am_t *am);

#endif
