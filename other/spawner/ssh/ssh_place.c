/* ssh_place.c - reads the host list and places the ranks; see ssh_place.h.
 *
 * Called by the launcher before it starts anything; errors name the variable that is wrong.
 */
#include "other/spawner/launcher_log.h"
#include "other/spawner/ssh/ssh_place.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the host list --- */

static char *place_read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) return NULL;
    size_t len = 0, cap = 0;
    char *text = NULL;
    ssize_t got = getdelim(&text, &cap, 0, file);
    int error = ferror(file) ? errno : 0; /* open succeeds on a folder, read fails */
    if (got >= 0) len = (size_t)got;
    fclose(file);
    if (error) {
        free(text);
        errno = error;
        return NULL;
    }
    if (!text) text = calloc(1, 1);
    if (text) text[len] = 0;
    return text;
}

/* In order of precedence: the first variable that is set counts. */
static const struct source {
    const char *variable;
    bool names_file;
    enum hosts_format format;
} sources[] = {
    {"GASNET_SSH_NODEFILE", true, HOSTS_FILE}, {"GASNET_SSH_SERVERS", false, HOSTS_WORDS},
    {"GASNET_NODEFILE", true, HOSTS_FILE},     {"PBS_NODEFILE", true, HOSTS_FILE},
    {"PE_HOSTFILE", true, HOSTS_FILE},         {"SSS_HOSTLIST", false, HOSTS_WORDS},
    {"LSB_HOSTS", false, HOSTS_WORDS},         {"SLURM_JOB_NODELIST", false, HOSTS_RANGES},
};

/* Leaves the list empty when the environment names no hosts. */
static bool place_find_hosts(struct shell_words *hosts, bool merge)
{
    char why[200] = "";
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const char *value = getenv(sources[i].variable);
        if (!value || !*value) continue;
        char *text = sources[i].names_file ? place_read_file(value) : strdup(value);
        if (!text) {
            launcher_log("cannot read the host file %s=%s: %s", sources[i].variable, value,
                         strerror(errno));
            return false;
        }
        bool good = hosts_parse(hosts, sources[i].format, text, why, sizeof why);
        free(text);
        if (!good || hosts->count == 0) {
            launcher_log("%s=%s: %s", sources[i].variable, value,
                         good ? "no host in it; unset it to run on this machine alone" : why);
            return false;
        }
        if (merge) hosts_merge(hosts);
        return true;
    }
    return true;
}

/* --- this machine --- */

static bool place_is_own_address(const char *host)
{
    struct ifaddrs *all;
    bool own = false;
    if (getifaddrs(&all) != 0) return false;
    for (struct ifaddrs *i = all; i && !own; i = i->ifa_next) {
        char text[INET6_ADDRSTRLEN] = "";
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET)
            inet_ntop(AF_INET, &((struct sockaddr_in *)i->ifa_addr)->sin_addr, text, sizeof text);
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET6)
            inet_ntop(AF_INET6, &((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr, text,
                      sizeof text);
        own = text[0] && strcmp(text, host) == 0;
    }
    freeifaddrs(all);
    return own;
}

/* Names are not resolved: another name of this machine costs one remote shell. */
static bool place_is_this_machine(const char *host, const char *my_name)
{
    return strcmp(host, "localhost") == 0 || hosts_same(host, my_name) ||
           strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 || place_is_own_address(host);
}

/* --- the plan --- */

static bool place_limit_hosts(struct ssh_plan *plan, const struct ssh_request *request,
                              uint32_t *use)
{
    uint32_t want = request->hosts ? request->hosts : (uint32_t)plan->names.count;
    if (want > request->ranks) {
        if (request->hosts)
            launcher_log("warning: -N %" PRIu32
                         " is more than the number of processes; using %" PRIu32 " hosts",
                         request->hosts, request->ranks);
        want = request->ranks;
    }
    if (want > plan->names.count) {
        launcher_log("warning: -N %" PRIu32 ", but only %zu %s available; list more in "
                     "GASNET_SSH_SERVERS or GASNET_SSH_NODEFILE",
                     want, plan->names.count, plan->names.count == 1 ? "host is" : "hosts are");
        want = (uint32_t)plan->names.count;
    }
    *use = want;
    return want > 0;
}

