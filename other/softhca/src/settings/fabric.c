/* fabric.c - determines the hosts of the fabric and which of them this is.
 *
 * Runs once, at the first use of the device: reads the list, resolves its names, and finds this
 * host by the addresses of its interfaces or by SOFTHCA_HOST. It may wait for a name server;
 * nothing later does. Every error is reported in one line that names the host.
 */
#include "other/softhca/src/settings/fabric.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "other/softhca/src/settings/say.h"
#include "other/softhca/src/settings/settings.h"

static struct {
    pthread_once_t once;
    struct shca_fabric fabric;
    bool bad;
} known = {.once = PTHREAD_ONCE_INIT};

static const void *fabric_bytes_of(const struct sockaddr_storage *a, size_t *n)
{
    *n = a->ss_family == AF_INET6 ? sizeof(struct in6_addr) : sizeof(struct in_addr);
    return a->ss_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr
                                    : (const void *)&((const struct sockaddr_in *)a)->sin_addr;
}

bool shca_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    size_t n, m;
    const void *x = fabric_bytes_of(a, &n), *y = fabric_bytes_of(b, &m);
    return a->ss_family == b->ss_family && memcmp(x, y, n) == 0;
}

socklen_t shca_address_len(const struct sockaddr_storage *a)
{
    return a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

void shca_set_port(struct sockaddr_storage *a, unsigned port)
{
    if (a->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)a)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)a)->sin_port = htons(port);
}

const char *shca_address_text(const struct sockaddr_storage *a, char text[64])
{
    size_t n;
    if (!inet_ntop(a->ss_family, fabric_bytes_of(a, &n), text, 64)) strcpy(text, "?");
    return text;
}

static bool fabric_is_loopback(const struct sockaddr_storage *a)
{
    size_t n;
    const uint8_t *b = fabric_bytes_of(a, &n);
    return a->ss_family == AF_INET ? b[0] == 127 : IN6_IS_ADDR_LOOPBACK((struct in6_addr *)b);
}

