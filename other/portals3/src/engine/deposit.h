/*
 * deposit.h - writes the fields of an event.
 *
 * Included by eq.c and short_put.c.  With the engine's lock held, so an event is visible only when
 * its operation is no longer pending, and with the queue's lock.
 */
#ifndef PTLI_DEPOSIT_H
#define PTLI_DEPOSIT_H

#include "other/portals3/src/engine/engine.h"

/* Writes the fields that describe the descriptor, in its state just after the operation, and those
 * of the queue. */
static inline void ptli_write_event_of(ptl_event_t *event, const struct ptli_md *md,
                                       ptl_event_kind_t kind, ptl_seq_t sequence)
{
    event->type = kind;
    event->md_handle = md->slot.handle;
    event->md = md->user;
    event->md.threshold = md->rules.threshold;
    event->unlinked = kind == PTL_EVENT_UNLINK;
    event->sequence = sequence;
}

static inline void ptli_write_event(ptl_event_t *event, const struct ptli_md *md,
                                    ptl_event_kind_t kind, const struct ptli_event_info *info,
                                    ptl_seq_t sequence)
{
    event->initiator = info->initiator;
    event->uid = info->uid;
    event->jid = info->jid;
    event->pt_index = info->pt_index;
    event->match_bits = info->match_bits;
    event->rlength = info->rlength;
    event->mlength = info->mlength;
    event->offset = info->offset;
    event->hdr_data = info->hdr_data;
    event->link = info->link;
    event->ni_fail_type = info->fail;
    ptli_write_event_of(event, md, kind, sequence);
}

#endif
