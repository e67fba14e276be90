/*
 * access.c - the access table: which processes may access which table entries.
 *
 * Initially every entry admits all processes of the same user to every table entry, as in the
 * reference library; no value admits no process.  The user id is the one that the peer sent when
 * it connected.
 */
#include "other/portals3/src/engine/engine.h"

/* Marks that the access table has changed, after which a process admitted before may be refused. */
static void access_changed(struct ptli_engine *engine)
{
    if (++engine->access_state == 0) engine->access_state = 1;
}

void ptli_access_reset(struct ptli_engine *engine)
{
    access_changed(engine);
    for (int i = 0; i < PTLI_ACCESS_SIZE; i++)
        engine->access[i] = (struct ptli_access){.match_id = {PTL_NID_ANY, PTL_PID_ANY},
                                                 .uid = engine->transport->uid,
                                                 .jid = PTL_JID_ANY,
                                                 .pt_index = PTL_PT_INDEX_ANY};
}

/* A published list contains the access entries that admit its peer, so all lists are revoked before
 * a change.  */
static bool withdraw_all(struct ptli_engine *engine)
{
    for (ptl_pt_index_t pt = 0; pt < PTLI_TABLE_SIZE; pt++)
        if (!ptli_withdraw(engine, pt, PTLI_WITHDRAW_MS)) return false;
    for (ptl_pt_index_t pt = 0; pt < PTLI_TABLE_SIZE; pt++)
        if (engine->table[pt].published) return withdraw_all(engine);
    return true;
}

int PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t ac, ptl_process_id_t match_id, ptl_uid_t uid,
               ptl_jid_t jid, ptl_pt_index_t pt)
{
    int error;
    struct ptli_engine *engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &error);
    if (!engine) return error;
    if (ac > (ptl_ac_index_t)engine->limits.max_ac_index) return PTL_AC_INDEX_INVALID;
    if (pt != PTL_PT_INDEX_ANY && pt > (ptl_pt_index_t)engine->limits.max_pt_index)
        return PTL_PT_INDEX_INVALID;
    ptli_lock(engine);
    error = withdraw_all(engine) ? PTL_OK : PTL_FAIL;
    if (error == PTL_OK) {
        access_changed(engine);
        engine->access[ac] =
            (struct ptli_access){.match_id = match_id, .uid = uid, .jid = jid, .pt_index = pt};
    }
    ptli_unlock(engine);
    return error;
}
