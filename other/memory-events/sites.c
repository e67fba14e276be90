/* sites.c - finds system calls in x86-64 code, and writes the code of hooks; see sites.h. */
#define _GNU_SOURCE
#include "other/memory-events/sites.h"

#include <string.h>

#include "other/memory-events/effects.h"
#include "other/memory-events/lengths.h"

enum { MOV_EAX = 0xb8, JUMP = 0xe9, RED_ZONE = 128 };

static const uint8_t syscall_bytes[2] = {0x0f, 0x05};
static const uint8_t load_sixth[ME_PATCH] = {0x4c, 0x8b, 0x4c, 0x24, 0x08}; /* mov 8(%rsp),%r9 */

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* A number may be loaded some instructions before, into eax or into another register (41 b8); what
 * looks like a load of a number counts as one. */
static bool number_before(const uint8_t *code, size_t call, uint32_t *nr)
{
    const size_t most = call < ME_BEFORE ? call : ME_BEFORE;
    for (size_t back = 5; back <= most; back++) {
        const uint8_t *p = code + call - back;
        if (*p < MOV_EAX || *p > MOV_EAX + 7 || word_at(p + 1) > 1023) continue;
        *nr = word_at(p + 1);
        return true;
    }
    return false;
}

/* cmp $-4095,%rax, or $-4096, follows: no chance bytes, but a system call. */
static bool error_is_checked(const uint8_t *after, size_t size)
{
    static const uint8_t high[3] = {0xf0, 0xff, 0xff};
    return size >= 6 && after[0] == 0x48 && after[1] == 0x3d && memcmp(after + 3, high, 3) == 0;
}

/* The instruction before the system call, which can be replaced; if it is one. */
static bool is_replaceable(const uint8_t *code, size_t call, me_site_t *site)
{
    const size_t at = call - ME_PATCH;
    if (call < ME_PATCH) return false;
    if (memcmp(code + at, load_sixth, ME_PATCH) == 0)
        *site = (me_site_t){.kind = ME_ANY, .at = at};
    else if (code[at] == MOV_EAX)
        *site = (me_site_t){.kind = ME_CONSTANT, .at = at, .nr = word_at(code + at + 1)};
    else
        return false;
    return true;
}

static bool is_site(const uint8_t *code, size_t size, size_t call, bool known, me_site_t *site)
{
    uint32_t nr;
    if (is_replaceable(code, call, site)) {
        if (site->kind == ME_CONSTANT && !me_is_watched(site->nr)) return false;
        const me_vote_t vote = me_vote(code, size, site->at);
        if (vote == ME_UNSURE) *site = (me_site_t){.kind = ME_HIDDEN, .at = call};
        return vote != ME_DATA;
    }
    *site = (me_site_t){.kind = ME_HIDDEN, .at = call};
    if (known || (call >= ME_PATCH && code[call - ME_PATCH] == JUMP)) return false;
    if (number_before(code, call, &nr))
        return me_is_watched(nr) && me_vote(code, size, call) != ME_DATA;
    return error_is_checked(code + call + 2, size - call - 2);
}

bool me_next_site(const uint8_t *code, size_t size, size_t from, bool known, me_site_t *site)
{
    while (from < size) {
        const uint8_t *found =
            memmem(code + from, size - from, syscall_bytes, sizeof syscall_bytes);
        if (!found) return false;
        const size_t call = (size_t)(found - code);
        if (is_site(code, size, call, known, site)) return true;
        from = call + sizeof syscall_bytes;
    }
    return false;
}

size_t me_after_site(const me_site_t *site)
{
    return site->at + (site->kind == ME_HIDDEN ? 0 : ME_PATCH) + sizeof syscall_bytes;
}

static uint8_t *put(uint8_t *out, const void *bytes, size_t size)
{
    memcpy(out, bytes, size);
    return out + size;
}

static uint8_t *put_word(uint8_t *out, uint64_t value)
{
    const uint32_t word = (uint32_t)value;
    return put(out, &word, sizeof word);
}

static uint8_t *put_byte(uint8_t *out, uint8_t byte)
{
    *out = byte;
    return out + 1;
}

/* Code around the call may keep data in the red zone below the stack pointer. */
static uint8_t *put_move_stack(uint8_t *out, int32_t by)
{
    static const uint8_t lea[4] = {0x48, 0x8d, 0xa4, 0x24}; /* lea by(%rsp),%rsp */
    return put_word(put(out, lea, sizeof lea), (uint32_t)by);
}

size_t me_write_stub(const me_site_t *site, uintptr_t at, uintptr_t site_at, uintptr_t entry,
                     uint8_t *out)
{
    static const uint8_t call_indirect[2] = {0xff, 0x15}; /* call *entry(%rip) */
    uint8_t *p = out;
    if (site->kind == ME_ANY) p = put(p, load_sixth, ME_PATCH);
    p = put_move_stack(p, -RED_ZONE);
    if (site->kind == ME_CONSTANT) p = put_word(put_byte(p, MOV_EAX), site->nr);
    p = put(p, call_indirect, sizeof call_indirect);
    p = put_word(p, entry - (at + (size_t)(p - out) + 4));
    p = put_move_stack(p, RED_ZONE);
    const uintptr_t back = site_at + ME_PATCH;
    p = put_byte(p, JUMP);
    p = put_word(p, back - (at + (size_t)(p - out) + 4));
    return (size_t)(p - out);
}

void me_write_jump(uintptr_t site_at, uintptr_t to, uint8_t out[ME_PATCH])
{
    out[0] = JUMP;
    put_word(out + 1, to - (site_at + ME_PATCH));
}
