/* ending.h - what the rooms below core/exit/ ask of it: the note that the next poll acts upon, and
 * the end after a fatal error.  core/exit/ has the bodies.
 */
#ifndef GASNETC_ENDING_H
#define GASNETC_ENDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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

/* A system message arrived (poll engine, no lock held).  Does not return if it orders the end. */
void gasnetc_exit_system_message(uint32_t from, uint64_t word0, uint64_t word1);

#endif
