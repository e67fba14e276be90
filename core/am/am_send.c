/* am_send.c - the sending half of the AM engine: header, credits, buffer, post.
 *
 * A Request that finds no credit or send slot polls, which runs handlers.  A Reply only reaps, so
 * that no handler runs inside a handler.  An immediate message is refused instead.  A message to a
 * shared-memory peer is written into its ring; of others, those that the network inlines are built
 * on the stack, the rest in a bbuf.
 */
#include "core/am/am_send.h"

#include <string.h>

#include "core/am/context.h"
#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/rdma/bounce.h"
#include "core/rdma/rdma_internal.h"
#include "core/rdma/remote.h"
#include "core/rdma/segment.h"
#include "core/rdma/synchronisation.h"
#include "core/report.h"
#include "core/shm/messages.h"
#include "core/shm/shm.h"
#include "core/trace/trace.h"
#include "other/base/hot.h"

/* Long Replies are packed unless the whole segment is registered: a handler cannot wait for the
 * registration of memory of the peer. */
#ifdef GASNET_SEGMENT_FAST
enum { LONG_REPLIES_PACKED = 0 };
#else
enum { LONG_REPLIES_PACKED = 1 };
#endif

/* Each call of the client interface has its own copy of the HOT functions, in which category and
 * direction are constants. */

/* Tries to post the message at `bytes`, which the network sends inline unless it is in a bbuf.
 * True: the message is posted, or is not needed any more.  `am` is not read for a hidden Reply. */
HOT bool post_once(gasnetc_peer_t *peer, const gasnetc_outgoing_t *am, char *bytes, size_t length,
                   bool in_bbuf, enum flow_kind kind, net_message_t *answers, enum net_result *why)
{
    gasnetc_am_header_t *header = (gasnetc_am_header_t *)(void *)bytes;
    gasnetc_sent_t sent = {.held = in_bbuf ? gasnetc_hold(bytes, GASNETC_HELD_BBUF) : 0};
    const net_region_t *region = in_bbuf ? &gasnetc_bbuf_region : NULL;
    gasneti_lock(&peer->lock);
    *why = NET_NO_CREDIT;
    flow_message_t flow = flow_begin(peer, kind);
    const bool over = flow_superseded(peer, &flow);
    if (!over && flow_may_send(peer, &flow)) {
        header->credits = flow.credits;
        *why = net_am(&peer->net, bytes, region, length, flow.needs_recv, answers, &sent);
        if (*why <= NET_COPIED) {
            count_sent(peer->counts, am, kind, in_bbuf);
            gasneti_unlock(&peer->lock);
            if (in_bbuf && *why == NET_COPIED) gasnetc_bbuf_free(bytes);
            return true;
        }
        gasnetc_count_stall(peer, *why);
        flow.credits = header->credits; /* read again, not kept in a register during net_am */
        flow_not_sent(peer, &flow);
    }
    gasneti_unlock(&peer->lock);
    if (over && in_bbuf) gasnetc_bbuf_free(bytes);
    return over;
}

/* Repeats post_once until it succeeds; before each try polls for a Request, reaps for a Reply. */
static void post_again(gasnetc_peer_t *peer, gasnetc_outgoing_t am, char *bytes, size_t length,
                       bool in_bbuf, enum flow_kind kind, net_message_t *answers,
                       enum net_result why)
{
    do gasnetc_stall_at(peer, why, kind != FLOW_REQUEST);
    while (!post_once(peer, &am, bytes, length, in_bbuf, kind, answers, &why));
}

/* Posts a message; false: it is refused.  The first try is outside the loop, whose variables the
 * compiler would keep in memory. */
