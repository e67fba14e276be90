/* am_wire.h - the wire format of Active Messages, and the checks at the receiver.
 *
 *   offset 0   head     category, Request or Reply, argument count
 *          1   handler  index
 *          2   credits  returned to the receiver by this message
 *          3   flags    GASNETC_AM_*
 *          4   nbytes   payload length
 *          8   dst      Long only: payload's address at the receiver
 *          8 or 16      arguments, 4 bytes each, padded to 8; then the payload, of a Medium or a
 *                       packed Long
 *
 * Integers are in host byte order, which is the same on all hosts of a job.  Parsing has no
 * side effects; tests/fuzz tests it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "other/base/hot.h"

enum gasnetc_am_category { GASNETC_AM_SHORT, GASNETC_AM_MEDIUM, GASNETC_AM_LONG };

enum {
    GASNETC_AM_PACKED = 1, /* the payload of a Long follows in this message */
    GASNETC_AM_HIDDEN = 2, /* a Reply that only returns credits: no handler runs */
    GASNETC_AM_MAX_ARGS = 16,
    GASNETC_AM_CLIENT = 128,    /* the least index of a client's handler */
    GASNETC_AM_PREFIX_MAX = 80, /* bytes before the payload, at most, rounded up to 16 */
};

typedef struct gasnetc_am_header {
    uint8_t head; /* category | request << 2 | numargs << 3 */
    uint8_t handler;
    uint8_t credits;
    uint8_t flags;
    uint32_t nbytes;
} gasnetc_am_header_t;

/* Encodes the head of a message; a constant expression if the arguments are. */
#define GASNETC_AM_HEAD(category, request, numargs)                                                \
    ((uint8_t)((unsigned)(category) | (unsigned)(request) << 2 | (unsigned)(numargs) << 3))

static inline uint8_t gasnetc_am_head(enum gasnetc_am_category category, bool request,
                                      unsigned numargs)
{
    return GASNETC_AM_HEAD(category, request, numargs);
}

/* Bytes that the arguments take. */
static inline size_t gasnetc_am_args_size(unsigned numargs)
{
    return (numargs * 4 + 7) & ~7U;
}

/* Bytes before the payload. */
static inline size_t gasnetc_am_prefix(enum gasnetc_am_category category, unsigned numargs)
{
    size_t fixed = sizeof(gasnetc_am_header_t) + (category == GASNETC_AM_LONG ? 8u : 0u);
    return fixed + gasnetc_am_args_size(numargs);
}

/* A parsed message. */
typedef struct gasnetc_am {
    enum gasnetc_am_category category;
    bool request;
    bool hidden;
    bool packed;
    uint32_t handler;
    uint32_t credits;
    uint32_t numargs;
    uint32_t nbytes;
    uint64_t dst;
    uint32_t args;    /* offset in the message */
    uint32_t payload; /* Medium and packed Long: offset in the message */
} gasnetc_am_t;

/* Each flag is valid for one kind of message only. */
static inline bool gasnetc_am_flags_fit(uint8_t flags, enum gasnetc_am_category category,
                                        bool request)
{
    switch (flags) {
    case 0:
        return true;
    case GASNETC_AM_PACKED:
        return category == GASNETC_AM_LONG;
    case GASNETC_AM_HIDDEN:
        return category == GASNETC_AM_SHORT && !request;
    }
    return false;
}

/* Parses `length` bytes at `message`, at least those of a header, of this category, a constant.
 * Returns NULL, or the name of the invalid field; `am` is then unspecified.  Does not read beyond
 * the message. */
HOT const char *gasnetc_am_parse_as(enum gasnetc_am_category category, void *message, size_t length,
                                    gasnetc_am_t *am)
{
    const gasnetc_am_header_t *header = message;
    unsigned numargs = header->head >> 3;
    if (numargs > GASNETC_AM_MAX_ARGS) return "argument count";
    am->category = category;
    am->request = header->head >> 2 & 1;
    am->handler = header->handler;
    am->credits = header->credits;
    am->numargs = numargs;
    am->nbytes = header->nbytes;
    am->hidden = header->flags & GASNETC_AM_HIDDEN;
    am->packed = header->flags & GASNETC_AM_PACKED;
    if (!gasnetc_am_flags_fit(header->flags, category, am->request)) return "flags";
    size_t prefix = gasnetc_am_prefix(category, numargs);
    am->payload = (uint32_t)prefix;
    am->args = (uint32_t)(prefix - gasnetc_am_args_size(numargs));
    if (length < prefix) return "length (arguments cut off)";
    am->dst = 0;
    if (category == GASNETC_AM_LONG)
        memcpy(&am->dst, (char *)message + sizeof *header, sizeof am->dst);
    if (category == GASNETC_AM_SHORT && header->nbytes) return "payload length";
    /* The payload of an unpacked Long is not in the message. */
    bool has_payload = category == GASNETC_AM_MEDIUM || am->packed;
    return length - prefix == (has_payload ? header->nbytes : 0) ? NULL : "payload length";
}

static inline const int32_t *gasnetc_am_args(const gasnetc_am_t *am, const void *message)
{
    return (const int32_t *)(const void *)((const char *)message + am->args);
}

static inline void *gasnetc_am_payload(const gasnetc_am_t *am, void *message)
{
    return (char *)message + am->payload;
}

/* Parses, as gasnetc_am_parse_as does, a Short without flags and with fewer than 16 arguments,
 * which most messages are; false for any other message, valid or not. */
static inline bool gasnetc_am_parse_plain(const void *message, size_t length, gasnetc_am_t *am)
{
    uint64_t header;
    const union {
        gasnetc_am_header_t fields;
        uint64_t word;
    } zero = {.fields = {.head = 3 | 16 << 3, .flags = UINT8_MAX, .nbytes = UINT32_MAX}};
    if (length < sizeof header) return false;
    memcpy(&header, message, sizeof header);
    if (header & zero.word) return false;
    const unsigned head = ((const gasnetc_am_header_t *)message)->head, numargs = head >> 3;
    if (length != gasnetc_am_prefix(GASNETC_AM_SHORT, numargs)) return false;
    *am = (gasnetc_am_t){.category = GASNETC_AM_SHORT,
                         .request = (head & 1 << 2) != 0,
                         .handler = ((const gasnetc_am_header_t *)message)->handler,
                         .credits = ((const gasnetc_am_header_t *)message)->credits,
                         .numargs = numargs,
                         .args = sizeof(gasnetc_am_header_t),
                         .payload = (uint32_t)length};
    return true;
}
