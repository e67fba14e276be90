/* mapped.c - see mapped.h.
 *
 * MADV_POPULATE_READ and _WRITE fault pages in without an access that could end the process.  They
 * give EINVAL for two kinds of mappings: those that do not permit the access, and those that are
 * pinned for no device; /proc/self/maps tells them apart.
 */
#include "other/base/mapped.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "other/base/uncancelled.h"

/* 0, or the errno of the advice: EINVAL also from a kernel that does not know it. */
static int populate(uintptr_t start, uintptr_t end, bool write)
{
#ifdef MADV_POPULATE_WRITE
    const int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    return madvise((void *)start, end - start, advice) ? errno : 0;
#else
    (void)start, (void)end, (void)write;
    return EINVAL;
#endif
}

static bool is_known(uintptr_t page)
{
    char own[1];
    const uintptr_t start = (uintptr_t)own & ~(page - 1);
    return populate(start, start + page, true) == 0;
}

static bool is_no_memory(int error)
{
    return error == EFAULT || error == ENOMEM;
}

/* Walks the mappings of [start, end), whole pages. */
static enum gasneti_mapped mapped_by_list(FILE *maps, uintptr_t start, uintptr_t end, bool write,
                                          bool known)
{
    char *line = NULL, *rest;
    size_t room = 0;
    bool pinnable = true;
    while (start < end && getline(&line, &room, maps) > 0) {
        const uintptr_t first = strtoull(line, &rest, 16),
                        behind = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;
        if (behind <= start) continue;
        /* The rest of the line is " rwxp ...". */
        if (first > start || rest[1] != 'r' || (write && rest[2] != 'w')) break;
        const uintptr_t stop = behind < end ? behind : end;
        const int error = populate(start, stop, write);
        if (is_no_memory(error)) break;
        if (error == EINVAL && known) pinnable = false;
        start = stop;
    }
    free(line);
    return start < end ? GASNETI_UNMAPPED : pinnable ? GASNETI_MAPPED : GASNETI_UNPINNABLE;
}

enum gasneti_mapped gasneti_mapped(const void *start, size_t size, bool write)
{
    GASNETI_UNCANCELLED;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), below = page - 1,
                    first = (uintptr_t)start & ~below, end = (uintptr_t)start + size;
    if (end < (uintptr_t)start || end + below < end) return GASNETI_UNMAPPED;
    const uintptr_t behind = (end + below) & ~below;
    const int error = populate(first, behind, write);
    if (error != EINVAL) return is_no_memory(error) ? GASNETI_UNMAPPED : GASNETI_MAPPED;
    const bool known = is_known(page);
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) return known ? GASNETI_UNMAPPED : GASNETI_MAPPED; /* cannot be told */
    const enum gasneti_mapped mapped = mapped_by_list(maps, first, behind, write, known);
    fclose(maps);
    return mapped;
}