HOT bool post(gasnetc_peer_t *peer, const gasnetc_outgoing_t *am, char *bytes, size_t length,
              bool in_bbuf, enum flow_kind kind, net_message_t *answers, bool immediate)
{
    enum net_result why;
    if (post_once(peer, am, bytes, length, in_bbuf, kind, answers, &why)) return true;
    if (immediate) {
        if (in_bbuf) gasnetc_bbuf_free(bytes);
        return false;
    }
    post_again(peer, *am, bytes, length, in_bbuf, kind, answers, why);
    return true;
}

static void __attribute__((noreturn, cold))
check_outgoing(gasnet_node_t dest, gasnetc_outgoing_t am, size_t limit)
{
    if (dest >= gasnetc_job.size) gasnetc_no_such_rank("an Active Message Request", dest);
    if (am.numargs < 0 || am.numargs > GASNETC_AM_MAX_ARGS)
        gasneti_fatal("an Active Message with %d arguments: 0..16 are possible", am.numargs);
    if (am.category == GASNETC_AM_MEDIUM)
        gasneti_fatal("an AMMedium of %zu bytes: the most is %zu", am.nbytes, limit);
    gasneti_fatal("an AMLong of %zu bytes: the most is %zu", am.nbytes, limit);
}

/* A copy of *am for functions off the hot path.  It is made field by field, so that on the hot path
 * *am stays in registers. */
HOT gasnetc_outgoing_t copy_of(const gasnetc_outgoing_t *am)
{
    return (gasnetc_outgoing_t){am->category, am->handler, am->numargs, am->args,
                                am->src,      am->nbytes,  am->dst};
}

#if GASNET_PSHM
_Static_assert(GASNETC_SHM_LIMIT >=
                   sizeof(gasnetc_am_header_t) + 4 * GASNETC_AM_MAX_ARGS + GASNETC_MAX_MEDIUM,
               "a Medium with all arguments fits in a slot");
#endif

/* Tries to write the message into a ring of a shared-memory peer.  False: no slot is free for the
 * Request. */
HOT bool write_once(gasnetc_peer_t *peer, const gasnetc_outgoing_t *am, bool request, size_t length,
                    size_t payload_bytes)
{
    gasneti_lock(&peer->lock);
    char *bytes =
        request ? gasnetc_shm_request_slot(peer, length) : gasnetc_shm_reply_slot(peer, length);
    if (bytes) {
        char *payload = write_prefix(bytes, am, request, 0);
        if (payload_bytes) memcpy(payload, am->src, payload_bytes);
        gasnetc_shm_written(peer, request ? GASNETC_SHM_REQUESTS : GASNETC_SHM_REPLIES, length);
        count_sent(peer->counts, am, request ? FLOW_REQUEST : FLOW_REPLY, false);
    } else {
        gasnetc_count_stall(peer, NET_NO_CREDIT);
    }
    gasneti_unlock(&peer->lock);
    return bytes;
}

/* The functions below send a message to another rank; false: it is refused. */

/* To a shared-memory peer.  A Request that finds no slot polls; a Reply finds one. */
static bool send_by_shm(gasnetc_peer_t *peer, gasnetc_outgoing_t am, bool request, size_t length,
                        size_t payload_bytes, bool immediate)
{
    while (!write_once(peer, &am, request, length, payload_bytes)) {
        if (immediate) return false;
        gasnetc_stall_at(peer, NET_NO_CREDIT, false);
    }
    return true;
}

/* An immediate Long to a shared-memory peer, which copies its payload when it has a slot. */
static bool try_long_by_shm(gasnetc_peer_t *peer, const gasnetc_outgoing_t *am, bool request)
{
    const size_t length = gasnetc_am_prefix(GASNETC_AM_LONG, (unsigned)am->numargs);
    const enum gasnetc_shm_kind kind = request ? GASNETC_SHM_REQUESTS : GASNETC_SHM_REPLIES;
    gasneti_lock(&peer->lock);
    char *bytes =
        request ? gasnetc_shm_request_slot(peer, length) : gasnetc_shm_reply_slot(peer, length);
    if (bytes) {
        gasnetc_shm_put(peer->net.rank, am->dst, am->src, am->nbytes);
        write_prefix(bytes, am, request, 0);
        gasnetc_shm_written(peer, kind, length);
        count_sent(peer->counts, am, request ? FLOW_REQUEST : FLOW_REPLY, false);
    } else {
        gasnetc_count_stall(peer, NET_NO_CREDIT);
    }
    gasneti_unlock(&peer->lock);
    if (bytes) gasneti_self()->counts.longs_unpacked++;
    return bytes;
}

