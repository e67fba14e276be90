/* split_order.c - see split_order.h.
 */
#include "extended-ref/teams/split_order.h"

#include <stdlib.h>

static int split_compare(const void *a, const void *b)
{
    const gasnete_coll_seat_t *x = a, *y = b;
    if (x->relrank != y->relrank) return x->relrank < y->relrank ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

uint32_t gasnete_coll_split_seats(const gasnete_coll_split_t *entries, const uint32_t *first,
                                  uint32_t size, uint32_t color, gasnete_coll_seat_t *seats)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < size; r++) {
        const gasnete_coll_split_t *entry = &entries[first ? first[r] : r];
        if (entry->color == color) seats[count++] = (gasnete_coll_seat_t){entry->relrank, r};
    }
    qsort(seats, count, sizeof *seats, split_compare);
    return count;
}

uint32_t gasnete_coll_split_differs(const gasnete_coll_split_t *entries, const uint32_t *ranks,
                                    uint32_t count, uint32_t color, uint32_t digest)
{
    uint32_t i = 0;
    while (i < count && entries[ranks[i]].color == color && entries[ranks[i]].digest == digest) i++;
    return i;
}

uint32_t gasnete_coll_split_id(const gasnete_coll_split_t *entries, uint32_t images)
{
    uint32_t id = 0;
    for (uint32_t i = 0; i < images; i++)
        if (id < entries[i].id) id = entries[i].id;
    return id;
}

uint32_t gasnete_coll_split_discord(const gasnete_coll_split_t *entries, const uint32_t *first,
                                    uint32_t size)
{
    for (uint32_t r = 0; first && r < size; r++) {
        const gasnete_coll_split_t *own = &entries[first[r]];
        for (uint32_t i = first[r]; i < first[r + 1]; i++)
            if (entries[i].color != own->color || entries[i].relrank != own->relrank) return r;
    }
    return size;
}
