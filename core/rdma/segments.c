/* segments.c - what the segment modes share: sizes, the exchange of addresses, the queries, and the
 * message about a remote range outside the segment of its rank. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/job.h"
#include "core/log.h"
#include "core/params/params.h"
#include "core/rdma/published.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "gasnet.h"
#include "other/base/memory_limits.h"

unsigned gasnetc_pin_shift = 62; /* segment.c sets it */

static uintptr_t max_local, max_global;
static const char *max_bound = ""; /* the limit that determines max_local */

void (*gasnet_client_attach_hook)(void *segbase, uintptr_t segsize);
uint64_t gasnet_max_segsize __attribute__((weak));

uintptr_t gasnetc_segment_pages(uint64_t size)
{
    return size < GASNET_PAGESIZE ? GASNET_PAGESIZE
                                  : (uintptr_t)(size / GASNET_PAGESIZE * GASNET_PAGESIZE);
}

uint64_t gasnetc_memory_of_host(const struct gasneti_memory *memory, char per)
{
    const double bytes = memory->amount * (memory->is_part ? (double)gasneti_memory() : 1);
    const double all =
        (memory->per ? memory->per : per) == 'P' ? bytes * gasnetc_job.host_size : bytes;
    return all < (double)INT64_MAX ? (uint64_t)all : INT64_MAX;
}

uint64_t gasnetc_segment_asked(const char **bound)
{
    *bound = "the largest size asked for (GASNET_MAX_SEGSIZE)";
    const uint64_t asked = gasnetc_memory_of_host(&gasnetc_params.max_segsize, 'P');
    if (asked) return asked / gasnetc_job.host_size;
    if (gasnet_max_segsize) return gasnet_max_segsize;
    struct gasneti_memory built_in; /* configure --with-max-segsize */
    if (!gasneti_parse_memory(GASNETI_MAX_SEGSIZE_TEXT, &built_in) || built_in.amount <= 0)
        gasneti_fatal("this library was configured with --with-max-segsize=%s, which is no size: "
                      "set GASNET_MAX_SEGSIZE",
                      GASNETI_MAX_SEGSIZE_TEXT);
    return gasnetc_memory_of_host(&built_in, 'P') / gasnetc_job.host_size;
}

uint64_t gasnetc_segment_least(uint64_t mine)
{
    uint64_t *all = malloc(gasnetc_job.size * sizeof *all);
    if (!all) gasneti_fatal("out of memory for %u ranks", gasnetc_job.size);
    bootstrap_exchange(&mine, sizeof mine, all);
    for (uint32_t i = 0; i < gasnetc_job.size; i++)
        if (all[i] < mine) mine = all[i];
    free(all);
    return mine;
}

void gasnetc_segment_agree(uintptr_t most, const char *bound)
{
    max_local = most;
    max_bound = bound;
    max_global = (uintptr_t)gasnetc_segment_least(most);
    gasneti_info(memory, "segments have at most %zu KB here and %zu KB on all ranks: %s",
                 (size_t)max_local / 1024, (size_t)max_global / 1024, bound);
}

uintptr_t gasnetc_max_local_segsize(void)
{
    return max_local;
}

uintptr_t gasnetc_max_global_segsize(void)
{
    return max_global;
}

int gasnetc_segment_check(uintptr_t size)
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
    return GASNET_OK;
}

void gasnetc_segment_not_allocated(uintptr_t size)
{
    gasneti_fatal("cannot allocate a segment of %lu KB: %s; ask for a smaller segment "
                  "(GASNET_MAX_SEGSIZE)",
                  (unsigned long)size / 1024, strerror(errno));
}

typedef struct announcement {
    uint64_t base, size;
} announcement_t;

void gasnetc_segment_exchange(uintptr_t base, uintptr_t size)
{
    uint32_t n = gasnetc_job.size;
    announcement_t mine = {base, size}, *all = malloc(n * sizeof *all);
    if (!all) gasneti_fatal("out of memory for %u ranks", n);
    bootstrap_exchange(&mine, sizeof mine, all);
    for (uint32_t i = 0; i < n; i++)
        gasnetc_peers[i].segment = (gasnetc_segment_t){.base = all[i].base, .size = all[i].size};
    free(all);
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

void gasnetc_check_reachable(const gasnetc_peer_t *peer, uintptr_t start, size_t nbytes,
                             const char *what)
{
    if (!gasnetc_within(peer->segment.base, peer->segment.size, start, nbytes) &&
        !gasnetc_is_published(peer->net.rank, start, nbytes))
        gasnetc_out_of_segment(peer, start, nbytes, what);
}

void gasnetc_out_of_segment(const gasnetc_peer_t *peer, uintptr_t start, size_t nbytes,
                            const char *what)
{
    gasnetc_require_attached(what);
    gasneti_fatal("%s of %zu bytes at %#lx is outside the segment of %s, which is [%#lx, %#lx)",
                  what, nbytes, (unsigned long)start, gasneti_rank_name(peer->net.rank),
                  (unsigned long)peer->segment.base,
                  (unsigned long)(peer->segment.base + peer->segment.size));
}
