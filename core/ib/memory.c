/* memory.c - registration of local memory.
 *
 * Called by the core at start-up, by its registration cache, and for single transfers; never on a
 * path that has a bounce buffer or a registered segment to use instead.
 */
#include <errno.h>
#include <stdio.h>

#include "core/ib/connect.h"
#include "core/ib/rail.h"
#include "core/ib/software_device.h"
#include "core/job/rank.h"
#include "core/params/params.h"
#include "other/base/memcheck.h"
#include "other/base/memory_limits.h"
#include "other/base/uncancelled.h"

/* True if it is this memory that cannot be registered.  EOPNOTSUPP is of file systems whose pages
 * are not pinned. */
static bool is_refused_memory(int error)
{
    return error == EFAULT || error == EOPNOTSUPP;
}

static hca_mr_t register_with(const struct net_ib_hca *hca, void *start, size_t size,
                              enum net_access access)
{
    static const enum hca_access rights[] = {[NET_LOCAL] = HCA_LOCAL,
                                             [NET_REMOTE] = HCA_REMOTE,
                                             [NET_SEGMENT] = HCA_REMOTE,
                                             [NET_SOURCE] = HCA_LOCAL,
                                             [NET_READABLE] = HCA_READABLE};
    /* On iWARP the data of a read arrive as a write, for which the memory needs HCA_SINK. */
    const bool sink = net_ib.wordy && access == NET_LOCAL;
    const bool atomic = net_ib.atomics && rights[access] == HCA_REMOTE;
    hca_mr_t mr = hca_register(hca->pd, start, size,
                               sink     ? HCA_SINK
                               : atomic ? HCA_ATOMIC
                                        : rights[access]);
    if (!mr && access == NET_SOURCE && is_refused_memory(errno))
        mr = hca_register(hca->pd, start, size, HCA_SOURCE);
    if (!mr && is_refused_memory(errno)) errno = EFAULT;
    return mr;
}

_Atomic uint64_t net_ib_registrations;

/* Registers the memory with every device. */
bool net_register(void *start, size_t size, enum net_access access, net_region_t *region)
{
    GASNETI_UNCANCELLED;
    *region = (net_region_t){.mr = {NULL}};
    for (uint32_t i = 0; i < net_ib.hcas; i++) {
        region->mr[i] = register_with(&net_ib_rails.hca[i], start, size, access);
        if (!region->mr[i]) {
            int error = errno;
            net_deregister(region);
            errno = error;
            return false;
        }
        region->lkey[i] = region->mr[i]->lkey;
    }
    atomic_fetch_add(&net_ib_registrations, 1);
    if (access != NET_SOURCE) gasneti_written_by_others(start, size);
    return true;
}

void net_deregister(net_region_t *region)
{
    GASNETI_UNCANCELLED;
    for (uint32_t i = 0; i < net_ib.hcas; i++)
        if (region->mr[i]) hca_destroy(region->mr[i]);
    *region = (net_region_t){.mr = {NULL}};
}

net_key_t net_key(const net_region_t *region)
{
    net_key_t key = {.rkey = {0}};
    for (uint32_t i = 0; i < net_ib.hcas; i++) key.rkey[i] = region->mr[i]->rkey;
    return key;
}

/* --- limits --- */

/* True if the devices' registrations are charged against RLIMIT_MEMLOCK. */
static bool charges(void)
{
    return !net_ib_is_software(net_ib_rails.hca[0].name) || net_ib_software_charges();
}

/* The bytes that may be registered with each device: the kernel charges the registration of the
 * same memory with each device. */
uint64_t net_ib_memlock(void)
{
    const uint64_t limit = charges() ? gasneti_memlock() : UINT64_MAX;
    return limit == UINT64_MAX ? limit : limit / net_ib.hcas;
}

/* Sizes of queue entries as drivers of hardware lay them out: a power of two of entries, those of
 * send queues in steps of 64 bytes. */
enum { CQE = 64, SEND_STEP = 64, SEND_HEAD = 36, RECV_WQE = 16, INLINE_LEAST = 128 };

static uint64_t memory_entries(uint32_t depth)
{
    uint64_t power = 1;
    while (power < depth) power *= 2;
    return power;
}

/* Queue pairs of peers that are never used are not made: all of them count as a quarter of the
 * limit at most. */
