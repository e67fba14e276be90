/* wake.c - the memory of wake.h: how processes sleep in it, and are woken.
 *
 * Shared-memory peers wake a process that sleeps.  If all processes of the host share the memory,
 * so does a network that supports it (net_sleeper).  Messages of other networks are found when a
 * sleep ends, at its limit.  That is accepted if all peers are shared-memory peers: then the
 * network carries only system messages, and transfers of memory outside the segments.  In other
 * jobs, and where the kernel has no membarrier, sleeps are shorter (poll.c).
 */
#include "core/shm/wake.h"

#include <time.h>

#include "core/job/job.h"
#include "core/network.h"
#include "other/base/uncancelled.h"

static _Atomic uint32_t awake; /* 0 */

gasnetc_wakeup_t *gasnetc_wakeup;
bool gasnetc_wakeup_always;
_Atomic uint32_t *gasnetc_wakeup_asleep = &awake;

static bool prepared;
static _Atomic uint32_t *sleeper; /* the network's word of this process */

void gasnetc_wakeup_prepare(void)
{
    prepared = GASNET_PSHM && hostmem_sleepers_prepare();
}

size_t gasnetc_wakeup_size(uint32_t processes)
{
    return offsetof(gasnetc_wakeup_t, sleepers) + hostmem_sleepers_size(processes);
}

static inline bool has_sleepers(void)
{
    return gasnetc_wakeup && prepared;
}

/* The index of a rank of this supernode in `sleepers`. */
static uint32_t index_of(uint32_t rank)
{
    return gasneti_shm_peers[rank].number - 1;
}

/* Called by the network, in the process that has sent a message. */
static void wake(uint32_t rank)
{
    if (rank < gasnetc_job.size && gasneti_shm_peers[rank].number) gasnetc_wakeup_rank(rank);
}

void gasnetc_wakeup_open(void *memory, bool whole, bool all)
{
    gasnetc_wakeup = memory;
    gasnetc_wakeup_asleep = &gasnetc_wakeup->sleepers.asleep[index_of(gasnetc_job.rank)];
    if (whole) sleeper = net_sleeper(wake);
    gasnetc_wakeup_always = prepared && (sleeper || all);
}

uint32_t gasnetc_wakeup_arm(bool brief)
{
    const uint32_t me = gasnetc_job.rank;
    if (!has_sleepers()) return 0;
    return hostmem_sleepers_arm(&gasnetc_wakeup->sleepers, index_of(me), sleeper, me + 1, brief);
}

/* Where no peer wakes the process, sleeps all of the time. */
void gasnetc_wakeup_sleep(uint32_t wakes, uint32_t us)
{
    GASNETI_UNCANCELLED;
    const struct timespec time = {.tv_nsec = us * 1000L};
    if (has_sleepers())
        hostmem_sleepers_sleep(&gasnetc_wakeup->sleepers, index_of(gasnetc_job.rank), wakes, us);
    else
        clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

void gasnetc_wakeup_watch(void)
{
    const uint32_t me = gasnetc_job.rank;
    hostmem_sleepers_watch(&gasnetc_wakeup->sleepers, index_of(me), sleeper, me + 1);
}

void gasnetc_wakeup_rank(uint32_t rank)
{
    hostmem_wake(&gasnetc_wakeup->sleepers, index_of(rank));
}

void gasnetc_wakeup_all(void)
{
    hostmem_wake_all(&gasnetc_wakeup->sleepers);
}
