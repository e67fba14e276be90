/* bootstrap.c - selects the spawner that started this process and forwards every call to it.
 *
 * Called by the library's start-up and exit code only.  Keeps the launching console's environment.
 * Knows no spawner's details; must never block when no launcher is there.
 */
#include "other/launch/bootstrap.h"

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "other/base/environment.h"
#include "other/launch/spawner_ops.h"
#include "other/launch/why.h"

extern char **environ;

/* Set once by bootstrap_init, read by any thread and by signal handlers afterwards. */
static _Atomic(const struct spawner_ops *) spawner;
static _Atomic(const char *const *) console; /* NULL-terminated NAME=value */

/* --- the console's environment --- */

static bool is_private(const char *setting)
{
    return strncmp(setting, SPAWNER_PRIVATE_PREFIX, sizeof SPAWNER_PRIVATE_PREFIX - 1) == 0;
}

static const char *host_names; /* see SPAWNER_HOSTS; NULL: unknown */

/* Makes an array of the block of strings, without the variables private to the launcher. */
static bool adopt_console(const struct spawner_console *from)
{
    size_t count = 0;
    const char *end = from->block + from->len;
    for (const char *s = from->block; s < end; s += strlen(s) + 1) count++;
    const char **array = calloc(count + 1, sizeof *array);
    if (!array) return false;
    size_t kept = 0;
    for (const char *s = from->block; s < end; s += strlen(s) + 1)
        if (!is_private(s))
            array[kept++] = s;
        else if (strncmp(s, SPAWNER_HOSTS "=", sizeof SPAWNER_HOSTS) == 0)
            host_names = s + sizeof SPAWNER_HOSTS;
    atomic_store(&console, (const char *const *)array);
    return true;
}

/* Collective: broadcasts rank 0's environment, which is the console's. */
static bool share_console(const struct spawner_ops *ops, uint32_t rank, struct spawner_console *all)
{
    uint64_t len = 0;
    for (char **e = environ; rank == 0 && e && *e; e++) len += strlen(*e) + 1;
    ops->broadcast(&len, sizeof len, 0);
    char *block = malloc(len + 1), *to = block;
    if (!block) return false;
    for (char **e = environ; rank == 0 && e && *e; e++) to = stpcpy(to, *e) + 1;
    ops->broadcast(block, len, 0);
    *all = (struct spawner_console){block, len};
    return true;
}

/* Removes the launcher's variables, so that neither the program nor its children see them. */
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
    const char *const *all = bootstrap_environ();
    for (; all && *all; all++)
        if (strncmp(*all, name, len) == 0 && (*all)[len] == '=') return *all + len + 1;
    return is_private(name) ? NULL : gasneti_variable(name);
}

/* A process with more rights than its user has no variables: its launcher may be any program of the
 * user. */
const char *const *bootstrap_environ(void)
{
    return gasneti_has_more_rights() ? NULL : atomic_load(&console);
}

bool bootstrap_host_name(uint32_t host, char *name, size_t size)
{
    const char *at = host_names;
    for (; at && host; host--) {
        at = strchr(at, ' ');
        if (at) at++;
    }
    if (!at) return false;
    snprintf(name, size, "%.*s", (int)strcspn(at, " "), at);
    return *name != 0;
}

/* --- joining --- */

struct text {
    char *at;
    size_t left;
};

static void bootstrap_report(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void bootstrap_report(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text->at, text->left, format, args);
    va_end(args);
    size_t used = len < 0 ? 0 : (size_t)len < text->left ? (size_t)len : text->left;
    text->at += used;
    text->left -= used;
}

const char *bootstrap_launcher = "its launcher";

/* The direct start of older documents, PROGRAM [-v] N[:M] [arguments]: appends the command that
 * replaces it (IB-S9).  The words may also be the program's own, so that this is only an offer. */