/* Dense numbers in order of the first rank; slots of one name are one host. */
static void place_number_hosts(struct ssh_plan *plan)
{
    uint32_t next = 0;
    for (uint32_t s = 0; s < plan->count; s++) {
        const struct ssh_host_slot_plan *slot = &plan->slots[s];
        uint32_t number = next, same = 0;
        for (; same < s; same++) {
            const struct ssh_host_slot_plan *other = &plan->slots[same];
            if ((!slot->remote && !other->remote) || strcmp(slot->host, other->host) == 0) break;
        }
        if (same < s)
            number = plan->host_of[plan->slots[same].block.first];
        else
            next++;
        for (uint32_t i = 0; i < slot->block.count; i++) {
            uint32_t r = hosts_rank(&slot->block, i);
            plan->host_of[r] = number;
            plan->host_name_of[r] = slot->host;
        }
    }
}

/* --- settings --- */

static bool place_take_number(const char *name, uint32_t usual, uint32_t least, uint32_t most,
                              uint32_t *number)
{
    const char *text = getenv(name);
    char *end;
    *number = usual;
    if (!text || !*text) return true;
    unsigned long value = strtoul(text, &end, 10);
    *number = (uint32_t)value;
    if (*text >= '0' && *text <= '9' && !*end && value >= least && value <= most) return true;
    launcher_log("%s=%s: a whole number from %" PRIu32 " to %" PRIu32 " is needed here", name, text,
                 least, most);
    return false;
}

static bool place_take_layout(bool *cyclic)
{
    const char *text = getenv("GASNET_SSH_LAYOUT");
    *cyclic = text && strcmp(text, "cyclic") == 0;
    if (*cyclic || !text || !*text || strcmp(text, "block") == 0) return true;
    launcher_log("GASNET_SSH_LAYOUT=%s: choose block or cyclic", text);
    return false;
}

/* Only for remote hosts; otherwise no code reads them. */
static bool place_take_options(struct ssh_plan *plan)
{
    const char *text = getenv("GASNET_SSH_OPTIONS");
    bool remote = false;
    for (uint32_t s = 0; s < plan->count; s++) remote = remote || plan->slots[s].remote;
    if (!remote || !text || shell_split(&plan->options, text)) return true;
    launcher_log("GASNET_SSH_OPTIONS=%s: a quote has no end", text);
    return false;
}

bool ssh_plan_make(struct ssh_plan *plan, const struct ssh_request *request)
{
    char me[256] = "localhost";
    bool cyclic;
    memset(plan, 0, sizeof *plan);
    if (!place_take_layout(&cyclic) ||
        !place_take_number("GASNET_SSH_OUT_DEGREE", 32, 0, 65535, &plan->degree) ||
        !place_take_number("GASNET_SSH_TIMEOUT", 60, 1, 86400, &plan->patience))
        return false;
    gethostname(me, sizeof me - 1);
    if (!place_find_hosts(&plan->names, request->hosts == 0)) return false;
    if (plan->names.count == 0) shell_add(&plan->names, me);
    if (!place_limit_hosts(plan, request, &plan->count)) return false;

    struct hosts_block *blocks = calloc(plan->count, sizeof *blocks);
    plan->slots = calloc(plan->count, sizeof *plan->slots);
    plan->host_of = calloc(request->ranks, sizeof *plan->host_of);
    plan->host_name_of = calloc(request->ranks, sizeof *plan->host_name_of);
    if (!blocks || !plan->slots || !plan->host_of || !plan->host_name_of) {
        launcher_log("out of memory for %" PRIu32 " processes", request->ranks);
        free(blocks);
        return false;
    }
    (cyclic ? hosts_deal : hosts_place)(request->ranks, plan->count, blocks);
    for (uint32_t s = 0; s < plan->count; s++) {
        const char *host = plan->names.word[s];
        plan->slots[s] = (struct ssh_host_slot_plan){
            .host = host, .block = blocks[s], .remote = !place_is_this_machine(host, me)};
    }
    free(blocks);
    place_number_hosts(plan);
    return place_take_options(plan);
}

void ssh_plan_free(struct ssh_plan *plan)
{
    shell_free(&plan->names);
    shell_free(&plan->options);
    free(plan->slots);
    free(plan->host_of);
    free(plan->host_name_of);
}
