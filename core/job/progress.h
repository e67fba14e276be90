/* progress.h - making progress, and waiting without burning other processes' time slices. */
#ifndef GASNETC_POLL_H
#define GASNETC_POLL_H

#include "core/completion.h"
#include "core/job/thread.h"

/* Reaps what was sent and runs the handlers of what arrived, a bounded amount of each.  Never in a
 * handler.  Returns how many messages had arrived. */
unsigned gasnetc_poll(void);

/* The same, also when another thread is at it: what had arrived before the call is found. */
unsigned gasnetc_poll_surely(void);

/* Reaps what was sent, runs no handlers: the only progress a Reply may make. */
void gasnetc_reap(void);

/* One turn of a waiting loop, which is one poll: a poll that has found nothing for as many turns as
 * the patience allows gives the processor away. */
void gasneti_wait_poll(void);

/* One turn of waiting for room to send: a Request polls, what a handler sends may only reap. */
static inline void gasnetc_stall(bool in_handler)
{
    if (in_handler)
        gasnetc_reap();
    else
        gasneti_wait_poll();
}

/* The same where no bounce buffer is free. */
static inline void gasnetc_stall_bbuf(bool in_handler)
{
    gasneti_self()->counts.stalls_bounce++;
    gasnetc_stall(in_handler);
}

/* While the job ends: system messages are served, Active Messages dropped. */
void gasnetc_poll_ending(void);

/* While the job ends: only reaps. */
void gasnetc_poll_sends(void);

/* Who waits for peers that are being connected sleeps so in each of its turns, which count from 0.
 */
void gasnetc_nap(unsigned turn);

/* How many polls in a row may find nothing before the processor is given away. */
void gasnetc_set_spins_before_yield(unsigned turns);

static inline void gasnetc_wait(gasnetc_counter_t *counter)
{
    while (!gasnetc_counter_done(counter)) {
        gasnetc_poll();
        /* Keeps the compiler from computing each field's address ahead of the loop: it holds one
         * pointer then, not three, and the usual wait is one turn. */
        __asm__("" : "+r"(counter));
    }
}

#endif
