/* environment.c - sets the environment variables that libportals reads.
 *
 * Called by start-up, before the interface is opened.  Copies the PTL_* variables of the launching
 * console to every rank.  In a job over several hosts it also sets PTL_IFACE to the address by
 * which the other hosts reach this host: libportals cannot determine that address from one host
 * alone.  The list of hosts is given to the software device.
 */
#include "other/base/environment.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/job/host_addresses.h"
#include "core/job/rank.h"
#include "core/job/secret.h"
#include "core/report.h"
#include "other/base/env_table.h"
#include "other/launch/bootstrap.h"
#include "portals.h"

static const struct setting {
    const char *name;
    enum gasneti_env_kind kind;
} settings[] = {
#define PARAM(field, kind, name, ...) {name, GASNETI_ENV_##kind},
#include "other/portals3/src/base/settings.def"
#undef PARAM
};

static bool environment_is_set(const char *name)
{
    const char *value = gasneti_variable(name);
    return value && *value;
}

/* Values of libportals: PTL_RECEIVES and PTL_EAGER when not set, the least PTL_RECEIVES, and the
 * number of first send buffers. */
enum { RECEIVES = 256, EAGER = 16384, RECEIVES_LEAST = 16, SENDS = 16, HEADER = 128 };

static uint64_t environment_receive_size(void)
{
    const char *eager = gasneti_variable("PTL_EAGER");
    return HEADER + (eager && *eager ? strtoul(eager, NULL, 10) : EAGER);
}

/* Sets the number of libportals' receive buffers: a job of one process uses none, and where little
 * memory may be locked they must leave some for the segment. */
static void environment_receives(void)
{
    char number[24];
    const uint64_t limit = net_portals_memlock() / 4 / environment_receive_size();
    uint64_t receives = gasnetc_job.size == 1 ? RECEIVES_LEAST : RECEIVES;
    if (receives > limit) receives = limit < RECEIVES_LEAST ? RECEIVES_LEAST : limit;
    snprintf(number, sizeof number, "%llu", (unsigned long long)receives);
    if (receives < RECEIVES && !environment_is_set("PTL_RECEIVES"))
        setenv("PTL_RECEIVES", number, 1);
}

uint64_t net_portals_library_bytes(void)
{
    const char *receives = gasneti_variable("PTL_RECEIVES");
    const uint64_t count = receives && *receives ? strtoul(receives, NULL, 10) : RECEIVES;
    return (count + SENDS) * environment_receive_size();
}

/* Passes the hosts of the job to the software device, and this host's address to libportals. */
static void environment_hosts(void)
{
    const char *hosts = gasnetc_hosts_list(), *address = gasnetc_hosts_ipv4();
    /* False if the user lists the hosts, and so chooses the addresses too. */
    const bool used = softhca_hosts(hosts ? hosts : "", gasnetc_secret_text(), bootstrap_getenv);
    if (!hosts || !used) return;
    if (!address || environment_is_set("PTL_IFACE") || environment_is_set("PTL_NIDMAP")) return;
    if (!*address)
        gasneti_fatal(
            "libportals identifies processes by the IPv4 address of their host, and not all "
            "hosts of the job have a unique one: assign one, or set PTL_IFACE");
    setenv("PTL_IFACE", address, 1);
}

void net_portals_environment(void)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *value = bootstrap_getenv(settings[i].name);
        if (value && settings[i].kind != GASNETI_ENV_MAP) setenv(settings[i].name, value, 0);
    }
    environment_hosts();
    environment_receives(); /* asks the software device, which the hosts must reach first */
}
