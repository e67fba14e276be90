/* regions.c - access regions: many implicit operations with one explicit handle.
 *
 * While a region is open, the thread's implicit puts and gets are counted in an operation record of
 * the pool instead of the thread's own sets.  The end of the region returns the record as a handle.
 */
#include "core/report.h"
#include "extended-ref/handles.h"

void gasnete_begin_nbi_accessregion(void)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_begin_nbi_accessregion");
    gasnete_thread_t *me = gasnete_self();
    if (me->region)
        gasneti_fatal("gasnet_begin_nbi_accessregion is called inside an access region; regions "
                      "do not nest: end the first one before");
    me->region = gasnete_op_new(me, GASNETE_OP_HANDLE);
    for (int set = 0; set < GASNETE_SETS; set++) me->implicit[set] = &me->region->counter;
}

gasnet_handle_t gasnete_end_nbi_accessregion(void)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate("gasnet_end_nbi_accessregion");
    gasnete_thread_t *me = gasnete_self();
    gasnete_op_t *op = me->region;
    if (op == NULL)
        gasneti_fatal("gasnet_end_nbi_accessregion is called by a thread that has not called "
                      "gasnet_begin_nbi_accessregion before");
    me->region = NULL;
    gasnete_sets_restore(me);
    if (!gasnetc_counter_done(&op->counter)) return op;
    gasnete_op_free(me, op); /* no operations, or all complete already */
    return GASNET_INVALID_HANDLE;
}
