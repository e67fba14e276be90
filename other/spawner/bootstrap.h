/* bootstrap.h - how the processes of a job find each other, and how they end.
 *
 * A spawner starts the processes and gives each a rank; this interface is all that a program sees
 * of it.  It carries a few kilobytes at start-up (never on a hot path), tells which ranks share a
 * host, hands over the launching console's environment, and ends the job.  Nothing in here knows
 * of GASNet: any SPMD program may use it.
 *
 * Collective calls must be made by every rank, in the same order, one thread per process.
 * After bootstrap_init returned BOOTSTRAP_OK, a collective call either completes or ends the
 * process with a message: a lost launcher or peer is not something a caller could mend.
 */
#ifndef BOOTSTRAP_H
#define BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bootstrap_status {
    BOOTSTRAP_OK,
    BOOTSTRAP_NOT_SPAWNED, /* no launcher started this process; `why` names each spawner and its
                              reason */
    BOOTSTRAP_FAILED,      /* a launcher did, but joining the job failed; `why` says how */
};

/* How a process's death is announced to the rest of the job; see bootstrap_watch. */
typedef void (*bootstrap_death_fn)(int exitcode);

/* What bootstrap_init learns.  All pointers stay valid until the process ends. */
struct bootstrap_job {
    uint32_t rank;           /* 0 .. size-1 */
    uint32_t size;           /* number of processes */
    uint32_t host;           /* dense id of this process's host, in order of first rank */
    uint32_t host_size;      /* ranks on this host */
    const uint32_t *host_of; /* [size] host id of every rank */
    const char *spawner;     /* "ssh", "mpi" or "pmix"; for messages */
};

/* What people start such programs with, for messages; set before bootstrap_init. */
extern const char *bootstrap_launcher;

/* Joins the job.  Strips launcher-private words from argc and argv where there are any; both may be
 * NULL.  `why` receives one or more lines of text (without a final newline) when the result is not
 * BOOTSTRAP_OK; it never blocks when no launcher is there.  Call once. */
enum bootstrap_status bootstrap_init(int *argc, char ***argv, struct bootstrap_job *job, char *why,
                                     size_t why_size);

/* The launching console's value of an environment variable, the same on every rank; falls back to
 * this process's own environment.  NULL if neither has it.  Legal at any time, also before init
 * (own environment only) and in any thread. */
const char *bootstrap_getenv(const char *name);

/* The name of host number `host`, as the launcher's list has it; false if it is not known. */
bool bootstrap_host_name(uint32_t host, char *name, size_t size);

/* The launching console's whole environment: NULL-terminated array of NAME=value, or NULL before
 * init.  Same content on every rank. */
const char *const *bootstrap_environ(void);

/* Collective: returns once every rank has called it. */
void bootstrap_barrier(void);

/* Collective allgather: `all` receives size * len bytes, rank r's contribution at r * len. */
void bootstrap_exchange(const void *mine, size_t len, void *all);

/* Collective: block r of `mine` (len bytes) reaches rank r; `all` receives block s from rank s. */
void bootstrap_alltoall(const void *mine, size_t len, void *all);

/* Collective: `data` of rank `root` overwrites `data` everywhere. */
void bootstrap_broadcast(void *data, size_t len, uint32_t root);

/* Arms the watch on the launcher: from now on, when the launcher disappears or orders the job to
 * end, `on_death` runs in a thread of the spawner's with the job's exit code (1 if the launcher
 * disappeared).  All signals but those of its own faults are blocked in that thread.  It may call
 * only async-signal-safe functions and bootstrap_abort, and it must end the process: it gets two
 * seconds, then the spawner does it with _exit.  With the ssh spawner and a launcher that lives it
 * has less: a member of the job that was told to end gets SIGTERM after a quarter and SIGKILL after
 * half a second; direct children of a launcher that was killed die with it, without any call.
 * Before this call the spawner's own default, an immediate _exit, is in force. */
void bootstrap_watch(bootstrap_death_fn on_death);

/* From now on, when somebody asks about the running job (gasnetrun --stats), `answer` runs in a
 * thread of the spawner's, with all signals blocked, and returns text made by malloc, or NULL.  It
 * should take no longer than two seconds; it never runs twice at once. */
typedef char *(*bootstrap_answer_fn)(size_t *length);
void bootstrap_answer(bootstrap_answer_fn answer);

/* How ranks end together where the launcher helps: each says when it wants to end; the launcher
 * answers that it knows (NOTED), and when all have said so it tells all of them (TOGETHER), with
 * the largest of their codes.  Those that have not said so in half of the time are asked to
 * (LEAVE), with the largest code so far.  When the whole time is over the launcher ends the job
 * with that code; where it is 0 but some have not asked to end, with 1, since what they were at is
 * lost. */
enum bootstrap_word { BOOTSTRAP_NOTED, BOOTSTRAP_LEAVE, BOOTSTRAP_TOGETHER };

/* From now on these words of the launcher's are handed to `on_word`, in a thread of the spawner's;
 * it must return soon. */
typedef void (*bootstrap_word_fn)(enum bootstrap_word word, int exitcode);
void bootstrap_listen(bootstrap_word_fn on_word);

/* This process wants to end with `exitcode`, and `seconds` are the time that the others have.
 * Returns at once; false: this launcher does not help, and the processes have to agree among
 * themselves.  Async-signal-safe. */
bool bootstrap_leaving(int exitcode, double seconds);

/* Declares that this process leaves with `exitcode` as part of an orderly end of the whole job.
 * The job's exit code is that of the ranks (the largest taken as unsigned bytes when they differ).
 * Returns; the caller then leaves with _exit(exitcode) or exit(exitcode).  Not collective, and
 * does not wait for other ranks unless the spawner needs it (MPI_Finalize does).  A process that
 * joined and ends without this call, even with status 0, ends the whole job as a failure. */
void bootstrap_fini(int exitcode);

/* Hands over why this process is about to call bootstrap_abort, one line without its end: the
 * launcher says it, once for all ranks with the same reason, `what` in front ("ERROR" gives "ERROR
 * (ranks 0-3 of 4 on vm): ...").  With `once` it tells the first of all such reasons alone, since
 * the others are about the same.  False: there is nobody to do so, and the caller has to. */
bool bootstrap_complain(const char *what, const char *why, bool once);

/* Ends the whole job at once with `exitcode` (1 for 0, where other ranks have neither left nor
 * asked to), however stuck other ranks are: they are told through the watch (or get SIGTERM, if
 * they have not joined), and are killed if they are still there half a second later.  Does not
 * return, runs no atexit handlers: ends this process by _exit. Async-signal-safe with the ssh
 * spawner, any thread; without a job it is _exit(exitcode). */
void bootstrap_abort(int exitcode) __attribute__((noreturn));

/* Whether the program holds an MPI that this job's launcher does not start: to it each process is
 * a job of its own.  ASIDE: MPI_Init is yet to be called; ALONE: it was. */
enum bootstrap_mpi { BOOTSTRAP_MPI_FITS, BOOTSTRAP_MPI_ASIDE, BOOTSTRAP_MPI_ALONE };
enum bootstrap_mpi bootstrap_mpi(void);

#endif
