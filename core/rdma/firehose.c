/* firehose.c - the registration cache of the core: opens the instance of other/firehose, and
 * registers, deregisters and makes progress for it.
 *
 * SEGMENT_FAST needs memory of this node alone, so the instance is for one node and no messages are
 * sent.
 */
#include "core/rdma/firehose.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/params/params.h"
#include "core/report.h"
#include "gasnet.h"
#include "other/firehose/engine.h"

gasnetc_cache_t gasnetc_cache = {.above = SIZE_MAX};

static gasneti_lock_t lock;        /* of the instance */
static gasneti_lock_t taking_lock; /* of gasnetc_given_back_take */

/* --- callbacks --- */

static firehose_outcome_t cache_pin(void *context, uintptr_t addr, size_t len, void *key)
{
    (void)context;
    gasnetc_given_back_watch(addr, len);
    if (net_register((void *)addr, len, false, key)) return FIREHOSE_PINNED;
    int error = errno;
    gasnetc_given_back_unwatch(addr, len);
    return error == ENOMEM || error == EAGAIN ? FIREHOSE_REFUSED : FIREHOSE_INVALID;
}

static void cache_unpin(void *context, uintptr_t addr, size_t len, void *key)
{
    (void)context;
    net_deregister(key);
    gasnetc_given_back_unwatch(addr, len);
}

static void cache_progress(void *context)
{
    (void)context;
    gasneti_wait_poll();
}

static void cache_lock(void *context)
{
    (void)context;
    gasneti_lock(&lock);
}

static void cache_unlock(void *context)
{
    (void)context;
    gasneti_unlock(&lock);
}

/* --- begin and end --- */

static uint64_t memlock(void)
{
    struct rlimit limit;
    if (!gasnetc_caps.pays_for_pinning || geteuid() == 0 || getrlimit(RLIMIT_MEMLOCK, &limit) ||
        limit.rlim_cur == RLIM_INFINITY)
        return FIREHOSE_UNSET;
    return limit.rlim_cur;
}

/* Nodes that hold firehoses to each other's memory; 1: none do. */
static uint32_t holders(void)
{
    return 1; /* SEGMENT_FAST */
}

static firehose_sizes_t sizes_of_pools(void)
{
    char why[512];
    firehose_sizes_t sizes;
    const firehose_limits_t limits = {
        .page = GASNET_PAGESIZE,
        .memlock = memlock(),
        .host_memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
        .device_memory = FIREHOSE_UNSET,
        .device_regions = FIREHOSE_UNSET,
        .device_region = gasnetc_caps.region_max,
        .present = 0,
        .processes = gasnetc_job.host_size,
        .nodes = holders(),
        .main_pool = FIREHOSE_UNSET,
        .m = FIREHOSE_UNSET,
        .maxvictim_m = FIREHOSE_UNSET,
        .r = FIREHOSE_UNSET,
        .maxvictim_r = FIREHOSE_UNSET,
        .max_region = FIREHOSE_UNSET,
        .prefix = "GASNET_FIREHOSE_",
    };
    if (firehose_compute_sizes(&limits, &sizes, why, sizeof why)) gasneti_fatal("%s", why);
    return sizes;
}

void gasnetc_firehose_open(void)
{
    if (gasnetc_job.size == 1) return;
    const firehose_config_t config = {
        .sizes = sizes_of_pools(),
        .page = GASNET_PAGESIZE,
        .nodes = holders(),
        .key_size = sizeof(net_region_t),
        .callbacks = {.pin = cache_pin,
                      .unpin = cache_unpin,
                      .progress = cache_progress,
                      .lock = GASNETC_THREADED ? cache_lock : NULL,
                      .unlock = GASNETC_THREADED ? cache_unlock : NULL},
    };
    firehose_info_t info;
    firehose_t *fh = firehose_init(&config, &info);
    if (!fh)
        gasneti_fatal("out of memory for the records of %llu registrations",
                      (unsigned long long)config.sizes.maxvictim_r);
    gasnetc_cache =
        (gasnetc_cache_t){.instance = fh,
                          .above = SIZE_MAX,
                          .max_region = config.sizes.max_region,
                          .page = GASNET_PAGESIZE,
                          .keys = (uintptr_t)fh_local_key(fh, 0),
                          .keys_size = (info.local_regions + FH_LOCAL_SPARE + 1) * config.key_size};
}

void gasnetc_firehose_close(void)
{
    firehose_t *fh = gasnetc_cache.instance;
    gasnetc_cache = (gasnetc_cache_t){.above = SIZE_MAX};
    if (fh) firehose_fini(fh, 1);
}

/* --- memory given back --- */

void gasnetc_firehose_invalidate(void *addr, size_t len)
{
    gasnetc_given_back_report((uintptr_t)addr, len);
}

static void drop(uintptr_t start, size_t size)
{
    firehose_invalidate(gasnetc_cache.instance, start, size);
}

static void take_reports(void)
{
    gasneti_lock(&taking_lock);
    if (gasnetc_given_back_pending()) gasnetc_given_back_take(drop);
    gasneti_unlock(&taking_lock);
}

void gasnetc_firehose_tidy(void)
{
    if (!gasnetc_cache.instance) return;
    if (gasnetc_given_back_pending()) take_reports();
    firehose_poll(gasnetc_cache.instance);
}
