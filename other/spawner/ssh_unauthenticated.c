/* ssh_unauthenticated.c - who connects to the launcher's port: let in with the job's secret, or
 * sent away.
 *
 * Called by ssh_remote.c.  Anybody on the network may come here, so whatever they send must cost
 * no more than their own connection, and nobody may keep the control processes out for long.  When
 * all of these have come the door is closed.
 */
#define _GNU_SOURCE
#include "other/spawner/ssh_master.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE = 5000 }; /* ms that a stranger may take to say who he is */

/* A connection that has not yet proved that it belongs to this job. */
struct ssh_unauthenticated {
    struct ssh_master *master;
    struct ssh_link link;
    int64_t late;               /* when */
    bool settled;               /* it said something */
    struct ssh_host_slot *slot; /* and this is the slot it proved to be; NULL: none */
};

/* --- the door --- */

static bool make_secret(char secret[SSH_WIRE_SECRET + 1])
{
    uint8_t random[SSH_WIRE_SECRET / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return false;
    for (size_t i = 0; i < sizeof random; i++) sprintf(secret + 2 * i, "%02x", random[i]);
    return true;
}

/* An IPv6 door is open to IPv4 too; some systems have none. */
static bool listen_at(struct ssh_master *m, int family)
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

bool ssh_unauthenticateds_open(struct ssh_master *m)
{
    return make_secret(m->secret) && (listen_at(m, AF_INET6) || listen_at(m, AF_INET));
}

static void close_door(struct ssh_master *m)
{
    if (m->listener >= 0) close(m->listener);
    m->listener = -1;
}

static bool all_are_here(const struct ssh_master *m)
{
    for (uint32_t s = 0; s < m->plan.count; s++)
        if (m->slots[s].plan->remote && !m->slots[s].joined) return false;
    return true;
}

static size_t free_place(const struct ssh_master *m)
{
    size_t i = 0;
    while (i < SSH_STRANGERS && m->strangers[i]) i++;
    return i;
}

static void send_away(struct ssh_master *m, size_t i)
{
    ssh_link_close(&m->strangers[i]->link);
    free(m->strangers[i]);
    m->strangers[i] = NULL;
}

void ssh_unauthenticateds_close(struct ssh_master *m)
{
    for (size_t i = 0; i < SSH_STRANGERS; i++)
        if (m->strangers[i]) send_away(m, i);
    close_door(m);
}

/* The timer runs for the one who came first. */
static void wait_for_next(struct ssh_master *m)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < SSH_STRANGERS; i++)
        if (m->strangers[i] && m->strangers[i]->late < first) first = m->strangers[i]->late;
    m->due[SSH_TIMER_STRANGERS] = first == INT64_MAX ? 0 : first;
}

void ssh_unauthenticateds_late(struct ssh_master *m)
{
    int64_t now = ssh_now_ms();
    for (size_t i = 0; i < SSH_STRANGERS; i++)
        if (m->strangers[i] && m->strangers[i]->late <= now) send_away(m, i);
    wait_for_next(m);
}

/* --- what they say --- */

/* A stranger's first frame has to be the secret.  The answer must wait until its link is read dry
 * (read_stranger): what comes after the answer belongs to the slot's own link. */
static void check_secret(void *ctx, const struct ssh_wire_frame *frame)
{
    struct ssh_unauthenticated *stranger = ctx;
    struct ssh_master *m = stranger->master;
    struct ssh_wire_message message;
    const char *why;
    if (stranger->settled) return;
    stranger->settled = true;
    if (frame->type != SSH_WIRE_JOIN || frame->more ||
        !ssh_wire_decode(frame->type, frame->rank, frame->data, frame->len, &message, &why) ||
        message.join.slot >= m->plan.count ||
        memcmp(message.join.secret, m->secret, SSH_WIRE_SECRET) != 0)
        return;
    struct ssh_host_slot *slot = &m->slots[message.join.slot];
    if (slot->told && !slot->joined && !slot->lost && !m->job.ending) stranger->slot = slot;
}

static void read_stranger(struct ssh_master *m, size_t i)
{
    struct ssh_unauthenticated *stranger = m->strangers[i];
    const char *why;
    enum ssh_link_state state = ssh_link_read(&stranger->link, check_secret, stranger, &why);
    if (state == SSH_LINK_OPEN && !stranger->settled) return;
    struct ssh_host_slot *slot = stranger->slot;
    int fd = stranger->link.fd;
    bool welcome = state == SSH_LINK_OPEN && slot && !slot->joined;
    if (welcome) stranger->link.fd = -1;
    send_away(m, i);
    if (welcome) ssh_remote_joined(m, slot, fd);
    if (all_are_here(m)) ssh_unauthenticateds_close(m);
    wait_for_next(m);
}

static void accept_stranger(struct ssh_master *m)
{
    size_t i = free_place(m);
    int fd = i < SSH_STRANGERS ? accept4(m->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    if (fd < 0) return;
    struct ssh_unauthenticated *stranger = calloc(1, sizeof *stranger);
    if (!stranger) {
        close(fd);
        return;
    }
    ssh_link_watch_host(fd);
    stranger->master = m;
    stranger->late = ssh_now_ms() + PATIENCE;
    ssh_link_open(&stranger->link, fd, false);
    m->strangers[i] = stranger;
    wait_for_next(m);
}

/* --- polling --- */

/* Where all places are taken, who else comes waits in the kernel's queue. */
size_t ssh_unauthenticateds_poll(const struct ssh_master *m, struct pollfd *fds)
{
    size_t n = 0;
    if (free_place(m) < SSH_STRANGERS) ssh_poll_add(fds, &n, m->listener, POLLIN);
    for (size_t i = 0; i < SSH_STRANGERS; i++)
        if (m->strangers[i]) ssh_poll_add(fds, &n, m->strangers[i]->link.fd, POLLIN);
    return n;
}

void ssh_unauthenticateds_ready(struct ssh_master *m, const struct pollfd *fds, size_t count)
{
    for (size_t i = 0; i < SSH_STRANGERS; i++)
        if (m->strangers[i] && ssh_poll_ready(fds, count, m->strangers[i]->link.fd))
            read_stranger(m, i);
    if (ssh_poll_ready(fds, count, m->listener)) accept_stranger(m);
}
