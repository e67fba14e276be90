/* lengths.c - the lengths of x86-64 instructions; see lengths.h.
 *
 * Knows which opcodes have a ModRM byte and how long their immediate operands are; whether operands
 * make sense does not matter.  Decoding that begins within an instruction is soon in step with the
 * true sequence.
 */
#include "other/base/memory-events/lengths.h"

#include <stdbool.h>
#include <string.h>

/* The parts that follow an opcode. WORD: 4 bytes, 2 with an operand-size prefix; QUAD: 8 with
 * REX.W. */
enum { NONE = 0, MODRM = 1, BYTE = 2, TWO = 4, WORD = 8, QUAD = 16, FAR = 32, BAD = 64 };

static unsigned after_60_to_bf(uint8_t op)
{
    switch (op) {
    case 0x63:
        return MODRM;
    case 0x68:
    case 0xa9:
        return WORD;
    case 0x6a:
    case 0xa8:
        return BYTE;
    case 0x69:
    case 0x81:
        return MODRM | WORD;
    case 0x6b:
    case 0x80:
    case 0x83:
        return MODRM | BYTE;
    case 0x82:
        return BAD;
    default:
        break;
    }
    if (op < 0x70) return op < 0x6c ? BAD : NONE;
    if (op < 0x80) return BYTE;
    if (op < 0x90) return MODRM;
    if (op < 0xa4) return FAR;
    if (op < 0xb0) return NONE;
    return op < 0xb8 ? BYTE : QUAD;
}

static unsigned after_c0_to_ff(uint8_t op)
{
    switch (op) {
    case 0xc0:
    case 0xc1:
    case 0xc6:
        return MODRM | BYTE;
    case 0xc7:
        return MODRM | WORD;
    case 0xc2:
    case 0xca:
        return TWO;
    case 0xc8:
        return TWO | BYTE;
    case 0xcd:
    case 0xeb:
        return BYTE;
    case 0xe8:
    case 0xe9:
        return WORD;
    case 0xf6:
    case 0xf7:
    case 0xfe:
    case 0xff:
        return MODRM;
    case 0xc4:
    case 0xc5:
    case 0xce:
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xea:
    case 0xf0:
    case 0xf2:
    case 0xf3:
        return BAD;
    default:
        break;
    }
    if (op >= 0xd0 && op < 0xe0) return op == 0xd7 ? NONE : MODRM;
    return op >= 0xe0 && op < 0xe8 ? BYTE : NONE;
}

static unsigned after_one_byte(uint8_t op)
{
    if (op < 0x40) {
        static const uint8_t arithmetic[8] = {MODRM, MODRM, MODRM, MODRM, BYTE, WORD, BAD, BAD};
        return arithmetic[op & 7];
    }
    if (op < 0x60 || (op >= 0x90 && op < 0xa0)) return op == 0x9a ? BAD : NONE;
    return op < 0xc0 ? after_60_to_bf(op) : after_c0_to_ff(op);
}

static unsigned after_0f(uint8_t op)
{
    if (op >= 0x80 && op < 0x90) return WORD;
    if ((op >= 0x30 && op < 0x38) || (op >= 0xc8 && op < 0xd0)) return NONE;
    switch (op) {
    case 0x05:
    case 0x06:
    case 0x07:
    case 0x08:
    case 0x09:
    case 0x0b:
    case 0x77:
    case 0xa0:
    case 0xa1:
    case 0xa2:
    case 0xa8:
    case 0xa9:
        return NONE;
    case 0x04:
    case 0x0a:
    case 0x0c:
    case 0x0e:
    case 0x0f:
        return BAD;
    case 0x70:
    case 0x71:
    case 0x72:
    case 0x73:
    case 0xa4:
    case 0xac:
    case 0xba:
    case 0xc2:
    case 0xc4:
    case 0xc5:
    case 0xc6:
        return MODRM | BYTE;
    default:
        return MODRM;
    }
}

/* Tables of after_one_byte and after_0f, as a whole C library is decoded at the start of a
 * program. */
