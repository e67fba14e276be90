/* ending.h - calls from the folders below core/exit/ into it: the pending exit that the next poll
 * acts upon, and the end after a fatal error.  core/exit/ defines them.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A pending exit: the number of a signal, or one of these.  Stored by code that may not end the job
 * where it runs: a signal handler, a network that lost a connection, the spawner's thread.  Each
 * poll tests it, and acts. */
enum {
    GASNETC_EXIT_FAILURE = -1, /* a connection or a peer failed: gasneti_failure */
    GASNETC_EXIT_PROBE = -2,   /* from gasnetc_exit_polls: asks whether a thread polls */
    GASNETC_EXIT_CALLED = -3,  /* the launcher wants this process to end with the others */
};
#pragma GCC visibility push(hidden)
extern atomic_int gasnetc_exit_pending;
#pragma GCC visibility pop
/* Acts upon the pending exit; returns if it was GASNETC_EXIT_PROBE. */
void gasnetc_exit_act(void);

/* True if some thread polls within `seconds`; waits at most that long.  Not for threads that poll
 * themselves. */
bool gasnetc_exit_polls(double seconds);

/* A fatal error: ends the job with `code`, at once and without coordination.  Any thread. */
void gasnetc_exit_fatal(int code) __attribute__((noreturn));

/* A system message arrived (poll engine, no lock held).  Does not return if it orders the end. */
void gasnetc_exit_system_message(uint32_t from, uint64_t word0, uint64_t word1);
