/* memlock.c - SOFTHCA_MEMLOCK: charges registrations and queues against RLIMIT_MEMLOCK.
 *
 * The rule is the kernel's for devices that pin memory: each region counts by the pages it touches,
 * also those of another region; the sum is compared with the limit at each registration; a process
 * with CAP_IPC_LOCK is charged and not limited.  The buffers of a queue count as those of a device
 * of hardware: a power of two of entries, of 64 bytes or a multiple in send and completion queues,
 * and of 16 bytes for each piece in receive queues.  Nothing is pinned here.
 */
#include "other/softhca/src/objects/memlock.h"

#include "other/base/memory_limits.h"
#include "other/softhca/include/softhca.h"
#include "other/softhca/src/objects/qp.h"
#include "other/softhca/src/settings/say.h"
#include "other/softhca/src/settings/settings.h"

static _Atomic size_t charged; /* bytes */

static size_t memlock_pages(const void *addr, size_t len)
{
    uintptr_t start = (uintptr_t)addr & ~4095ul, end = ((uintptr_t)addr + len + 4095) & ~4095ul;
    return end - start;
}

bool shca_memlock_take(const void *addr, size_t len)
{
    if (!shca_settings()->memlock) return true;
    size_t bytes = memlock_pages(addr, len);
    if (atomic_fetch_add(&charged, bytes) + bytes <= gasneti_memlock()) return true;
    atomic_fetch_sub(&charged, bytes);
    return false;
}

void shca_memlock_give(const void *addr, size_t len)
{
    if (shca_settings()->memlock) atomic_fetch_sub(&charged, memlock_pages(addr, len));
}

size_t shca_memlock_entries(uint32_t entries, size_t each)
{
    return entries ? memlock_pages(NULL, shca_power_of_two(entries) * each) : 0;
}

int shca_memlock_queue(size_t *pinned, size_t bytes)
{
    if (!shca_memlock_take(NULL, bytes)) return ENOMEM;
    *pinned = bytes;
    return 0;
}

SHCA_EXPORT int softhca_charges(size_t *bytes)
{
    if (bytes) *bytes = charged;
    return shca_settings()->memlock;
}

void shca_memlock_in_child(void)
{
    charged = 0;
}
