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

#include "other/portals3/launch.h"
#include "other/portals3/verbs.h"

void ptli_verbs_say(const struct ptli_verbs *v, const char *format, ...)
{
    char text[400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "libportals: process %u:%u: %s\n", v->face.id.nid, v->face.id.pid, text);
}

static uint32_t number(const char *name, uint32_t normal, uint32_t least, uint32_t most)
{
    const char *text = getenv(name);
    if (!text || !*text) return normal;
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 0);
    if (!errno && end != text && !*end && *text != '-' && value >= least && value <= most)
        return (uint32_t)value;
    fprintf(stderr, "libportals: %s=%s: must be a number from %u to %u; %u is used\n", name, text,
            least, most, normal);
    return normal;
}

static unsigned choice(const char *name, const char *const *words, unsigned normal)
{
    const char *text = getenv(name);
    if (!text || !*text) return normal;
    char all[64] = "";
    for (unsigned i = 0; words[i]; i++) {
        if (!strcmp(text, words[i])) return i;
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", words[i]);
    }
    fprintf(stderr, "libportals: %s=%s: must be one of %s; %s is used\n", name, text, all,
            words[normal]);
    return normal;
}

void ptli_verbs_read_settings(struct ptli_verbs_settings *settings)
{
    static const char *const modes[] = {"thread", "hybrid", "none", NULL};
    const char *iface = getenv("PTL_IFACE"), *device = getenv("PTL_DEVICE");
    *settings = (struct ptli_verbs_settings){
        .eager = number("PTL_EAGER", 16384, 1024, 65536),
        .receives = number("PTL_RECEIVES", 256, 16, 16384),
        .window = number("PTL_WINDOW", 64, 1, 1024),
        .spin = number("PTL_SPIN", 50, 0, 1000000),
        .fast = number("PTL_FASTPATH", 1, 0, 1) != 0,
        .mode = (enum ptli_progress_mode)choice("PTL_PROGRESS", modes, PTLI_THREAD),
    };
    snprintf(settings->iface, sizeof settings->iface, "%s", iface ? iface : "");
    snprintf(settings->device, sizeof settings->device, "%s", device ? device : "");
}

/* ---- the map of ranks ---- */

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
