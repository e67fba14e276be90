/* params_help.c - the table of params.def as text, for `gasnetrun_... --help-env`.
 *
 * Linked into the launcher alone, which calls gasnetrun_help_env and nothing else of the core.
 */
#define GASNETC_DEFAULT_SPARES 2(4 in PAR)
#define PARAM_OFFSET(field)    0
#include "core/params/params_row.h"

static const struct gasneti_env_row rows[] = {
#define PARAM PARAM_ROW
#define FIXED(...)
#include GASNETC_PARAMS_DEF
};

/* The variables that the network below reads by itself: `settings.def` of its folder. */
static const struct gasneti_env_row settings[] = {
#define SETTING(field, ...) {GASNETI_ENV_SETTING(__VA_ARGS__)},
#ifdef GASNETC_SETTINGS_DEF
#include GASNETC_SETTINGS_DEF
#endif
    {.name = NULL}};

void gasnetrun_help_env(void);
void gasnetrun_help_env(void)
{
    puts("Parameters of a job:");
    gasneti_env_help(stdout, rows, sizeof rows / sizeof *rows);
    gasneti_env_help(stdout, settings, sizeof settings / sizeof *settings - 1);
}
