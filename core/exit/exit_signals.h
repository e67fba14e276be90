/* exit_signals.h - the part of the exit engine that signals touch. */
#ifndef GASNETC_EXIT_SIGNALS_H
#define GASNETC_EXIT_SIGNALS_H

#include <stdbool.h>

/* Once, before any of the others. */
void gasnetc_exit_make_timer(void);

/* Init: catches termination and fatal signals whose action is still the default and that
 * GASNET_NO_CATCH_SIGNAL does not exempt.  Returns whether there is any fatal one among them, whose
 * handler runs on the thread's alternate signal stack, if the thread has one. */
bool gasnetc_exit_catch_signals(void);

/* Raises SIGQUIT if the client has a handler of its own for it, so that it can clean up; once in
 * the process's life. */
void gasnetc_exit_tell_client(void);

/* From now on SIGQUIT is ignored, and after `seconds` the launcher ends the job.  These, and the
 * one before, are async-signal-safe. */
void gasnetc_exit_arm(double seconds);
void gasnetc_exit_disarm(void);

#endif
