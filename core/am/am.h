/* am.h - shared by the two halves of the AM engine: am_send.c and am_deliver.[ch]. */
#ifndef GASNETC_AM_H
#define GASNETC_AM_H

#include "core/am/system_am.h"
#include "core/job/job.h"
#include "gasnet.h"

/* The Reply of a handler: not allowed, because its message is a Reply; not sent yet; sent. */
enum gasnetc_answer { GASNETC_ANSWER_NONE, GASNETC_ANSWER_OPEN, GASNETC_ANSWERED };

/* What a gasnet_token_t points to while a handler runs; on the stack of gasnetc_run_and_release or
 * gasnetc_loopback. */
typedef struct gasnetc_token {
    gasnetc_peer_t *peer; /* the sender; this rank's own entry in loopback */
    bool loopback;
    uint8_t answer;         /* enum gasnetc_answer */
    net_message_t *message; /* the Request that the Reply answers; used by flow_network.h alone */
    /* Used in debug builds: */
    void *locks;                 /* handler-safe locks held when the handler began */
    struct gasnetc_token *outer; /* token of the handler that sent this message by loopback */
} gasnetc_token_t;

/* Clients' handlers by index; NULL: not registered.  The library's own are in a separate table
 * (gasnetc_internal_handler). */
extern void (*gasnetc_handlers[256])(void);

/* Registers a table of the library's own handlers, indices 1..127, which a row with a NULL function
 * ends.  `first`: removes all registered handlers before, the clients' too. */
void gasnetc_register_internal(const gasnetc_internal_t *table, bool first);

/* Returns the library's handler `index` for a message from `peer` with this head (gasnetc_am_head).
 * Fatal if the index is not registered, or its handler is for messages of another form. */
void (*gasnetc_internal_handler(unsigned index, uint8_t head, const gasnetc_peer_t *peer))(void);

/* Registers a client's table; assigns indices to entries with index 0 and writes them to the table.
 * Returns GASNET_OK, or an error code after reporting the error. */
int gasnetc_register_client(gasnet_handlerentry_t *table, int numentries);

enum { GASNETC_DELIVER_MAX = NET_DELIVER_MAX };

/* Takes `n` <= GASNETC_DELIVER_MAX messages that arrived while the job ends: acts on system
 * messages, and releases the other messages without running their handlers. */
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

/* Delivers a Request or Reply to this rank itself: runs the handler before it returns. */
void gasnetc_loopback(gasnetc_outgoing_t am, bool request);

/* Sends the Reply to Requests whose handlers have sent none (flow.h).  `answers` as for net_am.
 * am_send.c. */
void gasnetc_send_hidden_reply(gasnetc_peer_t *peer, net_message_t *answers);

#endif