/* A message that the network does not send inline. */
static bool send_from_bbuf(gasnetc_peer_t *peer, gasnetc_outgoing_t am, bool request, uint8_t flags,
                           size_t length, size_t payload_bytes, bool immediate)
{
    char *bytes = immediate ? gasnetc_bbuf_try() : gasnetc_bbuf_wait(!request);
    if (!bytes) return false;
    char *payload = write_prefix(bytes, &am, request, flags);
    if (payload_bytes) memcpy(payload, am.src, payload_bytes);
    return post(peer, &am, bytes, length, true, request ? FLOW_REQUEST : FLOW_REPLY, NULL,
                immediate);
}

HOT bool send_message(gasnetc_peer_t *peer, const gasnetc_outgoing_t *am, bool request,
                      uint8_t flags, bool with_payload, net_message_t *answers, bool immediate)
{
    size_t prefix =
        gasnetc_am_prefix((enum gasnetc_am_category)am->category, (unsigned)am->numargs);
    size_t payload_bytes = with_payload ? am->nbytes : 0;
    const size_t length = prefix + payload_bytes;
    if (gasnetc_shm_of(peer))
        return send_by_shm(peer, copy_of(am), request, length, payload_bytes, immediate);
    if (!bounce_inlines(length))
        return send_from_bbuf(peer, copy_of(am), request, flags, length, payload_bytes, immediate);
    _Alignas(8) char bytes[NET_STACK_MESSAGE + NET_AM_TAIL];
    char *payload = write_prefix(bytes, am, request, flags);
    if (payload_bytes) memcpy(payload, am->src, payload_bytes);
    return post(peer, am, bytes, length, false, request ? FLOW_REQUEST : FLOW_REPLY, answers,
                immediate);
}

/* Tries to post a Long as header and payload.  `counter`, unless NULL, counts the payload. */
static enum net_result pair_once(gasnetc_peer_t *peer, const gasnetc_outgoing_t *am, bool request,
                                 char *header, size_t length, net_message_t *answers,
                                 gasnetc_counter_t *counter)
{
    const gasnetc_sent_t sent = {.counter = counter};
    const net_payload_t payload = {.dst = (uintptr_t)am->dst,
                                   .key = &peer->segment.keys[0],
                                   .src = am->src,
                                   .local = gasnetc_local_region(am->src, am->nbytes),
                                   .length = am->nbytes};
    if (counter) counter->issued++;
    gasneti_lock(&peer->lock);
    enum net_result result = net_long(&peer->net, header, length, &payload, answers, &sent);
    if (result == NET_POSTED)
        count_sent(peer->counts, am, request ? FLOW_REQUEST : FLOW_REPLY, false);
    else
        gasnetc_count_stall(peer, result);
    gasneti_unlock(&peer->lock);
    if (counter && result != NET_POSTED) counter->issued--;
    return result;
}

/* A Long as header and payload, which the network pairs at the receiver. */
static bool send_pair(gasnetc_peer_t *peer, const gasnetc_outgoing_t *am, bool request,
                      gasnetc_sending_t how, net_message_t *answers)
{
    _Alignas(8) char header[sizeof(gasnetc_am_header_t) + 8 + GASNETC_AM_MAX_ARGS * 4];
    const size_t length = (size_t)(write_prefix(header, am, request, 0) - header);
    gasnetc_counter_t local = {0};
    if (gasnetc_frees_source(how.form)) how.counter = &local;
    enum net_result result;
    while ((result = pair_once(peer, am, request, header, length, answers, how.counter)) !=
           NET_POSTED) {
        if (how.immediate) return false;
        gasnetc_stall_at(peer, result, !request);
    }
    while (!gasnetc_counter_done(&local)) gasnetc_stall(!request);
    return true;
}

