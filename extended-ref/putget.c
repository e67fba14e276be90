/* putget.c - puts and gets: blocking, with explicit handle, and with the implicit one.
 *
 * The functions that clients reach as gasnet_{put,get}{,_nb,_nbi}{,_bulk}.  Each does what stays on
 * this node, finds the counter, and leaves the rest to transfer.h.  Hot: nothing here that a
 * remote transfer of some bytes does not need; a transfer of no bytes is found there, unless the
 * call must return GASNET_INVALID_HANDLE for it.
 *
 * What each form waits for is its row of core/rdma/synchronisation.h.  Forms that have equal rows
 * share a function: blocking puts, and every kind of get, come bulk and non-bulk in one.
 */
#include "extended-ref/handles.h"

#include "core/job/progress.h"
#include "core/rdma/synchronisation.h"
#include "extended-ref/transfer.h"
#include "other/tools/hot.h"

bool gasnete_copy_local(const char *call, gasnet_node_t node, void *dst, const void *src,
                        size_t nbytes)
{
    if (GASNETC_CHECKING) gasnete_check_transfer(call, node);
    if (gasnete_is_remote(node)) return false;
    if (node >= gasnetc_job.size) gasnetc_no_such_rank(call, node);
    if (nbytes) memmove(dst, src, nbytes);
    return true;
}

HOT void start_put(enum gasnetc_form form, gasnet_node_t node, void *dst, void *src, size_t nbytes,
                   gasnetc_counter_t *counter)
{
    if (gasnetc_frees_source(form))
        gasnete_transfer_put(node, dst, src, nbytes, counter);
    else
        gasnete_transfer_put_bulk(node, dst, src, nbytes, counter);
    if (gasnetc_blocks(form)) gasnetc_wait(counter);
}

HOT void start_get(enum gasnetc_form form, void *dst, gasnet_node_t node, void *src, size_t nbytes,
                   gasnetc_counter_t *counter)
{
    gasnete_transfer_get(node, dst, src, nbytes, counter);
    if (gasnetc_blocks(form)) gasnetc_wait(counter);
}

/* --- blocking --- */

static inline bool usual_blocking(gasnet_node_t node)
{
    return !GASNETC_CHECKING && gasnete_is_remote(node);
}

void gasnete_put(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    if (!usual_blocking(node) && gasnete_copy_local("gasnet_put", node, dst, src, nbytes)) return;
    gasnetc_counter_t counter = {0};
    start_put(GASNETC_PUT, node, dst, src, nbytes, &counter);
}

void gasnete_get(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    if (!usual_blocking(node) && gasnete_copy_local("gasnet_get", node, dst, src, nbytes)) return;
    gasnetc_counter_t counter = {0};
    start_get(GASNETC_GET, dst, node, src, nbytes, &counter);
}

/* --- explicit handle --- */

/* The non-blocking forms leave everything unusual (nothing to do, this node, a thread's first
 * operation, an empty pool) to a cold function that ends in them again: with no other call in
 * sight, the compiler keeps their arguments in registers all the way to the core. */
#define COLD __attribute__((cold, noinline))

typedef gasnet_handle_t put_nb_t(gasnet_node_t, void *, void *, size_t);

static COLD gasnet_handle_t unusual_put_nb(gasnet_node_t node, void *dst, void *src, size_t nbytes,
                                           put_nb_t *again)
{
    if (gasnete_copy_local("gasnet_put_nb", node, dst, src, nbytes) || nbytes == 0)
        return GASNET_INVALID_HANDLE;
    gasnete_thread_t *me = gasnete_self();
    if (me->free == NULL) gasnete_pool_grow(me);
    return again(node, dst, src, nbytes);
}

static COLD gasnet_handle_t unusual_get_nb(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    if (gasnete_copy_local("gasnet_get_nb", node, dst, src, nbytes) || nbytes == 0)
        return GASNET_INVALID_HANDLE;
    gasnete_thread_t *me = gasnete_self();
    if (me->free == NULL) gasnete_pool_grow(me);
    return gasnete_get_nb(dst, node, src, nbytes);
}

/* True if an operation with explicit handle may go the short way. */
static inline bool usual(const gasnete_thread_t *me, gasnet_node_t node, size_t nbytes)
{
    return !gasnete_rarely(nbytes == 0) && gasnete_is_remote(node) && !gasnete_rarely(me == NULL) &&
           !gasnete_rarely(me->free == NULL);
}

gasnet_handle_t gasnete_put_nb(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer("gasnet_put_nb", node);
    if (!usual(me, node, nbytes)) return unusual_put_nb(node, dst, src, nbytes, gasnete_put_nb);
    gasnete_op_t *op = gasnete_op_take(me, GASNETE_OP_HANDLE);
    start_put(GASNETC_PUT_NB, node, dst, src, nbytes, &op->counter);
    return op;
}

gasnet_handle_t gasnete_put_nb_bulk(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer("gasnet_put_nb_bulk", node);
    if (!usual(me, node, nbytes))
        return unusual_put_nb(node, dst, src, nbytes, gasnete_put_nb_bulk);
    gasnete_op_t *op = gasnete_op_take(me, GASNETE_OP_HANDLE);
    start_put(GASNETC_PUT_NB_BULK, node, dst, src, nbytes, &op->counter);
    return op;
}

gasnet_handle_t gasnete_get_nb(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer("gasnet_get_nb", node);
    if (!usual(me, node, nbytes)) return unusual_get_nb(dst, node, src, nbytes);
    gasnete_op_t *op = gasnete_op_take(me, GASNETE_OP_HANDLE);
    start_get(GASNETC_GET_NB, dst, node, src, nbytes, &op->counter);
    return op;
}

/* --- implicit handle --- */

typedef void put_nbi_t(gasnet_node_t, void *, void *, size_t);

static COLD void unusual_put_nbi(gasnet_node_t node, void *dst, void *src, size_t nbytes,
                                 put_nbi_t *again)
{
    if (gasnete_copy_local("gasnet_put_nbi", node, dst, src, nbytes)) return;
    gasnete_self();
    again(node, dst, src, nbytes);
}

static COLD void unusual_get_nbi(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    if (gasnete_copy_local("gasnet_get_nbi", node, dst, src, nbytes)) return;
    gasnete_self();
    gasnete_get_nbi(dst, node, src, nbytes);
}

static inline bool usual_implicit(const gasnete_thread_t *me, gasnet_node_t node)
{
    return gasnete_is_remote(node) && !gasnete_rarely(me == NULL);
}

void gasnete_put_nbi(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer("gasnet_put_nbi", node);
    if (usual_implicit(me, node))
        start_put(GASNETC_PUT_NBI, node, dst, src, nbytes, me->puts);
    else
        unusual_put_nbi(node, dst, src, nbytes, gasnete_put_nbi);
}

void gasnete_put_nbi_bulk(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer("gasnet_put_nbi_bulk", node);
    if (usual_implicit(me, node))
        start_put(GASNETC_PUT_NBI_BULK, node, dst, src, nbytes, me->puts);
    else
        unusual_put_nbi(node, dst, src, nbytes, gasnete_put_nbi_bulk);
}

void gasnete_get_nbi(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer("gasnet_get_nbi", node);
    if (usual_implicit(me, node))
        start_get(GASNETC_GET_NBI, dst, node, src, nbytes, me->gets);
    else
        unusual_get_nbi(dst, node, src, nbytes);
}
