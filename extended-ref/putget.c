/* putget.c - puts and gets: blocking, with explicit handle, and with the implicit one.
 *
 * Implements gasnet_{put,get}{,_nb,_nbi}{,_bulk}.  Each function does transfers within this rank
 * and with shared-memory peers (near.h), chooses the counter, and calls transfer.h for other
 * transfers.  The _far forms are for callers that know that the rank is no shared-memory peer; they
 * only test whether the job has it.  Hot path: no work that a remote transfer of at least one byte
 * does not need.  transfer.h handles transfers of no bytes, except where the call must return
 * GASNET_INVALID_HANDLE for them.
 *
 * core/rdma/synchronisation.h defines what each form waits for.  Forms with equal rows in that
 * table share a function: bulk and non-bulk blocking puts, and bulk and non-bulk gets of each kind.
 */
#include "extended-ref/handles.h"

#include "core/job/progress.h"
#include "core/rdma/synchronisation.h"
#include "extended-ref/near.h"
#include "extended-ref/transfer.h"
#include "other/base/hot.h"

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

/* True if `node`, which shares no memory, is another rank of the job.  */
HOT bool putget_is_far(gasnet_node_t node)
{
    return GASNETE_SHARED ? !gasnete_rarely(node >= gasnetc_job.size) : gasnete_is_remote(node);
}

/* --- blocking --- */

HOT void put_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    if ((GASNETC_CHECKING || !putget_is_far(node)) &&
        gasnete_copy_local("gasnet_put", node, dst, src, nbytes))
        return;
    gasnetc_counter_t counter = {0};
    start_put(GASNETC_PUT, node, dst, src, nbytes, &counter);
}

HOT void get_far(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    if ((GASNETC_CHECKING || !putget_is_far(node)) &&
        gasnete_copy_local("gasnet_get", node, dst, src, nbytes))
        return;
    gasnetc_counter_t counter = {0};
    start_get(GASNETC_GET, dst, node, src, nbytes, &counter);
}

void gasnete_put_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    put_far(node, dst, src, nbytes);
}

void gasnete_put(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    if (!gasnete_near_put("gasnet_put", node, dst, src, nbytes)) put_far(node, dst, src, nbytes);
}

void gasnete_get_far(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    get_far(dst, node, src, nbytes);
}

void gasnete_get(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    if (!gasnete_near_get("gasnet_get", dst, node, src, nbytes)) get_far(dst, node, src, nbytes);
}

/* --- explicit handle --- */

/* The non-blocking forms leave the rare cases (no bytes, this rank, a thread's first operation, an
 * empty pool) to a cold function that tail-calls them again.  Without other calls the arguments
 * stay in registers up to the core.  */
#define COLD __attribute__((cold, noinline))

typedef gasnet_handle_t put_nb_t(gasnet_node_t, void *, void *, size_t);

static COLD gasnet_handle_t putget_slow_put_nb(gasnet_node_t node, void *dst, void *src,
                                               size_t nbytes, put_nb_t *again)
{
    if (gasnete_copy_local("gasnet_put_nb", node, dst, src, nbytes) || nbytes == 0)
        return GASNET_INVALID_HANDLE;
    gasnete_thread_t *me = gasnete_self();
    if (me->free == NULL) gasnete_pool_grow(me);
    return again(node, dst, src, nbytes);
}

static COLD gasnet_handle_t putget_slow_get_nb(void *dst, gasnet_node_t node, void *src,
                                               size_t nbytes)
{
    if (gasnete_copy_local("gasnet_get_nb", node, dst, src, nbytes) || nbytes == 0)
        return GASNET_INVALID_HANDLE;
    gasnete_thread_t *me = gasnete_self();
    if (me->free == NULL) gasnete_pool_grow(me);
    return gasnete_get_nb_far(dst, node, src, nbytes);
}

/* True if an operation with explicit handle may take the fast path.  */
static inline bool putget_fast(const gasnete_thread_t *me, gasnet_node_t node, size_t nbytes)
{
    return !gasnete_rarely(nbytes == 0) && putget_is_far(node) && !gasnete_rarely(me == NULL) &&
           !gasnete_rarely(me->free == NULL);
}

HOT gasnet_handle_t put_nb_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer("gasnet_put_nb", node);
    if (!putget_fast(me, node, nbytes))
        return putget_slow_put_nb(node, dst, src, nbytes, gasnete_put_nb_far);
    gasnete_op_t *op = gasnete_op_take(me, GASNETE_OP_HANDLE);
    start_put(GASNETC_PUT_NB, node, dst, src, nbytes, &op->counter);
    return op;
}

gasnet_handle_t gasnete_put_nb_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    return put_nb_far(node, dst, src, nbytes);
}