/* Puts the payload of a Long, of which nothing is in the message.  The message may follow: it
 * cannot overtake the payload. */
static void put_payload(gasnetc_peer_t *peer, const gasnetc_outgoing_t *am, gasnetc_sending_t how,
                        bool reaps)
{
    gasnetc_counter_t arrived = {0};
    gasnetc_counter_t *counter = gasnetc_caps.ordered ? how.counter : &arrived;
    gasnetc_put_payload(peer, am->dst, am->src, am->nbytes, gasnetc_frees_source(how.form),
                        NET_BEFORE_AM, counter, reaps);
    while (!gasnetc_counter_done(&arrived)) gasnetc_stall(reaps);
}

/* A Long whose payload is put first. */
static inline void send_after_payload(gasnetc_peer_t *peer, gasnetc_outgoing_t am, bool request,
                                      gasnetc_sending_t how)
{
    put_payload(peer, &am, how, !request);
    send_message(peer, &am, request, 0, false, NULL, false);
}

void gasnetc_post_with_credit(gasnetc_peer_t *peer, const gasnetc_outgoing_t *am, char *bytes,
                              size_t length, bool in_bbuf, const flow_message_t *flow,
                              net_message_t *answers)
{
    enum net_result why;
    while (!post_with_credit(peer, am, bytes, length, in_bbuf, flow, answers, &why)) {
        const bool by_peer = why == NET_NO_REPLY_BUF || why == NET_NO_CREDIT;
        gasnetc_stall(flow->kind != FLOW_REQUEST || !by_peer);
    }
}

/* send_after_payload for an immediate message: takes its credit before it puts the payload, and
 * then waits for the own device alone.  A buffer for the message must be free before, but is not
 * kept meanwhile: the payload may need it, and a thread that waits for one buffer must not hold
 * another (GASNET_BBUF_COUNT). */
static bool try_after_payload(gasnetc_peer_t *peer, const gasnetc_outgoing_t *am, bool request,
                              gasnetc_sending_t how)
{
    _Alignas(8) char stack[sizeof(gasnetc_am_header_t) + 8 + GASNETC_AM_MAX_ARGS * 4 + NET_AM_TAIL];
    const size_t length = gasnetc_am_prefix(GASNETC_AM_LONG, (unsigned)am->numargs);
    const bool in_bbuf = !bounce_inlines(length);
    char *bytes = in_bbuf ? gasnetc_bbuf_try() : stack;
    flow_message_t flow;
    if (!bytes) return false;
    if (in_bbuf) gasnetc_bbuf_free(bytes);
    if (!take_credit(peer, request ? FLOW_REQUEST : FLOW_REPLY, &flow)) return false;
    put_payload(peer, am, how, true);
    if (in_bbuf) bytes = gasnetc_bbuf_wait(true);
    write_prefix(bytes, am, request, 0);
    gasnetc_post_with_credit(peer, am, bytes, length, in_bbuf, &flow, NULL);
    return true;
}

/* A Long.  The payload for a shared-memory peer is copied to its destination.  A small payload for
 * another peer is packed: sent behind the header, in the same message. */
