/*
 * publish.c - builds the list of match entries that a peer may access by RDMA.
 *
 * Called by the transport (verbs_list_lease.c) when a peer asks.  An entry is open if the result of
 * a match is fixed and no event is logged.  A change of such an entry must revoke the list first
 * (me.c, md.c, access.c).
 */
#include <stdio.h>

#include "other/portals3/include/portals3_ext.h"
#include "other/portals3/src/engine/engine.h"

/* Requests since the last change of a list before it is published: a list that changes often would
 * be revoked often.  */
enum { QUIET_ENOUGH = 8 };

static bool is_open(const struct ptli_md *md)
{
    const unsigned int options = md->user.options;
    const unsigned int silent = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
    return !md->rules.inactive && md->rules.threshold == PTL_MD_THRESH_INF &&
           (options & PTL_MD_MANAGE_REMOTE) && (options & (PTL_MD_OP_PUT | PTL_MD_OP_GET)) &&
           md->count == 1 && md->pieces[0].region && (!md->eq || (options & silent) == silent);
}

static uint32_t publish_admitted(const struct ptli_engine *engine, const struct ptli_peer *peer,
                                 ptl_pt_index_t pt)
{
    uint32_t access = 0;
    for (ptl_ac_index_t i = 0; i <= (ptl_ac_index_t)engine->limits.max_ac_index; i++)
        if (ptli_access_fits(engine, i, peer->id, peer->uid, peer->jid, pt))
            access |= (uint32_t)1 << i;
    return access;
}

static void publish_describe(struct ptli_published_entry *entry, const struct ptli_entry *me,
                             const struct ptli_md *md, uint32_t access)
{
    const unsigned int options = md->user.options;
    *entry =
        (struct ptli_published_entry){.match_bits = me->match_bits, .ignore_bits = me->ignore_bits};
    if (!is_open(md)) return;
    entry->flags = PTLI_PUBLISHED_OPEN | (options & PTL_MD_OP_PUT ? PTLI_PUBLISHED_PUT : 0) |
                   (options & PTL_MD_OP_GET ? PTLI_PUBLISHED_GET : 0) |
                   (options & PTL_MD_ACK_DISABLE ? PTLI_PUBLISHED_NO_ACK : 0);
    entry->address = (uintptr_t)md->pieces[0].base;
    entry->length = md->rules.length;
    entry->key = md->pieces[0].region->key;
    entry->access = access;
}

/* Returns the number of open entries.  */
static uint32_t publish_build(struct ptli_engine *engine, const struct ptli_peer *peer,
                              ptl_pt_index_t pt, struct ptli_published *list)
{
    uint32_t access = publish_admitted(engine, peer, pt), open = 0;
    *list = (struct ptli_published){.pt_index = pt, .epoch = engine->table[pt].epoch};
    for (struct ptli_entry *entry = engine->table[pt].first;
         entry && list->count < PTLI_PUBLISHED_MAX; entry = entry->next) {
        struct ptli_md *md = ptli_me_of(entry)->md;
        if (!md || !ptli_id_fits(entry->match_id, peer->id)) continue;
        publish_describe(&list->entries[list->count], entry, md, access);
        if (list->entries[list->count++].flags & PTLI_PUBLISHED_OPEN) {
            md->published = true;
            open++;
        }
    }
    return open;
}

size_t ptli_publish(struct ptli_engine *engine, struct ptli_peer *peer, ptl_pt_index_t pt,
                    unsigned char bytes[PTLI_PUBLISHED_BYTES])
{
    struct ptli_published list;
    size_t size = 0;
    if (pt > (ptl_pt_index_t)engine->limits.max_pt_index) return 0;
    ptli_lock(engine);
    if (engine->table[pt].changing == 0 && engine->table[pt].quiet >= QUIET_ENOUGH &&
        publish_build(engine, peer, pt, &list) > 0) {
        engine->table[pt].published = true;
        size = ptli_published_encode(&list, bytes);
    }
    ptli_unlock_up(engine);
    if (size > 0 && ptli_debug & PTL_DEBUG_FAST)
        fprintf(stderr, "libportals: table entry %u published to process %u of node %#x\n",
                (unsigned int)pt, (unsigned int)peer->id.pid, (unsigned int)peer->id.nid);
    return size;
}
