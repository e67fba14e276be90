/* am_deliver.h - the receiving half of the AM engine: the inline part, for each poll.
 *
 * Most messages are Shorts without flags: they are parsed here.  All others are parsed in
 * am_deliver.c; gasnetc_act_on then serves both.
 */
#ifndef GASNETC_AM_DELIVER_H
#define GASNETC_AM_DELIVER_H

#include "core/am/am.h"
#include "core/am/am_dispatch.h"
#include "core/am/am_wire.h"
#include "core/am/context.h"
#include "core/am/flow.h"
#include "core/job/thread.h"
#include "core/report.h"
#include "other/tools/hot.h"

/* The address of a Long's payload; copies a packed payload there first. */
void *gasnetc_long_payload(const gasnetc_am_t *am, const net_message_t *message);
void gasnetc_count_payload(enum gasnetc_am_category category, uint32_t nbytes, bool request);
/* Delivers any message but a system message; returns as gasnetc_act_on.  `spare` NULL: it is from
 * net_ring_take. */
bool gasnetc_deliver_any(net_message_t *message, net_spare_t *spare);
/* Acts on the system messages and removes them from `messages`; returns the number of the others.
 */
unsigned gasnetc_deliver_system(net_message_t **messages, unsigned n) __attribute__((cold));
void gasnetc_no_handler(unsigned index, const gasnetc_peer_t *peer) __attribute__((noreturn, cold));

static inline void __attribute__((noreturn, cold))
gasnetc_malformed(const net_message_t *message, const char *field)
{
    gasneti_malformed(message->peer->rank, message->length, field);
}

static inline gasnetc_handler_fn gasnetc_handler_of(unsigned index, const gasnetc_peer_t *peer)
{
    gasnetc_handler_fn handler = gasnetc_handlers[index];
    if (__builtin_expect(!handler, 0)) gasnetc_no_handler(index, peer);
    return handler;
}

HOT void gasnetc_run_handler(enum gasnetc_am_category category, const gasnetc_am_t *am,
                             const net_message_t *message, gasnetc_token_t *token)
{
    gasnetc_handler_fn handler = gasnetc_handler_of(am->handler, token->peer);
    if (GASNETC_CHECKING) gasnetc_handler_begins(token);
    if (category == GASNETC_AM_SHORT) {
        if (am->numargs == 0) /* the usual case: no switch */
            ((void (*)(void *))handler)(token);
        else
            gasnetc_run_short(handler, token, am->numargs, gasnetc_am_args(am, message->data));
    } else {
        void *payload = category == GASNETC_AM_LONG ? gasnetc_long_payload(am, message)
                                                    : gasnetc_am_payload(am, message->data);
        gasnetc_run_payload(handler, token, payload, am->nbytes, am->numargs,
                            gasnetc_am_args(am, message->data));
    }
    if (GASNETC_CHECKING) gasnetc_handler_ends(token);
}

/* Peer's lock held. */
HOT void gasnetc_count_reply(gasnetc_peer_counts_t *counts, enum gasnetc_am_category category,
                             bool hidden)
{
    if (__builtin_expect(hidden, 0))
        counts->got_hidden++;
    else
        ++*(category == GASNETC_AM_SHORT    ? &counts->got_replies_short
            : category == GASNETC_AM_MEDIUM ? &counts->got_replies_medium
                                            : &counts->got_replies_long);
}

/* For a message that returns credits or is a Reply, and that is valid otherwise; peer's lock held,
 * which it releases. */
HOT void gasnetc_take_credits(enum gasnetc_am_category category, bool request,
                              const gasnetc_am_t *am, gasnetc_peer_t *peer,
                              const net_message_t *message, bool at_hand)
{
    if (__builtin_expect(!flow_returned(peer, am->credits, !request), 0)) {
        gasneti_unlock(&peer->lock);
        gasnetc_malformed(message, "credit count");
    }
    if (!request) {
        gasnetc_count_reply(peer->counts, category, am->hidden);
        flow_got_reply(peer, at_hand || message->kept_buffer);
    }
    gasneti_unlock(&peer->lock);
}

/* Acts on a parsed message and releases it.  True when the caller must send the peer a hidden Reply
 * at the end of the poll.  `spare` NULL: the message is from net_ring_take.  `waits` false: where
 * another thread has the peer's lock, gasnetc_deliver_any does all of it instead, so that no
 * register is saved for a wait.  Each category and direction has its own copy of this function. */
HOT bool gasnetc_act_on(enum gasnetc_am_category category, bool request, const gasnetc_am_t *am,
                        net_message_t *message, net_spare_t *spare, bool waits)
{
    gasnetc_peer_t *peer = gasnetc_peer_of(message->peer);
    if (!request || __builtin_expect(am->credits, 0)) {
        if (waits)
            gasneti_lock(&peer->lock);
        else if (!gasneti_trylock_quiet(&peer->lock))
            return gasnetc_deliver_any(message, spare);
        gasnetc_take_credits(category, request, am, peer, message, !spare);
    }
    if (category != GASNETC_AM_SHORT) gasnetc_count_payload(category, am->nbytes, request);
    if (request && spare) message = net_refill(message, spare);
    bool overdue = false;
    if (__builtin_expect(!am->hidden, 1)) {
        gasnetc_token_t token;
        token.peer = peer;
        token.loopback = false;
        token.answer = request ? GASNETC_ANSWER_OPEN : GASNETC_ANSWER_NONE;
        flow_set_answers(&token, message);
        gasnetc_run_handler(category, am, message, &token);
        if (request && token.answer != GASNETC_ANSWERED)
            overdue = flow_not_replied(&token, message);
    }
    if (spare)
        net_release(message, spare);
    else
        net_release_at_hand(message);
    return overdue;
}

HOT bool gasnetc_deliver_one(net_message_t *message, net_spare_t *spare)
{
    gasnetc_am_t am;
    if (!gasnetc_am_parse_plain(message->data, message->length, &am))
        return gasnetc_deliver_any(message, spare);
    return am.request ? gasnetc_act_on(GASNETC_AM_SHORT, true, &am, message, spare, false)
                      : gasnetc_act_on(GASNETC_AM_SHORT, false, &am, message, spare, false);
}

/* Acts on `n` <= GASNETC_DELIVER_MAX messages from net_arrivals, `systems` of them from net_sys:
 * runs handlers, posts receive buffers again and returns credits.  `kept`: the spare that the
 * calling thread keeps from poll to poll, or NULL.  No lock held. */
HOT void gasnetc_deliver(net_message_t **messages, unsigned n, unsigned systems, net_spare_t *kept)
{
    unsigned overdue = 0;
    gasnetc_peer_t *peers[GASNETC_DELIVER_MAX]; /* the first `overdue`: hidden Replies to send */
    net_spare_t own = {0}, *spare = kept ? kept : &own;
    /* System messages first: a handler might not return. */
    if (__builtin_expect(systems, 0)) n = gasnetc_deliver_system(messages, n);
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

/* The same for one message from net_ring_take.  True when the caller must send its peer a hidden
 * Reply at the end of the poll. */
HOT bool gasnetc_deliver_at_hand(net_message_t *message)
{
    gasneti_handler_enter();
    const bool due = gasnetc_deliver_one(message, NULL);
    gasneti_handler_leave();
    return due;
}

#endif
