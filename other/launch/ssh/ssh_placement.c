/* ssh_placement.c - reads the host list and assigns ranks to hosts; see ssh_placement.h.
 *
 * Called by the launcher before it starts anything; errors name the variable that is wrong.
 */
#include "other/launch/ssh/ssh_placement.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "other/base/numbers.h"
#include "other/launch/hostfile.h"
#include "other/launch/launcher_log.h"

/* --- the host list --- */

/* In order of precedence: the first variable that is set counts. */
static const struct source {
    const char *variable;
    bool names_file;
    enum hosts_format format;
    const char *job; /* is set in each job of this batch system; NULL: none is known */
} sources[] = {
    {"GASNET_SSH_NODEFILE", true, HOSTS_FILE, NULL},
    {"GASNET_SSH_SERVERS", false, HOSTS_WORDS, NULL},
    {"GASNET_NODEFILE", true, HOSTS_FILE, NULL},
    {"PBS_NODEFILE", true, HOSTS_FILE, "PBS_JOBID"},
    {"OAR_NODEFILE", true, HOSTS_FILE, "OAR_JOB_ID"},
    {"PE_HOSTFILE", true, HOSTS_FILE, NULL}, /* SGE sets it in parallel jobs only */
    {"SSS_HOSTLIST", false, HOSTS_WORDS, NULL},
    {"LSB_HOSTS", false, HOSTS_WORDS, "LSB_JOBID"}, /* left out where it would be long */
    {"LSB_DJOB_HOSTFILE", true, HOSTS_FILE, "LSB_JOBID"},
    {"LSB_MCPU_HOSTS", false, HOSTS_PAIRS, "LSB_JOBID"},
    {"SLURM_JOB_NODELIST", false, HOSTS_WORDS, "SLURM_JOB_ID"},
    {"SLURM_NODELIST", false, HOSTS_WORDS, "SLURM_JOB_ID"},
};
enum { SOURCES = sizeof sources / sizeof *sources };

static bool place_is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

static bool place_read_hosts(struct shell_words *hosts, const struct source *source)
{
    char why[300] = "";
    const char *value = getenv(source->variable);
    char *text = source->names_file ? hostfile_read(value, why, sizeof why) : strdup(value);
    if (!text) {
        launcher_log("cannot read the host file %s=%s: %s", source->variable, value,
                     *why ? why : "out of memory");
        return false;
    }
    const bool good = hosts_parse(hosts, source->format, text, why, sizeof why);
    free(text);
    if (good && hosts->count) return true;
    launcher_log("%s=%s: %s", source->variable, value,
                 good ? "no host in it; unset it to run on this machine alone" : why);
    return false;
}

/* A job of a batch system that has given no list of hosts. */
static bool place_miss_hosts(const char *job)
{
    char names[256] = "";
    for (size_t i = 0, len = 0; i < SOURCES && len < sizeof names; i++)
        if (sources[i].job && strcmp(sources[i].job, job) == 0)
            len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", len ? ", " : "",
                                    sources[i].variable);
    launcher_log("%s=%s: this is a job of a batch system, but its hosts are not known: %s is not "
                 "set; name them in GASNET_SSH_SERVERS (localhost is this machine)",
                 job, getenv(job), names);
    return false;
}

/* Leaves the list empty when the environment names no hosts. */
static bool place_find_hosts(struct shell_words *hosts, bool merge)
{
    size_t i = 0;
    while (i < SOURCES && !place_is_set(sources[i].variable)) i++;
    if (i < SOURCES) {
        if (!place_read_hosts(hosts, &sources[i])) return false;
        if (merge) hosts_merge(hosts);
        return true;
    }
    for (i = 0; i < SOURCES; i++)
        if (sources[i].job && place_is_set(sources[i].job)) return place_miss_hosts(sources[i].job);
    return true;
}

/* --- this machine --- */

static bool place_is_own_address(const char *host, const struct ifaddrs *all)
{
    bool own = false;
    for (const struct ifaddrs *i = all; i && !own; i = i->ifa_next) {
        char text[INET6_ADDRSTRLEN] = "";
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET)
            inet_ntop(AF_INET, &((struct sockaddr_in *)i->ifa_addr)->sin_addr, text, sizeof text);
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET6)
            inet_ntop(AF_INET6, &((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr, text,
                      sizeof text);
        own = text[0] && strcmp(text, host) == 0;
    }
    return own;
}

/* Names are not resolved: another name of this machine costs one remote shell. */
static bool place_is_this_machine(const char *host, const char *my_name,
                                  const struct ifaddrs *addresses)
{
    return strcmp(host, "localhost") == 0 || hosts_same(host, my_name) ||
           strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           place_is_own_address(host, addresses);
}

/* --- the placement --- */

static bool place_limit_hosts(struct ssh_placement *placement, const struct ssh_request *request,
                              uint32_t *use)
{
    uint32_t want = request->hosts ? request->hosts : (uint32_t)placement->names.count;
    if (want > request->ranks) {
        if (request->hosts)
            launcher_log("warning: -N %" PRIu32
                         " is more than the number of processes; using %" PRIu32 " hosts",
                         request->hosts, request->ranks);
        want = request->ranks;
    }
    if (want > placement->names.count) {
        launcher_log("warning: -N %" PRIu32 ", but only %zu %s available; list more in "
                     "GASNET_SSH_SERVERS or GASNET_SSH_NODEFILE",
                     want, placement->names.count,
                     placement->names.count == 1 ? "host is" : "hosts are");
        want = (uint32_t)placement->names.count;
    }
    *use = want;
    return want > 0;
}

