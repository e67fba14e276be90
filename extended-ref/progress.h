/* progress.h - the work of the Extended API that polls do: barriers, and through a hook that is
 * NULL until gasnet_coll_init or the first collective of GASNet-EX, collectives.
 *
 * gasnete_progress is called by each poll that finds gasnete_progress_due set
 * (core/am/system_am.h). A part that has work sets it, in a handler or when it starts; a part that
 * polls memory sets it again in each call.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "core/am/system_am.h"

/* barrier/teams.c: takes messages of barriers that have arrived, and sends those that are due. */
void gasnete_barrier_progress(void);

/* Works on the collectives that are ready; NULL until there are any.  `client`: the calling
 * thread is the client's, not the receive thread. */
extern void (*_Atomic gasnete_coll_progress_hook)(bool client);
