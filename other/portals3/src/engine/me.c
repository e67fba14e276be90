/*
 * me.c - match entries: insert and unlink.
 *
 * Matching skips an ME without MD, so inserting one does not affect published lists; md.c revokes
 * them when it attaches an MD.
 */
#include "other/portals3/src/engine/engine.h"

struct filter {
    ptl_process_id_t match_id;
    ptl_match_bits_t match_bits, ignore_bits;
    ptl_unlink_t unlink;
};

/* Match ids are not checked: any value may be a process that starts later.  */
static int me_add(struct ptli_engine *engine, ptl_pt_index_t pt, const struct filter *filter,
                  struct ptli_me *base, ptl_ins_pos_t pos, ptl_handle_me_t *handle)
{
    struct ptli_me *me;
    if (engine->table[pt].count >= (uint32_t)engine->limits.max_me_list)
        return PTL_ME_LIST_TOO_LONG;
    me = ptli_pool_take(&engine->mes);
    if (!me) return PTL_NO_SPACE;
    me->entry.match_id = filter->match_id;
    me->entry.match_bits = filter->match_bits;
    me->entry.ignore_bits = filter->ignore_bits;
    me->pt_index = pt;
    me->unlink = filter->unlink == PTL_UNLINK;
    ptli_list_add(engine, me, base, pos);
    *handle = me->slot.handle;
    return PTL_OK;
}

int PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt, ptl_process_id_t match_id,
                ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink,
                ptl_ins_pos_t pos, ptl_handle_me_t *me)
{
    const struct filter filter = {match_id, match_bits, ignore_bits, unlink};
    struct ptli_engine *engine;
    int result;
    if (!me) return PTL_SEGV;
    if (!(engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result))) return result;
    if (pt > (ptl_pt_index_t)engine->limits.max_pt_index) return PTL_PT_INDEX_INVALID;
    ptli_lock(engine);
    result = me_add(engine, pt, &filter, NULL, pos, me);
    ptli_unlock(engine);
    return result;
}

/* "Unused" is interpreted as: with an empty list now.  */
int PtlMEAttachAny(ptl_handle_ni_t ni, ptl_pt_index_t *pt, ptl_process_id_t match_id,
                   ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink,
                   ptl_handle_me_t *me)
{
    const struct filter filter = {match_id, match_bits, ignore_bits, unlink};
    struct ptli_engine *engine;
    ptl_pt_index_t i = 0, end;
    int result;
    if (!pt || !me) return PTL_SEGV;
    if (!(engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result))) return result;
    ptli_lock(engine);
    end = (ptl_pt_index_t)engine->limits.max_pt_index + 1;
    while (i < end && engine->table[i].count > 0) i++;
    result = i < end ? me_add(engine, i, &filter, NULL, PTL_INS_AFTER, me) : PTL_PT_FULL;
    if (result == PTL_OK) *pt = i;
    ptli_unlock(engine);
    return result;
}

int PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
                ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t pos,
                ptl_handle_me_t *me)
{
    const struct filter filter = {match_id, match_bits, ignore_bits, unlink};
    struct ptli_engine *engine;
    struct ptli_me *found;
    int result;
    if (!me) return PTL_SEGV;
    if (!(engine = ptli_engine_of(base, PTLI_ME, PTL_ME_INVALID, &result))) return result;
    ptli_lock(engine);
    found = ptli_pool_find(&engine->mes, base);
    result = found ? me_add(engine, found->pt_index, &filter, found, pos, me) : PTL_ME_INVALID;
    ptli_unlock(engine);
    return result;
}

void ptli_me_free(struct ptli_engine *engine, struct ptli_me *me)
{
    ptli_list_remove(engine, me);
    ptli_pool_give(&engine->mes, &me->slot);
}

/* Unlinks the ME and frees its MD, whatever the MD's own unlink argument was. */
int PtlMEUnlink(ptl_handle_me_t handle)
{
    struct ptli_engine *engine;
    struct ptli_me *me;
    int result;
    if (!(engine = ptli_engine_of(handle, PTLI_ME, PTL_ME_INVALID, &result))) return result;
    ptli_lock(engine);
    do {
        me = ptli_pool_find(&engine->mes, handle);
        result = !me ? PTL_ME_INVALID : me->md && me->md->pending ? PTL_ME_IN_USE : PTL_OK;
        if (result != PTL_OK || !me->md || !me->md->published) break;
        if (!ptli_withdraw(engine, me->pt_index, PTLI_WITHDRAW_MS)) result = PTL_ME_IN_USE;
    } while (result == PTL_OK);
    if (result == PTL_OK && me->md && !ptli_fast_shut(engine, me->md)) result = PTL_ME_IN_USE;
    if (result == PTL_OK) {
        if (me->md) {
            ptli_list_changed(engine, me->pt_index);
            me->unlink = true;
            ptli_md_free(engine, me->md);
        } else {
            ptli_me_free(engine, me);
        }
    }
    ptli_unlock(engine);
    return result;
}