static bool send_long(gasnetc_peer_t *peer, gasnetc_outgoing_t am, bool request,
                      gasnetc_sending_t how, net_message_t *answers)
{
    bool sent = true;
    if (am.nbytes == 0) return send_message(peer, &am, request, 0, false, answers, how.immediate);
    gasnetc_check_remote(peer, (uintptr_t)am.dst, am.nbytes, "an AMLong");
    if (how.immediate && gasnetc_shm_of(peer)) return try_long_by_shm(peer, &am, request);
    if (gasnetc_shm_put(peer->net.rank, am.dst, am.src, am.nbytes)) {
        gasneti_self()->counts.longs_unpacked++;
        return send_message(peer, &am, request, 0, false, answers, false);
    }
    if (am.nbytes <= (size_t)gasnetc_params.packedlong_limit || (LONG_REPLIES_PACKED && !request)) {
        sent = send_message(peer, &am, request, GASNETC_AM_PACKED, true, answers, how.immediate);
        gasneti_self()->counts.longs_packed += sent;
        return sent;
    }
    if (NET_PAIRS_LONGS)
        sent = send_pair(peer, &am, request, how, answers);
    else if (how.immediate && !REMOTE_PENDS)
        sent = try_after_payload(peer, &am, request, how);
    else
        send_after_payload(peer, am, request, how);
    gasneti_self()->counts.longs_unpacked += sent;
    return sent;
}

/* Sends a Request to this rank itself.  Then polls, because a program may wait for another rank's
 * message in a loop of such Requests; but not inside a handler, where handlers would run inside
 * handlers, nor in an immediate call, which runs no handler but that of its own message. */
static void send_to_self(gasnetc_outgoing_t am, bool immediate)
{
    gasnetc_loopback(am, true);
    if (!immediate && !gasneti_handler_depth()) gasnetc_poll();
}

/* Sends a Request to a rank that the job has. */
HOT bool send_request(gasnet_node_t dest, const gasnetc_outgoing_t *am, size_t limit,
                      gasnetc_sending_t how)
{
    if (GASNETC_CHECKING && am->handler >= GASNETC_AM_CLIENT)
        gasnetc_check_may_communicate("an Active Message Request");
    if (am->nbytes > limit || (unsigned)am->numargs > GASNETC_AM_MAX_ARGS)
        check_outgoing(dest, *am, limit);
    remote_settle();
    if (dest != gasnetc_job.rank)
        return am->category == GASNETC_AM_LONG
                   ? send_long(&gasnetc_peers[dest], *am, true, how, NULL)
                   : send_message(&gasnetc_peers[dest], am, true, 0, true, NULL, how.immediate);
    send_to_self(copy_of(am), how.immediate);
    return true;
}

/* The end of sending a message, which is an event unless it is the library's own or was refused. */
static void note_sent(bool sent, uint64_t began, enum gasneti_trace_kind of_short, uint32_t peer,
                      const gasnetc_outgoing_t *am)
{
    if (began && !sent) {
        gasneti_trace_forget();
        return;
    }
    gasneti_trace_end(began, .kind = (uint8_t)((int)of_short + am->category - GASNETC_AM_SHORT),
                      .peer = peer, .bytes = am->nbytes, .handler = am->handler);
}

/* A Request that gasnetc_reach keeps from the hot path: a wrong one, or any while a trace is
 * written. */
static __attribute__((cold)) bool request_traced(gasnet_node_t dest, const gasnetc_outgoing_t *am,
                                                 size_t limit, gasnetc_sending_t how)
{
    if (GASNETC_CHECKING && am->handler >= GASNETC_AM_CLIENT)
        gasnetc_check_may_communicate("an Active Message Request");
    if (dest >= gasnetc_job.size) check_outgoing(dest, *am, limit);
    const uint64_t began = am->handler >= GASNETC_AM_CLIENT ? gasneti_trace_begin() : 0;
    const bool sent = send_request(dest, am, limit, how);
    note_sent(sent, began, GASNETI_TRACE_request_short, dest, am);
    return sent;
}

void gasnetc_no_reply(const gasnetc_token_t *token)
{
    gasneti_fatal("a handler may reply once, and only to a Request: this is %s",
                  token->answer == GASNETC_ANSWERED ? "its second Reply" : "a Reply's handler");
}

