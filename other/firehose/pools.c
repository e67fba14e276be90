/* pools.c - the sizes of the pools, from the limits of the system and the settings of the user.
 *
 * Pure.  Each refusal names the two values that contradict each other.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "other/base/min.h"
#include "other/firehose/include/firehose.h"

enum { REGION = 128 << 10 }; /* bytes, where nothing says otherwise */

typedef struct sum {
    const firehose_limits_t *in;
    firehose_sizes_t out;
    uint64_t pinnable, regions;  /* of this process */
    const char *by, *regions_by; /* texts that name what limits pinnable and regions */
    uint64_t peers;
    char *text;
    size_t text_size;
} sum_t;

static bool is_set(uint64_t value)
{
    return value != FIREHOSE_UNSET;
}

static uint64_t down(uint64_t value, uint64_t unit)
{
    return value / unit * unit;
}

/* "12 MB": exact, in the largest unit that allows it. */
typedef struct bytes {
    char text[32];
} bytes_t;

static bytes_t bytes(uint64_t value)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    unsigned unit = 0;
    bytes_t b;
    while (value && value % 1024 == 0 && unit < 4) {
        value /= 1024;
        unit++;
    }
    snprintf(b.text, sizeof b.text, "%" PRIu64 " %s", value, units[unit]);
    return b;
}

#define SAY(s, ...) (snprintf((s)->text, (s)->text_size, __VA_ARGS__), false)

/* --- memory and regions that this process may register --- */

static void bound(sum_t *s, uint64_t value, const char *by)
{
    if (value >= s->pinnable) return;
    s->pinnable = value;
    s->by = by;
}

static bool find_limits(sum_t *s)
{
    const firehose_limits_t *in = s->in;
    s->pinnable = FIREHOSE_UNSET - 1;
    s->by = "the address space";
    bound(s, in->memlock, "RLIMIT_MEMLOCK (ulimit -l)");
    if (is_set(in->host_memory))
        bound(s, in->host_memory / 4 * 3 / in->processes, "three quarters of the host's memory");
    if (is_set(in->device_memory))
        bound(s, in->device_memory / in->processes, "the memory that the device registers");
    s->regions = is_set(in->device_regions) ? in->device_regions / in->processes : UINT32_MAX / 4;
    s->regions_by = is_set(in->device_regions) ? "the regions that the device registers"
                                               : "the regions that can be counted";
    const uint64_t pinnable = s->pinnable, regions = s->regions;
    s->pinnable = down(pinnable > in->present ? pinnable - in->present : 0, in->page);
    s->regions = regions > in->present_regions ? regions - in->present_regions : 0;
    if (s->pinnable < in->page)
        return SAY(s,
                   "no memory is left to be registered: %s gives each process %s, of which %s "
                   "are registered already",
                   s->by, bytes(pinnable).text, bytes(in->present).text);
    if (s->regions == 0)
        return SAY(s,
                   "no region is left to be registered: %s are %" PRIu64
                   " for each process, and %" PRIu64 " are registered already",
                   s->regions_by, regions, in->present_regions);
    return true;
}

/* --- bytes --- */

static bool find_region(sum_t *s)
{
    const firehose_limits_t *in = s->in;
    if (!is_set(in->max_region)) {
        s->out.max_region =
            down(gasneti_min(gasneti_min(REGION, in->device_region), s->pinnable / 2), in->page);
        if (s->out.max_region == 0) s->out.max_region = in->page;
        return true;
    }
    s->out.max_region = in->max_region;
    if (in->max_region == 0 || in->max_region % in->page)
        return SAY(s, "%sMAXREGION_SIZE (%s) is no multiple of the page size (%s)", in->prefix,
                   bytes(in->max_region).text, bytes(in->page).text);
    if (in->max_region > in->device_region)
        return SAY(s, "%sMAXREGION_SIZE (%s) is more than the device registers in one region (%s)",
                   in->prefix, bytes(in->max_region).text, bytes(in->device_region).text);
    return true;
}

/* Sizes the pools in bytes: a pool that the user has not set gets what the other leaves, and both
 * get default parts if neither is set. */
static void share_memory(sum_t *s)
{
    const firehose_limits_t *in = s->in;
    firehose_sizes_t *out = &s->out;
    out->m = in->m;
    out->maxvictim_m = in->maxvictim_m;
    if (s->peers == 0 && !is_set(out->m)) out->m = 0;
    if (!is_set(out->m)) {
        uint64_t otherwise = s->pinnable / 4 * 3;
        if (is_set(in->main_pool)) otherwise = gasneti_min(in->main_pool, s->pinnable);
        out->m =
            !is_set(out->maxvictim_m) ? otherwise
            : out->maxvictim_m < s->pinnable && !is_set(in->main_pool)
                ? s->pinnable - out->maxvictim_m
                : gasneti_min(otherwise, s->pinnable - gasneti_min(s->pinnable, out->maxvictim_m));
    }
    if (!is_set(out->maxvictim_m))
        out->maxvictim_m = s->pinnable - gasneti_min(s->pinnable, out->m);
    out->m = down(out->m, in->page);
    out->maxvictim_m = down(out->maxvictim_m, in->page);
}

