/* flow_network.h - the variant of flow.h in which the network bounds Requests itself: net_am
 * returns NET_NO_CREDIT, and the core's credits are unused.
 *
 * Included by flow.h alone.
 */
#ifndef GASNETC_FLOW_NETWORK_H
#define GASNETC_FLOW_NETWORK_H

#include "core/am/flow.h"

/* --- sending --- */

HOT flow_message_t flow_begin(const gasnetc_peer_t *peer, enum flow_kind kind)
{
    (void)peer;
    return (flow_message_t){.kind = kind};
}

HOT bool flow_superseded(const gasnetc_peer_t *peer, const flow_message_t *message)
{
    (void)peer, (void)message;
    return false;
}

HOT bool flow_may_send(gasnetc_peer_t *peer, flow_message_t *message)
{
    (void)peer, (void)message;
    return true;
}

HOT bool flow_has_credit(const gasnetc_peer_t *peer)
{
    (void)peer;
    return true;
}

HOT void flow_not_sent(gasnetc_peer_t *peer, const flow_message_t *message)
{
    (void)peer, (void)message;
}

HOT bool flow_overdue(const gasnetc_peer_t *peer)
{
    (void)peer;
    return false;
}

HOT net_message_t *flow_answers(const gasnetc_token_t *token)
{
    return token->message;
}

/* --- delivery --- */

HOT bool flow_returned(gasnetc_peer_t *peer, uint32_t credits, bool reply)
{
    (void)peer, (void)credits, (void)reply;
    return true;
}

HOT void flow_got_reply(gasnetc_peer_t *peer, bool kept_buffer)
{
    (void)peer, (void)kept_buffer;
}

/* The hidden Reply is sent at once, in space that the network has reserved. */
HOT bool flow_not_replied(const gasnetc_token_t *token, net_message_t *message)
{
    gasnetc_send_hidden_reply(token->peer, message);
    return false;
}

HOT bool flow_one_reply_each(const gasnetc_peer_t *peer)
{
    (void)peer;
    return false;
}

/* --- counters --- */

HOT void flow_tally(uint64_t *value, const struct net_peer_counts *net)
{
    value[GASNETC_COUNT_got_requests] += value[GASNETC_COUNT_hidden_replies];
    value[GASNETC_COUNT_credits] = net->credits;
    value[GASNETC_COUNT_credits_now] = net->credits_now;
    value[GASNETC_COUNT_credits_lowest] = net->credits_lowest;
}

#endif
