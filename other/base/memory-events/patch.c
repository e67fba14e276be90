/* patch.c - hooks the C library's and the loader's system calls; see patch.h.
 *
 * The two files are recognised by addresses that are in them, not by names, and must be mapped
 * privately: a change reaches neither the file nor another process, and no other file can get their
 * addresses, as they are not unloaded. In all other mappings neither bytes nor the protection are
 * changed; their code is read through /proc/self/mem, which fails and does not fault where another
 * thread unloads a library meanwhile. No malloc.
 */
#define _GNU_SOURCE
#include "other/base/memory-events/patch.h"

#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "other/base/memory-events/hook.h"
#include "other/base/memory-events/lengths.h"
#include "other/base/memory-events/mappings.h"
#include "other/base/memory-events/proof.h"
#include "other/base/memory-events/sites.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
    WHY = 400,
    WINDOW = 64 * 1024, /* bytes of code that are looked at together */
    MARGIN = 160,       /* bytes before them, which belong to others */
    PAGE = 4096,        /* of x86-64 */
    MOST = PAGE / ME_STUB - 1,
    MOST_POINTS = 60000,
    LINE = 64 /* a write within a cache line is seen at once */
};

static const uintptr_t reach = (uintptr_t)2000 << 20; /* a jump's, from either end of a mapping */
static const size_t largest = (size_t)1 << 30;        /* code that is looked at */

/* The mapping that is looked at. */
static me_mapping_t mapping;
static me_site_t sites[MOST];
static uint8_t original[MOST][ME_PATCH];
static unsigned count;

/* All hooks, and the sum of the words at them. */
static uintptr_t hooks[2 * MOST];
static unsigned hooks_count;
static atomic_uint checked; /* hooks that me_is_intact compares: all of them, once they are made */
static uint64_t hooks_sum;

/* The mappings that they are in, which the changes may divide. */
static struct {
    uintptr_t start, end;
} changed[2];
static unsigned changed_count;

static bool brk_is_patched;

static bool fails(char *why, const char *what)
{
    snprintf(why, WHY, "%s: %s", mapping.name[0] ? mapping.name : "code without a name", what);
    return false;
}

static bool contains(uintptr_t address)
{
    return address - mapping.start < mapping.end - mapping.start;
}

/* An address in the code of the loader, which the kernel has mapped at AT_BASE; a static program
 * has none, and the loader itself may have been started as the program. */
static uintptr_t loader_code(void)
{
    const uintptr_t base = getauxval(AT_BASE);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)base;
    if (!base) return getauxval(AT_ENTRY);
    const Elf64_Phdr *segment = (const Elf64_Phdr *)(base + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segment[i].p_type == PT_LOAD && segment[i].p_flags & PF_X)
            return base + segment[i].p_vaddr;
    return 0;
}

/* An address in the C library, of a function that no other object defines, as may be done with
 * munmap. */
static uintptr_t library_code(void)
{
    return (uintptr_t)&gnu_get_libc_version;
}

/* --- system calls of other code --- */

/* True if a window of the mapping has a system call. */
static bool window_calls(uintptr_t from, uintptr_t to, int memory)
{
    static uint8_t bytes[WINDOW + MARGIN + 16];
    const uintptr_t first = from - mapping.start < MARGIN ? mapping.start : from - MARGIN;
    const uintptr_t last = mapping.end - to < 16 ? mapping.end : to + 16;
    const ssize_t got = pread(memory, bytes, last - first, (off_t)first);
    if (got <= 0) return false; /* unmapped meanwhile */
    for (size_t at = from - first; (at = me_next_call(bytes, (size_t)got, at)) < (size_t)got; at++)
        if (me_vote(bytes, (size_t)got, at) != ME_DATA) return true;
    return false;
}

static bool has_calls(int memory)
{
    for (uintptr_t from = mapping.start; from < mapping.end; from += WINDOW)
        if (window_calls(from, mapping.end - from < WINDOW ? mapping.end : from + WINDOW, memory))
            return true;
    return false;
}

