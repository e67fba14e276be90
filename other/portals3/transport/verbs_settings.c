/* verbs_settings.c - reads the settings and the launcher's map of ranks from the environment, and
 * prints messages on stderr.
 *
 * Read once, by verbs_open.c.  For a bad value it prints one line and uses the default.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/portals3/engine/launch.h"
#include "other/portals3/transport/verbs.h"
#include "other/tools/env_table.h"

extern char **environ;

void ptli_verbs_say(const struct ptli_verbs *v, const char *format, ...)
{
    char text[400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "libportals: process %u:%u: %s\n", v->face.id.nid, v->face.id.pid, text);
}

struct values {
#define SETTING(field, kind, ...) gasneti_env_type_##kind field;
#include "other/portals3/transport/settings.def"
#undef SETTING
};

static const struct gasneti_env_row rows[] = {
#define SETTING(field_, kind_, name_, initial_, least_, most_, values_, check_, help_)             \
    {.name = name_,                                                                                \
     .kind = GASNETI_ENV_##kind_,                                                                  \
     .initial = initial_,                                                                          \
     .least = least_,                                                                              \
     .most = most_,                                                                                \
     .values = values_,                                                                            \
     .help = help_,                                                                                \
     .offset = offsetof(struct values, field_)},
#include "other/portals3/transport/settings.def"
#undef SETTING
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
    for (char **e = environ; e && *e; e++)
        if (gasneti_env_unknown(*e, "PTL_", name_at, &nearest, line, sizeof line) && nearest)
            fprintf(stderr, "libportals: %s\n", line);
}

static void copy_text(const char *from, char *to, size_t size)
{
    snprintf(to, size, "%s", from ? from : "");
}

void ptli_verbs_read_settings(struct ptli_verbs_settings *settings)
{
    struct values values = {0};
    gasneti_env_defaults(rows, ROWS, &values);
    for (size_t i = 0; i < ROWS; i++) {
        char why[300];
        const char *text = getenv(rows[i].name);
        if (text && *text && !gasneti_env_parse(&rows[i], text, &values, why, sizeof why))
            fprintf(stderr, "libportals: %s; %s is used\n", why, rows[i].initial);
    }
    warn_of_unknown();
    *settings = (struct ptli_verbs_settings){.eager = (uint32_t)values.eager,
                                             .receives = (uint32_t)values.receives,
                                             .window = (uint32_t)values.window,
                                             .spin = (uint32_t)values.spin,
                                             .fast = values.fast,
                                             .mode = (enum ptli_progress_mode)values.mode};
    copy_text(values.iface, settings->iface, sizeof settings->iface);
    copy_text(values.device, settings->device, sizeof settings->device);
}

/* --- the map of ranks --- */

static void *copy(const void *from, size_t size)
{
    void *to = from ? malloc(size ? size : 1) : NULL;
    return to ? memcpy(to, from, size) : NULL;
}

/* The program's own map takes precedence over that of the environment.  False: no memory. */
bool ptli_verbs_read_launch(struct ptli_verbs *v, const struct ptli_launch *told)
{
    struct ptli_launch *launch = &v->launch;
    *launch = told ? *told : (struct ptli_launch){.rank = -1, .size = -1, .jid = PTL_JID_NONE};
    if (launch->rank < 0) {
        ptli_launch_environment(&v->nids, &v->pids, launch);
    } else {
        size_t size = launch->size > 0 ? (size_t)launch->size : 0;
        v->nids = copy(launch->nids, size * sizeof *v->nids);
        v->pids = copy(launch->pids, size * sizeof *v->pids);
        if ((launch->nids && !v->nids) || (launch->pids && !v->pids)) return false;
    }
    launch->nids = v->nids;
    launch->pids = v->pids;
    return true;
}
