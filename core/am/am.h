/* am.h - shared by the two halves of the AM engine: am_send.c and am_deliver.[ch]. */
#ifndef GASNETC_AM_H
#define GASNETC_AM_H

#include "core/job/job.h"
#include "gasnet.h"

/* The Reply that a handler may send: none, because its message is a Reply; one; or it is sent. */
enum gasnetc_answer { GASNETC_ANSWER_NONE, GASNETC_ANSWER_OPEN, GASNETC_ANSWERED };

/* What a gasnet_token_t points to while a handler runs; on the stack of gasnetc_act_on. */
typedef struct gasnetc_token {
    gasnetc_peer_t *peer; /* the sender; this node's own entry in loopback */
    bool loopback;
    uint8_t answer;         /* enum gasnetc_answer */
    net_message_t *message; /* the Request that the Reply answers; used by flow_network.h alone */
    /* In debug builds: */
    void *locks;                 /* handler-safe locks held when the handler began */
    struct gasnetc_token *outer; /* of the handler that called this one by loopback */
} gasnetc_token_t;

/* Handlers by index; NULL: not registered. */
extern void (*gasnetc_handlers[256])(void);

/* Registers the library's own handlers, indices 1..127, before any client entry.  A NULL function
 * ends `internal`. */
void gasnetc_register_internal(const gasnet_handlerentry_t *internal);

/* Registers a client's table; assigns indices to entries with index 0 and writes them to the table.
 * Returns GASNET_OK, or an error code after reporting the error. */
int gasnetc_register_client(gasnet_handlerentry_t *table, int numentries);

enum { GASNETC_DELIVER_MAX = NET_DELIVER_MAX };

/* Takes `n` <= GASNETC_DELIVER_MAX messages that arrived while the job ends: acts on system
 * messages and releases all others, without running their handlers. */
void gasnetc_drop(net_message_t **messages, unsigned n);

/* An Active Message to be sent. */
typedef struct gasnetc_outgoing {
    uint8_t category; /* enum gasnetc_am_category */
    gasnet_handler_t handler;
    int numargs;
    const gasnet_handlerarg_t *args;
    const void *src;
    size_t nbytes;
    void *dst; /* Long */
} gasnetc_outgoing_t;

/* A Request or Reply to this node itself; runs the handler before it returns. */
void gasnetc_loopback(gasnetc_outgoing_t am, bool request);

/* Sends the Reply to Requests whose handlers have sent none (flow.h).  `answers` as for net_am.
 * am_send.c. */
void gasnetc_send_hidden_reply(gasnetc_peer_t *peer, net_message_t *answers);

#endif
