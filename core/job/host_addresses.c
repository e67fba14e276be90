/* host_addresses.c - finds the addresses by which the hosts of a job reach each other: every
 * process lists the addresses of its interfaces, and all choose from the same lists by the same
 * rule.
 *
 * Called once, in gasnet_init.
 */
#include "core/job/host_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"

/* --- choosing: pure --- */

static bool same_network(const gasnetc_address_t *a, const gasnetc_address_t *b)
{
    if (a->length != b->length || a->prefix != b->prefix) return false;
    unsigned whole = a->prefix / 8, rest = a->prefix % 8;
    return memcmp(a->bytes, b->bytes, whole) == 0 &&
           (!rest || (a->bytes[whole] ^ b->bytes[whole]) >> (8 - rest) == 0);
}

static bool same_address(const gasnetc_address_t *a, const gasnetc_address_t *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* Bridges for containers and virtual machines have the same address on all hosts. */
static bool is_on_other_host(const gasnetc_site_t *const *hosts, uint32_t count, uint32_t host,
                             const gasnetc_address_t *address)
{
    for (uint32_t h = 0; h < count; h++)
        for (int i = 0; h != host && i < GASNETC_HOST_ADDRESSES; i++)
            if (same_address(&hosts[h]->addresses[i], address)) return true;
    return false;
}

/* The host's first address on the network of `like` (NULL: any) that no other host has. */
static bool choose_for(const gasnetc_site_t *const *hosts, uint32_t count, uint32_t host,
                       const gasnetc_address_t *like, gasnetc_address_t *chosen)
{
    for (int i = 0; i < GASNETC_HOST_ADDRESSES; i++) {
        const gasnetc_address_t *address = &hosts[host]->addresses[i];
        if (!address->length || (like && !same_network(like, address)) ||
            is_on_other_host(hosts, count, host, address))
            continue;
        *chosen = *address;
        return true;
    }
    return false;
}

static bool choose_all(const gasnetc_site_t *const *hosts, uint32_t count,
                       const gasnetc_address_t *like, gasnetc_address_t *chosen)
{
    for (uint32_t h = 0; h < count; h++)
        if (!choose_for(hosts, count, h, like, &chosen[h])) return false;
    return true;
}

bool gasnetc_hosts_choose(const gasnetc_site_t *const *hosts, uint32_t count,
                          gasnetc_address_t *chosen)
{
    for (int i = 0; i < GASNETC_HOST_ADDRESSES; i++)
        if (hosts[0]->addresses[i].length &&
            choose_all(hosts, count, &hosts[0]->addresses[i], chosen))
            return true;
    return choose_all(hosts, count, NULL, chosen);
}

/* --- this host --- */

static uint8_t count_bits(const void *mask, size_t length)
{
    unsigned bits = 0;
    for (size_t i = 0; i < length; i++)
        bits += (unsigned)__builtin_popcount(((const uint8_t *)mask)[i]);
    return (uint8_t)bits;
}

static bool take_address(const struct ifaddrs *from, int family, gasnetc_address_t *to)
{
    const void *bytes, *mask;
    if (!from->ifa_addr || from->ifa_addr->sa_family != family || !from->ifa_netmask ||
        !(from->ifa_flags & IFF_UP) || (from->ifa_flags & IFF_LOOPBACK))
        return false;
    if (family == AF_INET) {
        bytes = &((const struct sockaddr_in *)(const void *)from->ifa_addr)->sin_addr;
        mask = &((const struct sockaddr_in *)(const void *)from->ifa_netmask)->sin_addr;
    } else {
        bytes = &((const struct sockaddr_in6 *)(const void *)from->ifa_addr)->sin6_addr;
        mask = &((const struct sockaddr_in6 *)(const void *)from->ifa_netmask)->sin6_addr;
        if (IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)bytes)) return false;
    }
    to->length = family == AF_INET ? 4 : 16;
    to->prefix = count_bits(mask, to->length);
    memcpy(to->bytes, bytes, to->length);
    return true;
}

