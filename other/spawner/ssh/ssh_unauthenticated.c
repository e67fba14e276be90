/* ssh_unauthenticated.c - connections to the launcher's port that have not sent the job's secret
 * yet.
 *
 * Called by ssh_remote.c.  Any process on the network may connect: what it sends must cost no more
 * than its own connection, and it must not keep the control processes out for long.  When all
 * control processes have connected, the port is closed.
 */
#define _GNU_SOURCE
#include "other/spawner/ssh/ssh_master.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE = 5000 }; /* ms for a client to send the secret */

/* A connection that has not yet proved that it belongs to this job. */
struct ssh_unauthenticated {
    struct ssh_master *master;
    struct ssh_link link;
    int64_t late;               /* deadline */
    bool settled;               /* a frame came */
    struct ssh_host_slot *slot; /* the slot that it named with the secret; NULL: none */
};

/* --- the door --- */

static bool unauth_make_secret(char secret[SSH_WIRE_SECRET + 1])
{
    uint8_t random[SSH_WIRE_SECRET / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return false;
    for (size_t i = 0; i < sizeof random; i++) sprintf(secret + 2 * i, "%02x", random[i]);
    return true;
}

/* An IPv6 socket accepts IPv4 too; some systems have no IPv6. */
static bool unauth_listen(struct ssh_master *m, int family)
{
    static const int off = 0;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any.sa_family = (sa_family_t)family};
    socklen_t len = family == AF_INET ? sizeof address.v4 : sizeof address.v6;
    m->listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (m->listener < 0) return false;
    if (family == AF_INET6) setsockopt(m->listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(m->listener, &address.any, len) != 0 || listen(m->listener, 1024) != 0 ||
        getsockname(m->listener, &address.any, &len) != 0) {
        close(m->listener);
        m->listener = -1;
        return false;
    }
    m->port = ntohs(family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
    return true;
}

bool ssh_unauthenticated_open(struct ssh_master *m)
{
    return unauth_make_secret(m->secret) &&
           (unauth_listen(m, AF_INET6) || unauth_listen(m, AF_INET));
}

static void unauth_close_listener(struct ssh_master *m)
{
    if (m->listener >= 0) close(m->listener);
    m->listener = -1;
}

static bool unauth_all_joined(const struct ssh_master *m)
{
    for (uint32_t s = 0; s < m->plan.count; s++)
        if (m->slots[s].plan->remote && !m->slots[s].joined) return false;
    return true;
}

static size_t unauth_free_place(const struct ssh_master *m)
{
    size_t i = 0;
    while (i < SSH_UNAUTHENTICATED_MAX && m->unauthenticated[i]) i++;
    return i;
}

static void unauth_drop(struct ssh_master *m, size_t i)
{
    ssh_link_close(&m->unauthenticated[i]->link);
    free(m->unauthenticated[i]);
    m->unauthenticated[i] = NULL;
}

void ssh_unauthenticated_close(struct ssh_master *m)
{
    for (size_t i = 0; i < SSH_UNAUTHENTICATED_MAX; i++)
        if (m->unauthenticated[i]) unauth_drop(m, i);
    unauth_close_listener(m);
}

/* Sets the timer to the earliest deadline. */
static void unauth_set_timer(struct ssh_master *m)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < SSH_UNAUTHENTICATED_MAX; i++)
        if (m->unauthenticated[i] && m->unauthenticated[i]->late < first)
            first = m->unauthenticated[i]->late;
    m->due[SSH_TIMER_UNAUTHENTICATED] = first == INT64_MAX ? 0 : first;
}

void ssh_unauthenticated_late(struct ssh_master *m)
{
    int64_t now = ssh_now_ms();
    for (size_t i = 0; i < SSH_UNAUTHENTICATED_MAX; i++)
        if (m->unauthenticated[i] && m->unauthenticated[i]->late <= now) unauth_drop(m, i);
    unauth_set_timer(m);
}

/* --- what they say --- */

/* The first frame has to be the secret.  The connection is handed to its slot only after
 * unauth_read has read this link: bytes after that belong to the slot's own link. */
static void unauth_check_secret(void *ctx, const struct ssh_wire_frame *frame)
{
    struct ssh_unauthenticated *client = ctx;
    struct ssh_master *m = client->master;
    struct ssh_wire_message message;
    const char *why;
    if (client->settled) return;
    client->settled = true;
    if (frame->type != SSH_WIRE_JOIN || frame->more ||
        !ssh_wire_decode(frame->type, frame->rank, frame->data, frame->len, &message, &why) ||
        message.join.slot >= m->plan.count ||
        memcmp(message.join.secret, m->secret, SSH_WIRE_SECRET) != 0)
        return;
    struct ssh_host_slot *slot = &m->slots[message.join.slot];
    if (slot->ordered && !slot->joined && !slot->lost && !m->job.ending) client->slot = slot;
}

static void unauth_read(struct ssh_master *m, size_t i)
{
    struct ssh_unauthenticated *client = m->unauthenticated[i];
    const char *why;
    enum ssh_link_state state = ssh_link_read(&client->link, unauth_check_secret, client, &why);
    if (state == SSH_LINK_OPEN && !client->settled) return;
    struct ssh_host_slot *slot = client->slot;
    int fd = client->link.fd;
    bool welcome = state == SSH_LINK_OPEN && slot && !slot->joined;
    if (welcome) client->link.fd = -1;
    unauth_drop(m, i);
    if (welcome) ssh_remote_joined(m, slot, fd);
    if (unauth_all_joined(m)) ssh_unauthenticated_close(m);
    unauth_set_timer(m);
}

static void unauth_accept(struct ssh_master *m)
{
    size_t i = unauth_free_place(m);
    int fd = i < SSH_UNAUTHENTICATED_MAX ? accept4(m->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    if (fd < 0) return;
    struct ssh_unauthenticated *client = calloc(1, sizeof *client);
    if (!client) {
        close(fd);
        return;
    }
    ssh_link_watch_host(fd);
    client->master = m;
    client->late = ssh_now_ms() + PATIENCE;
    ssh_link_open(&client->link, fd, false);
    m->unauthenticated[i] = client;
    unauth_set_timer(m);
}

/* --- polling --- */

/* With all places taken, further clients wait in the kernel's queue. */
size_t ssh_unauthenticated_poll(const struct ssh_master *m, struct pollfd *fds)
{
    size_t n = 0;
    if (unauth_free_place(m) < SSH_UNAUTHENTICATED_MAX) ssh_poll_add(fds, &n, m->listener, POLLIN);
    for (size_t i = 0; i < SSH_UNAUTHENTICATED_MAX; i++)
        if (m->unauthenticated[i]) ssh_poll_add(fds, &n, m->unauthenticated[i]->link.fd, POLLIN);
    return n;
}

void ssh_unauthenticated_ready(struct ssh_master *m, const struct pollfd *fds, size_t count)
{
    for (size_t i = 0; i < SSH_UNAUTHENTICATED_MAX; i++)
        if (m->unauthenticated[i] && ssh_poll_ready(fds, count, m->unauthenticated[i]->link.fd))
            unauth_read(m, i);
    if (ssh_poll_ready(fds, count, m->listener)) unauth_accept(m);
}
