/* exit.h - the exit engine: runs exit_protocol, whatever started the exit.  exit_signals.c has the
 * signal handlers and the alarm, exit_files.c writes what the program's buffers hold.
 */
#pragma once

#include <stdbool.h>

/* From now on the end of this process ends the job; called when the bootstrap has joined the job.
 */
void gasnetc_exit_init(void);

/* True while the process coordinates its exit and closes the network.  Async-signal-safe. */
bool gasnetc_exit_closing(void);

/* Starts the exit timeout, if it is not running.  Async-signal-safe. */
void gasnetc_exit_start_clock(void);

/* True after the exit timeout, which is longer where processors are few.  Async-signal-safe. */
bool gasnetc_exit_time_is_up(void);

/* Has the launcher end the job with `code`, and ends this process.  Async-signal-safe. */
void gasnetc_exit_abort(int code) __attribute__((noreturn));

/* The code with which this process ends. */
int gasnetc_exit_code(void);

/* --- exit_signals.c --- */

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

/* --- exit_files.c, for exit.c alone: output that buffers of the program still hold --- */

/* A process that ends by _exit has to write the buffers.
 *
 * Writes those of all output files of stdio; stdout and stderr are the caller's to write.  A
 * file whose lock another thread holds, or whose pipe is full, is waited for until time_is_up(),
 * then skipped.  Returns 0, or an errno value of a file that was skipped (ETIMEDOUT) or could not
 * be written.  A write that blocks nevertheless blocks the caller. */
int gasnetc_exit_write_files(bool (*time_is_up)(void));

/* Writes the buffers of C++ and Fortran, if the program has them. */
void gasnetc_exit_write_streams(void);

/* Writes coverage and profile data, as the end of main would.  Once. */
void gasnetc_exit_write_profile(void);
