/* memory.c - registration of local memory, and memory that registers well.
 *
 * Called by the core at start-up, and for transient registrations; never on a path that has a
 * bounce buffer or a registered segment to use instead.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "core/ib/rail.h"

void *net_alloc(size_t size)
{
    return hca_alloc(size);
}

void net_free(void *memory)
{
    hca_free(memory);
}

bool net_register(void *start, size_t size, bool remote, net_region_t *region)
{
    *region = (net_region_t){.mr = hca_register(net_ib_rail.pd, start, size, remote)};
    /* Read-only memory can still be the source of a put. */
    if (!region->mr && !remote) region->mr = hca_register_source(net_ib_rail.pd, start, size);
    if (!region->mr) return false;
    region->lkey = hca_lkey(region->mr);
    return true;
}

void net_deregister(net_region_t *region)
{
    if (region->mr) hca_deregister(region->mr);
    *region = (net_region_t){.mr = NULL};
}

net_key_t net_key(const net_region_t *region)
{
    return (net_key_t){.rkey = hca_rkey(region->mr)};
}

void net_explain_register(int error, size_t size, char *text, size_t text_size)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (error == ENOMEM && !hca_is_soft(net_ib_rail.hca) && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < size)
        snprintf(text, text_size,
                 "the limit on locked memory is %llu KB (ulimit -l); raise it to unlimited in "
                 "/etc/security/limits.conf or the batch system",
                 (unsigned long long)limit.rlim_cur / 1024);
    else if (error == EFAULT)
        snprintf(text, text_size, "part of the range is not mapped, or not writable");
    else if (size > net_ib_rail.limits.max_mr_size)
        snprintf(text, text_size, "%s registers at most %llu bytes at once; set GASNET_PIN_MAXSZ",
                 net_ib_rail.name, (unsigned long long)net_ib_rail.limits.max_mr_size);
    else
        snprintf(text, text_size, "%s refused: %s", net_ib_rail.name, strerror(error));
}
