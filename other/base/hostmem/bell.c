/* bell.c - the bell of bell.h on futexes and membarrier(2).
 *
 * The futex's bit set has a bit for an index, shared by every 32nd: a thread that is woken for
 * another index looks again and sleeps on.
 */
#include "other/base/hostmem/bell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint32_t everyone = FUTEX_BITSET_MATCH_ANY;

static uint32_t bit_of(uint32_t place)
{
    return UINT32_C(1) << place % 32;
}

bool hostmem_bell_prepare(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

uint32_t hostmem_bell_arm(hostmem_bell_t *bell, uint32_t place, _Atomic uint32_t *also,
                          uint32_t value, bool brief)
{
    const uint32_t rings = atomic_load(&bell->rings);
    atomic_store(&bell->asleep[place], HOSTMEM_BELL_ASLEEP);
    atomic_store(&bell->any, 1);
    if (also) atomic_store(also, value); /* last: a thread that clears it must find the flag */
    atomic_thread_fence(memory_order_seq_cst);
    if (!brief) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    return rings;
}

bool hostmem_bell_sleep(hostmem_bell_t *bell, uint32_t place, uint32_t rings, uint32_t us)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += us / 1000000;
    until.tv_nsec += us % 1000000 * 1000L;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return syscall(SYS_futex, &bell->rings, FUTEX_WAIT_BITSET, rings, &until, NULL,
                   bit_of(place)) == 0 ||
           errno != ETIMEDOUT;
}

static void ring(hostmem_bell_t *bell, uint32_t bits)
{
    atomic_fetch_add(&bell->rings, 1);
    syscall(SYS_futex, &bell->rings, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, bits);
}

void hostmem_bell_ring_asleep(hostmem_bell_t *bell, uint32_t place)
{
    if (atomic_exchange(&bell->asleep[place], 0) == HOSTMEM_BELL_ASLEEP) ring(bell, bit_of(place));
}

void hostmem_bell_ring_all_asleep(hostmem_bell_t *bell)
{
    if (atomic_exchange(&bell->any, 0)) ring(bell, everyone);
}
