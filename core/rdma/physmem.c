/* physmem.c - how much memory the processes of a host may register (IB-P1, IB-P2).
 *
 * Called once by init, with the network open.  The bound is a part of the host's memory
 * (physmem_ratio), or GASNET_PHYSMEM_MAX if that is less.  One process of each host tries to
 * register that much.  With GASNET_PHYSMEM_NOPROBE it does not, and GASNET_PHYSMEM_MAX is used.
 */
#include "core/rdma/physmem.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/job/job.h"
#include "core/params/params.h"
#include "core/report.h"
#include "gasnet.h"

enum { STEPS = 4 }; /* of bisection between a size that was registered and twice that size */

static uint32_t first_of_host(void)
{
    uint32_t r = 0;
    while (gasnetc_job.host_of[r] != gasnetc_job.host_of[gasnetc_job.rank]) r++;
    return r;
}

/* True if `size` bytes can be registered, in pieces of at most region_max; deregisters them. */
static bool can_register(uint64_t size)
{
    uint64_t piece = gasnetc_caps.region_max < size ? gasnetc_caps.region_max : size;
    uint64_t pieces = (size + piece - 1) / piece, made = 0;
    net_region_t *region = calloc(pieces, sizeof *region);
    char *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (bool ok = region && base != MAP_FAILED; ok && made < pieces; made += ok) {
        uint64_t at = made * piece, left = size - at;
        ok = net_register(base + at, left < piece ? left : piece, true, &region[made]);
    }
    for (uint64_t i = 0; i < made; i++) net_deregister(&region[i]);
    if (base != MAP_FAILED) munmap(base, size);
    free(region);
    return made == pieces;
}

/* About the largest size up to `bound` that can be registered. */
static uint64_t probe(uint64_t bound)
{
    uint64_t low = bound, high = bound;
    while (low >= GASNET_PAGESIZE && !can_register(low)) {
        high = low;
        low /= 2;
    }
    for (int i = 0; low < high && low >= GASNET_PAGESIZE && i < STEPS; i++) {
        uint64_t middle = low + (high - low) / 2;
        if (can_register(middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t gasnetc_physmem_share(uint64_t wanted)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    bytes = (uint64_t)((double)bytes * gasnetc_params.physmem_ratio);
    uint64_t most = (uint64_t)gasnetc_params.physmem_max, processes = gasnetc_job.host_size;
    if (most && gasnetc_params.physmem_noprobe) return most / processes;
    if (most && most < bytes) bytes = most;
    if (wanted < bytes / processes) bytes = wanted * processes;
    uint64_t *all = malloc(gasnetc_job.size * sizeof *all);
    if (!all) gasneti_fatal("out of memory");
    uint32_t prober = first_of_host();
    bytes = prober == gasnetc_job.rank ? probe(bytes) : 0;
    bootstrap_exchange(&bytes, sizeof bytes, all);
    bytes = all[prober];
    free(all);
    return bytes / processes;
}
