/* memory.c - registration of local memory.
 *
 * Called by the core at start-up, and for transient registrations; never on a path that has a
 * bounce buffer or a registered segment to use instead.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "core/ib/rail.h"
#include "core/ib/software_device.h"

static hca_mr_t register_with(const struct net_ib_hca *hca, void *start, size_t size,
                              enum net_access access)
{
    hca_mr_t mr = hca_register(hca->pd, start, size, access == NET_REMOTE ? HCA_REMOTE : HCA_LOCAL);
    if (mr || access != NET_SOURCE || errno != EFAULT) return mr;
    return hca_register(hca->pd, start, size, HCA_SOURCE);
}

_Atomic uint64_t net_ib_registrations;

/* Registers with every device. */
bool net_register(void *start, size_t size, enum net_access access, net_region_t *region)
{
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
    return true;
}

void net_deregister(net_region_t *region)
{
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

void net_explain_register(int error, size_t size, char *text, size_t text_size)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (error == ENOMEM && !net_ib_is_software(net_ib_rails.hca[0].name) &&
        limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < size)
        snprintf(text, text_size,
                 "the limit on locked memory is %llu KB (ulimit -l); raise it to unlimited in "
                 "/etc/security/limits.conf or the batch system",
                 (unsigned long long)limit.rlim_cur / 1024);
    else if (error == EFAULT)
        snprintf(text, text_size, "part of the range is not mapped, or not writable");
    else if (size > net_ib_rails.limits.max_mr_size)
        snprintf(text, text_size, "%s registers at most %llu bytes at once; set GASNET_PIN_MAXSZ",
                 net_ib_rails.text, (unsigned long long)net_ib_rails.limits.max_mr_size);
    else
        snprintf(text, text_size, "%s refused: %s", net_ib_rails.text, strerror(error));
}
