/* firehose_open.c - opens and closes the registration cache of the core: the sizes of its pools,
 * and the callbacks by which other/firehose registers, deregisters and makes progress.
 *
 * What depends on whether peers hold memory of this rank is in remote.h.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/log.h"
#include "core/params/params.h"
#include "core/rdma/firehose.h"
#include "core/rdma/lease.h"
#include "core/rdma/rdma_internal.h"
#include "core/rdma/remote.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "gasnet.h"
#include "other/base/clock.h"
#include "other/base/memory_limits.h"
#include "other/base/uncancelled.h"

/* --- callbacks --- */

static _Atomic uint64_t nanoseconds;

static void spent_since(double start)
{
    atomic_fetch_add(&nanoseconds, (uint64_t)((gasneti_clock() - start) * 1e9));
}

/* Registers a region.  A region that may not be kept is reported as unmapped at once, so that later
 * transfers do not find it. */
static firehose_outcome_t cache_pin(void *context, uintptr_t addr, size_t len, void *key)
{
    GASNETI_UNCANCELLED;
    (void)context;
    gasnetc_unmapped_watch(addr, len);
    const bool keep =
        gasnetc_watched((void *)addr, len) || (REMOTE_PENDS && gasnetc_remote_keeps(addr, len));
    const double start = gasneti_clock();
    const firehose_outcome_t outcome = gasnetc_remote_register(addr, len, key);
    spent_since(start);
    if (outcome == FIREHOSE_PINNED && !keep) gasnetc_firehose_invalidate((void *)addr, len);
    if (outcome != FIREHOSE_PINNED) gasnetc_unmapped_unwatch(addr, len);
    return outcome;
}

static void cache_unpin(void *context, uintptr_t addr, size_t len, void *key)
{
    GASNETI_UNCANCELLED;
    (void)context;
    const double start = gasneti_clock();
    net_deregister(key);
    spent_since(start);
    gasnetc_unmapped_unwatch(addr, len);
}

/* One step of waiting for room.  Where peers pin, it only reaps, because completions make room: a
 * handler or collective that a poll ran could not wait for memory of a peer, since the thread may
 * be in gasnetc_post_waiting. */
static void cache_progress(void *context)
{
    (void)context;
    gasnetc_lease_take_back(GASNETC_LOCAL);
    if (REMOTE_PENDS)
        gasnetc_reap();
    else
        gasnetc_poll_stalled();
}

static void cache_lock(void *context)
{
    (void)context;
    gasneti_lock(&gasnetc_cache.lock);
}

static void cache_unlock(void *context)
{
    (void)context;
    gasneti_unlock(&gasnetc_cache.lock);
}

/* --- begin and end --- */

/* The number of ranks that hold firehoses to each other's memory; 1: no rank does. */
static uint32_t cache_nodes(void)
{
    return REMOTE_PENDS ? gasnetc_job.size : 1;
}

/* The amount left for the cache when `taken` is registered, at least `least`: if that is too much,
 * the system refuses registrations later. */
static uint64_t left(uint64_t all, uint64_t taken, uint64_t least)
{
    return all > taken && all - taken > least ? all - taken : least;
}

/* GASNET_PHYSMEM_MAX, 0 if it is not set. */
static uint64_t most_pinned(void)
{
    return gasnetc_memory_of_host(&gasnetc_params.physmem_max, 'H');
}

/* Whether GASNET_PHYSMEM_MAX counts without a comparison with other limits (IB-P2). */
static bool is_unprobed(void)
{
    return gasnetc_params.physmem_noprobe && most_pinned();
}

static uint64_t memlock(uint64_t taken)
{
    if (!gasnetc_caps.pinnable || is_unprobed()) return FIREHOSE_UNSET;
    return left(gasnetc_caps.pinnable, taken, 64 << 10);
}

static uint64_t device_regions(void)
{
    struct net_counts net = {0};
    if (!gasnetc_caps.regions) return FIREHOSE_UNSET;
    net_counts(&net);
    const uint64_t here = gasnetc_job.host_size;
    return left(gasnetc_caps.regions, net.registrations * here, 2 * here);
}

/* The memory to compute the pools from: firehose_compute_sizes takes three quarters of it, so that
 * the bound GASNET_PHYSMEM_MAX counts as four thirds. */
static uint64_t host_memory(uint64_t taken)
{
    uint64_t all = (uint64_t)((double)gasneti_memory() * (gasnetc_params.physmem_ratio * 4 / 3));
    const uint64_t most = most_pinned() / 3 * 4;
    if (most && (most < all || is_unprobed())) all = most;
    return left(all, taken * gasnetc_job.host_size / 3 * 4, all / 16);
}

/* The value of a parameter whose 0 means that the user has not set it. */
static uint64_t setting(int64_t value)
{
    return value > 0 ? (uint64_t)value : FIREHOSE_UNSET;
}

enum { DEFAULT_REGION = 131072 }; /* bytes; smaller where limits are low */

