/* poll.h - making progress, and waiting without burning other processes' time slices. */
#ifndef GASNETC_POLL_H
#define GASNETC_POLL_H

#include "core/completion.h"

/* Reaps what was sent and runs the handlers of what arrived, a bounded amount of each.  Never in a
 * handler. */
void gasnetc_poll(void);

/* Reaps what was sent, runs no handlers: the only progress a Reply may make. */
void gasnetc_reap(void);

/* One turn of a waiting loop: polls, and when nothing has happened for a while gives the processor
 * away, at once if there are more processes than processors or the wait mode says so. */
void gasneti_wait_poll(void);

/* While the job ends: system messages are served, Active Messages dropped. */
void gasnetc_poll_ending(void);

/* While the job ends: only reaps. */
void gasnetc_poll_sends(void);

/* How many empty turns before the processor is given away. */
void gasnetc_poll_set_patience(unsigned turns);

static inline void gasnetc_wait(gasnetc_counter_t *counter)
{
    while (!gasnetc_counter_done(counter)) gasneti_wait_poll();
}

#endif
