/* short_put.c - takes a short put: judges, matches and copies it, and writes its event.
 *
 * ptli_short_take has a short way for the usual put, and calls another function only at its end, so
 * that nothing has to be kept in memory or saved registers across a call.  That way is for a
 * descriptor that is `brief` and stays active, in the first entry whose bits match.  Whatever else
 * there is changes no state before deliver.c has taken over.  Fields of the header are read where
 * they are used, again if need be.
 */
#include "other/portals3/src/fastpath/short_put.h"

#include "other/base/hot.h"
#include "other/portals3/src/engine/deposit.h"

enum { SHORT_MOST = 256 };

void ptli_short_begin(struct ptli_short_run *run, struct ptli_engine *engine)
{
    ptli_lock(engine);
    *run = (struct ptli_short_run){.engine = engine};
}

/* Makes the events visible, and releases the queue.  */
static void short_show(struct ptli_short_run *run)
{
    struct ptli_eq *eq = run->eq;
    if (!eq) return;
    atomic_store(&eq->posted, run->posted); /* before engine->sleepers is read */
    ptli_eq_news(eq);
    ptli_mutex_unlock(&eq->lock);
    run->eq = NULL;
}

void ptli_short_end(struct ptli_short_run *run)
{
    short_show(run);
    if (atomic_load(&run->engine->sleepers) > 0) ptli_wake_sleepers(run->engine);
    ptli_unlock_up(run->engine);
}

/* Takes the first put of the peer, or a put whose source or target entry differs from that of the
 * put before (ptli_wire_same_whom). */
static bool short_of_another_kind(struct ptli_short_run *run, struct ptli_peer *peer,
                                  const unsigned char *bytes, size_t size)
{
    return ptli_short_admit(run->engine, peer, bytes) && ptli_short_take(run, peer, bytes, size);
}

/* For another descriptor, or for none.  */
static bool short_for_any(struct ptli_short_run *run, struct ptli_peer *peer,
                          const unsigned char *bytes)
{
    short_show(run);
    ptli_short_any(run->engine, peer, bytes);
    return true;
}

static bool short_to_queue(struct ptli_short_run *run, struct ptli_eq *eq, struct ptli_peer *peer,
                           const unsigned char *bytes, size_t size)
{
    short_show(run);
    ptli_mutex_lock(&eq->lock);
    run->eq = eq;
    run->posted = atomic_load_explicit(&eq->posted, memory_order_relaxed);
    return ptli_short_take(run, peer, bytes, size);
}

static bool short_copy(const struct ptli_md *md, const char *data, ptl_size_t offset,
                       ptl_size_t length)
{
    if (length) ptli_store(md->one.base + offset, data, length);
    return true;
}

/* Each field is written as soon as it is read: few registers are needed.  */
HOT void short_log(struct ptli_short_run *run, struct ptli_eq *eq, const struct ptli_md *md,
                   const struct ptli_peer *peer, const unsigned char *bytes,
                   const struct ptli_acceptance *found)
{
    ptl_event_t *event = &eq->ring[run->posted++ & (eq->size - 1)];
    event->initiator = peer->id;
    event->uid = peer->uid;
    event->jid = peer->jid;
    event->pt_index = ptli_wire_32(bytes, PTLI_AT_PT_INDEX);
    event->match_bits = ptli_wire_64(bytes, PTLI_AT_MATCH_BITS);
    event->rlength = ptli_wire_64(bytes, PTLI_AT_LENGTH);
    event->mlength = found->mlength;
    event->offset = found->offset;
    event->hdr_data = ptli_wire_64(bytes, PTLI_AT_HDR_DATA);
    event->link = run->engine->next_link++;
    event->ni_fail_type = PTL_NI_OK;
    ptli_write_event_of(event, md, PTL_EVENT_PUT_END, eq->sequence++);
}

bool ptli_short_take(struct ptli_short_run *run, struct ptli_peer *peer, const unsigned char *bytes,
                     size_t size)
{
    struct ptli_acceptance found;
    const ptl_size_t length = size - PTLI_WIRE_SIZE;
    if (length > SHORT_MOST || ptli_wire_64(bytes, PTLI_AT_LENGTH) != length ||
        ptli_wire_32(bytes, PTLI_AT_DATA_LENGTH) != length)
        return false;
    struct ptli_table_entry *list = peer->admitted_to;
    if (!list || !ptli_wire_same_whom(bytes, peer->admitted))
        return short_of_another_kind(run, peer, bytes, size);
    found.entry = ptli_matching(list->first, ptli_wire_64(bytes, PTLI_AT_MATCH_BITS));
    if (!found.entry || !found.entry->rules) return short_for_any(run, peer, bytes);
    struct ptli_md *md = ptli_md_of(found.entry->rules);
    if (!md->brief || !ptli_id_fits_soon(found.entry->match_id, peer->id) ||
        !ptli_rules_fit(&md->rules, ptli_wire_64(bytes, PTLI_AT_REMOTE_OFFSET), length,
                        &found.offset, &found.mlength))
        return short_for_any(run, peer, bytes);
    struct ptli_eq *eq = md->eq;
    if (run->eq != eq) return short_to_queue(run, eq, peer, bytes, size);
    if (!(md->rules.options & PTL_MD_MANAGE_REMOTE)) {
        const ptl_size_t local_offset = found.offset + found.mlength;
        if (ptli_rules_exhausted(&md->rules, local_offset)) return short_for_any(run, peer, bytes);
        md->rules.local_offset = local_offset;
    }
    list->quiet++;
    run->engine->recv_count++;
    run->engine->recv_length += found.mlength;
    short_log(run, eq, md, peer, bytes, &found);
    /* The event is not visible yet.  */
    const char *data = (const char *)bytes + PTLI_WIRE_SIZE;
    if (found.mlength != sizeof(uint64_t)) return short_copy(md, data, found.offset, found.mlength);
    ptli_store(md->one.base + found.offset, data, sizeof(uint64_t));
    return true;
}