/* Reads a whole file, at most as long as SHCA_HOSTS_MAX names with a comment each. */
static char *fabric_read_file(const char *path)
{
    enum { MOST = SHCA_HOSTS_MAX * 1024 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = fd < 0 ? NULL : malloc(MOST + 1);
    size_t n = 0;
    for (ssize_t got = 1; text && got > 0 && n < MOST; n += got) {
        got = read(fd, text + n, MOST - n);
        if (got >= 0) continue;
        free(text);
        text = NULL;
        got = 0;
    }
    int error = errno;
    if (fd >= 0) close(fd);
    if (text) text[n] = 0;
    errno = error;
    return text;
}

static bool fabric_read_list(struct shca_hosts *h)
{
    const char *value = shca_settings()->hosts;
    char why[400];
    if (!value) return true;
    if (!shca_hosts_is_path(value)) return shca_hosts_parse(h, false, value, why, sizeof why);
    char *text = fabric_read_file(value);
    if (!text) {
        shca_say("SOFTHCA_HOSTS: cannot read %s: %m", value);
        return false;
    }
    bool good = shca_hosts_parse(h, true, text, why, sizeof why);
    if (!good) shca_say("SOFTHCA_HOSTS: %s: %s", value, why);
    free(text);
    return good;
}

static void fabric_add_address(struct shca_site *s, const struct sockaddr *a)
{
    struct sockaddr_storage x = {0};
    if (s->n == SHCA_ADDRESSES || (a->sa_family != AF_INET && a->sa_family != AF_INET6)) return;
    memcpy(&x, a,
           a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
    s->address[s->n++] = x;
}

static bool fabric_resolve(const char *name, unsigned number, struct shca_site *s)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *all = NULL;
    int error = getaddrinfo(name, NULL, &hints, &all);
    for (struct addrinfo *a = all; !error && a; a = a->ai_next) fabric_add_address(s, a->ai_addr);
    if (all) freeaddrinfo(all);
    if (!error && s->n > 0) return true;
    shca_say("SOFTHCA_HOSTS: host %u, %s, has no address: %s", number + 1, name,
             error ? gai_strerror(error) : "neither IPv4 nor IPv6");
    return false;
}

static const struct sockaddr_storage *fabric_common_address(const struct shca_site *a,
                                                            const struct shca_site *b)
{
    for (unsigned i = 0; i < a->n; i++)
        for (unsigned k = 0; k < b->n; k++)
            if (shca_same_address(&a->address[i], &b->address[k])) return &a->address[i];
    return NULL;
}

static bool fabric_resolve_all(struct shca_fabric *f)
{
    f->site = calloc(f->names.n, sizeof *f->site);
    if (!f->site) return false;
    for (unsigned i = 0; i < f->names.n; i++)
        if (!fabric_resolve(f->names.name[i], i, &f->site[i])) return false;
    for (unsigned i = 0; i < f->names.n; i++)
        for (unsigned k = 0; k < i; k++) {
            char text[64];
            const struct sockaddr_storage *a = fabric_common_address(&f->site[i], &f->site[k]);
            if (!a) continue;
            shca_say("SOFTHCA_HOSTS: host %u, %s, and host %u, %s, are one: both are at %s", k + 1,
                     f->names.name[k], i + 1, f->names.name[i], shca_address_text(a, text));
            return false;
        }
    return true;
}

/* The addresses of this host's interfaces. */
static struct shca_site *fabric_local_addresses(unsigned *n)
{
    struct ifaddrs *all;
    struct shca_site *local = NULL;
    *n = 0;
    if (getifaddrs(&all) < 0) return NULL;
    for (struct ifaddrs *a = all; a; a = a->ifa_next) {
        if (!a->ifa_addr) continue;
        struct shca_site *more = realloc(local, (*n + 1) * sizeof *local);
        if (!more) break;
        local = more;
        local[*n] = (struct shca_site){0};
        fabric_add_address(&local[*n], a->ifa_addr);
        ++*n;
    }
    freeifaddrs(all);
    return local;
}

static bool fabric_find_self_by_name(struct shca_fabric *f, const char *name)
{
    int at = shca_hosts_find(&f->names, name);
    struct shca_site s = {0};
    if (at < 0) {
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all = NULL;
        if (getaddrinfo(name, NULL, &hints, &all) == 0)
            for (struct addrinfo *a = all; a; a = a->ai_next) fabric_add_address(&s, a->ai_addr);
        if (all) freeaddrinfo(all);
    }
    for (unsigned i = 0; at < 0 && i < f->names.n; i++)
        if (fabric_common_address(&f->site[i], &s)) at = (int)i;
    if (at < 0) shca_say("SOFTHCA_HOST=%s is none of the hosts of SOFTHCA_HOSTS", name);
    f->self = at < 0 ? 0 : at;
    return at >= 0;
}

static bool fabric_find_self(struct shca_fabric *f)
{
    unsigned n, found = 0;
    struct shca_site *local = fabric_local_addresses(&n);
    for (unsigned i = 0; i < f->names.n; i++) {
        bool here = false;
        for (unsigned k = 0; k < n; k++)
            here |= fabric_common_address(&f->site[i], &local[k]) != NULL;
        if (here && found++ == 0) f->self = i;
        if (here && found > 1) {
            shca_say("SOFTHCA_HOSTS: host %u, %s, and host %u, %s, are both this host; "
                     "leave one out, or say which it is by SOFTHCA_HOST",
                     f->self + 1, f->names.name[f->self], i + 1, f->names.name[i]);
            break;
        }
    }
    free(local);
    if (found == 0)
        shca_say("SOFTHCA_HOSTS: none of its %u hosts has an address of this host; add it, or say "
                 "which it is by SOFTHCA_HOST",
                 f->names.n);
    return found == 1;
}

/* Many systems resolve their own name to a loopback address, where other hosts cannot connect: then
 * listen on all addresses. */
static void fabric_check_loopback(struct shca_fabric *f)
{
    const struct shca_site *local = &f->site[f->self];
    bool all = true, others = false;
    for (unsigned i = 0; i < local->n; i++) all &= fabric_is_loopback(&local->address[i]);
    for (unsigned i = 0; i < f->names.n; i++)
        if (i != f->self) others |= !fabric_is_loopback(&f->site[i].address[0]);
    f->anywhere = all && others;
}

static bool fabric_init(struct shca_fabric *f)
{
    if (!fabric_read_list(&f->names)) return false;
    if (f->names.n == 0) return true;
    const char *name = shca_settings()->host;
    if (!fabric_resolve_all(f) || !(name ? fabric_find_self_by_name(f, name) : fabric_find_self(f)))
        return false;
    f->hash = shca_hosts_hash(&f->names);
    fabric_check_loopback(f);
    return true;
}

static void fabric_init_once(void)
{
    known.bad = !fabric_init(&known.fabric);
    if (!known.bad) return;
    shca_hosts_free(&known.fabric.names);
    free(known.fabric.site);
    known.fabric = (struct shca_fabric){0};
}

const struct shca_fabric *shca_fabric(void)
{
    pthread_once(&known.once, fabric_init_once);
    return &known.fabric;
}

bool shca_fabric_good(void)
{
    shca_fabric();
    return !known.bad;
}