uint64_t net_ib_queue_bytes(uint32_t qps, const struct net_ib_depths *depths, uint32_t sends,
                            uint32_t receives)
{
    const uint64_t wqe = (SEND_HEAD + net_ib.inline_max + SEND_STEP - 1) / SEND_STEP * SEND_STEP;
    const uint64_t pairs =
        qps * (memory_entries(depths->send) * wqe + memory_entries(depths->am_recv) * RECV_WQE);
    const uint64_t most = net_ib_memlock() / 4;
    return (memory_entries(sends) + memory_entries(receives)) * CQE + (pairs < most ? pairs : most);
}

uint32_t net_ib_inline_wanted(uint32_t qps, const struct net_ib_depths *depths)
{
    const uint64_t limit = net_ib_memlock();
    if (limit == UINT64_MAX) return UINT32_MAX;
    const uint64_t wqe = limit / 8 / qps / memory_entries(depths->send) / SEND_STEP * SEND_STEP;
    if (wqe < SEND_HEAD + INLINE_LEAST) return INLINE_LEAST;
    return wqe < UINT32_MAX ? (uint32_t)wqe - SEND_HEAD : UINT32_MAX;
}

static void bound_by_memlock(uint64_t own, struct net_caps *caps)
{
    const uint64_t limit = net_ib_memlock();
    if (limit == UINT64_MAX) return;
    /* An eighth is for transient registrations and for what else a driver pins. */
    const uint64_t rest = limit - limit / 8;
    caps->pinnable = rest > own ? rest - own : 1;
    gasneti_memlock_explain(caps->pinnable_by, sizeof caps->pinnable_by);
}

enum { RESERVED_REGIONS = 16 }; /* the library's own, and transient ones */

/* All processes of a host share the regions of a device; those of the software device are of each
 * process. */
static void bound_by_regions(uint32_t own, struct net_caps *caps)
{
    const bool soft = net_ib_is_software(net_ib_rails.hca[0].name);
    const uint64_t pin_maxsz = (uint64_t)gasnetc_params.pin_maxsz;
    const uint64_t piece = pin_maxsz && pin_maxsz < caps->region_max ? pin_maxsz : caps->region_max;
    uint64_t regions = net_ib_rails.limits.max_mr / (soft ? 1 : gasnetc_job.host_size);
    own += RESERVED_REGIONS;
    if (net_ib_rails.limits.max_mr == 0) return;
    regions = regions > own ? regions - own : 1;
    const uint64_t most = piece > UINT64_MAX / regions ? UINT64_MAX : piece * regions;
    if (caps->pinnable && caps->pinnable <= most) return;
    caps->pinnable = most;
    snprintf(caps->pinnable_by, sizeof caps->pinnable_by,
             "%s registers %u regions at once, each of %llu KB at most", net_ib_rails.hca[0].name,
             net_ib_rails.limits.max_mr, (unsigned long long)piece / 1024);
}

void net_ib_set_pinnable(uint64_t bytes, uint32_t regions, struct net_caps *caps)
{
    bound_by_memlock(bytes, caps);
    bound_by_regions(regions, caps);
}

const char *net_ib_memlock_advice(int error)
{
    static char text[280];
    char limit[240];
    if (error != ENOMEM || !charges() || !gasneti_memlock_explain(limit, sizeof limit)) return "";
    snprintf(text, sizeof text, "; %s", limit);
    return text;
}

void net_explain_register(int error, size_t size, char *text, size_t text_size)
{
    char events[256];
    const char *advice;
    if (error == ENOMEM && charges() && gasneti_memlock_explain(text, text_size)) return;
    if (error == EFAULT)
        snprintf(text, text_size, "part of the range is not mapped, or not writable");
    else if (error != ENOMEM && (advice = net_ib_events_report(events, sizeof events)))
        snprintf(text, text_size, "%s refused: %s%s; %s", net_ib_rails.text, strerror(error),
                 events, advice);
    else if (size > net_ib_rails.limits.max_mr_size)
        snprintf(text, text_size, "%s registers at most %llu bytes at once", net_ib_rails.text,
                 (unsigned long long)net_ib_rails.limits.max_mr_size);
    else if (error == ENOMEM && net_ib_rails.limits.max_mr)
        snprintf(text, text_size,
                 "%s refused: %s; it registers %u regions at once: lower GASNET_MAX_SEGSIZE, "
                 "raise GASNET_PIN_MAXSZ, or run fewer processes on a host",
                 net_ib_rails.text, strerror(error), net_ib_rails.limits.max_mr);
    else
        snprintf(text, text_size, "%s refused: %s", net_ib_rails.text, strerror(error));
}
