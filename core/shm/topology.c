/* topology.c - which processes form a supernode; see topology.h. */
#include "core/shm/topology.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_locations(const gasnetc_location_t *a, const gasnetc_location_t *b)
{
    int order = compare(a->host, b->host);
    if (!order) order = compare(a->user, b->user);
    if (!order) order = compare(a->shares, b->shares);
    if (!order) order = compare(a->space[0], b->space[0]);
    if (!order) order = compare(a->space[1], b->space[1]);
    return order;
}

static int compare_entries(const void *a, const void *b)
{
    const gasnetc_location_t *x = a, *y = b;
    int order = compare_locations(x, y);
    return order ? order : compare(x->rank, y->rank);
}

void gasnetc_supernodes_group(gasnetc_location_t *locations, uint32_t n, uint32_t most,
                              uint32_t *group)
{
    uint32_t first = 0;
    qsort(locations, n, sizeof *locations, compare_entries);
    for (uint32_t i = 0; i < n; i++) {
        const bool joins = i > 0 && locations[i].shares &&
                           compare_locations(&locations[i], &locations[first]) == 0 &&
                           (most == 0 || i - first < most);
        if (!joins) first = i;
        group[locations[i].rank] = locations[first].rank;
    }
}

/* A group may have lost its lowest rank, so number[] is set at the first rank that is left. */
void gasnetc_supernodes_number(const uint32_t *group, const uint8_t *alone, uint32_t n,
                               uint32_t *number, uint32_t *supernode)
{
    uint32_t count = 0;
    memset(number, 0, n * sizeof *number);
    for (uint32_t r = 0; r < n; r++) {
        if (alone[r])
            supernode[r] = count++;
        else if (number[group[r]])
            supernode[r] = number[group[r]] - 1;
        else
            number[group[r]] = 1 + (supernode[r] = count++);
    }
}
