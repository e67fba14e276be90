/* patience.h - how long to wait for processes that may be late because the processors are few.
 *
 * Time counts, and so does what each process was given of a processor meanwhile: where more run
 * than there are processors, a second of a clock may be a few milliseconds of a process.  Both are
 * counted from gasneti_patience_begin.  Used by the launcher and by the exit engine of the core.
 *
 * The state is pure: the caller says what time it is and how crowded the processors are, which
 * gasneti_running and gasneti_processors tell of this machine.
 */
#ifndef OTHER_PATIENCE_H
#define OTHER_PATIENCE_H

#include <stdbool.h>

struct gasneti_patience {
    double began, last; /* seconds of a clock that only goes forward */
    double share;       /* seconds that a process which always had something to do could run */
};

void gasneti_patience_begin(struct gasneti_patience *p, double now);

/* It is `now`; since the last call a process ran `crowding` times slower than alone. */
void gasneti_patience_tick(struct gasneti_patience *p, double now, double crowding);

/* Whether this part (0 to 1) of the patience is used up: `seconds` have passed, and a process that
 * wanted to could run for GASNETI_PATIENCE_SHARE. */
bool gasneti_patience_over(const struct gasneti_patience *p, double seconds, double part);

/* Seconds, of the whole patience.  With up to 16 processes for each 2 processors it is no more than
 * half a second of the clock, less than an exit may take anyway. */
#define GASNETI_PATIENCE_SHARE 0.0625

/* The processors of this machine, and those of them that this process may use: in a container, or
 * bound to a few, it shares these with the processes of its own job alone, while what runs is
 * counted on the whole machine. */
struct gasneti_processors {
    double all, usable;
};
struct gasneti_processors gasneti_processors(void);

/* Threads of this machine that run or could, 0 where nobody tells.  Async-signal-safe. */
double gasneti_running(void);

/* How many times slower than alone a process runs where so many threads run on the machine, at
 * least 1; `own` processes of its job share what it may use.  Pure. */
double gasneti_crowding(const struct gasneti_processors *processors, double running, double own);

#endif
