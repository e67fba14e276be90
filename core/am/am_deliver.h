/* am_deliver.h - the receiving half of the AM engine: the inline part, for each poll.
 *
 * Most messages are Shorts without flags: this file parses them.  am_deliver.c parses all other
 * messages; gasnetc_act_on then serves both kinds.
 */
#pragma once

#include "core/am/am.h"
#include "core/am/am_dispatch.h"
#include "core/am/am_wire.h"
#include "core/am/context.h"
#include "core/am/flow.h"
#include "core/job/thread.h"
#include "core/report.h"
#include "core/shm/messages.h"
#include "other/base/hot.h"

/* Returns the destination of a Long's payload, to which a packed payload is copied first. */
void *gasnetc_long_payload(const gasnetc_am_t *am, const net_message_t *message);
void gasnetc_count_payload(enum gasnetc_am_category category, uint32_t nbytes, bool request);
/* Delivers any message but a system message.  True: the caller must send the peer a hidden Reply at
 * the end of the poll.  `spare` is NULL if the message came by a ring. */
bool gasnetc_deliver_any(net_message_t *message, net_spare_t *spare);
/* Acts on the system messages and removes them from `messages`; returns the number of messages that
 * are left.
 */
unsigned gasnetc_deliver_system(net_message_t **messages, unsigned n) __attribute__((cold));
void gasnetc_no_handler(unsigned index, const gasnetc_peer_t *peer) __attribute__((noreturn, cold));

static inline void __attribute__((noreturn, cold))
gasnetc_malformed(const net_message_t *message, const char *field)
{
    gasneti_malformed(message->peer->rank, message->length, field);
}

/* Run a handler that is not in gasnetc_handlers: one of the library's own, or a client's while a
 * trace is written.  Fatal if neither is registered for a message with this head.  The second is
 * for a message with a payload.  am_handlers.c. */
void gasnetc_run_unlisted(gasnetc_token_t *token, uint8_t head);
void gasnetc_run_unlisted_payload(gasnetc_token_t *token, uint8_t head, const gasnetc_am_t *am,
                                  void *payload, const int32_t *args);

HOT void gasnetc_run_handler(enum gasnetc_am_category category, gasnetc_handler_fn handler,
                             const gasnetc_am_t *am, const net_message_t *message,
                             gasnetc_token_t *token)
{
    if (GASNETC_CHECKING) {
        gasnetc_check_promise(am->handler, gasnetc_am_head(category, am->request, am->numargs),
                              token->peer);
        gasnetc_handler_begins(token);
    }
    if (category == GASNETC_AM_SHORT) {
        if (!handler)
            gasnetc_run_unlisted(token,
                                 gasnetc_am_head(GASNETC_AM_SHORT, am->request, am->numargs));
        else if (am->numargs == 0) /* the usual case: no switch */
            ((void (*)(void *))handler)(token);
        else
            gasnetc_run_short(handler, token, am->numargs, gasnetc_am_args(am, message->data));
    } else {
        void *payload = category == GASNETC_AM_LONG ? gasnetc_long_payload(am, message)
                                                    : gasnetc_am_payload(am, message->data);
        const int32_t *args = gasnetc_am_args(am, message->data);
        if (handler)
            gasnetc_run_payload(handler, token, payload, am->nbytes, am->numargs, args);
        else
            gasnetc_run_unlisted_payload(token, gasnetc_am_head(category, am->request, am->numargs),
                                         am, payload, args);
    }
    if (GASNETC_CHECKING) gasnetc_handler_ends(token);
}

/* Counts a Reply that has arrived; peer's lock held. */
HOT void gasnetc_count_reply(gasnetc_peer_counts_t *counts, enum gasnetc_am_category category,
                             bool hidden)
{
    if (hidden)
        counts->got_hidden++;
    else
        ++*(category == GASNETC_AM_SHORT    ? &counts->got_replies_short
            : category == GASNETC_AM_MEDIUM ? &counts->got_replies_medium
                                            : &counts->got_replies_long);
}

/* Takes the credits that a message returns, and counts a Reply; fatal if the message returns more
 * than are due.  Called with the peer's lock held, which it releases. */
HOT void gasnetc_take_credits(enum gasnetc_am_category category, bool request,
                              const gasnetc_am_t *am, gasnetc_peer_t *peer,
                              const net_message_t *message, bool by_ring)
{
    if (!flow_returned(peer, am->credits, !request)) {
        gasneti_unlock(&peer->lock);
        gasnetc_malformed(message, "credit count");
    }
    if (!request) {
        gasnetc_count_reply(peer->counts, category, am->hidden);
        flow_got_reply(peer, by_ring || message->kept_buffer);
    }
    gasneti_unlock(&peer->lock);
}

/* gasnetc_take_credits for a message of a shared-memory peer, whose flow control has no credits.  A
 * Reply is fatal in the ring of Requests: it answers none of this rank's. */
HOT void gasnetc_take_by_shm(enum gasnetc_am_category category, bool request,
                             const gasnetc_am_t *am, gasnetc_peer_t *peer,
                             const net_message_t *message)
{
    if (!request) gasnetc_count_reply(peer->counts, category, am->hidden);
    gasneti_unlock(&peer->lock);
    if (am->credits) gasnetc_malformed(message, "credit count");
    if (!request && message->mark != GASNETC_SHM_REPLIES)
        gasnetc_malformed(message, "Reply (to no Request)");
}

