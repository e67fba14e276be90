/* bootstrap.h - how the processes of a job find each other, and how they end.
 *
 * A spawner starts the processes and gives each a rank; this interface is all that a program sees
 * of it.  It exchanges a few kilobytes at start-up (never on a hot path), reports which ranks
 * share a host, provides the launching console's environment, and ends the job.  It is independent
 * of GASNet: any SPMD program may use it.
 *
 * Collective calls must be made by every rank, in the same order, by one thread per process. After
 * bootstrap_init returned BOOTSTRAP_OK, a collective call completes or ends the process with a
 * message; a caller could not handle a lost launcher or peer.
 */
#ifndef BOOTSTRAP_H
#define BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bootstrap_status {
    BOOTSTRAP_OK,
    BOOTSTRAP_NOT_SPAWNED, /* no launcher started this process; `why` lists each spawner and its
                              reason */
    BOOTSTRAP_FAILED,      /* a launcher did, but joining the job failed; `why` has the reason */
};

/* The function that ends this process with the job; see bootstrap_watch. */
typedef void (*bootstrap_death_fn)(int exitcode);

/* Results of bootstrap_init.  All pointers stay valid until the process ends. */
struct bootstrap_job {
    uint32_t rank;           /* 0 .. size-1 */
    uint32_t size;           /* number of processes */
    uint32_t host;           /* dense id of this process's host, in order of first rank */
    uint32_t host_size;      /* ranks on this host */
    const uint32_t *host_of; /* [size] host id of every rank */
    const char *spawner;     /* "ssh", "mpi" or "pmix"; for messages */
};

/* The command by which users start such programs, for messages; set before bootstrap_init. */
extern const char *bootstrap_launcher;

/* Joins the job.  Removes the launcher's words from argc and argv where there are any; both may be
 * NULL.  `why` receives one or more lines of text (without a final newline) when the result is not
 * BOOTSTRAP_OK.  Never blocks when there is no launcher.  Call once. */
enum bootstrap_status bootstrap_init(int *argc, char ***argv, struct bootstrap_job *job, char *why,
                                     size_t why_size);

/* The launching console's value of an environment variable, the same on every rank; otherwise this
 * process's own value; otherwise NULL.  Always NULL in a process with more rights than its user
 * (other/base/environment.h).  Legal at any time in any thread, also before init (own
 * environment only). */
const char *bootstrap_getenv(const char *name);

/* Writes the name of host number `host` as in the launcher's list; returns false if it is unknown.
 */
bool bootstrap_host_name(uint32_t host, char *name, size_t size);

/* The launching console's whole environment: NULL-terminated array of NAME=value, or NULL before
 * init, and in a process with more rights than its user.  Same content on every rank. */
const char *const *bootstrap_environ(void);

/* Collective: returns when every rank has called it. */
void bootstrap_barrier(void);

/* Collective allgather: `all` receives size * len bytes, the contribution of rank r at r * len. */
void bootstrap_exchange(const void *mine, size_t len, void *all);

/* Collective: block r of `mine` (len bytes) goes to rank r; `all` receives block s from rank s. */
void bootstrap_alltoall(const void *mine, size_t len, void *all);

/* Collective: `data` of rank `root` is copied to `data` on every rank. */
void bootstrap_broadcast(void *data, size_t len, uint32_t root);

/* Registers what each collective call does while it waits for other ranks: `meanwhile` is called in
 * the waiting thread, at once, after each word of bootstrap_listen and every few milliseconds,
 * without any lock of the spawner, and may end the process.  It makes no collective call.  NULL:
 * nothing.
 */
typedef void (*bootstrap_meanwhile_fn)(void);
void bootstrap_meanwhile(bootstrap_meanwhile_fn meanwhile);

/* Arms the watch on the launcher: when the launcher disappears or orders the job to end,
 * `on_death` is called in a thread of the spawner with the job's exit code (1 if the launcher
 * disappeared).  All signals but those of its own faults are blocked in that thread.  `on_death`
 * may call only async-signal-safe functions and bootstrap_abort, and must end the process within
 * two seconds; then the spawner calls _exit.
 *
 * With the ssh spawner and a running launcher the time is shorter: a rank that was ordered to end
 * gets SIGTERM after a quarter of a second and SIGKILL after half a second.  When the launcher is
 * killed its direct children die without any call.  Before this call the default is an immediate
 * _exit.
 */
