/* params.c - the table of params.def as data, and parsing one value: pure, fed by the fuzzer too.
 */
#include "core/params/params.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gasnet.h"
#include "other/tools/edit_distance.h"
#include "other/tools/tools.h"

gasnetc_params_t gasnetc_params = {
#define PARAM(field, type, name, alias, initial, ...) .field = initial,
#define FIXED(field, type, value)                     .field = value,
#include GASNETC_PARAMS_DEF
#undef FIXED
#undef PARAM
};

const gasnetc_param_t gasnetc_param_table[] = {
#define PARAM(field, type, name, alias, initial, least, most, same, help)                          \
    {name,    alias, GASNETC_##type,                                                               \
     initial, least, (double)(most),                                                               \
     same,    help,  offsetof(gasnetc_params_t, field)},
#define FIXED(...)
#include GASNETC_PARAMS_DEF
#undef FIXED
#undef PARAM
};
const size_t gasnetc_param_count = sizeof gasnetc_param_table / sizeof *gasnetc_param_table;

/* --- values --- */

enum outcome { IS_NUMBER, NO_NUMBER, TOO_SMALL, TOO_LARGE };

/* Any type but TEXT, as a number. */
static enum outcome parse(enum gasnetc_param_type type, const char *text, double *value)
{
    int64_t whole = 0;
    bool parsed;
    errno = 0;
    if (type == GASNETC_SECONDS || type == GASNETC_FRACTION)
        return gasneti_parse_double(text, value) ? IS_NUMBER : NO_NUMBER;
    if (type == GASNETC_BOOLEAN) {
        whole = gasneti_parse_yesno(text);
        parsed = whole >= 0;
    } else {
        parsed = gasneti_parse_int(text, type == GASNETC_SIZE, &whole);
    }
    *value = (double)whole;
    if (parsed) return IS_NUMBER;
    return errno == ERANGE ? whole < 0 ? TOO_SMALL : TOO_LARGE : NO_NUMBER;
}

static const char *const kinds[] = {
    "a whole number",      "a size such as 64K or 1.5GB", "yes or no",
    "a number of seconds", "a fraction such as 0.75",     "a text"};

static void store(const gasnetc_param_t *row, double value, gasnetc_params_t *params)
{
    char *field = (char *)params + row->offset;
    if (row->type == GASNETC_BOOLEAN) {
        *(bool *)field = value != 0;
    } else if (row->type == GASNETC_SECONDS || row->type == GASNETC_FRACTION) {
        *(double *)(void *)field = value;
    } else {
        *(int64_t *)(void *)field = value >= (double)INT64_MAX ? INT64_MAX : (int64_t)value;
    }
}

/* A bound of the row's range as people write such values. */
static void print_limit(const gasnetc_param_t *row, double limit, char *text, size_t size)
{
    if (limit >= (double)INT64_MAX)
        snprintf(text, size, "any size");
    else if (row->type == GASNETC_SIZE)
        gasnett_format_number((int64_t)limit, text, size, 1);
    else
        snprintf(text, size, "%.15g", limit); /* whole numbers stay whole */
}

static void complain(const gasnetc_param_t *row, const char *text, enum outcome outcome, char *why,
                     size_t why_size)
{
    char least[32], most[32];
    print_limit(row, row->least, least, sizeof least);
    print_limit(row, row->most, most, sizeof most);
    if (outcome == TOO_SMALL || outcome == TOO_LARGE)
        snprintf(why, why_size, "%s=%s: too %s; the range is %s to %s", row->name, text,
                 outcome == TOO_SMALL ? "small" : "large", least, most);
    else if (outcome == IS_NUMBER)
        snprintf(why, why_size, "%s=%s: out of range, which is %s to %s", row->name, text, least,
                 most);
    else if (row->type == GASNETC_BOOLEAN)
        snprintf(why, why_size, "%s=%s: not %s", row->name, text, kinds[row->type]);
    else
        snprintf(why, why_size, "%s=%s: not %s; the range is %s to %s", row->name, text,
                 kinds[row->type], least, most);
}

bool gasnetc_param_parse(const gasnetc_param_t *row, const char *text, gasnetc_params_t *params,
                         char *why, size_t why_size)
{
    double value = 0;
    if (row->type == GASNETC_TEXT) {
        *(const char **)(void *)((char *)params + row->offset) = *text ? text : NULL;
        return true;
    }
    enum outcome outcome = parse(row->type, text, &value);
    /* So written that a value that is no number at all fails too. */
    if (outcome != IS_NUMBER || !(value >= row->least && value <= row->most)) {
        complain(row, text, outcome, why, why_size);
        return false;
    }
    store(row, value, params);
    return true;
}

