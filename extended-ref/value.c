/* value.c - puts and gets of values of 1 to 8 bytes, passed in registers.
 *
 * Implements gasnet_{put,get}{,_nb,_nbi}_val.  A value is the nbytes low-order bytes of the
 * register, in the byte order of the machine; a get fills the rest with zeros.  The destination of
 * a value get is its own record, which is registered, so the value is not copied (IB-W1).
 */
#include "core/job/progress.h"
#include "core/rdma/synchronisation.h"
#include "core/report.h"
#include "extended-ref/handles.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/shm_transfer.h"
#include "extended-ref/transfer.h"

void gasnete_bad_value(const char *call, size_t nbytes)
{
    gasneti_fatal("%s of %zu bytes: a value has 1 to %zu", call, nbytes,
                  sizeof(gasnet_register_value_t));
}

/* The address may be of any segment of the node: the calls of GASNet-EX have checked which. */
static void value_check(const char *call, gasnet_node_t node, const void *start, size_t nbytes)
{
    if (!GASNETC_CHECKING) return;
    gasnete_check_transfer(call, node);
    gasnete_check_segment(node, start, nbytes, call);
}

/* --- puts --- */

void gasnete_put_val(gasnet_node_t node, void *dst, gasnet_register_value_t value, size_t nbytes)
{
    value_check("gasnet_put_val", node, dst, nbytes);
    gasnete_put(node, dst, gasneti_low_bytes(&value, nbytes), nbytes);
}

/* Non-blocking puts of values use the forms whose source may be reused on return, since the source
 * is an argument.  */
gasnet_handle_t gasnete_put_nb_val(gasnet_node_t node, void *dst, gasnet_register_value_t value,
                                   size_t nbytes)
{
    value_check("gasnet_put_nb_val", node, dst, nbytes);
    void *src = gasneti_low_bytes(&value, nbytes);
    return gasnetc_frees_source(GASNETC_PUT_NB_VAL) ? gasnete_put_nb(node, dst, src, nbytes)
                                                    : gasnete_put_nb_bulk(node, dst, src, nbytes);
}

void gasnete_put_nbi_val(gasnet_node_t node, void *dst, gasnet_register_value_t value,
                         size_t nbytes)
{
    value_check("gasnet_put_nbi_val", node, dst, nbytes);
    void *src = gasneti_low_bytes(&value, nbytes);
    if (gasnetc_frees_source(GASNETC_PUT_NBI_VAL))
        gasnete_put_nbi(node, dst, src, nbytes);
    else
        gasnete_put_nbi_bulk(node, dst, src, nbytes);
}

/* --- gets --- */

typedef struct value_get {
    gasnete_op_t op; /* first */
    gasnet_register_value_t value;
    const struct net_region *destination; /* NULL if registration failed */
} value_get_t;

static __attribute__((cold)) void value_grow(gasnete_thread_t *me)
{
    static gasnete_reserve_t reserve = {.size = sizeof(value_get_t)};
    uint32_t count;
    value_get_t *gets = gasnete_pool_refill(&me->values, &reserve, &count);
    if (!gets) return;
    const struct net_region *destination = gasnete_destination(gets, count * sizeof *gets);
    while (count-- > 0) {
        gets[count].destination = destination;
        gasnete_op_push(&me->values, &gets[count].op);
    }
}

/* Always returns a record, also if the value is in local memory: gasnet_valget_handle_t has no
 * invalid value.
 */
static gasnet_valget_handle_t value_start_get(gasnet_node_t node, void *src, size_t nbytes)
{
    gasnete_thread_t *me = gasnete_self();
    if (me->values.free == NULL) value_grow(me);
    value_get_t *get = (value_get_t *)(void *)gasnete_op_pop(&me->values, GASNETE_OP_VALGET);
    get->value = 0;
    void *dst = gasneti_low_bytes(&get->value, nbytes);
    if (!gasnete_shm_get("gasnet_get_nb_val", dst, node, src, nbytes) &&
        !gasnete_copy_local("gasnet_get_nb_val", node, dst, src, nbytes))
        gasnete_transfer_get_into(node, dst, get->destination, src, nbytes, &get->op.counter);
    return (gasnet_valget_handle_t)get;
}

gasnet_valget_handle_t gasnete_get_nb_val(gasnet_node_t node, void *src, size_t nbytes)
{
    value_check("gasnet_get_nb_val", node, src, nbytes);
    return value_start_get(node, src, nbytes);
}

gasnet_register_value_t gasnete_wait_syncnb_valget(gasnet_valget_handle_t handle)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_wait_syncnb_valget");
    value_get_t *get = (value_get_t *)handle;
    if (GASNETC_CHECKING) gasnete_check_op(&get->op, GASNETE_OP_VALGET);
    gasnete_thread_t *me = gasnete_self();
    gasnetc_wait(&get->op.counter);
    gasnete_op_push(&me->values, &get->op);
    return get->value;
}

gasnet_register_value_t gasnete_get_val(gasnet_node_t node, void *src, size_t nbytes)
{
    value_check("gasnet_get_val", node, src, nbytes);
    gasnet_register_value_t value = 0;
    if (gasnete_shm_get("gasnet_get_val", gasneti_low_bytes(&value, nbytes), node, src, nbytes))
        return value;
    return gasnete_wait_syncnb_valget(value_start_get(node, src, nbytes));
}
