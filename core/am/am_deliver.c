/* am_deliver.c - the receiving half of the AM engine (IB-A2, A3, A4, A6).
 *
 * A message is checked completely before any field is used.  Before a Request's handler runs,
 * another receive buffer replaces the message's in the receive queue: the spare of this poll, if it
 * has one.  Handlers run with no lock held.  For a Request whose handler sent no Reply see flow.h.
 */
#include "core/am/am_deliver.h"

#include <stdlib.h>
#include <string.h>

#include "core/am/context.h"
#include "core/job/ending.h"
#include "core/job/thread.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "core/shm/wake.h"
#include "core/trace/trace.h"
#include "other/base/hot.h"
#include "other/base/tools.h"

void gasnetc_no_handler(unsigned index, const gasnetc_peer_t *peer)
{
    gasneti_fatal("an Active Message from %s names handler %u, which is not registered here: every "
                  "rank must give gasnet_attach the same table%s%s",
                  gasneti_rank_name(peer->net.rank), index,
                  gasnetc_linked_as_pie() ? "; if the index was made of an address: " : "",
                  gasnetc_linked_as_pie() ? GASNETC_PIE_HINT : "");
}

void *gasnetc_long_payload(const gasnetc_am_t *am, const net_message_t *message)
{
    const gasnetc_segment_t *mine = &gasnetc_peers[gasnetc_job.rank].segment;
    uintptr_t offset = (uintptr_t)am->dst - mine->base;
    if (am->nbytes && (offset > mine->size || am->nbytes > mine->size - offset))
        gasnetc_malformed(message, "destination (outside the segment)");
    void *dst = (void *)(uintptr_t)am->dst;
    if (am->packed && am->nbytes) memcpy(dst, gasnetc_am_payload(am, message->data), am->nbytes);
    return dst;
}

static void act_on_system(net_message_t *message)
{
    uint64_t words[2];
    uint32_t from = message->peer->rank;
    if (message->length != sizeof words) gasnetc_malformed(message, "length");
    memcpy(words, message->data, sizeof words);
    net_release_system(message);
    gasnetc_exit_system_message(from, words[0], words[1]);
}

/* Counts the payload of a message, and a Medium or Long Request.  Short Requests are not counted:
 * tally.c derives them from the number of all Requests. */
void gasnetc_count_payload(enum gasnetc_am_category category, uint32_t nbytes, bool request)
{
    gasnetc_counts_t *counts = &gasneti_self()->counts;
    counts->got_am_bytes += nbytes;
    if (request)
        ++*(category == GASNETC_AM_MEDIUM ? &counts->got_requests_medium
                                          : &counts->got_requests_long);
}

HOT bool deliver_as(enum gasnetc_am_category category, net_message_t *message, net_spare_t *spare)
{
    gasnetc_am_t am;
    const char *wrong = gasnetc_am_parse_as(category, message->data, message->length, &am);
    if (wrong != NULL) gasnetc_malformed(message, wrong);
    return gasnetc_act_on(category, am.request, &am, message, spare, false);
}

bool gasnetc_deliver_any(net_message_t *message, net_spare_t *spare)
{
    const gasnetc_am_header_t *header = message->data;
    if (message->length < sizeof *header)
        gasnetc_malformed(message, "length (shorter than a header)");
    switch (header->head & 3) {
    case GASNETC_AM_SHORT:
        return deliver_as(GASNETC_AM_SHORT, message, spare);
    case GASNETC_AM_MEDIUM:
        return deliver_as(GASNETC_AM_MEDIUM, message, spare);
    case GASNETC_AM_LONG:
        return deliver_as(GASNETC_AM_LONG, message, spare);
    }
    gasnetc_malformed(message, "category");
}

unsigned gasnetc_deliver_system(net_message_t **messages, unsigned n)
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

void gasnetc_drop(net_message_t **messages, unsigned n)
{
    net_spare_t spare = {0};
    n = gasnetc_deliver_system(messages, n);
    for (unsigned i = 0; i < n; i++) net_release(messages[i], &spare);
    net_spare_back(&spare);
}

