/* qp_table.h - whose queue pair has this number?  A table from numbers to records, found in a few
 * steps however many there are; its memory follows what was entered.
 *
 * One thread enters at a time (whoever connects peers) while others look: a record is seen whole or
 * not at all, and a table that has become too small stays where it is until the end, for those who
 * are looking into it.  Nothing is ever taken out.  No I/O, no lock, no globals.
 */
#ifndef NETWORK_IB_OWNERS_H
#define NETWORK_IB_OWNERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A free cell has key 0, which no queue pair has: 0 and 1 are the ports' own. */
typedef struct net_ib_owner {
    _Atomic uint32_t key;
    void *_Atomic owner;
} net_ib_owner_t;

typedef struct net_ib_owner_table {
    struct net_ib_owner_table *smaller; /* that this one replaced */
    uint32_t used, bits;
    net_ib_owner_t cell[]; /* 2^bits, at least half of them free */
} net_ib_owner_table_t;

typedef struct net_ib_qp_table {
    net_ib_owner_table_t *_Atomic table;
} net_ib_qp_table_t;

/* Numbers have 24 bits; those of two devices may be the same. */
static inline uint32_t net_ib_owners_key(uint32_t device, uint32_t number)
{
    return device << 24 | (number & 0xffffff);
}

static inline uint32_t net_ib_owners_place(uint32_t key, uint32_t bits)
{
    return key * UINT32_C(2654435769) >> (32 - bits);
}

/* NULL if it was not entered. */
static inline void *net_ib_owners_find(const net_ib_qp_table_t *owners, uint32_t key)
{
    net_ib_owner_table_t *table = atomic_load_explicit(&owners->table, memory_order_acquire);
    if (__builtin_expect(!table, 0)) return NULL;
    const uint32_t mask = (UINT32_C(1) << table->bits) - 1;
    for (uint32_t i = net_ib_owners_place(key, table->bits);; i = (i + 1) & mask) {
        uint32_t found = atomic_load_explicit(&table->cell[i].key, memory_order_acquire);
        if (__builtin_expect(found == key, 1))
            return atomic_load_explicit(&table->cell[i].owner, memory_order_relaxed);
        if (!found) return NULL;
    }
}

/* Enters it, or replaces the owner it had; false when there is no memory. */
bool net_ib_owners_enter(net_ib_qp_table_t *owners, uint32_t key, void *owner);

/* Nobody looks any more. */
void net_ib_owners_free(net_ib_qp_table_t *owners);

#endif
