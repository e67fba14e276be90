/* am_send.h - parts of am_send.c that lent.c uses too.  */
#pragma once

#include <string.h>

#include "core/am/am.h"
#include "core/am/am_wire.h"
#include "core/am/flow.h"
#include "core/rdma/bounce.h"
#include "core/shm/messages.h"
#include "other/base/hot.h"

/* Writes head, address and arguments at `bytes`; returns the address of the payload. */
HOT char *write_prefix(char *bytes, const gasnetc_outgoing_t *am, bool request, uint8_t flags)
{
    gasnetc_am_header_t header = {.head = gasnetc_am_head((enum gasnetc_am_category)am->category,
                                                          request, (unsigned)am->numargs),
                                  .handler = am->handler,
                                  .flags = flags,
                                  .nbytes = (uint32_t)am->nbytes};
    memcpy(bytes, &header, sizeof header);
    char *p = bytes + sizeof header;
    if (am->category == GASNETC_AM_LONG) {
        uint64_t dst = (uintptr_t)am->dst;
        memcpy(p, &dst, sizeof dst);
        p += sizeof dst;
    }
    int32_t *args = (int32_t *)(void *)p;
    for (int i = 0; i < am->numargs; i++) args[i] = am->args[i];
    /* Padding is sent too, and must not contain other bytes of this process. */
    if (am->numargs & 1) args[am->numargs] = 0;
    return p + gasnetc_am_args_size((unsigned)am->numargs);
}

HOT void count_sent(gasnetc_peer_counts_t *counts, const gasnetc_outgoing_t *am,
                    enum flow_kind kind, bool in_bbuf)
{
    if (in_bbuf) counts->am_bounced++;
    if (kind == FLOW_HIDDEN_REPLY) {
        counts->hidden_replies++;
        return;
    }
    switch (am->category) {
    case GASNETC_AM_SHORT:
        ++*(kind == FLOW_REQUEST ? &counts->requests_short : &counts->replies_short);
        return;
    case GASNETC_AM_MEDIUM:
        ++*(kind == FLOW_REQUEST ? &counts->requests_medium : &counts->replies_medium);
        break;
    case GASNETC_AM_LONG:
        ++*(kind == FLOW_REQUEST ? &counts->requests_long : &counts->replies_long);
        break;
    }
    counts->am_bytes += am->nbytes;
}

/* Takes the credit of a message, before it is written; false: no credit is left now, or the peer is
 * being connected.  flow_not_sent undoes it. */
HOT bool take_credit(gasnetc_peer_t *peer, enum flow_kind kind, flow_message_t *flow)
{
    gasneti_lock(&peer->lock);
    *flow = flow_begin(peer, kind);
    const bool taken = net_ready(&peer->net) && flow_may_send(peer, flow);
    gasneti_unlock(&peer->lock);
    return taken;
}

/* Tries to post a message that has its credit. */
HOT bool post_with_credit(gasnetc_peer_t *peer, const gasnetc_outgoing_t *am, char *bytes,
                          size_t length, bool in_bbuf, const flow_message_t *flow,
                          net_message_t *answers, enum net_result *why)
{
    const gasnetc_sent_t sent = {.held = in_bbuf ? gasnetc_hold(bytes, GASNETC_HELD_BBUF) : 0};
    ((gasnetc_am_header_t *)(void *)bytes)->credits = flow->credits;
    gasneti_lock(&peer->lock);
    *why = net_am(&peer->net, bytes, in_bbuf ? &gasnetc_bbuf_region : NULL, length,
                  flow->needs_recv, answers, &sent);
    if (*why <= NET_COPIED)
        count_sent(peer->counts, am, flow->kind, in_bbuf);
    else
        gasnetc_count_stall(peer, *why);
    gasneti_unlock(&peer->lock);
    if (*why == NET_COPIED && in_bbuf) gasnetc_bbuf_free(bytes);
    return *why <= NET_COPIED;
}

/* post_with_credit until it succeeds.  Waits for this rank's own device, and runs handlers only
 * where the network needs the peer for a Request all the same. */
void gasnetc_post_with_credit(gasnetc_peer_t *peer, const gasnetc_outgoing_t *am, char *bytes,
                              size_t length, bool in_bbuf, const flow_message_t *flow,
                              net_message_t *answers);
