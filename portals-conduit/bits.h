/* bits.h - layout of the 64 match bits and the 64 bits of header data (PO-6, PO-7).
 *
 * The low nibble of the match bits selects a descriptor at the target; with BITS_MORE bits 63:32
 * are the number of that descriptor.  The target ignores the other bits; every event of the
 * operation returns them, which identifies the operation.  Used by the whole conduit, and by the
 * scripted library of its tests. Pure.
 *
 *   match bits   [63:32] place   [31:8] ticket    [7:4] kind   [3:0] selector
 *   system       [63:32] word    [31:8] message   [7:4] 0      [3:0] selector
 *   header data  [63:32] source  [10:8] padding   [7:0] credit byte        (Active Messages)
 *                [63:32] source  [31:0] word                               (system messages)
 *
 * `place` is the offset of a Request's chunk at the initiator: the destination of the Reply.  The
 * same number matches the header and the payload of a Long.  `ticket` is a number of the initiator.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum bits_selector {
    BITS_RAR = 0,    /* puts and gets */
    BITS_RARAM = 1,  /* payload of Long Requests */
    BITS_RARSRC = 2, /* payload of Long Replies */
    BITS_REQRB = 3,  /* Requests */
    BITS_REQSB = 4,  /* Replies */
    BITS_SYS = 5,
    BITS_MORE = 6, /* all other memory that peers write to: the place is the number of its entry */
};

enum bits_kind {
    BITS_PUT = 1,
    BITS_GET = 2,
    BITS_AM = 4,
    BITS_HEADER = 5, /* header of a Long whose payload is a message of its own */
    BITS_DATA = 8,   /* that payload */
};

/* Bits that a match entry ignores; and one of BITS_MORE. */
static const uint64_t bits_ignored = ~UINT64_C(15);
static const uint64_t bits_ignored_more = UINT32_MAX & ~UINT64_C(15);

enum { BITS_TICKETS = 1 << 24 };

static inline uint64_t bits_pack(uint32_t place, uint32_t ticket, enum bits_kind kind,
                                 unsigned selector)
{
    return (uint64_t)place << 32 | (uint64_t)ticket << 8 | (uint64_t)kind << 4 | selector;
}

static inline uint32_t bits_place(uint64_t bits)
{
    return (uint32_t)(bits >> 32);
}

static inline uint32_t bits_ticket(uint64_t bits)
{
    return (uint32_t)bits >> 8;
}

static inline enum bits_kind bits_kind(uint64_t bits)
{
    return (enum bits_kind)(bits >> 4 & 15);
}

/* True if kind and selector of the match bits are these. */
static inline bool bits_are(uint64_t bits, enum bits_kind kind, unsigned selector)
{
    return (uint8_t)bits == ((unsigned)kind << 4 | selector);
}

/* --- header data of Active Messages --- */

/* `pad`: bytes appended to a Request, 0 to 7. */
static inline uint64_t bits_header(uint32_t source, uint8_t credits, unsigned pad)
{
    return (uint64_t)source << 32 | pad << 8 | credits;
}

static inline unsigned bits_pad(uint64_t header)
{
    return header >> 8 & 7;
}

static inline uint32_t bits_source(uint64_t header)
{
    return (uint32_t)(header >> 32);
}

static inline uint8_t bits_credits(uint64_t header)
{
    return (uint8_t)header;
}

/* --- system messages --- */

enum bits_message {
    BITS_WORDS = 1, /* two 32-bit words for the core */
    BITS_REVOKE,    /* asks for credits; the word: epochs that have ended at the sender */
    BITS_RETURN,    /* answers BITS_REVOKE: returned credits, and epochs in the upper half */
};

static inline uint64_t bits_system(enum bits_message message, uint32_t word)
{
    return (uint64_t)word << 32 | (uint64_t)message << 8 | BITS_SYS;
}

static inline uint32_t bits_message(uint64_t bits)
{
    return (uint32_t)bits >> 8;
}

static inline uint64_t bits_system_header(uint32_t source, uint32_t word)
{
    return (uint64_t)source << 32 | word;
}
