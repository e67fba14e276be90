/* params_init.c - parameters from the job's environment: read, compared across ranks, reported.
 *
 * Called once by gasnet_init.  After an error one rank reports it and ends the job; the others
 * wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/params/params.h"
#include "core/report.h"
#include "gasnet.h"
#include "other/base/environment.h"
#include "other/base/fnv.h"
#include "other/base/tools.h"
#include "other/launch/bootstrap.h"

/* The value that the user has set, or NULL; in `name` the name it was set by. */
static const char *given(const gasnetc_param_t *row, const char **name)
{
    *name = row->name;
    const char *value = gasneti_getenv(row->name);
    if (!value && *row->alias) {
        *name = row->alias;
        value = gasneti_getenv(row->alias);
    }
    return value && (*value || row->kind == GASNETI_ENV_TEXT) ? value : NULL;
}

bool gasnetc_param_given(const char *name)
{
    const char *by;
    for (size_t i = 0; i < gasnetc_param_count; i++)
        if (!strcmp(gasnetc_param_table[i].name, name))
            return given(&gasnetc_param_table[i], &by) != NULL;
    return false;
}

/* True if the amount is a number of bytes, without /P or /H. */
static bool is_plain(const struct gasneti_memory *memory)
{
    return !memory->is_part && !memory->per;
}

/* 64 bits that are equal if the values are.  An amount of memory that is not a number of bytes has
 * the highest bit set. */
static uint64_t fingerprint(const gasnetc_param_t *row)
{
    const char *field = (const char *)&gasnetc_params + row->offset;
    uint64_t bits = 0;
    if (row->kind == GASNETI_ENV_TEXT) {
        const char *text = *(const char *const *)(const void *)field;
        bits = gasneti_fnv(GASNETI_FNV_START, text, text ? strlen(text) : 0);
    } else if (row->kind == GASNETI_ENV_BOOLEAN) {
        bits = *(const bool *)field;
    } else if (row->kind == GASNETI_ENV_MEMORY) {
        const struct gasneti_memory *memory = (const void *)field;
        if (is_plain(memory)) return (uint64_t)memory->amount;
        memcpy(&bits, &memory->amount, sizeof bits);
        bits = ~bits ^ ((uint64_t)memory->is_part << 8 | (uint64_t)memory->per);
    } else if (row->kind == GASNETI_ENV_WORD_NUMBER) {
        bits = gasneti_fnv(GASNETI_FNV_START, field, sizeof(struct gasneti_word_number));
    } else {
        memcpy(&bits, field, sizeof bits);
    }
    return bits;
}

/* True if the registration cache may not be turned off.  IB-R13: with the InfiniBand pair it may be
 * in debug builds, to look for errors in the cache; with Portals in all builds (PO-16).  Without
 * the cache, memory of peers can be accessed in SEGMENT_FAST alone. */
static bool needs_firehose(void)
{
#ifndef GASNET_SEGMENT_FAST
    return true;
#elif defined(GASNET_DEBUG)
    return false;
#else
    return !gasnetc_params.firehose_optional;
#endif
}

static void check_firehose(char *error, size_t size)
{
    if (!gasnetc_params.use_firehose && needs_firehose())
        snprintf(error, size,
                 "GASNET_USE_FIREHOSE=no: only libraries built with --enable-debug, for "
                 "SEGMENT_FAST, can do without the registration cache; unset it");
}

/* Checks GASNET_BACKTRACE, because the tools, which read it themselves, would end each rank with
 * SIGABRT. */
static void check_backtrace(char *error, size_t size)
{
    const char *value = gasneti_getenv("GASNET_BACKTRACE");
    if (value && *value && gasneti_parse_yesno(value) < 0)
        snprintf(error, size, "GASNET_BACKTRACE=%.80s: not yes or no", value);
}

