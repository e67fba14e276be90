/* exit.h - the engine around exit_protocol: how every way of ending a job is carried out. */
#ifndef GASNETC_EXIT_H
#define GASNETC_EXIT_H

#include <stdbool.h>

/* Once the bootstrap has joined the job: from now on the end of this process ends the job. */
void gasnetc_exit_init(void);

/* Whether the process is about to close what it has and to leave the job.  Async-signal-safe. */
bool gasnetc_exit_closing(void);

/* The job is going to end: from now on its time runs.  Async-signal-safe. */
void gasnetc_exit_start_clock(void);

/* Whether all of it is over, which takes longer where processors are few.  Async-signal-safe. */
bool gasnetc_exit_time_is_up(void);

/* The launcher is to end the job with `code`, and this process ends.  Async-signal-safe. */
void gasnetc_exit_abort(int code) __attribute__((noreturn));

/* The code this process is ending with. */
int gasnetc_exit_code(void);

#endif
