/* host_addresses.c - the addresses by which the hosts of a job reach each other
 * (core/job/host_addresses.c): which of each host's are chosen; the key of the job
 * (core/job/secret.c); and how the software device is given them
 * (other/softhca/src/settings/job_hosts.c).
 */
#include "core/job/host_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/secret.h"
#include "core/report.h"
#include "other/softhca/include/softhca.h"
#include "tests/unit/check.h"

/* ---- functions that host_addresses.c calls */

static const char *console_hosts; /* the launching console's SOFTHCA_HOSTS */
static const char *others[3];     /* addresses of the ranks */
static uint32_t ranks;
static unsigned exchanges;

void gasneti_fatal(const char *format, ...)
{
    abort();
}

const char *bootstrap_getenv(const char *name)
{
    return strcmp(name, "SOFTHCA_HOSTS") ? NULL : console_hosts;
}

static gasnetc_address_t address_of(const char *text)
{
    gasnetc_address_t a = {0};
    char plain[64] = "";
    unsigned prefix = 0;
    sscanf(text, "%63[^/]/%u", plain, &prefix);
    a.length = strchr(plain, ':') ? 16 : 4;
    a.prefix = (uint8_t)prefix;
    if (inet_pton(a.length == 4 ? AF_INET : AF_INET6, plain, a.bytes) != 1) abort();
    return a;
}

static gasnetc_site_t own; /* the contribution of this host */

void bootstrap_exchange(const void *mine, size_t len, void *all)
{
    exchanges++;
    memcpy(&own, mine, len);
    for (uint32_t r = 0; r < ranks; r++) {
        gasnetc_site_t site = {0};
        char text[100], *rest;
        int n = 0;
        snprintf(text, sizeof text, "%s", others[r]);
        for (char *a = strtok_r(text, " ", &rest); a; a = strtok_r(NULL, " ", &rest))
            site.addresses[n++] = address_of(a);
        memcpy((char *)all + r * len, &site, len);
    }
}

/* Rank 0's bytes reach this process, which is rank 1. */
void bootstrap_broadcast(void *data, size_t len, uint32_t root)
{
    if (root == 0) memset(data, 0xa0, len);
}

/* ---- the interfaces of this host */

typedef union socket_address {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
} socket_address_t;

static struct {
    const char *address, *mask; /* NULL: the interface has none */
    unsigned flags;
} interfaces[] = {
    {"127.0.0.1", "255.0.0.0", IFF_UP | IFF_LOOPBACK},
    {"10.9.9.9", "255.255.255.0", 0},
    {NULL, NULL, IFF_UP},
    {"10.8.8.8", NULL, IFF_UP},
    {"fe80::5", "ffff:ffff:ffff:ffff::", IFF_UP},
    {"fd77::5", "ffff:ffff:ffff:ffff::", IFF_UP},
    {"10.1.2.3", "255.255.240.0", IFF_UP},
};
enum { INTERFACES = sizeof interfaces / sizeof *interfaces };

static struct sockaddr *socket_address(socket_address_t *to, const char *text)
{
    if (!text) return NULL;
    bool four = !strchr(text, ':');
    void *bytes = four ? (void *)&to->ipv4.sin_addr : (void *)&to->ipv6.sin6_addr;
    to->any.sa_family = four ? AF_INET : AF_INET6;
    if (inet_pton(to->any.sa_family, text, bytes) != 1) abort();
    return &to->any;
}

/* Replaces the function of the C library. */
int getifaddrs(struct ifaddrs **first)
{
    static struct ifaddrs all[INTERFACES];
    static socket_address_t address[INTERFACES], mask[INTERFACES];
    for (int i = 0; i < INTERFACES; i++)
        all[i] = (struct ifaddrs){.ifa_next = i + 1 < INTERFACES ? &all[i + 1] : NULL,
                                  .ifa_flags = interfaces[i].flags,
                                  .ifa_addr = socket_address(&address[i], interfaces[i].address),
                                  .ifa_netmask = socket_address(&mask[i], interfaces[i].mask)};
    *first = all;
    return 0;
}

void freeifaddrs(struct ifaddrs *all)
{
    (void)all;
}

static bool is_address(const gasnetc_address_t *a, const char *text)
{
    gasnetc_address_t due = address_of(text);
    return a->length == due.length && a->prefix == due.prefix &&
           !memcmp(a->bytes, due.bytes, due.length);
}

/* ---- choosing */

/* Hosts are words with commas between their addresses; what is expected, words too, or NULL. */
static void choosing(const char *what, const char *hosts, const char *expect)
{
    gasnetc_site_t sites[4] = {0};
    const gasnetc_site_t *pointers[4];
    gasnetc_address_t chosen[4];
    uint32_t count = 0;
    char text[400], got[400] = "", *rest, *inner;
    snprintf(text, sizeof text, "%s", hosts);
    for (char *host = strtok_r(text, " ", &rest); host; host = strtok_r(NULL, " ", &rest)) {
        int n = 0;
        for (char *a = strtok_r(host, ",", &inner); a; a = strtok_r(NULL, ",", &inner))
            if (strcmp(a, "none")) sites[count].addresses[n++] = address_of(a);
        pointers[count] = &sites[count];
        count++;
    }
    bool found = gasnetc_hosts_choose(pointers, count, chosen);
    for (uint32_t h = 0; found && h < count; h++) {
        char one[64];
        inet_ntop(chosen[h].length == 4 ? AF_INET : AF_INET6, chosen[h].bytes, one, sizeof one);
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", h ? " " : "", one);
    }
    check(found == (expect != NULL) && (!found || !strcmp(got, expect)), "%s (%s)", what,
          found ? got : "none");
}

