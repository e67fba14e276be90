/* trace_ucx.c - how often UCX's registration cache registers on the trace of trace.h, for
 * outside.sh.
 *
 *   trace_ucx SEED N
 *
 * By the interface that libucx-dev installs (ucs/memory/rcache.h), which is told the same room as
 * outside.c; what it registers is counted, and no device takes part.  Also prints the most KB that
 * were registered at one time.  Built by outside.sh, where UCX is installed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucs/memory/rcache.h>

#include "tests/bench/trace.h"

static unsigned registrations;
static size_t registered, most; /* bytes */

static size_t size_of(const ucs_rcache_region_t *region)
{
    return region->super.end - region->super.start;
}

static ucs_status_t reg(void *context, ucs_rcache_t *rcache, void *arg, ucs_rcache_region_t *region,
                        uint16_t flags)
{
    (void)context, (void)rcache, (void)arg, (void)flags;
    registrations++;
    registered += size_of(region);
    if (registered > most) most = registered;
    return UCS_OK;
}

static void dereg(void *context, ucs_rcache_t *rcache, ucs_rcache_region_t *region)
{
    (void)context, (void)rcache;
    registered -= size_of(region);
}

static void dump(void *context, ucs_rcache_t *rcache, ucs_rcache_region_t *region, char *text,
                 size_t size)
{
    (void)context, (void)rcache, (void)region;
    snprintf(text, size, "-");
}

int main(int argc, char **argv)
{
    const ucs_rcache_ops_t ops = {.mem_reg = reg, .mem_dereg = dereg, .dump_region = dump};
    const ucs_rcache_params_t params = {
        .region_struct_size = sizeof(ucs_rcache_region_t),
        .alignment = 4096,
        .max_alignment = 4096,
        .ops = &ops,
        .flags = UCS_RCACHE_FLAG_NO_PFN_CHECK,
        .max_regions = TRACE_ROOM,
        .max_size = (size_t)TRACE_ROOM * TRACE_PIECE,
        .max_unreleased = SIZE_MAX,
    };
    ucs_rcache_t *rcache;
    if (argc != 3 || ucs_rcache_create(&params, "trace", NULL, &rcache) != UCS_OK) return 2;
    uint64_t state = strtoull(argv[1], NULL, 10);
    unsigned n = (unsigned)atoi(argv[2]);
    char *memory = mmap(NULL, TRACE_BYTES + TRACE_PIECE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 2;
    memory += (TRACE_PIECE - (uintptr_t)memory % TRACE_PIECE) % TRACE_PIECE;
    while (n--) {
        ucs_rcache_region_t *region;
        char *piece = memory + (size_t)trace_next(&state) * TRACE_PIECE;
        if (ucs_rcache_get(rcache, piece, TRACE_PIECE, PROT_READ | PROT_WRITE, NULL, &region) !=
            UCS_OK)
            return 1;
        ucs_rcache_region_put(rcache, region);
    }
    printf("%u %zu\n", registrations, most / 1024);
    ucs_rcache_destroy(rcache);
    return 0;
}
