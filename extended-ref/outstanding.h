/* outstanding.h - operations of this rank that wait for a Reply, by number: a table of slots. Pure:
 * no lock, no I/O, no globals; internal_am.c has the table of the process.
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
    uint64_t number; /* of the operation, or of the next one: generation << 32 | index */
    uint32_t next;   /* of a free slot: 1 + the index of the next free slot; 0: the last */
} gasnete_slot_t;

/* The table; all zero: empty. */
typedef struct gasnete_outstanding {
    gasnete_slot_t *slots;
    uint32_t made; /* slots */
    uint32_t free; /* 1 + the index of a free slot; 0: no slot is free */
} gasnete_outstanding_t;

/* Doubles the slots, or makes the first ones; without memory for them the table stays as it is. */
void gasnete_outstanding_grow(gasnete_outstanding_t *table);

/* The number of the next operation in a slot.  No generation is 0, and so no number. */
static inline uint64_t gasnete_outstanding_next(uint64_t number)
{
    const uint64_t one = UINT64_C(1) << 32, next = number + one;
    return next < one ? next + one : next;
}

/* Returns the number of an operation that is now in the table, or 0 if there is no memory for it.
 */
static inline uint64_t gasnete_outstanding_add(gasnete_outstanding_t *table,
                                               const gasnete_operation_t *operation)
{
    if (table->free == 0) gasnete_outstanding_grow(table);
    if (table->free == 0) return 0;
    gasnete_slot_t *slot = &table->slots[table->free - 1];
    table->free = slot->next;
    slot->operation = *operation;
    return slot->number;
}

/* The name of the field for which gasnete_outstanding_take refuses a Reply. */
const char *gasnete_outstanding_wrong(const gasnete_outstanding_t *table, uint64_t number,
                                      enum gasnete_reply reply, uint32_t node)
    __attribute__((cold, returns_nonnull));

/* The length of a Reply whose handler knows it from the operation. */
#define GASNETE_ANY_LENGTH SIZE_MAX

/* Takes the operation with this number out of the table, when a Reply has come from `node`.  NULL:
 * done, and copied to *operation.  Else the name of the field that is wrong; nothing is changed. */
static inline const char *gasnete_outstanding_take(gasnete_outstanding_t *table, uint64_t number,
                                                   enum gasnete_reply reply, uint32_t node,
                                                   size_t nbytes, gasnete_operation_t *operation)
{
    const uint32_t index = (uint32_t)number;
    if (index >= table->made) return gasnete_outstanding_wrong(table, number, reply, node);
    gasnete_slot_t *slot = &table->slots[index];
    if (slot->number != number || slot->operation.reply != reply || slot->operation.node != node ||
        (nbytes != GASNETE_ANY_LENGTH && slot->operation.nbytes != nbytes))
        return gasnete_outstanding_wrong(table, number, reply, node);
    *operation = slot->operation;
    slot->operation.reply = (enum gasnete_reply)0;
    slot->number = gasnete_outstanding_next(number);
    slot->next = table->free;
    table->free = index + 1;
    return NULL;
}
