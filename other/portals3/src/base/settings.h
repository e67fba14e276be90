/* settings.h - the PTL_* variables of the environment: the table settings.def, and its values.
 *
 * Bad values are reported when the network is opened; the defaults replace them.
 */
#ifndef PTLI_SETTINGS_H
#define PTLI_SETTINGS_H

#include <stdbool.h>

#include "other/base/env_table.h"

struct ptli_settings {
#define PARAM(field, kind, ...) gasneti_env_type_##kind field;
#include "other/portals3/src/base/settings.def"
#undef PARAM
};

/* Reads the environment.  If `report`, prints a line on stderr for each bad value, and for each
 * unknown name that resembles a known one. */
void ptli_settings_read(struct ptli_settings *settings, bool report);

#endif
