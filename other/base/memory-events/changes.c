/* changes.c - which general registers an x86-64 instruction changes; see lengths.h.
 *
 * Knows what compilers make of C.  Any other instruction counts as one that changes all registers.
 */
#include <string.h>

#include "other/base/memory-events/lengths.h"

enum { RAX, RCX, RDX, RBX, RSP, ALL = 0xffff };
/* A result is in rax and rdx.  Of the others a compiler uses none after a call, or knows that the
 * function leaves it alone. */
enum { BY_CALL = 1 << RAX | 1 << RDX };

/* An instruction's parts, as far as they are known here. */
typedef struct parts {
    uint8_t rex, op, modrm;
} parts_t;

static unsigned bit_of(unsigned reg)
{
    return 1u << reg;
}

static unsigned changes_reg(const parts_t *p)
{
    return (p->modrm >> 3 & 7) + (p->rex & 4 ? 8 : 0);
}

static unsigned rm(const parts_t *p)
{
    return (p->modrm & 7) + (p->rex & 1 ? 8 : 0);
}

/* The bit of the register that ModRM names; 0 if it names memory. */
static unsigned rm_bit(const parts_t *p)
{
    return p->modrm >> 6 == 3 ? bit_of(rm(p)) : 0;
}

/* The bit of a register of an operation on bytes: numbers 4 to 7 without REX are ah to bh. */
static unsigned of_byte(const parts_t *p, unsigned number)
{
    return bit_of(number >= 4 && number < 8 && !p->rex ? number - 4 : number);
}

static unsigned rm_byte(const parts_t *p)
{
    return p->modrm >> 6 == 3 ? of_byte(p, rm(p)) : 0;
}

/* add, or, adc, sbb, and, sub, xor, cmp of registers, memory and eax. */
static unsigned arithmetic(const parts_t *p)
{
    if (p->op >= 0x38) return 0; /* cmp */
    switch (p->op & 7) {
    case 0:
        return rm_byte(p);
    case 1:
        return rm_bit(p);
    case 2:
        return of_byte(p, changes_reg(p));
    case 3:
        return bit_of(changes_reg(p));
    default:
        return bit_of(RAX);
    }
}

/* f6, f7: test, test, not, neg, mul, imul, div, idiv. */
static unsigned group_f6(const parts_t *p)
{
    const unsigned what = p->modrm >> 3 & 7;
    if (what < 2) return 0;
    if (what < 4) return p->op == 0xf6 ? rm_byte(p) : rm_bit(p);
    return bit_of(RAX) | bit_of(RDX);
}

/* fe, ff: inc, dec, call, call, jmp, jmp, push. */
static unsigned group_fe(const parts_t *p)
{
    const unsigned what = p->modrm >> 3 & 7;
    if (what < 2) return p->op == 0xfe ? rm_byte(p) : rm_bit(p);
    if (what == 2) return BY_CALL;
    return what == 6 ? bit_of(RSP) : ALL;
}

static unsigned by_row(const parts_t *p)
{
    const unsigned low = (p->op & 7) + (p->rex & 1 ? 8 : 0);
    switch (p->op >> 3) {
    case 0x50 >> 3: /* push */
        return bit_of(RSP);
    case 0x58 >> 3: /* pop */
        return bit_of(RSP) | bit_of(low);
    case 0x70 >> 3:
    case 0x78 >> 3: /* conditional jumps */
        return 0;
    case 0x90 >> 3: /* xchg with eax; nop */
        return low ? bit_of(RAX) | bit_of(low) : 0;
    case 0xb0 >> 3:
        return of_byte(p, low);
    case 0xb8 >> 3:
        return bit_of(low);
    case 0xd8 >> 3: /* x87; fnstsw %ax */
        return p->op == 0xdf && p->modrm == 0xe0 ? bit_of(RAX) : 0;
    default:
        return ALL;
    }
}

static unsigned one_byte(const parts_t *p)
{
    if (p->op < 0x40) return arithmetic(p);
    switch (p->op) {
    case 0x63:
    case 0x69:
    case 0x6b:
    case 0x8b:
    case 0x8d:
        return bit_of(changes_reg(p));
    case 0x8a:
        return of_byte(p, changes_reg(p));
    case 0x68:
    case 0x6a:
        return bit_of(RSP);
    case 0x80:
    case 0x82:
        return (p->modrm >> 3 & 7) == 7 ? 0 : rm_byte(p);
    case 0x81:
    case 0x83:
        return (p->modrm >> 3 & 7) == 7 ? 0 : rm_bit(p);
    case 0x84:
    case 0x85:
    case 0xa8:
    case 0xa9:
        return 0; /* test */
    case 0x86:
        return rm_byte(p) | of_byte(p, changes_reg(p));
    case 0x87:
        return rm_bit(p) | bit_of(changes_reg(p));
    case 0x88:
    case 0xc0:
    case 0xc6:
    case 0xd0:
    case 0xd2:
        return rm_byte(p);
    case 0x89:
    case 0xc1:
    case 0xc7:
    case 0xd1:
    case 0xd3:
        return rm_bit(p);
    case 0x98: /* sign extension */
        return bit_of(RAX);
    case 0x99:
        return bit_of(RDX);
    case 0xe8:
        return BY_CALL;
    case 0xf6:
    case 0xf7:
        return group_f6(p);
    case 0xfe:
    case 0xff:
        return group_fe(p);
    default:
        return by_row(p);
    }
}

