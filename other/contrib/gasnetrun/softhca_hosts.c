/* softhca_hosts.c - tells the software device which hosts a job spans; see softhca_hosts.h.
 *
 * Called by the launcher before anything starts; the environment that it changes reaches every
 * process.  Where a job has real devices, nobody looks at it.
 */
#define _GNU_SOURCE
#include "other/contrib/gasnetrun/softhca_hosts.h"
#include "other/spawner/say.h"
#include "other/spawner/ssh_launch.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* The address that packets to `host` leave from: no packet is sent to find out. */
static bool own_address_towards(const char *host, char *text, size_t size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *all = NULL;
    bool found = false;
    if (getaddrinfo(host, "9", &hints, &all) != 0) return false;
    for (struct addrinfo *a = all; a && !found; a = a->ai_next) {
        struct sockaddr_storage own;
        socklen_t len = sizeof own;
        int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        found = fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0 &&
                getsockname(fd, (struct sockaddr *)&own, &len) == 0 &&
                getnameinfo((struct sockaddr *)&own, len, text, (socklen_t)size, NULL, 0,
                            NI_NUMERICHOST) == 0;
        if (fd >= 0) close(fd);
    }
    freeaddrinfo(all);
    return found;
}

static bool append(char **list, const char *name)
{
    char *longer;
    if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? "," : "", name) < 0) return false;
    free(*list);
    *list = longer;
    return true;
}

static bool make_secret(void)
{
    uint8_t random[16];
    char text[2 * sizeof random + 1];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return false;
    for (size_t i = 0; i < sizeof random; i++) sprintf(text + 2 * i, "%02x", random[i]);
    return setenv("SOFTHCA_SECRET", text, 0) == 0;
}

bool softhca_hosts_export(const struct ssh_place *hosts, uint32_t count)
{
    if (getenv("SOFTHCA_HOSTS")) return true;
    uint32_t other = 0; /* there is one: this machine is one host at most */
    while (!hosts[other].remote) other++;
    char *list = NULL, own[INET6_ADDRSTRLEN];
    bool good = true;
    for (uint32_t i = 0; good && i < count; i++) {
        const char *name = hosts[i].name;
        /* Our own name may mean something else, or nothing, elsewhere: an address does not. */
        if (!hosts[i].remote && own_address_towards(hosts[other].name, own, sizeof own)) name = own;
        good = append(&list, name);
    }
    good = good && setenv("SOFTHCA_HOSTS", list, 1) == 0 && make_secret();
    if (!good) launcher_say("cannot tell the software device of the hosts: %m");
    free(list);
    return good;
}
