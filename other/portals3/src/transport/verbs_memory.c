/* verbs_memory.c - registration of memory, shared by all users of a range.
 *
 * A registration lives as long as an MD over its range or a part of it; there is no cache.
 * Registering may sleep in the kernel, with no lock held but that of this file.
 */
#include <errno.h>
#include <stdlib.h>

#include "other/base/memcheck.h"
#include "other/base/uncancelled.h"
#include "other/portals3/src/transport/verbs.h"

struct region {
    struct ptli_region face;
    struct ptli_range range;
    struct ibv_mr *mr;
};

void ptli_verbs_unregistered(struct ptli_verbs *v, size_t size, const char *what,
                             const char *variable)
{
    ptli_verbs_say(v,
                   "cannot register %zu KiB of %s: raise the limit of locked memory (ulimit -l) or "
                   "lower %s",
                   size / 1024, what, variable);
}

static struct region *of_range(struct ptli_range *range)
{
    return (struct region *)((char *)range - offsetof(struct region, range));
}

static struct ibv_mr *memory_reg(struct ptli_verbs *v, struct ptli_range *range)
{
    void *base = (void *)range->base;
    int reading = IBV_ACCESS_REMOTE_READ;
    struct ibv_mr *mr = ibv_reg_mr(v->pd, base, range->length,
                                   reading | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    range->writable = mr != NULL;
    if (!mr && (errno == EFAULT || errno == EACCES || errno == EPERM))
        mr = ibv_reg_mr(v->pd, base, range->length, reading);
    if (!mr && errno == EOPNOTSUPP) errno = EFAULT; /* a file system that pins no pages */
    return mr;
}

/* With the lock held. */
static struct region *memory_enroll(struct ptli_verbs *v, void *base, uint64_t length)
{
    struct ptli_range *range = ptli_ranges_share(&v->ranges, (uintptr_t)base, length, false);
    if (range) return of_range(range);
    struct region *region = calloc(1, sizeof *region);
    if (!region) return NULL;
    region->range = (struct ptli_range){.base = (uintptr_t)base, .length = length};
    region->mr = memory_reg(v, &region->range);
    if (region->mr && ptli_ranges_add(&v->ranges, &region->range)) {
        region->face = (struct ptli_region){region->mr->rkey, region->mr->lkey};
        return region;
    }
    if (region->mr) ibv_dereg_mr(region->mr);
    free(region);
    return NULL;
}

int ptli_verbs_enroll(struct ptli_transport *transport, void *base, uint64_t length,
                      struct ptli_region **out)
{
    GASNETI_UNCANCELLED;
    struct ptli_verbs *v = ptli_verbs(transport);
    *out = NULL;
    if (length == 0 || (uintptr_t)base + (length - 1) < (uintptr_t)base) return PTL_NO_SPACE;
    ptli_mutex_lock(&v->memory);
    struct region *region = memory_enroll(v, base, length);
    ptli_mutex_unlock(&v->memory);
    if (!region) {
        const int error = errno;
        if (error != ENOMEM && error != EFAULT) ptli_verbs_find_cause(v);
        errno = error;
        return PTL_NO_SPACE;
    }
    gasneti_written_by_others(base, length);
    *out = &region->face;
    return PTL_OK;
}

void ptli_verbs_expel(struct ptli_transport *transport, struct ptli_region *face)
{
    GASNETI_UNCANCELLED;
    struct ptli_verbs *v = ptli_verbs(transport);
    struct region *region = (struct region *)face;
    ptli_mutex_lock(&v->memory);
    if (ptli_ranges_drop(&v->ranges, &region->range)) {
        ibv_dereg_mr(region->mr);
        free(region);
    }
    ptli_mutex_unlock(&v->memory);
}

void ptli_verbs_regions_free(struct ptli_verbs *v)
{
    for (size_t i = 0; i < v->ranges.count; i++) {
        struct region *region = of_range(v->ranges.at[i].range);
        ibv_dereg_mr(region->mr);
        free(region);
    }
    ptli_ranges_free(&v->ranges);
}
