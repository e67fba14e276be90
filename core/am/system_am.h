/* system_am.h - the library's own handlers above the core (indices 64..127): how the Extended API
 * sends Active Messages to itself.
 *
 * Registered during attach, before any client handler can run.  Requests and Replies use the same
 * calls as clients do (gasnetc_AMRequestShort and so on). */
#ifndef GASNETC_SYSTEM_AM_H
#define GASNETC_SYSTEM_AM_H

#include <stdatomic.h>

#include "gasnet.h"

/* Supplied by the Extended API: its handler table, ended by a NULL function; indices 64..127. */
extern const gasnet_handlerentry_t gasnete_handlers[];

/* Supplied by the Extended API; called once at the end of attach, on every node, before the final
 * barrier; messages may be sent only after attach has returned. */
void gasnete_attach(void);

/* Supplied by the Extended API; called outside handlers, by any thread, in each poll that finds
 * gasnete_progress_due set.  May send Requests. */
void gasnete_progress(void);
#pragma GCC visibility push(hidden)
extern atomic_bool gasnete_progress_due;
#pragma GCC visibility pop

#endif
