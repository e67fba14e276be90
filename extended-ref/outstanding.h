/* outstanding.h - operations of this rank that wait for a Reply, by number: an array of slots that
 * doubles, the free ones in a list.  Pure: no lock, no I/O, no globals; internal_am.c has the table
 * of the process.
 *
 * A Request carries the number of its operation, and the Reply returns it.  A number is a slot of
 * the table and the slot's generation, which changes when the operation is taken out: so a Reply
 * that comes twice or late, or without a Request, finds no operation.  The other properties that a
 * Reply must have (its kind, its sender, the length of its payload) are kept in the table and not
 * sent.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/completion.h"

/* The Reply that an operation waits for. */
enum gasnete_reply {
    GASNETE_REPLY_DONE = 1,   /* reports that the Request is done */
    GASNETE_REPLY_GOT,        /* has the bytes of a get */
    GASNETE_REPLY_GOT_LONG,   /* has written them to `memory` */
    GASNETE_REPLY_VIS_GOT,    /* has the bytes of many pieces */
    GASNETE_REPLY_ATOMIC_GOT, /* has an element as it was before an atomic operation */
};

typedef struct gasnete_operation {
    enum gasnete_reply reply;
    uint32_t node; /* to which the Request was sent */
    void *memory;  /* belongs to the handler of the Reply */
    size_t nbytes; /* of its payload */
    gasnetc_counter_t *counter;
} gasnete_operation_t;

typedef struct gasnete_slot {
    gasnete_operation_t operation; /* reply 0: the slot is free */
    uint32_t generation;           /* never 0 */
    uint32_t next; /* of a free slot: 1 + the index of the next free slot; 0: the last */
} gasnete_slot_t;

/* The table; all zero: empty. */
typedef struct gasnete_outstanding {
    gasnete_slot_t *slots;
    uint32_t made; /* slots */
    uint32_t free; /* 1 + the index of a free slot; 0: no slot is free */
} gasnete_outstanding_t;

enum { GASNETE_FIRST_SLOTS = 64 };

/* Doubles the slots, or makes the first ones; without memory for them the table stays as it is. */
static __attribute__((cold, noinline, unused)) void
gasnete_outstanding_grow(gasnete_outstanding_t *table)
{
    const uint32_t made = table->made ? 2 * table->made : GASNETE_FIRST_SLOTS;
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

/* Returns the number of an operation that is now in the table, or 0 if there is no memory for it.
 */
static inline uint64_t gasnete_outstanding_add(gasnete_outstanding_t *table,
                                               const gasnete_operation_t *operation)
{
    if (table->free == 0) gasnete_outstanding_grow(table);
    if (table->free == 0) return 0;
    const uint32_t index = table->free - 1;
    gasnete_slot_t *slot = &table->slots[index];
    table->free = slot->next;
    slot->operation = *operation;
    return (uint64_t)slot->generation << 32 | index;
}

/* Takes the operation with this number out of the table, when a Reply has come from `node`.  NULL:
 * done, and copied to *operation.  Else the name of the field that is wrong; nothing is changed. */
static inline const char *gasnete_outstanding_take(gasnete_outstanding_t *table, uint64_t number,
                                                   enum gasnete_reply reply, uint32_t node,
                                                   size_t nbytes, gasnete_operation_t *operation)
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
