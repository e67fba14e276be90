/* module_watch.h - what the mpi and the pmix module share: who notices that the launcher is gone,
 * and who asks it to end the job.
 *
 * Those launchers end us when they can; this is for when they cannot.
 */
#ifndef MODULE_WATCH_H
#define MODULE_WATCH_H

#include "other/spawner/bootstrap.h"

/* Watches the process that started us, from a thread without signals. */
void module_watch_start(void);
/* bootstrap_watch: what to do then; before, and after NULL, it is an immediate _exit. */
void module_watch_arm(bootstrap_death_fn on_death);
/* Ends the job by `end`, in the thread that watches, since neither MPI nor PMIx may be called by a
 * signal handler; and this process, whatever comes of it.  Async-signal-safe. */
void module_watch_abort(void (*end)(int exitcode), int exitcode) __attribute__((noreturn));
/* The job is at its end: runs the death function in a thread, once; returns at once. */
void module_watch_report(int exitcode);

#endif
