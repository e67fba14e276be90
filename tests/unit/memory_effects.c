/* memory_effects.c - other/memory-events, its pure parts: which ranges a system call gives back,
 * and which instructions make one.  */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "check.h"
#include "other/memory-events/effects.h"
#include "other/memory-events/lengths.h"
#include "other/memory-events/sites.h"

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

/* --- sites --- */

#define CODE(...) {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static const struct code {
    const char *name;
    uint8_t bytes[32];
    size_t size;
    bool known, found;
    me_kind_t kind;
    size_t at;
} codes[] = {
    {"mov $11,%eax; syscall", CODE(0x90, 0xb8, 11, 0, 0, 0, 0x0f, 0x05), true, true, ME_CONSTANT,
     1},
    {"mov $1,%eax; syscall", CODE(0x90, 0xb8, 1, 0, 0, 0, 0x0f, 0x05), false, false, 0, 0},
    {"mov 8(%rsp),%r9; syscall", CODE(0x4c, 0x8b, 0x4c, 0x24, 8, 0x0f, 0x05, 0xc3), false, true,
     ME_ANY, 0},
    {"a jump to a stub; syscall",
     CODE(0xe9, 0, 1, 0, 0, 0x0f, 0x05, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff), false, false, 0, 0},
    {"mov $9,%eax; mov %rbx,%rdi; syscall", CODE(0xb8, 9, 0, 0, 0, 0x48, 0x89, 0xdf, 0x0f, 0x05),
     false, true, ME_HIDDEN, 8},
    {"mov $9,%r8d; mov %r8,%rax; syscall",
     CODE(0x41, 0xb8, 9, 0, 0, 0, 0x4c, 0x89, 0xc0, 0x0f, 0x05), false, true, ME_HIDDEN, 9},
    {"mov $202,%r8d; mov %r8,%rax; syscall; cmp",
     CODE(0x41, 0xb8, 202, 0, 0, 0, 0x4c, 0x89, 0xc0, 0x0f, 0x05, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff),
     false, false, 0, 0},
    {"mov %rdi,%rax; syscall; cmp",
     CODE(0x48, 0x89, 0xf8, 0x0f, 0x05, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff), false, true, ME_HIDDEN,
     3},
    {"the same in the C library",
     CODE(0x48, 0x89, 0xf8, 0x0f, 0x05, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff), true, false, 0, 0},
    {"these two bytes alone", CODE(0x0f, 0x05), false, false, 0, 0},
    {"these two bytes as a displacement", CODE(0xe8, 0x0f, 0x05, 0, 0, 0x48), false, false, 0, 0},
};

static void sites(void)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const struct code *code = &codes[i];
        me_site_t site;
        const bool found = me_next_site(code->bytes, code->size, 0, code->known, &site);
        check(found == code->found && (!found || (site.kind == code->kind && site.at == code->at)),
              "found or not: %s", code->name);
    }
    /* Any bytes: what is found lies within them, and the look-up ends. */
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[96];
        me_site_t site;
        check_fill(bytes, sizeof bytes);
        for (int i = 0; i < 3; i++) memcpy(bytes + check_below(95), "\x0f\x05", 2);
        for (size_t from = 0; me_next_site(bytes, sizeof bytes, from, false, &site);) {
            const size_t next = me_after_site(&site);
            if (!check_each(next > from && next <= sizeof bytes && site.at + 2 <= next,
                            "site at %zu, next %zu", site.at, next))
                break;
            from = next;
        }
    }
    check_all("a look-up in random bytes stays within them, and ends");
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
    uint8_t code[64];
    me_site_t site;
    memset(code, 0x90, sizeof code);
    memcpy(code + 40, (const uint8_t[]){0x48, 0xb8, 0xb8, 11, 0, 0, 0, 0x0f, 0x05, 0xc3}, 10);
    check(!me_next_site(code, sizeof code, 0, true, &site), "an operand is not a system call");
    code[40] = code[41] = 0x90;
    check(me_next_site(code, sizeof code, 0, true, &site) && site.at == 42,
          "and it is one as code");
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
    me_site_t site;
    check(!me_next_site(code, sizeof code, 0, false, &site),
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
