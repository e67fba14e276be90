/* memory_effects.c - other/base/memory-events, its pure parts: which ranges a system call unmaps,
 * and which instructions make one. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "check.h"
#include "other/base/memory-events/effects.h"
#include "other/base/memory-events/lengths.h"
#include "other/base/memory-events/proof.h"
#include "other/base/memory-events/sites.h"

/* --- effects --- */

enum { AT = 0x10000, TO = 0x80000, LEN = 0x4000, BREAK = 0x50000 };

static const struct row {
    const char *name;
    me_call_t call;
    unsigned count;
    me_range_t range[ME_MOST_RANGES];
} rows[] = {
    {"munmap", {SYS_munmap, {AT, LEN}}, 1, {{AT, LEN}}},
    {"mmap", {SYS_mmap, {AT, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS}}, 0, {{0}}},
    {"mmap, fixed",
     {SYS_mmap, {AT, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED}},
     1,
     {{AT, LEN}}},
    {"mmap of code", {SYS_mmap, {AT, LEN, PROT_EXEC, MAP_PRIVATE}}, 1, {{0, UINTPTR_MAX}}},
    {"mremap, larger, in place", {SYS_mremap, {AT, LEN, 2 * LEN, 0}}, 0, {{0}}},
    {"mremap, larger", {SYS_mremap, {AT, LEN, 2 * LEN, MREMAP_MAYMOVE}}, 1, {{AT, LEN}}},
    {"mremap, smaller",
     {SYS_mremap, {AT, LEN, LEN / 4, MREMAP_MAYMOVE}},
     1,
     {{AT + LEN / 4, LEN - LEN / 4}}},
    {"mremap, equal", {SYS_mremap, {AT, LEN, LEN, MREMAP_MAYMOVE}}, 0, {{0}}},
    {"mremap, fixed",
     {SYS_mremap, {AT, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, TO}},
     2,
     {{TO, LEN}, {AT, LEN}}},
    {"mremap, not unmapped", {SYS_mremap, {AT, LEN, LEN, MREMAP_MAYMOVE | 4}}, 1, {{AT, LEN}}},
    {"madvise, dontneed", {SYS_madvise, {AT, LEN, MADV_DONTNEED}}, 1, {{AT, LEN}}},
    {"madvise, free", {SYS_madvise, {AT, LEN, 8}}, 1, {{AT, LEN}}},
    {"madvise, remove", {SYS_madvise, {AT, LEN, MADV_REMOVE}}, 1, {{AT, LEN}}},
    {"madvise, guard", {SYS_madvise, {AT, LEN, 102}}, 1, {{AT, LEN}}},
    {"madvise, hugepage", {SYS_madvise, {AT, LEN, MADV_HUGEPAGE}}, 0, {{0}}},
    {"brk, lower", {SYS_brk, {BREAK - LEN}}, 1, {{BREAK - LEN, LEN}}},
    {"brk, higher", {SYS_brk, {BREAK + LEN}}, 0, {{0}}},
    {"brk, a question", {SYS_brk, {0}}, 0, {{0}}},
    {"mprotect, to be written", {SYS_mprotect, {AT, LEN, PROT_READ | PROT_WRITE}}, 1, {{AT, LEN}}},
    {"mprotect, to be read", {SYS_mprotect, {AT, LEN, PROT_READ}}, 1, {{AT, LEN}}},
    {"mprotect, to be executed",
     {SYS_mprotect, {AT, LEN, PROT_READ | PROT_EXEC}},
     1,
     {{0, UINTPTR_MAX}}},
    {"pkey_mprotect", {329, {AT, LEN, PROT_NONE}}, 1, {{AT, LEN}}},
    {"shmdt", {SYS_shmdt, {AT}}, 1, {{0, UINTPTR_MAX}}},
    {"shmat", {SYS_shmat, {0, AT, 0}}, 0, {{0}}},
    {"shmat, over", {SYS_shmat, {0, AT, SHM_REMAP}}, 1, {{0, UINTPTR_MAX}}},
    {"remap_file_pages", {SYS_remap_file_pages, {AT, LEN}}, 1, {{AT, LEN}}},
    {"process_madvise", {440, {3, AT, 1, MADV_DONTNEED}}, 1, {{0, UINTPTR_MAX}}},
    {"read", {SYS_read, {0, AT, LEN}}, 0, {{0}}},
};

static void effects(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        me_range_t got[ME_MOST_RANGES] = {{0, 0}};
        const unsigned count = me_ranges(&row->call, BREAK, got);
        bool same = count == row->count && (count == 0 || me_is_watched(row->call.nr));
        for (unsigned r = 0; r < count && same; r++)
            same = got[r].addr == row->range[r].addr && got[r].len == row->range[r].len;
        check(same, "what is given back by %s", row->name);
    }
}

