/* verbs_settings.c - the settings and the launcher's map of ranks for the network, and messages on
 * stderr.
 *
 * Called once for each opening, by verbs_open.c.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/portals3/src/base/settings.h"
#include "other/portals3/src/transport/key_file.h"
#include "other/portals3/src/transport/launch.h"
#include "other/portals3/src/transport/verbs.h"

void ptli_verbs_say(const struct ptli_verbs *v, const char *format, ...)
{
    char text[1000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "libportals: process %u:%u: %s\n", v->face.id.nid, v->face.id.pid, text);
}

static void copy_text(const char *from, char *to, size_t size)
{
    snprintf(to, size, "%s", from ? from : "");
}

void ptli_verbs_read_settings(struct ptli_verbs_settings *settings)
{
    struct ptli_settings values;
    ptli_settings_read(&values, true);
    *settings = (struct ptli_verbs_settings){.eager = (uint32_t)values.eager,
                                             .receives = (uint32_t)values.receives,
                                             .window = (uint32_t)values.window,
                                             .spin = (uint32_t)values.spin,
                                             .fast = values.fast,
                                             .gid_index = (int)values.gid_index,
                                             .pkey_index = (uint16_t)values.pkey_index,
                                             .traffic_class = (uint8_t)values.traffic_class,
                                             .qp_timeout = (uint8_t)values.qp_timeout,
                                             .mode = (enum ptli_progress_mode)values.mode};
    copy_text(values.iface, settings->iface, sizeof settings->iface);
    copy_text(values.device, settings->device, sizeof settings->device);
}

bool ptli_verbs_read_key(struct ptli_verbs *v, const struct ptli_launch *given)
{
    char why[PATH_MAX + 200];
    struct ptli_settings values;
    if (given && given->key.size) {
        v->key = given->key;
        return true;
    }
    ptli_settings_read(&values, false);
    if (ptli_key_file_read(values.keyfile ? values.keyfile : "", &v->key, why, sizeof why))
        return true;
    ptli_verbs_say(v, "%s", why);
    return false;
}

/* --- the map of ranks --- */

static void *copy(const void *from, size_t size)
{
    void *to = from ? malloc(size ? size : 1) : NULL;
    return to ? memcpy(to, from, size) : NULL;
}

/* The program's own map takes precedence over that of the environment.  False: no memory. */
bool ptli_verbs_read_launch(struct ptli_verbs *v, const struct ptli_launch *given)
{
    struct ptli_launch *launch = &v->launch;
    *launch = given ? *given : (struct ptli_launch){.rank = -1, .size = -1, .jid = PTL_JID_NONE};
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