/* The message for a row whose value on rank `other` differs from rank 0's. */
static void describe_difference(const gasnetc_param_t *row, uint32_t other, uint64_t first,
                                uint64_t second, char *text, size_t size)
{
    const bool bytes = row->kind == GASNETI_ENV_MEMORY && !((first | second) >> 63);
    if (row->kind == GASNETI_ENV_NUMBER || row->kind == GASNETI_ENV_SIZE ||
        row->kind == GASNETI_ENV_MEGABYTES || bytes)
        snprintf(text, size,
                 "%s is %lld on rank 0 and %lld on rank %u; it must be equal everywhere", row->name,
                 (long long)first, (long long)second, other);
    else
        snprintf(text, size, "%s differs between rank 0 and rank %u; it must be equal everywhere",
                 row->name, other);
}

static uint64_t digest(const uint64_t *values, size_t count)
{
    return gasneti_fnv(GASNETI_FNV_START, values, count * sizeof *values);
}

/* True if `mine` is equal on all ranks.  Collective; `all` holds one uint64_t for each rank. */
static bool equal_everywhere(const struct bootstrap_job *job, uint64_t mine, uint64_t *all)
{
    bool equal = true;
    bootstrap_exchange(&mine, sizeof mine, all);
    for (uint32_t r = 1; r < job->size; r++) equal = equal && all[r] == all[0];
    return equal;
}

static void check_equal(const struct bootstrap_job *job)
{
    size_t n = gasnetc_param_count;
    uint64_t *mine = calloc(n, sizeof *mine), *all = calloc(n * job->size, sizeof *all);
    if (!mine || !all) gasneti_fatal("out of memory");
    for (size_t i = 0; i < n; i++)
        mine[i] = gasnetc_param_table[i].same ? fingerprint(&gasnetc_param_table[i]) : 0;
    /* All values are exchanged only if the digests differ. */
    bool differ = !equal_everywhere(job, digest(mine, n), all);
    if (differ) bootstrap_exchange(mine, n * sizeof *mine, all);
    for (uint32_t r = 1; differ && r < job->size; r++) {
        for (size_t i = 0; i < n; i++) {
            if (all[r * n + i] == all[i]) continue;
            char text[256];
            describe_difference(&gasnetc_param_table[i], r, all[i], all[r * n + i], text,
                                sizeof text);
            gasneti_fatal_by_one(job->rank == 0, text);
        }
    }
    free(mine);
    free(all);
}

/* --- reports, by rank 0 --- */

static void report_memory(const gasnetc_param_t *row, const struct gasneti_memory *memory,
                          const char *text)
{
    const double most = (double)INT64_MAX, bytes = memory->amount;
    if (is_plain(memory))
        gasnett_envint_display(row->name, bytes < most ? (int64_t)bytes : INT64_MAX, !text, true);
    else
        gasnett_envstr_display(row->name, text, !text);
}

static void report_row(const gasnetc_param_t *row)
{
    const char *name, *text = given(row, &name);
    const char *field = (const char *)&gasnetc_params + row->offset;
    if (row->kind == GASNETI_ENV_MEMORY)
        report_memory(row, (const void *)field, text);
    else if (row->kind == GASNETI_ENV_TEXT)
        gasnett_envstr_display(row->name, text, !text);
    else if (row->kind == GASNETI_ENV_WORD || row->kind == GASNETI_ENV_WORD_NUMBER)
        gasnett_envstr_display(row->name, text ? text : row->initial, !text);
    else if (row->kind == GASNETI_ENV_BOOLEAN)
        gasnett_envstr_display(row->name, *(const bool *)field ? "YES" : "NO", !text);
    else if (row->kind == GASNETI_ENV_SECONDS || row->kind == GASNETI_ENV_FRACTION)
        gasnett_envdbl_display(row->name, *(const double *)(const void *)field, !text);
    else
        gasnett_envint_display(row->name, *(const int64_t *)(const void *)field, !text,
                               row->kind == GASNETI_ENV_SIZE || row->kind == GASNETI_ENV_MEGABYTES);
}

