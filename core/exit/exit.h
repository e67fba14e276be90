/* exit.h - the exit engine: runs exit_protocol, whatever started the exit. */
#ifndef GASNETC_EXIT_H
#define GASNETC_EXIT_H

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

#endif
