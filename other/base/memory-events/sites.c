/* sites.c - finds system calls in x86-64 code, and writes the code of hooks; see sites.h. */
#define _GNU_SOURCE
#include "other/base/memory-events/sites.h"

#include <string.h>

#include "other/base/memory-events/effects.h"
#include "other/base/memory-events/lengths.h"

enum { MOV_EAX = 0xb8, JUMP = 0xe9, RED_ZONE = 128 };

static const uint8_t syscall_bytes[2] = {0x0f, 0x05};
static const uint8_t load_sixth[ME_PATCH] = {0x4c, 0x8b, 0x4c, 0x24, 0x08}; /* mov 8(%rsp),%r9 */

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

size_t me_next_call(const uint8_t *code, size_t size, size_t from)
{
    if (from >= size) return size;
    const uint8_t *found = memmem(code + from, size - from, syscall_bytes, sizeof syscall_bytes);
    return found ? (size_t)(found - code) : size;
}

me_site_t me_site_at(const uint8_t *code, size_t call, size_t before)
{
    me_site_t site = {.kind = ME_OTHER, .call = call};
    const uint8_t *const p = code + before;
    if (call - before != ME_PATCH) return site;
    if (memcmp(p, load_sixth, ME_PATCH) == 0) site.kind = ME_ANY;
    if (*p == MOV_EAX && me_is_watched(word_at(p + 1)))
        site = (me_site_t){ME_CONSTANT, call, word_at(p + 1)};
    return site;
}

static uint8_t *sites_put(uint8_t *out, const void *bytes, size_t size)
{
    memcpy(out, bytes, size);
    return out + size;
}

static uint8_t *put_word(uint8_t *out, uint64_t value)
{
    const uint32_t word = (uint32_t)value;
    return sites_put(out, &word, sizeof word);
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
    return put_word(sites_put(out, lea, sizeof lea), (uint32_t)by);
}

size_t me_write_stub(const me_site_t *site, uintptr_t at, uintptr_t site_at, uintptr_t entry,
                     uint8_t *out)
{
    static const uint8_t call_indirect[2] = {0xff, 0x15}; /* call *entry(%rip) */
    uint8_t *p = out;
    if (site->kind == ME_ANY) p = sites_put(p, load_sixth, ME_PATCH);
    p = put_move_stack(p, -RED_ZONE);
    if (site->kind == ME_CONSTANT) p = put_word(put_byte(p, MOV_EAX), site->nr);
    p = sites_put(p, call_indirect, sizeof call_indirect);
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
