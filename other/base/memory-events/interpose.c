/* interpose.c - the C library's functions that unmap memory, defined once more; see interpose.h.
 *
 * The dynamic linker finds these before those of the C library, for the program and all libraries
 * but the C library itself.  They are weak: a program may define its own.  Each calls the next
 * definition, so that whoever else watches these calls, in a library behind this one or by a change
 * of the C library's code, sees them.
 */
#undef _FILE_OFFSET_BITS /* with it the headers rename mmap to mmap64, which is defined here too   \
                          */
#define _GNU_SOURCE
#include "other/base/memory-events/interpose.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "other/base/memory-events/effects.h"
#include "other/base/memory-events/hook.h"
#include "other/base/memory-events/mappings.h"

enum { WHY = 400, PAGE = 4096 };

/* Not below a sanitizer, whose runtime defines the same names and calls these while it begins. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define IS_SANITIZED
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED
#endif
#endif

#if defined __x86_64__ && defined __linux__ && !defined __ILP32__ && !defined IS_SANITIZED

static atomic_bool active;
static uintptr_t heap_start, data_start, data_end;

extern void *__sbrk(intptr_t increment); /* glibc's own name */

/* The next definitions.  NULL: not found yet, or a static program, which has no other. */
static struct {
    int (*munmap)(void *addr, size_t len);
    void *(*mmap)(void *addr, size_t len, int protection, int flags, int fd, off64_t offset);
    void *(*mremap)(void *addr, size_t old_len, size_t new_len, int flags, ...);
    int (*madvise)(void *addr, size_t len, int advice);
    int (*mprotect)(void *addr, size_t len, int protection);
    void *(*shmat)(int id, const void *addr, int flags);
} next;

static void interpose_find(const char *name, void *pointer)
{
    void *const found = dlsym(RTLD_NEXT, name);
    memcpy(pointer, &found, sizeof found);
}

__attribute__((constructor)) static void find_next(void)
{
    interpose_find("munmap", &next.munmap);
    interpose_find("mmap64", &next.mmap);
    interpose_find("mremap", &next.mremap);
    interpose_find("madvise", &next.madvise);
    interpose_find("mprotect", &next.mprotect);
    interpose_find("shmat", &next.shmat);
}

static void about_to(long nr, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e)
{
    if (!atomic_load_explicit(&active, memory_order_relaxed)) return;
    const me_call_t call = {(uintptr_t)nr, {a, b, c, d, e}};
    if (me_hook_wants(&call)) me_hook_tell(&call);
}

#pragma GCC visibility push(default)
#define OURS __attribute__((weak))

OURS int munmap(void *addr, size_t len)
{
    about_to(SYS_munmap, (uintptr_t)addr, len, 0, 0, 0);
    return next.munmap ? next.munmap(addr, len) : (int)syscall(SYS_munmap, addr, len);
}

OURS void *mmap64(void *addr, size_t len, int protection, int flags, int fd, off64_t offset)
{
    about_to(SYS_mmap, (uintptr_t)addr, len, (uintptr_t)protection, (uintptr_t)flags, 0);
    if (next.mmap) return next.mmap(addr, len, protection, flags, fd, offset);
    return (void *)syscall(SYS_mmap, addr, len, protection, flags, fd, offset);
}

OURS void *mmap(void *addr, size_t len, int protection, int flags, int fd, off_t offset)
{
    return mmap64(addr, len, protection, flags, fd, offset);
}

OURS void *mremap(void *addr, size_t old_len, size_t new_len, int flags, ...)
{
    void *to = NULL;
    if (flags & MREMAP_FIXED) {
        va_list arguments;
        va_start(arguments, flags);
        to = va_arg(arguments, void *);
        va_end(arguments);
    }
    about_to(SYS_mremap, (uintptr_t)addr, old_len, new_len, (uintptr_t)flags, (uintptr_t)to);
    if (next.mremap) return next.mremap(addr, old_len, new_len, flags, to);
    return (void *)syscall(SYS_mremap, addr, old_len, new_len, flags, to);
}

OURS int madvise(void *addr, size_t len, int advice)
{
    about_to(SYS_madvise, (uintptr_t)addr, len, (uintptr_t)advice, 0, 0);
    return next.madvise ? next.madvise(addr, len, advice)
                        : (int)syscall(SYS_madvise, addr, len, advice);
}

OURS int mprotect(void *addr, size_t len, int protection)
{
    about_to(SYS_mprotect, (uintptr_t)addr, len, (uintptr_t)protection, 0, 0);
    return next.mprotect ? next.mprotect(addr, len, protection)
                         : (int)syscall(SYS_mprotect, addr, len, protection);
}

