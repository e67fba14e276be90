/* barrier_am.h - the engine of the barrier, as seen by the core's poll. */
#ifndef GASNETE_BARRIER_AM_H
#define GASNETE_BARRIER_AM_H

/* Called by gasnetc_poll outside handlers, on any thread, after the handlers of a turn have run:
 * sends what they may not.  A load and a test when there is nothing to do. */
void gasnete_progress(void);

#endif
