/* progress.h - calls that make progress, and waiting loops that yield the processor. */
#ifndef GASNETC_PROGRESS_H
#define GASNETC_PROGRESS_H

#include "core/completion.h"
#include "core/job/thread.h"

/* Called once, in a job of several processes, when the network is open: from then on polls look at
 * it. */
void gasnetc_poll_open(void);

/* Reaps what was sent and runs the handlers of what arrived, a bounded amount of each.  Never in a
 * handler. */
void gasnetc_poll(void);

/* The same for the receive thread: waits while another thread polls, and so finds all that had
 * arrived before the call.  Returns 0 if no message had.  `spare`: of the calling thread, from
 * net_spare_own. */
struct net_spare;
unsigned gasnetc_poll_blocking(struct net_spare *spare);

/* Reaps what was sent and runs no handlers: the only progress allowed inside a handler. */
void gasnetc_reap(void);

/* One step of a waiting loop, which is one poll.  After so many polls in a row that found nothing
 * as gasnetc_set_waiting says it yields the processor, and after some yields it sleeps. */
void gasneti_wait_poll(void);

/* The same for what rings for all that sleep (core/pshm/common.h): the first sleep is longer.
 * `others_got_on`, since the last step: the thread only yields, as in the first steps, and polls
 * when something has rung for this process, and now and then. */
void gasnetc_wait_bell(bool others_got_on);

/* Ends a waiting loop of such steps: the next one begins with short waits again. */
void gasneti_wait_over(void);

/* A waiting loop; the condition may be evaluated several times. */
#define gasneti_wait_until(condition)                                                              \
    do {                                                                                           \
        if (condition) break;                                                                      \
        do gasneti_wait_poll();                                                                    \
        while (!(condition));                                                                      \
        gasneti_wait_over();                                                                       \
    } while (0)

/* The same without the work of the Extended API, whose messages would wait for what this thread
 * holds: a Request that waits for a credit keeps its bounce buffer. */
void gasnetc_poll_stalled(void);

/* One step of waiting for a send slot, a buffer or a credit: polls, or inside a handler only reaps.
 */
static inline void gasnetc_stall(bool in_handler)
{
    if (in_handler)
        gasnetc_reap();
    else
        gasnetc_poll_stalled();
}

/* The same where no bounce buffer is free. */
static inline void gasnetc_stall_bbuf(bool in_handler)
{
    gasneti_self()->counts.stalls_bounce++;
    gasnetc_stall(in_handler);
}

/* While the job ends: handles system messages, drops Active Messages. */
void gasnetc_poll_ending(void);

/* While the job ends: only reaps. */
void gasnetc_poll_sends(void);

/* Sleeps in a loop that waits for peers being connected: the longer, the higher `attempt`, which
 * counts from 0. */
void gasnetc_nap(unsigned attempt);

/* How many polls in a row may find nothing before the thread yields its processor, and how long it
 * may then sleep: 0, or gasnetc_longest_sleep().  Sleeps are shorter where what arrives wakes
 * nobody. */
void gasnetc_set_waiting(unsigned polls, uint32_t sleep_us);
uint32_t gasnetc_longest_sleep(void);

static inline void gasnetc_wait(gasnetc_counter_t *counter)
{
    while (!gasnetc_counter_done(counter)) {
        gasnetc_poll();
        /* Keeps the compiler from computing the address of each field ahead of the loop, since the
         * usual wait is one poll.  It pays in the row "put_nb + wait" of `make bench` (ibv, SEQ):
         * 209 instructions, else 210; and gasnete_wait_syncnbi_puts has 14, else 19. */
        __asm__("" : "+r"(counter));
    }
}

#endif
