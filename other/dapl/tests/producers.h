/* producers.h - functions of the programs of races: threads that produce events, random delays, and
 * the rounds, on each kind of device.
 *
 * A lost wake-up is detected as a wait that does not end: the alarm of check_begin ends the
 * program.
 */
#ifndef DAPL_PRODUCERS_H
#define DAPL_PRODUCERS_H

#include "other/dapl/tests/waiters.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SCALE = 1 };
#else
enum { SCALE = 8 };
#endif

/* The device of this round. */
extern world_t world;

typedef struct side {
    thread_t thread;
    dapl_evd_t *evd, *evds[4];
    dapl_cno_t *cno, *cnos[2];
    int n, kinds; /* bit 0: completions, bit 1: software events */
    uint64_t seed;
    _Atomic int *gone; /* how many the consumer has had */
    _Atomic bool stop;
    _Atomic int done, refused;
} side_t;

/* A delay of up to `most` turns, by a generator of the thread's own. */
void spin(uint64_t *seed, uint32_t most);

/* A thread that produces n events, at most 16 ahead of the consumer where this counts in `gone`. */
void begin_producer(side_t *side, dapl_evd_t *evd, int n, int kinds, _Atomic int *gone);

/* SIGUSR1 interrupts calls, and does no more. */
void interrupt_by_signals(void);

/* The program: `races` on each kind of device, TEST_ROUNDS (1) times. */
int race_rounds(int argc, char **argv, void (*races)(void));

#endif
