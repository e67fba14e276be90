/* qp_table.c - entering queue pair numbers into the table of qp_table.h, which grows by doubling.
 *
 * Called by the thread that connects peers, never on the receive path.
 */
#include "core/ib/qp_table.h"

#include <stdlib.h>

enum { FIRST_BITS = 4, MOST_BITS = 31 };

/* The cell with this key, or the free cell where the key belongs. */
static net_ib_qp_cell_t *cell_for(net_ib_qp_cells_t *table, uint32_t key)
{
    const uint32_t mask = (UINT32_C(1) << table->bits) - 1;
    uint32_t i = net_ib_qp_table_hash(key, table->bits);
    for (uint32_t found; (found = atomic_load(&table->cell[i].key)) && found != key;)
        i = (i + 1) & mask;
    return &table->cell[i];
}

/* The owner is stored before the key: a reader that finds the key finds its owner. */
static void qp_table_put(net_ib_qp_cells_t *table, uint32_t key, void *owner)
{
    net_ib_qp_cell_t *cell = cell_for(table, key);
    if (!atomic_load(&cell->key)) table->used++;
    atomic_store(&cell->owner, owner);
    atomic_store(&cell->key, key);
}

static net_ib_qp_cells_t *larger(net_ib_qp_cells_t *old)
{
    const uint32_t bits = old ? old->bits + 1 : FIRST_BITS;
    if (bits > MOST_BITS) return NULL;
    net_ib_qp_cells_t *table = calloc(1, sizeof *table + ((size_t)1 << bits) * sizeof *table->cell);
    if (!table) return NULL;
    table->bits = bits;
    table->smaller = old;
    for (size_t i = 0; old && i < (size_t)1 << old->bits; i++) {
        uint32_t key = atomic_load(&old->cell[i].key);
        if (key) qp_table_put(table, key, atomic_load(&old->cell[i].owner));
    }
    return table;
}

bool net_ib_qp_table_enter(net_ib_qp_table_t *owners, uint32_t key, void *owner)
{
    net_ib_qp_cells_t *table = atomic_load(&owners->table);
    if (!table || 2 * (table->used + 1) > UINT32_C(1) << table->bits) {
        table = larger(table);
        if (!table) return false;
        atomic_store(&owners->table, table);
    }
    qp_table_put(table, key, owner);
    return true;
}

void net_ib_qp_table_free(net_ib_qp_table_t *owners)
{
    net_ib_qp_cells_t *table = atomic_exchange(&owners->table, NULL);
    for (net_ib_qp_cells_t *next; table; table = next) {
        next = table->smaller;
        free(table);
    }
}
