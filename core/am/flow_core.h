/* flow_core.h - the variant of flow.h in which the core keeps credits per peer (credits.h).
 *
 * Included by flow.h alone.
 */
#ifndef GASNETC_FLOW_CORE_H
#define GASNETC_FLOW_CORE_H

#include "core/am/flow.h"

/* --- sending --- */

HOT flow_message_t flow_begin(const gasnetc_peer_t *peer, enum flow_kind kind)
{
    return (flow_message_t){
        .kind = kind,
        .own = kind == FLOW_REPLY ||
               (kind == FLOW_HIDDEN_REPLY && gasnetc_credits_one_each(&peer->credits)),
    };
}

HOT bool flow_superseded(const gasnetc_peer_t *peer, const flow_message_t *message)
{
    return message->kind == FLOW_HIDDEN_REPLY && !gasnetc_credits_overdue(&peer->credits);
}

HOT bool flow_may_send(gasnetc_peer_t *peer, flow_message_t *message)
{
    if (message->kind == FLOW_REQUEST &&
        !gasnetc_credits_take(&peer->credits, &message->needs_recv)) {
        peer->counts->stalls_credits++;
        return false;
    }
    message->credits = gasnetc_credits_piggyback(&peer->credits, message->own);
    return true;
}

HOT bool flow_has_credit(const gasnetc_peer_t *peer)
{
    return gasnetc_credits_any(&peer->credits);
}

HOT void flow_not_sent(gasnetc_peer_t *peer, const flow_message_t *message)
{
    gasnetc_credits_unpiggyback(&peer->credits, message->credits, message->own);
    if (message->kind == FLOW_REQUEST) gasnetc_credits_untake(&peer->credits, message->needs_recv);
}

HOT bool flow_overdue(const gasnetc_peer_t *peer)
{
    return peer->credits.banked > peer->credits.slack;
}

HOT net_message_t *flow_answers(const gasnetc_token_t *token)
{
    (void)token;
    return NULL;
}

/* --- delivery --- */

HOT bool flow_returned(gasnetc_peer_t *peer, uint32_t credits, bool reply)
{
    return gasnetc_credits_return(&peer->credits, credits, reply);
}

HOT void flow_got_reply(gasnetc_peer_t *peer, bool kept_buffer)
{
    if (kept_buffer) gasnetc_credits_recv_kept(&peer->credits);
}

/* The peer is read again under the lock, so that no register holds it while the lock is taken. */
HOT bool flow_not_replied(const gasnetc_token_t *token, net_message_t *message)
{
    (void)message;
    gasneti_lock(&token->peer->lock);
    gasnetc_peer_t *peer = token->peer;
    bool overdue = gasnetc_credits_bank(&peer->credits);
    peer->counts->banked++;
    gasneti_unlock(&peer->lock);
    return overdue;
}

HOT bool flow_one_reply_each(const gasnetc_peer_t *peer)
{
    return gasnetc_credits_one_each(&peer->credits);
}

/* --- counters --- */

HOT void flow_tally(uint64_t *value, const struct net_peer_counts *net)
{
    (void)value, (void)net;
}

#endif
