/* handles.h - what the Extended API keeps for each thread, and its operation records.
 *
 * An explicit handle is the address of an operation record, which begins with the counter that the
 * core completes.  Records come from a free list of the thread and go back to it: no lock, no
 * atomic read-modify-write, and no malloc once the pool has grown to what the program needs.  A
 * record's counter counts on from operation to operation, so it is never reset.
 *
 * Included by the files of extended-ref alone; everything on the path of a put is inline here.
 */
#ifndef GASNETE_HANDLES_H
#define GASNETE_HANDLES_H

#include "gasnet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/am/context.h"
#include "core/completion.h"
#include "core/job/rank.h"
#include "core/job/thread.h"

#define gasnete_rarely(cond) __builtin_expect(!!(cond), 0)

/* What a record is in use for; kept up in checking builds only. */
enum gasnete_op_state {
    GASNETE_OP_DEAD,   /* free, or its handle was synchronised */
    GASNETE_OP_HANDLE, /* a gasnet_handle_t is out */
    GASNETE_OP_VALGET, /* a gasnet_valget_handle_t is out */
};

typedef struct gasnete_op {
    gasnetc_counter_t counter; /* first: see above */
    uint16_t owner;            /* index of the thread whose pool it belongs to */
    uint16_t state;            /* enum gasnete_op_state */
    struct gasnete_op *next;   /* in the free list */
} gasnete_op_t;

typedef struct gasnete_thread {
    gasnete_op_t *free;
    gasnetc_counter_t *puts; /* where implicit puts and gets count now: in the sets below, */
    gasnetc_counter_t *gets; /* or both in the open access region */
    gasnete_op_t *region;    /* the open access region, or NULL */
    gasnetc_counter_t put_set;
    gasnetc_counter_t get_set;
    uint32_t index;
    uint32_t made;        /* records in the pool, free or not */
    uint32_t values_made; /* the same of value.c's records, whose free list this is: */
    gasnete_op_t *free_values;
} gasnete_thread_t;

/* The cold sides of the inline functions below. */
gasnete_thread_t *gasnete_thread_create(void);
void gasnete_pool_grow(gasnete_thread_t *me);
/* New records of `size` bytes, which begin with a gasnete_op_t; counts them in *made and says how
 * many they are. */
void *gasnete_make_records(gasnete_thread_t *me, size_t size, uint32_t *made, uint32_t *count);
void gasnete_check_op(const gasnete_op_t *op, enum gasnete_op_state state);
void gasnete_check_transfer(const char *call, gasnet_node_t node);

static inline gasnete_thread_t *gasnete_self(void)
{
    gasnete_thread_t *me = gasneti_self_extended();
    return gasnete_rarely(me == NULL) ? gasnete_thread_create() : me;
}

/* The same, or NULL when the thread has none yet. */
static inline gasnete_thread_t *gasnete_self_if_any(void)
{
    return gasneti_self_extended();
}

/* A record with nothing outstanding, from a free list that is not empty. */
static inline gasnete_op_t *gasnete_op_pop(gasnete_op_t **list, enum gasnete_op_state state)
{
    gasnete_op_t *op = *list;
    *list = op->next;
    if (GASNETC_CHECKING) op->state = (uint16_t)state;
    return op;
}

/* The record's operation is complete; its handle is dead from now on. */
static inline void gasnete_op_push(gasnete_op_t **list, gasnete_op_t *op)
{
    if (GASNETC_CHECKING) op->state = GASNETE_OP_DEAD;
    op->next = *list;
    *list = op;
}

/* From the thread's pool, which has one. */
static inline gasnete_op_t *gasnete_op_take(gasnete_thread_t *me, enum gasnete_op_state state)
{
    return gasnete_op_pop(&me->free, state);
}

/* The same from any pool. */
static inline gasnete_op_t *gasnete_op_new(gasnete_thread_t *me, enum gasnete_op_state state)
{
    if (gasnete_rarely(me->free == NULL)) gasnete_pool_grow(me);
    return gasnete_op_take(me, state);
}

static inline void gasnete_op_free(gasnete_thread_t *me, gasnete_op_t *op)
{
    gasnete_op_push(&me->free, op);
}

/* The record behind a valid handle that the calling thread may synchronise. */
static inline gasnete_op_t *gasnete_op_of(gasnet_handle_t handle)
{
    if (GASNETC_CHECKING) gasnete_check_op(handle, GASNETE_OP_HANDLE);
    return handle;
}

/* True if the job has this node and it is another one. */
static inline bool gasnete_is_remote(gasnet_node_t node)
{
    return !gasnete_rarely(node >= gasnetc_job.size) && !gasnete_rarely(node == gasnetc_job.rank);
}

/* True if the transfer of `call` was within this node and is done now.  Fatal if the job has no
 * such node. */
bool gasnete_copy_local(const char *call, gasnet_node_t node, void *dst, const void *src,
                        size_t nbytes);

#endif