/* Sends the Reply of a token that may be replied to. */
HOT bool send_reply(gasnetc_token_t *token, const gasnetc_outgoing_t *am, size_t limit,
                    gasnetc_sending_t how)
{
    if (am->nbytes > limit || (unsigned)am->numargs > GASNETC_AM_MAX_ARGS)
        check_outgoing(0, *am, limit);
    if (GASNETC_CHECKING) gasnetc_check_reply(token);
    token->answer = GASNETC_ANSWERED;
    if (token->loopback) {
        gasnetc_loopback(copy_of(am), false);
        return true;
    }
    return am->category == GASNETC_AM_LONG
               ? send_long(token->peer, *am, false, how, flow_answers(token))
               : send_message(token->peer, am, false, 0, true, flow_answers(token), how.immediate);
}

/* A Reply whose token is not open: a wrong one, or any while a trace is written. */
static __attribute__((cold)) bool reply_traced(gasnetc_token_t *token, const gasnetc_outgoing_t *am,
                                               size_t limit, gasnetc_sending_t how)
{
    if (token->answer != GASNETC_ANSWER_TRACED) gasnetc_no_reply(token);
    const uint64_t began = am->handler >= GASNETC_AM_CLIENT ? gasneti_trace_begin() : 0;
    const bool sent = send_reply(token, am, limit, how);
    note_sent(sent, began, GASNETI_TRACE_reply_short, token->peer->net.rank, am);
    return sent;
}

void gasnetc_send_hidden_reply(gasnetc_peer_t *peer, net_message_t *answers)
{
    const gasnetc_am_header_t header = {.head = gasnetc_am_head(GASNETC_AM_SHORT, false, 0),
                                        .flags = GASNETC_AM_HIDDEN};
    _Alignas(8) char stack[sizeof header + NET_AM_TAIL];
    char *bytes = stack;
    bool in_bbuf = !bounce_inlines(sizeof header);
    if (in_bbuf) bytes = gasnetc_bbuf_wait(true);
    memcpy(bytes, &header, sizeof header);
    post(peer, &(gasnetc_outgoing_t){.category = GASNETC_AM_SHORT}, bytes, sizeof header, in_bbuf,
         FLOW_HIDDEN_REPLY, answers, false);
}

/* --- the calls of the client interface; UNGUARDED: row "AM Short request, injection" --- */

#define SHORT(h, n, a) (&(gasnetc_outgoing_t){GASNETC_AM_SHORT, h, n, a, NULL, 0, NULL})
#define MEDIUM(h, src, len, n, a)                                                                  \
    (&(gasnetc_outgoing_t){GASNETC_AM_MEDIUM, h, n, a, src, len, NULL})
#define LONG(h, src, len, dst, n, a)                                                               \
    (&(gasnetc_outgoing_t){GASNETC_AM_LONG, h, n, a, src, len, dst})

/* Of the calls of GASNet-1, which are never refused. */
static const gasnetc_sending_t waits = {GASNETC_LONG, NULL, false};
static const gasnetc_sending_t waits_async = {GASNETC_LONG_ASYNC, NULL, false};

/* Sends by `path` in the usual case, else by its twin in the trace. */
#define SEND(path, usual, to, am, limit, how)                                                      \
    do {                                                                                           \
        if (__builtin_expect(usual, 1))                                                            \
            send_##path(to, am, limit, how);                                                       \
        else                                                                                       \
            path##_traced(to, am, limit, how);                                                     \
    } while (0)
#define REQUEST(to, am, limit, how) SEND(request, (to) < gasnetc_reach, to, am, limit, how)
HOT bool is_open(const gasnetc_token_t *token)
{
    if (GASNETC_CHECKING) gasnetc_check_token("an Active Message Reply", token);
    return token->answer == GASNETC_ANSWER_OPEN;
}
#define REPLY(token, am, limit, how) SEND(reply, is_open(token), token, am, limit, how)

