/* value.c - puts and gets of values of 1 to 8 bytes, passed in registers.
 *
 * The functions that clients reach as gasnet_{put,get}{,_nb,_nbi}_val.  A value travels as the
 * nbytes low-order bytes of the register, in the byte order of the machine, and a get fills the
 * rest with zeros.  A value get in flight keeps its landing place in its operation record.
 */
#include "extended-ref/handles.h"

#include "core/poll.h"
#include "core/rdma.h"
#include "core/report.h"
#include "core/synchronisation.h"

/* Where the nbytes low-order bytes of a register in memory begin. */
static inline void *low_bytes(gasnet_register_value_t *value, size_t nbytes)
{
    if (GASNETC_CHECKING && (nbytes < 1 || nbytes > sizeof *value))
        gasneti_fatal("a value transfer of %zu bytes: must be 1 to %zu", nbytes, sizeof *value);
    size_t skip = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof *value - nbytes : 0;
    return (char *)value + skip;
}

/* ---- puts ------------------------------------------------------------------------------------ */

void gasnete_put_val(gasnet_node_t node, void *dst, gasnet_register_value_t value, size_t nbytes)
{
    gasnete_put(node, dst, low_bytes(&value, nbytes), nbytes);
}

/* The source is the function's own argument, so these must take the forms that free it. */
gasnet_handle_t gasnete_put_nb_val(gasnet_node_t node, void *dst, gasnet_register_value_t value,
                                   size_t nbytes)
{
    void *src = low_bytes(&value, nbytes);
    return gasnetc_frees_source(GASNETC_PUT_NB_VAL) ? gasnete_put_nb(node, dst, src, nbytes)
                                                    : gasnete_put_nb_bulk(node, dst, src, nbytes);
}

void gasnete_put_nbi_val(gasnet_node_t node, void *dst, gasnet_register_value_t value,
                         size_t nbytes)
{
    void *src = low_bytes(&value, nbytes);
    if (gasnetc_frees_source(GASNETC_PUT_NBI_VAL))
        gasnete_put_nbi(node, dst, src, nbytes);
    else
        gasnete_put_nbi_bulk(node, dst, src, nbytes);
}

/* ---- gets ------------------------------------------------------------------------------------ */

gasnet_register_value_t gasnete_get_val(gasnet_node_t node, void *src, size_t nbytes)
{
    gasnet_register_value_t value = 0;
    gasnete_get(low_bytes(&value, nbytes), node, src, nbytes);
    return value;
}

/* Always a record, also when the value is here already: this kind of handle has no invalid one. */
gasnet_valget_handle_t gasnete_get_nb_val(gasnet_node_t node, void *src, size_t nbytes)
{
    gasnete_op_t *op = gasnete_op_new(gasnete_self(), GASNETE_OP_VALGET);
    op->value = 0;
    void *dst = low_bytes(&op->value, nbytes);
    if (!gasnete_copy_local("gasnet_get_nb_val", node, dst, src, nbytes))
        gasnetc_rdma_get(node, dst, src, nbytes, &op->counter);
    return (gasnet_valget_handle_t)op;
}

gasnet_register_value_t gasnete_wait_syncnb_valget(gasnet_valget_handle_t handle)
{
    gasnete_op_t *op = (gasnete_op_t *)handle;
    if (GASNETC_CHECKING) gasnete_check_op(op, GASNETE_OP_VALGET);
    gasnetc_wait(&op->counter);
    gasnet_register_value_t value = op->value;
    gasnete_op_free(gasnete_self(), op);
    return value;
}
