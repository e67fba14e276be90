/* am_deliver.c - the receiving half of the AM engine (IB-A2, A3, A4, A6).
 *
 * A message is checked whole before anything in it is used; its receive space is replaced before a
 * Request's handler runs, from the one spare that is in hand for all the messages of a poll;
 * handlers run with no lock held; a Request left without a Reply banks its credit or is followed by
 * a hidden Reply.
 */
#include <stdlib.h>
#include <string.h>

#include "core/am.h"
#include "core/am_dispatch.h"
#include "core/am_wire.h"
#include "core/context.h"
#include "core/exit.h"
#include "core/rdma_internal.h"
#include "core/report.h"
#include "core/thread.h"

/* One message's way is one piece of code. */
#define HOT static inline __attribute__((always_inline))

static void __attribute__((noreturn, cold))
malformed(const net_message_t *message, const char *field)
{
    gasneti_malformed(message->peer->rank, message->length, field);
}

static gasnetc_handler_fn handler_of(uint8_t index, gasnetc_peer_t *peer)
{
    gasnetc_handler_fn handler = gasnetc_handlers[index];
    if (__builtin_expect(!handler, 0))
        gasneti_fatal("an Active Message from %s names handler %u, which is not registered here",
                      gasneti_rank_name(peer->net.rank), index);
    return handler;
}

/* Where the payload of a Long lies; a packed one is put there first. */
static void *long_payload(const gasnetc_am_t *am, const net_message_t *message)
{
    const gasnetc_segment_t *mine = &gasnetc_peers[gasnetc_job.rank].segment;
    uintptr_t offset = (uintptr_t)am->dst - mine->base;
    if (am->nbytes && (offset > mine->size || am->nbytes > mine->size - offset))
        malformed(message, "destination (outside the segment)");
    void *dst = (void *)(uintptr_t)am->dst;
    if (am->packed && am->nbytes) memcpy(dst, gasnetc_am_payload(am, message->data), am->nbytes);
    return dst;
}

HOT void run_handler(const gasnetc_am_t *am, const net_message_t *message, gasnetc_token_t *token)
{
    gasnetc_handler_fn handler = handler_of(am->handler, token->peer);
    const int32_t *args = gasnetc_am_args(am, message->data);
    void *payload = am->category == GASNETC_AM_LONG ? long_payload(am, message)
                                                    : gasnetc_am_payload(am, message->data);
    if (GASNETC_CHECKING) token->locks = gasnetc_locks_held();
    switch (am->category) {
    case GASNETC_AM_SHORT:
        gasnetc_run_short(handler, token, am->numargs, args);
        break;
    case GASNETC_AM_MEDIUM:
    case GASNETC_AM_LONG:
        gasnetc_run_payload(handler, token, payload, am->nbytes, am->numargs, args);
        break;
    }
    if (GASNETC_CHECKING) gasnetc_check_no_new_locks(token->locks, "returns");
}

static void act_on_system(net_message_t *message)
{
    uint64_t words[2];
    uint32_t from = message->peer->rank;
    if (message->length != sizeof words) malformed(message, "length");
    memcpy(words, message->data, sizeof words);
    net_release_system(message);
    gasnetc_exit_system_message(from, words[0], words[1]);
}

/* The peer's lock is held. */
HOT void count_reply(gasnetc_peer_counts_t *counts, enum gasnetc_am_category category, bool hidden)
{
    if (__builtin_expect(hidden, 0))
        counts->got_hidden++;
    else
        ++*(category == GASNETC_AM_SHORT    ? &counts->got_replies_short
            : category == GASNETC_AM_MEDIUM ? &counts->got_replies_medium
                                            : &counts->got_replies_long);
}

/* Short Requests are what is left of all. */
static __attribute__((noinline)) void count_payload(enum gasnetc_am_category category,
                                                    uint32_t nbytes, bool request)
{
    gasnetc_counts_t *counts = &gasneti_self()->counts;
    counts->got_am_bytes += nbytes;
    if (request)
        ++*(category == GASNETC_AM_MEDIUM ? &counts->got_requests_medium
                                          : &counts->got_requests_long);
}

/* True when the credits kept for the sender exceed the slack.  There is a copy of this for each
 * category. */
