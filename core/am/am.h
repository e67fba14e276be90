/* am.h - the AM engine's two halves: what arrives is delivered here, what is sent is in am_send.c.
 */
#ifndef GASNETC_AM_H
#define GASNETC_AM_H

#include "core/job/job.h"
#include "gasnet.h"

/* What a gasnet_token_t points to while a handler runs: on the stack of the delivery. */
typedef struct gasnetc_token {
    gasnetc_peer_t *peer; /* the sender; this node's own entry in loopback */
    bool loopback;
    bool request;
    bool replied;
    net_message_t *message; /* NET_HAS_FLOW_CONTROL alone: what the Reply answers */
    /* Debug builds: */
    void *locks;                 /* held when the handler began */
    struct gasnetc_token *outer; /* of the handler within which this one runs */
} gasnetc_token_t;

/* What a Reply must name. */
static inline net_message_t *gasnetc_answers(const gasnetc_token_t *token)
{
    return NET_HAS_FLOW_CONTROL ? token->message : NULL;
}

/* Handlers by index; NULL where none is registered. */
extern void (*gasnetc_handlers[256])(void);

/* Fixed indices 1..127 come from `internal` (ended by NULL), before any client entry. */
void gasnetc_register_internal(const gasnet_handlerentry_t *internal);

/* A client's table: assigns indices to entries with 0 and writes them back.  GASNET_OK, or an error
 * code after announcing it. */
int gasnetc_register_client(gasnet_handlerentry_t *table, int numentries);

enum { GASNETC_DELIVER_MAX = NET_DELIVER_MAX };

/* Of `n` <= GASNETC_DELIVER_MAX messages that arrived while the job ends: no handler runs, only
 * system messages are acted on. */
void gasnetc_drop(net_message_t **messages, unsigned n);

/* A Request or Reply to this node itself; runs the handler before it returns. */
typedef struct gasnetc_outgoing {
    uint8_t category; /* enum gasnetc_am_category */
    gasnet_handler_t handler;
    int numargs;
    const gasnet_handlerarg_t *args;
    const void *src;
    size_t nbytes;
    void *dst; /* Long */
} gasnetc_outgoing_t;
void gasnetc_loopback(gasnetc_outgoing_t am, bool request);

/* Sends the Reply that only carries credits, if they still exceed the slack; with
 * NET_HAS_FLOW_CONTROL the Reply to a Request whose handler has sent none.  am_send.c. */
void gasnetc_send_hidden_reply(gasnetc_peer_t *peer, net_message_t *answers);

#endif
