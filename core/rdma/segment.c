/* segment.c - SEGMENT_FAST: one range per rank, all of it registered during attach.
 *
 * Called by init and attach.  The range is registered in pieces of at most GASNET_PIN_MAXSZ and the
 * device's region_max; every piece has its key, and all keys are exchanged.
 */
#include "core/rdma/segment.h"

#include <errno.h>
#include <stdlib.h>

#include "core/job/job.h"
#include "core/job/startup.h"
#include "core/params/params.h"
#include "core/rdma/bounce.h"
#include "core/rdma/buffers.h"
#include "core/rdma/published.h"
#include "core/rdma/rdma_internal.h"
#include "core/report.h"
#include "core/shm/shm.h"
#include "gasnet.h"
#include "other/base/memory_limits.h"
#include "other/base/min.h"

static size_t regions; /* of this rank's attached segment */
static gasneti_lock_t created_lock;
static gasnetc_created_t *all_created; /* that are registered */

/* --- its largest size --- */

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

/* Bytes of this process's segment that can be registered (IB-P1, IB-P2).  *bound names the limit.
 *
 * The processes of a host share a part of its memory (physmem_ratio), or GASNET_PHYSMEM_MAX if that
 * is less; a process registers no more than the network can (caps.pinnable).  With
 * GASNET_PHYSMEM_NOPROBE GASNET_PHYSMEM_MAX is not compared with either.  Nothing is registered as
 * a trial: a trial would pin, and so touch, all that memory. */
static uint64_t physmem_share(const char **bound)
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

/* True on the first rank of each host, which prints the warning. */
static bool first_of_host(void)
{
    uint32_t r = 0;
    while (gasnetc_job.host_of[r] != gasnetc_job.host_of[gasnetc_job.rank]) r++;
    return r == gasnetc_job.rank;
}

void gasnetc_segment_limits(void)
{
    const char *bound, *registered_by;
    uint64_t share = physmem_share(&registered_by);
    uint64_t size = gasnetc_segment_asked(&bound);
    if (size > share) {
        size = share;
        bound = registered_by;
    }
    const uintptr_t most = gasnetc_segment_pages(size);
    if (bound == gasnetc_caps.pinnable_by && first_of_host())
        gasneti_warn("the largest segment is %llu KB: %s", (unsigned long long)most / 1024, bound);
    gasnetc_segment_agree(most, bound);
}

/* --- registration --- */

/* log2 of the most bytes that this rank registers at once. */
static unsigned pin_shift_here(void)
{
    uint64_t most = gasnetc_caps.region_max;
    if (gasnetc_params.pin_maxsz && (uint64_t)gasnetc_params.pin_maxsz < most)
        most = (uint64_t)gasnetc_params.pin_maxsz;
    if (gasnetc_params.pin_maxsz && gasnetc_params.pin_maxsz < GASNET_PAGESIZE)
        gasneti_fatal("GASNET_PIN_MAXSZ=%lld: less than a page, %d",
                      (long long)gasnetc_params.pin_maxsz, GASNET_PAGESIZE);
    return most >> 62 ? 62 : 63 - (unsigned)__builtin_clzll(most);
}

static size_t pieces_of(uintptr_t size, unsigned shift)
{
    return size ? ((size - 1) >> shift) + 1 : 0;
}

/* Registers the pieces of a range.  False, with a reason in `why`, if one is refused: the array has
 * those before it. */
static bool pin_pieces(uintptr_t base, uintptr_t size, unsigned shift, enum net_access access,
                       net_region_t *pinned, char *why, size_t why_size)
{
    for (uintptr_t start = 0; start < size; start += UINT64_C(1) << shift) {
        const uintptr_t piece = gasneti_min(size - start, UINT64_C(1) << shift);
        gasnetc_startup_step(GASNETC_STARTUP_REGISTERS, start, size);
        if (gasnetc_register((void *)(base + start), piece, access, pinned++)) continue;
        net_explain_register(errno, piece, why, why_size);
        return false;
    }
    return true;
}

