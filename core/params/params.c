/* params.c - the table of params.def as data, and the names of variables that the library knows.
 * Pure.
 */
#include "core/params/params.h"

#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "gasnet.h"
#include "other/base/tools.h"

#define BY_PLAIN(value) value
#define BY_NUMBER       BY_PLAIN
#define BY_SIZE         BY_PLAIN
#define BY_MEGABYTES    BY_PLAIN
#define BY_MEMORY(value)                                                                           \
    {                                                                                              \
        .amount = value                                                                            \
    }
#define BY_BOOLEAN     BY_PLAIN
#define BY_SECONDS     BY_PLAIN
#define BY_FRACTION    BY_PLAIN
#define BY_WORD(first) 0
#define BY_WORD_NUMBER(first)                                                                      \
    {                                                                                              \
        0                                                                                          \
    }
#define BY_TEXT BY_PLAIN

gasnetc_params_t gasnetc_params = {
#define PARAM(field, type, name, alias, initial, ...) .field = BY_##type(initial),
#define FIXED(field, type, value)                     .field = BY_##type(value),
#include GASNETC_PARAMS_DEF
#undef FIXED
#undef PARAM
};

const gasnetc_param_t gasnetc_param_table[] = {
#define PARAM(field, ...)                                                                          \
    {GASNETI_ENV_ROW(__VA_ARGS__), .offset = offsetof(gasnetc_params_t, field)},
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

/* Documented variables that have no effect, unless the conduit has a row for them: accepted with a
 * warning. */
static const char *const idle_names[] = {"GASNET_FIREHOSE_M", "GASNET_FIREHOSE_R",
                                         "GASNET_PORTAL_ACCEL", "GASNET_TRACEFLUSH"};
enum { IDLE_NAMES = sizeof idle_names / sizeof *idle_names };

/* Variables of other releases of GASNet, which job scripts set for all releases: no mistakes, and
 * noted only with GASNET_VERBOSEENV.  Listed without the prefix GASNET_. */
static const char original_names[] =
    " ODP_VERBOSE USE_ODP USE_XRC PHYSMEM_PROBE PINNED_REGIONS_MAX USE_FENCED_PUTS SND_THREAD "
    "IBV_PORTS_TYPE IBV_PORTS_VERBOSE IBV_LIST_PORTS IBV_LIST_PORTS_NODES CATCH_EXIT "
    "HOST_DETECT USE_PSHM_SINGLETON USE_HUGEPAGES COLL_SCRATCH_SIZE COLL_MIN_SCRATCH_SIZE "
    "NO_SCRATCH_WARN_THRESHOLD MASTERIP SPAWNFN AM_GATHER_MIN PUT_STRIPE_SZ GET_STRIPE_SZ "
    "RATOMICBUF_COUNT MAX_MTU CONNECT_SNDS CONNECT_RCVS CONNECT_RETRANS_MIN "
    "CONNECT_RETRANS_MAX CONNECT_DROP_DENOM NODEMAP_EXACT DISABLE_MUNMAP THREAD_STACK_MIN "
    "THREAD_STACK_PAD COLL_OPT COLL_BROADCAST_OPT COLL_SCATTER_OPT COLL_GATHER_OPT "
    "COLL_GATHER_ALL_OPT COLL_EXCHANGE_OPT COLL_P2P_EAGER_MIN COLL_P2P_EAGER_SCALE "
    "COLL_BROADCAST_GEOM COLL_SCATTER_GEOM COLL_GATHER_GEOM "
    "COLL_GATHER_ALL_DISSEM_LIMIT_PER_THREAD COLL_EXCHANGE_DISSEM_LIMIT_PER_THREAD "
    "COLL_EXCHANGE_DISSEM_RADIX COLL_TUNING_FILE COLL_ENABLE_SEARCH COLL_ENABLE_PROFILE "
    "ROUTE_OUTPUT MALLOCFILE MALLOCNODES ";
static const char *const original_families[] = {
    "GASNET_MALLOC_", "GASNET_TSC_",        "GASNET_PSHM_",      "GASNET_CONNECTFILE_",
    "GASNET_SD_",     "GASNET_RCV_THREAD_", "GASNET_SND_THREAD_"};

/* Variables of other projects' makefiles, which reach the environment: accepted silently. */
static const char *const foreign_names[] = {"GASNET_INSTALL_DIR", "GASNET_ROOT",
                                            "GASNET_CONDUIT",     "GASNET_TYPE",
                                            "GASNET_EXTRA_LIBS",  "GASNET_DUMMY"};

/* Prefixes: clients' own names, and variables that the launcher sets for its ranks. */
static const char *const families[] = {"GASNET_SPAWN_", "GASNET_TEST_", "GASNET_MAXIMIZE_"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool is_one_of(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

static bool begins_like(const char *const *prefixes, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i]))) return true;
    return false;
}

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
    return is_one_of(idle_names, IDLE_NAMES, name);
}

bool gasnetc_param_of_original(const char *name)
{
    char word[64];
    if (strncmp(name, "GASNET_", 7) || gasneti_env_known(name, gasnetc_param_name)) return false;
    snprintf(word, sizeof word, " %.60s ", name + 7);
    return strstr(original_names, word) ||
           begins_like(original_families, COUNT(original_families), name);
}

bool gasnetc_param_known(const char *name)
{
    if (begins_like(families, COUNT(families), name)) return true;
    if (is_one_of(foreign_names, COUNT(foreign_names), name)) return true;
    return gasneti_env_known(name, gasnetc_param_name);
}
