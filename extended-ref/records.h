/* records.h - records of non-blocking operations, and the pools that hold free ones.
 *
 * A record begins with the counter that the core completes; the address of a record is the client's
 * handle.  The counter is never reset: the next operation continues its counts.
 *
 * Each thread takes records from its own pool, without a lock, an atomic read-modify-write, or a
 * malloc once the pool has the size that the program needs.  Any thread may synchronise a handle,
 * after the thread that holds it has handed it over.  A record that another pool lent goes to the
 * strays of the freeing thread's pool; a batch of strays goes to the reserve of the process, where
 * an empty pool takes one before it allocates.  So a thread that only starts operations and one
 * that only waits for them need no more records than are outstanding at once, and two batches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/am/context.h"
#include "core/completion.h"
#include "core/job/thread.h"
#include "other/base/spin.h"

/* The use of a record; maintained in checking builds only.  */
enum gasnete_op_state {
    GASNETE_OP_DEAD,   /* free, or its handle was synchronised */
    GASNETE_OP_HANDLE, /* the client holds a gasnet_handle_t */
    GASNETE_OP_VALGET, /* the client holds a gasnet_valget_handle_t */
};

typedef struct gex_Event_s {
    gasnetc_counter_t counter; /* first: the address of the record is that of the counter */
    uint32_t state;            /* enum gasnete_op_state */
    struct gasnete_pool *home; /* the pool that lends it */
    struct gex_Event_s *next;  /* in the list of free ones */
} gasnete_op_t;

/* The free records of one kind that belong to no pool; shared by all threads.  */
typedef struct gasnete_reserve {
    gasneti_spin_t lock;
    gasnete_op_t *free;
    size_t size; /* bytes of a record */
} gasnete_reserve_t;

typedef struct gasnete_pool {
    gasnete_op_t *free;
    gasnete_op_t *strays; /* of other pools, fewer than GASNETE_BATCH */
    uint32_t stray_count;
    uint32_t made;              /* records that this pool has allocated */
    gasnete_reserve_t *reserve; /* NULL: it has never lent a record */
} gasnete_pool_t;

enum { GASNETE_BATCH = 64 };

/* Allocates whole cache lines, zeroed; fatal without memory. */
void *gasnete_alloc(size_t size);

/* Fills an empty pool of the kind that `reserve` has.  Returns *count new records, which are not in
 * the pool yet, or NULL: the pool has free records again. */
void *gasnete_pool_refill(gasnete_pool_t *pool, gasnete_reserve_t *reserve, uint32_t *count);

/* Frees a record that another pool lent. */
void gasnete_pool_take_stray(gasnete_pool_t *pool, gasnete_op_t *op);

/* Whether HANDLE is the address of a record; in checking builds only. */
bool gasnete_is_record(const void *handle);

/* Takes a record without outstanding operations from a pool that is not empty. */
static inline gasnete_op_t *gasnete_op_pop(gasnete_pool_t *pool, enum gasnete_op_state state)
{
    gasnete_op_t *op = pool->free;
    pool->free = op->next;
    if (GASNETC_CHECKING) op->state = state;
    return op;
}

/* Frees a record whose operation is complete; its handle becomes invalid.  */
static inline void gasnete_op_push(gasnete_pool_t *pool, gasnete_op_t *op)
{
    if (GASNETC_CHECKING) op->state = GASNETE_OP_DEAD;
    if (!GASNETI_ONE_THREAD && op->home != pool) {
        gasnete_pool_take_stray(pool, op);
        return;
    }
    op->next = pool->free;
    pool->free = op;
}