static void register_pieces(char *base, uintptr_t size)
{
    char why[256];
    regions = pieces_of(size, gasnetc_pin_shift);
    gasnetc_local_segment = (gasnetc_local_segment_t){
        (uintptr_t)base, size, calloc(regions + 1, sizeof *gasnetc_local_segment.regions)};
    if (!gasnetc_local_segment.regions)
        gasneti_fatal("out of memory for %zu registrations", regions);
    if (!pin_pieces((uintptr_t)base, size, gasnetc_pin_shift, NET_SEGMENT,
                    gasnetc_local_segment.regions, why, sizeof why))
        gasneti_fatal("cannot register a segment of %llu KB: %s; or ask for a smaller segment "
                      "(GASNET_MAX_SEGSIZE)",
                      (unsigned long long)size / 1024, why);
}

/* Exchanges the keys: each rank sends as many as the largest segment has. */
static void exchange_keys(void)
{
    uint32_t n = gasnetc_job.size;
    size_t most = 0;
    for (uint32_t i = 0; i < n; i++)
        if (pieces_of(gasnetc_peers[i].segment.size, gasnetc_pin_shift) > most)
            most = pieces_of(gasnetc_peers[i].segment.size, gasnetc_pin_shift);
    net_key_t *my_keys = calloc(most + 1, sizeof *my_keys);
    net_key_t *keys = calloc((most + 1) * n, sizeof *keys);
    if (!my_keys || !keys) gasneti_fatal("out of memory for the segments' keys");
    for (size_t i = 0; i < regions; i++) my_keys[i] = net_key(&gasnetc_local_segment.regions[i]);
    if (most) bootstrap_exchange(my_keys, most * sizeof *keys, keys);
    for (uint32_t i = 0; i < n; i++) gasnetc_peers[i].segment.keys = keys + i * most;
    free(my_keys);
}

int gasnetc_segment_attach(uintptr_t size)
{
    const int error = gasnetc_segment_check(size);
    if (error != GASNET_OK) return error;
    char *base = gasnetc_shm_alloc(size);
    if (size && !base) gasnetc_segment_not_allocated(size);
    if (gasnet_client_attach_hook) gasnet_client_attach_hook(base, size);
    gasnetc_pin_shift = (unsigned)gasnetc_segment_least(pin_shift_here());
    register_pieces(base, size);
    gasnetc_startup_step(GASNETC_STARTUP_WAITS, 0, 0);
    gasnetc_segment_exchange((uintptr_t)base, size);
    exchange_keys();
    gasnetc_shm_enter();
    return GASNET_OK;
}

void gasnetc_segment_close(void)
{
    while (all_created) gasnetc_created_unpin(all_created);
    for (size_t i = 0; i < regions; i++) net_deregister(&gasnetc_local_segment.regions[i]);
    regions = 0;
}

/* --- segments that this rank creates --- */

bool gasnetc_created_pin(gasnetc_created_t *created, char *why, size_t why_size)
{
    created->pin_shift = pin_shift_here();
    created->count = pieces_of(created->size, created->pin_shift);
    created->regions = gasneti_calloc(created->count, sizeof *created->regions, "registrations");
    gasneti_lock(&created_lock);
    if ((created->next = all_created)) all_created->link = &created->next;
    created->link = &all_created;
    all_created = created;
    gasneti_unlock(&created_lock);
    if (pin_pieces(created->base, created->size, created->pin_shift, NET_REMOTE, created->regions,
                   why, why_size))
        return true;
    gasnetc_created_unpin(created);
    return false;
}

/* Those that were not made are zero, and ending them does nothing. */
void gasnetc_created_unpin(gasnetc_created_t *created)
{
    if (!created->regions) return;
    gasneti_lock(&created_lock);
    *created->link = created->next;
    if (created->next) created->next->link = created->link;
    gasneti_unlock(&created_lock);
    for (size_t i = 0; i < created->count; i++) net_deregister(&created->regions[i]);
    free(created->regions);
    created->regions = NULL;
    created->count = 0;
}
