/* unmapped.c - ranges of memory that the program has unmapped; see unmapped.h.
 *
 * The calls are lock-free.  A report claims a free slot, or sets `overflow`, and is then counted.
 */
#include "core/rdma/unmapped.h"

enum { SLOTS = 64, FREE = 0, CLAIMED, FILLED };

typedef struct slot {
    atomic_int state;
    uintptr_t start;
    size_t size;
} slot_t;

atomic_uint gasnetc_unmapped_reported, gasnetc_unmapped_taken;
static slot_t slots[SLOTS];
static atomic_bool overflow;

/* --- which memory is registered: counts of regions by the hash of their blocks --- */

enum { BITS = 12, LONG = 64 /* blocks: a longer range is not looked up */ };
static atomic_uint watched[1 << BITS];
static atomic_uint all;
static atomic_uint unfiltered; /* calls of gasnetc_unmapped_watch_all that have not ended */

static atomic_uint *count_of(uintptr_t block)
{
    return &watched[(uint64_t)block * 0x9e3779b97f4a7c15u >> (64 - BITS)];
}

void gasnetc_unmapped_watch(uintptr_t start, size_t size)
{
    const uintptr_t last = (start + size - 1) >> UNMAPPED_SHIFT;
    atomic_fetch_add(&all, 1);
    for (uintptr_t block = start >> UNMAPPED_SHIFT; block <= last; block++)
        atomic_fetch_add(count_of(block), 1);
}

void gasnetc_unmapped_unwatch(uintptr_t start, size_t size)
{
    const uintptr_t last = (start + size - 1) >> UNMAPPED_SHIFT;
    for (uintptr_t block = start >> UNMAPPED_SHIFT; block <= last; block++)
        atomic_fetch_sub(count_of(block), 1);
    atomic_fetch_sub(&all, 1);
}

void gasnetc_unmapped_watch_all(void)
{
    atomic_fetch_add(&unfiltered, 1);
}

void gasnetc_unmapped_watch_some(void)
{
    atomic_fetch_sub(&unfiltered, 1);
}

static bool is_watched(uintptr_t start, size_t size)
{
    uintptr_t block = start >> UNMAPPED_SHIFT;
    const uintptr_t last = (start + size - 1) >> UNMAPPED_SHIFT;
    if (size && atomic_load(&unfiltered)) return true;
    if (size == 0 || atomic_load(&all) == 0) return false;
    if (last - block >= LONG) return true;
    while (block <= last && !atomic_load(count_of(block))) block++;
    return block <= last;
}

/* --- reports --- */

bool gasnetc_unmapped_report(uintptr_t start, size_t size)
{
    if (!is_watched(start, size)) return false;
    slot_t *slot = slots;
    for (; slot < slots + SLOTS; slot++) {
        int expected = FREE;
        if (atomic_compare_exchange_strong(&slot->state, &expected, CLAIMED)) break;
    }
    if (slot < slots + SLOTS) {
        slot->start = start;
        slot->size = size;
        atomic_store(&slot->state, FILLED);
    } else {
        atomic_store(&overflow, true);
    }
    atomic_fetch_add(&gasnetc_unmapped_reported, 1);
    return true;
}

/* Reports that were counted before the slots are read are found in the slots. */
void gasnetc_unmapped_take(void (*visit)(uintptr_t start, size_t size))
{
    const unsigned counted = atomic_load(&gasnetc_unmapped_reported);
    if (atomic_exchange(&overflow, false)) visit(0, UINTPTR_MAX);
    for (slot_t *slot = slots; slot < slots + SLOTS; slot++) {
        if (atomic_load(&slot->state) != FILLED) continue;
        visit(slot->start, slot->size);
        atomic_store(&slot->state, FREE);
    }
    atomic_store(&gasnetc_unmapped_taken, counted);
}
