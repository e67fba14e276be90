/* bootstrap.c - chooses the spawner that started this process, and passes every call on to it.
 *
 * Called by the library's start-up and exit code only.  Holds the launching console's environment;
 * knows no spawner's details, and must never block when no launcher is there.
 */
#include "other/spawner/bootstrap.h"
#include "other/spawner/spawner_ops.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* Set once by bootstrap_init, read by any thread and by signal handlers afterwards. */
static _Atomic(const struct spawner_ops *) spawner;
static _Atomic(const char *const *) console; /* NULL-terminated NAME=value */

/* --- the console's environment --- */

static bool is_private(const char *setting)
{
    return strncmp(setting, SPAWNER_PRIVATE_PREFIX, sizeof SPAWNER_PRIVATE_PREFIX - 1) == 0;
}

/* Turns the block of strings into an array, without the launcher's private words. */
static bool adopt_console(const struct spawner_console *from)
{
    size_t count = 0;
    const char *end = from->block + from->len;
    for (const char *s = from->block; s < end; s += strlen(s) + 1) count++;
    const char **array = calloc(count + 1, sizeof *array);
    if (!array) return false;
    size_t kept = 0;
    for (const char *s = from->block; s < end; s += strlen(s) + 1)
        if (!is_private(s)) array[kept++] = s;
    atomic_store(&console, (const char *const *)array);
    return true;
}

/* The hand-over is none of the program's business, nor of the programs it starts. */
static void hide_private_words(void)
{
    for (size_t i = 0; environ && environ[i];) {
        const char *equals = strchr(environ[i], '=');
        char name[64];
        if (!is_private(environ[i]) || !equals || (size_t)(equals - environ[i]) >= sizeof name) {
            i++;
            continue;
        }
        memcpy(name, environ[i], (size_t)(equals - environ[i]));
        name[equals - environ[i]] = 0;
        unsetenv(name);
    }
}

const char *bootstrap_getenv(const char *name)
{
    size_t len = strlen(name);
    const char *const *all = atomic_load(&console);
    for (; all && *all; all++)
        if (strncmp(*all, name, len) == 0 && (*all)[len] == '=') return *all + len + 1;
    return is_private(name) ? NULL : getenv(name);
}

const char *const *bootstrap_environ(void)
{
    return atomic_load(&console);
}

/* --- joining --- */

static enum bootstrap_status nobody_started_us(const char *program, char *why, size_t why_size)
{
    snprintf(why, why_size,
             "this program is one process of a parallel job: start it with  gasnetrun_ibv -n "
             "<processes> %s  or by an MPI's mpirun (neither did: %s, OMPI_COMM_WORLD_SIZE, "
             "PMIX_RANK and PMI_RANK are not set)",
             program ? program : "./program", SPAWNER_CONTROL);
    return BOOTSTRAP_NOT_SPAWNED;
}

enum bootstrap_status bootstrap_init(int *argc, char ***argv, struct bootstrap_job *job, char *why,
                                     size_t why_size)
{
    const struct spawner_ops *ops = NULL;
    const char *sign = NULL;
    if (why_size) why[0] = 0;
    if (getenv(SPAWNER_CONTROL)) {
        ops = &spawner_ssh;
    } else if ((sign = spawner_mpi_sign())) {
        char reason[512] = "";
        ops = spawner_mpi_load(reason, sizeof reason);
        if (!ops) {
            snprintf(why, why_size,
                     "spawner mpi: an MPI launcher started this process (%s is set), but %s", sign,
                     reason);
            return BOOTSTRAP_FAILED;
        }
    } else {
        return nobody_started_us(argc && *argc > 0 ? (*argv)[0] : NULL, why, why_size);
    }

    struct spawner_console words = {0};
    enum bootstrap_status status = ops->init(argc, argv, job, &words, why, why_size);
    hide_private_words();
    if (status != BOOTSTRAP_OK) return status;
    if (!adopt_console(&words)) {
        snprintf(why, why_size, "spawner %s: out of memory for the console's environment",
                 ops->name);
        return BOOTSTRAP_FAILED;
    }
    job->spawner = ops->name;
    atomic_store(&spawner, ops);
    return BOOTSTRAP_OK;
}

/* --- passing on --- */

static const struct spawner_ops *joined(const char *call)
{
    const struct spawner_ops *ops = atomic_load(&spawner);
    if (!ops) {
        fprintf(stderr, "bootstrap: %s called before bootstrap_init succeeded: mend the caller\n",
                call);
        abort();
    }
    return ops;
}

void bootstrap_barrier(void)
{
    joined(__func__)->barrier();
}

void bootstrap_exchange(const void *mine, size_t len, void *all)
{
    joined(__func__)->exchange(mine, len, all);
}

void bootstrap_alltoall(const void *mine, size_t len, void *all)
{
    joined(__func__)->alltoall(mine, len, all);
}

void bootstrap_broadcast(void *data, size_t len, uint32_t root)
{
    joined(__func__)->broadcast(data, len, root);
}

void bootstrap_watch(bootstrap_death_fn on_death)
{
    joined(__func__)->watch(on_death);
}

void bootstrap_answer(bootstrap_answer_fn answer)
{
    joined(__func__)->answer(answer);
}

bool bootstrap_complain(const char *what, const char *why)
{
    const struct spawner_ops *ops = atomic_load(&spawner);
    return ops && ops->complain && ops->complain(what, why);
}

/* The two ways out are legal without a job as well: then there is only this process to end. */
void bootstrap_fini(int exitcode)
{
    const struct spawner_ops *ops = atomic_load(&spawner);
    if (ops) ops->fini(exitcode);
}

void bootstrap_abort(int exitcode)
{
    const struct spawner_ops *ops = atomic_load(&spawner);
    if (ops) ops->abort(exitcode);
    _exit(exitcode & 0xff);
}
