/* am_deliver.c - the receiving half of the AM engine (IB-A2, A3, A4, A6).
 *
 * A message is checked whole before anything in it is used; its receive space is replaced before a
 * Request's handler runs; handlers run with no lock held; a Request left without a Reply banks its
 * credit or is followed by a hidden Reply.
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

static void __attribute__((noreturn, cold))
malformed(const net_message_t *message, const char *field)
{
    gasneti_fatal(
        "a malformed Active Message of %u bytes from %s: bad %s; do all ranks run the same "
        "program and library?",
        message->length, gasneti_rank_name(message->peer->rank), field);
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
    if (am->packed && am->nbytes) memcpy(dst, am->payload, am->nbytes);
    return dst;
}

static void run_handler(const gasnetc_am_t *am, const net_message_t *message,
                        gasnetc_token_t *token)
{
    gasnetc_handler_fn handler = handler_of(am->handler, token->peer);
    gasneti_thread_t *self = gasneti_self();
    if (GASNETC_CHECKING) token->locks = gasnetc_locks_held();
    self->handler_depth++;
    switch (am->category) {
    case GASNETC_AM_SHORT:
        gasnetc_run_short(handler, token, am->numargs, am->args);
        break;
    case GASNETC_AM_MEDIUM:
        gasnetc_run_payload(handler, token, am->payload, am->nbytes, am->numargs, am->args);
        break;
    case GASNETC_AM_LONG:
        gasnetc_run_payload(handler, token, long_payload(am, message), am->nbytes, am->numargs,
                            am->args);
        break;
    }
    self->handler_depth--;
    if (GASNETC_CHECKING) gasnetc_check_no_new_locks(token->locks, "returns");
}

/* Moves arguments and payload after net_accept may have moved the message. */
static void rebase(gasnetc_am_t *am, const char *from, char *to)
{
    am->args = (const int32_t *)(const void *)(to + ((const char *)am->args - from));
    am->payload = to + ((char *)am->payload - from);
}

static void answer(gasnetc_token_t *token)
{
    if (token->replied) return;
    gasnetc_peer_t *peer = token->peer;
    gasneti_lock(&peer->lock);
    uint8_t overdue = gasnetc_credits_bank(&peer->credits);
    gasneti_unlock(&peer->lock);
    if (overdue) gasnetc_send_hidden_reply(peer, overdue);
}

void gasnetc_deliver(net_message_t *message)
{
    gasnetc_peer_t *peer = gasnetc_peer_of(message->peer);
    if (__builtin_expect(message->system, 0)) {
        uint64_t words[2];
        if (message->length != sizeof words) malformed(message, "length");
        memcpy(words, message->data, sizeof words);
        net_release(message);
        gasnetc_exit_system_message(peer->net.rank, words[0], words[1]);
        return;
    }
    gasnetc_am_t am;
    const char *wrong = gasnetc_am_parse(message->data, message->length, &am);
    if (__builtin_expect(wrong != NULL, 0)) malformed(message, wrong);
    if (am.credits || !am.request) {
        gasneti_lock(&peer->lock);
        bool sound = gasnetc_credits_return(&peer->credits, am.credits, !am.request);
        gasneti_unlock(&peer->lock);
        if (__builtin_expect(!sound, 0)) malformed(message, "credit count");
    }
    char *before = message->data;
    net_accept(message, am.request);
    if (__builtin_expect(message->data != before, 0)) rebase(&am, before, message->data);
    if (!am.hidden) {
        gasnetc_token_t token = {.peer = peer, .request = am.request};
        run_handler(&am, message, &token);
        if (am.request) answer(&token);
    }
    net_release(message);
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

void gasnetc_loopback(const gasnetc_outgoing_t *out, bool request)
{
    gasneti_thread_t *self = gasneti_self();
    gasnetc_peer_t *me = &gasnetc_peers[gasnetc_job.rank];
    gasnetc_token_t token = {.peer = me, .loopback = true, .request = request};
    gasnetc_handler_fn handler = handler_of(out->handler, me);
    unsigned numargs = (unsigned)out->numargs;
    void *payload = NULL;
    if (out->category == GASNETC_AM_MEDIUM) {
        payload = loop_buffer(self, request);
        if (out->nbytes) memcpy(payload, out->src, out->nbytes);
    } else if (out->category == GASNETC_AM_LONG) {
        payload = out->dst;
        if (out->nbytes) {
            gasnetc_check_remote(me, (uintptr_t)out->dst, out->nbytes, "an AMLong");
            memmove(out->dst, out->src, out->nbytes);
        }
    }
    if (GASNETC_CHECKING) token.locks = gasnetc_locks_held();
    self->handler_depth++;
    if (out->category == GASNETC_AM_SHORT)
        gasnetc_run_short(handler, &token, numargs, out->args);
    else
        gasnetc_run_payload(handler, &token, payload, out->nbytes, numargs, out->args);
    self->handler_depth--;
    if (GASNETC_CHECKING) gasnetc_check_no_new_locks(token.locks, "returns");
}
