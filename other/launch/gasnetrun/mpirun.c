/* mpirun.c - starts the job by a launcher of MPI or PMIx, whose command line is made from a
 * template.
 *
 * Called by main, which checked the program.  Executes that launcher in this process, so that
 * signals and exit status are those of the launcher.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other/launch/gasnetrun/gasnetrun.h"
#include "other/launch/launcher_log.h"
#include "other/launch/shell_quote.h"

extern char **environ;

enum family { FAMILY_UNKNOWN, FAMILY_OPENMPI, FAMILY_HYDRA, FAMILY_SLURM };

/* --- which MPI --- */

/* Judged by the output of its --version, since all launchers are called mpirun. */
static enum family mpirun_family(const char *launcher)
{
    static const char *const names[] = {"mpirun",          "mpiexec",       "orterun",
                                        "prterun",         "mpiexec.hydra", "mpirun.openmpi",
                                        "mpiexec.openmpi", "mpirun.mpich",  "mpiexec.mpich"};
    const char *base = strrchr(launcher, '/') ? strrchr(launcher, '/') + 1 : launcher;
    bool known = false;
    if (strcmp(base, "srun") == 0) return FAMILY_SLURM;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) known |= strcmp(base, names[i]) == 0;
    char text[1024] = "", command[1100];
    char *quoted = known ? shell_quote(launcher) : NULL;
    if (!quoted) return FAMILY_UNKNOWN;
    snprintf(command, sizeof command, "%s --version 2>/dev/null </dev/null", quoted);
    free(quoted);
    FILE *answer = popen(command, "re");
    if (!answer) return FAMILY_UNKNOWN;
    size_t len = fread(text, 1, sizeof text - 1, answer);
    while (fread(command, 1, sizeof command, answer) > 0) continue;
    pclose(answer);
    text[len] = 0;
    if (strstr(text, "Open MPI") || strstr(text, "OpenRTE")) return FAMILY_OPENMPI;
    return strstr(text, "HYDRA") || strstr(text, "Intel(R) MPI") ? FAMILY_HYDRA : FAMILY_UNKNOWN;
}

/* --- environment --- */

static bool mpirun_listed(const struct shell_words *names, const char *name, size_t len)
{
    for (size_t i = 0; i < names->count; i++)
        if (strlen(names->word[i]) == len && memcmp(names->word[i], name, len) == 0) return true;
    return false;
}

/* The variables to pass to other hosts: those of the library and of its device, and those of -E. */
static void names_to_export(const struct options *options, struct shell_words *names)
{
    static const char *const prefixes[] = {"GASNET_", "UPC_",     "UPCR_",  "TI_",
                                           "CHPL_",   "GASNETT_", "SOFTHCA"};
    for (char **e = environ; *e; e++)
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
            if (strncmp(*e, prefixes[i], strlen(prefixes[i])) == 0)
                shell_add_bytes(names, *e, strcspn(*e, "="));
    for (const char *v = options->export_ ? options->export_ : ""; *v; v += *v == ',') {
        size_t len = strcspn(v, ",");
        char *name = strndup(v, len);
        if (name && len && !mpirun_listed(names, name, len)) {
            if (getenv(name))
                shell_add(names, name);
            else
                launcher_log("warning: -E %s: not set here, nothing to hand on", name);
        }
        free(name);
        v += len;
    }
}

/* Hydra accepts one option on the environment: the user's, if the template has one. */
static bool tells_environment(const char *template)
{
    return strstr(template, "-genvall") || strstr(template, "-genvlist") ||
           strstr(template, "-genvnone");
}

static void add_export_flags(enum family family, const char *template,
                             const struct shell_words *names, struct shell_words *command)
{
    if (family == FAMILY_OPENMPI) {
        for (size_t i = 0; i < names->count; i++) {
            shell_add(command, "-x");
            shell_add(command, names->word[i]);
        }
    }
    if (family == FAMILY_HYDRA && !tells_environment(template)) shell_add(command, "-genvall");
}

