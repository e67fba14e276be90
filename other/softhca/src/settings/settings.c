/* settings.c - the table of settings.def as data, its defaults and the help text.
 *
 * Pure: softhca-run, tests and the fuzzer link it without the device. settings_read.c reads the
 * environment.
 */
#include "other/softhca/src/settings/settings.h"

#include "other/softhca/src/settings/faults.h"
#include "other/softhca/src/settings/hosts.h"
#include "other/softhca/src/settings/inventory.h"

const struct gasneti_env_row shca_setting_rows[] = {
#define PARAM(field, ...)                                                                          \
    {GASNETI_ENV_ROW(__VA_ARGS__), .offset = offsetof(struct shca_settings, field)},
#include "other/softhca/src/settings/settings.def"
#undef PARAM
};
const size_t shca_setting_count = sizeof shca_setting_rows / sizeof *shca_setting_rows;

void shca_settings_default(struct shca_settings *s)
{
    gasneti_env_defaults(shca_setting_rows, shca_setting_count, s);
}

const char *shca_setting_name(size_t index)
{
    return gasneti_env_row_name(shca_setting_rows, shca_setting_count, index);
}

void shca_settings_print(FILE *to)
{
    fprintf(to, "Variables of the software device:\n");
    gasneti_env_help(to, shca_setting_rows, shca_setting_count);
    fprintf(to, "\nNames in SOFTHCA_DEVICES, of what, values and (default):\n");
    shca_inventory_print(to);
    fprintf(to, "\nFaults in SOFTHCA_FAULTS:\n");
    shca_faults_print(to);
}
