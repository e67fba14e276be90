/* progress.h - calls that make progress, and waiting loops that yield the processor. */
#pragma once

#include "core/completion.h"
#include "core/job/thread.h"

/* Called once, in a job of several processes, when the network is open: from then on polls look at
 * the network. */
void gasnetc_poll_open(void);

/* Reaps what was sent and runs the handlers of what arrived, a bounded amount of each.  Never in a
 * handler. */
void gasnetc_poll(void);

/* gasnetc_poll as a step of a wait for puts and gets.  A pointer, because a traced process has
 * another function there (trace.h), and a call through it costs what a direct one costs. */
#pragma GCC visibility push(hidden)
extern void (*gasnetc_poll_in_wait)(void);
#pragma GCC visibility pop
/* From now on these waits are traced. */
void gasnetc_trace_waits(void);

/* Polls until a poll finds nothing, or 32 times. */
void gasnetc_poll_backlog(void);

/* gasnetc_poll for the receive thread: waits while another thread polls, and so finds all messages
 * that had arrived before the call.  Returns 0 if it found no message.  `spare`: of the calling
 * thread, from net_spare_own. */
struct net_spare;
unsigned gasnetc_poll_blocking(struct net_spare *spare);

/* Reaps what was sent and runs no handlers: the only progress allowed inside a handler. */
void gasnetc_reap(void);

/* One step of a waiting loop, which is one poll.  After a number of polls in a row that found
 * nothing (gasnetc_set_waiting) the thread yields its processor, and after some yields it sleeps.
 */
void gasneti_wait_poll(void);

/* gasneti_wait_poll where the awaited event wakes all sleeping threads (core/shm/wake.h): the
 * first sleep is longer.  `others_got_on`: other processes have made progress since the last step;
 * the thread then only yields, and polls when a peer has woken this process, and now and then. */
void gasnetc_wait_woken(bool others_got_on);

/* Ends a loop of these waiting steps: the next loop begins with short waits again. */
void gasneti_wait_over(void);

/* The number of waits that have ended, or nearly; any thread. */
uint32_t gasnetc_waits_over(void);

/* Waits until the condition is true; evaluates it several times. */
#define gasneti_wait_until(condition)                                                              \
    do {                                                                                           \
        if (condition) break;                                                                      \
        do gasneti_wait_poll();                                                                    \
        while (!(condition));                                                                      \
        gasneti_wait_over();                                                                       \
    } while (0)

/* gasnetc_poll without the work of the Extended API, whose messages could wait for resources that
 * this thread holds: a Request that waits for a credit keeps its bounce buffer. */
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

/* gasnetc_stall where no bounce buffer is free. */
void gasnetc_stall_bbuf(bool in_handler);

/* Polls while the job ends: handles system messages, drops Active Messages. */
void gasnetc_poll_ending(void);

/* Only reaps, while the job ends. */
void gasnetc_poll_sends(void);

/* Sleeps in a loop that waits for peers being connected: the longer, the higher `attempt`, which
 * counts from 0. */
void gasnetc_pause(unsigned attempt);

/* How many polls in a row may find nothing before the thread yields its processor, and how long it
 * may then sleep: 0, or gasnetc_longest_sleep().  Sleeps are shorter where arrivals wake nobody. */
void gasnetc_set_waiting(unsigned polls, uint32_t sleep_us);
uint32_t gasnetc_longest_sleep(void);

static inline void gasnetc_wait(gasnetc_counter_t *counter)
{
    while (!gasnetc_counter_done(counter)) gasnetc_poll_in_wait();
}