UNGUARDED int gasnetc_AMRequestShort(gasnet_node_t dest, gasnet_handler_t handler, int numargs,
                                     const gasnet_handlerarg_t *args)
{
    REQUEST(dest, SHORT(handler, numargs, args), 0, waits);
    return GASNET_OK;
}

UNGUARDED int gasnetc_AMRequestMedium(gasnet_node_t dest, gasnet_handler_t handler, const void *src,
                                      size_t nbytes, int numargs, const gasnet_handlerarg_t *args)
{
    REQUEST(dest, MEDIUM(handler, src, nbytes, numargs, args), GASNETC_MAX_MEDIUM, waits);
    return GASNET_OK;
}

int gasnetc_AMRequestLong(gasnet_node_t dest, gasnet_handler_t handler, const void *src,
                          size_t nbytes, void *dst, int numargs, const gasnet_handlerarg_t *args)
{
    REQUEST(dest, LONG(handler, src, nbytes, dst, numargs, args), GASNETC_MAX_LONG_REQUEST, waits);
    return GASNET_OK;
}

int gasnetc_AMRequestLongAsync(gasnet_node_t dest, gasnet_handler_t handler, const void *src,
                               size_t nbytes, void *dst, int numargs,
                               const gasnet_handlerarg_t *args)
{
    REQUEST(dest, LONG(handler, src, nbytes, dst, numargs, args), GASNETC_MAX_LONG_REQUEST,
            waits_async);
    return GASNET_OK;
}

UNGUARDED void gasnetc_send_in_place(gasnetc_in_place_t *message, gasnet_handler_t handler,
                                     size_t nbytes, int numargs, const gasnet_handlerarg_t *args)
{
    char *bytes = message->message + GASNETC_AM_PREFIX_MAX - message->prefix;
    const gasnetc_outgoing_t *am = MEDIUM(handler, NULL, nbytes, numargs, args);
    remote_settle();
    write_prefix(bytes, am, true, 0);
    post(message->peer, am, bytes, message->prefix + nbytes, false, FLOW_REQUEST, NULL, false);
}

_Static_assert(sizeof(uint64_t) >= NET_AM_TAIL, "gasnetc_words_t has room behind the message");

/* Posts a Short from where its sender has written the words. */
HOT void post_words(gasnetc_peer_t *peer, gasnet_handler_t handler, gasnetc_words_t *message,
                    unsigned count, enum flow_kind kind, net_message_t *answers)
{
    message->header = (gasnetc_am_header_t){
        .head = gasnetc_am_head(GASNETC_AM_SHORT, kind == FLOW_REQUEST, 2 * count),
        .handler = handler};
    post(peer, SHORT(handler, (int)(2 * count), message->args), (char *)message,
         sizeof message->header + count * sizeof message->word[0], false, kind, answers, false);
}

/* The network takes a message of words from any memory. */
HOT bool words_inlined(const gasnetc_peer_t *peer, unsigned count)
{
    return !gasnetc_shm_of(peer) &&
           bounce_inlines(sizeof(gasnetc_am_header_t) + count * sizeof(uint64_t));
}

void gasnetc_request_words(gasnet_node_t dest, gasnet_handler_t handler, gasnetc_words_t *message,
                           unsigned count)
{
    gasnetc_peer_t *peer = &gasnetc_peers[dest];
    if (dest >= gasnetc_reach || !words_inlined(peer, count)) {
        gasnetc_AMRequestShort(dest, handler, (int)(2 * count), message->args);
        return;
    }
    remote_settle();
    post_words(peer, handler, message, count, FLOW_REQUEST, NULL);
}