/* --- loopback --- */

void *gasnetc_loop_buffer(bool request)
{
    gasneti_thread_t *self = gasneti_self();

    void **buffer = &self->loop_buffer[request ? 0 : 1];
    enum {
        MESSAGE = NET_STACK_MESSAGE + NET_AM_TAIL,
        SIZE = GASNETC_MAX_MEDIUM > MESSAGE ? GASNETC_MAX_MEDIUM : MESSAGE
    };
    if (!*buffer) *buffer = aligned_alloc(16, (SIZE + 15) & ~15);
    if (!*buffer) gasneti_fatal("out of memory for a loopback buffer");
    return *buffer;
}

/* Delivers a message that is in memory of this rank, as one of the peer. */
static void deliver_here(gasnetc_peer_t *peer, gasnetc_outgoing_t out, bool request)
{
    gasnetc_token_t token = {.peer = peer,
                             .loopback = true,
                             .answer = !request           ? GASNETC_ANSWER_NONE
                                       : gasneti_trace_on ? GASNETC_ANSWER_TRACED
                                                          : GASNETC_ANSWER_OPEN,
                             .head = gasnetc_am_head((enum gasnetc_am_category)out.category,
                                                     request, (unsigned)out.numargs),
                             .handler = out.handler};
    unsigned numargs = (unsigned)out.numargs;
    const gasnetc_am_t am = {.category = (enum gasnetc_am_category)out.category,
                             .request = request,
                             .handler = out.handler,
                             .numargs = numargs};
    gasnetc_handler_fn handler = gasnetc_handler_of(am.handler, token.head, peer);
    const bool traced = gasneti_trace_on && am.handler >= GASNETC_AM_CLIENT;
    const uint64_t began = traced ? gasneti_clock_ns() : 0;
    void *payload = NULL;
    if (out.category == GASNETC_AM_MEDIUM) {
        payload = gasnetc_loop_buffer(request);
        if (out.nbytes && out.src != payload) memcpy(payload, out.src, out.nbytes);
    } else if (out.category == GASNETC_AM_LONG) {
        payload = out.dst;
        if (out.nbytes) {
            gasnetc_check_remote(peer, (uintptr_t)out.dst, out.nbytes, "an AMLong");
            memmove(out.dst, out.src, out.nbytes);
        }
    }
    if (GASNETC_CHECKING) {
        gasnetc_check_promise(am.handler, gasnetc_am_head(am.category, request, numargs), peer);
        gasnetc_handler_begins(&token);
    }
    gasneti_handler_enter();
    if (out.category == GASNETC_AM_SHORT)
        gasnetc_run_short(handler, &token, numargs, out.args);
    else
        gasnetc_run_payload(handler, &token, payload, out.nbytes, numargs, out.args);
    gasneti_handler_leave();
    if (GASNETC_CHECKING) gasnetc_handler_ends(&token);
    if (traced)
        gasneti_trace_note(began, &(gasneti_trace_event_t){.kind = GASNETI_TRACE_handler,
                                                           .peer = peer->net.rank,
                                                           .bytes = out.nbytes,
                                                           .handler = out.handler});
    if (GASNETC_THREADED) gasnetc_wakeup_own(); /* another thread may wait for it */
}

void gasnetc_loopback(gasnetc_outgoing_t out, bool request)
{
    gasneti_self()->counts.loopback++;
    deliver_here(&gasnetc_peers[gasnetc_job.rank], out, request);
}

void gasnetc_run_reply(gasnet_token_t token, gasnet_handler_t handler, void *payload, size_t nbytes)
{
    const gasnetc_outgoing_t reply = {
        .category = GASNETC_AM_MEDIUM, .handler = handler, .src = payload, .nbytes = nbytes};
    deliver_here(((const gasnetc_token_t *)token)->peer, reply, false);
}
