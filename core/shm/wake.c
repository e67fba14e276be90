/* wake.c - the memory of wake.h: how processes sleep in it, and are woken.
 *
 * Shared-memory peers wake a process that sleeps.  If all processes of the host share the memory,
 * so does a network that supports it (net_sleeper).  Messages of other networks are found when a
 * sleep ends, at its limit.  That is accepted if all peers are shared-memory peers: then the
 * network carries only system messages, and transfers of memory outside the segments.  In other
 * jobs, and where the kernel has no membarrier, sleeps are shorter (poll.c).
 */
#include "core/shm/wake.h"

#include "core/job/job.h"
#include "core/network.h"

static _Atomic uint32_t awake; /* 0 */

gasnetc_common_t *gasnetc_common;
bool gasnetc_common_all_ring;
_Atomic uint32_t *gasnetc_common_asleep = &awake;

static bool prepared;
static _Atomic uint32_t *sleeper; /* the network's word of this process */

void gasnetc_common_prepare(void)
{
    prepared = hostmem_bell_prepare();
}

size_t gasnetc_common_size(uint32_t processes)
{
    return offsetof(gasnetc_common_t, bell) + hostmem_bell_size(processes);
}

static inline bool has_bell(void)
{
    return gasnetc_common && prepared;
}

/* The index of a rank of this supernode in the bell. */
static uint32_t place_of(uint32_t rank)
{
    return gasneti_near[rank].place - 1;
}

/* Called by the network, in the process that has sent a message. */
static void wake(uint32_t rank)
{
    if (rank < gasnetc_job.size && gasneti_near[rank].place) gasnetc_common_wake(rank);
}

void gasnetc_common_open(void *memory, bool whole, bool all)
{
    gasnetc_common = memory;
    gasnetc_common_asleep = &gasnetc_common->bell.asleep[place_of(gasnetc_job.rank)];
    if (whole) sleeper = net_sleeper(wake);
    gasnetc_common_all_ring = prepared && (sleeper || all);
}

uint32_t gasnetc_common_arm(bool brief)
{
    const uint32_t me = gasnetc_job.rank;
    if (!has_bell()) return 0;
    return hostmem_bell_arm(&gasnetc_common->bell, place_of(me), sleeper, me + 1, brief);
}

void gasnetc_common_sleep(uint32_t rings, uint32_t us)
{
    if (has_bell())
        hostmem_bell_sleep(&gasnetc_common->bell, place_of(gasnetc_job.rank), rings, us);
    else
        gasnetc_common_sleep_alone(us);
}

void gasnetc_common_watch(void)
{
    const uint32_t me = gasnetc_job.rank;
    hostmem_bell_watch(&gasnetc_common->bell, place_of(me), sleeper, me + 1);
}

void gasnetc_common_wake(uint32_t rank)
{
    hostmem_bell_ring(&gasnetc_common->bell, place_of(rank));
}