static inline void gasnetc_release(net_message_t *message, net_spare_t *spare)
{
    if (spare)
        net_release(message, spare);
    else
        gasnetc_ring_release(message);
}

/* The handler of a Request has sent no Reply; returns as flow_not_replied.  `by_ring`: the message
 * came by a ring. */
HOT bool gasnetc_not_replied(const gasnetc_token_t *token, net_message_t *message, bool by_ring)
{
    gasnetc_peer_t *peer = token->peer;
    if (!by_ring || !gasnetc_shm_of(peer)) return flow_not_replied(token, message);
    gasneti_lock(&peer->lock);
    gasnetc_shm_unanswered(peer);
    peer->counts->banked++;
    gasneti_unlock(&peer->lock);
    return false;
}

/* Runs the handler of a message and releases the message; returns as gasnetc_act_on. */
HOT bool gasnetc_run_and_release(enum gasnetc_am_category category, bool request,
                                 const gasnetc_am_t *am, gasnetc_peer_t *peer,
                                 net_message_t *message, net_spare_t *spare)
{
    bool overdue = false;
    gasnetc_token_t token;
    token.peer = peer;
    token.loopback = false;
    token.answer = request ? GASNETC_ANSWER_OPEN : GASNETC_ANSWER_NONE;
    token.message = message;
    gasnetc_handler_fn handler = gasnetc_handlers[am->handler];
    gasnetc_run_handler(category, handler, am, message, &token);
    if (request && token.answer != GASNETC_ANSWERED)
        overdue = gasnetc_not_replied(&token, message, !spare);
    gasnetc_release(message, spare);
    return overdue;
}

/* Acts on a parsed message and releases it.  True when the caller must send the peer a hidden Reply
 * at the end of the poll.  `spare` NULL: the message is from gasnetc_ring_take.  `plain`:
 * gasnetc_am_parse_plain has parsed the message.  If another thread holds the peer's lock then,
 * gasnetc_deliver_any delivers the message instead, so that the hot path has no wait.  Each
 * category and direction has its own copy of this function. */
HOT bool gasnetc_act_on(enum gasnetc_am_category category, bool request, const gasnetc_am_t *am,
                        net_message_t *message, net_spare_t *spare, bool plain)
{
    gasnetc_peer_t *peer = gasnetc_peer_of(message->peer);
    if (!request || am->credits) {
        if (!plain)
            gasneti_lock(&peer->lock);
        else if (!gasneti_trylock_quiet(&peer->lock))
            return gasnetc_deliver_any(message, spare);
        if (!spare && gasnetc_shm_of(peer))
            gasnetc_take_by_shm(category, request, am, peer, message);
        else
            gasnetc_take_credits(category, request, am, peer, message, !spare);
    }
    if (category != GASNETC_AM_SHORT) gasnetc_count_payload(category, am->nbytes, request);
    if (request && spare) message = net_refill(message, spare);
    if (!plain && am->hidden) {
        gasnetc_release(message, spare);
        return false;
    }
    return gasnetc_run_and_release(category, request, am, peer, message, spare);
}

HOT bool gasnetc_deliver_one(net_message_t *message, net_spare_t *spare)
{
    gasnetc_am_t am;
    if (!gasnetc_am_parse_plain(message->data, message->length, &am))
        return gasnetc_deliver_any(message, spare);
    return am.request ? gasnetc_act_on(GASNETC_AM_SHORT, true, &am, message, spare, true)
                      : gasnetc_act_on(GASNETC_AM_SHORT, false, &am, message, spare, true);
}

/* Acts on `n` <= GASNETC_DELIVER_MAX messages from net_arrivals, `systems` of them from net_sys:
 * runs handlers, posts receive buffers again and returns credits.  `kept`: the spare that the
 * calling thread keeps from poll to poll, or NULL.  No lock held. */
HOT void gasnetc_deliver(net_message_t **messages, unsigned n, unsigned systems, net_spare_t *kept)
{
    unsigned overdue = 0;
    gasnetc_peer_t *peers[GASNETC_DELIVER_MAX]; /* [overdue]: to send hidden Replies to */
    net_spare_t own = {0}, *spare = kept ? kept : &own;
    /* System messages first: a handler might not return. */
    if (systems) n = gasnetc_deliver_system(messages, n);
    gasneti_handler_enter();
    for (unsigned i = 0; i < n; i++) {
        gasnetc_peer_t *peer = gasnetc_peer_of(messages[i]->peer);
        if (gasnetc_deliver_one(messages[i], spare) &&
            (!overdue || peers[overdue - 1] != peer || flow_one_reply_each(peer)))
            peers[overdue++] = peer;
    }
    gasneti_handler_leave();
    if (kept)
        net_spare_keep(kept);
    else
        net_spare_back(&own);
    while (overdue > 0) gasnetc_send_hidden_reply(peers[--overdue], NULL);
}

/* Delivers one message from gasnetc_ring_take.  True when the caller must send the peer a hidden
 * Reply at the end of the poll. */
HOT bool gasnetc_deliver_from_ring(net_message_t *message)
{
    gasneti_handler_enter();
    const bool due = gasnetc_deliver_one(message, NULL);
    gasneti_handler_leave();
    return due;
}