/* The name of an entry of the environment; false if it is not the library's. */
static bool name_of(const char *entry, char *name, size_t size)
{
    const size_t n = strcspn(entry, "=");
    if (strncmp(entry, "GASNET_", 7) || n >= size) return false;
    memcpy(name, entry, n);
    name[n] = 0;
    return true;
}

/* Warns of all variables without effect in one line. */
static void warn_idle(const char *const *environment)
{
    char name[128], list[600] = "";
    unsigned count = 0;
    for (; *environment; environment++) {
        if (!name_of(*environment, name, sizeof name) || !gasnetc_param_idle(name)) continue;
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", count++ ? ", " : "", name);
    }
    if (count) gasneti_warn("%s %s no effect in this release", list, count == 1 ? "has" : "have");
}

/* Warns of an unknown name that is similar to a known one.  Any other name may be the client's own,
 * and is reported only with GASNET_VERBOSEENV. */
static void warn_unknown_name(const char *nearest, const char *line)
{
    if (nearest)
        gasneti_warn("%s", line);
    else if (gasnett_verboseenv() > 0)
        gasneti_warn("%s (" GASNETI_LAUNCHER " --help-env lists them)", line);
}

static void warn_unknown(const char *entry)
{
    char name[128], line[300];
    const char *nearest;
    if (!name_of(entry, name, sizeof name)) return;
    if (gasnetc_param_of_original(name))
        gasneti_note("%s is a variable of other releases of GASNet, and has no effect here", name);
    else if (!gasnetc_param_known(name) &&
             gasneti_env_unknown(entry, "GASNET_", gasnetc_param_name, &nearest, line, sizeof line))
        warn_unknown_name(nearest, line);
}

/* Warns of variables that conduits with a *_PORTS parameter ignore. */
static void warn_obsolete(void)
{
    static const char *const names[] = {"GASNET_HCA_ID", "GASNET_PORT_NUM"};
    const char *instead = NULL;
    for (size_t i = 0; i < gasnetc_param_count; i++) {
        const char *name = gasnetc_param_table[i].name, *end = strstr(name, "_PORTS");
        if (end && !end[6]) instead = name;
    }
    for (int i = 0; instead && i < 2; i++) {
        const char *value = gasneti_getenv(names[i]);
        if (value && *value)
            gasneti_warn("%s is obsolete and has no effect; use %s", names[i], instead);
    }
}

/* Warns of settings that have no effect, and says why. */
static void warn_unread(void)
{
    extern char **environ;
    char **entry = environ;
    while (entry && *entry && strncmp(*entry, "GASNET_", 7) != 0) entry++;
    if (gasneti_has_more_rights() && entry && *entry)
        gasneti_warn("%.*s and all other variables have no effect: the program runs with rights "
                     "that its user lacks (set-user-ID, set-group-ID or file capabilities)",
                     (int)strcspn(*entry, "="), *entry);
}

void gasnetc_params_init(const struct bootstrap_job *job)
{
    char error[400] = "";
    for (size_t i = 0; i < gasnetc_param_count && !*error; i++) {
        const gasnetc_param_t *row = &gasnetc_param_table[i];
        const char *name, *text = given(row, &name);
        char why[300];
        if (text && !gasneti_env_parse(row, text, &gasnetc_params, why, sizeof why))
            snprintf(error, sizeof error, "%s%s%s", why,
                     name == row->name ? "" : ", set by its older name ",
                     name == row->name ? "" : name);
    }
    if (!*error) check_backtrace(error, sizeof error);
    gasneti_fatal_if_any(error);
    gasneti_log_init();
    check_equal(job);
    check_firehose(error, sizeof error);
    gasneti_fatal_if_any(error);
    if (job->rank != 0) return;
    warn_unread();
    warn_obsolete();
    const char *const *all = bootstrap_environ();
    if (!all) all = (const char *const *)gasneti_variables();
    warn_idle(all);
    for (; *all; all++) warn_unknown(*all);
    for (size_t i = 0; i < gasnetc_param_count; i++) report_row(&gasnetc_param_table[i]);
}
