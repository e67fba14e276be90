/* outstanding.c - the slots of outstanding.h: one array that doubles, the free ones in a list. */
#include "extended-ref/outstanding.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

__attribute__((cold)) void gasnete_outstanding_grow(gasnete_outstanding_t *table)
{
    const uint32_t made = table->made ? 2 * table->made : FIRST_SLOTS;
    if (made < table->made) return;
    gasnete_slot_t *slots = malloc(made * sizeof *slots);
    if (slots == NULL) return;
    if (table->made) memcpy(slots, table->slots, table->made * sizeof *slots);
    for (uint32_t i = made; i-- > table->made;) {
        slots[i] = (gasnete_slot_t){.generation = 1, .next = table->free};
        table->free = i + 1;
    }
    free(table->slots);
    table->slots = slots;
    table->made = made;
}