/* Orders slots by host, those of this machine first, and slots of one host as in the list. */
static int place_compare(const void *a, const void *b)
{
    const struct ssh_placed_slot *one = *(const struct ssh_placed_slot *const *)a;
    const struct ssh_placed_slot *two = *(const struct ssh_placed_slot *const *)b;
    int order = one->remote - two->remote;
    if (!order && one->remote) order = strcmp(one->host, two->host);
    return order ? order : (one > two) - (one < two);
}

/* Returns for each slot the first slot of its host: [placement->count], or NULL. */
static uint32_t *place_first_of_host(const struct ssh_placement *placement)
{
    const struct ssh_placed_slot **sorted = calloc(placement->count, sizeof *sorted);
    uint32_t *first = calloc(placement->count, sizeof *first);
    for (uint32_t s = 0; sorted && s < placement->count; s++) sorted[s] = &placement->slots[s];
    if (sorted && first) {
        qsort(sorted, placement->count, sizeof *sorted, place_compare);
        for (uint32_t i = 0, leader = 0; i < placement->count; i++) {
            const struct ssh_placed_slot *of = sorted[leader], *slot = sorted[i];
            if (slot->remote != of->remote || (of->remote && strcmp(slot->host, of->host) != 0))
                leader = i;
            first[slot - placement->slots] = (uint32_t)(sorted[leader] - placement->slots);
        }
    } else {
        free(first);
        first = NULL;
    }
    free(sorted);
    return first;
}

/* Dense numbers in order of the first rank; slots of one name are one host. */
static bool place_number_hosts(struct ssh_placement *placement)
{
    uint32_t next = 0, *first = place_first_of_host(placement);
    for (uint32_t s = 0; first && s < placement->count; s++) {
        const struct ssh_placed_slot *slot = &placement->slots[s];
        const uint32_t number =
            first[s] < s ? placement->host_of[placement->slots[first[s]].block.first] : next++;
        for (uint32_t i = 0; i < slot->block.count; i++) {
            uint32_t r = hosts_rank(&slot->block, i);
            placement->host_of[r] = number;
            placement->host_name_of[r] = slot->host;
        }
    }
    free(first);
    return first != NULL;
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
    static const char words[] = "block|cyclic";
    const char *text = getenv("GASNET_SSH_LAYOUT");
    const int word = text && *text ? gasneti_parse_word(words, text, strlen(text)) : 0;
    *cyclic = word > 0;
    if (word < 0) launcher_log("GASNET_SSH_LAYOUT=%s: not one of %s", text, words);
    return word >= 0;
}

/* Only for remote hosts; otherwise no code reads them. */
static bool place_take_options(struct ssh_placement *placement)
{
    const char *text = getenv("GASNET_SSH_OPTIONS");
    bool remote = false;
    for (uint32_t s = 0; s < placement->count; s++) remote = remote || placement->slots[s].remote;
    if (!remote || !text || shell_split(&placement->options, text)) return true;
    launcher_log("GASNET_SSH_OPTIONS=%s: a quote has no end", text);
    return false;
}

bool ssh_placement_make(struct ssh_placement *placement, const struct ssh_request *request)
{
    char me[256] = "localhost";
    bool cyclic;
    memset(placement, 0, sizeof *placement);
    if (!place_take_layout(&cyclic) ||
        !place_take_number("GASNET_SSH_OUT_DEGREE", 32, 0, 65535, &placement->degree) ||
        !place_take_number("GASNET_SSH_TIMEOUT", 60, 1, 86400, &placement->patience))
        return false;
    gethostname(me, sizeof me - 1);
    if (!request->here_alone && !place_find_hosts(&placement->names, request->hosts == 0))
        return false;
    if (placement->names.count == 0) shell_add(&placement->names, me);
    if (placement->names.failed) {
        launcher_log("out of memory for the names of the hosts");
        return false;
    }
    if (!place_limit_hosts(placement, request, &placement->count)) return false;

    struct hosts_block *blocks = calloc(placement->count, sizeof *blocks);
    placement->slots = calloc(placement->count, sizeof *placement->slots);
    placement->host_of = calloc(request->ranks, sizeof *placement->host_of);
    placement->host_name_of = calloc(request->ranks, sizeof *placement->host_name_of);
    if (!blocks || !placement->slots || !placement->host_of || !placement->host_name_of) {
        launcher_log("out of memory for %" PRIu32 " processes", request->ranks);
        free(blocks);
        return false;
    }
    (cyclic ? hosts_deal : hosts_place)(request->ranks, placement->count, blocks);
    struct ifaddrs *addresses = NULL;
    if (getifaddrs(&addresses) != 0) addresses = NULL;
    for (uint32_t s = 0; s < placement->count; s++) {
        const char *host = placement->names.word[s];
        placement->slots[s] =
            (struct ssh_placed_slot){.host = host,
                                     .block = blocks[s],
                                     .remote = !place_is_this_machine(host, me, addresses)};
    }
    freeifaddrs(addresses);
    free(blocks);
    if (!place_number_hosts(placement)) {
        launcher_log("out of memory for %" PRIu32 " hosts", placement->count);
        return false;
    }
    return place_take_options(placement);
}

void ssh_placement_free(struct ssh_placement *placement)
{
    shell_free(&placement->names);
    shell_free(&placement->options);
    free(placement->slots);
    free(placement->host_of);
    free(placement->host_name_of);
}