static bool check_memory(sum_t *s)
{
    const firehose_limits_t *in = s->in;
    const firehose_sizes_t *out = &s->out;
    if (out->m > s->pinnable)
        return SAY(s, "%sM (%s) is more than this process may register (%s): %s", in->prefix,
                   bytes(out->m).text, bytes(s->pinnable).text, s->by);
    if (out->maxvictim_m > s->pinnable)
        return SAY(s, "%sMAXVICTIM_M (%s) is more than this process may register (%s): %s",
                   in->prefix, bytes(out->maxvictim_m).text, bytes(s->pinnable).text, s->by);
    if (out->m + out->maxvictim_m > s->pinnable)
        return SAY(s,
                   "%sM (%s) and %sMAXVICTIM_M (%s) are together more than this process may "
                   "register (%s): %s",
                   in->prefix, bytes(out->m).text, in->prefix, bytes(out->maxvictim_m).text,
                   bytes(s->pinnable).text, s->by);
    return true;
}

/* Makes regions smaller, unless their size is set, until each pool has room for one, and `m` for
 * one for each peer. */
static bool fit_region(sum_t *s)
{
    const firehose_limits_t *in = s->in;
    firehose_sizes_t *out = &s->out;
    const uint64_t share = s->peers ? down(out->m / s->peers, in->page) : FIREHOSE_UNSET;
    if (!is_set(in->max_region) && gasneti_min(share, out->maxvictim_m) >= in->page)
        out->max_region = gasneti_min(out->max_region, gasneti_min(share, out->maxvictim_m));
    if (out->maxvictim_m < out->max_region)
        return SAY(s, "%sMAXVICTIM_M (%s) has no room for one region of %sMAXREGION_SIZE (%s)",
                   in->prefix, bytes(out->maxvictim_m).text, in->prefix,
                   bytes(out->max_region).text);
    if (share < out->max_region)
        return SAY(s,
                   "%sM (%s) has no room for one region of %sMAXREGION_SIZE (%s) for each of "
                   "%" PRIu64 " peers",
                   in->prefix, bytes(out->m).text, in->prefix, bytes(out->max_region).text,
                   s->peers);
    return true;
}

/* --- numbers of regions --- */

/* The number of regions that the memory of a pool has room for, or the setting if that is less. */
static uint64_t pools_count(uint64_t setting, uint64_t memory, uint64_t region)
{
    return gasneti_min(setting, memory / region);
}

static void share_regions(sum_t *s)
{
    const firehose_limits_t *in = s->in;
    firehose_sizes_t *out = &s->out;
    out->r = s->peers ? pools_count(in->r, out->m, out->max_region) : 0;
    out->maxvictim_r = pools_count(in->maxvictim_r, out->maxvictim_m, out->max_region);
    if (out->r + out->maxvictim_r <= s->regions) return;
    /* The number that is not set is reduced first, and then the other one; both in proportion if
     * the user has set both or neither, but one region stays for each peer. */
    const uint64_t r = out->r, all = out->r + out->maxvictim_r;
    if (is_set(in->r) == is_set(in->maxvictim_r))
        out->r = (uint64_t)((double)s->regions * (double)r / (double)all);
    else if (is_set(in->maxvictim_r))
        out->r = gasneti_min(r, s->regions - gasneti_min(s->regions, out->maxvictim_r));
    else
        out->r = gasneti_min(r, s->regions - 1);
    if (out->r < s->peers) out->r = gasneti_min(s->peers, r);
    out->maxvictim_r = gasneti_min(out->maxvictim_r, s->regions - gasneti_min(s->regions, out->r));
}

static bool check_regions(sum_t *s)
{
    const firehose_limits_t *in = s->in;
    const firehose_sizes_t *out = &s->out;
    if (out->r < s->peers)
        return SAY(s, "%sR (%" PRIu64 ") is less than one region for each of %" PRIu64 " peers",
                   in->prefix, out->r, s->peers);
    if (out->maxvictim_r == 0)
        return SAY(s,
                   "%sMAXVICTIM_R (0) leaves no region for this process, beside %sR (%" PRIu64
                   ") of %" PRIu64,
                   in->prefix, in->prefix, out->r, s->regions);
    return true;
}

int firehose_compute_sizes(const firehose_limits_t *limits, firehose_sizes_t *sizes, char *text,
                           size_t text_size)
{
    sum_t s = {.in = limits, .peers = limits->nodes - 1u, .text = text, .text_size = text_size};
    if (!find_limits(&s) || !find_region(&s)) return -1;
    share_memory(&s);
    if (!check_memory(&s) || !fit_region(&s)) return -1;
    share_regions(&s);
    if (!check_regions(&s)) return -1;
    if (s.peers == 0) s.out.m = s.out.r = 0; /* a main pool that is set only takes from the other */
    *sizes = s.out;
    return 0;
}
