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
        slots[i] = (gasnete_slot_t){.number = gasnete_outstanding_next(i), .next = table->free};
        table->free = i + 1;
    }
    free(table->slots);
    table->slots = slots;
    table->made = made;
}

const char *gasnete_outstanding_wrong(const gasnete_outstanding_t *table, uint64_t number,
                                      enum gasnete_reply reply, uint32_t node)
{
    if ((uint32_t)number >= table->made) return "number (there is no such operation)";
    const gasnete_slot_t *slot = &table->slots[(uint32_t)number];
    if (slot->operation.reply == 0 || slot->number != number)
        return "number (the operation has had its Reply)";
    if (slot->operation.node != node) return "sender (another rank was asked)";
    return slot->operation.reply != reply ? "kind" : "length";
}