static void report_direct_start(struct text *to, int argc, char **argv)
{
    static const char digits[] = "0123456789";
    const bool verbose = argc > 2 && strcmp(argv[1], "-v") == 0;
    const char *word = argc > 1 + verbose ? argv[1 + verbose] : "";
    const int ranks = (int)strspn(word, digits);
    const int hosts = word[ranks] == ':' ? (int)strspn(word + ranks + 1, digits) : 0;
    const char *end = word + ranks + (hosts ? 1 + hosts : 0);
    const char *more = argc > 2 + verbose ? " ..." : "";
    if (!ranks || *end) return;
    bootstrap_report(
        to, "; the start  %s %s%s%s  of older versions is now  %s -n %.*s%s%.*s%s %s%s", argv[0],
        verbose ? "-v " : "", word, more, bootstrap_launcher, ranks, word, hosts ? " -N " : "",
        hosts, word + ranks + (hosts ? 1 : 0), verbose ? " -v" : "", argv[0], more);
}

static enum bootstrap_status nobody_started_us(int argc, char **argv, char *why, size_t why_size)
{
    struct text to = {why, why_size};
    bootstrap_report(&to,
                     "this program is one process of a parallel job: start it with  %s -n "
                     "<processes> %s  or by a PMIx or MPI launcher such as mpirun (none did: %s, "
                     "PMIX_NAMESPACE, OMPI_COMM_WORLD_SIZE and PMI_RANK are not set)",
                     bootstrap_launcher, argc > 0 ? argv[0] : "./program", SPAWNER_CONTROL);
    report_direct_start(&to, argc, argv);
    return BOOTSTRAP_NOT_SPAWNED;
}

/* Whether SPAWNER_CONTROL names a spawner other than this candidate. */
static bool another_is_named(const struct spawner_candidate *candidate)
{
    const char *control = getenv(SPAWNER_CONTROL);
    if (!control) return false;
    const char *named =
        strcmp(control, "mpi") == 0 || strcmp(control, "pmix") == 0 ? control : "ssh";
    return strcmp(named, candidate->name) != 0;
}

/* Loading an MPI may install signal handlers (UCX catches SIGHUP and all crashes).  Signals that
 * had the default action before get it back. */
static const int of_program[] = {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT,
                                 SIGBUS, SIGFPE, SIGSEGV, SIGTERM};
enum { OF_PROGRAM = sizeof of_program / sizeof *of_program };

static void remember_signals(struct sigaction before[OF_PROGRAM])
{
    for (int i = 0; i < OF_PROGRAM; i++) sigaction(of_program[i], NULL, &before[i]);
}

static void give_signals_back(const struct sigaction before[OF_PROGRAM])
{
    for (int i = 0; i < OF_PROGRAM; i++)
        if (before[i].sa_handler == SIG_DFL) sigaction(of_program[i], &before[i], NULL);
}

struct joining {
    int *argc;
    char ***argv;
    struct bootstrap_job *job;
    struct spawner_console words;
    char why[512];
};

/* Returns BOOTSTRAP_NOT_SPAWNED when the candidate declines, with the reason in `why`. */
static enum bootstrap_status try_to_join(const struct spawner_candidate *candidate,
                                         struct joining *joining,
                                         const struct spawner_ops **joined_by)
{
    char *why = joining->why;
    size_t why_size = sizeof joining->why;
    why[0] = 0;
    if (another_is_named(candidate)) {
        snprintf(why, why_size, "another spawner is asked for (%s)", SPAWNER_CONTROL);
    } else if (!candidate->sign) {
        snprintf(why, why_size, "no sign of its launcher (%s)", candidate->signs);
    } else {
        struct sigaction before[OF_PROGRAM];
        enum bootstrap_status status = BOOTSTRAP_NOT_SPAWNED;
        remember_signals(before);
        const struct spawner_ops *ops = candidate->load(why, why_size);
        *joined_by = ops;
        if (ops)
            status = ops->init(joining->argc, joining->argv, joining->job, &joining->words, why,
                               why_size);
        give_signals_back(before);
        return status;
    }
    return BOOTSTRAP_NOT_SPAWNED;
}

