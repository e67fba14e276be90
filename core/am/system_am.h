/* system_am.h - the Extended API's own handlers (indices 64..127), and other calls that the core
 * makes to the Extended API.
 *
 * The handlers are registered during attach, before any client handler can run.  Their Requests and
 * Replies use the calls of the client interface (gasnetc_AMRequestShort and so on).
 */
#ifndef GASNETC_SYSTEM_AM_H
#define GASNETC_SYSTEM_AM_H

#include <stdatomic.h>
#include <stdbool.h>

#include "gasnet.h"

/* Supplied by the Extended API: its handler table, ended by a NULL function. */
extern const gasnet_handlerentry_t gasnete_handlers[];

/* Supplied by the Extended API; called once at the end of attach, on every node, before the final
 * barrier.  It may send no messages. */
void gasnete_attach(void);

/* Supplied by the Extended API; called outside handlers, by any thread, in each poll that finds
 * gasnete_progress_due set.  `client`: the calling thread is the client's, not the receive thread.
 * May send Requests. */
void gasnete_progress(bool client);
#pragma GCC visibility push(hidden)
extern atomic_bool gasnete_progress_due;
#pragma GCC visibility pop

#endif