/* --- sites, and which of them are proven harmless --- */

#define CODE(...)   {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define RETURN      0xc3
#define CALL        0x0f, 0x05
#define MOV_EAX(n)  0xb8, (n)&255, (n) >> 8, 0, 0
#define CHECK_ERROR 0x48, 0x3d, 1, 0xf0, 0xff, 0xff, 0x73, 1, 0xc3, 0xc3 /* cmp, jae, ret, ret */

enum verdict { PROVEN, UNPROVEN, HOOKED };

static const struct code {
    const char *name;
    uint8_t bytes[80];
    size_t size;
    enum verdict verdict;
    size_t call; /* unless PROVEN */
} codes[] = {
    {"mov $1,%eax; syscall", CODE(MOV_EAX(1), CALL, RETURN), PROVEN, 0},
    {"mov $11,%eax; syscall", CODE(MOV_EAX(11), CALL, RETURN), HOOKED, 5},
    {"mov 8(%rsp),%r9; syscall", CODE(0x4c, 0x8b, 0x4c, 0x24, 8, CALL, RETURN), HOOKED, 5},
    {"xor %eax,%eax; syscall", CODE(0x31, 0xc0, CALL, RETURN), PROVEN, 0},
    {"mov $9,%eax; mov %rbx,%rdi; syscall", CODE(MOV_EAX(9), 0x48, 0x89, 0xdf, CALL, RETURN),
     UNPROVEN, 8},
    {"mov $3,%eax; mov %rbx,%rdi; syscall", CODE(MOV_EAX(3), 0x48, 0x89, 0xdf, CALL, RETURN),
     PROVEN, 0},
    {"the number in a register of its own, unwatched",
     CODE(0x41, 0xb8, 202, 0, 0, 0, 0x4c, 0x89, 0xc0, CALL, CHECK_ERROR), PROVEN, 0},
    {"the same, watched", CODE(0x41, 0xb8, 9, 0, 0, 0, 0x4c, 0x89, 0xc0, CALL, CHECK_ERROR),
     UNPROVEN, 9},
    /* Code of gcc and clang for madvise(p, n, MADV_DONTNEED) and others by inline system calls. */
    {"gcc -O2: mov $28,%eax; mov $4,%edx; syscall",
     CODE(0xf3, 0x0f, 0x1e, 0xfa, MOV_EAX(28), 0xba, 4, 0, 0, 0, CALL, RETURN), UNPROVEN, 14},
    {"gcc -Os: push $4; pop %rdx; mov $28,%eax; syscall",
     CODE(0x6a, 4, 0x5a, MOV_EAX(28), CALL, RETURN), HOOKED, 8},
    {"gcc -O2: mremap, the number first",
     CODE(MOV_EAX(25), 0x48, 0x8d, 0x14, 0x36, 0x41, 0xba, 1, 0, 0, 0, CALL, RETURN), UNPROVEN, 15},
    {"clang -O2: mremap, the number last but one",
     CODE(0x48, 0x8d, 0x14, 0x36, MOV_EAX(25), 0x41, 0xba, 1, 0, 0, 0, CALL, RETURN), UNPROVEN, 15},
    {"gcc -Os: two calls with one tail",
     CODE(0x49, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x4d, 0x85, 0xc0, 0x74, 0x0c, 0xba,
          4, 0, 0, 0, MOV_EAX(28), 0xeb, 7, 0x31, 0xd2, MOV_EAX(318), CALL, RETURN),
     UNPROVEN, 33},
    {"two calls with one tail, both harmless",
     CODE(0x4d, 0x85, 0xc0, 0x74, 0x0c, 0xba, 4, 0, 0, 0, MOV_EAX(202), 0xeb, 7, 0x31, 0xd2,
          MOV_EAX(318), CALL, RETURN),
     PROVEN, 0},
    {"a jump to the call alone, from far away",
     CODE(MOV_EAX(318), CALL, RETURN, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, MOV_EAX(28), 0xe9,
          0xec, 0xff, 0xff, 0xff),
     UNPROVEN, 5},
    {"gcc -O2: a conditional move of two numbers",
     CODE(0x85, 0xff, 0xb9, 28, 0, 0, 0, MOV_EAX(318), 0x0f, 0x45, 0xc1, CALL, RETURN), UNPROVEN,
     15},
    {"a conditional move of two harmless numbers",
     CODE(0x85, 0xff, 0xb9, 27, 0, 0, 0, MOV_EAX(318), 0x0f, 0x45, 0xc1, CALL, RETURN), PROVEN, 0},
    {"the number is an argument; errors are tested by < 0",
     CODE(0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, CALL, 0x48, 0xc1,
          0xf8, 0x3f, RETURN),
     UNPROVEN, 12},
    {"the number is an argument, or a constant",
     CODE(0x85, 0xff, 0x74, 6, 0x41, 0xb8, 202, 0, 0, 0, 0x4c, 0x89, 0xc0, CALL, RETURN), UNPROVEN,
     13},
    {"the number is computed", CODE(MOV_EAX(3), 0x83, 0xc0, 8, CALL, RETURN), UNPROVEN, 8},
    {"the number is read from a table", CODE(0x8b, 0x04, 0xbd, 0, 0, 0, 0, CALL, RETURN), UNPROVEN,
     7},
    {"a function is called after the load", CODE(MOV_EAX(3), 0xe8, 0, 1, 0, 0, CALL, RETURN),
     UNPROVEN, 10},
    {"gcc -O2: munmap, the number after the arguments",
     CODE(0xbe, 0, 0, 1, 0, 0x31, 0xd2, MOV_EAX(11), CALL, RETURN), HOOKED, 12},
    {"clang -O2: munmap, the number before the arguments",
     CODE(MOV_EAX(11), 0xbe, 0, 0, 1, 0, 0x31, 0xd2, CALL, RETURN), UNPROVEN, 12},
    {"these two bytes in the distance of a call", CODE(0xe8, 0x0f, 0x05, 0, 0, RETURN), PROVEN, 0},
};

