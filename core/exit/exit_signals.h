/* exit_signals.h - the signal handlers and the alarm of the exit engine. */
#ifndef GASNETC_EXIT_SIGNALS_H
#define GASNETC_EXIT_SIGNALS_H

#include <stdbool.h>

/* Makes the timer of the alarm; once, before any other call. */
void gasnetc_exit_make_timer(void);

/* Installs handlers for termination and fatal signals whose action is still the default and that
 * GASNET_NO_CATCH_SIGNAL does not exempt.  Returns whether a fatal one is among them; its handler
 * runs on the thread's alternate signal stack, if there is one. */
bool gasnetc_exit_catch_signals(void);

/* Raises SIGQUIT, once in a process, if the client has a handler for it, so that the client can
 * clean up. */
void gasnetc_exit_raise_sigquit(void);

/* gasnetc_exit_arm ignores SIGQUIT from now on and sets an alarm, after which the launcher ends the
 * job; gasnetc_exit_disarm cancels the alarm.  Both, and gasnetc_exit_raise_sigquit, are
 * async-signal-safe. */
void gasnetc_exit_arm(double seconds);
void gasnetc_exit_disarm(void);

#endif
