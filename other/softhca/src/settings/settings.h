/* settings.h - the SOFTHCA_* variables of the environment: one table, parsed and checked once.
 *
 * settings.def has a row for each. An empty variable counts as not set. For a bad value one line is
 * printed, the default is used, and no software device can be opened (EINVAL). An unknown SOFTHCA_*
 * name causes a warning with the nearest known name.
 */
#ifndef SOFTHCA_SETTINGS_H
#define SOFTHCA_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "other/base/env_table.h"

struct shca_settings {
#define PARAM(field, kind, ...) gasneti_env_type_##kind field;
#include "other/softhca/src/settings/settings.def"
#undef PARAM
};

/* settings.c, pure. */
extern const struct gasneti_env_row shca_setting_rows[];
extern const size_t shca_setting_count;
void shca_settings_default(struct shca_settings *s);
gasneti_env_name_at shca_setting_name;
/* Prints every variable with its values, default and meaning. */
void shca_settings_print(FILE *to);

/* settings_read.c: the environment of this process, read at the first call. */
const struct shca_settings *shca_settings(void);
#define SHCA_NO_PROCESS UINT32_MAX
uint32_t shca_process_number(void); /* or SHCA_NO_PROCESS */
bool shca_settings_good(void);      /* no value was bad */

/* The values of `device`. */
enum { SHCA_DEVICE_AUTO, SHCA_DEVICE_ON, SHCA_DEVICE_OFF };

/* The values of `memory`. */
enum { SHCA_MEMORY_LENIENT, SHCA_MEMORY_STRICT };

/* The values of `events`. */
enum { SHCA_EVENTS_LENIENT, SHCA_EVENTS_STRICT };

#endif
