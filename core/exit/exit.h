/* exit.h - the engine around exit_protocol: how every way of ending a job is carried out. */
#ifndef GASNETC_EXIT_H
#define GASNETC_EXIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Once the bootstrap has joined the job: from now on the end of this process ends the job. */
void gasnetc_exit_init(void);

/* A system message arrived (poll engine, no lock held).  Does not return if it orders the end. */
void gasnetc_exit_system_message(uint32_t from, uint64_t word0, uint64_t word1);

/* A signal (its number), a failed connection or the launcher, which wants this process to end with
 * others, left this note, since it could not act where it was; each poll looks here, and acts. */
enum { GASNETC_EXIT_FAILURE = -1, GASNETC_EXIT_ASKED = -2, GASNETC_EXIT_CALLED = -3 };
#pragma GCC visibility push(hidden)
extern atomic_int gasnetc_exit_pending;
#pragma GCC visibility pop
/* Returns if the note was only GASNETC_EXIT_ASKED. */
void gasnetc_exit_act(void);

/* Whether some thread polls within `seconds`: waits that long at most, in a thread that does not
 * poll itself. */
bool gasnetc_exit_polls(double seconds);

/* A fatal error: ends the job with `code`, at once and without coordination.  Any thread. */
void gasnetc_exit_fatal(int code) __attribute__((noreturn));

/* Whether the process is about to close what it has and to leave the job; and whether this is only
 * a child of the process that joined it.  Async-signal-safe. */
bool gasnetc_exit_closing(void);
bool gasnetc_exit_of_child(void);

/* The job is going to end: from now on its time runs.  Async-signal-safe. */
void gasnetc_exit_start_clock(void);

/* Whether all of it is over, which takes longer where processors are few.  Async-signal-safe. */
bool gasnetc_exit_time_is_up(void);

/* The launcher is to end the job with `code`, and this process ends.  Async-signal-safe. */
void gasnetc_exit_abort(int code) __attribute__((noreturn));

/* The code this process is ending with. */
int gasnetc_exit_code(void);

#endif
