/* verbs_settings.c - the environment: how the transport is to work, and what a launcher told; and
 * how it speaks on stderr.
 *
 * Read once, by verbs_open.c.  A bad value is told in one line and the default stands.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/portals3/engine/launch.h"
#include "other/portals3/transport/verbs.h"

void ptli_verbs_say(const struct ptli_verbs *v, const char *format, ...)
{
    char text[400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "libportals: process %u:%u: %s\n", v->face.id.nid, v->face.id.pid, text);
}

static const struct row {
    const char *name, *initial, *values;
} rows[] = {
#define SETTING(field, kind, name, initial, values, check, help) {name, initial, values},
#include "other/portals3/transport/settings.def"
#undef SETTING
};

enum {
#define SETTING(field, ...) ROW_##field,
#include "other/portals3/transport/settings.def"
#undef SETTING
};

static uint32_t number(unsigned which)
{
    const struct row *row = &rows[which];
    const char *text = getenv(row->name);
    char *end;
    unsigned long normal = strtoul(row->initial, NULL, 10), least = strtoul(row->values, &end, 10),
                  most = strtoul(end + strlen(".."), NULL, 10);
    if (!text || !*text) return (uint32_t)normal;
    errno = 0;
    unsigned long value = strtoul(text, &end, 0);
    if (!errno && end != text && !*end && *text != '-' && value >= least && value <= most)
        return (uint32_t)value;
    fprintf(stderr, "libportals: %s=%s: must be a number from %lu to %lu; %lu is used\n", row->name,
            text, least, most, normal);
    return (uint32_t)normal;
}

/* The place of `text` among words with bars between them; -1: it is none of them. */
static int place_of(const char *text, const char *words)
{
    size_t length = strlen(text);
    for (int place = 0;; place++) {
        size_t word = strcspn(words, "|");
        if (word == length && !memcmp(words, text, length)) return place;
        words += word;
        if (!*words++) return -1;
    }
}

static int choice(unsigned which)
{
    const struct row *row = &rows[which];
    const char *text = getenv(row->name);
    int place = place_of(text && *text ? text : row->initial, row->values);
    if (place >= 0) return place;
    fprintf(stderr, "libportals: %s=%s: must be one of %s; %s is used\n", row->name, text,
            row->values, row->initial);
    return place_of(row->initial, row->values);
}

static void copy_text(unsigned which, char *to, size_t size)
{
    const char *text = getenv(rows[which].name);
    snprintf(to, size, "%s", text ? text : "");
}

void ptli_verbs_read_settings(struct ptli_verbs_settings *settings)
{
    *settings = (struct ptli_verbs_settings){.eager = number(ROW_eager),
                                             .receives = number(ROW_receives),
                                             .window = number(ROW_window),
                                             .spin = number(ROW_spin),
                                             .fast = number(ROW_fast) != 0,
                                             .mode = (enum ptli_progress_mode)choice(ROW_mode)};
    copy_text(ROW_iface, settings->iface, sizeof settings->iface);
    copy_text(ROW_device, settings->device, sizeof settings->device);
}

/* --- the map of ranks --- */

static void *copy(const void *from, size_t size)
{
    void *to = from ? malloc(size ? size : 1) : NULL;
    return to ? memcpy(to, from, size) : NULL;
}

/* What the program told stands before what the environment tells.  False: no memory. */
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
