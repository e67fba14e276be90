/* settings_read.c - reads the settings from the environment of this process, once.
 *
 * Prints a line on stderr for each bad value and unknown SOFTHCA_* name.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "other/base/environment.h"
#include "other/softhca/include/softhca.h"
#include "other/softhca/src/settings/say.h"
#include "other/softhca/src/settings/settings.h"
#include "other/softhca/src/settings/span.h"

static struct {
    pthread_once_t once;
    struct shca_settings values;
    bool bad;
} env = {.once = PTHREAD_ONCE_INIT};

/* Set by softhca_number(). */
static _Atomic uint32_t program_number = SHCA_NO_PROCESS;

/* Called in process 0 of a numbered job, and in processes without a number. */
static void warn_of_unknown(void)
{
    char line[300];
    const char *nearest;
    for (char **e = gasneti_variables(); *e; e++)
        if (gasneti_env_unknown(*e, "SOFTHCA_", shca_setting_name, &nearest, line, sizeof line))
            shca_say("%s", line);
}

static void read_all(void)
{
    shca_settings_default(&env.values);
    for (size_t i = 0; i < shca_setting_count; i++) {
        const struct gasneti_env_row *row = &shca_setting_rows[i];
        const char *text = gasneti_variable(row->name);
        char why[400];
        if (!text || !*text) continue;
        if (gasneti_env_parse(row, text, &env.values, why, sizeof why)) continue;
        shca_say("%s (no software device can be opened)", why);
        env.bad = true;
    }
    if (program_number == SHCA_NO_PROCESS || program_number == 0) warn_of_unknown();
}

const struct shca_settings *shca_settings(void)
{
    pthread_once(&env.once, read_all);
    return &env.values;
}

SHCA_EXPORT void softhca_number(unsigned n)
{
    program_number = n;
}

/* From SOFTHCA_PROCESS, else from the program, else from a variable of the launcher. */
uint32_t shca_process_number(void)
{
    static const char *const names[] = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK",
                                        "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
    if (shca_settings()->process >= 0) return (uint32_t)shca_settings()->process;
    if (program_number != SHCA_NO_PROCESS) return program_number;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = gasneti_variable(names[i]);
        uint64_t n;
        if (text && shca_span_number(shca_span(text), 0, INT32_MAX, &n)) return (uint32_t)n;
    }
    return SHCA_NO_PROCESS;
}

bool shca_settings_good(void)
{
    shca_settings();
    return !env.bad;
}