enum { BEFORE = 256, ROOM = 512 };

static bool prove(const uint8_t *bytes, size_t size, bool hooks, size_t *at, unsigned *hooked)
{
    static uint8_t starts[ROOM / 8];
    static me_jump_t jumps[ROOM];
    static me_point_t points[ROOM];
    static me_site_t sites[ROOM];
    memset(starts, 0, sizeof starts);
    me_code_t code = {.bytes = bytes,
                      .size = size,
                      .starts = starts,
                      .jumps = jumps,
                      .jumps_most = ROOM,
                      .points = points,
                      .points_most = ROOM,
                      .sites = sites,
                      .sites_most = ROOM};
    const bool proven = me_prove(&code, hooks, NULL, at);
    *hooked = code.sites_count;
    return proven;
}

/* Other code is before it, a function that has ended. */
static enum verdict verdict_of(const struct code *code, size_t *at)
{
    uint8_t bytes[ROOM];
    unsigned hooked;
    memset(bytes, 0x90, sizeof bytes);
    bytes[BEFORE - 1] = RETURN;
    memcpy(bytes + BEFORE, code->bytes, code->size);
    const bool proven = prove(bytes, BEFORE + code->size + 8, true, at, &hooked);
    if (proven && !hooked) return PROVEN;
    if (!prove(bytes, BEFORE + code->size + 8, false, at, &hooked) && proven) return HOOKED;
    return UNPROVEN;
}

static void sites(void)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const struct code *code = &codes[i];
        size_t at = 0;
        const enum verdict verdict = verdict_of(code, &at);
        check(verdict == code->verdict && (verdict == PROVEN || at == BEFORE + code->call),
              "%s: %s", verdict == PROVEN ? "harmless" : "may unmap memory", code->name);
    }
    /* Any bytes: what is found lies within them, and the look-up ends. */
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[160];
        size_t at = 0;
        unsigned hooked;
        check_fill(bytes, sizeof bytes);
        for (int i = 0; i < 3; i++) memcpy(bytes + check_below(159), "\x0f\x05", 2);
        const bool proven = prove(bytes, sizeof bytes, false, &at, &hooked);
        if (!check_each(proven || at < sizeof bytes, "unproven at %zu", at)) break;
    }
    check_all("a proof in random bytes stays within them, and ends");
}

/* --- lengths --- */

