/* qp_table.h - the owner of a queue pair by its number: an open hash table whose memory is
 * proportional to the number of entries.
 *
 * One thread at a time enters (the one that connects peers) while others search without a lock: a
 * search finds a complete entry or none.  A table that was replaced by a larger one is kept until
 * net_ib_qp_table_free, for searches that still use it.  Entries are never removed.  No I/O, no
 * globals.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A free cell has key 0, which no queue pair has: numbers 0 and 1 are management queue pairs. */
typedef struct net_ib_qp_cell {
    _Atomic uint32_t key;
    void *_Atomic owner;
} net_ib_qp_cell_t;

typedef struct net_ib_qp_cells {
    struct net_ib_qp_cells *smaller; /* the table that this one replaced */
    uint32_t used, bits;
    net_ib_qp_cell_t cell[]; /* 2^bits, at least half of them free */
} net_ib_qp_cells_t;

typedef struct net_ib_qp_table {
    net_ib_qp_cells_t *_Atomic table;
} net_ib_qp_table_t;

/* The key of a queue pair: its number has 24 bits and is unique on one device only. */
static inline uint32_t net_ib_qp_table_key(uint32_t device, uint32_t number)
{
    return device << 24 | (number & 0xffffff);
}

static inline uint32_t net_ib_qp_table_hash(uint32_t key, uint32_t bits)
{
    return key * UINT32_C(2654435769) >> (32 - bits);
}

/* The owner of a key; NULL if the key was not entered. */
static inline void *net_ib_qp_table_find(const net_ib_qp_table_t *owners, uint32_t key)
{
    net_ib_qp_cells_t *table = atomic_load_explicit(&owners->table, memory_order_acquire);
    if (!table) return NULL;
    const uint32_t mask = (UINT32_C(1) << table->bits) - 1;
    for (uint32_t i = net_ib_qp_table_hash(key, table->bits);; i = (i + 1) & mask) {
        uint32_t found = atomic_load_explicit(&table->cell[i].key, memory_order_acquire);
        if (found == key) return atomic_load_explicit(&table->cell[i].owner, memory_order_relaxed);
        if (!found) return NULL;
    }
}

/* Enters a key, or replaces its owner; false when there is no memory. */
bool net_ib_qp_table_enter(net_ib_qp_table_t *owners, uint32_t key, void *owner);

/* Frees the table, when no thread may search any more. */
void net_ib_qp_table_free(net_ib_qp_table_t *owners);
