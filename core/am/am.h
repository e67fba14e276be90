/* am.h - shared by the two halves of the AM engine: am_send.c and am_deliver.[ch]. */
#ifndef GASNETC_AM_H
#define GASNETC_AM_H

#include "core/am/system_am.h"
#include "core/job/job.h"
#include "core/rdma/synchronisation.h"
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

/* The messages that a handler is for.  The bits are those of GEX_FLAG_AM_SHORT and so on, in the
 * order of enum gasnetc_am_category. */
enum {
    GASNETC_FOR_SHORT = 1 << GASNETC_AM_SHORT,
    GASNETC_FOR_MEDIUM = 1 << GASNETC_AM_MEDIUM,
    GASNETC_FOR_LONG = 1 << GASNETC_AM_LONG,
    GASNETC_FOR_CATEGORIES = GASNETC_FOR_SHORT | GASNETC_FOR_MEDIUM | GASNETC_FOR_LONG,
    GASNETC_FOR_REQUESTS = 1 << 3,
    GASNETC_FOR_REPLIES = 1 << 4,
    GASNETC_FOR_BOTH = GASNETC_FOR_REQUESTS | GASNETC_FOR_REPLIES,
    GASNETC_FOR_ALL = GASNETC_FOR_CATEGORIES | GASNETC_FOR_BOTH,
    GASNETC_ANY_NUMBER = 255, /* of arguments */
};

/* A client's handler.  `kinds` and `numargs` promise something of all messages that name it; debug
 * builds check it at delivery.  `cdata` and `name` are the client's, and kept by reference. */
typedef struct gasnetc_handler {
    void (*function)(void);
    gasnet_handler_t index; /* 128..255; 0: registration chooses it */
    uint8_t kinds;          /* GASNETC_FOR_*: at least one category and one direction */
    uint8_t numargs;        /* 0..16, or GASNETC_ANY_NUMBER */
    const void *cdata;
    const char *name; /* may be NULL */
} gasnetc_handler_t;

/* Clients' handlers by index; NULL: not registered.  The library's own are in a separate table
 * (gasnetc_internal_handler). */
extern void (*gasnetc_handlers[256])(void);

/* The client's handler `index` as it was registered; NULL: not registered. */
const gasnetc_handler_t *gasnetc_handler_entry(unsigned index);

/* Registers a table of the library's own handlers, indices 1..127, which a row with a NULL function
 * ends.  Fatal if an index is taken. */
void gasnetc_register_internal(const gasnetc_internal_t *table);

/* Returns the library's handler `index` for a message from `peer` with this head (gasnetc_am_head).
 * Fatal if the index is not registered, or its handler is for messages of another form. */
void (*gasnetc_internal_handler(unsigned index, uint8_t head, const gasnetc_peer_t *peer))(void);

/* Registers handlers of a client, beside those that it has: all of the table, or none.  Legal at
 * any time after gasnet_init, in any thread, while messages arrive.  Entries with index 0 get the
 * highest free indices, in order, and their indices are written.  The caller keeps the table.
 * Returns GASNET_OK, or an error code after reporting the error as that of `call`. */
int gasnetc_am_register(const char *call, gasnetc_handler_t *entries, size_t n);

/* Registers the table of gasnet_attach, whose handlers are for all messages, as gasnetc_am_register
 * does; but entries with index 0 get the lowest free indices. */
int gasnetc_register_client(gasnet_handlerentry_t *table, int numentries);
/* Removes its handlers again, when attach fails: no message can have come for them. */
void gasnetc_forget_client(const gasnet_handlerentry_t *table, int numentries);

/* Debug builds, before a handler runs: fatal if the client's handler `index` is not registered for
 * messages with this head (gasnetc_am_head). */
void gasnetc_check_promise(unsigned index, uint8_t head, const gasnetc_peer_t *peer);

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

/* How a message is sent. */
typedef struct gasnetc_sending {
    enum gasnetc_form form;     /* of a Long: when its source may be written again */
    gasnetc_counter_t *counter; /* GASNETC_LONG_EVENT: counts what of the source is in flight */
    bool immediate; /* refused rather than wait for a credit, a buffer or the connection */
} gasnetc_sending_t;

/* Sends a Request, or the Reply to the Request of a token; false: the immediate message is refused,
 * and nothing is sent.  The source of a Short or Medium may be written again on return.  An
 * immediate Long waits for the own device, and where peers' memory is registered on demand it is
 * sent as if it were not immediate.  am_send.c. */
bool gasnetc_am_request(gasnet_node_t dest, const gasnetc_outgoing_t *am, gasnetc_sending_t how);
bool gasnetc_am_reply(gasnet_token_t token, const gasnetc_outgoing_t *am, gasnetc_sending_t how);

/* Delivers a Request or Reply to this rank itself: runs the handler before it returns. */
void gasnetc_loopback(gasnetc_outgoing_t am, bool request);

/* Sends the Reply to Requests whose handlers have sent none (flow.h).  `answers` as for net_am.
 * am_send.c. */
void gasnetc_send_hidden_reply(gasnetc_peer_t *peer, net_message_t *answers);

#endif
