/* am.h - shared by the two halves of the AM engine: am_send.c and am_deliver.[ch]. */
#pragma once

#include "core/am/system_am.h"
#include "core/job/job.h"
#include "core/rdma/synchronisation.h"
#include "gasnet.h"

/* The Reply of a handler: not sent yet; sent; not allowed, because its message is a Reply; not sent
 * yet by a client's handler in a process that writes a trace. */
enum gasnetc_answer {
    GASNETC_ANSWER_OPEN,
    GASNETC_ANSWERED,
    GASNETC_ANSWER_NONE,
    GASNETC_ANSWER_TRACED
};

/* What a gasnet_token_t points to while a handler runs; on the stack of gasnetc_run_and_release or
 * gasnetc_loopback. */
typedef struct gasnetc_token {
    gasnetc_peer_t *peer; /* the sender; this rank's own entry in loopback */
    bool loopback;
    uint8_t answer;         /* enum gasnetc_answer */
    uint8_t head, handler;  /* in loopback: gasnetc_am_head, and the index */
    net_message_t *message; /* that is being handled; NULL in loopback */
    /* Used in debug builds: */
    void *locks;                 /* handler-safe locks held when the handler began */
    struct gasnetc_token *outer; /* token of the handler that sent this message by loopback */
} gasnetc_token_t;

static inline bool gasnetc_may_reply(const gasnetc_token_t *token)
{
    return token->answer == GASNETC_ANSWER_OPEN || token->answer == GASNETC_ANSWER_TRACED;
}

/* Of a handler's gex_nargs: any number of arguments, as those that gasnet_attach registers have. */
enum { GASNETC_ANY_NUMBER = 255 };

/* Clients' handlers by index; NULL: not registered.  The library's own, and clients' while a trace
 * is written, are in separate tables (am_handlers.c). */
extern void (*gasnetc_handlers[256])(void);

/* The client's handler `index` as it was registered; NULL: not registered. */
const gex_AM_Entry_t *gasnetc_handler_entry(unsigned index);

/* Registers a table of the library's own handlers, indices 1..127, which a row with a NULL function
 * ends.  Fatal if an index is taken. */
void gasnetc_register_internal(const gasnetc_internal_t *table);

/* Returns the library's handler `index` for a message from `peer` with this head (gasnetc_am_head).
 * Fatal if the index is not registered, or its handler is for messages of another form. */
const gasnetc_internal_t *gasnetc_internal_handler(unsigned index, uint8_t head,
                                                   const gasnetc_peer_t *peer);

/* The function of the handler `index`, a client's or the library's own, for a message in loopback.
 * Fatal as above. */
void (*gasnetc_handler_of(unsigned index, uint8_t head, const gasnetc_peer_t *peer))(void);

/* Registers the table of gasnet_attach, whose handlers are for all messages, as
 * gex_EP_RegisterHandlers does; but entries with index 0 get the lowest free indices. */
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

/* A Medium Request that is built where the network takes it from: its caller writes the payload, at
 * message + GASNETC_AM_PREFIX_MAX.  The peer shares no memory with this rank, and the network
 * inlines the message. */
typedef struct gasnetc_in_place {
    gasnetc_peer_t *peer;
    unsigned numargs;
    unsigned prefix; /* bytes before the payload, gasnetc_am_prefix */
    _Alignas(16) char message[GASNETC_AM_PREFIX_MAX + NET_STACK_MESSAGE + NET_AM_TAIL];
} gasnetc_in_place_t;

/* Sends it, with `nbytes` bytes of payload and message->numargs arguments. */
void gasnetc_send_in_place(gasnetc_in_place_t *message, gasnet_handler_t handler, size_t nbytes,
                           int numargs, const gasnet_handlerarg_t *args);

/* Fatal: the token's handler has replied, or runs for a Reply. */
void gasnetc_no_reply(const gasnetc_token_t *token) __attribute__((noreturn, cold));

/* Delivers a Request or Reply to this rank itself, as one from this rank: runs the handler before
 * it returns. */
void gasnetc_loopback(gasnetc_outgoing_t am, bool request);

/* The calling thread's buffer for the payload of a Medium in loopback, or for a message that the
 * network sends inline.  A Request and its Reply have different buffers: a handler may reply from
 * the buffer that it was given. */
void *gasnetc_loop_buffer(bool request);

/* Sends the Reply to Requests whose handlers have sent none (flow.h).  `answers` as for net_am.
 * am_send.c. */
void gasnetc_send_hidden_reply(gasnetc_peer_t *peer, net_message_t *answers);