static void test_choosing(void)
{
    choosing("one network", "10.0.0.1/24 10.0.0.2/24 10.0.0.3/24", "10.0.0.1 10.0.0.2 10.0.0.3");
    choosing("the network that all are on, though it comes second",
             "192.168.1.1/24,10.0.0.1/24 10.0.0.2/24,192.168.7.1/24", "10.0.0.1 10.0.0.2");
    choosing("not a bridge that has one address everywhere",
             "172.17.0.1/16,10.0.0.1/24 172.17.0.1/16,10.0.0.2/24", "10.0.0.1 10.0.0.2");
    choosing("networks that are routed", "10.1.0.1/24 10.2.0.1/24 10.3.0.1/24",
             "10.1.0.1 10.2.0.1 10.3.0.1");
    choosing("routed, with the bridge first", "172.17.0.1/16,10.1.0.1/24 172.17.0.1/16,10.2.0.1/24",
             "10.1.0.1 10.2.0.1");
    choosing("a prefix that ends within a byte",
             "10.0.16.1/20,10.9.0.1/16 10.0.31.2/20,10.8.0.1/16", "10.0.16.1 10.0.31.2");
    choosing("and one byte's bit beyond it", "10.0.16.1/20,10.9.0.1/16 10.0.32.2/20,10.9.0.2/16",
             "10.9.0.1 10.9.0.2");
    choosing("IPv6", "fd77::1/64 fd77::2/64", "fd77::1 fd77::2");
    choosing("IPv6 where only that is common", "10.0.0.1/24,fd77::1/64 fd77::2/64",
             "fd77::1 fd77::2");
    choosing("a network without a prefix is any", "10.0.0.1/0 11.0.0.1/0", "10.0.0.1 11.0.0.1");
    choosing("no address at all", "10.0.0.1/24 none", NULL);
    choosing("one host under two names", "10.0.0.1/24 10.0.0.1/24", NULL);
}

/* ---- the hosts of a job, and what the software device makes of them */

static bool used; /* the list that was found */

static const char *hosts_told(uint32_t hosts, const char *own, const char *console)
{
    static const uint32_t host_of[3] = {0, 1, 2}, one_host[2];
    struct bootstrap_job job = {.size = hosts == 1 ? 2 : hosts,
                                .host_of = hosts == 1 ? one_host : host_of};
    ranks = job.size;
    unsetenv("SOFTHCA_HOSTS");
    unsetenv("SOFTHCA_SECRET");
    if (own) setenv("SOFTHCA_HOSTS", own, 1);
    console_hosts = console;
    exchanges = 0;
    gasnetc_secret_share(&job);
    gasnetc_hosts_find(&job);
    const char *list = gasnetc_hosts_list();
    used = list && softhca_hosts(list, gasnetc_secret_text(), bootstrap_getenv);
    free((char *)(uintptr_t)list);
    return getenv("SOFTHCA_HOSTS") ? getenv("SOFTHCA_HOSTS") : "nothing";
}

/* By what rank 0's host is called: "none", or "nothing" when that is not known. */
static const char *own_ipv4(void)
{
    const char *address = gasnetc_hosts_ipv4();
    return address ? *address ? address : "none" : "nothing";
}

static void test_telling(void)
{
    others[0] = "10.0.0.1/24";
    others[1] = "10.0.0.2/24";
    check(!strcmp(hosts_told(1, NULL, NULL), "nothing") && !exchanges, "one host needs no list");
    check(!strcmp(own_ipv4(), "nothing"), "and has no name for others");
    check(!strcmp(hosts_told(2, NULL, NULL), "10.0.0.1,10.0.0.2") && used, "two are listed");
    check(is_address(&own.addresses[0], "10.1.2.3/20") &&
              is_address(&own.addresses[1], "fd77::5/64") && !own.addresses[2].length,
          "a host says where others reach it: interfaces that are up, no loopback, no link");
    check(!strcmp(own_ipv4(), "10.0.0.1"), "this one's is known");
    check(!strcmp(getenv("SOFTHCA_SECRET"), "a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0"),
          "with rank 0's secret");
    check(!strcmp(hosts_told(2, NULL, "a,b"), "a,b") && !used, "what the console said reaches all");
    check(!strcmp(hosts_told(2, "c,d", "a,b"), "c,d") && !used,
          "what is said here comes before it");
    check(!strcmp(hosts_told(2, NULL, ""), "nothing") && !used, "nothing was wanted");
    others[1] = others[0];
    check(!strcmp(hosts_told(2, NULL, NULL), "nothing") && exchanges == 1,
          "two names of one machine are not listed");
    others[2] = "10.0.0.2/24";
    check(!strcmp(hosts_told(3, NULL, NULL), "10.0.0.1,10.0.0.2"),
          "of three names, two of them of one machine, two are listed");
    others[0] = "10.0.0.1/24 fd77::1/64", others[1] = "10.1.0.1/24 fd77::2/64";
    check(!strcmp(hosts_told(2, NULL, NULL), "fd77::1,fd77::2") && !strcmp(own_ipv4(), "10.0.0.1"),
          "where only IPv6 is a common network, IPv4 is what each has");
    others[1] = "fd77::2/64";
    check(!strcmp(hosts_told(2, NULL, NULL), "fd77::1,fd77::2") && !strcmp(own_ipv4(), "none"),
          "or is not there");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    test_choosing();
    test_telling();
    return check_end();
}