/* --- names --- */

#define GASNETI_SPAWNER_VARIABLE "GASNET_" GASNET_CONDUIT_NAME_STR "_SPAWNER"

/* Variables that other parts read: spawners, tools, launcher. */
static const char *const other_names[] = {
    "GASNET_VERBOSEENV",      GASNETI_SPAWNER_VARIABLE,   "GASNET_SSH_NODEFILE",
    "GASNET_SSH_SERVERS",     "GASNET_SSH_CMD",           "GASNET_SSH_OPTIONS",
    "GASNET_SSH_OUT_DEGREE",  "GASNET_SSH_TIMEOUT",       "GASNET_SSH_LAYOUT",
    "GASNET_SSH_REMOTE_PATH", "GASNET_NODEFILE",          "GASNET_RM_NODEFILE",
    "GASNET_ENVCMD",          "GASNET_MPI_THREAD",        "GASNET_BACKTRACE",
    "GASNET_BACKTRACE_NODES", "GASNET_BACKTRACE_SIGNAL",  "GASNET_BACKTRACE_TYPE",
    "GASNET_FREEZE_ON_ERROR", "GASNET_FREEZE_SIGNAL",     "GASNET_TMPDIR",
    "GASNET_FS_SYNC",         "GASNET_DISABLE_ENVDECODE", "GASNET_DISABLE_ARGDECODE",
    "GASNET_HCA_ID",          "GASNET_PORT_NUM"};
enum { OTHER_NAMES = sizeof other_names / sizeof *other_names };

/* Promised, and harmless to leave out: accepted, with a warning that they do nothing yet. */
static const char *const idle_names[] = {
    "GASNET_PUTINMOVE_LIMIT",  "GASNET_USE_FIREHOSE",
    "GASNET_FIREHOSE_M",       "GASNET_FIREHOSE_MAXVICTIM_M",
    "GASNET_FIREHOSE_R",       "GASNET_FIREHOSE_MAXVICTIM_R",
    "GASNET_FIREHOSE_VERBOSE", "GASNET_FIREHOSE_MAXREGION_SIZE",
    "GASNET_PORTAL_ACCEL"};
enum { IDLE_NAMES = sizeof idle_names / sizeof *idle_names };

/* Variables of other people's makefiles, which reach the environment: no mistakes. */
static const char *const foreign_names[] = {"GASNET_INSTALL_DIR", "GASNET_ROOT",
                                            "GASNET_CONDUIT",     "GASNET_TYPE",
                                            "GASNET_EXTRA_LIBS",  "GASNET_DUMMY"};

/* Whole families: clients' own names, and what the launcher hands over. */
static const char *const families[] = {"GASNET_SPAWN_", "GASNET_TEST_", "GASNET_MAXIMIZE_"};

/* Every known name in turn; NULL after the last. */
static const char *name_at(size_t i)
{
    if (i < gasnetc_param_count) return gasnetc_param_table[i].name;
    i -= gasnetc_param_count;
    if (i < gasnetc_param_count) return gasnetc_param_table[i].alias;
    i -= gasnetc_param_count;
    if (i < OTHER_NAMES) return other_names[i];
    i -= OTHER_NAMES;
    return i < IDLE_NAMES ? idle_names[i] : NULL;
}

bool gasnetc_param_idle(const char *name)
{
    for (size_t i = 0; i < IDLE_NAMES; i++)
        if (!strcmp(name, idle_names[i])) return true;
    return false;
}

bool gasnetc_param_known(const char *name)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strncmp(name, families[i], strlen(families[i]))) return true;
    for (size_t i = 0; i < sizeof foreign_names / sizeof *foreign_names; i++)
        if (!strcmp(name, foreign_names[i])) return true;
    const char *known;
    for (size_t i = 0; (known = name_at(i)); i++)
        if (!strcmp(name, known)) return true;
    return false;
}

/* In letters: a name that is farther from every known one is no slip, but another's. */
enum { FARTHEST = 3 };

const char *gasnetc_param_suggest(const char *name)
{
    const char *best = NULL, *known;
    size_t limit = strlen(name) / 4 < FARTHEST ? strlen(name) / 4 : FARTHEST;
    for (size_t i = 0; (known = name_at(i)); i++) {
        if (!*known) continue;
        unsigned d = gasneti_edit_distance(name, known);
        if (d > limit) continue;
        best = known;
        limit = d ? d - 1 : 0;
    }
    return best;
}
