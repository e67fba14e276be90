/* extent.h - first-fit allocation of page ranges; the lists are in private memory. */
#ifndef SOFTHCA_EXTENT_H
#define SOFTHCA_EXTENT_H

#include <stdint.h>

struct shca_extent {
    uint64_t start, len;
    void *where; /* for the caller */
    struct shca_extent *next;
};

struct shca_extents {
    uint64_t start, end;
    struct shca_extent *used; /* by start */
};

struct shca_extent *shca_extent_take(struct shca_extents *x, uint64_t len);
/* Removes the extent at START and returns it for the caller to free(); NULL when unknown. */
struct shca_extent *shca_extent_give(struct shca_extents *x, uint64_t start);

#endif