/* A copy of the mapping's code, as much as can be read, and room to look into it. */
static bool read_code(int memory, me_code_t *code, void **room, size_t *room_size)
{
    const size_t size = mapping.end - mapping.start;
    if (size > largest) return false;
    const size_t jumps = size / 2, starts = size / 64 * 8 + 64;
    *room_size = size + starts + jumps * sizeof(me_jump_t) + MOST_POINTS * sizeof(me_point_t);
    uint8_t *at = mmap(NULL, *room_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return false;
    *room = at;
    size_t filled = 0;
    for (ssize_t got = 1; filled < size && got > 0; filled += got > 0 ? (size_t)got : 0)
        got = pread(memory, at + filled, size - filled, (off_t)(mapping.start + filled));
    *code = (me_code_t){.bytes = at, .size = filled, .sites = sites, .sites_most = MOST};
    code->starts = at + size;
    code->jumps = (me_jump_t *)(void *)(code->starts + starts);
    code->jumps_most = (unsigned)jumps;
    code->points = (me_point_t *)(void *)(code->jumps + jumps);
    code->points_most = MOST_POINTS;
    return true;
}

static bool fails_at(char *why, size_t offset)
{
    snprintf(why, WHY, "%s: its system call at offset 0x%zx of this code may unmap memory unseen",
             mapping.name[0] ? mapping.name : "code without a name", offset);
    return false;
}

static bool examine(int memory, char *why)
{
    me_code_t code;
    void *room;
    size_t room_size, at;
    if (!has_calls(memory)) return true;
    if (!read_code(memory, &code, &room, &room_size)) return fails(why, "its code cannot be read");
    const bool proven = me_prove(&code, false, NULL, &at);
    munmap(room, room_size);
    return proven || fails_at(why, at);
}

/* The library's calls, those that are to be hooked and what is there now. */
static bool find_sites(int memory, char *why)
{
    me_code_t code;
    void *room;
    size_t room_size, at;
    if (!read_code(memory, &code, &room, &room_size)) return fails(why, "its code cannot be read");
    const bool proven = me_prove(&code, true, me_is_known, &at);
    count = code.sites_count;
    for (unsigned i = 0; i < count; i++)
        memcpy(original[i], code.bytes + sites[i].call - ME_PATCH, ME_PATCH);
    munmap(room, room_size);
    return proven || fails_at(why, at);
}

static uintptr_t site_address(unsigned i)
{
    return mapping.start + sites[i].call - ME_PATCH;
}

/* --- stubs --- */

static bool within_reach(uintptr_t page)
{
    const uintptr_t low = page < mapping.start ? page : mapping.start;
    const uintptr_t high = page + PAGE > mapping.end ? page + PAGE : mapping.end;
    return high - low < reach;
}

/* Maps a free page near the mapping, directly below another mapping: one that grows upward does not
 * meet it. Stacks grow downward, so no page is mapped below one. */
static uint8_t *page_nearby(void)
{
    static me_mappings_t list;
    me_mapping_t next;
    uintptr_t end_of_last = 1 << 20;
    void *page = MAP_FAILED;
    if (!me_mappings_open(&list)) return NULL;
    while (page == MAP_FAILED && me_mappings_next(&list, &next)) {
        const uintptr_t at = next.start - PAGE;
        if (next.start >= end_of_last + 2 * PAGE && !next.stack && within_reach(at)) {
            page = mmap((void *)at, PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (page != MAP_FAILED && !within_reach((uintptr_t)page)) {
                munmap(page, PAGE); /* an old kernel, for which the address is a hint */
                page = MAP_FAILED;
            }
        }
        end_of_last = next.end;
    }
    me_mappings_close(&list);
    return page == MAP_FAILED ? NULL : page;
}

/* The first word of a page is the address that its stubs call. */
static uint8_t *write_stubs(void)
{
    uint8_t *page = page_nearby();
    if (!page) return NULL;
    void (*entry)(void) = me_hook_entry;
    memcpy(page, &entry, sizeof entry);
    for (unsigned i = 0; i < count; i++) {
        uint8_t *stub = page + (i + 1) * ME_STUB;
        me_write_stub(&sites[i], (uintptr_t)stub, site_address(i), (uintptr_t)page, stub);
    }
    if (mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0) return page;
    munmap(page, PAGE);
    return NULL;
}

/* --- changing code --- */

bool me_is_alone(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

/* Replaces the instruction so that other threads execute the old one or the new one. */
static bool replace_at_once(uintptr_t at, const uint8_t *old, const uint8_t *new)
{
    if (at % LINE > LINE - ME_PATCH) {
        if (!me_is_alone()) return false;
        memcpy((void *)at, new, ME_PATCH);
        return true;
    }
    const uintptr_t word_at = at % LINE <= LINE - 8 ? at : at - 3;
    uint64_t expected, wanted;
    memcpy(&expected, (void *)word_at, sizeof expected);
    uint8_t *instruction = (uint8_t *)&expected + (at - word_at);
    if (memcmp(instruction, old, ME_PATCH) != 0) return false;
    wanted = expected;
    memcpy((uint8_t *)&wanted + (at - word_at), new, ME_PATCH);
    bool done = false;
#ifdef __x86_64__
    __asm__ volatile("lock cmpxchgq %3, %1"
                     : "=@ccz"(done), "+m"(*(uint64_t *)word_at), "+a"(expected)
                     : "r"(wanted)
                     : "memory");
#endif
    return done;
}

/* Replaces an instruction. Where code must not be made writable, the kernel writes it, byte by
 * byte: only while the process has one thread. */
static bool replace(uintptr_t at, const uint8_t *old, const uint8_t *new, int memory)
{
    const uintptr_t page = at & ~(uintptr_t)(PAGE - 1);
    const size_t size = at + 8 - page > PAGE ? 2 * PAGE : PAGE;
    const size_t bytes = page + size > mapping.end ? mapping.end - page : size;
    if (mprotect((void *)page, bytes, PROT_READ | PROT_WRITE | PROT_EXEC))
        return me_is_alone() && pwrite(memory, new, ME_PATCH, (off_t)at) == ME_PATCH;
    const bool done = replace_at_once(at, old, new);
    mprotect((void *)page, bytes, mapping.protection);
    return done;
}

static void note_hook(unsigned i)
{
    const uintptr_t at = site_address(i);
    if (sites[i].kind == ME_CONSTANT && sites[i].nr == SYS_brk) brk_is_patched = true;
    uint64_t word;
    memcpy(&word, (const void *)at, sizeof word);
    hooks_sum += word;
    hooks[hooks_count++] = at;
}

static bool patch_mapping(int memory, char *why)
{
    if (changed_count == 2) return fails(why, "it is mapped twice");
    changed[changed_count].start = mapping.start;
    changed[changed_count++].end = mapping.end;
    if (mapping.shared) return fails(why, "it is mapped as shared with others");
    if (!find_sites(memory, why)) return false;
    if (!count) return fails(why, "its system calls are not found");
    if (hooks_count + count > sizeof hooks / sizeof *hooks) return fails(why, "too many calls");
    uint8_t *page = write_stubs();
    if (!page) return fails(why, "no memory within reach may be executable");
    for (unsigned i = 0; i < count; i++) {
        uint8_t jump[ME_PATCH];
        me_write_jump(site_address(i), (uintptr_t)page + (i + 1) * ME_STUB, jump);
        if (replace(site_address(i), original[i], jump, memory)) {
            note_hook(i);
            continue;
        }
        if (i == 0) munmap(page, PAGE); /* no jump leads to it */
        return fails(why, "its code may not be changed");
    }
    return true;
}

bool me_patched_brk(void)
{
    return brk_is_patched;
}

/* True if all hooks are as they were written: a breakpoint, or older bytes, change the sum. */
__attribute__((no_sanitize("address", "undefined", "thread"))) bool me_is_intact(void)
{
    uint64_t sum = 0;
    const unsigned made = atomic_load_explicit(&checked, memory_order_acquire);
    for (unsigned i = 0; i < made; i++) {
        uint64_t word;
        __builtin_memcpy(&word, (const void *)hooks[i], sizeof word);
        sum += word;
    }
    return made == 0 || sum == hooks_sum;
}

/* --- all mappings --- */

static bool is_of_library(void)
{
    for (unsigned i = 0; i < changed_count; i++)
        if (mapping.start >= changed[i].start && mapping.end <= changed[i].end) return true;
    return contains(library_code()) || contains(loader_code());
}

/* Calls `act` for the code of the library, or for that of others. */
static bool for_each(bool library, bool (*act)(int memory, char *why), char *why)
{
    static me_mappings_t list;
    const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (memory < 0 || !me_mappings_open(&list)) {
        snprintf(why, WHY, "/proc/self cannot be read");
        if (memory >= 0) close(memory);
        return false;
    }
    bool all = true;
    while (all && me_mappings_next(&list, &mapping))
        if (mapping.protection & PROT_EXEC && mapping.file && is_of_library() == library)
            all = act(memory, why);
    me_mappings_close(&list);
    close(memory);
    return all;
}

bool me_examine_others(char *why)
{
    return for_each(false, examine, why);
}

bool me_patch_library(char *why)
{
    if (!loader_code()) {
        snprintf(why, WHY, "the loader's code is not found");
        return false;
    }
    const bool all = for_each(true, patch_mapping, why);
    atomic_store_explicit(&checked, hooks_count, memory_order_release);
    return all;
}
