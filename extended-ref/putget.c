/* putget.c - puts and gets: blocking, with explicit handle, and with the implicit one.
 *
 * The functions that clients reach as gasnet_{put,get}{,_nb,_nbi}{,_bulk}.  Each does what stays on
 * this node, finds the counter, and leaves the rest to core/rdma.h.  Hot: nothing here that a
 * remote transfer of some bytes does not need.
 *
 * Only the non-bulk non-blocking puts promise that the source is free on return; with every other
 * form the core may read it until the operation is synchronised, so there bulk and non-bulk differ,
 * and nowhere else.
 */
#include "extended-ref/handles.h"

#include "core/poll.h"
#include "core/rdma.h"

/* ---- blocking -------------------------------------------------------------------------------- */

void gasnete_put(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    if (gasnete_copy_local("gasnet_put", node, dst, src, nbytes)) return;
    gasnetc_counter_t counter = {0};
    gasnetc_rdma_put_bulk(node, dst, src, nbytes, &counter);
    gasnetc_wait(&counter);
}

void gasnete_get(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    if (gasnete_copy_local("gasnet_get", node, dst, src, nbytes)) return;
    gasnetc_counter_t counter = {0};
    gasnetc_rdma_get(node, dst, src, nbytes, &counter);
    gasnetc_wait(&counter);
}

/* ---- explicit handle ------------------------------------------------------------------------- */

gasnet_handle_t gasnete_put_nb(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    if (gasnete_copy_local("gasnet_put_nb", node, dst, src, nbytes)) return GASNET_INVALID_HANDLE;
    gasnete_op_t *op = gasnete_op_new(gasnete_self(), GASNETE_OP_HANDLE);
    gasnetc_rdma_put(node, dst, src, nbytes, &op->counter);
    return op;
}

gasnet_handle_t gasnete_put_nb_bulk(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    if (gasnete_copy_local("gasnet_put_nb_bulk", node, dst, src, nbytes))
        return GASNET_INVALID_HANDLE;
    gasnete_op_t *op = gasnete_op_new(gasnete_self(), GASNETE_OP_HANDLE);
    gasnetc_rdma_put_bulk(node, dst, src, nbytes, &op->counter);
    return op;
}

gasnet_handle_t gasnete_get_nb(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    if (gasnete_copy_local("gasnet_get_nb", node, dst, src, nbytes)) return GASNET_INVALID_HANDLE;
    gasnete_op_t *op = gasnete_op_new(gasnete_self(), GASNETE_OP_HANDLE);
    gasnetc_rdma_get(node, dst, src, nbytes, &op->counter);
    return op;
}

/* ---- implicit handle ------------------------------------------------------------------------- */

void gasnete_put_nbi(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    if (gasnete_copy_local("gasnet_put_nbi", node, dst, src, nbytes)) return;
    gasnetc_rdma_put(node, dst, src, nbytes, gasnete_self()->puts);
}

void gasnete_put_nbi_bulk(gasnet_node_t node, void *dst, void *src, size_t nbytes)
{
    if (gasnete_copy_local("gasnet_put_nbi_bulk", node, dst, src, nbytes)) return;
    gasnetc_rdma_put_bulk(node, dst, src, nbytes, gasnete_self()->puts);
}

void gasnete_get_nbi(void *dst, gasnet_node_t node, void *src, size_t nbytes)
{
    if (gasnete_copy_local("gasnet_get_nbi", node, dst, src, nbytes)) return;
    gasnetc_rdma_get(node, dst, src, nbytes, gasnete_self()->gets);
}
