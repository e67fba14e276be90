/* effects.c - which memory a system call unmaps; see effects.h. */
#define _GNU_SOURCE
#include "other/base/memory-events/effects.h"

#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

/* Advice and flags that headers of older systems lack. */
enum {
    ADVICE_FREE = 8,
    ADVICE_DONTNEED_LOCKED = 24,
    ADVICE_GUARD_INSTALL = 102,
    NR_PKEY_MPROTECT = 329,
    NR_PROCESS_MADVISE = 440
};

static const me_range_t everything = {0, UINTPTR_MAX};

bool me_is_watched(uintptr_t nr)
{
    switch (nr) {
    case SYS_munmap:
    case SYS_mmap:
    case SYS_mremap:
    case SYS_madvise:
    case SYS_brk:
    case SYS_mprotect:
    case NR_PKEY_MPROTECT:
    case SYS_shmdt:
    case SYS_shmat:
    case SYS_remap_file_pages:
    case NR_PROCESS_MADVISE:
        return true;
    default:
        return false;
    }
}

static bool advice_drops(uintptr_t advice)
{
    return advice == MADV_DONTNEED || advice == MADV_REMOVE || advice == ADVICE_FREE ||
           advice == ADVICE_DONTNEED_LOCKED || advice == ADVICE_GUARD_INSTALL;
}

/* True also for a mapping of data over a private file mapping. ld.so maps an object's code, and
 * then its data over the same mapping: when the last part of an object is mapped, its code already
 * is. */
bool me_loads_code(const me_call_t *call)
{
    if (call->nr == SYS_mprotect || call->nr == NR_PKEY_MPROTECT) return call->arg[2] & PROT_EXEC;
    if (call->nr != SYS_mmap || call->arg[3] & MAP_ANONYMOUS) return false;
    return call->arg[2] & PROT_EXEC || (call->arg[3] & MAP_FIXED && call->arg[3] & MAP_PRIVATE);
}

bool me_gives_back(const me_call_t *call)
{
    switch (call->nr) {
    case SYS_munmap:
    case SYS_mremap:
    case SYS_mprotect:
    case NR_PKEY_MPROTECT:
    case SYS_shmdt:
    case SYS_remap_file_pages:
        return true;
    case SYS_mmap:
        return call->arg[3] & MAP_FIXED || me_loads_code(call);
    case SYS_madvise:
        return advice_drops(call->arg[2]);
    case SYS_brk:
        return call->arg[0] != 0;
    case SYS_shmat:
        return call->arg[2] & SHM_REMAP;
    case NR_PROCESS_MADVISE:
        return advice_drops(call->arg[3]);
    default:
        return false;
    }
}

/* The ranges that mremap unmaps: one that may move is reported as a whole, also if in the end the
 * kernel grows it without moving it. */
static unsigned ranges_of_mremap(const uintptr_t *arg, me_range_t *ranges)
{
    const uintptr_t old = arg[0], old_len = arg[1], new_len = arg[2], flags = arg[3];
    unsigned count = 0;
    if (flags & MREMAP_FIXED) ranges[count++] = (me_range_t){arg[4], new_len};
    if (new_len > old_len ? (flags & MREMAP_MAYMOVE) != 0 : flags & ~(uintptr_t)MREMAP_MAYMOVE)
        ranges[count++] = (me_range_t){old, old_len};
    else if (new_len < old_len)
        ranges[count++] = (me_range_t){old + new_len, old_len - new_len};
    return count;
}

unsigned me_ranges(const me_call_t *call, uintptr_t program_break, me_range_t *ranges)
{
    const uintptr_t *arg = call->arg;
    if (!me_gives_back(call)) return 0;
    if (me_loads_code(call)) {
        ranges[0] = everything;
        return 1;
    }
    switch (call->nr) {
    case SYS_munmap:
    case SYS_mmap:
    case SYS_madvise:
    case SYS_mprotect:
    case NR_PKEY_MPROTECT:
    case SYS_remap_file_pages:
        ranges[0] = (me_range_t){arg[0], arg[1]};
        return 1;
    case SYS_mremap:
        return ranges_of_mremap(arg, ranges);
    case SYS_brk:
        if (arg[0] >= program_break) return 0;
        ranges[0] = (me_range_t){arg[0], program_break - arg[0]};
        return 1;
    default:
        ranges[0] = everything;
        return 1; /* the call does not tell the length */
    }
}
