/* memory_events.c - callbacks, and whether everything is seen; see memory_events.h.
 *
 * Hooked system calls come to me_hook_wants and me_hook_tell (hook.h), in any thread and at any
 * time: these two allocate nothing and take no lock.
 */
#define _GNU_SOURCE
#include "other/base/memory-events/memory_events.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "other/base/memory-events/hook.h"
#include "other/base/memory-events/interpose.h"
#include "other/base/memory-events/patch.h"
#include "other/base/uncancelled.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { MOST_CALLBACKS = 4, PAGE = 4096 };

/* In a page of its own, which the kernel gives to a forked child filled with zeros. */
typedef struct me_live {
    atomic_uint on;
} me_live_t;

static me_live_t *_Atomic live;
static memory_events_callback_t *_Atomic callbacks[MOST_CALLBACKS];
static atomic_bool code_is_new; /* code has been loaded that is to be examined */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows; not used by hooks */
static bool begun, sane; /* sane: the self-test found no call that is not seen */
static bool interposition_begun, interposed;
static atomic_bool complete; /* sane, and all code has been looked at */
static char why[400] = "nobody has asked for it";

/* --- hooks --- */

#define PLAIN __attribute__((no_sanitize("address", "undefined", "thread")))

/* A probe of the self-test: set when a call of this number gives this address back. */
static struct probe {
    atomic_uintptr_t nr, address;
    atomic_bool seen;
} probe;

PLAIN int me_hook_wants(const me_call_t *call)
{
    const me_live_t *l = atomic_load_explicit(&live, memory_order_acquire);
    return l && atomic_load_explicit(&l->on, memory_order_relaxed) && me_gives_back(call);
}

static void tell_all(uintptr_t addr, size_t len)
{
    for (unsigned i = 0; i < MOST_CALLBACKS; i++) {
        memory_events_callback_t *callback = atomic_load(&callbacks[i]);
        if (callback && len) callback(addr, len);
    }
}

void me_hook_tell(const me_call_t *call)
{
    const int error = errno;
    if (me_loads_code(call)) atomic_store(&code_is_new, true);
    me_range_t ranges[ME_MOST_RANGES];
    const uintptr_t program_break = call->nr == SYS_brk ? (uintptr_t)sbrk(0) : 0;
    const unsigned n = me_ranges(call, program_break, ranges);
    for (unsigned i = 0; i < n; i++) {
        if (atomic_load(&probe.address) - ranges[i].addr < ranges[i].len &&
            (atomic_load(&probe.nr) == call->nr || atomic_load(&probe.nr) == UINTPTR_MAX))
            atomic_store(&probe.seen, true);
        tell_all(ranges[i].addr, ranges[i].len);
    }
    errno = error;
}

/* --- self-test: the hooks see the calls of the C library, whatever else changes its code --- */

static void probe_for(uintptr_t nr, uintptr_t address)
{
    atomic_store(&probe.nr, nr);
    atomic_store(&probe.address, address);
    atomic_store(&probe.seen, false);
}

static bool was_seen(const char *name)
{
    if (atomic_load(&probe.seen)) return true;
    snprintf(why, sizeof why, "%s cannot be seen", name);
    return false;
}

static void *a_page(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? NULL : page;
}

static bool sees_page_calls(void)
{
    char *page = a_page();
    if (!page) return was_seen("mmap, which fails,");
    const uintptr_t at = (uintptr_t)page;
    probe_for(SYS_madvise, at);
    madvise(page, PAGE, MADV_DONTNEED);
    if (!was_seen("madvise")) return false;
    probe_for(SYS_mprotect, at);
    mprotect(page, PAGE, PROT_READ);
    if (!was_seen("mprotect")) return false;
    probe_for(SYS_mmap, at);
    mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (!was_seen("mmap")) return false;
    probe_for(SYS_mremap, at);
    void *moved = mremap(page, PAGE, 2 * (size_t)PAGE, MREMAP_MAYMOVE);
    if (!was_seen("mremap")) return false;
    if (moved == MAP_FAILED) return true;
    probe_for(SYS_munmap, (uintptr_t)moved);
    munmap(moved, 2 * (size_t)PAGE);
    if (!was_seen("munmap")) return false;
    page = a_page();
    probe_for(SYS_munmap, (uintptr_t)page);
    syscall(SYS_munmap, page, (size_t)PAGE);
    return was_seen("syscall");
}

/* glibc's brk() stores the end of the heap, where another thread's sbrk() may be about to change
 * it: not called beside other threads. */
static bool sees_brk(void)
{
    probe_for(SYS_brk, 1);
    if (!me_is_alone())
        atomic_store(&probe.seen, me_patched_brk());
    else if (brk((void *)1))
        errno = 0;
    return was_seen("brk");
}

/* Calls that fail, or change nothing. */
static bool sees_other_calls(void)
{
    if (!sees_brk()) return false;
    probe_for(SYS_shmdt, 1);
    shmdt((void *)1);
    if (!was_seen("shmdt")) return false;
    probe_for(SYS_shmat, 1);
    shmat(-1, NULL, SHM_REMAP);
    return was_seen("shmat");
}

/* An allocator keeps the block, or is seen to give it back.  glibc maps a block of this size, and
 * will not map smaller ones from then on: it is hardly more than the least. */