void gasnetc_reply_words(gasnet_token_t opaque, gasnet_handler_t handler, gasnetc_words_t *message,
                         unsigned count)
{
    gasnetc_token_t *token = opaque;
    if (!words_inlined(token->peer, count)) {
        gasnetc_AMReplyShort(token, handler, (int)(2 * count), message->args);
        return;
    }
    if (token->answer != GASNETC_ANSWER_OPEN) gasnetc_no_reply(token);
    token->answer = GASNETC_ANSWERED;
    post_words(token->peer, handler, message, count, FLOW_REPLY, flow_answers(token));
}

UNGUARDED int gasnetc_AMReplyShort(gasnet_token_t token, gasnet_handler_t handler, int numargs,
                                   const gasnet_handlerarg_t *args)
{
    REPLY(token, SHORT(handler, numargs, args), 0, waits);
    return GASNET_OK;
}

UNGUARDED int gasnetc_AMReplyMedium(gasnet_token_t token, gasnet_handler_t handler, const void *src,
                                    size_t nbytes, int numargs, const gasnet_handlerarg_t *args)
{
    REPLY(token, MEDIUM(handler, src, nbytes, numargs, args), GASNETC_MAX_MEDIUM, waits);
    return GASNET_OK;
}

int gasnetc_AMReplyLong(gasnet_token_t token, gasnet_handler_t handler, const void *src,
                        size_t nbytes, void *dst, int numargs, const gasnet_handlerarg_t *args)
{
    REPLY(token, LONG(handler, src, nbytes, dst, numargs, args), GASNETC_MAX_LONG_REPLY, waits);
    return GASNET_OK;
}

static const size_t request_limits[] = {0, GASNETC_MAX_MEDIUM, GASNETC_MAX_LONG_REQUEST};
static const size_t reply_limits[] = {0, GASNETC_MAX_MEDIUM, GASNETC_MAX_LONG_REPLY};

int gasnetc_may_request(gasnet_node_t dest)
{
    if (dest >= gasnetc_job.size) gasnetc_no_such_rank("an Active Message Request", dest);
    gasnetc_peer_t *peer = &gasnetc_peers[dest];
    if (dest == gasnetc_job.rank || gasnetc_shm_of(peer)) return true;
    gasneti_lock(&peer->lock);
    const bool may = flow_has_credit(peer);
    if (!may) gasnetc_count_stall(peer, NET_NO_CREDIT);
    gasneti_unlock(&peer->lock);
    return may;
}

bool gasnetc_am_request(gasnet_node_t dest, const gasnetc_outgoing_t *am, gasnetc_sending_t how)
{
    const size_t limit = request_limits[am->category];
    return dest < gasnetc_reach ? send_request(dest, am, limit, how)
                                : request_traced(dest, am, limit, how);
}

bool gasnetc_am_reply(gasnet_token_t opaque, const gasnetc_outgoing_t *am, gasnetc_sending_t how)
{
    gasnetc_token_t *token = opaque;
    const size_t limit = reply_limits[am->category];
    const bool open = is_open(token);
    const uint8_t answer = token->answer;
    const bool sent =
        open ? send_reply(token, am, limit, how) : reply_traced(token, am, limit, how);
    if (!sent) token->answer = answer;
    return sent;
}

gex_Rank_t gasnetc_token_source(gex_Token_t token)
{
    if (GASNETC_CHECKING) gasnetc_check_token("gex_Token_Info", token);
    return ((const gasnetc_token_t *)token)->peer->net.rank;
}

int gasnetc_AMGetMsgSource(gasnet_token_t opaque, gasnet_node_t *source)
{
    gasnetc_token_t *token = opaque;
    if (GASNETC_CHECKING) gasnetc_check_in_handler("gasnet_AMGetMsgSource", token);
    if (GASNETC_CHECKING && token) gasnetc_check_token("gasnet_AMGetMsgSource", token);
    if (!token || !source)
        return gasneti_error(GASNET_ERR_BAD_ARG, "gasnet_AMGetMsgSource", "a NULL %s",
                             token ? "result pointer" : "token");
    *source = (gasnet_node_t)token->peer->net.rank;
    return GASNET_OK;
}
