/* sleepers.c - the sleeps and wake-ups of sleepers.h on futexes and membarrier(2).
 *
 * The futex's bit set has a bit for an index, shared by every 32nd: a thread that is woken for
 * another index looks again and sleeps on.
 */
#include "other/base/hostmem/sleepers.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint32_t everyone = FUTEX_BITSET_MATCH_ANY;

static uint32_t bit_of(uint32_t index)
{
    return UINT32_C(1) << index % 32;
}

bool hostmem_sleepers_prepare(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

uint32_t hostmem_sleepers_arm(hostmem_sleepers_t *sleepers, uint32_t index, _Atomic uint32_t *also,
                              uint32_t value, bool brief)
{
    const uint32_t wakes = atomic_load(&sleepers->wakes);
    atomic_store(&sleepers->asleep[index], HOSTMEM_SLEEPERS_ASLEEP);
    atomic_store(&sleepers->any, 1);
    if (also) atomic_store(also, value); /* last: a thread that clears it must find the flag */
    atomic_thread_fence(memory_order_seq_cst);
    if (!brief) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    return wakes;
}

bool hostmem_sleepers_sleep(hostmem_sleepers_t *sleepers, uint32_t index, uint32_t wakes,
                            uint32_t us)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += us / 1000000;
    until.tv_nsec += us % 1000000 * 1000L;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return syscall(SYS_futex, &sleepers->wakes, FUTEX_WAIT_BITSET, wakes, &until, NULL,
                   bit_of(index)) == 0 ||
           errno != ETIMEDOUT;
}

static void end_sleeps(hostmem_sleepers_t *sleepers, uint32_t bits)
{
    atomic_fetch_add(&sleepers->wakes, 1);
    syscall(SYS_futex, &sleepers->wakes, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, bits);
}

void hostmem_wake_asleep(hostmem_sleepers_t *sleepers, uint32_t index)
{
    if (atomic_exchange(&sleepers->asleep[index], 0) == HOSTMEM_SLEEPERS_ASLEEP)
        end_sleeps(sleepers, bit_of(index));
}

void hostmem_wake_all_asleep(hostmem_sleepers_t *sleepers)
{
    if (atomic_exchange(&sleepers->any, 0)) end_sleeps(sleepers, everyone);
}
