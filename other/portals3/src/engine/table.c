/*
 * table.c - the lists of the Portal table, and the revocation of published lists.
 *
 * Called by me.c, md.c and access.c with the engine's lock.
 */
#include "other/portals3/src/engine/engine.h"

void ptli_list_add(struct ptli_engine *engine, struct ptli_me *me, struct ptli_me *base,
                   ptl_ins_pos_t pos)
{
    struct ptli_table_entry *list = &engine->table[me->pt_index];
    struct ptli_entry *after; /* NULL: at the head */
    if (base)
        after = pos == PTL_INS_BEFORE ? base->entry.previous : &base->entry;
    else
        after = pos == PTL_INS_BEFORE ? NULL : list->last;
    me->entry.previous = after;
    me->entry.next = after ? after->next : list->first;
    *(me->entry.next ? &me->entry.next->previous : &list->last) = &me->entry;
    *(after ? &after->next : &list->first) = &me->entry;
    if (list->count++ == 0 && ++engine->tables_used > engine->tables_most)
        engine->tables_most = engine->tables_used;
}

void ptli_list_remove(struct ptli_engine *engine, struct ptli_me *me)
{
    struct ptli_table_entry *list = &engine->table[me->pt_index];
    struct ptli_entry *entry = &me->entry;
    *(entry->next ? &entry->next->previous : &list->last) = entry->previous;
    *(entry->previous ? &entry->previous->next : &list->first) = entry->next;
    if (--list->count == 0) engine->tables_used--;
}

void ptli_list_changed(struct ptli_engine *engine, ptl_pt_index_t pt)
{
    engine->table[pt].epoch++;
    engine->table[pt].quiet = 0;
}

bool ptli_withdraw(struct ptli_engine *engine, ptl_pt_index_t pt, ptl_time_t timeout)
{
    struct ptli_table_entry *list = &engine->table[pt];
    struct ptli_transport *transport = engine->transport;
    bool free = true;
    if (!list->published) return true;
    list->changing++; /* prevents new publication meanwhile */
    ptli_mutex_unlock(&engine->lock);
    free = transport->ops->revoke(transport, pt, timeout);
    ptli_lock(engine);
    list->changing--;
    if (!free) return false;
    list->published = false;
    for (struct ptli_entry *entry = list->first; entry; entry = entry->next) {
        struct ptli_me *me = ptli_me_of(entry);
        if (me->md) me->md->published = false;
    }
    return true;
}
