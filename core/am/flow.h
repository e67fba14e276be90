/* flow.h - flow control of Active Messages: the calls that sending and delivery make.
 *
 * The core keeps credits per peer (credits.h) and piggybacks them on messages.  With
 * NET_HAS_FLOW_CONTROL these are unused: the network bounds Requests (net_am returns
 * NET_NO_CREDIT), every Request is answered, and the answer names the Request.  Shared-memory peers
 * have a flow control of their own (core/shm/shm_flow.h).
 */
#pragma once

#include "core/am/am.h"
#include "other/base/hot.h"

enum flow_kind { FLOW_REQUEST, FLOW_REPLY, FLOW_HIDDEN_REPLY };

/* The state of one message while it is posted. */
typedef struct flow_message {
    enum flow_kind kind;
    bool needs_recv; /* of a Request: a receive buffer must be posted for its Reply */
    uint8_t own;     /* credits that the message returns for the Request that it answers */
    uint8_t credits; /* all that it returns, banked ones too: the header's field */
} flow_message_t;

/* --- sending; peer's lock held, but for flow_answers --- */

/* True if each Request without a Reply needs a hidden Reply of its own; otherwise one hidden Reply
 * returns all their credits. */
HOT bool flow_one_reply_each(const gasnetc_peer_t *peer)
{
    return !NET_HAS_FLOW_CONTROL && gasnetc_credits_one_each(&peer->credits);
}

/* The state for one try to post a message. */
HOT flow_message_t flow_begin(const gasnetc_peer_t *peer, enum flow_kind kind)
{
    return (flow_message_t){
        .kind = kind,
        .own = !NET_HAS_FLOW_CONTROL &&
               (kind == FLOW_REPLY || (kind == FLOW_HIDDEN_REPLY && flow_one_reply_each(peer))),
    };
}

/* True for a hidden Reply whose credits another message has returned meanwhile, and which need not
 * be sent. */
HOT bool flow_superseded(const gasnetc_peer_t *peer, const flow_message_t *message)
{
    return !NET_HAS_FLOW_CONTROL && message->kind == FLOW_HIDDEN_REPLY &&
           !gasnetc_credits_overdue(&peer->credits);
}

/* Acquires the credit that a Request needs, and takes those that the message returns
 * (message->credits).  False when no credit is available.  flow_not_sent undoes it. */
HOT bool flow_may_send(gasnetc_peer_t *peer, flow_message_t *message)
{
    if (NET_HAS_FLOW_CONTROL) return true;
    if (message->kind == FLOW_REQUEST &&
        !gasnetc_credits_take(&peer->credits, &message->needs_recv)) {
        peer->counts->stalls_credits++;
        return false;
    }
    message->credits = gasnetc_credits_piggyback(&peer->credits, message->own);
    return true;
}

/* True if flow_may_send would find a credit for a Request. */
HOT bool flow_has_credit(const gasnetc_peer_t *peer)
{
    return NET_HAS_FLOW_CONTROL || gasnetc_credits_any(&peer->credits);
}

HOT void flow_not_sent(gasnetc_peer_t *peer, const flow_message_t *message)
{
    if (NET_HAS_FLOW_CONTROL) return;
    gasnetc_credits_unpiggyback(&peer->credits, message->credits, message->own);
    if (message->kind == FLOW_REQUEST) gasnetc_credits_untake(&peer->credits, message->needs_recv);
}

/* True if a hidden Reply is due: flow_not_sent has banked credits which others were banked beside
 * since flow_may_send. */
HOT bool flow_overdue(const gasnetc_peer_t *peer)
{
    return !NET_HAS_FLOW_CONTROL && peer->credits.banked > peer->credits.slack;
}

/* The `answers` of net_am and net_long for a Reply with this token. */
HOT net_message_t *flow_answers(const gasnetc_token_t *token)
{
    return NET_HAS_FLOW_CONTROL ? token->message : NULL;
}

/* --- delivery --- */

/* A message that returns `credits`, or is a Reply, has arrived; peer's lock held.  False when the
 * peer returns credits that it does not have. */
HOT bool flow_returned(gasnetc_peer_t *peer, uint32_t credits, bool reply)
{
    return NET_HAS_FLOW_CONTROL || gasnetc_credits_return(&peer->credits, credits, reply);
}

/* A Reply has arrived, with or without kept_buffer (network.h); peer's lock held. */
HOT void flow_got_reply(gasnetc_peer_t *peer, bool kept_buffer)
{
    if (!NET_HAS_FLOW_CONTROL && kept_buffer) gasnetc_credits_recv_kept(&peer->credits);
}

/* The handler of a Request has sent no Reply; no lock held.  True when the caller must send the
 * peer a hidden Reply at the end of the poll.  A network with flow control has reserved space for
 * the hidden Reply, which is sent at once. */
HOT bool flow_not_replied(const gasnetc_token_t *token, net_message_t *message)
{
    if (NET_HAS_FLOW_CONTROL) {
        gasnetc_send_hidden_reply(token->peer, message);
        return false;
    }
    gasneti_lock(&token->peer->lock);
    gasnetc_peer_t *peer = token->peer; /* read again, so that no register holds it in the lock */
    bool overdue = gasnetc_credits_bank(&peer->credits);
    peer->counts->banked++;
    gasneti_unlock(&peer->lock);
    return overdue;
}

/* Completes a peer's tally, which has the fields of gasnetc_credits_t and the Requests that were
 * replied to or banked already. */
static inline void flow_tally(uint64_t *value, const struct net_peer_counts *net)
{
    if (!NET_HAS_FLOW_CONTROL) return;
    value[GASNETC_COUNT_got_requests] += value[GASNETC_COUNT_hidden_replies];
    value[GASNETC_COUNT_credits] = net->credits;
    value[GASNETC_COUNT_credits_now] = net->credits_now;
    value[GASNETC_COUNT_credits_lowest] = net->credits_lowest;
}