void bootstrap_watch(bootstrap_death_fn on_death);

/* What gasnetrun asks a running job: --stats, --why, --top. */
enum bootstrap_question { BOOTSTRAP_STATS, BOOTSTRAP_WHY, BOOTSTRAP_TOP, BOOTSTRAP_QUESTIONS };

/* Registers the function that answers these questions.  It is called in a thread of the spawner
 * with all signals blocked, never twice at once, should take no longer than two seconds, and
 * returns text from malloc, or NULL. */
typedef char *(*bootstrap_answer_fn)(enum bootstrap_question question, size_t *length);
void bootstrap_answer(bootstrap_answer_fn answer);

/* Announces whether this rank has got on within the last `seconds`, about as often as that.  When
 * no rank has for so long, the launcher prints what each waits for, once.  False: there is no such
 * launcher, and each rank has to print its own part. */
bool bootstrap_moves(bool moves, double seconds);

/* Composes, from one rank's answer to --why, what it waits for; the caller frees it.  NULL: out of
 * memory. */
char *bootstrap_why(const char *answer);

/* How ranks end together with the launcher's help: each rank asks to end; the launcher replies
 * NOTED, and when all have asked it sends TOGETHER to all, with the largest of their codes. Ranks
 * that have not asked within half of the time are asked to (LEAVE), with the largest code so far.
 * When the whole time is over the launcher ends the job with that code, or with 1 if it is 0,
 * since ranks that had not asked were interrupted. */
enum bootstrap_word { BOOTSTRAP_NOTED, BOOTSTRAP_LEAVE, BOOTSTRAP_TOGETHER };

/* Registers the function that receives these words, in a thread of the spawner; it must return
 * soon. */
typedef void (*bootstrap_word_fn)(enum bootstrap_word word, int exitcode);
void bootstrap_listen(bootstrap_word_fn on_word);

/* Announces that this process asks to end with `exitcode`; `seconds` is the time for the other
 * ranks. Returns at once; false: the launcher does not coordinate the end, and the processes have
 * to agree among themselves. Async-signal-safe. */
bool bootstrap_leaving(int exitcode, double seconds);

/* Announces that this process exits with `exitcode` as part of an orderly end of the whole job.
 * The job's exit code is that of the ranks (the largest, as unsigned bytes, when they differ). The
 * caller then calls _exit(exitcode) or exit(exitcode).  Not collective; does not wait for other
 * ranks unless the spawner needs it (MPI_Finalize does).  A process that joined and exits without
 * this call, even with status 0, ends the whole job as a failure. */
void bootstrap_fini(int exitcode);

/* Gives the launcher the reason, one line without its end, for which this process is about to call
 * bootstrap_abort.  The launcher prints it once for all ranks with the same reason, behind `what`
 * ("ERROR" gives "ERROR (ranks 0-3 of 4 on vm): ...").  With `once` it prints only the first of
 * all such reasons, since the others have the same cause.  False: there is no such launcher, and
 * the caller has to print the reason. */
bool bootstrap_complain(const char *what, const char *why, bool once);

/* Ends the whole job at once with `exitcode` (1 for 0, where other ranks have neither exited nor
 * asked to), in whatever state other ranks are: their watch is notified (or they get SIGTERM, if
 * they have not joined), and they are killed after half a second.  Does not return and runs no
 * atexit handlers: ends this process by _exit.  Async-signal-safe with the ssh spawner, in any
 * thread; without a job it is _exit(exitcode). */
void bootstrap_abort(int exitcode) __attribute__((noreturn));

/* Whether the program uses an MPI that this job's launcher does not start, so that each process is
 * a job of its own to MPI.  ASIDE: MPI is not initialised yet; ALONE: it is. */
enum bootstrap_mpi { BOOTSTRAP_MPI_FITS, BOOTSTRAP_MPI_ASIDE, BOOTSTRAP_MPI_ALONE };
enum bootstrap_mpi bootstrap_mpi(void);

#endif
