/* software_device.c - calls to the software verbs device; see software_device.h. */
#include "core/ib/software_device.h"

#include <string.h>

#include "core/ib/rail.h"
#include "core/job/host_addresses.h"
#include "core/job/rank.h"
#include "core/job/secret.h"
#include "core/network.h"
#include "other/softhca/include/softhca.h"

void net_ib_software_open(void)
{
    const char *hosts = gasnetc_hosts_list();
    softhca_number(gasnetc_job.rank); /* injected faults name processes by it */
    softhca_hosts(hosts ? hosts : "", gasnetc_secret_text(), bootstrap_getenv);
}

bool net_ib_is_software(const char *name)
{
    return !strncmp(name, "softhca", 7);
}

bool net_ib_software_in_order(void)
{
    return softhca_in_order();
}

bool net_ib_software_charges(void)
{
    return softhca_charges(NULL);
}

net_ib_finder_t net_ib_software_manager(void)
{
    return softhca_active() ? softhca_rdmacm : NULL;
}

const char *net_ib_software_advice(void)
{
    return softhca_active() ? " and the SOFTHCA_ variables: the software device is on"
                            : "; SOFTHCA=on runs the job on the software device";
}

bool net_ib_software_trouble(char *line, size_t size)
{
    return softhca_trouble(line, size) > 0;
}

/* With the software device, memory that peers on this host access by plain loads and stores. */
void *net_alloc(size_t size)
{
    return softhca_alloc(size);
}

_Atomic uint32_t *net_sleeper(void (*wake)(uint32_t rank))
{
    if (!net_ib_is_software(net_ib_rails.hca[0].name)) return NULL;
    return (_Atomic uint32_t *)softhca_sleeper(wake);
}

void net_free(void *memory)
{
    softhca_free(memory);
}
