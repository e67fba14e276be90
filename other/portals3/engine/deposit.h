/*
 * deposit.h - depositing events in their queue: which a descriptor wants, and what is in them.
 *
 * Included by eq.c, and by deliver.c, where an event's kind is a constant and its contents are in
 * registers.  With the engine's lock held, so an event is visible only when its operation is no
 * longer pending.
 */
#ifndef PTLI_DEPOSIT_H
#define PTLI_DEPOSIT_H

#include "other/portals3/engine/engine.h"
#include "other/tools/hot.h"

/* The slot of the next event of a queue with a ring; ptli_show_event makes the event visible.  With
 * eq->lock.  */
static inline ptl_event_t *ptli_next_event(const struct ptli_eq *eq)
{
    return &eq->ring[atomic_load_explicit(&eq->posted, memory_order_relaxed) & (eq->size - 1)];
}

static inline void ptli_show_event(struct ptli_eq *eq)
{
    uint64_t posted = atomic_load_explicit(&eq->posted, memory_order_relaxed);
    atomic_store(&eq->posted, posted + 1); /* before engine->sleepers is read */
    ptli_eq_news(eq);
}

static inline bool ptli_event_wanted(const struct ptli_md *md, ptl_event_kind_t kind)
{
    if (!md->eq) return false;
    switch (kind) {
    case PTL_EVENT_GET_START:
    case PTL_EVENT_PUT_START:
    case PTL_EVENT_GETPUT_START:
    case PTL_EVENT_REPLY_START:
    case PTL_EVENT_SEND_START:
        return !(md->user.options & PTL_MD_EVENT_START_DISABLE);
    /* Disabled END events are not logged for failures either. */
    case PTL_EVENT_GET_END:
    case PTL_EVENT_PUT_END:
    case PTL_EVENT_GETPUT_END:
    case PTL_EVENT_REPLY_END:
    case PTL_EVENT_SEND_END:
        return !(md->user.options & PTL_MD_EVENT_END_DISABLE);
    /* No option disables these.  */
    case PTL_EVENT_ACK:
    case PTL_EVENT_UNLINK:
        return true;
    }
    return false;
}

static inline void ptli_write_event(ptl_event_t *event, const struct ptli_md *md,
                                    ptl_event_kind_t kind, const struct ptli_event_info *info,
                                    ptl_seq_t sequence)
{
    event->type = kind;
    event->initiator = info->initiator;
    event->uid = info->uid;
    event->jid = info->jid;
    event->pt_index = info->pt_index;
    event->match_bits = info->match_bits;
    event->rlength = info->rlength;
    event->mlength = info->mlength;
    event->offset = info->offset;
    event->md_handle = md->slot.handle;
    event->md = md->user;
    event->md.threshold = md->rules.threshold;
    event->hdr_data = info->hdr_data;
    event->link = info->link;
    event->ni_fail_type = info->fail;
    event->unlinked = kind == PTL_EVENT_UNLINK;
    event->sequence = sequence;
}

/* Stores the event for the queue's handler, with eq->lock.  False: out of memory.  */
bool ptli_stage(struct ptli_engine *engine, struct ptli_eq *eq, const struct ptli_md *md,
                ptl_event_kind_t kind, const struct ptli_event_info *info, ptl_seq_t sequence);

/* The body of ptli_log.  A copy is staged, so that `info` can stay in registers elsewhere.  */
HOT void ptli_deposit(struct ptli_engine *engine, struct ptli_md *md, ptl_event_kind_t kind,
                      const struct ptli_event_info *info)
{
    struct ptli_eq *eq = md->eq;
    bool staged = false;
    if (!ptli_event_wanted(md, kind)) return;
    ptli_mutex_lock(&eq->lock);
    const ptl_seq_t sequence = eq->sequence++;
    if (__builtin_expect(eq->handler != NULL, 0)) {
        const struct ptli_event_info copy = *info;
        staged = ptli_stage(engine, eq, md, kind, &copy, sequence);
    }
    if (!staged && eq->size) {
        ptli_write_event(ptli_next_event(eq), md, kind, info, sequence);
        ptli_show_event(eq);
    }
    ptli_mutex_unlock(&eq->lock);
    if (__builtin_expect(atomic_load(&engine->sleepers) > 0, 0)) ptli_ring_bell(engine);
}

#endif
