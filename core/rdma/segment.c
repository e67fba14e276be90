/* segment.c - SEGMENT_FAST: one range per node, all of it registered during attach.
 *
 * Called by init and attach.  The range is registered in pieces of at most GASNET_PIN_MAXSZ and the
 * device's region_max; every piece has its key, and all keys are exchanged.
 */
#include "core/rdma/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/job.h"
#include "core/params/params.h"
#include "core/rdma/physmem.h"
#include "core/rdma/rdma_internal.h"
#include "core/report.h"
#include "gasnet.h"

unsigned gasnetc_pin_shift = 62;

static uintptr_t max_local, max_global;
static const char *max_bound = ""; /* which limit max_local is */
static size_t regions;             /* of this node */

void (*gasnet_client_attach_hook)(void *segbase, uintptr_t segsize);
uint64_t gasnet_max_segsize __attribute__((weak));

static uintptr_t round_down(uint64_t size)
{
    return (uintptr_t)(size / GASNET_PAGESIZE * GASNET_PAGESIZE);
}

/* Said once on each host. */
static bool first_of_host(void)
{
    uint32_t r = 0;
    while (gasnetc_job.host_of[r] != gasnetc_job.host_of[gasnetc_job.rank]) r++;
    return r == gasnetc_job.rank;
}

void gasnetc_segment_limits(void)
{
    const char *registered_by;
    uint64_t share = gasnetc_physmem_share(&registered_by);
    uint64_t size = (UINT64_C(2) << 30) - GASNET_PAGESIZE;
    if (gasnet_max_segsize) size = gasnet_max_segsize;
    if (gasnetc_params.max_segsize) size = (uint64_t)gasnetc_params.max_segsize;
    max_bound = "the largest size asked for (GASNET_MAX_SEGSIZE)";
    if (size > share) {
        size = share;
        max_bound = registered_by;
    }
    max_local = round_down(size);
    if (max_local == 0) max_local = GASNET_PAGESIZE;
    if (max_bound == gasnetc_caps.pinnable_by && first_of_host())
        gasneti_warn("the largest segment is %llu KB: %s", (unsigned long long)max_local / 1024,
                     max_bound);
    uintptr_t *all = malloc(gasnetc_job.size * sizeof *all);
    if (!all) gasneti_fatal("out of memory");
    bootstrap_exchange(&max_local, sizeof max_local, all);
    max_global = max_local;
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

/* The size of a registered piece: the same on all nodes. */
static void settle_pin_shift(void)
{
    uint64_t most = gasnetc_caps.region_max;
    if (gasnetc_params.pin_maxsz && (uint64_t)gasnetc_params.pin_maxsz < most)
        most = (uint64_t)gasnetc_params.pin_maxsz;
    if (gasnetc_params.pin_maxsz & (gasnetc_params.pin_maxsz - 1))
        gasneti_fatal("GASNET_PIN_MAXSZ=%lld: not a power of two",
                      (long long)gasnetc_params.pin_maxsz);
    if (gasnetc_params.pin_maxsz && gasnetc_params.pin_maxsz < GASNET_PAGESIZE)
        gasneti_fatal("GASNET_PIN_MAXSZ=%lld: less than a page, %d",
                      (long long)gasnetc_params.pin_maxsz, GASNET_PAGESIZE);
    unsigned shift = most >> 62 ? 62 : 63 - (unsigned)__builtin_clzll(most);
    uint8_t mine = (uint8_t)shift, *all = malloc(gasnetc_job.size);
    if (!all) gasneti_fatal("out of memory");
    bootstrap_exchange(&mine, 1, all);
    for (uint32_t i = 0; i < gasnetc_job.size; i++)
        if (all[i] < mine) mine = all[i];
    free(all);
    gasnetc_pin_shift = mine;
}

static size_t pieces_of(uintptr_t size)
{
    return size ? ((size - 1) >> gasnetc_pin_shift) + 1 : 0;
}

static void register_pieces(char *base, uintptr_t size)
{
    regions = pieces_of(size);
    gasnetc_local_segment = (gasnetc_local_segment_t){
        (uintptr_t)base, size, calloc(regions + 1, sizeof *gasnetc_local_segment.regions)};
    if (!gasnetc_local_segment.regions)
        gasneti_fatal("out of memory for %zu registrations", regions);
    for (size_t i = 0; i < regions; i++) {
        uintptr_t start = (uintptr_t)i << gasnetc_pin_shift;
        uintptr_t piece = UINT64_C(1) << gasnetc_pin_shift;
        if (piece > size - start) piece = size - start;
        if (!net_register(base + start, piece, NET_REMOTE, &gasnetc_local_segment.regions[i])) {
            char why[256];
            net_explain_register(errno, piece, why, sizeof why);
            gasneti_fatal("cannot register a segment of %llu KB: %s; or ask for a smaller segment "
                          "(GASNET_MAX_SEGSIZE)",
                          (unsigned long long)size / 1024, why);
        }
    }
}

/* Each node's segment; the keys are exchanged next, as many as the largest segment has. */
typedef struct announcement {
    uint64_t base, size;
} announcement_t;

static void exchange(uintptr_t base, uintptr_t size)
{
    uint32_t n = gasnetc_job.size;
    announcement_t mine = {base, size}, *all = malloc(n * sizeof *all);
    if (!all) gasneti_fatal("out of memory for %u nodes", n);
    bootstrap_exchange(&mine, sizeof mine, all);
    size_t most = 0;
    for (uint32_t i = 0; i < n; i++)
        if (pieces_of(all[i].size) > most) most = pieces_of(all[i].size);
    net_key_t *my_keys = calloc(most + 1, sizeof *my_keys);
    net_key_t *keys = calloc((most + 1) * n, sizeof *keys);
    if (!my_keys || !keys) gasneti_fatal("out of memory for the segments' keys");
    for (size_t i = 0; i < regions; i++) my_keys[i] = net_key(&gasnetc_local_segment.regions[i]);
    if (most) bootstrap_exchange(my_keys, most * sizeof *keys, keys);
    for (uint32_t i = 0; i < n; i++)
        gasnetc_peers[i].segment =
            (gasnetc_segment_t){.base = all[i].base, .size = all[i].size, .keys = keys + i * most};
    free(my_keys);
    free(all);
}

int gasnetc_segment_attach(uintptr_t size)
{
    if (size % GASNET_PAGESIZE)
        return gasneti_error(GASNET_ERR_BAD_ARG, "gasnet_attach",
                             "the segment size %lu is not a multiple of GASNET_PAGESIZE",
                             (unsigned long)size);
    if (size > max_local)
        return gasneti_error(GASNET_ERR_BAD_ARG, "gasnet_attach",
                             "a segment of %lu bytes is larger than "
                             "gasnet_getMaxLocalSegmentSize(), %lu: %s",
                             (unsigned long)size, (unsigned long)max_local, max_bound);
    char *base = size ? net_alloc(size) : NULL;
    if (size && !base)
        gasneti_fatal("cannot allocate a segment of %lu KB: %s; ask for a smaller segment "
                      "(GASNET_MAX_SEGSIZE)",
                      (unsigned long)size / 1024, strerror(errno));
    if (gasnet_client_attach_hook) gasnet_client_attach_hook(base, size);
    settle_pin_shift();
    register_pieces(base, size);
    exchange((uintptr_t)base, size);
    return GASNET_OK;
}

void gasnetc_segment_close(void)
{
    for (size_t i = 0; i < regions; i++) net_deregister(&gasnetc_local_segment.regions[i]);
    regions = 0;
}

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
