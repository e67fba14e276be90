/* spawner_ops.h - what a spawner provides to bootstrap.c.
 *
 * One table per spawner.  Those of mpi and pmix live in modules that are loaded at run time, so
 * that no program needs MPI or PMIx to link; hence the version number, and hence nothing here calls
 * back.
 */
#ifndef SPAWNER_OPS_H
#define SPAWNER_OPS_H

#include "other/spawner/bootstrap.h"

#include <stdbool.h>

enum { SPAWNER_ABI = 5 };

/* What a spawner's init learns besides the job: the console's environment as strings one after
 * the other, each with its NUL.  Allocated by malloc; bootstrap.c keeps it.  Left empty where rank
 * 0 has that environment: bootstrap.c then broadcasts it. */
struct spawner_console {
    char *block;
    size_t len;
};

struct spawner_ops {
    uint32_t abi; /* SPAWNER_ABI of the day it was compiled */
    const char *name;
    enum bootstrap_status (*init)(int *argc, char ***argv, struct bootstrap_job *job,
                                  struct spawner_console *console, char *why, size_t why_size);
    void (*barrier)(void);
    void (*exchange)(const void *mine, size_t len, void *all);
    void (*alltoall)(const void *mine, size_t len, void *all);
    void (*broadcast)(void *data, size_t len, uint32_t root);
    void (*watch)(bootstrap_death_fn on_death);
    void (*answer)(bootstrap_answer_fn answer);    /* NULL: nobody can ask */
    void (*listen)(bootstrap_word_fn on_word);     /* NULL, as the next one: its launcher */
    void (*leaving)(int exitcode, double seconds); /* does not help ranks to end together */
    bool (*complain)(const char *what, const char *why, bool once); /* NULL: cannot */
    void (*fini)(int exitcode);
    __attribute__((noreturn)) void (*abort)(int exitcode);
};

/* Name under which the launcher hands a process its place in the job ("ssh ..."), or the name of
 * the spawner to use ("mpi", "pmix"); everything that begins with the prefix is private to launcher
 * and library. */
#define SPAWNER_PRIVATE_PREFIX "GASNET_SPAWN_"
#define SPAWNER_CONTROL        SPAWNER_PRIVATE_PREFIX "CONTROL"

/* The hosts' names, in the order of their numbers, spaces between them; absent if there is one. */
#define SPAWNER_HOSTS SPAWNER_PRIVATE_PREFIX "HOSTS"

/* The number by which gasnetrun --stats knows a job that a launcher not ours starts. */
#define SPAWNER_JOB SPAWNER_PRIVATE_PREFIX "JOB"

extern const struct spawner_ops spawner_ssh;

/* The sign that such a launcher started this process (or that the program has MPI up already), to
 * be named in messages; NULL if there is none. */
const char *spawner_pmix_sign(void);
const char *spawner_mpi_sign(void);
/* Whether the program itself is an MPI program: then MPI is to start and to end it. */
bool spawner_prefers_mpi(void);
/* Whether the program holds an MPI that is up. */
bool spawner_mpi_is_up(void);
/* The spawner's module; NULL with the reason in `why` when there is none or it does not load. */
const struct spawner_ops *spawner_pmix_load(char *why, size_t why_size);
const struct spawner_ops *spawner_mpi_load(char *why, size_t why_size);
/* What a module exports: its struct spawner_ops. */
#define SPAWNER_SYMBOL      gasnet_spawner_ops
#define SPAWNER_SYMBOL_NAME "gasnet_spawner_ops"

/* A death function runs in a thread of its own and has two seconds to end the process.  Shared by
 * spawners; never returns. */
void spawner_run_death(bootstrap_death_fn on_death, int exitcode) __attribute__((noreturn));
/* Starts a thread with every signal blocked and a small stack; false with errno set on failure. */
bool spawner_start_thread(void *(*body)(void *), void *arg);

#endif
