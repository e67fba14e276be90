/* lent.c - buffers of the network that the client writes in; see lent.h. */
#include "core/am/lent.h"

#include "core/am/am_send.h"
#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/rdma/bounce.h"
#include "core/rdma/remote.h"

void *gasnetc_lend(gasnetc_lent_t *lent, gasnetc_peer_t *peer, const gasnetc_token_t *token,
                   unsigned numargs, bool immediate)
{
    const enum flow_kind kind = token ? FLOW_REPLY : FLOW_REQUEST;
    if (!token) remote_settle(); /* before it has a credit, which the messages may need */
    lent->peer = peer;
    lent->answers = token ? flow_answers(token) : NULL;
    lent->numargs = numargs;
    lent->bytes = immediate ? gasnetc_bbuf_try() : gasnetc_bbuf_wait(token);
    if (!lent->bytes) return NULL;
    while (!take_credit(peer, kind, &lent->flow)) {
        if (immediate) {
            gasnetc_bbuf_free(lent->bytes);
            return NULL;
        }
        gasnetc_stall_at(peer, net_ready(&peer->net) ? NET_NO_CREDIT : NET_CONNECTING, token);
    }
    return lent->bytes + gasnetc_am_prefix(GASNETC_AM_MEDIUM, numargs);
}

bool gasnetc_send_lent(gasnetc_lent_t *lent, gasnet_handler_t handler, size_t nbytes,
                       const gasnet_handlerarg_t *args, bool immediate)
{
    const gasnetc_outgoing_t am = {.category = GASNETC_AM_MEDIUM,
                                   .handler = handler,
                                   .numargs = (int)lent->numargs,
                                   .args = args,
                                   .nbytes = nbytes};
    const size_t length =
        (size_t)(write_prefix(lent->bytes, &am, lent->flow.kind == FLOW_REQUEST, 0) - lent->bytes) +
        nbytes;
    enum net_result why;
    if (post_with_credit(lent->peer, &am, lent->bytes, length, true, &lent->flow, lent->answers,
                         &why))
        return true;
    if (immediate) return false;
    gasnetc_post_with_credit(lent->peer, &am, lent->bytes, length, true, &lent->flow,
                             lent->answers);
    return true;
}

void gasnetc_take_back(gasnetc_lent_t *lent)
{
    gasneti_lock(&lent->peer->lock);
    flow_not_sent(lent->peer, &lent->flow);
    const bool overdue = flow_overdue(lent->peer);
    gasneti_unlock(&lent->peer->lock);
    gasnetc_bbuf_free(lent->bytes);
    if (overdue) gasnetc_send_hidden_reply(lent->peer, NULL);
}
