/* extent.c - first-fit allocation of page ranges.
 *
 * For the heap of rings and for the arena. The caller locks. Lists are short: one extent per queue
 * or user block.
 */
#include "other/softhca/src/segment/extent.h"

#include <stdlib.h>

static const uint64_t page = 4096;

struct shca_extent *shca_extent_take(struct shca_extents *x, uint64_t len)
{
    len = (len + page - 1) & ~(page - 1);
    uint64_t at = x->start;
    struct shca_extent **link = &x->used;
    while (*link && (*link)->start - at < len) {
        at = (*link)->start + (*link)->len;
        link = &(*link)->next;
    }
    if (len == 0 || x->end - at < len) return NULL;
    struct shca_extent *e = malloc(sizeof *e);
    if (!e) return NULL;
    *e = (struct shca_extent){.start = at, .len = len, .next = *link};
    *link = e;
    return e;
}

struct shca_extent *shca_extent_give(struct shca_extents *x, uint64_t start)
{
    for (struct shca_extent **link = &x->used; *link; link = &(*link)->next) {
        struct shca_extent *e = *link;
        if (e->start == start) {
            *link = e->next;
            return e;
        }
    }
    return NULL;
}
