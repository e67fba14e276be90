/* physmem.c - how much memory a process may register (IB-P1, IB-P2).
 *
 * Called once by init, with the network open.  The processes of a host share a part of its memory
 * (physmem_ratio), or GASNET_PHYSMEM_MAX if that is less; a process registers no more than the
 * network can (caps.pinnable).  With GASNET_PHYSMEM_NOPROBE GASNET_PHYSMEM_MAX is not compared with
 * either.  Nothing is registered as a trial: a trial would pin, and so touch, all that memory.
 */
#include "core/rdma/physmem.h"

#include "core/job/job.h"
#include "core/params/params.h"
#include "core/rdma/bounce.h"
#include "core/rdma/segments.h"
#include "other/base/memory_limits.h"

/* Bytes that the network can register beside the core's own buffers; UINT64_MAX: no limit is known.
 */
static uint64_t beside_buffers(void)
{
    const struct net_counts none = {.buffers = 0}; /* pinnable is without the network's own */
    uint64_t buffers, most, pinnable = gasnetc_caps.pinnable;
    if (pinnable == 0) return UINT64_MAX;
    bounce_counts(&none, &buffers, &most);
    buffers *= GASNETC_BBUF_SIZE;
    return pinnable > buffers ? pinnable - buffers : 0;
}

uint64_t gasnetc_physmem_share(const char **bound)
{
    const uint64_t most = gasnetc_memory_of_host(&gasnetc_params.physmem_max, 'H');
    const uint64_t processes = gasnetc_job.host_size;
    *bound = "GASNET_PHYSMEM_MAX, divided among the processes of the host";
    if (most && gasnetc_params.physmem_noprobe) return most / processes;
    uint64_t host = (uint64_t)((double)gasneti_memory() * gasnetc_params.physmem_ratio);
    if (most && most < host)
        host = most;
    else
        *bound = "the part of the host's memory that may be pinned, divided among its processes";
    const uint64_t share = host / processes, pinnable = beside_buffers();
    if (share <= pinnable) return share;
    *bound = gasnetc_caps.pinnable_by;
    return pinnable;
}