OURS void *shmat(int id, const void *addr, int flags)
{
    about_to(SYS_shmat, (uintptr_t)id, (uintptr_t)addr, (uintptr_t)flags, 0, 0);
    return next.shmat ? next.shmat(id, addr, flags) : (void *)syscall(SYS_shmat, id, addr, flags);
}

/* The heap becomes smaller: glibc's malloc does not do that any more, and calls another name. */
OURS void *sbrk(intptr_t increment)
{
    if (increment < 0) about_to(SYS_brk, (uintptr_t)__sbrk(0) + (uintptr_t)increment, 0, 0, 0, 0);
    return __sbrk(increment);
}

OURS int brk(void *end)
{
    const uintptr_t now = (uintptr_t)__sbrk(0);
    return sbrk((intptr_t)((uintptr_t)end - now)) == (void *)-1 ? -1 : 0;
}

/* The C library's, which a static program has by another name. */
extern int __malloc_trim(size_t pad) __attribute__((weak));

/* Gives nothing to the system any more once memory is kept. */
OURS int malloc_trim(size_t pad)
{
    if (atomic_load(&active)) return 0;
    int (*real)(size_t) = __malloc_trim;
    void *found = real ? NULL : dlsym(RTLD_NEXT, "malloc_trim");
    if (found) memcpy(&real, &found, sizeof real);
    return real ? real(pad) : 0;
}

#pragma GCC visibility pop

static bool come_here(char *why)
{
    const struct {
        const char *name;
        void (*ours)(void);
    } rows[] = {{"munmap", (void (*)(void))munmap},   {"mmap", (void (*)(void))mmap},
                {"mmap64", (void (*)(void))mmap64},   {"mremap", (void (*)(void))mremap},
                {"madvise", (void (*)(void))madvise}, {"mprotect", (void (*)(void))mprotect},
                {"shmat", (void (*)(void))shmat},     {"sbrk", (void (*)(void))sbrk},
                {"brk", (void (*)(void))brk},         {"malloc_trim", (void (*)(void))malloc_trim}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *found = dlsym(RTLD_DEFAULT, rows[i].name);
        if (memcmp(&found, &rows[i].ours, sizeof found) == 0) continue;
        snprintf(why, WHY, "calls of %s do not come to this library", rows[i].name);
        return false;
    }
    return true;
}

/* --- covered memory --- */

/* Stores the program's last segment that may be written; dl_iterate_phdr passes the program
 * first. */
static int find_data(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W)) continue;
        data_start = info->dlpi_addr + segment->p_vaddr;
        data_end = data_start + segment->p_memsz;
    }
    data_start &= ~(uintptr_t)(PAGE - 1);
    data_end = (data_end + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    return 1;
}

static void find_heap(void)
{
    static me_mappings_t list;
    static me_mapping_t mapping;
    if (!me_mappings_open(&list)) return;
    while (me_mappings_next(&list, &mapping))
        if (strcmp(mapping.name, "[heap]") == 0 && !heap_start) heap_start = mapping.start;
    me_mappings_close(&list);
}

static bool is_in_heap(uintptr_t addr, size_t len)
{
    const uintptr_t end = ((uintptr_t)__sbrk(0) + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    return heap_start && addr >= heap_start && addr + len <= end && addr + len >= addr;
}

/* The C library's malloc: large blocks are in the heap, which does not become smaller. */
static bool malloc_keeps(char *why)
{
    enum { LARGE = 1 << 20 };
    const bool set =
        mallopt(M_MMAP_MAX, 0) && mallopt(M_TRIM_THRESHOLD, -1) && mallopt(M_ARENA_MAX, 1);
    char *volatile block = malloc(LARGE);
    find_heap();
    const bool inside = block && is_in_heap((uintptr_t)block, LARGE);
    const uintptr_t end = (uintptr_t)__sbrk(0);
    free(block);
    if (set && inside && (uintptr_t)__sbrk(0) >= end) return true;
    mallopt(M_MMAP_MAX, 65536); /* the defaults; the number of arenas cannot be set back */
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
    snprintf(why, WHY, "malloc is not the C library's, or does not use the heap in this thread");
    return false;
}

bool me_is_covered(uintptr_t addr, size_t len)
{
    if (addr >= data_start && addr + len <= data_end && addr + len >= addr) return true;
    return is_in_heap(addr, len);
}

bool me_interpose(char *why)
{
    if (!come_here(why) || !malloc_keeps(why)) return false;
    dl_iterate_phdr(find_data, NULL);
    atomic_store(&active, true);
    return true;
}

#else

bool me_is_covered(uintptr_t addr, size_t len)
{
    (void)addr, (void)len;
    return false;
}

bool me_interpose(char *why)
{
    snprintf(why, WHY, "calls are seen on x86-64 Linux alone, and not below a sanitizer");
    return false;
}

#endif
