/*
 * inspect.c - calls beyond the standard for debugging and testing: dumps of state, the debug mask,
 * injected failures, explicit progress.
 */
#include <stdio.h>

#include "other/portals3/include/portals3_ext.h"
#include "other/portals3/src/engine/engine.h"

int PtlProgress(ptl_handle_any_t handle, ptl_time_t timeout)
{
    int result;
    struct ptli_engine *engine = ptli_engine_any(handle, PTL_HANDLE_INVALID, &result);
    if (engine) engine->transport->ops->progress(engine->transport, timeout);
    return result;
}

/* All interfaces share the mask.  */
unsigned int PtlNIDebug(ptl_handle_ni_t ni, unsigned int mask)
{
    return atomic_exchange(&ptli_debug, mask);
}

int PtlDeviceText(ptl_handle_ni_t ni, char *text, int size)
{
    int result;
    if (!text || size < 1) return PTL_SEGV;
    struct ptli_engine *engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result);
    if (!engine) return result;
    text[0] = 0;
    struct ptli_transport *transport = engine->transport;
    if (transport->ops->describe) transport->ops->describe(transport, text, (size_t)size);
    return PTL_OK;
}

int PtlFailNid(ptl_handle_ni_t ni, ptl_nid_t nid, unsigned int threshold)
{
    int result;
    struct ptli_engine *engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result);
    if (!engine) return result;
    ptli_lock(engine);
    engine->fail_nid = nid;
    engine->fail_left = threshold;
    ptli_fast_ways(engine);
    ptli_unlock(engine);
    return PTL_OK;
}

static void dump_md(struct ptli_engine *engine, const struct ptli_md *md)
{
    fprintf(
        stderr,
        "      MD %#x: %llu bytes at %p, offset %llu, threshold %d, options %#x, pending %u%s%s\n",
        (unsigned int)md->slot.handle, (unsigned long long)md->rules.length, md->user.start,
        (unsigned long long)md->rules.local_offset, md->rules.threshold, md->user.options,
        (unsigned int)(md->pending + ptli_fast_under_way(engine, md)),
        md->rules.inactive ? ", inactive" : "", md->published ? ", published" : "");
}

static void dump_me(struct ptli_engine *engine, const struct ptli_me *me)
{
    fprintf(stderr, "    ME %#x: bits %#llx ignoring %#llx from process %#x of node %#x%s\n",
            (unsigned int)me->slot.handle, (unsigned long long)me->entry.match_bits,
            (unsigned long long)me->entry.ignore_bits, (unsigned int)me->entry.match_id.pid,
            (unsigned int)me->entry.match_id.nid, me->unlink ? ", goes with its MD" : "");
    if (me->md) dump_md(engine, me->md);
}

int PtlTblDump(ptl_handle_ni_t ni, ptl_pt_index_t pt)
{
    int result;
    struct ptli_engine *engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result);
    if (!engine) return result;
    if (pt > (ptl_pt_index_t)engine->limits.max_pt_index) return PTL_PT_INDEX_INVALID;
    ptli_lock(engine);
    fprintf(stderr, "  table entry %u: %u MEs%s\n", (unsigned int)pt,
            (unsigned int)engine->table[pt].count,
            engine->table[pt].published ? ", published" : "");
    for (struct ptli_entry *entry = engine->table[pt].first; entry; entry = entry->next)
        dump_me(engine, ptli_me_of(entry));
    ptli_unlock(engine);
    return PTL_OK;
}

int PtlMEDump(ptl_handle_me_t handle)
{
    int result;
    struct ptli_engine *engine = ptli_engine_of(handle, PTLI_ME, PTL_ME_INVALID, &result);
    struct ptli_me *me;
    if (!engine) return result;
    ptli_lock(engine);
    me = ptli_pool_find(&engine->mes, handle);
    if (me) dump_me(engine, me);
    ptli_unlock(engine);
    return me ? PTL_OK : PTL_ME_INVALID;
}

int PtlNIEqDump(ptl_handle_ni_t ni)
{
    int result;
    struct ptli_engine *engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result);
    if (!engine) return result;
    ptli_lock(engine);
    for (uint32_t i = 0; i < engine->eqs.made; i++) {
        struct ptli_eq *eq = ptli_pool_at(&engine->eqs, i);
        if (!eq || atomic_load(&eq->slot.handle) == PTL_INVALID_HANDLE) continue;
        fprintf(stderr, "  EQ %#x: room for %llu, %llu posted, %llu taken, %u MDs\n",
                (unsigned int)eq->slot.handle, (unsigned long long)eq->size,
                (unsigned long long)atomic_load(&eq->posted),
                (unsigned long long)atomic_load(&eq->taken), (unsigned int)eq->users);
    }
    ptli_unlock(engine);
    return PTL_OK;
}
