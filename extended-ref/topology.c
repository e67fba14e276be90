/* topology.c - see topology.h. */
#include "extended-ref/topology.h"

#include <stdlib.h>

bool gasnete_topology_new(gasnete_topology_t **topology, const uint32_t *supernode,
                          uint32_t numbers, const uint32_t *nodes, uint32_t size)
{
    const size_t words = 4 * (size_t)size + 1;
    uint32_t *number = calloc(numbers, sizeof *number); /* 1 + the new one; 0: not met yet */
    gasnete_topology_t *made = calloc(1, sizeof *made + words * sizeof *number);
    *topology = NULL;
    if (!number || !made) {
        free(number);
        free(made);
        return false;
    }
    uint32_t *first = (uint32_t *)(made + 1), *ranks = first + size + 1;
    uint32_t *index = ranks + size, *of = index + size;
    *made = (gasnete_topology_t){0, true, first, ranks, index, of};
    for (uint32_t r = 0; r < size; r++) {
        uint32_t *own = &number[supernode[nodes ? nodes[r] : r]];
        if (*own == 0) *own = ++made->count;
        of[r] = *own - 1;
        index[r] = first[*own]++; /* of the supernode's ranks, which `first` counts */
    }
    free(number);
    for (uint32_t s = 0; s < made->count; s++) first[s + 1] += first[s];
    for (uint32_t r = 0; r < size; r++) {
        index[r] += first[of[r]];
        ranks[index[r]] = r;
        made->ranges = made->ranges && index[r] == r;
    }
    if (made->count > 1 && made->count < size)
        *topology = made;
    else
        free(made);
    return true;
}
