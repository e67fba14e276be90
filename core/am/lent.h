/* lent.h - bounce buffers that the client writes the payload of a Medium in, so that no copy is
 * made.
 *
 * A lent buffer has the message's credit, so that sending it waits for this rank's own device
 * alone.
 */
#pragma once

#include "core/am/am.h"
#include "core/am/flow.h"

typedef struct gasnetc_lent {
    gasnetc_peer_t *peer;
    net_message_t *answers; /* as for net_am */
    flow_message_t flow;
    char *bytes; /* of the message */
    unsigned numargs;
} gasnetc_lent_t;

/* Lends room for a payload of GASNETC_MAX_MEDIUM bytes, aligned to 8, for a peer that shares no
 * memory with this rank; the network takes no such message inline (bounce_inlines).  `token`: of
 * the Request to which the message is the Reply; NULL: it is a Request.  NULL: `immediate`, and
 * there is no credit or buffer, or the peer is being connected.  A thread has at most one such
 * Request and one such Reply at a time. */
void *gasnetc_lend(gasnetc_lent_t *lent, gasnetc_peer_t *peer, const gasnetc_token_t *token,
                   unsigned numargs, bool immediate);

/* Sends what the client has written; false: `immediate`, and the message is still to be sent. */
bool gasnetc_send_lent(gasnetc_lent_t *lent, gasnet_handler_t handler, size_t nbytes,
                       const gasnet_handlerarg_t *args, bool immediate);

/* Takes the buffer back without sending.  May send a hidden Reply, and then waits for this rank's
 * own device. */
void gasnetc_take_back(gasnetc_lent_t *lent);