static unsigned after_0f(const parts_t *p)
{
    const uint8_t op = p->op;
    if (op >= 0x40 && op < 0x50) return bit_of(changes_reg(p)); /* cmov */
    if (op >= 0x80 && op < 0x90) return 0;                      /* jumps */
    if (op >= 0x90 && op < 0xa0) return rm_byte(p);             /* setcc */
    switch (op) {
    case 0x05: /* syscall */
        return bit_of(RAX) | bit_of(RCX) | bit_of(11);
    case 0x31: /* rdtsc */
        return bit_of(RAX) | bit_of(RDX);
    case 0xa2: /* cpuid */
        return bit_of(RAX) | bit_of(RBX) | bit_of(RCX) | bit_of(RDX);
    case 0xa3: /* bt */
        return 0;
    case 0xa4:
    case 0xa5:
    case 0xab:
    case 0xac:
    case 0xad:
    case 0xb3:
    case 0xba:
    case 0xbb:
    case 0x7e:
        return rm_bit(p);
    case 0xb0:
        return bit_of(RAX) | rm_byte(p);
    case 0xb1: /* cmpxchg */
        return bit_of(RAX) | rm_bit(p);
    case 0xc0:
        return of_byte(p, changes_reg(p)) | rm_byte(p);
    case 0xc1: /* xadd */
        return bit_of(changes_reg(p)) | rm_bit(p);
    case 0xaf:
    case 0xb6:
    case 0xb7:
    case 0xb8:
    case 0xbc:
    case 0xbd:
    case 0xbe:
    case 0xbf:
    case 0x2c:
    case 0x2d:
    case 0x50:
    case 0xc5:
    case 0xd7:
        return bit_of(changes_reg(p));
    case 0xae: /* fences; rdfsbase and the like */
        return rm_bit(p);
    case 0x0d:
    case 0x18:
    case 0x1e:
    case 0x1f: /* prefetch, endbr64, nop */
        return 0;
    default: /* of vector registers and memory */
        return (op >= 0x10 && op < 0x18) || (op >= 0x28 && op < 0x30) ||
                       (op >= 0x51 && op < 0x80) || op == 0xc2 || op == 0xc4 || op == 0xc6 ||
                       op >= 0xd0
                   ? 0
                   : ALL;
    }
}

/* String instructions are ALL. */
static bool changes_parse(const uint8_t *code, size_t size, parts_t *p, bool *two)
{
    size_t i = 0;
    *p = (parts_t){0};
    while (i < size && (code[i] == 0x66 || code[i] == 0xf2 || code[i] == 0xf3 || code[i] == 0x64 ||
                        code[i] == 0x65 || code[i] == 0x2e || code[i] == 0x3e || code[i] == 0xf0))
        i++;
    if (i < size && (code[i] & 0xf0) == 0x40) p->rex = code[i++];
    *two = i < size && code[i] == 0x0f;
    if (*two) i++;
    if (i >= size) return false;
    p->op = code[i++];
    p->modrm = i < size ? code[i] : 0;
    return true;
}

unsigned me_changes(const uint8_t *code, size_t size)
{
    parts_t p;
    bool two;
    if (!changes_parse(code, size, &p, &two)) return ALL;
    return two ? after_0f(&p) : one_byte(&p);
}

bool me_is_nop(const uint8_t *code, size_t size)
{
    parts_t p;
    bool two;
    return changes_parse(code, size, &p, &two) &&
           (two ? p.op == 0x1f : p.op == 0x90 && !(p.rex & 1));
}

bool me_ends_flow(const uint8_t *code, size_t size)
{
    parts_t p;
    bool two;
    if (!changes_parse(code, size, &p, &two)) return true;
    if (two) return p.op == 0x0b; /* ud2 */
    return p.op == 0xe9 || p.op == 0xeb || p.op == 0xc3 || p.op == 0xc2 || p.op == 0xf4 ||
           p.op == 0xcc || (p.op == 0xff && (p.modrm >> 3 & 6) == 4);
}

me_value_t me_value_of(const uint8_t *code, size_t size, unsigned wanted)
{
    parts_t p;
    bool two;
    int32_t number = 0;
    const me_value_t unknown = {ME_UNKNOWN, 0};
    if (!changes_parse(code, size, &p, &two)) return unknown;
    if (two) {
        if ((p.op & 0xf0) != 0x40 || p.modrm >> 6 != 3 || changes_reg(&p) != wanted) return unknown;
        return (me_value_t){ME_EITHER, rm(&p)};
    }
    if ((p.op & 0xf8) == 0xb8 && bit_of((p.op & 7u) + (p.rex & 1 ? 8 : 0)) == bit_of(wanted)) {
        if (size < 5 || p.rex & 8) return unknown;
        memcpy(&number, code + size - 4, 4);
        return (me_value_t){ME_NUMBER, (uint32_t)number};
    }
    if (p.modrm >> 6 != 3) return unknown;
    if (p.op == 0xc7 && rm(&p) == wanted && size >= 6) {
        memcpy(&number, code + size - 4, 4);
        return (me_value_t){ME_NUMBER, (uint32_t)number};
    }
    if ((p.op == 0x31 || p.op == 0x33) && changes_reg(&p) == rm(&p) && rm(&p) == wanted)
        return (me_value_t){ME_NUMBER, 0};
    if (p.op == 0x89 && rm(&p) == wanted) return (me_value_t){ME_COPY, changes_reg(&p)};
    if (p.op == 0x8b && changes_reg(&p) == wanted) return (me_value_t){ME_COPY, rm(&p)};
    return unknown;
}
