/* spawner_ops.h - the table of functions that each spawner provides to bootstrap.c.
 *
 * The tables of mpi and pmix are in modules loaded at run time, so that no program needs MPI or
 * PMIx to link.  Therefore the table has a version number, and a module calls nothing of the
 * program.
 */
#ifndef SPAWNER_OPS_H
#define SPAWNER_OPS_H

#include <stdbool.h>
#include <time.h>

#include "other/launch/bootstrap.h"

enum { SPAWNER_ABI = 7 };

/* The console's environment as init returns it: strings one after another, each with its NUL, in
 * memory from malloc that bootstrap.c keeps.  Empty where rank 0 has that environment; bootstrap.c
 * then broadcasts it. */
struct spawner_console {
    char *block;
    size_t len;
};

struct spawner_ops {
    uint32_t abi; /* SPAWNER_ABI at compile time */
    const char *name;
    enum bootstrap_status (*init)(int *argc, char ***argv, struct bootstrap_job *job,
                                  struct spawner_console *console, char *why, size_t why_size);
    void (*barrier)(void);
    void (*exchange)(const void *mine, size_t len, void *all);
    void (*alltoall)(const void *mine, size_t len, void *all);
    void (*broadcast)(void *data, size_t len, uint32_t root);
    void (*meanwhile)(bootstrap_meanwhile_fn meanwhile);
    void (*watch)(bootstrap_death_fn on_death);
    void (*answer)(bootstrap_answer_fn answer); /* NULL: not supported */
    void (*moves)(bool moves, double seconds);  /* NULL: not supported */
    /* listen and leaving are NULL where the launcher does not coordinate the end of the ranks. */
    void (*listen)(bootstrap_word_fn on_word);
    void (*leaving)(int exitcode, double seconds);
    bool (*complain)(const char *what, const char *why, bool once); /* NULL: not supported */
    void (*fini)(int exitcode);
    __attribute__((noreturn)) void (*abort)(int exitcode);
};

/* Variable by which the launcher gives a process its rank and job ("ssh ...") or names the spawner
 * to use ("mpi", "pmix"). All variables with the prefix are private to launcher and library. */
#define SPAWNER_PRIVATE_PREFIX "GASNET_SPAWN_"
#define SPAWNER_CONTROL        SPAWNER_PRIVATE_PREFIX "CONTROL"

/* The names of the hosts, in the order of their numbers, separated by blanks; absent with one
 * host. */
#define SPAWNER_HOSTS SPAWNER_PRIVATE_PREFIX "HOSTS"

/* The number of the job for gasnetrun --stats and the like where mpirun or srun is the launcher. */
#define SPAWNER_JOB SPAWNER_PRIVATE_PREFIX "JOB"

extern const struct spawner_ops spawner_ssh;

/* A spawner that may have started this process. */
struct spawner_candidate {
    const char *name;
    const char *sign;  /* variable that its launcher set; NULL: none */
    const char *signs; /* all variables that were looked for */
    const struct spawner_ops *(*load)(char *why, size_t why_size);
};
enum { SPAWNER_CANDIDATES = 3 };

/* Lists the candidates in order of preference and returns their number, at most SPAWNER_CANDIDATES.
 * By launched.c; in programs that start their ranks themselves, by ssh/ssh_forked.c. */
size_t spawner_list_candidates(struct spawner_candidate *list);

/* The variable, for messages, by which a launcher of PMIx or MPI is recognised, or a note that the
 * program's MPI is initialised already; NULL if this process was not started by such a launcher. */
const char *spawner_pmix_sign(void);
const char *spawner_mpi_sign(void);
/* Whether the program itself uses MPI: then MPI must start and end it. */
bool spawner_prefers_mpi(void);
/* Whether the program's MPI is initialised. */
bool spawner_mpi_is_up(void);
/* Load the spawner's module; return NULL with the reason in `why` on failure. */
const struct spawner_ops *spawner_pmix_load(char *why, size_t why_size);
const struct spawner_ops *spawner_mpi_load(char *why, size_t why_size);
/* The symbol of type struct spawner_ops that a module exports. */
#define SPAWNER_SYMBOL      gasnet_spawner_ops
#define SPAWNER_SYMBOL_NAME "gasnet_spawner_ops"

/* Runs a death function in a thread of its own; ends the process if the function has not done so
 * within two seconds. */
void spawner_run_death(bootstrap_death_fn on_death, int exitcode) __attribute__((noreturn));
/* When a waiting call makes its next turn, of those counted from 0: the time between two grows from
 * 1 to 32 ms, so that many waiting processes leave the processors to those that work. */
struct timespec spawner_next_turn(unsigned turn);
/* Starts a thread with all signals blocked and a small stack; returns false with errno on failure.
 */
bool spawner_start_thread(void *(*body)(void *), void *arg);

#endif
