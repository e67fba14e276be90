/* settings.h - what the environment may say: one table of variables, parsed and checked once.
 *
 * settings.def holds a row per SOFTHCA_* variable; the checks, the README's table and the text of
 * shca_settings_print() come from it. An empty variable counts as not set. One rule for all rows:
 * a bad value is told in one line, the default stands in its place, and no software device can
 * be opened (EINVAL). An unknown SOFTHCA_* name is a warning, with the nearest known name.
 */
#ifndef SOFTHCA_SETTINGS_H
#define SOFTHCA_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum shca_setting_kind { SHCA_WORD, SHCA_NUMBER, SHCA_TEXT };
typedef int64_t shca_value_WORD;
typedef int64_t shca_value_NUMBER;
typedef const char *shca_value_TEXT;

struct shca_settings {
#define SETTING(field, kind, ...) shca_value_##kind field;
#include "other/softhca/device/settings.def"
#undef SETTING
};

/* A row, as data. CHECK says in WHY, room for ROOM bytes, what is at fault and what is allowed. */
struct shca_setting {
    const char *name;
    enum shca_setting_kind kind;
    const char *initial, *values;
    bool (*check)(const char *text, char *why, size_t room);
    const char *help;
    size_t offset; /* of the field in struct shca_settings */
};
extern const struct shca_setting shca_setting_rows[];
extern const size_t shca_setting_count;

/* settings.c, pure. */

/* Take TEXT as the value of ROW; false, with WHY in one line and S unchanged, when it is bad. */
bool shca_setting_parse(const struct shca_setting *row, const char *text, struct shca_settings *s,
                        char *why, size_t room);
void shca_settings_default(struct shca_settings *s);
bool shca_setting_known(const char *name);
/* The known name nearest to NAME, or NULL when none is near. */
const char *shca_setting_suggest(const char *name);
/* Every variable with its values, default and meaning, for people. */
void shca_settings_print(FILE *to);

/* settings_read.c: the environment of this process, read when first asked for. */
const struct shca_settings *shca_settings(void);
uint32_t shca_process_number(void); /* or SHCA_NO_PROCESS */
bool shca_settings_good(void);      /* nothing in it was bad */

/* The places of SOFTHCA's words. */
enum { SHCA_DEVICE_AUTO, SHCA_DEVICE_ON, SHCA_DEVICE_OFF };

#endif
