/* segment_unpinned.c - SEGMENT_LARGE and SEGMENT_EVERYTHING: attach registers nothing.
 *
 * In LARGE a segment is one range of memory per node, which may be larger than what may be
 * registered.  In EVERYTHING it is all of the address space of the process.  The registration cache
 * registers what peers use of it (remote.h).
 */
#include "core/rdma/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/job/job.h"
#include "core/params/params.h"
#include "core/report.h"
#include "gasnet.h"

#ifdef GASNET_SEGMENT_EVERYTHING
enum { EVERYTHING = 1 };
#else
enum { EVERYTHING = 0 };
#endif

static uintptr_t max_local, max_global;

void (*gasnet_client_attach_hook)(void *segbase, uintptr_t segsize);
uint64_t gasnet_max_segsize __attribute__((weak));

/* What a user has set, or 2 GB less one page. */
static uintptr_t largest(void)
{
    if (EVERYTHING) return UINTPTR_MAX;
    uint64_t size = (UINT64_C(2) << 30) - GASNET_PAGESIZE;
    if (gasnet_max_segsize) size = gasnet_max_segsize;
    if (gasnetc_params.max_segsize) size = (uint64_t)gasnetc_params.max_segsize;
    size = size / GASNET_PAGESIZE * GASNET_PAGESIZE;
    return size ? (uintptr_t)size : GASNET_PAGESIZE;
}

void gasnetc_segment_limits(void)
{
    max_local = max_global = largest();
    if (EVERYTHING) return;
    uintptr_t *all = malloc(gasnetc_job.size * sizeof *all);
    if (!all) gasneti_fatal("out of memory");
    bootstrap_exchange(&max_local, sizeof max_local, all);
    for (uint32_t i = 0; i < gasnetc_job.size; i++)
        if (all[i] < max_global) max_global = all[i];
    free(all);
}

uintptr_t gasnetc_max_local_segsize(void)
{
    return max_local;
}

uintptr_t gasnetc_max_global_segsize(void)
{
    return max_global;
}

/* Each node's segment. */
typedef struct announcement {
    uint64_t base, size;
} announcement_t;

static void set_peers(announcement_t mine)
{
    uint32_t n = gasnetc_job.size;
    announcement_t *all = malloc(n * sizeof *all);
    if (!all) gasneti_fatal("out of memory for %u nodes", n);
    bootstrap_exchange(&mine, sizeof mine, all);
    for (uint32_t i = 0; i < n; i++)
        gasnetc_peers[i].segment = (gasnetc_segment_t){.base = all[i].base, .size = all[i].size};
    free(all);
}

/* Pages of the segment are allocated when they are touched, and swap space is not reserved. */
static void *map_segment(uintptr_t size)
{
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        gasneti_fatal("cannot allocate a segment of %lu KB: %s; ask for a smaller segment "
                      "(GASNET_MAX_SEGSIZE)",
                      (unsigned long)size / 1024, strerror(errno));
    return base;
}

int gasnetc_segment_attach(uintptr_t size)
{
    if (EVERYTHING) {
        set_peers((announcement_t){0, UINTPTR_MAX});
        return GASNET_OK;
    }
    if (size % GASNET_PAGESIZE)
        return gasneti_error(GASNET_ERR_BAD_ARG, "gasnet_attach",
                             "the segment size %lu is not a multiple of GASNET_PAGESIZE",
                             (unsigned long)size);
    if (size > max_local)
        return gasneti_error(GASNET_ERR_BAD_ARG, "gasnet_attach",
                             "a segment of %lu bytes is larger than "
                             "gasnet_getMaxLocalSegmentSize(), %lu",
                             (unsigned long)size, (unsigned long)max_local);
    void *base = size ? map_segment(size) : NULL;
    if (gasnet_client_attach_hook) gasnet_client_attach_hook(base, size);
    set_peers((announcement_t){(uintptr_t)base, size});
    return GASNET_OK;
}

void gasnetc_segment_close(void) {}

int gasnetc_segment_info(gasnet_seginfo_t *table, int numentries)
{
    if (numentries < 0 || (numentries && !table))
        return gasneti_error(GASNET_ERR_BAD_ARG, "gasnet_getSegmentInfo", "%d entries at %p",
                             numentries, (void *)table);
    for (int i = 0; i < numentries && i < (int)gasnetc_job.size; i++) {
        table[i].addr = (void *)gasnetc_peers[i].segment.base;
        table[i].size = gasnetc_peers[i].segment.size;
    }
    return GASNET_OK;
}