/* The sizes of the pools.  Collective. */
static firehose_sizes_t sizes_of_pools(void)
{
    const gasnetc_params_t *p = &gasnetc_params;
    const uint64_t taken = gasnetc_local_segment.size;
    char why[512] = "";
    firehose_sizes_t sizes;
    const firehose_limits_t limits = {
        .page = GASNET_PAGESIZE,
        .memlock = memlock(taken),
        .host_memory = host_memory(taken),
        .device_memory = FIREHOSE_UNSET,
        .device_regions = device_regions(),
        .device_region = gasnetc_caps.region_max,
        .processes = gasnetc_job.host_size,
        .nodes = cache_nodes(),
        .main_pool = FIREHOSE_UNSET,
        .m = setting(p->firehose_m),
        .maxvictim_m = setting(p->firehose_maxvictim_m),
        .r = setting(p->firehose_r),
        .maxvictim_r = setting(p->firehose_maxvictim_r),
        .max_region = p->firehose_max_region == DEFAULT_REGION ? FIREHOSE_UNSET
                                                               : setting(p->firehose_max_region),
        .prefix = "GASNET_FIREHOSE_",
    };
    firehose_compute_sizes(&limits, &sizes, why, sizeof why);
    gasneti_fatal_if_any(why);
    if (REMOTE_PENDS) gasnetc_remote_agree(&sizes);
    return sizes;
}

static void report_sizes(const firehose_sizes_t *sizes)
{
    if (!gasnetc_params.firehose_verbose) return;
    fprintf(
        stderr,
        "gasnet: rank %u registers up to %llu KB outside its segment, in at most %llu regions of "
        "at most %llu KB\n",
        gasnetc_job.rank, (unsigned long long)sizes->maxvictim_m / 1024,
        (unsigned long long)sizes->maxvictim_r, (unsigned long long)sizes->max_region / 1024);
}

void gasnetc_firehose_report(void)
{
    gasnetc_cache_counts_t c;
    if (!gasnetc_cache.instance || !gasnetc_params.firehose_verbose) return;
    gasnetc_cache_counts(&c);
    fprintf(
        stderr,
        "gasnet: rank %u registered outside its segment at most %llu KB at once: %llu hits, %llu "
        "misses, %llu evictions, %llu refusals, %llu us\n",
        gasnetc_job.rank, (unsigned long long)c.firehose.most_bytes / 1024,
        (unsigned long long)c.firehose.local_hits, (unsigned long long)c.firehose.local_misses,
        (unsigned long long)c.firehose.evictions, (unsigned long long)c.firehose.refusals,
        (unsigned long long)c.microseconds);
}

void gasnetc_firehose_open(void)
{
    if (gasnetc_job.size == 1 || !gasnetc_params.use_firehose || gasnetc_caps.unreachable[0])
        return;
    if (!gasnetc_watch_begin() && !REMOTE_PENDS) {
        gasneti_fatal_if_any(""); /* pairs with sizes_of_pools in other processes */
        return;
    }
    firehose_config_t config = {
        .sizes = sizes_of_pools(),
        .page = GASNET_PAGESIZE,
        .nodes = cache_nodes(),
        .key_size = sizeof(gasnetc_cache_key_t),
        .callbacks = {.pin = cache_pin,
                      .unpin = cache_unpin,
                      .progress = cache_progress,
                      .lock = GASNETC_THREADED ? cache_lock : NULL,
                      .unlock = GASNETC_THREADED ? cache_unlock : NULL},
    };
    if (REMOTE_PENDS) gasnetc_remote_configure(&config);
    firehose_t *fh = firehose_init(&config, NULL);
    if (!fh)
        gasneti_fatal("out of memory for the records of %llu registrations",
                      (unsigned long long)config.sizes.maxvictim_r);
    report_sizes(&config.sizes);
    gasneti_info(memory, "the registration cache has room for %llu KB in %llu regions",
                 (unsigned long long)config.sizes.maxvictim_m / 1024,
                 (unsigned long long)config.sizes.maxvictim_r);
    gasnetc_cache.keys = (uintptr_t)firehose_hit_key(fh, 0);
    gasnetc_cache.max_region = config.sizes.max_region;
    gasnetc_cache.instance = fh;
}

void gasnetc_cache_counts(gasnetc_cache_counts_t *counts)
{
    *counts = (gasnetc_cache_counts_t){.microseconds = atomic_load(&nanoseconds) / 1000};
    if (gasnetc_cache.instance) firehose_read_counters(gasnetc_cache.instance, &counts->firehose);
    counts->firehose.local_hits += gasnetc_lease_hits(GASNETC_LOCAL);
    counts->firehose.remote_hits += gasnetc_lease_hits(GASNETC_REMOTE);
}

/* Regions that operations in flight hold are not released: the network is about to be closed. */
void gasnetc_firehose_close(void)
{
    firehose_t *fh = gasnetc_cache.instance;
    gasnetc_watch_end();
    gasnetc_lease_take_back(GASNETC_LOCAL);
    gasnetc_lease_take_back(GASNETC_REMOTE);
    gasnetc_cache = (gasnetc_cache_t){.max_region = SIZE_MAX};
    if (fh) firehose_fini(fh, 1);
}