gasnet_handle_t gasnete_put_nb(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    if (gasnete_near_put("gasnet_put_nb", node, dst, src, nbytes)) return GASNET_INVALID_HANDLE;
    return put_nb_far(node, dst, src, nbytes);
}

HOT gasnet_handle_t put_nb_bulk_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer("gasnet_put_nb_bulk", node);
    if (!putget_fast(me, node, nbytes))
        return putget_slow_put_nb(node, dst, src, nbytes, gasnete_put_nb_bulk_far);
    gasnete_op_t *op = gasnete_op_take(me, GASNETE_OP_HANDLE);
    start_put(GASNETC_PUT_NB_BULK, node, dst, src, nbytes, &op->counter);
    return op;
}

gasnet_handle_t gasnete_put_nb_bulk_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    return put_nb_bulk_far(node, dst, src, nbytes);
}

gasnet_handle_t gasnete_put_nb_bulk(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    if (gasnete_near_put("gasnet_put_nb_bulk", node, dst, src, nbytes))
        return GASNET_INVALID_HANDLE;
    return put_nb_bulk_far(node, dst, src, nbytes);
}

HOT gasnet_handle_t get_nb_far(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer("gasnet_get_nb", node);
    if (!putget_fast(me, node, nbytes)) return putget_slow_get_nb(dst, node, src, nbytes);
    gasnete_op_t *op = gasnete_op_take(me, GASNETE_OP_HANDLE);
    start_get(GASNETC_GET_NB, dst, node, src, nbytes, &op->counter);
    return op;
}

gasnet_handle_t gasnete_get_nb_far(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    return get_nb_far(dst, node, src, nbytes);
}

gasnet_handle_t gasnete_get_nb(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    if (gasnete_near_get("gasnet_get_nb", dst, node, src, nbytes)) return GASNET_INVALID_HANDLE;
    return get_nb_far(dst, node, src, nbytes);
}

/* --- implicit handle --- */

typedef void put_nbi_t(gasnet_node_t, void *, void *, size_t);

static COLD void putget_slow_put_nbi(gasnet_node_t node, void *dst, void *src, size_t nbytes,
                                     put_nbi_t *again)
{
    if (gasnete_copy_local("gasnet_put_nbi", node, dst, src, nbytes)) return;
    gasnete_self();
    again(node, dst, src, nbytes);
}

static COLD void putget_slow_get_nbi(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    if (gasnete_copy_local("gasnet_get_nbi", node, dst, src, nbytes)) return;
    gasnete_self();
    gasnete_get_nbi_far(dst, node, src, nbytes);
}

static inline bool usual_implicit(const gasnete_thread_t *me, gasnet_node_t node)
{
    return putget_is_far(node) && !gasnete_rarely(me == NULL);
}

HOT void put_nbi_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer("gasnet_put_nbi", node);
    if (usual_implicit(me, node))
        start_put(GASNETC_PUT_NBI, node, dst, src, nbytes, me->puts);
    else
        putget_slow_put_nbi(node, dst, src, nbytes, gasnete_put_nbi_far);
}

void gasnete_put_nbi_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    put_nbi_far(node, dst, src, nbytes);
}

void gasnete_put_nbi(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    if (!gasnete_near_put("gasnet_put_nbi", node, dst, src, nbytes))
        put_nbi_far(node, dst, src, nbytes);
}

HOT void put_nbi_bulk_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer("gasnet_put_nbi_bulk", node);
    if (usual_implicit(me, node))
        start_put(GASNETC_PUT_NBI_BULK, node, dst, src, nbytes, me->puts);
    else
        putget_slow_put_nbi(node, dst, src, nbytes, gasnete_put_nbi_bulk_far);
}

void gasnete_put_nbi_bulk_far(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    put_nbi_bulk_far(node, dst, src, nbytes);
}

void gasnete_put_nbi_bulk(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    if (!gasnete_near_put("gasnet_put_nbi_bulk", node, dst, src, nbytes))
        put_nbi_bulk_far(node, dst, src, nbytes);
}

HOT void get_nbi_far(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self_if_any();
    if (GASNETC_CHECKING) gasnete_check_transfer("gasnet_get_nbi", node);
    if (usual_implicit(me, node))
        start_get(GASNETC_GET_NBI, dst, node, src, nbytes, me->gets);
    else
        putget_slow_get_nbi(dst, node, src, nbytes);
}

void gasnete_get_nbi_far(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    get_nbi_far(dst, node, src, nbytes);
}

void gasnete_get_nbi(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    if (!gasnete_near_get("gasnet_get_nbi", dst, node, src, nbytes))
        get_nbi_far(dst, node, src, nbytes);
}