static uint8_t after[2][256];

__attribute__((constructor)) static void fill_tables(void)
{
    for (unsigned op = 0; op < 256; op++) {
        after[0][op] = (uint8_t)after_one_byte((uint8_t)op);
        after[1][op] = (uint8_t)after_0f((uint8_t)op);
    }
}

/* In the maps of VEX and EVEX, and after 0f 38 and 0f 3a. */
static unsigned after_map(unsigned map, uint8_t op)
{
    if (map == 1) return op == 0x77 ? NONE : after_0f(op) & BYTE ? MODRM | BYTE : MODRM;
    return map == 3 ? MODRM | BYTE : map == 2 || map == 5 || map == 6 ? MODRM : BAD;
}

static size_t modrm_size(const uint8_t *p, const uint8_t *end)
{
    if (end - p < 2) return 1;
    const unsigned mod = p[0] >> 6, rm = p[0] & 7;
    if (mod == 3) return 1;
    const size_t sib = rm == 4;
    const bool no_base = sib ? (p[1] & 7) == 5 : rm == 5;
    return 1 + sib + (mod == 1 ? 1 : mod == 2 || no_base ? 4 : 0);
}

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
           byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65 ||
           byte == 0xf0;
}

size_t me_length(const uint8_t *code, size_t size)
{
    enum { ROOM = 24 }; /* no instruction is longer than 15 */
    uint8_t copy[ROOM];
    const uint8_t *bytes = code;
    if (size < ROOM) {
        memset(copy, 0, sizeof copy);
        bytes = memcpy(copy, code, size);
    }
    const uint8_t *p = bytes, *const end = bytes + ROOM;
    bool narrow = false, wide = false;
    unsigned next;
    for (; p < bytes + 14 && after[0][*p] & BAD && is_prefix(*p); p++) narrow |= *p == 0x66;
    if ((*p & 0xf0) == 0x40) wide = *p++ & 8;
    uint8_t op = *p++;
    if (op == 0xc5 || op == 0xc4 || op == 0x62) {
        const unsigned map = op == 0xc5 ? 1 : *p & (op == 0x62 ? 7 : 31);
        p += op == 0xc5 ? 1 : op == 0xc4 ? 2 : 3;
        op = *p++;
        next = after_map(map, op);
    } else if (op == 0x0f) {
        op = *p++;
        if (op == 0x38 || op == 0x3a) {
            p++;
            next = after_map(op == 0x38 ? 2 : 3, 0);
        } else
            next = after[1][op];
    } else {
        next = after[0][op];
        /* Of f6 and f7, test alone has an immediate operand. */
        if ((op == 0xf6 || op == 0xf7) && !(*p & 0x30)) next |= op == 0xf6 ? BYTE : WORD;
    }
    if (next & BAD || p > end - 8) return 0;
    if (next & MODRM) p += modrm_size(p, end);
    p += (next & BYTE ? 1 : 0) + (next & TWO ? 2 : 0) + (next & FAR ? 8 : 0);
    if (next & WORD) p += narrow && op != 0xe8 && op != 0xe9 ? 2 : 4;
    if (next & QUAD) p += wide ? 8 : narrow ? 2 : 4;
    const size_t length = (size_t)(p - bytes);
    return length <= 15 && length <= size ? length : 0;
}

me_vote_t me_vote(const uint8_t *code, size_t size, size_t at)
{
    enum { BEFORE = 128, LEAST = 64 };
    unsigned meets = 0, misses = 0;
    const size_t most = at < BEFORE ? at : BEFORE;
    for (size_t back = LEAST; back <= most; back += 3) {
        size_t from = at - back, length;
        while (from < at && (length = me_length(code + from, size - from)) > 0) from += length;
        if (from == at)
            meets++;
        else if (from > at)
            misses++;
    }
    if (meets > 2 * misses) return ME_INSTRUCTION;
    return misses > 4 * meets ? ME_DATA : ME_UNSURE; /* ME_UNSURE also where no byte is before it */
}
