/* outstanding.c - the table of outstanding.h: slots in one array that doubles, the free ones in a
 * list.
 */
#include "extended-ref/outstanding.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

/* Doubles the slots, or makes the first ones; without memory for them the table stays as it is. */
static void outstanding_grow(gasnete_outstanding_t *table)
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

uint64_t gasnete_outstanding_add(gasnete_outstanding_t *table, const gasnete_operation_t *operation)
{
    if (table->free == 0) outstanding_grow(table);
    if (table->free == 0) return 0;
    const uint32_t index = table->free - 1;
    gasnete_slot_t *slot = &table->slots[index];
    table->free = slot->next;
    slot->operation = *operation;
    return (uint64_t)slot->generation << 32 | index;
}

const char *gasnete_outstanding_take(gasnete_outstanding_t *table, uint64_t number,
                                     enum gasnete_reply reply, uint32_t node, size_t nbytes,
                                     gasnete_operation_t *operation)
{
    const uint32_t index = (uint32_t)number;
    if (index >= table->made) return "number (there is no such operation)";
    gasnete_slot_t *slot = &table->slots[index];
    if (slot->operation.reply == 0 || slot->generation != number >> 32)
        return "number (the operation has had its Reply)";
    if (slot->operation.node != node) return "sender (another rank was asked)";
    if (slot->operation.reply != reply) return "kind";
    if (slot->operation.nbytes != nbytes) return "length";
    *operation = slot->operation;
    slot->operation.reply = (enum gasnete_reply)0;
    if (++slot->generation == 0) slot->generation = 1;
    slot->next = table->free;
    table->free = index + 1;
    return NULL;
}