static bool sees_free(void)
{
    const size_t size = 132 * 1024;
    char *volatile block = malloc(size);
    if (!block) return true;
    const uintptr_t middle = ((uintptr_t)block + size / 2) & ~(uintptr_t)(PAGE - 1);
    probe_for(UINTPTR_MAX, middle);
    free(block);
    unsigned char resident;
    return mincore((void *)middle, PAGE, &resident) == 0 || was_seen("free");
}

/* --- begin and end --- */

/* A kernel before 5.12 lets the child keep pages that are registered, and gives the parent copies
 * of those that it writes: what was registered before the fork is not the parent's memory any more.
 * What is registered by other threads during the fork is not either. */
static void forks(void)
{
    const me_live_t *l = atomic_load(&live);
    if (atomic_load(&l->on)) tell_all(0, UINTPTR_MAX);
}

static void forked_child(void)
{
    me_live_t *l = atomic_load(&live);
    atomic_store(&l->on, 0);
}

/* Begins to report the calls that are seen. */
static bool go_live(void)
{
    if (atomic_load(&live)) return true;
    me_live_t *l = a_page();
    if (!l) {
        snprintf(why, sizeof why, "no memory");
        return false;
    }
    madvise(l, PAGE, MADV_WIPEONFORK); /* an older kernel refuses: forked_child remains */
    atomic_store(&l->on, 1);
    atomic_store(&live, l);
    pthread_atfork(forks, forks, forked_child);
    return true;
}

static bool memory_events_start(void)
{
    const char *cause;
    if (!me_hook_possible(&cause)) {
        snprintf(why, sizeof why, "%s", cause);
        return false;
    }
    return go_live() && me_examine_others(why) && me_patch_library(why) && sees_page_calls() &&
           sees_other_calls() && sees_free();
}

static bool add(memory_events_callback_t *unmapped)
{
    for (unsigned i = 0; i < MOST_CALLBACKS; i++)
        if (atomic_load(&callbacks[i]) == unmapped) return true;
    for (unsigned i = 0; i < MOST_CALLBACKS; i++) {
        if (atomic_load(&callbacks[i])) continue;
        atomic_store(&callbacks[i], unmapped);
        return true;
    }
    snprintf(why, sizeof why, "there are too many callbacks");
    return false;
}

/* Code that was loaded while hooks were being made is looked at by memory_events_watched. */
bool memory_events_begin(memory_events_callback_t *unmapped)
{
    GASNETI_UNCANCELLED;
    pthread_mutex_lock(&lock);
    if (!begun) {
        begun = true;
        sane = memory_events_start();
        atomic_store(&code_is_new, true);
    }
    const bool added = add(unmapped);
    pthread_mutex_unlock(&lock);
    return memory_events_watched() && added;
}

bool memory_events_interpose(memory_events_callback_t *unmapped)
{
    GASNETI_UNCANCELLED;
    pthread_mutex_lock(&lock);
    if (!interposition_begun) {
        interposition_begun = true;
        interposed = go_live() && me_interpose(why);
    }
    const bool added = add(unmapped);
    pthread_mutex_unlock(&lock);
    return interposed && added;
}

bool memory_events_covers(uintptr_t addr, size_t len)
{
    const me_live_t *l = atomic_load_explicit(&live, memory_order_acquire);
    return l && atomic_load_explicit(&l->on, memory_order_relaxed) && interposed &&
           me_is_covered(addr, len);
}

void memory_events_end(memory_events_callback_t *unmapped)
{
    for (unsigned i = 0; i < MOST_CALLBACKS; i++) {
        memory_events_callback_t *expected = unmapped;
        atomic_compare_exchange_strong(&callbacks[i], &expected, NULL);
    }
}

/* Reports all memory if a hook was replaced: calls may have been missed, so nothing that was kept
 * is valid. */
static bool are_hooks_lost(void)
{
    if (me_is_intact()) return false;
    GASNETI_UNCANCELLED;
    pthread_mutex_lock(&lock);
    snprintf(why, sizeof why, "%s",
             "a probe or a breakpoint, or other code, has replaced a hook in the C library or in "
             "the loader");
    pthread_mutex_unlock(&lock);
    tell_all(0, UINTPTR_MAX);
    return true;
}

/* `why` of the examination stays where it failed. */
static bool look_at_new_code(void)
{
    GASNETI_UNCANCELLED;
    pthread_mutex_lock(&lock);
    while (atomic_load(&code_is_new)) {
        atomic_store(&complete, false); /* first: other threads read complete and code_is_new
                                           without the lock */
        atomic_store(&code_is_new, false);
        if (sane && me_examine_others(why)) atomic_store(&complete, true);
    }
    pthread_mutex_unlock(&lock);
    return atomic_load(&complete);
}

bool memory_events_watched(void)
{
    const me_live_t *l = atomic_load_explicit(&live, memory_order_acquire);
    if (!l || !atomic_load_explicit(&l->on, memory_order_relaxed)) return false;
    const bool all = atomic_load(&code_is_new) ? look_at_new_code() : atomic_load(&complete);
    return all && !are_hooks_lost();
}

bool memory_events_intact(void)
{
    return me_is_intact() || !are_hooks_lost();
}

const char *memory_events_why(void)
{
    return why;
}
