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
    void (*function)(void);
} gasnetc_internal_t;
#define GASNETC_INTERNAL_REQUEST(index, category, numargs, function)                               \
    {                                                                                              \
        index, GASNETC_AM_HEAD(GASNETC_AM_##category, 1, numargs), (void (*)(void))(function)      \
    }
#define GASNETC_INTERNAL_REPLY(index, category, numargs, function)                                 \
    {                                                                                              \
        index, GASNETC_AM_HEAD(GASNETC_AM_##category, 0, numargs), (void (*)(void))(function)      \
    }

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
