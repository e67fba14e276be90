/* params.c - the table of params.def as data, and the names of variables that the library knows.
 * Pure.
 */
#define PARAM_OFFSET(field) offsetof(gasnetc_params_t, field)
#include "core/params/params.h"
#include "core/params/params_row.h"

#include <string.h>

#include "gasnet.h"
#include "other/tools/tools.h"

gasnetc_params_t gasnetc_params = {
#define PARAM(field, type, name, alias, initial, ...) .field = initial,
#define FIXED(field, type, value)                     .field = value,
#include GASNETC_PARAMS_DEF
#undef FIXED
#undef PARAM
};

const gasnetc_param_t gasnetc_param_table[] = {
#define PARAM PARAM_ROW
#define FIXED(...)
#include GASNETC_PARAMS_DEF
#undef FIXED
#undef PARAM
};
const size_t gasnetc_param_count = sizeof gasnetc_param_table / sizeof *gasnetc_param_table;

/* --- names --- */

#define GASNETI_SPAWNER_VARIABLE "GASNET_" GASNET_CONDUIT_NAME_STR "_SPAWNER"

/* Variables that the spawners, the tools and the launcher read. */
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

/* Documented variables that nothing acts upon, unless the conduit has a row for them: accepted with
 * a warning. */
static const char *const idle_names[] = {"GASNET_FIREHOSE_M", "GASNET_FIREHOSE_R",
                                         "GASNET_PORTAL_ACCEL"};
enum { IDLE_NAMES = sizeof idle_names / sizeof *idle_names };

/* Variables of other projects' makefiles, which reach the environment: accepted silently. */
static const char *const foreign_names[] = {"GASNET_INSTALL_DIR", "GASNET_ROOT",
                                            "GASNET_CONDUIT",     "GASNET_TYPE",
                                            "GASNET_EXTRA_LIBS",  "GASNET_DUMMY"};

/* Prefixes: clients' own names, and variables that the launcher sets for its ranks. */
static const char *const families[] = {"GASNET_SPAWN_", "GASNET_TEST_", "GASNET_MAXIMIZE_"};

const char *gasnetc_param_name(size_t i)
{
    const char *name = gasneti_env_row_name(gasnetc_param_table, gasnetc_param_count, i);
    if (name) return name;
    i -= 2 * gasnetc_param_count;
    if (i < OTHER_NAMES) return other_names[i];
    i -= OTHER_NAMES;
    return i < IDLE_NAMES ? idle_names[i] : NULL;
}

bool gasnetc_param_idle(const char *name)
{
    for (size_t i = 0; i < gasnetc_param_count; i++)
        if (!strcmp(name, gasnetc_param_table[i].name)) return false;
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
    return gasneti_env_known(name, gasnetc_param_name);
}