/* Options with which these launchers start any number of processes on any host, like the ssh
 * spawner. */
static void add_default_flags(enum family family, const struct options *options,
                              struct shell_words *command)
{
    char text[32];
    if (family == FAMILY_SLURM && options->hosts) {
        snprintf(text, sizeof text, "-N%u", options->hosts);
        shell_add(command, text);
    }
    if (family == FAMILY_SLURM && options->cpus) {
        snprintf(text, sizeof text, "-c%u", options->cpus);
        shell_add(command, text);
    }
    if (family == FAMILY_SLURM) {
        if (!options->cpus) shell_add(command, "--overcommit");
        shell_add(command, "--input=0"); /* standard input for rank 0 alone */
        shell_add(command, "--kill-on-bad-exit=1");
    }
    if (family != FAMILY_OPENMPI) return;
    if (options->cpus) {
        snprintf(text, sizeof text, "slot:PE=%u", options->cpus);
        shell_add(command, "--map-by");
        shell_add(command, text);
    } else {
        shell_add(command, "--bind-to");
        shell_add(command, "none");
    }
    shell_add(command, "--oversubscribe");
    if (geteuid() == 0) shell_add(command, "--allow-run-as-root");
    if (options->hosts && !options->cpus) {
        snprintf(text, sizeof text, "%u", (options->ranks + options->hosts - 1) / options->hosts);
        shell_add(command, "-npernode");
        shell_add(command, text);
    }
}

/* --- template --- */

struct filling {
    const struct options *options;
    const char *path;
    const char *variable; /* the environment variable of the template */
    const char *template; /* from the variable, or the default */
    bool own;             /* from the variable */
};

/* The words that replace a placeholder. */
static bool mpirun_expand(const struct filling *fill, char letter, struct shell_words *to)
{
    char number[16], *cwd;
    char **args = fill->options->program + 1;
    const char *hosts = getenv("GASNET_NODEFILE");
    switch (letter) {
    case 'N':
    case 'M':
        snprintf(number, sizeof number, "%u",
                 letter == 'N' ? fill->options->ranks : fill->options->hosts);
        shell_add(to, number);
        return true;
    case 'C':
    case 'P':
        shell_add(to, fill->path);
        if (letter == 'P') return true;
        /* fall through */
    case 'A':
        for (; *args; args++) shell_add(to, *args);
        return true;
    case 'Q':
        for (; *args; args++) {
            char *quoted = shell_quote(*args);
            shell_add(to, quoted ? quoted : *args);
            free(quoted);
        }
        return true;
    case 'D':
        cwd = getcwd(NULL, 0);
        shell_add(to, cwd ? cwd : ".");
        free(cwd);
        return true;
    case 'V':
        if (fill->options->verbose) shell_add(to, "-v");
        return true;
    case 'H':
        if (hosts && *hosts) {
            shell_add(to, hosts);
            return true;
        }
        launcher_log("%s holds %%H, but GASNET_NODEFILE is not set", fill->variable);
        return false;
    default:
        launcher_log("%s: %%%c is none of %%N %%P %%A %%C %%Q %%D %%H %%M %%V "
                     "(%%%% is a percent sign)",
                     fill->variable, letter ? letter : ' ');
        return false;
    }
}

/* A placeholder inside a longer word: that word is for a shell, so its replacement is quoted. */
static bool fill_word(const struct filling *fill, const char *word, struct shell_words *command)
{
    char *text = NULL;
    size_t len = 0;
    bool good = true;
    FILE *out = open_memstream(&text, &len);
    for (; out && good && *word; word++) {
        struct shell_words found = {0};
        if (*word != '%' || word[1] == '%') {
            word += *word == '%';
            fputc(*word, out);
            continue;
        }
        good = mpirun_expand(fill, *++word, &found);
        char *joined = good && found.count ? shell_join(found.word) : NULL;
        if (joined) fputs(joined, out);
        free(joined);
        shell_free(&found);
    }
    if (!out || fclose(out) != 0) good = false;
    if (good) shell_add(command, text);
    free(text);
    return good;
}

