/* environment.c - sets the environment variables that libportals reads.
 *
 * Called by start-up, before the interface is opened.  Copies the PTL_* variables of the launching
 * console to every rank.  In a job over several hosts it also sets PTL_IFACE to the address by
 * which the other hosts reach this one, which libportals cannot determine from one host alone, and
 * gives the list of hosts to the software device.
 */
#include <stdlib.h>

#include "core/report.h"
#include "core/job/host_addresses.h"
#include "other/spawner/bootstrap.h"
#include "other/tools/env_table.h"
#include "portals.h"

static const struct setting {
    const char *name;
    enum gasneti_env_kind kind;
} settings[] = {
#define SETTING(field, kind, name, ...) {name, GASNETI_ENV_##kind},
#include "other/portals3/transport/settings.def"
#undef SETTING
};

static bool environment_is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

void net_portals_environment(void)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *value = bootstrap_getenv(settings[i].name);
        if (value && settings[i].kind != GASNETI_ENV_MAP) setenv(settings[i].name, value, 0);
    }
    const char *hosts = gasnetc_hosts_list(), *address = gasnetc_hosts_ipv4();
    /* A user who lists the hosts also chooses the addresses. */
    if (!hosts || !softhca_hosts(hosts, gasnetc_hosts_secret(), bootstrap_getenv)) return;
    if (!address || environment_is_set("PTL_IFACE") || environment_is_set("PTL_NIDMAP")) return;
    if (!*address)
        gasneti_fatal(
            "libportals identifies processes by the IPv4 address of their host, and not all "
            "hosts of the job have a unique one: assign one, or set PTL_IFACE");
    setenv("PTL_IFACE", address, 1);
}
