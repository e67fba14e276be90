/* settings.c - see settings.h. */
#include "other/portals3/src/base/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "other/base/environment.h"

static const struct gasneti_env_row rows[] = {
#define PARAM(field, ...)                                                                          \
    {GASNETI_ENV_ROW(__VA_ARGS__), .offset = offsetof(struct ptli_settings, field)},
#include "other/portals3/src/base/settings.def"
#undef PARAM
};
enum { ROWS = sizeof rows / sizeof *rows };

static const char *name_at(size_t index)
{
    return gasneti_env_row_name(rows, ROWS, index);
}

/* Other implementations of Portals have variables of their own: only a name near one of these is
 * reported. */
static void warn_of_unknown(void)
{
    char line[300];
    const char *nearest;
    for (char **e = gasneti_variables(); *e; e++)
        if (gasneti_env_unknown(*e, "PTL_", name_at, &nearest, line, sizeof line) && nearest)
            fprintf(stderr, "libportals: %s\n", line);
}

void ptli_settings_read(struct ptli_settings *settings, bool report)
{
    *settings = (struct ptli_settings){0};
    gasneti_env_defaults(rows, ROWS, settings);
    for (size_t i = 0; i < ROWS; i++) {
        char why[300];
        const char *text = gasneti_variable(rows[i].name);
        if (!text || !*text || gasneti_env_parse(&rows[i], text, settings, why, sizeof why))
            continue;
        if (report) fprintf(stderr, "libportals: %s; %s is used\n", why, rows[i].initial);
    }
    if (report) warn_of_unknown();
}
