/* params_help.c - the table of params.def as text, for `gasnetrun_... --help-env`.
 *
 * Linked into the launcher alone, which calls gasnetrun_help_env and nothing else of the core.
 */
#include "other/base/env_table.h"

#define GASNETC_DEFAULT_SPARES 2(4 in PAR)
#define gasneti_log_check      NULL /* values are not checked here */

/* With the variables that the network below reads by itself: `settings.def` of its folder. */
static const struct gasneti_env_row rows[] = {
#define PARAM(field, ...) {GASNETI_ENV_ROW(__VA_ARGS__)},
#define FIXED(...)
#include GASNETC_PARAMS_DEF
#ifdef GASNETC_SETTINGS_DEF
#include GASNETC_SETTINGS_DEF
#endif
};

void gasnetrun_help_env(void);
void gasnetrun_help_env(void)
{
    puts("Parameters of a job:");
    gasneti_env_help(stdout, rows, sizeof rows / sizeof *rows);
}