static void list_addresses(gasnetc_site_t *site)
{
    static const int families[] = {AF_INET, AF_INET6};
    struct ifaddrs *all = NULL;
    int n = 0;
    memset(site, 0, sizeof *site);
    if (getifaddrs(&all) != 0) return;
    for (int f = 0; f < 2; f++)
        for (const struct ifaddrs *i = all; i && n < GASNETC_HOST_ADDRESSES; i = i->ifa_next)
            if (take_address(i, families[f], &site->addresses[n])) n++;
    freeifaddrs(all);
}

/* --- the job --- */

static char *list; /* NULL: the job is on one host */
static char ipv4[INET_ADDRSTRLEN];
static bool found;

const char *gasnetc_hosts_list(void)
{
    return list;
}

const char *gasnetc_hosts_ipv4(void)
{
    return found ? ipv4 : NULL;
}

static void write_list(const gasnetc_address_t *addresses, uint32_t count)
{
    char *to = list;
    for (uint32_t h = 0; h < count; h++) {
        if (h) *to++ = ',';
        inet_ntop(addresses[h].length == 4 ? AF_INET : AF_INET6, addresses[h].bytes, to,
                  INET6_ADDRSTRLEN);
        to += strlen(to);
    }
}

static uint32_t count_hosts(const struct bootstrap_job *job)
{
    uint32_t hosts = 0; /* host numbers are dense */
    for (uint32_t r = 0; r < job->size; r++)
        if (job->host_of[r] >= hosts) hosts = job->host_of[r] + 1;
    return hosts;
}

/* Keeps one site for each machine, since two host names may belong to one.  Returns how many. */
static uint32_t merge(const gasnetc_site_t **hosts, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t h = 0; h < count; h++) {
        uint32_t same = 0;
        while (same < kept &&
               memcmp(hosts[same]->addresses, hosts[h]->addresses, sizeof hosts[h]->addresses) != 0)
            same++;
        hosts[same] = hosts[h];
        kept += same == kept;
    }
    return kept;
}

/* Finds this host's IPv4 address: chooses again without IPv6, and overwrites the sites. */
static void choose_ipv4(gasnetc_site_t *sites, uint32_t ranks, const gasnetc_site_t **hosts,
                        uint32_t count, const gasnetc_site_t *mine, gasnetc_address_t *chosen)
{
    uint32_t host = 0;
    while (memcmp(hosts[host]->addresses, mine->addresses, sizeof mine->addresses) != 0) host++;
    for (uint32_t r = 0; r < ranks; r++)
        for (int i = 0; i < GASNETC_HOST_ADDRESSES; i++)
            if (sites[r].addresses[i].length != 4) sites[r].addresses[i].length = 0;
    ipv4[0] = '\0';
    if (gasnetc_hosts_choose(hosts, count, chosen))
        inet_ntop(AF_INET, chosen[host].bytes, ipv4, sizeof ipv4);
}

void gasnetc_hosts_find(const struct bootstrap_job *job)
{
    uint32_t count = count_hosts(job);
    if (count < 2) return;
    gasnetc_site_t mine, *all = malloc(job->size * sizeof *all);
    const gasnetc_site_t **hosts = calloc(count, sizeof *hosts);
    gasnetc_address_t *chosen = malloc(count * sizeof *chosen);
    list = calloc(count, INET6_ADDRSTRLEN + 1);
    if (!all || !hosts || !chosen || !list) gasneti_fatal("out of memory for %u hosts", count);
    list_addresses(&mine);
    bootstrap_exchange(&mine, sizeof mine, all);
    for (uint32_t r = job->size; r-- > 0;) hosts[job->host_of[r]] = &all[r];
    count = merge(hosts, count);
    found = count > 1 && gasnetc_hosts_choose(hosts, count, chosen);
    if (found) {
        write_list(chosen, count);
        choose_ipv4(all, job->size, hosts, count, &all[job->rank], chosen);
    }
    free(all);
    free(hosts);
    free(chosen);
}
