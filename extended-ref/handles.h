/* handles.h - the Extended API's state of a thread, and its operation records.
 *
 * An explicit handle is the address of an operation record, which begins with the counter that the
 * core completes.  Records are taken from a free list of the thread and returned to it: no lock, no
 * atomic read-modify-write, and no malloc once the pool has the size that the program needs.  The
 * counter of a record is never reset: the next operation continues its counts.
 *
 * Included by the files of extended-ref alone; all code on the path of a put is inline in this
 * file.
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

/* The use of a record; maintained in checking builds only.  */
enum gasnete_op_state {
    GASNETE_OP_DEAD,   /* free, or its handle was synchronised */
    GASNETE_OP_HANDLE, /* the client holds a gasnet_handle_t */
    GASNETE_OP_VALGET, /* the client holds a gasnet_valget_handle_t */
};

typedef struct gasnete_op {
    gasnetc_counter_t counter; /* first: the address of the record is that of the counter */
    uint16_t owner;            /* index of the thread that owns the record */
    uint16_t state;            /* enum gasnete_op_state */
    struct gasnete_op *next;   /* in the free list */
} gasnete_op_t;

typedef struct gasnete_thread {
    gasnete_op_t *free;
    gasnetc_counter_t *puts; /* counts implicit puts: put_set, or that of the open region */
    gasnetc_counter_t *gets; /* counts implicit gets: get_set, or that of the open region */
    gasnete_op_t *region;    /* the open access region, or NULL */
    gasnetc_counter_t put_set;
    gasnetc_counter_t get_set;
    uint32_t index;
    uint32_t made;        /* records in the pool, free or not */
    uint32_t values_made; /* records of value.c in their pool, free or not */
    gasnete_op_t *free_values;
    void *coll; /* the thread's record in collectives, or NULL; coll/handles.c */
} gasnete_thread_t;

/* Rare parts of the inline functions below.  */
gasnete_thread_t *gasnete_thread_create(void);
void gasnete_pool_grow(gasnete_thread_t *me);
/* Allocates *count new records of `size` bytes, which begin with a gasnete_op_t, and adds *count to
 * *made.  */
void *gasnete_make_records(gasnete_thread_t *me, size_t size, uint32_t *made, uint32_t *count);
void gasnete_check_op(const gasnete_op_t *op, enum gasnete_op_state state);
void gasnete_check_transfer(const char *call, gasnet_node_t node);

static inline gasnete_thread_t *gasnete_self(void)
{
    gasnete_thread_t *me = gasneti_self_extended();
    return me == NULL ? gasnete_thread_create() : me;
}

/* The calling thread's record, or NULL if it has none yet.  */
static inline gasnete_thread_t *gasnete_self_if_any(void)
{
    return gasneti_self_extended();
}

/* Takes a record without outstanding operations from a free list that is not empty. */
static inline gasnete_op_t *gasnete_op_pop(gasnete_op_t **list, enum gasnete_op_state state)
{
    gasnete_op_t *op = *list;
    *list = op->next;
    if (GASNETC_CHECKING) op->state = (uint16_t)state;
    return op;
}

/* Frees a record whose operation is complete; its handle becomes invalid.  */
static inline void gasnete_op_push(gasnete_op_t **list, gasnete_op_t *op)
{
    if (GASNETC_CHECKING) op->state = GASNETE_OP_DEAD;
    op->next = *list;
    *list = op;
}

/* Takes a record from the thread's pool, which must not be empty.  */
static inline gasnete_op_t *gasnete_op_take(gasnete_thread_t *me, enum gasnete_op_state state)
{
    return gasnete_op_pop(&me->free, state);
}

/* Takes a record from the thread's pool; grows an empty pool.  */
static inline gasnete_op_t *gasnete_op_new(gasnete_thread_t *me, enum gasnete_op_state state)
{
    if (me->free == NULL) gasnete_pool_grow(me);
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

/* True if `node` is a rank of the job other than this one.  */
static inline bool gasnete_is_remote(gasnet_node_t node)
{
    return node < gasnetc_job.size && node != gasnetc_job.rank;
}

/* Does a transfer within this rank and returns true; false for another rank.  Fatal if the job has
 * no such rank; `call` names the call.  */
bool gasnete_copy_local(const char *call, gasnet_node_t node, void *dst, const void *src,
                        size_t nbytes);

#endif
