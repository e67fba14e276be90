/* module.h - shared by the mpi and pmix modules: a rank answers gasnetrun --stats
 * (module_answer.c); the end of the launcher is detected, and ends the job (module_watch.c).
 *
 * These launchers normally end the ranks themselves; the watch covers the cases in which they
 * cannot.
 */
#ifndef MODULE_H
#define MODULE_H

#include "other/launch/bootstrap.h"

/* Opens this rank's socket and starts the answering thread; a failure does not affect the job. */
void module_answer_start(uint32_t rank, uint32_t size);
/* Implements bootstrap_answer. */
void module_answer(bootstrap_answer_fn answer);

/* Starts a thread, with all signals blocked, that watches the parent process. */
void module_watch_start(void);
/* Implements bootstrap_watch: the function to run when the launcher ends.  Before this call, and
 * after NULL, the process exits at once. */
void module_watch_arm(bootstrap_death_fn on_death);
/* Calls `end` in the watching thread, since neither MPI nor PMIx may be called in a signal
 * handler, and ends this process in any case.  Async-signal-safe. */
void module_watch_abort(void (*end)(int exitcode), int exitcode) __attribute__((noreturn));
/* Runs the death function in a thread, once; returns at once. */
void module_watch_report(int exitcode);

#endif