enum bootstrap_status bootstrap_init(int *argc, char ***argv, struct bootstrap_job *job, char *why,
                                     size_t why_size)
{
    struct spawner_candidate list[SPAWNER_CANDIDATES];
    struct joining joining = {.argc = argc, .argv = argv, .job = job};
    struct text reasons = {why, why_size};
    enum bootstrap_status status = BOOTSTRAP_NOT_SPAWNED;
    const struct spawner_ops *ops = NULL;
    bool signs = false;
    if (why_size) why[0] = 0;
    const size_t candidates = spawner_list_candidates(list);
    bootstrap_report(&reasons, "no spawner can start this process:");
    for (size_t i = 0; i < candidates && status == BOOTSTRAP_NOT_SPAWNED; i++) {
        status = try_to_join(&list[i], &joining, &ops);
        signs = signs || list[i].sign;
        bootstrap_report(&reasons, "\n  %s: %s", list[i].name, joining.why);
    }
    hide_private_words();
    if (status == BOOTSTRAP_NOT_SPAWNED)
        return signs ? BOOTSTRAP_FAILED
                     : nobody_started_us(argc && argv ? *argc : 0, argv ? *argv : NULL, why,
                                         why_size);
    if (status == BOOTSTRAP_OK &&
        ((!joining.words.block && !share_console(ops, job->rank, &joining.words)) ||
         !adopt_console(&joining.words))) {
        status = BOOTSTRAP_FAILED;
        snprintf(joining.why, sizeof joining.why,
                 "spawner %s: out of memory for the console's environment", ops->name);
    }
    if (why_size) snprintf(why, why_size, "%s", joining.why);
    if (status != BOOTSTRAP_OK) return status;
    job->spawner = ops->name;
    atomic_store(&spawner, ops);
    return BOOTSTRAP_OK;
}

enum bootstrap_mpi bootstrap_mpi(void)
{
    if (atomic_load(&spawner) != &spawner_ssh || !spawner_prefers_mpi()) return BOOTSTRAP_MPI_FITS;
    return spawner_mpi_is_up() ? BOOTSTRAP_MPI_ALONE : BOOTSTRAP_MPI_ASIDE;
}

/* --- passing on --- */

static const struct spawner_ops *bootstrap_joined(const char *call)
{
    const struct spawner_ops *ops = atomic_load(&spawner);
    if (!ops) {
        fprintf(stderr, "bootstrap: %s called before bootstrap_init succeeded\n", call);
        abort();
    }
    return ops;
}

void bootstrap_barrier(void)
{
    bootstrap_joined(__func__)->barrier();
}

void bootstrap_exchange(const void *mine, size_t len, void *all)
{
    bootstrap_joined(__func__)->exchange(mine, len, all);
}

void bootstrap_alltoall(const void *mine, size_t len, void *all)
{
    bootstrap_joined(__func__)->alltoall(mine, len, all);
}

void bootstrap_broadcast(void *data, size_t len, uint32_t root)
{
    bootstrap_joined(__func__)->broadcast(data, len, root);
}

void bootstrap_meanwhile(bootstrap_meanwhile_fn meanwhile)
{
    bootstrap_joined(__func__)->meanwhile(meanwhile);
}

void bootstrap_watch(bootstrap_death_fn on_death)
{
    bootstrap_joined(__func__)->watch(on_death);
}

void bootstrap_answer(bootstrap_answer_fn answer)
{
    const struct spawner_ops *ops = bootstrap_joined(__func__);
    if (ops->answer) ops->answer(answer);
}

bool bootstrap_moves(bool moves, double seconds)
{
    const struct spawner_ops *ops = atomic_load(&spawner);
    if (ops && ops->moves) ops->moves(moves, seconds);
    return ops && ops->moves;
}

char *bootstrap_why(const char *answer)
{
    return why_report(answer, WHY_ONE_RANK);
}

void bootstrap_listen(bootstrap_word_fn on_word)
{
    const struct spawner_ops *ops = bootstrap_joined(__func__);
    if (ops->listen) ops->listen(on_word);
}

bool bootstrap_leaving(int exitcode, double seconds)
{
    const struct spawner_ops *ops = atomic_load(&spawner);
    if (ops && ops->leaving) ops->leaving(exitcode, seconds);
    return ops && ops->leaving;
}

bool bootstrap_complain(const char *what, const char *why, bool once)
{
    const struct spawner_ops *ops = atomic_load(&spawner);
    return ops && ops->complain && ops->complain(what, why, once);
}

/* bootstrap_fini and bootstrap_abort are legal without a job; they then concern this process only.
 */
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
