/* proof.c - proves that system calls are harmless; see proof.h. */
#include "other/base/memory-events/proof.h"

#include <string.h>

#include "other/base/memory-events/effects.h"
#include "other/base/memory-events/lengths.h"

enum { BUCKETS = 1024, RAX = 0 };

static bool begins(const me_code_t *code, size_t at)
{
    return at < code->size && code->starts[at / 8] >> at % 8 & 1;
}

/* Stores the target of the relative jump or call of `length` bytes at `at`; false: the instruction
 * is neither, or leads out of the code. */
static bool leads(const me_code_t *code, size_t at, size_t length, size_t *to)
{
    const uint8_t *p = code->bytes + at;
    int32_t distance;
    if (((p[0] & 0xf0) == 0x70 || p[0] == 0xeb || (p[0] & 0xfc) == 0xe0) && length == 2)
        distance = (int8_t)p[1];
    else if (((p[0] & 0xfe) == 0xe8 && length == 5) ||
             (p[0] == 0x0f && (p[1] & 0xf0) == 0x80 && length == 6))
        memcpy(&distance, p + length - 4, sizeof distance);
    else
        return false;
    *to = at + length + (size_t)(intptr_t)distance;
    return *to < code->size;
}

/* Notes where instructions begin, from the first byte on, and jumps among them. Bytes that are no
 * instruction are skipped one by one: after data the sequence is soon the true one again. */
static bool sweep(me_code_t *code)
{
    size_t length, to;
    for (size_t at = 0; at < code->size; at += length ? length : 1) {
        length = me_length(code->bytes + at, code->size - at);
        if (!length) continue;
        code->starts[at / 8] |= (uint8_t)(1u << at % 8);
        if (!leads(code, at, length, &to)) continue;
        if (code->jumps_count == code->jumps_most) return false;
        code->jumps[code->jumps_count++] = (me_jump_t){(uint32_t)at, (uint32_t)to};
    }
    return true;
}

/* The address of the instruction that ends at `at`; `at` if no instruction ends there. */
static size_t instruction_before(const me_code_t *code, size_t at)
{
    for (size_t back = 1; back <= 15 && back <= at; back++)
        if (begins(code, at - back))
            return me_length(code->bytes + at - back, code->size - at + back) == back ? at - back
                                                                                      : at;
    return at;
}

/* --- points --- */

static uint16_t buckets[BUCKETS];

static unsigned bucket_of(size_t at)
{
    return (unsigned)(at * 0x9e3779b1u >> 8) % BUCKETS;
}

static bool add_point(me_code_t *code, size_t at, unsigned reg, uint32_t call)
{
    uint16_t *const bucket = &buckets[bucket_of(at)];
    for (unsigned i = *bucket; i; i = code->points[i - 1].next)
        if (code->points[i - 1].at == at && code->points[i - 1].reg == reg) return true;
    if (code->points_count == code->points_most) return false;
    code->points[code->points_count] =
        (me_point_t){.at = (uint32_t)at, .reg = (uint8_t)reg, .next = *bucket, .call = call};
    *bucket = (uint16_t)++code->points_count;
    return true;
}

static bool is_endbr(const uint8_t *at, size_t size)
{
    static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};
    return size >= 4 && memcmp(at, endbr64, 4) == 0;
}

/* The number is in the register after the instruction at `before`: on to where it comes from. */
static bool follow(me_code_t *code, const me_point_t *point, size_t before, size_t length)
{
    const uint8_t *bytes = code->bytes + before;
    if (!(me_changes(bytes, length) >> point->reg & 1))
        return add_point(code, before, point->reg, point->call);
    const me_value_t value = me_value_of(bytes, length, point->reg);
    switch (value.kind) {
    case ME_NUMBER:
        return !me_is_watched(value.of);
    case ME_COPY:
        return add_point(code, before, value.of, point->call);
    case ME_EITHER:
        return add_point(code, before, value.of, point->call) &&
               add_point(code, before, point->reg, point->call);
    default:
        return false;
    }
}

/* By the instruction before.  Between a function's blocks there are nops that are not executed: by
 * them alone a block is not reached. */
