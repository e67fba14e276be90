/* firehose_messages.c - the messages of remote firehoses (core/rdma/remote.h) as Active Messages:
 * Medium Requests without arguments.
 *
 * They are sent in polls, which have found them to be due.  A message that finds no credit or
 * buffer is left for a later poll.  So the answer to a message is a Request of its own: it needs no
 * more than that the peer polls, which it does outside its handlers.
 */
#include "core/am/am.h"
#include "core/am/am_wire.h"
#include "core/am/flow.h"
#include "core/rdma/bounce.h"
#include "core/rdma/remote.h"
#include "core/report.h"

enum { HANDLER = 1 }; /* below the indices of the Extended API */

static void arrived(gasnet_token_t opaque, void *bytes, size_t size)
{
    const gasnetc_token_t *token = opaque;
    const uint32_t from = token->peer->net.rank;
    const char *wrong = gasnetc_firehose_message(from, bytes, size);
    if (wrong) gasneti_malformed(from, (uint32_t)size, wrong);
}

void gasnetc_register_firehose_handler(void)
{
    static const gasnetc_internal_t table[] = {
        GASNETC_INTERNAL_REQUEST(HANDLER, MEDIUM, 0, arrived), {0}};
    gasnetc_register_internal(table);
}

/* Tries once to post the message.  `in_bbuf`: `bytes` is a bounce buffer; else it is sent inline.
 */
static enum net_result post_once(gasnetc_peer_t *peer, char *bytes, uint32_t length, bool in_bbuf)
{
    gasnetc_am_header_t *header = (gasnetc_am_header_t *)(void *)bytes;
    const gasnetc_sent_t sent = {.held = in_bbuf ? gasnetc_hold(bytes, GASNETC_HELD_BBUF) : 0};
    const uint32_t nbytes = header->nbytes; /* a message that is posted is no longer ours to read */
    enum net_result result = NET_NO_CREDIT;
    gasneti_lock(&peer->lock);
    flow_message_t flow = flow_begin(peer, FLOW_REQUEST);
    if (flow_may_send(peer, &flow)) {
        header->credits = flow.credits;
        result = net_am(&peer->net, bytes, in_bbuf ? &gasnetc_bbuf_region : NULL, length,
                        flow.needs_recv, NULL, &sent);
        if (result == NET_POSTED) {
            peer->counts->requests_medium++;
            peer->counts->am_bytes += nbytes;
        } else {
            flow_not_sent(peer, &flow);
            gasnetc_count_stall(peer, result);
        }
    }
    gasneti_unlock(&peer->lock);
    return result;
}

bool gasnetc_send_firehose_message(uint32_t node, const void *bytes, size_t size)
{
    const gasnetc_am_header_t header = {.head = gasnetc_am_head(GASNETC_AM_MEDIUM, true, 0),
                                        .handler = HANDLER,
                                        .nbytes = (uint32_t)size};
    const uint32_t length = (uint32_t)(sizeof header + size);
    _Alignas(8) char stack[NET_STACK_MESSAGE + NET_AM_TAIL];
    const bool in_bbuf = !bounce_inlines(length);
    char *message = in_bbuf ? gasnetc_bbuf_try() : stack;
    if (!message) return false;
    memcpy(message, &header, sizeof header);
    memcpy(message + sizeof header, bytes, size);
    if (post_once(&gasnetc_peers[node], message, length, in_bbuf) == NET_POSTED) return true;
    if (in_bbuf) gasnetc_bbuf_free(message);
    return false;
}
