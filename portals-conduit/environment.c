/* environment.c - what libportals reads from the environment, before it does.
 *
 * Called by start-up alone.  The launching console's PTL_* variables reach all ranks, as those of
 * the conduit do; and a job that spans hosts tells by which of its addresses this one is known,
 * which libportals, alone on its host, has to guess.  The software device learns the hosts, too.
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

static bool is_set(const char *name)
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
    /* Where the user has listed the hosts, the user says by which address this one is known. */
    if (!hosts || !softhca_hosts(hosts, gasnetc_hosts_secret(), bootstrap_getenv)) return;
    if (!address || is_set("PTL_IFACE") || is_set("PTL_NIDMAP")) return;
    if (!*address)
        gasneti_fatal("libportals calls processes by the IPv4 address of their host, and not all "
                      "hosts of the job have one of their own: give them one, or set PTL_IFACE");
    setenv("PTL_IFACE", address, 1);
}