HOT bool deliver_as(enum gasnetc_am_category category, net_message_t *message, net_spare_t *spare)
{
    gasnetc_peer_t *peer = gasnetc_peer_of(message->peer);
    gasnetc_am_t am;
    const char *wrong = gasnetc_am_parse_as(category, message->data, message->length, &am);
    if (__builtin_expect(wrong != NULL, 0)) malformed(message, wrong);
    if (am.credits || !am.request) {
        gasneti_lock(&peer->lock);
        bool sound = gasnetc_credits_return(&peer->credits, am.credits, !am.request);
        if (!am.request) count_reply(peer->counts, category, am.hidden);
        if (!am.request && message->kept_space) gasnetc_credits_room_left(&peer->credits);
        gasneti_unlock(&peer->lock);
        if (__builtin_expect(!sound, 0)) malformed(message, "credit count");
    }
    if (category != GASNETC_AM_SHORT) count_payload(category, am.nbytes, am.request);
    if (am.request) message = net_refill(message, spare);
    bool overdue = false;
    if (__builtin_expect(!am.hidden, 1)) {
        gasnetc_token_t token;
        token.peer = peer;
        token.request = am.request;
        token.loopback = token.replied = false;
        run_handler(&am, message, &token);
        if (am.request && !token.replied) {
            gasneti_lock(&peer->lock);
            overdue = gasnetc_credits_bank(&peer->credits);
            peer->counts->banked++;
            gasneti_unlock(&peer->lock);
        }
    }
    net_release(message, spare);
    return overdue;
}

HOT bool deliver(net_message_t *message, net_spare_t *spare)
{
    const gasnetc_am_header_t *header = message->data;
    if (__builtin_expect(message->length < sizeof *header, 0))
        malformed(message, "length (shorter than a header)");
    switch (header->head & 3) {
    case GASNETC_AM_SHORT:
        return deliver_as(GASNETC_AM_SHORT, message, spare);
    case GASNETC_AM_MEDIUM:
        return deliver_as(GASNETC_AM_MEDIUM, message, spare);
    case GASNETC_AM_LONG:
        return deliver_as(GASNETC_AM_LONG, message, spare);
    }
    malformed(message, "category");
}

/* Takes the system messages out; how many others there are. */
static __attribute__((cold)) unsigned deliver_system(net_message_t **messages, unsigned n)
{
    unsigned others = 0;
    for (unsigned i = 0; i < n; i++) {
        if (messages[i]->system)
            act_on_system(messages[i]);
        else
            messages[others++] = messages[i];
    }
    return others;
}

void gasnetc_deliver(net_message_t **messages, unsigned n, unsigned systems)
{
    unsigned owing = 0;
    gasnetc_peer_t *peers[GASNETC_DELIVER_MAX]; /* to be sent their credits */
    net_spare_t spare = {0};
    gasneti_thread_t *self = gasneti_self();
    /* System messages first: a handler may never return. */
    if (__builtin_expect(systems, 0)) n = deliver_system(messages, n);
    self->handler_depth++;
    for (unsigned i = 0; i < n; i++) {
        gasnetc_peer_t *peer = gasnetc_peer_of(messages[i]->peer);
        if (deliver(messages[i], &spare) && (!owing || peers[owing - 1] != peer))
            peers[owing++] = peer;
    }
    self->handler_depth--;
    net_spare_back(&spare);
    while (owing > 0) gasnetc_send_hidden_reply(peers[--owing]);
}

void gasnetc_drop(net_message_t **messages, unsigned n)
{
    net_spare_t spare = {0};
    n = deliver_system(messages, n);
    for (unsigned i = 0; i < n; i++) net_release(messages[i], &spare);
    net_spare_back(&spare);
}

/* ---- loopback
 * ------------------------------------------------------------------------------------ */

/* A Request's and its Reply's buffers differ, so that a handler may reply from the one it was
 * given. */
static void *loop_buffer(gasneti_thread_t *self, bool request)
{
    void **buffer = &self->loop_buffer[request ? 0 : 1];
    if (!*buffer) *buffer = aligned_alloc(16, (GASNETC_MAX_MEDIUM + 15) & ~15);
    if (!*buffer) gasneti_fatal("out of memory for a loopback buffer");
    return *buffer;
}

void gasnetc_loopback(gasnetc_outgoing_t out, bool request)
{
    gasneti_thread_t *self = gasneti_self();
    gasnetc_peer_t *me = &gasnetc_peers[gasnetc_job.rank];
    gasnetc_token_t token = {.peer = me, .loopback = true, .request = request};
    gasnetc_handler_fn handler = handler_of(out.handler, me);
    unsigned numargs = (unsigned)out.numargs;
    void *payload = NULL;
    if (out.category == GASNETC_AM_MEDIUM) {
        payload = loop_buffer(self, request);
        if (out.nbytes) memcpy(payload, out.src, out.nbytes);
    } else if (out.category == GASNETC_AM_LONG) {
        payload = out.dst;
        if (out.nbytes) {
            gasnetc_check_remote(me, (uintptr_t)out.dst, out.nbytes, "an AMLong");
            memmove(out.dst, out.src, out.nbytes);
        }
    }
    if (GASNETC_CHECKING) token.locks = gasnetc_locks_held();
    self->counts.loopback++;
    self->handler_depth++;
    if (out.category == GASNETC_AM_SHORT)
        gasnetc_run_short(handler, &token, numargs, out.args);
    else
        gasnetc_run_payload(handler, &token, payload, out.nbytes, numargs, out.args);
    self->handler_depth--;
    if (GASNETC_CHECKING) gasnetc_check_no_new_locks(token.locks, "returns");
}
