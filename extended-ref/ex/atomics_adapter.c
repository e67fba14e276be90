/* atomics_adapter.c - domains whose operations the adapter executes, not a processor.
 *
 * An adapter is atomic with respect to itself alone, unless it says otherwise.  So all accesses of
 * such a domain go through it, also those to memory of this rank or of one that shares memory with
 * it.  The domain's operations are those that an adapter has, which are two, on 64 bits.
 */
#include "core/job/rank.h"
#include "core/log.h"
#include "core/report.h"
#include "core/trace/trace.h"
#include "extended-ref/ex/atomics.h"
#include "extended-ref/handles.h"
#include "extended-ref/transfer.h"
#include "other/base/hot.h"

/* The operations on a type that two of the adapter, fetch-and-add and compare-and-swap, can do. */
static gex_OP_t adapter_ops(gex_DT_t dt)
{
    const gex_OP_t bits = GEX_OP_CAS | GEX_OP_FCAS | GEX_OP_GET,
                   sums = GEX_OP_ADD | GEX_OP_SUB | GEX_OP_INC | GEX_OP_DEC;
    if (dt == GEX_DT_I64 || dt == GEX_DT_U64) return bits | sums | GEX_OP_TO_FETCHING(sums);
    return dt == GEX_DT_DBL ? bits : 0;
}

enum gasnete_atomics_by gasnete_atomics_by(gex_DT_t dt, gex_OP_t ops, gex_Flags_t favors)
{
    bool global;
    if (favors & (GEX_FLAG_AD_FAVOR_MY_RANK | GEX_FLAG_AD_FAVOR_MY_NBRHD) ||
        !gasnete_transfer_atomics(favors & GEX_FLAG_AD_FAVOR_REMOTE, &global))
        return GASNETE_BY_PROCESSORS;
    const gex_OP_t others = ops & ~adapter_ops(dt);
    gasneti_debug(network,
                  "a domain of atomics of type 0x%x: the operations 0x%x are executed by %s%s", dt,
                  ops, others ? "processors" : "the adapter",
                  !others && global ? ", or a processor that maps the memory" : "");
    if (others) return GASNETE_BY_PROCESSORS;
    return global ? GASNETE_BY_BOTH : GASNETE_BY_ADAPTER;
}

/* The adapter's own complaint would not tell what is wrong. */
static void adapter_check(gex_Rank_t node, const void *addr)
{
    if (node >= gasnetc_job.size) gasnetc_no_such_rank("gex_AD_Op", node);
    if ((uintptr_t)addr % sizeof(uint64_t))
        gasneti_fatal("an atomic operation on %s at %p, which is not aligned to 8 bytes",
                      gasneti_rank_name(node), addr);
}

HOT void adapter_start(gasnetc_counter_t *counter, void *result, gex_Rank_t node, void *addr,
                       gex_OP_t op, uint64_t operand1, uint64_t operand2)
{
    uint64_t addend = operand1;
    adapter_check(node, addr);
    switch (op) {
    case GEX_OP_CAS:
        result = NULL;
        /* fall through */
    case GEX_OP_FCAS:
        gasnete_transfer_compare_swap(node, addr, operand1, operand2, result, counter);
        return;
    case GEX_OP_INC:
    case GEX_OP_FINC:
        addend = 1;
        break;
    case GEX_OP_DEC:
    case GEX_OP_FDEC:
        addend = UINT64_MAX;
        break;
    case GEX_OP_SUB:
    case GEX_OP_FSUB:
        addend = -operand1;
        break;
    case GEX_OP_GET:
        addend = 0;
        break;
    default: /* an addition */
        break;
    }
    gasnete_transfer_fetch_add(node, addr, addend, gasnete_op_fetches(op) ? result : NULL, counter);
}

/* An operation by a processor, where that is right: true, and it is done. */
HOT bool adapter_spared(gex_AD_t ad, void *result, gex_Rank_t node, void *addr, gex_OP_t op,
                        uint64_t operand1, uint64_t operand2)
{
    void *const at = ad->by == GASNETE_BY_BOTH ? gasnete_atomic_at(ad->dt, node, addr) : NULL;
    if (at) (void)GASNETE_KERNEL(ad->dt, op)(at, result, operand1, operand2);
    return at;
}

/* Before a release.  An acquire needs nothing: its completion is one. */
static void adapter_order(gex_Flags_t flags)
{
    if (flags & GEX_FLAG_AD_REL) gasneti_local_wmb();
}

gex_Event_t gasnete_adapter_nb(gex_AD_t ad, void *result, gex_Rank_t node, void *addr, gex_OP_t op,
                               uint64_t operand1, uint64_t operand2, gex_Flags_t flags)
{
    const uint64_t began = gasneti_trace_begin();
    if (adapter_spared(ad, result, node, addr, op, operand1, operand2)) {
        gasnete_atomic_trace(began, ad->dt, node);
        return GEX_EVENT_INVALID;
    }
    gasnete_op_t *record = gasnete_op_new(gasnete_self(), GASNETE_OP_HANDLE);
    adapter_order(flags);
    adapter_start(&record->counter, result, node, addr, op, operand1, operand2);
    gasnete_atomic_trace(began, ad->dt, node);
    return record;
}

int gasnete_adapter_nbi(gex_AD_t ad, void *result, gex_Rank_t node, void *addr, gex_OP_t op,
                        uint64_t operand1, uint64_t operand2, gex_Flags_t flags)
{
    const enum gasnete_set set = op == GEX_OP_GET ? GASNETE_GETS : GASNETE_ATOMICS;
    const uint64_t began = gasneti_trace_begin();
    if (adapter_spared(ad, result, node, addr, op, operand1, operand2)) {
        gasnete_atomic_trace(began, ad->dt, node);
        return 0;
    }
    adapter_order(flags);
    adapter_start(gasnete_self()->implicit[set], result, node, addr, op, operand1, operand2);
    gasnete_atomic_trace(began, ad->dt, node);
    return 0;
}