static const struct length {
    const char *name;
    uint8_t bytes[15];
    size_t size;
} lengths[] = {
    {"ret", CODE(0xc3)},
    {"endbr64", CODE(0xf3, 0x0f, 0x1e, 0xfa)},
    {"mov $11,%eax", CODE(0xb8, 11, 0, 0, 0)},
    {"movabs", CODE(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8)},
    {"mov 8(%rsp),%r9", CODE(0x4c, 0x8b, 0x4c, 0x24, 8)},
    {"mov 0x100(%rip),%eax", CODE(0x8b, 0x05, 0, 1, 0, 0)},
    {"movl $1,8(%rax,%rbx)", CODE(0xc7, 0x44, 0x18, 8, 1, 0, 0, 0)},
    {"movw $1,(%rax)", CODE(0x66, 0xc7, 0x00, 1, 0)},
    {"test $1,%al", CODE(0xf6, 0xc0, 1)},
    {"not %eax", CODE(0xf7, 0xd0)},
    {"je, long", CODE(0x0f, 0x84, 0, 1, 0, 0)},
    {"pshufd", CODE(0x66, 0x0f, 0x70, 0xc0, 0)},
    {"pshufb", CODE(0x66, 0x0f, 0x38, 0x00, 0xc1)},
    {"palignr", CODE(0x66, 0x0f, 0x3a, 0x0f, 0xc1, 4)},
    {"vmovdqu (%rsi),%ymm0", CODE(0xc5, 0xfe, 0x6f, 0x06)},
    {"vpalignr", CODE(0xc4, 0xe3, 0x75, 0x0f, 0xc2, 4)},
    {"vmovdqu64 0x40(%rsi),%zmm16", CODE(0x62, 0xe1, 0xfe, 0x48, 0x6f, 0x46, 1)},
    {"lock cmpxchg", CODE(0xf0, 0x48, 0x0f, 0xb1, 0x13)},
};

static void decoding(void)
{
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const struct length *it = &lengths[i];
        check(me_length(it->bytes, it->size) == it->size && !me_length(it->bytes, it->size - 1),
              "length of %s", it->name);
    }
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[16];
        check_fill(bytes, sizeof bytes);
        const size_t size = 1 + check_below(16);
        if (!check_each(me_length(bytes, size) <= size, "longer than its bytes")) break;
    }
    check_all("no instruction is longer than its bytes");
    /* The bytes of a system call as the operand of another instruction, and as code. */
    uint8_t code[160];
    size_t at;
    unsigned hooked;
    memset(code, 0x90, sizeof code);
    memcpy(code + 140, (const uint8_t[]){0x48, 0xb8, 0xb8, 11, 0, 0, 0, 0x0f, 0x05, 0xc3}, 10);
    check(prove(code, sizeof code, false, &at, &hooked), "an operand is not a system call");
    code[140] = code[141] = 0x90;
    check(!prove(code, sizeof code, false, &at, &hooked) && at == 147, "and it is one as code");
}

static void stubs(void)
{
    const me_site_t site = {.kind = ME_CONSTANT, .nr = 11};
    const me_site_t any = {.kind = ME_ANY};
    uint8_t code[ME_STUB];
    const uintptr_t at = 0x7f0000001040, site_at = 0x7f0000100004, entry = 0x7f0000001000;
    size_t size = me_write_stub(&site, at, site_at, entry, code);
    int32_t back;
    memcpy(&back, code + size - 4, sizeof back);
    check(size <= ME_STUB && at + size + (uintptr_t)(intptr_t)back == site_at + ME_PATCH,
          "a stub ends with a jump to the system call");
    size = me_write_stub(&any, at, site_at, entry, code);
    check(size <= ME_STUB && code[0] == 0x4c,
          "a stub begins with the instruction that it replaces");
    uint8_t jump[ME_PATCH];
    me_write_jump(site_at, at, jump);
    memcpy(&back, jump + 1, sizeof back);
    check(jump[0] == 0xe9 && site_at + ME_PATCH + (uintptr_t)(intptr_t)back == at,
          "a jump may go backward");
}

/* A number, that of brk() by chance, and then an address whose distance has the bytes of a system
 * call. */
static void distance(void)
{
    static const uint8_t code[] = {
        0x8b, 0x85, 0xa0, 0x01, 0x00, 0x00, 0x89, 0xd9, 0x48, 0x8d, 0x15, 0x81, 0x0f,
        0x05, 0x00, 0x44, 0x89, 0xe7, 0x48, 0x69, 0xc0, 0xd0, 0x00, 0x00, 0x00, 0x48,
        0x8d, 0x74, 0x05, 0x10, 0xe8, 0xc7, 0xfc, 0xff, 0xff, 0x48, 0x8b, 0x43, 0x48,
        0x4c, 0x89, 0xf6, 0x48, 0x8d, 0x50, 0x48, 0x48, 0x8b, 0x43, 0x40, 0x8b, 0x38,
        0xe8, 0x19, 0xfe, 0xff, 0xff, 0x41, 0x8b, 0x85, 0xa0, 0x01, 0x00, 0x00, 0xb9,
        0x0c, 0x00, 0x00, 0x00, 0x48, 0x8d, 0x15, 0x2d, 0x0f, 0x05, 0x00,
    };
    size_t at;
    unsigned hooked;
    check(prove(code, sizeof code, false, &at, &hooked),
          "the distance of an address is not a system call");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    effects();
    sites();
    decoding();
    distance();
    stubs();
    return check_end();
}
