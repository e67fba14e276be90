/* handles.h - the Extended API's state of a thread.
 *
 * Included by the files of extended-ref alone; all code on the path of a put is inline in this
 * file and records.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/am/context.h"
#include "core/completion.h"
#include "core/job/rank.h"
#include "core/job/thread.h"
#include "extended-ref/records.h"
#include "gasnet.h"

/* The sets of a thread's implicit operations.  A put is in one of two, by whether a client can wait
 * for its source alone. */
enum gasnete_set {
    GASNETE_PUTS,
    GASNETE_GROUPED_PUTS, /* with GEX_EVENT_GROUP */
    GASNETE_GETS,
    GASNETE_ATOMICS,  /* but SET, a put, and GET, a get */
    GASNETE_MESSAGES, /* sources of Longs with GEX_EVENT_GROUP */
    GASNETE_SETS
};

typedef struct gasnete_thread {
    gasnete_pool_t ops;
    gasnetc_counter_t *implicit[GASNETE_SETS]; /* count implicit operations: own, or the region's */
    gasnete_op_t *region;                      /* the open access region, or NULL */
    gasnetc_counter_t own[GASNETE_SETS];
    uint32_t index;
    gasnete_pool_t values;                 /* of value.c */
    struct gasnete_negotiated *negotiated; /* [2], a Request and a Reply, or NULL; ex/messages.c */
    void *coll; /* the thread's record in collectives, or NULL; coll/handles.c */
    struct {
        size_t nbytes;
        gex_AM_Index_t handler; /* 0: none */
        char payload[GEX_VIS_MAX_PEERCOMPLETION];
    } at_peer; /* runs behind the next vector, indexed or strided put; vis/at_peer.c */
} gasnete_thread_t;

/* Rare parts of the inline functions below.  */
gasnete_thread_t *gasnete_thread_create(void);
void gasnete_pool_grow(gasnete_thread_t *me);
void gasnete_check_op(const gasnete_op_t *op, enum gasnete_op_state state);
void gasnete_check_transfer(const char *call, gasnet_node_t node);

/* Implicit operations are counted in the thread's own sets again. */
static inline void gasnete_sets_restore(gasnete_thread_t *me)
{
    for (int set = 0; set < GASNETE_SETS; set++) me->implicit[set] = &me->own[set];
}

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

/* Takes a record from the thread's pool, which must not be empty.  */
static inline gasnete_op_t *gasnete_op_take(gasnete_thread_t *me, enum gasnete_op_state state)
{
    return gasnete_op_pop(&me->ops, state);
}

/* Takes a record from the thread's pool; grows an empty pool.  */
static inline gasnete_op_t *gasnete_op_new(gasnete_thread_t *me, enum gasnete_op_state state)
{
    if (me->ops.free == NULL) gasnete_pool_grow(me);
    return gasnete_op_take(me, state);
}

static inline void gasnete_op_free(gasnete_thread_t *me, gasnete_op_t *op)
{
    gasnete_op_push(&me->ops, op);
}

/* The record behind a valid handle. */
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