static bool follow_back(me_code_t *code, unsigned index)
{
    me_point_t *point = &code->points[index];
    const uint8_t *const here = code->bytes + point->at;
    if (!begins(code, point->at) || is_endbr(here, code->size - point->at)) return false;
    const size_t before = instruction_before(code, point->at), length = point->at - before;
    if (me_is_nop(here, code->size - point->at)) point->reached = true;
    if (!length || me_ends_flow(here - length, length)) return true;
    if (!me_is_nop(here - length, length) || point->at % 8) point->reached = true;
    return follow(code, point, before, length);
}

/* By jumps, to points that `first` and later ones are. */
static bool follow_jumps(me_code_t *code, unsigned first, uint32_t *failed)
{
    for (const me_jump_t *jump = code->jumps; jump < code->jumps + code->jumps_count; jump++)
        for (unsigned i = buckets[bucket_of(jump->to)]; i; i = code->points[i - 1].next) {
            me_point_t *point = &code->points[i - 1];
            if (point->at != jump->to || i - 1 < first) continue;
            point->reached = true;
            *failed = point->call;
            if (code->bytes[jump->at] == 0xe8 ||
                !add_point(code, jump->at, point->reg, point->call))
                return false;
        }
    return true;
}

/* All points; those before `hooked` by jumps alone. */
static bool follow_all(me_code_t *code, unsigned hooked, uint32_t *failed)
{
    unsigned first = 0;
    while (first < code->points_count) {
        const unsigned before = first;
        for (unsigned i = first > hooked ? first : hooked; i < code->points_count; i++) {
            *failed = code->points[i].call;
            if (!follow_back(code, i)) return false;
        }
        first = code->points_count;
        if (!follow_jumps(code, before, failed)) return false;
    }
    for (unsigned i = hooked; i < code->points_count; i++) {
        *failed = code->points[i].call;
        if (!code->points[i].reached) return false; /* the beginning of a function */
    }
    return true;
}

/* --- all calls --- */

/* Whether bytes before `at` are no instructions, or such as compilers do not make. */
static bool follows_data(const me_code_t *code, size_t at)
{
    enum { NEAR = 64, ALL = 0xffff };
    for (size_t from = at < NEAR ? 0 : at - NEAR, length; from < at; from += length ? length : 1) {
        length = me_length(code->bytes + from, code->size - from);
        if (!begins(code, from)) length = 0;
        if (begins(code, from) && me_changes(code->bytes + from, length) == ALL) return true;
    }
    return false;
}

/* Bytes of a system call that may be data: a constant that the code uses, or a table within it. */
static bool is_call(const me_code_t *code, size_t at)
{
    switch (me_vote(code->bytes, code->size, at)) {
    case ME_INSTRUCTION:
        return true;
    case ME_UNSURE:
        return begins(code, at) && !follows_data(code, at);
    default:
        return false;
    }
}

static bool find_calls(me_code_t *code, bool hooked, bool (*accept)(const uint8_t *at),
                       size_t *failed)
{
    for (size_t at = 0; (at = me_next_call(code->bytes, code->size, at)) < code->size; at += 2) {
        if (!is_call(code, at)) continue;
        *failed = at;
        const me_site_t site = me_site_at(code->bytes, at, instruction_before(code, at));
        if (site.kind != ME_OTHER && hooked) {
            if (code->sites_count == code->sites_most) return false;
            code->sites[code->sites_count++] = site;
        }
        if ((site.kind != ME_OTHER) != hooked || (accept && at >= 16 && accept(code->bytes + at)))
            continue;
        if (!add_point(code, at, RAX, (uint32_t)at)) return false;
    }
    return true;
}

bool me_prove(me_code_t *code, bool hooks, bool (*accept)(const uint8_t *at), size_t *at)
{
    uint32_t failed = 0;
    memset(buckets, 0, sizeof buckets);
    code->points_count = code->sites_count = 0;
    code->jumps_count = 0;
    *at = 0;
    if (!sweep(code)) return false;
    if (!find_calls(code, true, NULL, at)) return false;
    const unsigned hooked = code->points_count;
    *at = hooked ? code->points[0].at : 0;
    if (hooked && !hooks) return false;
    if (!find_calls(code, false, accept, at)) return false;
    if (follow_all(code, hooked, &failed)) return true;
    *at = failed;
    return false;
}
