/* patience.h - how long to wait for processes that may be late because processors are few.
 *
 * Counts the time of a clock and the processor time that each process could use of it: where more
 * processes run than there are processors, a second of the clock may be a few milliseconds of a
 * process.  Both are counted from gasneti_patience_begin.  Used by the launcher and by the exit
 * engine of the core.
 *
 * The state machine is pure: the caller passes the time and the crowding of the processors, which
 * it computes from gasneti_running and gasneti_processors.
 */
#ifndef OTHER_PATIENCE_H
#define OTHER_PATIENCE_H

#include <stdbool.h>

struct gasneti_patience {
    double began, last; /* seconds of a clock that only goes forward */
    double waited;      /* seconds since `began`, without what the caller itself slept through */
    double share;       /* seconds that a process which is always runnable could run */
};

void gasneti_patience_begin(struct gasneti_patience *p, double now);

/* The time is `now`; since the last call a process ran `crowding` times slower than alone. */
void gasneti_patience_tick(struct gasneti_patience *p, double now, double crowding);

/* The part of the wait that has passed; 1 when `seconds` have, and a runnable process could run for
 * GASNETI_PATIENCE_SHARE. */
double gasneti_patience_part(const struct gasneti_patience *p, double seconds);

/* Seconds of processor time in a whole wait.  With up to 16 processes for each 2 processors it is
 * at most half a second of the clock, less than an exit may take. */
#define GASNETI_PATIENCE_SHARE 0.0625

/* The processors of this machine, and those of them that this process may use.  In a container, or
 * bound to a few processors, a process shares these with the processes of its own job alone, while
 * running threads are counted on the whole machine. */
struct gasneti_processors {
    double all, usable;
};
struct gasneti_processors gasneti_processors(void);

/* The runnable threads of this machine, 0 if unknown.  Async-signal-safe. */
double gasneti_running(void);

/* How many times slower than alone a process runs, at least 1, if `running` threads of the machine
 * are runnable and `own` processes of its job share the processors that it may use.  Pure. */
double gasneti_crowding(const struct gasneti_processors *processors, double running, double own);

#endif
