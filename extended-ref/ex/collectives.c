/* collectives.c - the collectives of GASNet-EX: calls of the engine (coll/op.h) whose completion
 * counts in the record of an event.  */
#include <string.h>

#include "core/am/context.h"
#include "core/report.h"
#include "extended-ref/coll/op.h"
#include "extended-ref/ex/kernels.h"
#include "extended-ref/ex/objects.h"
#include "extended-ref/handles.h"
#include "extended-ref/progress.h"
#include "gasnet.h"

/* The engine's team of `tm`. */
static gasnete_team_t *collectives_team(const char *call, gex_TM_t tm, gex_Rank_t root)
{
    if (GASNETC_CHECKING) gasnetc_check_may_communicate(call);
    if (!tm || (GASNETC_CHECKING && !gasnete_is_team(tm)) || !tm->engine)
        gasneti_fatal("%s is given %p, which is no team", call, (void *)tm);
    if (root >= tm->size)
        gasneti_fatal("%s is called with root %u: the team has %u ranks", call, root, tm->size);
    atomic_store_explicit(&gasnete_coll_progress_hook, gasnete_coll_work, memory_order_release);
    return tm->engine;
}

static gex_Event_t collectives_begin(gasnete_coll_call_t *call)
{
    gasnete_thread_t *me = gasnete_self();
    gasnete_op_t *op = gasnete_op_new(me, GASNETE_OP_HANDLE);
    op->counter.issued++;
    call->counter = &op->counter;
    const uint64_t began = gasneti_trace_begin();
    gasnete_coll_begin(call, 0, NULL, false);
    gasnete_coll_trace(began, call);
    if (!gasnetc_counter_done(&op->counter)) return op;
    gasnete_op_free(me, op);
    return GEX_EVENT_INVALID;
}

gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t flags)
{
    (void)flags;
    return collectives_begin(&(gasnete_coll_call_t){
        .name = __func__, .team = collectives_team(__func__, tm, 0), .kind = GASNETE_COLL_BARRIER});
}

void gex_Coll_BarrierBlocking(gex_TM_t tm, gex_Flags_t flags)
{
    gex_Event_Wait(gex_Coll_BarrierNB(tm, flags));
}

gex_Event_t gex_Coll_BroadcastNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                                 size_t nbytes, gex_Flags_t flags)
{
    (void)flags;
    gasnete_team_t *team = collectives_team(__func__, tm, root);
    if (team->rank == root && dst != src && nbytes) memcpy(dst, src, nbytes);
    return collectives_begin(&(gasnete_coll_call_t){.name = __func__,
                                                    .team = team,
                                                    .kind = GASNETE_COLL_BROADCAST,
                                                    .root = root,
                                                    .nbytes = nbytes,
                                                    .dst = dst,
                                                    .src = dst});
}

static gex_Event_t collectives_reduce(const char *name, gex_TM_t tm, gex_Rank_t root,
                                      enum gasnete_coll_kind kind, void *dst, const void *src,
                                      gex_DT_t dt, size_t dt_sz, size_t dt_cnt, gex_OP_t op,
                                      gex_Coll_ReduceFn_t user_op, void *user_cdata)
{
    gasnete_coll_call_t call = {.name = name,
                                .team = collectives_team(name, tm, root),
                                .kind = kind,
                                .in_order = op == GEX_OP_USER_NC,
                                .root = root,
                                .unit = dt_sz,
                                .function = (gasnet_coll_fn_handle_t)op,
                                .argument = (int)dt,
                                .dst = dst,
                                .src = (void *)(uintptr_t)src};
    size_t size;
    if (op == GEX_OP_USER || op == GEX_OP_USER_NC) {
        call.user = user_op;
        call.cdata = user_cdata;
    } else {
        call.kernel = gasnete_kernel(dt, op, &size);
        if (!call.kernel || size != dt_sz)
            gasneti_fatal("%s is called with operation 0x%x for type 0x%x of %zu bytes, which have "
                          "no such operation or size",
                          name, op, dt, dt_sz);
    }
    if (!call.user && !call.kernel) gasneti_fatal("%s is given a NULL function", name);
    if (dt_sz == 0 || __builtin_mul_overflow(dt_sz, dt_cnt, &call.nbytes))
        gasneti_fatal("%s is called with %zu elements of %zu bytes", name, dt_cnt, dt_sz);
    return collectives_begin(&call);
}

gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                                   gex_DT_t dt, size_t dt_sz, size_t dt_cnt, gex_OP_t op,
                                   gex_Coll_ReduceFn_t user_op, void *user_cdata, gex_Flags_t flags)
{
    (void)flags;
    return collectives_reduce(__func__, tm, root, GASNETE_COLL_REDUCE, dst, src, dt, dt_sz, dt_cnt,
                              op, user_op, user_cdata);
}

gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt,
                                   size_t dt_sz, size_t dt_cnt, gex_OP_t op,
                                   gex_Coll_ReduceFn_t user_op, void *user_cdata, gex_Flags_t flags)
{
    (void)flags;
    return collectives_reduce(__func__, tm, 0, GASNETE_COLL_REDUCE_ALL, dst, src, dt, dt_sz, dt_cnt,
                              op, user_op, user_cdata);
}

void gasnete_coll_gather_bytes(const char *call, gex_TM_t tm, void *all, const void *mine,
                               size_t nbytes)
{
    gex_Event_Wait(collectives_begin(&(gasnete_coll_call_t){.name = call,
                                                            .team = collectives_team(call, tm, 0),
                                                            .kind = GASNETE_COLL_GATHER_ALL,
                                                            .nbytes = nbytes,
                                                            .dst = all,
                                                            .src = (void *)(uintptr_t)mine}));
}
