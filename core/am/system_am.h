/* system_am.h - the Extended API's own handlers (indices 64..127), and other calls that the core
 * makes to the Extended API.
 *
 * The handlers are registered during init, before any client handler can run.  Their Requests and
 * Replies use gasnetc_AMRequestShort and so on: the calls of the client interface without its check
 * of the index.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "core/am/am_wire.h"
#include "gasnet.h"

/* A handler of the library's own, and the only form of message that runs the handler: it may rely
 * on the number and kind of its arguments, but not on their values. */
typedef struct gasnetc_internal {
    gasnet_handler_t index;
    uint8_t head; /* GASNETC_AM_HEAD */
    bool words;   /* `function` is a gasnetc_words_handler_t */
    void (*function)(void);
} gasnetc_internal_t;
#define GASNETC_INTERNAL(index, category, request, numargs, words, function)                       \
    {                                                                                              \
        index, GASNETC_AM_HEAD(GASNETC_AM_##category, request, numargs), words,                    \
            (void (*)(void))(function)                                                             \
    }
#define GASNETC_INTERNAL_REQUEST(index, category, numargs, function)                               \
    GASNETC_INTERNAL(index, category, 1, numargs, false, function)
#define GASNETC_INTERNAL_REPLY(index, category, numargs, function)                                 \
    GASNETC_INTERNAL(index, category, 0, numargs, false, function)
/* The handler of a Short whose arguments are `count` words. */
#define GASNETC_INTERNAL_WORDS_REQUEST(index, count, function)                                     \
    GASNETC_INTERNAL(index, SHORT, 1, 2 * (count), true, function)
#define GASNETC_INTERNAL_WORDS_REPLY(index, count, function)                                       \
    GASNETC_INTERNAL(index, SHORT, 0, 2 * (count), true, function)

/* Gets the words of a message where they lie: a peer may write them while the handler runs, so each
 * is read once, by gasnetc_word. */
typedef void gasnetc_words_handler_t(gasnet_token_t token, const uint64_t *words);

static inline uint64_t gasnetc_word(const uint64_t *words, unsigned i)
{
    return __atomic_load_n(&words[i], __ATOMIC_RELAXED);
}

/* A Short of the library's own whose arguments are words.  The sender writes the words; the calls
 * write the rest, and the message may be sent from this memory. */
enum { GASNETC_WORDS = 5 };
typedef struct gasnetc_words {
    gasnetc_am_header_t header;
    union {
        uint64_t word[GASNETC_WORDS];
        gasnet_handlerarg_t args[2 * GASNETC_WORDS];
    };
    uint64_t behind; /* the network may write behind the message */
} gasnetc_words_t;

/* Send the first `count` words to a rank other than this one, as gasnetc_AMRequestShort and
 * gasnetc_AMReplyShort send arguments. */
void gasnetc_request_words(gasnet_node_t dest, gasnet_handler_t handler, gasnetc_words_t *message,
                           unsigned count);
void gasnetc_reply_words(gasnet_token_t token, gasnet_handler_t handler, gasnetc_words_t *message,
                         unsigned count);

/* In a Request's handler: runs this rank's client handler, as for a Medium Reply from the sender of
 * the Request with this payload and no arguments. */
void gasnetc_run_reply(gasnet_token_t token, gasnet_handler_t handler, void *payload,
                       size_t nbytes);

/* Supplied by the Extended API: its handlers, ended by a NULL function. */
extern const gasnetc_internal_t gasnete_handlers[];

/* Supplied by the Extended API; called once at the end of init and of attach, on every rank, before
 * the final barrier.  They may send no messages. */
void gasnete_init(void);
void gasnete_attach(void);

/* Supplied by the Extended API: from now on the client may call barriers, or must not. */
void gasnete_admit(bool client);

/* Supplied by the Extended API; called outside handlers, by any thread, in each poll that finds
 * gasnete_progress_due set.  `client`: the calling thread is the client's, not the receive thread.
 * May send Requests. */
void gasnete_progress(bool client);
#pragma GCC visibility push(hidden)
extern atomic_bool gasnete_progress_due;
#pragma GCC visibility pop