static bool fill_template(const struct filling *fill, struct shell_words *command)
{
    struct shell_words parts = {0}, names = {0};
    bool good = shell_split(&parts, fill->template) && parts.count > 0;
    if (!good) launcher_log("%s=%s: a quote without end, or empty", fill->variable, fill->template);
    enum family family = good ? mpirun_family(parts.word[0]) : FAMILY_UNKNOWN;
    for (size_t i = 0; good && i < parts.count; i++) {
        const char *part = parts.word[i];
        if (part[0] == '%' && part[1] && part[1] != '%' && !part[2])
            good = mpirun_expand(fill, part[1], command);
        else
            good = fill_word(fill, part, command);
        if (i == 0) { /* flags follow the launcher's name */
            if (!fill->own) add_default_flags(family, fill->options, command);
            names_to_export(fill->options, &names);
            add_export_flags(family, fill->template, &names, command);
        }
    }
    shell_free(&parts);
    shell_free(&names);
    return good && !command->failed;
}

/* --- which launcher --- */

/* Whether `launcher` exists and has a PMIx server. */
static bool serves_pmix(const char *launcher)
{
    enum family family = mpirun_family(launcher);
    return family == FAMILY_OPENMPI || family == FAMILY_SLURM;
}

/* srun inside of a Slurm allocation; elsewhere the launcher of Open MPI, by any of its names. */
static const char *default_pmix(void)
{
    static const char *const names[] = {"mpirun", "prterun", "mpirun.openmpi"};
    static const char *const templates[] = {"mpirun -np %N %C", "prterun -np %N %C",
                                            "mpirun.openmpi -np %N %C"};
    if (getenv("SLURM_JOB_ID")) return "srun --mpi=pmix -n %N %C";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (serves_pmix(names[i])) return templates[i];
    return NULL;
}

int mpirun_exec(const struct options *options, const char *spawner, const char *path)
{
    struct shell_words command = {0};
    bool pmix = strcmp(spawner, "pmix") == 0;
    struct filling fill = {options, path, pmix ? "PMIRUN_CMD" : "MPIRUN_CMD", NULL, true};
    int status = 1;
    fill.template = getenv(fill.variable);
    if (!fill.template || !*fill.template) {
        fill.own = false;
        fill.template = pmix ? default_pmix() : "mpirun -np %N %C";
    }
    if (!fill.template) {
        launcher_log("spawner pmix: no mpirun or prterun with a PMIx server is here: set "
                     "PMIRUN_CMD to the launcher to use, or choose -spawner=ssh");
        return 1;
    }
    char job[16];
    snprintf(job, sizeof job, "%d", (int)getpid()); /* exec keeps it */
    setenv("GASNET_SPAWN_JOB", job, 1);
    setenv("GASNET_SPAWN_CONTROL", spawner, 1); /* the only spawner to use */
    if (fill_template(&fill, &command)) {
        char *line = shell_join(command.word);
        if (options->verbose) launcher_log("%s", line ? line : "");
        if (options->verbose && !options->dry_run)
            launcher_log(
                "this is job %s; --stats %s shows its counters, --why %s what it waits for, "
                "on each of its hosts",
                job, job, job);
        free(line);
        status = 0;
        if (!options->dry_run) {
            execvp(command.word[0], command.word);
            launcher_log("%s launcher %s: %s; set %s to the launcher to use, "
                         "or choose -spawner=ssh",
                         pmix ? "PMIx" : "MPI", command.word[0], strerror(errno), fill.variable);
            status = 1;
        }
    }
    shell_free(&command);
    return status;
}
