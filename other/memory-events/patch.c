/* patch.c - hooks the system calls in all code of the process; see patch.h.
 *
 * Code is read through /proc/self/mem, which fails and does not fault where another thread unloads
 * a library meanwhile.  Each mapping with system calls gets a page of stubs within reach of a jump.
 * Allocates nothing.  The page stays when the library is unloaded.
 */
#define _GNU_SOURCE
#include "other/memory-events/patch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "other/memory-events/hook.h"
#include "other/memory-events/mappings.h"
#include "other/memory-events/sites.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
    WHY = 400,
    WINDOW = 64 * 1024, /* bytes of code that are looked at together */
    MARGIN = 64,        /* bytes beside them, which belong to others */
    PAGE = 4096,        /* of x86-64 */
    MOST = PAGE / ME_STUB - 1,
    LINE = 64 /* a write within a cache line is seen at once */
};

static const uintptr_t reach = (uintptr_t)2000 << 20; /* a jump's, from either end of a mapping */

/* The mapping that is looked at. */
static me_mapping_t mapping;
static me_site_t sites[MOST]; /* `at` is an address */
static uint8_t original[MOST][ME_PATCH];
static unsigned count;

static bool brk_is_patched;

static bool fails(char *why, const char *what)
{
    snprintf(why, WHY, "%s: %s", mapping.name[0] ? mapping.name : "code without a name", what);
    return false;
}

/* --- finding --- */

static bool is_named(const char *prefix)
{
    const char *slash = strrchr(mapping.name, '/');
    return strncmp(slash ? slash + 1 : mapping.name, prefix, strlen(prefix)) == 0;
}

/* Code whose system calls of other forms give nothing back: the C library, also within a static
 * program; the runtime of a sanitizer, which maps there what it has not used before. */
static bool is_known(void)
{
    static char libc[sizeof mapping.name];
    const uintptr_t munmap_at = (uintptr_t)&munmap;
    if (munmap_at >= mapping.start && munmap_at < mapping.end) strcpy(libc, mapping.name);
    return strcmp(libc, mapping.name) == 0 || is_named("libc.so") || is_named("libc-") ||
           is_named("ld-") || is_named("libpthread") || is_named("libasan.so") ||
           is_named("libubsan.so");
}

static bool note_site(const me_site_t *site, uintptr_t base, const uint8_t *bytes, char *why)
{
    if (site->kind == ME_HIDDEN) return fails(why, "makes system calls in an unknown way");
    if (count == MOST) return fails(why, "too many system calls");
    sites[count] = *site;
    sites[count].at += base;
    memcpy(original[count++], bytes + site->at, ME_PATCH);
    return true;
}

/* One window, with what is beside it. */
static bool look_at(uintptr_t from, uintptr_t to, int memory, char *why)
{
    static uint8_t bytes[WINDOW + 2 * MARGIN];
    const uintptr_t first = from - mapping.start < MARGIN ? mapping.start : from - MARGIN;
    const uintptr_t last = mapping.end - to < MARGIN ? mapping.end : to + MARGIN;
    const ssize_t got = pread(memory, bytes, last - first, (off_t)first);
    if (got <= 0) return true; /* unmapped meanwhile */
    me_site_t site;
    size_t at = from - first;
    const bool known = is_known();
    while (me_next_site(bytes, (size_t)got, at, known, &site)) {
        at = me_after_site(&site);
        if (first + at - 2 >= to) break;
        if (!note_site(&site, first, bytes, why)) return false;
    }
    return true;
}

static bool find_sites(int memory, char *why)
{
    count = 0;
    for (uintptr_t from = mapping.start; from < mapping.end; from += WINDOW) {
        const uintptr_t to = mapping.end - from < WINDOW ? mapping.end : from + WINDOW;
        if (!look_at(from, to, memory, why)) return false;
    }
    return true;
}

/* --- stubs --- */

static bool within_reach(uintptr_t page)
{
    const uintptr_t low = page < mapping.start ? page : mapping.start;
    const uintptr_t high = page + PAGE > mapping.end ? page + PAGE : mapping.end;
    return high - low < reach;
}

/* A free page near the mapping, directly below another mapping: what grows upward does not meet it.
 * Below a stack there is none, as that grows downward. */
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
        me_write_stub(&sites[i], (uintptr_t)stub, sites[i].at, (uintptr_t)page, stub);
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

/* Where code must not be made writable, the kernel may write it: not at once. */
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

/* brk() makes its system call within its first instructions. */
static void note_brk(const me_site_t *site)
{
    if (site->kind == ME_CONSTANT && site->nr == SYS_brk && site->at - (uintptr_t)&brk < 32)
        brk_is_patched = true;
}

static bool patch_mapping(int memory, char *why)
{
    if (!find_sites(memory, why)) return false;
    if (!count) return true;
    uint8_t *page = write_stubs();
    if (!page) return fails(why, "no memory within reach may be executable");
    for (unsigned i = 0; i < count; i++) {
        uint8_t jump[ME_PATCH];
        me_write_jump(sites[i].at, (uintptr_t)page + (i + 1) * ME_STUB, jump);
        if (replace(sites[i].at, original[i], jump, memory)) {
            note_brk(&sites[i]);
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

static bool has_unmap(void)
{
    for (unsigned i = 0; i < count; i++)
        if (sites[i].kind == ME_CONSTANT && sites[i].nr == SYS_munmap) return true;
    return false;
}

bool me_patch_all(char *why)
{
    static me_mappings_t list;
    static bool loader_done;
    const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (memory < 0 || !me_mappings_open(&list)) {
        snprintf(why, WHY, "/proc/self cannot be read");
        if (memory >= 0) close(memory);
        return false;
    }
    bool all = true;
    while (me_mappings_next(&list, &mapping)) {
        if (!(mapping.protection & PROT_EXEC) || !mapping.file) continue;
        if (!patch_mapping(memory, why)) all = false;
        if (!is_named("ld-") || loader_done) continue;
        loader_done = has_unmap();
        if (!loader_done) all = fails(why, "the loader's system calls are not found");
    }
    me_mappings_close(&list);
    close(memory);
    return all;
}
