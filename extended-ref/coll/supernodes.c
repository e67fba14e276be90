/* supernodes.c - which members of a team share memory, for the plans of its collectives.
 *
 * Supernodes are numbered in the order of their first ranks, so that all members number them alike.
 */
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "extended-ref/coll/team.h"

/* Sets of[rank], and returns the number of supernodes.  */
static uint32_t supernodes_number(uint32_t *of, const gasnet_node_t *nodes, uint32_t size)
{
    const uint32_t all = gasnet_nodes();
    gasnet_nodeinfo_t *info = calloc(all, sizeof *info);
    uint32_t *number = calloc(all, sizeof *number), count = 0; /* 1 + number; by that in the job */
    if (!info || !number) gasneti_fatal("out of memory for a team of %u ranks", size);
    gasnet_getNodeInfo(info, (int)all);
    for (uint32_t r = 0; r < size; r++) {
        uint32_t *own = &number[info[nodes ? nodes[r] : r].supernode];
        if (*own == 0) *own = ++count;
        of[r] = *own - 1;
    }
    free(number);
    free(info);
    return count;
}

/* Sets `ranks` and `index`; true if all supernodes are ranges.  `next`: for each supernode the
 * index of its next rank. */
static bool supernodes_sort(const uint32_t *of, uint32_t size, uint32_t *next, uint32_t *ranks,
                            uint32_t *index)
{
    bool ranges = true;
    for (uint32_t r = 0; r < size; r++) {
        index[r] = next[of[r]]++;
        ranks[index[r]] = r;
        ranges = ranges && index[r] == r;
    }
    return ranges;
}

/* Counts images in the order of by->ranks. */
static void supernodes_count_images(const gasnete_coll_supernodes_t *by,
                                    const uint32_t *first_image, uint32_t size, uint32_t *image,
                                    uint32_t *images)
{
    for (uint32_t p = 0; p < size; p++) {
        const uint32_t r = by->ranks[p];
        image[p + 1] = image[p] + (first_image ? first_image[r + 1] - first_image[r] : 1);
    }
    for (uint32_t s = 0; s < by->count; s++) images[s + 1] = image[by->first[s + 1]];
}

gasnete_coll_supernodes_t *gasnete_coll_supernodes_new(const gasnet_node_t *nodes, uint32_t size,
                                                       const uint32_t *first_image)
{
    gasnete_coll_supernodes_t *new = malloc(sizeof *new);
    uint32_t *words = calloc(7 * (size_t)size + 3, sizeof *words);
    if (!new || !words) gasneti_fatal("out of memory for a team of %u ranks", size);
    uint32_t *first = words, *ranks = first + size + 1, *index = ranks + size, *of = index + size;
    uint32_t *next = of + size, *image = next + size, *images = image + size + 1;
    const uint32_t count = supernodes_number(of, nodes, size);
    *new = (gasnete_coll_supernodes_t){count, false, first, ranks, index, of, image, images};
    if (count == 1 || count == size) {
        gasnete_coll_supernodes_free(new);
        return NULL;
    }
    for (uint32_t r = 0; r < size; r++) first[of[r] + 1]++;
    for (uint32_t s = 0; s < count; s++) first[s + 1] += first[s];
    memcpy(next, first, count * sizeof *next);
    new->ranges = supernodes_sort(of, size, next, ranks, index);
    supernodes_count_images(new, first_image, size, image, images);
    return new;
}

void gasnete_coll_supernodes_free(gasnete_coll_supernodes_t *supernodes)
{
    if (supernodes) free((void *)(uintptr_t)supernodes->first);
    free(supernodes);
}
